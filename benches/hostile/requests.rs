//! Attacks over HTTP: requests that are refused, each on a new connection, requests that never
//! come to an end, and more calls than a client may have.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use axum::http::StatusCode;
use bytes::Bytes;
use tabwire::proof;
use testkit::load::{LoadClient, SCRIPT, interact};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::attacker::Target;

/// How many requests are on their way at the same time.
const ABREAST: usize = 50;

/// How many connections send requests of 1 MB.
const LARGE: usize = 3;

/// How many connections are held open.
pub(crate) const HELD: usize = 200;

/// How often a slow connection sends a byte.
const SLOW: Duration = Duration::from_millis(200);

/// A call's largest body, in bytes, and one more.
const TOO_LARGE: usize = (1 << 20) + 1;

const JSON: &str = "Content-Type: application/json";

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Routes that there are.
const ROUTES: [&str; 5] =
    ["GET /health", "GET /pending-queries", "GET /frames", "POST /mcp", "POST /session"];

/// What gives a request away: a page, or a tunnel.
const SIGNS: [&str; 6] = [
    "Sec-Fetch-Site: cross-site",
    "Origin: http://evil.example",
    "Origin: null",
    "Origin: http://127.0.0.1:1",
    "Forwarded: for=1.2.3.4",
    "X-Forwarded-Host: 127.0.0.1",
];

/// Names that are not ours.
const NAMES: [&str; 4] = ["evil.example", "127.1", "localhost.", "[::ffff:127.0.0.1]"];

/// Routes that nobody declared.
const UNDECLARED: [&str; 4] = ["GET /", "PUT /mcp", "GET /admin", "GET /.well-known/x"];

impl Target {
    fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }

    fn bearer(&self) -> String {
        testkit::authorization(&self.token)
    }

    /// A request as it goes out, with the right token.
    fn request(&self, route: &str, host: &str, more: &[&str]) -> Bytes {
        let mut lines = vec![format!("{route} HTTP/1.1"), host.to_owned(), self.bearer()];
        lines.extend(more.iter().map(|line| (*line).to_owned()));
        let body = if route.starts_with("POST") { PING } else { "" };
        lines.push(format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        lines.join("\r\n").into()
    }

    /// One of each kind that is refused.
    fn refused_requests(&self) -> Vec<Bytes> {
        let host = self.host();
        let upgrade = [
            "Origin: http://evil.example",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol: tabwire.v1",
        ];
        let preflight = ["Origin: http://evil.example", "Access-Control-Request-Method: POST"];
        let mut requests = vec![
            self.request("GET /ws", &host, &upgrade),
            self.request("OPTIONS /mcp", &host, &preflight),
            self.request("POST /mcp", &host, &["Content-Type: text/plain"]),
        ];
        for route in ROUTES {
            requests.extend(SIGNS.map(|sign| self.request(route, &host, &[JSON, sign])));
            requests.extend(
                NAMES.map(|name| {
                    self.request(route, &format!("Host: {name}:{}", self.port), &[JSON])
                }),
            );
        }
        requests.extend(UNDECLARED.map(|route| self.request(route, &host, &[JSON])));
        requests
    }

    /// Sends this on a new connection. It has to be refused, with an answer or without.
    async fn be_refused(&self, request: &[u8]) -> anyhow::Result<()> {
        let mut stream = self.connect().await?;
        // It may be refused before it is there as a whole.
        let _ = stream.write_all(request).await;
        let mut answer = [0; 512];
        let length = stream.read(&mut answer).await.unwrap_or_default();
        let answer = String::from_utf8_lossy(&answer[..length]);
        ensure!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "not refused: {answer}");
        self.tried();
        Ok(())
    }

    /// A connection that is gone at once when it is dropped: of those that linger, the system
    /// has only so many.
    async fn connect(&self) -> anyhow::Result<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_zero_linger()?;
        Ok(stream)
    }
}

/// Headers of pages, wrong names, tunnels, preflights, handshakes of pages, and routes that
/// nobody declared, all with the right token.
pub(crate) async fn refused(target: &Target) -> anyhow::Result<()> {
    let requests = Arc::new(target.refused_requests());
    let one_after_another = |target: Target, first| {
        let requests = requests.clone();
        async move {
            for request in requests.iter().cycle().skip(first) {
                target.be_refused(request).await?;
            }
            Ok(())
        }
    };
    target.abreast(ABREAST, one_after_another).await
}

/// A token after another.
pub(crate) async fn guesses(target: &Target) -> anyhow::Result<()> {
    let one_after_another = |target: Target, _| async move {
        loop {
            let target = target.with_token(proof::nonce());
            let request = target.request("POST /mcp", &target.host(), &[JSON]);
            target.be_refused(&request).await?;
        }
    };
    target.abreast(ABREAST, one_after_another).await
}

/// Bodies of a byte too much: that say so, and that do not.
pub(crate) async fn bodies(target: &Target) -> anyhow::Result<()> {
    let head = ["POST /mcp HTTP/1.1", &target.host(), &target.bearer(), JSON].join("\r\n");
    let declared =
        format!("{head}\r\nContent-Length: {TOO_LARGE}\r\n\r\n{}", " ".repeat(TOO_LARGE));
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(1 << 16)).repeat(TOO_LARGE >> 16);
    let chunked = format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}1\r\n \r\n0\r\n\r\n");
    let bodies = [Bytes::from(declared), Bytes::from(chunked)];
    let one_after_another = |target: Target, number: usize| {
        let request = bodies[number % 2].clone();
        async move {
            loop {
                target.be_refused(&request).await?;
            }
        }
    };
    target.abreast(ABREAST, one_after_another).await
}

/// Requests of nearly 1 MiB that take as long to parse as one of this size can. From a minute's
/// worth of an owner's bytes on most are refused.
pub(crate) async fn large(target: &Target) -> anyhow::Result<()> {
    let mut body = String::from(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_":["#);
    while body.len() < TOO_LARGE - 32 {
        body.push_str(r#"{"":0},"#);
    }
    body.push_str("0]}}");
    let body = Bytes::from(body);
    let one_after_another = |target: Target, _| {
        let body = body.clone();
        async move {
            let token = target.token.clone();
            let mut client = LoadClient::connect(target.port, token, Duration::ZERO).await?;
            loop {
                let (status, answer) = client.ask(client.request("/mcp", body.clone())?).await?;
                let is_expected = [StatusCode::OK, StatusCode::TOO_MANY_REQUESTS].contains(&status);
                ensure!(is_expected, "{status}: {}", String::from_utf8_lossy(&answer));
                target.tried();
            }
        }
    };
    target.abreast(LARGE, one_after_another).await
}

/// Holds connections whose request never comes to an end, and opens each anew that is closed.
pub(crate) async fn half_open(target: &Target) -> anyhow::Result<()> {
    let one_after_another = |target: Target, number: usize| async move {
        let said = ["", "POST /mcp HTTP/1.1\r\nHost: ", "G"][number % 3];
        loop {
            let mut stream = target.connect().await?;
            target.tried();
            // It may be closed already.
            let _ = stream.write_all(said.as_bytes()).await;
            until_closed(&mut stream).await;
        }
    };
    target.abreast(HELD, one_after_another).await
}

/// Sends a byte now and then, for as long as the other side puts up with it.
async fn until_closed(stream: &mut TcpStream) {
    let mut answer = [0; 512];
    loop {
        match timeout(SLOW, stream.read(&mut answer)).await {
            Ok(Ok(0) | Err(_)) => return,
            Ok(Ok(_)) => {}
            Err(_elapsed) => {
                let _ = stream.write_all(b"x").await;
            }
        }
    }
}

/// Calls of one client, all for another tab of a browser in which somebody else is at work.
/// It has had a minute's worth before the first block is measured; from then on most are
/// refused.
pub(crate) async fn flood(target: &Target) -> anyhow::Result<()> {
    let call = interact(&format!(r#"{SCRIPT},"browser":"browser-0","tab_id":8"#));
    let one_after_another = |target: Target, _| {
        let call = call.clone();
        async move {
            let token = target.token.clone();
            let mut client = LoadClient::connect(target.port, token, Duration::ZERO).await?;
            client.name = "flood".to_owned();
            loop {
                let (status, answer) = client.ask(client.request("/mcp", call.clone())?).await?;
                let is_expected = [StatusCode::OK, StatusCode::TOO_MANY_REQUESTS].contains(&status);
                ensure!(is_expected, "{status}: {}", String::from_utf8_lossy(&answer));
                target.tried();
            }
        }
    };
    target.abreast(ABREAST, one_after_another).await
}
