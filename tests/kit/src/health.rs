//! `GET /health`, where a test stands in for the daemon: the extension asks for it before it
//! opens a socket.

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

const QUESTION: &[u8] = b"GET /health ";
const ANSWER: &str = r#"{"status":"ok","name":"tabwire"}"#;

/// Answers a connection that asks for it as the daemon does; gives back any other, unread.
pub async fn past_health(stream: TcpStream) -> Option<TcpStream> {
    let mut start = [0; QUESTION.len()];
    // A browser sends the head of a request at once.
    let read = stream.peek(&mut start).await.ok()?;
    if start[..read] != *QUESTION {
        return Some(stream);
    }
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while stream.read_line(&mut line).await.ok()? > 2 {
        line.clear();
    }
    let length = ANSWER.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{ANSWER}"
    );
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()?;
    None
}
