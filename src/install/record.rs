//! Which files of other programs were edited, and how they were before: what can be taken back.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{McpClient, PlanError, is_missing};

/// One file of another program that has our server in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SettingsEdit {
    /// Whose settings they are, as the command line calls it.
    client: String,
    pub(super) path: PathBuf,
    /// The backup of its first content; `None`: there was no such file.
    pub(super) backup: Option<PathBuf>,
    /// BLAKE3 of the content that we left, in hexadecimal; `None`: others have changed it between
    /// two edits of ours, so no backup holds its content without us.
    after: Option<String>,
}

impl SettingsEdit {
    pub(super) fn new(
        client: McpClient,
        path: &Path,
        backup: Option<PathBuf>,
        after: Option<&[u8]>,
    ) -> Self {
        let (client, path) = (client.id().to_owned(), path.to_owned());
        Self { client, path, backup, after: after.map(digest) }
    }

    /// Whose settings they are, if this version knows it.
    pub(super) fn client(&self) -> Option<McpClient> {
        McpClient::ALL.into_iter().find(|client| client.id() == self.client)
    }

    /// Whether the file is still as we left it.
    pub(super) fn is_after(&self, bytes: Option<&[u8]>) -> bool {
        bytes.is_some() && bytes.map(digest) == self.after
    }
}

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// All edits, as they stand in the state directory.
#[derive(Debug, Default)]
pub(super) struct EditRecord(Vec<SettingsEdit>);

impl EditRecord {
    pub(super) fn path(state: &Path) -> PathBuf {
        state.join("installed.json")
    }

    pub(super) fn read(state: &Path) -> Result<Self, PlanError> {
        let path = Self::path(state);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if is_missing(&error) => return Ok(Self::default()),
            Err(source) => return Err(PlanError::Io { path, source }),
        };
        let edits = serde_json::from_str(&text);
        edits.map(Self).map_err(|source| PlanError::Record { path, source })
    }

    /// The content of the file; `None`: there is nothing to remember.
    pub(super) fn text(&self) -> Option<String> {
        // A name that JSON cannot hold is not remembered.
        let can_be_told = |edit: &&SettingsEdit| {
            edit.path.to_str().is_some()
                && edit.backup.as_ref().is_none_or(|backup| backup.to_str().is_some())
        };
        let edits: Vec<_> = self.0.iter().filter(can_be_told).collect();
        let text = serde_json::to_string_pretty(&edits).ok()?;
        (!edits.is_empty()).then(|| format!("{text}\n"))
    }

    pub(super) fn of(&self, path: &Path) -> Option<&SettingsEdit> {
        self.0.iter().find(|edit| edit.path == path)
    }

    pub(super) fn note(&mut self, edit: SettingsEdit) {
        // Each file has one edit, whose backup stays the first one, see `plan_edit`.
        self.0.retain(|known| known.path != edit.path);
        self.0.push(edit);
    }

    /// All that this version can undo. Edits of a newer version stay noted.
    pub(super) fn take_all(&mut self) -> Vec<SettingsEdit> {
        let (known, unknown) =
            std::mem::take(&mut self.0).into_iter().partition(|edit| edit.client().is_some());
        self.0 = unknown;
        known
    }
}
