//! Sites that agents may not use, and a stop by the person, in a real Chromium: nothing is done
//! there, and nothing of it is told.

use serde_json::{Value, json};
use tabwire::demo::Browser;
use tabwire::protocol::{EXTENSION_ID, SiteChange, SiteList, SitePattern};

use testkit::{
    BrowserUser, McpClient, OTHER_SITE, TestDaemon, TestPages, body, cli_of, finish, first_tab,
    soon, until,
};

/// How often a page leaves while a command for it is on its way.
const RACES: u32 = 20;

/// A daemon, a browser, a client, and a server that is two sites: one by its address, one by name.
struct Stage {
    daemon: TestDaemon,
    client: McpClient,
    pages: TestPages,
    browser: Browser,
    folder: tempfile::TempDir,
    tab: Value,
}

impl Stage {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let client = McpClient::legacy(&daemon).named("Some Agent");
        let pages = TestPages::start().await;
        let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
        let tab = first_tab(&client, &browser).await;
        Self { daemon, client, pages, browser, folder, tab }
    }

    /// The same server under its other name.
    fn denied(&self, path: &str) -> String {
        self.pages.url(path).replace("127.0.0.1", OTHER_SITE)
    }

    async fn deny_other_site(&self) {
        let rule = json!({"action": "site_rules", "pattern": OTHER_SITE});
        self.client.call("configure", rule).await;
    }

    async fn answer_of_rules(&self) -> Value {
        self.client.call("configure", json!({"action": "site_rules"})).await
    }

    async fn answer(&self, tool: &str, mut arguments: Value) -> Value {
        arguments["wait_ms"] = 20_000.into();
        body(&self.client.call_raw(tool, arguments).await)
    }

    #[track_caller]
    fn assert_blocked(answer: &Value, may_have_run: bool) {
        assert_eq!(answer["status"], "error", "{answer}");
        assert_eq!(answer["reason"], "blocked_by_policy", "{answer}");
        assert_eq!(answer["may_have_run"], may_have_run, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(OTHER_SITE), "{answer}");
        assert!(answer["hint"].as_str().unwrap().contains("tabwire sites"), "{answer}");
        let told = answer.to_string();
        assert!(!told.contains("Second Page") && !told.contains("/second"), "{told}");
    }
}

/// Waits until this is true of the page.
async fn shows(hand: &mut BrowserUser, what: &str) {
    let waiting = format!(
        "new Promise((done) => {{ const look = () => (({what}) ? done(true) : setTimeout(look, 50)); \
         look(); }})"
    );
    assert_eq!(soon(what, hand.read(&waiting)).await, true);
}

#[tokio::test]
async fn nothing_is_done_on_a_denied_site_and_nothing_of_it_is_told() {
    let stage = Stage::set().await;
    let mut hand = BrowserUser::reach(&stage.folder.path().join("profile")).await;
    hand.go(&stage.denied("/second")).await;
    stage.deny_other_site().await;
    let tab = &stage.tab;
    let acts = [
        json!({"action": "execute_js", "script": "fetch('/touched')", "tab_id": tab}),
        json!({"action": "screenshot", "tab_id": tab}),
        json!({"action": "page_info", "tab_id": tab}),
        json!({"action": "refresh", "tab_id": tab}),
        json!({"action": "back", "tab_id": tab}),
        json!({"action": "navigate", "url": stage.pages.url("/"), "tab_id": tab}),
        json!({"action": "tab_close", "tab_id": tab}),
        json!({"action": "tab_open", "url": stage.denied("/second")}),
    ];
    for act in acts {
        Stage::assert_blocked(&stage.answer("interact", act).await, false);
    }
    for what in ["page_summary", "accessibility", "performance"] {
        let asked = json!({"what": what, "tab_id": tab});
        Stage::assert_blocked(&stage.answer("analyze", asked).await, false);
    }
    let listed = stage.answer("interact", json!({"action": "tab_list"})).await;
    assert!(listed.to_string().contains(OTHER_SITE), "{listed}");
    assert!(!listed.to_string().contains("econd"), "neither path nor title: {listed}");
    assert_eq!(stage.pages.hits("/touched"), 0);
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn a_redirect_to_a_denied_site_and_a_page_that_goes_there_meanwhile_are_not_followed_there() {
    let stage = Stage::set().await;
    stage.deny_other_site().await;
    let to = stage.pages.url(&format!("/to?{}", stage.denied("/second")));
    let navigate = json!({"action": "navigate", "url": to, "tab_id": stage.tab});
    Stage::assert_blocked(&stage.answer("interact", navigate).await, true);
    let open = json!({"action": "tab_open", "url": to});
    let opened = stage.answer("interact", open).await;
    Stage::assert_blocked(&opened, true);

    let touch = "new Image().src = '/touched?' + location.hostname; return location.hostname";
    let mut ran = 0;
    for _ in 0..RACES {
        let open = json!({"action": "tab_open", "url": stage.pages.url("/")});
        let opened = stage.answer("interact", open).await;
        let tab = &opened["result"]["value"]["tab_id"];
        let leave = format!("setTimeout(() => location.href = '{}')", stage.denied("/second"));
        let leave = json!({"action": "execute_js", "script": leave, "tab_id": tab});
        let touch = json!({"action": "execute_js", "script": touch, "tab_id": tab});
        let look = json!({"what": "page_summary", "tab_id": tab});
        let (_, touched, seen) = tokio::join!(
            stage.answer("interact", leave),
            stage.answer("interact", touch),
            stage.answer("analyze", look)
        );
        ran += u32::from(touched["status"] == "complete");
        for answer in [touched, seen] {
            let told = answer.to_string();
            assert!(!told.contains("Second Page"), "{told}");
            assert_ne!(answer["result"]["value"], OTHER_SITE, "{answer}");
        }
    }
    println!("{ran} of {RACES} ran before the page had left");
    assert_eq!(stage.pages.hits(&format!("/touched?{OTHER_SITE}")), 0);
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn looks_while_a_page_leaves_for_a_denied_site_tell_nothing_of_that_site() {
    let stage = Stage::set().await;
    stage.deny_other_site().await;
    let mut told_of_page = 0;
    for delay in 0..RACES {
        let open = json!({"action": "tab_open", "url": stage.pages.url("/")});
        let opened = stage.answer("interact", open).await;
        let tab = &opened["result"]["value"]["tab_id"];
        let looks = [
            json!({"what": "page_summary", "tab_id": tab}),
            json!({"what": "dom", "selector": "body", "tab_id": tab}),
        ];
        let leave = format!(
            "setTimeout(() => location.href = '{}', {})",
            stage.denied("/second"),
            5 * delay
        );
        let leave = json!({"action": "execute_js", "script": leave, "tab_id": tab});
        stage.answer("interact", leave).await;
        // One of them is under way as the page leaves.
        for look in looks.iter().cycle() {
            let seen = stage.answer("analyze", look.clone()).await;
            assert!(!seen.to_string().contains("Second Page"), "{seen}");
            told_of_page += u32::from(seen["status"] == "complete");
            if seen["reason"] == "blocked_by_policy" {
                break;
            }
        }
    }
    println!("{told_of_page} looks came before the pages left");
    assert!(told_of_page > 0, "no look came before the pages left");
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn a_rule_that_comes_while_a_script_runs_ends_the_script_there_and_then() {
    let stage = Stage::set().await;
    let open = json!({"action": "tab_open", "url": stage.denied("/second")});
    let tab = stage.answer("interact", open).await["result"]["value"]["tab_id"].clone();
    let script = "new Image().src = '/begun'; await new Promise((done) => setTimeout(done, 3000)); \
                  if (!tabwireSignal.aborted) new Image().src = '/went-on'; document.title";
    let run = json!({"action": "execute_js", "script": script, "tab_id": tab});
    let running = stage.client.submit(run).await;
    stage.pages.asked_for("/begun").await;
    stage.deny_other_site().await;
    Stage::assert_blocked(&stage.client.outcome(&running).await, true);
    assert_eq!(stage.pages.hits("/went-on"), 0);
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn an_empty_page_that_an_agent_has_opened_is_its_own_whatever_the_rules_are() {
    let stage = Stage::set().await;
    stage.deny_other_site().await;
    let opened = stage.answer("interact", json!({"action": "tab_open"})).await;
    let tab = &opened["result"]["value"]["tab_id"];
    let acts = [
        json!({"action": "execute_js", "script": "1 + 1"}),
        json!({"action": "screenshot"}),
        json!({"action": "page_info"}),
        json!({"action": "tab_activate"}),
        json!({"action": "navigate", "url": stage.pages.url("/")}),
        json!({"action": "back"}),
        json!({"action": "tab_close"}),
    ];
    for mut act in acts {
        act["tab_id"] = tab.clone();
        assert_eq!(stage.answer("interact", act.clone()).await["status"], "complete", "{act}");
    }
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn an_empty_page_that_a_denied_site_has_opened_is_kept_from_agents_like_the_site() {
    let stage = Stage::set().await;
    stage.deny_other_site().await;
    stage.client.call("configure", json!({"action": "capture", "streams": ["logs"]})).await;
    let mut hand = BrowserUser::reach(&stage.folder.path().join("profile")).await;
    hand.go(&stage.denied("/opens")).await;
    hand.click("#open").await;
    let list = json!({"action": "tab_list"});
    let is_there = async || {
        let listed = stage.answer("interact", list.clone()).await;
        listed["result"]["value"][1]["url"] == "about:blank"
    };
    soon("the empty page", until(is_there)).await;
    let listed = stage.answer("interact", list).await;
    assert!(!listed.to_string().contains("Secret"), "{listed}");
    let tab = &listed["result"]["value"][1]["tab_id"];
    for action in ["execute_js", "screenshot", "page_info", "tab_activate", "tab_close"] {
        let asked = match action {
            "execute_js" => json!({"action": action, "script": "document.title", "tab_id": tab}),
            _ => json!({"action": action, "tab_id": tab}),
        };
        Stage::assert_blocked(&stage.answer("interact", asked).await, false);
    }
    // What an allowed page says comes after what the empty one has said meanwhile.
    let said = json!({"action": "execute_js", "script": "console.log('an allowed line')",
                      "tab_id": stage.tab});
    hand.go(&stage.pages.url("/")).await;
    let logs = async || stage.client.call("observe", json!({"what": "logs"})).await.to_string();
    let is_recorded = async || {
        stage.answer("interact", said.clone()).await;
        logs().await.contains("an allowed line")
    };
    soon("what was recorded", until(is_recorded)).await;
    let logs = logs().await;
    assert!(!logs.contains("Secret"), "{logs}");
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn a_rule_that_no_daemon_hears_is_said_to_be_none_and_stays_to_be_sent() {
    let stage = Stage::set().await;
    let mut hand = BrowserUser::reach(&stage.folder.path().join("profile")).await;
    hand.go(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    stage.daemon.stop().await;
    shows(&mut hand, "document.querySelector('#headline').textContent === 'Not connected'").await;
    hand.click("#sites-text").await;
    hand.click("#site").await;
    hand.type_text("bank.example").await;
    hand.press("Enter", 1).await;
    let trouble = "document.querySelector('#site-trouble').textContent.includes('tabwire sites')";
    shows(&mut hand, trouble).await;
    assert_eq!(hand.read("document.querySelector('#site').value").await, "bank.example");
    stage.browser.end().await;
}

#[tokio::test]
async fn rules_come_from_the_file_and_hold_for_a_worker_that_begins_anew() {
    let stage = Stage::set().await;
    let pattern = SitePattern::parse(OTHER_SITE).unwrap();
    let change = SiteChange::Add { list: SiteList::Deny, pattern };
    stage.daemon.home().site_rules().change(&change).unwrap();
    // Not read yet: nobody has said so.
    let there = json!({"action": "navigate", "url": stage.denied("/second"), "tab_id": stage.tab});
    assert_eq!(stage.answer("interact", there.clone()).await["status"], "complete");
    let Stage { daemon, client, pages, browser, folder, tab } = stage;
    let daemon = daemon.restart().await;
    let stage = Stage { daemon, client, pages, browser, folder, tab };
    Stage::assert_blocked(&stage.answer("interact", there.clone()).await, false);
    testkit::kill_worker(&stage.browser);
    Stage::assert_blocked(&stage.answer("interact", there).await, false);
    stage.browser.end().await;
    stage.daemon.stop().await;
}

/// Sets a rule as the person does at a terminal.
async fn rule(daemon: &TestDaemon, arguments: &[&str]) {
    let ran = finish(cli_of(daemon, &[&["sites"], arguments].concat())).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[track_caller]
fn assert_act_refused(answer: &Value, rule: &str) {
    assert_eq!(answer["reason"], "blocked_by_policy", "{answer}");
    assert!(answer["error"].as_str().unwrap().contains(rule), "{answer}");
}

#[tokio::test]
async fn agents_open_and_read_a_site_on_which_they_may_not_act_also_in_a_frame_and_in_a_batch() {
    let stage = Stage::set().await;
    rule(&stage.daemon, &["allow", OTHER_SITE, "--read"]).await;
    let there = stage.denied("/form");
    let opened = stage.answer("interact", json!({"action": "navigate", "url": there})).await;
    assert_eq!(opened["status"], "complete", "{opened}");
    for look in [json!({"what": "snapshot"}), json!({"what": "get_text"})] {
        let seen = stage.answer("analyze", look).await;
        assert!(seen.to_string().contains("A Form"), "{seen}");
    }
    for act in [
        json!({"action": "click", "target": "button"}),
        json!({"action": "type", "target": "input", "text": "x"}),
        json!({"action": "press_key", "key": "Enter"}),
        json!({"action": "execute_js", "script": "document.title = 'acted'"}),
        json!({"action": "wait_for", "function": "document.title = 'acted'"}),
    ] {
        assert_act_refused(&stage.answer("interact", act).await, "read there and not act");
    }
    let steps = json!([{"action": "page_info"}, {"action": "click", "target": "button"}]);
    let batch = stage.answer("interact", json!({"action": "batch", "steps": steps})).await;
    let failed = &batch["result"]["value"]["failed"];
    assert_eq!(
        (&failed["step"], &failed["reason"]),
        (&json!(1), &json!("blocked_by_policy")),
        "{batch}"
    );

    // In a page of another site, which frames it.
    let home = json!({"action": "navigate", "url": stage.pages.url("/second")});
    stage.answer("interact", home).await;
    let frame = format!(
        "new Promise((done) => {{ const frame = document.createElement('iframe'); frame.src = {there:?}; \
         frame.onload = () => done(1); document.body.append(frame); }})"
    );
    let framed = stage.answer("interact", json!({"action": "execute_js", "script": frame})).await;
    assert_eq!(framed["status"], "complete", "{framed}");
    let found = stage.answer("analyze", json!({"what": "find", "text": "Send"})).await;
    let line = found["result"]["value"].as_str().unwrap_or_else(|| panic!("{found}"));
    let click = json!({"action": "click", "target": line.split_whitespace().next_back()});
    assert_act_refused(&stage.answer("interact", click).await, "read there and not act");

    stage.answer("interact", json!({"action": "navigate", "url": there})).await;
    rule(&stage.daemon, &["remove", OTHER_SITE, "--unattended"]).await;
    let typed = json!({"action": "press_key", "key": "Tab"});
    let acted = async || stage.answer("interact", typed.clone()).await["status"] == "complete";
    soon("an act", until(acted)).await;
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn a_denied_action_is_refused_on_its_sites_and_scripts_by_every_way() {
    let stage = Stage::set().await;
    rule(&stage.daemon, &["deny", OTHER_SITE, "--action", "execute_js"]).await;
    let script = json!({"action": "execute_js", "script": "1 + 1"});
    let ran = stage.answer("interact", script.clone()).await;
    assert_eq!(ran["status"], "complete", "{ran}");
    let there = json!({"action": "navigate", "url": stage.denied("/form")});
    let opened = stage.answer("interact", there).await;
    assert_eq!(opened["status"], "complete", "{opened}");
    let denial = format!("the rule that denies execute_js on {OTHER_SITE}");
    assert_act_refused(&stage.answer("interact", script).await, &denial);
    let waiting = json!({"action": "wait_for", "function": "1"});
    assert_act_refused(&stage.answer("interact", waiting).await, &denial);
    let typed = json!({"action": "press_key", "key": "Tab"});
    let acted = stage.answer("interact", typed).await;
    assert_eq!(acted["status"], "complete", "{acted}");
    let rules = stage.answer_of_rules().await;
    assert_eq!(rules["deny_actions"], json!([{"action": "execute_js", "pattern": OTHER_SITE}]));
    let made_up =
        finish(cli_of(&stage.daemon, &["sites", "deny", "a.example", "--action", "run"])).await;
    assert_eq!(made_up.code, Some(2), "{made_up:?}");
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn code_in_addresses_is_a_script_too_unless_it_is_in_a_link_of_the_pages_own() {
    let stage = Stage::set().await;
    let there = stage.denied("/own-link");
    let go = json!({"action": "navigate", "url": there});
    stage.answer("interact", go.clone()).await;
    let plant = "document.body.insertAdjacentHTML('beforeend', \
                 '<a id=planted href=\" Java\\nScript:void(document.title = 1)\">Run</a>'); planted.focus(); 1";
    let planted = json!({"action": "execute_js", "script": plant});
    assert_eq!(stage.answer("interact", planted).await["status"], "complete");
    rule(&stage.daemon, &["deny", OTHER_SITE, "--action", "execute_js"]).await;
    let denial = format!("the rule that denies execute_js on {OTHER_SITE}");
    // A script was here: it may have made either link.
    for act in [
        json!({"action": "click", "target": "#planted"}),
        json!({"action": "click", "target": "#own"}),
        json!({"action": "press_key", "key": "Enter"}),
        json!({"action": "batch", "steps": [{"action": "click", "target": "#planted"}]}),
    ] {
        let answer = stage.answer("interact", act).await;
        let failed = &answer["result"]["value"]["failed"];
        assert_act_refused(if failed.is_null() { &answer } else { failed }, &denial);
    }
    let info = stage.answer("interact", json!({"action": "page_info"})).await;
    assert_eq!(info["result"]["value"]["title"], "Page With A Link", "{info}");
    // The same page anew, in which no script has been.
    stage.answer("interact", go).await;
    let pressed = stage.answer("interact", json!({"action": "click", "target": "#own"})).await;
    assert_eq!(pressed["status"], "complete", "{pressed}");
    // The browser runs the code of a link in a task of its own, after the click.
    let has_run = async || {
        let info = stage.answer("interact", json!({"action": "page_info"})).await;
        info["result"]["value"]["title"] == "Pressed"
    };
    soon("the link's own code", until(has_run)).await;
    // An agent's own addresses are refused everywhere.
    for url in [
        "javascript:alert(1)",
        " JAVA\nscript:1",
        "view-source:javascript:1",
        "data:text/html,<script>1</script>",
    ] {
        let steps = json!([{"action": "navigate", "url": url}]);
        for act in [
            json!({"action": "navigate", "url": url}),
            json!({"action": "tab_open", "url": url}),
            json!({"action": "batch", "steps": steps}),
        ] {
            let answer = stage.answer("interact", act).await;
            let text = answer.to_string();
            assert!(
                text.contains("invalid_params") && text.contains("are not opened"),
                "{url}: {answer}"
            );
        }
    }
    stage.browser.end().await;
    stage.daemon.stop().await;
}

#[tokio::test]
async fn a_person_stops_everything_in_mid_command_and_lets_agents_go_on() {
    let stage = Stage::set().await;
    let mut hand = BrowserUser::reach(&stage.folder.path().join("profile")).await;
    hand.go(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    let open = json!({"action": "tab_open", "url": stage.pages.url("/second")});
    let opened = stage.answer("interact", open).await;
    let tab = opened["result"]["value"]["tab_id"].clone();
    let long =
        json!({"action": "execute_js", "script": "await new Promise(() => {})", "tab_id": tab});
    let running = stage.client.submit(long.clone()).await;
    let queued = stage.client.submit(long.clone()).await;
    shows(&mut hand, "document.querySelector('#running').textContent.includes('Some Agent')").await;
    hand.click("#stop-all").await;
    for (id, may_have_run) in [(&running, true), (&queued, false)] {
        let ended = stage.client.outcome(id).await;
        assert_eq!(ended["status"], "cancelled", "{ended}");
        assert_eq!(ended["reason"], "stopped_by_user", "{ended}");
        assert_eq!(ended["may_have_run"], may_have_run, "{ended}");
    }
    let refused = stage.answer("interact", long.clone()).await;
    assert_eq!(refused["error"], "stopped_by_user", "{refused}");

    let Stage { daemon, client, pages, browser, folder, tab: first } = stage;
    let daemon = daemon.restart().await;
    let stage = Stage { daemon, client, pages, browser, folder, tab: first };
    let after = stage.answer("interact", long).await;
    let word = if after["error"].is_null() { &after["reason"] } else { &after["error"] };
    assert_eq!(word, "stopped_by_user", "{after}");
    shows(&mut hand, "!document.querySelector('#stopped').hidden").await;
    hand.click("#release").await;
    let ask = json!({"action": "execute_js", "script": "document.title", "tab_id": tab});
    soon(
        "agents go on",
        until(async || {
            stage.answer("interact", ask.clone()).await["result"]["value"] == "Second Page"
        }),
    )
    .await;
    stage.browser.end().await;
    stage.daemon.stop().await;
}
