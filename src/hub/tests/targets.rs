//! Which browser and which tab a command is for.

use super::*;
use crate::protocol::actions::{TabCloseAction, TabOpenAction};

#[tokio::test(start_paused = true)]
async fn several_browsers_and_none_named_is_ambiguous_and_says_which_there_are() {
    let hub = Hub::start(Limits::default());
    let _one = Extension::connect(&hub, "b1", "i1");
    let mut two = Extension::connect(&hub, "b2", "i1");
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    let RefusalReason::AmbiguousBrowser { browsers } = refused.why else { panic!("{refused:?}") };
    assert_eq!(browsers.len(), 2);
    let named = TargetSelector { browser: Some("b2".to_owned()), tab: None };
    let id = hub.submit(&agent("a"), Submission { selector: named, ..script() }).await.unwrap().id;
    assert_eq!(two.command().await.0, id);
    // From here on it is the client's own.
    assert!(hub.submit(&agent("a"), script()).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_is_gone_is_refused_and_a_browser_that_is_away_is_waited_for() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let refused = hub.submit(&agent("a"), script_in(99)).await.unwrap_err();
    let RefusalReason::TabGone { wanted: TabId(99), tabs, .. } = refused.why else {
        panic!("{refused:?}")
    };
    assert_eq!(tabs.len(), 10);
    hub.submit(&agent("a"), script_in(2)).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "x").await;
    drop(browser);
    assert!(hub.submit(&agent("a"), script()).await.is_ok());
    let nowhere = TargetSelector { browser: Some("no such".to_owned()), tab: None };
    let refused =
        hub.submit(&agent("a"), Submission { selector: nowhere, ..script() }).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::BrowserGone { .. }), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_was_opened_is_the_clients_current_one_and_no_one_elses() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let open = Submission {
        action: Action::TabOpen(TabOpenAction {
            url: None,
            focus: None,
            share: None,
            keep: None,
            private: None,
        }),
        ..script()
    };
    hub.submit(&agent("a"), open.clone()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    let opened = r#"{"success":true,"value":{"tab_id":5,"url":"","title":""},"type":"object"}"#;
    let result = RawValue::from_string(opened.to_owned()).unwrap().into();
    browser.report(&id, attempt, ExtensionReport::Complete { result, origin: None });
    assert!(matches!(browser.frame().await, ToExtension::HeldTabs { .. }));
    assert!(matches!(browser.frame().await, ToExtension::OpenedTabs { .. }));
    assert!(matches!(browser.frame().await, ToExtension::ResultAck { .. }));
    let current = |client| {
        hub.tabs(&agent(client)).into_iter().find(|tab| tab.current).map(|tab| tab.tab.tab_id.0)
    };
    assert_eq!((current("a"), current("b")), (Some(5), None));

    // What names no tab changes nothing.
    hub.submit(&agent("a"), open).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "tab 6").await;
    assert_eq!(current("a"), Some(5));
}

#[tokio::test(start_paused = true)]
async fn a_tab_is_closed_while_a_command_runs_in_it_and_does_not_become_the_current_one() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script_in(2)).await.unwrap();
    browser.begin().await;
    hub.submit(&agent("b"), script_in(3)).await.unwrap();
    browser.begin().await;
    let close = Submission { action: Action::TabClose(TabCloseAction {}), ..script_in(2) };
    let closing = hub.submit(&agent("b"), close).await.unwrap().id;
    let (id, attempt) = browser.begin().await;
    assert_eq!(id, closing);
    browser.complete(&id, attempt, "closed").await;
    let current = hub.tabs(&agent("b")).into_iter().find(|tab| tab.current);
    assert_eq!(current.map(|tab| tab.tab.tab_id), Some(TabId(3)));
}

#[tokio::test(start_paused = true)]
async fn browsers_of_a_kind_are_told_apart_by_a_number_that_stays_with_them() {
    let hub = Hub::start(Limits::default());
    let connect = |id: &str, label: &str| {
        let extension = Extension::attach(&hub, id, "i1");
        extension.ready_as(label);
        extension
    };
    let labels = || {
        let known = hub.browsers().into_iter();
        known.map(|b| (b.browser.to_string(), b.label)).collect::<HashMap<_, _>>()
    };
    // One that calls itself what another would be numbered as.
    let odd = connect("odd", "Chromium 2");
    let first = connect("first", "Chromium");
    let mut third = connect("third", "Chromium");
    assert_eq!(labels()["third"], "Chromium 3");
    drop((odd, first));
    let _last = connect("last", "Chromium");
    let _first = connect("first", "Chromium");
    let expected = [
        ("odd", "Chromium 2"),
        ("first", "Chromium"),
        ("third", "Chromium 3"),
        ("last", "Chromium 4"),
    ];
    assert_eq!(labels(), expected.map(|(id, label)| (id.to_owned(), label.to_owned())).into());

    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    let RefusalReason::AmbiguousBrowser { browsers } = refused.why else { panic!("{refused:?}") };
    let shown: Vec<_> = browsers.into_iter().map(|choice| choice.label).collect();
    assert_eq!(shown, ["Chromium", "Chromium 3", "Chromium 4"]);
    let named = TargetSelector { browser: Some("Chromium 3".to_owned()), tab: None };
    let id = hub.submit(&agent("a"), Submission { selector: named, ..script() }).await.unwrap().id;
    assert_eq!(third.command().await.0, id);
    // A browser that was updated may call itself something else.
    third.ready_as("Chrome");
    assert_eq!(labels()["third"], "Chrome");
}

/// A call of a client that is to tell its tabs apart.
fn named(call: Submission) -> Submission {
    Submission { takes_tab: true, ..call }
}

fn click(target: &str) -> Submission {
    let click = format!(r#"{{"action":"click","target":"{target}"}}"#);
    Submission { action: serde_json::from_str(&click).unwrap(), ..script() }
}

/// The code of the refusal of a call; empty if it is accepted.
async fn refusal(hub: &Hub, call: Submission) -> &'static str {
    hub.submit(&agent("a"), call).await.map_or_else(|refused| refused.why.code(), |_| "")
}

/// A browser whose tabs 1 to 3 have the letters a to c.
fn lettered(hub: &Hub, browser: &str) -> Extension {
    let extension = Extension::attach(hub, browser, "i1");
    let mut tabs = tabs(1..=3, "http://127.0.0.1/");
    for (tab, letters) in tabs.iter_mut().zip(["a", "b", "c"]) {
        tab.ref_prefix = Some(letters.to_owned());
    }
    extension.ready_with(Some("s"), tabs, Vec::new());
    extension
}

#[tokio::test(start_paused = true)]
async fn a_client_that_uses_two_tabs_says_which_and_a_ref_says_it_too() {
    let hub = Hub::start(Limits::default());
    let mut browser = lettered(&hub, "b");
    assert_eq!(refusal(&hub, named(script_in(1))).await, "");
    browser.run_one().await;
    // It has used one: its calls go on without a name.
    assert_eq!(refusal(&hub, named(script())).await, "");
    browser.run_one().await;
    assert_eq!(refusal(&hub, named(script_in(2))).await, "");
    browser.run_one().await;
    let refused = hub.submit(&agent("a"), named(script())).await.unwrap_err();
    let RefusalReason::WhichTab { tabs: used } = refused.why else { panic!("{refused:?}") };
    assert_eq!(used.iter().map(|tab| tab.tab.tab_id.0).collect::<Vec<_>>(), [1, 2]);
    // On the surface of the five tools the call goes to the tab that was used last.
    assert_eq!(refusal(&hub, script()).await, "");
    assert_eq!(browser.run_one().await, Some(TabId(2)));
    // A ref names its tab on both, also a tab that was not used before.
    for (target, tab) in [("a1", 1), ("b77", 2), ("c1", 3)] {
        assert_eq!(refusal(&hub, named(click(target))).await, "", "{target}");
        assert_eq!(browser.run_one().await, Some(TabId(tab)), "{target}");
    }
    // Letters that no tab has name none.
    assert_eq!(refusal(&hub, named(click("z1"))).await, "which_tab");
    assert_eq!(refusal(&hub, named(click("#save"))).await, "which_tab");
    let at_tab = TargetSelector::default();
    assert_eq!(hub.find_tab(&agent("a"), &at_tab, true).unwrap_err().why.code(), "which_tab");
    assert!(hub.find_tab(&agent("a"), &at_tab, false).is_ok());
    // Another client has used none: its call goes on to the active tab, which this one holds.
    let others = hub.submit(&agent("b"), named(script())).await.unwrap_err();
    assert_eq!(others.why.code(), "tab_in_use");
    // In another run of the browser the numbers mean other tabs.
    browser.ready_with(Some("another"), tabs(1..=3, "http://127.0.0.2/"), Vec::new());
    assert_eq!(refusal(&hub, named(script())).await, "");
}

#[tokio::test(start_paused = true)]
async fn tabs_that_were_closed_or_not_used_for_ten_minutes_need_not_be_told_apart() {
    let hub = Hub::start(Limits::default());
    let mut browser = lettered(&hub, "b");
    for tab in [1, 2] {
        assert_eq!(refusal(&hub, named(script_in(tab))).await, "");
        browser.run_one().await;
    }
    assert_eq!(refusal(&hub, named(script())).await, "which_tab");
    browser.link.receive(FromExtension::Tabs { tabs: tabs(2..=3, "http://127.0.0.1/") });
    assert_eq!(refusal(&hub, named(script())).await, "");
    assert_eq!(browser.run_one().await, Some(TabId(2)));
    assert_eq!(refusal(&hub, named(script_in(3))).await, "");
    browser.run_one().await;
    advance(limits::TABS_TOLD_APART - seconds(1)).await;
    assert_eq!(refusal(&hub, named(script())).await, "which_tab");
    advance(seconds(1)).await;
    assert_eq!(refusal(&hub, named(script())).await, "");
    assert_eq!(browser.run_one().await, Some(TabId(3)));
}

#[tokio::test(start_paused = true)]
async fn a_ref_of_letters_that_two_browsers_have_names_the_tab_that_the_client_uses() {
    let hub = Hub::start(Limits::default());
    let (mut one, mut two) = (lettered(&hub, "b1"), lettered(&hub, "b2"));
    assert_eq!(refusal(&hub, named(click("a1"))).await, "ambiguous_browser");
    let there = |browser: &str, tab| TargetSelector {
        browser: Some(browser.to_owned()),
        tab: Some(TabId(tab)),
    };
    let first = Submission { selector: there("b1", 1), ..script() };
    assert_eq!(refusal(&hub, named(first)).await, "");
    one.run_one().await;
    let second = Submission { selector: there("b2", 2), ..script() };
    assert_eq!(refusal(&hub, named(second)).await, "");
    two.run_one().await;
    assert_eq!(refusal(&hub, named(click("a1"))).await, "");
    assert_eq!(one.run_one().await, Some(TabId(1)));
    assert_eq!(refusal(&hub, named(click("b1"))).await, "");
    assert_eq!(two.run_one().await, Some(TabId(2)));
    let refused = hub.submit(&agent("a"), named(click("c1"))).await.unwrap_err();
    let RefusalReason::WhichTab { tabs } = refused.why else { panic!("{refused:?}") };
    let browsers: Vec<_> = tabs.into_iter().filter_map(|tab| tab.browser).collect();
    assert_eq!(browsers.len(), 2, "{browsers:?}");
}

/// A browser whose run `before` is over, with two commands that wait for it: one for the
/// tab that client `a` used last, which is 3, and one of client `b` for tab 4 by name.
async fn away_with_two_waiting(hub: &Hub, before: Option<&str>) -> [CorrelationId; 2] {
    let mut browser = Extension::attach(hub, "b", "i1");
    browser.ready_with(before, tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    hub.submit(&agent("a"), script_in(3)).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "x").await;
    let implicit = hub.submit(&agent("a"), script()).await.unwrap().id;
    // Delivered and not begun: it may be sent again, to whatever tab.
    assert_eq!(browser.command_and_tab().await, (implicit.clone(), Some(3)));
    drop(browser);
    [implicit, hub.submit(&agent("b"), script_in(4)).await.unwrap().id]
}

/// Which tabs the two commands and client `a` have when the browser is back.
async fn tabs_after(
    hub: &Hub,
    [implicit, explicit]: [CorrelationId; 2],
    now: Option<&str>,
    open: Vec<BrowserTab>,
) -> [Option<i64>; 3] {
    let mut browser = Extension::attach(hub, "b", "i2");
    browser.ready_with(now, open, Vec::new());
    let delivered: HashMap<_, _> =
        [browser.command_and_tab().await, browser.command_and_tab().await].into();
    let own = hub.clients(&"user".into()).into_iter().find(|c| c.client.as_str() == "a").unwrap();
    [delivered[&implicit], delivered[&explicit], own.tab_id.map(|tab| tab.0)]
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_of_the_browser_its_active_tab_is_used_even_if_numbers_come_again() {
    for open in [tabs(21..=22, "http://127.0.0.1/"), tabs(1..=10, "http://other.test/")] {
        let active = Some(open[0].tab_id.0);
        let hub = Hub::start(Limits::default());
        let waiting = away_with_two_waiting(&hub, Some("s1")).await;
        let nowhere = Some(TabId::OF_FORMER_SESSION.0);
        let after = tabs_after(&hub, waiting, Some("s2"), open).await;
        assert_eq!(after, [active, nowhere, active]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tab_is_still_the_same_after_a_worker_was_killed_or_the_extension_reloaded() {
    let elsewhere = tabs(1..=10, "http://other.test/");
    let unchanged = tabs(1..=10, "http://127.0.0.1/");
    for (now, open) in [("s1", elsewhere), ("s2", unchanged)] {
        let hub = Hub::start(Limits::default());
        let waiting = away_with_two_waiting(&hub, Some("s1")).await;
        let after = tabs_after(&hub, waiting, Some(now), open).await;
        assert_eq!(after, [Some(3), Some(4), Some(3)]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_names_no_session_is_in_a_new_one_if_none_of_its_tabs_is_left() {
    let nowhere = Some(TabId::OF_FORMER_SESSION.0);
    for (open, expected) in [
        (tabs(21..=22, "http://127.0.0.1/"), [Some(21), nowhere, Some(21)]),
        (tabs(4..=22, "http://127.0.0.1/"), [Some(3), Some(4), Some(3)]),
    ] {
        let hub = Hub::start(Limits::default());
        let waiting = away_with_two_waiting(&hub, None).await;
        assert_eq!(tabs_after(&hub, waiting, None, open).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_client_keeps_its_browser_and_a_tab_that_it_names_must_be_there() {
    let hub = Hub::start(Limits::default());
    let other = Extension::connect(&hub, "other", "i1");
    let mut browser = Extension::attach(&hub, "b", "i1");
    browser.ready_with(Some("s1"), tabs(41..=42, "http://127.0.0.1/"), Vec::new());
    hub.submit(&agent("a"), script_in(42)).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "x").await;
    // As a browser that is quit says, before it goes.
    browser.link.receive(FromExtension::Tabs { tabs: Vec::new() });
    drop(browser);
    let mut browser = Extension::attach(&hub, "b", "i2");
    browser.ready_with(Some("s2"), tabs(51..=52, "http://127.0.0.1/"), Vec::new());
    let refused = hub.submit(&agent("a"), script_in(42)).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::TabGone { .. }));
    hub.submit(&agent("a"), script()).await.unwrap();
    assert_eq!(browser.command_and_tab().await.1, Some(51));
    drop(other);
}

/// The tabs after the browser has unloaded tab 3, which is 33 from then on.
fn tabs_after_discard() -> Vec<BrowserTab> {
    let mut open = tabs(1..=10, "http://127.0.0.1/");
    open[2].tab_id = TabId(33);
    open[2].discarded = true;
    open[2].former_ids = vec![TabId(3)];
    open
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_was_unloaded_is_the_same_under_its_new_id_for_all_that_named_it() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::attach(&hub, "b", "i1");
    browser.ready_with(Some("s1"), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    let running = hub.submit(&agent("a"), script_in(3)).await.unwrap().id;
    let waiting = hub.submit(&agent("a"), script_in(3)).await.unwrap().id;
    let (id, attempt) = browser.begin().await;
    assert_eq!(id, running);
    let change = CaptureChange {
        on: true,
        streams: None,
        of: TargetSelector { browser: None, tab: Some(TabId(3)) },
    };
    hub.capture(&agent("a"), &change).unwrap();
    browser.link.receive(FromExtension::Tabs { tabs: tabs_after_discard() });
    // The recording and the command that waits, with its new lane, follow at once.
    let mut captured = None;
    let (of, tab) = loop {
        match browser.frame().await {
            ToExtension::Capture { capture } => captured = Some(capture),
            ToExtension::Command { command, .. } => break (command.correlation_id, command.tab_id),
            _ => {}
        }
    };
    assert_eq!((of, tab), (waiting, Some(TabId(33))));
    let captured = serde_json::to_value(captured.expect("the recording")).unwrap();
    assert_eq!(captured["tabs"][0]["tab_id"], 33, "{captured}");
    browser.complete(&id, attempt, "x").await;
    // Calls by the former id, and without one.
    hub.submit(&agent("b"), script_in(3)).await.unwrap();
    let own = hub.clients(&"user".into()).into_iter().find(|c| c.client.as_str() == "a").unwrap();
    assert_eq!(own.tab_id, Some(TabId(33)));
    let selector = TargetSelector { browser: None, tab: Some(TabId(3)) };
    assert_eq!(hub.find_tab(&agent("a"), &selector, false).unwrap().1.tab_id, TabId(33));
    // It has used one tab, under two ids: no call has to say which.
    let unnamed = hub.find_tab(&agent("a"), &TargetSelector::default(), true);
    assert_eq!(unnamed.unwrap().1.tab_id, TabId(33));
    // The same list again moves nothing, and a tab that is closed is gone under all its ids.
    browser.link.receive(FromExtension::Tabs { tabs: tabs_after_discard() });
    browser.link.receive(FromExtension::Tabs { tabs: tabs(4..=9, "http://127.0.0.1/") });
    let refused = hub.submit(&agent("a"), script_in(3)).await.unwrap_err();
    assert!(matches!(refused.why, RefusalReason::TabGone { .. }));
}
