//! A response that is read as it comes.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{HeaderMap, Response, StatusCode};
use serde_json::Value;

use super::published::{check_answer, check_notification};
use super::soon;

/// A response whose head has come. To drop it closes its connection, unless it is at its end.
pub struct EventStream {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The request that it answers, if that calls a tool.
    request: Value,
    body: Incoming,
    unread: String,
}

impl EventStream {
    pub fn of(response: Response<Incoming>) -> Self {
        Self::answering(Value::Null, response)
    }

    /// The answer to a call of a tool.
    pub fn answering(request: Value, response: Response<Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let (status, headers) = (head.status, head.headers);
        Self { status, headers, request, body, unread: String::new() }
    }

    fn check(&self, message: &Value) {
        check_notification(message);
        if message["id"] == self.request["id"] {
            check_answer(&self.request, message);
        }
    }

    pub fn is_events(&self) -> bool {
        self.headers.get("content-type").is_some_and(|named| named == "text/event-stream")
    }

    /// What comes up to the next empty line, as it came; `None` at the end.
    pub async fn block(&mut self) -> Option<String> {
        soon("more of a stream", self.later_block()).await
    }

    /// The same, however long it takes.
    pub async fn later_block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.unread.find("\n\n") {
                let block = self.unread.drain(..end + 2).collect::<String>();
                return Some(block.trim_end().to_owned());
            }
            let Some(frame) = self.body.frame().await else {
                assert_eq!(self.unread, "", "half an event");
                return None;
            };
            let data = frame.unwrap().into_data().unwrap();
            self.unread.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    /// The next message; `None` at the end.
    pub async fn message(&mut self) -> Option<Value> {
        let block = self.block().await?;
        let data = block.strip_prefix("event: message\ndata: ");
        let data = data.unwrap_or_else(|| panic!("not one message: {block}"));
        let message = serde_json::from_str(data).unwrap();
        self.check(&message);
        Some(message)
    }

    /// All that still comes, and it does come to its end.
    pub async fn rest(&mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(message) = self.message().await {
            messages.push(message);
        }
        messages
    }

    /// The whole body of an answer that is no stream.
    pub async fn json(self) -> Value {
        let request = self.request;
        let body = soon("a body", self.body.collect()).await.unwrap().to_bytes();
        let answer = serde_json::from_slice(&body).unwrap();
        check_answer(&request, &answer);
        answer
    }
}
