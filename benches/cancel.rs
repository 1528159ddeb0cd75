//! How soon a running command is told to stop, by each way in which an agent can cancel it.
//!
//! `cargo bench --bench cancel` starts the release binary as a process of its own; this
//! process plays the agent and the extension. Counted from the cancel's leaving the agent to the
//! `cancel` frame at the extension; and, with a real Chromium and the real extension, to the end
//! of what the page was at.
//!
//! After `--`: `--quick` for a fifth, `--check` to exit with 1 if the required bound is missed.

#[path = "cancel/agent.rs"]
mod agent;
#[path = "cancel/page.rs"]
mod page;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use clap::Parser;
use tabwire::home::StateDirectory;
use tabwire::proof::DEFAULT_OWNER;
use testkit::ExtensionIdentity;
use testkit::load::{
    self, LoadClient, LoadExtension, MeasuredServer, ReceivedFrame, SCRIPT, SampleSeries, call,
    interact, now, verdict,
};

/// Required: how soon at p99, in ms.
const SOON: f64 = 100.0;

const ROUNDS: usize = 1_000;

/// With a browser.
const PAGE_ROUNDS: usize = 200;

/// Measures how soon a cancel is at the extension.
#[derive(Parser)]
#[command(name = "cancel")]
struct Options {
    /// A fifth of everything
    #[arg(long)]
    quick: bool,
    /// Exit with 1 if the required bound is missed
    #[arg(long)]
    check: bool,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

/// An agent with two connections, and the extension of its browser.
struct Stage {
    calls: LoadClient,
    cancels: LoadClient,
    extension: LoadExtension,
}

fn main() -> ExitCode {
    load::run("cancel", |options: &Options| options.check, bench)
}

async fn bench(options: &Options) -> anyhow::Result<bool> {
    let part = if options.quick { 5 } else { 1 };
    let rounds = ROUNDS / part;
    let state = tempfile::tempdir().context("no temporary directory")?;
    let home = state.path().join("state");
    let server = MeasuredServer::daemon(Path::new(testkit::program()), &home, &[])?;
    let mut stage = Stage::set(server.port, &StateDirectory::open(&home)?).await?;
    let [mut by_id, mut by_request] = [SampleSeries::default(), SampleSeries::default()];
    // In turns, so that noise of the machine hits both alike.
    for _ in 0..rounds {
        by_id.add(stage.cancel_by_id().await?);
        by_request.add(stage.cancel_by_request().await?);
    }
    drop(stage);
    let at_the_extension = [
        ("configure cancel".to_owned(), by_id),
        ("notifications/cancelled".to_owned(), by_request),
    ];
    let in_the_page = page::measure(state.path(), PAGE_ROUNDS / part).await?;
    let mut missed = false;
    for (way, took) in at_the_extension.into_iter().chain(in_the_page) {
        let (p50, p99) = (took.p50() / 1_000.0, took.p99() / 1_000.0);
        let says = format!(
            "{way}: {p50:.2} ms at p50, {p99:.2} ms at p99 of {} ({SOON:.0} are allowed)",
            took.count()
        );
        missed |= verdict(p99 <= SOON, &says)?;
    }
    Ok(missed)
}

impl Stage {
    async fn set(port: u16, home: &StateDirectory) -> anyhow::Result<Self> {
        let token = home.auth().token(&DEFAULT_OWNER.into());
        let calls = LoadClient::connect(port, token.clone(), Duration::ZERO).await?;
        let cancels = LoadClient::connect(port, token, Duration::ZERO).await?;
        let identity = ExtensionIdentity::new(port, home, "bench");
        let extension = LoadExtension::connect(port, &identity).await?;
        Ok(Self { calls, cancels, extension })
    }

    /// A command that runs, submitted by a call that does not wait.
    async fn cancel_by_id(&mut self) -> anyhow::Result<Duration> {
        let request = self.calls.request("/mcp", interact(&in_tab("")))?;
        let (_, command) = tokio::try_join!(self.calls.send(request), begin(&mut self.extension))?;
        let cancel = format!(r#""action":"cancel","correlation_id":"{}""#, command.id);
        let request = self.cancels.request("/mcp", call("configure", &cancel))?;
        let began = now();
        let (_, told) =
            tokio::try_join!(self.cancels.send(request), self.extension.frame("cancel"))?;
        self.stop(&command).await?;
        Ok(told.at - began)
    }

    /// A command that runs, submitted by a call that waits for it.
    async fn cancel_by_request(&mut self) -> anyhow::Result<Duration> {
        let request = self.calls.request("/mcp", interact(&in_tab(r#","wait_ms":10000"#)))?;
        let notification = Bytes::from_static(
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        );
        let cancel = self.cancels.request("/mcp", notification)?;
        let (extension, cancels) = (&mut self.extension, &mut self.cancels);
        let cancelling = async {
            let command = begin(extension).await?;
            let began = now();
            let (accepted, told) = tokio::join!(cancels.send(cancel), extension.frame("cancel"));
            // Its answer has no body, and is none of those that a call has.
            drop(accepted);
            anyhow::Ok((command, told?.at - began))
        };
        let (_, (command, took)) = tokio::try_join!(self.calls.send(request), cancelling)?;
        self.stop(&command).await?;
        Ok(took)
    }

    /// Says that the command has stopped, so that its tab is free.
    async fn stop(
        &mut self,
        ReceivedFrame { id, attempt, .. }: &ReceivedFrame,
    ) -> anyhow::Result<()> {
        let fence = format!(r#""correlation_id":"{id}","attempt":{attempt}"#);
        self.extension
            .send(format!(r#"{{"type":"cancelled",{fence},"may_have_run":true}}"#))
            .await?;
        self.extension.frame("result_ack").await?;
        Ok(())
    }
}

fn in_tab(more: &str) -> String {
    format!(r#"{SCRIPT},"tab_id":7{more}"#)
}

/// Takes the next command up to the point where it runs.
async fn begin(extension: &mut LoadExtension) -> anyhow::Result<ReceivedFrame> {
    let command = extension.frame("command").await?;
    let ReceivedFrame { id, attempt, .. } = &command;
    let claim = format!(r#"{{"type":"claim","correlation_id":"{id}","attempt":{attempt}}}"#);
    extension.send(claim).await?;
    extension.frame("go").await?;
    Ok(command)
}
