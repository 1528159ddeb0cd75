//! The profiles of browsers on this computer. A browser tells no extension the name of its profile, so
//! it is found by the id that our extension keeps in the profile's storage.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::browsers::BROWSERS;
use super::user_folders::UserFolders;
use crate::protocol::{BrowserId, EXTENSION_ID};

/// The shortest id that is looked for, in bytes: a shorter one could stand in a storage by chance.
const ID_MIN: usize = 16;

/// The most profiles of one browser that are looked into, and entries of its folder.
const PROFILES_MAX: usize = 64;
const ENTRIES_MAX: usize = 512;

/// The most files of one profile's storage that are read, bytes of one, and bytes of one search: the
/// storage holds a few KiB, which the browser writes anew now and then.
const FILES_MAX: usize = 16;
const FILE_BYTES_MAX: u64 = 4 << 20;
const SEARCH_BYTES_MAX: u64 = 256 << 20;

/// The most bytes of a browser's `Local State` that are read.
const LOCAL_STATE_MAX: u64 = 16 << 20;

/// A profile of a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserProfile {
    /// Its folder.
    pub folder: PathBuf,
    /// As the browser shows it to the person. Any text.
    pub name: Option<String>,
}

/// The part of a browser's `Local State` that is read: the names of its profiles by their folders.
#[derive(Default, Deserialize)]
struct LocalState {
    #[serde(default)]
    profile: ProfileList,
}

#[derive(Default, Deserialize)]
struct ProfileList {
    #[serde(default)]
    info_cache: HashMap<String, ListedProfile>,
}

#[derive(Default, Deserialize)]
struct ListedProfile {
    name: Option<String>,
}

/// Where the browsers of this user keep their profiles; none if there is no home directory.
#[must_use]
pub fn browser_folders() -> Vec<PathBuf> {
    let Ok(user_folders) = UserFolders::current() else { return Vec::new() };
    BROWSERS.iter().filter_map(|browser| browser.folder(&user_folders)).collect()
}

/// The profile whose storage of our extension holds this id. `None` also where several do: of a
/// profile and its copy nobody can say which one speaks. Reads files: for threads that may wait for
/// the disk.
#[must_use]
pub fn find_profile(browser_folders: &[PathBuf], id: &BrowserId) -> Option<BrowserProfile> {
    if id.as_str().len() < ID_MIN {
        return None;
    }
    let mut search = StorageSearch { wanted: id.as_str().as_bytes(), bytes_left: SEARCH_BYTES_MAX };
    let mut found = None;
    for browser in browser_folders {
        for (profile, storage) in storages(browser) {
            if search.is_in(&storage)? && found.replace((browser, profile)).is_some() {
                return None;
            }
        }
    }
    let (browser, folder) = found?;
    let name = own_name(browser, &folder);
    Some(BrowserProfile { folder, name })
}

/// The profiles of a browser that have our extension, each with the storage of it.
fn storages(browser: &Path) -> Vec<(PathBuf, PathBuf)> {
    let Ok(entries) = fs::read_dir(browser) else { return Vec::new() };
    let with_storage = entries.flatten().take(ENTRIES_MAX).filter_map(|entry| {
        let storage = entry.path().join("Local Extension Settings").join(EXTENSION_ID);
        storage.is_dir().then(|| (entry.path(), storage))
    });
    with_storage.take(PROFILES_MAX).collect()
}

/// A search for one id, which reads no more than its share.
struct StorageSearch<'a> {
    wanted: &'a [u8],
    bytes_left: u64,
}

impl StorageSearch<'_> {
    /// Whether a file of this storage holds the id. `None`: that would take too much reading.
    fn is_in(&mut self, storage: &Path) -> Option<bool> {
        let Ok(entries) = fs::read_dir(storage) else { return Some(false) };
        let is_data =
            |path: &PathBuf| path.extension().is_some_and(|end| end == "log" || end == "ldb");
        let files = entries.flatten().map(|entry| entry.path()).filter(is_data).take(FILES_MAX);
        for path in files {
            let Some(bytes) = read(&path, FILE_BYTES_MAX) else { continue };
            self.bytes_left = self.bytes_left.checked_sub(bytes.len() as u64)?;
            // The id is drawn at random, so a compressed file holds it as it is.
            if bytes.windows(self.wanted.len()).any(|part| part == self.wanted) {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// The name that the browser shows for a profile. A `Local State` that cannot be read has none.
fn own_name(browser: &Path, profile: &Path) -> Option<String> {
    let text = read(&browser.join("Local State"), LOCAL_STATE_MAX)?;
    let mut state: LocalState = serde_json::from_slice(&text).ok()?;
    state.profile.info_cache.remove(profile.file_name()?.to_str()?)?.name
}

/// The beginning of a file. `None` for all else: to open a pipe could wait for ever.
fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const ID: &str = "0f3e2d1c-aaaa-bbbb-cccc-0123456789ab";

    fn write(path: &Path, bytes: &[u8]) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// What the browser writes for our extension.
    fn held() -> Vec<u8> {
        format!("\u{1}browser_id\"{ID}\"\u{0}").into_bytes()
    }

    fn storage(browser: &Path, profile: &str, extension: &str) -> PathBuf {
        browser.join(profile).join("Local Extension Settings").join(extension)
    }

    /// A browser with one profile, `Profile 2`, that holds the id.
    fn browser() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let browser = dir.path().join("chromium");
        write(&storage(&browser, "Profile 2", EXTENSION_ID).join("000005.ldb"), &held());
        (dir, browser)
    }

    fn found(browser: &Path) -> Option<BrowserProfile> {
        find_profile(&[browser.to_owned()], &BrowserId::from(ID))
    }

    #[test]
    fn a_profile_is_found_by_the_id_in_the_storage_of_our_extension_alone() {
        let (dir, browser) = browser();
        // Another extension may know the id, too.
        write(&storage(&browser, "Profile 1", "another").join("000003.log"), &held());
        write(&storage(&browser, "Profile 1", EXTENSION_ID).join("000003.log"), b"nothing");
        write(&storage(&browser, "Profile 1", EXTENSION_ID).join("LOCK"), &held());
        let folders = [dir.path().join("none"), browser.clone()];
        let profile = find_profile(&folders, &BrowserId::from(ID)).unwrap();
        assert_eq!(profile, BrowserProfile { folder: browser.join("Profile 2"), name: None });
        assert_eq!(find_profile(&folders, &BrowserId::from(&ID[..15])), None, "too short");
        assert_eq!(find_profile(&folders[..1], &BrowserId::from(ID)), None);
    }

    #[test]
    fn of_a_profile_and_its_copy_none_is_found() {
        let (_dir, browser) = browser();
        assert!(found(&browser).is_some());
        write(&storage(&browser, "Copy", EXTENSION_ID).join("000005.ldb"), &held());
        assert_eq!(found(&browser), None);
    }

    #[test]
    fn the_name_is_that_of_local_state_and_a_broken_or_overlong_one_has_none() {
        let (_dir, browser) = browser();
        let name = |state: &[u8]| {
            write(&browser.join("Local State"), state);
            found(&browser).expect("the profile").name
        };
        let listed = r#"{"other": 1, "profile": {"x": [], "info_cache": {
            "Profile 1": {"name": "Bob"}, "Profile 2": {"name": "Ann (work)", "gaia_name": "A"}}}}"#;
        assert_eq!(name(listed.as_bytes()).as_deref(), Some("Ann (work)"));
        let overlong = " ".repeat(usize::try_from(LOCAL_STATE_MAX).unwrap()) + listed;
        let without = listed.replace("Profile 2", "Profile 3");
        for broken in ["no JSON", "{", "[]", "{}", "\u{0}", &without, &overlong] {
            let begin = &broken[..broken.len().min(20)];
            assert_eq!(name(broken.as_bytes()), None, "{begin}");
        }
        for broken in
            [r#""profile": 1"#, r#""profile": {"info_cache": {"Profile 2": {"name": 1}}}"#]
        {
            assert_eq!(name(format!("{{{broken}}}").as_bytes()), None, "{broken}");
        }
        assert_eq!(name(b"\xff\xfe"), None);
    }

    #[test]
    fn no_more_is_read_than_the_share_of_a_search() {
        let (_dir, browser) = browser();
        let file = storage(&browser, "Profile 2", EXTENSION_ID).join("000005.ldb");
        let filled = vec![b' '; usize::try_from(FILE_BYTES_MAX).unwrap()];
        write(&file, &[filled, held()].concat());
        assert_eq!(found(&browser), None, "the id stands behind the part that is read");
        write(&file, &held());
        let storage = storage(&browser, "Profile 2", EXTENSION_ID);
        let length = held().len() as u64;
        for (bytes_left, is_in) in [(length, Some(true)), (length - 1, None)] {
            let mut search = StorageSearch { wanted: ID.as_bytes(), bytes_left };
            assert_eq!(search.is_in(&storage), is_in);
        }
    }

    #[test]
    fn a_pipe_in_place_of_a_file_holds_up_nothing() {
        let (_dir, browser) = browser();
        let storage = storage(&browser, "Profile 2", EXTENSION_ID);
        for pipe in [browser.join("Local State"), storage.join("000001.log")] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        let (done, finished) = mpsc::channel();
        std::thread::spawn(move || done.send(found(&browser)));
        let profile = finished.recv_timeout(Duration::from_secs(20)).expect("an end");
        assert_eq!(profile.expect("the profile").name, None);
    }
}
