//! What must hold after every step. It keeps its own books, as simple as can be, and
//! compares.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tabwire::engine::{
    AcceptedCommand, Caller, CommandUpdate, JournalEntry, RecordedHistory, SHORTEST_SLEEP,
};
use tabwire::lifecycle::{
    Command, CommandOutcome, CommandPhase, CommandState, Lane, Limits, SavedStage, SchedulingMode,
    limits,
};
use tabwire::protocol::{ClientId, CorrelationId, Owner, Timestamp};

use super::world::World;

type Commands = BTreeMap<CorrelationId, Command>;
type Lanes = BTreeMap<CorrelationId, Lane>;

#[derive(Debug, Default)]
pub(super) struct Oracle {
    /// Every command whose record is kept, as the engine said last that it is.
    commands: Commands,
    lanes: Lanes,
    /// In which order the commands came.
    numbers: BTreeMap<CorrelationId, usize>,
    /// The command whose record must go next, since its client has too many.
    must_go: Option<CorrelationId>,
    is_restarting: bool,
    accepted: BTreeSet<CorrelationId>,
    /// Those whose record is gone.
    gone: BTreeSet<CorrelationId>,
    /// How and when each ended. Never changed but by a restart that lost it.
    ends: BTreeMap<CorrelationId, (CommandOutcome, Timestamp)>,
    /// The latest moment at which each that was taken back from the journal may end.
    deadlines: BTreeMap<CorrelationId, Timestamp>,
    /// Those that have started: they must not be delivered again.
    started: BTreeSet<CorrelationId>,
    /// Those of which it was said that they have not run.
    never_ran: BTreeSet<CorrelationId>,
    /// Those of which somebody said what was not so.
    slandered: BTreeSet<CorrelationId>,
    /// How many turns of others each client that waits in a lane has seen, and how many
    /// it must bear.
    passed_over: BTreeMap<(Lane, ClientId), Turns>,
    /// How long the machine has slept in all, and had slept when each command was accepted.
    pub(super) asleep: Duration,
    asleep_before: BTreeMap<CorrelationId, Duration>,
    kept: BTreeMap<ClientId, Vec<(CorrelationId, bool)>>,
    failures: BTreeMap<ClientId, VecDeque<CorrelationId>>,
    tombstones: BTreeMap<ClientId, VecDeque<CorrelationId>>,
    pub(super) seen: Seen,
}

#[derive(Debug, Default)]
struct Turns {
    seen: usize,
    extra: usize,
}

/// What a run came by: one that came by nothing has shown nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) words: BTreeSet<String>,
    pub(super) runs: u32,
    pub(super) refusals: u32,
    pub(super) returns: u32,
    pub(super) restarts: u32,
}

impl Seen {
    pub(super) fn add(&mut self, other: Self) {
        self.words.extend(other.words);
        self.runs += other.runs;
        self.refusals += other.refusals;
        self.returns += other.returns;
        self.restarts += other.restarts;
    }
}

impl Oracle {
    // ── What the engine says ────────────────────────────────────────────────────────

    /// Every command whose record is kept.
    pub(super) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.commands.values()
    }

    /// As how many-th a command came.
    pub(super) fn number(&self, id: &CorrelationId) -> usize {
        self.numbers[id]
    }

    pub(super) fn nth(&self, nth: usize) -> Option<CorrelationId> {
        let count = self.commands.len();
        (count > 0).then(|| self.commands.keys().nth(nth % count).cloned())?
    }

    /// An entry went into the journal.
    pub(super) fn logged(&mut self, entry: &JournalEntry) {
        match entry {
            JournalEntry::Accepted(acceptance) => {
                let AcceptedCommand { command, lane, .. } = &**acceptance;
                let id = command.spec().id.clone();
                self.accepted.insert(id.clone());
                self.lanes.extend(lane.clone().map(|lane| (id, lane)));
            }
            JournalEntry::Placed(id, lane) => {
                self.lanes.insert(id.clone(), lane.clone());
            }
            JournalEntry::ClientForgotten(client) => {
                self.kept.remove(client);
                self.failures.remove(client);
                self.tombstones.remove(client);
            }
            JournalEntry::RunStarted(_)
            | JournalEntry::Changed(_)
            | JournalEntry::Read(..)
            | JournalEntry::Evicted(_)
            | JournalEntry::Withdrawn(_)
            | JournalEntry::CurrentTab(_)
            | JournalEntry::Leased(_)
            | JournalEntry::LeaseEnded(..)
            | JournalEntry::TabOpened(_)
            | JournalEntry::OpenedTabGone(..)
            | JournalEntry::TabOwned(_)
            | JournalEntry::OwnedTabGone(..)
            | JournalEntry::ConsentKept(_)
            | JournalEntry::ConsentDropped(_)
            | JournalEntry::Session(..)
            | JournalEntry::DropKeys(_) => {}
        }
    }

    /// A command is new, has changed, or its record has gone.
    pub(super) fn follows(&mut self, update: &CommandUpdate, limits: &Limits, now: Timestamp) {
        match update {
            CommandUpdate::New { command, .. } => {
                let id = command.spec().id.clone();
                let number = self.numbers.len();
                self.numbers.entry(id.clone()).or_insert(number);
                self.commands.insert(id.clone(), command.clone());
                if self.is_restarting {
                    self.taken_back(command, now);
                } else {
                    self.asleep_before.insert(id, self.asleep);
                }
                if command.phase().is_terminal() {
                    self.ended(command, limits);
                }
            }
            CommandUpdate::Changed { command, .. } => {
                let id = &command.spec().id;
                let before = self.commands[id].phase();
                let after = command.phase();
                self.not_slept_through(&self.commands[id], command);
                if (before, after) == (CommandPhase::Queued, CommandPhase::Sent) {
                    self.turn(id, limits);
                }
                if (before, after) == (CommandPhase::Sent, CommandPhase::Queued) {
                    let lane = self.lanes[id].clone();
                    self.came_back(&lane);
                }
                self.commands.insert(id.clone(), command.clone());
                if after.is_terminal() && !before.is_terminal() {
                    self.ended(command, limits);
                }
            }
            CommandUpdate::Forgotten(id) => self.goes(id, limits, now),
        }
    }

    /// A command that is sent, claimed or let go has not been slept through.
    fn not_slept_through(&self, before: &Command, after: &Command) {
        let had_go = |command: &Command| {
            matches!(command.state(), CommandState::Started { let_go: true, .. })
        };
        let takes_a_step = match after.phase() {
            CommandPhase::Sent | CommandPhase::Started => {
                before.phase() != after.phase() || had_go(after) && !had_go(before)
            }
            CommandPhase::Queued
            | CommandPhase::Held
            | CommandPhase::Waiting
            | CommandPhase::Working
            | CommandPhase::Leaving
            | CommandPhase::Ended => false,
        };
        let spec = after.spec();
        let slept = self.asleep - self.asleep_before[&spec.id];
        let total = spec.timeout + limits::QUEUE_ALLOWANCE + SHORTEST_SLEEP;
        assert!(!takes_a_step || slept < total, "{} goes on after a sleep of {slept:?}", spec.id);
    }

    /// All that follows from one input has happened.
    pub(super) fn transaction_is_over(&self) {
        assert_eq!(self.must_go, None, "one result too many is kept");
    }

    /// Whether so many of a client's commands wait that one more must be refused (row 2).
    pub(super) fn is_full(&self, client: &ClientId, limits: &Limits) -> bool {
        count_queued(&self.commands, client) >= limits.queued
    }

    /// A call was refused: it stands among the failures.
    pub(super) fn refused(&mut self, client: &ClientId, id: &CorrelationId, limits: &Limits) {
        self.seen.refusals += 1;
        self.failed(client, id, limits);
    }

    pub(super) fn slandered(&mut self, id: &CorrelationId) {
        self.slandered.insert(id.clone());
    }

    /// A command came back to its lane (row 7), whose next turn is its client's.
    fn came_back(&mut self, lane: &Lane) {
        self.seen.returns += 1;
        let in_lane = self.passed_over.iter_mut().filter(|((other, _), _)| other == lane);
        in_lane.for_each(|(_, turns)| turns.extra += 1);
    }

    /// This command is about to be delivered: it must be its turn.
    fn turn(&mut self, id: &CorrelationId, limits: &Limits) {
        assert!(!self.started.contains(id), "{id} is sent again");
        let Self { commands, lanes, numbers, passed_over, .. } = self;
        let command = &commands[id];
        if manner(command) == SchedulingMode::PassingLanes {
            return;
        }
        let (client, lane) = (&command.spec().client, &lanes[id]);
        let waiting = waiting_in(commands, lanes, lane);
        let first = waiting.iter().filter(|other| other.spec().client == *client);
        let first = first.map(|other| &other.spec().id).min_by_key(|id| numbers[*id]);
        assert_eq!(first, Some(id), "first in, first out");
        assert!(occupants(commands, lanes, lane).is_empty(), "{lane:?} is taken");
        assert!(load(commands, client) < limits.lanes, "{client} has enough lanes");

        let clients: BTreeSet<_> = waiting.iter().map(|other| &other.spec().client).collect();
        let clients_ever = 3;
        for other in clients.into_iter().filter(|other| *other != client) {
            if load(commands, other) < limits.lanes {
                let key = (lane.clone(), other.clone());
                let turns = passed_over.entry(key).or_default();
                turns.seen += 1;
                assert!(
                    turns.seen <= clients_ever - 1 + turns.extra,
                    "{other} starves in {lane:?}"
                );
            }
        }
        passed_over.remove(&(lane.clone(), client.clone()));
    }

    /// A command is over: it is kept, and one too many has to go for it.
    fn ended(&mut self, command: &Command, limits: &Limits) {
        let (client, id) = (&command.spec().client, &command.spec().id);
        if command.as_failed(None).is_some() {
            self.failed(client, id, limits);
        }
        let kept = self.kept.entry(client.clone()).or_default();
        kept.push((id.clone(), false));
        if kept.len() > limits.retained {
            let oldest_read = kept.iter().find(|(_, read)| *read);
            let first = oldest_read.unwrap_or(&kept[0]).0.clone();
            assert_eq!(self.must_go.replace(first), None);
        }
        if command.is_read() {
            self.read(id);
        }
    }

    /// The owner has had the outcome of a command, if it has one.
    pub(super) fn read(&mut self, id: &CorrelationId) {
        let kept = self.kept.values_mut().flatten();
        kept.filter(|(other, _)| other == id).for_each(|(_, read)| *read = true);
    }

    fn failed(&mut self, client: &ClientId, id: &CorrelationId, limits: &Limits) {
        let ring = self.failures.entry(client.clone()).or_default();
        push_bounded(ring, id, limits.failures);
    }

    /// The record of a command goes, for one of two reasons: it must, or its time is over.
    fn goes(&mut self, id: &CorrelationId, limits: &Limits, now: Timestamp) {
        let command = self.commands.remove(id).expect("its record is kept");
        self.lanes.remove(id);
        if self.must_go.take_if(|must| must == id).is_none() {
            assert_eq!(self.must_go, None, "{id} goes before its time");
            let until = command.retain_until().expect("it is over");
            assert!(until <= now, "{id} goes before its time");
        }
        let client = &command.spec().client;
        self.gone.insert(id.clone());
        let is_unread = matches!(
            command.state(),
            CommandState::Ended { read: false, outcome: CommandOutcome::Complete { .. }, .. }
        );
        if is_unread {
            self.failed(client, id, limits);
        }
        let kept = self.kept.entry(client.clone()).or_default();
        kept.retain(|(other, _)| other != id);
        let ring = self.tombstones.entry(client.clone()).or_default();
        push_bounded(ring, id, limits.tombstones);
        // It may have ended and gone in one step.
        let CommandState::Ended { outcome, at, .. } = command.state() else {
            panic!("{id} is dropped alive")
        };
        let end = (outcome.clone(), *at);
        self.seen.words.insert(word(&end.0));
        let first = self.ends.entry(id.clone()).or_insert_with(|| end.clone());
        assert_eq!(*first, end, "{id} has two ends");
    }

    /// A new life of the daemon begins, which knows these.
    pub(super) fn restarts(&mut self, history: &RecordedHistory) {
        self.seen.restarts += 1;
        self.is_restarting = true;
        let commands = history.commands.iter().map(|kept| &kept.saved);
        let known: BTreeMap<_, _> =
            commands.map(|saved| (saved.spec.id.clone(), &saved.stage)).collect();
        self.commands.clear();
        self.lanes = history
            .commands
            .iter()
            .filter_map(|kept| Some((kept.saved.spec.id.clone(), kept.lane.clone()?)))
            .collect();
        self.passed_over.clear();
        self.kept.clear();
        self.failures.clear();
        self.tombstones.clear();
        for (id, client, _) in &history.gone {
            self.tombstones.entry(client.clone()).or_default().push_back(id.clone());
        }
        self.gone = history.gone.iter().map(|(id, ..)| id.clone()).collect();
        // What was not recorded was never said to anybody.
        self.accepted.retain(|id| known.contains_key(id) || self.gone.contains(id));
        self.started.retain(|id| matches!(known.get(id), Some(SavedStage::Started { .. })));
        let is_over = |id: &_| matches!(known.get(id), Some(SavedStage::Ended { .. }));
        self.ends.retain(|id, _| is_over(id) || self.gone.contains(id));
        self.never_ran.retain(|id| is_over(id) || self.gone.contains(id));
        for (id, stage) in known {
            if let SavedStage::Ended { at, outcome, .. } = stage {
                let end = self.ends.get_mut(&id).expect("it was seen to end");
                assert_eq!(end.0, *outcome, "{id}");
                // A clock that was set back may have shown it as earlier since.
                end.1 = *at;
            }
        }
    }

    /// The new life of the daemon has taken in what it knows.
    pub(super) fn has_restarted(&mut self, is_same_boot: bool) {
        self.is_restarting = false;
        let all_over = self.commands.values().all(|command| command.phase().is_terminal());
        assert!(all_over || is_same_boot, "a command goes on after a restart of the machine");
    }

    fn taken_back(&mut self, command: &Command, now: Timestamp) {
        let id = command.spec().id.clone();
        match (command.state(), self.ends.get_mut(&id)) {
            (CommandState::Ended { at, outcome, .. }, Some((was, was_at))) => {
                assert_eq!((outcome, *at), (&*was, (*was_at).min(now)), "{id} has another end");
                *was_at = *at;
            }
            (CommandState::Ended { .. }, None) | (_, None) => {
                let latest = command.total_by().max(now + limits::AWAY);
                self.deadlines.insert(id, latest);
            }
            (_, Some(_)) => panic!("{id} goes on after its end"),
        }
    }

    // ── What must hold ──────────────────────────────────────────────────────────────

    /// Takes the oracle out of the world for a look at the rest.
    pub(super) fn check(world: &mut World) {
        let mut oracle = std::mem::take(&mut world.oracle);
        oracle.look(world);
        world.oracle = oracle;
    }

    fn look(&mut self, world: &World) {
        for command in self.commands.clone().values() {
            let known = world.engine.command(&command.spec().id).expect("it is kept");
            assert_eq!(known.phase(), command.phase(), "observers are told another state");
            self.one_end(command, world);
            self.never_sent_again(command);
        }
        self.nothing_is_lost();
        self.at_most_once(world);
        self.lists(world);
        self.nothing_waits_that_could_run(world);
        let waits = |lane: &Lane, client: &ClientId| {
            let waiting = waiting_in(&self.commands, &self.lanes, lane);
            waiting.iter().any(|command| command.spec().client == *client)
        };
        self.passed_over.retain(|(lane, client), _| waits(lane, client));
    }

    /// Exactly one end, no later than the deadline.
    fn one_end(&mut self, command: &Command, world: &World) {
        let id = &command.spec().id;
        let total_by = command.total_by();
        // Once it runs, the sleep before it counts no more.
        let latest = self.deadlines.get(id).map_or(total_by, |by| total_by.max(*by));
        let CommandState::Ended { outcome, at, .. } = command.state() else {
            assert!(!self.ends.contains_key(id), "{id} goes on after its end");
            if world.is_punctual {
                assert!(world.now < latest, "{id} is alive after its deadline");
                assert!(world.now < command.next_deadline(), "{id} is overdue");
            }
            return;
        };
        assert!(*at <= latest, "{id} ended after its deadline");
        let end = (outcome.clone(), *at);
        self.seen.words.insert(word(outcome));
        let first = self.ends.entry(id.clone()).or_insert_with(|| end.clone());
        assert_eq!(*first, end, "{id} has two ends");
        if !command.may_have_run() && !self.slandered.contains(id) {
            self.never_ran.insert(id.clone());
        }
    }

    fn never_sent_again(&mut self, command: &Command) {
        let id = &command.spec().id;
        match command.phase() {
            CommandPhase::Started => {
                self.started.insert(id.clone());
            }
            CommandPhase::Queued | CommandPhase::Sent | CommandPhase::Held => {
                assert!(!self.started.contains(id), "{id} may be sent again");
            }
            CommandPhase::Waiting | CommandPhase::Working => {
                unreachable!("all of them are for browsers")
            }
            CommandPhase::Leaving | CommandPhase::Ended => {}
        }
    }

    /// Accepted = pending + ended + gone.
    fn nothing_is_lost(&self) {
        let known: BTreeSet<_> = self.commands.keys().chain(&self.gone).cloned().collect();
        assert_eq!(known, self.accepted);
        assert_eq!(self.commands.len() + self.gone.len(), self.accepted.len());
    }

    /// At most once from the start, and never if it was said so.
    fn at_most_once(&mut self, world: &World) {
        let mut runs: BTreeMap<&CorrelationId, u32> = BTreeMap::new();
        let extensions = world.browsers.values().map(|browser| &browser.extension);
        for (id, n) in extensions.flat_map(|extension| &extension.runs) {
            *runs.entry(id).or_default() += n;
        }
        self.seen.runs = runs.values().sum();
        for (id, n) in &runs {
            assert!(!self.never_ran.contains(*id), "{id} has run, and was said not to have");
            let is_safe = self.commands.get(*id).is_none_or(|c| c.spec().work.is_safe());
            assert!(*n == 1 || is_safe, "{id} has run {n} times");
        }
        for (id, command) in &self.commands {
            let needs_go = !command.spec().work.is_safe() && !self.slandered.contains(id);
            if needs_go
                && matches!(
                    command.state(),
                    CommandState::Ended { outcome: CommandOutcome::Complete { .. }, .. }
                )
            {
                assert_eq!(runs.get(id), Some(&1), "{id} is complete and has not run");
            }
        }
    }

    fn lists(&self, world: &World) {
        let (engine, limits) = (&world.engine, world.engine.limits());
        assert_eq!(engine.commands().count(), self.commands.len());
        let clients: BTreeSet<_> = self.commands.values().map(|c| &c.spec().client).collect();
        for client in clients {
            assert!(load(&self.commands, client) <= limits.lanes, "{client}");
        }
        assert!(self.kept.values().all(|kept| kept.len() <= limits.retained));
        let owner = Owner::from("user");
        for (client, ring) in &self.failures {
            let caller = Caller { owner: owner.clone(), client: client.clone() };
            let listed = engine.failures(&caller);
            assert!(listed.iter().map(|failure| &failure.correlation_id).eq(ring), "{client}");
        }
        let buried: BTreeSet<_> = self.tombstones.values().flatten().collect();
        for id in &self.gone {
            assert_eq!(engine.tombstone(&owner, id).is_some(), buried.contains(id), "{id}");
        }
    }

    /// No lane is free while somebody waits for it, and holds at most one.
    fn nothing_waits_that_could_run(&self, world: &World) {
        for (id, command) in &self.commands {
            let Some(lane) = self.lanes.get(id) else { continue };
            let taken = occupants(&self.commands, &self.lanes, lane);
            assert!(taken.len() <= 1, "{lane:?} has {taken:?}");
            if command.phase() != CommandPhase::Queued || !world.takes_commands(&lane.browser) {
                continue;
            }
            let client = &command.spec().client;
            let is_held_up =
                !taken.is_empty() || load(&self.commands, client) >= world.engine.limits().lanes;
            assert!(is_held_up && manner(command) == SchedulingMode::InTurn, "{id} could run");
        }
    }
}

fn manner(command: &Command) -> SchedulingMode {
    SchedulingMode::of(&command.spec().work)
}

fn push_bounded(ring: &mut VecDeque<CorrelationId>, id: &CorrelationId, most: usize) {
    ring.push_back(id.clone());
    if ring.len() > most {
        ring.pop_front();
    }
}

fn word(outcome: &CommandOutcome) -> String {
    match outcome {
        CommandOutcome::Complete { .. } => "complete".to_owned(),
        CommandOutcome::Error { .. } => "error".to_owned(),
        CommandOutcome::Timeout { .. } => "timeout".to_owned(),
        CommandOutcome::Cancelled { .. } => "cancelled".to_owned(),
        CommandOutcome::Expired { reason, .. } => reason.code().to_owned(),
    }
}

fn count_queued(commands: &Commands, client: &ClientId) -> usize {
    let own = commands.values().filter(|command| command.spec().client == *client);
    own.filter(|command| command.phase() == CommandPhase::Queued).count()
}

/// In how many lanes a client's commands run.
fn load(commands: &Commands, client: &ClientId) -> usize {
    let own = commands.values().filter(|command| command.spec().client == *client);
    own.filter(|command| command.phase().holds_lane() && manner(command) == SchedulingMode::InTurn)
        .count()
}

fn in_lane<'a>(
    commands: &'a Commands,
    lanes: &'a Lanes,
    lane: &'a Lane,
) -> impl Iterator<Item = &'a Command> {
    let here = commands.iter().filter(move |(id, _)| lanes.get(*id) == Some(lane));
    here.map(|(_, command)| command).filter(|command| manner(command) == SchedulingMode::InTurn)
}

fn waiting_in<'a>(commands: &'a Commands, lanes: &'a Lanes, lane: &'a Lane) -> Vec<&'a Command> {
    in_lane(commands, lanes, lane)
        .filter(|command| command.phase() == CommandPhase::Queued)
        .collect()
}

fn occupants<'a>(
    commands: &'a Commands,
    lanes: &'a Lanes,
    lane: &'a Lane,
) -> Vec<&'a CorrelationId> {
    let holders = in_lane(commands, lanes, lane).filter(|command| command.phase().holds_lane());
    holders.map(|command| &command.spec().id).collect()
}
