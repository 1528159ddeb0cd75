//! Owners whose clients see only the tabs that they opened.

use super::*;
use crate::engine::CaptureChange;
use crate::protocol::actions::{PageInfoAction, TabListAction, TabOpenAction};
use crate::protocol::{OwnerScopes, StreamKind, TabScope};
use crate::streams::{EntryFilter, EntryForm, LONGEST_PAGE, PageQuery, PageStart, StreamView};

/// A client of the owner that sees its own tabs only, named as one of the owner that sees all.
fn bounded(client: &str) -> Caller {
    Caller { owner: "work".into(), client: format!("work·{client}").as_str().into() }
}

fn everyone(client: &str) -> Caller {
    agent(client)
}

fn own_scope() -> OwnerScopes {
    let mut scopes = OwnerScopes::default();
    scopes.choose("work".into(), TabScope::Own);
    scopes
}

fn shared_scope() -> OwnerScopes {
    let mut scopes = OwnerScopes::default();
    scopes.choose("work".into(), TabScope::Shared);
    scopes
}

fn shares(browser: &Extension, tabs: &[i64]) {
    let tab_ids = tabs.iter().map(|tab| TabId(*tab)).collect();
    browser.link.receive(FromExtension::SharedTabs { tab_ids });
}

fn seen_by(hub: &Hub, caller: &Caller) -> Vec<i64> {
    hub.tabs(caller).iter().map(|tab| tab.tab.tab_id.0).collect()
}

fn submission(action: impl Into<Action>, tab: Option<i64>) -> Submission {
    let selector = TargetSelector { browser: None, tab: tab.map(TabId) };
    Submission { action: action.into(), selector, ..script() }
}

pub(super) fn opening() -> Submission {
    submission(
        TabOpenAction { url: None, focus: None, share: None, keep: None, private: None },
        None,
    )
}

fn clicking(tab: Option<i64>) -> Submission {
    let click = r#"{"action": "click", "target": "b1"}"#;
    submission(serde_json::from_str::<Action>(click).unwrap(), tab)
}

/// A thousand tabs of the person, each with a title and an address that no answer may contain.
fn of_person() -> Vec<BrowserTab> {
    let mut all = tabs(1..=1_000, "http://secret.example/");
    for tab in &mut all {
        tab.title = "Secret".to_owned();
        tab.ref_prefix = Some(format!("p{}", char::from(b'a' + (tab.tab_id.0 % 26) as u8)));
    }
    all
}

/// The same, and these tabs of agents.
fn with(ids: &[i64]) -> Vec<BrowserTab> {
    let mut all = of_person();
    for id in ids {
        let [tab] = &tabs(*id..=*id, "http://own.example/")[..] else { panic!() };
        all.push(BrowserTab { active: false, ref_prefix: Some("q".to_owned()), ..tab.clone() });
    }
    all
}

pub(super) fn connect(hub: &Hub, scopes: Option<bool>) -> Extension {
    let extension = Extension::attach(hub, "b", "i");
    let mut ready = ready("Test", Vec::new());
    ready.actions.push("page_info".to_owned());
    let ready = ReadyFrame { tabs: of_person(), tab_scopes: scopes, ..ready };
    extension.link.receive(FromExtension::Ready(ready));
    extension
}

impl Extension {
    /// The next command, after the news that come before it.
    async fn next_command(&mut self) -> (Attempt, crate::protocol::CommandBody) {
        loop {
            if let ToExtension::Command { attempt, command } = self.frame().await {
                return (attempt, command);
            }
        }
    }

    /// Runs the next command, which opens this tab.
    pub(super) async fn opens(&mut self, tab: i64, listed: &[i64]) -> crate::protocol::CommandBody {
        let (attempt, command) = self.next_command().await;
        let correlation_id = command.correlation_id.clone();
        self.claim(&correlation_id, attempt);
        while !matches!(self.frame().await, ToExtension::Go { .. }) {}
        let (id, tab_id) = (correlation_id.clone(), TabId(tab));
        self.link.receive(FromExtension::TabOpened { correlation_id, tab_id, private: false });
        self.link.receive(FromExtension::Tabs { tabs: with(listed) });
        let json = format!(r#"{{"success":true,"value":{{"tab_id":{tab}}},"type":"object"}}"#);
        let result = RawValue::from_string(json).unwrap().into();
        self.report(&id, attempt, ExtensionReport::Complete { result, origin: None });
        while !matches!(self.frame().await, ToExtension::ResultAck { .. }) {}
        command
    }
}

/// The bounded owner has opened tab 2001.
async fn opened() -> (Hub, Extension) {
    let hub = Hub::start(Limits::default());
    hub.set_scopes(own_scope());
    let mut browser = connect(&hub, Some(true));
    hub.submit(&bounded("a"), opening()).await.unwrap();
    let command = browser.opens(2_001, &[2_001]).await;
    assert_eq!(command.tabs, Some(Vec::new()), "it sees none of the person's");
    (hub, browser)
}

fn refusal(refused: Result<impl std::fmt::Debug, CallRefusal>) -> RefusalReason {
    refused.unwrap_err().why
}

/// What a caller is told of a refusal but for the number that it has named itself.
fn told(why: &RefusalReason, named: i64) -> String {
    let said = format!("{why:?} {} {}", why.message(), why.hint());
    let number = format!("tab {named} in");
    said.replace(&format!("wanted: TabId({named})"), "wanted: N").replace(&number, "tab N in")
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_its_own_tabs_sees_none_of_a_thousand_others_in_any_list_or_count() {
    let (hub, _browser) = opened().await;
    let seen = hub.tabs(&bounded("a"));
    assert_eq!(seen.iter().map(|tab| tab.tab.tab_id.0).collect::<Vec<_>>(), [2_001]);
    assert_eq!(hub.tabs(&everyone("a")).len(), 1_001, "another owner sees every tab");
    assert_eq!(hub.browsers_of(&"work".into())[0].tabs, 1);
    assert_eq!(hub.browsers_of(&everyone("a").owner)[0].tabs, 1_001);
    // A client of the same name belongs to another owner all the same.
    let other = Caller { owner: "other".into(), client: "work·a".into() };
    assert_eq!(hub.tabs(&other).len(), 1_001);
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn each_guessed_id_answers_exactly_as_one_that_does_not_exist() {
    let (hub, _browser) = opened().await;
    let me = bounded("guesser");
    let unknown =
        told(&refusal(hub.submit(&me, submission(PageInfoAction {}, Some(77_777))).await), 77_777);
    let unfound = told(&refusal(hub.find_tab(&me, &named(77_777), false)), 77_777);
    let unreleased = told(&refusal(hub.release_tab(&me, &named(77_777), false)), 77_777);
    let change = |tab| CaptureChange { on: true, streams: None, of: named(tab) };
    let off = |tab| CaptureChange { on: false, ..change(tab) };
    let unrecorded = told(&refusal(hub.capture(&me, &change(77_777))), 77_777);
    let unstopped = told(&refusal(hub.capture(&me, &off(77_777))), 77_777);
    assert!(!unknown.contains("ecret"), "{unknown}");
    for tab in 1..=1_000 {
        let why = refusal(hub.submit(&me, submission(PageInfoAction {}, Some(tab))).await);
        let RefusalReason::TabGone { tabs, .. } = &why else { panic!("{why:?}") };
        assert_eq!(tabs.iter().map(|tab| tab.tab_id.0).collect::<Vec<_>>(), [2_001]);
        assert_eq!(told(&why, tab), unknown);
        assert_eq!(told(&refusal(hub.find_tab(&me, &named(tab), false)), tab), unfound);
        assert_eq!(told(&refusal(hub.release_tab(&me, &named(tab), false)), tab), unreleased);
        assert_eq!(told(&refusal(hub.capture(&me, &change(tab))), tab), unrecorded);
        assert_eq!(told(&refusal(hub.capture(&me, &off(tab))), tab), unstopped);
    }
    hub.shut_down().await;
}

fn named(tab: i64) -> TargetSelector {
    TargetSelector { browser: None, tab: Some(TabId(tab)) }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_tab_never_reaches_the_one_that_the_person_sees() {
    let hub = Hub::start(Limits::default());
    hub.set_scopes(own_scope());
    let me = bounded("a");
    let why = refusal(hub.submit(&me, submission(PageInfoAction {}, None)).await);
    assert_eq!(why.code(), "no_tab", "no browser is there: it must not wait for one");
    let mut browser = connect(&hub, Some(true));
    let why = refusal(hub.submit(&me, submission(PageInfoAction {}, None)).await);
    assert_eq!(why.code(), "no_tab");
    assert!(why.hint().contains("tab_open"), "{}", why.hint());
    assert_eq!(refusal(hub.find_tab(&me, &TargetSelector::default(), false)).code(), "no_tab");
    // An element's letters lead to no tab of the person, either.
    let why = refusal(hub.submit(&me, submission(by_ref("pb1"), None)).await);
    assert_eq!(why.code(), "no_tab");
    hub.submit(&me, opening()).await.unwrap();
    browser.opens(2_001, &[2_001]).await;
    hub.submit(&me, submission(PageInfoAction {}, None)).await.unwrap();
    let (_, command) = browser.next_command().await;
    assert_eq!((command.tab_id, command.tabs), (Some(TabId(2_001)), Some(vec![TabId(2_001)])));
    hub.shut_down().await;
}

fn by_ref(target: &str) -> Action {
    serde_json::from_str(&format!(r#"{{"action": "click", "target": "{target}"}}"#)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_does_not_keep_scopes_gets_no_command_of_a_bounded_owner() {
    let hub = Hub::start(Limits::default());
    hub.set_scopes(own_scope());
    let mut browser = connect(&hub, None);
    let list = || submission(TabListAction {}, None);
    let why = refusal(hub.submit(&bounded("a"), list()).await);
    assert_eq!(why.code(), "scope_not_kept");
    assert!(why.hint().contains("tabwire install"), "{}", why.hint());
    hub.submit(&everyone("a"), list()).await.unwrap();
    let (attempt, command) = browser.next_command().await;
    assert_eq!(command.tabs, None, "another owner is not bounded");
    browser.report(&command.correlation_id, attempt, result("x"));
    // One that waited while the extension was away is not handed over, either.
    drop(browser);
    let id = hub.submit(&bounded("a"), list()).await.unwrap().id;
    let _browser = connect(&hub, None);
    let CommandLookup::Command(report) = hub.get(&bounded("a"), &id, false).await.unwrap() else {
        panic!()
    };
    assert!(format!("{:?}", report.status).contains("scope_not_kept"), "{:?}", report.status);
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_a_page_opens_is_inside_during_and_shortly_after_an_act_of_the_owner_there() {
    let (hub, mut browser) = opened().await;
    let created = |browser: &Extension, source, tab| {
        let (source_tab_id, tab_id) = (TabId(source), TabId(tab));
        browser.link.receive(FromExtension::TabCreated { source_tab_id, tab_id });
        browser
            .link
            .receive(FromExtension::Tabs { tabs: with(&[2_001, 2_002, 2_003, 2_004, 2_005]) });
    };
    let seen =
        |hub: &Hub| hub.tabs(&bounded("a")).iter().map(|tab| tab.tab.tab_id.0).collect::<Vec<_>>();
    created(&browser, 2_001, 2_002);
    assert_eq!(seen(&hub), [2_001], "nobody has acted there");
    hub.submit(&bounded("a"), clicking(Some(2_001))).await.unwrap();
    let (attempt, command) = browser.next_command().await;
    browser.claim(&command.correlation_id, attempt);
    while !matches!(browser.frame().await, ToExtension::Go { .. }) {}
    created(&browser, 2_001, 2_003);
    created(&browser, 5, 2_004);
    assert_eq!(seen(&hub), [2_001, 2_003], "a page of the person has opened the other one");
    browser.report(&command.correlation_id, attempt, result("x"));
    pass(limits::OPENED_AFTER_ACT - Duration::from_millis(100)).await;
    created(&browser, 2_001, 2_004);
    pass(Duration::from_millis(200)).await;
    created(&browser, 2_001, 2_005);
    assert_eq!(seen(&hub), [2_001, 2_003, 2_004], "5 s after the act it is too late");
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_the_person_takes_back_or_that_is_closed_or_of_a_former_run_is_outside() {
    let (hub, mut browser) = opened().await;
    let me = bounded("a");
    let running = hub.submit(&me, clicking(Some(2_001))).await.unwrap().id;
    let (attempt, command) = browser.next_command().await;
    browser.claim(&command.correlation_id, attempt);
    browser.link.receive(FromExtension::TakeTab { tab_id: TabId(2_001) });
    let CommandLookup::Command(report) = hub.get(&me, &running, false).await.unwrap() else {
        panic!()
    };
    assert!(!report.is_pending(), "it was stopped: {:?}", report.status);
    assert!(hub.tabs(&me).is_empty());
    let why = refusal(hub.submit(&me, submission(PageInfoAction {}, None)).await);
    assert_eq!(why.code(), "no_tab", "not even as the current tab");

    let (hub, browser) = opened().await;
    browser.link.receive(FromExtension::Tabs { tabs: of_person() });
    browser.link.receive(FromExtension::Tabs { tabs: with(&[2_001]) });
    assert!(hub.tabs(&bounded("a")).is_empty(), "a closed tab does not come back");

    let (hub, browser) = opened().await;
    let anew = ReadyFrame {
        session: Some(BrowserSession::from("next")),
        tabs: with(&[2_001]),
        tab_scopes: Some(true),
        ..ready("Test", Vec::new())
    };
    let first = ReadyFrame { session: Some(BrowserSession::from("first")), ..anew.clone() };
    browser.link.receive(FromExtension::Ready(first));
    let anew = ReadyFrame { tabs: tabs(2_001..=2_001, "http://other.example/"), ..anew };
    browser.link.receive(FromExtension::Ready(anew));
    assert!(hub.tabs(&bounded("a")).is_empty(), "numbers of a former run mean nothing");
}

#[tokio::test(start_paused = true)]
async fn a_scope_that_is_narrowed_stops_the_commands_outside_and_one_that_is_widened_shows_all() {
    let hub = Hub::start(Limits::default());
    let mut browser = connect(&hub, Some(true));
    let me = bounded("a");
    let id = hub.submit(&me, clicking(Some(5))).await.unwrap().id;
    let (attempt, command) = browser.next_command().await;
    assert_eq!(command.tabs, None);
    browser.claim(&id, attempt);
    // Each tells of a tab: a list of all, a result that nobody has read, a refused call.
    hub.submit(&me, submission(TabListAction {}, None)).await.unwrap();
    let (attempt, list) = browser.next_command().await;
    browser.report(&list.correlation_id, attempt, result("Secret"));
    refusal(hub.submit(&me, clicking(Some(77_777))).await);
    assert_eq!(hub.failures(&me).len(), 1);
    let mut changes = hub.events(&me.owner);
    let other = everyone("a");
    let theirs = hub.submit(&other, clicking(Some(6))).await.unwrap().id;
    hub.submit(&me, clicking(Some(7))).await.unwrap();
    hub.set_scopes(own_scope());
    for id in [&id, &list.correlation_id] {
        let seen = hub.get(&me, id, false).await.unwrap();
        assert!(matches!(seen, CommandLookup::Evicted(_)), "{seen:?}");
    }
    let lists = hub.lists(&me);
    assert!(lists.pending.is_empty() && lists.completed.is_empty() && lists.failed.is_empty());
    assert!(hub.commands(&me.owner).is_empty(), "nor at a terminal");
    let told = tokio::time::timeout(Duration::from_secs(1), changes.next()).await;
    assert!(told.is_err(), "a slow observer is told of none: {told:?}");
    let seen = hub.get(&other, &theirs, false).await.unwrap();
    assert!(matches!(seen, CommandLookup::Command(_)), "another owner's goes on: {seen:?}");
    assert!(hub.tabs(&me).is_empty());
    assert!(hub.clients(&me.owner).iter().all(|client| client.tab_id.is_none()));
    hub.set_scopes(OwnerScopes::default());
    assert_eq!(hub.tabs(&me).len(), 1_000);
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn what_an_owner_did_in_its_own_tabs_stays_readable_when_the_same_scope_is_read_again() {
    let (hub, mut browser) = opened().await;
    let me = bounded("a");
    let id = hub.submit(&me, submission(PageInfoAction {}, None)).await.unwrap().id;
    let (attempt, command) = browser.next_command().await;
    browser.report(&command.correlation_id, attempt, result("mine"));
    let mut more = own_scope();
    more.choose("another".into(), TabScope::Own);
    hub.set_scopes(more);
    let seen = hub.get(&me, &id, false).await.unwrap();
    assert!(matches!(seen, CommandLookup::Command(_)), "{seen:?}");
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cursor_moves_only_with_entries_of_tabs_inside_and_tells_no_place() {
    let (hub, browser) = opened().await;
    let me = bounded("a");
    let page = async |from| {
        let query = PageQuery {
            view: StreamView::Of(StreamKind::Logs),
            filter: EntryFilter::default(),
            from,
            limit: 50,
            room: LONGEST_PAGE,
            form: EntryForm::Whole,
        };
        hub.read_streams(&me, query).await
    };
    let say = async |tab, count: usize| {
        let entries = (0..count).map(|_| line(tab, "said")).collect();
        let stream = "logs".to_owned();
        browser.link.receive(FromExtension::Events { stream, entries });
        pass(Duration::from_millis(50)).await;
    };
    say(2_001, 1).await;
    let first = page(PageStart::Oldest).await;
    assert_eq!(first.entries.len(), 1);
    say(5, 300).await;
    let second = page(PageStart::Cursor(first.next.clone())).await;
    assert_eq!((second.entries.len(), &second.next), (0, &first.next));
    let newest = page(PageStart::Newest).await;
    assert_eq!((newest.entries.len(), &newest.next), (1, &first.next));
    say(2_001, 2).await;
    let third = page(PageStart::Cursor(second.next)).await;
    assert_eq!((third.entries.len(), third.dropped), (2, 0));
    assert_ne!(third.next, first.next);
    let (seal, other) = (hub.cursor_seal(&me.owner), hub.cursor_seal(&everyone("a").owner));
    assert!(seal.is_some() && other.is_none());
    hub.shut_down().await;
}

fn line(tab: i64, text: &str) -> Box<RawValue> {
    let json = format!(
        r#"{{"t":1,"tab_id":{tab},"level":"error","source":"console","text":"{text}","url":"http://secret.example/"}}"#
    );
    RawValue::from_string(json).unwrap()
}

async fn read(hub: &Hub, caller: &Caller, filter: EntryFilter) -> (Vec<String>, String) {
    let page = hub
        .read_streams(
            caller,
            PageQuery {
                view: StreamView::Errors,
                filter,
                from: PageStart::Newest,
                limit: 50,
                room: LONGEST_PAGE,
                form: EntryForm::Whole,
            },
        )
        .await;
    let entries = page.entries.iter().map(|entry| entry.get().to_owned()).collect();
    (entries, format!("{} {} {}", page.dropped, page.hidden, page.has_older))
}

#[tokio::test(start_paused = true)]
async fn recorded_entries_of_tabs_outside_are_in_no_page_and_in_no_count() {
    let (hub, browser) = opened().await;
    let stream = || "logs".to_owned();
    let secret = (1..=1_000).map(|tab| line(tab, "Secret")).collect();
    browser.link.receive(FromExtension::Events { stream: stream(), entries: secret });
    let own = vec![line(2_001, "mine")];
    browser.link.receive(FromExtension::Events { stream: stream(), entries: own });
    pass(Duration::from_millis(50)).await;
    let me = bounded("a");
    let (entries, counts) = read(&hub, &me, EntryFilter::default()).await;
    assert_eq!((entries.len(), &*counts), (1, "0 0 false"));
    assert!(entries[0].contains("mine"), "{}", entries[0]);
    let of_5 = EntryFilter { tab: Some(TabId(5)), ..EntryFilter::default() };
    assert!(read(&hub, &me, of_5).await.0.is_empty());
    assert_eq!(read(&hub, &everyone("a"), EntryFilter::default()).await.0.len(), 50);
    assert_eq!(hub.clear_streams(&me.owner, [StreamKind::Logs]), [(StreamKind::Logs, 1)]);
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn recording_for_a_bounded_owner_begins_in_its_own_tabs_alone_and_tells_of_no_other() {
    let (hub, mut browser) = opened().await;
    let everywhere = |on| CaptureChange {
        on,
        streams: Some([StreamKind::Logs].into()),
        of: TargetSelector::default(),
    };
    let of_5 = CaptureChange { of: named(5), ..everywhere(true) };
    hub.capture(&everyone("a"), &of_5).unwrap();
    let status = hub.capture(&bounded("a"), &everywhere(true)).unwrap();
    assert!(status.browsers.is_empty(), "{status:?}");
    let settings = hub.capture_of(&"b".into());
    assert!(settings.all.is_empty());
    assert_eq!(settings.tabs.iter().map(|tab| tab.tab_id.0).collect::<Vec<_>>(), [5, 2_001]);
    hub.submit(&bounded("a"), opening()).await.unwrap();
    browser.opens(2_002, &[2_001, 2_002]).await;
    assert!(hub.capture_of(&"b".into()).has(StreamKind::Logs, Some(TabId(2_002))));
    let is_on =
        |tab| hub.captures_for(&"work".into(), StreamKind::Websocket, None, Some(TabId(tab)));
    assert_eq!(is_on(5), is_on(77_777));
    hub.capture(&bounded("a"), &everywhere(false)).unwrap();
    let left = hub.capture_of(&"b".into());
    assert_eq!(left.tabs.iter().map(|tab| tab.tab_id.0).collect::<Vec<_>>(), [5]);
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_shared_tab_is_inside_for_owners_who_see_such_tabs_until_it_is_taken_back() {
    let (hub, mut browser) = opened().await;
    let me = bounded("a");
    shares(&browser, &[5]);
    assert_eq!(seen_by(&hub, &me), [2_001], "it sees its own alone");
    let secret = vec![line(5, "before")];
    let events = |entries| FromExtension::Events { stream: "logs".to_owned(), entries };
    browser.link.receive(events(secret));
    pass(Duration::from_millis(50)).await;
    shares(&browser, &[]);
    pass(Duration::from_millis(50)).await;
    hub.set_scopes(shared_scope());
    shares(&browser, &[5]);
    assert_eq!(seen_by(&hub, &me), [5, 2_001]);
    assert_eq!(hub.browsers_of(&me.owner)[0].tabs, 2);
    browser.link.receive(events(vec![line(5, "since"), line(6, "outside")]));
    pass(Duration::from_millis(50)).await;
    let (entries, _) = read(&hub, &me, EntryFilter::default()).await;
    assert_eq!(entries.len(), 1, "nothing from before: {entries:?}");
    assert!(entries[0].contains("since"));
    // Another owner of that scope sees it, too, and not the first one's own.
    let mut both = shared_scope();
    both.choose("other".into(), TabScope::Shared);
    hub.set_scopes(both);
    let other = Caller { owner: "other".into(), client: "other·a".into() };
    assert_eq!(seen_by(&hub, &other), [5]);
    // A command there, which ends with the sharing.
    let id = hub.submit(&me, submission(by_ref("#more"), Some(5))).await.unwrap().id;
    let (attempt, command) = browser.next_command().await;
    assert_eq!(
        (command.tab_id, command.tabs),
        (Some(TabId(5)), Some(vec![TabId(5), TabId(2_001)]))
    );
    browser.claim(&id, attempt);
    while !matches!(browser.frame().await, ToExtension::Go { .. }) {}
    // Its page opens a tab in the act: that is the owner's own.
    let (source_tab_id, tab_id) = (TabId(5), TabId(2_002));
    browser.link.receive(FromExtension::TabCreated { source_tab_id, tab_id });
    browser.link.receive(FromExtension::Tabs { tabs: with(&[2_001, 2_002]) });
    assert_eq!(seen_by(&hub, &me), [5, 2_001, 2_002]);
    assert_eq!(seen_by(&hub, &other), [5]);
    shares(&browser, &[]);
    let CommandLookup::Command(report) = hub.get(&me, &id, false).await.unwrap() else { panic!() };
    assert!(!report.is_pending(), "{:?}", report.status);
    // A report that comes after it counts no more.
    browser.report(&id, attempt, result("Secret"));
    let CommandLookup::Command(report) = hub.get(&me, &id, false).await.unwrap() else { panic!() };
    assert!(!format!("{report:?}").contains("Secret"), "{report:?}");
    assert_eq!(seen_by(&hub, &me), [2_001, 2_002]);
    let why = refusal(hub.submit(&me, submission(PageInfoAction {}, Some(5))).await);
    let unknown = refusal(hub.submit(&me, submission(PageInfoAction {}, Some(77_777))).await);
    assert_eq!(told(&why, 5), told(&unknown, 77_777));
    let (entries, _) = read(&hub, &me, EntryFilter::default()).await;
    assert!(entries.is_empty(), "{entries:?}");
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_tab_takes_no_shared_one_and_a_narrowed_scope_hides_what_was_done_there() {
    let hub = Hub::start(Limits::default());
    hub.set_scopes(shared_scope());
    let mut browser = connect(&hub, Some(true));
    let me = bounded("a");
    // The person is in the shared tab.
    shares(&browser, &[1]);
    let why = refusal(hub.submit(&me, submission(PageInfoAction {}, None)).await);
    assert_eq!(why.code(), "no_tab");
    let id = hub.submit(&me, submission(PageInfoAction {}, Some(1))).await.unwrap().id;
    let (attempt, command) = browser.next_command().await;
    browser.report(&command.correlation_id, attempt, result("shared"));
    hub.set_scopes(own_scope());
    let seen = hub.get(&me, &id, false).await.unwrap();
    assert!(matches!(seen, CommandLookup::Evicted(_)), "{seen:?}");
    let why = refusal(hub.submit(&me, submission(PageInfoAction {}, None)).await);
    assert_eq!(why.code(), "no_tab", "not even as the current tab");
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn shared_tabs_are_recorded_for_owners_who_see_them_and_end_with_the_browsers_run() {
    let hub = Hub::start(Limits::default());
    hub.set_scopes(shared_scope());
    let browser = connect(&hub, Some(true));
    let first = ReadyFrame {
        session: Some(BrowserSession::from("first")),
        tabs: of_person(),
        tab_scopes: Some(true),
        ..ready("Test", Vec::new())
    };
    browser.link.receive(FromExtension::Ready(first.clone()));
    let everywhere = CaptureChange {
        on: true,
        streams: Some([StreamKind::Logs].into()),
        of: TargetSelector::default(),
    };
    hub.capture(&bounded("a"), &everywhere).unwrap();
    let recorded = |hub: &Hub| {
        let settings = hub.capture_of(&"b".into());
        assert!(settings.all.is_empty(), "{settings:?}");
        settings.tabs.iter().map(|tab| tab.tab_id.0).collect::<Vec<_>>()
    };
    assert_eq!(recorded(&hub), [0; 0]);
    shares(&browser, &[5, 6]);
    assert_eq!(recorded(&hub), [5, 6]);
    shares(&browser, &[6]);
    assert_eq!(recorded(&hub), [6]);
    hub.set_scopes(own_scope());
    assert_eq!(recorded(&hub), [0; 0]);
    hub.set_scopes(shared_scope());
    assert_eq!(recorded(&hub), [6]);
    let anew = ReadyFrame { session: Some(BrowserSession::from("next")), ..first };
    browser.link.receive(FromExtension::Ready(anew));
    assert!(seen_by(&hub, &bounded("a")).is_empty(), "numbers of a former run mean nothing");
    assert_eq!(recorded(&hub), [0; 0]);
    hub.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_left_its_site_while_its_browser_was_away_is_outside_from_the_first_frame_on() {
    let hub = Hub::start(Limits::default());
    hub.set_scopes(shared_scope());
    let mut browser = connect(&hub, Some(true));
    shares(&browser, &[7, 8]);
    let me = bounded("a");
    assert_eq!(seen_by(&hub, &me), [7, 8]);
    let id = hub.submit(&me, submission(by_ref("#more"), Some(7))).await.unwrap().id;
    let (attempt, _) = browser.next_command().await;
    browser.claim(&id, attempt);
    while !matches!(browser.frame().await, ToExtension::Go { .. }) {}
    drop(browser);
    // The person goes to another site there, and the browser is back with the command's report.
    let again = Extension::attach(&hub, "b", "i");
    let back = ReadyFrame {
        tabs: of_person(),
        tab_scopes: Some(true),
        shared_tabs: vec![TabId(8)],
        ..ready("Test", Vec::new())
    };
    again.link.receive(FromExtension::Ready(back));
    assert_eq!(seen_by(&hub, &me), [8]);
    again.report(&id, attempt, result("Secret"));
    let CommandLookup::Command(report) = hub.get(&me, &id, false).await.unwrap() else { panic!() };
    assert!(!report.is_pending(), "{:?}", report.status);
    assert!(!format!("{report:?}").contains("Secret"), "{report:?}");
    hub.shut_down().await;
}
