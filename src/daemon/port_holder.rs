//! Who listens on a port, as far as can be told, so that "port in use" comes with a next
//! step.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::os::{self, PortOwner};

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
        let PortOwner { process, is_own } = os::listening_program(port);
        // Another user's program could answer like a Tabwire, so it is not even asked.
        let says_tabwire = is_own && asks_as_tabwire(port).await;
        Self { process, is_own_tabwire: says_tabwire }
    }
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
