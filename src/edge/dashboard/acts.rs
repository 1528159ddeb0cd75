//! The person's acts in the dashboard: on commands of any agent and on tabs.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use crate::edge::EdgeState;
use crate::edge::body::read_body;
use crate::edge::guard::{DENIED_SITE_BODY, PICTURED_ACTS_BODY, Principal, TAKEN_TAB_BODY};
use crate::edge::http_error::{HttpError, json_response, no_site_rules, storage_unavailable};
use crate::edge::routes::id_in;
use crate::home::SiteRulesError;
use crate::protocol::{BrowserId, SiteChange, SiteList, SitePattern, TabId};

/// The person stops a command of any agent.
pub(in crate::edge) async fn stop(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let is_stopped = edge.tools.hub().stop_by_person(&id_in(&uri).into());
    json_response(StatusCode::OK, json!({"stopped": is_stopped}).to_string())
}

/// The person stops every command of all agents that has not ended. Agents may send new ones.
pub(in crate::edge) async fn stop_all(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let stopped = edge.tools.hub().stop_all_by_person();
    json_response(StatusCode::OK, json!({"stopped": stopped}).to_string())
}

/// The person has a command that failed submitted again, for the client that sent it.
pub(in crate::edge) async fn retry(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    uri: Uri,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let told = match edge.tools.retry(&id_in(&uri).into()).await {
        Ok(retried) => json!({"correlation_id": retried.id, "is_new": retried.is_new}),
        Err(refusal) => json!({"refused": refusal.to_string()}),
    };
    json_response(StatusCode::OK, told.to_string())
}

/// A tab that the person takes back.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct TakenTab {
    browser: BrowserId,
    tab_id: TabId,
}

/// The person takes a tab back from the agent that holds it.
pub(in crate::edge) async fn take_tab(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let body = match read_body(body, TAKEN_TAB_BODY).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let Ok(TakenTab { browser, tab_id }) = serde_json::from_slice(&body) else {
        let told =
            json!({"error": "invalid_tab", "hint": "Send {\"browser\": ID, \"tab_id\": NUMBER}."});
        return json_response(StatusCode::BAD_REQUEST, told.to_string());
    };
    let is_taken = edge.tools.hub().take_tab_by_person(&browser, tab_id);
    json_response(StatusCode::OK, json!({"taken": is_taken}).to_string())
}

/// Whether the person sees the tabs of acts before and after them.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PicturedActs {
    on: bool,
}

/// The person switches on or off that tabs are pictured before and after acts.
pub(in crate::edge) async fn picture_acts(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let body = match read_body(body, PICTURED_ACTS_BODY).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let Ok(PicturedActs { on }) = serde_json::from_slice(&body) else {
        let told =
            json!({"error": "invalid_switch", "hint": "Send {\"on\": true} or {\"on\": false}."});
        return json_response(StatusCode::BAD_REQUEST, told.to_string());
    };
    edge.tools.hub().picture_acts(on);
    json_response(StatusCode::OK, json!({"on": on}).to_string())
}

/// A site that the person denies to agents. No field of it can allow one.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DeniedSite {
    deny: String,
}

/// The person denies a site to agents, as with `tabwire sites deny`.
pub(in crate::edge) async fn deny_site(
    State(edge): State<Arc<EdgeState>>,
    Extension(principal): Extension<Principal>,
    body: Body,
) -> Response {
    let Principal::Viewer = principal else { return HttpError::Undeclared.into_response() };
    let body = match read_body(body, DENIED_SITE_BODY).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let Some(sites) = edge.tools.sites() else { return no_site_rules() };
    let Ok(DeniedSite { deny }) = serde_json::from_slice(&body) else {
        return invalid_site("The body names no site to deny", PATTERN_HINT);
    };
    let pattern = match SitePattern::parse(&deny) {
        Ok(pattern) => pattern,
        Err(why) => return invalid_site(&why.to_string(), PATTERN_HINT),
    };
    let told = json!({"denied": pattern}).to_string();
    match sites.change(&SiteChange::Add { list: SiteList::Deny, pattern }) {
        Ok(_rules) => json_response(StatusCode::OK, told),
        Err(SiteRulesError::Change(why)) => invalid_site(&why.to_string(), RULES_HINT),
        Err(SiteRulesError::Home(why)) => storage_unavailable(&why),
    }
}

/// For a text that is no pattern.
const PATTERN_HINT: &str =
    "Write a host such as example.com, *.example.com or https://example.com:8443.";

/// For a rule that does not fit in.
const RULES_HINT: &str =
    "`tabwire sites` lists the rules, and `tabwire sites remove SITE` removes one.";

fn invalid_site(why: &str, hint: &str) -> Response {
    let told = json!({"error": "invalid_site", "message": why, "hint": hint});
    json_response(StatusCode::BAD_REQUEST, told.to_string())
}
