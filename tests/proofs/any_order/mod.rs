//! The engine that the daemon runs, in any order of events: three clients, two browsers, workers that are killed, links that lose what is
//! in them, late timers, clocks that run backwards, restarts that lose what was written
//! last. [`oracle`] says what must hold after every step.

mod extension;
mod oracle;
mod world;

use std::cell::RefCell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use serde_json::value::RawValue;
use tabwire::lifecycle::Limits;
use tabwire::protocol::actions::{
    ExecuteJsAction, PageInfoAction, TabCloseAction, TabListAction, TabOpenAction,
};
use tabwire::protocol::{Action, ExtensionReport, ReportedError};

use oracle::{Oracle, Seen};
use world::{Order, Restart, World};

const BROWSERS: u8 = 2;
const CASES: u32 = 160;

/// Small, so that they are reached.
const LIMITS: Limits = Limits {
    queued: 3,
    lanes: 2,
    retained: 3,
    failures: 3,
    tombstones: 4,
    annotations: 1,
    asks: 1,
    jobs: 1,
    waiters: 1,
    calls_per_minute: 0,
    mib_per_minute: 0,
    outbound: 8,
    clients: 3,
    // The core has no business with these.
    idempotency_keys: 1,
    connections: 128,
    leftover_tabs_s: 600,
    kept_mib: 1,
    logs: 1,
    network: 1,
    bodies: 1,
    websocket: 1,
    actions: 1,
    performance: 1,
    extension_logs: 1,
    streams_mib: 1,
};

/// Something that happens. Who and which are numbers: each finds somebody.
#[derive(Clone, Debug)]
enum Happening {
    Submit(Order),
    Cancel(usize),
    Read(usize),
    Attach(u8),
    LoseLink(u8),
    Kill(u8),
    Down(u8, u8),
    Up(u8, u8),
    /// Everything that is under way arrives, there and back, and is committed.
    Flow(u8),
    Straggle(u8),
    Finish(u8, usize, ExtensionReport),
    GoOn(u8, usize),
    ClaimAgain(u8, usize),
    Slander(u8, usize, u32, ExtensionReport),
    Commit,
    /// Time passes; the timer comes, or is late.
    Wait(Duration, bool),
    /// Time passes until the next deadline, or until just before it.
    WaitForDeadline(bool),
    /// The machine sleeps, and the clock stands still.
    Sleep(Duration),
    /// The clock runs backwards.
    SetBack(Duration),
    Restart(Restart),
}

/// What is known without asking the core: it makes likely what leads somewhere.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    linked: [bool; BROWSERS as usize],
}

impl ReferenceStateMachine for Surroundings {
    type State = Self;
    type Transition = Happening;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(state: &Self) -> BoxedStrategy<Happening> {
        let attach = if state.linked.contains(&false) { 8 } else { 1 };
        prop_oneof![
            12 => order().prop_map(Happening::Submit),
            2 => any::<usize>().prop_map(Happening::Cancel),
            2 => any::<usize>().prop_map(Happening::Read),
            attach => browser().prop_map(Happening::Attach),
            2 => browser().prop_map(Happening::LoseLink),
            1 => browser().prop_map(Happening::Kill),
            10 => (browser(), 1..5_u8).prop_map(|(b, n)| Happening::Down(b, n)),
            10 => (browser(), 1..5_u8).prop_map(|(b, n)| Happening::Up(b, n)),
            14 => browser().prop_map(Happening::Flow),
            2 => browser().prop_map(Happening::Straggle),
            8 => (browser(), any::<usize>(), report())
                .prop_map(|(b, nth, report)| Happening::Finish(b, nth, truthful(report))),
            2 => (browser(), any::<usize>()).prop_map(|(b, nth)| Happening::GoOn(b, nth)),
            2 => (browser(), any::<usize>()).prop_map(|(b, nth)| Happening::ClaimAgain(b, nth)),
            1 => (browser(), any::<usize>(), 0..4_u32, report())
                .prop_map(|(b, nth, a, report)| Happening::Slander(b, nth, a, report)),
            10 => Just(Happening::Commit),
            5 => (wait(), any::<bool>()).prop_map(|(d, on_time)| Happening::Wait(d, on_time)),
            3 => any::<bool>().prop_map(Happening::WaitForDeadline),
            2 => wait().prop_map(Happening::Sleep),
            1 => (0..3_000_u64).prop_map(|n| Happening::SetBack(Duration::from_millis(n))),
            2 => restart().prop_map(Happening::Restart),
        ]
        .boxed()
    }

    fn apply(mut state: Self, happening: &Happening) -> Self {
        if let Happening::Attach(b) = happening {
            state.linked[usize::from(*b)] = true;
        }
        if let Happening::LoseLink(b) | Happening::Kill(b) = happening {
            state.linked[usize::from(*b)] = false;
        }
        if let Happening::Restart(_) = happening {
            state = Self::default();
        }
        state
    }
}

fn browser() -> impl Strategy<Value = u8> {
    0..BROWSERS
}

fn order() -> impl Strategy<Value = Order> {
    let script =
        || Action::ExecuteJs(ExecuteJsAction { script: "1".to_owned(), user_gesture: None });
    let action = prop_oneof![
        5 => Just(script()),
        2 => Just(Action::PageInfo(PageInfoAction {})),
        1 => Just(Action::TabClose(TabCloseAction {})),
        1 => Just(Action::TabOpen(TabOpenAction { url: None, focus: None, share: None, keep: None, private: None })),
        1 => Just(Action::TabList(TabListAction {})),
    ];
    (0..3_u8, action, proptest::option::weighted(0.8, browser()), 0..3_u8, 1..20_u64).prop_map(
        |(client, action, browser, tab, seconds)| {
            let timeout = Duration::from_secs(seconds);
            Order { client, action, browser, tab, timeout }
        },
    )
}

fn report() -> impl Strategy<Value = ExtensionReport> {
    let failure = || {
        let (code, message) = ("script_threw".to_owned(), "no".to_owned());
        ReportedError::new(code, message)
    };
    let complete = (0..3_u8).prop_map(|n| ExtensionReport::Complete {
        result: RawValue::from_string(n.to_string()).expect("a JSON text").into(),
        origin: None,
    });
    prop_oneof![
        6 => complete,
        1 => Just(ExtensionReport::Error { error: failure() }),
        1 => Just(ExtensionReport::Timeout { error: failure() }),
        1 => any::<bool>().prop_map(|may_have_run| ExtensionReport::Cancelled { may_have_run }),
    ]
}

/// Whoever runs a command knows that it has run.
fn truthful(report: ExtensionReport) -> ExtensionReport {
    if let ExtensionReport::Cancelled { .. } = report {
        return ExtensionReport::Cancelled { may_have_run: true };
    }
    report
}

fn wait() -> impl Strategy<Value = Duration> {
    let up_to = |most| (0..most).prop_map(Duration::from_millis);
    prop_oneof![6 => up_to(800_u64), 3 => up_to(4_000), 1 => up_to(70_000)]
}

fn restart() -> impl Strategy<Value = Restart> {
    let back = prop_oneof![4 => Just(0), 1 => 0..3_600_u64].prop_map(Duration::from_secs);
    (any::<bool>(), proptest::bool::weighted(0.9), back).prop_map(
        |(loses_tail, is_same_boot, set_back)| Restart { loses_tail, is_same_boot, set_back },
    )
}

fn happens(world: &mut World, happening: Happening) {
    match happening {
        Happening::Submit(order) => world.submit(order),
        Happening::Cancel(nth) => world.cancel(nth),
        Happening::Read(nth) => world.read(nth),
        Happening::Attach(b) => world.attach(b),
        Happening::LoseLink(b) => world.end_link(b),
        Happening::Kill(b) => world.kill(b),
        Happening::Down(b, frames) => world.down(b, frames),
        Happening::Up(b, frames) => world.up(b, frames),
        Happening::Flow(b) => flow(world, b),
        Happening::Straggle(b) => world.straggle(b),
        Happening::Finish(b, nth, report) => world.says(b, |e| e.finishes(nth, report)),
        Happening::GoOn(b, nth) => world.says(b, |e| e.goes_on(nth)),
        Happening::ClaimAgain(b, nth) => world.says(b, |e| e.claims_again(nth)),
        Happening::Slander(b, nth, attempt, report) => world.slander(b, nth, attempt, report),
        Happening::Commit => world.commit(),
        Happening::Wait(length, on_time) => wait_until(world, world.now + length, on_time),
        Happening::WaitForDeadline(just_before) => {
            let Some(next) = world.next_deadline() else { return };
            let until = if just_before { next - Duration::from_micros(1) } else { next };
            wait_until(world, until.max(world.now), true);
        }
        Happening::Sleep(length) => world.asleep += length,
        Happening::SetBack(length) => world.now = world.now - length,
        Happening::Restart(how) => world.restart(how),
    }
    Oracle::check(world);
}

fn flow(world: &mut World, b: u8) {
    for _ in 0..3 {
        world.up(b, u8::MAX);
        world.commit();
        world.down(b, u8::MAX);
    }
}

fn wait_until(world: &mut World, until: tabwire::protocol::Timestamp, on_time: bool) {
    world.now = until;
    if on_time {
        world.tick();
    } else {
        world.is_punctual = false;
    }
}

struct TheCore;

impl StateMachineTest for TheCore {
    type SystemUnderTest = World;
    type Reference = Surroundings;

    fn init_test(_: &Surroundings) -> World {
        World::new(BROWSERS, LIMITS)
    }

    fn apply(mut world: World, _: &Surroundings, happening: Happening) -> World {
        happens(&mut world, happening);
        world
    }

    /// In the end everything is over.
    fn teardown(mut world: World, _: Surroundings) {
        let last = world.oracle.commands().map(|c| c.total_by()).max().unwrap_or(world.now);
        let until = last.max(world.now) + tabwire::lifecycle::limits::AWAY;
        let rest = until.since(world.now);
        happens(&mut world, Happening::Wait(rest, true));
        assert!(world.oracle.commands().all(|command| command.phase().is_terminal()));
        SEEN.with_borrow_mut(|seen| seen.add(world.oracle.seen));
    }
}

thread_local! {
    static SEEN: RefCell<Seen> = RefCell::default();
}

/// As many random cases as `PROPTEST_CASES` says; without it so many, the same in each
/// run. A case that failed becomes a test with a name.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: CASES, rng_seed: RngSeed::Fixed(1), ..config },
    }
}

#[test]
fn no_order_of_events_breaks_a_promise() {
    let config = config();
    let sequences = Surroundings::sequential_strategy(40..140);
    let run = TestRunner::new(config.clone()).run(&sequences, |(before, happenings, seen)| {
        TheCore::test_sequential(config.clone(), before, happenings, seen);
        Ok(())
    });
    if let Err(failed) = run {
        panic!("{failed}");
    }
    // What never came by has shown nothing.
    let seen = SEEN.take();
    println!("{seen:?}");
    let words = [
        "cancelled",
        "command_expired",
        "complete",
        "daemon_restarted",
        "delivery_failed",
        "error",
        "extension_disconnected",
        "extension_no_response",
        "machine_rebooted",
        "no_extension",
        "not_delivered",
        "timeout",
    ];
    if config.cases >= CASES {
        assert_eq!(seen.words, words.map(str::to_owned).into());
        let Seen { runs, refusals, returns, restarts, .. } = seen;
        assert!(runs > config.cases, "{runs} runs");
        let rarer = [refusals, returns, restarts];
        assert!(rarer.iter().all(|count| *count > config.cases / 4), "{rarer:?}");
    }
}

// ── Sequences that once broke something ─────────────────────────────────────────────

fn script(browser: Option<u8>) -> Happening {
    let action = Action::ExecuteJs(ExecuteJsAction { script: "1".to_owned(), user_gesture: None });
    Happening::Submit(Order { client: 0, action, browser, tab: 0, timeout: Duration::from_secs(1) })
}

fn after(happenings: impl IntoIterator<Item = Happening>) -> World {
    let mut world = World::new(BROWSERS, LIMITS);
    for happening in happenings {
        happens(&mut world, happening);
    }
    world
}

const NO_LOSS: Restart =
    Restart { loses_tail: false, is_same_boot: true, set_back: Duration::ZERO };

#[test]
fn what_waits_for_any_browser_is_not_overtaken_by_what_names_the_one_that_comes() {
    let world =
        after([script(None), Happening::Attach(1), script(Some(1)), Happening::Up(1, u8::MAX)]);
    let mut commands: Vec<_> = world.oracle.commands().collect();
    commands.sort_by_key(|command| world.oracle.number(&command.spec().id));
    assert_eq!(commands.iter().map(|c| c.delivery().is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn what_ended_with_the_daemons_return_has_the_same_end_after_the_next_one() {
    let late = Happening::Wait(Duration::from_secs(40), false);
    let set_back = Duration::from_secs(1);
    let back = Restart { set_back, ..NO_LOSS };
    let restarts = [NO_LOSS, back, NO_LOSS].map(Happening::Restart);
    let world = after([script(None), Happening::Commit, late].into_iter().chain(restarts));
    assert!(world.oracle.commands().all(|command| command.phase().is_terminal()));
}
