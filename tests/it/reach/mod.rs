//! Calls of an agent on another machine: the far end and home, joined by a pipe, with a real daemon behind.

mod carried;
mod connect;
mod cost;
mod line;
mod outward;
pub(crate) mod place_run;
mod slow;
pub(crate) mod ssh;
mod storm;
mod wsl;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire::bridge::{DaemonTarget, LocalDaemon, LocalTarget, TargetDaemon};
use tabwire::protocol::{Owner, OwnerKind, Timestamp};
use tabwire::reach::{HomeDaemon, LineKind, PlaceName, ServeError, read_greeting, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

use testkit::{TestDaemon, soon};

/// How many bytes the pipe holds.
const PIPE: usize = 64 * 1024;

/// The name of the place, and of its owner.
const PLACE: &str = "box";

/// How many bytes the longest results here have: escaped they are a little below the 7.5 MiB that a result may have.
pub(crate) const LONGEST: usize = 115 * 1024 * 65;

/// A text of so many bytes at most, in lines: parts of results end at line ends.
pub(crate) fn long_text(length: usize) -> String {
    let line = "0123456789abcdefghijklmnopqrstuvwxyz-0123456789abcdefghijklmnopq\n";
    line.repeat(length / line.len())
}

fn place() -> PlaceName {
    PLACE.parse().unwrap()
}

/// An owner of this daemon whose programs are on another machine.
fn far_owner(daemon: &TestDaemon) -> Owner {
    let since = Timestamp::from_unix_micros(0);
    daemon.home().owners().add(PLACE, None, OwnerKind::Far, since).unwrap().owner()
}

fn home_of(daemon: &TestDaemon, owner: &Owner) -> HomeDaemon {
    let local = LocalTarget {
        home: daemon.home().dir().to_owned(),
        port: daemon.port(),
        owner: "user".into(),
        has_service: false,
        program: "there-is-none".into(),
    };
    let target = DaemonTarget::new(TargetDaemon::Local(local), "reach".to_owned());
    HomeDaemon::new(LocalDaemon::new(target), daemon.home(), owner.clone())
}

/// Home at one end of a pipe, which passes calls on to this daemon. The other end of the pipe.
fn home_as(
    daemon: &TestDaemon,
    owner: &Owner,
) -> (DuplexStream, JoinHandle<Result<(), ServeError>>) {
    let (near, far) = duplex(PIPE);
    (far, tokio::spawn(serve(near, home_of(daemon, owner), LineKind::SameMachine)))
}

/// Both ends, and a daemon.
struct Reached {
    daemon: TestDaemon,
    socket: PathBuf,
    home: JoinHandle<Result<(), ServeError>>,
    far: JoinHandle<Result<(), tabwire::reach::CarryError>>,
    _dir: tempfile::TempDir,
}

impl Reached {
    async fn start() -> Self {
        let daemon = TestDaemon::start().await;
        let dir = tempfile::tempdir().unwrap();
        let socket = tabwire::reach::far_socket(dir.path(), &place());
        let listening = tabwire::reach::listen_far(&socket).unwrap();
        let (mut near, far) = duplex(PIPE);
        let (input, output) = tokio::io::split(far);
        let carrying =
            tabwire::reach::carry(place(), listening, input, output, LineKind::SameMachine);
        let far = tokio::spawn(carrying);
        let greeting = soon("the greeting", read_greeting(&mut near)).await.unwrap();
        assert_eq!(greeting.place, place());
        let owner = far_owner(&daemon);
        let home = tokio::spawn(serve(near, home_of(&daemon, &owner), LineKind::SameMachine));
        Self { daemon, socket, home, far, _dir: dir }
    }

    /// Sends a call to the socket.
    async fn ask(&self, lines: &str, body: &str) -> FarAnswer {
        post_to(&self.socket, lines, body).await
    }

    /// A header with which a call is in time.
    async fn in_time(&self) -> String {
        in_time_at(&self.socket).await
    }
}

/// An answer at the far end.
#[derive(Debug)]
struct FarAnswer {
    status: u16,
    head: String,
    body: String,
}

impl FarAnswer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sends a call to a socket.
async fn post_to(socket: &Path, lines: &str, body: &str) -> FarAnswer {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{lines}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    ask_socket(socket, &head).await
}

/// A header with which a call to a socket is in time.
async fn in_time_at(socket: &Path) -> String {
    let refused = post_to(socket, "", &message("ping", &json!({}))).await;
    let clock = refused.header("x-tabwire-clock").expect("the clock is told");
    let mut clock: tabwire::protocol::RunClock = clock.parse().unwrap();
    clock.elapsed += std::time::Duration::from_secs(10);
    format!("X-Tabwire-Before: {clock}\r\n")
}

async fn ask_socket(path: &Path, request: &str) -> FarAnswer {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    soon("an answer", stream.read_to_string(&mut text)).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    FarAnswer { status, head: head.to_owned(), body: body.to_owned() }
}

fn message(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}
