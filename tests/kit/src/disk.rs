//! The disk that outlives the daemon's host: what is recorded, and what the next life of
//! the daemon gets of it. It does with entries what the rows in SQLite do, which a test
//! holds it to.

use std::collections::{BTreeMap, HashSet};

use tabwire::engine::{
    AcceptedCommand, ClientTab, ClockAnchor, CurrentTabRecord, Eviction, JournalEntry, KeptConsent,
    OwnerTab, RecordedCommand, RecordedHistory, RecordedKey, TabLease,
};
use tabwire::lifecycle::{Command, CommandHold, CommandState, SavedCommand, SavedStage};
use tabwire::protocol::{BrowserId, BrowserSession, ClientId, CorrelationId, TabId};

/// What is recorded.
#[derive(Default)]
pub struct SimulatedDisk {
    commands: Vec<Row>,
    gone: Vec<(CorrelationId, ClientId, tabwire::lifecycle::Tombstone)>,
    keys: Vec<RecordedKey>,
    clients: Vec<CurrentTabRecord>,
    leases: Vec<TabLease>,
    opened_tabs: Vec<ClientTab>,
    owner_tabs: Vec<OwnerTab>,
    consents: Vec<KeptConsent>,
    sessions: BTreeMap<BrowserId, BrowserSession>,
    anchor: Option<ClockAnchor>,
    /// Every start that was ever recorded, with its attempt.
    started: HashSet<(String, u64)>,
    /// All entries, in their order.
    pub entries: Vec<JournalEntry>,
}

/// A command whose record is kept.
struct Row {
    acceptance: AcceptedCommand,
    /// As it was recorded last.
    command: Command,
    stage: SavedStage,
}

impl SimulatedDisk {
    /// Records an entry.
    pub fn record(&mut self, entry: &JournalEntry) {
        self.entries.push(entry.clone());
        match entry {
            JournalEntry::RunStarted(anchor) => self.anchor = Some(anchor.clone()),
            JournalEntry::Accepted(acceptance) => self.accept(acceptance),
            JournalEntry::Placed(id, lane) => {
                if let Some(row) = self.row(id) {
                    row.acceptance.lane = Some(lane.clone());
                }
            }
            JournalEntry::Changed(command) => self.change(command),
            JournalEntry::Read(id, _) => {
                if let Some(Row { stage: SavedStage::Ended { read, .. }, .. }) = self.row(id) {
                    *read = true;
                }
            }
            JournalEntry::Evicted(Eviction { id, client, gone, forgotten }) => {
                self.commands.retain(|row| row.command.spec().id != *id);
                self.gone.retain(|(other, ..)| other != id && Some(other) != forgotten.as_ref());
                self.gone.push((id.clone(), client.clone(), gone.clone()));
            }
            JournalEntry::Withdrawn(id) => {
                self.commands.retain(|row| row.command.spec().id != *id);
                self.gone.retain(|(other, ..)| other != id);
                self.keys.retain(|key| key.id != *id);
            }
            JournalEntry::CurrentTab(current) => {
                self.clients.retain(|other| other.client != current.client);
                self.clients.push(current.clone());
            }
            JournalEntry::Leased(lease) => {
                self.leases.retain(|other| !is_in_one_tab(other, &lease.browser, lease.tab));
                self.leases.push(lease.clone());
            }
            JournalEntry::LeaseEnded(browser, tab) => {
                self.leases.retain(|lease| !is_in_one_tab(lease, browser, *tab));
            }
            JournalEntry::TabOpened(opened) => {
                self.opened_tabs.retain(|other| !is_same_tab(other, &opened.browser, opened.tab));
                self.opened_tabs.push(opened.clone());
            }
            JournalEntry::OpenedTabGone(browser, tab) => {
                self.opened_tabs.retain(|opened| !is_same_tab(opened, browser, *tab));
            }
            JournalEntry::TabOwned(owned) => {
                self.owner_tabs.retain(|other| !is_same_place(other, &owned.browser, owned.tab));
                self.owner_tabs.push(owned.clone());
            }
            JournalEntry::OwnedTabGone(browser, tab) => {
                self.owner_tabs.retain(|owned| !is_same_place(owned, browser, *tab));
            }
            JournalEntry::ConsentKept(kept) => {
                self.consents.retain(|known| known.subject != kept.subject);
                self.consents.push(kept.clone());
            }
            JournalEntry::ConsentDropped(subject) => {
                self.consents.retain(|known| known.subject != *subject);
            }
            JournalEntry::Session(browser, session) => {
                self.sessions.insert(browser.clone(), session.clone());
            }
            JournalEntry::ClientForgotten(client) => {
                self.clients.retain(|current| current.client != *client);
                self.gone.retain(|(_, of, _)| of != client);
                self.keys.retain(|key| key.client != *client);
            }
            JournalEntry::DropKeys(before) => self.keys.retain(|key| key.accepted >= *before),
        }
    }

    fn row(&mut self, id: &CorrelationId) -> Option<&mut Row> {
        self.commands.iter_mut().find(|row| row.command.spec().id == *id)
    }

    fn accept(&mut self, acceptance: &AcceptedCommand) {
        let AcceptedCommand { command, key, dropped_keys, .. } = acceptance;
        let spec = command.spec();
        self.keys.retain(|kept| {
            let is_of = kept.owner == spec.owner && kept.client == spec.client;
            let is_dropped = dropped_keys.contains(&kept.key);
            let is_replaced = key.as_ref().is_some_and(|key| key.key == kept.key);
            !(is_of && (is_dropped || is_replaced))
        });
        if let Some(key) = key {
            self.keys.push(RecordedKey::of(spec, key));
        }
        let (acceptance, command) = (acceptance.clone(), command.clone());
        self.commands.push(Row { acceptance, command, stage: SavedStage::Accepted });
    }

    fn change(&mut self, command: &Command) {
        let delivery = command.delivery().cloned();
        let stage = match (command.state(), delivery) {
            (CommandState::Started { .. }, Some(delivery)) => {
                let attempt = u64::from(delivery.attempt.0);
                self.started.insert((command.spec().id.to_string(), attempt));
                SavedStage::Started { delivery, at: command.started_at() }
            }
            (CommandState::Ended { at, outcome, read, .. }, delivery) => {
                SavedStage::Ended { at: *at, outcome: outcome.clone(), delivery, read: *read }
            }
            (CommandState::Held { hold, .. }, _) => SavedStage::Held(CommandHold::clone(hold)),
            (CommandState::Queued { .. } | CommandState::Sent { .. }, _)
                if command.holds().times > 0 =>
            {
                SavedStage::Released { at: command.spec().created }
            }
            (CommandState::Working { .. }, _) => SavedStage::Working { at: command.started_at() },
            (
                CommandState::Queued { .. }
                | CommandState::Sent { .. }
                | CommandState::Started { .. }
                | CommandState::Waiting,
                _,
            ) => return,
        };
        if let Some(row) = self.row(&command.spec().id) {
            row.command = command.clone();
            row.stage = stage;
        }
    }

    /// Whether the start of this attempt was recorded.
    pub fn has_start(&self, id: &str, attempt: u64) -> bool {
        self.started.contains(&(id.to_owned(), attempt))
    }

    /// In which start of the machine the daemon lived last.
    pub fn boot(&self) -> Option<&str> {
        self.anchor.as_ref().map(|anchor| &*anchor.boot)
    }

    /// What the next life of the daemon goes on with.
    pub fn history(&self) -> RecordedHistory {
        let kept = |row: &Row| RecordedCommand {
            saved: SavedCommand {
                spec: row.command.spec().clone(),
                stage: row.stage.clone(),
                trace: row.command.marks().to_vec(),
                holds: row.command.holds().clone(),
            },
            lane: row.acceptance.lane.clone(),
            selector: row.acceptance.selector.clone(),
        };
        let mut gone = self.gone.clone();
        gone.sort_by(|(a, _, this), (b, _, that)| (this.at, a).cmp(&(that.at, b)));
        let mut keys: Vec<_> = self.keys.iter().map(copy_of).collect();
        keys.sort_by(|a, b| {
            let by = |key: &RecordedKey| {
                (key.accepted, key.owner.clone(), key.client.clone(), key.key.clone())
            };
            by(a).cmp(&by(b))
        });
        let mut clients = self.clients.clone();
        clients.sort_by(|a, b| (a.at, &a.client).cmp(&(b.at, &b.client)));
        RecordedHistory {
            commands: self.commands.iter().map(kept).collect(),
            gone,
            keys,
            clients,
            leases: self.leases.clone(),
            opened_tabs: self.opened_tabs.clone(),
            owner_tabs: self.owner_tabs.clone(),
            consents: self.consents.clone(),
            sessions: self.sessions.clone().into_iter().collect(),
            anchor: self.anchor.clone(),
            moved_aside: None,
        }
    }
}

fn is_same_place(owned: &OwnerTab, browser: &BrowserId, tab: TabId) -> bool {
    owned.browser == *browser && owned.tab == tab
}

fn is_same_tab(opened: &ClientTab, browser: &BrowserId, tab: TabId) -> bool {
    opened.browser == *browser && opened.tab == tab
}

fn is_in_one_tab(lease: &TabLease, browser: &BrowserId, tab: TabId) -> bool {
    lease.browser == *browser && lease.tab == tab
}

fn copy_of(key: &RecordedKey) -> RecordedKey {
    RecordedKey {
        owner: key.owner.clone(),
        key: key.key.clone(),
        client: key.client.clone(),
        id: key.id.clone(),
        query_id: key.query_id.clone(),
        accepted: key.accepted,
        digest: key.digest,
    }
}
