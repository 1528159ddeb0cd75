//! The dashboard in a real Chromium: opened by the file of `tabwire open`, live, and usable by all.

use serde_json::{Value, json};
use tabwire::demo::Browser;

use testkit::{
    BrowserUser, McpClient, TestDaemon, TestPages, authorization, body, cli_of, finish, first_tab,
    raw, soon, until,
};

const AXE: &str = include_str!("../../../extension-shim/third_party/axe-core/axe.min.js");

/// An agent at work in one tab, and the person with the dashboard in another.
pub(super) struct Viewing {
    pub(super) daemon: TestDaemon,
    pub(super) agent: McpClient,
    pub(super) pages: TestPages,
    browser: Browser,
    pub(super) hand: BrowserUser,
    pub(super) tab: Value,
    link: String,
    _folder: tempfile::TempDir,
}

impl Viewing {
    pub(super) async fn begin() -> Self {
        Self::begin_with(TestDaemon::start().await).await
    }

    pub(super) async fn begin_with(daemon: TestDaemon) -> Self {
        let agent = McpClient::legacy(&daemon).named("painter");
        let pages = TestPages::start().await;
        let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
        let tab = first_tab(&agent, &browser).await;
        let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
        hand.open_beside(&pages.url("/second")).await;
        let printed = finish(cli_of(&daemon, &["open", "--print"])).await.stdout;
        let link = format!("file://{}", printed.trim());
        let mut viewing = Self { daemon, agent, pages, browser, hand, tab, link, _folder: folder };
        viewing.agent_does(json!({"action": "execute_js", "script": "'first'"})).await;
        viewing.hand.leave_for(&viewing.link.clone()).await;
        viewing.shows("Live").await;
        viewing
    }

    pub(super) async fn agent_does(&self, mut act: Value) -> Value {
        act["tab_id"] = self.tab.clone();
        act["wait_ms"] = 20_000.into();
        body(&self.agent.call_raw("interact", act).await)
    }

    pub(super) async fn shows(&mut self, words: &str) {
        let shown = "document.body?.innerText ?? ''";
        let hand = &mut self.hand;
        let comes =
            until(async || hand.read(shown).await.as_str().unwrap_or_default().contains(words));
        soon(words, comes).await;
    }

    pub(super) async fn becomes(&mut self, expression: &str) {
        self.hand.becomes(expression, true).await;
    }

    /// Whether axe finds nothing serious in the page as it is, and nothing is beyond the screen.
    pub(super) async fn is_accessible(&mut self) {
        for (width, scheme) in [(1440, "light"), (1440, "dark"), (360, "light"), (360, "dark")] {
            self.hand.set_view(width, 900, scheme).await;
            self.hand.read(&format!("{AXE};1")).await;
            let found = self.hand.read(
                "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations\
                 .filter(({impact}) => impact === 'serious' || impact === 'critical')\
                 .map(({id, nodes}) => id + ': ' + nodes.map(({html}) => html).join(' | ')))",
            );
            assert_eq!(found.await, json!([]), "{width} {scheme}");
            let wide = self.hand.read("document.documentElement.scrollWidth <= innerWidth").await;
            assert_eq!(wide, true, "nothing is beyond the screen at {width}");
        }
        self.hand.set_view(1440, 900, "light").await;
    }

    pub(super) async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

#[tokio::test]
async fn the_link_opens_it_once_and_the_token_is_in_no_address_and_in_no_history() {
    let mut viewing = Viewing::begin().await;
    let address = format!("http://127.0.0.1:{}/dashboard", viewing.daemon.port());
    assert_eq!(viewing.hand.read("location.href").await, json!(address));
    assert_eq!(
        viewing.hand.read("document.querySelector('meta[name=tabwire-token]')").await,
        Value::Null
    );
    assert_eq!(viewing.hand.read("sessionStorage.getItem('tabwire-token').length").await, 64);
    // A reload asks for the page without the code, and goes on.
    viewing.hand.read("(window.before = 1, location.reload())").await;
    viewing.becomes("!window.before && document.readyState === 'complete'").await;
    viewing.shows("Live").await;
    viewing.shows("execute_js").await;
    // The link a second time, in a tab that has no token.
    viewing.hand.open_beside(&viewing.pages.url("/second")).await;
    viewing.hand.leave_for(&viewing.link.clone()).await;
    viewing.shows("tabwire open").await;
    assert_eq!(viewing.hand.read("location.href").await, json!(address));
    viewing.end().await;
}

#[tokio::test]
async fn it_shows_commands_as_they_happen_with_their_phases_and_the_next_step_after_a_failure() {
    let mut viewing = Viewing::begin().await;
    viewing.shows("painter").await;
    // A question waits there for as long as it is open.
    viewing.becomes("document.querySelector('#asks').hidden").await;
    let ask = json!({"action": "ask_user", "kind": "answer", "question": "Which frame?"});
    let asked = viewing.agent_does(ask).await;
    viewing.becomes("!document.querySelector('#asks').hidden").await;
    let list = viewing.hand.read("document.querySelector('#ask-list').innerText").await;
    let list = list.as_str().unwrap();
    assert!(list.contains("Which frame?") && list.contains("painter · until"), "{list}");
    let id = asked["correlation_id"].as_str().unwrap();
    assert_eq!(finish(cli_of(&viewing.daemon, &["asks", "answer", id, "oak"])).await.code, Some(0));
    viewing.becomes("document.querySelector('#asks').hidden").await;
    viewing
        .agent_does(json!({"action": "type", "target": "#nowhere", "text": "a secret word"}))
        .await;
    viewing.shows("target_not_found").await;
    viewing.becomes("document.querySelector('#failure-list .hint')?.textContent.length > 10").await;
    viewing.becomes("document.querySelectorAll('.row:not([hidden]) .track i').length > 2").await;
    // Its own tab is no agent's: it is in no list, here neither.
    viewing.becomes("document.querySelectorAll('.tab').length === 1").await;
    viewing.hand.click(".row[data-end=bad]").await;
    viewing.shows("Next step for the agent").await;
    viewing.shows("Arguments").await;
    viewing.shows("#nowhere").await;
    let shown = viewing.hand.read("document.body.innerText").await;
    assert!(!shown.to_string().contains("a secret word"), "typed texts are not shown: {shown}");
    viewing.hand.press("Escape", 1).await;
    viewing.becomes("document.querySelector('#detail').hidden").await;
    // By keys alone.
    viewing.becomes("document.activeElement.id === 'list'").await;
    viewing.hand.press("Home", 1).await;
    viewing.hand.press("Enter", 1).await;
    viewing
        .becomes(
            "!document.querySelector('#detail').hidden && document.activeElement.id === 'detail'",
        )
        .await;
    viewing.becomes("document.querySelector('#detail-h').textContent === 'type'").await;
    let logged = viewing.hand.read("performance.getEntriesByType('navigation')[0].name").await;
    assert!(logged.as_str().unwrap().ends_with("/dashboard"), "{logged}");
    viewing.end().await;
}

#[tokio::test]
async fn who_reads_further_down_keeps_their_place_while_commands_come() {
    let mut viewing = Viewing::begin().await;
    let work = async |viewing: &Viewing, script: &str, count: usize| {
        for _ in 0..count {
            viewing.agent_does(json!({"action": "execute_js", "script": script})).await;
        }
    };
    let listed = |count: usize| {
        format!("document.querySelector('#list .row[aria-setsize]')?.ariaSetSize >= {count}")
    };
    work(&viewing, "'early'", 60).await;
    viewing.becomes(&listed(60)).await;
    viewing.hand.read("(document.querySelector('#list').scrollTop = 910)").await;
    // The row in the middle of the list, an element that stays its own, and how far down it is.
    let read = "(() => { const { x, y, width, height } = document.querySelector('#list').getBoundingClientRect();
        window.middle ??= document.elementFromPoint(x + width / 2, y + height / 2).closest('.row');
        return [window.middle.dataset.id, Math.round(window.middle.getBoundingClientRect().y)]; })()";
    viewing.becomes("!document.querySelector('#commands .newest').hidden").await;
    let before = viewing.hand.read(read).await;
    assert!(before[0].is_string(), "{before}");
    work(&viewing, "'late'", 20).await;
    viewing.becomes(&listed(80)).await;
    assert_eq!(viewing.hand.read(read).await, before, "row and place");
    viewing.hand.read("document.querySelector('#commands .newest').click()").await;
    viewing.becomes("document.querySelector('#list').scrollTop === 0").await;
    viewing.end().await;
}

#[tokio::test]
async fn the_person_stops_a_command_there_and_takes_a_tab_back() {
    let mut viewing = Viewing::begin().await;
    let opened =
        json!({"action": "tab_open", "url": viewing.pages.url("/strict"), "wait_ms": 20_000});
    let opened = body(&viewing.agent.call_raw("interact", opened).await);
    assert!(opened["result"]["value"]["tab_id"].is_number(), "{opened}");
    // With its last title: the list is drawn anew when that comes.
    let is_shown = "document.querySelector('.tab:has(.chip)')?.innerText.includes('Strict Page')";
    viewing.becomes(&format!("!!{is_shown}")).await;
    viewing.hand.click(".tab .act").await;
    viewing.becomes("document.querySelectorAll('.tab').length === 2 && !document.querySelector('.tab .chip')").await;

    let endless =
        json!({"action": "execute_js", "script": "new Promise(() => {})", "tab_id": viewing.tab});
    let begun = body(&viewing.agent.call_raw("interact", endless).await);
    viewing.becomes("!!document.querySelector('.row:not([hidden])[data-end=open]')").await;
    viewing.hand.click(".row[data-end=open]").await;
    viewing.shows("Stop this command").await;
    viewing.hand.click("#stop").await;
    viewing.shows("cancelled · stopped_by_user").await;
    let id = &begun["correlation_id"];
    let ended =
        viewing.agent.call_raw("observe", json!({"what": "command_result", "correlation_id": id}));
    let ended = body(&ended.await);
    assert_eq!(
        (&ended["status"], &ended["reason"]),
        (&json!("cancelled"), &json!("stopped_by_user")),
        "{ended}"
    );
    viewing.becomes("document.querySelector('#stop').hidden").await;
    viewing.end().await;
}

#[tokio::test]
async fn the_person_sees_how_far_a_job_is_and_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long");
    // It takes long to read, and no room on the disk.
    std::fs::File::create(&path).unwrap().set_len(1 << 36).unwrap();
    let roots = vec![folder.path().to_owned()];
    let daemon = TestDaemon::with(|settings| settings.monitor_roots = roots).await;
    let mut viewing = Viewing::begin_with(daemon).await;
    let begun = viewing.agent.call("wksm_monitor_sync", json!({"path": path})).await;
    let id = begun["data"]["job_id"].as_str().unwrap().to_owned();
    viewing.shows("Processing 0 of 1 files").await;
    let named = viewing.hand.accessible("#job-list progress", "aria-label").await;
    let (_, role, name) = &named[0];
    assert_eq!((role.as_str(), name.as_str()), ("progressbar", "wksm_monitor_sync of painter"));
    let so_far = "document.querySelector('#job-list progress').value";
    let before = viewing.hand.read(so_far).await;
    viewing.becomes(&format!("{so_far} > {before}")).await;
    viewing.is_accessible().await;
    viewing.hand.click(&format!("#list [data-id={id}]")).await;
    viewing.hand.click("#stop").await;
    viewing.becomes("document.querySelector('#jobs').hidden").await;
    assert_eq!(viewing.agent.outcome(&id).await["status"], "cancelled");
    viewing.end().await;
}

#[tokio::test]
async fn the_person_denies_a_site_there_and_only_they_lift_it() {
    let mut viewing = Viewing::begin().await;
    // The sites come with the tabs.
    viewing.becomes("!!document.querySelector('.tab')").await;
    viewing.hand.click("#deny-site").await;
    viewing.shows("tabwire sites remove").await;
    let sites = "document.querySelector('#open-sites option').value";
    assert_eq!(viewing.hand.read(sites).await, "127.0.0.1");
    viewing.hand.type_text("no site").await;
    viewing.hand.click("#denying-yes").await;
    viewing.shows("Write a host such as").await;
    viewing.is_accessible().await;
    viewing.hand.press("Escape", 1).await;
    viewing.becomes("!document.querySelector('#denying').open").await;
    let rules = async |viewing: &Viewing| {
        viewing.agent.call("configure", json!({"action": "site_rules"})).await["deny"].clone()
    };
    assert_eq!(rules(&viewing).await, json!([]));
    viewing.hand.click("#deny-site").await;
    viewing.hand.type_text("127.0.0.1").await;
    viewing.hand.click("#denying-yes").await;
    viewing.shows("127.0.0.1 is denied to agents").await;
    assert_eq!(rules(&viewing).await, json!(["127.0.0.1"]));
    let refused = viewing.agent_does(json!({"action": "page_info"})).await;
    assert!(refused["reason"] == "blocked_by_policy", "{refused}");
    viewing.end().await;
}

#[tokio::test]
async fn one_confirmed_click_stops_everything_and_agents_may_go_on() {
    let mut viewing = Viewing::begin().await;
    viewing.becomes("document.querySelector('#stop-all').disabled").await;
    let endless =
        json!({"action": "execute_js", "script": "new Promise(() => {})", "tab_id": viewing.tab});
    let mut ids = Vec::new();
    for _ in 0..2 {
        let begun = body(&viewing.agent.call_raw("interact", endless.clone()).await);
        ids.push(begun["correlation_id"].clone());
    }
    viewing.becomes("!document.querySelector('#stop-all').disabled").await;
    viewing.hand.click("#stop-all").await;
    viewing.shows("Agents can send new commands").await;
    viewing.is_accessible().await;
    viewing.hand.press("Escape", 1).await;
    viewing.becomes("!document.querySelector('#stopping').open").await;
    viewing.becomes("document.querySelector('#n-running').textContent === '2'").await;
    viewing.hand.click("#stop-all").await;
    viewing.hand.click("#stopping-yes").await;
    viewing.shows("2 commands stopped").await;
    for id in &ids {
        let what = json!({"what": "command_result", "correlation_id": id});
        let ended = body(&viewing.agent.call_raw("observe", what).await);
        assert_eq!(ended["reason"], "stopped_by_user", "{ended}");
    }
    viewing.becomes("document.querySelector('#stop-all').disabled").await;
    let next = viewing.agent_does(json!({"action": "execute_js", "script": "1 + 1"})).await;
    assert_eq!(next["result"]["value"], 2, "{next}");
    viewing.end().await;
}

#[tokio::test]
async fn the_person_sends_a_failed_command_again_as_a_new_one_of_its_agent() {
    let mut viewing = Viewing::begin().await;
    viewing.agent_does(json!({"action": "type", "target": "#late", "text": "oak"})).await;
    viewing.shows("target_not_found").await;
    let script =
        "document.body.append(Object.assign(document.createElement('input'), {id: 'late'}))";
    viewing.agent_does(json!({"action": "execute_js", "script": script})).await;
    // Of a command that has completed there is nothing to send again.
    viewing
        .becomes("document.querySelectorAll('.row:not([hidden])[data-end=done]').length === 3")
        .await;
    viewing.hand.click(".row[data-end=done]").await;
    viewing
        .becomes(
            "document.querySelector('#retry').hidden && !document.querySelector('#detail').hidden",
        )
        .await;
    viewing.hand.click(".row[data-end=bad]").await;
    viewing.becomes("!document.querySelector('#retry').hidden").await;
    let first = viewing.hand.read("document.querySelector('.row[data-end=bad]').dataset.id").await;
    viewing.hand.click("#retry").await;
    // The new command is shown as soon as it is there.
    viewing.becomes("document.querySelector('#detail-body .word')?.dataset.end === 'done'").await;
    let shown = viewing.hand.read("document.querySelector('#detail').innerText").await;
    let shown = shown.as_str().unwrap();
    assert!(shown.contains("painter") && !shown.contains(first.as_str().unwrap()), "{shown}");
    let value = json!({"action": "execute_js", "script": "document.querySelector('#late').value"});
    let typed = viewing.agent_does(value).await;
    assert_eq!(typed["result"]["value"], "oak", "{typed}");
    // A row that comes moves those below it, also under the pointer.
    viewing
        .becomes("document.querySelectorAll('.row:not([hidden])[data-end=done]').length === 5")
        .await;
    // Once more leads to the same one.
    viewing.hand.click(".row[data-end=bad]").await;
    viewing.hand.click("#retry").await;
    viewing.becomes("document.querySelector('#detail-body .word')?.dataset.end === 'done'").await;
    let typing = "[...document.querySelectorAll('.row:not([hidden]) .action')].filter(({ textContent }) => textContent === 'type').length";
    assert_eq!(viewing.hand.read(typing).await, 2);
    viewing.end().await;
}

#[tokio::test]
async fn a_commands_picture_is_seen_in_its_details_as_long_as_the_page_is_open() {
    let mut viewing = Viewing::begin().await;
    let taken = viewing.agent_does(json!({"action": "screenshot"})).await;
    let id = taken["correlation_id"].as_str().unwrap();
    viewing
        .becomes(&format!("!!document.querySelector(`.row[data-id=\"{id}\"][data-end=done]`)"))
        .await;
    viewing.hand.click(&format!(".row[data-id=\"{id}\"]")).await;
    let is_seen = "(({ complete, naturalWidth, alt }) => complete && naturalWidth > 100 && alt !== '')\
                   (document.querySelector('#detail .film img') ?? {})";
    viewing.becomes(is_seen).await;
    viewing.is_accessible().await;
    viewing.hand.click("#close").await;
    viewing.hand.click(&format!(".row[data-id=\"{id}\"]")).await;
    viewing.becomes(is_seen).await;
    viewing.end().await;
}

#[tokio::test]
async fn what_may_have_run_is_sent_again_only_if_the_person_says_so_twice() {
    let mut viewing = Viewing::begin().await;
    let script = "window.times = (window.times ?? 0) + 1; if (window.times === 1) await new Promise(() => {})";
    let call = json!({"action": "execute_js", "script": script, "tab_id": viewing.tab});
    let id = viewing.agent.submit(call).await;
    let row = format!(".row[data-id=\"{id}\"]");
    viewing.becomes(&format!("!!document.querySelector(`{row} .track i.run`)")).await;
    viewing.hand.click(&row).await;
    viewing.hand.click("#stop").await;
    viewing.becomes("!document.querySelector('#retry').hidden").await;
    viewing.hand.click("#retry").await;
    viewing.shows("It may have run already").await;
    let count = "document.querySelectorAll('.row:not([hidden])').length";
    let before = viewing.hand.read(count).await.as_u64().unwrap();
    viewing.hand.click("#retry").await;
    viewing.becomes("document.querySelector('#detail-body .word')?.dataset.end === 'done'").await;
    assert_eq!(viewing.hand.read(count).await, before + 1, "the first press sent nothing");
    let times = viewing.agent_does(json!({"action": "execute_js", "script": "window.times"})).await;
    assert_eq!(times["result"]["value"], 2, "{times}");
    viewing.end().await;
}

#[tokio::test]
async fn plots_and_health_show_the_figures_that_collectors_get() {
    let mut viewing = Viewing::begin().await;
    viewing.agent_does(json!({"action": "type", "target": "#nowhere", "text": "x"})).await;
    let label =
        |plot: &str| format!("document.querySelector('#{plot}').getAttribute('aria-label')");
    viewing.becomes(&format!("{}.includes('1 failed, 0 cancelled')", label("plot-ends"))).await;
    let told = viewing.hand.read(&label("plot-ends")).await;
    let daemon = &viewing.daemon;
    let token = authorization(&daemon.home().auth().metrics_token());
    let metrics = raw(daemon, &["GET /metrics HTTP/1.1", "Host: HOST", &token], b"").await.body;
    let ended = |end: &str| {
        let counts = metrics.lines().filter(|line| line.starts_with("tabwire_commands_total{"));
        let counts = counts.filter(|line| line.contains(&format!("end=\"{end}\"")));
        counts.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    let (done, failed) = (ended("complete"), ended("error"));
    assert!(done > 0 && failed == 1, "{metrics}");
    let expected = format!("each minute: {done} done, {failed} failed, 0 cancelled in 30 minutes");
    assert!(told.as_str().unwrap().contains(&expected), "{told} {expected}");
    let times = viewing.hand.read(&label("plot-times")).await;
    assert!(times.as_str().unwrap().contains("half within"), "{times}");
    for (plot, kind) in [
        ("plot-ends", "done"),
        ("plot-ends", "bad"),
        ("plot-times", "half"),
        ("plot-queue", "area"),
    ] {
        let height = format!("document.querySelector('#{plot} .{kind}').getBBox()");
        assert_eq!(viewing.hand.read(&format!("{height}.x >= 0")).await, true, "{plot}");
        let drawn = format!("document.querySelector('#{plot} .{kind}').getAttribute('d')");
        assert!(viewing.hand.read(&drawn).await.as_str().unwrap().len() > 6, "{plot} {kind}");
    }
    let health = viewing.hand.read("document.querySelector('#health-list').innerText").await;
    let health = health.as_str().unwrap();
    for words in ["MiB", "% of one now", "writes, half within", "web socket 1", "let in"] {
        assert!(health.contains(words), "{words}: {health}");
    }
    // A request that is turned away shows with its code.
    let guess = authorization("guess");
    raw(&viewing.daemon, &["GET /metrics HTTP/1.1", "Host: HOST", &guess], b"").await;
    viewing
        .becomes("document.querySelector('#health-list').innerText.includes('unauthorized 1')")
        .await;
    viewing.end().await;
}

#[tokio::test]
async fn texts_of_pages_are_texts_and_no_page_or_agent_gets_in() {
    let mut viewing = Viewing::begin().await;
    let script = "document.title = '<img src=x onerror=\"window.owned = 1\">'; throw new Error('<b id=owned>b</b>')";
    viewing.agent_does(json!({"action": "execute_js", "script": script})).await;
    viewing.shows("script_threw").await;
    viewing.shows("onerror").await;
    viewing.hand.click(".row[data-end=bad]").await;
    viewing.shows("<b id=owned>").await;
    assert_eq!(
        viewing.hand.read("window.owned === undefined && !document.querySelector('#owned')").await,
        true
    );
    let tabs = viewing.agent_does(json!({"action": "tab_list"})).await;
    assert_eq!(tabs["result"]["value"].as_array().unwrap().len(), 1, "{tabs}");
    viewing.end().await;
}

#[tokio::test]
async fn what_the_list_shows_is_saved_as_one_file_that_needs_nothing_else() {
    let mut viewing = Viewing::begin().await;
    let script = "throw new Error('<img id=owned src=x onerror=\"window.owned = 1\">')";
    viewing.agent_does(json!({"action": "execute_js", "script": script})).await;
    viewing
        .agent_does(json!({"action": "type", "target": "#nowhere", "text": "a secret word"}))
        .await;
    viewing.shows("target_not_found").await;
    viewing.shows("onerror").await;
    let keep = "URL.createObjectURL = (file) => { window.saved = file; return '#'; }; 1";
    viewing.hand.read(keep).await;

    viewing.hand.click("[data-save=json]").await;
    viewing.becomes("window.saved?.type === 'application/json'").await;
    let text = viewing.hand.read("window.saved.text()").await;
    let saved: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    let names: Vec<_> =
        saved["commands"].as_array().unwrap().iter().map(|one| &one["command"]).collect();
    assert_eq!(names, ["tab_list", "execute_js", "execute_js", "type"], "{saved}");
    assert!(saved["commands"][3]["trace"].as_array().unwrap().len() > 2, "{saved}");

    // Of what is chosen, those alone.
    viewing.hand.click("[data-show=failed]").await;
    viewing.hand.click("[data-save=html]").await;
    viewing.becomes("window.saved?.type === 'text/html'").await;
    let page = viewing.hand.read("window.saved.text()").await.as_str().unwrap().to_owned();
    assert!(!text.to_string().contains("a secret word") && !page.contains("a secret word"));
    let token = viewing.hand.read("sessionStorage.getItem('tabwire-token')").await;
    let token = token.as_str().unwrap();
    assert!(token.len() == 64 && !page.contains(token), "the file opens nothing");
    let file = viewing.daemon.home().dir().join("session.html");
    std::fs::write(&file, page).unwrap();
    viewing.hand.open_beside(&viewing.pages.url("/second")).await;
    viewing.hand.leave_for(&format!("file://{}", file.display())).await;
    viewing.becomes("document.querySelectorAll('details').length === 2").await;
    viewing.hand.click("details:last-of-type summary").await;
    viewing.shows("target_not_found").await;
    viewing.shows("2 commands").await;
    let is_text = "window.owned === undefined && !document.querySelector('#owned') && !document.querySelector('script')";
    assert_eq!(viewing.hand.read(is_text).await, true);
    viewing.end().await;
}

#[tokio::test]
async fn axe_finds_nothing_serious_on_a_wide_and_on_a_narrow_screen_in_light_and_dark() {
    let mut viewing = Viewing::begin().await;
    viewing.agent_does(json!({"action": "type", "target": "#nowhere", "text": "x"})).await;
    viewing.shows("target_not_found").await;
    viewing.hand.click(".row[data-end=bad]").await;
    viewing.shows("Phases").await;
    viewing.is_accessible().await;
    viewing.end().await;
}

#[tokio::test]
async fn it_says_so_when_its_daemon_has_ended_and_a_new_one_does_not_know_it() {
    let mut viewing = Viewing::begin().await;
    viewing.daemon = viewing.daemon.restart().await;
    viewing.shows("This page has ended").await;
    assert_eq!(viewing.hand.read("sessionStorage.length").await, 0);
    let at_end = async || viewing.agent.call_raw("configure", json!({"action": "health"})).await;
    soon("the new daemon", until(async || at_end().await.to_string().contains("ok"))).await;
    viewing.browser.end().await;
    viewing.daemon.stop().await;
}
