//! The commands that ended in the last minutes, for the plots of the person's page.
//!
//! A collector keeps the past itself; a person who opens the page has no collector. A minute without
//! an end takes no memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::ended::EndedCommand;
use super::time_steps::{TimePercentiles, TimeSteps};
use crate::protocol::{StatusWord, Timestamp};

/// How many minutes are kept.
const MINUTES: u64 = 30;

/// Over how many minutes [`RecentTimes`] goes.
const RECENT: u64 = 5;

const MINUTE_MS: u64 = 60_000;

/// The ends of the last minutes.
#[derive(Debug, Default)]
pub(super) struct RecentEnds(Mutex<VecDeque<EndedMinute>>);

/// One minute with ends.
#[derive(Debug)]
struct EndedMinute {
    /// Minutes since the Unix epoch.
    number: u64,
    ends: BTreeMap<&'static str, u32>,
    times: TimeSteps,
}

/// One minute in which commands ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MinuteEnds {
    /// When it began, in ms since the Unix epoch.
    pub at: u64,
    /// How many commands ended, by the word of their end.
    pub ends: BTreeMap<&'static str, u32>,
    /// From acceptance to the end of those that completed.
    #[serde(flatten)]
    pub times: TimePercentiles,
}

/// The last minutes, and the times of the last few of them together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecentTimes {
    /// The minutes in which commands ended, oldest first; others have no entry.
    pub minutes: Vec<MinuteEnds>,
    /// From acceptance to the end of the commands that completed in the last five minutes.
    pub last: TimePercentiles,
}

impl RecentEnds {
    fn kept(&self) -> std::sync::MutexGuard<'_, VecDeque<EndedMinute>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a command that has just ended.
    pub(super) fn note(&self, ended: &EndedCommand) {
        let number = minute_of(ended.at);
        let mut kept = self.kept();
        // Ends come in the order of their times.
        if kept.back().is_none_or(|last| last.number < number) {
            kept.push_back(EndedMinute::empty(number));
        }
        drop_old(&mut kept, number);
        let Some(minute) = kept.back_mut() else { return };
        *minute.ends.entry(ended.end).or_default() += 1;
        if ended.end == StatusWord::Complete.as_str() {
            minute.times.note(ended.took);
        }
    }

    /// The last minutes, as seen now.
    pub(super) fn read(&self, now: Timestamp) -> RecentTimes {
        let number = minute_of(now);
        let mut kept = self.kept();
        drop_old(&mut kept, number);
        let mut last = TimeSteps::default();
        for minute in kept.iter().filter(|minute| minute.number + RECENT > number) {
            last.add(&minute.times);
        }
        let minutes = kept.iter().map(EndedMinute::told).collect();
        RecentTimes { minutes, last: last.percentiles() }
    }
}

fn minute_of(at: Timestamp) -> u64 {
    at.unix_millis() / MINUTE_MS
}

fn drop_old(kept: &mut VecDeque<EndedMinute>, now: u64) {
    while kept.front().is_some_and(|first| first.number + MINUTES <= now) {
        kept.pop_front();
    }
}

impl EndedMinute {
    fn empty(number: u64) -> Self {
        Self { number, ends: BTreeMap::new(), times: TimeSteps::default() }
    }

    fn told(&self) -> MinuteEnds {
        let Self { number, ends, times } = self;
        MinuteEnds { at: number * MINUTE_MS, ends: ends.clone(), times: times.percentiles() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::ended::PhaseStays;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_micros(1_795_000_020_000_000 + seconds * 1_000_000)
    }

    fn end(recent: &RecentEnds, seconds: u64, end: StatusWord, took: Duration) {
        let (action, transport, stays) = ("page_info", "none", PhaseStays::default());
        let end = end.as_str();
        recent.note(&EndedCommand { action, transport, end, at: at(seconds), took, stays });
    }

    #[test]
    fn commands_are_counted_in_the_minute_of_their_end_and_only_completed_ones_have_times() {
        let recent = RecentEnds::default();
        for millis in 1..=100 {
            end(&recent, 1, StatusWord::Complete, Duration::from_millis(millis));
        }
        end(&recent, 61, StatusWord::Timeout, Duration::from_secs(10));
        let told = recent.read(at(62));
        let [first, second] = &told.minutes[..] else { panic!("{told:?}") };
        assert_eq!(second.at - first.at, MINUTE_MS);
        assert_eq!(first.ends, BTreeMap::from([("complete", 100)]));
        assert_eq!(second.ends, BTreeMap::from([("timeout", 1)]));
        assert_eq!(second.times, TimePercentiles::default());
        assert_eq!(first.times, told.last);
        for (told, real) in
            [(told.last.p50_ms, 50.0), (told.last.p95_ms, 95.0), (told.last.p99_ms, 99.0)]
        {
            let told = told.unwrap();
            assert!((told - real).abs() <= real / 16.0, "{told} for {real}");
        }
    }

    #[test]
    fn minutes_leave_after_half_an_hour_and_the_times_after_five_minutes() {
        let recent = RecentEnds::default();
        end(&recent, 0, StatusWord::Complete, Duration::from_millis(5));
        assert!(recent.read(at(4 * 60)).last.p50_ms.is_some());
        let later = recent.read(at(5 * 60));
        assert_eq!((later.last, later.minutes.len()), (TimePercentiles::default(), 1));
        assert_eq!(recent.read(at(29 * 60)).minutes.len(), 1);
        assert!(recent.read(at(30 * 60)).minutes.is_empty());
        for minute in 0..100 {
            end(&recent, minute * 60, StatusWord::Cancelled, Duration::ZERO);
        }
        assert_eq!(recent.kept().len(), 30);
    }
}
