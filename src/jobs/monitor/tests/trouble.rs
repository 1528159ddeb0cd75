//! What goes wrong: paths, disks, databases.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

use super::*;
use crate::protocol::code_literals::codes_named_in;

#[test]
fn every_reason_why_nothing_is_synced_has_a_next_step() {
    // The path has the end of a sentence in it.
    let (path, why) = (PathBuf::from("/a. b"), "Permission denied".to_owned());
    let all = [
        SyncError::NotAbsolute { path: path.clone() },
        SyncError::NotFound { path: path.clone(), why: why.clone() },
        SyncError::Vanished { path: path.clone(), recorded: 3 },
        SyncError::OutsideRoots { path: path.clone(), roots: vec![path.clone()] },
        SyncError::NotFileOrFolder { path: path.clone() },
        SyncError::Storage { path, why },
        SyncError::Cancelled { recorded: 3 },
    ];
    let walked: BTreeSet<_> = all.iter().map(SyncError::code).collect();
    assert_eq!(walked, codes_named_in(include_str!("../errors.rs")));
    for error in all {
        let (hint, message) = (error.hint(), error.to_string());
        let step = hint.strip_suffix('.').unwrap();
        assert!(step.len() > 10 && !step.contains(". "), "{hint}");
        assert!(message.ends_with(step) && message.len() > hint.len(), "{message}");
    }
}

fn code(result: Result<SyncTarget, SyncError>) -> &'static str {
    result.unwrap_err().code()
}

#[test]
fn a_path_outside_of_the_roots_is_refused_however_it_is_written() {
    let it = fixture();
    let check = |path: PathBuf| it.monitor.check(&SyncRequest::of(path));
    fs::write(it.dir.path().join("secret"), "secret").unwrap();
    symlink("../secret", it.path("link")).unwrap();
    symlink("/", it.path("everything")).unwrap();
    for outside in [
        it.dir.path().join("secret"),
        it.dir.path().join("missing/too"),
        it.path("../secret"),
        it.path("link"),
        it.path("everything/etc"),
        it.tree().with_file_name("tree2"),
        PathBuf::from("/"),
    ] {
        assert_eq!(code(check(outside.clone())), "outside_roots", "{}", outside.display());
    }
    let error = check(PathBuf::from("/")).unwrap_err();
    assert!(error.to_string().contains("--monitor-root"), "{error}");
    assert_eq!(error.details()["roots"][0], it.tree().to_str().unwrap());
}

#[test]
fn a_link_within_the_roots_leads_to_the_folder_itself() {
    let it = fixture();
    it.write("folder/file", "content", 1);
    symlink("folder", it.path("link")).unwrap();
    let target = it.monitor.check(&SyncRequest::of(it.path("link/../folder/."))).unwrap();
    assert_eq!(target.path, os::canonicalize(&it.path("folder")).unwrap());
    it.try_sync(&SyncRequest::of(it.path("link"))).unwrap();
    assert_eq!(it.names(), ["folder/file"]);
}

#[test]
fn what_is_not_there_not_absolute_or_no_file_is_refused_at_once() {
    let it = fixture();
    let check = |path: PathBuf| it.monitor.check(&SyncRequest::of(path));
    let _socket = UnixListener::bind(it.path("socket")).unwrap();
    assert_eq!(code(check("tree".into())), "not_absolute");
    assert_eq!(code(check(it.path("missing"))), "not_found");
    assert_eq!(code(check(it.path("socket"))), "not_a_file_or_folder");
    assert!(!it.database().exists(), "nothing was opened for that");
}

#[test]
fn a_root_that_is_missing_allows_nothing() {
    let it = fixture();
    fs::remove_dir(it.tree()).unwrap();
    assert_eq!(code(it.monitor.check(&it.request())), "outside_roots");
}

#[test]
fn an_unreadable_file_is_listed_and_keeps_its_row_and_the_rest_is_synced() {
    let mut it = fixture();
    it.write("bad", "before", 1);
    it.write("good", "before", 1);
    it.sync();
    let open = std::mem::take(&mut it.monitor.disk).open;
    it.monitor.disk.open = Box::new(move |path| {
        if path.ends_with("bad") { Err(ErrorKind::PermissionDenied.into()) } else { open(path) }
    });
    it.write("bad", "after", 2);
    it.write("good", "after", 2);
    let summary = it.sync();
    assert_eq!((summary.files_unreadable, summary.files_changed), (1, 1));
    assert_eq!(summary.files_removed, 0);
    assert!(summary.unreadable[0].path.ends_with("/bad"));
    assert_eq!(summary.unreadable[0].reason, "permission denied");
    assert_eq!(it.rows()[Path::new("bad")], row("before"));
    assert_eq!(it.rows()[Path::new("good")], row("after"));
}

#[test]
fn a_file_that_fails_in_the_middle_is_unreadable() {
    let mut it = fixture();
    it.write("file", "content", 1);
    it.monitor.disk.read = Box::new(|_, _, _| Err(io::Error::other("the disk is broken")));
    let summary = it.sync();
    assert_eq!(summary.unreadable[0].reason, "the disk is broken");
    assert!(it.names().is_empty());
}

#[test]
fn a_hundred_unreadable_files_are_listed_and_all_are_counted() {
    let mut it = fixture();
    for number in 0..150 {
        it.write(format!("{number}"), "content", 1);
    }
    it.monitor.disk.open = Box::new(|_| Err(ErrorKind::PermissionDenied.into()));
    let summary = it.sync();
    assert_eq!((summary.files_unreadable, summary.unreadable.len()), (150, UNREADABLE_LISTED));
}

#[test]
fn what_is_in_a_folder_that_cannot_be_listed_has_not_vanished() {
    let mut it = fixture();
    it.write("closed/file", "content", 1);
    it.write("closed/deep/file", "content", 1);
    it.write("open/gone", "content", 1);
    it.sync();
    fs::remove_file(it.path("open/gone")).unwrap();
    it.monitor.disk.list = Box::new(|path| {
        if path.ends_with("closed") {
            Err(ErrorKind::PermissionDenied.into())
        } else {
            fs::read_dir(path)
        }
    });
    let summary = it.sync();
    assert_eq!((summary.files_removed, summary.folders_unreadable), (1, 1));
    assert_eq!(it.names(), ["closed/deep/file", "closed/file"]);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_not_recorded() {
    for to in ["more", "LESS"] {
        let mut it = fixture();
        it.write("file", "content", 1);
        let read = std::mem::take(&mut it.monitor.disk).read;
        it.monitor.disk.read = Box::new(move |path, file, buffer| {
            let read = read(path, file, buffer)?;
            // Either it grows, or it is written in place.
            let mut other = File::options().append(to == "more").write(true).open(path)?;
            other.write_all(to.as_bytes())?;
            Ok(read)
        });
        let summary = it.sync();
        assert_eq!(summary.unreadable[0].reason, "it changed while it was read");
        assert!(it.names().is_empty());
    }
}

#[test]
fn a_file_that_is_deleted_before_it_is_read_has_vanished() {
    let mut it = fixture();
    it.write("file", "content", 1);
    it.write("other", "content", 1);
    it.sync();
    let open = std::mem::take(&mut it.monitor.disk).open;
    it.monitor.disk.open = Box::new(move |path| {
        if path.ends_with("file") {
            fs::remove_file(path)?;
        }
        open(path)
    });
    let summary = it.try_sync(&it.verify()).unwrap();
    assert_eq!((summary.files_processed, summary.files_removed), (1, 1));
    assert_eq!(it.names(), ["other"]);
}

#[test]
fn a_folder_that_vanishes_in_mid_sync_ends_it_and_nothing_is_taken_for_removed() {
    let mut it = fixture();
    for number in 0..10 {
        it.write(format!("{number}/file"), "content", 1);
    }
    it.sync();
    let before = it.names();
    it.write("new", "new", 1);
    let (tree, open) = (it.tree(), std::mem::take(&mut it.monitor.disk).open);
    it.monitor.disk.open = Box::new(move |path| {
        let file = open(path);
        let _ = fs::remove_dir_all(&tree);
        file
    });
    let error = it.try_sync(&it.verify()).unwrap_err();
    assert_eq!(error.code(), "not_found");
    assert!(matches!(error, SyncError::Vanished { .. }), "{error}");
    let mut after = it.names();
    after.retain(|name| name != "new");
    assert_eq!(after, before);
}

#[test]
fn a_folder_that_vanishes_during_the_walk_does_not_empty_the_database() {
    let mut it = fixture();
    it.write("below/file", "content", 1);
    it.sync();
    let tree = it.tree();
    it.monitor.disk.list = Box::new(move |path| {
        let entries = fs::read_dir(path);
        fs::rename(&tree, tree.with_file_name("moved"))?;
        // As when a disk is unmounted: its folder is still there, and empty.
        fs::create_dir(&tree)?;
        entries
    });
    assert_eq!(it.try_sync(&it.request()).unwrap_err().code(), "not_found");
    assert_eq!(it.names(), ["below/file"]);
}

#[test]
fn a_full_disk_ends_the_sync_and_the_next_one_goes_on() {
    let mut it = fixture();
    it.write("first", "content", 1);
    it.sync();
    for number in 0..2_000 {
        it.write(format!("{number:0200}"), "content", 1);
    }
    it.monitor.store.room = Some(8);
    let error = it.try_sync(&it.request()).unwrap_err();
    assert_eq!(error.code(), "storage_unavailable");
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(it.names(), ["first"]);
    it.monitor.store.room = Some(100_000);
    assert_eq!(it.sync().files_new, 2_000);
}

#[test]
fn a_database_in_a_place_that_cannot_be_written_is_unavailable() {
    let it = fixture();
    let nowhere = it.dir.path().join("missing/monitor.db");
    let monitor = FileMonitor::open(&nowhere, vec![it.tree()], counting_clock());
    let error = monitor.sync(&it.request(), &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.code(), "storage_unavailable");
}

#[test]
fn a_cancelled_sync_keeps_what_it_recorded_and_removes_nothing() {
    let mut it = fixture();
    it.write("gone", "content", 1);
    it.sync();
    fs::remove_file(it.path("gone")).unwrap();
    for number in 0..100 {
        it.write(format!("{number}"), "content", 1);
    }
    let cancelled = Arc::new(AtomicBool::new(false));
    let (tell, read) = (Arc::clone(&cancelled), std::mem::take(&mut it.monitor.disk).read);
    it.monitor.disk.read = Box::new(move |path, file, buffer| {
        if path.ends_with("99") {
            tell.store(true, Ordering::Relaxed);
            // A file without an end: only the cancellation ends this.
            buffer[0] = b'x';
            return Ok(1);
        }
        read(path, file, buffer)
    });
    File::options().write(true).open(it.path("99")).unwrap().set_len(1 << 40).unwrap();
    let result = it.monitor.sync(&it.request(), &mut |_| {}, &|| cancelled.load(Ordering::Relaxed));
    let SyncError::Cancelled { recorded } = result.unwrap_err() else { panic!("not cancelled") };
    let names = it.names();
    assert!(names.contains(&"gone".to_owned()) && !names.contains(&"99".to_owned()));
    assert_eq!(names.len() as u64, recorded + 1);
    fs::remove_file(it.path("99")).unwrap();
    let rest = it.sync();
    assert_eq!((rest.files_new, rest.files_removed), (99 - recorded, 1));
}

#[test]
fn a_sync_that_crashes_leaves_a_database_that_the_next_one_uses() {
    let mut it = fixture();
    it.write("file", "content", 1);
    it.sync();
    it.write("other", "content", 1);
    it.monitor.disk.open = Box::new(|_| panic!("crashed"));
    catch_unwind(AssertUnwindSafe(|| it.try_sync(&it.request()))).unwrap_err();
    let next = monitor(it.dir.path()).sync(&it.request(), &mut |_| {}, &|| false).unwrap();
    assert_eq!((next.files_skipped, next.files_new), (1, 1));
    assert_eq!(next.database_moved_to, None);
}

#[test]
fn a_damaged_database_is_moved_aside_and_never_deleted() {
    let it = fixture();
    it.write("file", "content", 1);
    for expected in ["monitor.db.damaged-1", "monitor.db.damaged-2"] {
        fs::write(it.database(), "this is no database, and it is long enough to be one".repeat(99))
            .unwrap();
        let damaged = fs::read(it.database()).unwrap();
        let summary = monitor(it.dir.path()).sync(&it.request(), &mut |_| {}, &|| false).unwrap();
        let moved = summary.database_moved_to.unwrap();
        assert_eq!(moved, it.dir.path().join(expected));
        assert_eq!(fs::read(moved).unwrap(), damaged);
        assert_eq!((summary.files_new, it.names().len()), (1, 1));
    }
}

#[test]
fn a_database_whose_damage_shows_in_mid_sync_is_moved_aside_too() {
    let it = fixture();
    for number in 0..500 {
        it.write(format!("{number:0100}"), "content", 1);
    }
    it.sync();
    // The last connection to be closed brings everything from the log into the file.
    drop(it.monitor.store.connect().unwrap());
    let mut bytes = fs::read(it.database()).unwrap();
    let pages = bytes.chunks_mut(4_096).skip(3);
    pages.for_each(|page| page.fill(0xee));
    fs::write(it.database(), bytes).unwrap();
    let summary = monitor(it.dir.path()).sync(&it.request(), &mut |_| {}, &|| false).unwrap();
    assert!(summary.database_moved_to.is_some());
    assert_eq!((summary.files_new, it.names().len()), (500, 500));
}

#[test]
fn a_database_of_another_version_is_moved_aside() {
    let it = fixture();
    Connection::open(it.database()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(it.sync().database_moved_to.is_some());
}
