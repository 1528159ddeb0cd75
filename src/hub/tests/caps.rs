//! What is too much, and what is then refused, dropped or forgotten.

use super::*;
use crate::lifecycle::limits::{CLIENT_LISTED, OWNER_CLIENTS};
use crate::protocol::{ClientId, Owner, TabId};

#[tokio::test(start_paused = true)]
async fn the_sixth_queued_command_is_refused_and_listed_and_nothing_accepted_is_touched() {
    let hub = Hub::start(Limits::default());
    let mut accepted = Vec::new();
    for _ in 0..5 {
        accepted.push(hub.submit(&agent("a"), script()).await.unwrap().id);
    }
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::QueueFull { queued: 5, .. }));
    assert_eq!(failures(&hub, "a"), HashMap::from([(refused.id, "queue_full".to_owned())]));
    let listed: Vec<_> =
        hub.lists(&agent("a")).pending.into_iter().map(|p| p.correlation_id).collect();
    assert_eq!(listed, accepted);
    assert!(hub.submit(&agent("b"), script()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_calls_too_often_is_told_when_to_come_back() {
    let hub = Hub::start(Limits { calls_per_minute: 60, ..Limits::default() });
    for _ in 0..60 {
        hub.admit(&agent("a")).await.unwrap();
    }
    let refused = hub.admit(&agent("a")).await.unwrap_err();
    let wait = refused.why.retry_after().unwrap();
    assert!(hub.admit(&agent("b")).await.is_ok());
    advance(wait).await;
    assert!(hub.admit(&agent("a")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_heeds_no_refusal_is_answered_once_a_second_and_no_other_waits() {
    let hub = Hub::start(Limits { calls_per_minute: 1, ..Limits::default() });
    let began = hub.now();
    for client in ["a", "b"] {
        hub.admit(&agent(client)).await.unwrap();
    }
    assert_eq!(hub.now(), began);
    for _ in 0..2 {
        hub.admit(&agent("a")).await.unwrap_err();
    }
    assert!(hub.now().since(began) >= seconds(2));
}

#[tokio::test(start_paused = true)]
async fn of_too_many_results_the_oldest_read_one_goes_first_and_an_unread_one_is_listed() {
    let hub = Hub::start(Limits { retained: 2, ..Limits::default() });
    let mut browser = Extension::connect(&hub, "b", "i1");
    let mut ids = Vec::new();
    for n in 0..4 {
        hub.submit(&agent("a"), script()).await.unwrap();
        let (id, attempt) = browser.begin().await;
        browser.complete(&id, attempt, "x").await;
        if n == 1 {
            hub.mark_read(&agent("a"), &id);
        }
        ids.push(id);
    }
    let mut are_gone = Vec::new();
    for id in &ids {
        let seen = hub.get(&agent("a"), id, false).await.unwrap();
        are_gone.push(matches!(seen, CommandLookup::Evicted(_)));
    }
    assert_eq!(are_gone, [true, true, false, false]);
    assert_eq!(failures(&hub, "a"), HashMap::from([(ids[0].clone(), "expired".to_owned())]));
}

#[tokio::test(start_paused = true)]
async fn a_tab_whose_last_command_is_dropped_for_newer_ones_is_free_for_the_next() {
    let hub = Hub::start(Limits { retained: 1, ..Limits::default() });
    let mut browser = Extension::connect(&hub, "b", "i");
    let held = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    browser.begin().await;
    let next = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    let other = hub.submit(&agent("a"), script_in(2)).await.unwrap().id;
    browser.command().await;
    // The page may still be at it, so its tab stays taken for a while.
    let _ = hub.cancel(&agent("a"), &held).await.unwrap();
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    let _ = hub.cancel(&agent("a"), &other).await.unwrap();
    assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    assert_eq!(browser.command().await.0, next);
}

#[tokio::test(start_paused = true)]
async fn a_client_is_forgotten_when_there_are_too_many_and_it_was_idle_the_longest() {
    let hub = Hub::start(Limits { clients: 2, ..Limits::default() });
    for client in ["first", "second", "third"] {
        hub.admit(&agent(client)).await.unwrap();
        advance(seconds(1)).await;
    }
    let known: Vec<_> =
        hub.clients(&"user".into()).into_iter().map(|c| c.client.to_string()).collect();
    assert_eq!(known, ["third", "second"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_not_heard_of_leaves_the_lists_and_keeps_its_tab_for_an_hour() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let listed = || {
        let clients = hub.clients(&"user".into());
        clients.into_iter().map(|known| known.client.to_string()).collect::<Vec<_>>()
    };
    hub.submit(&agent("once"), script_in(2)).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "x").await;
    advance(CLIENT_LISTED - seconds(1)).await;
    hub.admit(&agent("busy")).await.unwrap();
    assert_eq!(listed(), ["busy", "once"]);
    advance(seconds(2)).await;
    assert_eq!(listed(), ["busy"]);
    // One that has a command that is not over stays, however long that takes.
    let wait = hub.submit(&agent("waits"), script_in(1)).await.unwrap().id;
    browser.begin().await;
    assert_eq!(listed(), ["waits", "busy"]);
    hub.admit(&agent("once")).await.unwrap();
    let clients = hub.clients(&"user".into());
    let once = clients.iter().find(|known| known.client.as_str() == "once").unwrap();
    assert_eq!(once.tab_id, Some(TabId(2)), "it is listed again, with its tab");
    let _ = hub.cancel(&agent("waits"), &wait).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_owner_gets_no_more_calls_by_changing_the_clients_name() {
    let hub = Hub::start(Limits { calls_per_minute: 2, ..Limits::default() });
    let of_owner = |owner: &str, client: usize| Caller {
        owner: owner.into(),
        client: ClientId::from(format!("{owner}-{client}")),
    };
    for client in 0..2 * OWNER_CLIENTS {
        hub.admit(&of_owner("greedy", client)).await.unwrap();
    }
    let refused = hub.admit(&of_owner("greedy", 1_000)).await.unwrap_err();
    let wait = refused.why.retry_after().unwrap();
    assert!(hub.admit(&of_owner("another", 0)).await.is_ok());
    advance(wait).await;
    assert!(hub.admit(&of_owner("greedy", 1_000)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_owner_may_send_only_so_much_in_a_minute_and_others_are_not_held_back() {
    const MIB: usize = 1024 * 1024;
    let hub = Hub::start(Limits { mib_per_minute: 2, ..Limits::default() });
    let (greedy, another) = (Owner::from("greedy"), Owner::from("another"));
    for _ in 0..2 {
        hub.admit_bytes(&greedy, MIB).await.unwrap();
    }
    let began = hub.now();
    let wait = hub.admit_bytes(&greedy, MIB).await.unwrap_err();
    assert_eq!(hub.now().since(began), seconds(1), "a caller in a loop is slowed down");
    assert_eq!(wait, seconds(29));
    assert!(hub.admit_bytes(&another, MIB).await.is_ok());
    advance(wait).await;
    assert!(hub.admit_bytes(&greedy, MIB).await.is_ok());
    let unlimited = Hub::start(Limits { mib_per_minute: 0, ..Limits::default() });
    for _ in 0..100 {
        unlimited.admit_bytes(&greedy, MIB).await.unwrap();
    }
}
