//! The measures of a command that has ended.

use std::time::Duration;

use crate::lifecycle::Command;
use crate::protocol::{StatusWord, Timestamp, TracePhase};

/// The transport of a command that was never delivered.
const NO_TRANSPORT: &str = "none";

/// A command that has ended, in words and times.
pub(super) struct EndedCommand {
    pub(super) action: &'static str,
    /// How it was delivered last.
    pub(super) transport: &'static str,
    pub(super) end: &'static str,
    /// When it ended.
    pub(super) at: Timestamp,
    /// From its acceptance to its end.
    pub(super) took: Duration,
    pub(super) stays: PhaseStays,
}

impl EndedCommand {
    /// `None`: it has not ended.
    pub(super) fn of(command: &Command) -> Option<Self> {
        let (at, status) = command.end_word()?;
        let created = command.spec().created;
        let transport = command.delivery().map_or(NO_TRANSPORT, |given| given.transport.word());
        Some(Self {
            action: command.spec().work.name(),
            transport,
            end: StatusWord::as_str(status),
            at,
            took: at.since(created),
            stays: PhaseStays::of(command),
        })
    }
}

/// The names of the phases in which a command can stay.
const PHASES: [&str; 5] = ["queued", "delivered", "claimed", "held", "started"];

/// How long a command stayed in each phase; `None`: it never came there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PhaseStays([Option<Duration>; PHASES.len()]);

impl PhaseStays {
    fn of(command: &Command) -> Self {
        let mut stays = Self::default();
        let mut since = None;
        for point in command.marks() {
            let is_stay = place(point.phase).is_some();
            if !is_stay && point.phase != TracePhase::Done {
                continue;
            }
            if let Some((place, since)) = since {
                let stay: &mut Option<Duration> = &mut stays.0[place];
                *stay = Some(stay.unwrap_or_default() + point.at.since(since));
            }
            since = place(point.phase).map(|place| (place, point.at));
        }
        stays
    }

    /// The phases in which it stayed, with their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        PHASES.into_iter().zip(self.0).filter_map(|(name, stay)| Some((name, stay?)))
    }
}

/// Where a phase is in [`PHASES`], if a command stays in it.
const fn place(phase: TracePhase) -> Option<usize> {
    match phase {
        TracePhase::Queued | TracePhase::Requeued => Some(0),
        TracePhase::Delivered => Some(1),
        TracePhase::Claimed => Some(2),
        TracePhase::Held => Some(3),
        TracePhase::Started => Some(4),
        TracePhase::FirstPending
        | TracePhase::Done
        | TracePhase::LateResult
        | TracePhase::FirstRead => None,
    }
}
