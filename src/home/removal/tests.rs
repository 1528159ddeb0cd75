use std::collections::BTreeSet;

use proptest::prelude::{Strategy, any};
use proptest::{prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::value::to_raw_value;

use super::*;
use crate::home::{AgentFileError, FolderAccess, UsualFolder, ValueName, in_temporary};
use crate::os::testing::symlink;
use crate::protocol::{Drawing, SiteChange, SiteList, SitePattern, TabScope, Timestamp};

/// Everything below a folder, without what links lead to.
fn all_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in sorted_entries(&folder).unwrap_or_default() {
            if is_folder(&path) {
                folders.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

/// A state directory with everything in it that we write there.
fn full() -> (tempfile::TempDir, StateDirectory) {
    let (dir, home) = in_temporary();
    let state = home.dir().to_owned();
    home.allow_extension("a").unwrap();
    home.note_unpacked(&state).unwrap();
    home.legacy().note_paired().unwrap();
    let at = Timestamp::from_unix_micros(0);
    let widening = home.note_widening("agents use example.com", None, at).unwrap();
    home.confirm_widenings(&[widening.id]).unwrap();
    home.open_agent_folder(&state, &[FolderAccess::Write]).unwrap();
    let pattern = SitePattern::parse("example.com").unwrap();
    let change = SiteChange::Add { list: SiteList::Deny, pattern };
    home.site_rules().change(&change).unwrap();
    let name = ValueName::parse("Some Name/é").unwrap();
    home.store().store(&"owner".into(), &name, &to_raw_value(&1).unwrap()).unwrap();
    let drawing = br#"{"drawing_id": "00000000000000000000000000000001",
        "annotations": [{"kind": "note"}], "page_url": "http://a.test/"}"#;
    let drawing = Drawing::parse(drawing).unwrap();
    home.drawings()
        .keep(&"Other".into(), &drawing, Timestamp::from_unix_micros(0), TabScope::All)
        .unwrap();
    drop((home.lock_start().unwrap(), home.try_lock_daemon().unwrap()));
    for name in [
        "daemon.json",
        "daemon.log",
        "daemon.log.1",
        "daemon.log.2",
        "installed.json",
        "journal.db",
        "journal.db-redo1",
        "journal.db-redo2",
        "journal.db-shm",
        "journal.db-wal",
        "journal.db.unusable-1700000000000",
        "journal.db.unusable-1700000000000-wal",
        "monitor.db",
        "monitor.db-wal",
        "monitor.db.damaged-1",
        "history.db",
        "history.db-wal",
        "history.db.damaged-2",
        "native-host",
        "auth.key.0123456789abcdef",
        "store/owner/writing",
    ] {
        fs::write(state.join(name), "").unwrap();
    }
    (dir, home)
}

#[test]
fn what_is_ours_goes_and_the_directory_with_it() {
    let (_dir, home) = full();
    let state = home.dir().to_owned();
    let mut planned: BTreeSet<_> = home.removal(&[]).unwrap().goes.into_iter().collect();
    assert!(planned.remove(&state));
    assert_eq!(planned, all_below(&state));
    assert_eq!(home.remove().unwrap().stays, Vec::<PathBuf>::new());
    assert!(!state.exists());
}

#[test]
fn what_no_person_has_confirmed_stays_to_be_told_by_the_next_daemon() {
    let (_dir, home) = full();
    let state = home.dir().to_owned();
    let list = home.unconfirmed_path();
    let widening = home.note_widening("x", None, Timestamp::from_unix_micros(0)).unwrap();
    assert_eq!(home.remove().unwrap().stays, std::slice::from_ref(&list));
    assert_eq!(all_below(&state), BTreeSet::from([list.clone()]));
    let home = StateDirectory::open(&state).unwrap();
    assert_eq!(home.unconfirmed().unwrap(), [widening]);
    fs::write(&list, "{").unwrap();
    assert_eq!(home.removal(&[]).unwrap().stays, [list], "it may hold anything");
}

#[test]
fn what_is_not_ours_stays_and_is_named_wherever_it_lies() {
    let (dir, home) = full();
    let state = home.dir().to_owned();
    let folders = [
        "store-front",
        "extension-of-thesis",
        "drawings.2025",
        "extension",
        "files",
        "journal.db.d",
        "drawings/Mine",
        "drawings/other",
        "store/owner/deep",
        "auth.key.d",
    ];
    let files = [
        "storefront",
        "thesis.txt",
        "store.zip",
        "daemon.log.3",
        "daemon.log.old",
        "journal.db.bak",
        "journal.db-mine",
        "journal.db.unusable-",
        "journal.db.unusable-x",
        "monitor.db.damaged-1.txt",
        "auth.key.bak",
        "auth.key.0123456789ABCDEF",
        "auth.key.0123456789abcdef0",
        "Auth.key",
        "legacy.json~",
        "native-host.txt",
        "store/readme.txt",
        "store/owner/notes.txt",
        "drawings/other/picture.png",
        "drawings/other/1.json",
        "files/page.png",
        "extension/manifest.json",
        "journal.db.d/x",
    ];
    for folder in folders {
        fs::create_dir_all(state.join(folder)).unwrap();
    }
    for file in files {
        fs::write(state.join(file), "years of work").unwrap();
    }
    let before = all_below(&state);
    let planned = home.removal(&[]).unwrap();
    let done = home.remove().unwrap();
    assert_eq!(planned, done);
    for file in files {
        assert_eq!(fs::read(state.join(file)).unwrap(), b"years of work", "{file}");
        let is_named = done.stays.iter().any(|path| state.join(file).starts_with(path));
        assert!(is_named, "{file}: {:?}", done.stays);
    }
    assert!(folders.iter().all(|folder| state.join(folder).is_dir()));
    let gone: BTreeSet<_> = before.difference(&all_below(&state)).cloned().collect();
    assert_eq!(gone, done.goes.into_iter().collect(), "what was planned, and no more");
    drop(dir);
}

#[test]
fn a_link_goes_and_not_what_it_leads_to() {
    let (dir, home) = in_temporary();
    let theirs = dir.path().join("theirs");
    fs::create_dir_all(theirs.join("deep")).unwrap();
    symlink(&theirs, home.dir().join("store")).unwrap();
    symlink(theirs.join("deep"), home.dir().join("journal.db")).unwrap();
    assert_eq!(home.remove().unwrap().stays, Vec::<PathBuf>::new());
    assert!(theirs.join("deep").is_dir());
}

#[test]
fn a_folder_that_something_else_has_emptied_goes_too() {
    let (_dir, home) = in_temporary();
    let folder = home.dir().join("NativeMessagingHosts");
    let (manifest, other) = (folder.join("a.json"), folder.join("b.json"));
    fs::create_dir(&folder).unwrap();
    fs::write(&manifest, "").unwrap();
    assert!(home.removal(std::slice::from_ref(&manifest)).unwrap().stays.is_empty());
    fs::write(other, "").unwrap();
    assert_eq!(home.removal(&[manifest]).unwrap().stays, [folder]);
}

#[test]
fn pictures_of_agents_stay() {
    let (_dir, home) = in_temporary();
    let usual = UsualFolder { base: home.dir().to_owned(), below: "files".into() };
    let written = home.agent_files(usual).write("page.png", b"\x89PNG\r\n\x1a\n");
    let written: Result<_, AgentFileError> = written;
    let path = written.unwrap();
    let files = home.dir().join("files");
    assert_eq!(home.remove().unwrap().stays, [files]);
    assert!(path.exists());
}

proptest! {
    /// A name that merely looks like one of ours is none.
    #[test]
    fn names_that_are_made_of_ours_are_not_ours(
        of in any::<proptest::sample::Index>(),
        before in "[a-z._-]{0,3}",
        after in prop_oneof![
            "[ -~]{0,6}",
            "[.-][0-9a-z]{1,20}",
            "-(front|wal|shm|2)[.]?",
            "[.](unusable|damaged)-[0-9a-z]{0,4}",
        ].prop_filter("a name has no slash", |text| !text.contains('/')),
    ) {
        let logs = LOGS.into_iter();
        let all: Vec<_> = FILES.into_iter().chain(logs).chain(DATABASES.map(|(name, _)| name)).collect();
        let own = all[of.index(all.len())];
        let name = format!("{before}{own}{after}");
        // What is written here once more, in another way: the forms that may follow a name.
        let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let hex = |text: &str| text.len() == 16 && text.chars().all(|c| "0123456789abcdef".contains(c));
        let is_database = own.ends_with(".db");
        let plain = ["-wal", "-shm", "-journal"].iter().find_map(|end| after.strip_suffix(end)).unwrap_or(&after);
        let aside = plain.strip_prefix(if own == "journal.db" { ".unusable-" } else { ".damaged-" });
        let is_own = before.is_empty() && (
            after.is_empty()
            || (FILES.contains(&own) && after.strip_prefix('.').is_some_and(hex))
            || (own == "daemon.log" && [".1", ".2"].contains(&after.as_str()))
            || (is_database && (plain.is_empty() || aside.is_some_and(digits)))
        );
        prop_assert_eq!(is_own_name(&name), is_own, "{}", name);
        prop_assert!(is_own_name(own));
    }
}
