//! Who listens on a port, as far as can be told, so that "port in use" comes with a next
//! step.

use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long the holder may take to say whether it is a Tabwire.
const ASK: Duration = Duration::from_secs(1);

/// Who listens on a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortHolder {
    /// Its process, if the system tells.
    pub process: Option<(u32, String)>,
    /// Whether it is a Tabwire daemon of this user, on another state directory.
    pub is_own_tabwire: bool,
}

impl fmt::Display for PortHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what =
            if self.is_own_tabwire { "another Tabwire daemon of yours" } else { "another program" };
        match &self.process {
            Some((pid, name)) if self.is_own_tabwire => write!(f, "{what} ({name}, process {pid})"),
            Some((pid, name)) => write!(f, "{name} (process {pid})"),
            None => f.write_str(what),
        }
    }
}

impl PortHolder {
    /// Who listens on this port of the loopback; `None` if nobody does.
    pub async fn find_any(port: u16) -> Option<Self> {
        let is_taken = async |address: std::net::IpAddr| {
            match tokio::time::timeout(ASK, TcpStream::connect((address, port))).await {
                Ok(connected) => connected.is_ok(),
                // A program listens there that does not even accept.
                Err(_elapsed) => true,
            }
        };
        let taken = is_taken(Ipv4Addr::LOCALHOST.into()).await
            || is_taken(Ipv6Addr::LOCALHOST.into()).await;
        if taken { Some(Self::find(port).await) } else { None }
    }

    /// Finds out who listens on this port of the loopback.
    pub async fn find(port: u16) -> Self {
        let sockets = listening_sockets(port);
        let own_uid = rustix::process::getuid().as_raw();
        // Another user's program could answer like a Tabwire, so it is not even asked.
        let is_own = sockets.iter().any(|socket| socket.uid == own_uid);
        let process = sockets.iter().find_map(|socket| process_with(socket.inode));
        let says_tabwire = is_own && asks_as_tabwire(port).await;
        Self { process, is_own_tabwire: says_tabwire }
    }
}

struct ListeningSocket {
    uid: u32,
    inode: u64,
}

/// The sockets that listen on a port, from the kernel's tables (Linux; none elsewhere).
fn listening_sockets(port: u16) -> Vec<ListeningSocket> {
    const LISTEN: &str = "0A";
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    let read = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(local_port, 16).ok()? == port && *fields.get(3)? == LISTEN;
        is_it.then_some(ListeningSocket {
            uid: fields.get(7)?.parse().ok()?,
            inode: fields.get(9)?.parse().ok()?,
        })
    };
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(read).collect()
}

/// The process that has a socket open: its number and its name.
fn process_with(inode: u64) -> Option<(u32, String)> {
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).find_map(|pid| {
        let mut open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
        let has_it = open.any(|file| {
            fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str())
        });
        let name = || fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        has_it
            .then(|| (pid, name().map_or_else(|| "a program".to_owned(), |n| n.trim().to_owned())))
    })
}

/// Whether the listener identifies itself as Tabwire.
async fn asks_as_tabwire(port: u16) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        let request =
            format!("GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        // A foreign program may answer without end.
        stream.take(4096).read_to_end(&mut answer).await.ok()?;
        Some(String::from_utf8_lossy(&answer).contains("\"name\":\"tabwire\""))
    };
    tokio::time::timeout(ASK, ask).await.ok().flatten().unwrap_or(false)
}
