//! `tabwire sites files`: the folders whose files agents may open.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde_json::json;

use crate::cli::daemon_client::DaemonClient;
use crate::cli::person::{UnattendedFlag, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::install::native_host::shell_quoted;
use crate::local_files::openable_folder;
use crate::os;
use crate::protocol::{LocalFileChange, LocalFileRules};
use crate::terminal::{clean, print_line};

#[derive(Subcommand, Debug)]
pub(in crate::cli) enum LocalFilesCommand {
    /// List the open folders
    #[command(after_help = "Example:\n  tabwire sites files list --json")]
    List,
    /// Let agents open the files in a folder and its subfolders
    #[command(
        after_help = "Example:\n  tabwire sites files allow ~/project/site\n\nAgents can never open the state directory, the extension's folder or a browser's profile, even\nbelow the folder."
    )]
    Allow {
        /// The folder
        dir: PathBuf,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Close a folder for agents
    #[command(after_help = "Example:\n  tabwire sites files remove ~/project/site --json")]
    Remove {
        /// The folder's path, as the list prints it
        dir: PathBuf,
    },
}

pub(super) async fn run(
    location: &DaemonLocation,
    command: Option<LocalFilesCommand>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let dir = location.home()?;
    let (home, change, agreed) = match command.unwrap_or(LocalFilesCommand::List) {
        LocalFilesCommand::List => {
            // No state directory is made for the question.
            let home = StateDirectory::find(&dir)?;
            let rules = home.map(|home| home.local_files().read()).transpose()?;
            return print_folders(&rules.unwrap_or_default(), json);
        }
        LocalFilesCommand::Allow { dir: folder, consent } => {
            let home = StateDirectory::open(&dir)?;
            let folder = openable_folder(&home.local_files(), &folder)?;
            let change = LocalFileChange::Add { folder: folder.clone() };
            let opened = home.local_files().read()?.opened_by(&change);
            if !opened.is_empty() {
                let what = format!("agents open the files in {}", opened.join(", "));
                let take_back = format!("tabwire sites files remove {}", shell_quoted(&folder));
                require_consent_to_reversible(&home, &what, &take_back, consent.unattended)?;
            }
            (home, change, opened)
        }
        LocalFilesCommand::Remove { dir: folder } => {
            let home = StateDirectory::open(&dir)?;
            let folder = listed_as(&folder, &home.local_files().read()?)?;
            (home, LocalFileChange::Remove { folder }, Vec::new())
        }
    };
    // The person agreed to these folders: if another command opens more at the same time, it fails.
    let Some((rules, is_changed)) = home.local_files().change_opening(&change, &agreed)? else {
        bail!("another command changed the folders at the same time; try again")
    };
    if !is_changed && !json {
        print_line("Nothing changed.")?;
    }
    if is_changed && home.has_daemon()? {
        let reloaded = DaemonClient::of(location)?.post("/api/sites").await?.ok();
        reloaded
            .context("the folders were changed, but the running daemon did not apply the change")?;
    }
    print_folders(&rules, json)
}

/// The folder as the list has it: it may be gone from the disk by now.
fn listed_as(folder: &Path, rules: &LocalFileRules) -> anyhow::Result<String> {
    let is_listed = |path: &Path| rules.folders().iter().any(|known| Path::new(known) == path);
    let absolute = std::path::absolute(folder)?;
    // The list has canonical paths, but a folder that no longer exists has none.
    let real = os::canonicalize(folder).ok().filter(|real| is_listed(real));
    let folder = real.unwrap_or(absolute);
    Ok(folder.to_str().context("the folder's path is no text")?.to_owned())
}

fn print_folders(rules: &LocalFileRules, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        print_line(json!(rules))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(match (rules.folders(), rules.is_enabled()) {
        ([], _) => {
            "Agents may open no local files. `tabwire sites files allow DIR` opens a folder."
        }
        (_, true) => "Agents may open the files in these folders:",
        (_, false) => {
            "Agents may open no local files: the extension's popup has switched off these folders."
        }
    })?;
    for folder in rules.folders() {
        print_line(format!("  {}", clean(folder)))?;
    }
    Ok(ExitCode::SUCCESS)
}
