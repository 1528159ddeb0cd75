//! A stand-in for a model on the loopback: a test plays the model, step by step. It is also the
//! proxy to everything else, and lets nothing through.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};

use super::model_api::ModelApi;

/// The server that a program takes for its model's.
pub(super) struct ModelServer {
    pub(super) url: String,
    turns: mpsc::UnboundedReceiver<ModelTurn>,
    reached_for: Arc<Mutex<Vec<String>>>,
}

/// A request for the model's next step, which waits for it.
pub(super) struct ModelTurn {
    /// All that the model is shown.
    pub(super) request: Value,
    answer: oneshot::Sender<Vec<Value>>,
}

impl ModelTurn {
    pub(super) fn answer(self, events: Vec<Value>) {
        let _ = self.answer.send(events);
    }
}

impl ModelServer {
    pub(super) async fn start(api: &'static dyn ModelApi) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (to_test, turns) = mpsc::unbounded_channel();
        let reached_for = Arc::new(Mutex::new(Vec::new()));
        let desk = Arc::new(ModelDesk { api, to_test, reached_for: reached_for.clone() });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let desk = desk.clone();
                let service = service_fn(move |request| {
                    let desk = desk.clone();
                    async move { Ok::<_, Infallible>(desk.serve(request).await) }
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        Self { url, turns, reached_for }
    }

    /// The next request for a step of the model.
    pub(super) async fn turn(&mut self) -> ModelTurn {
        self.turns.recv().await.expect("the server lives as long as this")
    }

    /// What the program wanted to reach on other computers.
    pub(super) fn reached_for(&self) -> Vec<String> {
        self.reached_for.lock().unwrap().clone()
    }
}

/// What each request is answered with.
struct ModelDesk {
    api: &'static dyn ModelApi,
    to_test: mpsc::UnboundedSender<ModelTurn>,
    reached_for: Arc<Mutex<Vec<String>>>,
}

impl ModelDesk {
    async fn serve(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.uri().authority().is_some() {
            // Only a proxy is asked like that.
            let wanted = format!("{} {}", request.method(), request.uri());
            self.reached_for.lock().unwrap().push(wanted);
            return respond(StatusCode::FORBIDDEN, "text/plain", String::new());
        }
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
        let request: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
        if !self.api.is_turn(&path, &request) {
            return match self.api.answer_aside(&path) {
                Some(answer) => respond(StatusCode::OK, "application/json", answer.to_string()),
                None => {
                    let error = json!({"error": {"message": "this model does not have that"}});
                    respond(StatusCode::NOT_FOUND, "application/json", error.to_string())
                }
            };
        }
        let (answer, answered) = oneshot::channel();
        let _ = self.to_test.send(ModelTurn { request, answer });
        // A test that ends early answers nothing.
        let events = answered.await.unwrap_or_default();
        respond(StatusCode::OK, "text/event-stream", event_stream(&events))
    }
}

fn event_stream(events: &[Value]) -> String {
    let mut stream = String::new();
    for event in events {
        if let Some(name) = event["type"].as_str() {
            writeln!(stream, "event: {name}").unwrap();
        }
        write!(stream, "data: {event}\n\n").unwrap();
    }
    stream
}

fn respond(status: StatusCode, content_type: &str, body: String) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status).header(CONTENT_TYPE, content_type);
    response.body(Full::new(Bytes::from(body))).unwrap()
}
