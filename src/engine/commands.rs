//! All commands with a record, and how far the journal has recorded each of them.

use std::collections::HashMap;

use super::entry::JournalSeq;
use crate::lifecycle::{Command, CommandPhase, LifecycleEvent, Transition};
use crate::protocol::{Attempt, CorrelationId, GivenFile, Timestamp, WorkKind};

/// All commands with a record. A command changes only in [`CommandRegistry::apply`].
#[derive(Debug, Default)]
pub(super) struct CommandRegistry {
    records: HashMap<CorrelationId, CommandRecord>,
    /// How many of them are Queued or Sent.
    not_begun: usize,
}

#[derive(Debug)]
struct CommandRecord {
    command: Command,
    /// The journal entry of its acceptance.
    accepted: JournalSeq,
    /// The journal entry of its last recorded change.
    recorded: JournalSeq,
    /// The files that it gave to pages.
    given: Vec<GivenFile>,
}

/// Whether a command is Queued or Sent.
pub(super) fn has_not_begun(command: &Command) -> bool {
    match command.phase() {
        CommandPhase::Queued | CommandPhase::Sent => true,
        CommandPhase::Held
        | CommandPhase::Started
        | CommandPhase::Waiting
        | CommandPhase::Working
        | CommandPhase::Leaving
        | CommandPhase::Ended => false,
    }
}

/// How many files of one command are remembered for its timeline.
const GIVEN_FILES_MAX: usize = 50;

impl CommandRegistry {
    pub(super) fn insert(&mut self, command: Command, accepted: JournalSeq) {
        let id = command.spec().id.clone();
        self.not_begun += usize::from(has_not_begun(&command));
        let record = CommandRecord { command, accepted, recorded: accepted, given: Vec::new() };
        self.records.insert(id, record);
    }

    pub(super) fn remove(&mut self, id: &CorrelationId) -> Option<Command> {
        let command = self.records.remove(id)?.command;
        self.not_begun -= usize::from(has_not_begun(&command));
        Some(command)
    }

    pub(super) fn get(&self, id: &CorrelationId) -> Option<&Command> {
        self.records.get(id).map(|record| &record.command)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Command> {
        self.records.values().map(|record| &record.command)
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether a command is Queued or Sent.
    pub(super) const fn is_any_not_begun(&self) -> bool {
        self.not_begun > 0
    }

    /// Applies an event to a command.
    pub(super) fn apply(
        &mut self,
        id: &CorrelationId,
        event: LifecycleEvent,
        now: Timestamp,
    ) -> Option<(Transition, &Command)> {
        let record = self.records.get_mut(id)?;
        let before = has_not_begun(&record.command);
        let step = record.command.apply(event, now);
        self.not_begun -= usize::from(before);
        self.not_begun += usize::from(has_not_begun(&record.command));
        Some((step, &record.command))
    }

    /// The journal entry that records the acceptance of a command.
    pub(super) fn accepted(&self, id: &CorrelationId) -> JournalSeq {
        self.records.get(id).map_or_else(JournalSeq::default, |record| record.accepted)
    }

    /// The journal entry that records the present state of a command.
    pub(super) fn recorded(&self, id: &CorrelationId) -> JournalSeq {
        self.records.get(id).map_or_else(JournalSeq::default, |record| record.recorded)
    }

    pub(super) fn note_recorded(&mut self, id: &CorrelationId, seq: JournalSeq) {
        if let Some(record) = self.records.get_mut(id) {
            record.recorded = seq;
        }
    }

    /// The files that a command gave to pages.
    pub(super) fn given_files(&self, id: &CorrelationId) -> &[GivenFile] {
        self.records.get(id).map_or(&[], |record| &record.given)
    }

    pub(super) fn note_given_files(
        &mut self,
        id: &CorrelationId,
        files: impl IntoIterator<Item = GivenFile>,
    ) {
        if let Some(record) = self.records.get_mut(id) {
            let room = GIVEN_FILES_MAX.saturating_sub(record.given.len());
            record.given.extend(files.into_iter().take(room));
        }
    }

    /// The command with this id, public or short.
    pub(super) fn named(&self, name: &str) -> Option<CorrelationId> {
        let id = CorrelationId::from(name);
        if self.records.contains_key(&id) {
            return Some(id);
        }
        let mut all = self.all().map(Command::spec);
        all.find(|spec| spec.query_id.as_str() == name).map(|spec| spec.id.clone())
    }

    /// The attempt of a command's delivery, if it was delivered.
    pub(super) fn attempt_of(&self, id: &CorrelationId) -> Option<Attempt> {
        self.get(id)?.delivery().map(|delivery| delivery.attempt)
    }

    pub(super) fn kind_of(&self, id: &CorrelationId) -> Option<WorkKind> {
        Some(self.get(id)?.spec().work.kind())
    }

    pub(super) fn phase_of(&self, id: &CorrelationId) -> Option<CommandPhase> {
        Some(self.get(id)?.phase())
    }
}
