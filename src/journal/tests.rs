//! The journal by itself: what it is told comes back, whatever becomes of the process, the
//! disk and the file.

mod private;
mod upgrades;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::engine::{
    AcceptedCommand, Caller, ClientTab, ClockAnchor, ConsentSubject, ConsentTerm, CurrentTabRecord,
    Eviction, KeptConsent, LeaseKind, OwnerTab, RecordedCommand, RecordedHistory, RecordedKey,
    TabLease, UsedTab,
};
use crate::lifecycle::{
    AwaitedDrawings, CallDigest, CallKey, Command, CommandOutcome, CommandPhase, CommandSpec,
    CommandState, CommandWork, Delivery, Lane, LifecycleEvent, Peer, SavedStage, TargetSelector,
    Tombstone, limits,
};
use crate::protocol::actions::{ExecuteJsAction, ScreenshotAction};
use crate::protocol::{
    Action, AskedFile, Attempt, ConsentKind, ConsentNeed, ConsentSite, ExtensionReport, FileMark,
    Job, MonitorSync, ReportedError, SessionName, ShownPath, TabId, TabScope, Timestamp, Transport,
};

const NOW: Timestamp = Timestamp::from_unix_micros(1_795_298_985_123_456);

fn at(ms: u64) -> Timestamp {
    NOW + Duration::from_millis(ms)
}

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn file(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("journal.db")
}

fn reopen(path: &Path) -> OpenedJournal {
    open(path, "aside").unwrap()
}

fn holder() -> Peer {
    Peer { browser: "browser".into(), instance: "instance".into() }
}

fn command(id: &str, work: impl Into<CommandWork>) -> Command {
    let work = work.into();
    Command::new(CommandSpec {
        is_private: false,
        id: id.into(),
        query_id: "q".into(),
        owner: "user".into(),
        client: "ann".into(),
        params: work.params(),
        work,
        timeout: limits::EXECUTE,
        holds_dialogs: false,
        scope: TabScope::All,
        trace_context: None,
        created: NOW,
        asleep: Some(Duration::ZERO),
    })
}

fn held() -> Delivery {
    Delivery { attempt: Attempt(1), peer: holder(), transport: Transport::WebSocket }
}

fn script(id: &str) -> Command {
    command(
        id,
        Action::ExecuteJs(ExecuteJsAction { script: "document.title".into(), user_gesture: None }),
    )
}

fn started(id: &str) -> Command {
    let mut command = script(id);
    let _ = command.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), at(1));
    let _ = command.apply(LifecycleEvent::Claim(holder(), Attempt(1)), at(2));
    command
}

fn ended(id: &str, report: ExtensionReport) -> Command {
    let mut command = started(id);
    let _ = command.apply(LifecycleEvent::Report(holder(), Attempt(1), report), at(3));
    assert_eq!(command.phase(), CommandPhase::Ended);
    command
}

fn complete(json: &str) -> ExtensionReport {
    let result = serde_json::value::RawValue::from_string(json.to_owned()).unwrap().into();
    ExtensionReport::Complete { result, origin: Some("https://example.org".to_owned()) }
}

fn lane() -> Lane {
    Lane { browser: "browser".into(), tab: Some(TabId(7)) }
}

fn selector() -> TargetSelector {
    TargetSelector { browser: Some("Chromium".to_owned()), tab: Some(TabId(7)) }
}

fn key_of(command: &Command) -> CallKey {
    let key = format!("key of {}", command.spec().id).into();
    CallKey { key, digest: CallDigest::of(&command.spec().work, &selector()) }
}

fn accepted(command: &Command) -> JournalEntry {
    JournalEntry::Accepted(Box::new(AcceptedCommand {
        command: command.clone(),
        lane: Some(lane()),
        selector: selector(),
        key: Some(key_of(command)),
        dropped_keys: Vec::new(),
    }))
}

fn burial(id: &str, forgotten: Option<&str>) -> JournalEntry {
    let gone = Tombstone { owner: "user".into(), at: at(60_000), may_have_run: true };
    JournalEntry::Evicted(Eviction {
        id: id.into(),
        client: "ann".into(),
        gone,
        forgotten: forgotten.map(Into::into),
    })
}

/// Appends an entry as the hub does.
fn append(journal: &Journal, entry: JournalEntry) {
    if matches!(
        entry,
        JournalEntry::Read(..) | JournalEntry::Evicted(_) | JournalEntry::Withdrawn(_)
    ) {
        journal.append_deferred(entry);
    } else {
        journal.append(entry);
    }
}

/// Appends entries and waits until they are recorded.
async fn record(journal: &Journal, entries: impl IntoIterator<Item = JournalEntry>) {
    for entry in entries {
        append(journal, entry);
    }
    journal.recorded(journal.last()).await.unwrap();
}

/// The files of a folder, all of one moment, as a kill leaves them. The journal's thread may be
/// moving a log into the file meanwhile, or ending and removing SQLite's own log: read a while
/// apart, they could lack what it has moved.
fn files_at_once(of: &tempfile::TempDir) -> BTreeMap<OsString, Vec<u8>> {
    let read = || {
        let files = std::fs::read_dir(of.path()).unwrap().map(Result::unwrap);
        let bytes = files.map(|file| match std::fs::read(file.path()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            bytes => Some((file.file_name(), bytes.unwrap())),
        });
        bytes.flatten().collect()
    };
    let mut before = read();
    loop {
        let now = read();
        if now == before {
            return now;
        }
        before = now;
    }
}

/// Copies the files as they are: what a kill leaves.
fn copy_all(from: &tempfile::TempDir, to: &tempfile::TempDir) {
    for (name, bytes) in files_at_once(from) {
        std::fs::write(to.path().join(name), bytes).unwrap();
    }
}

/// Records entries and opens the file again, as after the process was killed: it is not closed. Once
/// with all of them in the logs, and once with all of them in the file.
async fn after_a_kill(entries: impl IntoIterator<Item = JournalEntry>) -> RecordedHistory {
    let (dir, early, late) = (dir(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = reopen(&file(&dir));
    record(&first.journal, entries).await;
    first.journal.write_deferred().await;
    copy_all(&dir, &early);
    first.journal.in_file().await;
    copy_all(&dir, &late);
    let (early, late) = (reopen(&file(&early)).history, reopen(&file(&late)).history);
    assert_eq!(format!("{early:?}"), format!("{late:?}"));
    late
}

#[tokio::test]
async fn an_accepted_command_comes_back_as_it_was_with_its_key() {
    let shot = Action::Screenshot(ScreenshotAction {
        full_page: Some(true),
        format: None,
        max_side: Some(640),
        path: Some("/tmp/a picture.png".to_owned()),
        target: Some("main".to_owned()),
        marks: Some(true),
    });
    let original = command("shot_1", shot);
    let history = after_a_kill([accepted(&original)]).await;
    let [RecordedCommand { saved, lane: Some(place), selector }] = &history.commands[..] else {
        panic!()
    };
    assert_eq!(format!("{:?}", saved.spec), format!("{:?}", original.spec()));
    assert_eq!(saved.trace, original.marks());
    assert!(matches!(saved.stage, SavedStage::Accepted));
    assert_eq!(*place, lane());
    assert_eq!((selector.browser.as_deref(), selector.tab), (Some("Chromium"), Some(TabId(7))));
    let [RecordedKey { key, client, id, accepted, digest, .. }] = &history.keys[..] else {
        panic!()
    };
    assert_eq!((&**key, id.as_str(), *accepted), ("key of shot_1", "shot_1", NOW));
    assert_eq!((client.as_str(), *digest), ("ann", Some(key_of(&original).digest)));
}

#[tokio::test]
async fn a_started_command_comes_back_with_who_has_it_and_since_when() {
    let original = started("exec_1");
    let history =
        after_a_kill([accepted(&original), JournalEntry::Changed(original.clone())]).await;
    let saved = &history.commands[0].saved;
    let SavedStage::Started { delivery, at: since } = &saved.stage else {
        panic!("{:?}", saved.stage)
    };
    assert_eq!((delivery, *since), (&held(), at(2)));
    assert_eq!(saved.trace, original.marks());
}

#[tokio::test]
async fn every_end_comes_back_byte_for_byte_and_whether_it_was_read() {
    let error = || ReportedError {
        stack: Some("at 1:1".into()),
        hint: Some("Look".into()),
        may_have_run: Some(false),
        ..ReportedError::new("script_threw", "ä \u{0} \"quoted\"")
    };
    let mut given_up = started("exec_5");
    let _ = given_up.apply(LifecycleEvent::Tick, at(60_000));
    let mut lost = started("exec_6");
    let _ = lost.apply(LifecycleEvent::Reconnected(holder(), None), at(3));
    let ends = [
        ended("exec_1", complete("{ \"value\":  [1.0, \"ü\"] }")),
        ended("exec_2", ExtensionReport::Error { error: error() }),
        ended("exec_3", ExtensionReport::Timeout { error: error() }),
        ended("exec_4", ExtensionReport::Cancelled { may_have_run: false }),
        given_up,
        lost,
    ];
    let read = JournalEntry::Read("exec_2".into(), at(9));
    let entries = ends.iter().flat_map(|end| [accepted(end), JournalEntry::Changed(end.clone())]);
    let history = after_a_kill(entries.chain([read])).await;
    for (kept, original) in history.commands.into_iter().zip(&ends) {
        let id = original.spec().id.clone();
        let CommandState::Ended { at, outcome, delivery, .. } = original.state() else { panic!() };
        let SavedStage::Ended { at: at_, outcome: outcome_, delivery: hold_, read } =
            kept.saved.stage
        else {
            panic!("{id}")
        };
        assert_eq!((at_, &outcome_, &hold_), (*at, outcome, delivery), "{id}");
        assert_eq!(read, id.as_str() == "exec_2");
        assert_eq!(kept.saved.trace, original.marks());
    }
}

#[tokio::test]
async fn a_command_that_is_gone_leaves_its_tombstone_and_makes_room() {
    let history = after_a_kill([
        accepted(&script("exec_1")),
        accepted(&script("exec_2")),
        burial("exec_1", None),
        burial("exec_2", Some("exec_1")),
    ])
    .await;
    assert!(history.commands.is_empty());
    let [(id, client, gone)] = &history.gone[..] else { panic!("{:?}", history.gone) };
    assert_eq!((id.as_str(), client.as_str()), ("exec_2", "ann"));
    assert_eq!((gone.at, gone.may_have_run), (at(60_000), true));
}

#[tokio::test]
async fn of_a_command_that_was_not_taken_after_all_nothing_stays_nor_of_its_key() {
    let history = after_a_kill([
        accepted(&script("exec_1")),
        accepted(&script("exec_2")),
        burial("exec_1", None),
        JournalEntry::Withdrawn("exec_1".into()),
    ])
    .await;
    let ids: Vec<_> = history.commands.iter().map(|kept| kept.saved.spec.id.as_str()).collect();
    assert_eq!(ids, ["exec_2"]);
    assert!(history.gone.is_empty());
    let keys: Vec<_> = history.keys.iter().map(|key| key.id.as_str()).collect();
    assert_eq!(keys, ["exec_2"]);
}

fn lease(tab: i64) -> TabLease {
    let holder = Caller { owner: "user".into(), client: "ann".into() };
    let (browser, tab, kind) = ("browser".into(), TabId(tab), LeaseKind::Opened);
    TabLease { browser, tab, holder, kind, is_shared: false, since: NOW, used: NOW }
}

fn opened(tab: i64) -> ClientTab {
    let opener = Caller { owner: "user".into(), client: "ann".into() };
    ClientTab { browser: "browser".into(), tab: TabId(tab), opener, since: NOW, used: NOW }
}

fn owned(tab: i64) -> OwnerTab {
    let (browser, owner) = ("browser".into(), "work".into());
    OwnerTab { browser, tab: TabId(tab), owner, since: NOW, is_private: tab % 2 == 0 }
}

#[tokio::test]
async fn the_current_tab_the_leases_the_session_and_the_clock_come_back_and_a_forgotten_client_does_not()
 {
    let current = |client: &str, tab| {
        JournalEntry::CurrentTab(CurrentTabRecord {
            client: client.into(),
            owner: "user".into(),
            browser: "browser".into(),
            tab: Some(TabId(tab)),
            at: NOW,
            used: vec![UsedTab { browser: "browser".into(), tab: TabId(tab), at: NOW }],
        })
    };
    let anchor = ClockAnchor { boot: "boot".into(), monotonic: Duration::from_micros(5), at: NOW };
    let history = after_a_kill([
        JournalEntry::RunStarted(anchor.clone()),
        current("ann", 1),
        current("bob", 2),
        current("ann", 3),
        JournalEntry::ClientForgotten("bob".into()),
        JournalEntry::Session("browser".into(), "1".into()),
        JournalEntry::Session("browser".into(), "2".into()),
        JournalEntry::Leased(lease(1)),
        JournalEntry::Leased(lease(2)),
        JournalEntry::LeaseEnded("browser".into(), TabId(1)),
        JournalEntry::TabOpened(opened(1)),
        JournalEntry::TabOpened(opened(2)),
        JournalEntry::OpenedTabGone("browser".into(), TabId(1)),
        JournalEntry::TabOwned(owned(1)),
        JournalEntry::TabOwned(owned(2)),
        JournalEntry::OwnedTabGone("browser".into(), TabId(1)),
    ])
    .await;
    assert_eq!(history.leases, [lease(2)]);
    assert_eq!(history.opened_tabs, [opened(2)]);
    assert_eq!(history.owner_tabs, [owned(2)]);
    assert_eq!(history.sessions, [("browser".into(), "2".into())]);
    let [CurrentTabRecord { client, tab, used, .. }] = &history.clients[..] else { panic!() };
    assert_eq!((client.as_str(), *tab), ("ann", Some(TabId(3))));
    assert_eq!(used, &[UsedTab { browser: "browser".into(), tab: TabId(3), at: NOW }]);
    assert_eq!(history.anchor, Some(anchor));
}

#[tokio::test]
async fn keys_go_when_they_are_dropped_or_their_time_is_over() {
    let dropped = |id: &str, key: &str| {
        let JournalEntry::Accepted(mut acceptance) = accepted(&script(id)) else { unreachable!() };
        acceptance.dropped_keys = vec![key.into()];
        JournalEntry::Accepted(acceptance)
    };
    let keys = async |entries: Vec<JournalEntry>| after_a_kill(entries).await.keys.len();
    let two = || vec![accepted(&script("exec_1")), dropped("exec_2", "key of exec_1")];
    assert_eq!(keys(two()).await, 1);
    assert_eq!(keys([two(), vec![JournalEntry::DropKeys(NOW)]].concat()).await, 1);
    assert_eq!(keys([two(), vec![JournalEntry::DropKeys(at(1))]].concat()).await, 0);
}

#[tokio::test]
async fn more_entries_than_fit_into_one_transaction_are_all_recorded_in_their_order() {
    let commands: Vec<_> = (0..10 * BATCH).map(|n| script(&format!("exec_{n}"))).collect();
    let history = after_a_kill(commands.iter().map(accepted)).await;
    let ids: Vec<_> = history.commands.iter().map(|kept| kept.saved.spec.id.clone()).collect();
    let expected: Vec<_> = commands.iter().map(|command| command.spec().id.clone()).collect();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn what_nobody_waits_for_is_recorded_when_the_journal_is_closed() {
    let dir = dir();
    let first = reopen(&file(&dir));
    first.journal.append(accepted(&script("exec_1")));
    first.journal.close().await;
    assert_eq!(reopen(&file(&dir)).history.commands.len(), 1);
    let log = std::fs::metadata(dir.path().join("journal.db-wal"));
    assert!(log.is_ok_and(|log| log.len() < 100_000), "the log went to the file");
}

#[tokio::test]
async fn a_large_result_is_recorded_by_the_thread() {
    let large = format!("\"{}\"", "x".repeat(6 << 20));
    let end = ended("exec_1", complete(&large));
    let history = after_a_kill([accepted(&end), JournalEntry::Changed(end.clone())]).await;
    let SavedStage::Ended { outcome: CommandOutcome::Complete { result, .. }, .. } =
        &history.commands[0].saved.stage
    else {
        panic!()
    };
    assert_eq!(result.get().len(), large.len());
}

#[tokio::test]
async fn only_its_owner_can_read_the_file_and_what_belongs_to_it() {
    let dir = dir();
    let opened = reopen(&file(&dir));
    record(&opened.journal, [accepted(&script("exec_1"))]).await;
    let mut files = 0;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = crate::os::testing::mode(entry.path());
        assert_eq!(mode, 0o600, "{}", entry.path().display());
        files += 1;
    }
    assert_eq!(files, 4, "the file, its log and two redo logs");
}

// WriteFailure.

#[tokio::test]
async fn a_file_that_is_no_journal_is_moved_aside_and_kept() {
    let dir = dir();
    std::fs::write(file(&dir), b"not a database, but somebody may want it back").unwrap();
    let opened = reopen(&file(&dir));
    let (to, why) = (opened.history.moved_aside.unwrap(), opened.unusable.unwrap());
    assert!(std::fs::read(&to).unwrap().starts_with(b"not a database"), "{}", to.display());
    assert!(why.contains("not a database"), "{why}");
    record(&opened.journal, [accepted(&script("exec_1"))]).await;
    opened.journal.close().await;
    assert_eq!(reopen(&file(&dir)).history.commands.len(), 1);
}

#[tokio::test]
async fn after_an_unclean_end_a_damaged_file_is_found_and_moved_aside() {
    let dir = dir();
    let first = reopen(&file(&dir));
    let commands: Vec<_> = (0..500).map(|n| script(&format!("exec_{n}"))).collect();
    record(&first.journal, commands.iter().map(accepted)).await;
    first.journal.close().await;
    // As if the last life had been killed, and the disk had then lost what was in the middle.
    let unclean = "UPDATE meta SET value = 0 WHERE name = 'ended_cleanly'";
    rusqlite::Connection::open(file(&dir)).unwrap().execute(unclean, []).unwrap();
    let mut bytes = std::fs::read(file(&dir)).unwrap();
    let (from, to) = (bytes.len() / 4, bytes.len() * 3 / 4);
    bytes[from..to].fill(0x5a);
    std::fs::write(file(&dir), &bytes).unwrap();
    let opened = reopen(&file(&dir));
    let kept = opened.history.moved_aside.expect("it is noticed");
    assert_eq!(std::fs::read(kept).unwrap(), bytes, "it is kept as it was");
    assert!(opened.history.commands.is_empty());
}

#[tokio::test]
async fn a_journal_of_another_schema_is_moved_aside_and_named() {
    let dir = dir();
    let other = rusqlite::Connection::open(file(&dir)).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    drop(other);
    let why = reopen(&file(&dir)).unusable.unwrap();
    assert!(why.contains("version 99") && why.contains("version 9"), "{why}");
}

#[tokio::test]
async fn a_journal_that_cannot_be_reached_is_no_journal_and_nothing_is_moved() {
    let dir = dir();
    std::fs::create_dir(file(&dir)).unwrap();
    let error = open(&file(&dir), "aside").unwrap_err().to_string();
    assert!(error.contains("journal.db") && error.contains("--ephemeral"), "{error}");
    assert!(file(&dir).is_dir());
}

/// A journal whose file may have this many pages more than it has.
fn with_little_room(path: &Path) -> Journal {
    store::open_with_room(path, 64).unwrap().journal
}

#[tokio::test]
async fn a_full_file_is_trouble_until_there_is_room_again_and_nothing_is_lost() {
    let dir = dir();
    let journal = with_little_room(&file(&dir));
    let large = format!("\"{}\"", "x".repeat(40_000));
    let mut written = Vec::new();
    let trouble = loop {
        let id = format!("exec_{}", written.len());
        let end = ended(&id, complete(&large));
        journal.append(accepted(&end));
        let seq = journal.append(JournalEntry::Changed(end));
        written.push(id);
        if let Err(trouble) = journal.recorded(seq).await {
            break trouble;
        }
    };
    assert!(trouble.to_string().contains("full"), "{trouble}");
    assert!(journal.trouble().is_some(), "nothing new is to be taken");
    // What was kept leaves: the rest finds room.
    for id in &written[..written.len() - 1] {
        append(&journal, burial(id, None));
    }
    journal.recorded_eventually(journal.last()).await;
    assert!(journal.trouble().is_none());
    journal.everything_recorded().await;
    journal.close().await;
    let kept = reopen(&file(&dir)).history;
    let ids: Vec<_> = kept.commands.iter().map(|kept| kept.saved.spec.id.as_str()).collect();
    assert_eq!(ids, [written.last().unwrap().as_str()]);
    assert_eq!(kept.gone.len(), written.len() - 1);
}

#[tokio::test]
async fn a_log_that_the_file_refuses_leaves_nothing_half_is_trouble_and_is_kept_until_it_is_taken()
{
    let dir = dir();
    let journal = reopen(&file(&dir)).journal;
    record(&journal, [accepted(&script("exec_1"))]).await;
    journal.close().await;
    // A failure that does not end the transaction by itself.
    let other = rusqlite::Connection::open(file(&dir)).unwrap();
    let trigger =
        "CREATE TRIGGER refusal BEFORE INSERT ON gone BEGIN SELECT RAISE(FAIL, 'no'); END";
    other.execute_batch(trigger).unwrap();
    drop(other);
    let journal = reopen(&file(&dir)).journal;
    journal.append(accepted(&script("exec_2")));
    journal.recorded(journal.append(burial("exec_9", None))).await.unwrap();
    journal.everything_recorded().await;
    while journal.trouble().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(journal.trouble().unwrap().to_string().contains("no"));
    let later = journal.append(accepted(&script("exec_3")));
    assert!(journal.recorded(later).await.is_err(), "nothing new is taken");
    journal.close().await;
    let other = rusqlite::Connection::open(file(&dir)).unwrap();
    let number = |sql: &str| other.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("SELECT value FROM meta WHERE name = 'ended_cleanly'"), 1);
    assert_eq!(number("SELECT count(*) FROM command"), 1, "nothing of the log");
    other.execute_batch("DROP TRIGGER refusal").unwrap();
    drop(other);
    let kept = reopen(&file(&dir)).history;
    let ids: Vec<_> = kept.commands.iter().map(|kept| kept.saved.spec.id.as_str()).collect();
    assert_eq!(ids, ["exec_1", "exec_2"]);
    assert_eq!(kept.gone.len(), 1);
}

#[tokio::test]
async fn a_kill_between_the_file_and_the_end_of_a_log_brings_nothing_in_twice() {
    let (dir, left) = (dir(), tempfile::tempdir().unwrap());
    let first = reopen(&file(&dir));
    let entries =
        [accepted(&script("exec_1")), accepted(&script("exec_2")), burial("exec_1", None)];
    record(&first.journal, entries).await;
    first.journal.write_deferred().await;
    // The logs as they were before, the file as it is after.
    copy_all(&dir, &left);
    first.journal.in_file().await;
    for name in ["journal.db", "journal.db-wal"] {
        std::fs::copy(dir.path().join(name), left.path().join(name)).unwrap();
    }
    let kept = reopen(&file(&left)).history;
    assert_eq!((kept.commands.len(), kept.gone.len(), kept.keys.len()), (1, 1, 2));
}

#[tokio::test]
async fn the_logs_of_another_journal_are_no_part_of_a_new_one() {
    let dir = dir();
    let first = reopen(&file(&dir));
    record(&first.journal, [accepted(&script("exec_1"))]).await;
    drop(first);
    std::fs::remove_file(dir.path().join("journal.db")).unwrap();
    // The thread of the first one may have closed its database by now, which takes this file away.
    let removed = std::fs::remove_file(dir.path().join("journal.db-wal"));
    assert!(removed.is_ok() || !dir.path().join("journal.db-wal").exists());
    assert!(reopen(&file(&dir)).history.commands.is_empty());
}

#[tokio::test]
async fn what_fills_a_log_comes_into_the_file_and_nothing_of_it_is_lost_on_the_way() {
    let (dir, left) = (dir(), tempfile::tempdir().unwrap());
    let journal = reopen(&file(&dir)).journal;
    for n in 0..2_000 {
        journal.recorded(journal.append(accepted(&script(&format!("exec_{n}"))))).await.unwrap();
    }
    let logs = crate::home::REDO_ENDINGS.map(|ending| {
        std::fs::metadata(dir.path().join(format!("journal.db{ending}"))).unwrap().len()
    });
    assert!(logs.iter().sum::<u64>() < 2_000_000, "{logs:?}");
    journal.close().await;
    copy_all(&dir, &left);
    assert_eq!(reopen(&file(&left)).history.commands.len(), 2_000);
}

#[tokio::test]
async fn entries_that_wait_in_a_journal_that_is_closed_in_trouble_hold_nobody_up() {
    let dir = dir();
    let journal = with_little_room(&file(&dir));
    let end = ended("exec_1", complete(&format!("\"{}\"", "x".repeat(400_000))));
    // They stand in the log, and find no room in the file.
    journal.append(accepted(&end));
    journal.recorded(journal.append(JournalEntry::Changed(end))).await.unwrap();
    journal.everything_recorded().await;
    while journal.trouble().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let seq = journal.append(accepted(&script("exec_2")));
    assert!(journal.recorded(seq).await.is_err());
    journal.close().await;
    assert!(journal.recorded(seq).await.is_err());
    // With room for it, nothing of the log is lost.
    assert_eq!(reopen(&file(&dir)).history.commands.len(), 1);
}

#[tokio::test]
async fn a_writer_that_falls_behind_is_trouble() {
    let (journal, _pages) = Journal::channel();
    for n in 0..=BACKLOG {
        assert!(journal.trouble().is_none(), "{n}");
        journal.append(JournalEntry::ClientForgotten("ann".into()));
    }
    assert!(journal.trouble().is_some_and(|trouble| trouble.to_string().contains("wait")));
}

#[tokio::test]
async fn nothing_is_told_to_be_recorded_before_it_is() {
    let (journal, mut pages) = Journal::channel();
    let first = journal.append(JournalEntry::ClientForgotten("ann".into()));
    let second = journal.append(JournalEntry::ClientForgotten("bob".into()));
    pages.take_batch();
    let third = journal.append(JournalEntry::ClientForgotten("eve".into()));
    assert!(!journal.has_recorded(first));
    pages.recorded();
    assert!(journal.has_recorded(first) && journal.has_recorded(second));
    assert!(!journal.has_recorded(third));
    pages.take_batch();
    pages.failed("no disk");
    assert!(journal.recorded(second).await.is_ok(), "what is recorded is, in trouble as well");
    assert!(journal.recorded(third).await.is_err());
    pages.recorded();
    assert!(journal.recorded(third).await.is_ok() && journal.trouble().is_none());
}

#[tokio::test]
async fn what_nobody_waits_for_is_written_after_what_came_before_it() {
    let (journal, mut pages) = Journal::channel();
    let name = |entry: &JournalEntry| {
        let JournalEntry::ClientForgotten(client) = entry else { panic!("{entry:?}") };
        client.to_string()
    };
    let in_all = BATCH + 2;
    for n in 0..in_all {
        journal.append(JournalEntry::ClientForgotten(n.to_string().into()));
    }
    for _ in 0..BATCH {
        journal.append_deferred(JournalEntry::ClientForgotten("later".into()));
    }
    let mut written = Vec::new();
    while {
        pages.take_batch_with_deferred();
        !pages.is_empty()
    } {
        assert!(pages.batch().count() <= BATCH, "no more go into one transaction");
        written.extend(pages.batch().map(name));
        pages.recorded();
    }
    let expected = (0..in_all).map(|n| n.to_string());
    assert!(written.drain(..in_all).eq(expected));
    assert_eq!(written, vec!["later"; BATCH]);
    journal.everything_recorded().await;
}

#[tokio::test]
async fn the_log_goes_to_the_file_now_and_then_whoever_writes() {
    for is_written_by_the_thread in [false, true] {
        let dir = dir();
        let journal = reopen(&file(&dir)).journal;
        let before = std::fs::metadata(file(&dir)).unwrap().len();
        let text = "x".repeat(5_000);
        for n in 0..1_200 {
            let long =
                Action::ExecuteJs(ExecuteJsAction { script: text.clone(), user_gesture: None });
            let seq = journal.append(accepted(&command(&format!("exec_{n}"), long)));
            if is_written_by_the_thread {
                journal.everything_recorded().await;
            }
            journal.recorded(seq).await.unwrap();
        }
        journal.in_file().await;
        let after = std::fs::metadata(file(&dir)).unwrap().len();
        assert!(after > before + 100_000, "{before} bytes, then {after}");
    }
}

/// A command with a script of 1 MiB, and the same with a result as long.
fn long() -> (Command, Command) {
    let text = "x".repeat(1 << 20);
    let accepted = command(
        "exec_1",
        Action::ExecuteJs(ExecuteJsAction { script: text.clone(), user_gesture: None }),
    );
    let mut ended = accepted.clone();
    for event in [
        LifecycleEvent::Deliver(holder(), Transport::WebSocket),
        LifecycleEvent::Claim(holder(), Attempt(1)),
        LifecycleEvent::Report(holder(), Attempt(1), complete(&format!("\"{text}\""))),
    ] {
        let _ = ended.apply(event, at(1));
    }
    (accepted, ended)
}

#[tokio::test]
async fn a_long_script_and_a_long_result_outlive_the_process() {
    let (first, ended) = long();
    let history = after_a_kill([accepted(&first), JournalEntry::Changed(ended.clone())]).await;
    let [kept] = &history.commands[..] else { panic!("{history:?}") };
    assert_eq!(kept.saved.spec.work, first.spec().work);
    let SavedStage::Ended { outcome: CommandOutcome::Complete { result, .. }, .. } =
        &kept.saved.stage
    else {
        panic!("{:?}", kept.saved.stage)
    };
    assert_eq!(result.get().len(), ended.result_size());
}

#[tokio::test]
async fn what_is_long_is_written_once_and_goes_with_its_command() {
    let dir = dir();
    let opened = reopen(&file(&dir));
    let (first, ended) = long();
    record(&opened.journal, [accepted(&first), JournalEntry::Changed(ended)]).await;
    opened.journal.in_file().await;
    let log = || std::fs::metadata(dir.path().join("journal.db-wal")).unwrap().len();
    let before = log();
    assert!(before > 2 << 20, "both are there: {before}");
    record(&opened.journal, [JournalEntry::Read("exec_1".into(), at(4))]).await;
    opened.journal.in_file().await;
    assert!(log() < before + (64 << 10), "{before} bytes, then {}", log());
    record(&opened.journal, [burial("exec_1", None)]).await;
    opened.journal.in_file().await;
    opened.journal.close().await;
    let file = rusqlite::Connection::open(file(&dir)).unwrap();
    let left = file.query_row("SELECT count(*) FROM long_text", [], |row| row.get::<_, u64>(0));
    assert_eq!(left, Ok(0));
}

#[tokio::test]
async fn the_log_is_moved_to_the_file_before_long_texts_make_it_long() {
    let dir = dir();
    let journal = reopen(&file(&dir)).journal;
    let text = "x".repeat(1 << 20);
    for n in 0..24 {
        let long = command(
            &format!("exec_{n}"),
            Action::ExecuteJs(ExecuteJsAction { script: text.clone(), user_gesture: None }),
        );
        record(&journal, [accepted(&long)]).await;
    }
    let log = std::fs::metadata(dir.path().join("journal.db-wal")).unwrap().len();
    assert!(log < 12 << 20, "{log} bytes of 24 MiB");
}

#[tokio::test]
async fn what_carried_a_command_outlives_the_process() {
    let dir = dir();
    let mut polled = script("exec_1");
    let _ = polled.apply(LifecycleEvent::Deliver(holder(), Transport::Poll), at(1));
    let first = reopen(&file(&dir));
    record(&first.journal, [accepted(&script("exec_1")), JournalEntry::Changed(polled)]).await;
    first.journal.close().await;
    let history = reopen(&file(&dir)).history;
    let SavedStage::Started { delivery, at: since } = &history.commands[0].saved.stage else {
        panic!("it may be running: {history:?}")
    };
    assert_eq!((delivery.transport, *since), (Transport::Poll, at(1)));
}

#[tokio::test]
async fn waits_and_jobs_outlive_the_process_as_far_as_they_had_come() {
    let asked = AwaitedDrawings { session: SessionName::parse("checkout").ok() };
    let wait = command("ann_1", CommandWork::Annotations { annotations: asked });
    let sync = MonitorSync { path: "/srv".to_owned(), recursive: Some(false), verify: None };
    let job = command("job_1", CommandWork::Job { job: Job::MonitorSync(sync) });
    let mut begun = command("job_2", job.spec().work.clone());
    let beginning = accepted(&begun);
    let _ = begun.apply(LifecycleEvent::Begin, at(2));
    let entries = [accepted(&wait), accepted(&job), beginning, JournalEntry::Changed(begun)];
    let history = after_a_kill(entries).await;
    let works: Vec<_> = history.commands.iter().map(|kept| &kept.saved.spec.work).collect();
    assert_eq!(works, [&wait.spec().work, &job.spec().work, &job.spec().work]);
    let stages: Vec<_> = history.commands.iter().map(|kept| &kept.saved.stage).collect();
    assert!(
        matches!(stages[..], [SavedStage::Accepted, SavedStage::Accepted, SavedStage::Working { at: since }] if *since == at(2)),
        "{stages:?}"
    );
}

#[tokio::test]
async fn two_clients_have_the_same_key_for_two_commands_and_one_drops_its_own_only() {
    let of = |client: &str, id: &str| {
        let mut spec = script(id).spec().clone();
        spec.client = client.into();
        let JournalEntry::Accepted(mut acceptance) = accepted(&Command::new(spec)) else {
            unreachable!()
        };
        acceptance.key = acceptance.key.map(|key| CallKey { key: "k".into(), ..key });
        acceptance
    };
    let mut third = of("bob", "exec_3");
    third.key = third.key.map(|key| CallKey { key: "another".into(), ..key });
    third.dropped_keys = vec!["k".into()];
    let entries = [of("ann", "exec_1"), of("bob", "exec_2"), third].map(JournalEntry::Accepted);
    let history = after_a_kill(entries[..2].iter().cloned()).await;
    let keys = |history: &RecordedHistory| -> Vec<String> {
        let mut ids: Vec<_> = history.keys.iter().map(|key| key.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(keys(&history), ["exec_1", "exec_2"]);
    assert_eq!(keys(&after_a_kill(entries).await), ["exec_1", "exec_3"]);
}

fn kept_word(site: &str, term: ConsentTerm) -> KeptConsent {
    let (owner, client, kind) = ("user".into(), "ann".into(), ConsentKind::Act);
    let subject = ConsentSubject { owner, client, kind, site: site.into() };
    KeptConsent { subject, term, at: NOW }
}

#[tokio::test]
async fn the_persons_kept_words_come_back_and_one_that_was_taken_back_does_not() {
    let session =
        ConsentTerm::Session { browser: "browser".into(), session: Some("session".into()) };
    let words = [
        kept_word("https://a.example", ConsentTerm::Always),
        kept_word("https://b.example", ConsentTerm::Never),
        kept_word("https://c.example", session),
    ];
    let taken_back = kept_word("https://d.example", ConsentTerm::Always);
    let entries = words.iter().chain([&taken_back]).cloned().map(JournalEntry::ConsentKept);
    let dropped = JournalEntry::ConsentDropped(taken_back.subject.clone());
    let replaced = kept_word("https://a.example", ConsentTerm::Never);
    let entries = entries.chain([dropped, JournalEntry::ConsentKept(replaced.clone())]);
    let history = after_a_kill(entries.collect::<Vec<_>>()).await;
    assert_eq!(history.consents, [replaced, words[1].clone(), words[2].clone()]);
}

#[tokio::test]
async fn a_held_command_and_what_was_allowed_come_back() {
    let need = ConsentNeed {
        kind: ConsentKind::Act,
        site: ConsentSite::parse("https://a.example").unwrap(),
        document: Some("d".into()),
        detail: None,
        files: vec![AskedFile {
            path: ShownPath::new("/home/ann/cat.png").unwrap(),
            size: 3,
            mark: FileMark::parse("1:2:3").unwrap(),
            may_open_folder: true,
            root: ShownPath::new("/home/ann"),
        }],
    };
    let mut holding = script("exec_1");
    let _ = holding.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), at(1));
    let _ = holding.apply(LifecycleEvent::Hold(holder(), Attempt(1), need.clone()), at(2));
    let mut released = script("exec_2");
    let _ = released.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), at(1));
    let _ = released.apply(LifecycleEvent::Hold(holder(), Attempt(1), need.clone()), at(2));
    let _ = released.apply(LifecycleEvent::Release { is_once: true }, at(9));
    let history = after_a_kill([
        accepted(&holding),
        JournalEntry::Changed(holding),
        accepted(&released),
        JournalEntry::Changed(released),
    ])
    .await;
    let [first, second] = &history.commands[..] else { panic!("{history:?}") };
    let SavedStage::Held(hold) = &first.saved.stage else { panic!("{:?}", first.saved.stage) };
    assert_eq!((&hold.need, hold.since, first.saved.holds.times), (&need, at(2), 1));
    assert!(matches!(second.saved.stage, SavedStage::Released { .. }));
    let holds = &second.saved.holds;
    assert_eq!((holds.paused, &*holds.allowed), (Duration::from_millis(7), &[need][..]));
}
