//! `tabwire call`: calls any tool from the command line.

mod arguments;
mod caller;
mod catalog;
mod follow;
mod parts;
mod session;
mod shell_form;
mod show;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use serde_json::{Map, Value};

use super::connect::{ConnectFlag, unless_without_tls};
use super::mcp::{client_name, target};
use super::output_file::check_new;
use super::{Cli, ExitFailure, correlation_id, logs, print_error, trace};
use crate::config::DaemonLocation;
use crate::tools;
use caller::default_client;
use catalog::ToolSchema;
use follow::{CallEnd, CallFollower};
use show::AnswerPrinter;

/// Exit code: the arguments are invalid.
const USAGE: u8 = 2;

/// Exit code: the wait ended before the command did.
pub(super) const PENDING: u8 = 75;

#[cfg(test)]
pub(super) use follow::INTERRUPTED;
pub(super) use session::ToolSession;

pub(super) const AFTER_HELP: &str = "\
Prints the value alone: text as it is, anything else as JSON. --json prints the whole answer, as MCP
clients get it. A picture or PDF goes to a new file, and the command prints the file's path. Notes and
errors go to standard error. The command joins the parts of a large result. `tabwire call` without a
tool lists the tools and their parameters.

The tool's schema decides the type of a value; key:=JSON passes any JSON. A later argument replaces
an earlier one. The tool itself rejects unknown parameters and invalid values.

The call waits until its command ends. --wait DURATION stops waiting earlier and prints the id;
wait_ms=MS does the same through the tool's own parameter. Ctrl+C cancels a command that this call
submitted.

All calls from one terminal, or from one script without a terminal, share a client: each call uses
the tab of the call before. --client or TABWIRE_CLIENT names another client.

Exit codes:
  0    success
  1    the tool rejected the call, or the command failed
  2    invalid arguments
  75   the wait ended before the command did; standard output has the id
  130  Ctrl+C (143: SIGTERM) cancelled the command

Examples:
  tabwire call interact action=navigate url=https://example.com
  tabwire call execute_js script=document.title
  tabwire call find role=button name=Save
  tabwire call click target=b12
  tabwire call click --help
  tabwire call observe what=tabs --connect box
  tabwire call interact action=screenshot full_page=true --out page.png
  tabwire call observe what=tabs trace=true --json | jq -r '.tabs[].url'
  tabwire call configure action=capture streams=logs,network
  tabwire call configure '{\"action\": \"store\", \"name\": \"cart\", \"data\": {\"items\": 3}}'
  echo '{\"action\": \"execute_js\", \"script\": \"1 + 1\"}' | tabwire call interact -
  id=$(tabwire call analyze what=annotations wait=true --wait 0s)
  tabwire call observe what=command_result correlation_id=$id --wait 10min";

#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(super) struct CallArguments {
    /// The tool to call [default: list the tools and their parameters]
    #[arg(value_parser = known_tool)]
    tool: Option<ToolSchema<'static>>,
    /// key=value, key:=JSON, a JSON object, or - for an object on standard input
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// Call as this client [default: one client per terminal, or per script without a terminal]
    #[arg(long, env = "TABWIRE_CLIENT", value_name = "NAME", value_parser = client_name)]
    client: Option<String>,
    #[command(flatten)]
    far: ConnectFlag,
    /// Wait at most this long, for example 30s or 5min [default: until the command ends]
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    wait: Option<Duration>,
    /// Write the picture or PDF to this new file [default: a new file in the current directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the whole answer as JSON
    #[arg(long)]
    json: bool,
    /// Print help, or behind a tool its parameters
    #[arg(short, long)]
    help: bool,
}

pub(super) async fn run(
    location: &DaemonLocation,
    call: CallArguments,
) -> anyhow::Result<ExitCode> {
    let CallArguments { tool, arguments, client, far, wait, out, json, help } = call;
    if help {
        match tool {
            Some(tool) => catalog::show_one(&tool)?,
            None => print_own_help()?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(tool) = tool else {
        catalog::show(json)?;
        return Ok(ExitCode::SUCCESS);
    };
    // Arguments are checked before a daemon starts for them.
    let read = arguments::read(&tool, &arguments, io::stdin());
    let mut given = read.map_err(|message| ExitFailure { code: USAGE, message })?;
    if !far.is_given()
        && let Some(id) = given.get_mut("correlation_id")
        && let Some(beginning) = id.as_str().filter(|text| correlation_id(text).is_ok())
        && let Some(whole) = trace::whole_id(location, beginning).await
    {
        // `tabwire commands` shows the beginning of an id only. The tool reports an unknown id.
        *id = whole.into();
    }
    if let Some(out) = &out {
        // An existing file would make the screenshot fail only after it was taken.
        check_new(out)?;
    }
    logs::to_stderr("warn");
    let client = client.unwrap_or_else(default_client);
    let far = far.chosen()?;
    let target = match &far {
        Some(far) => far.target(location, client)?,
        None => target(location, client)?,
    };
    let named_after = named_after(&tool, &given);
    let printing = AnswerPrinter { json, out: out.as_deref(), named_after: &named_after };
    let following = CallFollower::start(target, tool, given, wait)?.follow();
    let code = match unless_without_tls(far, following).await? {
        CallEnd::Answered(answer) => {
            return Ok(if printing.print(answer)? { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        CallEnd::Pending(answer) => {
            printing.print_pending(&answer)?;
            PENDING
        }
        CallEnd::Stopped { code, told } => {
            print_error(format_args!("{told}"));
            code
        }
    };
    Ok(ExitCode::from(code))
}

/// The help that clap would print if the flag were its own.
fn print_own_help() -> anyhow::Result<()> {
    let mut program = Cli::command();
    program.build();
    let own = program.find_subcommand_mut("call").context("the command line has no `call`")?;
    // A reader that has had enough is no error.
    let _ = own.print_help();
    Ok(())
}

fn known_tool(name: &str) -> Result<ToolSchema<'static>, String> {
    ToolSchema::find(name).ok_or_else(|| {
        let names: Vec<_> = ToolSchema::all().map(|tool| tool.name().to_owned()).collect();
        let known = ToolSchema::all().chain(ToolSchema::actions()).map(|tool| tool.name());
        let near = tools::closest(name, known);
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        format!(
            "{near}Valid tools: {}, and each action; `tabwire call` lists them",
            names.join(", ")
        )
    })
}

/// The word in the name of a file: the action of the call, or else its tool.
fn named_after(tool: &ToolSchema<'_>, given: &Map<String, Value>) -> String {
    let mut choices = ["action", "what"].iter().filter_map(|name| given.get(*name)?.as_str());
    let known = choices.find(|choice| tool.selecting(choice).is_some());
    known.unwrap_or_else(|| tool.name()).to_owned()
}
