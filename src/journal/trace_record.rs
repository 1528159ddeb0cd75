//! The form of a command's trace in its records.

use std::iter;

use serde::{Deserialize, Serialize};

use crate::lifecycle::TracePoint;
use crate::protocol::{Attempt, Timestamp, TracePhase};

/// The points of a trace as they stand in a record: whole, or as steps after the command's creation.
pub(super) type TraceParts = (Option<Vec<TracePointRecord>>, Vec<StepRecord>);

/// A point of a command's trace: the phase, when it was reached, and in which delivery. Records of
/// schemas before 11 hold all points so, and others those of a command that was not queued as soon as
/// it was created.
#[derive(Serialize, Deserialize)]
pub(super) struct TracePointRecord(TracePhase, u64, Option<Attempt>);

/// A point of a trace that begins with the command's creation, which is left out: the phase, how long
/// after it in microseconds, and in which delivery. A record that is a third shorter splits fewer
/// pages of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct StepRecord(TracePhase, i64, Option<Attempt>);

/// A trace as its points, or as the steps after the command's creation.
pub(super) fn trace_records(created: Timestamp, trace: &[TracePoint]) -> TraceParts {
    let first = TracePoint { phase: TracePhase::Queued, at: created, attempt: None };
    match trace.split_first() {
        Some((begin, steps)) if *begin == first => {
            (None, steps.iter().map(|point| StepRecord::of(created, point)).collect())
        }
        _ => (Some(trace.iter().map(TracePointRecord::of).collect()), Vec::new()),
    }
}

pub(super) fn trace_points(created: Timestamp, (trace, steps): TraceParts) -> Vec<TracePoint> {
    match trace {
        Some(trace) => trace.into_iter().map(TracePointRecord::point).collect(),
        None => iter::once(StepRecord(TracePhase::Queued, 0, None))
            .chain(steps)
            .map(|step| step.point(created))
            .collect(),
    }
}

impl TracePointRecord {
    const fn of(point: &TracePoint) -> Self {
        Self(point.phase, point.at.unix_micros(), point.attempt)
    }

    fn point(self) -> TracePoint {
        let Self(phase, at, attempt) = self;
        TracePoint { phase, at: Timestamp::from_unix_micros(at), attempt }
    }
}

impl StepRecord {
    fn of(created: Timestamp, point: &TracePoint) -> Self {
        let after = point.at.unix_micros().wrapping_sub(created.unix_micros());
        Self(point.phase, after.cast_signed(), point.attempt)
    }

    fn point(self, created: Timestamp) -> TracePoint {
        let Self(phase, after, attempt) = self;
        let at = created.unix_micros().wrapping_add_signed(after);
        TracePoint { phase, at: Timestamp::from_unix_micros(at), attempt }
    }
}
