//! Files of older schemas: everything that they delivery reads as it did when they were written.
//! `journal-5.db` holds commands in every stage and with every end, and `journal-5.json` how the
//! build that wrote it read them. `journal-9.db` is that file, upgraded by a build of schema 9.
//! `journal-12.db` is of a build that had no list of owners: `tests/it/cli/owner.rs` opens it.

use serde_json::{Value, json};

use super::*;
use crate::engine::RecordedCommand;

/// Opens a copy of a fixture.
fn fixture(name: &str) -> (tempfile::TempDir, OpenedJournal) {
    let dir = dir();
    std::fs::copy(format!("tests/fixtures/{name}"), file(&dir)).unwrap();
    let opened = reopen(&file(&dir));
    assert!(opened.unusable.is_none(), "{:?}", opened.unusable);
    (dir, opened)
}

/// What the build of schema 5 read in its file.
fn as_it_was() -> Value {
    let text = std::fs::read_to_string("tests/fixtures/journal-5.json").unwrap();
    // A value that stands beside its row.
    serde_json::from_str(&text.replace("{long}", &"Grüße ".repeat(1_500))).unwrap()
}

/// What a file holds, in words that no renamed type changes.
fn described(history: &RecordedHistory) -> Value {
    let gone = history.gone.iter().map(|(id, client, gone)| {
        json!([id, client, gone.owner, gone.at.unix_micros(), gone.may_have_run])
    });
    let keys = history.keys.iter().map(|key| {
        let digest = key.digest.map(|digest| digest.bytes().to_vec());
        let accepted = key.accepted.unix_micros();
        json!([key.owner, key.client, key.key, key.id, key.query_id, accepted, digest])
    });
    let clients = history.clients.iter().map(|current| {
        let CurrentTabRecord { client, owner, browser, tab, at, used: _ } = current;
        json!([client, owner, browser, tab.map(|tab| tab.0), at.unix_micros()])
    });
    let run = history.anchor.as_ref().map(|anchor| {
        let monotonic = u64::try_from(anchor.monotonic.as_micros()).unwrap();
        json!([anchor.boot, monotonic, anchor.at.unix_micros()])
    });
    json!({
        "commands": history.commands.iter().map(command_described).collect::<Vec<_>>(),
        "gone": gone.collect::<Vec<_>>(),
        "keys": keys.collect::<Vec<_>>(),
        "clients": clients.collect::<Vec<_>>(),
        "sessions": history.sessions,
        "run": run,
    })
}

fn command_described(recorded: &RecordedCommand) -> Value {
    let RecordedCommand { saved, lane, selector } = recorded;
    let spec = &saved.spec;
    let command = Command::restore(saved.clone(), true, at(3_000));
    let held = command.delivery().map(|delivery| {
        let Peer { browser, instance } = &delivery.peer;
        json!([delivery.attempt.0, browser, instance, delivery.transport.word()])
    });
    let marks: Vec<_> = saved.trace.iter().map(|point| point.at.unix_micros()).collect();
    json!({
        "stage": format!("{:?}", saved.stage).split([' ', '{']).next(),
        "query_id": spec.query_id,
        "owner": spec.owner,
        "client": spec.client,
        "work": spec.work.to_record(),
        "timeout_us": u64::try_from(spec.timeout.as_micros()).unwrap(),
        "created_us": spec.created.unix_micros(),
        "asked_for": [selector.browser, selector.tab.map(|tab| tab.0)],
        "lane": lane.as_ref().map(|lane| json!([lane.browser, lane.tab.map(|tab| tab.0)])),
        "held": held,
        "may_have_run": command.may_have_run(),
        "was_read": command.is_read(),
        "marks_us": marks,
        "report": without_sentences(&command),
    })
}

/// The command as its owner is told of it, without the sentences that the daemon adds: a build may
/// word them anew.
fn without_sentences(command: &Command) -> Value {
    let mut report = serde_json::to_value(command.report(true)).unwrap();
    let is_from_extension = report["reason"] == "script_threw";
    let is_expired = report["status"] == "expired";
    let fields = report.as_object_mut().unwrap();
    fields.shift_remove("message");
    if !is_from_extension {
        fields.shift_remove("hint");
    }
    if is_expired {
        fields.shift_remove("error");
    }
    report
}

#[tokio::test]
async fn every_command_of_an_older_file_reads_as_before_and_so_does_all_else() {
    for older in ["journal-5.db", "journal-9.db"] {
        reads_as_before_and_is_written_on(older).await;
    }
}

async fn reads_as_before_and_is_written_on(older: &str) {
    let (dir, opened) = fixture(older);
    assert_eq!(described(&opened.history), as_it_was());
    opened.journal.close().await;
    let again = reopen(&file(&dir));
    assert_eq!(described(&again.history), as_it_was(), "and it reads so from its records");
    // Rows are found by the ids that they had.
    let entries = [JournalEntry::Read("failed_1".into(), at(9)), burial("waits_1", None)];
    record(&again.journal, [JournalEntry::Changed(ended("has_1", complete("1")))]).await;
    entries.into_iter().for_each(|entry| append(&again.journal, entry));
    again.journal.close().await;
    let history = reopen(&file(&dir)).history;
    let stage_of = |id: &str| {
        let mut all = history.commands.iter();
        all.find(|kept| kept.saved.spec.id.as_str() == id).map(|kept| &kept.saved.stage)
    };
    assert!(matches!(stage_of("has_1"), Some(SavedStage::Ended { read: false, .. })));
    assert!(matches!(stage_of("failed_1"), Some(SavedStage::Ended { read: true, .. })));
    assert!(stage_of("waits_1").is_none());
}

#[tokio::test]
async fn a_journal_of_version_4_is_read_with_its_keys_and_written_on() {
    let (dir, opened) = fixture("journal-4.db");
    let keys: Vec<_> =
        opened.history.keys.iter().map(|kept| (&*kept.key, kept.id.as_str())).collect();
    assert_eq!(
        keys,
        [("of a tab", "exec_1"), ("of none", "exec_2"), ("of one that is gone", "exec_3")]
    );
    let whose = |kept: &RecordedKey| (kept.owner.as_str(), kept.client.as_str()) == ("user", "ann");
    assert!(opened.history.keys.iter().all(|kept| whose(kept) && kept.digest.is_none()));
    let wishes: Vec<_> = opened.history.commands.iter().map(|kept| kept.selector.tab).collect();
    assert_eq!(wishes, [Some(TabId(7)), None]);
    assert_eq!(opened.history.gone.len(), 1);
    record(&opened.journal, [accepted(&script("exec_4"))]).await;
    opened.journal.close().await;
    let again = reopen(&file(&dir));
    assert!(again.unusable.is_none(), "{:?}", again.unusable);
    let digests = again.history.keys.iter().filter(|kept| kept.digest.is_some());
    assert_eq!((again.history.keys.len(), digests.count()), (4, 1));
}

#[tokio::test]
async fn a_journal_from_before_there_were_carriers_is_read_and_written_on() {
    let dir = dir();
    std::fs::copy("tests/fixtures/journal-5.db", file(&dir)).unwrap();
    let before = rusqlite::Connection::open(file(&dir)).unwrap();
    let as_it_was = "DELETE FROM command WHERE id != 'has_1'; DROP TABLE long_text; \
                     ALTER TABLE command DROP COLUMN carrier; \
                     ALTER TABLE idempotency DROP COLUMN digest";
    before.execute_batch(as_it_was).unwrap();
    before.pragma_update(None, "user_version", 1).unwrap();
    drop(before);
    let opened = reopen(&file(&dir));
    assert!(opened.unusable.is_none(), "{:?}", opened.unusable);
    let SavedStage::Started { delivery, .. } = &opened.history.commands[0].saved.stage else {
        panic!("{:?}", opened.history)
    };
    assert_eq!(*delivery, held(), "all that there was before were sockets");
    let over = ended("has_1", complete("1"));
    record(&opened.journal, [JournalEntry::Changed(over)]).await;
    opened.journal.close().await;
    let history = reopen(&file(&dir)).history;
    assert!(matches!(history.commands[0].saved.stage, SavedStage::Ended { .. }), "{history:?}");
}

#[tokio::test]
async fn a_file_from_before_there_were_scopes_is_read_and_then_keeps_the_tabs_of_owners() {
    let dir = dir();
    let opened = reopen(&file(&dir));
    record(&opened.journal, [accepted(&started("exec_1"))]).await;
    opened.journal.close().await;
    let before = rusqlite::Connection::open(file(&dir)).unwrap();
    before.execute_batch("DROP TABLE owner_tab").unwrap();
    before.pragma_update(None, "user_version", 9).unwrap();
    drop(before);
    let opened = reopen(&file(&dir));
    assert!(opened.unusable.is_none(), "{:?}", opened.unusable);
    let [kept] = &opened.history.commands[..] else { panic!("{:?}", opened.history) };
    assert_eq!(kept.saved.spec.scope, TabScope::All, "its owner saw every tab");
    assert!(opened.history.owner_tabs.is_empty());
    record(&opened.journal, [JournalEntry::TabOwned(owned(7))]).await;
    opened.journal.close().await;
    assert_eq!(reopen(&file(&dir)).history.owner_tabs, [owned(7)]);
}

#[tokio::test]
async fn whether_an_owner_saw_every_tab_comes_back_with_its_command() {
    for scope in [TabScope::Own, TabScope::Shared, TabScope::All] {
        let mut spec = script("exec_1").spec().clone();
        spec.scope = scope;
        let history = after_a_kill([accepted(&Command::new(spec))]).await;
        assert_eq!(history.commands[0].saved.spec.scope, scope);
    }
}

#[tokio::test]
async fn a_record_of_another_version_is_not_read() {
    let (dir, opened) = fixture("journal-5.db");
    opened.journal.close().await;
    let other = rusqlite::Connection::open(file(&dir)).unwrap();
    let later = "UPDATE command SET stage = replace(stage, '\"v\":1', '\"v\":2')";
    assert!(other.execute(later, []).unwrap() > 0);
    drop(other);
    let why = reopen(&file(&dir)).unusable.unwrap();
    assert!(why.contains("version 2"), "{why}");
}
