//! A team with three servers as one cluster, and three places: from `places init` to calls that outlive a server and a
//! place. `make demo-places` shows it with a real Chromium in one of the places.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire::protocol::{TabScope, Timestamp};
use testkit::{
    AutoExtension, ExtensionBuilder, ProgramSandbox, ServedDaemon, StdioClient, Stopwatch, body,
    free_port, soon, until,
};

use super::nats::{OperatorServer, nats_program};
use super::{done, script};
use crate::cli::places::fleet;

/// How far above its own port a server speaks to the others of its cluster.
const ROUTE_PORT_ABOVE: u16 = 2_000;

/// The number of servers, and of places.
const COUNT: usize = 3;

/// The team, from the operator's folder on: its servers, and its places, which have joined.
pub(crate) struct TeamCluster {
    operator: ProgramSandbox,
    program: PathBuf,
    ports: Vec<u16>,
    servers: Vec<Option<OperatorServer>>,
    pub(crate) places: Vec<TeamPlace>,
}

/// A person's machine.
pub(crate) struct TeamPlace {
    name: String,
    pub(crate) sandbox: ProgramSandbox,
    pub(crate) daemon: Option<ServedDaemon>,
}

/// The program of the agent `ci` for one place, with the first server named.
pub(crate) struct TeamAgent {
    way: String,
    bridge: StdioClient,
    /// Its state directory: it has no daemon.
    _sandbox: ProgramSandbox,
}

#[expect(clippy::print_stdout, reason = "`make demo-places` shows it")]
fn say(words: impl AsRef<str>) {
    println!("{}", words.as_ref());
}

async fn run(place: &ProgramSandbox, words: &[&str]) {
    done(place, words).await;
    say(format!("$ tabwire-fleet {}", words.join(" ")));
}

/// Free ports of the loopback whose ports for the cluster are free, too.
fn cluster_ports() -> Vec<u16> {
    let mut ports: Vec<u16> = Vec::new();
    while ports.len() < COUNT {
        let port = free_port();
        let Some(route) = port.checked_add(ROUTE_PORT_ABOVE) else { continue };
        let is_taken =
            |wanted| ports.iter().any(|it| *it == wanted || it + ROUTE_PORT_ABOVE == wanted);
        let is_free = std::net::TcpListener::bind(("127.0.0.1", route)).is_ok();
        if is_free && !is_taken(port) && !is_taken(route) {
            ports.push(port);
        }
    }
    ports
}

impl TeamCluster {
    /// `None`: there is no server for this computer, which is said.
    pub(crate) async fn start() -> Option<Self> {
        let program = nats_program()?;
        let (operator, ports) = (ProgramSandbox::new(), cluster_ports());
        let addresses: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let servers = addresses.iter().flat_map(|address| ["--server", address.as_str()]);
        run(&operator, &["places", "init", "acme"].into_iter().chain(servers).collect::<Vec<_>>())
            .await;
        let names: Vec<_> = (1..=COUNT).map(|number| format!("qa-{number}")).collect();
        for name in &names {
            let out = format!("acme/{name}.join");
            run(&operator, &["places", "add", name, "--dir", "acme", "--out", &out]).await;
        }
        let granted: Vec<_> = names.iter().map(String::as_str).collect();
        let out = ["--dir", "acme", "--out", "acme/ci.nk"];
        run(&operator, &[&["places", "grant", "ci"], &granted[..], &out].concat()).await;
        let servers = (0..COUNT).map(|_| None).collect();
        let mut team = Self { operator, program, ports, servers, places: Vec::new() };
        for number in 0..COUNT {
            team.start_server(number).await;
        }
        for name in names {
            let place = TeamPlace::join(name, &team.dir()).await;
            team.places.push(place);
        }
        Some(team)
    }

    fn dir(&self) -> PathBuf {
        self.operator.path().join("acme")
    }

    async fn start_server(&mut self, number: usize) {
        let (conf, port) = (format!("nats-{}.conf", number + 1), self.ports[number]);
        let server = OperatorServer::start(&self.program, &self.dir(), &conf, port).await;
        say(format!("server {} runs on port {port}, process {}", number + 1, server.pid()));
        self.servers[number] = Some(server);
    }

    /// Kills a server, as if its machine had lost power.
    pub(crate) async fn kill_server(&mut self, number: usize) {
        self.servers[number].take().unwrap().kill().await;
        say(format!("server {} is killed", number + 1));
    }

    /// The agent `ci` at a place, by this server first.
    pub(crate) fn agent(&self, place: usize, server: usize) -> TeamAgent {
        let sandbox = ProgramSandbox::new();
        let address =
            format!("nats://127.0.0.1:{}/{}", self.ports[server], self.places[place].name);
        let creds = self.dir().join("ci.nk").display().to_string();
        let words = ["mcp", "--connect", &address, "--creds", &creds];
        let bridge = StdioClient::spawn(fleet(&sandbox, &words)).without_checks();
        TeamAgent { way: format!("ci → {address}"), bridge, _sandbox: sandbox }
    }

    pub(crate) async fn end(self) {
        for daemon in self.places.into_iter().filter_map(|place| place.daemon) {
            daemon.stop().await;
        }
    }
}

impl TeamPlace {
    /// A machine whose person has joined, and lets the agent use the tabs that they share.
    async fn join(name: String, operator: &Path) -> Self {
        let sandbox = ProgramSandbox::new();
        let file = operator.join(format!("{name}.join")).display().to_string();
        run(&sandbox, &["join", &file, "--unattended"]).await;
        let unconfirmed = sandbox.home().unconfirmed().unwrap();
        let ids: Vec<_> = unconfirmed.into_iter().map(|widening| widening.id).collect();
        sandbox.home().confirm_widenings(&ids).unwrap();
        let since = Timestamp::from_unix_micros(0);
        let owner = sandbox.home().owners().owner_of_agent("ci@acme", &name, since, || true);
        sandbox.home().scopes().choose(&owner.unwrap().unwrap(), TabScope::Shared).unwrap();
        let daemon = sandbox.serve_by(fleet(&sandbox, &["serve", "--json"])).await;
        Self { name, sandbox, daemon: Some(daemon) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.daemon.as_ref().unwrap().port
    }

    /// A browser that answers every command with the name of the place.
    async fn browser(&self) -> AutoExtension {
        let builder = ExtensionBuilder::at(self.port(), &self.sandbox.home());
        let name = self.name.clone();
        builder.sharing(&[7]).connect().await.auto(move |_| json!({"value": name}))
    }

    /// Kills its daemon, as if the machine had lost power.
    pub(crate) async fn kill(&mut self) {
        let daemon = self.daemon.take().unwrap();
        testkit::signal(daemon.pid(), rustix::process::Signal::KILL);
        daemon.end().await;
        say(format!("place {} is killed", self.name));
    }
}

/// How long each part of a call took, by the trace of its command.
fn hops(told: &Value, whole_ms: f64) -> String {
    let entries = told["trace"].as_array().map(Vec::as_slice).unwrap_or_default();
    let after: BTreeMap<_, _> = entries
        .iter()
        .filter_map(|entry| Some((entry["phase"].as_str()?, entry["after_ms"].as_f64()?)))
        .collect();
    let Some(done) = after.get("done") else { return format!("{whole_ms:.1} ms") };
    let delivered = after.get("delivered").unwrap_or(done);
    format!(
        "{whole_ms:.1} ms: {:.1} agent, servers and back, {delivered:.1} daemon, {:.1} browser and back",
        (whole_ms - done).max(0.0),
        done - delivered
    )
}

impl TeamAgent {
    /// Calls, and says where the call went and what each hop took.
    pub(crate) async fn call(&mut self, title: &str, mut arguments: Value) -> Value {
        arguments["trace"] = true.into();
        arguments["wait_ms"] = 20_000.into();
        let watch = Stopwatch::start();
        self.bridge.ask(&json!(title), "interact", arguments).await;
        let told = body(&self.bridge.late_answer(&json!(title)).await["result"]);
        self.say(title, &told, watch.micros() as f64 / 1e3);
        told
    }

    fn say(&self, title: &str, told: &Value, whole_ms: f64) {
        let ends = told["status"].as_str().or(told["error"].as_str()).unwrap_or("?");
        say(format!("{title}: {} → {ends}, {}", self.way, hops(told, whole_ms)));
    }

    /// Waits until the way is there.
    pub(crate) async fn until_there(&mut self) {
        let there = until(async || {
            self.bridge.ask(&"health".into(), "configure", json!({"action": "health"})).await;
            let told = body(&self.bridge.late_answer(&"health".into()).await["result"]);
            told["status"] == "ok"
        });
        soon("the way to the place", there).await;
    }

    /// Begins a call that is to outlive something.
    pub(crate) async fn begin(&mut self, arguments: Value) {
        self.bridge.ask(&"begun".into(), "interact", arguments).await;
    }

    /// The end of it.
    pub(crate) async fn result(&mut self) -> Value {
        let watch = Stopwatch::start();
        let told = body(&self.bridge.late_answer(&"begun".into()).await["result"]);
        self.say("the call that had begun", &told, watch.micros() as f64 / 1e3);
        told
    }

    pub(crate) async fn observe(&mut self, arguments: Value) -> Value {
        body(&self.bridge.call_raw("observe", arguments).await)
    }
}

#[tokio::test]
async fn a_team_s_calls_go_on_by_another_server_of_its_cluster_and_its_other_places_outlive_one_that_is_killed()
 {
    let Some(mut team) = TeamCluster::start().await else { return };
    let mut browsers = Vec::new();
    for place in &team.places[1..] {
        browsers.push(place.browser().await);
    }
    let place = &team.places[0];
    let mut slow =
        ExtensionBuilder::at(place.port(), &place.sandbox.home()).sharing(&[7]).connect().await;
    let mut agents: Vec<_> = (0..COUNT).map(|place| team.agent(place, 0)).collect();
    for agent in &mut agents {
        agent.until_there().await;
    }
    for (number, agent) in agents.iter_mut().enumerate().skip(1) {
        let told = agent.call("a script", script("1")).await;
        let value = format!("qa-{}", number + 1);
        assert_eq!(told["result"]["value"], *value, "the browser of that place: {told}");
    }
    agents[0].begin(script("work()")).await;
    let command = slow.command().await;
    slow.claim(&command).await;
    team.kill_server(0).await;
    slow.complete(&command, &json!({"value": 7})).await;
    let told = agents[0].result().await;
    assert_eq!((&told["status"], &told["result"]["value"]), (&json!("complete"), &json!(7)));
    slow.expect_nothing().await;

    team.places[1].kill().await;
    let gone = async || {
        let told = agents[1].call("a place that is gone", script("2")).await;
        told["error"] == "place_offline" && told["may_have_run"] == false
    };
    soon("the end of the place", until(gone)).await;
    // Its home may have been at the server that is gone, and connects to another one.
    let goes_on =
        async || agents[2].call("another place", script("3")).await["result"]["value"] == "qa-3";
    soon("a call of another place", until(goes_on)).await;
    team.end().await;
}
