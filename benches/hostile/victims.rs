//! Those who behave well, at work whether or not somebody attacks.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use tabwire::home::StateDirectory;
use tabwire::proof::DEFAULT_OWNER;
use testkit::load::{LoadAgent, LoadClient, LoadPair, SampleSeries, now};
use tokio::task::JoinSet;

/// How many clients there are.
const CLIENTS: usize = 8;

/// How far apart a client's calls are: 960 a minute, of the 1,000 that it has.
const PACE: Duration = Duration::from_micros(62_500);

/// How far apart new connections are.
const NEWCOMERS: Duration = Duration::from_millis(250);

/// After this long a new connection that was not answered counts as lost.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a newcomer asks.
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Clients that are connected, and what it takes to connect anew.
pub(crate) struct Victims {
    agents: Vec<LoadAgent>,
    port: u16,
    token: String,
}

/// What was waited for.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// For whole commands.
    pub(crate) commands: SampleSeries,
    /// For the first answer on a new connection, from before there is one.
    pub(crate) newcomers: SampleSeries,
    /// How many new connections got no answer.
    pub(crate) lost: u32,
}

impl Waits {
    pub(crate) fn extend(&mut self, others: Self) {
        self.commands.extend(others.commands);
        self.newcomers.extend(others.newcomers);
        self.lost += others.lost;
    }
}

impl Victims {
    pub(crate) async fn connect(port: u16, home: &StateDirectory) -> anyhow::Result<Self> {
        let mut agents = Vec::new();
        for number in 0..CLIENTS {
            agents.push(LoadAgent::of(LoadPair::connect(port, home, number).await?));
        }
        Ok(Self { agents, port, token: home.auth().token(&DEFAULT_OWNER.into()) })
    }

    /// All of them at work for a while, and newcomers besides.
    pub(crate) async fn work(&mut self, length: Duration) -> anyhow::Result<Waits> {
        let (began, end) = (now(), now() + length);
        let mut working = JoinSet::new();
        for (number, mut agent) in (0_u32..).zip(self.agents.drain(..)) {
            // Spread over the time, so that they do not wait for each other.
            let first = began + PACE * number / CLIENTS as u32;
            working.spawn(async move {
                let took = calls(&mut agent, first, end).await;
                took.map(|took| (agent, took))
            });
        }
        let mut waits = self.newcomers(end).await;
        while let Some(worked) = working.join_next().await {
            let (agent, took) = worked?.context("a well-behaved client's call")?;
            self.agents.push(agent);
            waits.commands.extend(took);
        }
        Ok(waits)
    }

    async fn newcomers(&self, end: Instant) -> Waits {
        let mut waits = Waits::default();
        let mut due = now() + NEWCOMERS / 2;
        while due < end {
            tokio::time::sleep_until(due.into()).await;
            let began = now();
            match tokio::time::timeout(PATIENCE, self.ping()).await {
                Ok(Ok(at)) => waits.newcomers.add(at - began),
                Ok(Err(_)) | Err(_) => waits.lost += 1,
            }
            due += NEWCOMERS;
        }
        waits
    }

    /// Connects and asks; when the answer was there.
    async fn ping(&self) -> anyhow::Result<Instant> {
        let mut client = LoadClient::connect(self.port, self.token.clone(), Duration::ZERO).await?;
        client.name = "newcomer".to_owned();
        let request = client.request("/mcp", Bytes::from_static(PING))?;
        Ok(client.send(request).await?.1)
    }
}

/// Calls at an even pace. One that was due while the one before it was not over counts from
/// then.
async fn calls(
    agent: &mut LoadAgent,
    first: Instant,
    end: Instant,
) -> anyhow::Result<SampleSeries> {
    let mut took = SampleSeries::default();
    let mut due = first;
    while due < end {
        let is_late = now() > due;
        tokio::time::sleep_until(due.into()).await;
        let began = if is_late { due } else { now() };
        took.add(agent.call().await? - began);
        due += PACE;
    }
    Ok(took)
}
