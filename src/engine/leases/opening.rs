//! Whose the tabs are that a command opens, or a page during an act.

use serde::Deserialize;

use super::{LeaseKind, TabLease, TabPlace};
use crate::engine::{Caller, Transaction};
use crate::lifecycle::{Command, CommandOutcome, CommandState};
use crate::protocol::{Action, CorrelationId, Owner, TabId};

impl Transaction<'_> {
    /// A running command has opened a tab, as the extension says. Its client holds it from now on,
    /// also if the command fails or opens more.
    pub(in crate::engine) fn hold_tab_of_command(&mut self, place: &TabPlace, id: &CorrelationId) {
        let Some(spec) = self.commands.get(id).map(Command::spec) else { return };
        let Some(wish) = spec.work.action().and_then(OpeningWish::of) else { return };
        let holder = Caller { owner: spec.owner.clone(), client: spec.client.clone() };
        self.hold_opened(place, &holder, LeaseKind::Opened, wish);
    }

    /// The page of one tab has opened another one during an act of this owner: who holds the first
    /// holds the second.
    pub(in crate::engine) fn hold_tab_of_page(
        &mut self,
        source: &TabPlace,
        owner: &Owner,
        place: &TabPlace,
    ) {
        let lease = self.leases.0.get(source).filter(|lease| lease.holder.owner == *owner);
        let Some(TabLease { holder, kind, is_shared, .. }) = lease.cloned() else { return };
        let is_left_over = self.opened_tabs.is_opened_by(source, &holder);
        self.hold_opened(place, &holder, kind, OpeningWish { is_shared, is_left_over });
    }

    pub(super) fn hold_opened(
        &mut self,
        place: &TabPlace,
        holder: &Caller,
        kind: LeaseKind,
        wish: OpeningWish,
    ) {
        if !self.leases.0.contains_key(place) {
            self.begin_lease(place.clone(), holder, kind, wish.is_shared);
        }
        if wish.is_left_over {
            self.note_opened(place, holder);
        }
    }
}

/// How a client wants to hold the tabs that a command of its opens.
#[derive(Clone, Copy)]
pub(super) struct OpeningWish {
    /// Others may act there.
    pub(super) is_shared: bool,
    /// They are closed some time after the client has ended.
    pub(super) is_left_over: bool,
}

impl OpeningWish {
    /// `None`: the action opens no tab by itself.
    pub(super) fn of(action: &Action) -> Option<Self> {
        if let Action::TabOpen(opening) = action {
            let (share, keep) = (opening.share == Some(true), opening.keep == Some(true));
            return Some(Self { is_shared: share, is_left_over: !keep });
        }
        // The extension does not say which step has opened a tab: one that is to stay keeps all.
        let Action::Batch(batch) = action else { return None };
        let (share, keep) = (batch.opens_tab_with("share"), batch.opens_tab_with("keep"));
        Some(Self { is_shared: share, is_left_over: !keep })
    }
}

/// The tabs that a command says it has opened. Another extension may send a result of another form:
/// then there are none.
pub(super) fn opened_tabs(command: &Command) -> Vec<TabId> {
    let CommandState::Ended { outcome: CommandOutcome::Complete { result, .. }, .. } =
        command.state()
    else {
        return Vec::new();
    };
    // Nearly no act opens a tab, and a result takes a while to read.
    let named = |field: &str| {
        let text = result.get();
        text.contains(field).then(|| serde_json::from_str::<OpeningResult>(text).ok())?
    };
    match command.spec().work.action() {
        Some(Action::TabOpen(_)) => {
            named("tab_id").and_then(|told| told.value.tab_id).into_iter().collect()
        }
        Some(action) if tells_new_tabs(action) => {
            match named("new_tab").and_then(|told| told.value.new_tab) {
                Some(NewTabs::One(tab)) => vec![tab],
                Some(NewTabs::Several(tabs)) => tabs,
                None => Vec::new(),
            }
        }
        Some(_) | None => Vec::new(),
    }
}

/// Whether the extension makes the whole result of this action. A result that a page made, as that of
/// a script, could name tabs that nobody opened.
const fn tells_new_tabs(action: &Action) -> bool {
    matches!(
        action,
        Action::Click(_)
            | Action::PressKey(_)
            | Action::TypeText(_)
            | Action::Check(_)
            | Action::Uncheck(_)
            | Action::SelectOption(_)
            | Action::FillForm(_)
            | Action::Drag(_)
    )
}

/// The part of a result that names the tabs that were opened.
#[derive(Deserialize)]
struct OpeningResult {
    value: OpenedTabs,
}

#[derive(Deserialize)]
struct OpenedTabs {
    #[serde(default)]
    tab_id: Option<TabId>,
    #[serde(default)]
    new_tab: Option<NewTabs>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum NewTabs {
    One(TabId),
    Several(Vec<TabId>),
}
