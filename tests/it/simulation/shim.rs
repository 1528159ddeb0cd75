//! What the simulated extension does with frames: what the contract asks of it.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::protocol::InFlightState;
use testkit::{CommandAttempt, DeliveredCommand, DeliveryReaction, ExtensionAttempts};
use tokio::sync::mpsc;
use tokio::task::spawn_local;

use super::browser::TABS;
use super::chance::Chance;
use super::plan::Step;
use super::world::World;

/// Whoever runs longer says so.
const PENDING_AFTER: Duration = Duration::from_secs(2);

/// A report that was sent is stored only then: most are acknowledged by that time.
const STORE_AFTER: Duration = Duration::from_millis(20);

/// What the result of a command without a script says in its place.
pub(super) const NO_SCRIPT: &str = "look";

/// An extension: what it knows, whatever becomes of its connections.
pub(super) struct Shim {
    pub(super) world: Weak<World>,
    chance: Chance,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Which life of the worker this is.
    instance: u32,
    attempts: Attempts,
    /// Where frames go.
    link: Option<mpsc::UnboundedSender<Value>>,
    /// Which connection that is.
    link_number: u64,
}

type Attempt = CommandAttempt<DeliveredCommand, SentReport>;
type Attempts = ExtensionAttempts<DeliveredCommand, SentReport>;

/// A report that was not acknowledged.
#[derive(Clone)]
struct SentReport {
    kind: &'static str,
    fields: Value,
    sent: Option<Duration>,
}

impl SentReport {
    fn frame(&self, command: &DeliveredCommand) -> Value {
        command.frame(self.kind, self.fields.clone())
    }
}

impl Shim {
    pub(super) fn new(world: Weak<World>, seed: u64, number: usize) -> Self {
        let chance = Chance::of(seed, &format!("shim {number}"));
        Self { world, chance, state: RefCell::default() }
    }

    fn world(&self) -> Rc<World> {
        self.world.upgrade().unwrap()
    }

    pub(super) fn instance(&self) -> u32 {
        self.state.borrow().instance
    }

    /// Reports that the daemon has not acknowledged.
    pub(super) fn n_unacknowledged(&self) -> usize {
        self.state.borrow_mut().attempts.reports().count()
    }

    /// The worker dies. What it ran is lost, what it had stored is not.
    pub(super) fn die(&self) {
        let now = self.world().now();
        let mut state = self.state.borrow_mut();
        let State { instance, mut attempts, .. } = std::mem::take(&mut *state);
        attempts.end_worker();
        attempts.retain_reports(|report| report.sent.is_none_or(|sent| now >= sent + STORE_AFTER));
        *state = State { instance: instance + 1, attempts, ..State::default() };
    }

    /// The browser dies, and what it had stored for the session with it.
    pub(super) fn die_with_browser(&self) {
        self.die();
        self.state.borrow_mut().attempts.retain_reports(|_| false);
    }

    /// The daemon has proven itself: what is sent goes to `link` from here on. At a new
    /// epoch what had not begun is forgotten. What is in flight; `None`: a newer connection
    /// was faster.
    pub(super) fn welcome(
        &self,
        number: u64,
        epoch: &str,
        link: mpsc::UnboundedSender<Value>,
    ) -> Option<Value> {
        let state = &mut *self.state.borrow_mut();
        if state.link_number > number {
            return None;
        }
        state.link_number = number;
        state.attempts.welcome(epoch);
        state.link = Some(link);
        Some(state.attempts.in_flight().into())
    }

    /// Sends everything again that was not acknowledged.
    pub(super) fn replay(&self) {
        let now = self.world().now();
        let State { attempts, link, .. } = &mut *self.state.borrow_mut();
        for (_, command, report) in attempts.reports() {
            report.sent = Some(now);
            if let Some(link) = link {
                let _ = link.send(report.frame(command));
            }
        }
    }

    /// A frame that may be lost.
    fn send(&self, frame: Value) -> bool {
        let state = self.state.borrow();
        state.link.as_ref().is_some_and(|link| link.send(frame).is_ok())
    }

    /// Takes a frame of the daemon's.
    pub(super) fn handle(self: &Rc<Self>, frame: &Value) {
        let world = self.world();
        let id = frame["correlation_id"].as_str().unwrap_or_default();
        let attempt = frame["attempt"].as_u64().unwrap_or_default();
        match frame["type"].as_str().unwrap_or_default() {
            "command" => self.handle_command(frame),
            "go" => self.handle_go(id, attempt),
            "cancel" => self.handle_cancel(id),
            "result_ack" => self.state.borrow_mut().attempts.settle(id, attempt),
            "nack" => self.handle_nack(id, attempt, &frame["reason"]),
            "ping" => {
                self.send(json!({"type": "pong", "t": frame["t"]}));
            }
            other => world.breaks(format!("the daemon sent `{other}`: {frame}")),
        }
    }

    fn handle_command(self: &Rc<Self>, frame: &Value) {
        let (command, reaction) = self.state.borrow_mut().attempts.deliver_frame(frame);
        match reaction {
            DeliveryReaction::Claim => {
                self.send(command.answer("claim"));
            }
            DeliveryReaction::Run => self.start(&command),
            DeliveryReaction::SayPending => {
                self.send(command.answer("pending"));
            }
            DeliveryReaction::ReportAgain => self.report_again(&command),
            DeliveryReaction::Ignore => {}
        }
    }

    fn report_again(&self, command: &DeliveredCommand) {
        let mut state = self.state.borrow_mut();
        let report = state.attempts.reports().find(|(id, ..)| *id == command.id);
        let frame = report.map(|(_, _, report)| report.frame(command));
        drop(state);
        self.send(frame.unwrap());
    }

    fn handle_go(self: &Rc<Self>, id: &str, attempt: u64) {
        let world = self.world();
        if !world.disk.borrow().has_start(id, attempt) {
            let name = world.ledger.borrow().name(id);
            world.breaks(format!("{name}: `go` for a start that was not recorded"));
        }
        let command = self.state.borrow_mut().attempts.begin(id, attempt).cloned();
        if let Some(command) = command {
            self.start(&command);
        }
    }

    fn handle_cancel(&self, id: &str) {
        // Some pages cannot be stopped.
        if self.chance.one_in(4) {
            return;
        }
        self.settle(id, "cancelled", |known| json!({"may_have_run": known.is_running()}));
    }

    fn handle_nack(&self, id: &str, attempt: u64, reason: &Value) {
        if reason == "malformed" || reason == "unknown_type" {
            self.world().breaks(format!("the daemon did not understand: {reason}"));
        }
        self.state.borrow_mut().attempts.settle(id, attempt);
    }

    /// Runs a command, in a page that goes on whatever becomes of the connection.
    fn start(self: &Rc<Self>, DeliveredCommand { id, command, .. }: &DeliveredCommand) {
        let instance = self.instance();
        if command["tab_id"].as_i64().is_some_and(|tab| !TABS.contains(&tab)) {
            let error = json!({"code": "no_such_tab", "message": "there is no such tab"});
            return self.settle(id, "error", |_| json!({"error": error}));
        }
        let script = command["params"]["script"].as_str();
        let world = self.world();
        let is_safe = command["safe"] == true;
        let run = world.ledger.borrow_mut().run(world.now(), id, script, is_safe);
        let script = script.unwrap_or(NO_SCRIPT).to_owned();
        let timeout = Duration::from_millis(command["timeout_ms"].as_u64().unwrap());
        let chance = Chance::of(world.plan.seed, &format!("page of {script}"));
        let takes = match chance.below(10) {
            0..=5 => chance.millis(0..=300),
            6..=8 => chance.millis(300..=2_500),
            _ => chance.millis(2_000..=6_000),
        };
        let (this, id) = (self.clone(), id.clone());
        spawn_local(async move {
            tokio::time::sleep(takes.min(timeout).min(PENDING_AFTER)).await;
            this.say_pending(&id, instance);
            tokio::time::sleep(takes.min(timeout).saturating_sub(PENDING_AFTER)).await;
            if this.state.borrow().instance == instance {
                let throws = chance.one_in(8);
                this.finish(&id, takes < timeout, throws, &format!("{script}#{run}"));
            }
        });
        world.reach(Step::Running);
    }

    fn say_pending(&self, id: &str, instance: u32) {
        let state = self.state.borrow();
        let known = state.attempts.get(id).filter(|known| known.is_running());
        let Some(known) = known.filter(|_| state.instance == instance) else { return };
        let frame = known.command.answer("pending");
        drop(state);
        self.send(frame);
    }

    fn finish(&self, id: &str, in_time: bool, throws: bool, value: &str) {
        if !in_time {
            let error = json!({"code": "execution_timeout", "message": "took too long"});
            self.settle(id, "timeout", |_| json!({"error": error}));
        } else if throws {
            let error = json!({"code": "script_error", "message": "threw"});
            self.settle(id, "error", |_| json!({"error": error}));
        } else {
            let result = json!({"success": true, "value": value, "type": "string"});
            self.settle(id, "complete", |_| json!({"result": result}));
        }
    }

    /// Exactly one report for an attempt: a second one finds the first.
    fn settle(&self, id: &str, kind: &'static str, fields: impl Fn(&Attempt) -> Value) {
        let world = self.world();
        let state = self.state.borrow();
        let is_open = |known: &Attempt| known.state() != InFlightState::Done;
        if !state.attempts.get(id).is_some_and(is_open) {
            return;
        }
        let instance = state.instance;
        drop(state);
        world.reach(Step::ProgramOutput);
        if self.instance() != instance {
            return;
        }
        let mut state = self.state.borrow_mut();
        let State { attempts, link, .. } = &mut *state;
        let report = |known: &Attempt| SentReport { kind, fields: fields(known), sent: None };
        attempts.report(id, report);
        let report = attempts.reports().find(|(known, ..)| *known == id);
        if let (Some((_, command, report)), Some(link)) = (report, link) {
            report.sent = link.send(report.frame(command)).is_ok().then(|| world.now());
        }
    }
}
