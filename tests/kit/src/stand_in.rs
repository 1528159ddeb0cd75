//! What a bridge takes for the daemon, and which does with requests whatever a test wants.

use serde_json::Value;
use tabwire::home::{DaemonLock, DaemonRecord};
use tabwire::protocol::SERVER_VERSION;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{ProgramSandbox, soon};

/// Stands where the daemon would: it holds the daemon's lock and says where it listens.
pub struct FakeDaemon {
    lock: DaemonLock,
    listener: TcpListener,
    /// Numbers of processes that cannot be: whoever ends the daemon of a place ends none.
    pid: u32,
}

/// A request that has come, and whose connection is open. To drop it breaks the
/// connection.
pub struct HeldRequest {
    stream: TcpStream,
    /// Method, path and version.
    pub line: String,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl FakeDaemon {
    pub async fn start(place: &ProgramSandbox) -> Self {
        let home = place.home();
        let lock = home.try_lock_daemon().unwrap().expect("no daemon runs here");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let this = Self { lock, listener, pid: i32::MAX as u32 };
        this.announce();
        this
    }

    fn announce(&self) {
        let port = self.listener.local_addr().unwrap().port();
        let record = DaemonRecord { pid: self.pid, port, version: SERVER_VERSION.to_owned() };
        self.lock.announce(&record).unwrap();
    }

    /// Stands in for another daemon from here on, which was started in the place of this
    /// one.
    pub async fn becomes_another(&mut self) {
        self.listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.pid -= 1;
        self.announce();
    }

    /// The next request. A bridge's stream that asks for no notices is refused, and is not one.
    pub async fn next(&mut self) -> HeldRequest {
        loop {
            let mut request = self.any().await;
            if request.line.starts_with("GET /mcp") && request.header("x-tabwire-jobs").is_none() {
                request.write("HTTP/1.1 405 Method Not Allowed\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
            } else {
                return request;
            }
        }
    }

    async fn any(&mut self) -> HeldRequest {
        let (mut stream, _) = soon("a request", self.listener.accept()).await.unwrap();
        let mut buffer = Vec::new();
        let end = loop {
            let end = buffer.windows(4).position(|window| window == b"\r\n\r\n");
            if let Some(end) = end {
                break end + 4;
            }
            assert!(read_more(&mut stream, &mut buffer).await, "closed in the middle of a head");
        };
        let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
        let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let headers: Vec<_> =
            headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        let line = head.lines().next().unwrap().to_owned();
        let mut request = HeldRequest { stream, line, headers, body: String::new() };
        let length: usize =
            request.header("content-length").map_or(0, |length| length.parse().unwrap());
        while buffer.len() < length {
            assert!(read_more(&mut request.stream, &mut buffer).await, "half a body");
        }
        request.body = String::from_utf8(buffer).unwrap();
        request
    }
}

async fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    soon("more of a request", stream.read_buf(buffer)).await.unwrap() > 0
}

impl HeldRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The key that the bridge gave it.
    pub fn key(&self) -> &str {
        self.header("x-tabwire-idempotency-key").expect("it has a key")
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Says that the call is accepted.
    pub async fn accept(&mut self) {
        self.write("HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
    }

    /// The answer to an accepted call: the message.
    pub async fn finish(mut self, message: &Value) {
        let message = message.to_string();
        self.write(&format!("{:x}\r\n{message}\r\n0\r\n\r\n", message.len())).await;
    }

    /// The same as a tool's result.
    pub async fn answer(mut self, is_error: bool, body: &Value) {
        let id = self.json()["id"].clone();
        let result = serde_json::json!({
            "content": [{"type": "text", "text": body.to_string()}],
            "structuredContent": body, "isError": is_error, "_meta": {"standIn": true},
        });
        self.accept().await;
        self.finish(&serde_json::json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    /// Answers with events that go on.
    pub async fn accept_events(&mut self) {
        self.write(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
             transfer-encoding: chunked\r\n\r\n",
        )
        .await;
    }

    /// One event.
    pub async fn event(&mut self, message: &Value) {
        let event = format!("event: message\ndata: {message}\n\n");
        self.write(&format!("{:x}\r\n{event}\r\n", event.len())).await;
    }

    /// Whether its connection is closed by the other side.
    pub async fn closed(&mut self) {
        let mut rest = Vec::new();
        soon("the connection's end", self.stream.read_to_end(&mut rest)).await.unwrap();
    }

    /// The answer to a message that wants none.
    pub async fn note(mut self) {
        self.write("HTTP/1.1 202 Accepted\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await;
    }

    async fn write(&mut self, text: &str) {
        soon("an answer's way", self.stream.write_all(text.as_bytes())).await.unwrap();
    }
}
