//! The daemon that a bridge is for: the one of this computer, or one on another machine.

use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use tokio::sync::watch;

use super::far::{FarClock, FarDaemonFinder, FarTarget};
use super::local_finder::{LocalDaemonFinder, LocalTarget};
use super::request::{ForwardError, HttpClient, http};
use crate::daemon_connector::DaemonConnector;
use crate::home::{DaemonRecord, StateFileStamp};
use crate::protocol::BrowserName;
use crate::tools::ToolSurface;

/// Which daemon the bridge is for, and for which client.
#[derive(Clone, Debug)]
pub struct DaemonTarget {
    /// Where the daemon is.
    pub daemon: TargetDaemon,
    /// The client name of the bridge.
    pub client: String,
    /// The browser that the client uses and no other.
    pub browser: Option<BrowserName>,
    /// Whether the client is told of its jobs also if it does not ask.
    pub job_notifications: bool,
    /// The tools that the client is shown, and how long its calls wait.
    pub surface: ToolSurface,
}

/// Where a daemon is.
#[derive(Clone, Debug)]
pub enum TargetDaemon {
    /// On this computer.
    Local(LocalTarget),
    /// On another machine: no daemon is started or replaced.
    Far(FarTarget),
}

impl DaemonTarget {
    /// The daemon, for a client of this name with the usual tools.
    #[must_use]
    pub fn new(daemon: TargetDaemon, client: String) -> Self {
        let (browser, job_notifications) = (None, false);
        Self { daemon, client, browser, job_notifications, surface: ToolSurface::default() }
    }

    /// The HTTP client for it.
    pub(super) fn http(&self) -> HttpClient {
        http(match &self.daemon {
            TargetDaemon::Local(local) => DaemonConnector::new(&local.home),
            TargetDaemon::Far(far) => far.connector(),
        })
    }
}

/// Who the bridge is to the daemon.
#[derive(Clone, Debug)]
pub(super) struct BridgeClient {
    /// The client name that the bridge sends.
    pub(super) name: String,
    /// The browser that the client is pinned to, as the header names it.
    pub(super) browser: Option<String>,
    /// The surface of tools that the client has chosen.
    pub(super) surface: ToolSurface,
}

/// Tells daemons apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DaemonIdentity {
    /// One of this computer.
    Local(DaemonRecord),
    /// A run of one on another machine.
    Far(Arc<str>),
}

impl DaemonIdentity {
    /// The record of a daemon of this computer.
    pub(super) fn record(&self) -> Option<&DaemonRecord> {
        match self {
            Self::Local(record) => Some(record),
            Self::Far(_) => None,
        }
    }
}

/// A daemon that was found.
#[derive(Clone)]
pub(super) struct FoundDaemon {
    pub(super) identity: DaemonIdentity,
    pub(super) url: String,
    /// `None`: the token is at home.
    pub(super) authorization: Option<String>,
    /// The look at the list of owners with which the token was made; `None`: it is in no list.
    pub(super) listed: Option<StateFileStamp>,
    pub(super) client: BridgeClient,
    /// The clock of a daemon on another machine, by which a call says until when it may come.
    pub(super) clock: Option<FarClock>,
}

/// Finds the daemon.
pub(super) enum DaemonFinder {
    Local(Box<LocalDaemonFinder>),
    Far(Box<FarDaemonFinder>),
}

impl DaemonFinder {
    pub(super) fn new(target: DaemonTarget, http: HttpClient) -> Self {
        let DaemonTarget { daemon, client: name, browser, surface, .. } = target;
        let browser = browser.as_ref().map(BrowserName::to_header);
        let client = BridgeClient { name, browser, surface };
        match daemon {
            TargetDaemon::Local(local) => {
                Self::Local(Box::new(LocalDaemonFinder::new(local, client, http)))
            }
            TargetDaemon::Far(far) => Self::Far(Box::new(FarDaemonFinder::new(far, client, http))),
        }
    }

    /// Where the daemon is; one of this computer is started if none runs. `gone` is one that has just failed.
    pub(super) async fn find(
        &self,
        gone: Option<&DaemonIdentity>,
    ) -> Result<FoundDaemon, ForwardError> {
        match self {
            Self::Local(local) => local.find(gone).await,
            Self::Far(far) => far.find().await,
        }
    }

    /// The daemons that calls find, each once.
    pub(super) fn finds(&self) -> watch::Receiver<Option<DaemonIdentity>> {
        match self {
            Self::Local(local) => local.finds(),
            Self::Far(far) => far.finds(),
        }
    }

    /// The daemon that runs, if there is one. None is started.
    pub(super) async fn running(&self) -> Option<FoundDaemon> {
        match self {
            Self::Local(local) => local.running().await,
            Self::Far(far) => far.running().await,
        }
    }

    /// Whether what is sent to this daemon comes to no other program.
    pub(super) fn is_running(&self, found: &FoundDaemon) -> bool {
        match self {
            Self::Local(local) => local.is_running(found),
            // Nothing secret is sent, and home asks for the run.
            Self::Far(_) => true,
        }
    }

    /// Forgets where a daemon was.
    pub(super) async fn forget(&self, found: &FoundDaemon) {
        match self {
            Self::Local(local) => local.forget(found).await,
            Self::Far(far) => far.forget_clock(),
        }
    }

    /// Forgets what is known of a daemon on another machine: its stream broke.
    pub(super) fn note_broken_stream(&self) {
        match self {
            Self::Local(_) => {}
            Self::Far(far) => far.forget_clock(),
        }
    }

    /// Waits for a daemon to end; whether it has.
    pub(super) async fn has_ended(&self, daemon: &DaemonIdentity, within: Duration) -> bool {
        match self {
            Self::Local(local) => local.has_ended(daemon, within).await,
            // Home waits for it.
            Self::Far(_) => false,
        }
    }

    /// Notes the clock that an answer tells.
    pub(super) fn note_clock(&self, headers: &HeaderMap) {
        match self {
            Self::Local(_) => {}
            Self::Far(far) => far.note_clock(headers),
        }
    }
}
