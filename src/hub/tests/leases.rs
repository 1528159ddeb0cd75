//! Leases of tabs: who may act where, and until when.

use super::*;
use crate::engine::{LeaseKind, TabHolder, TabLease};
use crate::protocol::actions::{TabCloseAction, TabListAction, TabOpenAction};

/// A call that names a tab on the surface where it takes the tab.
fn taking(tab: i64) -> Submission {
    Submission { takes_tab: true, ..script_in(tab) }
}

fn looking(tab: i64) -> Submission {
    let what = r#"{"what": "snapshot"}"#;
    Submission { action: serde_json::from_str(what).unwrap(), ..script_in(tab) }
}

fn clicking(tab: i64) -> Submission {
    let click = r#"{"action": "click", "target": "b1"}"#;
    Submission { action: serde_json::from_str(click).unwrap(), ..script_in(tab) }
}

fn opening(share: bool) -> Submission {
    let action = TabOpenAction {
        url: None,
        focus: None,
        share: share.then_some(true),
        keep: None,
        private: None,
    };
    Submission { action: action.into(), ..script() }
}

impl Extension {
    /// Takes the next command up to the point where it runs.
    pub(super) async fn starts(&mut self) -> (CorrelationId, Attempt) {
        loop {
            match self.frame().await {
                ToExtension::Command { attempt, command } => {
                    self.claim(&command.correlation_id, attempt);
                }
                ToExtension::Go { correlation_id, attempt } => return (correlation_id, attempt),
                ToExtension::HeldTabs { .. }
                | ToExtension::OpenedTabs { .. }
                | ToExtension::CloseTabs { .. }
                | ToExtension::ResultAck { .. } => {}
                other => panic!("expected a command, got {other:?}"),
            }
        }
    }

    /// Runs the next command, which does this.
    pub(super) async fn does(&mut self, value: &str) {
        let running = self.starts().await;
        self.has_done(running, value).await;
    }

    pub(super) async fn has_done(&self, (id, attempt): (CorrelationId, Attempt), value: &str) {
        let json = format!("{{\"success\":true,\"value\":{value}}}");
        let result = RawValue::from_string(json).unwrap().into();
        self.report(&id, attempt, ExtensionReport::Complete { result, origin: None });
        pass(Duration::ZERO).await;
    }

    /// The tabs that it shows as held, after all that it was told.
    async fn shown(&mut self) -> Vec<(i64, String)> {
        let mut shown = Vec::new();
        while let Ok(Ok(frame)) =
            tokio::time::timeout(Duration::from_millis(1), self.outbox.next()).await
        {
            if let ToExtension::HeldTabs { held } = frame {
                shown = held.iter().map(|one| (one.tab_id.0, one.client.to_string())).collect();
            }
        }
        shown
    }
}

async fn refused(hub: &Hub, client: &str, call: Submission) -> RefusalReason {
    hub.submit(&agent(client), call).await.expect_err("it is refused").why
}

#[track_caller]
fn assert_in_use(refusal: &RefusalReason, by: &str) {
    let RefusalReason::TabInUse { holder, .. } = refusal else { panic!("{refusal:?}") };
    assert_eq!(holder.as_deref(), Some(by));
    assert!(refusal.message().contains(by) && refusal.hint().contains("tab_open"));
}

fn held(hub: &Hub, client: &str, tab: i64) -> Option<TabHolder> {
    let tabs = hub.tabs(&agent(client));
    tabs.into_iter().find(|one| one.tab.tab_id == TabId(tab)).and_then(|one| one.held_by)
}

/// Client `a` has opened tab 3.
async fn opened(share: bool) -> (Hub, Extension) {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), opening(share)).await.unwrap();
    browser.does(r#"{"tab_id":3}"#).await;
    (hub, browser)
}

#[tokio::test(start_paused = true)]
async fn in_a_tab_that_a_client_opened_no_other_acts_and_all_may_look() {
    let (hub, mut browser) = opened(false).await;
    assert_in_use(&refused(&hub, "b", script_in(3)).await, "a");
    assert_in_use(
        &refused(&hub, "b", Submission { action: TabCloseAction {}.into(), ..script_in(3) }).await,
        "a",
    );
    assert!(hub.submit(&agent("b"), looking(3)).await.is_ok());
    assert!(hub.submit(&agent("b"), script_in(4)).await.is_ok(), "another tab");
    assert!(hub.submit(&agent("a"), script_in(3)).await.is_ok(), "its own");
    let (mine, theirs) = (held(&hub, "a", 3).unwrap(), held(&hub, "b", 3).unwrap());
    assert!(mine.you && mine.opened && !theirs.you);
    assert_eq!(theirs.client.as_deref(), Some("a"));
    assert!(held(&hub, "a", 4).is_none(), "a call on the five tools takes no tab");
    assert_eq!(browser.shown().await, [(3, "a".to_owned())]);
}

/// The tabs 3 and 4 in the answer to a command that lists them.
async fn listed(
    hub: &Hub,
    browser: &mut Extension,
    caller: &Caller,
    action: Action,
    value: &str,
) -> String {
    let id = hub.submit(caller, Submission { action, ..script() }).await.unwrap().id;
    let attempt = loop {
        if let ToExtension::Command { attempt, .. } = browser.frame().await {
            break attempt;
        }
    };
    browser.has_done((id.clone(), attempt), value).await;
    let CommandLookup::Command(report) = hub.get(caller, &id, false).await.unwrap() else {
        panic!("it is kept")
    };
    let CommandStatus::Complete { result, .. } = report.status else { panic!("{report:?}") };
    let text = result.get();
    text.strip_prefix(r#"{"success":true,"value":"#).unwrap().strip_suffix('}').unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_list_of_tabs_says_whose_each_is_as_the_reader_may_know_it() {
    const TABS: &str = r#"[{"tab_id":3,"title":"x"},{"tab_id":4}]"#;
    let (hub, mut browser) = opened(false).await;
    let list = || Action::TabList(TabListAction {});
    let stranger = Caller { owner: "guest".into(), ..agent("c") };
    for (caller, whose) in [
        (agent("a"), r#""yours":true"#),
        (agent("b"), r#""held_by":"a""#),
        (stranger, r#""held_by":"another""#),
    ] {
        let shown = listed(&hub, &mut browser, &caller, list(), TABS).await;
        assert_eq!(shown, format!(r#"[{{"tab_id":3,"title":"x",{whose}}},{{"tab_id":4}}]"#));
    }
    let tab = TargetSelector { browser: None, tab: Some(TabId(3)) };
    hub.release_tab(&agent("a"), &tab, false).unwrap();
    assert_eq!(listed(&hub, &mut browser, &agent("b"), list(), TABS).await, TABS);
}

#[tokio::test(start_paused = true)]
async fn a_client_may_share_the_tab_that_it_opens_or_give_it_back() {
    let (hub, _browser) = opened(true).await;
    assert!(hub.submit(&agent("b"), script_in(3)).await.is_ok());
    assert!(held(&hub, "b", 3).unwrap().shared);
    let (hub, mut browser) = opened(false).await;
    let tab = TargetSelector { browser: None, tab: Some(TabId(3)) };
    assert_eq!(hub.release_tab(&agent("b"), &tab, false).unwrap(), (TabId(3), false));
    assert_in_use(&refused(&hub, "b", script_in(3)).await, "a");
    assert_eq!(hub.release_tab(&agent("a"), &tab, false).unwrap(), (TabId(3), true));
    assert!(hub.submit(&agent("b"), script_in(3)).await.is_ok());
    assert!(browser.shown().await.is_empty());
    let nowhere = TargetSelector { browser: None, tab: Some(TabId(77)) };
    assert!(matches!(
        hub.release_tab(&agent("a"), &nowhere, false).unwrap_err().why,
        RefusalReason::TabGone { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn the_person_takes_a_tab_back() {
    let (hub, browser) = opened(false).await;
    browser.link.receive(FromExtension::TakeTab { tab_id: TabId(3) });
    assert!(hub.submit(&agent("b"), script_in(3)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_is_closed_is_nobodys() {
    let (hub, browser) = opened(false).await;
    browser.link.receive(FromExtension::Tabs { tabs: tabs(4..=9, "http://127.0.0.1/") });
    browser.link.receive(FromExtension::Tabs { tabs: tabs(1..=9, "http://127.0.0.1/") });
    assert!(held(&hub, "a", 3).is_none());
}

#[tokio::test(start_paused = true)]
async fn tabs_that_a_click_opens_belong_to_the_client_of_the_tab_and_what_a_script_says_to_nobody()
{
    let (hub, mut browser) = opened(false).await;
    hub.submit(&agent("a"), clicking(3)).await.unwrap();
    browser.does(r#"{"new_tab":[5,6]}"#).await;
    hub.submit(&agent("a"), script_in(3)).await.unwrap();
    browser.does(r#"{"new_tab":7}"#).await;
    assert!(held(&hub, "a", 5).is_some() && held(&hub, "a", 6).is_some());
    assert!(held(&hub, "a", 7).is_none(), "a page made that result");
    hub.submit(&agent("a"), clicking(4)).await.unwrap();
    browser.does(r#"{"new_tab":8}"#).await;
    assert!(held(&hub, "a", 8).is_none(), "its opener is nobody's");
}

#[tokio::test(start_paused = true)]
async fn a_tab_of_the_person_is_held_around_the_acts_that_name_it_on_the_surface_of_single_tools() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let long = Submission { timeout: limits::EXECUTE_MAX, ..taking(4) };
    hub.submit(&agent("a"), long).await.unwrap();
    let running = browser.starts().await;
    pass(limits::LEASE_BORROWED + seconds(1)).await;
    assert_in_use(&refused(&hub, "b", script_in(4)).await, "a");
    browser.has_done(running, "1").await;
    pass(limits::LEASE_BORROWED - seconds(1)).await;
    assert_in_use(&refused(&hub, "b", taking(4)).await, "a");
    pass(seconds(1)).await;
    assert!(hub.submit(&agent("b"), taking(4)).await.is_ok());
    assert!(held(&hub, "b", 4).is_some_and(|holder| holder.you && !holder.opened));
}

#[tokio::test(start_paused = true)]
async fn the_persons_own_input_ends_the_hold_of_their_tab_and_no_hold_of_one_that_a_client_opened()
{
    let (hub, mut browser) = opened(false).await;
    hub.submit(&agent("a"), taking(4)).await.unwrap();
    let running = browser.starts().await;
    for tab in [3, 4] {
        browser.link.receive(FromExtension::KeepTab { tab_id: TabId(tab) });
    }
    assert_in_use(&refused(&hub, "b", script_in(3)).await, "a");
    assert!(held(&hub, "a", 4).is_none());
    let other = hub.submit(&agent("b"), taking(4)).await.unwrap().id;
    browser.has_done(running, "1").await;
    let (begun, _) = browser.starts().await;
    assert_eq!(begun, other, "it waited for the running command, and for nothing more");
    assert!(held(&hub, "b", 4).is_some_and(|holder| holder.you));
}

#[tokio::test(start_paused = true)]
async fn what_a_client_does_in_the_persons_tab_without_acting_holds_it_no_longer() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), taking(4)).await.unwrap();
    browser.does("1").await;
    for _ in 0..3 {
        pass(limits::LEASE_BORROWED / 3).await;
        hub.submit(&agent("a"), looking(4)).await.unwrap();
    }
    assert!(hub.submit(&agent("b"), taking(4)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_lease_ends_when_the_tab_is_not_used_for_long() {
    let (hub, mut browser) = opened(false).await;
    let _stream = hub.present(&agent("a"));
    pass(limits::LEASE_IDLE - seconds(5)).await;
    hub.submit(&agent("a"), script_in(3)).await.unwrap();
    browser.does("1").await;
    pass(limits::LEASE_IDLE - seconds(1)).await;
    assert_in_use(&refused(&hub, "b", script_in(3)).await, "a");
    pass(seconds(1)).await;
    assert!(hub.submit(&agent("b"), script_in(3)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_lease_ends_a_minute_after_its_client_was_last_there_and_at_once_for_the_owners_others() {
    // A client without a stream is there for as long as it calls.
    let (hub, _browser) = opened(false).await;
    pass(limits::LEASE_ABSENT - seconds(1)).await;
    assert_in_use(&refused(&hub, "b", script_in(3)).await, "a");
    pass(seconds(1)).await;
    assert!(hub.submit(&agent("b"), script_in(3)).await.is_ok());

    let (hub, _browser) = opened(false).await;
    let stream = hub.present(&agent("a"));
    pass(limits::LEASE_ABSENT * 2).await;
    assert_in_use(&refused(&hub, "b", script_in(3)).await, "a");
    drop(stream);
    let other = Caller { owner: "other".into(), client: "c".into() };
    let why = hub.submit(&other, script_in(3)).await.unwrap_err().why;
    let RefusalReason::TabInUse { holder: None, .. } = &why else { panic!("{why:?}") };
    assert!(!why.message().contains("`a`"), "{}", why.message());
    assert!(hub.submit(&agent("b"), script_in(3)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_lease_follows_a_tab_whose_page_was_unloaded() {
    let (hub, browser) = opened(false).await;
    let mut open = tabs(1..=9, "http://127.0.0.1/");
    open[2].former_ids = vec![TabId(3)];
    open[2].tab_id = TabId(33);
    browser.link.receive(FromExtension::Tabs { tabs: open });
    assert!(held(&hub, "a", 33).is_some_and(|holder| holder.you && holder.opened));
    for tab in [3, 33] {
        assert_in_use(&refused(&hub, "b", script_in(tab)).await, "a");
        assert!(hub.submit(&agent("a"), script_in(tab)).await.is_ok());
    }
}

/// Runs the next command, whose extension says that it has opened this tab, and has it fail.
async fn opens_and_fails(browser: &mut Extension, tab: i64) {
    let (id, attempt) = browser.starts().await;
    let (correlation_id, tab_id) = (id.clone(), TabId(tab));
    browser.link.receive(FromExtension::TabOpened { correlation_id, tab_id, private: false });
    let error = ReportedError::new("timeout", "it loads for too long");
    browser.report(&id, attempt, ExtensionReport::Error { error });
    pass(Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_a_failed_command_or_a_step_has_opened_is_its_clients() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::attach(&hub, "b", "i");
    let mut able = ready("Test", Vec::new());
    able.actions.push("batch".to_owned());
    browser.link.receive(FromExtension::Ready(able));
    let batch = |more: &str| {
        let steps = format!(
            r#"{{"action": "batch", "steps": [{{"action": "tab_open"{more}}}, {{"action": "page_info"}}]}}"#
        );
        Submission { action: serde_json::from_str(&steps).unwrap(), ..script() }
    };
    for (call, tab) in [(opening(false), 3), (batch(""), 4)] {
        hub.submit(&agent("a"), call).await.unwrap();
        opens_and_fails(&mut browser, tab).await;
        assert_in_use(&refused(&hub, "b", script_in(tab)).await, "a");
        assert!(held(&hub, "a", tab).unwrap().opened);
    }
    hub.submit(&agent("a"), batch(r#", "share": true"#)).await.unwrap();
    opens_and_fails(&mut browser, 5).await;
    assert!(hub.submit(&agent("b"), script_in(5)).await.is_ok(), "it is shared");
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_a_page_opens_during_an_act_is_its_clients_at_once() {
    let (hub, mut browser) = opened(false).await;
    hub.submit(&agent("a"), clicking(3)).await.unwrap();
    let (id, attempt) = browser.starts().await;
    let created = |tab| FromExtension::TabCreated { source_tab_id: TabId(3), tab_id: TabId(tab) };
    browser.link.receive(created(4));
    assert_in_use(&refused(&hub, "b", script_in(4)).await, "a");
    let error = ReportedError::new("timeout", "too long");
    browser.report(&id, attempt, ExtensionReport::Error { error });
    pass(limits::OPENED_AFTER_ACT).await;
    browser.link.receive(created(5));
    assert!(hub.submit(&agent("b"), script_in(5)).await.is_ok(), "no act has led to it");
}

#[tokio::test(start_paused = true)]
async fn a_lease_goes_on_in_the_next_life_of_the_daemon() {
    let lease = TabLease {
        browser: "b".into(),
        tab: TabId(3),
        holder: agent("a"),
        kind: LeaseKind::Opened,
        is_shared: false,
        since: Timestamp::from_unix_micros(5),
        used: Timestamp::from_unix_micros(5),
    };
    let history = RecordedHistory {
        leases: vec![lease],
        sessions: vec![("b".into(), "run_1".into())],
        ..RecordedHistory::default()
    };
    let (hub, _pages) = recorded::next_life(history);
    let browser = Extension::attach(&hub, "b", "i");
    browser.ready_with(Some("run_1"), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    assert_in_use(&refused(&hub, "b", script_in(3)).await, "a");
    assert!(held(&hub, "a", 3).is_some_and(|holder| holder.you && holder.opened));
}
