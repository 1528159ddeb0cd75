//! The daemon: one for each state directory, on one port of the loopback.

mod handed_listeners;
mod log_file;
mod port_holder;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::admission::PollerAdmission;
use crate::annotations::AnnotationService;
use crate::edge::{self, EdgeListeners};
use crate::engine::RecordedHistory;
use crate::home::{
    DaemonLock, DaemonRecord, DaemonSocket, DaemonSocketError, StateDirectory, StateDirectoryError,
    UsualFolder,
};
use crate::hub::{ClockSample, Hub};
use crate::install::BrowserFolders;
use crate::jobs::JobRunner;
use crate::jobs::monitor::FileMonitor;
use crate::journal::{self, Journal};
use crate::lifecycle::Limits;
use crate::mcp::ExtraTools;
use crate::os;
use crate::owners;
use crate::past_acts::{HistoryKeeper, PastActFile};
use crate::protocol::SERVER_VERSION;
use crate::renewals;
use crate::sites::LiveSiteRules;
use crate::span_export::{NoOtlp, OtlpEndpoint, SpanExporter};
use crate::tools::ToolSet;
use crate::uploads::UploadService;
use crate::widenings;
pub use handed_listeners::{HandedListeners, HandedSocketError};
pub use log_file::LogFile;
pub use port_holder::PortHolder;

/// How many connections may wait to be accepted. Where there is no room, the system drops a new
/// one, and its client tries again only a second later.
const BACKLOG: u32 = 1_024;

/// How often two listeners on one free port are tried for, when any port will do.
const PORT_TRIES: u32 = 20;

/// How often a daemon that ends when it is idle looks whether it is.
const IDLE_LOOK: Duration = Duration::from_secs(30);

/// How often a daemon looks whether its state directory is still there.
const HOME_LOOK: Duration = Duration::from_secs(3);

/// The settings of a daemon.
#[derive(Clone, Debug)]
pub struct DaemonSettings {
    /// The state directory.
    pub home: PathBuf,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The capacities.
    pub limits: Limits,
    /// How long `interact` blocks for a result unless the call says otherwise.
    pub default_wait: Duration,
    /// End after this long without a call and without a command; `None`: never.
    pub idle_exit: Option<Duration>,
    /// Keep no journal: nothing outlives the process.
    pub ephemeral: bool,
    /// The folders that `wksm_monitor_sync` may look into.
    pub monitor_roots: Vec<PathBuf>,
    /// The folder that agents may write files to without a person's doing.
    pub agent_files: UsualFolder,
    /// The folders in which browsers keep their profiles, to offer the person a profile's own name.
    pub browser_folders: BrowserFolders,
    /// The collector that gets a span of each command; `None`: nothing leaves the computer.
    pub otlp: Option<OtlpEndpoint>,
}

/// A daemon that listens. Nothing is answered before [`Daemon::run`].
#[derive(Debug)]
pub struct Daemon {
    settings: DaemonSettings,
    home: StateDirectory,
    lock: DaemonLock,
    port: u16,
    listeners: Vec<TcpListener>,
    socket: Result<DaemonSocket, DaemonSocketError>,
    journal: Journal,
    history: RecordedHistory,
}

/// Why a daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The state directory cannot be used.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] journal::OpenError),
    /// One runs on this state directory already.
    #[error("a Tabwire daemon already runs on this state directory{}", at(.0.as_ref()))]
    Running(Option<DaemonRecord>),
    /// The port is in use.
    #[error(
        "port {port} is in use by {holder}. Stop that program, or choose another port: run `tabwire install --port PORT`, then reload the extension and restart the MCP client"
    )]
    PortTaken {
        /// The port.
        port: u16,
        /// Who has it, as far as can be told.
        holder: PortHolder,
    },
    /// The sockets of the service manager cannot be used.
    #[error(transparent)]
    HandedSocket(#[from] HandedSocketError),
    /// Spans are to be sent, and cannot be.
    #[error(transparent)]
    NoOtlp(#[from] NoOtlp),
    /// The system would not let it listen.
    #[error("cannot listen on port {port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
}

fn at(record: Option<&DaemonRecord>) -> String {
    record.map_or_else(String::new, |record| {
        format!(" (version {}, process {}, port {})", record.version, record.pid, record.port)
    })
}

impl Daemon {
    /// Opens the state directory, takes its lock, reads the journal and listens.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub async fn start(settings: DaemonSettings) -> Result<Self, StartError> {
        Self::start_on(settings, None).await
    }

    /// The same on sockets that a service manager has opened; their port is the daemon's.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub async fn start_on(
        settings: DaemonSettings,
        handed: Option<HandedListeners>,
    ) -> Result<Self, StartError> {
        if settings.otlp.is_some() {
            SpanExporter::check_built()?;
        }
        let home = StateDirectory::open(&settings.home)?;
        // Before anything is read: two daemons must never share a journal.
        let Some(lock) = home.try_lock_daemon()? else {
            return Err(StartError::Running(home.daemon_record()?));
        };
        // The secret may have been replaced before the lock was taken. From here on a
        // program that replaces it finds this daemon, and ends it.
        let home = StateDirectory::open(&settings.home)?;
        // Without them nothing may be let through, so a daemon that cannot read them does not
        // start.
        home.site_rules().read()?;
        home.local_files().read()?;
        home.scopes().read()?;
        let (journal, history) = if settings.ephemeral {
            tracing::warn!("the daemon keeps no journal: commands do not outlive this process");
            (Journal::ephemeral(), RecordedHistory::default())
        } else {
            open_journal(&home)?
        };
        // Before anybody connects: from here on only the tokens of listed owners count.
        owners::read_or_seed(&home, &history)?;
        // Late, so that nobody connects to a daemon that does not start.
        let (port, listeners) = match handed {
            Some(HandedListeners { port, listeners }) => (port, listeners),
            None => listen(settings.port).await?,
        };
        let socket = lock.listen();
        let record =
            DaemonRecord { pid: std::process::id(), port, version: SERVER_VERSION.to_owned() };
        // From here on bridges find this daemon, and their connections wait in the backlog.
        lock.announce(&record)?;
        Ok(Self { settings, home, lock, port, listeners, socket, journal, history })
    }

    /// The port that it listens on.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The state directory that it runs on.
    #[must_use]
    pub const fn home(&self) -> &StateDirectory {
        &self.home
    }

    /// Serves until `shutdown`, or until it has been idle for as long as it was told.
    ///
    /// # Errors
    ///
    /// The system's.
    pub async fn run(self, shutdown: CancellationToken) -> io::Result<()> {
        self.serve(shutdown, None).await
    }

    /// The same, with `extra` tools for MCP clients.
    ///
    /// # Errors
    ///
    /// The system's.
    pub async fn serve(
        self,
        shutdown: CancellationToken,
        extra: Option<ExtraTools>,
    ) -> io::Result<()> {
        let Self { settings, home, lock, port, listeners, socket, journal, history } = self;
        let hub = Hub::open(settings.limits, journal, history, &ClockSample::now());
        // Commands of an owner that was removed meanwhile must not reach a browser.
        let list = home.owners().read().map_err(io::Error::other)?.unwrap_or_default();
        hub.set_owners(Arc::new(list));
        hub.set_browser_names(home.browser_names().read().map_err(io::Error::other)?);
        let history = HistoryKeeper::start(hub.clone(), PastActFile::at(&home.history_path()));
        let spans = settings.otlp.map(|endpoint| SpanExporter::start(hub.clone(), endpoint));
        let jobs = JobRunner::start(hub.clone(), monitor(&hub, &home, settings.monitor_roots));
        let tools = ToolSet::new(hub.clone(), settings.default_wait);
        let annotations = AnnotationService::new(hub.clone(), home.drawings());
        let tools = tools.with_store(home.store()).with_noise(home.noise()).with_jobs(jobs.clone());
        let tools = tools.with_annotations(annotations);
        let sites = LiveSiteRules::open(hub.clone(), &home).map_err(io::Error::other)?;
        let agent_files = home.agent_files(settings.agent_files);
        let local_files = sites.local_files().clone();
        let own = Arc::new(StateDirectory::open(home.dir()).map_err(io::Error::other)?);
        let uploads =
            UploadService::new(hub.clone(), own, agent_files.clone(), home.uploads(), local_files);
        hub.set_agent_files(agent_files);
        let removing = AbortOnDropHandle::new(tokio::spawn(uploads.clone().remove_old()));
        let tools = tools.with_sites(sites).with_uploads(uploads);
        let admission = PollerAdmission::new(hub.clone(), home.legacy());
        let tools = tools.with_admission(admission);
        let open = || StateDirectory::open(home.dir()).map_err(io::Error::other);
        let watching = AbortOnDropHandle::new(tokio::spawn(widenings::watch(hub.clone(), open()?)));
        let renewing = AbortOnDropHandle::new(tokio::spawn(renewals::watch(hub.clone(), open()?)));
        // An idle exit must not cancel the caller's own token.
        let stop = shutdown.child_token();
        tracing::info!(port, home = %home.dir().display(), version = SERVER_VERSION, "listening");
        // Programs that find no socket use the port, so this is no reason to end.
        let socket = socket.inspect_err(|why| {
            if os::HAS_UNIX_SOCKETS {
                tracing::warn!(%why, "the daemon listens on its port alone");
            }
        });
        let listeners = EdgeListeners { ports: listeners, socket: socket.ok() };
        let serving =
            edge::serve(listeners, home, tools, extra, settings.browser_folders, stop.clone());
        tokio::pin!(serving);
        let served = tokio::select! {
            served = &mut serving => served,
            () = idle(&hub, settings.idle_exit) => {
                tracing::info!("nothing to do for a while: ending");
                stop.cancel();
                serving.await
            }
            // Nobody finds it any more, and what it records is nowhere.
            () = removed(&lock) => {
                tracing::error!(home = %settings.home.display(), "the state directory was removed: ending");
                stop.cancel();
                serving.await
            }
        };
        drop((watching, renewing, removing));
        // A job may still write to the state directory.
        jobs.ended().await;
        history.finish().await;
        if let Some(spans) = spans {
            spans.finish().await;
        }
        // Only now may the next daemon start.
        drop(lock);
        served
    }
}

/// The monitor of this state directory.
fn monitor(hub: &Hub, home: &StateDirectory, roots: Vec<PathBuf>) -> FileMonitor {
    let (hub, began) = (hub.clone(), hub.now());
    FileMonitor::open(&home.monitor_path(), roots, Arc::new(move || hub.now().since(began)))
}

/// Opens the journal of this state directory.
fn open_journal(home: &StateDirectory) -> Result<(Journal, RecordedHistory), StartError> {
    let now = ClockSample::now().system.unix_millis();
    let opened = journal::open(&home.journal_path(), &format!("unusable-{now}"))?;
    if let (Some(why), Some(to)) = (opened.unusable, &opened.history.moved_aside) {
        tracing::error!(
            why,
            kept = %to.display(),
            "the journal could not be used and was moved aside: this daemon starts with an empty one"
        );
    }
    Ok((opened.journal, opened.history))
}

/// Returns once the hub has had nothing to do for `length`.
async fn idle(hub: &Hub, length: Option<Duration>) {
    let Some(length) = length else { return std::future::pending().await };
    let began = hub.now();
    loop {
        tokio::time::sleep(length.min(IDLE_LOOK)).await;
        if hub.idle_for(began) >= length {
            return;
        }
    }
}

/// Returns once the state directory was removed.
async fn removed(lock: &DaemonLock) {
    while lock.is_in_place() {
        tokio::time::sleep(HOME_LOOK).await;
    }
}

/// Listens on the loopback, IPv4 and, where there is one, IPv6, on the same port.
async fn listen(wanted: u16) -> Result<(u16, Vec<TcpListener>), StartError> {
    let mut tries = 0;
    loop {
        let v4 = bind((Ipv4Addr::LOCALHOST, wanted).into());
        let v4 = match v4 {
            Ok(listener) => listener,
            Err(source) => return Err(not_bound(wanted, source).await),
        };
        let local = v4.local_addr();
        let port = local.map_err(|source| StartError::Listen { port: wanted, source })?.port();
        match bind((Ipv6Addr::LOCALHOST, port).into()) {
            Ok(v6) => return Ok((port, vec![v4, v6])),
            // Another program there would get our clients' requests to `localhost`.
            Err(source) if os::may_be_taken(&source) => {
                tries += 1;
                if wanted != 0 || tries == PORT_TRIES {
                    return Err(not_bound(port, source).await);
                }
            }
            Err(_no_ipv6) => return Ok((port, vec![v4])),
        }
    }
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    os::prepare_listener(&socket)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn not_bound(port: u16, source: io::Error) -> StartError {
    if source.kind() == io::ErrorKind::AddrInUse {
        return StartError::PortTaken { port, holder: PortHolder::find(port).await };
    }
    let holder = if os::may_be_taken(&source) { PortHolder::find_any(port).await } else { None };
    match holder {
        Some(holder) => StartError::PortTaken { port, holder },
        None => StartError::Listen { port, source },
    }
}
