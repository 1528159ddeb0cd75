//! Accepts connections: those of this user, and only so many.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

use super::{Server, peer};
use crate::lifecycle::Rate;

/// How long nothing is accepted when the system would not let us, and nothing can be closed.
const PAUSE: Duration = Duration::from_millis(50);

/// How often in a minute the log is told that the system does not let us.
const COMPLAINTS: usize = 1;

/// How many turns of the runtime a request has to be read in that came with its connection,
/// before another connection may cost that one its place, and one that was closed to be gone.
const TURNS: u32 = 3;

/// Accepts until the server ends.
pub(super) async fn accept(listener: TcpListener, server: Server) {
    let mut complaints = Rate::new(COMPLAINTS, server.edge.tools.hub().now());
    loop {
        let accepted = tokio::select! {
            biased;
            () = server.ending.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                admit(stream, peer, &server);
                give_way(&server).await;
            }
            Err(error) => {
                if complaints.take(server.edge.tools.hub().now()).is_ok() {
                    tracing::warn!(%error, "connections cannot be accepted");
                }
                // Out of file descriptors, as a rule.
                if server.connections.make_room() {
                    take_turns().await;
                } else {
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Hands a connection on, unless it is another user's.
fn admit(stream: TcpStream, peer: SocketAddr, server: &Server) {
    match prepare(&stream, peer) {
        Ok(true) => server.attend(stream, peer),
        Ok(false) => tracing::debug!(%peer, "connection closed: another user's"),
        Err(error) => tracing::debug!(%peer, %error, "lost before its first byte"),
    }
}

/// False: the connection is another user's.
fn prepare(stream: &TcpStream, peer: SocketAddr) -> io::Result<bool> {
    if peer::is_anothers(peer, stream.local_addr()?) {
        return Ok(false);
    }
    stream.set_nodelay(true)?;
    Ok(true)
}

async fn give_way(server: &Server) {
    if server.connections.is_crowded() {
        take_turns().await;
    }
}

/// Lets others do what is next for them.
async fn take_turns() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}
