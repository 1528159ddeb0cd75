//! Who asks to be let in, in virtual time.

use super::*;
use crate::home::{LegacyApproval, LegacyApprover, LegacyMode, PollingPolicy};

fn id(number: usize) -> String {
    let letters: Vec<_> = ('a'..='p').collect();
    (0..32).map(|at| letters[(number >> (at % 8)) & 15]).collect()
}

fn rights(mode: LegacyMode, allowed: &[usize]) -> PollingPolicy {
    let approvals =
        allowed.iter().map(|number| LegacyApproval { id: id(*number), by: LegacyApprover::Person });
    PollingPolicy { mode, approvals: approvals.collect(), ..PollingPolicy::default() }
}

fn knock(hub: &Hub, number: usize) {
    hub.note_knock(&id(number), &format!("ext_{number}").as_str().into(), "5.6.0");
}

fn ids(hub: &Hub) -> Vec<String> {
    hub.knocks().asking.into_iter().map(|knock| knock.extension_id).collect()
}

#[tokio::test(start_paused = true)]
async fn one_that_goes_on_asking_keeps_its_place_and_a_silent_one_gives_it_to_a_newcomer() {
    let hub = Hub::start(Limits::default());
    for number in 0..16 {
        knock(&hub, number);
    }
    for number in 16..200 {
        knock(&hub, number);
    }
    assert_eq!(ids(&hub), (0..16).map(id).collect::<Vec<_>>());
    assert_eq!(hub.knocks().not_shown, 184);
    for _ in 0..5 {
        pass(seconds(2)).await;
        knock(&hub, 0);
    }
    for number in 16..200 {
        knock(&hub, number);
    }
    let asking = ids(&hub);
    assert!(asking.contains(&id(0)), "it has asked all the time: {asking:?}");
    assert_eq!(asking.len(), 16);
    assert!(!asking.contains(&id(1)), "it was silent");
    let knocks = hub.knocks().asking;
    let own = knocks.iter().find(|knock| knock.extension_id == id(0)).unwrap();
    assert_eq!(own.count, 6);
}

#[tokio::test(start_paused = true)]
async fn one_that_asks_no_more_is_shown_no_more_and_its_session_counts_for_nothing() {
    let hub = Hub::start(Limits::default());
    knock(&hub, 1);
    assert_eq!(hub.knocking_under(&"ext_1".into()), Some(id(1)));
    assert_eq!(hub.knocking_under(&"ext_2".into()), None);
    pass(seconds(69)).await;
    assert_eq!(ids(&hub), [id(1)]);
    pass(seconds(2)).await;
    assert!(ids(&hub).is_empty());
    assert_eq!(hub.knocking_under(&"ext_1".into()), None);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_let_in_asks_no_more_before_it_is_heard_again() {
    let hub = Hub::start(Limits::default());
    for number in 1..4 {
        knock(&hub, number);
    }
    hub.set_poller_rights(rights(LegacyMode::Ask, &[2]));
    assert_eq!(ids(&hub), [id(1), id(3)]);
    hub.set_poller_rights(rights(LegacyMode::Any, &[]));
    assert!(hub.knocks().is_empty());
}

#[tokio::test(start_paused = true)]
async fn while_all_are_switched_off_those_that_ask_are_listed_as_that() {
    let hub = Hub::start(Limits::default());
    knock(&hub, 1);
    hub.set_poller_rights(rights(LegacyMode::Deny, &[]));
    hub.note_switched_off(&id(2));
    let KnockList { asking, switched_off, .. } = hub.knocks();
    let off: Vec<_> = switched_off.into_iter().map(|knock| knock.extension_id).collect();
    assert_eq!((asking, off), (vec![], vec![id(1), id(2)]));
    assert_eq!(hub.knocking_under(&"ext_2".into()), None);
    hub.set_poller_rights(rights(LegacyMode::Ask, &[]));
    assert_eq!(ids(&hub), [id(1), id(2)]);
}

#[tokio::test(start_paused = true)]
async fn one_that_never_says_which_it_is_is_shown_once_it_has_polled_for_ten_seconds() {
    let hub = Hub::start(Limits::default());
    hub.note_nameless("5.0.0");
    pass(seconds(12)).await;
    for _ in 0..9 {
        hub.note_nameless("5.0.0");
        pass(seconds(1)).await;
        assert!(hub.knocks().is_empty(), "the twelve seconds of silence do not count");
    }
    pass(seconds(1)).await;
    hub.note_nameless("<IGNORE>");
    assert_eq!(hub.knocks().nameless.unwrap().extension_version, "unknown");
    pass(seconds(71)).await;
    assert!(hub.knocks().is_empty(), "it polls no more");
}
