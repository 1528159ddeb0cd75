//! Inbound adapters. The guard checks each request, an adapter translates it and hands it to
//! the hub. Adapters do not know each other.
//!
//! Every connection is a task of one tracker; on shutdown each is asked to finish, and
//! a task that has not finished in time is dropped.

mod accept;
mod admin;
mod body;
mod connection;
mod connections;
mod conversation;
mod dashboard;
mod frames;
mod guard;
mod http_error;
mod legacy;
mod mcp;
mod metrics;
mod peer;
mod routes;
mod side_work;
mod ws;
mod yield_budget;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::home::{DaemonSocket, StateDirectory};
use crate::hub::{Caller, CloseReason};
use crate::install::BrowserFolders;
use crate::lifecycle::limits;
use crate::mcp::{CallRegistry, ExtraTools, JobCalls};
use crate::protocol::SERVER_VERSION;
use crate::tools::ToolSet;
use body::BodyParsers;
use connections::{ConnectionHandle, ConnectionRegistry};
use frames::HttpSessions;
use guard::RequestGuard;
use http_error::json_response;
use mcp::{CallTurns, OpenStreams};
use peer::PeerLookup;
pub use peer::PeerUser;
use routes::GuardedRoutes;

/// How long connections may take to finish when the daemon ends.
const FINISH: Duration = Duration::from_millis(1_500);

/// The state that all adapters share.
#[derive(Debug)]
struct EdgeState {
    guard: RequestGuard,
    tools: ToolSet,
    /// Parses large bodies on other threads.
    parsers: BodyParsers,
    /// Tools for MCP clients beside `tools`.
    extra: Option<ExtraTools>,
    /// The calls of MCP clients that are in progress.
    calls: CallRegistry<Caller>,
    /// Those of them that begin jobs, until their answers are out.
    job_calls: JobCalls<Caller>,
    /// The links of extensions over HTTP.
    sessions: HttpSessions,
    /// The streams of MCP clients for notices that belong to no call.
    streams: OpenStreams,
    /// The turns of calls from other machines.
    turns: CallTurns,
    /// The folders in which browsers keep their profiles.
    browser_folders: BrowserFolders,
    tasks: TaskTracker,
}

/// Serves connections. A listener, or a test, hands them over.
#[derive(Clone, Debug)]
pub struct EdgeServer {
    edge: Arc<EdgeState>,
    routes: GuardedRoutes,
    connections: ConnectionRegistry,
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl EdgeServer {
    /// A server for these tools, and for MCP clients also the `extra` ones. `Host` must name
    /// `port`. Profiles of browsers are looked for in `browser_folders`.
    #[must_use]
    pub fn new(
        port: u16,
        home: StateDirectory,
        tools: ToolSet,
        extra: Option<ExtraTools>,
        browser_folders: BrowserFolders,
    ) -> Self {
        let tasks = TaskTracker::new();
        tools.hub().set_own_port(port);
        let guard = RequestGuard::new(home, port, tools.hub().clone());
        let (calls, job_calls) = (CallRegistry::default(), JobCalls::default());
        let sessions = HttpSessions::default();
        let (streams, turns, parsers) =
            (OpenStreams::default(), CallTurns::default(), BodyParsers::default());
        let edge = Arc::new(EdgeState {
            guard,
            tools,
            parsers,
            extra,
            calls,
            job_calls,
            sessions,
            streams,
            turns,
            browser_folders,
            tasks: tasks.clone(),
        });
        let routes = GuardedRoutes::of(edge.clone());
        let connections = ConnectionRegistry::of(edge.tools.hub().limits().connections);
        Self { edge, routes, connections, tasks, ending: CancellationToken::new() }
    }

    /// Serves a connection in a task of its own, until either side ends it. Another user's is
    /// closed, and so is one too many. Must be called in a tokio runtime.
    pub fn handle_connection(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
        user: PeerUser,
    ) {
        let _ = self.connect(stream, peer, user);
    }

    fn connect(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: impl std::fmt::Display,
        user: PeerUser,
    ) -> Option<ConnectionHandle> {
        // Before the first byte is read: another user must not even cost a parser.
        if user == PeerUser::Another {
            tracing::debug!(%peer, "connection closed: another user's");
            return None;
        }
        let Some(permit) = self.connections.permit(user) else {
            tracing::debug!(%peer, "connection closed: there are too many");
            return None;
        };
        let connection = permit.connection().clone();
        tracing::debug!(%peer, "connected");
        let (routes, ending) = (self.routes.clone(), self.ending.clone());
        // The tracker knows every connection, so that `end` can wait for them all.
        self.tasks.spawn(connection::serve(stream, permit, routes, ending));
        Some(connection)
    }

    /// Closes the connections of owners that are removed, until the server ends.
    async fn close_removed(self) {
        let owners = self.edge.guard.owners().clone();
        let mut changes = owners.changes();
        let following = async {
            while changes.changed().await.is_ok() {
                let list = changes.borrow_and_update().clone();
                self.connections.close_of(|owner| !list.has(owner));
            }
        };
        tokio::select! {
            () = self.ending.cancelled() => {}
            () = following => {}
            () = owners.watch() => {}
        }
    }

    /// Lets running commands finish, for [`limits::DRAIN`] at most, and ends all connections:
    /// sockets are closed with 1001, or with 4401 if the secret was replaced, requests get their
    /// answer, all in under 2 s more.
    pub async fn end(self) {
        let hub = self.edge.tools.hub();
        // Connections stay open meanwhile: the answers to running commands still go out on them.
        hub.drain(limits::DRAIN).await;
        // After the drain: until then callers can still connect and read results.
        self.ending.cancel();
        // An extension must not retry with the old key, so it gets the close code of a lost
        // pairing.
        if self.edge.guard.home().is_key_replaced() {
            hub.end_links(CloseReason::Unpaired);
        }
        hub.shut_down().await;
        self.tasks.close();
        if tokio::time::timeout(FINISH, self.tasks.wait()).await.is_err() {
            tracing::warn!(connections = self.tasks.len(), "connections dropped unfinished");
        }
        // Last: the connections above may have recorded reads of their callers.
        hub.close_journal().await;
    }
}

/// The places where a server accepts connections.
#[derive(Debug)]
pub struct EdgeListeners {
    /// The port on the loopback, by each version of IP.
    pub ports: Vec<TcpListener>,
    /// The socket in the state directory.
    pub socket: Option<DaemonSocket>,
}

impl From<Vec<TcpListener>> for EdgeListeners {
    fn from(ports: Vec<TcpListener>) -> Self {
        Self { ports, socket: None }
    }
}

/// Serves until `shutdown`, and [ends](EdgeServer::end) then.
///
/// All listeners must have the same port: it is the one that `Host` has to name.
///
/// # Errors
///
/// The system's, if a listener has no address.
pub async fn serve(
    listeners: impl Into<EdgeListeners>,
    home: StateDirectory,
    tools: ToolSet,
    extra: Option<ExtraTools>,
    browser_folders: BrowserFolders,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let EdgeListeners { ports, socket } = listeners.into();
    let port = match ports.first() {
        Some(listener) => listener.local_addr()?.port(),
        None => return Ok(()),
    };
    let server = EdgeServer::new(port, home, tools, extra, browser_folders);
    server.tasks.spawn(server.clone().close_removed());
    let peers = Arc::new(PeerLookup::new(server.edge.tools.hub().now()));
    for listener in ports {
        server.tasks.spawn(accept::accept(listener, server.clone(), peers.clone()));
    }
    if let Some(socket) = socket {
        server.tasks.spawn(accept::accept_on_socket(socket, server.clone()));
    }
    shutdown.cancelled().await;
    server.end().await;
    Ok(())
}

/// A public constant, in the form that polling extensions expect.
async fn health() -> Response {
    let body = json!({
        "status": "ok",
        "name": "tabwire",
        "version": SERVER_VERSION,
        "logs": {"entries": 0, "maxEntries": 0, "logFile": "", "logFileSize": 0},
    });
    json_response(StatusCode::OK, body.to_string())
}
