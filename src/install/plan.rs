//! The plan of changes, one after the other, and its execution.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::browsers::HOSTS_FOLDER;
use super::own_copy::{copy_program, remove_program};
use super::{McpClient, PlanError, ProgramOrigin, is_missing};
use crate::extension::{self, UnpackError};
use crate::home::{
    InstalledProgram, OwnersError, PERSON_FOLDER, StateDirectory, StateDirectoryError,
    write_private,
};
use crate::os;
use crate::proof;
use crate::protocol::{EXTENSION_ID, Owner, TabScope};

/// The planned changes.
#[derive(Debug, Default)]
pub(crate) struct ChangePlan {
    pub(crate) changes: Vec<PlannedChange>,
}

/// One thing that is to be changed.
#[derive(Debug)]
pub(crate) enum PlannedChange {
    /// The extension is written, with its key.
    Unpack { dir: PathBuf, port: u16 },
    /// The extension moves, and a link to it stays in its former place.
    MoveExtension { from: PathBuf, to: PathBuf },
    /// The extension, or a link in its former place, is removed.
    RemoveExtension { dir: PathBuf },
    /// The program is copied to a place that lasts.
    CopyProgram { from: PathBuf, to: PathBuf, installed: InstalledProgram },
    /// The copy of the program is removed.
    RemoveProgram { path: PathBuf },
    /// A file of ours is written or removed.
    File(FileChange),
    /// A client's settings are edited.
    Edit(McpClient, FileChange),
    /// A key of the user's registry names a manifest; `None`: it is removed.
    Register { key: String, manifest: Option<PathBuf> },
    /// The programs of an owner see other tabs.
    Scope { owner: Owner, scope: TabScope },
}

/// How one file is to change.
#[derive(Debug)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    /// Its content; `None`: it is not there.
    pub(crate) before: Option<Vec<u8>>,
    /// Its new content; `None`: it is removed.
    pub(crate) after: Option<Vec<u8>>,
    /// The permissions of a new file. One that is there keeps its own.
    pub(crate) mode: u32,
    /// The place for a backup of its content.
    pub(crate) keep: Option<PathBuf>,
    /// A backup that is no longer needed.
    pub(crate) drop: Option<PathBuf>,
    /// What a person is shown of it: what it gets, and nothing else that is in it.
    pub(crate) shown: String,
}

/// The reason why a change failed. All changes before it in the plan are done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    /// A file cannot be written.
    #[error("cannot change {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// Somebody else has just changed a file.
    #[error("another program has just changed {0}, so Tabwire did not edit it. Try again")]
    Changed(PathBuf),
    /// The extension cannot be written.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The state directory cannot be used.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// The list of owners cannot be used.
    #[error(transparent)]
    Owners(#[from] OwnersError),
}

impl ChangePlan {
    /// Does it, for the state directory `state`. Each file is changed whole or not at all.
    pub(crate) fn apply(&self, state: &Path) -> Result<(), ApplyError> {
        self.changes.iter().try_for_each(|change| change.apply(state))
    }
}

impl PlannedChange {
    fn apply(&self, state: &Path) -> Result<(), ApplyError> {
        match self {
            Self::Unpack { dir, port } => {
                let home = StateDirectory::open(state)?;
                extension::unpack(dir, *port, &home.auth().extension_key(EXTENSION_ID))?;
                home.note_unpacked(dir)?;
                Ok(())
            }
            Self::MoveExtension { from, to } => Ok(extension::relocate(from, to)?),
            Self::RemoveExtension { dir } => remove_extension(dir),
            Self::CopyProgram { from, to, installed } => {
                // First: the copy lies in the state directory, which is closed to others.
                let home = StateDirectory::open(state)?;
                copy_program(from, to)
                    .map_err(|source| ApplyError::Io { path: to.clone(), source })?;
                Ok(home.note_program(installed)?)
            }
            Self::RemoveProgram { path } => {
                remove_program(path)
                    .map_err(|source| ApplyError::Io { path: path.clone(), source })?;
                // What was noted of it would keep an older one from being installed.
                Ok(StateDirectory::open(state)?.forget_program()?)
            }
            Self::File(change) | Self::Edit(_, change) => change.apply(),
            Self::Register { key, manifest } => os::register_path(key, manifest.as_deref())
                .map_err(|source| ApplyError::Io { path: key.into(), source }),
            Self::Scope { owner, scope } => {
                let home = StateDirectory::open(state)?;
                let owner = home.owners().owner(owner.as_str())?;
                home.scopes().choose(&owner, *scope)?;
                Ok(())
            }
        }
    }

    /// The path that it removes, if it removes one.
    pub(crate) fn removes(&self) -> Option<&Path> {
        match self {
            Self::RemoveExtension { dir } | Self::RemoveProgram { path: dir } => Some(dir),
            Self::File(change) | Self::Edit(_, change) => {
                change.after.is_none().then_some(&change.path)
            }
            Self::Unpack { .. }
            | Self::MoveExtension { .. }
            | Self::CopyProgram { .. }
            | Self::Register { .. }
            | Self::Scope { .. } => None,
        }
    }

    /// The same for a program.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Unpack { dir, port } => json!({"action": "unpack", "path": dir, "port": port}),
            Self::MoveExtension { from, to } => json!({"action": "move", "path": from, "to": to}),
            Self::RemoveExtension { dir } | Self::RemoveProgram { path: dir } => {
                json!({"action": "remove", "path": dir})
            }
            Self::CopyProgram { from, to, .. } => {
                json!({"action": "copy_program", "from": from, "path": to})
            }
            Self::File(change) => change.to_json(None),
            Self::Edit(client, change) => change.to_json(Some(*client)),
            Self::Register { key, manifest } => {
                json!({"action": "register", "key": key, "path": manifest})
            }
            Self::Scope { owner, scope } => {
                json!({"action": "scope", "owner": owner, "scope": scope})
            }
        }
    }

    /// What a person is told of it: a line, and lines of what a file gets.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Self::Unpack { dir, port } => {
                vec![format!("write the extension (for port {port}) to {}", dir.display())]
            }
            Self::MoveExtension { from, to } => vec![format!(
                "move the extension from {} to {}, and leave a link",
                from.display(),
                to.display()
            )],
            Self::RemoveExtension { dir } | Self::RemoveProgram { path: dir } => {
                vec![format!("remove {}", dir.display())]
            }
            Self::CopyProgram { to, installed, .. } => {
                let origin = ProgramOrigin::of_word(&installed.origin);
                let place = origin.and_then(ProgramOrigin::passing_place).unwrap_or("its place");
                vec![format!("copy this program from {place} to {}", to.display())]
            }
            Self::File(change) => change.lines("write"),
            Self::Edit(client, change) => {
                let mut lines = change.lines("edit");
                lines[0] = format!("{} ({})", lines[0], client.name());
                lines
            }
            Self::Register { key, manifest: Some(manifest) } => vec![format!(
                r"register {} in the registry: HKEY_CURRENT_USER\{key}",
                manifest.display()
            )],
            Self::Register { key, manifest: None } => {
                vec![format!(r"remove HKEY_CURRENT_USER\{key} from the registry")]
            }
            Self::Scope { owner, scope } => vec![format!(
                "let the programs of owner {} see {}",
                owner.as_str(),
                scope.tabs_in_words()
            )],
        }
    }
}

impl FileChange {
    /// One that leaves this text in a file of ours; `None` if it is there.
    pub(super) fn put(path: &Path, text: String, mode: u32) -> Result<Option<Self>, PlanError> {
        let before = read_if_there(path)?;
        let is_there = before.as_deref() == Some(text.as_bytes());
        Ok((!is_there).then(|| Self {
            path: path.to_owned(),
            before,
            after: Some(text.clone().into_bytes()),
            mode,
            keep: None,
            drop: None,
            shown: text,
        }))
    }

    /// One that removes a file of ours; `None` if there is none.
    pub(super) fn remove(path: &Path) -> Result<Option<Self>, PlanError> {
        let before = read_if_there(path)?;
        Ok(before.is_some().then(|| Self {
            path: path.to_owned(),
            before,
            after: None,
            mode: 0o600,
            keep: None,
            drop: None,
            shown: String::new(),
        }))
    }

    fn apply(&self) -> Result<(), ApplyError> {
        self.check_unchanged()?;
        let mode = os::mode_of(&self.path).unwrap_or(self.mode);
        if let (Some(keep), Some(before)) = (&self.keep, &self.before) {
            write_whole(keep, before, mode, || Ok(()))?;
        }
        match &self.after {
            // An undo whose file already has its old text only removes the backup.
            Some(after) if self.before.as_ref() != Some(after) => {
                write_whole(&self.path, after, mode, || self.check_unchanged())?;
            }
            None if self.before.is_some() => remove(&self.path)?,
            Some(_) | None => {}
        }
        self.drop.as_deref().map_or(Ok(()), remove)
    }

    /// Fails if the file is not as it was when this was planned.
    fn check_unchanged(&self) -> Result<(), ApplyError> {
        match read_if_there(&self.path) {
            Ok(now) if now == self.before => Ok(()),
            Ok(_) | Err(_) => Err(ApplyError::Changed(self.path.clone())),
        }
    }

    fn to_json(&self, client: Option<McpClient>) -> Value {
        let action = match (&self.after, client) {
            (None, _) => "remove",
            (Some(_), Some(_)) => "edit",
            (Some(_), None) => "write",
        };
        json!({
            "action": action, "path": self.path, "client": client.map(McpClient::id),
            "backup": self.keep, "adds": (!self.shown.is_empty()).then_some(&self.shown),
        })
    }

    fn lines(&self, doing: &str) -> Vec<String> {
        let doing = if self.after.is_none() { "remove" } else { doing };
        let kept = self.keep.as_ref().map_or_else(String::new, |backup| {
            format!(", and keep what is in it as {}", backup.display())
        });
        let head = format!("{doing} {}{kept}", self.path.display());
        let shown = self.shown.lines().filter(|line| !line.is_empty());
        std::iter::once(head).chain(shown.map(|line| format!("    {line}"))).collect()
    }
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, PlanError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(source) => Err(PlanError::Io { path: path.to_owned(), source }),
    }
}

/// Writes a file whole, or leaves the old one. `may_replace` is asked at the last moment: it
/// takes milliseconds to bring the bytes to the disk, and others write their settings often.
fn write_whole(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    may_replace: impl FnOnce() -> Result<(), ApplyError>,
) -> Result<(), ApplyError> {
    let io = |source| ApplyError::Io { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(io)?;
    // The new file stands beside the old one, since a rename works within one file system only.
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}", proof::random_hex::<8>()));
    let aside = PathBuf::from(aside);
    let written = write_private(&aside, bytes)
        // Without a sync a crash after the rename could leave an empty file.
        .and_then(|()| os::sync_file(&aside))
        .and_then(|()| os::set_mode(&aside, mode))
        .map_err(io)
        .and_then(|()| may_replace())
        .and_then(|()| os::replace_file(&aside, path).map_err(io));
    written.inspect_err(|_| {
        // The error says more than a failed removal of a file that may never have been written.
        let _ = fs::remove_file(&aside);
    })
}

/// Removes a file, and the folder for manifests if it was the last one there.
fn remove(path: &Path) -> Result<(), ApplyError> {
    fs::remove_file(path).map_err(|source| ApplyError::Io { path: path.to_owned(), source })?;
    if let Some(folder) = path.parent().filter(|folder| folder.ends_with(HOSTS_FOLDER)) {
        // It stays if there is something in it.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Removes the extension, unless somebody has put something else there. Of a link only the link
/// goes.
fn remove_extension(dir: &Path) -> Result<(), ApplyError> {
    let io = |source| ApplyError::Io { path: dir.to_owned(), source };
    if dir.is_symlink() {
        return os::remove_file(dir).map_err(io);
    }
    if !extension::is_empty_folder(dir) && extension::find(dir).is_none() {
        return Err(UnpackError::Occupied(dir.to_owned()).into());
    }
    os::remove_folder(dir).map_err(io)?;
    if let Some(folder) = dir.parent().filter(|folder| folder.ends_with(PERSON_FOLDER)) {
        // It stays if agents have written files there.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_not_be_replaced_any_more_stays_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings");
        fs::write(&path, "theirs").unwrap();
        let refuse = || {
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "ours is written by then");
            Err(ApplyError::Changed(path.clone()))
        };
        let error = write_whole(&path, b"ours", 0o600, refuse).unwrap_err();
        assert!(matches!(error, ApplyError::Changed(_)), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
