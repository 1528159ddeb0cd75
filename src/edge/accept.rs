//! Accepts connections, and finds out whose they are.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::EdgeServer;
use super::connections::ConnectionHandle;
use super::peer::{PeerLookup, PeerUser};
use crate::home::DaemonSocket;
use crate::lifecycle::TokenBucket;
use crate::os::{self, AsSocketHandle, AsyncUnixStream};

/// How long nothing is accepted when the system would not let us, and nothing can be closed.
const PAUSE: Duration = Duration::from_millis(50);

/// How often in a minute the log is told that the system does not let us.
const COMPLAINTS: usize = 1;

/// How many connections of one listener at most wait to be looked up a second time. One more is
/// closed.
const RETRIES: usize = 64;

/// Accepts until the server ends.
pub(super) async fn accept(listener: TcpListener, server: EdgeServer, peers: Arc<PeerLookup>) {
    let retries = Arc::new(Semaphore::new(RETRIES));
    let admit = |stream, peer| admit(stream, peer, &server, &peers, &retries);
    accept_from(&server, |context| listener.poll_accept(context), admit).await;
}

/// The same on the socket in the state directory, which tells whose each peer is.
pub(super) async fn accept_on_socket(socket: DaemonSocket, server: EdgeServer) {
    let listener = match socket.listener() {
        Ok(listener) => listener,
        Err(error) => return tracing::warn!(%error, "no connection comes by the socket"),
    };
    let admit = |stream: AsyncUnixStream, _| {
        let user = user_of(&stream);
        server.connect(stream, "daemon.sock", user)
    };
    accept_from(&server, |context| listener.poll_accept(context), admit).await;
}

/// Accepts from one listener until the server ends. `admit` hands a connection on; `None`: it is closed,
/// or still looked up.
async fn accept_from<S: AsSocketHandle, P>(
    server: &EdgeServer,
    accept: impl Fn(&mut Context<'_>) -> Poll<io::Result<(S, P)>>,
    admit: impl Fn(S, P) -> Option<ConnectionHandle>,
) {
    let mut complaints = TokenBucket::new(COMPLAINTS, server.edge.tools.hub().now());
    loop {
        let accepted = tokio::select! {
            biased;
            () = server.ending.cancelled() => return,
            accepted = poll_fn(&accept) => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let has_request = server.connections.is_crowded() && os::has_unread_bytes(&stream);
                let admitted = admit(stream, peer);
                // The next connection may cost this one its place: first, the proof that came
                // with it is read.
                if let Some(connection) = admitted.filter(|_| has_request) {
                    connection.has_read().await;
                }
            }
            Err(error) => {
                make_room(server, &mut complaints, &error).await;
            }
        }
    }
}

/// Whose process has connected, by the system's word. The file's mode keeps others out already.
fn user_of(stream: &AsyncUnixStream) -> PeerUser {
    PeerUser::of(os::owner_of_stream(stream))
}

/// The system lets nothing be accepted: out of file descriptors, as a rule.
async fn make_room(server: &EdgeServer, complaints: &mut TokenBucket, error: &io::Error) {
    if complaints.take(server.edge.tools.hub().now()).is_ok() {
        tracing::warn!(%error, "connections cannot be accepted");
    }
    let closing = server.connections.make_room();
    if closing.is_empty() {
        tokio::time::sleep(PAUSE).await;
    }
    let all_ended = async {
        for connection in closing {
            connection.has_ended().await;
        }
    };
    // One that is slow to go must not keep others out.
    let _ = tokio::time::timeout(PAUSE, all_ended).await;
}

/// Hands a connection on, together with whose it is. `None`: it is closed, or still looked up.
fn admit(
    stream: TcpStream,
    peer: SocketAddr,
    server: &EdgeServer,
    peers: &Arc<PeerLookup>,
    retries: &Arc<Semaphore>,
) -> Option<ConnectionHandle> {
    let hub = server.edge.tools.hub();
    match prepare(&stream) {
        Ok(own) => match (peers.user_of(peer, own, hub.now()), retries.clone().try_acquire_owned())
        {
            (Some(user), _) => return server.connect(stream, peer, user),
            // Other connections do not wait for the second lookup.
            (None, Ok(permit)) => {
                let (server, peers) = (server.clone(), peers.clone());
                server.tasks.clone().spawn(async move {
                    let user = peers.look_again(peer, own, || server.edge.tools.hub().now()).await;
                    server.handle_connection(stream, peer, user);
                    drop(permit);
                });
            }
            (None, Err(_none_left)) => server.handle_connection(stream, peer, PeerUser::Another),
        },
        Err(error) => tracing::debug!(%peer, %error, "lost before its first byte"),
    }
    None
}

fn prepare(stream: &TcpStream) -> io::Result<SocketAddr> {
    stream.set_nodelay(true)?;
    stream.local_addr()
}
