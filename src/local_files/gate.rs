//! The decision on one file, by its canonical path and by the identity of its folders, so that
//! neither a link nor a spelling of a path leads around it.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use crate::extension;
use crate::home::LocalFileStore;
use crate::install::{BROWSERS, UserFolders};
use crate::os::{self, FileIdentity};
use crate::protocol::LocalFileRules;

/// How many entries of closed folders a search for another name of a file may read. If there are
/// more, every file with several names is refused.
const CLOSED_ENTRIES_MAX: usize = 500_000;

/// Files of a browser's folder of profiles, or of one profile. A folder with one of them is closed
/// wherever it is.
const PROFILE_MARKS: [&str; 4] =
    ["Local State", "Secure Preferences", "Local Extension Settings", "Sync Extension Settings"];

/// Decides which files agents may see.
#[derive(Debug)]
pub(super) struct FileGate {
    store: LocalFileStore,
    /// The home directory of the person.
    person: Option<PathBuf>,
    /// The folders in which the browsers of this computer keep their profiles.
    profiles: Vec<PathBuf>,
}

/// Why a folder cannot be opened for agents.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It is not there, or cannot be read.
    #[error("cannot open {path} for agents: {source}. Name a folder that exists")]
    Io {
        /// As it was named.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is a file, or its path is no plain text.
    #[error(
        "{0} is not a folder, or its path is not plain text. Name the folder that the file is in, or another one"
    )]
    NoFolder(PathBuf),
    /// Nobody can open it.
    #[error(
        "{0} stays closed to agents: it belongs to Tabwire's state directory, to its extension or to a browser's profile. Name another folder"
    )]
    Closed(PathBuf),
}

/// The canonical path of a folder that a person wants to open for agents.
///
/// # Errors
///
/// [`FolderError`].
pub fn openable_folder(store: &LocalFileStore, folder: &Path) -> Result<String, FolderError> {
    let real = os::canonicalize(folder)
        .map_err(|source| FolderError::Io { path: folder.to_owned(), source })?;
    // A person confirms this name, so nothing in it may be invisible.
    let is_plain = |text: &&str| real.is_dir() && !text.chars().any(char::is_control);
    let Some(text) = real.to_str().filter(is_plain) else {
        return Err(FolderError::NoFolder(real));
    };
    let gate = FileGate::new(store.clone(), UserFolders::current().ok().as_ref());
    let closed = gate.closed();
    if real.ancestors().any(|folder| closed.has_folder(folder)) {
        return Err(FolderError::Closed(real));
    }
    Ok(text.to_owned())
}

/// The closed folders, looked up once for all files of a question.
struct ClosedPlaces {
    folders: Vec<PathBuf>,
    identities: HashSet<FileIdentity>,
    /// The files in these folders; `None`: there are too many to know.
    files: OnceCell<Option<HashSet<FileIdentity>>>,
}

impl FileGate {
    /// A gate for this state directory. Without a machine it knows browsers' folders by their content
    /// only.
    pub(super) fn new(store: LocalFileStore, machine: Option<&UserFolders>) -> Self {
        let profiles = machine
            .into_iter()
            .flat_map(|machine| BROWSERS.iter().flat_map(|one| one.profile_folders(machine)));
        let person = machine.map(|machine| machine.home.clone());
        Self { store, person, profiles: profiles.collect() }
    }

    /// The folders of the extension.
    pub(super) fn extension_folders(&self) -> impl Iterator<Item = PathBuf> + use<> {
        self.store.extension_folders(self.person.as_deref())
    }

    /// Whether agents may see each of the files, in the order of the URLs.
    pub(super) fn admits(&self, rules: &LocalFileRules, urls: &[String]) -> Vec<bool> {
        let is_same = |folder: &Path| os::canonicalize(folder).is_ok_and(|real| real == folder);
        // A link that took the place of an opened folder opens nothing.
        let open: Vec<_> =
            rules.open_folders().iter().map(Path::new).filter(|folder| is_same(folder)).collect();
        if open.is_empty() {
            return vec![false; urls.len()];
        }
        let closed = self.closed();
        urls.iter().map(|url| is_admitted(url, &open, &closed)).collect()
    }

    /// Whether a canonical path leads through a folder that nobody can open for agents.
    pub(super) fn is_closed(&self, path: &Path) -> bool {
        let closed = self.closed();
        path.ancestors().skip(1).any(|folder| closed.has_folder(folder))
    }

    /// The folders whose files nobody can open for agents.
    fn closed(&self) -> ClosedPlaces {
        let state = iter::once(self.store.state_dir().to_owned());
        let own = state.chain(self.extension_folders());
        let folders: Vec<_> = own.chain(self.profiles.clone()).collect();
        let identity =
            |folder: &PathBuf| Some(os::entry(folder, &fs::metadata(folder).ok()?).ok()?.identity);
        let identities = folders.iter().filter_map(identity).collect();
        ClosedPlaces { folders, identities, files: OnceCell::new() }
    }
}

fn is_admitted(url: &str, open: &[&Path], closed: &ClosedPlaces) -> bool {
    let Some(path) = path_of(url) else { return false };
    let Ok(real) = os::canonicalize(&path) else { return false };
    let Ok(found) = fs::metadata(&real) else { return false };
    (found.is_file() || found.is_dir())
        && open.iter().any(|folder| real.starts_with(folder))
        && !real.ancestors().any(|folder| closed.has_folder(folder))
        && !(found.is_file() && closed.has_another_name_of(&real, &found))
}

impl ClosedPlaces {
    fn has_folder(&self, folder: &Path) -> bool {
        // A folder that cannot be looked at is closed: the gate fails shut.
        let Ok(found) = fs::metadata(folder) else { return true };
        let Ok(entry) = os::entry(folder, &found) else { return true };
        found.is_dir()
            && (self.identities.contains(&entry.identity)
                || extension::find(folder).is_some()
                || PROFILE_MARKS.iter().any(|mark| folder.join(mark).exists()))
    }

    fn has_another_name_of(&self, path: &Path, file: &Metadata) -> bool {
        let Ok(entry) = os::entry(path, file) else { return true };
        // A hard link is a second name in another folder, and `canonicalize` does not show it.
        if entry.names < 2 {
            return false;
        }
        let files = self.files.get_or_init(|| files_below(&self.folders));
        files.as_ref().is_none_or(|files| files.contains(&entry.identity))
    }
}

/// The files that have several names, in these folders and below.
fn files_below(folders: &[PathBuf]) -> Option<HashSet<FileIdentity>> {
    let mut files = HashSet::new();
    let mut left = CLOSED_ENTRIES_MAX;
    let mut folders = folders.to_vec();
    while let Some(folder) = folders.pop() {
        // A browser may not have made its folder yet.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            left = left.checked_sub(1)?;
            let Ok(entry) = entry else { return None };
            // Not followed: a link in a closed folder closes nothing elsewhere.
            let Ok(found) = entry.metadata() else { continue };
            let path = entry.path();
            if found.is_dir() {
                folders.push(path);
                continue;
            }
            let entry = os::entry(&path, &found).ok()?;
            if entry.names > 1 {
                files.insert(entry.identity);
            }
        }
    }
    Some(files)
}

/// The path that a browser opens for a normalised URL. Refuses every URL that a browser might read
/// in another way.
pub(super) fn path_of(url: &str) -> Option<PathBuf> {
    let rest = url.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let bytes = decoded(&rest[..end])?;
    // `components` drops a `.` in the middle, which a browser may have kept.
    let has_dots = bytes.split(|byte| *byte == b'/').any(is_dots);
    let path = os::path_of_url_path(bytes)?;
    let is_plain = path.components().all(|part| os::is_plain_part(&part));
    (path.is_absolute() && is_plain && !has_dots).then_some(path)
}

fn is_dots(part: &[u8]) -> bool {
    part == b"." || part == b".."
}

/// Percent-decoded once, as browsers do. `None`: the result would be ambiguous.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        match u8::try_from(high * 16 + low) {
            // Separators and the end of a C string: decoded they would change the path.
            Ok(b'/' | b'\\' | 0) | Err(_) => return None,
            Ok(byte) => decoded.push(byte),
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::StateDirectory;
    use crate::install::OperatingSystem;
    use crate::os::testing::symlink;
    use crate::proof::AuthKey;
    use crate::protocol::{EXTENSION_ID, LocalFileChange};

    /// A home directory with a state directory, an unpacked extension, a browser and a site.
    struct GateScene {
        dir: tempfile::TempDir,
        gate: FileGate,
        rules: LocalFileRules,
    }

    impl GateScene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = os::canonicalize(dir.path()).unwrap();
            let home = StateDirectory::open(&root.join("state")).unwrap();
            let key = AuthKey::generate().extension_key(EXTENSION_ID);
            for folder in ["unpacked", "copy"] {
                extension::unpack(&root.join("site").join(folder), 1, &key).unwrap();
            }
            home.note_unpacked(&root.join("site/unpacked")).unwrap();
            // Where the extension goes, while it was unpacked to another folder last.
            for folder in [
                ".config/chromium/Default",
                "site/profile",
                "other",
                "site/plain",
                "Tabwire/extension",
                "state/extension",
            ] {
                fs::create_dir_all(root.join(folder)).unwrap();
            }
            for file in [
                "site/index.html",
                "site/plain/100%.txt",
                "site/profile/Local State",
                "site/profile/file",
                ".config/chromium/Default/Cookies",
                "Tabwire/extension/config.json",
                "state/extension/config.json",
                "other/id_rsa",
                "siteelse",
            ] {
                fs::write(root.join(file), "x").unwrap();
            }
            let machine = UserFolders::in_home(OperatingSystem::Linux, &root);
            let gate = FileGate::new(home.local_files(), Some(&machine));
            let mut rules = LocalFileRules::default();
            let folder = root.join("site").to_str().unwrap().to_owned();
            rules.apply(&LocalFileChange::Add { folder }).unwrap();
            Self { dir, gate, rules }
        }

        fn root(&self) -> PathBuf {
            os::canonicalize(self.dir.path()).unwrap()
        }

        fn admits_url(&self, url: &str) -> bool {
            self.gate.admits(&self.rules, &[url.to_owned()])[0]
        }

        fn admits(&self, path: &str) -> bool {
            self.admits_url(&format!("file://{}/{path}", self.url_path()))
        }

        /// The path of the root as URLs have it.
        fn url_path(&self) -> String {
            os::testing::url_path(&self.root())
        }
    }

    #[test]
    fn what_lies_in_an_opened_folder_is_admitted_and_nothing_else() {
        let scene = GateScene::new();
        for path in ["site/index.html", "site", "site/", "site//plain", "site/plain/100%25.txt"] {
            assert!(scene.admits(path), "{path}");
        }
        assert!(scene.admits("site/index.html?q=1#x"));
        let local = format!("file://localhost{}/site/index.html", scene.url_path());
        assert!(scene.admits_url(&local));
        for path in ["other/id_rsa", "siteelse", "", "other", "site/absent", "site%2Findex.html"] {
            assert!(!scene.admits(path), "{path}");
        }
    }

    #[test]
    fn before_a_folder_is_opened_and_while_they_are_switched_off_nothing_is_admitted() {
        let mut scene = GateScene::new();
        scene.rules.apply(&LocalFileChange::Switch { enabled: false }).unwrap();
        assert!(!scene.admits("site/index.html"));
        scene.rules = LocalFileRules::default();
        assert!(!scene.admits("site/index.html"));
    }

    #[test]
    fn no_spelling_leads_out_of_the_folder() {
        let scene = GateScene::new();
        for path in [
            "site/../other/id_rsa",
            "site/%2e%2e/other/id_rsa",
            "site/%2E./other/id_rsa",
            "site/plain/..%2f..%2fother/id_rsa",
            "site/..%5c../other/id_rsa",
            "site/index.html%00",
            "site/./index.html",
            "site/%zz",
            "site/%2",
        ] {
            assert!(!scene.admits(path), "{path}");
        }
        let root = scene.url_path();
        for url in [
            format!("file://elsewhere{root}/site/index.html"),
            format!("file:{root}/site/index.html"),
            format!("FILE://{root}/site/index.html"),
            format!("http://{root}/site/index.html"),
            format!("file://localhost.{root}/site/index.html"),
            "file://".to_owned(),
            String::new(),
        ] {
            assert!(!scene.admits_url(&url), "{url}");
        }
    }

    #[test]
    fn a_link_counts_as_what_it_leads_to() {
        let scene = GateScene::new();
        let at = |path: &str| scene.root().join(path);
        symlink(at("other"), at("site/out")).unwrap();
        symlink(at("other/id_rsa"), at("site/key.html")).unwrap();
        symlink(at("site/index.html"), at("site/in.html")).unwrap();
        symlink(at("state/auth.key"), at("site/auth")).unwrap();
        for path in ["site/out/id_rsa", "site/out", "site/key.html", "site/auth"] {
            assert!(!scene.admits(path), "{path}");
        }
        assert!(scene.admits("site/in.html"));
        // A link in the place of the folder itself opens nothing either.
        fs::rename(at("site"), at("moved")).unwrap();
        symlink(at("other"), at("site")).unwrap();
        assert!(!scene.admits("site/id_rsa"));
    }

    #[test]
    fn state_extension_and_profiles_stay_closed_below_an_opened_folder() {
        let mut scene = GateScene::new();
        for path in [
            "site/unpacked/config.json",
            "site/unpacked",
            "site/unpacked/src/actions/index.js",
            "site/copy/config.json",
            "site/profile/file",
            "site/profile",
        ] {
            assert!(!scene.admits(path), "{path}");
        }
        let folder = scene.root().to_str().unwrap().to_owned();
        scene.rules.apply(&LocalFileChange::Add { folder }).unwrap();
        assert!(scene.admits("other/id_rsa"), "the person has opened all of it");
        for path in [
            "state/auth.key",
            "state",
            ".config/chromium/Default/Cookies",
            "Tabwire/extension/config.json",
            "Tabwire/extension",
            "state/extension/config.json",
        ] {
            assert!(!scene.admits(path), "{path}");
        }
    }

    #[test]
    fn another_name_of_a_file_in_a_closed_folder_is_refused() {
        let scene = GateScene::new();
        let at = |path: &str| scene.root().join(path);
        for (from, to) in [
            ("state/auth.key", "site/innocent.html"),
            ("site/unpacked/config.json", "site/notes.txt"),
            ("Tabwire/extension/config.json", "site/tabwire.txt"),
            ("state/extension/config.json", "site/former.txt"),
            (".config/chromium/Default/Cookies", "site/cookies.html"),
        ] {
            fs::hard_link(at(from), at(to)).unwrap();
            assert!(!scene.admits(to), "{to}");
        }
        fs::hard_link(at("site/index.html"), at("site/twice.html")).unwrap();
        assert!(scene.admits("site/twice.html"), "a second name alone closes nothing");
    }

    #[test]
    fn a_folder_is_opened_by_its_real_path_and_a_closed_one_not_at_all() {
        let scene = GateScene::new();
        let at = |path: &str| scene.root().join(path);
        let open = |path: &str| openable_folder(&scene.gate.store, &at(path));
        assert_eq!(open("site/..//other").unwrap(), at("other").to_str().unwrap());
        for closed in ["state", "state/..//state", "site/unpacked", "site/copy/src/actions"] {
            let error = open(closed).unwrap_err();
            assert!(matches!(error, FolderError::Closed(_)), "{closed}: {error}");
        }
        assert!(matches!(open("other/id_rsa"), Err(FolderError::NoFolder(_))));
        assert!(matches!(open("absent"), Err(FolderError::Io { .. })));
    }

    #[test]
    fn a_link_to_a_folder_opens_that_and_a_name_that_nobody_can_read_opens_none() {
        let scene = GateScene::new();
        let at = |path: &str| scene.root().join(path);
        symlink(at("other"), at("link")).unwrap();
        let open = |path: &str| openable_folder(&scene.gate.store, &at(path));
        assert_eq!(open("link").unwrap(), at("other").to_str().unwrap());
        fs::create_dir(at("other/a\rb")).unwrap();
        assert!(matches!(open("other/a\rb"), Err(FolderError::NoFolder(_))));
    }

    #[test]
    fn what_is_no_file_and_no_folder_is_refused() {
        let scene = GateScene::new();
        let socket = scene.root().join("site/socket");
        let _listener = crate::os::UnixListener::bind(socket).unwrap();
        assert!(!scene.admits("site/socket"));
    }
}
