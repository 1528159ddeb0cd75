//! Agents, each with a bridge that may be killed at any moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::BROWSERS;
use super::witness::Ledger;
use testkit::SeededRandom;
use testkit::{ProgramSandbox, StdioClient, signal};

/// How many commands an agent submits in a round: as many results as are kept for it.
const COMMANDS: usize = 90;

/// What a call can be refused with that is worth another try.
const TRY_AGAIN: [&str; 8] = [
    "queue_full",
    "rate_limited",
    "shutting_down",
    "daemon_lost",
    "no_daemon",
    "daemon_timeout",
    "too_many_waiters",
    "browser_gone",
];

pub(super) struct Agents {
    tasks: JoinSet<()>,
    stopping: Arc<AtomicBool>,
    /// The process of each agent's bridge.
    bridges: Vec<Arc<AtomicU32>>,
}

impl Agents {
    pub(super) fn start(
        place: &ProgramSandbox,
        count: usize,
        round: u64,
        ledger: &Ledger,
        dice: &mut SeededRandom,
    ) -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let (mut tasks, mut bridges) = (JoinSet::new(), Vec::new());
        for n in 0..count {
            let name = format!("agent-{round}-{n}");
            let process = Arc::new(AtomicU32::new(0));
            bridges.push(process.clone());
            let bridge = Bridge::new(place.command(&["mcp", "--client", &name]), process);
            let agent = Agent {
                name,
                bridge,
                ledger: ledger.clone(),
                dice: SeededRandom::new(dice.next()),
                stopping: stopping.clone(),
            };
            tasks.spawn(agent.work());
        }
        Self { tasks, stopping, bridges }
    }

    pub(super) fn kill_a_bridge(&self, dice: &mut SeededRandom) {
        let victim = &self.bridges[dice.below(self.bridges.len() as u64) as usize];
        // Whoever restarts it puts the next one in its place.
        match victim.swap(0, Ordering::AcqRel) {
            0 => {}
            process => signal(process, Signal::KILL),
        }
    }

    /// Lets each agent finish the call that it is at.
    pub(super) async fn stop(mut self) {
        self.stopping.store(true, Ordering::Release);
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("an agent saw something that must not be");
        }
    }
}

struct Agent {
    name: String,
    bridge: Bridge,
    ledger: Ledger,
    dice: SeededRandom,
    stopping: Arc<AtomicBool>,
}

impl Agent {
    async fn work(mut self) {
        for n in 0..COMMANDS {
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
            let script = format!("{}-{n}", self.name);
            self.submit(&script).await;
            if self.dice.below(2) == 0 {
                self.look_back().await;
            }
        }
    }

    /// Submits a command under its key, again and again until it is accepted.
    async fn submit(&mut self, script: &str) {
        let browser = BROWSERS[self.dice.below(2) as usize];
        let call = json!({
            "action": "execute_js", "script": script, "browser": browser,
            "tab_id": 7 + self.dice.below(2), "timeout_ms": 1_000,
            "wait_ms": if self.dice.below(3) == 0 { 500 } else { 0 }, "idempotency_key": script,
            "trace": true,
        });
        loop {
            let answer = self.bridge.call("interact", &call).await;
            match answer {
                Some(answer)
                    if answer["correlation_id"].is_string() && answer["error"].is_null() =>
                {
                    return self.ledger.note_accepted(script, &answer);
                }
                Some(answer) if answer["status"].is_string() => {
                    return self.ledger.note_accepted(script, &answer);
                }
                Some(answer) => {
                    let error = answer["error"].as_str().unwrap_or_default();
                    assert!(TRY_AGAIN.contains(&error), "{answer}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                None => {}
            }
            if self.stopping.load(Ordering::Acquire) {
                return;
            }
        }
    }

    /// Asks for an earlier command.
    async fn look_back(&mut self) {
        let Some(id) = self.ledger.any_id(&mut self.dice) else { return };
        let call = json!({"what": "command_result", "correlation_id": id});
        if let Some(answer) = self.bridge.call("observe", &call).await
            && answer["status"].is_string()
        {
            self.ledger.note_told(&id, &answer);
        }
    }
}

/// A bridge, started anew whenever it was killed.
struct Bridge {
    command: tokio::process::Command,
    client: Option<StdioClient>,
    process: Arc<AtomicU32>,
    calls: u64,
}

impl Bridge {
    fn new(command: tokio::process::Command, process: Arc<AtomicU32>) -> Self {
        Self { command, client: None, process, calls: 0 }
    }

    /// Calls a tool; `None`: the bridge was killed in between.
    async fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        if self.client.is_none() {
            let client = StdioClient::start_again(&mut self.command);
            self.process.store(client.pid()?, Ordering::Release);
            self.client = Some(client);
        }
        self.calls += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let request =
            json!({"jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params});
        let answer = match &mut self.client {
            Some(client) => client.try_rpc(&request).await,
            None => None,
        };
        if answer.is_none() {
            self.process.store(0, Ordering::Release);
            self.client = None;
        }
        Some(answer?["result"]["structuredContent"].clone())
    }
}
