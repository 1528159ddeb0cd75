//! Browsers as processes of their own, so that they can be killed.
//!
//! A browser runs a command on `go` only. It writes down each run before it begins, keeps
//! its results in a file until they are acknowledged, as an extension does in its session
//! storage, and forgets what it had not begun when the daemon is another one.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::home::StateDirectory;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use testkit::{
    AttemptStage, DeliveredCommand, ExtensionAttempts, ExtensionBuilder, FakeExtension,
    ProgramSandbox, active_tab, signal, tab,
};
use testkit::{SeededRandom, any_seed};

const HOME: &str = "TABWIRE_CHAOS_HOME";
const NAME: &str = "TABWIRE_CHAOS_BROWSER";

/// Where a browser writes down what it runs.
pub(super) fn runs_of(home: &Path) -> PathBuf {
    home.join("chaos-runs")
}

pub(super) struct Browsers {
    home: PathBuf,
    names: Vec<&'static str>,
    running: Vec<Child>,
}

impl Browsers {
    pub(super) fn start(place: &ProgramSandbox, names: &[&'static str]) -> Self {
        let home = place.path().to_owned();
        let running = names.iter().map(|name| start(&home, name)).collect();
        Self { home, names: names.to_vec(), running }
    }

    pub(super) fn kill_one(&mut self, dice: &mut SeededRandom) {
        let victim = dice.below(self.running.len() as u64) as usize;
        if let Some(process) = self.running[victim].id() {
            signal(process, Signal::KILL);
        }
    }

    /// Starts those again that were killed.
    pub(super) fn revive(&mut self) {
        for (browser, name) in self.running.iter_mut().zip(&self.names) {
            if let Ok(Some(_killed)) = browser.try_wait() {
                *browser = start(&self.home, name);
            }
        }
    }

    pub(super) fn end(self) {
        // They are killed when they are dropped.
        drop(self.running);
    }
}

fn start(home: &Path, name: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "chaos::extension::process", "--ignored", "--nocapture"])
        .env(HOME, home)
        .env(NAME, name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

#[tokio::test]
#[ignore = "a browser's process: the chaos test starts it"]
async fn process() {
    let (Some(home), Ok(name)) = (std::env::var_os(HOME), std::env::var(NAME)) else { return };
    let mut browser = Browser::new(PathBuf::from(home), name);
    loop {
        // Whatever fails in a connection ends the connection; the browser stays.
        let connection = tokio::spawn(async move {
            browser.connect().await;
            browser
        });
        match connection.await {
            Ok(back) => browser = back,
            Err(_panicked) => return,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

struct Browser {
    home: PathBuf,
    name: String,
    instance: String,
    dice: SeededRandom,
    /// Its reports are frames, which also stand in a file.
    attempts: ExtensionAttempts<DeliveredCommand, Value>,
    /// Each ends when its command has run its time.
    runs: JoinSet<String>,
}

impl Browser {
    fn new(home: PathBuf, name: String) -> Self {
        let outbox = fs::read(home.join(format!("chaos-outbox-{name}"))).ok();
        let outbox = outbox.and_then(|text| serde_json::from_slice(&text).ok());
        let outbox: BTreeMap<String, Value> = outbox.unwrap_or_default();
        let mut attempts = ExtensionAttempts::default();
        for (id, frame) in outbox {
            let attempt = frame["attempt"].as_u64().unwrap_or_default();
            let command = DeliveredCommand { id: id.clone(), attempt, command: Value::Null };
            attempts.restore_report(id, attempt, command, frame);
        }
        Self {
            home,
            name,
            instance: tabwire::proof::random_hex::<8>(),
            dice: SeededRandom::new(any_seed()),
            attempts,
            runs: JoinSet::new(),
        }
    }

    /// One connection, from its beginning to its end.
    async fn connect(&mut self) {
        let Ok(home) = StateDirectory::open(&self.home) else { return };
        let (Ok(true), Ok(Some(daemon))) = (home.has_daemon(), home.daemon_record()) else {
            return;
        };
        let shim =
            ExtensionBuilder::at(daemon.port, &home).browser(&self.name).instance(&self.instance);
        let shim = shim.tabs(vec![active_tab(7), tab(8)]);
        let Some(mut extension) = shim.try_open().await else { return };
        let Some(welcome) = extension.try_hello().await else { return };
        self.attempts.welcome(welcome["epoch"].as_str().unwrap_or_default());
        if self.go_on(&mut extension).await.is_none() {
            return;
        }
        loop {
            let went_on = tokio::select! {
                frame = extension.try_next() => match frame {
                    Some(frame) => self.take(&mut extension, &frame).await,
                    None => return,
                },
                Some(Ok(id)) = self.runs.join_next(), if !self.runs.is_empty() => {
                    self.finish(&mut extension, id).await
                }
            };
            if went_on.is_none() {
                return;
            }
        }
    }

    /// Says what is in flight, and replays what was not acknowledged.
    async fn go_on(&mut self, extension: &mut FakeExtension) -> Option<()> {
        extension.try_ready(&self.attempts.in_flight()).await?;
        for (_, _, frame) in self.attempts.reports() {
            extension.try_send(frame).await?;
        }
        Some(())
    }

    async fn take(&mut self, extension: &mut FakeExtension, frame: &Value) -> Option<()> {
        let id = frame["correlation_id"].as_str().unwrap_or_default();
        let attempt = frame["attempt"].as_u64().unwrap_or_default();
        match frame["type"].as_str()? {
            "command" => {
                let command = DeliveredCommand::of(frame);
                extension.try_send(&command.answer("claim")).await?;
                let id = command.id.clone();
                self.attempts.accept(&id, attempt, false, command);
            }
            "go" => {
                let Some(command) = self.attempts.begin(id, attempt).cloned() else {
                    return Some(());
                };
                self.write_down(&command);
                let (id, length) = (command.id, Duration::from_millis(self.dice.below(40)));
                self.runs.spawn(async move {
                    tokio::time::sleep(length).await;
                    id
                });
            }
            "cancel" => {
                let known = self.attempts.get(id);
                if let Some(known) = known.filter(|c| matches!(c.stage, AttemptStage::Claimed)) {
                    let attempt = known.attempt;
                    let stopped = known.command.frame("cancelled", json!({"may_have_run": false}));
                    self.attempts.settle(id, attempt);
                    extension.try_send(&stopped).await?;
                }
            }
            "result_ack" | "nack" => {
                self.attempts.settle(id, attempt);
                self.keep_outbox();
            }
            "ping" => extension.try_send(&json!({"type": "pong", "t": frame["t"]})).await?,
            _ => {}
        }
        Some(())
    }

    /// Reports what has run its time.
    async fn finish(&mut self, extension: &mut FakeExtension, id: String) -> Option<()> {
        let command = self.attempts.report(&id, |known| complete(&known.command))?;
        let frame = complete(command);
        self.keep_outbox();
        extension.try_send(&frame).await
    }

    fn write_down(&self, command: &DeliveredCommand) {
        let line = format!("{} {}\n", command.id, command.script());
        let mut runs =
            OpenOptions::new().create(true).append(true).open(runs_of(&self.home)).unwrap();
        runs.write_all(line.as_bytes()).unwrap();
    }

    fn keep_outbox(&mut self) {
        let path = self.home.join(format!("chaos-outbox-{}", self.name));
        let aside = path.with_extension("new");
        let outbox: BTreeMap<_, _> =
            self.attempts.reports().map(|(id, _, frame)| (id, frame)).collect();
        fs::write(&aside, serde_json::to_vec(&outbox).unwrap()).unwrap();
        fs::rename(aside, path).unwrap();
    }
}

fn complete(command: &DeliveredCommand) -> Value {
    let result = json!({"success": true, "value": command.script(), "type": "string"});
    command.frame("complete", json!({"result": result}))
}
