//! What each transport costs: how soon a command is at the extension, and how late its answer is.

mod poller;

use std::time::{Duration, Instant};

use anyhow::ensure;
use bytes::Bytes;
use tabwire::home::StateDirectory;
use tabwire::proof::DEFAULT_OWNER;
use testkit::ExtensionIdentity;
use testkit::load::{self, LoadClient, LoadExtension, PairedDaemon, SampleSeries};
use tokio::task::JoinSet;

use poller::Poller;

/// How many pairs work side by side.
const PAIRS: usize = 10;

/// What brings commands to an extension and results back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasuredTransport {
    /// The socket.
    WebSocket,
    /// The same frames over HTTP.
    Fallback,
    /// Answers to polls, once a second.
    Poll,
    /// Answers to polls that are held until there is a command.
    Sync,
}

pub(crate) const TRANSPORTS: [MeasuredTransport; 4] = [
    MeasuredTransport::WebSocket,
    MeasuredTransport::Fallback,
    MeasuredTransport::Sync,
    MeasuredTransport::Poll,
];

/// The extension's end.
enum End {
    Frames(Box<LoadExtension>),
    Poller(Poller),
}

impl End {
    /// When it had the next command, and how long it was at it.
    async fn run_for(&mut self, length: Duration) -> anyhow::Result<(Instant, Duration)> {
        match self {
            Self::Frames(extension) => extension.run_for(length).await,
            Self::Poller(poller) => poller.run_for(length).await,
        }
    }
}

impl MeasuredTransport {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::WebSocket => "WebSocket",
            Self::Fallback => "HTTP fallback",
            Self::Poll => "poll every 1 s",
            Self::Sync => "`/sync`",
        }
    }

    async fn connect(
        self,
        port: u16,
        home: &StateDirectory,
        number: usize,
    ) -> anyhow::Result<(End, String)> {
        let browser = format!("{}-{number}", self.name());
        let identity = ExtensionIdentity::new(port, home, &browser);
        let extension = match self {
            Self::WebSocket => LoadExtension::connect(port, &identity).await?,
            Self::Fallback => LoadExtension::connect_http(&identity).await?,
            Self::Poll | Self::Sync => {
                let is_sync = self == Self::Sync;
                let poller = Poller::connect(port, home, number, is_sync).await?;
                let browser = poller.browser();
                return Ok((End::Poller(poller), browser));
            }
        };
        Ok((End::Frames(Box::new(extension)), browser))
    }

    /// How many calls each pair makes.
    pub(crate) fn calls(self, length: Duration) -> usize {
        match (self, length.as_millis()) {
            (Self::Poll, 0..1_000) => 30,
            (_, 0..100) => 200,
            (_, 100..1_000) => 40,
            _ => 10,
        }
    }

    /// How long to wait before the call of this number: one that came right after the result
    /// before would always come right after a poll.
    fn pause(self, number: usize) -> Duration {
        match self {
            Self::WebSocket | Self::Fallback | Self::Sync => Duration::ZERO,
            Self::Poll => Duration::from_millis((number as u64 * 618) % 1_000),
        }
    }
}

/// The figures of one transport with actions of one length.
#[derive(Default)]
pub(crate) struct TransportCost {
    /// From the call until the command is at the extension.
    pub(crate) frame: SampleSeries,
    /// How much later than the action the answer is there.
    pub(crate) late: SampleSeries,
}

/// A client, and an extension in a browser of its own.
struct TransportPair {
    transport: MeasuredTransport,
    client: LoadClient,
    extension: End,
    /// A call that waits for its result, and one that does not.
    body: Bytes,
    unwaited: Bytes,
}

impl TransportPair {
    async fn connect(
        transport: MeasuredTransport,
        port: u16,
        home: &StateDirectory,
        number: usize,
    ) -> anyhow::Result<Self> {
        let (extension, browser) = transport.connect(port, home, number).await?;
        let token = home.auth().token(&DEFAULT_OWNER.into());
        let mut client = LoadClient::connect(port, token, Duration::from_millis(1)).await?;
        client.name.clone_from(&browser);
        // Extensions that only poll have no choice of tab.
        let tab = match transport {
            MeasuredTransport::WebSocket | MeasuredTransport::Fallback => r#","tab_id":7"#,
            MeasuredTransport::Poll | MeasuredTransport::Sync => "",
        };
        let call = format!(r#"{},"browser":"{browser}"{tab}"#, load::SCRIPT);
        let body = load::interact(&format!(r#"{call},"wait_ms":20000"#));
        // Behind many others it waits long.
        let unwaited = load::interact(&format!(r#"{call},"timeout_ms":120000"#));
        let mut pair = Self { transport, client, extension, body, unwaited };
        while !pair.is_known(&browser).await? {}
        Ok(pair)
    }

    /// Nothing answers `ready`; the daemon has taken it in when it shows the tabs.
    async fn is_known(&mut self, browser: &str) -> anyhow::Result<bool> {
        let body = load::call("observe", r#""what":"browsers""#);
        let request = self.client.request("/mcp", body)?;
        let (answer, _) = self.client.send(request).await?;
        let known = format!(r#"{{"browser":"{browser}","label":""#);
        Ok(String::from_utf8_lossy(&answer).contains(&known))
    }

    /// So many calls that do not wait, as fast as they are taken: how long until the last result is in.
    async fn burst(&mut self, calls: usize) -> anyhow::Result<Duration> {
        let Self { client, extension, unwaited, .. } = self;
        let began = load::now();
        let called = async {
            for _ in 0..calls {
                let request = client.request("/mcp", unwaited.clone())?;
                let (answer, _) = client.send(request).await?;
                let answer = String::from_utf8_lossy(&answer);
                ensure!(answer.contains(r#""status":"queued""#), "not taken: {answer}");
            }
            anyhow::Ok(())
        };
        let ran = async {
            match extension {
                End::Frames(extension) => extension.answer_until(calls).await,
                End::Poller(poller) => {
                    for _ in 0..calls {
                        poller.run_for(Duration::ZERO).await?;
                    }
                    Ok(())
                }
            }
        };
        tokio::try_join!(called, ran)?;
        Ok(load::now() - began)
    }

    async fn work(&mut self, length: Duration, calls: usize) -> anyhow::Result<TransportCost> {
        let mut cost = TransportCost::default();
        for number in 0..calls {
            tokio::time::sleep(self.transport.pause(number)).await;
            let request = self.client.request("/mcp", self.body.clone())?;
            let began = self.client.begin().await;
            let ran = self.extension.run_for(length);
            // A refused call brings the extension nothing: it must not be waited for.
            let answered = async {
                let (answer, at) = self.client.send(request).await?;
                load::check_complete(&answer)?;
                anyhow::Ok(at)
            };
            let (answered, (frame, took)) = tokio::try_join!(answered, ran)?;
            cost.frame.add(frame - began);
            cost.late.add((answered - began).saturating_sub(took));
        }
        Ok(cost)
    }
}

/// Pairs of one transport.
pub(crate) struct TransportPairs(Vec<TransportPair>);

impl TransportPairs {
    pub(crate) async fn connect(
        transport: MeasuredTransport,
        daemon: &PairedDaemon,
    ) -> anyhow::Result<Self> {
        let home = daemon.home()?;
        let mut pairs = Vec::new();
        for number in 0..PAIRS {
            let port = daemon.server.port;
            pairs.push(TransportPair::connect(transport, port, &home, number).await?);
        }
        let mut this = Self(pairs);
        // What does not count: connections and caches are warm then.
        this.measure(Duration::ZERO, transport.calls(Duration::ZERO) / 10).await?;
        Ok(this)
    }

    /// A burst of calls of one client.
    pub(crate) async fn burst(&mut self, calls: usize) -> anyhow::Result<Duration> {
        self.0[0].burst(calls).await
    }

    /// What actions of a length cost. Those that take no time go one after the other: side by
    /// side they would wait for this process.
    pub(crate) async fn measure(
        &mut self,
        length: Duration,
        calls: usize,
    ) -> anyhow::Result<TransportCost> {
        if length < Duration::from_millis(100) {
            return self.0[0].work(length, calls).await;
        }
        let mut working = JoinSet::new();
        for (number, mut pair) in self.0.drain(..).enumerate() {
            working.spawn(async move {
                // Not all at the same moment.
                tokio::time::sleep(length * u32::try_from(number)? / u32::try_from(PAIRS)?).await;
                let cost = pair.work(length, calls).await?;
                anyhow::Ok((pair, cost))
            });
        }
        let mut all = TransportCost::default();
        while let Some(done) = working.join_next().await {
            let (pair, cost) = done??;
            self.0.push(pair);
            all.frame.extend(cost.frame);
            all.late.extend(cost.late);
        }
        Ok(all)
    }
}
