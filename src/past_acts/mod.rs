//! The person's history of agents' acts: who did what on which site, when, and how it ended. Agents
//! cannot read it: no tool and no route of callers shows it.
//!
//! The hub gives each act that is over to a channel, and this task writes the acts of half a second
//! together, on another thread: no command waits for the disk.

mod file;

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::hub::Hub;
use crate::protocol::{HistoryWish, PastAct, Timestamp};
pub use file::{ACTS_MAX, KEPT_FOR, PastActError, PastActFile, PastActFilter, PastActList};

/// How long an act may wait to be written.
const GATHERED: Duration = Duration::from_millis(500);

/// How many acts may wait. The acts beyond are not kept: that is 8,000 in a second.
const WAITING_MAX: usize = 4_096;

/// How many acts the popup shows.
const SHOWN: usize = 10;

/// Writes the acts of a hub's commands until it is told to finish.
#[derive(Debug)]
pub struct HistoryKeeper {
    finish: mpsc::Sender<()>,
    writing: JoinHandle<()>,
}

impl HistoryKeeper {
    /// Keeps the acts of this hub in this file. Must be called in a tokio runtime.
    #[must_use]
    pub fn start(hub: Hub, file: PastActFile) -> Self {
        let (keeper, acts) = mpsc::channel(WAITING_MAX);
        hub.keep_past_acts(keeper);
        let (finish, finished) = mpsc::channel(1);
        Self { finish, writing: tokio::spawn(write(hub, file, acts, finished)) }
    }

    /// Returns when the acts up to now are written.
    pub async fn finish(self) {
        drop(self.finish);
        // The task ends with the write that it is in.
        let _ = self.writing.await;
    }
}

async fn write(
    hub: Hub,
    file: PastActFile,
    mut acts: mpsc::Receiver<PastAct>,
    mut finished: mpsc::Receiver<()>,
) {
    let mut is_failing = false;
    let mut is_over = false;
    while !is_over {
        let mut gathered = Vec::new();
        tokio::select! {
            _ = acts.recv_many(&mut gathered, WAITING_MAX) => {
                tokio::select! {
                    () = tokio::time::sleep(GATHERED) => {}
                    _ = finished.recv() => is_over = true,
                }
            }
            _ = finished.recv() => is_over = true,
        }
        while let Ok(act) = acts.try_recv() {
            gathered.push(act);
        }
        if gathered.is_empty() {
            continue;
        }
        let (file, now) = (file.clone(), hub.now());
        let kept = tokio::task::spawn_blocking(move || file.keep(&gathered, now)).await;
        let failure = kept.ok().and_then(Result::err);
        // One line of the log is enough for one full disk.
        if let Some(error) = &failure
            && !is_failing
        {
            tracing::warn!(%error, "acts are missing in the history");
        }
        is_failing = failure.is_some();
    }
}

/// Carries out a wish of the person, and returns what they see then.
///
/// # Errors
///
/// [`PastActError`].
pub fn carry_out(
    file: &PastActFile,
    wish: HistoryWish,
    now: Timestamp,
) -> Result<PastActList, PastActError> {
    match wish {
        HistoryWish::Look => {}
        HistoryWish::On => file.set_on(true, now)?,
        HistoryWish::Off => file.set_on(false, now)?,
        HistoryWish::Clear => drop(file.clear(now)?),
    }
    file.read(&PastActFilter { limit: SHOWN, ..PastActFilter::default() })
}
