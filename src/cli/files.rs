//! `tabwire files`: the folders that agents may write files to.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Subcommand;
use serde_json::json;

use super::person::{UnattendedFlag, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::home::{AgentFolders, StateDirectory};
use crate::install::native_host::shell_quoted;
use crate::terminal::{clean, print_line};

#[derive(Subcommand, Debug)]
pub(super) enum FilesCommand {
    /// List the folders (default)
    List,
    /// Open a folder to agents
    #[command(
        after_help = "Examples:\n  tabwire files allow ~/shop/pictures --write\n\nAgents may then write new pictures to the folder and its subfolders; only you can read the files.\nAgents overwrite nothing and follow no links. The command asks at the terminal; a script needs\n--unattended."
    )]
    Allow {
        /// An existing folder
        dir: PathBuf,
        /// Let agents write new files there
        #[arg(long, required = true)]
        write: bool,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Close a folder to agents
    Remove {
        /// The folder's path, as the list prints it
        dir: PathBuf,
    },
}

pub(super) fn run(
    location: &DaemonLocation,
    command: Option<FilesCommand>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let state = location.home()?;
    match command.unwrap_or(FilesCommand::List) {
        FilesCommand::List => {}
        FilesCommand::Allow { dir, write: _, consent } => {
            allow(&StateDirectory::open(&state)?, &dir, consent)?;
        }
        FilesCommand::Remove { dir } => remove(&StateDirectory::open(&state)?, &dir)?,
    }
    // No state directory is made for the question.
    let home = StateDirectory::find(&state)?;
    let folders = home.map(|home| home.agent_folders()).transpose()?.unwrap_or_default();
    print_folders(&location.agent_files()?.path(), &folders, json)
}

fn allow(home: &StateDirectory, dir: &Path, consent: UnattendedFlag) -> anyhow::Result<()> {
    let person = etcetera::home_dir().ok();
    let folder = home.check_agent_folder(dir, person.as_deref())?;
    if !home.agent_folders()?.write.contains(&folder) {
        let what = format!("agents write files below {}", folder.display());
        let take_back = format!("tabwire files remove {}", shell_quoted(&folder.to_string_lossy()));
        require_consent_to_reversible(home, &what, &take_back, consent.unattended)?;
        home.open_agent_folder(&folder)?;
    }
    Ok(())
}

fn remove(home: &StateDirectory, dir: &Path) -> anyhow::Result<()> {
    if !home.close_agent_folder(dir)? {
        bail!(
            "{} is not open to agents; `tabwire files` lists the folders that are",
            dir.display()
        );
    }
    Ok(())
}

fn print_folders(usual: &Path, folders: &AgentFolders, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        print_line(json!({"usual": usual, "write": folders.write}))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line("Agents may write new files below:")?;
    print_line(format!("  {}  (always)", clean(&usual.to_string_lossy())))?;
    for folder in &folders.write {
        print_line(format!("  {}", clean(&folder.to_string_lossy())))?;
    }
    Ok(ExitCode::SUCCESS)
}
