//! `GET /metrics`: counts and times for a collector, as OpenMetrics text.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::EdgeState;
use super::http_error::json_response;

/// OpenMetrics 1.0, section "Overall Structure".
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn scrape(State(edge): State<Arc<EdgeState>>) -> Response {
    let text = edge.tools.hub().metrics_text(edge.guard.home().journal_bytes());
    let mut response = json_response(StatusCode::OK, text);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS));
    response
}
