//! Inbound adapters: what comes in over sockets is checked by the guard, translated and
//! handed to the hub. Adapters do not know each other.
//!
//! Every connection is a task of one tracker; on shutdown each is asked to finish, and
//! what has not by then is dropped.

mod admin;
mod body;
mod conversation;
mod frames;
mod guard;
mod legacy;
mod mcp;
mod problem;
mod ws;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, any};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{Service as _, ServiceExt as _};

use crate::home::Home;
use crate::hub::{Caller, Hub};
use crate::lifecycle::limits;
use crate::mcp::{Calls, Toolbox};
use crate::protocol::{FRAMES_PATH, SERVER_VERSION, SESSION_PATH, WS_PATH};
use crate::streams::LegacyStream;
use crate::tools::Tools;
use frames::Sessions;
use guard::{Admitted, Guard};
use mcp::OpenStreams;

use problem::{Problem, json_response};

/// How long a new connection may take to send its first head.
const FIRST_HEAD: Duration = Duration::from_secs(5);

/// How long a connection may be idle between requests.
const IDLE: Duration = Duration::from_secs(120);

/// How long connections may take to finish when the daemon ends.
const FINISH: Duration = Duration::from_millis(1_500);

/// What all adapters work with.
#[derive(Debug)]
struct Edge {
    guard: Guard,
    tools: Tools,
    /// What MCP clients are served.
    toolbox: Arc<dyn Toolbox>,
    /// The calls of MCP clients that are in progress.
    calls: Calls<Caller>,
    /// The links of extensions over HTTP.
    sessions: Sessions,
    /// The streams of MCP clients for what no call carries.
    streams: OpenStreams,
    tasks: TaskTracker,
}

/// Answers connections, wherever they come from: a listener hands over what it accepts.
#[derive(Clone, Debug)]
pub struct Server {
    hub: Hub,
    router: Router,
    tasks: TaskTracker,
    ending: CancellationToken,
}

impl Server {
    /// One that answers with `tools`, and MCP clients with `toolbox`. `port` is the one that
    /// `Host` has to name.
    #[must_use]
    pub fn new(port: u16, home: Home, tools: Tools, toolbox: Arc<dyn Toolbox>) -> Self {
        let hub = tools.hub().clone();
        let tasks = TaskTracker::new();
        let guard = Guard::new(home, port, hub.clone());
        let calls = Calls::default();
        let sessions = Sessions::default();
        let streams = OpenStreams::default();
        let edge = Edge { guard, tools, toolbox, calls, sessions, streams, tasks: tasks.clone() };
        let router = router(Arc::new(edge));
        Self { hub, router, tasks, ending: CancellationToken::new() }
    }

    /// Serves a connection in a task of its own, until either side ends it. Must be called
    /// in a tokio runtime.
    pub fn attend(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: SocketAddr,
    ) {
        let serving = connection(stream, peer, self.router.clone(), self.ending.clone());
        self.tasks.spawn(serving);
    }

    /// Lets running commands finish, for [`limits::DRAIN`] at most, and ends all connections:
    /// sockets are closed with 1001, requests get their answer, all in under 2 s more.
    pub async fn end(self) {
        self.hub.drain(limits::DRAIN).await;
        self.ending.cancel();
        self.hub.shut_down().await;
        self.tasks.close();
        if tokio::time::timeout(FINISH, self.tasks.wait()).await.is_err() {
            tracing::warn!(connections = self.tasks.len(), "connections dropped unfinished");
        }
        self.hub.close_journal().await;
    }
}

/// Serves until `shutdown`, and [ends](Server::end) then.
///
/// All listeners must have the same port: it is the one that `Host` has to name.
///
/// # Errors
///
/// The system's, if a listener has no address.
pub async fn serve(
    listeners: Vec<TcpListener>,
    home: Home,
    tools: Tools,
    toolbox: Arc<dyn Toolbox>,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let port = match listeners.first() {
        Some(listener) => listener.local_addr()?.port(),
        None => return Ok(()),
    };
    let server = Server::new(port, home, tools, toolbox);
    for listener in listeners {
        server.tasks.spawn(accept(listener, server.clone()));
    }
    shutdown.cancelled().await;
    server.end().await;
    Ok(())
}

fn router(edge: Arc<Edge>) -> Router {
    Router::new()
        // Methods are the guard's to check: a router that did would tell those who may
        // not know which there are.
        .route("/health", any(health))
        .route(WS_PATH, any(ws::upgrade))
        .route(FRAMES_PATH, any(frames::exchange))
        .route(SESSION_PATH, any(frames::begin))
        .route("/mcp", any(mcp::serve))
        .route("/settings", any(legacy::settings))
        .route("/pending-queries", any(legacy::pending_queries))
        .route("/query-result", any(legacy::result))
        .route("/execute-result", any(legacy::result))
        .route("/dom-result", any(legacy::result))
        .route("/a11y-result", any(legacy::result))
        .route("/highlight-result", any(legacy::result))
        .route("/state-result", any(legacy::result))
        .route("/screenshots", any(legacy::noted))
        .route("/logs", any(legacy::logs))
        .route("/extension-logs", ingest(LegacyStream::ExtensionLogs))
        .route("/network-waterfall", ingest(LegacyStream::NetworkWaterfall))
        .route("/network-bodies", ingest(LegacyStream::NetworkBodies))
        .route("/websocket-events", ingest(LegacyStream::WebsocketEvents))
        .route("/enhanced-actions", ingest(LegacyStream::EnhancedActions))
        .route("/performance-snapshots", ingest(LegacyStream::PerformanceSnapshots))
        .route("/api/extension-status", any(legacy::noted))
        .route("/draw-mode/complete", any(legacy::drawing))
        .route("/api/status", any(admin::status))
        .route("/api/commands", any(admin::commands))
        .route("/api/commands/{id}", any(admin::command))
        .fallback(|| async { Problem::NoRoute })
        .layer(middleware::from_fn_with_state(edge.clone(), admit))
        .with_state(edge)
}

/// A route on which extensions that poll post what a page did.
fn ingest(kind: LegacyStream) -> MethodRouter<Arc<Edge>> {
    any(move |state: State<Arc<Edge>>, admitted: Extension<Admitted>, body: Body| {
        legacy::ingest(kind, state, admitted, body)
    })
}

/// Every request passes here first; handlers find out by the extension who was let in.
async fn admit(State(edge): State<Arc<Edge>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let routed = parts.extensions.get::<MatchedPath>().is_some();
    match edge.guard.check(&parts, routed) {
        Ok(admitted) => {
            parts.extensions.insert(admitted);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem @ Problem::TooLarge { .. }) => {
            body::drain(body).await;
            problem.into_response()
        }
        Err(problem) => problem.into_response(),
    }
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

async fn accept(listener: TcpListener, server: Server) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = server.ending.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => match stream.set_nodelay(true) {
                Ok(()) => server.attend(stream, peer),
                Err(error) => tracing::debug!(%peer, %error, "lost before its first byte"),
            },
            Err(error) => {
                // Out of file descriptors, as a rule: closing connections will help.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    router: Router,
    shutdown: CancellationToken,
) {
    let heard = Arc::new(AtomicBool::new(false));
    let was_heard = heard.clone();
    let service = tower::service_fn(move |request| {
        was_heard.store(true, Ordering::Relaxed);
        let mut router = router.clone();
        async move { router.as_service::<hyper::body::Incoming>().ready().await?.call(request).await }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(IDLE);
    let serving = http
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    tokio::pin!(serving);
    let first_head = tokio::time::sleep(FIRST_HEAD);
    tokio::pin!(first_head);
    let mut ending = false;
    let mut watching = true;
    loop {
        tokio::select! {
            served = &mut serving => {
                if let Err(error) = served {
                    tracing::debug!(%peer, %error, "connection ended");
                }
                return;
            }
            () = shutdown.cancelled(), if !ending => {
                ending = true;
                serving.as_mut().graceful_shutdown();
            }
            () = &mut first_head, if watching => {
                watching = false;
                if !heard.load(Ordering::Relaxed) {
                    tracing::debug!(%peer, "connection closed: no request within 5 s");
                    return;
                }
            }
        }
    }
}
