//! `tabwire trace`: one command's timeline, phase by phase.

use std::process::ExitCode;

use anyhow::bail;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::commands::{style, text, timestamp};
use super::daemon_client::{DaemonAnswer, DaemonClient};
use crate::config::DaemonLocation;
use crate::protocol::CorrelationId;
use crate::terminal::{LocalTime, TextStyle, TextTable, clean, print_line};

pub(super) async fn trace(
    location: &DaemonLocation,
    id: &str,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let daemon = DaemonClient::of(location)?;
    let answer = look(&daemon, id).await?;
    if json {
        let found = answer.status == StatusCode::OK;
        print_line(serde_json::to_string_pretty(&answer.body)?)?;
        return Ok(if found { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let story = match answer {
        DaemonAnswer { status: StatusCode::GONE, body } => bail!(
            "{id} ended, and its record expired at {}: the daemon keeps records for 60 s after the end",
            timestamp(&body["gone_at"]).map_or_else(String::new, |at| LocalTime::new().clock(at))
        ),
        DaemonAnswer { status: StatusCode::NOT_FOUND, body }
            if body["error"] == "no_such_command" =>
        {
            bail!("unknown command {id}; `tabwire commands` lists the known ones")
        }
        DaemonAnswer { status: StatusCode::CONFLICT, body } => {
            bail!("{}", clean(text(&body["message"])))
        }
        answer => answer.ok()?,
    };
    for line in lines(&story) {
        print_line(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How many ids that begin alike are named.
const NAMED: usize = 5;

/// Looks for the command of this id, or else for the one whose id begins so: a terminal shows no
/// more of it.
async fn look(daemon: &DaemonClient, id: &str) -> anyhow::Result<DaemonAnswer> {
    let ask = async |id: &str| daemon.get(&format!("/api/commands/{id}")).await;
    // A whole id is answered even after its command has left the list, so it is tried first.
    let answer = ask(id).await?;
    if answer.status != StatusCode::NOT_FOUND {
        return Ok(answer);
    }
    let known = daemon.get("/api/commands").await?.ok()?;
    let ids = known["commands"].as_array().into_iter().flatten();
    let ids = ids.map(|command| text(&command["correlation_id"]));
    let alike: Vec<_> = ids.filter(|known| CorrelationId::begins(known, id)).collect();
    match alike.as_slice() {
        [] => Ok(answer),
        [only] => Ok(ask(only).await?),
        several => Ok(DaemonAnswer { status: StatusCode::CONFLICT, body: ambiguous(id, several) }),
    }
}

/// The whole id of the one known command whose id begins so.
pub(super) async fn whole_id(location: &DaemonLocation, beginning: &str) -> Option<String> {
    let answer = look(&DaemonClient::of(location).ok()?, beginning).await.ok()?;
    answer.body["correlation_id"].as_str().map(str::to_owned)
}

fn ambiguous(id: &str, alike: &[&str]) -> Value {
    let named = alike.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let count = alike.len();
    let message = format!("{count} ids begin with {id}: {named}. Give more characters of one");
    json!({"error": "ambiguous_id", "message": message})
}

fn lines(story: &Value) -> Vec<String> {
    let status = text(&story["status"]);
    let took = story["duration_ms"].as_f64().map(|ms| format!(" after {ms:.1} ms"));
    let mut lines = vec![format!(
        "{}  {}  {}{}",
        clean(text(&story["correlation_id"])),
        clean(text(&story["command"])),
        style(status).paint(status),
        took.unwrap_or_default()
    )];
    let mut where_to = format!("client {}", clean(text(&story["client"])));
    if let Some(browser) = story["browser_label"].as_str().or(story["browser"].as_str()) {
        where_to.push_str(&format!(", browser {}", clean(browser)));
    }
    if let Some(tab) = story["tab_id"].as_i64() {
        where_to.push_str(&format!(", tab {tab}"));
    }
    where_to.push_str(&format!(", may run {} ms", story["timeout_ms"]));
    lines.push(where_to);
    let notes = [("reason", "reason"), ("error", "error"), ("now", "message"), ("next", "hint")];
    for (name, field) in notes {
        if let Some(note) = story[field].as_str() {
            lines.push(format!("{name}: {}", clean(note)));
        }
    }
    if status != "complete" && status != "pending" && story["may_have_run"] == true {
        lines.push("the command may have begun in the page".to_owned());
    }
    for file in story["files"].as_array().into_iter().flatten() {
        let (name, site) = (clean(text(&file["name"])), clean(text(&file["site"])));
        lines.push(format!("file: {name} ({} bytes) for {site}", file["size"]));
    }
    lines.push(String::new());
    lines.extend(timeline(&story["trace"]).lines());
    lines
}

fn timeline(trace: &Value) -> TextTable {
    let mut table = TextTable::new(&["PHASE", "AT", "AFTER MS", "STEP MS", "ATTEMPT"]);
    let zone = LocalTime::new();
    let mut before = 0.0;
    for entry in trace.as_array().into_iter().flatten() {
        let after = entry["after_ms"].as_f64().unwrap_or_default();
        let at = timestamp(&entry["at"]).map(|at| zone.clock_with_millis(at));
        let attempt = entry["attempt"].as_u64().map(|attempt| attempt.to_string());
        table.row([
            (text(&entry["phase"]), TextStyle::Plain),
            (at.as_deref().unwrap_or("-"), TextStyle::Dim),
            (&format!("{after:.3}"), TextStyle::Plain),
            (&format!("+{:.3}", after - before), TextStyle::Plain),
            (attempt.as_deref().unwrap_or("-"), TextStyle::Dim),
        ]);
        before = after;
    }
    table
}
