//! What lies outside of all hosts of a run: what is planned for them, and what they share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use tabwire::home::StateDirectory;
use tabwire::hub::{ClockSample, Hub};
use tabwire::protocol::Timestamp;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::browser::Browser;
use super::chance::Chance;
use super::daemon::Request;
use super::ledger::Ledger;
use super::plan::{Fault, Plan, Planned, Step, When};
use testkit::SimulatedDisk;
use testkit::StateDir;

/// The daemon's port: on a simulated network, so it is nobody else's.
pub(super) const PORT: u16 = 4_000;

pub(super) const DAEMON: &str = "daemon";
pub(super) const AGENTS: &str = "agents";

/// The system clock at the beginning, in s.
const EPOCH: u64 = 1_900_000_000;

/// What lies outside of all hosts.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) chance: Chance,
    pub(super) disk: RefCell<SimulatedDisk>,
    pub(super) ledger: RefCell<Ledger>,
    pub(super) browsers: Vec<Rc<Browser>>,
    home: Rc<StateDir>,
    /// The life of the daemon, while there is one.
    pub(super) life: RefCell<Option<Life>>,
    pub(super) boots: Cell<u64>,
    pub(super) booted_at: Cell<Duration>,
    /// Until when the journal cannot be written.
    pub(super) disk_full_until: Cell<Duration>,
    /// Simulated time, for whoever is on no host.
    pub(super) now: Cell<Duration>,
    steps: RefCell<HashMap<Step, u32>>,
    /// Faults that are the driver's to carry out.
    pub(super) orders: RefCell<Vec<(usize, Fault)>>,
    /// Whether the daemon was ever asked to end.
    pub(super) was_asked_to_end: Cell<bool>,
    pub(super) is_over: Cell<bool>,
}

/// One life of the daemon, as others reach it.
pub(super) struct Life {
    pub(super) hub: Hub,
    pub(super) door: mpsc::UnboundedSender<Request>,
    pub(super) stop: CancellationToken,
}

impl World {
    pub(super) fn new(plan: Plan, home: Rc<StateDir>) -> Rc<Self> {
        Rc::new_cyclic(|world| {
            let browsers = 0..plan.browsers;
            let browsers = browsers.map(|n| Browser::new(world.clone(), plan.seed, n)).collect();
            Self {
                chance: Chance::of(plan.seed, "world"),
                disk: RefCell::default(),
                ledger: RefCell::default(),
                browsers,
                home,
                life: RefCell::default(),
                boots: Cell::new(1),
                booted_at: Cell::default(),
                disk_full_until: Cell::default(),
                now: Cell::default(),
                steps: RefCell::default(),
                orders: RefCell::default(),
                was_asked_to_end: Cell::new(false),
                is_over: Cell::new(false),
                plan,
            }
        })
    }

    /// Simulated time: the same on all hosts, but for a tick.
    pub(super) fn now(&self) -> Duration {
        turmoil::sim_elapsed().unwrap_or(self.now.get())
    }

    pub(super) fn home(&self) -> StateDirectory {
        self.home.home()
    }

    pub(super) fn is_calm(&self) -> bool {
        self.now() >= self.plan.calm
    }

    pub(super) fn breaks(&self, what: String) {
        self.ledger.borrow_mut().breaks(self.now(), what);
    }

    pub(super) fn note(&self, what: &str) {
        self.ledger.borrow_mut().note(self.now(), what);
    }

    /// The hub of the daemon's present life.
    pub(super) fn hub(&self) -> Option<Hub> {
        self.life.borrow().as_ref().map(|life| life.hub.clone())
    }

    /// Whether the daemon was asked to end, or is down.
    pub(super) fn is_ending(&self) -> bool {
        self.life.borrow().as_ref().is_none_or(|life| life.stop.is_cancelled())
    }

    /// What the machine's clocks say. The system clock is set anew for each life; only when
    /// nothing that was recorded tells the time does it have to be right.
    pub(super) fn reading(&self) -> ClockSample {
        let now = self.now();
        let boot = format!("boot-{}", self.boots.get());
        let is_told = self.disk.borrow().boot() == Some(&boot);
        let off = if is_told { self.chance.below(200_000) } else { 0 };
        let system = Duration::from_secs(EPOCH + off) + now;
        ClockSample {
            boot: boot.into(),
            monotonic: Duration::from_secs(5) + (now - self.booted_at.get()),
            asleep: Duration::ZERO,
            system: Timestamp::from_unix_micros(u64::try_from(system.as_micros()).unwrap()),
        }
    }

    /// A step of the protocol is reached: whatever is planned for it happens.
    pub(super) fn reach(&self, step: Step) {
        let mut steps = self.steps.borrow_mut();
        let count = steps.entry(step).or_default();
        let nth = *count;
        *count += 1;
        drop(steps);
        if self.is_calm() {
            return;
        }
        for Planned { when, browser, fault } in &self.plan.faults {
            if matches!(when, When::Step(at, n) if *at == step && *n == nth) {
                self.note(&format!("at {step:?} {nth}: {fault:?} (browser {browser})"));
                self.inflict(*browser, *fault);
            }
        }
    }

    pub(super) fn inflict(&self, browser: usize, fault: Fault) {
        let of = &self.browsers[browser];
        match fault {
            Fault::Cut => of.cut(),
            Fault::Kill => of.kill(),
            Fault::RestartBrowser => of.restart(),
            Fault::TakeOver(linger) => of.take_over(linger),
            Fault::Deaf(length) => of.deafen(length),
            Fault::DiskFull(length) => self.disk_full_until.set(self.now() + length),
            Fault::Hold(_)
            | Fault::Partition(..)
            | Fault::PartitionAgents(_)
            | Fault::Crash(_)
            | Fault::PowerCut(_)
            | Fault::Reboot(_)
            | Fault::Restart => self.orders.borrow_mut().push((browser, fault)),
        }
    }

    /// Whether the daemon will be dead at the end of this step, and must do nothing more.
    pub(super) fn is_doomed(&self) -> bool {
        let deadly = |fault: &Fault| {
            matches!(fault, Fault::Crash(_) | Fault::PowerCut(_) | Fault::Reboot(_))
        };
        self.orders.borrow().iter().any(|(_, fault)| deadly(fault))
    }
}
