use std::collections::HashMap;

use super::*;
use crate::lifecycle::CommandPhase;
use crate::os::OperatingSystem;
use crate::protocol::Timestamp;

fn sample() -> DaemonSample {
    DaemonSample {
        phases: HashMap::from([(CommandPhase::Queued, 2), (CommandPhase::Ended, 7)]),
        kept: 9,
        links: HashMap::from([(Transport::WebSocket, 1)]),
        clients: 3,
        waiting_calls: 4,
        admitted: 5,
        refused: 6,
        is_storage_well: true,
        journal_bytes: Some(4_096),
        started: Timestamp::from_unix_micros(1_500_000),
    }
}

/// The value on the line of this series.
fn value<'a>(text: &'a str, series: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
}

#[test]
fn states_are_told_as_they_are_when_somebody_asks() {
    let text = DaemonMetrics::new(&WriteTimes::default()).text(&sample());
    for (series, expected) in [
        ("tabwire_open_commands{phase=\"queued\"}", "2"),
        ("tabwire_open_commands{phase=\"held\"}", "0"),
        ("tabwire_kept_commands", "9"),
        ("tabwire_links{transport=\"web_socket\"}", "1"),
        ("tabwire_links{transport=\"poll\"}", "0"),
        ("tabwire_clients", "3"),
        ("tabwire_waiting_calls", "4"),
        ("tabwire_requests_total{result=\"admitted\"}", "5"),
        ("tabwire_requests_total{result=\"refused\"}", "6"),
        ("tabwire_storage_up", "1"),
        ("tabwire_journal_size_bytes", "4096"),
        ("process_start_time_seconds", "1.5"),
    ] {
        assert_eq!(value(&text, series), Some(expected), "{series}: {text}");
    }
    assert!(!text.contains("phase=\"ended\""), "what is over is not open: {text}");
    let memory = value(&text, "process_resident_memory_bytes").unwrap_or("0");
    assert!(
        memory.parse::<u64>().unwrap() > 1 << 20
            || OperatingSystem::current() != OperatingSystem::Linux,
        "{memory}"
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn a_daemon_without_a_journal_names_no_size() {
    let text = DaemonMetrics::new(&WriteTimes::default()).text(&DaemonSample {
        journal_bytes: None,
        is_storage_well: false,
        ..sample()
    });
    assert_eq!(value(&text, "tabwire_journal_size_bytes"), None, "{text}");
    assert_eq!(value(&text, "tabwire_storage_up"), Some("0"), "{text}");
}

#[test]
fn every_name_is_described_once() {
    let metrics = DaemonMetrics::new(&WriteTimes::default());
    metrics.count_link(Transport::Http, true);
    metrics.count_rejected_request("not_found");
    metrics.count_rejected_call("queue_full");
    let text = metrics.text(&sample());
    let named: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("# HELP ")).collect();
    let names: std::collections::BTreeSet<_> =
        named.iter().filter_map(|line| line.split_once(' ')).map(|(name, _)| name).collect();
    assert_eq!(names.len(), named.len(), "{named:?}");
    assert_eq!(
        value(&text, "tabwire_links_opened_total{transport=\"http\",returning=\"true\"}"),
        Some("1"),
        "{text}"
    );
}
