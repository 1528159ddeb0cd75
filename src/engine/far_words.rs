//! Owners whose programs are on another machine: the person is asked about each site that they open, read
//! or act on, and they are told of no other. The extension enforces this for commands; for lists and
//! recorded streams this does.
//!
//! The words are the owner's: its programs choose the names of their clients themselves.

use std::sync::Arc;

use super::consents::ConsentSubject;
use super::refusal::RefusalReason;
use super::{Caller, Engine};
use crate::lifecycle::CommandSpec;
use crate::protocol::{BrowserTab, ClientId, ConsentKind, Owner, ToldSites};
use crate::seeded_bug;

/// The client that the words about all clients of an owner are kept for. No client has this name: that of
/// an owner with a name goes on behind it.
fn all_clients_of(owner: &Owner) -> ClientId {
    owner.name().into()
}

impl Engine {
    /// Whose words hold for a command: its client's, or those of its owner on another machine.
    pub(super) fn word_holder(&self, spec: &CommandSpec) -> Caller {
        let is_owners = self.is_far(&spec.owner) && !seeded_bug::is_on("far-words-of-clients");
        let client = if is_owners { all_clients_of(&spec.owner) } else { spec.client.clone() };
        Caller { owner: spec.owner.clone(), client }
    }

    /// What the person is told of whom a kept word is about.
    pub(super) fn subject_of_word(&self, subject: &ConsentSubject) -> Arc<str> {
        if self.is_far(&subject.owner) && subject.client == all_clients_of(&subject.owner) {
            return match subject.owner.agent_of_tenant() {
                Some((agent, tenant)) => format!("{tenant}: {agent}").into(),
                None => format!("agents on {}", subject.owner.name()).into(),
            };
        }
        let label = self.clients.label_of(&subject.client);
        if label.is_empty() { subject.client.as_str().into() } else { label }
    }

    /// What the person is told of whose command this is. A client on another machine names itself, so the
    /// name of the machine stands behind it.
    pub(super) fn shown_client(&self, spec: &CommandSpec) -> Arc<str> {
        self.shown_caller(&spec.owner, &spec.client)
    }

    /// The same of a client.
    pub(super) fn shown_caller(&self, owner: &Owner, client: &ClientId) -> Arc<str> {
        let label = self.clients.label_of(client);
        if !self.is_far(owner) {
            return label;
        }
        let label = if label.is_empty() { "an agent" } else { &*label };
        match owner.agent_of_tenant() {
            Some((agent, tenant)) => format!("{tenant}: {agent} (calls itself {label})").into(),
            None => format!("{label} on {}", owner.name()).into(),
        }
    }

    /// The sites of which an owner's clients are told; `None`: of every site.
    #[must_use]
    pub fn told_sites(&self, owner: &Owner) -> Option<ToldSites> {
        if !self.is_far(owner) || seeded_bug::is_on("far-owners-told-of-every-site") {
            return None;
        }
        let client = all_clients_of(owner);
        let allowed = self.consents.allowed_sites(owner, &client, ConsentKind::Use);
        Some(ToldSites::new(allowed.cloned().collect()))
    }

    /// A tab as an owner's clients are told of it.
    pub(super) fn told_tab(&self, owner: &Owner, tab: BrowserTab) -> BrowserTab {
        let is_told = self.told_sites(owner).is_none_or(|told| told.tells(&tab.url));
        if is_told { tab } else { BrowserTab { url: String::new(), title: String::new(), ..tab } }
    }

    /// The same for the tabs in a refusal.
    pub(super) fn tell_tabs_of_refusal(&self, owner: &Owner, why: &mut RefusalReason) {
        match why {
            RefusalReason::TabGone { tabs, .. } => {
                for tab in tabs {
                    *tab = self.told_tab(owner, tab.clone());
                }
            }
            RefusalReason::WhichTab { tabs } => {
                for choice in tabs {
                    choice.tab = self.told_tab(owner, choice.tab.clone());
                }
            }
            RefusalReason::QueueFull { .. }
            | RefusalReason::RateLimited { .. }
            | RefusalReason::TooManyWaiters { .. }
            | RefusalReason::TooMany { .. }
            | RefusalReason::TabInUse { .. }
            | RefusalReason::AmbiguousBrowser { .. }
            | RefusalReason::BrowserGone { .. }
            | RefusalReason::Pinned(_)
            | RefusalReason::UnsupportedAction { .. }
            | RefusalReason::ControlSwitchedOff { .. }
            | RefusalReason::NoChoiceOfTab { .. }
            | RefusalReason::NoTab { .. }
            | RefusalReason::ScopeNotKept { .. }
            | RefusalReason::FarWordsNotKept { .. }
            | RefusalReason::NoTabKnown { .. }
            | RefusalReason::NotInPrivate { .. }
            | RefusalReason::NoPageToHandOver { .. }
            | RefusalReason::TabwirePage
            | RefusalReason::StoppedByUser { .. }
            | RefusalReason::ExtensionChanged { .. }
            | RefusalReason::KeyReused { .. }
            | RefusalReason::StorageUnavailable { .. }
            | RefusalReason::OwnerRemoved
            | RefusalReason::TooLate
            | RefusalReason::ShuttingDown => {}
        }
    }
}
