//! `tabwire commands`: the list of commands, once or as it changes.

use std::collections::HashMap;
use std::process::ExitCode;

use anyhow::bail;
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::Incoming;
use serde_json::Value;

use super::daemon_client::DaemonClient;
use crate::config::DaemonLocation;
use crate::hub::ClockSample;
use crate::os::StopSignals;
use crate::protocol::{CorrelationId, Timestamp};
use crate::terminal::{self, LocalTime, TextStyle, TextTable, ago, clean, print_line, shortened};

/// The columns of a terminal, with the most characters of each: 80 with the gaps between them.
const ACTION: (&str, usize) = ("ACTION", 13);
const CLIENT: (&str, usize) = ("CLIENT", 14);
const STATUS: (&str, usize) = ("STATUS", 15);
const TOOK: (&str, usize) = ("TOOK", 6);
const WHEN: (&str, usize) = ("WHEN", 10);
const ID: (&str, usize) = ("ID", 12);

/// How the time of a command is shown on a terminal.
#[derive(Clone, Copy)]
enum CommandTimes<'a> {
    /// As an age.
    Ages(Timestamp),
    /// On the person's clock: a line that stays would have the wrong age.
    Clock(&'a LocalTime),
}

/// The rows of a terminal that a live table needs for headings, foot and prompt.
const ROWS_TAKEN: usize = 3;

/// How many commands a live view remembers at most; the oldest leave first.
const REMEMBERED: usize = 1_000;

pub(super) async fn list(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let daemon = DaemonClient::of(location)?;
    let body = daemon.get("/api/commands").await?.ok()?;
    if json {
        print_line(serde_json::to_string_pretty(&body)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let commands = body["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
    if commands.is_empty() && terminal::is_terminal() {
        print_line("no commands (the daemon keeps a command for 60 s after its end)")?;
    }
    for line in table(commands, CommandTimes::Ages(ClockSample::now().system)).lines() {
        print_line(line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows changes until Ctrl+C, the intended end, or until the daemon ends.
pub(super) async fn follow(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let mut signals = StopSignals::listen()?;
    let daemon = DaemonClient::of(location)?;
    let response = daemon.stream("/api/commands?follow=1").await?;
    if response.status() != StatusCode::OK {
        bail!(
            "the daemon rejected the request ({}). Run `tabwire doctor` to find the cause",
            response.status()
        );
    }
    let mut lines = EventLines { body: response.into_body(), unread: Vec::new() };
    let mut view = if json {
        CommandView::Json
    } else if terminal::is_terminal() {
        CommandView::Table(LiveTable::default())
    } else {
        CommandView::Plain(HashMap::new())
    };
    loop {
        let line = tokio::select! {
            biased;
            _ = signals.next() => break,
            line = lines.next() => line,
        };
        let Some(line) = line else { bail!("the daemon ended") };
        view.show(&line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines of an answer that goes on.
struct EventLines {
    body: Incoming,
    unread: Vec<u8>,
}

impl EventLines {
    /// The next line; `None` when the daemon is gone.
    ///
    /// Cancel safe: input that was read stays in `unread`.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = self.unread.drain(..=end).collect();
                return Some(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
            }
            // A frame may end within a line, so its bytes wait for the rest.
            let frame = self.body.frame().await?.ok()?;
            self.unread.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        }
    }
}

/// How changes are shown.
enum CommandView {
    /// As they come.
    Json,
    /// A line each; what was last said of a command, so as not to say it twice.
    Plain(HashMap<String, String>),
    /// A table that stays where it is.
    Table(LiveTable),
}

impl CommandView {
    fn show(&mut self, line: &str) -> anyhow::Result<()> {
        if let Self::Json = self {
            print_line(line)?;
            return Ok(());
        }
        let event: Value = serde_json::from_str(line)?;
        let commands = match event["event"].as_str() {
            Some("known") => event["commands"].as_array().cloned().unwrap_or_default(),
            Some("changed") => vec![event["command"].clone()],
            Some("skipped") => return self.skipped(&event["count"]),
            // A newer daemon may send events that this version does not know.
            Some(_) | None => return Ok(()),
        };
        match self {
            Self::Json => {}
            Self::Plain(said) => {
                for command in &commands {
                    print_change(said, command)?;
                }
            }
            Self::Table(live) => live.show(commands)?,
        }
        Ok(())
    }

    fn skipped(&mut self, count: &Value) -> anyhow::Result<()> {
        let note = format!("skipped {count} change(s) that came too fast");
        match self {
            Self::Json => {}
            // A leading # lets `cut` and `awk` drop the line easily.
            Self::Plain(_) => print_line(format!("# {note}"))?,
            Self::Table(live) => {
                live.note = note;
                live.show(Vec::new())?;
            }
        }
        Ok(())
    }
}

fn print_change(said: &mut HashMap<String, String>, command: &Value) -> anyhow::Result<()> {
    let id = text(&command["correlation_id"]).to_owned();
    let state = format!("{}\t{}", text(&command["status"]), text(&command["phase"]));
    if said.get(&id) == Some(&state) {
        return Ok(());
    }
    // Forgetting all costs one repeated line per command at most, and needs no order of age.
    if said.len() >= REMEMBERED {
        said.clear();
    }
    said.insert(id, state);
    for line in fields(std::slice::from_ref(command)).lines() {
        print_line(line)?;
    }
    Ok(())
}

/// A table that is written over itself.
#[derive(Default)]
struct LiveTable {
    commands: Vec<Value>,
    note: String,
    /// How many lines of it stand on the terminal.
    shown: usize,
    zone: LocalTime,
}

impl LiveTable {
    fn show(&mut self, changed: Vec<Value>) -> anyhow::Result<()> {
        for command in changed {
            let is_it = |known: &&mut Value| known["correlation_id"] == command["correlation_id"];
            match self.commands.iter_mut().find(is_it) {
                Some(known) => *known = command,
                None => self.commands.push(command),
            }
        }
        // New commands are pushed at the end, so the front has the oldest.
        let too_many = self.commands.len().saturating_sub(REMEMBERED);
        self.commands.drain(..too_many);
        let (width, height) = terminal::size();
        let rows = height.saturating_sub(ROWS_TAKEN).max(1);
        let newest = &self.commands[self.commands.len().saturating_sub(rows)..];
        let mut lines = columns(newest, CommandTimes::Clock(&self.zone)).lines();
        let foot = format!("{} command(s); Ctrl+C ends this. {}", self.commands.len(), self.note);
        // A foot that wraps would make the table one line longer than `shown` says.
        let foot: String = foot.chars().take(width).collect();
        lines.push(TextStyle::Dim.paint(&foot).into_owned());
        let back = match self.shown {
            0 => String::new(),
            // Up by the lines of the last table, then clear from there to the end of the screen.
            shown => format!("\x1b[{shown}F\x1b[J"),
        };
        self.shown = lines.len();
        terminal::print(format_args!("{back}{}\n", lines.join("\n")))?;
        Ok(())
    }
}

/// The commands for a person at a terminal, or a line of fields each for programs.
fn table(commands: &[Value], times: CommandTimes<'_>) -> TextTable {
    if terminal::is_terminal() { columns(commands, times) } else { fields(commands) }
}

/// Columns that fit 80 characters: who does what first.
fn columns(commands: &[Value], times: CommandTimes<'_>) -> TextTable {
    let mut table = TextTable::new(&[ACTION, CLIENT, STATUS, TOOK, WHEN, ID].map(|(name, _)| name));
    for command in commands {
        let status = status(command);
        let took = command["duration_ms"].as_f64().map_or_else(|| "-".to_owned(), duration_text);
        let when = timestamp(&command["created_at"]).map(|at| match times {
            CommandTimes::Ages(now) => ago(at, now),
            CommandTimes::Clock(zone) => zone.clock(at),
        });
        table.row([
            (&*shortened(text(&command["command"]), ACTION.1), TextStyle::Plain),
            (&shortened(text(&command["client"]), CLIENT.1), TextStyle::Plain),
            (&shortened(&status, STATUS.1), style(text(&command["status"]))),
            (&took, TextStyle::Plain),
            (when.as_deref().unwrap_or("-"), TextStyle::Dim),
            (CorrelationId::shown(text(&command["correlation_id"])), TextStyle::Plain),
        ]);
    }
    table
}

/// Everything that is known of each command, with the whole id and the time in UTC.
fn fields(commands: &[Value]) -> TextTable {
    let mut table = TextTable::new(&[""; 8]);
    for command in commands {
        let status = status(command);
        let took = command["duration_ms"].as_f64().map(|ms| format!("{ms:.1}"));
        let tab = command["tab_id"].as_i64().map(|tab| tab.to_string());
        table.row([
            (time_of_day(text(&command["created_at"])), TextStyle::Dim),
            (&status, style(text(&command["status"]))),
            (took.as_deref().unwrap_or("-"), TextStyle::Plain),
            (text(&command["correlation_id"]), TextStyle::Plain),
            (text(&command["command"]), TextStyle::Plain),
            (tab.as_deref().unwrap_or("-"), TextStyle::Plain),
            (text(&command["client"]), TextStyle::Plain),
            (&clean(browser_words(command)), TextStyle::Dim),
        ]);
    }
    table
}

/// What the browser of a command is called.
fn browser_words(command: &Value) -> &str {
    command["browser_label"].as_str().or(command["browser"].as_str()).unwrap_or("-")
}

/// A duration in at most six characters: `24 ms`, `12.3 s`, `10 min`.
fn duration_text(ms: f64) -> String {
    if ms < 999.5 {
        format!("{ms:.0} ms")
    } else if ms < 59_950.0 {
        format!("{:.1} s", ms / 1_000.0)
    } else {
        format!("{:.0} min", ms / 60_000.0)
    }
}

/// The status, and what it is at or why it ended so.
fn status(command: &Value) -> String {
    let status = text(&command["status"]);
    match (status, text(&command["reason"])) {
        ("pending", _) => text(&command["phase"]).to_owned(),
        (_, "") => status.to_owned(),
        (_, reason) if reason == status => status.to_owned(),
        (_, reason) => format!("{status}: {reason}"),
    }
}

pub(super) fn style(status: &str) -> TextStyle {
    match status {
        "complete" => TextStyle::Good,
        "error" | "timeout" | "expired" => TextStyle::Bad,
        "cancelled" => TextStyle::Notable,
        _ => TextStyle::Plain,
    }
}

/// A point in time as the daemon writes it.
pub(super) fn timestamp(value: &Value) -> Option<Timestamp> {
    serde_json::from_value(value.clone()).ok()
}

/// `22:38:41.675` of `2026-11-21T22:38:41.675Z`.
fn time_of_day(timestamp: &str) -> &str {
    timestamp.get(11..23).unwrap_or(timestamp)
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_duration_has_at_most_six_characters() {
        for (ms, says) in [
            (0.3, "0 ms"),
            (24.078, "24 ms"),
            (999.4, "999 ms"),
            (999.6, "1.0 s"),
            (59_900.0, "59.9 s"),
            (61_000.0, "1 min"),
            (5_940_000.0, "99 min"),
        ] {
            assert_eq!(duration_text(ms), says);
            assert!(says.len() <= TOOK.1);
        }
    }

    #[test]
    fn the_longest_command_has_a_row_of_80_columns_with_who_and_what_first() {
        let command = json!({
            "command": "wksm_monitor_sync", "client": "an-agent-with-a-long-name",
            "status": "expired", "reason": "extension_disconnected", "duration_ms": 59_940.0,
            "created_at": "2026-11-21T22:38:41.675Z",
            "correlation_id": "exec_1795300721675_6f71ae53d622db4ad4776e39d9143a37",
        });
        let now = timestamp(&json!("2026-11-21T23:37:42.000Z")).unwrap();
        let row = columns(&[command], CommandTimes::Ages(now)).lines().join("\n");
        let cells: Vec<_> = row.split('\t').collect();
        assert_eq!(
            cells,
            [
                "wksm_monitor…",
                "an-agent-with…",
                "expired: exten…",
                "59.9 s",
                "59 min ago",
                "6f71ae53d622"
            ]
        );
        let columns = [ACTION, CLIENT, STATUS, TOOK, WHEN, ID].map(|(_, most)| most);
        for (cell, most) in cells.iter().zip(columns) {
            assert!(cell.chars().count() <= most, "{cell}");
        }
        assert_eq!(columns.iter().sum::<usize>() + 2 * (columns.len() - 1), 80);
    }
}
