//! Runs a seed: steps the simulation, and does to hosts and links what cannot be done from
//! within.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use turmoil::Sim;

use super::chance::Chance;
use super::plan::{Fault, Plan, Planned, Ways, When};
use super::world::{AGENTS, DAEMON, World};
use super::{agents, browser, daemon};
use testkit::SimulatedDisk;
use testkit::StateDir;

/// After calm, everything is over within this: the longest command, and the retention.
const PATIENCE: Duration = Duration::from_secs(150);

/// How many steps a link's latency stays the same on average.
const STEADY: u64 = 20;

/// What a run came to.
pub(super) struct Verdict {
    pub(super) broken: Vec<String>,
    pub(super) log: Vec<String>,
    pub(super) disk: SimulatedDisk,
}

/// Runs a seed.
pub(super) fn run(seed: u64, home: Rc<StateDir>) -> Verdict {
    let world = World::new(Plan::of(seed), home);
    let plan = &world.plan;
    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .tick_duration(plan.tick)
        .min_message_latency(Duration::ZERO)
        .max_message_latency(Duration::ZERO)
        .simulation_duration(plan.calm + PATIENCE + PATIENCE)
        .tcp_capacity(4_096)
        .enable_random_order()
        .build();
    let of = world.clone();
    sim.host(DAEMON, move || daemon::live(of.clone()));
    for browser in &world.browsers {
        sim.client(browser.host(), browser::live(browser.clone()));
    }
    sim.client(AGENTS, agents::live(world.clone()));
    let network = Chance::of(seed, "network");
    Driver { world: world.clone(), network, repairs: RefCell::default() }.drive(&mut sim);
    drop(sim);
    let broken = std::mem::take(&mut world.ledger.borrow_mut().broken);
    let log = std::mem::take(&mut world.ledger.borrow_mut().log);
    Verdict { broken, log, disk: world.disk.take() }
}

/// Steps the simulation, and does to hosts and links what cannot be done from within.
struct Driver {
    world: Rc<World>,
    network: Chance,
    repairs: RefCell<Vec<Repair>>,
}

/// What is put right again, and when.
struct Repair {
    at: Duration,
    what: Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// The daemon is down.
    Daemon,
    /// The link of this host is held.
    Held(usize),
    /// The link of this host is partitioned; one host more than browsers is the agents'.
    Parted(usize),
}

impl Driver {
    fn drive(&self, sim: &mut Sim<'_>) {
        let world = &self.world;
        let mut was_calm = false;
        while !world.is_over.get() && world.ledger.borrow().broken.is_empty() {
            if let Err(error) = sim.step() {
                return world.breaks(format!("the simulation failed: {error}"));
            }
            let now = sim.elapsed();
            world.now.set(now);
            self.vary_latency(sim);
            if now > world.plan.calm + PATIENCE {
                return world.breaks("it never came to an end".to_owned());
            }
            self.inflict_in_time(now);
            for (browser, fault) in world.orders.take() {
                self.carry_out(sim, browser, fault);
            }
            self.look_after(sim);
            let is_calm = now >= world.plan.calm;
            self.repair(sim, is_calm);
            if is_calm && !was_calm {
                world.note("calm");
                world.disk_full_until.set(Duration::ZERO);
                world.browsers.iter().for_each(|browser| browser.calm_down());
            }
            was_calm = is_calm;
        }
    }

    /// All messages of a while take as long: so it does not matter which is sent first when
    /// several are at the same time, which is not the seed's to decide.
    fn vary_latency(&self, sim: &Sim<'_>) {
        for host in 0..=self.world.browsers.len() {
            if self.network.one_in(STEADY) {
                let latency = self.network.millis(0..=self.world.plan.latency);
                sim.set_link_latency(self.host(host).as_str(), DAEMON, latency);
            }
        }
    }

    fn inflict_in_time(&self, now: Duration) {
        let world = &self.world;
        let before = now.saturating_sub(world.plan.tick);
        for Planned { when, browser, fault } in &world.plan.faults {
            if matches!(when, When::At(at) if (before..now).contains(at)) {
                world.note(&format!("{fault:?} (browser {browser})"));
                world.inflict(*browser, *fault);
            }
        }
    }

    fn carry_out(&self, sim: &mut Sim<'_>, browser: usize, fault: Fault) {
        let world = &self.world;
        let host = self.host(browser);
        let agents = world.browsers.len();
        match fault {
            Fault::Hold(length) => {
                if self.breaks(Broken::Held(browser), length) {
                    sim.hold(host.as_str(), DAEMON);
                }
            }
            Fault::Partition(ways, length) => {
                if self.breaks(Broken::Parted(browser), length) {
                    part(sim, &host, ways);
                }
            }
            Fault::PartitionAgents(length) => {
                if self.breaks(Broken::Parted(agents), length) {
                    part(sim, AGENTS, Ways::Both);
                }
            }
            Fault::Crash(down) => self.crash(sim, down),
            Fault::PowerCut(down) => {
                for other in 0..=agents {
                    if self.breaks(Broken::Parted(other), down) {
                        part(sim, &self.host(other), Ways::Both);
                    }
                }
                self.crash(sim, down);
            }
            Fault::Reboot(down) => {
                world.boots.set(world.boots.get() + 1);
                world.booted_at.set(world.now());
                world.browsers.iter().for_each(|browser| browser.restart());
                self.crash(sim, down);
            }
            Fault::Restart => {
                if let Some(life) = &*world.life.borrow() {
                    world.was_asked_to_end.set(true);
                    life.stop.cancel();
                }
            }
            Fault::Cut
            | Fault::Kill
            | Fault::RestartBrowser
            | Fault::TakeOver(_)
            | Fault::Deaf(_)
            | Fault::DiskFull(_) => unreachable!("they are carried out at once"),
        }
    }

    fn host(&self, number: usize) -> String {
        self.world.browsers.get(number).map_or_else(|| AGENTS.to_owned(), |b| b.host())
    }

    /// Notes that a link is broken, and for how long. False: something is wrong with it
    /// already, and one thing at a time is.
    fn breaks(&self, what: Broken, length: Duration) -> bool {
        let (Broken::Held(host) | Broken::Parted(host)) = what else { return false };
        let same = |r: &Repair| r.what == Broken::Held(host) || r.what == Broken::Parted(host);
        let may = !self.repairs.borrow().iter().any(same);
        if may {
            self.repair_after(length, what);
        }
        may
    }

    fn repair_after(&self, length: Duration, what: Broken) {
        let at = self.world.now() + length;
        self.repairs.borrow_mut().push(Repair { at, what });
    }

    fn crash(&self, sim: &mut Sim<'_>, down: Duration) {
        if sim.is_host_running(DAEMON) {
            sim.crash(DAEMON);
            self.world.life.take();
            self.repair_after(down, Broken::Daemon);
        }
    }

    /// A daemon that has ended because it was asked to is started again.
    fn look_after(&self, sim: &mut Sim<'_>) {
        let is_down = |r: &Repair| r.what == Broken::Daemon;
        if !sim.is_host_running(DAEMON) && !self.repairs.borrow().iter().any(is_down) {
            self.world.note("the daemon has ended");
            self.world.life.take();
            self.repair_after(Duration::from_millis(100), Broken::Daemon);
        }
    }

    fn repair(&self, sim: &mut Sim<'_>, is_calm: bool) {
        let world = &self.world;
        let due = |repair: &mut Repair| is_calm || repair.at <= world.now.get();
        let due: Vec<_> = self.repairs.borrow_mut().extract_if(.., due).collect();
        for Repair { what, .. } in due {
            world.note(&format!("repaired: {what:?}"));
            match what {
                Broken::Daemon => sim.bounce(DAEMON),
                Broken::Held(host) => sim.release(self.host(host).as_str(), DAEMON),
                Broken::Parted(host) => {
                    sim.repair(self.host(host).as_str(), DAEMON);
                    // Nothing sends lost segments again here: the connection is no more.
                    if let Some(browser) = world.browsers.get(host) {
                        browser.cut();
                    }
                }
            }
        }
    }
}

/// Loses what is sent between a host and the daemon from here on.
fn part(sim: &Sim<'_>, host: &str, ways: Ways) {
    match ways {
        Ways::Both => sim.partition(host, DAEMON),
        Ways::ToDaemon => sim.partition_oneway(host, DAEMON),
        Ways::FromDaemon => sim.partition_oneway(DAEMON, host),
    }
}
