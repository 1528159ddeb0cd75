//! What must hold after every step. It keeps its own books, as simple as can be, and
//! compares.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tabwire::lifecycle::{Command, Lane, Limits, Manner, Outcome, Phase, Stage, State, limits};
use tabwire::protocol::{ClientId, CorrelationId, Moment};

use super::desk::{Desk, manner};
use super::journal::Entry;

type Commands = BTreeMap<CorrelationId, Command>;
type Lanes = BTreeMap<CorrelationId, Lane>;

#[derive(Debug, Default)]
pub(super) struct Oracle {
    accepted: BTreeSet<CorrelationId>,
    /// Those whose record is gone.
    gone: BTreeSet<CorrelationId>,
    /// How and when each ended. Never changed but by a restart that lost it.
    ends: BTreeMap<CorrelationId, (Outcome, Moment)>,
    /// The latest moment at which each that was taken back from the journal may end.
    deadlines: BTreeMap<CorrelationId, Moment>,
    /// Those that have started: they must not be delivered again.
    started: BTreeSet<CorrelationId>,
    /// Those of which it was said that they have not run.
    never_ran: BTreeSet<CorrelationId>,
    /// Those of which somebody said what was not so.
    slandered: BTreeSet<CorrelationId>,
    /// How many turns of others each client that waits in a lane has seen, and how many
    /// it must bear.
    passed_over: BTreeMap<(Lane, ClientId), Turns>,
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
    // ── What the desk tells ─────────────────────────────────────────────────────────

    pub(super) fn accepted(&mut self, id: &CorrelationId) {
        self.accepted.insert(id.clone());
    }

    /// Row 2: a call is refused if, and only if, so many of the client's commands wait.
    pub(super) fn is_full(
        &mut self,
        commands: &Commands,
        client: &ClientId,
        limits: &Limits,
        said: bool,
    ) {
        assert_eq!(said, count_queued(commands, client) >= limits.queued, "{client}");
        self.seen.refusals += u32::from(said);
    }

    pub(super) fn slandered(&mut self, id: &CorrelationId) {
        self.slandered.insert(id.clone());
    }

    /// A command came back to its lane (row 7), whose next turn is its client's.
    pub(super) fn came_back(&mut self, lane: &Lane) {
        self.seen.returns += 1;
        let in_lane = self.passed_over.iter_mut().filter(|((other, _), _)| other == lane);
        in_lane.for_each(|(_, turns)| turns.extra += 1);
    }

    /// This command is about to be delivered: it must be its turn.
    pub(super) fn turn(
        &mut self,
        commands: &Commands,
        lanes: &Lanes,
        id: &CorrelationId,
        limits: &Limits,
    ) {
        assert!(!self.started.contains(id), "{id} is sent again");
        let command = &commands[id];
        if manner(command) == Manner::PassingLanes {
            return;
        }
        let (client, lane) = (&command.facts().client, &lanes[id]);
        let waiting = waiting_in(commands, lanes, lane);
        let first = waiting.iter().filter(|other| other.facts().client == *client);
        let first = first.map(|other| &other.facts().id).min();
        assert_eq!(first, Some(id), "first in, first out");
        assert!(occupants(commands, lanes, lane).is_empty(), "{lane:?} is taken");
        assert!(load(commands, client) < limits.lanes, "{client} has enough lanes");

        let clients: BTreeSet<_> = waiting.iter().map(|other| &other.facts().client).collect();
        let clients_ever = 3;
        for other in clients.into_iter().filter(|other| *other != client) {
            if load(commands, other) < limits.lanes {
                let key = (lane.clone(), other.clone());
                let turns = self.passed_over.entry(key).or_default();
                turns.seen += 1;
                assert!(
                    turns.seen <= clients_ever - 1 + turns.extra,
                    "{other} starves in {lane:?}"
                );
            }
        }
        self.passed_over.remove(&(lane.clone(), client.clone()));
    }

    pub(super) fn kept(
        &mut self,
        client: &ClientId,
        id: &CorrelationId,
        limits: &Limits,
        dropped: Option<&CorrelationId>,
    ) {
        let kept = self.kept.entry(client.clone()).or_default();
        kept.push((id.clone(), false));
        let expected = (kept.len() > limits.retained).then(|| {
            let oldest_read = kept.iter().find(|(_, read)| *read);
            oldest_read.unwrap_or(&kept[0]).0.clone()
        });
        assert_eq!(dropped, expected.as_ref(), "the oldest read one goes, else the oldest");
    }

    pub(super) fn read(&mut self, client: &ClientId, id: &CorrelationId) {
        let kept = self.kept.get_mut(client).into_iter().flatten();
        kept.filter(|(other, _)| other == id).for_each(|(_, read)| *read = true);
    }

    pub(super) fn failed(&mut self, client: &ClientId, id: &CorrelationId, limits: &Limits) {
        let ring = self.failures.entry(client.clone()).or_default();
        push_bounded(ring, id, limits.failures);
    }

    pub(super) fn buried(
        &mut self,
        client: &ClientId,
        id: &CorrelationId,
        is_unread: bool,
        limits: &Limits,
    ) {
        assert!(self.ends.contains_key(id) || self.is_new_end(id), "{id} is dropped alive");
        self.gone.insert(id.clone());
        if is_unread {
            self.failed(client, id, limits);
        }
        let kept = self.kept.entry(client.clone()).or_default();
        kept.retain(|(other, _)| other != id);
        let ring = self.tombstones.entry(client.clone()).or_default();
        push_bounded(ring, id, limits.tombstones);
    }

    /// Whether it ended in this very step, which is looked at after it.
    fn is_new_end(&self, id: &CorrelationId) -> bool {
        self.kept.values().flatten().any(|(other, _)| other == id)
    }

    /// A new life of the daemon, which knows these.
    pub(super) fn restarted(&mut self, entries: &[Entry]) {
        self.seen.restarts += 1;
        let known: BTreeMap<_, _> =
            entries.iter().map(|entry| (&entry.saved.facts.id, &entry.saved.stage)).collect();
        // What was not committed was never said to anybody.
        self.accepted.retain(|id| known.contains_key(id));
        self.gone.clear();
        self.passed_over.clear();
        self.kept.clear();
        self.failures.clear();
        self.tombstones.clear();
        self.started.retain(|id| matches!(known.get(id), Some(Stage::Started { .. })));
        let is_over = |id: &_| matches!(known.get(id), Some(Stage::Ended { .. }));
        self.ends.retain(|id, _| is_over(id));
        self.never_ran.retain(is_over);
        for (id, stage) in known {
            if let Stage::Ended { at, outcome, .. } = stage {
                let end = self.ends.get_mut(id).expect("it was seen to end");
                assert_eq!(end.0, *outcome, "{id}");
                // A clock that was set back may have shown it as earlier since.
                end.1 = *at;
            }
        }
    }

    pub(super) fn taken_back(&mut self, command: &Command, now: Moment) {
        let id = command.facts().id.clone();
        match (command.state(), self.ends.get_mut(&id)) {
            (State::Ended { at, outcome, .. }, Some((was, was_at))) => {
                assert_eq!((outcome, *at), (&*was, (*was_at).min(now)), "{id} has another end");
                *was_at = *at;
            }
            (State::Ended { .. }, None) | (_, None) => {
                let latest = command.total_by().max(now + limits::AWAY);
                self.deadlines.insert(id, latest);
            }
            (_, Some(_)) => panic!("{id} goes on after its end"),
        }
    }

    // ── What must hold ──────────────────────────────────────────────────────────────

    /// Takes the oracle out of the desk for a look at the rest.
    pub(super) fn check(desk: &mut Desk) {
        let mut oracle = std::mem::take(&mut desk.oracle);
        oracle.look(desk);
        desk.oracle = oracle;
    }

    fn look(&mut self, desk: &Desk) {
        for command in desk.commands.values() {
            self.one_end(command, desk);
            self.never_sent_again(command);
        }
        self.nothing_is_lost(desk);
        self.at_most_once(desk);
        self.lists(desk);
        self.nothing_waits_that_could_run(desk);
        let waits = |lane: &Lane, client: &ClientId| {
            let waiting = waiting_in(&desk.commands, &desk.lanes, lane);
            waiting.iter().any(|command| command.facts().client == *client)
        };
        self.passed_over.retain(|(lane, client), _| waits(lane, client));
    }

    /// Exactly one end, no later than the deadline.
    fn one_end(&mut self, command: &Command, desk: &Desk) {
        let id = &command.facts().id;
        let latest = self.deadlines.get(id).copied().unwrap_or(command.total_by());
        let State::Ended { outcome, at, .. } = command.state() else {
            assert!(!self.ends.contains_key(id), "{id} goes on after its end");
            if desk.is_punctual {
                assert!(desk.now < latest, "{id} is alive after its deadline");
                assert!(desk.now < command.next_deadline(), "{id} is overdue");
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
        let id = &command.facts().id;
        match command.phase() {
            Phase::Started => {
                self.started.insert(id.clone());
            }
            Phase::Queued | Phase::Sent => {
                assert!(!self.started.contains(id), "{id} may be sent again");
            }
            Phase::Waiting | Phase::Working => unreachable!("all of them are for browsers"),
            Phase::Leaving | Phase::Ended => {}
        }
    }

    /// Accepted = pending + ended + gone.
    fn nothing_is_lost(&self, desk: &Desk) {
        let known: BTreeSet<_> = desk.commands.keys().chain(&self.gone).cloned().collect();
        assert_eq!(known, self.accepted);
        assert_eq!(desk.commands.len() + self.gone.len(), self.accepted.len());
    }

    /// At most once from the start, and never if it was said so.
    fn at_most_once(&mut self, desk: &Desk) {
        let mut runs: BTreeMap<&CorrelationId, u32> = BTreeMap::new();
        let extensions = desk.browsers.values().map(|browser| &browser.extension);
        for (id, n) in extensions.flat_map(|extension| &extension.runs) {
            *runs.entry(id).or_default() += n;
        }
        self.seen.runs = runs.values().sum();
        for (id, n) in &runs {
            assert!(!self.never_ran.contains(*id), "{id} has run, and was said not to have");
            let is_safe = desk.commands.get(*id).is_none_or(|c| c.facts().work.is_safe());
            assert!(*n == 1 || is_safe, "{id} has run {n} times");
        }
        for (id, command) in &desk.commands {
            let needs_go = !command.facts().work.is_safe() && !self.slandered.contains(id);
            if needs_go
                && matches!(command.state(), State::Ended { outcome: Outcome::Complete { .. }, .. })
            {
                assert_eq!(runs.get(id), Some(&1), "{id} is complete and has not run");
            }
        }
    }

    fn lists(&self, desk: &Desk) {
        let clients: BTreeSet<_> = desk.commands.values().map(|c| &c.facts().client).collect();
        for client in clients {
            assert_eq!(desk.queue.queued(client), count_queued(&desk.commands, client));
            assert!(load(&desk.commands, client) <= desk.limits.lanes, "{client}");
        }
        for (client, kept) in &self.kept {
            assert!(desk.retention.kept(client).eq(kept.iter().map(|(id, _)| id)));
            assert!(kept.len() <= desk.limits.retained);
        }
        for (client, ring) in &self.failures {
            let listed = desk.retention.failures(client).map(|failure| &failure.correlation_id);
            assert!(listed.eq(ring), "{client}");
        }
        let buried: BTreeSet<_> = self.tombstones.values().flatten().collect();
        for id in &self.gone {
            assert_eq!(desk.retention.tombstone(id).is_some(), buried.contains(id), "{id}");
        }
    }

    /// No lane is free while somebody waits for it, and holds at most one.
    fn nothing_waits_that_could_run(&self, desk: &Desk) {
        for (id, command) in &desk.commands {
            let Some(lane) = desk.lanes.get(id) else { continue };
            let taken = occupants(&desk.commands, &desk.lanes, lane);
            assert!(taken.len() <= 1, "{lane:?} has {taken:?}");
            let link = desk.browsers[&lane.browser].link.as_ref();
            if command.phase() != Phase::Queued || link.is_none_or(|link| !link.is_ready) {
                continue;
            }
            let client = &command.facts().client;
            let is_held_up = !taken.is_empty() || load(&desk.commands, client) >= desk.limits.lanes;
            assert!(is_held_up && manner(command) == Manner::InTurn, "{id} could run");
        }
    }
}

fn push_bounded(ring: &mut VecDeque<CorrelationId>, id: &CorrelationId, most: usize) {
    ring.push_back(id.clone());
    if ring.len() > most {
        ring.pop_front();
    }
}

fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Complete { .. } => "complete".to_owned(),
        Outcome::Error { .. } => "error".to_owned(),
        Outcome::Timeout { .. } => "timeout".to_owned(),
        Outcome::Cancelled { .. } => "cancelled".to_owned(),
        Outcome::Expired { reason, .. } => reason.code().to_owned(),
    }
}

fn count_queued(commands: &Commands, client: &ClientId) -> usize {
    let own = commands.values().filter(|command| command.facts().client == *client);
    own.filter(|command| command.phase() == Phase::Queued).count()
}

/// In how many lanes a client's commands run.
fn load(commands: &Commands, client: &ClientId) -> usize {
    let own = commands.values().filter(|command| command.facts().client == *client);
    own.filter(|command| command.phase().holds_lane() && manner(command) == Manner::InTurn).count()
}

fn in_lane<'a>(
    commands: &'a Commands,
    lanes: &'a Lanes,
    lane: &'a Lane,
) -> impl Iterator<Item = &'a Command> {
    let here = commands.iter().filter(move |(id, _)| lanes.get(*id) == Some(lane));
    here.map(|(_, command)| command).filter(|command| manner(command) == Manner::InTurn)
}

fn waiting_in<'a>(commands: &'a Commands, lanes: &'a Lanes, lane: &'a Lane) -> Vec<&'a Command> {
    in_lane(commands, lanes, lane).filter(|command| command.phase() == Phase::Queued).collect()
}

fn occupants<'a>(
    commands: &'a Commands,
    lanes: &'a Lanes,
    lane: &'a Lane,
) -> Vec<&'a CorrelationId> {
    let holders = in_lane(commands, lanes, lane).filter(|command| command.phase().holds_lane());
    holders.map(|command| &command.facts().id).collect()
}
