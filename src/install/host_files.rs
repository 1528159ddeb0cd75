//! The files by which browsers find the native messaging host: the manifests of browsers, and the
//! script that these name.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::browsers::{self, BROWSERS, ChromiumBrowser, manifest_below};
use super::{
    BrowserSandbox, Installation, OperatingSystem, PlannedChange, SandboxedBrowser, UserFolders,
    is_missing, native_host,
};
use crate::os;

/// A file by which browsers find the native messaging host: the manifest of a browser, or the
/// script that the manifests name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostFile {
    /// Whose manifest it is; `None`: the script, or a manifest for no browser in particular.
    pub(crate) browser: Option<&'static str>,
    pub(crate) path: PathBuf,
    pub(crate) state: HostFileState,
}

/// The state of a host file, compared with the file that this program would install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostFileState {
    Current,
    Missing,
    /// It cannot be read, or is no manifest.
    Unreadable,
    /// A manifest that starts another program.
    StartsOther(PathBuf),
    /// It differs in something else.
    Outdated,
}

impl Installation {
    /// The files by which the browsers that are here find the native messaging host.
    pub(crate) fn host_files(&self) -> Vec<HostFile> {
        let look = |(path, text, _): (PathBuf, String, u32)| HostFile {
            browser: self
                .browsers()
                .iter()
                .find(|one| self.is_manifest_of(one, &path))
                .map(|one| one.name),
            state: host_file_state(&path, &text),
            path,
        };
        self.own_files().into_iter().map(look).chain(self.registrations()).collect()
    }

    /// The entries in the registry of Windows by which the browsers that are here find the manifest.
    fn registrations(&self) -> Vec<HostFile> {
        if self.system() != OperatingSystem::Windows {
            return Vec::new();
        }
        let manifest = manifest_below(&self.state);
        let look = |(browser, key): (&'static str, String)| HostFile {
            browser: Some(browser),
            state: match os::registered_path(&key) {
                Some(path) if path == manifest => HostFileState::Current,
                Some(path) => HostFileState::StartsOther(path),
                None => HostFileState::Missing,
            },
            path: key.into(),
        };
        let keys = |browser: &'static ChromiumBrowser| {
            browser.registry_keys().map(|key| (browser.name, key))
        };
        self.browsers().into_iter().flat_map(keys).map(look).collect()
    }

    /// What registers the manifest with the browsers that are here.
    pub(super) fn registration_changes(&self) -> Vec<PlannedChange> {
        let mut changes: Vec<PlannedChange> = Vec::new();
        let missing = |file: &HostFile| file.state != HostFileState::Current;
        for file in self.registrations().into_iter().filter(missing) {
            let key = file.path.to_string_lossy().into_owned();
            let is_planned = |change: &PlannedChange| matches!(change, PlannedChange::Register { key: known, .. } if *known == key);
            // Two browsers may look under one key.
            if !changes.iter().any(is_planned) {
                let manifest = Some(manifest_below(&self.state));
                changes.push(PlannedChange::Register { key, manifest });
            }
        }
        changes
    }

    /// What takes this installation's manifest out of the registry, whether its browsers are here or not.
    pub(super) fn registration_removals(&self) -> Vec<PlannedChange> {
        let manifest = Some(manifest_below(&self.state));
        let mut keys: Vec<_> = BROWSERS.iter().flat_map(ChromiumBrowser::registry_keys).collect();
        keys.sort_unstable();
        keys.dedup();
        let keys = keys.into_iter().filter(|key| os::registered_path(key) == manifest);
        keys.map(|key| PlannedChange::Register { key, manifest: None }).collect()
    }

    fn is_manifest_of(&self, browser: &ChromiumBrowser, path: &Path) -> bool {
        let user_folders = self.user_folders.as_ref();
        user_folders.is_some_and(|folders| browser.manifests(folders).iter().any(|one| one == path))
    }

    /// The operating system that the installation is for.
    pub(crate) fn system(&self) -> OperatingSystem {
        self.user_folders
            .as_ref()
            .map_or(OperatingSystem::current(), |user_folders| user_folders.system)
    }

    /// The wrapper, and the manifests of the browsers that are here: path, text, permissions.
    pub(super) fn own_files(&self) -> Vec<(PathBuf, String, u32)> {
        self.own_files_for(|browser, user_folders| {
            let has_portal =
                |found: SandboxedBrowser| found.sandbox == BrowserSandbox::SnapWithPortal;
            // The portal runs outside of the sandbox, and looks where the browser itself would.
            browser.has_run(user_folders)
                || browser.found_in_sandboxes(user_folders).any(has_portal)
        })
    }

    /// The same, whether their browsers are here or not.
    pub(super) fn own_files_anywhere(&self) -> Vec<(PathBuf, String, u32)> {
        self.own_files_for(|_, _| true)
    }

    fn own_files_for(
        &self,
        is_told: impl Fn(&ChromiumBrowser, &UserFolders) -> bool,
    ) -> Vec<(PathBuf, String, u32)> {
        let wrapper = self.state.join(native_host::WRAPPER_NAME);
        if self.system() == OperatingSystem::Windows {
            // Without a person's folders nothing is registered that would name these files.
            let Some(_) = self.user_folders else { return Vec::new() };
            let manifest = (manifest_below(&self.state), browsers::manifest(&self.program), 0o644);
            return vec![(wrapper, native_host::port_file(self.port), 0o600), manifest];
        }
        let text = native_host::wrapper(&self.program, &self.state, self.port);
        let manifest = browsers::manifest(&wrapper);
        let mut files = vec![(wrapper, text, 0o700)];
        let manifests: Vec<_> = match &self.user_folders {
            Some(user_folders) => {
                let told = BROWSERS.iter().filter(|browser| is_told(browser, user_folders));
                told.flat_map(|browser| browser.manifests(user_folders)).collect()
            }
            // For a browser with a profile of its own.
            None => vec![manifest_below(&self.state)],
        };
        for path in manifests {
            // Several browsers may read one folder.
            if files.iter().all(|(known, ..)| *known != path) {
                files.push((path, manifest.clone(), 0o644));
            }
        }
        files
    }
}

/// How a file by which browsers find the host is, compared to the text that belongs there.
fn host_file_state(path: &Path, text: &str) -> HostFileState {
    let found = match fs::read(path) {
        Ok(found) if found == text.as_bytes() => return HostFileState::Current,
        Ok(found) => found,
        Err(error) if is_missing(&error) => return HostFileState::Missing,
        Err(_) => return HostFileState::Unreadable,
    };
    // The script is no JSON: it can only be outdated.
    let Ok(ours) = serde_json::from_str::<Value>(text) else { return HostFileState::Outdated };
    let Ok(theirs) = serde_json::from_slice::<Value>(&found) else {
        return HostFileState::Unreadable;
    };
    match theirs["path"].as_str() {
        Some(program) if ours["path"] != program => HostFileState::StartsOther(program.into()),
        Some(_) => HostFileState::Outdated,
        // The file with the port names no program.
        None if ours["path"].is_null() => HostFileState::Outdated,
        None => HostFileState::Unreadable,
    }
}
