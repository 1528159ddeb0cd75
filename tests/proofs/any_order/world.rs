//! The world around the engine: callers, links that lose frames, extensions, a journal that loses
//! its tail, and a clock that may run backwards. Everything that the engine does it does itself.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tabwire::engine::{
    Caller, Effects, Engine, JournalAppend, JournalEntry, JournalSeq, LinkFrame, LinkId, NewLink,
    RefusalReason, Submission, Transaction,
};
use tabwire::lifecycle::{Limits, Peer, TargetSelector};
use tabwire::proof::NameSource;
use tabwire::protocol::{
    Action, Attempt, BrowserId, BrowserTab, CorrelationId, ExtensionReport, FromExtension,
    InFlight, ReadyFrame, TabId, Timestamp, ToExtension, Transport,
};

use testkit::SimulatedDisk;

use super::extension::{Extension, Said, Told};
use super::oracle::Oracle;

pub(super) const EPOCH: Timestamp = Timestamp::from_unix_micros(1_795_298_985_000_000);

/// The tabs of every browser.
const TABS: std::ops::Range<i64> = 0..3;

pub(super) struct World {
    pub(super) now: Timestamp,
    /// How long the machine has slept in all.
    pub(super) asleep: Duration,
    pub(super) engine: Engine,
    pub(super) browsers: BTreeMap<BrowserId, Browser>,
    pub(super) oracle: Oracle,
    /// Whether every deadline that has come by now has taken effect.
    pub(super) is_punctual: bool,
    /// Everything that is recorded.
    disk: SimulatedDisk,
    /// Entries that are not recorded yet, in their order.
    tail: VecDeque<JournalEntry>,
    appended: JournalSeq,
    recorded: JournalSeq,
    /// Frames that leave once the journal is so far.
    held_back: Vec<LinkFrame>,
    links: u64,
    epoch: u32,
}

pub(super) struct Browser {
    pub(super) extension: Extension,
    pub(super) link: Option<Link>,
    /// What comes late of links that are gone: what they still had to say, then their end.
    stragglers: VecDeque<(Peer, LinkId, Option<Said>)>,
}

pub(super) struct Link {
    id: LinkId,
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

fn engine(limits: Limits, epoch: u32, now: Timestamp) -> Engine {
    let mut seed = [0; 32];
    seed[..4].copy_from_slice(&epoch.to_be_bytes());
    Engine::new(limits, NameSource::seeded(&seed), JournalSeq::default(), now)
}

impl World {
    pub(super) fn new(browsers: u8, limits: Limits) -> Self {
        let browser = |n| {
            let extension = Extension::new(browser_id(n).as_str());
            (browser_id(n), Browser { extension, link: None, stragglers: VecDeque::new() })
        };
        Self {
            now: EPOCH,
            asleep: Duration::ZERO,
            engine: engine(limits, 1, EPOCH),
            browsers: (0..browsers).map(browser).collect(),
            oracle: Oracle::default(),
            is_punctual: true,
            disk: SimulatedDisk::default(),
            tail: VecDeque::new(),
            appended: JournalSeq::default(),
            recorded: JournalSeq::default(),
            held_back: Vec::new(),
            links: 0,
            epoch: 1,
        }
    }

    // ── The engine ──────────────────────────────────────────────────────────────────

    /// Lets something happen to the engine, and carries out what it leads to, as the hub does.
    fn transact<R>(&mut self, happen: impl FnOnce(&mut Transaction<'_>) -> R) -> R {
        for browser in self.browsers.keys() {
            if let Some((link, room)) = self.room(browser) {
                self.engine.note_room(browser, link, room);
            }
        }
        let mut effects = Effects::default();
        let asleep = self.asleep;
        self.oracle.asleep = asleep;
        let result = self.engine.transact(self.now, &mut effects, |tx| {
            tx.note_sleep(asleep);
            happen(tx)
        });
        self.carry_out(effects);
        result
    }

    /// How many frames the outbox of a browser's link has room for.
    fn room(&self, browser: &BrowserId) -> Option<(LinkId, usize)> {
        let link = self.browsers[browser].link.as_ref()?;
        let held = self.held_back.iter().filter(|frame| frame.link == link.id).count();
        Some((link.id, self.engine.limits().outbound.saturating_sub(link.down.len() + held)))
    }

    /// Whether a browser is ready, and has room for a command.
    pub(super) fn takes_commands(&self, browser: &BrowserId) -> bool {
        let link = self.browsers[browser].link.as_ref();
        let has_room = self.room(browser).is_some_and(|(_, n)| Engine::is_room_for_command(n));
        link.is_some_and(|link| link.is_ready) && has_room
    }

    fn carry_out(&mut self, effects: Effects) {
        let Effects { log, commands, frames, starved, closed, .. } = effects;
        for entry in log {
            let entry = match entry {
                JournalAppend::Awaited(entry) => {
                    self.appended = self.appended.next();
                    entry
                }
                JournalAppend::Later(entry) => entry,
            };
            self.oracle.logged(&entry);
            self.tail.push_back(entry);
        }
        for update in &commands {
            self.oracle.follows(update, self.engine.limits(), self.now);
        }
        self.oracle.transaction_is_over();
        self.held_back.extend(frames);
        closed.into_iter().for_each(|(link, _why)| self.lose(link));
        self.release();
        for link in starved {
            // As the hub does: the outbox may have room again.
            let is_it = |known: &&BrowserId| self.room(known).is_some_and(|(id, _)| id == link);
            let browser = self.browsers.keys().find(is_it).cloned();
            if let Some(browser) = browser.filter(|browser| self.takes_commands(browser)) {
                self.transact(|tx| tx.may_deliver_to(&browser));
            }
        }
    }

    /// A link is gone: what was under way to the extension is lost, what comes from it is late.
    fn lose(&mut self, id: LinkId) {
        self.held_back.retain(|frame| frame.link != id);
        for browser in self.browsers.values_mut() {
            if let Some(link) = browser.link.take_if(|link| link.id == id) {
                let late = link.up.into_iter().map(Some).chain([None]);
                browser.stragglers.extend(late.map(|said| (link.peer.clone(), id, said)));
            }
        }
    }

    /// Sends the frames that what is recorded allows. Row 5a: `go` leaves only if the command is
    /// still where its claim has put it.
    fn release(&mut self) {
        let recorded = self.recorded;
        while let Some(at) = self.held_back.iter().position(|frame| frame.after <= recorded) {
            let LinkFrame { link, frame, .. } = self.held_back.remove(at);
            if let ToExtension::Go { correlation_id, attempt } = &frame {
                if !self.transact(|tx| tx.may_go(correlation_id, *attempt)) {
                    continue;
                }
                let has_start = self.disk.has_start(correlation_id.as_str(), u64::from(attempt.0));
                assert!(has_start, "{correlation_id}: go without a record");
            }
            let mut links = self.browsers.values_mut().filter_map(|known| known.link.as_mut());
            if let (Some(link), Some(told)) = (links.find(|known| known.id == link), told(frame)) {
                link.down.push_back(told);
            }
        }
    }

    /// All that was put into the journal so far is recorded.
    pub(super) fn commit(&mut self) {
        for entry in self.tail.drain(..) {
            self.disk.record(&entry);
        }
        self.recorded = self.appended;
        self.release();
    }

    // ── Clients ─────────────────────────────────────────────────────────────────────

    pub(super) fn submit(&mut self, order: Order) {
        let caller = caller(order.client);
        let browser = order.browser.map(|n| browser_id(n).as_str().to_owned());
        let tab = (!order.action.is_browser_wide()).then(|| TabId(order.tab.into()));
        let call = Submission {
            action: order.action,
            selector: TargetSelector { browser, tab },
            timeout: order.timeout,
            idempotency_key: None,
            // Both surfaces.
            takes_tab: order.tab == 1,
            dialogs: None,
            trace_context: None,
            record_by: None,
        };
        // A sleep may end commands that wait, and comes before the call.
        self.transact(|_| ());
        let is_full = self.oracle.is_full(&caller.client, self.engine.limits());
        match self.transact(|tx| tx.submit(&caller, call, None)) {
            Ok(_accepted) => assert!(!is_full, "{} has too many", caller.client),
            Err(refused) => {
                let says_full = matches!(refused.why, RefusalReason::QueueFull { .. });
                assert_eq!(says_full, is_full, "{}: {}", caller.client, refused.why.message());
                self.oracle.refused(&caller.client, &refused.id, self.engine.limits());
            }
        }
    }

    pub(super) fn cancel(&mut self, nth: usize) {
        if let Some(id) = self.oracle.nth(nth) {
            self.transact(|tx| tx.cancel(&id));
        }
    }

    pub(super) fn read(&mut self, nth: usize) {
        let Some(id) = self.oracle.nth(nth) else { return };
        self.transact(|tx| tx.mark_read(&id));
        self.oracle.read(&id);
    }

    // ── Links ───────────────────────────────────────────────────────────────────────

    fn browser(&mut self, n: u8) -> &mut Browser {
        self.browsers.get_mut(&browser_id(n)).expect("known")
    }

    /// A new link, which takes over from the one that the browser may have.
    pub(super) fn attach(&mut self, n: u8) {
        let epoch = self.epoch;
        self.links += 1;
        let id = LinkId(self.links);
        let extension = &mut self.browser(n).extension;
        let (peer, up) = (extension.peer(), extension.connects(epoch).into());
        let room = self.engine.limits().outbound;
        let of = peer.clone();
        self.transact(|tx| {
            tx.attach(NewLink {
                id,
                peer: of,
                transport: Transport::WebSocket,
                extension_version: "1".to_owned(),
                room,
            });
        });
        let link = Link { id, peer, is_ready: false, down: VecDeque::new(), up };
        self.browser(n).link = Some(link);
    }

    /// Rows 7, 7a and 11.
    pub(super) fn end_link(&mut self, n: u8) {
        let Some(id) = self.browser(n).link.as_ref().map(|link| link.id) else { return };
        self.transact(|tx| tx.detach(&browser_id(n), id));
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
            let Some(link) = &mut browser.link else { break };
            let Some(told) = link.down.pop_front() else { break };
            let says = browser.extension.hears(told);
            link.up.extend(says);
        }
        // The outbox has room again.
        self.transact(|tx| tx.may_deliver_to(&browser_id(n)));
    }

    /// Lets so many frames arrive at the daemon.
    pub(super) fn up(&mut self, n: u8, frames: u8) {
        for _ in 0..frames {
            let Some(link) = &mut self.browser(n).link else { return };
            let Some(said) = link.up.pop_front() else { return };
            link.is_ready |= matches!(said, Said::Ready(_));
            let (peer, id) = (link.peer.clone(), link.id);
            self.transact(|tx| tx.receive(&peer, id, frame(said)));
        }
    }

    /// Something arrives over a link that is gone, of which only a report counts; or its end is
    /// noticed at last.
    pub(super) fn straggle(&mut self, n: u8) {
        let Some((peer, id, said)) = self.browser(n).stragglers.pop_front() else { return };
        let before = self.browser(n).link.as_ref().map(|link| link.id);
        self.transact(|tx| match said {
            Some(said) => tx.receive(&peer, id, frame(said)),
            None => tx.detach(&peer.browser, id),
        });
        let after = self.browser(n).link.as_ref().map(|link| link.id);
        assert_eq!(before, after, "what comes late ends another link");
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
        let Some(id) = self.oracle.nth(nth) else { return };
        let peer = Peer { browser: browser_id(n), instance: "rogue".into() };
        self.oracle.slandered(&id);
        let said = Said::Report(id, Attempt(attempt), report);
        self.transact(|tx| tx.receive(&peer, LinkId(0), frame(said)));
    }

    // ── Time ────────────────────────────────────────────────────────────────────────

    pub(super) fn next_deadline(&self) -> Option<Timestamp> {
        self.oracle.commands().map(|command| command.next_deadline()).min()
    }

    /// The timer has come: every deadline that is over takes effect.
    pub(super) fn tick(&mut self) {
        self.transact(|tx| tx.tick());
        self.is_punctual = true;
    }

    /// The next life of the daemon (row 17): of this one there is the journal only.
    pub(super) fn restart(&mut self, how: Restart) {
        if !how.loses_tail {
            self.commit();
        }
        self.tail.clear();
        self.now = self.now - how.set_back;
        self.epoch += 1;
        self.held_back.clear();
        for browser in self.browsers.values_mut() {
            (browser.link, browser.stragglers) = (None, VecDeque::new());
        }
        (self.appended, self.recorded) = (JournalSeq::default(), JournalSeq::default());
        let engine = engine(*self.engine.limits(), self.epoch, self.now);
        self.engine = engine.after_sleep(self.asleep);
        let history = self.disk.history();
        self.oracle.restarts(&history);
        self.transact(|tx| tx.recover(history, how.is_same_boot));
        self.oracle.has_restarted(how.is_same_boot);
        self.tick();
    }
}

fn caller(client: u8) -> Caller {
    Caller { owner: "user".into(), client: format!("client {client}").into() }
}

/// A frame as the model of an extension understands it; the others are nothing to it.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others are nothing to it")]
fn told(frame: ToExtension) -> Option<Told> {
    let told = match frame {
        ToExtension::Command { attempt, command } => {
            Told::Command { id: command.correlation_id, attempt, safe: command.safe }
        }
        ToExtension::Go { correlation_id, attempt } => Told::Go { id: correlation_id, attempt },
        ToExtension::Cancel { correlation_id, .. } => Told::Cancel { id: correlation_id },
        ToExtension::ResultAck { correlation_id, attempt }
        | ToExtension::Nack {
            correlation_id: Some(correlation_id), attempt: Some(attempt), ..
        } => Told::Settled { id: correlation_id, attempt },
        _ => return None,
    };
    Some(told)
}

fn frame(said: Said) -> FromExtension {
    match said {
        Said::Ready(has) => FromExtension::Ready(ready(has)),
        Said::Claim(correlation_id, attempt) => FromExtension::Claim { correlation_id, attempt },
        Said::Report(correlation_id, attempt, report) => {
            FromExtension::Report { correlation_id, attempt, report }
        }
    }
}

fn ready(has: Vec<(CorrelationId, Attempt, tabwire::protocol::InFlightState)>) -> ReadyFrame {
    let actions = ["execute_js", "page_info", "tab_close", "tab_open", "tab_list"];
    let tab = |id| BrowserTab {
        tab_id: TabId(id),
        window_id: 1,
        url: "http://127.0.0.1/".to_owned(),
        title: String::new(),
        active: id == TABS.start,
        focused: true,
        ref_prefix: None,
        discarded: false,
        frozen: false,
        former_ids: Vec::new(),
        private: false,
    };
    let in_flight = |(correlation_id, attempt, state)| InFlight { correlation_id, attempt, state };
    ReadyFrame {
        label: "Test".to_owned(),
        user_agent: String::new(),
        actions: actions.map(str::to_owned).to_vec(),
        session: Some("the only one".into()),
        tabs: TABS.map(tab).collect(),
        in_flight: has.into_iter().map(in_flight).collect(),
        draws_for: None,
        site_rules: Some(true),
        stopped: None,
        older_extensions: None,
        act_rules: None,
        asks_first: None,
        names: None,
        shared_tabs: Vec::new(),
        private_tabs: Some(true),
        far_owners: None,
        tab_scopes: None,
        hands_over: None,
    }
}
