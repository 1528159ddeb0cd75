//! Whoever attacks: a thread of its own, until it is told to stop.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{anyhow, ensure};
use tabwire::home::StateDirectory;
use tabwire::proof::DEFAULT_OWNER;
use testkit::ExtensionIdentity;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::attacks::Attack;

/// What is attacked, with what the attacker has: some attacks are of those that were let in.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) port: u16,
    pub(crate) token: String,
    identity: ExtensionIdentity,
    tried: Arc<AtomicU64>,
}

impl Target {
    pub(crate) fn of(port: u16, home: &StateDirectory) -> Self {
        let token = home.auth().token(&DEFAULT_OWNER.into());
        let identity = ExtensionIdentity::new(port, home, "attacker");
        Self { port, token, identity, tried: Arc::default() }
    }

    /// The same with another token.
    pub(crate) fn with_token(&self, token: String) -> Self {
        Self { token, ..self.clone() }
    }

    /// Our own extension in this browser, which can prove itself.
    pub(crate) fn identity(&self, browser: &str) -> ExtensionIdentity {
        ExtensionIdentity { browser: browser.to_owned(), ..self.identity.clone() }
    }

    /// Counts one try.
    pub(crate) fn tried(&self) {
        self.tried.fetch_add(1, Ordering::Relaxed);
    }

    /// Has so many do the same side by side, each by its number, until one of them fails.
    pub(crate) async fn abreast<F>(
        &self,
        count: usize,
        one: impl Fn(Self, usize) -> F,
    ) -> anyhow::Result<()>
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let mut all: JoinSet<_> = (0..count).map(|number| one(self.clone(), number)).collect();
        while let Some(ended) = all.join_next().await {
            ended??;
        }
        Ok(())
    }
}

/// An attack that goes on.
pub(crate) struct Attacker {
    stop: CancellationToken,
    tried: Arc<AtomicU64>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Attacker {
    pub(crate) fn start(attack: Attack, target: &Target) -> anyhow::Result<Self> {
        let (stop, tried) = (CancellationToken::new(), Arc::<AtomicU64>::default());
        let target = Target { tried: tried.clone(), ..target.clone() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let until = stop.clone();
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = until.cancelled() => Ok(()),
                    ended = attack.go_on(&target) => ended,
                }
            })
        });
        Ok(Self { stop, tried, thread })
    }

    /// How much it has tried so far.
    pub(crate) fn tried(&self) -> u64 {
        self.tried.load(Ordering::Relaxed)
    }

    /// Stops it.
    ///
    /// # Errors
    ///
    /// If it could not go on, or got what it should not have.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.thread.join().map_err(|_| anyhow!("the attacker panicked"))??;
        ensure!(self.tried.load(Ordering::Relaxed) > 0, "nothing was tried");
        Ok(())
    }
}
