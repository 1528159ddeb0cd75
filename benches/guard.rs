//! What it costs to be let in: the guard's part in a request, and the proof's in a reconnect.
//!
//! `cargo bench --bench guard` runs the edge in this process, on streams in memory. A request
//! that passes every check of the guard and is answered with a constant is set beside the same
//! at a bare hyper, in blocks that alternate: the difference is the guard, the router and what
//! watches over the connection together. A reconnect is counted with the key at hand, from the
//! daemon's `challenge` to the moment at which its `welcome` has been checked, over TCP: without
//! a proof none of that would be.
//!
//! After `--`: `--check` to exit with 1 if a required bound is missed.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::Parser;
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tabwire::edge::{self, EdgeServer, PeerUser};
use tabwire::home::StateDirectory;
use tabwire::hub::Hub;
use tabwire::install::BrowserFolders;
use tabwire::lifecycle::Limits;
use tabwire::proof::DEFAULT_OWNER;
use tabwire::tools::ToolSet;
use testkit::ExtensionIdentity;
use testkit::load::{self, SampleSeries, now, verdict};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

/// Required: what the guard adds to a request, in µs at the median.
const GUARD: f64 = 20.0;

/// Required: what the proof adds to a reconnect, in µs at p99.
const PROOF: f64 = 5_000.0;

/// The port that `Host` names. Nobody listens on it.
const PORT: u16 = 7;

const BLOCKS: usize = 20;
const REQUESTS: usize = 1_000;
const RECONNECTS: usize = 500;

/// Measures the guard and the proof.
#[derive(Parser)]
#[command(name = "guard")]
struct Options {
    /// Exit with 1 if a required bound is missed
    #[arg(long)]
    check: bool,
    /// Passed by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    load::run("guard", |options: &Options| options.check, bench)
}

async fn bench(_options: &Options) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir().context("no temporary directory")?;
    let home = folder.path().join("state");
    let (guarded, bare) = requests(&home).await?;
    let adds = guarded.p50() - bare.p50();
    let says = format!(
        "a request takes {:.1} µs at p50, {:.1} at a bare hyper: {adds:.1} µs for the guard \
         ({GUARD:.0} are allowed)",
        guarded.p50(),
        bare.p50(),
    );
    let missed = verdict(adds <= GUARD, &says)?;
    let (proving, whole) = reconnects(&home).await?;
    let says = format!(
        "the proof takes {:.0} µs at p50, {:.0} at p99 ({PROOF:.0} are allowed) of a reconnect's \
         {:.0} at p50",
        proving.p50(),
        proving.p99(),
        whole.p50(),
    );
    Ok(missed | verdict(proving.p99() <= PROOF, &says)?)
}

fn tools() -> ToolSet {
    ToolSet::new(Hub::start(Limits::default()), Duration::ZERO)
}

/// What requests take behind the guard, and at a bare hyper.
async fn requests(home: &std::path::Path) -> anyhow::Result<(SampleSeries, SampleSeries)> {
    let token = StateDirectory::open(home)?.auth().token(&DEFAULT_OWNER.into());
    let head = testkit::authorized("GET /nothing", PORT, &token);
    let request = format!("{head}Accept: application/json\r\nUser-Agent: bench\r\n\r\n");
    let tools = tools();
    let server =
        EdgeServer::new(PORT, StateDirectory::open(home)?, tools, None, BrowserFolders::default());
    let (mut to_guarded, guarded_end) = tokio::io::duplex(16 * 1024);
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    server.handle_connection(guarded_end, peer, PeerUser::Ours);
    let (mut to_bare, bare_end) = tokio::io::duplex(16 * 1024);
    tokio::spawn(answer_all(bare_end));
    let (mut guarded, mut bare) = (SampleSeries::default(), SampleSeries::default());
    for block in 0..=BLOCKS {
        let behind = ask(&mut to_guarded, &request, "404").await?;
        let beside = ask(&mut to_bare, &request, "404").await?;
        // The first block warms up.
        if block > 0 {
            guarded.extend(behind);
            bare.extend(beside);
        }
    }
    server.end().await;
    Ok((guarded, bare))
}

/// Answers whatever comes as the edge does where there is nothing, and looks at none of it.
async fn answer_all(stream: DuplexStream) {
    const NOTHING: &[u8] =
        br#"{"error":"not_found","message":"No such route","hint":"MCP is at POST /mcp; docs/protocol.md lists all routes"}"#;
    let service = hyper::service::service_fn(|_: Request<hyper::body::Incoming>| async {
        let mut response = Response::new(Full::new(Bytes::from_static(NOTHING)));
        *response.status_mut() = hyper::StatusCode::NOT_FOUND;
        Ok::<_, Infallible>(response)
    });
    let http = hyper::server::conn::http1::Builder::new();
    // It ends with the measurement.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

/// One block of requests, one after the other.
async fn ask(
    stream: &mut DuplexStream,
    request: &str,
    status: &str,
) -> anyhow::Result<SampleSeries> {
    let mut took = SampleSeries::default();
    let mut answer = vec![0; 16 * 1024];
    for _ in 0..REQUESTS {
        let began = now();
        stream.write_all(request.as_bytes()).await?;
        let mut length = 0;
        // Each answer ends with its body, and that with a brace.
        while length == 0 || answer[length - 1] != b'}' {
            length += stream.read(&mut answer[length..]).await?;
        }
        took.add(now() - began);
        let head = String::from_utf8_lossy(&answer[..length]);
        ensure!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
    }
    Ok(took)
}

/// What the proof takes of reconnects, and these in whole.
async fn reconnects(home: &std::path::Path) -> anyhow::Result<(SampleSeries, SampleSeries)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let identity = ExtensionIdentity::new(address.port(), &StateDirectory::open(home)?, "bench");
    let stop = CancellationToken::new();
    let (home, tools) = (StateDirectory::open(home)?, tools());
    let serving =
        edge::serve(vec![listener], home, tools, None, BrowserFolders::default(), stop.clone());
    let serving = tokio::spawn(serving);
    let (mut proving, mut whole) = (SampleSeries::default(), SampleSeries::default());
    for _ in 0..RECONNECTS {
        let began = now();
        let challenged = reconnect(address, &identity).await?;
        proving.add(now() - challenged);
        whole.add(now() - began);
    }
    stop.cancel();
    serving.await??;
    Ok((proving, whole))
}

/// Connects as an extension does; when it was challenged.
async fn reconnect(address: SocketAddr, identity: &ExtensionIdentity) -> anyhow::Result<Instant> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut socket, _) =
        tokio_tungstenite::client_async(identity.upgrade(address.port()), stream).await?;
    let frame = |message: Message| {
        serde_json::from_str::<Value>(message.to_text()?).map_err(anyhow::Error::from)
    };
    let challenge = frame(socket.next().await.context("closed")??)?;
    let challenged = now();
    let nonce = challenge["nonce"].as_str().context("no nonce")?;
    let hello = identity.hello_to(nonce);
    socket.send(Message::text(hello.to_string())).await?;
    let welcome = frame(socket.next().await.context("closed")??)?;
    ensure!(identity.is_proven_by(&welcome, &hello, nonce), "it does not prove the key");
    Ok(challenged)
}
