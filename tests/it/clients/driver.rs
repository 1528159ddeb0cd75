//! The programs that drive the clients: each plays one scenario and tells as lines of JSON
//! what its client saw.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use testkit::ProgramSandbox;

/// How long an interpreter and its packages may take to start on a busy machine.
const START: Duration = Duration::from_secs(40);

/// A client that others wrote.
#[derive(Clone, Copy)]
pub(super) enum Client {
    Python,
    TypeScript,
}

#[derive(Clone, Copy)]
pub(super) enum Transport {
    Http,
    Stdio,
}

/// What a client is to do.
#[derive(Clone, Copy)]
pub(super) struct Scenario<'a> {
    pub(super) transport: Transport,
    /// `legacy`, `modern`, or `auto` to find out.
    pub(super) era: &'a str,
    pub(super) steps: &'a [&'a str],
    /// As some clients do.
    pub(super) without_version_header: bool,
}

impl<'a> Scenario<'a> {
    pub(super) fn new(transport: Transport, era: &'a str) -> Self {
        Self { transport, era, steps: &[], without_version_header: false }
    }

    fn json(&self, place: &ProgramSandbox, port: u16, token: &str) -> Value {
        let mut scenario = json!({
            "era": self.era, "steps": self.steps,
            "without_version_header": self.without_version_header,
        });
        match self.transport {
            Transport::Http => scenario["http"] = json!({"url": url(port), "token": token}),
            Transport::Stdio => scenario["stdio"] = server(place),
        }
        scenario
    }
}

/// Where clients reach the daemon over HTTP.
pub(super) fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}/mcp")
}

/// The bridge, as clients are configured to start it.
pub(super) fn server(place: &ProgramSandbox) -> Value {
    let command = place.command(&["mcp"]);
    let command = command.as_std();
    let text = |text: &OsStr| text.to_str().unwrap().to_owned();
    let env: Map<_, _> = command
        .get_envs()
        .filter_map(|(name, value)| Some((text(name), text(value?).into())))
        .collect();
    let args: Vec<_> = command.get_args().map(text).collect();
    json!({"command": text(command.get_program()), "args": args, "env": env})
}

/// A file of the tests that must have been installed.
pub(crate) fn installed(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    assert!(path.exists(), "there is no {}: `make full` installs it", path.display());
    path
}

/// The Node of the conformance suite.
pub(crate) fn node() -> Command {
    Command::new(installed("tests/conformance/node_modules/.bin/node"))
}

/// The token of the user who runs the daemon here.
pub(super) async fn token(place: &ProgramSandbox) -> String {
    place.run(&["token"]).await.stdout.trim().to_owned()
}

impl Client {
    fn command(self) -> Command {
        let (mut command, program) = match self {
            Self::Python => (Command::new(installed("target/clients/bin/python")), "python.py"),
            Self::TypeScript => {
                installed("tests/clients/node_modules");
                (node(), "typescript.js")
            }
        };
        command.arg(installed("tests/clients").join(program));
        command
    }

    /// Starts it on a scenario. The port and the token are of the daemon, if one runs.
    pub(super) async fn start(
        self,
        place: &ProgramSandbox,
        port: u16,
        scenario: &Scenario<'_>,
    ) -> Driver {
        let token = match scenario.transport {
            Transport::Http => token(place).await,
            Transport::Stdio => String::new(),
        };
        let mut command = self.command();
        command.arg(scenario.json(place, port, &token).to_string());
        Driver::start(command)
    }
}

/// A program that drives a client.
pub(super) struct Driver {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Driver {
    fn start(mut command: Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.kill_on_drop(true).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// What it tells next, which must be of this. More progress than what was waited for is
    /// passed over.
    pub(super) async fn event(&mut self, name: &str) -> Value {
        loop {
            let event = self.next().await;
            if event["event"] == name {
                return event;
            }
            assert_eq!(event["event"], "progress", "{name} was expected: {event}");
        }
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(START, self.lines.next_line()).await;
        match line.expect("the client hangs").unwrap() {
            Some(line) => serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}")),
            None => panic!("the client ended: {}", self.complaints().await),
        }
    }

    /// It closes, and has nothing to complain of.
    pub(super) async fn ends_well(mut self) {
        self.event("closed").await;
        let ended = tokio::time::timeout(START, self.child.wait()).await;
        let complaints = self.complaints().await;
        assert!(ended.expect("the client hangs").unwrap().success(), "{complaints}");
    }

    async fn complaints(&mut self) -> String {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
        stderr
    }
}
