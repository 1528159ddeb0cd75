//! The page against the code: its tables and the sentences that name lengths.

use std::collections::BTreeSet;

use super::holding::held;
use super::host_tasks::{wait, working};
use super::*;
use crate::lifecycle::Limits;

const PAGE: &str = include_str!("../../../../docs/lifecycle.md");
const ROWS: [&str; 3] =
    [include_str!("rows.rs"), include_str!("host_tasks.rs"), include_str!("holding.rs")];

/// Rows that the core cannot show, since they are about whether there is a command:
/// the hub accepts and refuses, with `CommandQueue::is_full_for` and `Retention`.
const ROWS_OF_THE_HUB: [&str; 2] = ["1", "2"];

/// The cells of the first table below a heading, without its head.
pub(super) fn table(heading: &str) -> Vec<Vec<&'static str>> {
    let below = PAGE
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no heading {heading}"))
        .1;
    let rows = below.lines().skip_while(|line| !line.starts_with('|'));
    let cells = |line: &'static str| -> Vec<&'static str> {
        line.trim_matches('|').split('|').map(str::trim).collect()
    };
    rows.take_while(|line| line.starts_with('|')).skip(2).map(cells).collect()
}

pub(super) fn words(cell: &'static str) -> BTreeSet<&'static str> {
    cell.split(", ").collect()
}

/// The rows of all tables of transitions.
pub(super) fn all_rows() -> Vec<Vec<&'static str>> {
    let headings =
        ["Transitions", "Commands that wait for the person's word", "Waits for a person, and jobs"];
    headings.into_iter().flat_map(table).collect()
}

#[test]
fn every_row_of_the_page_has_its_test_and_every_row_test_its_row() {
    let documented: BTreeSet<_> = all_rows().iter().map(|row| row[0]).collect();
    let of_the_hub = BTreeSet::from(ROWS_OF_THE_HUB);
    assert!(of_the_hub.is_subset(&documented));
    let mut tested = BTreeSet::new();
    let tests = |file: &'static str| file.split("\n#[test]\nfn row_").skip(1);
    for test in ROWS.into_iter().flat_map(tests) {
        let id = test.split('_').next().expect("an id");
        let body = test.split("\n}\n").next().expect("a body");
        assert!(body.contains(&format!("Row::of(\"{id}\")")), "row_{id}_ is about its own row");
        tested.insert(id);
    }
    let count: usize = ROWS.iter().map(|file| file.matches("\nfn row_").count()).sum();
    assert_eq!(count, tested.len(), "one test a row");
    assert_eq!(tested, documented.difference(&of_the_hub).copied().collect());
}

#[test]
fn the_states_table_has_every_state_with_the_word_that_clients_see() {
    let nth = |state: usize| one_of_each_end()[state].clone();
    let (waiting, working) = (wait(), working());
    let states = [
        command(),
        sent(),
        held(),
        started(),
        waiting,
        working,
        nth(0),
        nth(1),
        nth(2),
        nth(3),
        nth(4),
    ];
    let rows = table("States");
    assert_eq!(rows.len(), states.len());
    for (row, command) in rows.iter().zip(&states) {
        let status = format!("`{}`", shown(command)["status"].as_str().expect("a word"));
        assert_eq!((row[0], row[2]), (word(command), &*status));
    }
}

#[test]
fn the_deadlines_table_has_the_lengths_that_count() {
    let total = command().total_by().since(ACCEPTED_AT);
    let expected = [
        ("respond", limits::RESPOND),
        ("execute", limits::EXECUTE),
        ("report grace", limits::REPORT_GRACE),
        ("total", total),
        ("away", limits::AWAY),
        ("lane hold", limits::LANE_HOLD),
        ("retain", limits::RETAIN),
        ("retain read", limits::RETAIN_READ),
        ("person", limits::PERSON),
        ("retain job", limits::RETAIN_JOB),
        ("blocking wait", limits::WAIT_MAX),
    ];
    let rows = table("Deadlines");
    assert_eq!(rows.len(), expected.len());
    for (row, (name, length)) in rows.iter().zip(expected) {
        assert_eq!((row[0], row[1]), (name, &*format!("{} s", length.as_secs())));
    }
    assert!(rows[1][2].contains(&format!("at most {} s", limits::EXECUTE_MAX.as_secs())));
    assert!(rows[3][2].contains(&format!("+ {} s", limits::QUEUE_ALLOWANCE.as_secs())));
}

#[test]
fn the_caps_table_has_every_limit_with_its_default() {
    let Limits {
        queued,
        lanes,
        retained,
        failures,
        tombstones,
        annotations,
        asks,
        jobs,
        waiters,
        calls_per_minute,
        mib_per_minute,
        outbound,
        clients,
        connections,
        leftover_tabs_s,
        idempotency_keys,
        kept_mib,
        logs,
        network,
        bodies,
        websocket,
        actions,
        performance,
        extension_logs,
        streams_mib,
    } = Limits::default();
    let defaults = [
        queued,
        lanes,
        retained,
        failures,
        tombstones,
        annotations,
        asks,
        jobs,
        waiters,
        calls_per_minute,
        mib_per_minute,
        outbound,
        clients,
        connections,
        leftover_tabs_s,
        idempotency_keys,
        kept_mib,
        logs,
        network,
        bodies,
        websocket,
        actions,
        performance,
        extension_logs,
        streams_mib,
    ];
    let rows = table("Lanes, caps and fairness");
    let documented: Vec<_> =
        rows.iter().map(|row| (row[0].to_owned(), row[1].to_owned())).collect();
    let names = Limits::NAMES.map(|name| format!("`{name}`"));
    let expected: Vec<_> = names.into_iter().zip(defaults.map(|cap| cap.to_string())).collect();
    assert_eq!(documented, expected);
    assert!(PAGE.contains(&format!("the client has fewer than {queued} Queued")), "row 1");
    assert!(PAGE.contains(&format!("{queued} are Queued")), "row 2");
    assert!(PAGE.contains(&format!("failures, {failures} of them")), "row 21");
    assert!(PAGE.contains(&format!("at most {lanes}\nlanes side by side")));
}

#[test]
fn the_sentences_that_people_read_name_the_lengths_that_count() {
    for (transport, length) in [
        (Transport::WebSocket, limits::RESPOND),
        (Transport::Http, limits::RESPOND),
        (Transport::Poll, limits::RESPOND_POLL),
        (Transport::Sync, limits::EXECUTE + limits::REPORT_GRACE),
    ] {
        let delivered = after(command(), [(LifecycleEvent::Deliver(holder(), transport), SENT_AT)]);
        let expired = after(delivered, [(LifecycleEvent::Tick, SENT_AT + length)]);
        let said = expired.report(false).why_not_complete().unwrap();
        assert!(said.contains(&format!("within {}s", length.as_secs())), "{transport:?}: {said}");
        assert!(expired.as_failed(None).unwrap().hint.contains(&*said));
    }
    let attempts = format!("each of {} deliveries", limits::ATTEMPTS);
    assert!(ExpiryReason::DeliveryFailed.message().contains(&attempts));
    let retain = format!("{}s", limits::RETAIN.as_secs());
    assert!(command().unread_at_last().contains(&retain));
    let unread = command().as_unread(None, command().unread_at_last(), SENT_AT);
    assert!(unread.hint.contains("never retrieved"), "{}", unread.hint);
    assert!(unread.hint.ends_with(ExpiryReason::ResultExpired.hint()), "{}", unread.hint);
    assert_eq!(unread.expired_at, Some(SENT_AT));
    assert!(unread.aim.command.is_some());
    let minutes = |length: Duration| format!("{} minutes", length.as_secs() / 60);
    assert!(ExpiryReason::NobodyDrew.message().contains(&minutes(limits::PERSON)));
    assert!(wait().unread_at_last().contains(&minutes(limits::PERSON)));
    assert!(ExpiryReason::ResultExpired.hint().contains(&minutes(limits::RETAIN_JOB)));
    assert!(ExpiryReason::ResultExpired.hint().contains(&retain));
}
