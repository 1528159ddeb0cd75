//! The task that sends spans.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::{Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::OtlpEndpoint;
use crate::hub::Hub;
use crate::metrics::SpanFate;
use crate::spans::{CommandSpan, SpanSource, rejected_spans, trace_request};

/// How long a span may wait for others.
const GATHERED: Duration = Duration::from_secs(1);

/// The most spans of one request.
const REQUEST_MAX: usize = 512;

/// How long the collector has for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The pauses before a request is repeated: the first one, and the longest one. Each is twice the one
/// before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long the end of the daemon waits for the collector. The daemon has 5 s for its whole end.
const FINISH: Duration = Duration::from_millis(500);

/// The longest answer that is read, in bytes.
const ANSWER_MAX: usize = 64 * 1024;

/// The fate of one request.
enum PostOutcome {
    /// The collector has taken the spans, but this many.
    Taken { rejected: u64 },
    /// To send them again may help, after this pause if the collector names one.
    Later { why: String, pause: Option<Duration> },
    /// To send them again does not help.
    Refused { why: String },
}

struct SpanSender {
    hub: Hub,
    endpoint: OtlpEndpoint,
    source: SpanSource,
    http: Client<HttpConnector, Full<Bytes>>,
    /// Whether the log has the present trouble already.
    is_failing: bool,
}

/// Sends spans as they come, until the daemon ends.
pub(super) async fn send(
    hub: Hub,
    endpoint: OtlpEndpoint,
    mut spans: mpsc::Receiver<CommandSpan>,
    mut finished: mpsc::Receiver<()>,
) {
    let source = SpanSource { instance: hub.epoch().to_string() };
    let http = Client::builder(TokioExecutor::new()).build_http();
    let mut sender = SpanSender { hub, endpoint, source, http, is_failing: false };
    // What a request has that is cut off by the end stays here.
    let mut gathered = Vec::new();
    tokio::select! {
        () = sender.send_all(&mut spans, &mut gathered) => {}
        _ = finished.recv() => {}
    }
    if timeout(FINISH, sender.send_rest(&mut spans, &mut gathered)).await.is_err() {
        sender.note_trouble("it has not answered before the daemon ended");
    }
    let left = gathered.len() + spans.len();
    sender.hub.count_spans(SpanFate::Failed, left);
}

impl SpanSender {
    /// Sends spans without end.
    async fn send_all(
        &mut self,
        spans: &mut mpsc::Receiver<CommandSpan>,
        gathered: &mut Vec<CommandSpan>,
    ) {
        loop {
            if spans.recv_many(gathered, REQUEST_MAX).await == 0 {
                // The hub has gone, and with it everything that could come.
                return;
            }
            if gathered.len() < REQUEST_MAX {
                sleep(GATHERED).await;
                take_waiting(spans, gathered);
            }
            self.deliver(gathered).await;
        }
    }

    /// Sends the spans that wait.
    async fn send_rest(
        &mut self,
        spans: &mut mpsc::Receiver<CommandSpan>,
        gathered: &mut Vec<CommandSpan>,
    ) {
        take_waiting(spans, gathered);
        while !gathered.is_empty() {
            self.deliver(gathered).await;
            take_waiting(spans, gathered);
        }
    }

    /// Sends these spans until the collector takes or refuses them. None are left then.
    async fn deliver(&mut self, gathered: &mut Vec<CommandSpan>) {
        let body = Bytes::from(trace_request(&self.source, gathered));
        let mut pause = FIRST_PAUSE;
        loop {
            match self.post(body.clone()).await {
                PostOutcome::Taken { rejected } => {
                    let rejected = usize::try_from(rejected).unwrap_or(usize::MAX);
                    let rejected = rejected.min(gathered.len());
                    self.hub.count_spans(SpanFate::Exported, gathered.len() - rejected);
                    self.hub.count_spans(SpanFate::Failed, rejected);
                    self.is_failing = false;
                    break;
                }
                PostOutcome::Refused { why } => {
                    self.note_trouble(&why);
                    self.hub.count_spans(SpanFate::Failed, gathered.len());
                    break;
                }
                PostOutcome::Later { why, pause: named } => {
                    self.note_trouble(&why);
                    sleep(named.unwrap_or(pause).min(LONGEST_PAUSE)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
        gathered.clear();
    }

    async fn post(&self, body: Bytes) -> PostOutcome {
        let later = |why: String| PostOutcome::Later { why, pause: None };
        let request = Request::post(self.endpoint.uri())
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(body));
        let request = match request {
            Ok(request) => request,
            Err(error) => return PostOutcome::Refused { why: error.to_string() },
        };
        let answering = async {
            let answer = self.http.request(request).await.map_err(|error| error.to_string())?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, ANSWER_MAX).collect().await;
            Ok::<_, String>((head, body.map(|body| body.to_bytes()).unwrap_or_default()))
        };
        let (head, body) = match timeout(ANSWER, answering).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(why)) => return later(why),
            Err(_) => return later(format!("no answer within {} s", ANSWER.as_secs())),
        };
        match head.status {
            status if status.is_success() => PostOutcome::Taken { rejected: rejected_spans(&body) },
            // The ones that OTLP lists as worth a repetition.
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => {
                let named = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
                let pause = named.and_then(|text| text.parse().ok()).map(Duration::from_secs);
                PostOutcome::Later { why: format!("HTTP status {}", head.status), pause }
            }
            status => PostOutcome::Refused {
                why: format!("HTTP status {status}; does the address take OTLP over HTTP?"),
            },
        }
    }

    /// One line of the log is enough for one absence of the collector.
    fn note_trouble(&mut self, why: &str) {
        if !self.is_failing {
            tracing::warn!(
                endpoint = %self.endpoint, why,
                "the collector takes no spans: start it, or correct --otlp; `tabwire metrics` counts the lost ones"
            );
        }
        self.is_failing = true;
    }
}

/// Adds the spans that wait, as many as a request may have.
fn take_waiting(spans: &mut mpsc::Receiver<CommandSpan>, gathered: &mut Vec<CommandSpan>) {
    while gathered.len() < REQUEST_MAX
        && let Ok(span) = spans.try_recv()
    {
        gathered.push(span);
    }
}
