//! Many clients, each with a browser of its own, and the daemon that they are of.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tabwire::home::StateDirectory;
use tokio::task::JoinSet;

use super::{LoadPair, MeasuredServer, SampleSeries, now};

/// A daemon with a temporary state directory.
pub struct PairedDaemon {
    pub server: MeasuredServer,
    pub folder: tempfile::TempDir,
}

impl PairedDaemon {
    pub fn start(program: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("no temporary directory")?;
        let server = MeasuredServer::daemon(program, &folder.path().join("state"), flags)?;
        Ok(Self { server, folder })
    }

    pub fn home_path(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn home(&self) -> anyhow::Result<StateDirectory> {
        Ok(StateDirectory::open(&self.home_path())?)
    }

    /// So many clients with their browsers.
    pub async fn connect(&self, count: usize) -> anyhow::Result<LoadPairs> {
        let home = self.home()?;
        let mut pairs = Vec::new();
        for number in 0..count {
            pairs.push(LoadPair::connect(self.server.port, &home, number).await?);
        }
        Ok(LoadPairs(pairs))
    }
}

/// Clients that work side by side.
pub struct LoadPairs(pub Vec<LoadPair>);

impl LoadPairs {
    /// Calls of all of them, for a while: how long each call took.
    pub async fn work(&mut self, length: Duration) -> anyhow::Result<SampleSeries> {
        let end = now() + length;
        let mut working = JoinSet::new();
        for mut pair in self.0.drain(..) {
            working.spawn(async move {
                let mut took = SampleSeries::default();
                let worked = pair.work(end, &mut took).await;
                worked.map(|()| (pair, took))
            });
        }
        let mut all = SampleSeries::default();
        while let Some(done) = working.join_next().await {
            let (pair, took) = done??;
            self.0.push(pair);
            all.extend(took);
        }
        Ok(all)
    }
}
