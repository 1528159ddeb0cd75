//! Acts that are over, for the person's history.

use std::sync::Arc;

use super::Transaction;
use crate::lifecycle::{Command, CommandOutcome, CommandState};
use crate::protocol::actions::RegisteredAction;
use crate::protocol::{Action, DOCTOR_CLIENT, PastAct, plain_label, site_of_address};

/// How many actions of a batch are named.
const BATCH_NAMES_MAX: usize = 10;

/// The longest code of an end, in bytes.
const REASON_MAX: usize = 64;

impl Transaction<'_> {
    /// Gives an act that has ended to the history, if the shell keeps one.
    pub(super) fn note_past(&mut self, command: &Command) {
        let client = &command.spec().client;
        if !self.effects().keeps_history || client.as_str() == DOCTOR_CLIENT {
            return;
        }
        let summary = command.summary(self.scheduler.lane_of(&command.spec().id));
        let took = summary.ended_at.map(|at| at.since(summary.created_at));
        let label = self.shown_client(command.spec());
        let act = PastAct {
            at: summary.ended_at.unwrap_or_else(|| self.now()),
            owner: command.spec().owner.name().into(),
            client: if label.is_empty() { client.as_str().into() } else { label },
            browser: self.browser_label_of(command),
            action: action_words(command),
            site: self.site_of(command),
            ended: summary.status.as_str().into(),
            reason: summary.reason.as_deref().filter(|reason| is_code(reason)).map(Into::into),
            took_ms: took.and_then(|took| u64::try_from(took.as_millis()).ok()).unwrap_or_default(),
        };
        self.effects().past.push(act);
    }

    /// What the browser of a command is called. An extension calls its browser as it likes.
    pub(super) fn browser_label_of(&self, command: &Command) -> Option<Arc<str>> {
        let lane = self.scheduler.lane_of(&command.spec().id)?;
        plain_label(self.browsers.get(&lane.browser)?.label())
    }

    /// The site on which a command acted: that of the page which answered, else that of the address
    /// which it names, else that of its tab.
    fn site_of(&self, command: &Command) -> Option<Arc<str>> {
        if command.spec().is_private {
            return None;
        }
        if let CommandState::Ended {
            outcome: CommandOutcome::Complete { origin: Some(origin), .. },
            ..
        } = command.state()
            && let Some(site) = site_of_address(origin)
        {
            return Some(site);
        }
        let named = match command.spec().work.action() {
            Some(Action::Navigate(navigate)) => Some(&*navigate.url),
            Some(Action::TabOpen(open)) => open.url.as_deref(),
            Some(_) | None => None,
        };
        if let Some(address) = named {
            return site_of_address(address);
        }
        let lane = self.scheduler.lane_of(&command.spec().id)?;
        let tab = lane.tab?;
        let mut tabs = self.tabs();
        let (_, tab) =
            tabs.find(|(browser, open)| **browser == lane.browser && open.tab_id == tab)?;
        site_of_address(&tab.url)
    }
}

/// The name of the action; of a batch also those of its steps, as far as they are actions. Of one in
/// private windows no more than its name is kept.
fn action_words(command: &Command) -> Arc<str> {
    let work = &command.spec().work;
    let steps = match work.action() {
        Some(Action::Batch(batch)) if !command.spec().is_private => &batch.steps,
        Some(_) | None => return work.name().into(),
    };
    let named = |name: &str| RegisteredAction::named(name).map(|known| known.spec.name);
    let mut names: Vec<_> = steps.iter().filter_map(|step| named(&step.action)).collect();
    if names.len() > BATCH_NAMES_MAX {
        names.truncate(BATCH_NAMES_MAX);
        names.push("…");
    }
    format!("{}: {}", work.name(), names.join(", ")).into()
}

/// Whether it is a code of ours and no words: those could be a page's.
pub(super) fn is_code(reason: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=REASON_MAX).contains(&reason.len()) && reason.bytes().all(is_letter)
}
