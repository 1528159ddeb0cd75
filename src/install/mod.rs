//! What Tabwire puts on a computer beside its state: the extension in a lasting place, host
//! manifests by which browsers start `tabwire native-host`, and itself in the settings of MCP
//! clients.
//!
//! What is to be changed is found out first, as a `ChangePlan`, and then shown or done. If the state
//! directory was named by hand, nothing outside of it is part of any plan.

mod browsers;
mod clients;
mod extension_folder;
mod host_files;
pub(crate) mod native_host;
mod own_copy;
mod plan;
mod profiles;
mod program_place;
mod record;
mod service;
mod settings;
mod user_folders;

use std::fs;
use std::path::{Path, PathBuf};

pub use browsers::manifest_below;
pub(crate) use browsers::{BROWSERS, BrowserSandbox, ChromiumBrowser, SandboxedBrowser};
pub(crate) use clients::McpClient;
pub(crate) use host_files::{HostFile, HostFileState};
pub(crate) use own_copy::own_copy_in;
pub(crate) use plan::{ChangePlan, FileChange, PlannedChange};
pub use profiles::{BrowserFolders, BrowserProfile, find_profile};
pub(crate) use program_place::{ProgramOrigin, ProgramSurroundings};
use record::{EditRecord, SettingsEdit};
pub(crate) use service::{DaemonService, LAUNCHD_LABEL, SERVICE, SOCKET};
pub(crate) use settings::{
    BROWSER_FLAG, CONNECT_FLAG, CREDS_FLAG, OWNER_FLAG, ServerEntry, SettingsError,
};
pub(crate) use user_folders::{UserFolders, stable_program_path};

use crate::os;
pub(crate) use crate::os::OperatingSystem;

/// The installed files and their places.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    /// The state directory, as an absolute path.
    pub(crate) state: PathBuf,
    /// The computer around it; `None`: nothing is changed outside the state directory.
    pub(crate) user_folders: Option<UserFolders>,
    /// The program that clients and browsers start, as an absolute path.
    pub(crate) program: PathBuf,
    /// The program that runs now: the same, or one that is copied there.
    pub(crate) running: PathBuf,
    /// How the program that runs came to this computer.
    pub(crate) origin: ProgramOrigin,
    /// The port on which the daemon is started.
    pub(crate) port: u16,
}

/// Why there is no plan. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// A client's settings have another form than expected.
    #[error("cannot edit {path}: {source}. Nothing was changed; correct that file, or leave {} out", .client.name())]
    Settings {
        client: McpClient,
        path: PathBuf,
        /// The error in them.
        source: SettingsError,
    },
    /// The record of the installation cannot be read.
    #[error("{path} is damaged: {source}. Move it away and try again")]
    Record {
        path: PathBuf,
        /// The error in it.
        source: serde_json::Error,
    },
}

impl Installation {
    /// The clients that have run on this computer.
    pub(crate) fn clients(&self) -> Vec<McpClient> {
        let is_here = |client: &McpClient| {
            self.user_folders.as_ref().is_some_and(|user_folders| client.is_here(user_folders))
        };
        McpClient::ALL.into_iter().filter(is_here).collect()
    }

    /// The clients whose settings have our server, even if others put it there.
    pub(crate) fn clients_with_server(&self) -> Vec<McpClient> {
        let has_server = |(client, path): &(McpClient, PathBuf)| {
            let text = fs::read_to_string(path).unwrap_or_default();
            settings::has_server(&text, client.format())
        };
        let files = self.files_of(&self.clients()).into_iter().filter(has_server);
        files.map(|(client, _)| client).collect()
    }

    /// The owner that a client's entry of our server names, if it names one.
    pub(crate) fn owner_in_entry(&self, client: McpClient) -> Option<String> {
        let path = client.file(self.user_folders.as_ref()?);
        let text = fs::read_to_string(path).ok()?;
        settings::owner_in(&text, client.format())
    }

    /// Those of them into which an installation has put it: the next one brings it up to date.
    pub(crate) fn installed_clients(&self) -> Result<Vec<McpClient>, PlanError> {
        let record = EditRecord::read(&self.state)?;
        let is_noted = |client: &McpClient| {
            let file = self.user_folders.as_ref().map(|user_folders| client.file(user_folders));
            // The record has the files that links lead to.
            let file = file.and_then(|file| os::canonicalize(&file).ok());
            file.is_some_and(|file| record.of(&file).is_some())
        };
        Ok(self.clients_with_server().into_iter().filter(is_noted).collect())
    }

    /// The browsers that have run on this computer, and are told of the host.
    pub(crate) fn browsers(&self) -> Vec<&'static ChromiumBrowser> {
        let Some(user_folders) = &self.user_folders else { return Vec::new() };
        BROWSERS.iter().filter(|browser| browser.has_run(user_folders)).collect()
    }

    /// The browsers that have run in a sandbox, from which they cannot start the host.
    pub(crate) fn sandboxed_browsers(&self) -> Vec<SandboxedBrowser> {
        let Some(user_folders) = &self.user_folders else { return Vec::new() };
        BROWSERS.iter().flat_map(|browser| browser.found_in_sandboxes(user_folders)).collect()
    }

    /// The changes that make each of `clients` start its server, and browsers find the host.
    pub(crate) fn install(
        &self,
        clients: &[McpClient],
        server_of: impl Fn(McpClient) -> ServerEntry,
    ) -> Result<ChangePlan, PlanError> {
        // First: nothing may name a program that is not there.
        let mut changes = self.program_changes();
        changes.extend(self.extension_move());
        if !self.is_unpacked() {
            changes.push(PlannedChange::Unpack { dir: self.extension(), port: self.port });
        }
        for (path, text, mode) in self.own_files() {
            changes.extend(FileChange::put(&path, text, mode)?.map(PlannedChange::File));
        }
        changes.extend(self.registration_changes());
        changes.extend(self.edits(clients, server_of)?);
        Ok(ChangePlan { changes })
    }

    /// The changes that make each of `clients` start its server for a browser on another machine: this one
    /// gets no extension.
    pub(crate) fn install_far(
        &self,
        clients: &[McpClient],
        server_of: impl Fn(McpClient) -> ServerEntry,
    ) -> Result<ChangePlan, PlanError> {
        let mut changes = self.program_changes();
        changes.extend(self.edits(clients, server_of)?);
        Ok(ChangePlan { changes })
    }

    /// The edits of the clients' settings, and the record of them.
    fn edits(
        &self,
        clients: &[McpClient],
        server_of: impl Fn(McpClient) -> ServerEntry,
    ) -> Result<Vec<PlannedChange>, PlanError> {
        let mut record = EditRecord::read(&self.state)?;
        let mut edits = Vec::new();
        for (client, path) in self.files_of(clients) {
            edits.extend(plan_edit(client, &path, &server_of(client), &mut record)?);
        }
        // The record comes first: a noted edit that never happened is harmless, an edit without a
        // record could not be undone.
        let mut changes = Vec::new();
        if !edits.is_empty() {
            changes.extend(self.record_change(&record)?);
        }
        changes.extend(edits);
        Ok(changes)
    }

    /// What takes all of it away again. Settings that nobody has touched since are again as
    /// they were, byte for byte.
    pub(crate) fn uninstall(&self) -> Result<ChangePlan, PlanError> {
        let mut record = EditRecord::read(&self.state)?;
        let mut changes = Vec::new();
        if self.user_folders.is_some() {
            // The record, not the environment, names the files: the environment may have changed.
            for edit in record.take_all() {
                changes.extend(plan_undo(&edit)?);
            }
        }
        // First: no browser may be led to a manifest that is gone.
        changes.extend(self.registration_removals());
        for (path, ..) in self.own_files_anywhere() {
            changes.extend(FileChange::remove(&path)?.map(PlannedChange::File));
        }
        changes.extend(self.extension_removals());
        changes.extend(self.copy_removal());
        changes.extend(self.record_change(&record)?);
        Ok(ChangePlan { changes })
    }

    /// The settings of these clients, each file once.
    fn files_of(&self, clients: &[McpClient]) -> Vec<(McpClient, PathBuf)> {
        let Some(user_folders) = &self.user_folders else { return Vec::new() };
        let mut files: Vec<(McpClient, PathBuf)> = Vec::new();
        for client in clients {
            let file = client.file(user_folders);
            // Two clients may share a file; two changes of it would each expect the text before the
            // other.
            if files.iter().all(|(_, known)| *known != file) {
                files.push((*client, file));
            }
        }
        files
    }

    fn record_change(&self, record: &EditRecord) -> Result<Option<PlannedChange>, PlanError> {
        let path = EditRecord::path(&self.state);
        let change = match record.text() {
            Some(text) => FileChange::put(&path, text, 0o600)?,
            None => FileChange::remove(&path)?,
        };
        Ok(change.map(PlannedChange::File))
    }
}

/// The change that puts our server into a client's settings; `None` if it is there.
fn plan_edit(
    client: McpClient,
    path: &Path,
    server: &ServerEntry,
    record: &mut EditRecord,
) -> Result<Option<PlannedChange>, PlanError> {
    let (path, before) = read_linked(path)?;
    let wrong = |source| PlanError::Settings { client, path: path.clone(), source };
    let text = text_of(before.as_deref()).map_err(wrong)?;
    let after = settings::with_server(text, client.format(), server).map_err(wrong)?;
    if before.as_deref() == Some(after.as_bytes()) {
        return Ok(None);
    }
    // A file that was removed since has no original to go back to.
    let known = record.of(&path).filter(|_| before.is_some());
    let is_untouched = known.is_some_and(|edit| edit.is_after(before.as_deref()));
    let (backup, keep) = match known {
        // The first edit has kept the original already.
        Some(edit) if is_untouched => (edit.backup.clone(), None),
        Some(_) | None => {
            let own = known.and_then(|edit| edit.backup.clone());
            let backup = before.is_some().then(|| own.unwrap_or_else(|| free_backup_of(&path)));
            (backup.clone(), backup)
        }
    };
    // Otherwise the backup lacks later edits of others, and must not replace the file.
    let is_all_ours = known.is_none() || is_untouched;
    let left = is_all_ours.then_some(after.as_bytes());
    record.note(SettingsEdit::new(client, &path, backup, left));
    // The file may hold other programs' secrets, so a person sees our entry alone.
    let adds = settings::with_server("", client.format(), server).map_err(wrong)?;
    let change = FileChange {
        before,
        after: Some(after.into_bytes()),
        mode: 0o600,
        keep,
        drop: None,
        shown: adds,
        path,
    };
    Ok(Some(PlannedChange::Edit(client, change)))
}

/// The change that takes our server out of a client's settings; `None` if it is not there.
fn plan_undo(noted: &SettingsEdit) -> Result<Option<PlannedChange>, PlanError> {
    let Some(client) = noted.client() else { return Ok(None) };
    let (path, before) = read_linked(&noted.path)?;
    let drop = noted.backup.clone().filter(|backup| backup.exists());
    let after = match (&noted.backup, &drop) {
        // The client or a person removed the file, and it stays removed.
        _ if before.is_none() => None,
        (None, _) if noted.is_after(before.as_deref()) => None,
        (_, Some(kept)) if noted.is_after(before.as_deref()) => Some(read(kept)?),
        // Another program has changed the file since, so only our entry goes.
        _ => {
            let wrong = |source| PlanError::Settings { client, path: path.clone(), source };
            let text = text_of(before.as_deref()).map_err(wrong)?;
            let text = settings::without_server(text, client.format()).map_err(wrong)?;
            Some(text.into_bytes())
        }
    };
    if before == after && drop.is_none() {
        return Ok(None);
    }
    let shown = String::new();
    let change = FileChange { path, before, after, mode: 0o600, keep: None, drop, shown };
    Ok(Some(PlannedChange::Edit(client, change)))
}

/// The place for a backup of a file, at first and after a file of that name was found.
fn backup_of(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tabwire-backup");
    if number > 1 {
        name.push(format!("-{number}"));
    }
    name.into()
}

/// The first of those names that is free. A file of that name without a record may be anybody's, so
/// it must not be replaced.
fn free_backup_of(path: &Path) -> PathBuf {
    let is_taken = |number: &u32| fs::symlink_metadata(backup_of(path, *number)).is_ok();
    let taken = (1..u32::MAX).take_while(is_taken).count();
    backup_of(path, u32::try_from(taken).unwrap_or(u32::MAX).saturating_add(1))
}

fn text_of(bytes: Option<&[u8]>) -> Result<&str, SettingsError> {
    let text = std::str::from_utf8(bytes.unwrap_or_default());
    text.map_err(|error| SettingsError::Unparsable(error.to_string()))
}

/// The file that a path leads to, and its content. A link is followed, so that it stays one.
fn read_linked(path: &Path) -> Result<(PathBuf, Option<Vec<u8>>), PlanError> {
    if fs::symlink_metadata(path).is_err_and(|error| is_missing(&error)) {
        return Ok((path.to_owned(), None));
    }
    let io = |source| PlanError::Io { path: path.to_owned(), source };
    let path = os::canonicalize(path).map_err(io)?;
    let bytes = read(&path)?;
    Ok((path, Some(bytes)))
}

fn read(path: &Path) -> Result<Vec<u8>, PlanError> {
    fs::read(path).map_err(|source| PlanError::Io { path: path.to_owned(), source })
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
