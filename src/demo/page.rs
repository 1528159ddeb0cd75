//! Pages to look at, served on a free port of the loopback.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const PAGES: [(&str, &str, &str); 2] = [
    ("/", "Home Page", "This page was served by the demonstration."),
    ("/second", "Second Page", "The browser was sent here by an MCP client."),
];

/// Serves the pages until it is dropped.
#[derive(Debug)]
pub(super) struct PageServer {
    port: u16,
    serving: JoinHandle<()>,
}

impl PageServer {
    pub(super) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Ok(Self { port, serving })
    }

    /// The address of a page.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Answers one request. A browser that goes away in the middle is no concern here.
async fn serve(mut stream: TcpStream) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < 16_384 {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1)?;
    let response = match PAGES.iter().find(|(at, _, _)| *at == path) {
        Some((_, title, text)) => {
            let body = format!(
                "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>\
                 <body style='font:20px sans-serif;margin:60px'><h1>{title}</h1><p>{text}</p>"
            );
            let length = body.len();
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: \
                 {length}\r\nConnection: close\r\n\r\n{body}"
            )
        }
        None => {
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
        }
    };
    stream.write_all(response.as_bytes()).await.ok()
}
