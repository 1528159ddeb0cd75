//! What a cancel takes until the page has stopped, or has been told: real Chromium, the real
//! extension, and agents that cancel in every way.
//!
//! A script that waits notes the time at which its signal is aborted, a loop notes the time
//! again and again until it is ended, a page that is loaded anew knows since when, and the server of a page that is waited for sees that the
//! browser hangs up. All read the clock of this machine; that of scripts has whole milliseconds.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use serde_json::json;
use tabwire::demo::{Browser, find_browser};
use tabwire::home::StateDirectory;
use tabwire::proof::DEFAULT_OWNER;
use tabwire::protocol::EXTENSION_ID;
use testkit::load::{MeasuredServer, SampleSeries};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::agent::{Agent, WAYS, Way};

/// A loop is known as one when the page has not answered for half a second.
const LOOPING: Duration = Duration::from_millis(700);

const WAITS: &str = "window.noted = 0; tabwireSignal.onabort = () => { window.noted = Date.now() };
    await fetch('/begun'); await new Promise(() => {})";
const LOOPS: &str = "await fetch('/begun'); while (true) window.noted = Date.now()";

/// Where the browser lets nobody end a loop its page is loaded anew: it has ended by then.
const NOTED: &str = "window.noted ?? (performance.getEntriesByType('navigation')[0].type === 'reload' \
    ? Math.round(performance.timeOrigin) : 0)";

/// What is cancelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Waits,
    Loops,
    Navigates,
}

/// A series, and what it is of.
pub(crate) type Measured = (String, SampleSeries);

/// The browser with its pages, and the agent.
struct Stage {
    agent: Agent,
    pages: Pages,
}

/// Measures every way with a script that waits, and each kind of command with one way.
pub(crate) async fn measure(folder: &Path, rounds: usize) -> anyhow::Result<Vec<Measured>> {
    let state = folder.join("browser-state");
    let server = MeasuredServer::daemon(Path::new(testkit::program()), &state, &[])?;
    let home = StateDirectory::open(&state)?;
    let (extension, profile) = (folder.join("extension"), folder.join("profile"));
    tabwire::extension::unpack(&extension, server.port, &home.auth().extension_key(EXTENSION_ID))?;
    let pages = Pages::start().await?;
    let browser = Browser::launch(&find_browser()?, &profile, &extension, &pages.url("/"))?;
    let token = home.auth().token(&DEFAULT_OWNER.into());
    let mut agent = Agent::start(server.port, token, &state).await?;
    // Accepted before the browser is there, and run when it is.
    agent.call("interact", &json!({"action": "tab_list", "wait_ms": 30_000})).await?;
    let mut stage = Stage { agent, pages };
    let measured = stage.measure(rounds).await?;
    stage.agent.end().await?;
    browser.end().await;
    Ok(measured)
}

impl Stage {
    async fn measure(&mut self, rounds: usize) -> anyhow::Result<Vec<Measured>> {
        let mut cases: Vec<_> = WAYS.iter().map(|(way, name)| (Kind::Waits, *way, *name)).collect();
        cases.push((Kind::Navigates, Way::ById, "configure cancel"));
        cases.push((Kind::Loops, Way::ById, "configure cancel"));
        let mut all: Vec<_> = cases.iter().map(|_| SampleSeries::default()).collect();
        // In turns, so that noise of the machine hits all alike.
        for _ in 0..rounds {
            for ((kind, way, _), series) in cases.iter().zip(&mut all) {
                series.add(self.round(*kind, *way).await?);
            }
        }
        let name = |(kind, _, name): &(Kind, Way, &str)| match kind {
            Kind::Waits => format!("in the page, a script that waits, {name}"),
            Kind::Loops => format!("in the page, a loop, {name}"),
            Kind::Navigates => format!("in the browser, a navigation, {name}"),
        };
        Ok(cases.iter().map(name).zip(all).collect())
    }

    /// From the cancel's leaving the agent to the end in the page.
    async fn round(&mut self, kind: Kind, way: Way) -> anyhow::Result<Duration> {
        let arguments = match kind {
            Kind::Waits => json!({"action": "execute_js", "script": WAITS}),
            Kind::Loops => json!({"action": "execute_js", "script": LOOPS}),
            Kind::Navigates => json!({"action": "navigate", "url": self.pages.url("/silent")}),
        };
        let running = self.agent.begin(way, &arguments).await?;
        self.pages.next(Seen::Asked).await?;
        if kind == Kind::Loops {
            tokio::time::sleep(LOOPING).await;
        }
        let began = wall_clock();
        let held = self.agent.cancel(way, running).await?;
        let ended = match kind {
            Kind::Navigates => self.pages.next(Seen::HungUp).await?,
            Kind::Waits | Kind::Loops => self.noted().await?,
        };
        drop(held);
        // It is free, whatever was in it.
        let title = self.agent.value("document.title").await?;
        ensure!(title == "Home", "the tab shows {title}");
        // A time in whole milliseconds may seem to be before its beginning.
        Ok(ended.duration_since(began).unwrap_or_default())
    }

    /// What the page has noted, once it has.
    async fn noted(&mut self) -> anyhow::Result<SystemTime> {
        for _ in 0..100 {
            let noted = self.agent.value(NOTED).await?;
            match noted.as_u64().filter(|noted| *noted > 0) {
                Some(noted) => return Ok(UNIX_EPOCH + Duration::from_millis(noted)),
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
        anyhow::bail!("the page was not told")
    }
}

/// What the server of the pages sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// A command has begun.
    Asked,
    /// The browser waits no longer for an answer.
    HungUp,
}

struct Pages {
    port: u16,
    seen: mpsc::UnboundedReceiver<(Seen, SystemTime)>,
}

impl Pages {
    async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let (tell, seen) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, tell.clone()));
            }
        });
        Ok(Self { port, seen })
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    async fn next(&mut self, wanted: Seen) -> anyhow::Result<SystemTime> {
        let next = tokio::time::timeout(Duration::from_secs(20), self.seen.recv()).await;
        let (seen, at) = next.context("the page is silent")?.context("no server")?;
        ensure!(seen == wanted, "{seen:?} instead of {wanted:?}");
        Ok(at)
    }
}

/// Answers one request, or never.
async fn serve(
    mut stream: TcpStream,
    tell: mpsc::UnboundedSender<(Seen, SystemTime)>,
) -> anyhow::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).context("no path")?;
    if path == "/silent" || path == "/begun" {
        tell.send((Seen::Asked, wall_clock()))?;
    }
    if path == "/silent" {
        // An error is an end as well.
        let _ = stream.read_to_end(&mut Vec::new()).await;
        tell.send((Seen::HungUp, wall_clock()))?;
        return Ok(());
    }
    let body = "<!doctype html><title>Home</title>";
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    Ok(stream.write_all(answer.as_bytes()).await?)
}

/// The time as scripts have it.
#[expect(clippy::disallowed_methods, reason = "a measurement reads clocks")]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}
