//! A call beside a viewer of the dashboard and a collector that reads the metrics each second, and the same
//! call without them, at the same daemon by turns.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tabwire::home::StateDirectory;
use testkit::load::{CallSamples, DaemonSide, LoadPair, PairedDaemon, SCRIPT, SampleSeries, tcp};
use testkit::record::{Bound, Figure, Spread};
use tokio::task::JoinSet;

use crate::Extent;

/// Required: a call beside them, as a multiple of one without them.
const WATCHED: f64 = 1.02;

const PAUSE: Duration = Duration::from_millis(1);

/// How often the collector reads.
const SCRAPE: Duration = Duration::from_secs(1);

/// What a viewer is sent first, and what is done once, is over after this time.
const SETTLING: Duration = Duration::from_millis(500);

const BLOCKS: usize = 20;
const CALLS: usize = 800;

pub(crate) async fn measure(extent: Extent) -> anyhow::Result<Vec<Figure>> {
    let daemon = PairedDaemon::start(extent.program, &[])?;
    let home = daemon.home()?;
    let port = daemon.server.port;
    let pair = LoadPair::connect_as(port, &home, "bench").await?;
    let mut side = DaemonSide::beside_others(pair, PAUSE);
    let mut blocks = [Vec::new(), Vec::new()];
    let mut all = [SampleSeries::default(), SampleSeries::default()];
    for number in 0..=extent.of(BLOCKS).max(3) {
        for (is_watched, (blocks, all)) in
            [true, false].into_iter().zip(blocks.iter_mut().zip(&mut all))
        {
            let watching = if is_watched { Some(watch(port, &home).await?) } else { None };
            tokio::time::sleep(SETTLING).await;
            let mut samples = CallSamples::default();
            side.waits(SCRIPT, extent.of(CALLS), &mut samples).await?;
            if let Some(watching) = watching {
                watching.end()?;
            }
            // The first is a warm-up.
            if number > 0 {
                blocks.push(samples.answer.p50());
                all.extend(samples.answer);
            }
        }
    }
    let [watched, alone] = &blocks;
    let [own, others] = &all;
    let median =
        Figure::new("call, median, beside a viewer and a collector", "µs", Spread::of(watched));
    let median = median.p99(own.p99()).beside("no viewer, no collector", watched, alone);
    let last =
        Figure::new("call, p99, beside a viewer and a collector", "µs", Spread::one(own.p99()));
    Ok(vec![
        median.bound(Bound::Ratio(WATCHED)),
        last.beside("no viewer, no collector", &[own.p99()], &[others.p99()]),
    ])
}

/// A viewer and a collector. They end with this.
struct Watchers {
    tasks: JoinSet<anyhow::Result<()>>,
}

impl Watchers {
    /// Both have watched until now.
    fn end(mut self) -> anyhow::Result<()> {
        match self.tasks.try_join_next() {
            None => Ok(()),
            Some(ended) => ended?.context("a watcher has ended too early"),
        }
    }
}

async fn watch(port: u16, home: &StateDirectory) -> anyhow::Result<Watchers> {
    let token = dashboard_token(port, home).await?;
    let scraper = home.auth().metrics_token();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut feed = send(port, request(Method::GET, "/dashboard/feed", port, &token)?).await?;
        while let Some(frame) = feed.frame().await {
            frame?;
        }
        Ok(())
    });
    tasks.spawn(async move {
        loop {
            send(port, request(Method::GET, "/metrics", port, &scraper)?).await?.collect().await?;
            tokio::time::sleep(SCRAPE).await;
        }
    });
    Ok(Watchers { tasks })
}

/// A token of the dashboard, as a browser gets it that was sent there by `tabwire open`.
async fn dashboard_token(port: u16, home: &StateDirectory) -> anyhow::Result<String> {
    let mut asked = request(Method::POST, "/dashboard/codes", port, &home.auth().dashboard_key())?;
    asked.headers_mut().insert(CONTENT_TYPE, "application/json".parse()?);
    let answer = send(port, asked).await?.collect().await?.to_bytes();
    let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    let code = answer["code"].as_str().context("no code in the answer")?;
    let form = Request::post("/dashboard")
        .header(HOST, format!("127.0.0.1:{port}"))
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header("origin", "null")
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate")
        .header("sec-fetch-dest", "document")
        .body(Full::new(Bytes::from(format!("code={code}"))))?;
    let page = send(port, form).await?.collect().await?.to_bytes();
    let page = String::from_utf8_lossy(&page);
    let (_, rest) =
        page.split_once("name=\"tabwire-token\" content=\"").context("no token in the page")?;
    let (token, _) = rest.split_once('"').context("no end of the token")?;
    Ok(token.to_owned())
}

fn request(
    method: Method,
    path: &str,
    port: u16,
    token: &str,
) -> anyhow::Result<Request<Full<Bytes>>> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, format!("127.0.0.1:{port}"))
        .header(AUTHORIZATION, format!("Bearer {token}"));
    Ok(request.body(Full::default())?)
}

/// By a connection of its own.
async fn send(port: u16, request: Request<Full<Bytes>>) -> anyhow::Result<hyper::body::Incoming> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(tcp(port).await?)).await?;
    tokio::spawn(connection);
    let answer = sender.send_request(request).await?;
    ensure!(answer.status() == StatusCode::OK, "{}", answer.status());
    Ok(answer.into_body())
}
