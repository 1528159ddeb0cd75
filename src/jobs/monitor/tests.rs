//! The monitor by itself, on real files, with a disk that fails or waits where it is told to.

mod model;
mod trouble;
mod watching;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rusqlite::Connection;

use super::disk::ContentHash;
use super::*;
use crate::os::testing::symlink;
use crate::os::{self, UnixListener};

/// A folder that may be synced, beside the database.
struct Fixture {
    dir: tempfile::TempDir,
    monitor: FileMonitor,
}

fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("tree")).unwrap();
    let monitor = monitor(dir.path());
    Fixture { dir, monitor }
}

fn monitor(dir: &Path) -> FileMonitor {
    FileMonitor::open(&dir.join("monitor.db"), vec![dir.join("tree")], counting_clock())
}

/// A clock that goes on by a millisecond whenever it is read.
fn counting_clock() -> ElapsedClock {
    let read = AtomicU64::new(0);
    Arc::new(move || Duration::from_millis(read.fetch_add(1, Ordering::Relaxed)))
}

impl Fixture {
    fn tree(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    fn database(&self) -> PathBuf {
        self.dir.path().join("monitor.db")
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.tree().join(name)
    }

    /// Writes a file that was modified so many seconds after the epoch.
    fn write(&self, name: impl AsRef<Path>, content: &str, modified: u64) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        touch(&path, modified);
    }

    fn request(&self) -> SyncRequest {
        SyncRequest::of(self.tree())
    }

    fn verify(&self) -> SyncRequest {
        SyncRequest { verify: true, ..self.request() }
    }

    fn sync(&self) -> SyncSummary {
        self.try_sync(&self.request()).unwrap()
    }

    fn try_sync(&self, request: &SyncRequest) -> Result<SyncSummary, SyncError> {
        self.monitor.sync(request, &mut |_| {}, &|| false)
    }

    /// What is recorded, by the path below the tree.
    fn rows(&self) -> BTreeMap<PathBuf, (u64, ContentHash)> {
        let connection = Connection::open(self.database()).unwrap();
        let all = "SELECT path, name, size, blake3 FROM file JOIN folder ON folder = id";
        let mut all = connection.prepare(all).unwrap();
        let tree = os::canonicalize(self.dir.path()).unwrap().join("tree");
        let rows = all.query_map([], |row| {
            let [path, name]: [Vec<u8>; 2] = [row.get(0)?, row.get(1)?];
            let path = PathBuf::from(os::name_of_bytes(&path)).join(os::name_of_bytes(&name));
            let path = path.strip_prefix(&tree).unwrap().to_owned();
            Ok((path, (row.get(2)?, row.get(3)?)))
        });
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn names(&self) -> Vec<String> {
        self.rows().into_keys().map(|path| path.to_str().unwrap().to_owned()).collect()
    }
}

fn touch(path: &Path, modified: u64) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(modified)).unwrap();
}

fn row(content: &str) -> (u64, ContentHash) {
    (content.len() as u64, blake3::hash(content.as_bytes()).into())
}

#[test]
fn new_changed_unchanged_and_vanished_files_are_told_apart() {
    let it = fixture();
    it.write("same", "same", 1);
    it.write("below/changed", "before", 1);
    it.write("below/gone", "gone", 1);
    it.write("lost/deep/gone", "gone", 1);
    let first = it.sync();
    assert_eq!((first.files_processed, first.files_new, first.files_updated), (4, 4, 4));
    assert_eq!(first.bytes_hashed, 18);

    it.write("below/changed", "after", 2);
    it.write("new", "new", 1);
    fs::remove_file(it.path("below/gone")).unwrap();
    fs::remove_dir_all(it.path("lost")).unwrap();
    let second = it.sync();
    let counts = [second.files_new, second.files_changed, second.files_updated];
    assert_eq!(counts, [1, 1, 2]);
    assert_eq!([second.files_skipped, second.files_removed, second.files_processed], [1, 2, 3]);
    let expected = [("below/changed", "after"), ("new", "new"), ("same", "same")];
    let expected = expected.map(|(name, content)| (PathBuf::from(name), row(content)));
    assert_eq!(it.rows(), BTreeMap::from(expected));
}

#[test]
fn an_unchanged_file_is_not_read_again_unless_that_is_asked_for() {
    let mut it = fixture();
    let opened = Arc::new(AtomicU64::new(0));
    let (open, count) = (std::mem::take(&mut it.monitor.disk).open, Arc::clone(&opened));
    it.monitor.disk.open = Box::new(move |path| {
        count.fetch_add(1, Ordering::Relaxed);
        open(path)
    });
    it.write("file", "one", 1);
    it.sync();
    it.write("file", "two", 1);
    assert_eq!(it.sync().files_skipped, 1);
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    assert_eq!(it.try_sync(&it.verify()).unwrap().files_changed, 1);
    assert_eq!(it.rows()[Path::new("file")], row("two"));
    assert_eq!(it.try_sync(&it.verify()).unwrap().files_skipped, 1);
}

#[test]
fn a_file_that_was_only_touched_is_read_once_and_is_not_an_update() {
    let it = fixture();
    it.write("file", "content", 1);
    it.sync();
    touch(&it.path("file"), 2);
    let touched = it.sync();
    assert_eq!((touched.files_updated, touched.files_skipped, touched.bytes_hashed), (0, 1, 7));
    assert_eq!(it.sync().bytes_hashed, 0);
}

#[test]
fn links_are_not_followed_so_loops_end() {
    let it = fixture();
    it.write("folder/file", "content", 1);
    symlink(it.tree(), it.path("folder/loop")).unwrap();
    symlink("itself", it.path("itself")).unwrap();
    symlink("folder/file", it.path("link")).unwrap();
    let summary = it.sync();
    assert_eq!((summary.files_processed, summary.not_regular_skipped), (1, 3));
    assert_eq!(it.names(), ["folder/file"]);
}

#[test]
fn a_file_that_became_a_link_has_vanished() {
    let it = fixture();
    it.write("file", "content", 1);
    it.write("other", "content", 1);
    it.sync();
    fs::remove_file(it.path("file")).unwrap();
    symlink("other", it.path("file")).unwrap();
    assert_eq!(it.sync().files_removed, 1);
    assert_eq!(it.names(), ["other"]);
}

#[test]
fn pipes_and_sockets_are_never_opened() {
    let mut it = fixture();
    it.monitor.disk.open = Box::new(|path| panic!("{} was opened", path.display()));
    let _socket = UnixListener::bind(it.path("socket")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(it.path("pipe")).status().unwrap();
    assert!(made.success(), "{made}");
    let summary = it.sync();
    assert_eq!((summary.files_processed, summary.not_regular_skipped), (0, 2));
}

#[test]
fn names_that_are_not_utf8_are_kept_byte_for_byte_and_shown_escaped() {
    let mut it = fixture();
    let name = os::name_of_bytes(b"caf\xe9");
    it.write(&name, "content", 1);
    it.sync();
    assert_eq!(it.rows().into_keys().collect::<Vec<_>>(), [PathBuf::from(name)]);
    assert_eq!(it.sync().files_skipped, 1);
    it.monitor.disk.open = Box::new(|_| Err(std::io::ErrorKind::PermissionDenied.into()));
    let shown = &it.try_sync(&it.verify()).unwrap().unreadable[0].path;
    assert!(shown.ends_with("/tree/caf\\xE9"), "{shown}");
}

#[test]
fn a_single_file_is_synced_by_itself() {
    let it = fixture();
    it.write("file", "content", 1);
    it.write("other", "content", 1);
    let request = SyncRequest::of(it.path("file"));
    assert_eq!(it.try_sync(&request).unwrap().files_new, 1);
    assert_eq!(it.names(), ["file"]);
    it.sync();
    let again = it.try_sync(&request).unwrap();
    assert_eq!((again.files_skipped, again.files_removed), (1, 0));
    assert_eq!(it.names(), ["file", "other"]);
}

#[test]
fn folders_below_are_left_alone_unless_they_are_asked_for() {
    let it = fixture();
    it.write("file", "content", 1);
    it.write("below/file", "content", 1);
    let flat = SyncRequest { recursive: false, ..it.request() };
    assert_eq!(it.try_sync(&flat).unwrap().files_processed, 1);
    it.sync();
    fs::remove_dir_all(it.path("below")).unwrap();
    assert_eq!(it.try_sync(&flat).unwrap().files_removed, 0);
    assert_eq!(it.sync().files_removed, 1);
}

#[test]
fn a_folder_that_became_a_file_and_a_file_that_became_a_folder_are_noticed() {
    let it = fixture();
    it.write("one/file", "content", 1);
    it.write("two", "content", 1);
    it.sync();
    fs::remove_dir_all(it.path("one")).unwrap();
    fs::remove_file(it.path("two")).unwrap();
    it.write("one", "content", 1);
    it.write("two/file", "content", 1);
    // Also where only the path itself is looked at.
    for name in ["one", "two"] {
        let summary = it.try_sync(&SyncRequest::of(it.path(name))).unwrap();
        assert_eq!((summary.files_new, summary.files_removed), (1, 1), "{name}");
    }
    assert_eq!(it.names(), ["one", "two/file"]);
}

#[test]
fn the_database_is_for_its_owner_only_and_not_in_itself() {
    let it = fixture();
    let dir = it.dir.path();
    let monitor = FileMonitor::open(&it.database(), vec![dir.to_owned()], counting_clock());
    let request = SyncRequest::of(dir.to_owned());
    fs::write(dir.join("monitor.db.txt"), "mine").unwrap();
    for processed in [1, 1] {
        let summary = monitor.sync(&request, &mut |_| {}, &|| false).unwrap();
        assert_eq!(summary.files_processed, processed);
    }
    for name in ["monitor.db", "monitor.db-wal"] {
        let mode = crate::os::testing::mode(dir.join(name));
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn the_summary_has_the_names_that_clients_know() {
    let it = fixture();
    it.write("file", "content", 1);
    let summary = serde_json::to_value(it.sync()).unwrap();
    for name in ["files_processed", "files_skipped", "files_updated", "files_removed"] {
        assert!(summary[name].is_u64(), "{name}");
    }
    assert!(summary["duration_seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(summary["unreadable"], serde_json::json!([]));
}
