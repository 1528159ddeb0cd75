//! The extension changes its carrier in the middle of commands, either way, with its
//! connections cut at random. Each command runs once, counted where it runs, and each gets
//! its result.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use testkit::{
    DeliveredCommand, DeliveryReaction, ExtensionAttempts, ExtensionBuilder, ExtensionSession,
    FakeExtension, HttpExtension, McpClient, TestDaemon,
};
use testkit::{SeededRandom, any_seed};

const BROWSERS: usize = 20;

/// How many commands all browsers get unless `HAND_OVER_COMMANDS` says otherwise.
const COMMANDS: usize = 10_000;

/// The share of each browser.
fn commands_each() -> usize {
    let all = std::env::var("HAND_OVER_COMMANDS").map_or(COMMANDS, |n| n.parse().unwrap());
    all / BROWSERS
}

/// What was counted over all browsers.
#[derive(Debug, Default)]
struct Counts {
    runs: HashMap<String, usize>,
    connections: [usize; 2],
    changes: [usize; 2],
    cuts: usize,
}

enum Carrier {
    Socket(Box<FakeExtension>),
    Http(Box<HttpExtension>),
}

impl Carrier {
    async fn next(&mut self) -> Option<Value> {
        match self {
            Self::Socket(socket) => socket.try_next().await,
            Self::Http(http) => http.try_next().await,
        }
    }

    async fn send(&mut self, frame: &Value) -> Option<()> {
        match self {
            Self::Socket(socket) => socket.try_send(frame).await,
            Self::Http(http) => http.try_send(frame).await,
        }
    }

    fn index(&self) -> usize {
        usize::from(matches!(self, Self::Http(_)))
    }
}

/// The extension in one browser. It keeps its attempts over all its connections.
struct Worker {
    shim: ExtensionBuilder,
    http: ExtensionSession,
    dice: SeededRandom,
    counts: Arc<Mutex<Counts>>,
    attempts: ExtensionAttempts<DeliveredCommand, ()>,
    /// A command that was lost before it began comes three times at most, so one that comes
    /// again is left in peace.
    is_left_in_peace: bool,
}

/// A connection that is to be given up.
struct Cut;

impl Worker {
    async fn work(mut self) {
        let mut last: Option<Carrier> = None;
        loop {
            // Mostly the other one; at times what it had is still there until this one is.
            let was_socket = matches!(last, Some(Carrier::Socket(_)));
            if self.chance(2) {
                last = None;
            }
            let to_socket = if self.chance(4) { was_socket } else { !was_socket };
            let Some(mut carrier) = self.connect(to_socket).await else { continue };
            {
                let mut counts = self.counts.lock().unwrap();
                counts.connections[carrier.index()] += 1;
                counts.changes[carrier.index()] += usize::from(was_socket != to_socket);
            }
            drop(last.take());
            let _ = self.serve(&mut carrier).await;
            last = Some(carrier);
        }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.dice.below(one_in) == 0
    }

    async fn connect(&mut self, to_socket: bool) -> Option<Carrier> {
        if to_socket {
            let mut socket = self.shim.try_open().await?;
            socket.try_hello().await?;
            return Some(Carrier::Socket(Box::new(socket)));
        }
        let mut dice = SeededRandom::new(self.dice.next());
        let patience = move || {
            let breaks = dice.below(10) == 0;
            if breaks { Duration::from_micros(dice.below(3_000)) } else { Duration::from_secs(60) }
        };
        Some(Carrier::Http(Box::new(HttpExtension::try_open(&self.http, patience).await?)))
    }

    /// Does what it is told until the connection ends, or is cut.
    async fn serve(&mut self, carrier: &mut Carrier) -> Result<(), Cut> {
        self.introduce(carrier).await?;
        loop {
            // What a command takes.
            let length = Duration::from_micros(self.dice.below(2_000));
            let is_running = self.attempts.running().next().is_some();
            let frame = tokio::select! {
                biased;
                frame = carrier.next() => Some(frame.ok_or(Cut)?),
                () = tokio::time::sleep(length), if is_running => None,
            };
            match frame {
                Some(frame) => self.handle(&frame, carrier).await?,
                None => self.finish(carrier).await?,
            }
        }
    }

    async fn introduce(&mut self, carrier: &mut Carrier) -> Result<(), Cut> {
        let ready = self.shim.ready_frame(&self.attempts.in_flight());
        carrier.send(&ready).await.ok_or(Cut)?;
        for (_, command, ()) in self.attempts.reports() {
            carrier.send(&report(command)).await.ok_or(Cut)?;
        }
        Ok(())
    }

    async fn handle(&mut self, frame: &Value, carrier: &mut Carrier) -> Result<(), Cut> {
        let id = frame["correlation_id"].as_str().unwrap_or_default();
        let attempt = frame["attempt"].as_u64().unwrap_or_default();
        match frame["type"].as_str().unwrap() {
            "command" => self.take(frame, carrier).await,
            "go" => {
                if self.attempts.begin(id, attempt).is_some() {
                    *self.counts.lock().unwrap().runs.entry(id.to_owned()).or_default() += 1;
                }
                self.may_cut()
            }
            "result_ack" => {
                self.attempts.settle(id, attempt);
                self.is_left_in_peace = false;
                self.may_cut()
            }
            "nack" => {
                self.attempts.settle(id, attempt);
                Ok(())
            }
            "ping" => self.say(&json!({"type": "pong", "t": frame["t"]}), carrier).await,
            unexpected => panic!("{unexpected}: {frame}"),
        }
    }

    async fn take(&mut self, frame: &Value, carrier: &mut Carrier) -> Result<(), Cut> {
        let (command, reaction) = self.attempts.deliver_frame(frame);
        self.is_left_in_peace = command.attempt > 1;
        match reaction {
            DeliveryReaction::ReportAgain => self.say(&report(&command), carrier).await,
            DeliveryReaction::SayPending => self.say(&command.answer("pending"), carrier).await,
            DeliveryReaction::Ignore => Ok(()),
            DeliveryReaction::Claim => {
                self.may_cut()?;
                self.say(&command.answer("claim"), carrier).await
            }
            DeliveryReaction::Run => panic!("a script is not safe: {frame}"),
        }
    }

    async fn finish(&mut self, carrier: &mut Carrier) -> Result<(), Cut> {
        self.may_cut()?;
        let running = self.attempts.running().next().map(str::to_owned);
        let Some(id) = running else { return Ok(()) };
        let reported = self.attempts.report(&id, |_| ()).map(report);
        self.may_cut()?;
        self.say(&reported.unwrap(), carrier).await
    }

    /// Sends a frame; at times the connection is cut in the middle of it.
    async fn say(&mut self, frame: &Value, carrier: &mut Carrier) -> Result<(), Cut> {
        if !self.is_left_in_peace && self.chance(80) {
            self.counts.lock().unwrap().cuts += 1;
            let middle = Duration::from_micros(self.dice.below(1_000));
            let _ = timeout(middle, carrier.send(frame)).await;
            return Err(Cut);
        }
        carrier.send(frame).await.ok_or(Cut)?;
        self.may_cut()
    }

    fn may_cut(&mut self) -> Result<(), Cut> {
        if self.is_left_in_peace || !self.chance(80) {
            return Ok(());
        }
        self.counts.lock().unwrap().cuts += 1;
        Err(Cut)
    }
}

fn report(command: &DeliveredCommand) -> Value {
    command.frame("complete", json!({"result": command.script()}))
}

/// One client after the other's result: its commands, all of one browser.
async fn submit_all(client: McpClient, browser: String) -> usize {
    let mut complete = 0;
    for n in 0..commands_each() {
        let script = format!("{browser} {n}");
        let call = json!({"action": "execute_js", "script": script, "tab_id": 7,
            "browser": browser, "wait_ms": 50_000});
        let outcome = client.call("interact", call).await;
        assert_eq!(outcome["status"], "complete", "{outcome}");
        assert_eq!(outcome["result"], script, "{outcome}");
        complete += 1;
    }
    complete
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_commands_run_once_each_while_their_carriers_are_cut_and_changed() {
    let seed = std::env::var("HAND_OVER_SEED").map_or_else(|_| any_seed(), |s| s.parse().unwrap());
    println!("HAND_OVER_SEED={seed}");
    let mut dice = SeededRandom::new(seed);
    // How fast the disk is is not what is tested.
    let daemon = TestDaemon::with(|settings| settings.ephemeral = true).await;
    let counts = Arc::new(Mutex::new(Counts::default()));
    let (mut workers, mut clients) = (JoinSet::new(), JoinSet::new());
    for n in 0..BROWSERS {
        let browser = format!("browser-{n}");
        let shim =
            ExtensionBuilder::of(&daemon).browser(&browser).instance(&format!("instance-{n}"));
        shim.connect().await.breaks();
        let worker = Worker {
            http: ExtensionSession::of(&shim),
            shim,
            dice: SeededRandom::new(dice.next()),
            counts: counts.clone(),
            attempts: ExtensionAttempts::default(),
            is_left_in_peace: false,
        };
        workers.spawn(worker.work());
        let client = McpClient::legacy(&daemon).named(&format!("client-{n}"));
        clients.spawn(submit_all(client, browser));
    }
    let mut complete = 0;
    while let Some(done) = clients.join_next().await {
        complete += done.unwrap();
    }
    workers.shutdown().await;
    let counts = counts.lock().unwrap();
    let Counts { connections, changes, cuts, .. } = &*counts;
    println!("[socket, http]: {connections:?} connections, {changes:?} changes to it; {cuts} cuts");
    let commands = BROWSERS * commands_each();
    assert_eq!(complete, commands, "none is lost");
    assert_eq!(counts.runs.len(), commands);
    assert!(counts.runs.values().all(|runs| *runs == 1), "none is doubled");
    assert!(
        changes.iter().all(|changes| *changes > commands / 100),
        "it changed either way: {changes:?}"
    );
}
