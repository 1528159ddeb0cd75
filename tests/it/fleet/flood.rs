//! A granted agent that sends as fast as the server takes it, while another one works.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tabwire::fleet::AgentKey;
use testkit::{RowReport, StdioClient, Stopwatch, soon, until};

use super::hostile::{HostileAgent, HostileStage, header, id, opening};
use super::{AGENT, AgentMachine, PLACE, script};

/// Required: how long calls of others take meanwhile, in ms, at the 99th percentile.
const OTHERS: u128 = 100;

/// How many times as long as half of the calls without a flood they may take here: the flood and the server that takes it
/// have two cores to themselves, and the programs are not optimized. Calls that share the flood's way never end.
const BESIDE_FLOOD: u128 = 20;

/// How many calls of others there are in each flood.
const CALLS: usize = 150;

/// How much is written at once.
const PIECE: usize = 64 * 1024;

/// A thread that publishes to a subject without end.
struct Flood {
    is_over: Arc<AtomicBool>,
    messages: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    fn start(key: &AgentKey, port: u16, subject: &str, bytes: usize) -> Self {
        let mut server = log_in(key, port);
        let is_over = Arc::new(AtomicBool::new(false));
        let messages = Arc::new(AtomicU64::new(0));
        let message = format!("PUB {subject} {bytes}\r\n{}\r\n", "x".repeat(bytes));
        let count = PIECE.div_ceil(message.len());
        let piece = message.repeat(count).into_bytes();
        let thread = std::thread::spawn({
            let (is_over, messages) = (is_over.clone(), messages.clone());
            move || {
                while !is_over.load(Ordering::Relaxed) && server.write_all(&piece).is_ok() {
                    messages.fetch_add(count as u64, Ordering::Relaxed);
                }
            }
        });
        Self { is_over, messages, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// A connection to the server with this key.
fn log_in(key: &AgentKey, port: u16) -> TcpStream {
    let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut reader = BufReader::new(server.try_clone().unwrap());
    let mut info = String::new();
    reader.read_line(&mut info).unwrap();
    let info: Value = serde_json::from_str(info.strip_prefix("INFO ").unwrap()).unwrap();
    let pair = nkeys::KeyPair::from_seed(key.seed.expose()).unwrap();
    let signed = pair.sign(info["nonce"].as_str().unwrap().as_bytes()).unwrap();
    let told = json!({
        "verbose": false, "pedantic": false, "nkey": pair.public_key(), "lang": "raw", "version": "1",
        "sig": URL_SAFE_NO_PAD.encode(signed), "protocol": 1, "headers": true,
    });
    write!(server, "CONNECT {told}\r\nPING\r\n").unwrap();
    let mut pong = String::new();
    reader.read_line(&mut pong).unwrap();
    assert_eq!(pong, "PONG\r\n");
    // What the server says is read, so that it goes on taking.
    std::thread::spawn(move || {
        let mut said = [0; 1024];
        while reader.read(&mut said).is_ok_and(|read| read > 0) {}
    });
    server
}

/// How long calls take, in ms, the shortest first. None fails.
async fn times_of_calls(agent: &mut StdioClient, what: &str) -> Vec<u128> {
    let mut took = Vec::new();
    for number in 0..CALLS {
        let watch = Stopwatch::start();
        agent.ask(&json!(number), "interact", script(&format!("'{what}', {number}"))).await;
        let told = agent.late_answer(&json!(number)).await;
        took.push(watch.millis());
        assert_eq!(told["result"]["isError"], false, "{what}: {told}");
    }
    took.sort_unstable();
    took
}

/// For how long the home says that it is busy once it was flooded, in ms.
async fn word_of_the_home(agent: &mut HostileAgent, flood: impl Fn() -> Flood) -> u64 {
    let mut told = None;
    let is_told = async || {
        let (flooding, since) = (flood(), Stopwatch::start());
        until(async || !since.is_under(1_000)).await;
        drop(flooding);
        // As agents do where nobody hears them: the server may have ended the subscription with a credit that had just
        // been raised.
        agent.look().await;
        // One of four a second is heard, and the server says of the others that nobody hears them.
        let since = Stopwatch::start();
        while since.is_under(1_000) {
            let (head, body) = (opening(&id(1), &[]), "{}".into());
            let asked = agent.client.request_with_headers(agent.subject(), head, body);
            // One whose reply is lost says nothing.
            if let Ok(Ok(reply)) = tokio::time::timeout(Duration::from_millis(300), asked).await {
                told = header(&reply, "Tw-After-Ms").parse().ok();
                return header(&reply, "Tw-Reason") == "busy" && told.is_some();
            }
        }
        false
    };
    soon("a word of the home", until(is_told)).await;
    told.unwrap()
}

#[tokio::test]
async fn a_flood_of_a_granted_agent_leaves_others_their_time_and_its_agents_are_told_that_it_is_busy()
 {
    let Some(stage) = HostileStage::start().await else { return };
    let HostileStage { server, machine: _machine, browser, key, mut agent, other_key } = stage;
    let mut row = RowReport::new(58);
    let caller = AgentMachine::new(&other_key, PLACE);
    let mut others = caller.mcp();
    let quiet = times_of_calls(&mut others, "quiet").await[CALLS / 2];
    let hello = format!("tw.call.{PLACE}.{AGENT}");
    for (what, subject, bytes) in [
        ("as many small messages as the server takes", agent.subject(), 16),
        ("as many of 256 KiB", agent.subject(), 256 * 1024),
        ("as many hellos", hello.clone(), 16),
        ("as many hellos of 256 KiB", hello, 256 * 1024),
    ] {
        let flood = Flood::start(&key, server.port, &subject, bytes);
        let whole = Stopwatch::start();
        let took = times_of_calls(&mut others, what).await;
        let sent = u128::from(flood.messages.load(Ordering::Relaxed)) * 1_000 / whole.millis();
        let [p50, p99, most] = [CALLS / 2, CALLS - 3, CALLS - 1].map(|at| took[at]);
        println!(
            "hostile p99: {p99} ms of {CALLS} commands, p50 {p50} (quiet {quiet}), most {most}; {what}: {sent} a second"
        );
        let is_quick = p50 < OTHERS && p99 < OTHERS.max(quiet * BESIDE_FLOOD);
        row.tried(what, is_quick, format!("p50 {p50} ms, p99 {p99} ms"));
        drop(flood);
        if subject == agent.subject() {
            let flood = || Flood::start(&key, server.port, &subject, bytes);
            let told = word_of_the_home(&mut agent, flood).await;
            row.tried("a word to the flooding agent", told > 1_000, format!("busy for {told} ms"));
        }
    }
    let runs = browser.runs();
    let once = runs.len() == 5 * CALLS && runs.values().all(|count| *count == 1);
    row.tried("nothing lost and nothing twice", once, runs.len());
    row.report();
}
