//! The hub under virtual time: what an agent, a browser and the clock do to each other.

#![expect(clippy::wildcard_enum_match_arm, reason = "whatever else comes fails the test")]

use std::collections::HashMap;

use serde_json::value::RawValue;
use tokio::time::advance;

use super::*;
use crate::engine::ClockAnchor;
use crate::lifecycle::{Lane, Peer, Tombstone, limits};
use crate::protocol::actions::ExecuteJsAction;
use crate::protocol::{
    Action, Attempt, BrowserId, BrowserSession, BrowserTab, CommandStatus, ExtensionReport,
    FromExtension, InFlight, InFlightState, InstanceId, NackReason, ReadyFrame, ReportedError,
    TabId, ToExtension, TracePhase, Transport,
};

mod absence;
mod act_pictures;
mod asks;
mod browser_names;
mod caps;
mod consents;
mod ending;
mod far_owners;
mod following;
mod hand_overs;
mod host_tasks;
mod knocks;
mod leases;
mod links;
mod opened_tabs;
mod own_pages;
mod owners;
mod page_states;
mod pollers;
mod private_tabs;
mod recorded;
mod scenarios;
mod scopes;
mod sites;
mod sleep;
mod streams;
mod syncs;
mod targets;
mod waiting;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn agent(client: &str) -> Caller {
    Caller { owner: "user".into(), client: client.into() }
}

fn script() -> Submission {
    let action = Action::ExecuteJs(ExecuteJsAction {
        script: "document.title".to_owned(),
        user_gesture: None,
    });
    Submission::of(action)
}

fn script_of(text: &str) -> Submission {
    Submission {
        action: Action::ExecuteJs(ExecuteJsAction { script: text.to_owned(), user_gesture: None }),
        ..script()
    }
}

fn script_in(tab: i64) -> Submission {
    Submission { selector: TargetSelector { browser: None, tab: Some(TabId(tab)) }, ..script() }
}

/// The tabs of a browser with one window. The first one is active.
fn tabs(ids: std::ops::RangeInclusive<i64>, url: &str) -> Vec<BrowserTab> {
    let first = *ids.start();
    let tab = |id| BrowserTab {
        tab_id: TabId(id),
        window_id: 1,
        url: url.to_owned(),
        title: "Home Page".to_owned(),
        active: id == first,
        focused: true,
        ref_prefix: None,
        discarded: false,
        frozen: false,
        former_ids: Vec::new(),
        private: false,
    };
    ids.map(tab).collect()
}

/// An extension at the hub's own seam: no sockets, so that time can be virtual.
struct Extension {
    link: ExtensionLink,
    outbox: Outbox,
}

impl Extension {
    fn attach(hub: &Hub, browser: &str, instance: &str) -> Self {
        let peer = Peer { browser: BrowserId::from(browser), instance: InstanceId::from(instance) };
        let (link, outbox) = hub.attach(peer, Transport::WebSocket, "0.1.0".to_owned());
        Self { link, outbox }
    }

    fn connect(hub: &Hub, browser: &str, instance: &str) -> Self {
        let extension = Self::attach(hub, browser, instance);
        extension.ready(Vec::new());
        extension
    }

    fn ready(&self, in_flight: Vec<InFlight>) {
        self.ready_with(None, tabs(1..=10, "http://127.0.0.1/"), in_flight);
    }

    /// The same, as the extension of a browser that calls itself so.
    fn ready_as(&self, label: &str) {
        self.ready_in(label, None, tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    }

    fn ready_with(&self, session: Option<&str>, tabs: Vec<BrowserTab>, in_flight: Vec<InFlight>) {
        self.ready_in("Test", session, tabs, in_flight);
    }

    fn ready_in(
        &self,
        label: &str,
        session: Option<&str>,
        tabs: Vec<BrowserTab>,
        in_flight: Vec<InFlight>,
    ) {
        let session = session.map(BrowserSession::from);
        self.link.receive(FromExtension::Ready(ReadyFrame {
            session,
            tabs,
            in_flight,
            ..ready(label, Vec::new())
        }));
    }

    /// The same, with drawing tools that are open for these waits.
    fn ready_to_draw(&self, draws_for: Vec<CorrelationId>) {
        self.link.receive(FromExtension::Ready(ready("Test", draws_for)));
    }

    async fn frame(&mut self) -> ToExtension {
        // Longer than an acknowledgement waits for callers that do not look.
        tokio::time::timeout(Duration::from_millis(20), self.outbox.next())
            .await
            .expect("a frame is there")
            .expect("the link is up")
    }

    /// Nothing is there to be read.
    async fn is_quiet(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(1), self.outbox.next()).await.is_err()
    }

    async fn command(&mut self) -> (CorrelationId, Attempt, bool) {
        match self.frame().await {
            ToExtension::Command { attempt, command } => {
                (command.correlation_id, attempt, command.redelivered)
            }
            other => panic!("expected a command, got {other:?}"),
        }
    }

    /// The next command, and the tab that it is for.
    async fn command_and_tab(&mut self) -> (CorrelationId, Option<i64>) {
        match self.frame().await {
            ToExtension::Command { command, .. } => {
                (command.correlation_id, command.tab_id.map(|tab| tab.0))
            }
            other => panic!("expected a command, got {other:?}"),
        }
    }

    fn claim(&self, id: &CorrelationId, attempt: Attempt) {
        self.link.receive(FromExtension::Claim { correlation_id: id.clone(), attempt });
    }

    fn report(&self, id: &CorrelationId, attempt: Attempt, report: ExtensionReport) {
        self.link.receive(FromExtension::Report { correlation_id: id.clone(), attempt, report });
    }

    /// Takes the next command up to the point where it runs.
    async fn begin(&mut self) -> (CorrelationId, Attempt) {
        let (id, attempt, _) = self.command().await;
        self.claim(&id, attempt);
        assert!(matches!(self.frame().await, ToExtension::Go { .. }));
        (id, attempt)
    }

    /// Runs the next command, after the news that come before it; its tab.
    async fn run_one(&mut self) -> Option<TabId> {
        let (attempt, command) = loop {
            if let ToExtension::Command { attempt, command } = self.frame().await {
                break (attempt, command);
            }
        };
        if !command.safe {
            self.claim(&command.correlation_id, attempt);
            while !matches!(self.frame().await, ToExtension::Go { .. }) {}
        }
        self.report(&command.correlation_id, attempt, result("x"));
        while !matches!(self.frame().await, ToExtension::ResultAck { .. }) {}
        command.tab_id
    }

    async fn complete(&mut self, id: &CorrelationId, attempt: Attempt, value: &str) {
        self.report(id, attempt, result(value));
        assert!(matches!(self.frame().await, ToExtension::ResultAck { .. }));
    }
}

/// What an extension says that has nothing under way.
fn ready(label: &str, draws_for: Vec<CorrelationId>) -> ReadyFrame {
    let actions = [
        "draw_mode",
        "execute_js",
        "navigate",
        "tab_list",
        "tab_open",
        "tab_close",
        "click",
        "snapshot",
    ];
    ReadyFrame {
        label: label.to_owned(),
        user_agent: "Test".to_owned(),
        actions: actions.map(str::to_owned).to_vec(),
        session: None,
        tabs: tabs(1..=10, "http://127.0.0.1/"),
        in_flight: Vec::new(),
        draws_for: Some(draws_for),
        site_rules: None,
        stopped: None,
        older_extensions: None,
        act_rules: None,
        asks_first: None,
        names: None,
        shared_tabs: Vec::new(),
        private_tabs: Some(true),
        far_owners: None,
        tab_scopes: None,
        hands_over: Some(true),
    }
}

fn result(value: &str) -> ExtensionReport {
    let json = format!("{{\"success\":true,\"value\":{value:?},\"type\":\"string\"}}");
    ExtensionReport::Complete { result: RawValue::from_string(json).unwrap().into(), origin: None }
}

fn pending() -> ExtensionReport {
    ExtensionReport::Pending { message: None, progress: None, dialog: None }
}

async fn look(hub: &Hub, client: &str, id: &CorrelationId) -> CommandStatus {
    match hub.get(&agent(client), id, false).await.unwrap() {
        CommandLookup::Command(report) => report.status,
        other => panic!("{id} should be known: {other:?}"),
    }
}

fn reason(status: &CommandStatus) -> &str {
    match status {
        CommandStatus::Expired { reason, .. } => reason,
        other => panic!("expected expired, got {other:?}"),
    }
}

fn failures(hub: &Hub, client: &str) -> HashMap<CorrelationId, String> {
    let failures = hub.failures(&agent(client)).into_iter();
    failures.map(|failure| (failure.correlation_id, failure.error.to_string())).collect()
}

/// Lets the timer have its turn at a deadline that has just come.
async fn pass(length: Duration) {
    advance(length).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
}
