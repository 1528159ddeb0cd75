//! Tabs that clients opened: when they are closed, and what keeps them open.

use super::*;
use crate::engine::ClientTab;
use crate::protocol::actions::TabOpenAction;
use crate::protocol::{AgentTab, RestoredTab};

const DELAY: Duration = Duration::from_secs(600);

fn opening(keep: bool) -> Submission {
    let keep = keep.then_some(true);
    let action = TabOpenAction { url: None, focus: None, share: None, keep, private: None };
    Submission { action: action.into(), ..script() }
}

fn acting(tab: i64) -> Submission {
    let click = r#"{"action": "click", "target": "b1"}"#;
    Submission { action: serde_json::from_str(click).unwrap(), ..script_in(tab) }
}

impl Extension {
    /// The tabs that it was asked to close since the last look, and the last list of opened tabs.
    async fn closings(&mut self) -> (Vec<i64>, Option<Vec<AgentTab>>) {
        let (mut closed, mut shown) = (Vec::new(), None);
        while let Ok(Ok(frame)) =
            tokio::time::timeout(Duration::from_millis(1), self.outbox.next()).await
        {
            match frame {
                ToExtension::CloseTabs { tab_ids } => closed.extend(tab_ids.iter().map(|id| id.0)),
                ToExtension::OpenedTabs { opened } => shown = Some(opened),
                _ => {}
            }
        }
        (closed, shown)
    }

    async fn closed(&mut self) -> Vec<i64> {
        self.closings().await.0
    }
}

/// Client `a` is there and has opened tab 3.
async fn opened(keep: bool) -> (Hub, Extension, PresenceGuard) {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let stream = hub.present(&agent("a"));
    hub.submit(&agent("a"), opening(keep)).await.unwrap();
    browser.does(r#"{"tab_id":3}"#).await;
    (hub, browser, stream)
}

#[tokio::test(start_paused = true)]
async fn a_tab_is_closed_ten_minutes_after_the_client_that_opened_it_has_left() {
    let (hub, mut browser, stream) = opened(false).await;
    pass(DELAY * 6).await;
    let (closed, shown) = browser.closings().await;
    assert!(closed.is_empty(), "its client is there");
    let [tab] = &shown.unwrap()[..] else { panic!() };
    assert_eq!((tab.tab_id, &*tab.client, tab.closes_at), (TabId(3), "a", None));
    drop(stream);
    let closes_at = hub.now() + DELAY;
    let (_, shown) = browser.closings().await;
    assert_eq!(shown.unwrap()[0].closes_at, Some(closes_at));
    pass(DELAY - seconds(1)).await;
    assert!(browser.closed().await.is_empty());
    pass(seconds(1)).await;
    assert_eq!(browser.closed().await, [3]);
    pass(seconds(59)).await;
    assert!(browser.closed().await.is_empty(), "it was just asked");
    pass(seconds(1)).await;
    assert_eq!(browser.closed().await, [3], "it had left it open");
    browser.link.receive(FromExtension::Tabs { tabs: tabs(4..=9, "http://127.0.0.1/") });
    assert_eq!(browser.closings().await.1, Some(Vec::new()));
    pass(DELAY).await;
    assert!(browser.closed().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tab_whose_page_was_unloaded_is_closed_under_its_new_id() {
    let (_hub, mut browser, stream) = opened(false).await;
    browser.closings().await;
    let mut open = tabs(1..=9, "http://127.0.0.1/");
    open[2].former_ids = vec![TabId(3)];
    open[2].tab_id = TabId(33);
    browser.link.receive(FromExtension::Tabs { tabs: open });
    let (_, shown) = browser.closings().await;
    assert_eq!(shown.unwrap().iter().map(|tab| tab.tab_id).collect::<Vec<_>>(), [TabId(33)]);
    drop(stream);
    pass(DELAY).await;
    assert_eq!(browser.closed().await, [33]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_back_keeps_its_tabs_and_one_without_a_stream_has_ended_after_its_silence()
{
    let (hub, mut browser, stream) = opened(false).await;
    drop(stream);
    pass(DELAY - seconds(1)).await;
    let stream = hub.present(&agent("a"));
    pass(DELAY * 2).await;
    assert!(browser.closed().await.is_empty());
    drop(stream);
    pass(DELAY).await;
    assert_eq!(browser.closed().await, [3]);

    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), opening(false)).await.unwrap();
    browser.does(r#"{"tab_id":3}"#).await;
    pass(limits::CLIENT_LISTED + DELAY - seconds(1)).await;
    assert!(browser.closed().await.is_empty());
    pass(seconds(1)).await;
    assert_eq!(browser.closed().await, [3]);
}

#[tokio::test(start_paused = true)]
async fn what_the_person_the_agent_or_the_setting_keeps_is_not_closed() {
    let (_hub, mut browser, stream) = opened(false).await;
    browser.link.receive(FromExtension::KeepTab { tab_id: TabId(3) });
    drop(stream);
    pass(DELAY * 2).await;
    let (closed, shown) = browser.closings().await;
    assert!(closed.is_empty(), "the person keeps it");
    assert_eq!(shown, Some(Vec::new()));

    let (_hub, mut browser, stream) = opened(false).await;
    browser.link.receive(FromExtension::TakeTab { tab_id: TabId(3) });
    drop(stream);
    pass(DELAY * 2).await;
    assert!(browser.closed().await.is_empty(), "the person takes it back");

    let (_hub, mut browser, stream) = opened(true).await;
    drop(stream);
    pass(DELAY * 2).await;
    assert!(browser.closed().await.is_empty(), "the agent keeps it");

    let hub = Hub::start(Limits { leftover_tabs_s: 0, ..Limits::default() });
    let mut browser = Extension::connect(&hub, "b", "i");
    let stream = hub.present(&agent("a"));
    hub.submit(&agent("a"), opening(false)).await.unwrap();
    browser.does(r#"{"tab_id":3}"#).await;
    drop(stream);
    pass(DELAY * 2).await;
    assert!(browser.closed().await.is_empty(), "the setting keeps all");
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_another_client_uses_or_that_a_command_of_its_own_is_open_in_is_not_closed() {
    let (hub, mut browser, stream) = opened(false).await;
    drop(stream);
    pass(DELAY - seconds(10)).await;
    let _other = hub.present(&agent("b"));
    hub.submit(&agent("b"), Submission { takes_tab: true, ..acting(3) }).await.unwrap();
    browser.does("{}").await;
    pass(limits::LEASE_BORROWED).await;
    assert!(browser.closed().await.is_empty(), "another client has just acted in it");
    pass(DELAY).await;
    assert_eq!(browser.closed().await, [3]);

    let (hub, mut browser, stream) = opened(false).await;
    let long = Submission { timeout: limits::EXECUTE_MAX, ..script_in(3) };
    hub.submit(&agent("a"), long).await.unwrap();
    let running = browser.starts().await;
    drop(stream);
    pass(limits::EXECUTE_MAX - seconds(1)).await;
    assert!(browser.closed().await.is_empty(), "its command runs");
    browser.has_done(running, "1").await;
    pass(DELAY - seconds(1)).await;
    assert!(browser.closed().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_short_delay_waits_for_the_commands_and_the_leases_of_other_clients() {
    let hub = Hub::start(Limits { leftover_tabs_s: 5, ..Limits::default() });
    let mut browser = Extension::connect(&hub, "b", "i");
    let stream = hub.present(&agent("a"));
    hub.submit(&agent("a"), opening(false)).await.unwrap();
    browser.does(r#"{"tab_id":3}"#).await;
    drop(stream);
    let _other = hub.present(&agent("b"));
    let long = Submission { timeout: seconds(60), takes_tab: true, ..script_in(3) };
    hub.submit(&agent("b"), long).await.unwrap();
    let running = browser.starts().await;
    pass(seconds(50)).await;
    assert!(browser.closed().await.is_empty(), "a command runs there");
    browser.has_done(running, "1").await;
    pass(limits::LEASE_BORROWED - seconds(1)).await;
    assert!(browser.closed().await.is_empty(), "another client holds it");
    pass(seconds(60)).await;
    assert_eq!(browser.closed().await.first(), Some(&3));
}

#[tokio::test(start_paused = true)]
async fn a_tab_stays_while_a_question_of_its_client_is_open() {
    let (hub, mut browser, stream) = opened(false).await;
    let question = HostTask { deadline: DELAY * 4, ..asks::approve() };
    let id = asks::start(&hub, "a", question);
    drop(stream);
    pass(DELAY * 3).await;
    assert!(browser.closed().await.is_empty());
    browser.answer(&id, asks::allow());
    pass(DELAY).await;
    assert_eq!(browser.closed().await.first(), Some(&3));
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_is_opened_from_an_opened_one_is_closed_with_it_but_not_from_a_kept_one() {
    let (hub, mut browser, stream) = opened(false).await;
    hub.submit(&agent("a"), acting(3)).await.unwrap();
    browser.does(r#"{"new_tab":5}"#).await;
    hub.submit(&agent("a"), acting(4)).await.unwrap();
    browser.does(r#"{"new_tab":6}"#).await;
    browser.link.receive(FromExtension::KeepTab { tab_id: TabId(3) });
    hub.submit(&agent("a"), acting(3)).await.unwrap();
    browser.does(r#"{"new_tab":7}"#).await;
    drop(stream);
    pass(DELAY).await;
    assert_eq!(browser.closed().await, [5]);
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_comes_back_is_asked_again_and_one_that_was_started_anew_is_not() {
    let (hub, mut browser, stream) = opened(false).await;
    drop(stream);
    drop(browser.link);
    pass(DELAY * 2).await;
    browser = Extension::connect(&hub, "b", "i");
    pass(seconds(1)).await;
    assert_eq!(browser.closed().await, [3]);

    let hub = Hub::start(Limits::default());
    let mut browser = Extension::attach(&hub, "b", "i");
    browser.ready_with(Some("run_1"), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    hub.submit(&agent("a"), opening(false)).await.unwrap();
    browser.does(r#"{"tab_id":3}"#).await;
    drop(browser.link);
    browser = Extension::attach(&hub, "b", "j");
    browser.ready_with(Some("run_2"), tabs(1..=10, "http://other.example/"), Vec::new());
    pass(DELAY * 3).await;
    assert!(browser.closed().await.is_empty(), "tab 3 of the new run is another one");
    let restored = |former, tab| RestoredTab { former: TabId(former), tab_id: TabId(tab) };
    let told = vec![restored(4, 5), restored(3, 77), restored(3, 6)];
    browser.link.receive(FromExtension::RestoredTabs { restored: told });
    pass(DELAY * 3).await;
    assert!(browser.closed().await.is_empty(), "one was nobody's, and one is not open");
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_the_browser_brings_back_is_closed_under_its_new_number() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::attach(&hub, "b", "i");
    browser.ready_with(Some("run_1"), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    let stream = hub.present(&agent("a"));
    hub.submit(&agent("a"), opening(false)).await.unwrap();
    browser.does(r#"{"tab_id":3}"#).await;
    drop(browser.link);
    browser = Extension::attach(&hub, "b", "j");
    browser.ready_with(Some("run_2"), tabs(21..=29, "http://127.0.0.1/"), Vec::new());
    let restored = vec![RestoredTab { former: TabId(3), tab_id: TabId(23) }];
    browser.link.receive(FromExtension::RestoredTabs { restored });
    pass(DELAY * 2).await;
    assert!(browser.closed().await.is_empty(), "its client is there");
    drop(stream);
    pass(DELAY).await;
    assert_eq!(browser.closed().await, [23]);
}

#[tokio::test(start_paused = true)]
async fn a_tab_brought_back_after_its_client_has_left_is_closed_when_its_time_comes() {
    // Shorter than the pause after which the timer looks by itself.
    let delay = seconds(7);
    let mut limits = Limits::default();
    assert!(limits.set("leftover_tabs_s", 7));
    let hub = Hub::start(limits);
    let mut browser = Extension::attach(&hub, "b", "i");
    browser.ready_with(Some("run_1"), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
    let stream = hub.present(&agent("a"));
    hub.submit(&agent("a"), opening(false)).await.unwrap();
    browser.does(r#"{"tab_id":3}"#).await;
    drop(browser.link);
    drop(stream);
    pass(delay).await;
    browser = Extension::attach(&hub, "b", "j");
    browser.ready_with(Some("run_2"), tabs(21..=29, "http://127.0.0.1/"), Vec::new());
    pass(seconds(1)).await;
    let restored = vec![RestoredTab { former: TabId(3), tab_id: TabId(23) }];
    browser.link.receive(FromExtension::RestoredTabs { restored });
    pass(delay - seconds(1)).await;
    assert!(browser.closed().await.is_empty(), "its time begins with its return");
    pass(seconds(1)).await;
    assert_eq!(browser.closed().await, [23]);
}

#[tokio::test(start_paused = true)]
async fn who_opened_a_tab_outlives_the_daemon_and_the_browsers_run_does_not() {
    let opened = ClientTab {
        browser: "b".into(),
        tab: TabId(3),
        opener: agent("a"),
        since: Timestamp::from_unix_micros(5),
        used: Timestamp::from_unix_micros(5),
    };
    for (session, closed) in [("run_1", vec![3]), ("run_2", vec![])] {
        let history = RecordedHistory {
            opened_tabs: vec![opened.clone()],
            sessions: vec![("b".into(), "run_1".into())],
            ..RecordedHistory::default()
        };
        let (hub, _pages) = recorded::next_life(history);
        let mut browser = Extension::attach(&hub, "b", "i");
        browser.ready_with(Some(session), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
        pass(limits::CLIENT_LISTED + DELAY - seconds(60)).await;
        assert!(browser.closed().await.is_empty(), "its times begin with the daemon's");
        pass(seconds(120)).await;
        assert_eq!(browser.closed().await.first(), closed.first(), "{session}");
    }
}
