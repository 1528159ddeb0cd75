//! `tabwire demo`: a throw-away daemon and browser, driven through `tabwire mcp` as an
//! MCP client would. Everything it starts it ends, and everything it writes goes with
//! its temporary folder.

mod browser;
mod client;
mod page;
mod process;

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::extension;
use crate::home::StateDirectory;
use crate::os::StopSignals;
use crate::protocol::{EXTENSION_ID, SERVER_VERSION};
use crate::terminal::{ProgressNotice, clean, print_line};
pub use browser::{Browser, find_browser};
use client::Client;
use page::PageServer;

/// How long the browser may take to start and to connect, at most.
const CONNECT_MS: u64 = 30_000;

/// How many lines of a browser's output are shown if it ends.
const LAST_WORDS: usize = 5;

/// How long a person may look at each step in a window.
const LOOK: Duration = Duration::from_secs(1);

/// How the demonstration is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// The browser has a window, and each step takes its time.
    pub headed: bool,
    /// Each step is a line of JSON.
    pub json: bool,
}

/// One command of the demonstration.
struct Act {
    title: &'static str,
    arguments: Value,
    /// The status that it must end in.
    ends: &'static str,
    /// The part of its answer that is shown.
    show: fn(&Value) -> String,
}

/// Runs the demonstration.
///
/// # Errors
///
/// There is no browser, something could not be started, or a command did not end as it
/// should.
pub async fn run(manner: Manner) -> anyhow::Result<ExitCode> {
    let mut signals = StopSignals::listen_with_terminal()?;
    // Each value that is dropped here ends the processes that it started.
    tokio::select! {
        shown = show(manner) => return shown.map(|()| ExitCode::SUCCESS),
        _ = signals.next() => {}
    }
    bail!("interrupted; everything that was started is ended")
}

async fn show(manner: Manner) -> anyhow::Result<()> {
    if manner.headed {
        browser::check_display()?;
    }
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let chromium = find_browser()?;
    let folder = tempfile::Builder::new().prefix("tabwire-demo-").tempdir()?;
    let state = folder.path().join("state");
    manner.tell(
        &format!(
            "tabwire {SERVER_VERSION}: a throw-away daemon and browser, driven through `tabwire mcp`\n"
        ),
        || json!({"step": "begin", "version": SERVER_VERSION}),
    )?;

    let (daemon, port) = start_daemon(&program, &state).await?;
    manner
        .tell(&format!("  daemon    on port {port}"), || json!({"step": "daemon", "port": port}))?;
    let unpacked = folder.path().join("extension");
    extension::unpack(
        &unpacked,
        port,
        &StateDirectory::open(&state)?.auth().extension_key(EXTENSION_ID),
    )?;
    let pages = PageServer::start().await?;
    let first_page = pages.url("/");
    let launch = if manner.headed { Browser::launch_in_window } else { Browser::launch };
    let browser = launch(&chromium, &folder.path().join("profile"), &unpacked, &first_page)?;
    manner.tell(
        &format!("  browser   {} (process {})", chromium.display(), browser.id()),
        || json!({"step": "browser", "program": chromium, "pid": browser.id()}),
    )?;
    let mut client = Client::start(&program, &state).await?;
    manner.tell("  client    `tabwire mcp`, MCP over stdio\n", || json!({"step": "client"}))?;

    tokio::select! {
        driven = drive(&mut client, manner, acts(&pages)) => driven?,
        how = browser.ended() => bail!(
            "{} {how}. Try again, or name another browser in TABWIRE_BROWSER. Its last words:\n{}",
            chromium.display(),
            last_words(&browser.said())
        ),
    }

    let progress = ProgressNotice::start("ending everything");
    client.end().await?;
    browser.end().await;
    end_daemon(daemon).await?;
    drop(progress);
    manner.tell("\nAll of it was real, and none of it is left.", || json!({"step": "end"}))
}

impl Manner {
    /// Says a step, as text or as JSON.
    fn tell(self, text: &str, as_json: impl FnOnce() -> Value) -> anyhow::Result<()> {
        if self.json {
            print_line(as_json())?;
        } else {
            print_line(text)?;
        }
        Ok(())
    }

    /// Lets a person look.
    async fn pause(self) {
        if self.headed {
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn acts(pages: &PageServer) -> Vec<Act> {
    vec![
        Act {
            title: "a command waits for the browser to connect",
            arguments: json!({"action": "tab_list", "wait_ms": CONNECT_MS}),
            ends: "complete",
            show: |answer| {
                let tabs = answer["result"]["value"].as_array().map_or(0, Vec::len);
                format!("{tabs} tab(s)")
            },
        },
        Act {
            title: "the title of the page",
            arguments: json!({"action": "execute_js", "script": "document.title", "wait_ms": 10_000}),
            ends: "complete",
            show: |answer| answer["result"]["value"].to_string(),
        },
        Act {
            title: "a script that takes its time: it says `pending` after 2 s",
            arguments: json!({
                "action": "execute_js",
                "script": "await new Promise(done => setTimeout(done, 2500)); return 'awake'",
                "wait_ms": 10_000,
            }),
            ends: "complete",
            show: |answer| answer["result"]["value"].to_string(),
        },
        Act {
            title: "a script that throws",
            arguments: json!({
                "action": "execute_js",
                "script": "throw new RangeError('too much')",
                "wait_ms": 10_000,
            }),
            ends: "error",
            show: |answer| format!("{}: {}", answer["reason"], answer["error"]),
        },
        Act {
            title: "a script that never ends, with 1 s to run",
            arguments: json!({
                "action": "execute_js",
                "script": "while (true) {}",
                "timeout_ms": 1_000,
                "wait_ms": 10_000,
            }),
            ends: "timeout",
            show: |answer| answer["error"].to_string(),
        },
        Act {
            title: "a navigation",
            arguments: json!({"action": "navigate", "url": pages.url("/second"), "wait_ms": 15_000}),
            ends: "complete",
            show: |answer| answer["result"]["value"]["title"].to_string(),
        },
        Act {
            title: "a screenshot",
            arguments: json!({"action": "screenshot", "wait_ms": 15_000}),
            ends: "complete",
            show: |answer| {
                let picture = &answer["result"]["value"];
                format!("{} × {} {}", picture["width"], picture["height"], picture["mime_type"])
            },
        },
    ]
}

/// Each command after the other.
async fn drive(client: &mut Client, manner: Manner, acts: Vec<Act>) -> anyhow::Result<()> {
    for (number, act) in acts.into_iter().enumerate() {
        perform(client, manner, number + 1, &act).await?;
    }
    poll(client, manner).await
}

/// Calls, checks how it ended, and shows its timeline.
async fn perform(
    client: &mut Client,
    manner: Manner,
    number: usize,
    act: &Act,
) -> anyhow::Result<()> {
    let mut arguments = act.arguments.clone();
    arguments["trace"] = true.into();
    let action = arguments["action"].as_str().unwrap_or_default().to_owned();
    let progress = ProgressNotice::start(&format!("  {number}. {action}: {}", act.title));
    let answer = client.call("interact", arguments).await?;
    drop(progress);
    ensure!(
        answer["status"] == act.ends,
        "{action} should have ended as {} and answered: {answer}",
        act.ends
    );
    let text = format!(
        "  {number}. {action}: {}\n     {}  {}\n     {}",
        act.title,
        act.ends,
        clean(&(act.show)(&answer)),
        timeline(&answer["trace"])
    );
    manner.tell(&text, || step(number, &action, act.title, &answer))?;
    manner.pause().await;
    Ok(())
}

/// The same without blocking: submit, get an id at once, read the result by it.
async fn poll(client: &mut Client, manner: Manner) -> anyhow::Result<()> {
    const NUMBER: usize = 8;
    const TITLE: &str = "submitted, and read later";
    let arguments = json!({"action": "execute_js", "script": "location.pathname"});
    let queued = client.call("interact", arguments).await?;
    let id = queued["correlation_id"].as_str().context("no correlation id")?.to_owned();
    let arguments = json!({
        "what": "command_result", "correlation_id": id, "wait_ms": 10_000, "trace": true,
    });
    let answer = client.call("observe", arguments).await?;
    ensure!(answer["status"] == "complete", "it should be complete, and is: {answer}");
    let text = format!(
        "  {NUMBER}. execute_js: {TITLE}\n     {}  {id}\n     complete  {}\n     {}",
        text(&queued["status"]),
        answer["result"]["value"],
        timeline(&answer["trace"])
    );
    manner.tell(&text, || step(NUMBER, "execute_js", TITLE, &answer))?;
    manner.pause().await;
    Ok(())
}

fn last_words(said: &str) -> String {
    let lines: Vec<_> = said.lines().collect();
    let last = &lines[lines.len().saturating_sub(LAST_WORDS)..];
    last.iter().map(|line| format!("  {}", clean(line))).collect::<Vec<_>>().join("\n")
}

/// A command as a line of JSON; its result, which may be a picture, is left out.
fn step(number: usize, action: &str, title: &str, answer: &Value) -> Value {
    json!({
        "step": "command", "number": number, "action": action, "title": title,
        "status": answer["status"], "correlation_id": answer["correlation_id"],
        "trace": answer["trace"],
    })
}

/// The phases of a trace with their times in ms since the command was accepted.
fn timeline(trace: &Value) -> String {
    let phases = trace.as_array().into_iter().flatten();
    let phase = |entry: &Value| {
        let after = entry["after_ms"].as_f64().unwrap_or_default();
        format!("{} {after:.1}", text(&entry["phase"]))
    };
    format!("{} ms", phases.map(phase).collect::<Vec<_>>().join(" → "))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

async fn start_daemon(program: &Path, state: &PathBuf) -> anyhow::Result<(Child, u16)> {
    let mut daemon = Command::new(program)
        .args(["serve", "--json", "--port", "0"])
        .env("TABWIRE_HOME", state)
        .env("TABWIRE_LOG", "warn")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot start the daemon")?;
    let stdout = daemon.stdout.take().context("the daemon has no standard output")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await?;
    let said: Value = serde_json::from_str(&line).context("the daemon did not start")?;
    let port = said["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    Ok((daemon, port.context("the daemon did not say its port")?))
}

async fn end_daemon(mut daemon: Child) -> anyhow::Result<()> {
    process::ask_to_end(daemon.id());
    tokio::time::timeout(process::END, daemon.wait())
        .await
        .context("the daemon has not ended")??;
    Ok(())
}
