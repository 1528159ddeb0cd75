//! `GET /metrics`: counts and times for a collector, as OpenMetrics text.

use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::EdgeState;
use super::http_error::json_response;

/// OpenMetrics 1.0, section "Overall Structure".
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The endings of the journal's files.
const JOURNAL_ENDINGS: [&str; 2] = ["", "-wal"];

pub(super) async fn scrape(State(edge): State<Arc<EdgeState>>) -> Response {
    let size = journal_size(&edge.guard.home().journal_path());
    let mut response = json_response(StatusCode::OK, edge.tools.hub().metrics_text(size));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS));
    response
}

/// The bytes of the journal and of its log; `None`: the daemon keeps none.
fn journal_size(path: &Path) -> Option<u64> {
    let sizes = JOURNAL_ENDINGS.map(|ending| {
        let mut file = path.as_os_str().to_owned();
        file.push(ending);
        std::fs::metadata(file).map(|file| file.len()).ok()
    });
    sizes.into_iter().flatten().reduce(|sum, size| sum + size)
}
