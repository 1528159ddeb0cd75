//! Spans on their way to a collector, over OTLP/HTTP: only if the person who starts the daemon names one.
//!
//! The hub gives the span of each command that is over to a channel, and this task sends those of a
//! second together. A collector that is slow or away fills the channel: the spans beyond are lost and
//! counted, and no command waits.

mod endpoint;
#[cfg(feature = "otlp")]
mod sending;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::hub::Hub;
pub use endpoint::{EndpointError, OtlpEndpoint};
#[cfg(feature = "otlp")]
use sending::send;

/// How many spans may wait: as much as the SDKs of OpenTelemetry keep. A span has about 1 KB.
const WAITING_MAX: usize = 2_048;

/// Sends the spans of a hub's commands until it is told to finish.
#[derive(Debug)]
pub struct SpanExporter {
    finish: mpsc::Sender<()>,
    sending: JoinHandle<()>,
}

/// Why no spans can be sent.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "this program was built without OTLP: build it with `--features otlp`, or leave out --otlp"
)]
pub struct NoOtlp;

impl SpanExporter {
    /// Whether this build can send spans.
    ///
    /// # Errors
    ///
    /// [`NoOtlp`].
    pub const fn check_built() -> Result<(), NoOtlp> {
        if cfg!(feature = "otlp") { Ok(()) } else { Err(NoOtlp) }
    }

    /// Sends the spans of this hub to this collector. Must be called in a tokio runtime.
    #[must_use]
    pub fn start(hub: Hub, endpoint: OtlpEndpoint) -> Self {
        let (sink, spans) = mpsc::channel(WAITING_MAX);
        hub.export_spans(sink);
        let (finish, finished) = mpsc::channel(1);
        Self { finish, sending: tokio::spawn(send(hub, endpoint, spans, finished)) }
    }

    /// Returns when the spans up to now are sent, or the collector has not taken them in time.
    pub async fn finish(self) {
        drop(self.finish);
        // The task keeps to a time of its own from here on.
        let _ = self.sending.await;
    }
}

#[cfg(not(feature = "otlp"))]
async fn send(
    _hub: Hub,
    _endpoint: OtlpEndpoint,
    _spans: mpsc::Receiver<crate::spans::CommandSpan>,
    _finished: mpsc::Receiver<()>,
) {
}

#[cfg(feature = "otlp")]
#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::hub::{Caller, Submission};
    use crate::lifecycle::Limits;
    use crate::protocol::Action;
    use crate::protocol::actions::PageInfoAction;

    /// How many commands end: more than wait in the channel and in the request of the task.
    const ENDS: usize = WAITING_MAX + 700;

    fn submission() -> Submission {
        Submission::of(Action::PageInfo(PageInfoAction {}))
    }

    fn counted(hub: &Hub, fate: &str) -> usize {
        let text = hub.metrics_text(None);
        let series = format!("tabwire_spans_total{{fate=\"{fate}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.map_or(0, |number| number.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_collector_that_is_away_costs_no_command_and_every_lost_span_is_counted() {
        let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", unused.local_addr().unwrap()).parse().unwrap();
        // From here on nobody listens there.
        drop(unused);
        let hub = Hub::start(Limits::default());
        let exporter = SpanExporter::start(hub.clone(), endpoint);
        let caller = Caller { owner: "ann".into(), client: "ann".into() };
        let begun = hub.now();
        for _ in 0..ENDS {
            let id = hub.submit(&caller, submission()).await.unwrap().id;
            hub.ask_to_cancel(&caller, &id);
        }
        assert_eq!(hub.now().since(begun), Duration::ZERO, "no command has waited");
        assert!(counted(&hub, "queue_full") >= ENDS - WAITING_MAX - 512, "the channel is bounded");
        hub.shut_down().await;
        let ending = tokio::time::timeout(Duration::from_secs(1), exporter.finish());
        assert!(ending.await.is_ok(), "the end is bounded");
        assert_eq!(counted(&hub, "queue_full") + counted(&hub, "failed"), ENDS);
        assert_eq!(counted(&hub, "exported"), 0);
    }
}
