//! The command line: what there is to say, and with which code each command ends.

mod call;
mod commands;
mod confirm;
mod daemon_client;
mod doctor;
mod drawings;
mod errors;
mod extension;
mod files;
mod install;
mod legacy;
mod logs;
mod mcp;
mod monitor_roots;
mod output_file;
mod overview;
mod pair;
mod person;
mod serve;
mod sites;
mod state_removal;
mod status;
mod trace;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use serde_json::json;

use crate::config::{DaemonLocation, ServeOptions};
use crate::demo;
use crate::home::StateDirectory;
use crate::install::ServerEntry;
use crate::proof::{DEFAULT_OWNER, valid_owner};
use crate::terminal::{OutputError, print_line};
use errors::{ExitFailure, message_with_causes, print_error, with_origin};

/// There is no daemon to ask.
const NOT_RUNNING: u8 = 3;

/// It would widen what agents may do, and no person has agreed.
const NEEDS_PERSON: u8 = 77;

/// Nothing to connect to, or a port that somebody else has.
const UNAVAILABLE: u8 = 69;

const AFTER_HELP: &str = "\
Exit codes:
  0   done (also: a daemon runs already; whoever read the output has had enough)
  1   failed; for `doctor`: something is broken
  2   wrong usage
  3   no daemon runs (`status`, `commands`, `trace`)
  69  port in use (`serve`)
  75  the wait is over and the command is not (`call`)
  77  it would widen what agents may do, and no person agreed: run it in a terminal, or with
      --unattended
  130 Ctrl+C: the command is cancelled (`call`)

Environment:
  TABWIRE_HOME, TABWIRE_PORT  as --home and --port
  TABWIRE_CLIENT              as --client of `call`
  TABWIRE_LOG                 what is logged, for example tabwire=debug
  NO_COLOR                    no colours on a terminal

Examples:
  tabwire                               what is set up, and what to do next
  tabwire install                       set up the extension, browsers and MCP clients
  tabwire mcp                           what an MCP client runs
  tabwire call                          the tools, to call them from a script
  tabwire doctor                        find out what is wrong
  tabwire serve                         the daemon, in this terminal
  tabwire demo                          see it work with a throw-away browser";

/// Lets AI agents use the browser that you already have open.
#[derive(Parser, Debug)]
#[command(name = "tabwire", version, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(flatten)]
    location: DaemonLocation,
    // Without one the person is told what is set up, and what to do next.
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Subcommand, Debug)]
enum CliCommand {
    /// Set up the extension, what browsers need for it, and MCP clients
    #[command(
        after_help = "Examples:\n  tabwire install                           asks which MCP clients to add Tabwire to\n  tabwire install --client cursor --print   shows what would be written\n  tabwire install --all\n  tabwire install --all --json --wait       for a script: waits until the extension connects\n\nOn a terminal it then starts the daemon and waits for the extension; Ctrl+C ends the wait, and\neverything stays set up.\n\nIt is safe to run again, for example after an update: it brings the extension, and the clients\nthat it has set up, up to date. With a state directory of its own (TABWIRE_HOME, --home)\nnothing outside of it is changed."
    )]
    Install(install::InstallArguments),
    /// Take away what `install` has set up
    #[command(
        after_help = "Examples:\n  tabwire uninstall\n  tabwire uninstall --state            the keys, the journal and what people drew, too\n  tabwire uninstall --state --print    shows each path that would go\n\nFiles in the state directory that are not Tabwire's stay, and are named."
    )]
    Uninstall(install::UninstallArguments),
    /// Print the line that pairs an extension, to paste into its popup
    #[command(
        after_help = "Not needed where the extension was unpacked by `tabwire`, or after `tabwire install`.\nThe line holds the key to your browser: keep it to yourself."
    )]
    Pair {
        /// Say port, key and line as JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace the secret: every key and token that was given out is dead
    #[command(
        after_help = "A daemon that runs is ended; the next call starts one with the new secret. An extension\nwhose browser `tabwire install` has set up pairs itself again, others are paired with\n`tabwire pair`."
    )]
    Unpair {
        /// Say what was done as JSON
        #[arg(long)]
        json: bool,
    },
    /// What browsers start to tell the extension its key; not for people
    NativeHost {
        /// Who asks, as the browser says it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        caller: Vec<String>,
    },
    /// Run the daemon in this terminal
    #[command(
        after_help = "Examples:\n  tabwire serve\n  tabwire serve --port 7891\n  tabwire serve --limit queued=10 --limit calls_per_minute=0"
    )]
    Serve {
        #[command(flatten)]
        serving: ServeOptions,
        #[command(flatten)]
        older: legacy::LegacyFlag,
        #[command(flatten)]
        consent: person::UnattendedFlag,
        /// Say where it listens as JSON
        #[arg(long)]
        json: bool,
    },
    /// Speak MCP over stdio; starts the daemon if none runs
    #[command(after_help = "Example, for Claude Code:\n  claude mcp add tabwire -- tabwire mcp")]
    Mcp {
        /// What this client is called in lists [default: a name of its own each time]
        #[arg(long, value_name = "NAME", value_parser = mcp::client_name)]
        client: Option<String>,
        /// Tell of jobs by notifications also if the client does not ask for it
        #[arg(long)]
        job_notifications: bool,
    },
    /// Call a tool and wait for its result; starts the daemon if none runs
    #[command(after_help = call::AFTER_HELP)]
    Call(call::CallArguments),
    /// End the daemon
    Stop {
        /// Say what was done as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the daemon, its browsers and its clients
    #[command(after_help = "Exit codes: 0 it runs, 3 no daemon runs, 1 it does not answer.")]
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Find out what is broken, and what to do about it
    #[command(
        after_help = "Exit codes: 0 all is well, 1 something is broken.\nNothing is changed; the one thing that is done is to ask each browser for its list of tabs.\n\nExamples:\n  tabwire doctor\n  tabwire doctor --report            also writes a file to attach to a bug report"
    )]
    Doctor(doctor::DoctorArguments),
    /// List the commands that are known
    #[command(
        after_help = "On a terminal this is a table: times are local, and an id is the part of it that is enough for\n`tabwire trace`. Elsewhere each command is a line with tabs between its fields: time (UTC),\nstatus, ms, id, action, tab, client, browser.\n\nExamples:\n  tabwire commands --follow\n  tabwire commands --json | jq '.commands[] | select(.status == \"error\")'"
    )]
    Commands {
        /// Show each change as it happens, until Ctrl-C
        #[arg(long, short)]
        follow: bool,
        /// As JSON; with --follow one event a line
        #[arg(long)]
        json: bool,
    },
    /// Show a command's timeline
    #[command(
        after_help = "Examples:\n  tabwire trace 6f71ae53d622\n  tabwire trace exec_1795300721675_6f71ae53d622db4ad4776e39d9143a37 --json"
    )]
    Trace {
        /// Its correlation id, or the beginning of it or of its last part
        #[arg(value_parser = correlation_id)]
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a bearer token for POST /mcp
    Token {
        /// An owner of its own, whose commands nobody else can read
        #[arg(long, value_name = "NAME", default_value = DEFAULT_OWNER)]
        owner: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what to put into an MCP client's configuration
    McpConfig {
        /// As JSON, which it is anyway
        #[arg(long)]
        json: bool,
    },
    /// The browser extension
    #[command(subcommand)]
    Extension(extension::ExtensionCommand),
    /// Which extensions that only poll are let in
    #[command(
        after_help = "Older extensions hold no key; a person lets them in. A running daemon follows at once.\n\nExamples:\n  tabwire legacy                 who is let in, and who asks\n  tabwire legacy allow           choose one of those that ask\n  tabwire legacy allow abcdefghijklmnopabcdefghijklmnop\n  tabwire legacy remove abcdefghijklmnopabcdefghijklmnop\n  tabwire legacy deny            none from now on\n\nWhat lets in more than before is asked at the terminal; a script needs --unattended for it."
    )]
    Legacy {
        #[command(subcommand)]
        command: Option<legacy::LegacyCommand>,
        /// Say who is let in and who asks as JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// Which sites agents may use, in all browsers
    #[command(
        after_help = "A running daemon follows at once. deny wins; where anything is allowed, nothing else may be used.\n\nExamples:\n  tabwire sites                       what holds now\n  tabwire sites deny bank.example     keep agents out of it, with all that is below it\n  tabwire sites allow '*.corp.example'\n  tabwire sites remove bank.example --json\n  tabwire sites clear --agents        take back what agents have denied\n  tabwire sites files allow ~/site    let agents open the files in this folder\n\nWhat lets agents use more than before is asked at the terminal. A script needs --unattended: the\nchange is then made, and named to a person until they confirm it."
    )]
    Sites {
        #[command(subcommand)]
        command: Option<sites::SitesCommand>,
        /// Say what holds as JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// Confirm what was widened with --unattended
    #[command(
        after_help = "Asks at the terminal for each change whether it stays. `tabwire status` lists them, and so does\nthe popup of the extension, which confirms them too.\n\nExamples:\n  tabwire confirm\n  tabwire confirm --json"
    )]
    Confirm {
        /// Print what was confirmed and what was not as JSON
        #[arg(long)]
        json: bool,
    },
    /// Which folders agents may write files to
    #[command(
        after_help = "A running daemon follows at once.\n\nExamples:\n  tabwire files                                what is open now\n  tabwire files allow ~/shop/pictures --write  let agents write new pictures there\n  tabwire files remove ~/shop/pictures --json"
    )]
    Files {
        #[command(subcommand)]
        command: Option<files::FilesCommand>,
        /// Print the open folders as JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// What people drew for agents: list it, delete it
    #[command(
        after_help = "Examples:\n  tabwire drawings                            what there is\n  tabwire drawings clear --session checkout   delete those of one session\n  tabwire drawings --json | jq -r '.drawings[].screenshot'"
    )]
    Drawings {
        #[command(subcommand)]
        command: Option<drawings::DrawingsCommand>,
        /// For whom they were drawn
        #[arg(long, value_name = "NAME", default_value = DEFAULT_OWNER, global = true)]
        owner: String,
        /// As JSON
        #[arg(long, global = true)]
        json: bool,
    },
    /// Start a throw-away daemon and browser and drive them as an MCP client would
    #[command(after_help = "Examples:\n  tabwire demo\n  tabwire demo --headed     in a window")]
    Demo {
        /// Show the browser in a window, and take a second for each step
        #[arg(long)]
        headed: bool,
        /// Say each step as a line of JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs the program: what `main` calls.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| with_origin(error).exit());
    // One thread: what is done for a command takes microseconds, and to wake another
    // thread for it takes longer than that.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.context("cannot start the runtime").and_then(|runtime| {
        let done = runtime.block_on(cli.run());
        // A thread may still be blocked in a read of standard input.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(code) => code,
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

fn correlation_id(text: &str) -> Result<String, &'static str> {
    let fits = (1..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    fits.then(|| text.to_owned())
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
                older.set(&location, consent)?;
                monitor_roots::require_consent_to_roots(&location, &serving, consent)?;
                serve::serve(&location, &serving, json).await
            }
            CliCommand::Mcp { client, job_notifications } => {
                mcp::mcp(&location, client, job_notifications).await
            }
            CliCommand::Call(call) => call::run(&location, call).await,
            CliCommand::Stop { json } => serve::stop(&location, json).await,
            CliCommand::Status { json } => status::status(&location, json).await,
            CliCommand::Doctor(asked) => doctor::doctor(&location, asked).await,
            CliCommand::Commands { follow: false, json } => commands::list(&location, json).await,
            CliCommand::Commands { follow: true, json } => commands::follow(&location, json).await,
            CliCommand::Trace { id, json } => trace::trace(&location, &id, json).await,
            CliCommand::Token { owner, json } => token(&location, &owner, json),
            CliCommand::McpConfig { json: _ } => mcp_config(&location),
            CliCommand::Extension(command) => extension::run(&location, command),
            CliCommand::Legacy { command, json } => legacy::run(&location, command, json).await,
            CliCommand::Drawings { command, owner, json } => {
                drawings::run(&location, command, &owner, json)
            }
            CliCommand::Confirm { json } => confirm::run(&location, json),
            CliCommand::Files { command, json } => files::run(&location, command, json),
            CliCommand::Sites { command, json } => sites::run(&location, command, json).await,
            CliCommand::Demo { headed, json } => demo::run(demo::Manner { headed, json }).await,
        }
    }
}

fn token(location: &DaemonLocation, owner: &str, json: bool) -> anyhow::Result<ExitCode> {
    let owner = valid_owner(owner)
        .with_context(|| format!("`{owner}` is no owner: use 1 to 64 letters, digits, - or _"))?;
    let token = StateDirectory::open(&location.home()?)?.auth().token(&owner);
    if json {
        print_line(json!({"owner": owner, "token": token}))?;
    } else {
        print_line(token)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn mcp_config(location: &DaemonLocation) -> anyhow::Result<ExitCode> {
    let ServerEntry { command, args } = install::server(location, location.port)?;
    let config = json!({"mcpServers": {"tabwire": {"command": command, "args": args}}});
    print_line(serde_json::to_string_pretty(&config)?)?;
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
    fn the_readme_has_every_subcommand_and_the_exit_codes_are_in_the_help() {
        let readme = include_str!("../../README.md");
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(
                readme.contains(&format!("| `tabwire {name}")),
                "README lacks `tabwire {name}`"
            );
        }
        for code in
            [0, 1, 2, NOT_RUNNING, UNAVAILABLE, call::PENDING, NEEDS_PERSON, call::INTERRUPTED]
        {
            assert!(AFTER_HELP.contains(&format!("\n  {code} ")), "{code}");
        }
    }
}
