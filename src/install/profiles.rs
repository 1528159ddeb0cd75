//! The profiles of browsers on this computer. A browser tells no extension the name of its profile, so
//! it is found by the id that our extension keeps in the profile's storage.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::browsers::BROWSERS;
use super::user_folders::UserFolders;
use crate::os;
use crate::os::OperatingSystem;
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

/// The most processes that are looked at, bytes of the command line of one, and folders that they name.
const PROCESSES_MAX: usize = 4096;
const COMMAND_LINE_MAX: u64 = 64 << 10;
const STARTED_FOLDERS_MAX: usize = 32;

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

/// Where browsers keep their profiles.
#[derive(Clone, Debug, Default)]
pub struct BrowserFolders {
    /// The usual folders.
    pub usual: Vec<PathBuf>,
    /// Where the system shows the processes: browsers that run with a folder of their own name it.
    /// `None`: nobody looks there.
    pub processes: Option<PathBuf>,
}

impl BrowserFolders {
    /// Those of this user; none if there is no home directory.
    #[must_use]
    pub fn of_user() -> Self {
        let Ok(user_folders) = UserFolders::current() else { return Self::default() };
        let usual = BROWSERS.iter().flat_map(|browser| browser.profile_folders(&user_folders));
        let shows_processes = user_folders.system == OperatingSystem::Linux;
        let processes = shows_processes.then(|| PathBuf::from("/proc"));
        Self { usual: usual.collect(), processes }
    }

    /// Whether there is nothing to look into.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.usual.is_empty() && self.processes.is_none()
    }

    /// All that are there now, each once: a link to a folder is not a second profile.
    fn now(&self) -> Vec<PathBuf> {
        let of_processes = self.processes.as_deref().map(folders_of_processes).unwrap_or_default();
        let mut folders = Vec::new();
        for folder in self.usual.iter().chain(&of_processes) {
            if let Ok(folder) = folder.canonicalize()
                && !folders.contains(&folder)
            {
                folders.push(folder);
            }
        }
        folders
    }
}

/// The folders that this user's browsers were started with.
fn folders_of_processes(processes: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(processes) else { return Vec::new() };
    let is_process = |name: &OsStr| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let mut folders = Vec::new();
    let found = entries.flatten().filter(|entry| is_process(&entry.file_name()));
    for entry in found.take(PROCESSES_MAX) {
        // A browser of another user has no profile of this one.
        if os::is_own(&entry.path())
            && let Some(line) = read(&entry.path().join("cmdline"), COMMAND_LINE_MAX)
            && let Some(folder) = folder_in(&line)
            && !folders.contains(&folder)
        {
            folders.push(folder);
        }
        if folders.len() == STARTED_FOLDERS_MAX {
            break;
        }
    }
    folders
}

/// The folder of profiles that a command line names. A relative one depends on where the browser was
/// started.
fn folder_in(command_line: &[u8]) -> Option<PathBuf> {
    let mut words = command_line.split(|byte| *byte == 0);
    let folder = words.find_map(|word| word.strip_prefix(b"--user-data-dir="))?;
    Some(PathBuf::from(os::name_of_bytes(folder))).filter(|folder| folder.is_absolute())
}

/// The profile whose storage of our extension holds this id. `None` also where several do: of a
/// profile and its copy nobody can say which one speaks. Reads files: for threads that may wait for
/// the disk.
#[must_use]
pub fn find_profile(browser_folders: &BrowserFolders, id: &BrowserId) -> Option<BrowserProfile> {
    if id.as_str().len() < ID_MIN {
        return None;
    }
    let mut search = StorageSearch { wanted: id.as_str().as_bytes(), bytes_left: SEARCH_BYTES_MAX };
    let mut found = None;
    let folders = browser_folders.now();
    for browser in &folders {
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
    use crate::os::testing::symlink;

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
        find_profile(&usual(&[browser.to_owned()]), &BrowserId::from(ID))
    }

    fn usual(folders: &[PathBuf]) -> BrowserFolders {
        BrowserFolders { usual: folders.to_vec(), processes: None }
    }

    #[test]
    fn a_profile_is_found_by_the_id_in_the_storage_of_our_extension_alone() {
        let (dir, browser) = browser();
        // Another extension may know the id, too.
        write(&storage(&browser, "Profile 1", "another").join("000003.log"), &held());
        write(&storage(&browser, "Profile 1", EXTENSION_ID).join("000003.log"), b"nothing");
        write(&storage(&browser, "Profile 1", EXTENSION_ID).join("LOCK"), &held());
        let folders = [dir.path().join("none"), browser.clone()];
        let profile = find_profile(&usual(&folders), &BrowserId::from(ID)).unwrap();
        let folder = browser.canonicalize().unwrap().join("Profile 2");
        assert_eq!(profile, BrowserProfile { folder, name: None });
        assert_eq!(find_profile(&usual(&folders), &BrowserId::from(&ID[..15])), None, "too short");
        assert_eq!(find_profile(&usual(&folders[..1]), &BrowserId::from(ID)), None);
        // A link to it is not a second one.
        symlink(&browser, dir.path().join("link")).unwrap();
        let twice = [browser.clone(), dir.path().join("link"), browser];
        assert!(find_profile(&usual(&twice), &BrowserId::from(ID)).is_some());
    }

    #[test]
    fn a_browser_that_was_started_with_a_folder_of_its_own_is_found_by_its_command_line() {
        let (dir, browser) = browser();
        let processes = dir.path().join("proc");
        let folders = BrowserFolders { usual: Vec::new(), processes: Some(processes.clone()) };
        let found = || find_profile(&folders, &BrowserId::from(ID)).is_some();
        assert!(!found(), "there are no processes");
        let start = |name: &str, words: &[&str]| {
            write(&processes.join(name).join("cmdline"), words.join("\0").as_bytes());
        };
        let flag = format!("--user-data-dir={}", browser.display());
        let relative = "--user-data-dir=chromium";
        for (name, words) in [
            ("17", &["/usr/bin/chromium", relative][..]),
            ("18", &["/usr/bin/chromium", "--user-data-dir", &flag[16..]]),
            // A page's process has its words in one, and its browser names the folder.
            ("19", &[&format!("/usr/bin/chromium --type=renderer {flag}")]),
            ("self", &["/usr/bin/chromium", &flag]),
            ("20", &[""]),
        ] {
            start(name, words);
            assert!(!found(), "{name}");
        }
        fs::create_dir(processes.join("21")).unwrap();
        start("22", &["/usr/bin/chromium", "--no-first-run", &flag, "about:blank"]);
        assert!(found());
        start("23", &["/usr/bin/chromium", &flag]);
        assert!(found(), "two processes of one folder");
        let long = "x".repeat(usize::try_from(COMMAND_LINE_MAX).unwrap());
        start("22", &["/usr/bin/chromium", &long, &flag]);
        start("23", &[]);
        assert!(!found(), "the flag stands behind the part that is read");
    }

    #[test]
    fn no_more_folders_of_processes_are_looked_into_than_a_person_starts() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..STARTED_FOLDERS_MAX + 5 {
            let line = format!("chromium\0--user-data-dir=/folder/{number}\0");
            write(&dir.path().join(number.to_string()).join("cmdline"), line.as_bytes());
        }
        assert_eq!(folders_of_processes(dir.path()).len(), STARTED_FOLDERS_MAX);
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
