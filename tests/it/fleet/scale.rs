//! As many places as a users file has, each with a connection of its own, on three servers: whether calls to any of
//! them take longer than to one of ten. `make bench-places`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tabwire::fleet::{
    AgentKey, FleetUsers, FleetUsersError, NkeySeed, OperatorFolder, PlaceHomeState, PlaceId,
    PlaceKey, TenantServers, TenantSettings, USERS_MAX, run_home,
};
use testkit::{SeededRandom, StdioClient, Stopwatch, any_seed};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::cluster::cluster_ports;
use super::nats::{OperatorServer, nats_program};
use super::{AGENT, AgentMachine, PlaceMachine, passage, script};

/// With how many places it is compared.
const FEW: usize = 10;

/// How many places are called at random, and how often each after a warm-up.
const CALLED: usize = 30;
const CALLS: usize = 20;
const WARM_UP: usize = 3;

/// How many homes connect at the same time.
const AT_ONCE: usize = 64;

/// How long each may take to connect: thousands do at the same time.
const CONNECTED: Duration = Duration::from_secs(60);

/// Required: how much longer a call takes at the median, as a multiple.
const LONGER: f64 = 1.5;

/// Required: the memory of each server, in MiB.
const MEMORY: u64 = 250;

/// How many files and sockets this process needs beside one for each home.
const FILES_BESIDE: u64 = 1_000;

/// The homes that are connected, and what they need.
struct ManyHomes {
    keys: Vec<PlaceKey>,
    homes: Vec<(AbortOnDropHandle<()>, watch::Receiver<PlaceHomeState>)>,
}

/// Lets this process have so many files open; panics with the next step where the system does not.
fn allow_files(needed: u64) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    assert!(
        maximum.is_none_or(|most| most >= needed),
        "this needs {needed} open files, and {maximum:?} are allowed: `ulimit -Hn {needed}` as root"
    );
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).unwrap();
}

/// The keys of places and of an agent that may call these of them; the folder has them as users. One that may call all
/// has its server keep thousands of subjects for each of its connections.
fn keys_of(
    folder: &OperatorFolder,
    of: &TenantSettings,
    count: usize,
    granted: &BTreeSet<usize>,
) -> (Vec<PlaceKey>, AgentKey) {
    let TenantSettings { tenant, servers } = of.clone();
    let mut users = FleetUsers::default();
    let places: Vec<_> = (0..count)
        .map(|number| {
            let (place, seed) = (format!("p-{number}"), NkeySeed::generate().unwrap());
            let place: PlaceId = place.parse().unwrap();
            users.add_place(place.clone(), seed.public()).unwrap();
            PlaceKey { tenant: tenant.clone(), place, servers: servers.clone(), seed }
        })
        .collect();
    let (owner, seed) = (AGENT.parse().unwrap(), NkeySeed::generate().unwrap());
    let names: Vec<_> = granted.iter().map(|at| places[*at].place.clone()).collect();
    users.grant(&owner, &names, || Ok::<_, FleetUsersError>(seed.public())).unwrap();
    folder.set_users(&users).unwrap();
    (places, AgentKey { tenant, owner, servers, seed })
}

impl ManyHomes {
    /// Connects homes until there are so many. All lead to one daemon.
    async fn connect(&mut self, count: usize, machine: &PlaceMachine) {
        while self.homes.len() < count {
            let from = self.homes.len();
            for key in &self.keys[from..count.min(from + AT_ONCE)] {
                let (state, states) = watch::channel(PlaceHomeState::Connecting(None));
                let way = passage(machine.sandbox.path().to_owned(), machine.daemon.port);
                let key = key.clone();
                let home = tokio::spawn(async move {
                    let why = run_home(&key, way, state).await;
                    panic!("a home has ended: {why}");
                });
                self.homes.push((AbortOnDropHandle::new(home), states));
            }
            for (_, states) in &mut self.homes[from..] {
                let connected = states.wait_for(|state| *state == PlaceHomeState::Connected);
                timeout(CONNECTED, connected).await.expect("a home does not connect").unwrap();
            }
        }
    }

    /// How long calls to some of them take at the median, in µs.
    async fn calls(&self, key: &AgentKey, places: impl Iterator<Item = usize>) -> u128 {
        let mut took = Vec::new();
        for at in places {
            let machine = AgentMachine::new(key, self.keys[at].place.as_str());
            // One client: the tab is its own from call to call.
            let words = ["mcp", "--client", "scale"];
            let mut agent = StdioClient::spawn(machine.command(&words)).without_checks();
            for number in 0..WARM_UP + CALLS {
                let micros = call(&mut agent).await;
                if number >= WARM_UP {
                    took.push(micros);
                }
            }
        }
        took.sort_unstable();
        took[took.len() / 2]
    }
}

async fn call(agent: &mut StdioClient) -> u128 {
    let watch = Stopwatch::start();
    agent.ask(&"a".into(), "interact", script("1")).await;
    let told = agent.late_answer(&"a".into()).await;
    let micros = watch.micros();
    assert_eq!(told["result"]["isError"], false, "{told}");
    micros
}

/// The memory of a process, in MiB.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() / 1_024
}

async fn servers(program: &Path, dir: &Path, ports: &[u16]) -> Vec<OperatorServer> {
    let mut servers = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        let conf = format!("nats-{}.conf", number + 1);
        servers.push(OperatorServer::start(program, dir, &conf, *port).await);
    }
    servers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "thousands of connections: make bench-places"]
async fn calls_to_any_of_all_places_of_a_users_file_take_hardly_longer_than_to_one_of_ten() {
    let Some(program) = nats_program() else { return };
    // One user is the agent.
    let all = std::env::var("TABWIRE_PLACES").ok().map(|text| text.parse().unwrap());
    let all = all.unwrap_or(USERS_MAX - 1);
    allow_files(all as u64 + FILES_BESIDE);
    let (dir, ports) = (tempfile::tempdir().unwrap(), cluster_ports());
    let dir = dir.path().join("acme");
    let addresses = ports.iter().map(|port| format!("127.0.0.1:{port}").parse().unwrap()).collect();
    let of = TenantServers { addresses, ca: None, name: None };
    let settings = TenantSettings { tenant: "acme".parse().unwrap(), servers: of };
    let folder = OperatorFolder::init(&dir, &settings, None).unwrap();
    let mut dice = SeededRandom::new(any_seed());
    let any: Vec<_> = (0..CALLED).map(|_| usize::try_from(dice.next()).unwrap() % all).collect();
    let few = || (0..FEW).cycle().take(CALLED);
    let granted: BTreeSet<_> = any.iter().copied().chain(few()).collect();
    let (keys, key) = keys_of(&folder, &settings, all, &granted);
    let servers = servers(&program, &dir, &ports).await;
    let (machine, browser) = PlaceMachine::without_home(&keys[0], &[AGENT]).await;
    let _browser = browser.auto(|_| json!({"value": 1}));
    let mut many = ManyHomes { keys, homes: Vec::new() };

    many.connect(FEW, &machine).await;
    let before = many.calls(&key, few()).await;
    let watch = Stopwatch::start();
    many.connect(all, &machine).await;
    let connecting = watch.millis();
    let of_all = many.calls(&key, any.into_iter()).await;
    let memory: Vec<_> = servers.iter().map(|server| memory(server.pid())).collect();
    many.homes.truncate(FEW);
    let after = many.calls(&key, few()).await;

    let of_few = u128::midpoint(before, after);
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a call")]
    let longer = of_all as f64 / of_few as f64;
    println!(
        "{all} places, connected in {connecting} ms: a call to any {of_all} µs at the median, {longer:.2} × of {LONGER}; \
         with {FEW} places {before} µs before and {after} µs after; the servers have {memory:?} MiB of {MEMORY}"
    );
    assert!(memory.iter().all(|memory| *memory <= MEMORY), "{memory:?} MiB");
    assert!(longer <= LONGER, "{longer:.2} ×");
}
