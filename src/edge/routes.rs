//! Every route: its callers, the size of its body, and its handler.
//!
//! One table. The router is made of it and of nothing else, so there is no route that does
//! not say who may call it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodFilter, MethodRouter, any, on};
use hyper::body::Incoming;
use tower::Service as _;

use super::connections::ConnectionHandle;
use super::guard::{
    ANSWER_BODY, CODE_BODY, DRAWING_BODY, EXTENSION_BODY, MCP_BODY, Principal, SESSION_BODY,
};
use super::http_error::HttpError;
use super::{EdgeState, admin, body, dashboard, frames, health, legacy, mcp, ws};
use crate::protocol::{FRAMES_PATH, SESSION_PATH, WS_PATH};
use crate::streams::LegacyStream;

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
}

/// Makes the handler of a route for its method.
type RouteHandler = fn(MethodFilter) -> MethodRouter<Arc<EdgeState>>;

/// One route: its callers and its handler.
pub(super) struct RouteRule {
    pub(super) method: Method,
    /// As the router has it: a last part `{id}` stands for any one part.
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

/// Every route. A path that is missing here exists for nobody.
pub(super) static TABLE: [RouteRule; 41] = [
    read("/health", RouteAccess::Program, |method| on(method, health)),
    read(WS_PATH, RouteAccess::Extension, |method| on(method, ws::upgrade)),
    post(SESSION_PATH, RouteAccess::Extension, SESSION_BODY, |method| on(method, frames::begin)),
    read(FRAMES_PATH, RouteAccess::Session, |method| on(method, frames::exchange)),
    post(FRAMES_PATH, RouteAccess::Session, EXTENSION_BODY, |method| on(method, frames::exchange)),
    post("/mcp", RouteAccess::Owner, MCP_BODY, |method| on(method, mcp::serve)),
    read("/mcp", RouteAccess::Owner, |method| on(method, mcp::serve)),
    read("/settings", RouteAccess::Program, |method| on(method, legacy::settings)),
    read("/pending-queries", RouteAccess::Program, |method| on(method, legacy::pending_queries)),
    post("/settings", RouteAccess::Asker, SESSION_BODY, |method| on(method, legacy::settings)),
    post("/sync", RouteAccess::Asker, EXTENSION_BODY, |method| on(method, legacy::sync)),
    polled("/query-result", |method| on(method, legacy::result)),
    polled("/execute-result", |method| on(method, legacy::result)),
    polled("/dom-result", |method| on(method, legacy::result)),
    polled("/a11y-result", |method| on(method, legacy::result)),
    polled("/highlight-result", |method| on(method, legacy::result)),
    polled("/state-result", |method| on(method, legacy::result)),
    polled("/screenshots", |method| on(method, legacy::noted)),
    polled("/logs", |method| on(method, legacy::logs)),
    RouteRule {
        method: Method::DELETE,
        path: "/logs",
        access: RouteAccess::Poller,
        body: 0,
        handler: |method| on(method, legacy::logs),
    },
    polled("/extension-logs", |method| ingest(method, LegacyStream::ExtensionLogs)),
    polled("/network-waterfall", |method| ingest(method, LegacyStream::NetworkWaterfall)),
    polled("/network-bodies", |method| ingest(method, LegacyStream::NetworkBodies)),
    polled("/websocket-events", |method| ingest(method, LegacyStream::WebsocketEvents)),
    polled("/enhanced-actions", |method| ingest(method, LegacyStream::EnhancedActions)),
    polled("/performance-snapshots", |method| ingest(method, LegacyStream::PerformanceSnapshots)),
    polled("/api/extension-status", |method| on(method, legacy::noted)),
    post("/draw-mode/complete", RouteAccess::Poller, DRAWING_BODY, |method| {
        on(method, legacy::drawing)
    }),
    read("/api/status", RouteAccess::Owner, |method| on(method, admin::status)),
    read("/api/commands", RouteAccess::Owner, |method| on(method, admin::commands)),
    read("/api/commands/{id}", RouteAccess::Owner, |method| on(method, admin::command)),
    read("/api/asks", RouteAccess::Owner, |method| on(method, admin::asks)),
    post("/api/asks", RouteAccess::Owner, ANSWER_BODY, |method| on(method, admin::answer_ask)),
    post("/api/asks/forget", RouteAccess::Owner, ANSWER_BODY, |method| {
        on(method, admin::forget_consents)
    }),
    post("/api/sites", RouteAccess::Owner, 0, |method| on(method, admin::reload_sites)),
    post("/dashboard/codes", RouteAccess::Opener, 0, |method| on(method, dashboard::code)),
    read("/dashboard", RouteAccess::Page, |method| on(method, dashboard::page)),
    post("/dashboard", RouteAccess::HandOver, CODE_BODY, |method| on(method, dashboard::hand_over)),
    read("/dashboard/files/{id}", RouteAccess::Page, |method| on(method, dashboard::file)),
    read("/dashboard/feed", RouteAccess::Viewer, |method| on(method, dashboard::feed)),
    read("/dashboard/commands/{id}", RouteAccess::Viewer, |method| on(method, dashboard::command)),
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

/// A route on which polling extensions post events of pages.
fn ingest(method: MethodFilter, kind: LegacyStream) -> MethodRouter<Arc<EdgeState>> {
    on(method, move |state: State<Arc<EdgeState>>, principal: Extension<Principal>, body: Body| {
        legacy::ingest(kind, state, principal, body)
    })
}

/// The table's routes behind the guard. There is no way to add one.
#[derive(Clone, Debug)]
pub(super) struct GuardedRoutes(Router);

impl GuardedRoutes {
    /// The routes of this edge.
    pub(super) fn of(edge: Arc<EdgeState>) -> Self {
        let mut router = Router::new();
        // `answers` covers all methods of a path: the router panics at a method that it gets twice.
        for (number, RouteRule { path, .. }) in TABLE.iter().enumerate() {
            let is_new = TABLE.iter().take(number).all(|before| before.path != *path);
            if is_new {
                router = router.route(path, answers(path));
            }
        }
        // Around the fallback too, so that an unknown path passes the same checks.
        let guard = middleware::from_fn_with_state(edge.clone(), admit);
        Self(router.fallback(|| async { HttpError::NoRoute }).layer(guard).with_state(edge))
    }

    /// Answers one request, if the guard lets it pass.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response {
        // A router is always ready.
        let Ok(response) = self.0.clone().call(request).await;
        response
    }
}

/// The handlers of this path, one for each of its methods.
fn answers(path: &str) -> MethodRouter<Arc<EdgeState>> {
    // A router that only knew methods would tell those who may not know which there are.
    let nobody = any(|| async { HttpError::Undeclared });
    TABLE.iter().filter(|rule| rule.path == path).fold(nobody, |known, rule| {
        match MethodFilter::try_from(rule.method.clone()) {
            Ok(method) => known.merge((rule.handler)(method)),
            Err(_unknown) => known,
        }
    })
}

/// Every request passes here first; handlers find out by the extension who was let in.
async fn admit(State(edge): State<Arc<EdgeState>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let routed = parts.extensions.get::<MatchedPath>().is_some();
    match edge.guard.check(&parts, routed) {
        Ok(principal) => {
            if let Some(holder) = principal.holder()
                && let Some(connection) = parts.extensions.get::<ConnectionHandle>()
            {
                connection.prove(holder);
            }
            // Handlers take the principal from here and never from headers.
            parts.extensions.insert(principal);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(error @ HttpError::TooLarge { .. }) => {
            // A client that still sends would see a broken connection and not the error.
            body::drain(body).await;
            error.into_response()
        }
        Err(error) => error.into_response(),
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
