//! Where the daemon of this computer is: found by its record, started if none runs, replaced if it is older
//! and has nothing to do.

use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::{Mutex, watch};

use super::daemon_finder::{BridgeClient, DaemonIdentity, FoundDaemon};
use super::request::{CallHeaders, ForwardError, HttpClient, read_answer, request};
use crate::home::{
    DaemonRecord, DaemonSighting, OwnersError, StateDirectory, StateDirectoryError, StateFileStamp,
};
use crate::install::SERVICE;
use crate::mcp::{LEGACY_VERSIONS, body_of};
use crate::os::{self, OpenOwnerOnly as _};
use crate::protocol::{DEFAULT_OWNER, Owner, SERVER_VERSION, is_newer_version};

/// How long a daemon may take to start.
const START: Duration = Duration::from_secs(10);

/// How long a service manager may take to start it: its client is told before its own time is over.
const SERVICE_START: Duration = Duration::from_secs(5);

/// How long a daemon may take to say whether it has anything to do.
const ASK: Duration = Duration::from_secs(2);

/// How long a daemon that was killed may hold its lock: a moment longer than its sockets.
const DEATH: Duration = Duration::from_secs(2);

/// How long a daemon that drains may take to end.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);

/// How often, and how far apart, a daemon that is just starting or ending is looked for.
const RECORD_LOOKS: u32 = 200;
const RECORD_LOOK: Duration = Duration::from_millis(10);

/// How much of the log's end is looked through for the reason of a failed start.
const LOG_TAIL: usize = 4096;

/// Which daemon of this computer the bridge is for.
#[derive(Clone, Debug)]
pub struct LocalTarget {
    /// Its state directory.
    pub home: PathBuf,
    /// The port that it is started on; 0 for any that is free.
    pub port: u16,
    /// The owner whose token the bridge sends.
    pub owner: Owner,
    /// Whether a service manager listens on the port, so that a connection starts it.
    pub has_service: bool,
    /// The program to start it with.
    pub program: PathBuf,
}

impl LocalTarget {
    /// The list that the owner is in. `None`: the default owner is in none.
    fn owners_list(&self, home: &StateDirectory) -> Option<PathBuf> {
        let is_named = self.owner.as_str() != DEFAULT_OWNER;
        is_named.then(|| home.owners().path())
    }
}

/// A daemon that was found, and all that a call looks at before it is sent there.
struct KnownDaemon {
    found: FoundDaemon,
    sighting: DaemonSighting,
    owners: Option<PathBuf>,
}

impl KnownDaemon {
    /// Asked before each call: the port of a daemon that has ended is anybody's, and what is sent there has the
    /// token in it.
    fn is_current(&self) -> bool {
        let listed = self.owners.as_deref().and_then(StateFileStamp::of);
        self.found.listed == listed && self.sighting.is_current()
    }
}

/// Finds the daemon of this computer, and remembers where it was.
pub(super) struct LocalDaemonFinder {
    target: LocalTarget,
    client: BridgeClient,
    http: HttpClient,
    known: Mutex<Option<KnownDaemon>>,
    /// The daemon that a call has found last.
    found: watch::Sender<Option<DaemonIdentity>>,
}

impl LocalDaemonFinder {
    pub(super) fn new(target: LocalTarget, client: BridgeClient, http: HttpClient) -> Self {
        Self { target, client, http, known: Mutex::new(None), found: watch::Sender::new(None) }
    }

    /// The daemon of this record, with the token that the owner's name has now.
    fn at(&self, record: DaemonRecord, home: &StateDirectory) -> Result<FoundDaemon, ForwardError> {
        // The look precedes the read: a change during the read is found by the next call.
        let listed = self.target.owners_list(home).as_deref().and_then(StateFileStamp::of);
        // The default owner is in no list.
        let owner = match self.target.owner.as_str() {
            DEFAULT_OWNER => self.target.owner.clone(),
            name => home.owners().owner(name)?,
        };
        let token = home.auth().token(&owner);
        let url = format!("http://127.0.0.1:{}/mcp", record.port);
        let authorization = Some(format!("Bearer {token}"));
        let (identity, client) = (DaemonIdentity::Local(record), self.client.clone());
        Ok(FoundDaemon { identity, url, authorization, listed, client, clock: None })
    }

    /// Where the daemon is; starts one if none runs. Of several bridges one starts it.
    /// `gone` is one that has just failed.
    pub(super) async fn find(
        &self,
        gone: Option<&DaemonIdentity>,
    ) -> Result<FoundDaemon, ForwardError> {
        // Held to the end: calls that come together must not start a daemon each.
        let mut known = self.known.lock().await;
        if let Some(gone) = gone {
            self.has_ended(gone, DEATH).await;
        }
        let is_other = |known: &&KnownDaemon| Some(&known.found.identity) != gone;
        if let Some(known) = known.as_ref().filter(is_other).filter(|known| known.is_current()) {
            return Ok(known.found.clone());
        }
        let home = StateDirectory::open(&self.target.home)?;
        let record = match home.running_daemon()? {
            Some(record) => record,
            None => self.start(&home, self.target.port).await?,
        };
        // The secret may have been replaced while another daemon ended.
        let home = StateDirectory::open(&self.target.home)?;
        let mut found = self.at(record.clone(), &home)?;
        // A busy daemon is left alone: replacing it would break off what runs.
        if is_newer_version(SERVER_VERSION, &record.version) && self.is_free(&found).await {
            found = self.replace(&home, record).await?;
        }
        let sighting = home.sight_daemon()?;
        let sighting =
            sighting.filter(|sighting| Some(sighting.record()) == found.identity.record());
        let owners = self.target.owners_list(&home);
        let found_now = found.clone();
        *known = sighting.map(|sighting| KnownDaemon { found: found_now, sighting, owners });
        self.found.send_if_modified(|last| {
            last.replace(found.identity.clone()).as_ref() != Some(&found.identity)
        });
        Ok(found)
    }

    /// The daemons that calls find, each once.
    pub(super) fn finds(&self) -> watch::Receiver<Option<DaemonIdentity>> {
        self.found.subscribe()
    }

    /// The daemon that runs, if there is one. None is started.
    pub(super) async fn running(&self) -> Option<FoundDaemon> {
        // One that is just being started is waited for.
        let _known = self.known.lock().await;
        let home = StateDirectory::find(&self.target.home).ok()??;
        let record = home.running_daemon().ok()??;
        self.at(record, &home).ok()
    }

    /// Whether this daemon still runs, so that its port is its own.
    pub(super) fn is_running(&self, found: &FoundDaemon) -> bool {
        let home = StateDirectory::find(&self.target.home).ok().flatten();
        let running = home.and_then(|home| home.running_daemon().ok().flatten());
        running.as_ref() == found.identity.record()
    }

    /// Forgets where a daemon was.
    pub(super) async fn forget(&self, found: &FoundDaemon) {
        self.known.lock().await.take_if(|known| known.found.identity == found.identity);
    }

    /// Waits for a daemon to end; whether it has.
    pub(super) async fn has_ended(&self, daemon: &DaemonIdentity, within: Duration) -> bool {
        let Ok(home) = StateDirectory::open(&self.target.home) else { return false };
        let ended = async {
            while !home.running_daemon().is_ok_and(|runs| runs.as_ref() != daemon.record()) {
                tokio::time::sleep(RECORD_LOOK).await;
            }
        };
        tokio::time::timeout(within, ended).await.is_ok()
    }

    /// Whether an older daemon has nothing to do, so that it can be replaced.
    async fn is_free(&self, found: &FoundDaemon) -> bool {
        let health = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": {
            "name": "configure", "arguments": {"action": "health"},
        }});
        let headers = CallHeaders { version: LEGACY_VERSIONS[0], ..CallHeaders::default() };
        let line = Bytes::from(health.to_string());
        let asked = async {
            let request = request(found, line, &headers).ok()?;
            let response = self.http.request(request).await.ok()?;
            let text = read_answer(response, None).await.ok()?;
            let answer: Value = serde_json::from_str(&text).ok()?;
            body_of(&answer["result"])?["pending"].as_u64()
        };
        tokio::time::timeout(ASK, asked).await.ok().flatten() == Some(0)
    }

    /// Asks an older daemon to end, and starts one of this version on its port, where
    /// the extension looks for it.
    async fn replace(
        &self,
        home: &StateDirectory,
        old: DaemonRecord,
    ) -> Result<FoundDaemon, ForwardError> {
        tracing::info!(old = old.version, new = SERVER_VERSION, "replacing an older daemon");
        // The lock was held, so it is the process that the record names.
        let _ = os::ask_process_to_end(old.pid);
        for _ in 0..RECORD_LOOKS {
            if !home.has_daemon()? {
                break;
            }
            tokio::time::sleep(RECORD_LOOK).await;
        }
        self.at(self.start(home, old.port).await?, home)
    }

    async fn start(&self, home: &StateDirectory, port: u16) -> Result<DaemonRecord, ForwardError> {
        let dir = home.dir().to_owned();
        let no_daemon = |error: String| ForwardError::NoDaemon(error);
        let lock =
            tokio::task::spawn_blocking(move || StateDirectory::open(&dir)?.lock_start()).await;
        let _lock = lock
            .map_err(|error| no_daemon(error.to_string()))?
            .map_err(|error| no_daemon(error.to_string()))?;
        // A daemon that has the lock but does not listen yet says where in a moment.
        for _ in 0..RECORD_LOOKS {
            if let Some(record) = home.running_daemon()? {
                return Ok(record);
            }
            if !home.has_daemon()? {
                break;
            }
            tokio::time::sleep(RECORD_LOOK).await;
        }
        // Its port is not free: a daemon that was started beside it would not get it.
        if self.target.has_service
            && port == self.target.port
            && let Ok(waits) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await
        {
            let started = tokio::time::timeout(SERVICE_START, started_by_service(home)).await;
            drop(waits);
            return match started {
                Ok(record) => record.map_err(ForwardError::from),
                Err(_elapsed) => Err(no_daemon(format!(
                    "the service manager listens on port {port}, but no daemon of {} has started within {} s. Run \
                     `systemctl --user status {SERVICE}`, or `tabwire service uninstall`",
                    home.dir().display(),
                    SERVICE_START.as_secs()
                ))),
            };
        }
        let started = tokio::time::timeout(START, self.spawn(home, port)).await;
        match started {
            Ok(Ok(record)) => Ok(record),
            Ok(Err(error)) => Err(no_daemon(error.to_string())),
            Err(_elapsed) => {
                Err(no_daemon(format!("it was not ready within {} s", START.as_secs())))
            }
        }
    }

    /// Starts a daemon of its own session, which says on its standard output where it
    /// listens.
    async fn spawn(&self, home: &StateDirectory, port: u16) -> io::Result<DaemonRecord> {
        let log = open_log(home)?;
        let mut command = Command::new(&self.target.program);
        command
            .args(["serve", "--detach", "--json", "--port", &port.to_string()])
            .env("TABWIRE_HOME", &self.target.home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log);
        // A session of its own: Ctrl-C at the client's terminal must not end the daemon.
        let mut daemon = os::spawn_detached(&mut command)?;
        let mut said = String::new();
        if let Some(stdout) = daemon.stdout.take() {
            BufReader::new(stdout).read_line(&mut said).await?;
        }
        serde_json::from_str(&said).map_err(|_| match said.trim() {
            "" => io::Error::other(last_words(home)),
            said => io::Error::other(said.to_owned()),
        })
    }
}

impl From<OwnersError> for ForwardError {
    fn from(error: OwnersError) -> Self {
        match error {
            OwnersError::List(why) => Self::NoOwner(why.to_string()),
            OwnersError::Home(error) => error.into(),
        }
    }
}

impl From<StateDirectoryError> for ForwardError {
    fn from(error: StateDirectoryError) -> Self {
        Self::NoDaemon(error.to_string())
    }
}

/// Waits for the daemon that the service manager starts.
async fn started_by_service(home: &StateDirectory) -> Result<DaemonRecord, StateDirectoryError> {
    loop {
        if let Some(record) = home.running_daemon()? {
            return Ok(record);
        }
        tokio::time::sleep(RECORD_LOOK).await;
    }
}

fn open_log(home: &StateDirectory) -> io::Result<std::fs::File> {
    std::fs::OpenOptions::new().create(true).append(true).open_owner_only(&home.log_path())
}

/// The last line of the daemon's log.
fn last_words(home: &StateDirectory) -> String {
    let log = std::fs::read(home.log_path()).unwrap_or_default();
    let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_TAIL)..]).into_owned();
    let last = tail.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(
        || "it ended without an error message".to_owned(),
        |line| line.trim().to_owned(),
    )
}
