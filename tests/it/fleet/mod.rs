//! Calls over a real NATS server: the agent's program, a home in a process of its own, and a real daemon behind it.

mod calls;
pub(crate) mod cluster;
mod cost;
mod flood;
mod half_made;
mod hostile;
mod joined;
mod nats;
mod scale;
mod servers;
mod slow;
mod storm;
mod trouble;

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tabwire::bridge::{DaemonTarget, LocalTarget, TargetDaemon};
use tabwire::fleet::{AgentKey, HomePassage, PlaceHomeState, PlaceKey, run_home};
use tabwire::home::StateDirectory;
use tabwire::protocol::{OwnerKind, TabScope, Timestamp};
use testkit::{
    ExtensionBuilder, FakeExtension, ProgramSandbox, ServedDaemon, StdioClient, body, finish, soon,
};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;

use crate::cli::places::fleet;
use nats::NatsServer;

/// The place and the agent of most tests.
const PLACE: &str = "qa-17";
const AGENT: &str = "ci";

/// The environment of a home's process: the file of its key, the state directory and the port of its daemon.
const KEY: &str = "TABWIRE_TEST_PLACE_KEY";
const STATE: &str = "TABWIRE_TEST_PLACE_STATE";
const PORT: &str = "TABWIRE_TEST_PLACE_PORT";

/// Runs a command of `tabwire-fleet`, which must not fail; what it says.
async fn done(place: &ProgramSandbox, words: &[&str]) -> String {
    let ran = finish(fleet(place, words)).await;
    assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    ran.stdout
}

/// The machine with the browser: its daemon, and the home of its place as another process.
struct PlaceMachine {
    sandbox: ProgramSandbox,
    daemon: ServedDaemon,
    key: PathBuf,
    home: Option<HomeProcess>,
}

/// A server, a place with a browser, and an agent that is granted the place.
struct PlaceStage {
    server: NatsServer,
    place: PlaceKey,
    machine: PlaceMachine,
    browser: FakeExtension,
    caller: AgentMachine,
}

impl PlaceStage {
    /// `None`: there is no server for this computer, which is said.
    async fn start() -> Option<Self> {
        let mut server = NatsServer::start().await?;
        let place = server.place(PLACE).await;
        let key = server.agent(AGENT, &[PLACE]).await;
        let (machine, browser) = PlaceMachine::start(&place, &[AGENT]).await;
        let caller = AgentMachine::new(&key, PLACE);
        Some(Self { server, place, machine, browser, caller })
    }
}

/// A home that runs.
struct HomeProcess {
    child: Child,
    states: Lines<BufReader<ChildStdout>>,
}

impl PlaceMachine {
    /// A daemon with a browser and owners of these names; its home is connected.
    async fn start(key: &PlaceKey, owners: &[&str]) -> (Self, FakeExtension) {
        let (mut machine, browser) = Self::without_home(key, owners).await;
        machine.join().await;
        (machine, browser)
    }

    /// The same without a home.
    async fn without_home(key: &PlaceKey, owners: &[&str]) -> (Self, FakeExtension) {
        let sandbox = ProgramSandbox::new();
        let home = sandbox.home();
        for owner in owners {
            let since = Timestamp::from_unix_micros(0);
            let owner = home.owners().add(owner, None, OwnerKind::Far, since).unwrap().owner();
            home.scopes().choose(&owner, TabScope::Shared).unwrap();
        }
        let daemon = sandbox.serve(&["--limit", "calls_per_minute=0"]).await;
        let browser =
            ExtensionBuilder::at(daemon.port, &sandbox.home()).sharing(&[7]).connect().await;
        let file = sandbox.path().join("place.key");
        key.write_new(&file).unwrap();
        (Self { sandbox, daemon, key: file, home: None }, browser)
    }

    /// Starts a home, and waits until it takes calls.
    async fn join(&mut self) {
        let home = self.begin_to_join();
        self.home.insert(home).until("Connected").await;
    }

    fn begin_to_join(&self) -> HomeProcess {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "fleet::a_home_in_a_process_of_its_own", "--ignored", "--nocapture"])
            .env(KEY, &self.key)
            .env(STATE, self.sandbox.path())
            .env(PORT, self.daemon.port.to_string())
            .env_remove("NEXTEST")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let states = BufReader::new(child.stdout.take().unwrap()).lines();
        HomeProcess { child, states }
    }

    fn home(&self) -> &HomeProcess {
        self.home.as_ref().unwrap()
    }

    /// Kills the home, as if its machine had lost power.
    async fn kill_home(&mut self) {
        self.home.take().unwrap().child.kill().await.unwrap();
    }
}

impl HomeProcess {
    fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Waits until it says that its state is so.
    async fn until(&mut self, state: &str) -> String {
        loop {
            let line = soon(state, self.states.next_line()).await.unwrap();
            let line = line.expect("the home has ended");
            if line.contains(&format!("home: {state}")) {
                return line;
            }
        }
    }
}

/// Not a test of its own: others start it as a home. It has one thread, as the program has.
#[tokio::test]
#[ignore = "the home of other tests"]
async fn a_home_in_a_process_of_its_own() {
    let Some(key) = std::env::var_os(KEY) else { return };
    let key = PlaceKey::read(key.as_ref()).unwrap();
    let dir = PathBuf::from(std::env::var_os(STATE).unwrap());
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let (state, mut states) = watch::channel(PlaceHomeState::Connecting(None));
    let telling = async {
        while states.changed().await.is_ok() {
            println!("home: {:?}", *states.borrow_and_update());
        }
    };
    tokio::select! {
        why = run_home(&key, passage(dir, port), state) => println!("home: {why}"),
        () = telling => {}
    }
}

/// The way to the daemon of a state directory. Its owners are those of its list.
fn passage(dir: PathBuf, port: u16) -> HomePassage {
    let local = LocalTarget {
        home: dir.clone(),
        port,
        owner: "user".into(),
        has_service: false,
        program: "there-is-none".into(),
    };
    let target = DaemonTarget::new(TargetDaemon::Local(local), "fleet".to_owned());
    let owners = dir.clone();
    let owner_of = move |name: &str| {
        let home = StateDirectory::open(&owners).map_err(|why| why.to_string())?;
        home.owners().owner(name).map_err(|why| why.to_string())
    };
    HomePassage { target, dir, owner_of: Box::new(owner_of) }
}

/// The machine of an agent: a file with its key, and no daemon.
struct AgentMachine {
    sandbox: ProgramSandbox,
    creds: String,
    address: String,
}

impl AgentMachine {
    fn new(key: &AgentKey, place: &str) -> Self {
        let sandbox = ProgramSandbox::new();
        let file = sandbox.path().join("agent.key");
        key.write_new(&file).unwrap();
        let creds = file.to_str().unwrap().to_owned();
        let address = format!("{}/{place}", key.servers.addresses[0]);
        Self { sandbox, creds, address }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let far = ["--connect", &*self.address, "--creds", &*self.creds];
        self.sandbox.command(&[arguments, &far].concat())
    }

    /// `tabwire mcp` there.
    fn mcp(&self) -> StdioClient {
        StdioClient::spawn(self.command(&["mcp"])).without_checks()
    }
}

/// The code of a failed call, and whether it may have run.
fn failure(answer: &Value) -> (String, Option<bool>) {
    let told = body(&answer["result"]);
    (told["error"].as_str().unwrap_or_default().to_owned(), told["may_have_run"].as_bool())
}

fn script(text: &str) -> Value {
    json!({"action": "execute_js", "script": text, "tab_id": 7, "wait_ms": 20_000})
}
