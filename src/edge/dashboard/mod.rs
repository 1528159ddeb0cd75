//! The dashboard: the page on which the person sees every agent, tab and command live.
//!
//! A link of `tabwire open` is a code that counts once and for 30 s. The page sends it by POST and
//! gets a token of its own kind, which opens the routes below and nothing else.

pub(super) mod access;
pub(super) mod acts;
mod drawings;
mod feed;
mod inspection;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::EdgeState;
use super::body::read_body;
use super::guard::{CODE_BODY, Principal};
use super::http_error::{HttpError, json_response};
use super::routes::id_in;
use crate::protocol::ActMoment;
use crate::tools::PictureFile;

/// The page, with the place for its token.
const PAGE: &str = include_str!("page/dashboard.html");

/// The place of the token in the page.
const TOKEN: &str = "{{token}}";

/// Lets in the page's own files and nothing else; no text becomes code or markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the page: its name, its type, its content.
type PageFile = (&'static str, &'static str, &'static [u8]);

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

static FILES: [PageFile; 22] = [
    ("dashboard.css", "text/css; charset=utf-8", include_bytes!("page/dashboard.css")),
    ("palette.css", "text/css; charset=utf-8", include_bytes!("page/palette.css")),
    ("dashboard.js", JAVASCRIPT, include_bytes!("page/dashboard.js")),
    ("commands.js", JAVASCRIPT, include_bytes!("page/commands.js")),
    ("deny_site.js", JAVASCRIPT, include_bytes!("page/deny_site.js")),
    ("detail.js", JAVASCRIPT, include_bytes!("page/detail.js")),
    ("detail_panel.js", JAVASCRIPT, include_bytes!("page/detail_panel.js")),
    ("drawings.js", JAVASCRIPT, include_bytes!("page/drawings.js")),
    ("entry_detail.js", JAVASCRIPT, include_bytes!("page/entry_detail.js")),
    ("export.js", JAVASCRIPT, include_bytes!("page/export.js")),
    ("feed.js", JAVASCRIPT, include_bytes!("page/feed.js")),
    ("lists.js", JAVASCRIPT, include_bytes!("page/lists.js")),
    ("measures.js", JAVASCRIPT, include_bytes!("page/measures.js")),
    ("panels.js", JAVASCRIPT, include_bytes!("page/panels.js")),
    ("parts.js", JAVASCRIPT, include_bytes!("page/parts.js")),
    ("phases.js", JAVASCRIPT, include_bytes!("page/phases.js")),
    ("picture_acts.js", JAVASCRIPT, include_bytes!("page/picture_acts.js")),
    ("pictures.js", JAVASCRIPT, include_bytes!("page/pictures.js")),
    ("recordings.js", JAVASCRIPT, include_bytes!("page/recordings.js")),
    ("rows.js", JAVASCRIPT, include_bytes!("page/rows.js")),
    ("stop_all.js", JAVASCRIPT, include_bytes!("page/stop_all.js")),
    ("icon.png", "image/png", include_bytes!("../../../extension-shim/icons/icon-48.png")),
];

/// A code for `tabwire open`.
pub(super) async fn code(State(edge): State<Arc<EdgeState>>) -> Response {
    let code = edge.guard.dashboard().issue_code(edge.tools.hub().now());
    let expires_in_ms = access::CODE_LIFE.as_millis();
    json_response(StatusCode::OK, json!({"code": code, "expires_in_ms": expires_in_ms}).to_string())
}

/// The page without a token. It shows how to get one, or goes on with the one that its tab has.
pub(super) async fn page() -> Response {
    page_with(StatusCode::OK, "")
}

/// Exchanges a code for a token, in the page.
pub(super) async fn hand_over(State(edge): State<Arc<EdgeState>>, body: Body) -> Response {
    let body = match read_body(body, CODE_BODY).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let code = std::str::from_utf8(&body).ok().and_then(|form| form.strip_prefix("code="));
    let now = edge.tools.hub().now();
    match code.and_then(|code| edge.guard.dashboard().exchange(code, now)) {
        Some(token) => page_with(StatusCode::OK, &token),
        // The page itself says how to get another link.
        None => page_with(StatusCode::FORBIDDEN, ""),
    }
}

fn page_with(status: StatusCode, token: &str) -> Response {
    let mut response = file_response("text/html; charset=utf-8", PAGE.replacen(TOKEN, token, 1));
    *response.status_mut() = status;
    response
}

/// One of the page's files.
pub(super) async fn file(uri: Uri) -> Response {
    let name = id_in(&uri);
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, content)) => file_response(kind, *content),
        None => HttpError::NoRoute.into_response(),
    }
}

fn file_response(kind: &'static str, content: impl Into<Body>) -> Response {
    let mut response = Response::new(content.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // The page has a token in it.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        // A page that opens this one gets no handle to it, and is in another process.
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("origin-agent-cluster", "?1"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// The one stream of a viewer.
pub(super) async fn feed(
    State(edge): State<Arc<EdgeState>>,
    RawQuery(query): RawQuery,
) -> Response {
    let Some(place) = edge.guard.dashboard().viewer_place() else {
        return HttpError::TooManyViewers.into_response();
    };
    let lines = feed::open(&edge, query.as_deref().unwrap_or_default(), place);
    let mut response = Response::new(Body::from_stream(lines));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The arguments and the result of one command, without secrets.
pub(super) async fn command(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let id = id_in(&uri).into();
    match edge.tools.hub().inspected(&id) {
        Some(command) => {
            let moments = edge.tools.hub().pictured_moments(&id);
            kept_nowhere(inspection::told(&command, &moments).to_string())
        }
        None => HttpError::NoRoute.into_response(),
    }
}

/// One picture of a command, by the command's id, a dot and the picture's number; or of its tab, by `before`
/// or `after` in place of the number.
pub(super) async fn picture(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let hub = edge.tools.hub();
    let of_tab = |id: &str, moment| {
        let bytes = hub.act_picture(&id.into(), moment)?.to_vec();
        Some(PictureFile { bytes, mime_type: "image/jpeg" })
    };
    let picture = id_in(&uri).rsplit_once('.').and_then(|(id, which)| match which {
        "before" => of_tab(id, ActMoment::Before),
        "after" => of_tab(id, ActMoment::After),
        number => inspection::picture(&hub.inspected(&id.into())?, number.parse().ok()?),
    });
    picture_response(picture)
}

/// The newest drawings of all owners.
pub(super) async fn drawings(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let Some(kept) = edge.tools.annotations() else { return HttpError::NoRoute.into_response() };
    match drawings::told(kept).await {
        Some(told) => kept_nowhere(told.to_string()),
        None => HttpError::NoRoute.into_response(),
    }
}

/// The picture of one drawing.
pub(super) async fn drawing(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let Some(kept) = edge.tools.annotations() else { return HttpError::NoRoute.into_response() };
    picture_response(drawings::picture(kept, id_in(&uri)).await)
}

fn picture_response(picture: Option<PictureFile>) -> Response {
    match picture {
        Some(PictureFile { bytes, mime_type }) => file_response(mime_type, bytes),
        None => HttpError::NoRoute.into_response(),
    }
}

/// One recorded entry of any tab, without typed values.
pub(super) async fn entry(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    match edge.tools.hub().recorded_entry(id_in(&uri)) {
        Some(entry) => kept_nowhere(entry.get().to_owned()),
        None => HttpError::NoRoute.into_response(),
    }
}

/// An answer that no cache keeps.
fn kept_nowhere(json: String) -> Response {
    let mut response = json_response(StatusCode::OK, json);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::sleep;

    use super::*;
    use crate::edge::{EdgeServer, PeerUser};
    use crate::home::StateDirectory;
    use crate::hub::{Caller, Hub, Submission};
    use crate::lifecycle::Limits;
    use crate::protocol::actions::PageInfoAction;
    use crate::protocol::{Action, StreamKind};
    use crate::streams::LegacyStream;
    use crate::tools::ToolSet;

    /// A viewer that asks for the stream and reads nothing of it.
    async fn stuck_viewer(server: &EdgeServer, query: &str) -> DuplexStream {
        let (access, now) = (server.edge.guard.dashboard(), server.edge.tools.hub().now());
        let token = access.exchange(&access.issue_code(now), now).unwrap();
        let (mut ours, theirs) = duplex(512);
        server.handle_connection(theirs, ([127, 0, 0, 1], 1).into(), PeerUser::Ours);
        let head = format!(
            "GET /dashboard/feed{query} HTTP/1.1\r\nHost: 127.0.0.1:1234\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        ours.write_all(head.as_bytes()).await.unwrap();
        ours
    }

    /// As many viewers as there may be, none of which reads.
    async fn all_stuck(server: &EdgeServer, query: &str) -> Vec<DuplexStream> {
        let mut viewers = Vec::new();
        while server.edge.guard.dashboard().viewer_place().is_some() {
            viewers.push(stuck_viewer(server, query).await);
            sleep(Duration::from_millis(10)).await;
        }
        assert!(!viewers.is_empty());
        viewers
    }

    async fn assert_dropped(server: &EdgeServer, hub: &Hub) {
        let begun = hub.now();
        while server.edge.guard.dashboard().viewer_place().is_none() {
            let waited = hub.now().since(begun);
            assert!(waited < Duration::from_secs(3 * 3_600), "all are still served");
            sleep(Duration::from_secs(10)).await;
        }
    }

    fn server_of(hub: &Hub, dir: &std::path::Path) -> EdgeServer {
        let home = StateDirectory::open(&dir.join("state")).unwrap();
        let tools = ToolSet::new(hub.clone(), Duration::ZERO);
        EdgeServer::new(1234, home, tools, None, crate::install::BrowserFolders::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_viewer_that_does_not_read_holds_up_no_command_and_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Hub::start(Limits { queued: 1_000, ..Limits::default() });
        let server = server_of(&hub, dir.path());
        let _viewers = all_stuck(&server, "").await;
        let begun = hub.now();
        for _ in 0..500 {
            let call = Submission::of(Action::PageInfo(PageInfoAction {}));
            let caller = Caller { owner: "ann".into(), client: "ann".into() };
            hub.submit(&caller, call).await.unwrap();
        }
        assert_eq!(hub.now().since(begun), Duration::ZERO, "no submission has waited");
        assert_dropped(&server, &hub).await;
        hub.shut_down().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_viewer_that_does_not_read_a_flood_of_entries_holds_none_up_and_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Hub::start(Limits::default());
        let server = server_of(&hub, dir.path());
        let _viewers = all_stuck(&server, "?entries=").await;
        let entry = |number: usize| json!({"level": "log", "message": format!("{number} {}", "x".repeat(500))});
        for round in 0..20 {
            let entries: Vec<_> = (0..200).map(|number| entry(round * 200 + number)).collect();
            let body = json!({"entries": entries}).to_string();
            let taken =
                hub.take_legacy_events(&"b".into(), LegacyStream::Logs, body).await.unwrap();
            assert_eq!((taken.received, taken.rejected), (200, 0));
            sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(hub.stream_entries(StreamKind::Logs), Limits::default().logs);
        assert_dropped(&server, &hub).await;
        hub.shut_down().await;
    }

    #[test]
    fn the_page_names_its_own_files_alone_and_has_no_script_or_style_inside() {
        for (name, kind, content) in &FILES {
            let Ok(text) = std::str::from_utf8(content) else { continue };
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split('\'').nth(1).unwrap();
                let imported = from.strip_prefix("./").unwrap();
                assert!(FILES.iter().any(|(known, ..)| *known == imported), "{name}: {from}");
            }
            assert!(!text.contains("innerHTML") && !text.contains("eval("), "{name}");
            assert!(kind.starts_with("text/") || *kind == "image/png", "{name}");
        }
        assert_eq!(PAGE.matches(TOKEN).count(), 1);
        for (_, after) in
            PAGE.match_indices("/dashboard/files/").map(|(at, head)| (at, &PAGE[at + head.len()..]))
        {
            let name = after.split('"').next().unwrap();
            assert!(FILES.iter().any(|(known, ..)| *known == name), "{name}");
        }
        assert!(!PAGE.contains("<style") && !PAGE.contains("style=") && !PAGE.contains(" on"));
        assert_eq!(PAGE.matches("<script").count(), 1);
    }
}
