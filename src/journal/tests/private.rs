//! Commands in private windows: no more of them than their names and their ends.

use super::*;

const SECRET: &str = "asecretofthepage";

fn private(id: &str) -> Command {
    let action = ExecuteJsAction { script: SECRET.into(), user_gesture: None };
    let spec = command(id, Action::ExecuteJs(action)).spec().clone();
    Command::new(CommandSpec { is_private: true, ..spec })
}

fn begun(id: &str) -> Command {
    let mut command = private(id);
    let _ = command.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), at(1));
    let _ = command.apply(LifecycleEvent::Claim(holder(), Attempt(1)), at(2));
    command
}

fn over(id: &str, report: ExtensionReport) -> Command {
    let mut command = begun(id);
    let _ = command.apply(LifecycleEvent::Report(holder(), Attempt(1), report), at(3));
    command
}

/// One that waits for the person's word on a site.
fn holding() -> Command {
    let need = ConsentNeed {
        kind: ConsentKind::Act,
        site: ConsentSite::parse(&format!("https://{SECRET}.test")).unwrap(),
        document: None,
        detail: None,
        files: Vec::new(),
    };
    let mut holding = private("exec_held");
    let _ = holding.apply(LifecycleEvent::Deliver(holder(), Transport::WebSocket), at(1));
    let _ = holding.apply(LifecycleEvent::Hold(holder(), Attempt(1), need), at(2));
    assert_eq!(holding.phase(), CommandPhase::Held);
    holding
}

#[tokio::test]
async fn of_a_private_command_no_more_than_its_name_and_its_end_is_recorded() {
    let failed =
        ReportedError { hint: Some(SECRET.into()), ..ReportedError::new("covered", SECRET) };
    let result = serde_json::value::RawValue::from_string(format!("\"{SECRET}\"")).unwrap();
    let (result, origin) = (result.into(), Some(format!("https://{SECRET}.test")));
    let commands = [
        private("exec_waits"),
        holding(),
        begun("exec_runs"),
        over("exec_done", ExtensionReport::Complete { result, origin }),
        over("exec_failed", ExtensionReport::Error { error: failed }),
    ];
    let entries = commands.iter().flat_map(|one| {
        let changed =
            (one.phase() != CommandPhase::Queued).then(|| JournalEntry::Changed(one.clone()));
        std::iter::once(accepted(one)).chain(changed)
    });
    let dir = dir();
    let first = reopen(&file(&dir));
    record(&first.journal, entries).await;
    let left = tempfile::tempdir().unwrap();
    // In the logs, and then in the file.
    for _ in 0..2 {
        copy_all(&dir, &left);
        for entry in std::fs::read_dir(left.path()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{}", path.display());
        }
        first.journal.in_file().await;
    }
    copy_all(&dir, &left);

    let history = reopen(&file(&left)).history;
    assert!(history.keys.iter().all(|key| key.digest.is_none()), "a digest tells short arguments");
    let ends = history.commands.into_iter().map(|kept| {
        let command = Command::restore(kept.saved, true, at(10));
        assert!(command.spec().is_private);
        assert_eq!(command.spec().work.name(), "execute_js");
        let outcome = match command.state() {
            CommandState::Ended { outcome, .. } => Some(outcome),
            CommandState::Queued { .. }
            | CommandState::Sent { .. }
            | CommandState::Held { .. }
            | CommandState::Started { .. }
            | CommandState::Waiting
            | CommandState::Working { .. } => None,
        };
        let end = if let Some(CommandOutcome::Expired { reason, .. }) = outcome {
            reason.code()
        } else if let Some(CommandOutcome::Error { error }) = outcome {
            assert_eq!((&*error.message, &error.hint), ("", &None));
            "error"
        } else {
            assert!(outcome.is_none(), "{outcome:?}");
            "open"
        };
        (command.spec().id.as_str().to_owned(), end, command.may_have_run())
    });
    let ends: Vec<_> = ends.collect();
    let expected = [
        ("exec_waits", "daemon_restarted", false),
        ("exec_held", "daemon_restarted", false),
        ("exec_runs", "open", true),
        ("exec_done", "daemon_restarted", true),
        ("exec_failed", "error", true),
    ];
    assert_eq!(ends, expected.map(|(id, end, ran)| (id.to_owned(), end, ran)));
}
