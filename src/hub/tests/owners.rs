//! Owners that are removed, and others that are added under the same name.

use super::consents::SHOP;
use super::scopes::{connect, opening};
use super::*;
use crate::protocol::{
    ConsentAnswer, OwnerEntry, OwnerGeneration, OwnerList, PageState, StreamKind,
};

/// A list with the owner `ci` of one generation, and a client of it.
fn listed(digit: char) -> (Arc<OwnerList>, Caller) {
    let digits: String = std::iter::repeat_n(digit, 32).collect();
    let generation = OwnerGeneration::Added(digits.into());
    let mut list = OwnerList::default();
    list.add(OwnerEntry { generation, ..OwnerEntry::tried("ci") }).unwrap();
    let owner = list.owner("ci").unwrap();
    (Arc::new(list), Caller { owner, client: "ci·nightly".into() })
}

#[tokio::test(start_paused = true)]
async fn a_call_that_came_before_the_removal_of_its_owner_begins_nothing_after_it() {
    let hub = Hub::start(Limits::default());
    let (list, ci) = listed('1');
    hub.set_owners(list);
    hub.submit(&ci, script()).await.unwrap();
    let user = hub.submit(&agent("a"), script()).await.unwrap();
    hub.set_owners(Arc::default());
    assert!(hub.commands(&ci.owner).is_empty() && hub.clients(&ci.owner).is_empty());
    assert_eq!(hub.submit(&ci, script()).await.unwrap_err().why.code(), "not_allowed");
    assert_eq!(hub.admit(&ci).await.unwrap_err().why.code(), "not_allowed");
    let mut browser = Extension::connect(&hub, "b", "i");
    let ToExtension::Command { command, .. } = browser.frame().await else { panic!() };
    assert_eq!(command.correlation_id, user.id, "the removed owner's command is not sent");
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_same_name_begins_anew_for_the_next_owner_of_a_name() {
    let hub = Hub::start(Limits::default());
    let (list, first) = listed('1');
    hub.set_owners(list);
    let key = |call: Submission| Submission { idempotency_key: Some("k".into()), ..call };
    let before = hub.submit(&first, key(script())).await.unwrap();
    let (list, second) = listed('2');
    hub.set_owners(list);
    assert_eq!(first.client, second.client);
    let after = hub.submit(&second, key(script_of("other"))).await.unwrap();
    assert_ne!(before.id, after.id, "the key is no one's");
    let ids: Vec<_> =
        hub.commands(&second.owner).into_iter().map(|command| command.correlation_id).collect();
    assert_eq!(ids, [after.id]);
    // A call of the first owner that is still on its way changes nothing of the second one's.
    assert!(hub.submit(&first, script()).await.is_err());
    assert_eq!(hub.clients(&second.owner).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_tab_of_a_removed_owner_is_free_at_once_and_the_changes_to_it_are_put_back() {
    let hub = Hub::start(Limits::default());
    let (list, ci) = listed('1');
    hub.set_owners(list);
    let mut browser = Extension::connect(&hub, "b", "i");
    let taking = || Submission { takes_tab: true, ..script_in(4) };
    hub.submit(&ci, taking()).await.unwrap();
    browser.does("1").await;
    let held = hub.submit(&agent("a"), taking()).await.unwrap_err();
    assert_eq!(held.why.code(), "tab_in_use");
    let changed = PageState { tab_id: TabId(4), client_id: ci.client.clone() };
    browser.link.receive(FromExtension::PageStates { states: vec![changed.clone()] });
    assert!(browser.told_over().await.is_empty());
    hub.set_owners(Arc::default());
    assert_eq!(browser.told_over().await, [changed]);
    hub.submit(&agent("a"), taking()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_an_owner_end_its_own_tabs_and_the_words_about_it() {
    let hub = Hub::start(Limits::default());
    let (list, ci) = listed('1');
    hub.set_owners(list.clone());
    let mut browser = connect(&hub, Some(true));
    hub.submit(&ci, opening()).await.unwrap();
    browser.opens(2_001, &[2_001]).await;
    let is_own = || hub.is_own(&ci.owner, &"b".into(), TabId(2_001));
    browser.heard().await;
    hub.submit(&ci, script_in(2_001)).await.unwrap();
    let held = browser.holds_next(SHOP).await;
    browser.says(&held, ConsentAnswer::Always);
    assert!(is_own() && hub.consents_of(&ci.owner).len() == 1);
    hub.set_owners(Arc::default());
    assert_eq!((is_own(), hub.consents_of(&ci.owner).len()), (false, 0));
    // None of it comes back with the same owner.
    hub.set_owners(list);
    assert_eq!((is_own(), hub.consents_of(&ci.owner).len()), (false, 0));
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_whom_nothing_but_its_usage_is_known_is_found_at_its_removal() {
    let hub = Hub::start(Limits { mib_per_minute: 1, ..Limits::default() });
    let (list, ci) = listed('1');
    hub.set_owners(list.clone());
    let takes = async || hub.admit_bytes(&ci.owner, 1 << 20).await.is_ok();
    assert!(takes().await && !takes().await);
    hub.set_owners(Arc::default());
    hub.set_owners(list);
    assert!(takes().await, "the usage of the removed one does not count");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_recorded_any_more_that_a_removed_owner_alone_has_asked_for() {
    let hub = Hub::start(Limits::default());
    let (list, ci) = listed('1');
    hub.set_owners(list);
    let _browser = Extension::connect(&hub, "b", "i");
    let tab = TargetSelector { tab: Some(TabId(4)), ..TargetSelector::default() };
    let browser = TargetSelector { browser: Some("b".into()), ..TargetSelector::default() };
    let ask = |caller: &Caller, of: &TargetSelector, streams: &[StreamKind]| {
        let streams = Some(streams.iter().copied().collect());
        hub.capture(caller, &CaptureChange { on: true, streams, of: of.clone() }).unwrap();
    };
    for of in [tab, browser, TargetSelector::default()] {
        ask(&ci, &of, &[StreamKind::Logs, StreamKind::Network]);
        ask(&agent("a"), &of, &[StreamKind::Logs]);
    }
    let is_recorded = |stream| hub.capture_of(&"b".into()).has(stream, None);
    assert!(is_recorded(StreamKind::Logs) && is_recorded(StreamKind::Network));
    hub.set_owners(Arc::default());
    assert!(is_recorded(StreamKind::Logs) && !is_recorded(StreamKind::Network));
}
