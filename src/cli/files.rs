//! `tabwire files`: the folders that agents may write files to, and those whose files they may give to
//! pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use serde_json::json;

use super::person::{UnattendedFlag, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::home::{AgentFolders, FolderAccess, StateDirectory};
use crate::install::native_host::shell_quoted;
use crate::local_files::openable_folder;
use crate::terminal::{clean, print_line};

#[derive(Subcommand, Debug)]
pub(super) enum FilesCommand {
    /// List the folders (default)
    #[command(after_help = "Example:\n  tabwire files list --json")]
    List,
    /// Open a folder to agents
    #[command(
        after_help = "Examples:\n  tabwire files allow ~/shop/pictures --read\n  tabwire files allow ~/shop/pictures --write\n\nWith --read agents may give the files in the folder and its subfolders to web pages, for example in\na form that asks for a picture. Files and folders whose names begin with a dot stay closed.\nWith --write agents may write new pictures there; only you can read these. Agents overwrite\nnothing and follow no links. The command asks at the terminal; a script needs --unattended."
    )]
    Allow {
        /// An existing folder
        dir: PathBuf,
        #[command(flatten)]
        accesses: RequiredAccesses,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Close a folder to agents
    #[command(
        after_help = "Examples:\n  tabwire files remove ~/shop/pictures\n  tabwire files remove ~/shop/pictures --read   agents may still write there"
    )]
    Remove {
        /// The folder's path, as the list prints it
        dir: PathBuf,
        /// Close it for reading only
        #[arg(long)]
        read: bool,
        /// Close it for writing only
        #[arg(long)]
        write: bool,
    },
}

#[derive(Args, Clone, Copy, Debug)]
#[group(required = true, multiple = true)]
pub(super) struct RequiredAccesses {
    /// Let agents give the files there to web pages
    #[arg(long)]
    read: bool,
    /// Let agents write new files there
    #[arg(long)]
    write: bool,
}

pub(super) fn run(
    location: &DaemonLocation,
    command: Option<FilesCommand>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let state = location.home()?;
    match command.unwrap_or(FilesCommand::List) {
        FilesCommand::List => {}
        FilesCommand::Allow { dir, accesses: RequiredAccesses { read, write }, consent } => {
            allow(&StateDirectory::open(&state)?, &dir, &accesses_of(read, write), consent)?;
        }
        FilesCommand::Remove { dir, read, write } => {
            let is_neither = !read && !write;
            let accesses = accesses_of(read || is_neither, write || is_neither);
            remove(&StateDirectory::open(&state)?, &dir, &accesses)?;
        }
    }
    // No state directory is made for the question.
    let home = StateDirectory::find(&state)?;
    let folders = home.map(|home| home.agent_folders()).transpose()?.unwrap_or_default();
    print_folders(&location.agent_files()?.path(), &folders, json)
}

fn accesses_of(read: bool, write: bool) -> Vec<FolderAccess> {
    let named = |access: &FolderAccess| match access {
        FolderAccess::Read => read,
        FolderAccess::Write => write,
    };
    FolderAccess::ALL.into_iter().filter(named).collect()
}

fn allow(
    home: &StateDirectory,
    dir: &Path,
    accesses: &[FolderAccess],
    consent: UnattendedFlag,
) -> anyhow::Result<()> {
    let person = etcetera::home_dir().ok();
    let folder = home.check_agent_folder(dir, person.as_deref())?;
    if accesses.contains(&FolderAccess::Read) {
        // A browser's profile need not lie behind a dot.
        openable_folder(&home.local_files(), &folder)?;
    }
    let folders = home.agent_folders()?;
    let is_open = |access: &FolderAccess| folders.with(*access).contains(&folder);
    let opens: Vec<_> = accesses.iter().copied().filter(|access| !is_open(access)).collect();
    if opens.is_empty() {
        return Ok(());
    }
    let uses: Vec<_> = opens.iter().map(|access| use_of(*access)).collect();
    let what = format!("agents {} {}", uses.join(" and "), folder.display());
    let mut take_back = format!("tabwire files remove {}", shell_quoted(&folder.to_string_lossy()));
    if FolderAccess::ALL.iter().any(is_open) {
        take_back += opens.first().map_or("", |access| flag_of(*access));
    }
    require_consent_to_reversible(home, &what, &take_back, consent.unattended)?;
    home.open_agent_folder(&folder, &opens)?;
    Ok(())
}

const fn use_of(access: FolderAccess) -> &'static str {
    match access {
        FolderAccess::Read => "give web pages the files below",
        FolderAccess::Write => "write files below",
    }
}

const fn flag_of(access: FolderAccess) -> &'static str {
    match access {
        FolderAccess::Read => " --read",
        FolderAccess::Write => " --write",
    }
}

fn remove(home: &StateDirectory, dir: &Path, accesses: &[FolderAccess]) -> anyhow::Result<()> {
    if !home.close_agent_folder(dir, accesses)? {
        bail!(
            "{} is not open to agents; `tabwire files` lists the folders that are",
            dir.display()
        );
    }
    Ok(())
}

fn print_folders(usual: &Path, folders: &AgentFolders, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        print_line(json!({"usual": usual, "write": folders.write, "read": folders.read}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let line = |folder: &Path| format!("  {}", clean(&folder.to_string_lossy()));
    print_line("Agents may write new files below:")?;
    print_line(format!("{}  (always)", line(usual)))?;
    for folder in &folders.write {
        print_line(line(folder))?;
    }
    print_line("Agents may give web pages the files below:")?;
    for folder in &folders.read {
        print_line(line(folder))?;
    }
    if folders.read.is_empty() {
        print_line("  no folder; `tabwire files allow DIR --read` opens one")?;
    }
    Ok(ExitCode::SUCCESS)
}
