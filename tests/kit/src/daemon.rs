//! A daemon in this process: the same function that the program calls, on a free port
//! and in a throw-away state directory.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use tabwire::daemon::{self, DaemonSettings};
use tabwire::home::{StateDirectory, UsualFolder};
use tabwire::install::BrowserFolders;
use tabwire::lifecycle::Limits;
use tabwire::proof::DEFAULT_OWNER;
use tabwire::protocol::{OwnerKind, Timestamp};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Stopwatch;

/// A throw-away state directory, closed to others.
pub struct StateDir(tempfile::TempDir);

impl Default for StateDir {
    fn default() -> Self {
        let closed = Permissions::from_mode(0o700);
        let dir = tempfile::Builder::new().prefix("tabwire-it-").permissions(closed).tempdir();
        Self(dir.unwrap())
    }
}

impl StateDir {
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where agents may write files without a person's doing, as the program has it here.
    pub fn usual_folder(&self) -> UsualFolder {
        UsualFolder { base: self.path().to_owned(), below: "files".into() }
    }

    /// What the program finds in it.
    pub fn home(&self) -> StateDirectory {
        StateDirectory::open(self.path()).unwrap()
    }
}

/// The token of an owner, who is added if none of this name is listed.
pub fn token_of(home: &StateDirectory, owner: &str) -> String {
    let known = home.owners().read().unwrap().unwrap_or_default().owner(owner);
    let add = || home.owners().add(owner, None, OwnerKind::Local, Timestamp::from_unix_micros(0));
    home.auth().token(&known.unwrap_or_else(|_| add().unwrap().owner()))
}

/// Where daemons run: on the test's own thread, as in the program, or on so many of their own as
/// `TABWIRE_TEST_THREADS` says. Nothing may depend on there being one.
fn runtime() -> Handle {
    static THREADS: OnceLock<Option<Runtime>> = OnceLock::new();
    let threads = THREADS.get_or_init(|| {
        let threads = std::env::var("TABWIRE_TEST_THREADS").ok()?.parse().expect("a number");
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Some(builder.worker_threads(threads).enable_all().build().expect("a runtime"))
    });
    // A test that has stopped the clock shares it with its daemon.
    let apart = threads.as_ref().filter(|_| !is_clock_stopped());
    apart.map_or_else(Handle::current, |runtime| runtime.handle().clone())
}

#[expect(clippy::disallowed_methods, reason = "whether time passes is what is asked")]
fn is_clock_stopped() -> bool {
    let before = tokio::time::Instant::now();
    std::thread::sleep(Duration::from_millis(2));
    tokio::time::Instant::now() == before
}

/// A running daemon. It ends with the test, or when it is told to.
pub struct TestDaemon {
    dir: StateDir,
    settings: DaemonSettings,
    port: u16,
    stop: CancellationToken,
    running: Option<JoinHandle<std::io::Result<()>>>,
}

impl TestDaemon {
    /// One with the usual settings.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// One with settings of its own.
    pub async fn with(change: impl FnOnce(&mut DaemonSettings)) -> Self {
        let dir = StateDir::default();
        let mut settings = DaemonSettings {
            home: dir.path().to_owned(),
            port: 0,
            limits: Limits::default(),
            default_wait: Duration::ZERO,
            idle_exit: None,
            ephemeral: false,
            monitor_roots: Vec::new(),
            agent_files: dir.usual_folder(),
            browser_folders: BrowserFolders::default(),
            otlp: None,
        };
        change(&mut settings);
        let stop = CancellationToken::new();
        let mut this = Self { dir, settings, port: 0, stop, running: None };
        this.run().await;
        this
    }

    async fn run(&mut self) {
        let runtime = runtime();
        let starting = runtime.spawn(daemon::Daemon::start(self.settings.clone()));
        let daemon = starting.await.unwrap().unwrap();
        self.port = daemon.port();
        self.stop = CancellationToken::new();
        self.running = Some(runtime.spawn(daemon.run(self.stop.clone())));
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn home(&self) -> StateDirectory {
        self.dir.home()
    }

    /// The user's bearer token.
    pub fn token(&self) -> String {
        self.token_of(DEFAULT_OWNER)
    }

    /// Another owner's.
    pub fn token_of(&self, owner: &str) -> String {
        token_of(&self.home(), owner)
    }

    /// Asks for a shutdown; what is connected finds out.
    pub fn begin_to_stop(&self) {
        self.stop.cancel();
    }

    /// Stops it, and sees to it that this takes less than 5 s: 2 s for what runs, and 2 s for
    /// what is connected.
    pub async fn stop(mut self) {
        self.end().await;
    }

    /// Stops it and starts another one on the same port and state directory.
    pub async fn restart(mut self) -> Self {
        self.end().await;
        self.settings.port = self.port;
        self.run().await;
        self
    }

    async fn end(&mut self) {
        let watch = Stopwatch::start();
        self.stop.cancel();
        if let Some(running) = self.running.take() {
            super::soon("the daemon's end", running).await.unwrap().unwrap();
        }
        watch.assert_under(5_000, "the daemon's end");
    }
}

impl Drop for TestDaemon {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(running) = &self.running {
            running.abort();
        }
    }
}
