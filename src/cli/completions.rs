//! `tabwire completions` and `tabwire man`: what shells and `man` know of the command line.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::terminal::print_line;

/// The name under which the program is called.
const PROGRAM: &str = "tabwire";

pub(super) fn print(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), PROGRAM, &mut script);
    print_line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn write_manual(dir: &Path) -> anyhow::Result<ExitCode> {
    if !dir.is_dir() {
        bail!("{0} is no folder. Create it with `mkdir -p {0}`", dir.display());
    }
    clap_mangen::generate_to(Cli::command(), dir)
        .with_context(|| format!("cannot write the manual to {}", dir.display()))?;
    print_line(format!("The manual pages are in {}.", dir.display()))?;
    Ok(ExitCode::SUCCESS)
}
