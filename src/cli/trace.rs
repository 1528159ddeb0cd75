//! `tabwire trace`: one command's way, phase by phase.

use std::process::ExitCode;

use anyhow::bail;
use hyper::StatusCode;
use serde_json::Value;

use super::ask::{Answer, Daemon};
use super::commands::{style, text, time_of_day};
use crate::config::Place;
use crate::terminal::{Style, Table, clean, say};

pub(super) async fn trace(place: &Place, id: &str, json: bool) -> anyhow::Result<ExitCode> {
    let daemon = Daemon::of(place)?;
    let answer = look(&daemon, id).await?;
    if json {
        let found = answer.status == StatusCode::OK;
        say(serde_json::to_string_pretty(&answer.body)?)?;
        return Ok(if found { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let story = match answer {
        Answer { status: StatusCode::GONE, body } => bail!(
            "{id} is over, and its record went at {}: records are kept for 60 s after the end",
            clean(text(&body["gone_at"]))
        ),
        Answer { status: StatusCode::NOT_FOUND, body } if body["error"] == "no_such_command" => {
            bail!("there is no command {id}; `tabwire commands` lists those that are known")
        }
        answer => answer.ok()?,
    };
    for line in lines(&story) {
        say(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Looks for the command of this id, or else for the one whose id begins so: a narrow
/// terminal shows no more of it.
async fn look(daemon: &Daemon, id: &str) -> anyhow::Result<Answer> {
    let ask = async |id: &str| daemon.get(&format!("/api/commands/{id}")).await;
    let answer = ask(id).await?;
    if answer.status != StatusCode::NOT_FOUND {
        return Ok(answer);
    }
    let known = daemon.get("/api/commands").await?.ok()?;
    let ids = known["commands"].as_array().into_iter().flatten();
    let ids: Vec<_> = ids.map(|command| text(&command["correlation_id"])).collect();
    let alike: Vec<_> = ids.into_iter().filter(|known| known.starts_with(id)).collect();
    match alike.as_slice() {
        [only] => Ok(ask(only).await?),
        _ => Ok(answer),
    }
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
    if let Some(browser) = story["browser"].as_str() {
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
        lines.push("it may have begun in the page".to_owned());
    }
    lines.push(String::new());
    lines.extend(timeline(&story["trace"]).lines());
    lines
}

fn timeline(trace: &Value) -> Table {
    let mut table = Table::new(&["PHASE", "AT (UTC)", "AFTER MS", "STEP MS", "ATTEMPT"]);
    let mut before = 0.0;
    for entry in trace.as_array().into_iter().flatten() {
        let after = entry["after_ms"].as_f64().unwrap_or_default();
        let attempt = entry["attempt"].as_u64().map(|attempt| attempt.to_string());
        table.row([
            (text(&entry["phase"]), Style::Plain),
            (time_of_day(text(&entry["at"])), Style::Dim),
            (&format!("{after:.3}"), Style::Plain),
            (&format!("+{:.3}", after - before), Style::Plain),
            (attempt.as_deref().unwrap_or("-"), Style::Dim),
        ]);
        before = after;
    }
    table
}
