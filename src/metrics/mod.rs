//! Counts and times for operators, as OpenMetrics text.
//!
//! Commands are counted as they end, each once. Every label is a word of this program: none comes
//! from a page, a client or an extension, so the number of series has a bound. States, such as the
//! number of open links, are read when somebody asks.

mod ended;
mod measures;
mod recent;
mod sample;
mod time_steps;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::lifecycle::Command;
use crate::protocol::Transport;
use ended::EndedCommand;
pub use measures::DaemonMeasures;
use recent::RecentEnds;
pub use recent::{MinuteEnds, RecentTimes};
pub use sample::DaemonSample;
pub use time_steps::TimePercentiles;
use time_steps::TimeSteps;

/// What each name begins with.
const PREFIX: &str = "tabwire";

/// The bounds of the times of commands, in seconds. The first ones tell a daemon that is fast from one
/// that is not, the later ones a page.
const COMMAND_BOUNDS: [f64; 16] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0,
];

/// The bounds of the times of the journal's writes, in seconds.
const WRITE_BOUNDS: [f64; 10] =
    [0.000_02, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.005, 0.025, 0.1, 1.0];

/// Names of labels with their values.
type Labels<const N: usize> = [(&'static str, &'static str); N];

type LabelledCounter<const N: usize> = Family<Labels<N>, Counter>;

type LabelledTimes<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// The counts and times of a daemon since it started.
pub struct DaemonMetrics {
    registry: Registry,
    commands: LabelledCounter<3>,
    times: LabelledTimes<1>,
    phases: LabelledTimes<2>,
    rejected_requests: CountedCodes,
    rejected_calls: CountedCodes,
    links: LabelledCounter<2>,
    spans: LabelledCounter<1>,
    writes: WriteTimes,
    recent: RecentEnds,
}

/// What became of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanFate {
    /// The collector has taken it.
    Exported,
    /// Too many others waited: the collector is slow or away.
    QueueFull,
    /// The collector has refused it, or the daemon ended before it was taken.
    Failed,
}

impl SpanFate {
    const fn word(self) -> &'static str {
        match self {
            Self::Exported => "exported",
            Self::QueueFull => "queue_full",
            Self::Failed => "failed",
        }
    }
}

/// A counter for each code. A family tells no labels that it has, so they are noted beside it.
#[derive(Debug, Default)]
struct CountedCodes {
    counts: LabelledCounter<1>,
    codes: Mutex<BTreeSet<&'static str>>,
}

impl CountedCodes {
    fn count(&self, code: &'static str) {
        if self.counts.get_or_create(&[("code", code)]).inc() == 0 {
            self.codes.lock().unwrap_or_else(PoisonError::into_inner).insert(code);
        }
    }

    /// The count of each code that came.
    fn read(&self) -> BTreeMap<&'static str, u64> {
        let codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = &self.counts;
        let of = |code| Some((code, counts.get(&[("code", code)])?.get()));
        codes.iter().filter_map(|code| of(*code)).collect()
    }
}

impl fmt::Debug for DaemonMetrics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("DaemonMetrics").finish_non_exhaustive()
    }
}

/// Times of writes, for the journal to fill in.
#[derive(Clone, Debug)]
pub struct WriteTimes {
    collected: Histogram,
    /// The same for the person's page: a histogram of the library tells its counts to collectors only.
    steps: Arc<Mutex<TimeSteps>>,
}

impl Default for WriteTimes {
    fn default() -> Self {
        Self { collected: Histogram::new(WRITE_BOUNDS), steps: Arc::default() }
    }
}

impl WriteTimes {
    /// Notes how long a batch took.
    pub fn observe(&self, took: Duration) {
        self.collected.observe(took.as_secs_f64());
        self.steps().note(took);
    }

    fn steps(&self) -> MutexGuard<'_, TimeSteps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DaemonMetrics {
    /// Nothing is counted yet; `writes` are the journal's.
    #[must_use]
    pub fn new(writes: &WriteTimes) -> Self {
        let times: fn() -> Histogram = || Histogram::new(COMMAND_BOUNDS);
        let mut metrics = Self {
            registry: Registry::with_prefix(PREFIX),
            commands: Family::default(),
            times: Family::new_with_constructor(times),
            phases: Family::new_with_constructor(times),
            rejected_requests: CountedCodes::default(),
            rejected_calls: CountedCodes::default(),
            links: Family::default(),
            spans: Family::default(),
            writes: writes.clone(),
            recent: RecentEnds::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let Self { registry, .. } = self;
        registry.register(
            "commands",
            "Commands that ended, by action, by the transport of the last delivery and by end",
            self.commands.clone(),
        );
        registry.register_with_unit(
            "command_time",
            "From a command's acceptance to its end",
            Unit::Seconds,
            self.times.clone(),
        );
        registry.register_with_unit(
            "command_phase",
            "How long a command stayed in a phase, all its stays together",
            Unit::Seconds,
            self.phases.clone(),
        );
        registry.register(
            "rejected_requests",
            "HTTP requests that the guard or a route rejected, by the code in the answer",
            self.rejected_requests.counts.clone(),
        );
        registry.register(
            "rejected_calls",
            "Calls of tools that led to no command, by the code in the answer",
            self.rejected_calls.counts.clone(),
        );
        registry.register(
            "links_opened",
            "Connections of extensions with a valid proof; returning: of a browser that was known",
            self.links.clone(),
        );
        registry.register(
            "spans",
            "Spans of commands for a collector of traces, by what became of them",
            self.spans.clone(),
        );
        registry.register_with_unit(
            "journal_write",
            "How long the journal took to record a batch of entries",
            Unit::Seconds,
            self.writes.collected.clone(),
        );
    }

    /// Counts a command that has just ended.
    pub fn count_end(&self, command: &Command) {
        let Some(ended) = EndedCommand::of(command) else { return };
        self.recent.note(&ended);
        let EndedCommand { action, transport, end, at: _, took, stays } = ended;
        let labels = [("action", action), ("transport", transport), ("end", end)];
        self.commands.get_or_create(&labels).inc();
        self.times.get_or_create(&[("action", action)]).observe(took.as_secs_f64());
        for (phase, stayed) in stays.iter() {
            let labels = [("phase", phase), ("transport", transport)];
            self.phases.get_or_create(&labels).observe(stayed.as_secs_f64());
        }
    }

    /// Counts a rejected HTTP request; `code` is a word of this program.
    pub fn count_rejected_request(&self, code: &'static str) {
        self.rejected_requests.count(code);
    }

    /// Counts a call that led to no command; `code` is a word of this program.
    pub fn count_rejected_call(&self, code: &'static str) {
        self.rejected_calls.count(code);
    }

    /// Counts a new link of an extension.
    pub fn count_link(&self, transport: Transport, is_returning: bool) {
        let returning = if is_returning { "true" } else { "false" };
        let labels = [("transport", transport.word()), ("returning", returning)];
        self.links.get_or_create(&labels).inc();
    }

    /// Counts spans that were sent to a collector, or were lost.
    pub fn count_spans(&self, fate: SpanFate, number: usize) {
        if number > 0 {
            let number = u64::try_from(number).unwrap_or(u64::MAX);
            self.spans.get_or_create(&[("fate", fate.word())]).inc_by(number);
        }
    }

    /// Everything as OpenMetrics text, with the states of this sample.
    #[must_use]
    pub fn text(&self, sample: &DaemonSample) -> String {
        let mut text = String::new();
        let state = sample.registry();
        // Writing to a string fails only where a metric does, and these do not.
        let written = encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, &state))
            .and_then(|()| encode_eof(&mut text));
        debug_assert!(written.is_ok(), "every metric can be written");
        text
    }
}

#[cfg(test)]
mod tests;
