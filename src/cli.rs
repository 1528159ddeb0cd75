//! The command line.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bridge;
use crate::config::{Place, Serving};
use crate::daemon::{Daemon, StartError};
use crate::demo;
use crate::extension;
use crate::home::Home;
use crate::proof::{self, DEFAULT_OWNER, valid_owner};
use crate::protocol::{EXTENSION_ID, SERVER_VERSION};

/// Nothing to connect to, or a port that somebody else has.
const UNAVAILABLE: u8 = 69;

/// Lets AI agents use the browser that you already have open.
#[derive(Parser, Debug)]
#[command(
    name = "tabwire",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 done (also: a daemon runs already), 1 failed, 2 wrong usage, 69 the \
                  port is somebody else's.\n\nExamples:\n  tabwire extension unpack ~/tabwire    \
                  write the extension, then load that folder in the browser\n  tabwire mcp                           \
                  what an MCP client runs\n  tabwire serve                         the daemon, in this terminal\n  \
                  tabwire demo                          see it work with a throw-away browser"
)]
pub struct Cli {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run the daemon in this terminal
    #[command(
        after_help = "Examples:\n  tabwire serve\n  tabwire serve --port 7891\n  tabwire serve --limit queued=10 --limit calls_per_minute=0"
    )]
    Serve {
        #[command(flatten)]
        serving: Serving,
        /// Say where it listens as JSON
        #[arg(long)]
        json: bool,
    },
    /// Speak MCP over stdio; starts the daemon if none runs
    #[command(after_help = "Example, for Claude Code:\n  claude mcp add tabwire -- tabwire mcp")]
    Mcp {
        /// What this client is called in lists [default: a name of its own each time]
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
    /// End the daemon
    Stop,
    /// Print a bearer token for POST /mcp
    Token {
        /// An owner of its own, whose commands nobody else can read
        #[arg(long, value_name = "NAME", default_value = DEFAULT_OWNER)]
        owner: String,
    },
    /// Print what to put into an MCP client's configuration
    McpConfig,
    /// The browser extension
    #[command(subcommand)]
    Extension(Extension),
    /// Start a throw-away daemon and browser and drive them as an MCP client would
    Demo,
}

#[derive(Subcommand, Debug)]
enum Extension {
    /// Write the extension to a folder, with the key to this daemon
    #[command(after_help = "Example:\n  tabwire extension unpack ~/tabwire-extension")]
    Unpack {
        /// Where to [default: `extension` in the state directory]
        dir: Option<PathBuf>,
        /// Say where it is as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the extension's id
    Id,
    /// Let another extension connect, from its next try on
    Allow {
        /// Its id, 32 letters from a to p
        id: String,
    },
}

/// Runs the program: what `main` calls.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = runtime.context("cannot start the runtime").and_then(|runtime| {
        let done = runtime.block_on(cli.run());
        // A thread may still be blocked in a read of standard input.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(code) => code,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn complain(error: &anyhow::Error) {
    // Standard error may be closed; there is nobody else to tell.
    let _ = writeln!(io::stderr(), "tabwire: {error:#}");
}

fn say(text: impl std::fmt::Display) -> anyhow::Result<()> {
    writeln!(io::stdout(), "{text}").context("cannot write to standard output")
}

impl Cli {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { place, command } = self;
        match command {
            Command::Serve { serving, json } => serve(&place, &serving, json).await,
            Command::Mcp { client } => mcp(&place, client).await,
            Command::Stop => stop(&place),
            Command::Token { owner } => token(&place, &owner),
            Command::McpConfig => mcp_config(),
            Command::Extension(Extension::Unpack { dir, json }) => unpack(&place, dir, json),
            Command::Extension(Extension::Id) => {
                say(EXTENSION_ID)?;
                Ok(ExitCode::SUCCESS)
            }
            Command::Extension(Extension::Allow { id }) => allow(&place, &id),
            Command::Demo => demo::run().await,
        }
    }
}

fn log_to_stderr(default: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("TABWIRE_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    // Fails if a log was set up already, which then is as good.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .try_init();
}

async fn serve(place: &Place, serving: &Serving, json: bool) -> anyhow::Result<ExitCode> {
    log_to_stderr("tabwire=info,warn");
    if serving.detach {
        // Fails only if this process leads a group already, and then it is detached.
        let _ = rustix::process::setsid();
    }
    let shutdown = CancellationToken::new();
    let _stop_on_signal = stop_on_signal(shutdown.clone())?;
    let daemon = match Daemon::start(serving.settings(place)?).await {
        Ok(daemon) => daemon,
        Err(error @ StartError::Running(_)) => {
            say(format!("{error}; nothing to do"))?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(StartError::PortTaken { port, holder }) if holder.is_own_tabwire => {
            say(format!(
                "port {port} is served by {holder} already, on another state directory; use that one \
                 (TABWIRE_HOME), or another port"
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(error @ StartError::PortTaken { .. }) => {
            complain(&error.into());
            return Ok(ExitCode::from(UNAVAILABLE));
        }
        Err(error) => return Err(error.into()),
    };
    let port = daemon.port();
    if json {
        say(json!({"pid": std::process::id(), "port": port, "version": SERVER_VERSION}))?;
    } else {
        say(format!(
            "tabwire {SERVER_VERSION} listens on http://127.0.0.1:{port} (Ctrl-C ends it)"
        ))?;
    }
    daemon.run(shutdown).await?;
    Ok(ExitCode::SUCCESS)
}

/// Asks for a shutdown when the system or the user does.
fn stop_on_signal(shutdown: CancellationToken) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        shutdown.cancel();
    }))
}

async fn mcp(place: &Place, client: Option<String>) -> anyhow::Result<ExitCode> {
    log_to_stderr("warn");
    let target = bridge::Target {
        home: place.home()?,
        port: place.port,
        client: client.unwrap_or_else(|| format!("mcp-{}", proof::random_hex::<4>())),
        program: std::env::current_exe().context("cannot tell where this program is")?,
    };
    bridge::run(target, tokio::io::stdin(), tokio::io::stdout()).await?;
    Ok(ExitCode::SUCCESS)
}

fn stop(place: &Place) -> anyhow::Result<ExitCode> {
    use rustix::process::{Pid, Signal, kill_process};
    let home = Home::open(&place.home()?)?;
    let record = if home.has_daemon()? { home.daemon_record()? } else { None };
    let Some(record) = record else {
        say("no daemon runs")?;
        return Ok(ExitCode::SUCCESS);
    };
    // The lock is held, so the record is of the process that holds it.
    let pid = i32::try_from(record.pid).ok().and_then(Pid::from_raw).context("no such process")?;
    kill_process(pid, Signal::TERM).context("cannot end the daemon")?;
    for _ in 0..STOP_LOOKS {
        std::thread::sleep(STOP_LOOK);
        if !home.has_daemon()? {
            say(format!("daemon ended (process {})", record.pid))?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    bail!("the daemon (process {}) has not ended within 5 s", record.pid)
}

const STOP_LOOKS: u32 = 250;
const STOP_LOOK: std::time::Duration = std::time::Duration::from_millis(20);

fn token(place: &Place, owner: &str) -> anyhow::Result<ExitCode> {
    let owner = valid_owner(owner)
        .with_context(|| format!("`{owner}` is no owner: use 1 to 64 letters, digits, - or _"))?;
    say(Home::open(&place.home()?)?.auth().token(&owner))?;
    Ok(ExitCode::SUCCESS)
}

fn mcp_config() -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let config = json!({"mcpServers": {"tabwire": {"command": program, "args": ["mcp"]}}});
    say(serde_json::to_string_pretty(&config)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The running daemon's port, else the one that it will be started on.
fn port_for_extension(place: &Place, home: &Home) -> anyhow::Result<u16> {
    let running = if home.has_daemon()? { home.daemon_record()? } else { None };
    match running.map_or(place.port, |record| record.port) {
        0 => bail!(
            "the extension has to know the port: start the daemon first, or name a port with --port"
        ),
        port => Ok(port),
    }
}

fn unpack(place: &Place, dir: Option<PathBuf>, json: bool) -> anyhow::Result<ExitCode> {
    let home = Home::open(&place.home()?)?;
    let port = port_for_extension(place, &home)?;
    let dir = dir.unwrap_or_else(|| home.dir().join("extension"));
    let dir = std::path::absolute(dir)?;
    extension::unpack(&dir, port, &home.auth().extension_key(EXTENSION_ID))?;
    if json {
        say(json!({"dir": dir, "id": EXTENSION_ID, "port": port, "version": SERVER_VERSION}))?;
    } else {
        say(format!(
            "The extension is in {} (for port {port}).\n\nTo load it:\n  1. Open chrome://extensions \
             in the browser.\n  2. Switch on \"Developer mode\", at the top right.\n  3. Choose \"Load \
             unpacked\" and take that folder. If it was loaded before, press its reload \
             arrow.\n\nThe folder holds a key to your browser: keep it to yourself.",
            dir.display()
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn allow(place: &Place, id: &str) -> anyhow::Result<ExitCode> {
    if id.len() != 32 || !id.bytes().all(|byte| (b'a'..=b'p').contains(&byte)) {
        bail!(
            "`{id}` is no extension id: those are 32 letters from a to p (see chrome://extensions)"
        );
    }
    let home = Home::open(&place.home()?)?;
    let is_new = home.allow_extension(id)?;
    let key = home.auth().extension_key(id);
    let config = json!({"port": port_for_extension(place, &home)?, "ext_key": key.encoded()});
    say(if is_new { "Allowed, from its next try on." } else { "It was allowed already." })?;
    say(format!("It needs this as its config.json (keep it private):\n{config}"))?;
    Ok(ExitCode::SUCCESS)
}
