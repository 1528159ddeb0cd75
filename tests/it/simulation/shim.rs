//! What the simulated extension does with frames: what the contract asks of it, in the
//! same steps as the real one (`extension-shim/src/commands/dispatcher.js`,
//! `outbox.js`).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::rc::{Rc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
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
    epoch: String,
    /// Attempts without a report.
    entries: BTreeMap<String, Entry>,
    /// What has had its report.
    finished: HashSet<String>,
    outbox: Vec<Kept>,
    /// Where frames go.
    link: Option<mpsc::UnboundedSender<Value>>,
    /// Which connection that is.
    link_number: u64,
}

#[derive(Clone)]
struct Entry {
    attempt: u64,
    command: Value,
    is_running: bool,
}

/// A report that was not acknowledged.
struct Kept {
    id: String,
    frame: Value,
    sent: Option<Duration>,
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
        self.state.borrow().outbox.len()
    }

    /// The worker dies. What it ran is lost, what it had stored is not.
    pub(super) fn die(&self) {
        let now = self.world().now();
        let mut state = self.state.borrow_mut();
        let State { instance, outbox, .. } = std::mem::take(&mut *state);
        let is_stored = |kept: &Kept| kept.sent.is_none_or(|sent| now >= sent + STORE_AFTER);
        let outbox = outbox.into_iter().filter(is_stored).collect();
        *state = State { instance: instance + 1, outbox, ..State::default() };
    }

    /// The browser dies, and what it had stored for the session with it.
    pub(super) fn die_with_browser(&self) {
        self.die();
        self.state.borrow_mut().outbox.clear();
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
        if state.epoch != epoch {
            epoch.clone_into(&mut state.epoch);
            state.entries.retain(|_, entry| entry.is_running);
        }
        state.link = Some(link);
        let open = state.entries.iter().map(|(id, entry)| {
            let doing = if entry.is_running { "running" } else { "claimed" };
            json!({"correlation_id": id, "attempt": entry.attempt, "state": doing})
        });
        let done = state.outbox.iter().map(|kept| {
            json!({"correlation_id": kept.id, "attempt": kept.frame["attempt"], "state": "done"})
        });
        Some(open.chain(done).collect())
    }

    /// Sends everything again that was not acknowledged.
    pub(super) fn replay(&self) {
        let now = self.world().now();
        let state = &mut *self.state.borrow_mut();
        for kept in &mut state.outbox {
            kept.sent = Some(now);
            if let Some(link) = &state.link {
                let _ = link.send(kept.frame.clone());
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
            "command" => self.handle_command(attempt, &frame["command"]),
            "go" => self.handle_go(id, attempt),
            "cancel" => self.handle_cancel(id),
            "result_ack" => self.drop_report(id, attempt),
            "nack" => self.handle_nack(id, attempt, &frame["reason"]),
            "ping" => {
                self.send(json!({"type": "pong", "t": frame["t"]}));
            }
            other => world.breaks(format!("the daemon sent `{other}`: {frame}")),
        }
    }

    fn handle_command(self: &Rc<Self>, attempt: u64, command: &Value) {
        let id = command["correlation_id"].as_str().unwrap().to_owned();
        let is_safe = command["safe"] == true;
        let mut state = self.state.borrow_mut();
        if let Some(at) = state.outbox.iter().position(|kept| kept.id == id) {
            state.outbox[at].frame["attempt"] = attempt.into();
            let frame = state.outbox[at].frame.clone();
            drop(state);
            self.send(frame);
            return;
        }
        if state.finished.contains(&id) && !is_safe {
            return;
        }
        match state.entries.get_mut(&id) {
            Some(known) if known.is_running => {
                known.attempt = attempt;
                drop(state);
                self.send(json!({"type": "pending", "correlation_id": id, "attempt": attempt}));
                return;
            }
            Some(known) if known.attempt > attempt => return,
            Some(_) | None => {}
        }
        let entry = Entry { attempt, command: command.clone(), is_running: false };
        state.entries.insert(id.clone(), entry);
        drop(state);
        if is_safe {
            self.start(&id);
        } else {
            self.send(json!({"type": "claim", "correlation_id": id, "attempt": attempt}));
        }
    }

    fn handle_go(self: &Rc<Self>, id: &str, attempt: u64) {
        let world = self.world();
        if !world.disk.borrow().has_start(id, attempt) {
            let name = world.ledger.borrow().name(id);
            world.breaks(format!("{name}: `go` for a start that was not recorded"));
        }
        let entry = self.state.borrow().entries.get(id).cloned();
        if entry.is_some_and(|entry| entry.attempt == attempt && !entry.is_running) {
            self.start(id);
        }
    }

    fn handle_cancel(&self, id: &str) {
        // Some pages cannot be stopped.
        if self.chance.one_in(4) {
            return;
        }
        let entry = self.state.borrow().entries.get(id).cloned();
        if let Some(entry) = entry {
            self.settle(id, "cancelled", json!({"may_have_run": entry.is_running}));
        }
    }

    fn handle_nack(&self, id: &str, attempt: u64, reason: &Value) {
        if reason == "malformed" || reason == "unknown_type" {
            self.world().breaks(format!("the daemon did not understand: {reason}"));
        }
        let mut state = self.state.borrow_mut();
        let is_it = |entry: &Entry| entry.attempt == attempt && !entry.is_running;
        if state.entries.get(id).is_some_and(is_it) {
            state.entries.remove(id);
        }
        drop(state);
        self.drop_report(id, attempt);
    }

    fn drop_report(&self, id: &str, attempt: u64) {
        let is_it = |kept: &Kept| kept.id == id && kept.frame["attempt"] == attempt;
        self.state.borrow_mut().outbox.retain(|kept| !is_it(kept));
    }

    /// Runs a command, in a page that goes on whatever becomes of the connection.
    fn start(self: &Rc<Self>, id: &str) {
        let mut state = self.state.borrow_mut();
        let instance = state.instance;
        let Some(entry) = state.entries.get_mut(id) else { return };
        entry.is_running = true;
        let command = entry.command.clone();
        drop(state);
        if command["tab_id"].as_i64().is_some_and(|tab| !TABS.contains(&tab)) {
            let error = json!({"code": "no_such_tab", "message": "there is no such tab"});
            return self.settle(id, "error", json!({"error": error}));
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
        let (this, id) = (self.clone(), id.to_owned());
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
        let Some(entry) = state.entries.get(id).filter(|_| state.instance == instance) else {
            return;
        };
        let frame = json!({"type": "pending", "correlation_id": id, "attempt": entry.attempt});
        drop(state);
        self.send(frame);
    }

    fn finish(&self, id: &str, in_time: bool, throws: bool, value: &str) {
        if !in_time {
            let error = json!({"code": "execution_timeout", "message": "took too long"});
            self.settle(id, "timeout", json!({"error": error}));
        } else if throws {
            let error = json!({"code": "script_error", "message": "threw"});
            self.settle(id, "error", json!({"error": error}));
        } else {
            let result = json!({"success": true, "value": value, "type": "string"});
            self.settle(id, "complete", json!({"result": result}));
        }
    }

    /// Exactly one report an attempt: whoever comes second finds the entry gone.
    fn settle(&self, id: &str, kind: &str, fields: Value) {
        let world = self.world();
        let Some(entry) = self.state.borrow_mut().entries.remove(id) else { return };
        self.state.borrow_mut().finished.insert(id.to_owned());
        let mut frame = json!({"type": kind, "correlation_id": id, "attempt": entry.attempt});
        if let (Some(frame), Value::Object(fields)) = (frame.as_object_mut(), fields) {
            frame.extend(fields);
        }
        let instance = self.instance();
        world.reach(Step::ProgramOutput);
        if self.instance() != instance {
            return;
        }
        let sent = self.send(frame.clone()).then(|| world.now());
        self.state.borrow_mut().outbox.push(Kept { id: id.to_owned(), frame, sent });
    }
}
