//! HTTP byte by byte, for requests that no proper client makes.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{TestDaemon, soon};

/// A connection on which any bytes can be sent.
pub struct RawConnection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAnswer {
    pub status: u16,
    /// Names in lower case, without `date`.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl RawAnswer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.body))
    }
}

impl RawConnection {
    pub async fn open(daemon: &TestDaemon) -> Self {
        Self::to(daemon.port()).await
    }

    /// One to whatever listens on this port.
    pub async fn to(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        Self { stream, buffer: Vec::new() }
    }

    /// The connection, for something else than requests.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Sends bytes, and sees to it that the other side takes them all.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon("sending", self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Reads on. False: the connection is closed.
    async fn read_more(&mut self) -> bool {
        let read = soon("an answer", self.stream.read_buf(&mut self.buffer)).await;
        matches!(read, Ok(1..))
    }

    /// The next answer; `None` if the connection is closed instead.
    pub async fn answer(&mut self) -> Option<RawAnswer> {
        let head = loop {
            let end = self.buffer.windows(4).position(|window| window == b"\r\n\r\n");
            if let Some(end) = end {
                break self.buffer.drain(..end + 4).collect::<Vec<_>>();
            }
            if !self.read_more().await {
                return None;
            }
        };
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_lowercase(), value.trim().to_owned())
        });
        let headers: Vec<_> = headers.filter(|(name, _)| name != "date").collect();
        let mut answer = RawAnswer { status, headers, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        while self.buffer.len() < length {
            assert!(self.read_more().await, "closed in the middle of a body");
        }
        answer.body = String::from_utf8(self.buffer.drain(..length).collect()).unwrap();
        Some(answer)
    }

    /// Reads until this has been said. Returns all that was said.
    pub async fn read_until(&mut self, words: &str) -> String {
        loop {
            let said = String::from_utf8_lossy(&self.buffer);
            if said.contains(words) {
                return said.into_owned();
            }
            assert!(self.read_more().await, "closed before it said {words}");
        }
    }

    /// Waits until the other side closes the connection, and sees to it that it says
    /// nothing before.
    pub async fn assert_closed_in_silence(&mut self) {
        while self.read_more().await {}
        assert_eq!(String::from_utf8_lossy(&self.buffer), "", "said before it closed");
    }
}

/// The header line that proves the user in requests of [`raw`].
pub const OWN_TOKEN: &str = "Authorization: Bearer TOKEN";

/// The value of the `Authorization` header with this token.
pub fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// The line of the `Authorization` header with this token.
pub fn authorization(token: &str) -> String {
    format!("Authorization: {}", bearer(token))
}

/// What any program with the token can try: to answer the question of an agent in the person's place.
pub async fn answer_ask(daemon: &TestDaemon, id: &str, answer: &Value) -> RawAnswer {
    let body = json!({"correlation_id": id, "answer": answer}).to_string();
    let own = authorization(&daemon.token());
    let length = format!("Content-Length: {}", body.len());
    let kind = "Content-Type: application/json";
    let head = ["POST /api/asks HTTP/1.1", "Host: HOST", &own, kind, &length];
    raw(daemon, &head, body.as_bytes()).await
}

/// The beginning of a request's head, for a request such as `GET /api/status`; further lines may
/// follow.
pub fn authorized(request: &str, port: u16, token: &str) -> String {
    let line = authorization(token);
    format!("{request} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{line}\r\n")
}

/// Sends one request, line by line, and reads the answer. `HOST` stands for the daemon's
/// own name and port, `TOKEN` for the user's token.
pub async fn raw(daemon: &TestDaemon, lines: &[&str], body: &[u8]) -> RawAnswer {
    let mut head = lines.join("\r\n");
    head = head.replace("HOST", &format!("127.0.0.1:{}", daemon.port()));
    head = head.replace("TOKEN", &daemon.token());
    head.push_str("\r\n\r\n");
    let mut connection = RawConnection::open(daemon).await;
    connection.send(head).await;
    connection.send(body).await;
    let answer = connection.answer().await;
    answer.unwrap_or_else(|| panic!("closed without an answer: {lines:?}"))
}
