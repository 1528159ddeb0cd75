//! One command that must not run twice, searched exhaustively: two lives of one browser's
//! extension, alive at the same time and taking the link from each other, links that lose
//! what is in them, workers that die, a daemon that crashes twice and may lose what it
//! wrote last.
//!
//! The command is the real one: every step of the daemon is [`Command::apply`] or
//! [`Command::restore`]. What is modelled is what is around it, and the two rules that
//! are the hub's: `go` leaves only after its start is committed, and only if the command
//! is still where the claim has put it. The same search without a rule finds the double
//! run that the rule prevents.
//!
//! Time stands still, but a deadline may come at any step. That is more than can happen.

use std::hash::{Hash, Hasher};
use std::num::NonZero;
use std::thread;
use std::time::Duration;

use stateright::{Checker, HasDiscoveries, Model, Property};
use tabwire::lifecycle::{
    Command, CommandOutcome, CommandPhase, CommandSpec, CommandState, Delivery, EventReply,
    ExpiryReason, HoldHistory, LifecycleEvent, Peer, SavedCommand, SavedStage, Transition, limits,
};
use tabwire::protocol::actions::ExecuteJsAction;
use tabwire::protocol::{
    Action, Attempt, ExtensionReport, InFlightState, TabScope, Timestamp, Transport,
};

const NOW: Timestamp = Timestamp::from_unix_micros(1_795_298_985_000_000);
const CRASHES: u8 = 2;

/// The rules in force; without one of them, a negative control.
#[derive(Clone, Copy)]
struct Rules {
    go_waits_for_commit: bool,
    never_again_once_started: bool,
    /// That a command has not run counts from the current link alone.
    not_run_counts_from_the_link: bool,
}

const ALL_RULES: Rules = Rules {
    go_waits_for_commit: true,
    never_again_once_started: true,
    not_run_counts_from_the_link: true,
};

/// Everything that there is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    command: Exact<Command>,
    /// What the journal says of the command, and what of that is committed.
    written: Exact<SavedStage>,
    committed: Exact<SavedStage>,
    /// Frames that leave with the next commit.
    held_back: Vec<Told>,
    epoch: u8,
    link: Option<Link>,
    /// A report that is under way on a link that is gone.
    straggler: Option<(usize, Report)>,
    workers: [Worker; 2],
    /// The report, if there is one: it outlives the workers.
    outbox: Option<Report>,
    /// How often the command began in the page.
    runs: u8,
    /// Whether `go` ever left without its start being committed.
    went_unrecorded: bool,
}

/// A command, or what is recorded of one, told apart by all that decides what comes next.
#[derive(Clone, Debug)]
struct Exact<T> {
    of: T,
    view: View,
}

/// All of a command's state but its times: of these there is but one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum View {
    Queued { attempts: u32, had_respond: bool },
    Sent { attempt: u32, by: usize },
    Started { attempt: u32, by: usize, away: Option<&'static str>, let_go: bool },
    Ended { how: &'static str, may_have_run: bool, delivery: Option<(u32, usize)> },
}

impl<T> PartialEq for Exact<T> {
    fn eq(&self, other: &Self) -> bool {
        self.view == other.view
    }
}

impl<T> Eq for Exact<T> {}

impl<T> Hash for Exact<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.view.hash(state);
    }
}

impl From<Command> for Exact<Command> {
    fn from(of: Command) -> Self {
        let view = match of.state() {
            CommandState::Queued { attempts, respond_by, .. } => {
                View::Queued { attempts: *attempts, had_respond: respond_by.is_some() }
            }
            CommandState::Sent { delivery, .. } => {
                View::Sent { attempt: delivery.attempt.0, by: worker_of(&delivery.peer) }
            }
            CommandState::Started { delivery, away, let_go, .. } => {
                let (away, let_go) = (away.map(|away| away.lost.code()), *let_go);
                View::Started {
                    attempt: delivery.attempt.0,
                    by: worker_of(&delivery.peer),
                    away,
                    let_go,
                }
            }
            CommandState::Ended { outcome, delivery, .. } => {
                View::of_end(outcome, delivery.as_ref())
            }
            CommandState::Held { .. } | CommandState::Waiting | CommandState::Working { .. } => {
                unreachable!("it is for a browser")
            }
        };
        Self { of, view }
    }
}

impl From<SavedStage> for Exact<SavedStage> {
    fn from(of: SavedStage) -> Self {
        let view = match &of {
            SavedStage::Accepted => View::Queued { attempts: 0, had_respond: false },
            SavedStage::Started { delivery, .. } => {
                let (away, let_go) = (None, true);
                let (attempt, by) = (delivery.attempt.0, worker_of(&delivery.peer));
                View::Started { attempt, by, away, let_go }
            }
            SavedStage::Ended { outcome, delivery, .. } => View::of_end(outcome, delivery.as_ref()),
            SavedStage::Held(_) | SavedStage::Released { .. } | SavedStage::Working { .. } => {
                unreachable!("it is for a browser, and nobody is asked")
            }
        };
        Self { of, view }
    }
}

impl View {
    fn of_end(outcome: &CommandOutcome, delivery: Option<&Delivery>) -> Self {
        let delivery = delivery.map(|delivery| (delivery.attempt.0, worker_of(&delivery.peer)));
        let (how, may_have_run) = match outcome {
            CommandOutcome::Complete { .. } => ("complete", true),
            CommandOutcome::Error { .. } => ("error", true),
            CommandOutcome::Timeout { .. } => ("timeout", true),
            CommandOutcome::Expired { reason, may_have_run } => (reason.code(), *may_have_run),
            CommandOutcome::Cancelled { may_have_run, .. } => ("cancelled", *may_have_run),
        };
        Self::Ended { how, may_have_run, delivery }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Link {
    worker: usize,
    is_ready: bool,
    down: Vec<Told>,
    up: Vec<Said>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Told {
    Command(Attempt),
    Go(Attempt),
    Cancel,
    Settled(Attempt),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Said {
    Ready(Option<(Attempt, InFlight)>),
    Claim(Attempt),
    Report(Report),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Report {
    attempt: Attempt,
    of: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Ending {
    Done,
    Stopped { ran: bool },
}

impl Ending {
    fn of_extension(self) -> ExtensionReport {
        match self {
            Self::Done => {
                let result = serde_json::value::to_raw_value(&1).expect("a number").into();
                ExtensionReport::Complete { result, origin: None }
            }
            Self::Stopped { ran } => ExtensionReport::Cancelled { may_have_run: ran },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum InFlight {
    Claimed,
    Running,
    Done,
}

/// One life of the extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Worker {
    is_dead: bool,
    epoch: u8,
    has: Option<(Attempt, IsRunning)>,
}

type IsRunning = bool;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Move {
    Connect(usize),
    LoseLink,
    Die(usize),
    /// The next frame arrives at the extension, or at the daemon.
    Down,
    Up,
    Straggle,
    ClaimAgain,
    Finish(usize),
    Deliver,
    Cancel,
    Deadline,
    Commit,
    Crash {
        loses_tail: bool,
    },
}

fn peer(worker: usize) -> Peer {
    Peer { browser: "b".into(), instance: worker.to_string().into() }
}

fn worker_of(peer: &Peer) -> usize {
    peer.instance.as_str().parse().expect("a number")
}

fn spec() -> CommandSpec {
    let action = Action::ExecuteJs(ExecuteJsAction { script: "1".to_owned(), user_gesture: None });
    CommandSpec {
        is_private: false,
        id: "exec_1".into(),
        query_id: "q_1".into(),
        owner: "user".into(),
        client: "client".into(),
        params: action.params().into(),
        work: action.into(),
        timeout: Duration::from_secs(10),
        holds_dialogs: false,
        scope: TabScope::All,
        trace_context: None,
        created: NOW,
        asleep: Some(Duration::ZERO),
    }
}

fn is_complete(command: &Command) -> bool {
    matches!(command.state(), CommandState::Ended { outcome: CommandOutcome::Complete { .. }, .. })
}

impl World {
    fn new() -> Self {
        Self {
            command: Command::new(spec()).into(),
            written: SavedStage::Accepted.into(),
            committed: SavedStage::Accepted.into(),
            held_back: Vec::new(),
            epoch: 1,
            link: None,
            straggler: None,
            workers: Default::default(),
            outbox: None,
            runs: 0,
            went_unrecorded: false,
        }
    }

    // ── The daemon ──────────────────────────────────────────────────────────────────

    fn apply(&mut self, event: LifecycleEvent, now: Timestamp) -> EventReply {
        let before = self.command.of.phase();
        let step = self.command.of.apply(event, now);
        self.command = self.command.of.clone().into();
        let (to, reply, cancel) = match step {
            Transition::Unchanged(reply) => return reply,
            Transition::Changed { to, reply, cancel, .. } => (to, reply, cancel),
        };
        if to != before
            && let Some(stage) = stage_of(&self.command.of)
        {
            self.written = stage.into();
        }
        if cancel.is_some() {
            self.tell(Told::Cancel);
        }
        reply
    }

    fn answer(&mut self, attempt: Attempt, event: LifecycleEvent, rules: Rules) {
        match self.apply(event, NOW) {
            EventReply::Nothing => {}
            EventReply::Nack(_) | EventReply::Ack => self.tell_committed(Told::Settled(attempt)),
            EventReply::Go if rules.go_waits_for_commit => self.tell_committed(Told::Go(attempt)),
            EventReply::Go => self.release(Told::Go(attempt)),
        }
    }

    fn tell(&mut self, told: Told) {
        if let Some(link) = &mut self.link {
            link.down.push(told);
        }
    }

    fn tell_committed(&mut self, told: Told) {
        if self.written == self.committed {
            self.release(told);
        } else if !self.held_back.contains(&told) {
            self.held_back.push(told);
        }
    }

    fn release(&mut self, told: Told) {
        if let Told::Go(attempt) = told {
            if self.apply(LifecycleEvent::Go(attempt), NOW) != EventReply::Go {
                return;
            }
            let is_recorded = matches!(
                &self.committed.of,
                SavedStage::Started { delivery, .. } if delivery.attempt == attempt
            );
            self.went_unrecorded |= !is_recorded;
        }
        self.tell(told);
    }

    fn commit(&mut self) {
        self.committed = self.written.clone();
        for told in std::mem::take(&mut self.held_back) {
            self.release(told);
        }
    }

    fn lose_link(&mut self, rules: Rules) {
        let Some(link) = self.link.take() else { return };
        let reports = link.up.iter().find_map(|said| match said {
            // The outbox says it again on the next link.
            Said::Report(Report { of: Ending::Stopped { ran: false }, .. })
                if rules.not_run_counts_from_the_link =>
            {
                None
            }
            Said::Report(report) => Some((link.worker, *report)),
            Said::Ready(_) | Said::Claim(_) => None,
        });
        self.straggler = reports.or(self.straggler);
        if self.command.of.phase() == CommandPhase::Started && !rules.never_again_once_started {
            let accepted = SavedCommand {
                spec: spec(),
                stage: SavedStage::Accepted,
                trace: Vec::new(),
                holds: HoldHistory::default(),
            };
            self.command = Command::restore(accepted, true, NOW).into();
        }
        if matches!(self.command.of.phase(), CommandPhase::Sent | CommandPhase::Started) {
            self.apply(LifecycleEvent::LinkClosed, NOW);
        }
    }

    fn crash(&mut self, loses_tail: bool) {
        if !loses_tail {
            self.committed = self.written.clone();
        }
        self.written = self.committed.clone();
        let stage = self.written.of.clone();
        let holds = HoldHistory::default();
        let saved = SavedCommand { spec: spec(), stage, trace: Vec::new(), holds };
        self.command = Command::restore(saved, true, NOW).into();
        self.held_back.clear();
        self.link = None;
        self.straggler = None;
        self.epoch += 1;
    }

    fn hears(&mut self, worker: usize, said: Said, rules: Rules) {
        let peer = peer(worker);
        match said {
            Said::Ready(has) => {
                if let Some(link) = &mut self.link {
                    link.is_ready = true;
                }
                self.settles(worker, has, rules);
            }
            Said::Claim(attempt) => {
                self.answer(attempt, LifecycleEvent::Claim(peer, attempt), rules)
            }
            Said::Report(Report { attempt, of }) => {
                let report = of.of_extension();
                self.answer(attempt, LifecycleEvent::Report(peer, attempt, report), rules);
            }
        }
    }

    /// The extension is there: what it had is settled first (rows 11a, 12).
    fn settles(&mut self, worker: usize, has: Option<(Attempt, InFlight)>, rules: Rules) {
        let held = matches!(self.command.of.phase(), CommandPhase::Sent | CommandPhase::Started);
        let Some(delivery) = self.command.of.delivery().filter(|_| held) else { return };
        let attempt = delivery.attempt;
        let says = has.filter(|(of, _)| *of == attempt).map(|(_, state)| match state {
            InFlight::Claimed => InFlightState::Claimed,
            InFlight::Running => InFlightState::Running,
            InFlight::Done => InFlightState::Done,
        });
        self.answer(attempt, LifecycleEvent::Reconnected(peer(worker), says), rules);
    }

    // ── The extension ───────────────────────────────────────────────────────────────

    fn connect(&mut self, n: usize, rules: Rules) {
        self.lose_link(rules);
        let worker = &mut self.workers[n];
        if worker.epoch != self.epoch {
            worker.epoch = self.epoch;
            worker.has = worker.has.filter(|(_, is_running)| *is_running);
        }
        let done = self.outbox.map(|kept| (kept.attempt, InFlight::Done));
        let has = worker.has.map(|(attempt, is_running)| {
            (attempt, if is_running { InFlight::Running } else { InFlight::Claimed })
        });
        let mut up = vec![Said::Ready(done.or(has))];
        up.extend(self.outbox.map(Said::Report));
        self.link = Some(Link { worker: n, is_ready: false, down: Vec::new(), up });
    }

    /// The worker does as it is told, and trusts the daemon.
    fn is_told(&mut self, n: usize, told: Told) -> Option<Said> {
        let worker = &mut self.workers[n];
        // Of a result it does not know that it has it: the daemon alone must keep it from a second run.
        let stopped = self.outbox.filter(|kept| matches!(kept.of, Ending::Stopped { .. }));
        match (told, worker.has) {
            (Told::Command(attempt), _) if stopped.is_some() => {
                self.outbox = stopped.map(|kept| Report { attempt, ..kept });
                self.outbox.map(Said::Report)
            }
            (Told::Command(attempt), _) => {
                worker.has = Some((attempt, false));
                Some(Said::Claim(attempt))
            }
            (Told::Go(attempt), Some((claimed, false))) if claimed == attempt => {
                worker.has = Some((attempt, true));
                self.runs += 1;
                None
            }
            (Told::Cancel, Some((attempt, is_running))) => {
                worker.has = None;
                let report = Report { attempt, of: Ending::Stopped { ran: is_running } };
                self.outbox = Some(report);
                Some(Said::Report(report))
            }
            (Told::Settled(attempt), has) => {
                self.outbox = self.outbox.filter(|kept| kept.attempt != attempt);
                worker.has = has.filter(|(of, is_running)| *of != attempt || *is_running);
                None
            }
            (Told::Go(_) | Told::Cancel, _) => None,
        }
    }

    fn says(&mut self, n: usize, said: Said) {
        if let Some(link) = self.link.as_mut().filter(|link| link.worker == n) {
            link.up.push(said);
        }
    }

    fn is_linked(&self, n: usize) -> bool {
        self.link.as_ref().is_some_and(|link| link.worker == n)
    }
}

/// What is recorded when a command comes to this state, if anything is.
fn stage_of(command: &Command) -> Option<SavedStage> {
    match command.state().clone() {
        CommandState::Queued { .. } | CommandState::Sent { .. } => None,
        CommandState::Held { .. } | CommandState::Waiting | CommandState::Working { .. } => {
            unreachable!("it is for a browser, and nobody is asked")
        }
        CommandState::Started { delivery, .. } => Some(SavedStage::Started { delivery, at: NOW }),
        CommandState::Ended { at, outcome, delivery, read, .. } => {
            Some(SavedStage::Ended { at, outcome, delivery, read })
        }
    }
}

impl Model for Rules {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        vec![World::new()]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        for n in [0, 1] {
            let worker = &world.workers[n];
            if worker.is_dead {
                continue;
            }
            moves.push(Move::Die(n));
            if !world.is_linked(n) {
                moves.push(Move::Connect(n));
            }
            if matches!(worker.has, Some((_, true))) && world.outbox.is_none() {
                moves.push(Move::Finish(n));
            }
        }
        if let Some(link) = &world.link {
            moves.push(Move::LoseLink);
            let claims = matches!(world.workers[link.worker].has, Some((_, false)));
            moves.extend((!link.down.is_empty()).then_some(Move::Down));
            moves.extend((!link.up.is_empty()).then_some(Move::Up));
            let quiet = link.up.is_empty() && link.down.is_empty();
            moves.extend((claims && quiet).then_some(Move::ClaimAgain));
            let queued = world.command.of.phase() == CommandPhase::Queued;
            moves.extend((link.is_ready && queued).then_some(Move::Deliver));
        }
        moves.extend(world.straggler.is_some().then_some(Move::Straggle));
        if !world.command.of.phase().is_terminal() {
            moves.extend([Move::Cancel, Move::Deadline]);
        }
        let uncommitted = world.written != world.committed;
        moves.extend(uncommitted.then_some(Move::Commit));
        if world.epoch <= CRASHES {
            moves.push(Move::Crash { loses_tail: false });
            moves.extend(uncommitted.then_some(Move::Crash { loses_tail: true }));
        }
    }

    fn next_state(&self, before: &World, what: Move) -> Option<World> {
        let mut world = before.clone();
        match what {
            Move::Connect(n) => world.connect(n, *self),
            Move::LoseLink => world.lose_link(*self),
            Move::Die(n) => {
                if world.is_linked(n) {
                    world.lose_link(*self);
                }
                world.workers[n] = Worker { is_dead: true, ..Worker::default() };
            }
            Move::Down => {
                let link = world.link.as_mut()?;
                let (worker, told) = (link.worker, link.down.remove(0));
                if let Some(said) = world.is_told(worker, told) {
                    world.says(worker, said);
                }
            }
            Move::Up => {
                let link = world.link.as_mut()?;
                let (worker, said) = (link.worker, link.up.remove(0));
                world.hears(worker, said, *self);
            }
            Move::Straggle => {
                let (worker, report) = world.straggler.take()?;
                world.hears(worker, Said::Report(report), *self);
            }
            Move::ClaimAgain => {
                let worker = world.link.as_ref()?.worker;
                let (attempt, _) = world.workers[worker].has?;
                world.says(worker, Said::Claim(attempt));
            }
            Move::Finish(n) => {
                let (attempt, _) = world.workers[n].has.take()?;
                let report = Report { attempt, of: Ending::Done };
                world.outbox = Some(report);
                world.says(n, Said::Report(report));
            }
            Move::Deliver => {
                let worker = world.link.as_ref()?.worker;
                world.apply(LifecycleEvent::Deliver(peer(worker), Transport::WebSocket), NOW);
                let attempt = world.command.of.delivery()?.attempt;
                world.tell(Told::Command(attempt));
            }
            Move::Cancel => {
                world.apply(LifecycleEvent::Cancel, NOW);
            }
            Move::Deadline => {
                let due = world.command.of.next_deadline();
                world.apply(LifecycleEvent::Tick, due);
            }
            Move::Commit => world.commit(),
            Move::Crash { loses_tail } => world.crash(loses_tail),
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(AT_MOST_ONCE, |_, world: &World| world.runs <= 1),
            Property::always(RECORDED, |_, world: &World| !world.went_unrecorded),
            Property::always(TOLD_TRUE, |_, world: &World| {
                world.command.of.may_have_run() || world.runs == 0
            }),
            Property::always("what has a result has run", |_, world: &World| {
                !is_complete(&world.command.of) || world.runs == 1
            }),
            Property::always("a recorded end stands", |_, world: &World| {
                !matches!(world.committed.of, SavedStage::Ended { .. })
                    || world.committed.view == world.command.view
            }),
            Property::always("an end can be reached", |_, world: &World| {
                let mut command = world.command.of.clone();
                let latest = command.total_by().max(NOW + limits::AWAY);
                let _ = command.apply(LifecycleEvent::Tick, latest);
                command.phase().is_terminal()
            }),
            Property::sometimes("a result counts after two crashes", |_, world: &World| {
                is_complete(&world.command.of) && world.epoch == CRASHES + 1
            }),
            Property::sometimes("a result counts after two lost deliveries", |_, world: &World| {
                let attempt = world.command.of.delivery().map(|delivery| delivery.attempt);
                is_complete(&world.command.of) && attempt == Some(Attempt(3))
            }),
            Property::sometimes("its browser has lost it in a restart", |_, world: &World| {
                matches!(
                    world.command.of.state(),
                    CommandState::Ended {
                        outcome: CommandOutcome::Expired {
                            reason: ExpiryReason::DaemonRestarted,
                            ..
                        },
                        ..
                    }
                )
            }),
        ]
    }
}

const AT_MOST_ONCE: &str = "it runs at most once";
const RECORDED: &str = "go leaves only after its start is committed";
const TOLD_TRUE: &str = "what was said not to have run has not";

fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

#[test]
fn no_order_of_crashes_losses_and_takeovers_runs_a_command_twice() {
    let search = ALL_RULES.checker().threads(threads()).spawn_bfs().join();
    let (states, depth) = (search.unique_state_count(), search.max_depth());
    println!("{states} states, the longest of the shortest ways {depth} moves");
    search.assert_properties();
    assert!(search.is_done(), "nothing is left to look at");
    assert!(states > 50_000, "{states} states are too few to show anything");
}

/// The shortest way to where a property does not hold.
#[track_caller]
fn way_to(rules: Rules, broken: &'static str) -> Vec<Move> {
    let first = HasDiscoveries::AnyOf([broken].into());
    let search = rules.checker().threads(threads()).finish_when(first).spawn_bfs().join();
    search.discovery(broken).expect("the rule is needed").into_actions()
}

#[test]
fn without_the_wait_for_the_commit_it_runs_twice_and_unrecorded() {
    let rules = Rules { go_waits_for_commit: false, ..ALL_RULES };
    for broken in [AT_MOST_ONCE, RECORDED] {
        println!("{broken}: not after {:?}", way_to(rules, broken));
    }
}

#[test]
fn if_it_is_sent_again_after_its_start_it_runs_twice() {
    let rules = Rules { never_again_once_started: false, ..ALL_RULES };
    println!("{AT_MOST_ONCE}: not after {:?}", way_to(rules, AT_MOST_ONCE));
}

#[test]
fn if_a_late_word_that_it_has_not_run_counts_it_is_said_of_one_that_has() {
    let rules = Rules { not_run_counts_from_the_link: false, ..ALL_RULES };
    println!("{TOLD_TRUE}: not after {:?}", way_to(rules, TOLD_TRUE));
}
