//! The extension's side of its commands as a state machine, with the steps of
//! `extension-shim/src/commands/dispatcher.js` and `outbox.js`: claimed, running, reported. It sends
//! nothing: connections, runs and storage are its user's.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tabwire::protocol::InFlightState;

use super::DeliveredCommand;

/// The commands that an extension has, through all its connections and all lives of its worker. `C`
/// is a command as it was delivered, `R` is a report.
#[derive(Debug)]
pub struct ExtensionAttempts<C, R> {
    epoch: String,
    known: BTreeMap<String, CommandAttempt<C, R>>,
    /// Commands that have had their report.
    finished: BTreeSet<String>,
}

/// An attempt that is not over for the extension.
#[derive(Clone, Debug)]
pub struct CommandAttempt<C, R> {
    pub attempt: u64,
    pub command: C,
    pub stage: AttemptStage<R>,
}

#[derive(Clone, Debug)]
pub enum AttemptStage<R> {
    Claimed,
    Running,
    /// The report is in the outbox, which outlives the worker, until it is acknowledged.
    Reported(R),
}

/// What the contract asks of an extension that gets a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryReaction {
    /// To claim it.
    Claim,
    /// To run it at once, because it only looks.
    Run,
    /// To say `pending`, because it runs already.
    SayPending,
    /// To send its report again.
    ReportAgain,
    Ignore,
}

impl<C, R> Default for ExtensionAttempts<C, R> {
    fn default() -> Self {
        Self { epoch: String::new(), known: BTreeMap::new(), finished: BTreeSet::new() }
    }
}

impl<C, R> ExtensionAttempts<C, R> {
    /// A proven daemon says which run of it this is. With a new one, attempts that have not begun are
    /// forgotten.
    pub fn welcome(&mut self, epoch: &str) {
        if self.epoch != epoch {
            epoch.clone_into(&mut self.epoch);
            self.known.retain(|_, known| !matches!(known.stage, AttemptStage::Claimed));
        }
    }

    /// The worker ends. Only its outbox stays.
    pub fn end_worker(&mut self) {
        self.known.retain(|_, known| matches!(known.stage, AttemptStage::Reported(_)));
        self.finished.clear();
    }

    /// All attempts, by command.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CommandAttempt<C, R>)> {
        self.known.iter().map(|(id, known)| (id.as_str(), known))
    }

    pub fn get(&self, id: &str) -> Option<&CommandAttempt<C, R>> {
        self.known.get(id)
    }

    /// The commands that run.
    pub fn running(&self) -> impl Iterator<Item = &str> {
        self.iter().filter(|(_, known)| known.is_running()).map(|(id, _)| id)
    }

    /// The outbox: the reports that are not acknowledged.
    pub fn reports(&mut self) -> impl Iterator<Item = (&str, &C, &mut R)> {
        self.known.iter_mut().filter_map(|(id, known)| match &mut known.stage {
            AttemptStage::Reported(report) => Some((id.as_str(), &known.command, report)),
            AttemptStage::Claimed | AttemptStage::Running => None,
        })
    }

    /// Keeps only the reports that this is true of.
    pub fn retain_reports(&mut self, stays: impl Fn(&R) -> bool) {
        self.known.retain(|_, known| match &known.stage {
            AttemptStage::Reported(report) => stays(report),
            AttemptStage::Claimed | AttemptStage::Running => true,
        });
    }

    /// Adds a report of an earlier life.
    pub fn restore_report(&mut self, id: String, attempt: u64, command: C, report: R) {
        let stage = AttemptStage::Reported(report);
        self.known.insert(id, CommandAttempt { attempt, command, stage });
    }

    /// A command is delivered, perhaps not for the first time.
    pub fn deliver(
        &mut self,
        id: &str,
        attempt: u64,
        is_safe: bool,
        command: C,
    ) -> DeliveryReaction {
        if let Some(known) = self.known.get_mut(id) {
            let reaction = match known.stage {
                AttemptStage::Reported(_) => DeliveryReaction::ReportAgain,
                AttemptStage::Running => DeliveryReaction::SayPending,
                AttemptStage::Claimed if known.attempt > attempt => DeliveryReaction::Ignore,
                AttemptStage::Claimed => return self.accept(id, attempt, is_safe, command),
            };
            if reaction != DeliveryReaction::Ignore {
                (known.attempt, known.command) = (attempt, command);
            }
            return reaction;
        }
        if self.finished.contains(id) && !is_safe {
            return DeliveryReaction::Ignore;
        }
        self.accept(id, attempt, is_safe, command)
    }

    /// The same for an extension that trusts the daemon: it protects nothing from running twice, so
    /// that a test sees whether the daemon does.
    pub fn accept(
        &mut self,
        id: &str,
        attempt: u64,
        is_safe: bool,
        command: C,
    ) -> DeliveryReaction {
        let (stage, reaction) = if is_safe {
            (AttemptStage::Running, DeliveryReaction::Run)
        } else {
            (AttemptStage::Claimed, DeliveryReaction::Claim)
        };
        self.known.insert(id.to_owned(), CommandAttempt { attempt, command, stage });
        reaction
    }

    /// `go`. The command to run; `None`: this attempt is not the one, or runs already.
    pub fn begin(&mut self, id: &str, attempt: u64) -> Option<&C> {
        let known = self.known.get_mut(id).filter(|known| known.attempt == attempt)?;
        if !matches!(known.stage, AttemptStage::Claimed) {
            return None;
        }
        known.stage = AttemptStage::Running;
        Some(&known.command)
    }

    /// An attempt gets its report, which its stage decides. `None`: it has one, or is unknown.
    pub fn report(
        &mut self,
        id: &str,
        report: impl FnOnce(&CommandAttempt<C, R>) -> R,
    ) -> Option<&C> {
        let known = self.known.get_mut(id)?;
        if matches!(known.stage, AttemptStage::Reported(_)) {
            return None;
        }
        known.stage = AttemptStage::Reported(report(known));
        self.finished.insert(id.to_owned());
        Some(&known.command)
    }

    /// `result_ack` or `nack`: the daemon needs to hear no more of this attempt. One that runs goes
    /// on.
    pub fn settle(&mut self, id: &str, attempt: u64) {
        let is_it = |known: &CommandAttempt<C, R>| known.attempt == attempt && !known.is_running();
        if self.known.get(id).is_some_and(is_it) {
            self.known.remove(id);
        }
    }

    /// The list for `ready`.
    pub fn in_flight(&self) -> Vec<Value> {
        let entry = |(id, known): (&str, &CommandAttempt<C, R>)| json!({"correlation_id": id, "attempt": known.attempt, "state": known.state()});
        self.iter().map(entry).collect()
    }
}

impl<R> ExtensionAttempts<DeliveredCommand, R> {
    /// [`deliver`](Self::deliver) with a frame.
    pub fn deliver_frame(&mut self, frame: &Value) -> (DeliveredCommand, DeliveryReaction) {
        let command = DeliveredCommand::of(frame);
        let (id, is_safe) = (command.id.clone(), command.command["safe"] == true);
        (command.clone(), self.deliver(&id, command.attempt, is_safe, command))
    }
}

impl<C, R> CommandAttempt<C, R> {
    pub const fn is_running(&self) -> bool {
        matches!(self.stage, AttemptStage::Running)
    }

    /// The state as `ready` tells it.
    pub const fn state(&self) -> InFlightState {
        match self.stage {
            AttemptStage::Claimed => InFlightState::Claimed,
            AttemptStage::Running => InFlightState::Running,
            AttemptStage::Reported(_) => InFlightState::Done,
        }
    }
}
