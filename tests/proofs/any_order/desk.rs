//! What the hub does with the core, without locks, tasks and sockets: it holds the
//! commands, carries frames over links that lose them, and writes the journal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tabwire::lifecycle::{
    Command, Event, Facts, Freed, Gone, Lane, Limits, Manner, Outcome, Peer, Phase, Queue, Reply,
    Retention, State, Step,
};
use tabwire::protocol::{
    Action, Attempt, BrowserId, CancelReason, Carrier, ClientId, CorrelationId, ExtensionReport,
    InFlightState, Moment, TabId,
};

use super::extension::{Extension, Said, Told};
use super::journal::{Journal, Record};
use super::oracle::Oracle;

pub(super) const EPOCH: Moment = Moment::from_unix_micros(1_795_298_985_000_000);

pub(super) struct Desk {
    pub(super) now: Moment,
    pub(super) limits: Limits,
    pub(super) commands: BTreeMap<CorrelationId, Command>,
    pub(super) lanes: BTreeMap<CorrelationId, Lane>,
    pub(super) queue: Queue,
    pub(super) retention: Retention,
    pub(super) journal: Journal,
    pub(super) browsers: BTreeMap<BrowserId, Browser>,
    pub(super) oracle: Oracle,
    /// Whether every deadline that has come by now has taken effect.
    pub(super) is_punctual: bool,
    wishes: BTreeMap<CorrelationId, Option<TabId>>,
    /// Frames that leave once the record of this number is committed.
    held_back: Vec<(usize, BrowserId, Told)>,
    freed: BTreeSet<BrowserId>,
    accepted: u32,
    epoch: u32,
}

pub(super) struct Browser {
    pub(super) extension: Extension,
    pub(super) link: Option<Link>,
    /// What the links that are gone still had to say.
    stragglers: VecDeque<(Peer, Said)>,
    held: BTreeSet<CorrelationId>,
}

pub(super) struct Link {
    peer: Peer,
    pub(super) is_ready: bool,
    down: VecDeque<Told>,
    up: VecDeque<Said>,
}

/// What a client asks for.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) client: u8,
    pub(super) action: Action,
    pub(super) browser: Option<u8>,
    pub(super) tab: u8,
    pub(super) timeout: Duration,
}

/// How the next life of the daemon differs from this one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Restart {
    pub(super) loses_tail: bool,
    pub(super) is_same_boot: bool,
    /// By how much the system clock is set back meanwhile.
    pub(super) set_back: Duration,
}

pub(super) fn browser_id(n: u8) -> BrowserId {
    format!("b{n}").into()
}

pub(super) fn manner(command: &Command) -> Manner {
    Manner::of(&command.facts().work)
}

impl Desk {
    pub(super) fn new(browsers: u8, limits: Limits) -> Self {
        let browser = |n| {
            let extension = Extension::new(browser_id(n).as_str());
            let (stragglers, held) = (VecDeque::new(), BTreeSet::new());
            (browser_id(n), Browser { extension, link: None, stragglers, held })
        };
        Self {
            now: EPOCH,
            limits,
            commands: BTreeMap::new(),
            lanes: BTreeMap::new(),
            queue: Queue::default(),
            retention: Retention::default(),
            journal: Journal::default(),
            browsers: (0..browsers).map(browser).collect(),
            oracle: Oracle::default(),
            is_punctual: true,
            wishes: BTreeMap::new(),
            held_back: Vec::new(),
            freed: BTreeSet::new(),
            accepted: 0,
            epoch: 1,
        }
    }

    // ── Clients ─────────────────────────────────────────────────────────────────────

    /// Rows 1 and 2.
    pub(super) fn submit(&mut self, order: Order) {
        let client: ClientId = format!("client {}", order.client).into();
        let is_full = self.queue.is_full_for(&client, &self.limits);
        self.oracle.is_full(&self.commands, &client, &self.limits, is_full);
        if is_full {
            return;
        }
        self.accepted += 1;
        let facts = Facts {
            id: format!("exec_{:04}", self.accepted).into(),
            query_id: format!("q_{}", self.accepted).into(),
            owner: "user".into(),
            client: client.clone(),
            params: order.action.params().into(),
            work: order.action.into(),
            timeout: order.timeout,
            created: self.now,
        };
        let id = facts.id.clone();
        let tab = (!is_browser_wide(&facts)).then_some(TabId(order.tab.into()));
        let browser = order.browser.map(browser_id).or_else(|| self.connected().next().cloned());
        let lane = browser.map(|browser| Lane { browser, tab });
        let command = Command::new(facts.clone());
        let trace = command.marks().to_vec();
        self.journal.write(&id, Record::Accepted { facts, trace });
        self.oracle.accepted(&id);
        self.queue.join(client, id.clone(), manner(&command), lane.clone());
        self.commands.insert(id.clone(), command);
        match lane {
            None => {
                self.wishes.insert(id, tab);
            }
            Some(lane) => {
                self.note_lane(&id, &lane);
                if self.connected().any(|browser| *browser == lane.browser) {
                    self.apply(&id, Event::Reachable);
                    self.freed.insert(lane.browser);
                }
            }
        }
    }

    pub(super) fn cancel(&mut self, nth: usize) {
        if let Some(id) = self.nth(nth) {
            self.apply(&id, Event::Cancel);
        }
    }

    pub(super) fn read(&mut self, nth: usize) {
        let Some(id) = self.nth(nth) else { return };
        let client = self.commands[&id].facts().client.clone();
        self.apply(&id, Event::Read);
        if self.commands[&id].phase().is_terminal() {
            self.journal.write(&id, Record::Read);
            self.retention.note_read(&client, &id);
            self.oracle.read(&client, &id);
        }
    }

    fn nth(&self, nth: usize) -> Option<CorrelationId> {
        let count = self.commands.len();
        (count > 0).then(|| self.commands.keys().nth(nth % count).cloned())?
    }

    // ── Links ───────────────────────────────────────────────────────────────────────

    fn connected(&self) -> impl Iterator<Item = &BrowserId> {
        let is_ready = |browser: &Browser| browser.link.as_ref().is_some_and(|link| link.is_ready);
        self.browsers.iter().filter(move |(_, browser)| is_ready(browser)).map(|(id, _)| id)
    }

    fn browser(&mut self, n: u8) -> &mut Browser {
        self.browsers.get_mut(&browser_id(n)).expect("known")
    }

    /// A new link, which takes over from the one that the browser may have.
    pub(super) fn attach(&mut self, n: u8) {
        self.end_link(n);
        let epoch = self.epoch;
        let browser = self.browser(n);
        let up = browser.extension.connects(epoch).into();
        let peer = browser.extension.peer();
        browser.link = Some(Link { peer, is_ready: false, down: VecDeque::new(), up });
    }

    /// Rows 7, 7a and 11.
    pub(super) fn end_link(&mut self, n: u8) {
        let browser = self.browser(n);
        let Some(link) = browser.link.take() else { return };
        browser.stragglers.extend(link.up.into_iter().map(|said| (link.peer.clone(), said)));
        for id in browser.held.clone() {
            self.apply(&id, Event::LinkClosed);
        }
    }

    /// The extension's worker is killed; the link goes with it.
    pub(super) fn kill(&mut self, n: u8) {
        self.browser(n).extension.dies();
        self.end_link(n);
    }

    /// Lets so many frames arrive at the extension.
    pub(super) fn down(&mut self, n: u8, frames: u8) {
        let browser = self.browser(n);
        for _ in 0..frames {
            let Some(link) = &mut browser.link else { return };
            let Some(told) = link.down.pop_front() else { return };
            let says = browser.extension.hears(told);
            link.up.extend(says);
        }
    }

    /// Lets so many frames arrive at the daemon.
    pub(super) fn up(&mut self, n: u8, frames: u8) {
        for _ in 0..frames {
            let Some(link) = &mut self.browser(n).link else { return };
            let Some(said) = link.up.pop_front() else { return };
            let peer = link.peer.clone();
            match said {
                Said::Ready(has) => self.ready(&peer, &has),
                Said::Claim(id, attempt) => {
                    self.answer(&peer, &id, attempt, Event::Claim(peer.clone(), attempt));
                }
                Said::Report(id, attempt, report) => {
                    let event = Event::Report(peer.clone(), attempt, report);
                    self.answer(&peer, &id, attempt, event);
                }
            }
            self.settle();
        }
    }

    /// Something arrives over a link that is gone. Only a report counts.
    pub(super) fn straggle(&mut self, n: u8) {
        let Some((peer, said)) = self.browser(n).stragglers.pop_front() else { return };
        if let Said::Report(id, attempt, report) = said {
            let event = Event::Report(peer.clone(), attempt, report);
            self.answer(&peer, &id, attempt, event);
        }
    }

    /// What the extension says of itself goes up, if there is a link.
    pub(super) fn says(&mut self, n: u8, says: impl FnOnce(&mut Extension) -> Option<Said>) {
        let browser = self.browser(n);
        let said = says(&mut browser.extension);
        if let Some(link) = &mut browser.link {
            link.up.extend(said);
        }
    }

    /// Anybody reports anything.
    pub(super) fn slander(&mut self, n: u8, nth: usize, attempt: u32, report: ExtensionReport) {
        let Some(id) = self.nth(nth) else { return };
        let peer = Peer { browser: browser_id(n), instance: "rogue".into() };
        let attempt = Attempt(attempt);
        self.oracle.slandered(&id);
        self.answer(&peer, &id, attempt, Event::Report(peer.clone(), attempt, report));
    }

    fn ready(&mut self, peer: &Peer, has: &[(CorrelationId, Attempt, InFlightState)]) {
        let browser = self.browsers.get_mut(&peer.browser).expect("known");
        if let Some(link) = &mut browser.link {
            link.is_ready = true;
        }
        for id in browser.held.clone() {
            let hold = self.commands.get(&id).and_then(Command::hold);
            let Some(attempt) = hold.map(|hold| hold.attempt) else { continue };
            let of_this = |known: &&(CorrelationId, Attempt, InFlightState)| {
                known.0 == id && known.1 == attempt
            };
            let says = has.iter().find(of_this).map(|known| known.2);
            self.answer(peer, &id, attempt, Event::Back(peer.clone(), says));
        }
        self.place_waiting(&peer.browser);
        self.freed.insert(peer.browser.clone());
    }

    fn place_waiting(&mut self, browser: &BrowserId) {
        for id in self.queue.unplaced() {
            let tab = self.wishes.remove(&id).flatten();
            let lane = Lane { browser: browser.clone(), tab };
            self.queue.place(&id, lane.clone());
            self.note_lane(&id, &lane);
        }
        for id in self.queue.waiting_for(browser) {
            self.apply(&id, Event::Reachable);
        }
    }

    fn note_lane(&mut self, id: &CorrelationId, lane: &Lane) {
        self.journal.write(id, Record::Placed { lane: lane.clone() });
        self.lanes.insert(id.clone(), lane.clone());
    }

    // ── Commands ────────────────────────────────────────────────────────────────────

    fn answer(&mut self, peer: &Peer, id: &CorrelationId, attempt: Attempt, event: Event) {
        let settled = Told::Settled { id: id.clone(), attempt };
        match self.apply(id, event) {
            None | Some(Reply::Nack(_)) => self.send(&peer.browser, settled),
            Some(Reply::Nothing) => {}
            Some(Reply::Ack) => self.send_committed(&peer.browser, settled),
            Some(Reply::Go) => {
                self.send_committed(&peer.browser, Told::Go { id: id.clone(), attempt });
            }
        }
    }

    fn apply(&mut self, id: &CorrelationId, event: Event) -> Option<Reply> {
        let before = self.commands.get(id)?.clone();
        let command = self.commands.get_mut(id)?;
        let step = command.apply(event, self.now);
        let after = command.clone();
        let (from, to, reply, cancel) = match step {
            Step::Unchanged(reply) => return Some(reply),
            Step::Changed { from, to, reply, cancel } => (from, to, reply, cancel),
        };
        assert_eq!((from, to), (before.phase(), after.phase()));
        self.follow_holder(&before, &after);
        self.tell_to_stop(&after, cancel);
        let began = to == Phase::Started && from != Phase::Started;
        let ended = to.is_terminal() && !from.is_terminal();
        if began || ended {
            let record = Record::of(&after, self.now).expect("began or ended");
            self.journal.write(id, record);
        }
        if from == Phase::Sent && to == Phase::Queued {
            self.oracle.came_back(&self.lanes[id]);
        }
        self.follow(id, to);
        if ended {
            self.ended(&after);
        }
        Some(reply)
    }

    fn follow(&mut self, id: &CorrelationId, to: Phase) {
        match self.queue.follow(id, to, &self.limits) {
            Freed::Nothing => {}
            Freed::In(browser) => {
                self.freed.insert(browser);
            }
            Freed::Everywhere => self.freed.extend(self.queue.browsers()),
        }
    }

    fn follow_holder(&mut self, before: &Command, after: &Command) {
        let id = &after.facts().id;
        if let Some(hold) = before.hold() {
            self.browsers.get_mut(&hold.by.browser).expect("known").held.remove(id);
        }
        if let (Some(hold), Phase::Sent | Phase::Started) = (after.hold(), after.phase()) {
            let browser = self.browsers.get_mut(&hold.by.browser).expect("known");
            browser.held.insert(id.clone());
        }
    }

    fn tell_to_stop(&mut self, command: &Command, why: Option<CancelReason>) {
        let (Some(_), Some(hold)) = (why, command.hold()) else { return };
        let cancel = Told::Cancel { id: command.facts().id.clone() };
        self.send(&hold.by.browser.clone(), cancel);
    }

    /// Row 21, and the caps of what is kept.
    fn ended(&mut self, command: &Command) {
        let facts = command.facts();
        self.wishes.remove(&facts.id);
        if let Some(failure) = command.as_failed(None) {
            self.oracle.failed(&facts.client, &facts.id, &self.limits);
            self.retention.list_failure(&facts.client, failure, &self.limits);
        }
        let one_too_many = self.retention.keep(&facts.client, facts.id.clone(), &self.limits);
        self.oracle.kept(&facts.client, &facts.id, &self.limits, one_too_many.as_ref());
        if let Some(id) = one_too_many {
            self.forget(&id);
        }
    }

    /// Rows 19 and 20.
    fn forget(&mut self, id: &CorrelationId) {
        let Some(command) = self.commands.remove(id) else { return };
        self.journal.write(id, Record::Forgotten);
        self.lanes.remove(id);
        self.follow(id, Phase::Ended);
        let facts = command.facts();
        let is_unread = matches!(
            command.state(),
            State::Ended { read: false, outcome: Outcome::Complete { .. }, .. }
        );
        let owner = facts.owner.clone();
        let gone = Gone { owner, at: self.now, may_have_run: command.may_have_run() };
        let unread = is_unread.then(|| command.as_unread(None, "never retrieved", self.now));
        self.retention.bury(&facts.client, id, gone, unread, &self.limits);
        self.oracle.buried(&facts.client, id, is_unread, &self.limits);
    }

    fn send(&mut self, browser: &BrowserId, told: Told) {
        if let Some(link) = self.browsers.get_mut(browser).and_then(|b| b.link.as_mut()) {
            link.down.push_back(told);
        }
    }

    fn send_committed(&mut self, browser: &BrowserId, told: Told) {
        let after = self.journal.len();
        self.held_back.push((after, browser.clone(), told));
        self.release();
    }

    /// What was written so far will not be lost.
    pub(super) fn commit(&mut self) {
        self.journal.commit();
        self.release();
    }

    /// Row 5a: `go` leaves only if the command is still where its claim has put it.
    fn release(&mut self) {
        for (number, browser, told) in std::mem::take(&mut self.held_back) {
            if !self.journal.is_committed(number) {
                self.held_back.push((number, browser, told));
                continue;
            }
            if let Told::Go { id, attempt } = &told {
                if self.apply(id, Event::Go(*attempt)) != Some(Reply::Go) {
                    continue;
                }
                assert!(self.journal.has_started(id, *attempt), "{id}: go without a record");
            }
            self.send(&browser, told);
        }
    }

    // ── Deliveries ──────────────────────────────────────────────────────────────────

    /// Delivers whatever may be delivered.
    pub(super) fn settle(&mut self) {
        while let Some(browser) = self.freed.pop_first() {
            while self.deliver_next(&browser) {}
        }
    }

    /// Row 3.
    fn deliver_next(&mut self, browser: &BrowserId) -> bool {
        let link = self.browsers.get(browser).and_then(|known| known.link.as_ref());
        let Some(peer) = link.filter(|link| link.is_ready).map(|link| link.peer.clone()) else {
            return false;
        };
        let Some((id, lane)) = self.queue.next(browser, &self.limits) else { return false };
        assert_eq!(self.lanes.get(&id), Some(&lane));
        self.oracle.turn(&self.commands, &self.lanes, &id, &self.limits);
        self.apply(&id, Event::Deliver(peer, Carrier::WebSocket));
        if let Some(command) = self.commands.get(&id)
            && let State::Sent { hold, .. } = command.state()
        {
            let (attempt, safe) = (hold.attempt, command.facts().work.is_safe());
            self.send(browser, Told::Command { id, attempt, safe });
        }
        true
    }

    // ── Time ────────────────────────────────────────────────────────────────────────

    pub(super) fn next_deadline(&self) -> Option<Moment> {
        self.commands.values().map(Command::next_deadline).min()
    }

    /// The timer has come: every deadline that is over takes effect.
    pub(super) fn reap(&mut self) {
        while let Some(due) = self.commands.values().min_by_key(|c| c.next_deadline()).cloned() {
            if due.next_deadline() > self.now {
                break;
            }
            let id = due.facts().id.clone();
            self.apply(&id, Event::Tick);
            let over = |command: &Command| command.retain_until().is_some_and(|at| at <= self.now);
            if self.commands.get(&id).is_some_and(over) {
                self.forget(&id);
            }
        }
        self.is_punctual = true;
    }

    /// The next life of the daemon (row 17): of this one there is the journal only.
    pub(super) fn restart(&mut self, how: Restart) {
        self.journal.survives(how.loses_tail);
        self.now = self.now - how.set_back;
        self.epoch += 1;
        (self.queue, self.retention) = (Queue::default(), Retention::default());
        (self.commands, self.lanes) = (BTreeMap::new(), BTreeMap::new());
        self.wishes.clear();
        self.held_back.clear();
        self.freed.clear();
        for browser in self.browsers.values_mut() {
            (browser.link, browser.stragglers) = (None, VecDeque::new());
            browser.held.clear();
        }
        let entries = self.journal.read();
        self.oracle.restarted(&entries);
        for entry in entries {
            let was_over = matches!(entry.saved.stage, tabwire::lifecycle::Stage::Ended { .. });
            let command = Command::restore(entry.saved, how.is_same_boot, self.now);
            let is_over = command.phase().is_terminal();
            assert!(is_over || how.is_same_boot, "it goes on after a restart of the machine");
            self.take_back(&command, entry.lane, was_over);
        }
        self.reap();
    }

    fn take_back(&mut self, command: &Command, lane: Option<Lane>, was_over: bool) {
        let (id, client) = (command.facts().id.clone(), command.facts().client.clone());
        self.oracle.taken_back(command, self.now);
        self.commands.insert(id.clone(), command.clone());
        if let Some(lane) = &lane {
            self.lanes.insert(id.clone(), lane.clone());
        }
        match (command.phase(), lane) {
            (Phase::Started, Some(lane)) => {
                self.queue.occupy(client, id, manner(command), lane);
                self.follow_holder(command, command);
            }
            (Phase::Queued, lane) => {
                if lane.is_none() {
                    let tab = (!is_browser_wide(command.facts())).then_some(TabId(0));
                    self.wishes.insert(id.clone(), tab);
                }
                self.queue.join(client, id, manner(command), lane);
            }
            (Phase::Ended, _) => {
                if !was_over {
                    let record = Record::of(command, self.now).expect("it is over");
                    self.journal.write(&id, record);
                }
                self.ended(command);
                if matches!(command.state(), State::Ended { read: true, .. }) {
                    self.retention.note_read(&client, &id);
                    self.oracle.read(&client, &id);
                }
            }
            other => panic!("restored as {other:?}"),
        }
    }
}

fn is_browser_wide(facts: &Facts) -> bool {
    facts.work.action().is_some_and(Action::is_browser_wide)
}
