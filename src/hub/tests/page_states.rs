//! What clients have changed about tabs, and when it is to be put back.

use super::*;
use crate::hub::PresenceGuard;
use crate::protocol::PageState;

/// How long after its time a state ends at the latest: when the hub looks for what is over.
const LATEST: Duration = Duration::from_secs(70);

fn state(tab: i64, client: &str) -> PageState {
    PageState { tab_id: TabId(tab), client_id: agent(client).client }
}

/// A call that names a tab on the surface where it takes the tab.
fn taking(tab: i64) -> Submission {
    Submission { takes_tab: true, ..script_in(tab) }
}

impl Extension {
    /// Reports its states.
    fn has_changed(&self, states: &[PageState]) {
        self.link.receive(FromExtension::PageStates { states: states.to_vec() });
    }

    /// The states that it was told to put back.
    pub(super) async fn told_over(&mut self) -> Vec<PageState> {
        let mut over = Vec::new();
        while let Ok(Ok(frame)) =
            tokio::time::timeout(Duration::from_millis(1), self.outbox.next()).await
        {
            if let ToExtension::PageStatesOver { states } = frame {
                over.extend(states);
            }
        }
        over
    }
}

/// A browser in which a client has a state in tab 4 and another one in tab 5.
async fn changed() -> (Hub, Extension, [PresenceGuard; 2]) {
    let hub = Hub::start(Limits::default());
    let browser = Extension::connect(&hub, "b", "i");
    let streams = ["a", "b"].map(|client| hub.present(&agent(client)));
    browser.has_changed(&[state(4, "a"), state(5, "b")]);
    (hub, browser, streams)
}

#[tokio::test(start_paused = true)]
async fn a_state_stays_while_its_client_is_there_and_ends_a_minute_after_it_has_left() {
    let (_hub, mut browser, [of_a, _of_b]) = changed().await;
    pass(Duration::from_secs(3_600)).await;
    assert!(browser.told_over().await.is_empty());
    drop(of_a);
    pass(limits::LEASE_ABSENT - Duration::from_secs(1)).await;
    assert!(browser.told_over().await.is_empty());
    pass(LATEST).await;
    assert_eq!(browser.told_over().await, [state(4, "a")]);
}

#[tokio::test(start_paused = true)]
async fn a_state_of_a_client_that_a_new_daemon_does_not_know_ends_a_minute_after_it_is_reported() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    browser.has_changed(&[state(4, "gone")]);
    pass(limits::LEASE_ABSENT - Duration::from_secs(1)).await;
    // A further report does not begin the time anew.
    browser.has_changed(&[state(4, "gone")]);
    assert!(browser.told_over().await.is_empty());
    pass(LATEST).await;
    assert_eq!(browser.told_over().await, [state(4, "gone")]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_gives_a_tab_back_and_a_person_who_takes_it_end_the_states_there() {
    let (hub, mut browser, _streams) = changed().await;
    let tab = TargetSelector { browser: None, tab: Some(TabId(4)) };
    hub.release_tab(&agent("b"), &tab, false).unwrap();
    assert!(browser.told_over().await.is_empty(), "it is another client's");
    hub.release_tab(&agent("a"), &tab, false).unwrap();
    assert_eq!(browser.told_over().await, [state(4, "a")]);
    browser.link.receive(FromExtension::TakeTab { tab_id: TabId(5) });
    assert_eq!(browser.told_over().await, [state(5, "b")]);
}

#[tokio::test(start_paused = true)]
async fn another_client_that_acts_in_a_tab_meets_none_of_the_states_of_one_that_does_not_hold_it() {
    let (hub, mut browser, _streams) = changed().await;
    hub.submit(&agent("a"), script_in(4)).await.unwrap();
    assert!(browser.told_over().await.is_empty(), "its own");
    hub.submit(&agent("b"), script_in(4)).await.unwrap();
    assert_eq!(browser.told_over().await, [state(4, "a")]);
    // Where the one that has changed it holds the tab, the other is refused and nothing is put back.
    hub.submit(&agent("b"), taking(5)).await.unwrap();
    assert!(matches!(
        hub.submit(&agent("a"), script_in(5)).await.unwrap_err().why,
        RefusalReason::TabInUse { .. }
    ));
    assert!(browser.told_over().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_states_that_a_browser_reports_after_it_has_come_back_are_all_that_there_are() {
    let (hub, _former, streams) = changed().await;
    let mut browser = Extension::connect(&hub, "b", "j");
    drop(streams);
    pass(limits::LEASE_ABSENT + LATEST).await;
    assert!(browser.told_over().await.is_empty());
}
