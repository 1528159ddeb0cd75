//! The states that are read when somebody asks.

use std::collections::HashMap;

use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use super::{Labels, PREFIX};
use crate::lifecycle::CommandPhase;
use crate::os;
use crate::protocol::{SERVER_VERSION, Timestamp, Transport};

/// The phases in which commands wait or run, with their names.
pub(super) const PHASES: [(CommandPhase, &str); 6] = [
    (CommandPhase::Queued, "queued"),
    (CommandPhase::Sent, "delivered"),
    (CommandPhase::Held, "held"),
    (CommandPhase::Started, "started"),
    (CommandPhase::Waiting, "waiting"),
    (CommandPhase::Working, "working"),
];

pub(super) const TRANSPORTS: [Transport; 4] =
    [Transport::WebSocket, Transport::Http, Transport::Poll, Transport::Sync];

/// The state of a daemon at one moment.
#[derive(Debug)]
pub struct DaemonSample {
    /// How many commands are in each phase, those that are over left out.
    pub phases: HashMap<CommandPhase, u64>,
    /// How many commands have a record.
    pub kept: u64,
    /// How many links of each transport are open.
    pub links: HashMap<Transport, u64>,
    /// How many clients are known.
    pub clients: u64,
    /// How many calls wait for an end.
    pub waiting_calls: u64,
    /// How many HTTP requests passed the guard.
    pub admitted: u64,
    /// How many HTTP requests the guard turned away.
    pub refused: u64,
    /// Whether new commands can be recorded, or need not be.
    pub is_storage_well: bool,
    /// The size of the journal's files, in bytes; `None`: there are none.
    pub journal_bytes: Option<u64>,
    /// When the daemon started.
    pub started: Timestamp,
}

impl DaemonSample {
    /// The states as metrics.
    pub(super) fn registry(&self) -> Registry {
        let mut all = Registry::default();
        self.register_process(&mut all);
        let own = all.sub_registry_with_prefix(PREFIX);
        self.register_commands(own);
        let links = TRANSPORTS.iter().map(|transport| {
            let number = self.links.get(transport).copied().unwrap_or_default();
            ([("transport", transport.word())], number)
        });
        own.register("links", "Open connections of extensions", labelled(links));
        own.register("clients", "Known clients", count(self.clients));
        own.register("waiting_calls", "Calls that wait for an end", count(self.waiting_calls));
        let requests = Family::<Labels<1>, Counter>::default();
        for (result, number) in [("admitted", self.admitted), ("refused", self.refused)] {
            requests.get_or_create(&[("result", result)]).inc_by(number);
        }
        own.register("requests", "HTTP requests, by the guard's decision", requests);
        own.register(
            "storage_up",
            "1 if new commands can be recorded, or the daemon runs without a journal",
            count(u64::from(self.is_storage_well)),
        );
        if let Some(bytes) = self.journal_bytes {
            own.register_with_unit(
                "journal_size",
                "The journal's files",
                Unit::Bytes,
                count(bytes),
            );
        }
        own.register(
            "build",
            "The version of the daemon",
            Info::new([("version", SERVER_VERSION)]),
        );
        all
    }

    fn register_commands(&self, own: &mut Registry) {
        // Also those in which no command is: a series that comes and goes is no zero.
        let phases = PHASES.iter().map(|(phase, word)| {
            ([("phase", *word)], self.phases.get(phase).copied().unwrap_or_default())
        });
        own.register("open_commands", "Accepted commands that have not ended", labelled(phases));
        own.register("kept_commands", "Commands with a record", count(self.kept));
    }

    /// By the names that every program has.
    fn register_process(&self, all: &mut Registry) {
        let process = all.sub_registry_with_prefix("process");
        if let Some(memory) = os::resident_memory() {
            process.register_with_unit(
                "resident_memory",
                "The memory that the process takes",
                Unit::Bytes,
                count(memory),
            );
        }
        process.register_with_unit(
            "cpu",
            "The processor time that the process has taken",
            Unit::Seconds,
            ConstCounter::new(os::processor_time().as_secs_f64()),
        );
        #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit in 2^53")]
        let started = self.started.unix_millis() as f64 / 1e3;
        process.register_with_unit(
            "start_time",
            "When the process started, since 1970",
            Unit::Seconds,
            ConstGauge::new(started),
        );
    }
}

fn count(number: u64) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(number).unwrap_or(i64::MAX))
}

fn labelled<const N: usize>(
    numbers: impl Iterator<Item = (Labels<N>, u64)>,
) -> Family<Labels<N>, Gauge> {
    let family = Family::<Labels<N>, Gauge>::default();
    for (labels, number) in numbers {
        family.get_or_create(&labels).set(i64::try_from(number).unwrap_or(i64::MAX));
    }
    family
}
