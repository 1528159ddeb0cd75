//! The browser extension that this build carries, and its unpacking to the disk with a key.

mod carried_files;
#[cfg(test)]
mod protocol_types;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use carried_files::{CARRIED, MANIFEST, MANIFEST_TEXT, carried_paths, names_by_folder, unpacked};
use serde_json::{Value, json};

use crate::home::write_private;
use crate::os;
use crate::proof::{ExtensionKey, random_hex};
use crate::protocol::SERVER_VERSION;

const CONFIG: &str = "config.json";

/// An unpacked Tabwire extension of any version.
pub struct UnpackedExtension {
    /// Its version.
    pub version: String,
    /// The daemon's port in its configuration; `None` if that cannot be read.
    pub port: Option<u16>,
    key: Option<String>,
}

impl std::fmt::Debug for UnpackedExtension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { version, port, key: _ } = self;
        f.debug_struct("UnpackedExtension")
            .field("version", version)
            .field("port", port)
            .finish_non_exhaustive()
    }
}

impl UnpackedExtension {
    /// Whether it holds this key.
    #[must_use]
    pub fn has_key(&self, key: &ExtensionKey) -> bool {
        self.key.as_ref() == Some(&key.encoded())
    }

    /// Whether its `config.json` holds any key. An extension moves its key to its own storage.
    #[must_use]
    pub const fn has_any_key(&self) -> bool {
        self.key.is_some()
    }
}

/// The Tabwire extension in `dir`, if there is one.
#[must_use]
pub fn find(dir: &Path) -> Option<UnpackedExtension> {
    if !is_ours(dir) {
        return None;
    }
    let read = |name: &str| -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(dir.join(name)).ok()?).ok()
    };
    let config = read(CONFIG).unwrap_or_default();
    let version = read(MANIFEST)?["version"].as_str()?.to_owned();
    let port = config["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    Some(UnpackedExtension { version, port, key: config["ext_key"].as_str().map(str::to_owned) })
}

/// The result of comparing a folder with the files that [`unpack`] wrote there. `config.json` is not
/// compared: it belongs to this computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderCheck {
    /// All files are as they were written.
    Unchanged {
        /// Whether nothing else is there, and nobody else could have written: a browser may load it
        /// unseen.
        is_whole: bool,
    },
    /// The folder is gone, or another version was unpacked to it, which this build does not know.
    Unknown,
    /// A file differs.
    Changed {
        /// The first file that differs, relative to the folder.
        file: PathBuf,
    },
}

/// Compares the extension in `dir` with the one that this build carries. `written` is the version
/// that was unpacked there last, from the state directory. The folder's own manifest is no evidence:
/// who changes the files can change its version too. Reads the whole folder.
#[must_use]
pub fn check_folder(dir: &Path, written: Option<&str>) -> FolderCheck {
    if written != Some(SERVER_VERSION) || !dir.is_dir() {
        return FolderCheck::Unknown;
    }
    match first_changed(dir) {
        Some(file) => FolderCheck::Changed { file },
        None => FolderCheck::Unchanged { is_whole: is_closed(dir) },
    }
}

/// The first file that differs from its copy in `dir`.
fn first_changed(dir: &Path) -> Option<PathBuf> {
    let mut paths = CARRIED.iter().map(|file| (file, file.path()));
    paths.find(|(file, path)| !file.is_at(&dir.join(path))).map(|(_, path)| path)
}

/// The port and key that an extension needs for its daemon, in the form of `config.json` and of the
/// native messaging host.
#[must_use]
pub fn pairing(port: u16, key: &ExtensionKey) -> Value {
    json!({"port": port, "ext_key": key.encoded()})
}

/// The same as `config.json` holds it.
fn pairing_text(port: u16, key: &ExtensionKey) -> String {
    pairing(port, key).to_string()
}

/// The text of `config.json` once the extension has its key in its own storage.
fn keyless_text(port: u16) -> String {
    json!({"port": port}).to_string()
}

/// The same as one line, for a person to paste into the extension.
#[must_use]
pub fn pairing_line(port: u16, key: &ExtensionKey) -> String {
    format!("tabwire-pair:{}", URL_SAFE_NO_PAD.encode(pairing(port, key).to_string()))
}

/// Why the extension cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The folder holds something else.
    #[error(
        "{0} is not empty and does not hold a Tabwire extension. Empty it, or name another folder: `tabwire extension unpack DIR`"
    )]
    Occupied(PathBuf),
    /// The folder cannot be written.
    #[error(
        "cannot write {path}: {source}. Correct that and try again, or name another folder: `tabwire extension unpack DIR`"
    )]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Writes the extension to `dir`, with the daemon's port and key. Replaces a Tabwire extension that
/// is there already.
///
/// # Errors
///
/// [`UnpackError`].
pub fn unpack(dir: &Path, port: u16, key: &ExtensionKey) -> Result<(), UnpackError> {
    make_room(dir)?;
    let written = write(dir, port, key);
    if written.is_err() {
        // A folder without a whole manifest would count as foreign, and the next try would refuse it.
        let _ = empty(dir);
    }
    written
}

/// Writes the manifest first. If the program is killed in the middle, the manifest still shows that
/// the folder is Tabwire's, and a later [`unpack`] may empty it.
fn write(dir: &Path, port: u16, key: &ExtensionKey) -> Result<(), UnpackError> {
    let put = |name: &str, write: &dyn Fn(&Path) -> io::Result<()>| {
        let path = dir.join(name);
        write(&path).map_err(|source| UnpackError::Io { path, source })
    };
    put(MANIFEST, &|path| os::write_read_only(path, MANIFEST_TEXT.as_bytes()))?;
    let files = unpacked();
    // The folder itself, which comes first, is there.
    for folder in names_by_folder(files.keys()).into_keys().skip(1) {
        let path = dir.join(folder);
        let made = os::create_folder(&path);
        made.map_err(|source| UnpackError::Io { path, source })?;
    }
    for (name, contents) in files.iter().filter(|(name, _)| *name != Path::new(MANIFEST)) {
        let path = dir.join(name);
        let written = os::write_read_only(&path, contents);
        written.map_err(|source| UnpackError::Io { path, source })?;
    }
    put(CONFIG, &|path| write_private(path, pairing_text(port, key).as_bytes()))
}

/// Removes this key from the `config.json` of the extension in `dir`; its port stays. False: there
/// is no extension of ours, or it holds no such key.
///
/// # Errors
///
/// The system's: the file is as it was.
pub fn remove_key(dir: &Path, key: &ExtensionKey) -> io::Result<bool> {
    let Some(found) = find(dir).filter(|found| found.has_key(key)) else { return Ok(false) };
    let (path, aside) = (dir.join(CONFIG), dir.join(format!("{CONFIG}.{}", random_hex::<8>())));
    let text = found.port.map_or_else(|| "{}".to_owned(), keyless_text);
    // Written aside and renamed, so that an extension that reads it meanwhile finds a whole file.
    let replaced =
        write_private(&aside, text.as_bytes()).and_then(|()| os::replace_file(&aside, &path));
    if replaced.is_err() {
        let _ = fs::remove_file(&aside);
    }
    replaced.map(|()| true)
}

/// Whether `dir` holds exactly the files of [`unpack`]. With `may_lack_key` a `config.json` without
/// its key counts too, as [`remove_key`] leaves it.
#[must_use]
pub fn is_as_unpacked(dir: &Path, port: u16, key: &ExtensionKey, may_lack_key: bool) -> bool {
    let has_config = || {
        let path = dir.join(CONFIG);
        let is_right = |bytes: Vec<u8>| {
            bytes == pairing_text(port, key).as_bytes()
                || (may_lack_key && bytes == keyless_text(port).as_bytes())
        };
        os::is_closed_to_others(&path) && fs::read(path).is_ok_and(is_right)
    };
    has_config() && is_closed(dir) && first_changed(dir).is_none()
}

/// Whether a folder has as many entries as were unpacked with [`CONFIG`], all closed to others and its files
/// read-only. Their contents are [`first_changed`]'s.
fn is_closed(dir: &Path) -> bool {
    let is_writable = |path: &Path| fs::metadata(path).is_ok_and(|at| !at.permissions().readonly());
    let paths = carried_paths();
    let config = PathBuf::from(CONFIG);
    let names = names_by_folder(paths.iter().chain([&config]));
    dir.join(CONFIG).is_file()
        && names.iter().all(|(folder, names)| {
            let folder = dir.join(folder);
            let found = fs::read_dir(&folder).map_or(0, Iterator::count);
            found == names.len() && os::is_closed_to_others(&folder)
        })
        && !paths.iter().any(|path| is_writable(&dir.join(path)))
}

/// Makes the folder, and empties it if it holds an extension of ours.
fn make_room(dir: &Path) -> Result<(), UnpackError> {
    let io = |source| UnpackError::Io { path: dir.to_owned(), source };
    os::create_folders(dir).map_err(io)?;
    let mut entries = fs::read_dir(dir).map_err(io)?.peekable();
    if entries.peek().is_some() {
        if !is_ours(dir) {
            return Err(UnpackError::Occupied(dir.to_owned()));
        }
        empty(dir).map_err(io)?;
    }
    os::close_to_others(dir).map_err(io)
}

/// Moves the extension from the folder `from` to `to`, and leaves a link in its place: a browser
/// that has loaded it from there finds its files, now and after a reload. What is in `to` afterwards
/// need not be whole: [`unpack`] follows. A move that broke off is completed.
///
/// # Errors
///
/// [`UnpackError`]: [`UnpackError::Occupied`] if `to` holds something else, and nothing changed.
pub fn relocate(from: &Path, to: &Path) -> Result<(), UnpackError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| UnpackError::Io { path, source }
    };
    if fs::symlink_metadata(to).is_ok() && !is_empty_folder(to) && !is_ours(to) {
        return Err(UnpackError::Occupied(to.to_owned()));
    }
    if let Some(parent) = to.parent() {
        os::create_folders(parent).map_err(io(parent))?;
    }
    if is_ours(from)
        && let Err(error) = fs::rename(from, to)
    {
        // A rename cannot replace a folder or cross disks. `unpack` writes the files anew in any case.
        use io::ErrorKind::{AlreadyExists, CrossesDevices, DirectoryNotEmpty};
        if !matches!(error.kind(), AlreadyExists | CrossesDevices | DirectoryNotEmpty) {
            return Err(io(from)(error));
        }
        os::remove_folder(from).map_err(io(from))?;
    }
    os::link_folder(to, from).map_err(io(from))
}

/// Whether there is a folder with nothing in it.
pub(crate) fn is_empty_folder(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// Empties a folder of Tabwire's. The manifest goes last: without it the rest would look foreign.
fn empty(dir: &Path) -> io::Result<()> {
    let manifest = dir.join(MANIFEST);
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            os::remove_folder(&path)?;
        } else if path != manifest {
            os::remove_file(&path)?;
        }
    }
    os::remove_file(&manifest)
}

/// Whether the folder holds an extension of any version with Tabwire's public key.
fn is_ours(dir: &Path) -> bool {
    let key = |text: &str| serde_json::from_str::<Value>(text).ok()?.get("key").cloned();
    let own = key(MANIFEST_TEXT);
    let theirs = fs::read_to_string(dir.join(MANIFEST)).ok().as_deref().and_then(key);
    own.is_some() && own == theirs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::AuthKey;
    use crate::protocol::EXTENSION_ID;

    fn key() -> ExtensionKey {
        AuthKey::generate().extension_key(EXTENSION_ID)
    }

    fn manifest() -> Value {
        serde_json::from_str(MANIFEST_TEXT).unwrap()
    }

    #[test]
    fn the_extension_has_this_builds_version_and_the_id_that_the_daemon_expects() {
        use sha2::Digest as _;

        assert_eq!(manifest()["version"], SERVER_VERSION);
        let key = manifest()["key"].as_str().unwrap().to_owned();
        let key = base64::engine::general_purpose::STANDARD.decode(key).unwrap();
        let digest = sha2::Sha256::digest(key);
        let digits = digest.iter().take(16).flat_map(|byte| [byte >> 4, byte & 15]);
        let id: String = digits.map(|digit| char::from(b'a' + digit)).collect();
        assert_eq!(id, EXTENSION_ID);
    }

    #[test]
    fn the_line_to_paste_is_one_word_that_says_port_and_key() {
        let key = key();
        let line = pairing_line(7891, &key);
        assert!(!line.contains(char::is_whitespace));
        let said = URL_SAFE_NO_PAD.decode(line.strip_prefix("tabwire-pair:").unwrap()).unwrap();
        let said: Value = serde_json::from_slice(&said).unwrap();
        assert_eq!(said, json!({"port": 7891, "ext_key": key.encoded()}));
    }

    #[test]
    fn an_unpacked_extension_is_whole_and_its_key_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("extension");
        unpack(&dir, 1234, &key()).unwrap();
        let worker = manifest()["background"]["service_worker"].as_str().unwrap().to_owned();
        assert!(dir.join(worker).is_file());
        assert!(dir.join("src/actions/index.js").is_file());
        assert!(!dir.join("test").exists() && !dir.join("types").exists());
        let mode = |name: &str| crate::os::testing::mode(dir.join(name));
        assert_eq!(mode(CONFIG), 0o600);
        assert_eq!([mode(""), mode("src/actions")], [0o700; 2]);
        assert_eq!([mode(MANIFEST), mode("src/actions/index.js")], [0o444; 2]);
        let config: Value = serde_json::from_slice(&fs::read(dir.join(CONFIG)).unwrap()).unwrap();
        assert_eq!(config["port"], 1234);
    }

    /// Replaces a file as somebody would who may write to the folder.
    fn put(dir: &Path, name: &str, text: &str) {
        let _ = os::remove_file(&dir.join(name));
        fs::write(dir.join(name), text).unwrap();
    }

    #[test]
    fn a_file_that_was_changed_since_it_was_unpacked_is_named_and_the_configuration_may_change() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let check = || check_folder(dir, Some(SERVER_VERSION));
        unpack(dir, 1, &key()).unwrap();
        assert_eq!(check(), FolderCheck::Unchanged { is_whole: true });
        put(dir, CONFIG, "{}");
        assert_eq!(check(), FolderCheck::Unchanged { is_whole: true });
        put(dir, ".DS_Store", "a file dialog's");
        assert_eq!(check(), FolderCheck::Unchanged { is_whole: false });
        for file in ["src/worker/background.js", "src/actions/index.js", MANIFEST] {
            let before = fs::read_to_string(dir.join(file)).unwrap();
            for other in [format!("{before}\n"), before.replacen('e', "a", 1)] {
                put(dir, file, &other);
                assert_eq!(
                    check(),
                    FolderCheck::Changed { file: file.into() },
                    "{} bytes",
                    other.len()
                );
            }
            put(dir, file, &before);
            assert_eq!(check(), FolderCheck::Unchanged { is_whole: false });
        }
        os::remove_file(&dir.join("src/injected/look.js")).unwrap();
        assert_eq!(check(), FolderCheck::Changed { file: "src/injected/look.js".into() });
    }

    #[test]
    fn no_manifest_hides_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        unpack(dir, 1, &key()).unwrap();
        let changed = FolderCheck::Changed { file: MANIFEST.into() };
        let check = || check_folder(dir, Some(SERVER_VERSION));
        let whole = fs::read_to_string(dir.join(MANIFEST)).unwrap();
        let mut other = manifest();
        other["version"] = "0.0.1".into();
        // Browsers take comments, and other readers of JSON do not.
        for text in [other.to_string(), format!("// mine\n{whole}"), "{}".to_owned()] {
            put(dir, MANIFEST, &text);
            assert_eq!(check(), changed, "{text}");
        }
        os::remove_file(&dir.join(MANIFEST)).unwrap();
        assert_eq!(check(), changed, "there is none");
        put(dir, MANIFEST, &whole);
        assert_eq!(check_folder(dir, Some("0.0.1")), FolderCheck::Unknown, "that one was unpacked");
        assert_eq!(check_folder(dir, None), FolderCheck::Unknown, "nobody noted which");
        let gone = dir.join("gone");
        assert_eq!(check_folder(&gone, Some(SERVER_VERSION)), FolderCheck::Unknown);
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_a_change_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        unpack(dir.path(), 1, &key()).unwrap();
        let worker = dir.path().join("src/worker/background.js");
        os::remove_file(&worker).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&worker).status();
        assert!(made.unwrap().success());
        let changed = FolderCheck::Changed { file: "src/worker/background.js".into() };
        assert_eq!(check_folder(dir.path(), Some(SERVER_VERSION)), changed);
    }

    #[test]
    fn a_folder_that_was_moved_is_found_at_its_old_place_and_a_move_that_broke_off_is_completed() {
        for (is_there, breaks_off) in [(false, false), (true, false), (false, true)] {
            let dir = tempfile::tempdir().unwrap();
            let (old, new) = (dir.path().join("state/extension"), dir.path().join("T/extension"));
            unpack(&old, 7, &key()).unwrap();
            if is_there {
                unpack(&new, 8, &key()).unwrap();
            }
            if breaks_off {
                fs::create_dir(dir.path().join("T")).unwrap();
                fs::rename(&old, &new).unwrap();
            }
            relocate(&old, &new).unwrap();
            assert!(fs::symlink_metadata(&old).unwrap().is_symlink());
            let port = if is_there { 8 } else { 7 };
            assert_eq!(find(&old).unwrap().port, Some(port));
            unpack(&new, 9, &key()).unwrap();
            assert_eq!(find(&old).unwrap().port, Some(9), "what is written anew is there, too");
        }
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("extension"), dir.path().join("thesis"));
        unpack(&old, 7, &key()).unwrap();
        fs::create_dir(&new).unwrap();
        fs::write(new.join("thesis.txt"), "years of work").unwrap();
        assert!(matches!(relocate(&old, &new), Err(UnpackError::Occupied(_))));
        assert!(find(&old).is_some() && !old.is_symlink());
    }

    #[test]
    fn unpacking_again_replaces_it_and_leaves_nothing_of_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        unpack(dir.path(), 1, &key()).unwrap();
        // Former versions had their files at the root.
        fs::create_dir(dir.path().join("page")).unwrap();
        for file in ["shim.js", "popup.html", "page/run.js", "src/worker/old.js"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        let key = key();
        unpack(dir.path(), 2, &key).unwrap();
        assert!(is_as_unpacked(dir.path(), 2, &key, false));
        assert!(!dir.path().join("shim.js").exists() && !dir.path().join("page").exists());
        let config = fs::read_to_string(dir.path().join(CONFIG)).unwrap();
        assert!(config.contains("\"port\":2"));
    }

    #[test]
    fn only_what_is_just_as_it_would_be_unpacked_is_said_to_be() {
        let (dir, key) = (tempfile::tempdir().unwrap(), key());
        let (dir, config) = (dir.path(), dir.path().join(CONFIG));
        let is_whole = || is_as_unpacked(dir, 1, &key, false);
        assert!(!is_whole(), "nothing is there");
        let spoilings: [&dyn Fn(); 8] = [
            &|| put(dir, "src/actions/index.js", ""),
            &|| crate::os::testing::chmod(dir, 0o755).unwrap(),
            &|| {
                let file = dir.join("src/worker/background.js");
                crate::os::testing::chmod(file, 0o644).unwrap();
            },
            &|| os::remove_file(&dir.join(MANIFEST)).unwrap(),
            &|| fs::write(dir.join("src/injected/old.js"), "").unwrap(),
            &|| fs::remove_file(&config).unwrap(),
            &|| crate::os::testing::chmod(&config, 0o644).unwrap(),
            &|| unpack(dir, 2, &key).unwrap(),
        ];
        for (n, spoil) in spoilings.into_iter().enumerate() {
            let _ = fs::remove_dir_all(dir);
            unpack(dir, 1, &key).unwrap();
            assert!(is_whole());
            spoil();
            assert!(!is_whole(), "{n}");
        }
        unpack(dir, 1, &self::key()).unwrap();
        assert!(!is_whole(), "another key");
    }

    #[test]
    fn a_key_is_taken_out_of_the_folder_and_the_port_and_the_rest_stay() {
        let (dir, key) = (tempfile::tempdir().unwrap(), key());
        let dir = dir.path();
        assert!(!remove_key(dir, &key).unwrap(), "nothing is there");
        unpack(dir, 7891, &key).unwrap();
        assert!(!remove_key(dir, &self::key()).unwrap(), "another key is not ours to remove");
        assert!(find(dir).unwrap().has_key(&key));
        assert!(remove_key(dir, &key).unwrap());
        assert!(!remove_key(dir, &key).unwrap());
        let found = find(dir).unwrap();
        assert_eq!((found.port, found.has_any_key()), (Some(7891), false));
        let config = fs::read_to_string(dir.join(CONFIG)).unwrap();
        assert!(!config.contains(&key.encoded()), "{config}");
        let mode = crate::os::testing::mode(dir.join(CONFIG));
        assert_eq!(mode, 0o600);
        assert!(is_as_unpacked(dir, 7891, &key, true) && !is_as_unpacked(dir, 7891, &key, false));
        assert!(!is_as_unpacked(dir, 7892, &key, true), "for another port");
        unpack(dir, 7891, &key).unwrap();
        assert!(find(dir).unwrap().has_key(&key));
    }

    #[test]
    fn a_folder_with_something_else_in_it_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.txt"), "years of work").unwrap();
        let error = unpack(dir.path(), 1, &key()).unwrap_err();
        assert!(matches!(error, UnpackError::Occupied(_)), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
