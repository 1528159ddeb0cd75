//! `tabwire reach`: lets agents on another machine use the browser on this one.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::logs;
use super::mcp::target;
use super::owner::far_owner_to_use;
use super::person::UnattendedFlag;
use crate::bridge::LocalDaemon;
use crate::config::DaemonLocation;
use crate::home::{ReachLock, ReachRun, StateDirectory};
use crate::hub::ClockSample;
use crate::os::StopSignals;
use crate::reach::{
    FarCommand, FarLine, FarProgram, HomeDaemon, LineKind, PlaceName, listen_far, serve,
    serve_folder,
};
use crate::terminal::{TextStyle, TextTable, clean, cut_to_width, is_terminal, print, print_line};

pub(super) const AFTER_HELP: &str = "\
Agents at the far end use the browser by `tabwire mcp --connect NAME`. No port is opened, and the token
stays on this machine. The command runs until Ctrl+C, and connects again by itself when the line breaks.
The programs of the place are an owner of their own: `tabwire owner remove NAME` ends all that they may.

Examples:
  tabwire reach box                       the host `box` of ssh
  tabwire reach ann@build.lan --name build
  tabwire reach --name dev -- docker exec -i -u ann dev tabwire carry dev
  tabwire reach --name dev --socket ~/dev-socket    for a container that has this folder
  tabwire reach --list";

/// The longest pause before the next line, in seconds.
const PAUSE_MAX: u64 = 30;

/// How often the status line is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// A line that lasted this long was a good one: the next pause is the shortest again.
const GOOD: Duration = Duration::from_secs(10);

/// How long the far end may take to end once the person has ended this one.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The name of the socket in a folder.
const FOLDER_SOCKET: &str = "tabwire.sock";

/// The flags of `tabwire reach`.
#[derive(Args, Debug)]
pub(super) struct ReachArguments {
    /// The machine with the agents, as ssh names it
    #[arg(value_name = "DEST", conflicts_with_all = ["command", "socket"])]
    destination: Option<String>,
    /// The name of the place: 1 to 40 letters a-z, digits and - [default: DEST]
    #[arg(long)]
    name: Option<PlaceName>,
    /// The program on the machine with the agents [default: the one in the PATH, or ~/.local/bin/tabwire]
    #[arg(long, value_name = "PATH", requires = "destination")]
    far_program: Option<FarProgram>,
    /// Count a line as broken after 2 s of silence, not 6: both ends are on one machine
    #[arg(long)]
    near: bool,
    /// Listen on a socket in this folder, for a container that has the folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    socket: Option<PathBuf>,
    /// Let the user with this number connect to the folder's socket, too
    #[arg(long, value_name = "N", requires = "socket")]
    uid: Option<u32>,
    /// List the places that are reached now
    #[arg(long, conflicts_with_all = ["destination", "name", "socket", "command"])]
    list: bool,
    #[command(flatten)]
    consent: UnattendedFlag,
    /// Print each change as a line of JSON
    #[arg(long)]
    json: bool,
    /// The command whose standard input and output reach `tabwire carry NAME`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The way to a place.
enum ReachWay {
    Line { command: FarCommand, kind: LineKind },
    Folder { socket: PathBuf, user: Option<u32> },
}

impl ReachWay {
    /// The way in a few words.
    fn summary(&self) -> String {
        match self {
            Self::Line { command, .. } => command.summary(),
            Self::Folder { socket, .. } => socket.display().to_string(),
        }
    }
}

pub(super) async fn run(
    location: &DaemonLocation,
    arguments: ReachArguments,
) -> anyhow::Result<ExitCode> {
    if arguments.list {
        return list(location, arguments.json);
    }
    let (name, way) = name_and_way(&arguments)?;
    logs::to_stderr("warn");
    let home = StateDirectory::open(&location.home()?)?;
    let Some(lock) = home.try_lock_reach(name.as_str())? else {
        bail!(
            "another `tabwire reach` reaches {name} already; `tabwire reach --list` shows it. End it first, or \
             give this one another name with --name"
        );
    };
    let owner = far_owner_to_use(&home, name.as_str(), arguments.consent)?;
    let target = target(location, format!("reach-{name}"))?;
    let daemon = HomeDaemon::new(LocalDaemon::new(target), home, owner);
    let status = StatusLine::new(&name, &way, lock, arguments.json);
    let stop = CancellationToken::new();
    let run = PlaceRun { name, way, daemon, status, stop: stop.clone() };
    // Listened to from here on: Ctrl+C ends the child with this process.
    let mut signals = StopSignals::listen_with_terminal()?;
    let _held = AbortOnDropHandle::new(tokio::spawn(run.daemon.clone().hold()));
    let stopped = async {
        signals.next().await;
        stop.cancel();
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        ended = run.go_on() => ended?,
        () = stopped => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// What the command line says, checked before anything starts.
fn name_and_way(arguments: &ReachArguments) -> anyhow::Result<(PlaceName, ReachWay)> {
    let ReachArguments { destination, name, far_program, near, socket, uid, command, .. } =
        arguments;
    let kind = LineKind::of(*near || destination.as_deref().is_some_and(is_this_machine));
    let way = match (destination, socket, command.is_empty()) {
        (Some(destination), _, _) => {
            if destination.is_empty() || destination.starts_with('-') {
                bail!("`{destination}` is no destination of ssh");
            }
            let command =
                FarCommand::Ssh { destination: destination.clone(), program: far_program.clone() };
            ReachWay::Line { command, kind }
        }
        (None, Some(folder), _) => {
            let socket = std::path::absolute(folder)?.join(FOLDER_SOCKET);
            ReachWay::Folder { socket, user: *uid }
        }
        (None, None, false) => ReachWay::Line { command: FarCommand::Own(command.clone()), kind },
        (None, None, true) => bail!(
            "name the machine with the agents: `tabwire reach DEST`, or `tabwire reach --name NAME -- COMMAND`. \
             `tabwire reach --help` has examples"
        ),
    };
    let name = match (name, destination) {
        (Some(name), _) => name.clone(),
        (None, Some(destination)) => destination
            .parse()
            .with_context(|| format!("`{destination}` cannot be the name of the place"))?,
        (None, None) => bail!("name the place with --name: the far end has the same name"),
    };
    Ok((name, way))
}

/// Whether a destination of ssh names the loopback.
fn is_this_machine(destination: &str) -> bool {
    let host = destination.rsplit_once('@').map_or(destination, |(_, host)| host);
    ["localhost", "127.0.0.1", "::1"].contains(&host)
}

/// A place that is reached.
struct PlaceRun {
    name: PlaceName,
    way: ReachWay,
    daemon: HomeDaemon,
    status: StatusLine,
    /// The person ends it: the far end is to end by itself.
    stop: CancellationToken,
}

impl PlaceRun {
    /// Reaches the place until it is no use to try again.
    async fn go_on(&self) -> anyhow::Result<()> {
        match &self.way {
            ReachWay::Line { command, kind } => self.keep_line(command, *kind).await,
            ReachWay::Folder { socket, user } => {
                let listening = listen_far(socket)?;
                self.status.show(PlaceState::Listening);
                tokio::select! {
                    served = serve_folder(listening, *user, self.daemon.clone()) => Ok(served?),
                    () = self.stop.cancelled() => Ok(()),
                    never = self.count() => match never {},
                }
            }
        }
    }

    async fn keep_line(&self, command: &FarCommand, kind: LineKind) -> anyhow::Result<()> {
        let mut has_connected = false;
        let mut pause = 1;
        loop {
            self.status.show(PlaceState::Connecting);
            let why = match FarLine::open(command, &self.name, kind, has_connected).await {
                // The first one that fails would fail again: the person is told, and changes something.
                Err(error) if !has_connected => return Err(error.into()),
                Err(error) => error.to_string(),
                Ok(line) => {
                    has_connected = true;
                    let began = ClockSample::now().monotonic;
                    let calls = self.daemon.calls();
                    let why = self.serve_line(line, kind).await;
                    let lasted = ClockSample::now().monotonic.saturating_sub(began);
                    if lasted >= GOOD || self.daemon.calls() > calls {
                        pause = 1;
                    }
                    why
                }
            };
            if self.stop.is_cancelled() {
                return Ok(());
            }
            if self.daemon.is_removed() {
                bail!(
                    "owner {0} was removed: its programs may not use the browser any more. Run `tabwire reach` again \
                     to let them",
                    self.name
                );
            }
            self.status.show(PlaceState::Waiting { pause, why });
            tokio::time::sleep(Duration::from_secs(pause)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Passes the calls of a line on until it ends; why it has.
    async fn serve_line(&self, line: FarLine, kind: LineKind) -> String {
        let version = line.greeting().version.clone();
        self.status.show(PlaceState::Connected { version });
        let (pipes, command) = line.split();
        let served = tokio::select! {
            served = serve(pipes, self.daemon.clone(), kind) => served,
            () = self.stop.cancelled() => Ok(()),
            never = self.count() => match never {},
        };
        command.end().await;
        match served {
            Ok(()) => "the far end has ended".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// Shows how many calls there are, without end.
    async fn count(&self) -> std::convert::Infallible {
        let mut shown = self.daemon.calls();
        loop {
            tokio::time::sleep(LOOK).await;
            let calls = self.daemon.calls();
            if calls != shown {
                shown = calls;
                self.status.count(calls);
            }
        }
    }
}

/// What there is to say of a place.
enum PlaceState {
    Connecting,
    Connected {
        /// The version of the program at the far end.
        version: String,
    },
    /// By a folder.
    Listening,
    Waiting {
        /// For how many seconds.
        pause: u64,
        why: String,
    },
}

impl PlaceState {
    const fn word(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected { .. } => "connected",
            Self::Listening => "listening",
            Self::Waiting { .. } => "waiting",
        }
    }

    fn words(&self, name: &PlaceName, by: &str) -> String {
        match self {
            Self::Connecting => format!("connecting to {name} by {by}"),
            Self::Connected { .. } => format!("connected to {name}"),
            Self::Listening => format!("listening for {name} on {by}"),
            Self::Waiting { pause, why } => format!("{name}: {why}; again in {pause} s"),
        }
    }
}

/// The one line that says how it is, and the record for `--list`.
struct StatusLine {
    name: PlaceName,
    by: String,
    lock: ReachLock,
    json: bool,
    /// On a terminal one line changes; else each change is a line.
    is_terminal: bool,
}

impl StatusLine {
    fn new(name: &PlaceName, way: &ReachWay, lock: ReachLock, json: bool) -> Self {
        let is_terminal = is_terminal() && !json;
        Self { name: name.clone(), by: way.summary(), lock, json, is_terminal }
    }

    fn show(&self, state: PlaceState) {
        let words = state.words(&self.name, &self.by);
        let run = ReachRun {
            name: self.name.to_string(),
            pid: std::process::id(),
            by: self.by.clone(),
            state: words.clone(),
        };
        if let Err(error) = self.lock.announce(&run) {
            tracing::warn!(%error, "`tabwire reach --list` does not show the state");
        }
        if !self.json {
            self.line(&words);
            return;
        }
        let mut told = json!({"place": self.name.as_str(), "state": state.word()});
        match state {
            PlaceState::Connected { version } => told["far_version"] = json!(version),
            PlaceState::Waiting { pause, why } => {
                told["why"] = json!(why);
                told["again_in_s"] = json!(pause);
            }
            PlaceState::Connecting | PlaceState::Listening => {}
        }
        self.line(&told.to_string());
    }

    fn count(&self, calls: u64) {
        if self.is_terminal {
            let plural = if calls == 1 { "" } else { "s" };
            self.line(&format!("connected to {}, {calls} call{plural}", self.name));
        }
    }

    /// A reader of standard output that is gone ends no line.
    fn line(&self, words: &str) {
        let words = clean(words);
        let shown = match self.is_terminal {
            true => print(format_args!("\r{}\x1b[K", cut_to_width(&words))),
            false => print_line(words),
        };
        if shown.is_err() {
            tracing::debug!("nobody reads the status");
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if self.is_terminal {
            let _ = print_line("");
        }
    }
}

fn list(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    // No state directory is made for the question.
    let home = StateDirectory::find(&location.home()?)?;
    let runs = home.map(|home| home.reach_runs()).transpose()?.unwrap_or_default();
    if json {
        print_line(json!({"places": runs}))?;
    } else if runs.is_empty() {
        print_line("No place is reached now. `tabwire reach DEST` reaches one.")?;
    } else {
        let mut table = TextTable::new(&["PLACE", "PROCESS", "STATE"]);
        for ReachRun { name, pid, state, .. } in &runs {
            let row = [
                (clean(name), TextStyle::Bold),
                (pid.to_string().into(), TextStyle::Plain),
                (clean(state), TextStyle::Plain),
            ];
            table.row(row.each_ref().map(|(text, style)| (&**text, *style)));
        }
        for line in table.lines() {
            print_line(line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
