//! Every route: its callers, the size of its body, and its handler.
//!
//! One table, and no router beside it: there is no route that does not say who may call it, and
//! a request costs no more than the look into the table.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::handler::Handler;
use axum::http::{HeaderName, HeaderValue, Method, Uri};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;

use super::connections::ConnectionHandle;
use super::guard::{
    ANSWER_BODY, CODE_BODY, DENIED_SITE_BODY, DRAWING_BODY, EXTENSION_BODY, MCP_BODY,
    PICTURED_ACTS_BODY, Principal, SESSION_BODY, TAKEN_TAB_BODY,
};
use super::http_error::HttpError;
use super::{EdgeState, admin, body, dashboard, frames, health, legacy, mcp, metrics, ws};
use crate::protocol::{CLOCK_HEADER, FRAMES_PATH, SESSION_PATH, WS_PATH};
use crate::streams::LegacyStream;

/// The path of MCP.
const MCP_PATH: &str = "/mcp";

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteAccess {
    /// Any program of this computer, but no web page: a public constant.
    Program,
    /// An extension that was allowed. Its proof follows on the socket.
    Extension,
    /// An extension that polls, has no secret, and was let in by its id.
    Poller,
    /// An extension that polls, or asks to poll. Its answer shows whether it is let in.
    Asker,
    /// An extension with a session, which its bearer token names. A browser sends no
    /// `Origin` with a worker's GET.
    Session,
    /// The holder of a token.
    Owner,
    /// The person's browser, for the page of the dashboard: a public constant.
    Page,
    /// The person's browser, with a code from the file of `tabwire open`.
    HandOver,
    /// `tabwire open`, which has read the secret.
    Opener,
    /// A dashboard, with the token that it got for its code.
    Viewer,
    /// A collector of metrics, with the token that reads them.
    Scraper,
}

/// Answers a request of a route, once the guard let it pass.
type RouteHandler = fn(Arc<EdgeState>, Request) -> BoxFuture<'static, Response>;

/// One route: its callers and its handler.
pub(super) struct RouteRule {
    pub(super) method: Method,
    /// A last part `{id}` stands for any one part.
    pub(super) path: &'static str,
    pub(super) access: RouteAccess,
    /// The largest body, in bytes.
    pub(super) body: usize,
    handler: RouteHandler,
}

impl RouteRule {
    pub(super) fn is_for(&self, path: &str) -> bool {
        match self.path.strip_suffix("{id}") {
            Some(before) => {
                path.strip_prefix(before).is_some_and(|id| !id.is_empty() && !id.contains('/'))
            }
            None => path == self.path,
        }
    }
}

/// The part of a path that stands for `{id}` in its route. No id has a byte that a path has to escape.
pub(super) fn id_in(uri: &Uri) -> &str {
    uri.path().rsplit('/').next().unwrap_or_default()
}

/// Every route. A path that is missing here exists for nobody.
pub(super) static TABLE: [RouteRule; 52] = [
    read("/health", RouteAccess::Program, |edge, request| health.handle(edge, request)),
    read(WS_PATH, RouteAccess::Extension, |edge, request| ws::upgrade.handle(edge, request)),
    post(SESSION_PATH, RouteAccess::Extension, SESSION_BODY, |edge, request| {
        frames::begin.handle(edge, request)
    }),
    read(FRAMES_PATH, RouteAccess::Session, |edge, request| frames::exchange.handle(edge, request)),
    post(FRAMES_PATH, RouteAccess::Session, EXTENSION_BODY, |edge, request| {
        frames::exchange.handle(edge, request)
    }),
    post(MCP_PATH, RouteAccess::Owner, MCP_BODY, |edge, request| mcp::serve.handle(edge, request)),
    read(MCP_PATH, RouteAccess::Owner, |edge, request| mcp::serve.handle(edge, request)),
    read("/settings", RouteAccess::Program, |edge, request| legacy::settings.handle(edge, request)),
    read("/pending-queries", RouteAccess::Program, |edge, request| {
        legacy::pending_queries.handle(edge, request)
    }),
    post("/settings", RouteAccess::Asker, SESSION_BODY, |edge, request| {
        legacy::settings.handle(edge, request)
    }),
    post("/sync", RouteAccess::Asker, EXTENSION_BODY, |edge, request| {
        legacy::sync.handle(edge, request)
    }),
    polled("/query-result", |edge, request| legacy::result.handle(edge, request)),
    polled("/execute-result", |edge, request| legacy::result.handle(edge, request)),
    polled("/dom-result", |edge, request| legacy::result.handle(edge, request)),
    polled("/a11y-result", |edge, request| legacy::result.handle(edge, request)),
    polled("/highlight-result", |edge, request| legacy::result.handle(edge, request)),
    polled("/state-result", |edge, request| legacy::result.handle(edge, request)),
    polled("/screenshots", |edge, request| legacy::noted.handle(edge, request)),
    polled("/logs", |edge, request| legacy::logs.handle(edge, request)),
    RouteRule {
        method: Method::DELETE,
        path: "/logs",
        access: RouteAccess::Poller,
        body: 0,
        handler: |edge, request| legacy::logs.handle(edge, request),
    },
    polled("/extension-logs", |edge, request| ingest(LegacyStream::ExtensionLogs, edge, request)),
    polled("/network-waterfall", |edge, request| {
        ingest(LegacyStream::NetworkWaterfall, edge, request)
    }),
    polled("/network-bodies", |edge, request| ingest(LegacyStream::NetworkBodies, edge, request)),
    polled("/websocket-events", |edge, request| {
        ingest(LegacyStream::WebsocketEvents, edge, request)
    }),
    polled("/enhanced-actions", |edge, request| {
        ingest(LegacyStream::EnhancedActions, edge, request)
    }),
    polled("/performance-snapshots", |edge, request| {
        ingest(LegacyStream::PerformanceSnapshots, edge, request)
    }),
    polled("/api/extension-status", |edge, request| legacy::noted.handle(edge, request)),
    post("/draw-mode/complete", RouteAccess::Poller, DRAWING_BODY, |edge, request| {
        legacy::drawing.handle(edge, request)
    }),
    read("/api/status", RouteAccess::Owner, |edge, request| admin::status.handle(edge, request)),
    read("/api/commands", RouteAccess::Owner, |edge, request| {
        admin::commands.handle(edge, request)
    }),
    read("/api/commands/{id}", RouteAccess::Owner, |edge, request| {
        admin::command.handle(edge, request)
    }),
    read("/api/asks", RouteAccess::Owner, |edge, request| admin::asks.handle(edge, request)),
    post("/api/asks", RouteAccess::Owner, ANSWER_BODY, |edge, request| {
        admin::answer_ask.handle(edge, request)
    }),
    post("/api/asks/forget", RouteAccess::Owner, ANSWER_BODY, |edge, request| {
        admin::forget_consents.handle(edge, request)
    }),
    post("/api/sites", RouteAccess::Owner, 0, |edge, request| {
        admin::reload_sites.handle(edge, request)
    }),
    read("/metrics", RouteAccess::Scraper, |edge, request| metrics::scrape.handle(edge, request)),
    post("/dashboard/codes", RouteAccess::Opener, 0, |edge, request| {
        dashboard::code.handle(edge, request)
    }),
    read("/dashboard", RouteAccess::Page, |edge, request| dashboard::page.handle(edge, request)),
    post("/dashboard", RouteAccess::HandOver, CODE_BODY, |edge, request| {
        dashboard::hand_over.handle(edge, request)
    }),
    read("/dashboard/files/{id}", RouteAccess::Page, |edge, request| {
        dashboard::file.handle(edge, request)
    }),
    read("/dashboard/feed", RouteAccess::Viewer, |edge, request| {
        dashboard::feed.handle(edge, request)
    }),
    read("/dashboard/commands/{id}", RouteAccess::Viewer, |edge, request| {
        dashboard::command.handle(edge, request)
    }),
    read("/dashboard/pictures/{id}", RouteAccess::Viewer, |edge, request| {
        dashboard::picture.handle(edge, request)
    }),
    read("/dashboard/entries/{id}", RouteAccess::Viewer, |edge, request| {
        dashboard::entry.handle(edge, request)
    }),
    read("/dashboard/drawings", RouteAccess::Viewer, |edge, request| {
        dashboard::drawings.handle(edge, request)
    }),
    read("/dashboard/drawings/{id}", RouteAccess::Viewer, |edge, request| {
        dashboard::drawing.handle(edge, request)
    }),
    post("/dashboard/stop/{id}", RouteAccess::Viewer, 0, |edge, request| {
        dashboard::acts::stop.handle(edge, request)
    }),
    post("/dashboard/stop", RouteAccess::Viewer, 0, |edge, request| {
        dashboard::acts::stop_all.handle(edge, request)
    }),
    post("/dashboard/retry/{id}", RouteAccess::Viewer, 0, |edge, request| {
        dashboard::acts::retry.handle(edge, request)
    }),
    post("/dashboard/tabs", RouteAccess::Viewer, TAKEN_TAB_BODY, |edge, request| {
        dashboard::acts::take_tab.handle(edge, request)
    }),
    post("/dashboard/act-pictures", RouteAccess::Viewer, PICTURED_ACTS_BODY, |edge, request| {
        dashboard::acts::picture_acts.handle(edge, request)
    }),
    post("/dashboard/sites", RouteAccess::Viewer, DENIED_SITE_BODY, |edge, request| {
        dashboard::acts::deny_site.handle(edge, request)
    }),
];

/// A route that is read: it takes no body.
const fn read(path: &'static str, access: RouteAccess, handler: RouteHandler) -> RouteRule {
    RouteRule { method: Method::GET, path, access, body: 0, handler }
}

/// A route that takes a body of at most `body` bytes.
const fn post(
    path: &'static str,
    access: RouteAccess,
    body: usize,
    handler: RouteHandler,
) -> RouteRule {
    RouteRule { method: Method::POST, path, access, body, handler }
}

/// A route to which extensions post that poll.
const fn polled(path: &'static str, handler: RouteHandler) -> RouteRule {
    post(path, RouteAccess::Poller, EXTENSION_BODY, handler)
}

/// Takes events of pages that a polling extension posts.
fn ingest(
    kind: LegacyStream,
    edge: Arc<EdgeState>,
    request: Request,
) -> BoxFuture<'static, Response> {
    let ingest =
        move |state: State<Arc<EdgeState>>, principal: Extension<Principal>, body: Body| {
            legacy::ingest(kind, state, principal, body)
        };
    ingest.handle(edge, request)
}

/// A handler that takes parts of a request, as axum fills them in.
trait RequestHandler<Parts> {
    fn handle(self, edge: Arc<EdgeState>, request: Request) -> BoxFuture<'static, Response>;
}

impl<Parts, H: Handler<Parts, Arc<EdgeState>>> RequestHandler<Parts> for H {
    fn handle(self, edge: Arc<EdgeState>, request: Request) -> BoxFuture<'static, Response> {
        Box::pin(self.call(request, edge))
    }
}

/// The table's routes behind the guard. There is no way to add one.
#[derive(Clone, Debug)]
pub(super) struct GuardedRoutes(Arc<EdgeState>);

impl GuardedRoutes {
    /// The routes of this edge.
    pub(super) const fn of(edge: Arc<EdgeState>) -> Self {
        Self(edge)
    }

    /// Answers one request, if the guard lets it pass.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response {
        let (mut parts, body) = request.map(Body::new).into_parts();
        match self.0.guard.check(&parts) {
            Ok((principal, rule)) => {
                if let Some(holder) = principal.holder()
                    && let Some(connection) = parts.extensions.get::<ConnectionHandle>()
                {
                    connection.prove(holder);
                }
                // Handlers take the principal from here and never from headers.
                parts.extensions.insert(principal);
                let mut response =
                    (rule.handler)(self.0.clone(), Request::from_parts(parts, body)).await;
                if rule.path == MCP_PATH {
                    self.tell_clock(&mut response);
                }
                response
            }
            Err(error @ HttpError::TooLarge { .. }) => {
                // A client that still sends would see a broken connection and not the error.
                body::drain(body).await;
                error.into_response()
            }
            Err(error) => error.into_response(),
        }
    }

    /// Tells a caller the clock by which its next call can say when it is too late. Only one whose token is
    /// right: without it, all paths look alike.
    fn tell_clock(&self, response: &mut Response) {
        let clock = self.0.tools.hub().run_clock().to_string();
        if let Ok(clock) = HeaderValue::from_maybe_shared(Bytes::from(clock)) {
            response.headers_mut().insert(HeaderName::from_static(CLOCK_HEADER), clock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_documented() {
        let page = include_str!("../../docs/protocol.md");
        for RouteRule { method, path, .. } in &TABLE {
            assert!(page.contains(&format!("| `{method} {path}")), "{method} {path}");
        }
    }

    #[test]
    fn an_id_is_one_part_of_a_path() {
        let rule = TABLE.iter().find(|rule| rule.path.ends_with("{id}")).unwrap();
        assert!(rule.is_for("/api/commands/exec_1"));
        for other in ["/api/commands", "/api/commands/", "/api/commands/a/b", "/api/command/a"] {
            assert!(!rule.is_for(other), "{other}");
        }
    }

    #[test]
    fn what_is_public_is_no_more_than_it_was() {
        let public: Vec<_> =
            TABLE.iter().filter(|rule| rule.access == RouteAccess::Program).collect();
        assert!(public.iter().all(|rule| rule.method == Method::GET && rule.body == 0));
        let paths: Vec<_> = public.iter().map(|rule| rule.path).collect();
        assert_eq!(paths, ["/health", "/settings", "/pending-queries"]);
    }
}
