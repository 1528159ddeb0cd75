//! `tabwire update`: the command that brings a newer version.

use std::process::ExitCode;

use serde_json::json;

use super::install::RunningProgram;
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::install::{ProgramOrigin, own_copy_in};
use crate::protocol::SERVER_VERSION;
use crate::terminal::print_line;

pub(super) fn show(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let state = std::path::absolute(location.home()?)?;
    let RunningProgram { path, origin } = RunningProgram::find(&state)?;
    // The copy of an installation is updated as the program was that made it.
    let origin = if path == own_copy_in(&state) { copied_from(&state)? } else { origin };
    let (command, before) = (origin.update(), origin.before_update());
    if json {
        print_line(json!({
            "version": SERVER_VERSION, "program": path, "origin": origin.word(),
            "before": before, "command": command,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(format!("This is Tabwire {SERVER_VERSION}, {}.", path.display()))?;
    match before {
        Some(before) => print_line(format!("{before}, then run:"))?,
        None => print_line("To update it, run:")?,
    }
    print_line(format!("  {command}"))?;
    Ok(ExitCode::SUCCESS)
}

/// How the program came here of which an installation has made the copy.
fn copied_from(state: &std::path::Path) -> anyhow::Result<ProgramOrigin> {
    let noted = match StateDirectory::find(state)? {
        Some(home) => home.installed_program()?,
        None => None,
    };
    let origin = noted.and_then(|installed| ProgramOrigin::of_word(&installed.origin));
    Ok(origin.unwrap_or(ProgramOrigin::File))
}
