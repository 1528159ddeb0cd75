//! A team with three servers as one cluster, and three places: from `places init` to calls that outlive a server and a
//! place. `make demo-places` shows it with a real Chromium in one of the places.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, KeyPair};
use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::protocol::{TabScope, Timestamp};
use testkit::{
    AutoExtension, ExtensionBuilder, ProgramSandbox, ServedDaemon, StdioClient, Stopwatch, body,
    free_port, signal, soon, until,
};

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;

use super::nats::{OperatorServer, nats_program};
use super::servers::authority;
use super::{done, script};
use crate::cli::places::fleet;

/// How far above its own port a server speaks to the others of its cluster.
const ROUTE_PORT_ABOVE: u16 = 2_000;

/// The number of servers, and of places.
const COUNT: usize = 3;

/// The state of a connection that stands, in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";

/// Required: within this time a call in flight has its answer once its server stands still, in ms.
const ANSWERED: u64 = 15_000;

/// Home and agent leave a server that stands still after 15 s, and may try it once more.
const LEFT: Duration = Duration::from_secs(60);

/// Required: within this time calls by other servers go on, in ms.
const OTHERS: u64 = 1_000;

/// The team, from the operator's folder on: its servers, and its places, which have joined.
pub(crate) struct TeamCluster {
    operator: ProgramSandbox,
    program: PathBuf,
    pub(super) ports: Vec<u16>,
    pub(super) servers: Vec<Option<OperatorServer>>,
    pub(crate) places: Vec<TeamPlace>,
}

/// A person's machine.
pub(crate) struct TeamPlace {
    pub(super) name: String,
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
pub(super) fn cluster_ports() -> Vec<u16> {
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
        Self::start_by(None).await
    }

    /// The same; by TLS, with certificates of this authority.
    async fn start_by(authority: Option<&CertifiedIssuer<'static, KeyPair>>) -> Option<Self> {
        let program = nats_program()?;
        let (operator, ports) = (ProgramSandbox::new(), cluster_ports());
        let addresses: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let servers = addresses.iter().flat_map(|address| ["--server", address.as_str()]);
        let mut words: Vec<_> = ["places", "init", "acme"].into_iter().chain(servers).collect();
        if let Some(authority) = authority {
            std::fs::write(operator.path().join("authority.pem"), authority.pem()).unwrap();
            words.extend(["--ca", "authority.pem"]);
            words.extend(["--cert", "server-cert.pem", "--key", "server-key.pem"]);
        }
        run(&operator, &words).await;
        if let Some(authority) = authority {
            write_certificate(&operator.path().join("acme"), authority);
        }
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

    pub(super) async fn start_server(&mut self, number: usize) {
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

    /// Has all servers read their users anew.
    pub(super) fn reload(&self) {
        self.servers.iter().flatten().for_each(OperatorServer::reload);
    }

    /// Grants a place to a new agent of this name, which the servers know after their next reload.
    pub(super) async fn grant(&self, agent: &str, place: usize) {
        let (name, out) = (self.places[place].name.as_str(), format!("acme/{agent}.nk"));
        let words = ["places", "grant", agent, name, "--dir", "acme", "--out", &out];
        run(&self.operator, &words).await;
    }

    /// By which server a process is connected: its index. `None`: it connects just now.
    pub(super) fn server_of(&self, process: u32) -> Option<usize> {
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).ok()?.flatten();
        let sockets: Vec<PathBuf> =
            files.filter_map(|file| std::fs::read_link(file.path()).ok()).collect();
        let connections = std::fs::read_to_string("/proc/net/tcp").ok()?;
        connections.lines().skip(1).find_map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            let (remote, state, inode) = (words.get(2)?, words.get(3)?, words.get(9)?);
            let socket = PathBuf::from(format!("socket:[{inode}]"));
            if *state != ESTABLISHED || !sockets.contains(&socket) {
                return None;
            }
            let port = u16::from_str_radix(remote.rsplit_once(':')?.1, 16).ok()?;
            self.ports.iter().position(|known| *known == port)
        })
    }

    /// By which server the home of a place is connected.
    pub(super) fn server_of_home(&self, place: usize) -> Option<usize> {
        self.server_of(self.places[place].daemon.as_ref()?.pid())
    }

    /// What the agent `ci` connects to for a place by this address, and with what.
    pub(super) fn way(&self, place: usize, server: usize) -> (String, String) {
        let address =
            format!("nats://127.0.0.1:{}/{}", self.ports[server], self.places[place].name);
        (address, self.dir().join("ci.nk").display().to_string())
    }

    /// The agent `ci` at a place, by this server while it is there.
    pub(crate) fn agent(&self, place: usize, server: usize) -> TeamAgent {
        let sandbox = ProgramSandbox::new();
        let (address, creds) = self.way(place, server);
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

/// Writes a certificate for servers on the loopback, and its key.
fn write_certificate(dir: &Path, authority: &CertifiedIssuer<'static, KeyPair>) {
    let own = KeyPair::generate().unwrap();
    let mut about = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    // Each server is the others' client, too.
    about.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = about.signed_by(&own, authority).unwrap();
    std::fs::write(dir.join("server-cert.pem"), certificate.pem()).unwrap();
    std::fs::write(dir.join("server-key.pem"), own.serialize_pem()).unwrap();
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
        let mut place = Self { name, sandbox, daemon: None };
        place.serve().await;
        place
    }

    /// Starts its daemon, with the home in it.
    pub(super) async fn serve(&mut self) {
        let words = ["serve", "--json", "--limit", "calls_per_minute=0"];
        self.daemon = Some(self.sandbox.serve_by(fleet(&self.sandbox, &words)).await);
    }

    pub(crate) fn port(&self) -> u16 {
        self.daemon.as_ref().unwrap().port
    }

    /// A browser that answers every command with the name of the place.
    pub(super) async fn browser(&self) -> AutoExtension {
        let builder = ExtensionBuilder::at(self.port(), &self.sandbox.home());
        let name = self.name.clone();
        builder.sharing(&[7]).connect().await.auto(move |_| json!({"value": name}))
    }

    /// Kills its daemon, as if the machine had lost power.
    pub(crate) async fn kill(&mut self) {
        let daemon = self.daemon.take().unwrap();
        signal(daemon.pid(), Signal::KILL);
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
    fn pid(&self) -> u32 {
        self.bridge.pid().unwrap()
    }

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

/// What a server says of itself first, to clients or, 2000 above, to other servers.
async fn first_words(port: u16) -> String {
    let mut words = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    let mut line = String::new();
    soon("the server's first words", words.read_line(&mut line)).await.unwrap();
    line
}

#[tokio::test]
async fn in_a_cluster_with_tls_agents_homes_and_servers_speak_by_it_and_calls_outlive_a_server() {
    let Some(mut team) = TeamCluster::start_by(Some(&authority())).await else { return };
    for port in &team.ports {
        let words = first_words(*port).await;
        assert!(words.contains("\"tls_required\":true"), "{words}");
        // Servers begin with TLS, so one that speaks plainly hears nothing, and is closed.
        assert_eq!(first_words(port + ROUTE_PORT_ABOVE).await, "");
    }
    let _browser = team.places[0].browser().await;
    let mut agent = team.agent(0, 0);
    agent.until_there().await;
    // By two servers, so that the route between them carries the call.
    while team.server_of_home(0).is_none_or(|own| own == 0) {
        team.places[0].kill().await;
        team.places[0].serve().await;
        soon("the home", until(async || team.server_of_home(0).is_some())).await;
    }
    let _browser = team.places[0].browser().await;
    agent.until_there().await;
    let told = agent.call("by two servers", script("1")).await;
    assert_eq!(told["result"]["value"], "qa-1", "{told}");
    for killed in [0, team.server_of_home(0).unwrap()] {
        team.kill_server(killed).await;
        let mut tries = 0;
        let goes_on = async || {
            tries += 1;
            let told =
                agent.call("by another server", script(&format!("{killed} + {tries}"))).await;
            told["result"]["value"] == "qa-1"
        };
        soon("calls by the servers that are left", until(goes_on)).await;
        team.start_server(killed).await;
    }
    team.end().await;
}

#[tokio::test]
async fn an_agent_takes_the_server_that_its_address_names() {
    let Some(team) = TeamCluster::start().await else { return };
    for server in 0..COUNT {
        let mut agent = team.agent(0, server);
        agent.until_there().await;
        assert_eq!(team.server_of(agent.pid()), Some(server));
    }
    team.end().await;
}

/// An agent of another place than the first, with this server neither on its way nor on its home's.
async fn agent_beside(team: &mut TeamCluster, server: usize) -> TeamAgent {
    // Homes take the servers in any order.
    while team.server_of_home(1).is_none_or(|own| own == server) {
        team.places[1].kill().await;
        team.places[1].serve().await;
        soon("the home", until(async || team.server_of_home(1).is_some())).await;
    }
    let mut agent = team.agent(1, (server + 1) % COUNT);
    agent.until_there().await;
    agent
}

#[tokio::test]
async fn a_call_by_a_server_that_stands_still_ends_in_time_the_next_goes_by_another_and_others_do_not_wait()
 {
    let Some(mut team) = TeamCluster::start().await else { return };
    let place = &team.places[0];
    let mut slow =
        ExtensionBuilder::at(place.port(), &place.sandbox.home()).sharing(&[7]).connect().await;
    let mut agent = team.agent(0, 0);
    agent.until_there().await;
    let server = team.server_of_home(0).unwrap();
    let mut beside = agent_beside(&mut team, server).await;
    let _browser = team.places[1].browser().await;
    beside.call("before", script("1")).await;
    agent.begin(script("work()")).await;
    let command = slow.command().await;
    slow.claim(&command).await;
    let stopped = team.servers[server].as_ref().unwrap().pid();
    signal(stopped, Signal::STOP);
    let watch = Stopwatch::start();
    let told = beside.call("beside a server that stands still", script("2")).await;
    watch.assert_under(OTHERS, "a call by the other servers");
    assert_eq!(told["result"]["value"], "qa-2", "{told}");
    slow.complete(&command, &json!({"value": 7})).await;
    let told = agent.result().await;
    watch.assert_under(ANSWERED, "a call in flight");
    // The client of NATS takes about as long to leave the server as the call may take.
    let is_lost = told["error"] == "place_lost" && told["may_have_run"] == true;
    assert!(is_lost || told["result"]["value"] == 7, "{told}");
    let browser = slow.auto(|_| json!({"value": 8}));
    let mut tries = 0;
    let goes_on = async || {
        tries += 1;
        let told = agent.call("by another server", script(&format!("again_{tries}()"))).await;
        told["result"]["value"] == 8
    };
    let waited = tokio::time::timeout(LEFT, until(goes_on)).await;
    waited.expect("the home and the agent leave a server that stands still");
    signal(stopped, Signal::CONT);
    for place in 0..2 {
        let who = if place == 0 { &mut agent } else { &mut beside };
        let told = who.call("once the server goes on", script("4")).await;
        assert_eq!(told["status"], "complete", "{told}");
    }
    let runs = browser.runs();
    assert_eq!(runs.values().max(), Some(&1), "{runs:?}");
    team.end().await;
}
