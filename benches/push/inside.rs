//! The daemon's work on a submit, timed within one process: no sockets, and the same kind
//! of runtime.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::value::RawValue;
use tabwire::hub::{Caller, ExtensionLink, Hub, Outbox, RequestContext, Submission};
use tabwire::lifecycle::{Limits, Peer};
use tabwire::mcp::{self, CallRegistry, IncomingMessage, McpHeaders, ProtocolGeneration};
use tabwire::proof::DEFAULT_OWNER;
use tabwire::protocol::actions::ExecuteJsAction;
use tabwire::protocol::{
    Action, Attempt, BrowserTab, CorrelationId, ExtensionReport, FromExtension, ReadyFrame, TabId,
    ToExtension, Transport,
};
use tabwire::tools::{NowOrLater, ToolSet, ToolSurface};
use testkit::load::{self, SampleSeries, now};

use crate::table::Measured;

/// Times `Hub::submit` and, around it, the handling of the whole message.
pub(crate) fn measure(to: &mut Measured, warm_up: usize, calls: usize) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measuring = runtime.spawn(async move {
        let mut inside = Inside::start();
        inside.submits(warm_up).await?;
        let hub_submit = inside.submits(calls).await?;
        let message = inside.messages(calls).await?;
        inside.hub.shut_down().await;
        anyhow::Ok((hub_submit, message))
    });
    (to.hub_submit, to.message) = runtime.block_on(measuring)??;
    Ok(())
}

/// A hub with an extension.
struct Inside {
    hub: Hub,
    caller: Caller,
    link: ExtensionLink,
    outbox: Outbox,
}

impl Inside {
    fn start() -> Self {
        let hub = Hub::start(Limits { calls_per_minute: 0, ..Limits::default() });
        let caller = Caller { owner: DEFAULT_OWNER.into(), client: "bench".into() };
        let peer = Peer { browser: "bench".into(), instance: "bench".into() };
        let (link, outbox) = hub.attach(peer, Transport::WebSocket, "0.1.0".to_owned());
        let tab = BrowserTab {
            tab_id: TabId(7),
            window_id: 1,
            url: String::new(),
            title: String::new(),
            active: true,
            focused: true,
            ref_prefix: None,
            discarded: false,
            frozen: false,
            former_ids: Vec::new(),
            private: false,
        };
        link.receive(FromExtension::Ready(ReadyFrame {
            label: "Bench".to_owned(),
            user_agent: String::new(),
            actions: vec!["execute_js".to_owned()],
            session: None,
            tabs: vec![tab],
            in_flight: Vec::new(),
            draws_for: None,
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
            hands_over: None,
        }));
        Self { hub, caller, link, outbox }
    }

    async fn submits(&mut self, calls: usize) -> anyhow::Result<SampleSeries> {
        let mut took = SampleSeries::default();
        for _ in 0..calls {
            let submission = Submission::of(Action::ExecuteJs(ExecuteJsAction {
                script: "document.title".to_owned(),
                user_gesture: None,
            }));
            let began = now();
            let accepted = self.hub.submit(&self.caller, submission).await;
            took.add(now() - began);
            accepted.map_err(|refused| anyhow::anyhow!("{}", refused.why.message()))?;
            self.bring_to_its_end().await?;
        }
        Ok(took)
    }

    async fn messages(&mut self, calls: usize) -> anyhow::Result<SampleSeries> {
        let tools = ToolSet::new(self.hub.clone(), Duration::ZERO);
        let in_progress = CallRegistry::default();
        let headers =
            McpHeaders { version: Some("2025-11-25".to_owned()), ..McpHeaders::default() };
        let body = load::interact(load::SCRIPT);
        let surface = ToolSurface::default();
        let mut took = SampleSeries::default();
        for _ in 0..calls {
            let began = now();
            let Ok(IncomingMessage::Request(request)) = IncomingMessage::parse(&body) else {
                bail!("no request")
            };
            let Ok(generation) = ProtocolGeneration::of(&request, Some(&headers)) else {
                bail!("no era")
            };
            let answer = mcp::handle(
                (&tools, None),
                &in_progress,
                &self.caller,
                request,
                generation,
                RequestContext::default(),
                &surface,
            )
            .await;
            took.add(now() - began);
            let NowOrLater::Now(done) = answer.outcome else { bail!("not answered at once") };
            anyhow::ensure!(done.text.contains("queued"), "not queued: {}", done.text);
            self.bring_to_its_end().await?;
        }
        Ok(took)
    }

    /// Runs the command that was delivered, and reads its result.
    async fn bring_to_its_end(&mut self) -> anyhow::Result<()> {
        let ToExtension::Command { attempt, command } = self.next_frame().await? else {
            bail!("no command")
        };
        let id = command.correlation_id;
        self.link.receive(FromExtension::Claim { correlation_id: id.clone(), attempt });
        let ToExtension::Go { .. } = self.next_frame().await? else { bail!("no go") };
        self.link.receive(complete(id.clone(), attempt)?);
        let ToExtension::ResultAck { .. } = self.next_frame().await? else { bail!("no ack") };
        self.hub.mark_read(&self.caller, &id);
        Ok(())
    }

    async fn next_frame(&mut self) -> anyhow::Result<ToExtension> {
        self.outbox.next().await.ok().context("the link ended")
    }
}

fn complete(correlation_id: CorrelationId, attempt: Attempt) -> anyhow::Result<FromExtension> {
    let result = RawValue::from_string(r#"{"success":true}"#.to_owned())?;
    let report = ExtensionReport::Complete { result: Arc::from(result), origin: None };
    Ok(FromExtension::Report { correlation_id, attempt, report })
}
