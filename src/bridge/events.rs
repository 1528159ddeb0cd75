//! The events of a response, and the lines that become of them.

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use serde::Deserialize;
use tokio::sync::mpsc;

/// The messages of a body that is events.
pub(super) struct EventReader<B> {
    body: B,
    unread: Vec<u8>,
    /// Up to where there is no end of a line in `unread`.
    looked: usize,
    data: Option<String>,
}

/// Where the progress of a call goes.
pub(super) struct ProgressLines {
    lines: mpsc::Sender<String>,
    /// How far the call was said to be.
    farthest: Option<f64>,
}

/// The fields that tell a notification from an answer.
#[derive(Deserialize)]
struct MessageKind {
    method: Option<serde::de::IgnoredAny>,
    params: Option<ProgressParams>,
}

#[derive(Deserialize)]
struct ProgressParams {
    progress: Option<f64>,
}

impl<B: Body<Data = Bytes, Error: std::fmt::Display> + Unpin> EventReader<B> {
    pub(super) const fn new(body: B) -> Self {
        Self { body, unread: Vec::new(), looked: 0, data: None }
    }

    /// The next message, on one line; `None` at the end. A message that breaks off is dropped.
    pub(super) async fn next(&mut self) -> Result<Option<String>, String> {
        loop {
            while let Some(line) = self.line() {
                if !line.is_empty() {
                    self.take(&line);
                } else if let Some(message) = self.data.take() {
                    return Ok(Some(message));
                }
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => self.unread.extend(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => return Err(error.to_string()),
            }
        }
    }

    /// The answer, which is the last message of a call's response. Progress comes before it.
    pub(super) async fn answer(
        &mut self,
        mut progress: Option<&mut ProgressLines>,
    ) -> Result<String, String> {
        while let Some(message) = self.next().await? {
            match serde_json::from_str(&message) {
                Ok(MessageKind { method: Some(_), params }) => {
                    if let Some(progress) = &mut progress {
                        progress.pass_on(message, params.and_then(|params| params.progress)).await;
                    }
                }
                Ok(MessageKind { method: None, .. }) | Err(_) => return Ok(message),
            }
        }
        Err("its events ended without an answer".to_owned())
    }

    fn line(&mut self) -> Option<String> {
        let end = self.unread[self.looked..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end else {
            self.looked = self.unread.len();
            return None;
        };
        let line: Vec<u8> = self.unread.drain(..=self.looked + end).collect();
        self.looked = 0;
        Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned())
    }

    /// Takes a line. One that has no data is none of ours.
    fn take(&mut self, line: &str) {
        let Some(text) = line.strip_prefix("data:") else { return };
        let text = text.strip_prefix(' ').unwrap_or(text);
        match &mut self.data {
            // An end of a line in JSON is as good as a space, and cannot stand on a line.
            Some(data) => {
                data.push(' ');
                data.push_str(text);
            }
            none => *none = Some(text.to_owned()),
        }
    }
}

impl ProgressLines {
    pub(super) const fn new(lines: mpsc::Sender<String>) -> Self {
        Self { lines, farthest: None }
    }

    /// Passes a notification on, unless a call that was sent again has been farther before.
    async fn pass_on(&mut self, message: String, progress: Option<f64>) {
        if progress.is_some() && progress <= self.farthest {
            return;
        }
        self.farthest = progress.or(self.farthest);
        // Nobody reads any more: the bridge is about to end.
        let _ = self.lines.send(message).await;
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use proptest::{prop_assert_eq, proptest};

    use super::*;

    /// A body that comes in pieces of this size.
    struct Pieces(Vec<u8>, usize);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            let size = self.1.min(self.0.len());
            let piece: Vec<_> = self.0.drain(..size).collect();
            let frame = (size > 0).then(|| Ok(http_body::Frame::data(piece.into())));
            std::task::Poll::Ready(frame)
        }
    }

    async fn messages(
        body: impl Body<Data = Bytes, Error: std::fmt::Display> + Unpin,
    ) -> Vec<String> {
        let mut events = EventReader::new(body);
        let mut messages = Vec::new();
        while let Some(message) = events.next().await.unwrap() {
            messages.push(message);
        }
        messages
    }

    #[test]
    fn messages_are_what_they_were_however_they_are_cut_up() {
        let text = "event: message\ndata: {\"a\":\"\u{e9}\"}\n\n: here\n\ndata:{\r\ndata: }\r\n\r\n\n\
                    id: 7\n\ndata: half";
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        proptest!(|(size in 1..60_usize)| {
            let read = runtime.block_on(messages(Pieces(text.as_bytes().to_vec(), size)));
            prop_assert_eq!(read, ["{\"a\":\"\u{e9}\"}", "{ }"]);
        });
    }

    #[tokio::test]
    async fn progress_is_passed_on_in_order_and_never_backwards_and_the_answer_is_what_is_left() {
        let (lines, mut passed_on) = mpsc::channel(10);
        let mut progress = ProgressLines::new(lines);
        for numbers in [["0.1", "0.5"], ["0.3", "0.7"]] {
            let said = numbers.map(|n| {
                format!("data: {{\"method\":\"notifications/progress\",\"params\":{{\"progress\":{n}}}}}\n\n")
            });
            let body = format!("{}data: {{\"id\":1,\"result\":{{}}}}\n\n", said.concat());
            let mut events = EventReader::new(Full::new(Bytes::from(body)));
            let answer = events.answer(Some(&mut progress)).await;
            assert_eq!(answer.unwrap(), "{\"id\":1,\"result\":{}}");
        }
        drop(progress);
        for expected in ["0.1", "0.5", "0.7"] {
            assert!(passed_on.recv().await.unwrap().contains(expected), "{expected}");
        }
        assert_eq!(passed_on.recv().await, None);
        let cut_off =
            EventReader::new(Full::new(Bytes::from("data: {\"id\":1}\n"))).answer(None).await;
        assert!(cut_off.is_err(), "{cut_off:?}");
    }
}
