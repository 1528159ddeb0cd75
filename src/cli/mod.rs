//! The command line: the subcommands, their help and their exit codes.

mod asks;
mod call;
mod carry;
mod commands;
mod completions;
mod confirm;
mod connect;
mod daemon_client;
mod doctor;
mod drawings;
mod errors;
mod extension;
mod files;
mod fleet;
mod history;
mod install;
mod legacy;
mod logs;
mod mcp;
mod metrics;
mod monitor_roots;
mod open;
mod output_file;
mod overview;
mod owner;
mod pair;
mod person;
mod reach;
mod scope;
mod serve;
mod service;
mod sites;
mod state_removal;
mod status;
mod trace;
mod update;
mod wsl;

use std::ffi::OsString;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use serde_json::json;

use crate::config::{DaemonLocation, ServeOptions};
use crate::demo;
use crate::home::StateDirectory;
use crate::install::native_host::is_call_of_browser;
use crate::proof::{DEFAULT_OWNER, valid_owner};
use crate::protocol::{BrowserName, CorrelationId, Owner};
use crate::terminal::{OutputError, print_line};
use crate::tools::ToolSurface;
use connect::ConnectFlag;
use errors::{ExitFailure, message_with_causes, print_error, with_origin};
use owner::NewOwnerConsent;

/// Exit code: no daemon runs.
const NOT_RUNNING: u8 = 3;

/// Exit code: the command would widen what agents may do, and no person agreed.
const NEEDS_PERSON: u8 = 77;

/// Exit code: another program uses the port.
const UNAVAILABLE: u8 = 69;

/// Exit code: the NATS servers of a place do not prove by TLS that they are its team's.
#[cfg(any(feature = "fleet", test))]
const NO_TLS: u8 = 78;

const AFTER_HELP: &str = "\
Exit codes:
  0   success (also: a daemon already runs; the reader of the output closed it)
  1   failure; for `doctor`: something is broken
  2   invalid arguments
  3   no daemon runs (`status`, `open`, `commands`, `trace`, `asks`, `metrics`)
  69  port in use (`serve`)
  75  the wait ended before the command did (`call`)
  77  the command would widen what agents may do, and no person agreed: run it in a
      terminal, or add --unattended
  78  no TLS with NATS servers off this machine, or not of this key (`mcp`, `call`, `join`)
  130 Ctrl+C cancelled the command (`call`)

Environment:
  TABWIRE_HOME, TABWIRE_PORT  same as --home and --port
  TABWIRE_CLIENT              same as --client of `call`
  TABWIRE_LOG                 log filter, for example tabwire=debug
  NO_COLOR                    turn colours off

Examples:
  tabwire            show the set-up and the next step
  tabwire install    set up the extension, browsers and MCP clients
  tabwire mcp        run the server that an MCP client starts
  tabwire call       list the tools; call one from a script
  tabwire doctor     find the broken part
  tabwire serve      run the daemon in this terminal
  tabwire demo       try Tabwire with a throw-away browser";

/// Lets AI agents use the browser that you already have open.
#[derive(Parser, Debug)]
#[command(name = "tabwire", version, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(flatten)]
    location: DaemonLocation,
    // Without a subcommand, `overview` shows the set-up and the next step.
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Subcommand, Debug)]
enum CliCommand {
    /// Set up the extension, browsers and MCP clients
    #[command(
        after_help = "Examples:\n  tabwire install                           ask which MCP clients to configure\n  tabwire install --client cursor --print   print the changes and write nothing\n  tabwire install --all                     configure every MCP client that is found\n  tabwire install --client cursor --scope own   Cursor sees the tabs that it opens, and no others\n  tabwire install --all --json --wait       from a script: wait until the extension connects\n\nThe command copies the extension to a folder, registers a native messaging host with each browser\nand configures MCP clients. On a terminal it then starts the daemon and waits for the extension.\nCtrl+C ends the wait and keeps the set-up.\n\nWith --scope a client gets an owner of its own: its commands, stored values and drawings are of that\nowner from then on. `tabwire scope` lists and changes scopes later. Without --scope clients belong to\n`user`, who sees every tab, unless `tabwire scope` has a narrower scope for the client's name.\n\nSafe to re-run, for example after an upgrade: the command updates the extension and the clients\nthat it configured before. With TABWIRE_HOME or --home it changes nothing outside that directory."
    )]
    Install(install::InstallArguments),
    /// Remove the extension's files, the native messaging host and the entries in MCP clients
    #[command(
        after_help = "Examples:\n  tabwire uninstall\n  tabwire uninstall --state            remove keys, journal, logs and drawings as well\n  tabwire uninstall --state --print    print each path that would be removed\n\nFiles of other programs in the state directory stay, and the command prints their paths."
    )]
    Uninstall(install::UninstallArguments),
    /// Print a pairing line to paste into the extension's popup
    #[command(
        after_help = "You need no pairing line after `tabwire install` or `tabwire extension unpack`.\nThe line holds the key to your browser: keep it private.\n\nExamples:\n  tabwire pair\n  tabwire pair --json | jq -r .line"
    )]
    Pair {
        /// Print port, key and line as JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace the secret, which revokes every key and token
    #[command(
        after_help = "The command ends a running daemon; the next call of a client starts one with the new secret. An\nextension pairs itself again in a browser that `tabwire install` has set up. Pair any other\nextension with `tabwire pair`, and give out new tokens with `tabwire token`.\n\nExamples:\n  tabwire unpair\n  tabwire unpair --json"
    )]
    Unpair {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Native messaging host: browsers start it to give the extension its key
    #[command(
        after_help = "The command speaks Chrome's native messaging on stdin and stdout, to the Tabwire extension only.\nYou need not run it: `tabwire install` registers it with each browser.\n\nExample, as a browser runs it:\n  tabwire native-host chrome-extension://abcdefghijklmnopabcdefghijklmnop/"
    )]
    NativeHost {
        /// The origin of the caller, as the browser passes it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        caller: Vec<String>,
    },
    /// Print the command that brings a newer version
    #[command(
        after_help = "Tabwire never asks a server whether there is a newer version. The command prints the line that fits\nhow this program came to the computer; its last part, `tabwire install`, renews the extension and the\nsettings of MCP clients.\n\nExamples:\n  tabwire update\n  tabwire update --json | jq -r .command"
    )]
    Update {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run the daemon in this terminal
    #[command(
        after_help = "Examples:\n  tabwire serve\n  tabwire serve --port 7891\n  tabwire serve --limit queued=10 --limit calls_per_minute=0\n  tabwire serve --idle-exit 600      end after 10 minutes without work"
    )]
    Serve {
        #[command(flatten)]
        serving: ServeOptions,
        #[command(flatten)]
        older: legacy::LegacyFlag,
        #[command(flatten)]
        consent: person::UnattendedFlag,
        /// Print the address as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run an MCP server over stdio; starts the daemon if none runs
    #[command(
        after_help = "The default is five tools with the actions as parameters. `--tools split` makes each action a tool:\na person can then allow one of them for good, and a call waits up to 30 s for its result. The core is\nalways there; further groups are nav, input, page, files, streams, state and manage.\n\nExamples:\n  claude mcp add tabwire -- tabwire mcp --tools split\n  tabwire mcp --tools split,files,nav\n  tabwire mcp --wait 10000              five tools whose calls wait for their results\n  tabwire mcp --owner research           a program whose commands and values no other owner reads\n  tabwire mcp --connect box              the browser on the machine that runs `tabwire reach box`"
    )]
    Mcp {
        /// The client's name in lists [default: a new name for each start]
        #[arg(long, value_name = "NAME", value_parser = mcp::client_name)]
        client: Option<String>,
        /// Call as this owner: other owners cannot read its commands, stored values and drawings
        #[arg(long, value_name = "NAME", default_value = DEFAULT_OWNER, conflicts_with = "connect")]
        owner: String,
        /// Use the browser of this name and no other
        #[arg(long, value_name = "NAME", value_parser = BrowserName::parse)]
        browser: Option<BrowserName>,
        #[command(flatten)]
        far: ConnectFlag,
        /// Send job notifications even to a client that does not ask for them
        #[arg(long)]
        job_notifications: bool,
        /// Show five tools (compact) or a tool for each action (split, with groups after commas)
        #[arg(long, value_name = "SURFACE", default_value = "compact", value_parser = ToolSurface::parse)]
        tools: ToolSurface,
        /// Let calls wait up to this many ms for their results unless they say otherwise
        #[arg(long, value_name = "MS", value_parser = ToolSurface::parse_wait)]
        wait: Option<Duration>,
    },
    /// Call a tool and wait for its result; starts the daemon if none runs
    #[command(after_help = call::AFTER_HELP)]
    Call(call::CallArguments),
    /// Let agents on another machine use this browser, by ssh or any other command
    #[command(after_help = reach::AFTER_HELP)]
    Reach(reach::ReachArguments),
    /// The far end of `tabwire reach`: take the calls of this machine's agents
    #[command(
        after_help = "You need not run it: `tabwire reach` starts it at the far end. The command carries calls over its\nstandard input and output, and ends with them.\n\nExamples:\n  tabwire reach --name dev -- docker exec -i -u ann dev tabwire carry dev\n  tabwire carry dev     as the last command of any way to this machine"
    )]
    Carry(carry::CarryArguments),
    #[command(flatten)]
    Fleet(fleet::FleetCommand),
    /// End the daemon
    #[command(
        after_help = "Running commands get 2 s to finish. Commands that have not begun continue in the next daemon.\n\nExamples:\n  tabwire stop\n  tabwire stop --json"
    )]
    Stop {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run the daemon as a service of your session, or end that
    #[command(
        subcommand_required = true,
        after_help = "MCP clients start a daemon when they need one, so a service is a matter of taste: with it the port is\nserved from the moment you log in, and an update of the daemon loses no connection.\n\nExamples:\n  tabwire service install\n  tabwire service status\n  tabwire service uninstall"
    )]
    Service {
        #[command(subcommand)]
        command: service::ServiceCommand,
        /// Print JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// Show the daemon, its browsers and its clients
    #[command(
        after_help = "Exit codes: 0 it runs, 3 no daemon runs, 1 it does not answer.\n\nExamples:\n  tabwire status\n  tabwire status --json | jq -r '.browsers[].label'"
    )]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show agents, tabs and commands live, in your browser
    #[command(
        after_help = "The command writes a file that only you can read and opens it in your browser. The file holds a code\nthat counts once, within 30 s. Agents cannot open, see or record the page.\n\nExamples:\n  tabwire open\n  tabwire open --print   print the file's path, and open nothing\n  tabwire open --json"
    )]
    Open {
        /// Print the path of the file to open, and start no browser
        #[arg(long)]
        print: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check every part from the state directory to the browser, and name the fix
    #[command(
        after_help = "Exit codes: 0 nothing is broken, 1 something is broken.\nThe command changes nothing. It asks each browser for its list of tabs.\n\nExamples:\n  tabwire doctor\n  tabwire doctor --json | jq -r .first_broken\n  tabwire doctor --report     write a file to attach to a bug report"
    )]
    Doctor(doctor::DoctorArguments),
    /// List current commands, and those that ended within the last 60 s
    #[command(
        after_help = "A terminal shows a table with local times and short ids, which `tabwire trace` accepts. A pipe gets\none line for each command, with tabs between the fields: time (UTC), status, ms, id, action, tab,\nclient, browser.\n\nExamples:\n  tabwire commands --follow\n  tabwire commands --json | jq '.commands[] | select(.status == \"error\")'"
    )]
    Commands {
        /// Print each change as it happens, until Ctrl+C
        #[arg(long, short)]
        follow: bool,
        /// Print JSON; with --follow one event per line
        #[arg(long)]
        json: bool,
    },
    /// Show a command's timeline
    #[command(
        after_help = "Examples:\n  tabwire trace 6f71ae53d622\n  tabwire trace exec_1795300721675_6f71ae53d622db4ad4776e39d9143a37 --json"
    )]
    Trace {
        /// The command's correlation id, or the first characters of the id or of its last part
        #[arg(value_parser = correlation_id)]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a bearer token for POST /mcp
    #[command(
        after_help = "A program with the token can use your browser as an agent does: keep the token private.\n\nExamples:\n  tabwire token\n  tabwire token --owner ci\n  tabwire token --metrics\n  claude mcp add --transport http tabwire http://127.0.0.1:7890/mcp \\\n    --header \"Authorization: Bearer $(tabwire token)\""
    )]
    Token {
        /// Issue the token for this owner; other owners cannot read the owner's commands
        #[arg(long, value_name = "NAME", default_value = DEFAULT_OWNER)]
        owner: String,
        /// Print the token for GET /metrics, which opens nothing else
        #[arg(long, conflicts_with = "owner")]
        metrics: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print counts and times of the daemon, as a collector gets them
    #[command(
        after_help = "The output is OpenMetrics text, which Prometheus and its relatives read. A collector gets the same from\nGET /metrics with the token that `tabwire token --metrics` prints. docs/operations.md has a Grafana\ndashboard and alerts.\n\nExamples:\n  tabwire metrics\n  tabwire metrics | grep tabwire_commands_total\n  tabwire token --metrics > tabwire.token   for `credentials_file` of Prometheus"
    )]
    Metrics {
        /// Print the text in a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON entry for an MCP client's configuration
    #[command(
        after_help = "`tabwire install` writes the entry for the MCP clients that it knows. Paste it into the\nconfiguration of any other client. The command changes no settings: it adds the owner, if it is a new one,\nand `tabwire scope OWNER own` chooses which tabs the programs of an owner see.\n\nExamples:\n  tabwire mcp-config\n  tabwire mcp-config --owner work\n  tabwire mcp-config --connect box\n  tabwire mcp-config | jq .mcpServers.tabwire"
    )]
    McpConfig {
        /// Give the program this owner: `tabwire scope` chooses which tabs it sees
        #[arg(long, value_name = "NAME", conflicts_with = "connect")]
        owner: Option<String>,
        /// Pin the program to the browser of this name: it uses no other
        #[arg(long, value_name = "NAME", value_parser = BrowserName::parse)]
        browser: Option<BrowserName>,
        #[command(flatten)]
        far: ConnectFlag,
        /// Accepted for uniformity: the output is JSON in any case
        #[arg(long)]
        json: bool,
    },
    /// Unpack the browser extension, print its id, or allow another one
    #[command(
        subcommand,
        after_help = "Examples:\n  tabwire extension unpack\n  tabwire extension id\n  tabwire extension allow abcdefghijklmnopabcdefghijklmnop"
    )]
    Extension(extension::ExtensionCommand),
    /// List or change the older, polling extensions that may connect
    #[command(
        after_help = "An older extension polls and holds no key, so a person has to allow it. A running daemon applies\nevery change at once.\n\nExamples:\n  tabwire legacy                 list allowed and asking extensions\n  tabwire legacy allow           choose one of the asking extensions\n  tabwire legacy allow abcdefghijklmnopabcdefghijklmnop\n  tabwire legacy remove abcdefghijklmnopabcdefghijklmnop\n  tabwire legacy deny            block all of them\n\nThe command asks at the terminal before it allows more than before. A script needs --unattended."
    )]
    Legacy {
        #[command(subcommand)]
        command: Option<legacy::LegacyCommand>,
        /// Print allowed and asking extensions as JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// List or change the sites that agents may use, in all browsers
    #[command(
        after_help = "A running daemon applies every change at once. A deny rule beats an allow rule. With at least one\nallow rule, agents may use the allowed sites only.\n\nExamples:\n  tabwire sites                       list the rules\n  tabwire sites deny bank.example     block the site and its subdomains\n  tabwire sites allow '*.corp.example'\n  tabwire sites remove bank.example --json\n  tabwire sites clear --agents        remove the rules that agents added\n  tabwire sites files allow ~/site    let agents open the files in this folder\n\nThe command asks at the terminal before it lets agents use more than before. A script needs\n--unattended: the change then takes effect, and Tabwire shows it until a person confirms it."
    )]
    Sites {
        #[command(subcommand)]
        command: Option<sites::SitesCommand>,
        /// Print the rules as JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// List, add or remove owners: whose tokens count
    #[command(
        after_help = "An owner keeps its programs apart: others cannot read its commands, stored values and drawings.\n`tabwire mcp --owner NAME` and `tabwire token --owner NAME` give a program one. `user`, the owner of the\nprograms that were given none, is always there.\n\nExamples:\n  tabwire owner add ci --label \"Nightly tests\"\n  tabwire owner list --json\n  tabwire owner remove ci --purge"
    )]
    Owner {
        #[command(subcommand)]
        command: owner::OwnerCommand,
        /// Print the result as JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// List or choose which tabs the programs of an owner see
    #[command(
        after_help = "A running daemon applies every change at once. Programs that were not given an owner belong to\n`user`; `tabwire mcp --owner NAME` gives a program one of its own. A scope hides tabs and no\naccounts: a tab that a program opens has your log-ins, and `tabwire sites` says where they may go.\n\nExamples:\n  tabwire scope                 list the scopes\n  tabwire scope research own    its programs see the tabs that they open\n  tabwire scope research shared  these, and the tabs that you share in the popup\n  tabwire scope research all    they see every tab\n  tabwire scope --json"
    )]
    Scope(scope::ScopeArguments),
    /// Confirm the changes that scripts made with --unattended
    #[command(
        after_help = "The command asks at the terminal whether each change stays. `tabwire status` lists the changes. The\nextension's popup lists them too and can confirm them.\n\nExamples:\n  tabwire confirm\n  tabwire confirm --json"
    )]
    Confirm {
        /// Print confirmed and unconfirmed changes as JSON
        #[arg(long)]
        json: bool,
    },
    /// List or change the folders whose files agents may use
    #[command(
        after_help = "A running daemon applies every change at once.\n\nExamples:\n  tabwire files                                list the open folders\n  tabwire files allow ~/shop/pictures --read   let agents give its files to web pages\n  tabwire files allow ~/shop/pictures --write  let agents write new pictures there\n  tabwire files remove ~/shop/pictures --json"
    )]
    Files {
        #[command(subcommand)]
        command: Option<files::FilesCommand>,
        /// Print the open folders as JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// List or delete the drawings that people made for agents
    #[command(
        after_help = "Examples:\n  tabwire drawings                            list the drawings\n  tabwire drawings clear --session checkout   delete one session's drawings\n  tabwire drawings --json | jq -r '.drawings[].screenshot'"
    )]
    Drawings {
        #[command(subcommand)]
        command: Option<drawings::DrawingsCommand>,
        /// List the drawings for this owner
        #[arg(long, value_name = "NAME", default_value = DEFAULT_OWNER, global = true)]
        owner: String,
        /// Print JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// List the acts of agents of the last 30 days: who did what on which site, and how it ended
    #[command(
        after_help = "The history has no texts, addresses, titles, scripts or results: of a page it has the host. Agents\ncannot read it. A terminal shows a table. A pipe gets one line for each act, with tabs between the\nfields: time (UTC), end, ms, action, site, client.\n\nExamples:\n  tabwire history --site shop.example --since 7d\n  tabwire history --client claude --json\n  tabwire history off      keep no more acts\n  tabwire history clear    remove all acts"
    )]
    History(history::HistoryArguments),
    /// List the questions that agents ask you, and answer them
    #[command(
        after_help = "Agents wait 10 minutes for an answer. A question whether an agent may do something is answered in\nthe popup of the Tabwire extension only.\n\nExamples:\n  tabwire asks                       list the open questions\n  tabwire asks choose 4f2a 2         choose the second option\n  tabwire asks answer 4f2a 'Ada Lovelace'\n  tabwire asks --json"
    )]
    Asks {
        #[command(subcommand)]
        command: Option<asks::AsksCommand>,
        /// The questions of this owner's clients
        #[arg(long, value_name = "NAME", default_value = DEFAULT_OWNER, global = true)]
        owner: String,
        /// Print JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// Print the completions for a shell
    #[command(
        after_help = "Examples:\n  tabwire completions bash > ~/.local/share/bash-completion/completions/tabwire\n  tabwire completions zsh > ~/.zfunc/_tabwire\n  tabwire completions fish > ~/.config/fish/completions/tabwire.fish"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages of every command to a folder
    #[command(
        after_help = "Examples:\n  tabwire man ~/.local/share/man/man1\n  man tabwire-install"
    )]
    Man {
        /// The folder; it must exist
        dir: std::path::PathBuf,
    },
    /// Start a throw-away daemon and browser, and drive them as an MCP client does
    #[command(after_help = "Examples:\n  tabwire demo\n  tabwire demo --headed     in a window")]
    Demo {
        /// Show the browser in a window, and take a second for each step
        #[arg(long)]
        headed: bool,
        /// Print each step as a line of JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the program. `main` calls this.
#[must_use]
pub fn run() -> ExitCode {
    // `with_origin` needs the error before clap prints it and exits.
    let cli = Cli::try_parse_from(arguments()).unwrap_or_else(|error| with_origin(error).exit());
    // One thread: the work for a command takes microseconds, less than waking another thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.context("cannot start the runtime").and_then(|runtime| {
        // As a trait object: `block_on` is compiled in three copies, and each would hold the whole command line.
        let run: Pin<Box<dyn Future<Output = _>>> = Box::pin(cli.run());
        let done = runtime.block_on(run);
        // A normal shutdown would wait for the thread that is blocked in a read of standard input.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(code) => code,
        // `tabwire commands | head` is no failure: the reader has all that it wants.
        Err(error) if matches!(error.downcast_ref(), Some(OutputError::Closed)) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            print_error(format_args!("{}", message_with_causes(&error)));
            match error.downcast_ref::<ExitFailure>() {
                Some(failure) => ExitCode::from(failure.code),
                None => ExitCode::FAILURE,
            }
        }
    }
}

/// The words of the command line. A browser of Windows starts the program without a command.
fn arguments() -> Vec<OsString> {
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.get(1).is_some_and(|first| is_call_of_browser(first)) {
        words.insert(1, "native-host".into());
    }
    words
}

fn correlation_id(text: &str) -> Result<String, &'static str> {
    CorrelationId::is_one(text)
        .then(|| text.to_owned())
        .ok_or("ids have letters, digits and _ only; `tabwire commands` lists them")
}

impl Cli {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { location, command } = self;
        let Some(command) = command else { return overview::overview(&location).await };
        match command {
            CliCommand::Install(how) => install::install(&location, &how).await,
            CliCommand::Uninstall(how) => install::uninstall(&location, &how).await,
            CliCommand::Pair { json } => pair::pair(&location, json),
            CliCommand::Unpair { json } => pair::unpair(&location, json).await,
            CliCommand::NativeHost { caller } => pair::native_host(&location, &caller),
            CliCommand::Serve { serving, older, consent, json } => {
                // Consent comes before the start: a daemon in this terminal would serve agents
                // during the question.
                older.set(&location, consent)?;
                monitor_roots::require_consent_to_roots(&location, &serving, consent)?;
                serve::serve(&location, &serving, json).await
            }
            CliCommand::Mcp { client, owner, browser, far, job_notifications, tools, wait } => {
                let used = (read_owner(&owner)?, browser);
                if !far.is_given()
                    && let Some(program) = wsl::windows_program(&location.home()?)
                {
                    return wsl::become_program(&program, arguments().into_iter().skip(1)).await;
                }
                let tools = tools.with_wait(wait);
                mcp::mcp(&location, client, used, far.chosen()?, job_notifications, tools).await
            }
            CliCommand::Call(call) => call::run(&location, call).await,
            CliCommand::Reach(given) => reach::run(&location, given).await,
            CliCommand::Carry(given) => carry::run(&location, given).await,
            #[cfg(feature = "fleet")]
            CliCommand::Fleet(command) => fleet::run(&location, command).await,
            #[cfg(not(feature = "fleet"))]
            CliCommand::Fleet(command) => fleet::run(&location, command),
            CliCommand::Stop { json } => serve::stop(&location, json).await,
            CliCommand::Service { command, json } => service::run(&location, command, json).await,
            CliCommand::Status { json } => status::status(&location, json).await,
            CliCommand::Open { print, json } => open::open(&location, print, json).await,
            CliCommand::Doctor(asked) => doctor::doctor(&location, asked).await,
            CliCommand::Commands { follow: false, json } => commands::list(&location, json).await,
            CliCommand::Commands { follow: true, json } => commands::follow(&location, json).await,
            CliCommand::Trace { id, json } => trace::trace(&location, &id, json).await,
            CliCommand::Token { metrics: true, json, .. } => metrics::token(&location, json),
            CliCommand::Token { owner, json, .. } => token(&location, &owner, json),
            CliCommand::Update { json } => update::show(&location, json),
            CliCommand::Metrics { json } => metrics::show(&location, json).await,
            // Every subcommand takes --json, so that scripts need not know this exception.
            CliCommand::McpConfig { owner, browser, far, json: _ } => mcp::print_config(
                &location,
                owner.as_deref(),
                browser.as_ref(),
                far.chosen()?.as_ref(),
            ),
            CliCommand::Extension(command) => extension::run(&location, command),
            CliCommand::Legacy { command, json } => legacy::run(&location, command, json).await,
            CliCommand::Drawings { command, owner, json } => {
                drawings::run(&location, command, &owner, json)
            }
            CliCommand::History(given) => history::run(&location, given),
            CliCommand::Asks { command, owner, json } => {
                asks::run(&location, command, &read_asked_owner(&owner)?, json).await
            }
            CliCommand::Confirm { json } => confirm::run(&location, json),
            CliCommand::Files { command, json } => files::run(&location, command, json),
            CliCommand::Sites { command, json } => sites::run(&location, command, json).await,
            CliCommand::Owner { command, json } => owner::run(&location, command, json).await,
            CliCommand::Scope(given) => scope::run(&location, given).await,
            CliCommand::Completions { shell } => completions::print(shell),
            CliCommand::Man { dir } => completions::write_manual(&dir),
            CliCommand::Demo { headed, json } => demo::run(demo::Manner { headed, json }).await,
        }
    }
}

/// The owner whose questions a person looks at: an agent of a team, too, though no program gets its token.
fn read_asked_owner(name: &str) -> anyhow::Result<Owner> {
    if Owner::is_agent_name(name) { Ok(name.into()) } else { read_owner(name) }
}

fn read_owner(name: &str) -> anyhow::Result<Owner> {
    valid_owner(name)
        .with_context(|| format!("invalid owner `{name}`: use 1 to 64 letters, digits, - or _"))
}

fn token(location: &DaemonLocation, owner: &str, json: bool) -> anyhow::Result<ExitCode> {
    let name = read_owner(owner)?;
    let home = StateDirectory::open(&location.home()?)?;
    let owner = owner::owner_to_use(&home, name.as_str(), NewOwnerConsent::Implied)?;
    let token = home.auth().token(&owner);
    if json {
        print_line(json!({"owner": name, "token": token}))?;
    } else {
        print_line(token)?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_of_every_subcommand_has_an_example() {
        fn check(command: &clap::Command, path: &str) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) = help.split_once("Example").unwrap_or_default();
            let is_of_this = |line: &str| line.contains(path);
            assert!(examples.lines().any(is_of_this), "`{path} --help` has no example: {help}");
            for inner in command.get_subcommands() {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
        }
        check(&Cli::command(), "tabwire");
    }

    #[test]
    fn the_readme_has_every_subcommand_and_the_exit_codes_are_in_the_help() {
        let readme = include_str!("../../README.md");
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(
                readme.contains(&format!("| `tabwire {name}")),
                "README lacks `tabwire {name}`"
            );
        }
        for code in [
            0,
            1,
            2,
            NOT_RUNNING,
            UNAVAILABLE,
            call::PENDING,
            NEEDS_PERSON,
            NO_TLS,
            call::INTERRUPTED,
        ] {
            assert!(AFTER_HELP.contains(&format!("\n  {code} ")), "{code}");
        }
    }
}
