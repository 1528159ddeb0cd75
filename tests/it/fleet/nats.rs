//! A real NATS server with the users of a tenant.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Signal;
use tabwire::fleet::{
    AgentKey, NatsAddress, NkeySeed, PlaceKey, REPLY_SECONDS, SubjectPermissions, TenantServers,
    agent_permissions, home_permissions,
};
use testkit::{signal, soon, until};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// Where the server is that `make fleet` unpacks.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/nats/bin/nats-server");

/// The server's program; says why a test is skipped where there is none.
#[expect(clippy::print_stderr, reason = "why a test is skipped is told to whoever runs it")]
pub(super) fn nats_program() -> Option<PathBuf> {
    let program = std::env::var_os("TABWIRE_NATS_SERVER").map_or(SERVER.into(), PathBuf::from);
    if program.exists() {
        return Some(program);
    }
    eprintln!("skipped: there is no {}; `make fleet` gets it where it can", program.display());
    None
}

/// A server with a configuration that the operator's commands have written.
pub(super) struct OperatorServer {
    child: Child,
}

/// The memory that a server is told to keep within, as docs/places.md has it for thousands of places.
const MEMORY_GOAL: &str = "240MiB";

impl OperatorServer {
    /// Has the server check the file of this name, starts it, and waits until it listens on its port.
    pub(super) async fn start(program: &Path, dir: &Path, conf: &str, port: u16) -> Self {
        let of = |options: &[&str]| {
            let mut command = Command::new(program);
            command.args(options).args(["-c", conf]).current_dir(dir);
            command
        };
        let checked = of(&["-t"]).output().await.unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        let mut command = of(&[]);
        command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        command.env("GOMEMLIMIT", MEMORY_GOAL);
        let child = command.spawn().unwrap();
        let is_there = async || TcpStream::connect(("127.0.0.1", port)).await.is_ok();
        soon("the server", until(is_there)).await;
        Self { child }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Has it read its users anew.
    pub(super) fn reload(&self) {
        signal(self.pid(), Signal::HUP);
    }

    /// Kills it, as if its machine had lost power.
    pub(super) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// A server on a free port, with the files of its users.
pub(super) struct NatsServer {
    program: PathBuf,
    dir: tempfile::TempDir,
    child: Option<Child>,
    pub(super) port: u16,
    users: Vec<(String, SubjectPermissions)>,
    /// Further lines of its configuration.
    lines: String,
}

impl NatsServer {
    /// Starts it without any user.
    pub(super) async fn start() -> Option<Self> {
        Self::start_as("", &[]).await
    }

    /// Starts it with these lines in its configuration and these files beside it.
    pub(super) async fn start_as(lines: &str, files: &[(&str, String)]) -> Option<Self> {
        Some(Self::start_all(nats_program()?, lines, files).await)
    }

    /// Starts this program of it.
    pub(super) async fn start_with(program: PathBuf) -> Self {
        Self::start_all(program, "", &[]).await
    }

    async fn start_all(program: PathBuf, lines: &str, files: &[(&str, String)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let (users, lines) = (Vec::new(), lines.to_owned());
        let mut server = Self { program, dir, child: None, port: 0, users, lines };
        server.write_users();
        server.run().await;
        server
    }

    /// Starts it, or starts it again on the same port.
    pub(super) async fn run(&mut self) {
        let (dir, port) = (self.dir.path(), if self.port == 0 { -1 } else { self.port.into() });
        let ports = dir.join("ports");
        let _ = std::fs::remove_dir_all(&ports);
        std::fs::create_dir(&ports).unwrap();
        let conf = format!(
            "listen: \"127.0.0.1:{port}\"\nports_file_dir: {ports:?}\ninclude ./users.conf\n{}",
            self.lines
        );
        std::fs::write(dir.join("nats.conf"), conf).unwrap();
        let log = std::fs::File::create(dir.join("log")).unwrap();
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(dir.join("nats.conf")).current_dir(dir).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().unwrap());
        let told = || {
            let file = std::fs::read_dir(&ports).ok()?.next()?.ok()?.path();
            let told: serde_json::Value =
                serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
            told["nats"][0].as_str()?.rsplit_once(':')?.1.parse::<u16>().ok()
        };
        soon("the server's port", until(async || told().is_some())).await;
        self.port = told().unwrap();
        let connects = async || TcpStream::connect(("127.0.0.1", self.port)).await.is_ok();
        soon("the server", until(connects)).await;
    }

    /// What it has said.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    pub(super) fn signal(&self, how: Signal) {
        signal(self.child.as_ref().and_then(Child::id).unwrap(), how);
    }

    /// Kills it, and waits until it is gone.
    pub(super) async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }

    fn write_users(&self) {
        let list = |words: &[String]| format!("{words:?}");
        let mut text = String::from("authorization { users = [\n");
        for (public, may) in &self.users {
            let SubjectPermissions { publish, subscribe, replies } = may;
            let replies = match replies {
                true => format!(", allow_responses: {{max: 1, expires: \"{REPLY_SECONDS}s\"}}"),
                false => String::new(),
            };
            let (publish, subscribe) = (list(publish), list(subscribe));
            writeln!(
                text,
                "{{nkey: {public}, permissions: {{publish: {{allow: {publish}}}, subscribe: {{allow: {subscribe}}}{replies}}}}}"
            )
            .unwrap();
        }
        text.push_str("] }\n");
        std::fs::write(self.dir.path().join("users.conf"), text).unwrap();
    }

    /// Adds a user, or gives it other permissions, and waits until the server knows.
    pub(super) async fn set(&mut self, seed: &NkeySeed, may: SubjectPermissions) {
        let public = seed.public();
        self.users.retain(|(known, _)| *known != public);
        self.users.push((public, may));
        self.reload().await;
    }

    /// Lets it read its users again.
    pub(super) async fn reload(&self) {
        self.write_users();
        let reloads = || self.log().matches("Reloaded server configuration").count();
        let before = reloads();
        self.signal(Signal::HUP);
        soon("the reload", until(async || reloads() > before)).await;
    }

    pub(super) fn servers(&self) -> TenantServers {
        let address: NatsAddress = format!("127.0.0.1:{}", self.port).parse().unwrap();
        TenantServers { addresses: vec![address], ca: None, name: None }
    }

    /// The key of a new place.
    pub(super) async fn place(&mut self, place: &str) -> PlaceKey {
        let seed = NkeySeed::generate().unwrap();
        self.set(&seed, home_permissions(place)).await;
        let (tenant, place) = ("acme".parse().unwrap(), place.parse().unwrap());
        PlaceKey { tenant, place, servers: self.servers(), seed }
    }

    /// The key of a new agent, which may call these places.
    pub(super) async fn agent(&mut self, owner: &str, places: &[&str]) -> AgentKey {
        let seed = NkeySeed::generate().unwrap();
        self.set(&seed, agent_permissions(owner, places.iter().copied())).await;
        let (tenant, owner) = ("acme".parse().unwrap(), owner.parse().unwrap());
        AgentKey { tenant, owner, servers: self.servers(), seed }
    }
}
