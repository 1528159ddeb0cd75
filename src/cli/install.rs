//! `tabwire install` and `tabwire uninstall`.

use std::env;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};

use super::doctor;
use super::extension::{HOW_TO_LOAD, port_for_extension};
use super::legacy;
use super::person::Unattended;
use super::state_removal::StateRemoval;
use crate::config::Place;
use crate::home::Home;
use crate::install::{Change, Client, Installation, Machine, Plan, Server, lasting_name};
use crate::protocol::DEFAULT_PORT;
use crate::terminal::{clean, is_terminal, say, write};

/// What to install.
#[derive(Args, Debug)]
pub(super) struct Install {
    /// Add Tabwire to this MCP client (repeatable)
    #[arg(long = "client", value_name = "NAME", value_parser = client)]
    clients: Vec<Client>,
    /// Add Tabwire to every MCP client that is found
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Show what would be written, and write nothing
    #[arg(long)]
    print: bool,
    /// Say what is done as JSON, and ask nothing
    #[arg(long)]
    json: bool,
}

/// What to take away.
#[derive(Args, Debug)]
pub(super) struct Uninstall {
    /// The state too: keys, journal, logs, what people drew; ends the daemon
    #[arg(long)]
    state: bool,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    consent: Unattended,
    /// Say what is done as JSON
    #[arg(long)]
    json: bool,
}

fn client(text: &str) -> Result<Client, String> {
    let known = || Client::ALL.iter().map(|client| client.id()).collect::<Vec<_>>().join(", ");
    let found = Client::ALL.into_iter().find(|client| client.id() == text);
    found.ok_or_else(|| format!("there are: {}", known()))
}

pub(super) async fn install(place: &Place, how: &Install) -> anyhow::Result<ExitCode> {
    let installation = installation(place)?;
    if installation.machine.is_none() && (how.all || !how.clients.is_empty()) {
        bail!(
            "TABWIRE_HOME or --home names a state directory of its own: nothing outside of it is \
             changed, so no MCP client either. `tabwire mcp-config` prints what to put there"
        );
    }
    // Those that have it are to start it as it is now: on this port, from this place.
    let had = installation.installed_clients()?;
    let picked = chosen(&installation, how)?;
    let clients: Vec<_> = picked.iter().chain(&had).copied().collect();
    let plan = installation.install(&clients, &server(place, installation.port)?)?;
    if how.print {
        show(&plan, how.json)?;
        if !how.json {
            say_which_are_left(&installation, &clients)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    plan.apply(&installation.state)?;
    let found = doctor::look(place).await;
    if how.json {
        let mut body = told(&installation, &picked, &plan);
        body["doctor"] = found.to_json();
        body["older_extensions"] = json!(legacy::asking_now(place).await?);
        say(serde_json::to_string_pretty(&body)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    say_done(&plan, "Everything was in place already.")?;
    if installation.port != place.port {
        say_whose_port(&installation, place.port)?;
    }
    say_what_is_left(&installation, &clients, &plan, found.has_browser())?;
    say("\nWhat `tabwire doctor` finds now:\n")?;
    found.before_use().show()?;
    for id in legacy::offer(place).await? {
        say(format!(
            "\nThe older extension {id} asks to be let in. If it is yours and you want to go on \
             using it, run `tabwire legacy allow {id}`."
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What was done, a line for each thing; or that nothing was to be done.
fn say_done(plan: &Plan, nothing: &str) -> anyhow::Result<()> {
    say(if plan.changes.is_empty() { nothing } else { "Done:" })?;
    for line in plan.changes.iter().filter_map(|change| change.lines().into_iter().next()) {
        say(format!("  {}", clean(&line)))?;
    }
    Ok(())
}

/// Why it is not for the port that was asked for.
fn say_whose_port(installation: &Installation, asked: u16) -> anyhow::Result<()> {
    let port = installation.port;
    say(format!(
        "\nA daemon runs on port {port}, so everything is set up for that one. For port {asked}: \
         `tabwire stop`, then `tabwire install --port {asked}`."
    ))?;
    Ok(())
}

pub(super) async fn uninstall(place: &Place, how: &Uninstall) -> anyhow::Result<ExitCode> {
    let installation = installation(place)?;
    let plan = installation.uninstall()?;
    if how.print {
        let state = how.state.then(|| StateRemoval::plan(&installation, &plan)).transpose()?;
        show_uninstall(&installation, &plan, state.as_ref(), how.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if how.state {
        StateRemoval::agreed(&installation, how.consent)?;
    }
    plan.apply(&installation.state)?;
    let removed = if how.state { Some(StateRemoval::make(&installation).await?) } else { None };
    if how.json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        let is_gone = removed.as_ref().is_some_and(StateRemoval::is_whole);
        let stays = removed.as_ref().map(StateRemoval::stays).unwrap_or_default();
        let body = json!({"changes": changes, "state": is_gone, "stays": stays});
        say(serde_json::to_string_pretty(&body)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    say_done(&plan, "Nothing was installed.")?;
    match &removed {
        Some(removed) => removed.say_done(&installation.state)?,
        None => say(format!(
            "\nWhat Tabwire remembers stays in {}; `tabwire uninstall --state` removes it.",
            installation.state.display()
        ))?,
    }
    say("If the extension is loaded in a browser, remove it there (chrome://extensions).")?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn installation(place: &Place) -> anyhow::Result<Installation> {
    let state = std::path::absolute(place.home()?)?;
    // Browsers are told in JSON where it is.
    state.to_str().context("the state directory's path is no text; name one with TABWIRE_HOME")?;
    let machine = if place.home.is_some() { None } else { Some(Machine::current()?) };
    let port = port_for_extension(place, Home::find(&state)?.as_ref())?;
    Ok(Installation { state, machine, program: program()?, port })
}

/// This program, under the name by which it is found after an update as well.
fn program() -> anyhow::Result<PathBuf> {
    let program = env::current_exe().context("cannot tell where this program is")?;
    Ok(lasting_name(&program, env::var_os("PATH").as_deref()))
}

/// What MCP clients are to start, for a daemon on this port. They need not have this shell's
/// environment.
pub(super) fn server(place: &Place, port: u16) -> anyhow::Result<Server> {
    let command = program()?;
    let command = command.to_str().context("this program's path is no text; move it elsewhere")?;
    let mut args = vec!["mcp".to_owned()];
    if place.home.is_some() || env::var_os("XDG_STATE_HOME").is_some() {
        let state = std::path::absolute(place.home()?)?;
        let state = state.to_str().context("the state directory's path is no text")?;
        args.extend(["--home".to_owned(), state.to_owned()]);
    }
    if port != DEFAULT_PORT {
        args.extend(["--port".to_owned(), port.to_string()]);
    }
    Ok(Server { command: command.to_owned(), args })
}

/// The clients that were named, or that a person picks. Without one to ask, none.
fn chosen(installation: &Installation, how: &Install) -> anyhow::Result<Vec<Client>> {
    if !how.clients.is_empty() {
        return Ok(how.clients.clone());
    }
    let here = installation.clients();
    if how.all {
        return Ok(here);
    }
    let is_asked = !how.json && !how.print && is_terminal() && io::stdin().is_terminal();
    if here.is_empty() || !is_asked {
        return Ok(Vec::new());
    }
    ask(installation, &here)
}

/// Asks which of the clients that are here to add Tabwire to, until the answer is one.
fn ask(installation: &Installation, here: &[Client]) -> anyhow::Result<Vec<Client>> {
    say("These MCP clients are on this computer:")?;
    let with_server = installation.clients_with_server();
    for (number, client) in here.iter().enumerate() {
        let file = installation.machine.as_ref().map(|machine| client.file(machine));
        let file = file.unwrap_or_default();
        let has = if with_server.contains(client) { ", has Tabwire already" } else { "" };
        let (name, file) = (client.name(), file.to_string_lossy());
        say(format!("  {}  {name}  ({}{has})", number + 1, clean(&file)))?;
    }
    loop {
        write(format_args!("Add Tabwire to which? Numbers, `all`, or Enter for none: "))?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            // The cursor stands behind the question.
            say("")?;
            bail!("nobody answered; nothing was changed");
        }
        match pick(&answer, here) {
            Some(clients) => return Ok(clients),
            None => say(format!("Say numbers from 1 to {}, for example: 1 2", here.len()))?,
        }
    }
}

/// What an answer picks; `None`: it makes no sense.
fn pick(answer: &str, here: &[Client]) -> Option<Vec<Client>> {
    if answer.trim().eq_ignore_ascii_case("all") {
        return Some(here.to_vec());
    }
    let numbers = answer.split([' ', ',', '\t', '\r', '\n']).filter(|word| !word.is_empty());
    numbers.map(|word| here.get(word.parse::<usize>().ok()?.checked_sub(1)?).copied()).collect()
}

fn show(plan: &Plan, json: bool) -> anyhow::Result<()> {
    if json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        say(serde_json::to_string_pretty(&json!({"would": changes}))?)?;
        return Ok(());
    }
    say(if plan.changes.is_empty() { "Nothing would be changed." } else { "This would:" })?;
    for line in plan.changes.iter().flat_map(|change| change.lines()) {
        say(format!("  {}", clean(&line)))?;
    }
    Ok(())
}

fn show_uninstall(
    installation: &Installation,
    plan: &Plan,
    state: Option<&StateRemoval>,
    json: bool,
) -> anyhow::Result<()> {
    let Some(state) = state else { return show(plan, json) };
    if json {
        let changes: Vec<_> = plan.changes.iter().map(|change| change.to_json()).collect();
        let body = json!({"would": changes, "state": state.to_json()});
        say(serde_json::to_string_pretty(&body)?)?;
        return Ok(());
    }
    show(plan, false)?;
    state.say_plan(&installation.state)
}

fn told(installation: &Installation, clients: &[Client], plan: &Plan) -> Value {
    let ids = |clients: &[Client]| clients.iter().map(|client| client.id()).collect::<Vec<_>>();
    let browsers: Vec<_> = installation.browsers().iter().map(|browser| browser.name).collect();
    json!({
        "changes": plan.changes.iter().map(|change| change.to_json()).collect::<Vec<_>>(),
        "extension": installation.extension(),
        "browsers": browsers,
        "clients": {"found": ids(&installation.clients()), "added": ids(clients)},
    })
}

/// What is for the person to do.
fn say_what_is_left(
    installation: &Installation,
    clients: &[Client],
    plan: &Plan,
    is_connected: bool,
) -> anyhow::Result<()> {
    let is_unpacked = |change: &Change| matches!(change, Change::Unpack { .. });
    say(format!("\nThe extension is in {}.", installation.extension().display()))?;
    if !is_connected {
        say(HOW_TO_LOAD)?;
    } else if plan.changes.iter().any(is_unpacked) {
        say("It was written anew: press its reload arrow in chrome://extensions.")?;
    }
    if installation.machine.is_none() {
        say("\nThe state directory was named by hand, so nothing outside of it was changed: no \
             browser and no MCP client knows of it. `tabwire mcp-config` prints what a client needs.")?;
        return Ok(());
    }
    say_whom_to_restart(plan)?;
    if installation.browsers().is_empty() {
        say("\nNo browser was found. Once one has run, `tabwire install` again has it tell the \
             extension a new key whenever there is one; the folder holds the one of today.")?;
    }
    say_which_are_left(installation, clients)
}

/// Which clients have to read their settings again.
fn say_whom_to_restart(plan: &Plan) -> anyhow::Result<()> {
    let name = |change: &Change| match change {
        Change::Edit(client, _) => Some(client.name()),
        Change::Unpack { .. }
        | Change::RemoveExtension { .. }
        | Change::File(_)
        | Change::Register { .. }
        | Change::Unregister { .. } => None,
    };
    let names: Vec<_> = plan.changes.iter().filter_map(name).collect();
    if !names.is_empty() {
        say(format!("\nThen restart {}: the first call starts the daemon.", names.join(", ")))?;
    }
    Ok(())
}

/// Which clients are here and do without Tabwire, and how to add it to them.
fn say_which_are_left(installation: &Installation, clients: &[Client]) -> anyhow::Result<()> {
    let here = installation.clients();
    let with_server = installation.clients_with_server();
    let has = |client: &Client| clients.contains(client) || with_server.contains(client);
    let left: Vec<_> = here.iter().filter(|client| !has(client)).collect();
    if !left.is_empty() {
        say("\nThese MCP clients are left as they are:")?;
        for client in left {
            let (name, id) = (client.name(), client.id());
            say(format!("  {name}: `tabwire install --client {id}` adds Tabwire to it"))?;
        }
    } else if here.is_empty() && clients.is_empty() {
        say("\nNo MCP client was found; `tabwire mcp-config` prints what most of them take.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_picks_what_it_says_or_is_asked_for_again() {
        let here = [Client::Cursor, Client::VsCode, Client::CodexCli];
        for (answer, picks) in [
            ("\n", Some(vec![])),
            ("all\n", Some(here.to_vec())),
            (" ALL ", Some(here.to_vec())),
            ("1\n", Some(vec![Client::Cursor])),
            ("3, 1\r\n", Some(vec![Client::CodexCli, Client::Cursor])),
            ("0\n", None),
            ("4", None),
            ("1 x", None),
            ("-1", None),
            ("yes", None),
        ] {
            assert_eq!(pick(answer, &here), picks, "{answer:?}");
        }
    }

    #[test]
    fn clients_are_called_by_their_ids() {
        for known in Client::ALL {
            assert_eq!(client(known.id()), Ok(known));
        }
        assert!(client("emacs").unwrap_err().contains("claude-code"));
    }
}
