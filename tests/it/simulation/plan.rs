//! What happens in a run: decided by its seed before it begins.

use std::time::Duration;

use super::chance::Chance;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The extension's socket is gone; both sides learn of it.
    Cut,
    /// The extension's worker is killed: another one starts, with what it had stored.
    Kill,
    /// The browser is started again: what its extension had stored is gone, too.
    RestartBrowser,
    /// The extension connects a second time, and its old connection lingers for so long.
    TakeOver(Duration),
    /// The extension does not read for so long.
    Deaf(Duration),
    /// Nothing gets through between the browser and the daemon for so long; it comes late.
    Hold(Duration),
    /// What is sent between them is lost for so long, and the connection with it.
    Partition(Ways, Duration),
    /// The same between the agents and the daemon.
    PartitionAgents(Duration),
    /// The daemon is killed, and started again after so long.
    Crash(Duration),
    /// The same, and nobody is told that its sockets are gone.
    PowerCut(Duration),
    /// The machine starts anew: the daemon and the browsers with it.
    Reboot(Duration),
    /// The daemon is asked to end, and started again.
    Restart,
    /// The journal cannot be written for so long.
    DiskFull(Duration),
}

/// What a partition keeps from getting through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ways {
    Both,
    ToDaemon,
    FromDaemon,
}

/// A step of the protocol, at which something can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Step {
    /// `ready` was sent.
    Ready,
    /// `command` has come and nothing was done about it.
    Command,
    /// `claim` was sent.
    Claimed,
    /// `go` has come and nothing was done about it.
    Go,
    /// It has begun to run.
    Running,
    /// It has run, and nothing was said of it.
    ProgramOutput,
    /// Its report was sent.
    Reported,
    /// `result_ack` has come and nothing was done about it.
    Acked,
    /// An acceptance, a start or an end is about to be recorded.
    Writing(Kind),
    /// It is recorded, and the hub does not know yet.
    Written(Kind),
}

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Acceptance,
    Start,
    End,
}

const EXTENSION_STEPS: [Step; 8] = [
    Step::Ready,
    Step::Command,
    Step::Claimed,
    Step::Go,
    Step::Running,
    Step::ProgramOutput,
    Step::Reported,
    Step::Acked,
];

const DISK_STEPS: [Step; 6] = [
    Step::Writing(Kind::Acceptance),
    Step::Writing(Kind::Start),
    Step::Writing(Kind::End),
    Step::Written(Kind::Acceptance),
    Step::Written(Kind::Start),
    Step::Written(Kind::End),
];

/// When something goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// At so much simulated time.
    At(Duration),
    /// When this step is reached for the nth time, from 0, with any browser.
    Step(Step, u32),
}

/// A fault, and when it comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) when: When,
    /// In which browser, if it is in one.
    pub(super) browser: usize,
    pub(super) fault: Fault,
}

/// All that a seed decides beforehand.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    /// How much time each host runs before messages are delivered.
    pub(super) tick: Duration,
    /// How long a message takes at most, in ms.
    pub(super) latency: u64,
    pub(super) browsers: usize,
    pub(super) agents: usize,
    pub(super) commands: u64,
    /// How long a commit takes at most, in ms.
    pub(super) commit: u64,
    pub(super) faults: Vec<Planned>,
    /// From here on nothing goes wrong.
    pub(super) calm: Duration,
    /// Whether it goes on until records are gone.
    pub(super) waits_for_retention: bool,
}

impl Plan {
    pub(super) fn of(seed: u64) -> Self {
        let chance = Chance::of(seed, "plan");
        let browsers = if chance.one_in(4) { 2 } else { 1 };
        let tick = Duration::from_millis(chance.pick(&[2, 10, 20, 20, 50, 50]));
        let n_faults = chance.pick(&[0, 1, 1, 2, 3, 4, 6, 8]);
        let theme = chance.pick(&[Theme::Anything, Theme::Records, Theme::Links]);
        let faults = (0..n_faults).map(|_| planned(&chance, theme, browsers as u64)).collect();
        Self {
            seed,
            tick,
            latency: chance.pick(&[0, 0, 10, 40, 200]),
            browsers,
            agents: 2 + usize::try_from(chance.below(3)).unwrap(),
            commands: 2 + chance.below(6),
            commit: chance.pick(&[0, 0, 5, 30, 400]),
            faults,
            calm: Duration::from_secs(8),
            waits_for_retention: chance.one_in(10),
        }
    }
}

/// What a run is about. Faults of a kind meet more often than chance would have it.
#[derive(Clone, Copy, Debug)]
enum Theme {
    Anything,
    /// The journal, and deaths of the daemon.
    Records,
    /// Connections and workers.
    Links,
}

fn planned(chance: &Chance, theme: Theme, browsers: u64) -> Planned {
    let nth = u32::try_from(chance.below(6)).unwrap();
    let when = match chance.below(10) {
        0..=2 => When::At(chance.millis(0..=7_500)),
        3..=7 => When::Step(chance.pick(&EXTENSION_STEPS), nth),
        _ => When::Step(chance.pick(&DISK_STEPS), nth),
    };
    let browser = usize::try_from(chance.below(browsers)).unwrap();
    let fault = match theme {
        Theme::Anything if chance.one_in(2) => of_links(chance),
        Theme::Anything | Theme::Records => of_records(chance),
        Theme::Links => of_links(chance),
    };
    Planned { when, browser, fault }
}

fn of_links(chance: &Chance) -> Fault {
    let length = chance.millis(20..=4_500);
    match chance.below(12) {
        0 | 1 => Fault::Cut,
        2..=4 => Fault::Kill,
        5 => Fault::RestartBrowser,
        6 | 7 => Fault::TakeOver(length),
        8 => Fault::Deaf(length),
        9 | 10 => Fault::Hold(length),
        _ => {
            let ways = chance.pick(&[Ways::Both, Ways::ToDaemon, Ways::FromDaemon]);
            Fault::Partition(ways, length)
        }
    }
}

fn of_records(chance: &Chance) -> Fault {
    let length = chance.millis(20..=3_500);
    match chance.below(12) {
        0..=4 => Fault::Crash(length),
        5 => Fault::PowerCut(length),
        6 => Fault::Reboot(length),
        7 => Fault::Restart,
        8 => Fault::PartitionAgents(length),
        _ => Fault::DiskFull(length),
    }
}
