//! Sites on which the person is asked before an agent acts, in a real browser.

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::demo::Browser;
use tabwire::protocol::EXTENSION_ID;

use super::popup::{Profile, popup, shows};
use testkit::{
    BrowserUser, McpClient, ProgramSandbox, StdioClient, TestDaemon, TestPages, body, cli_of,
    finish, first_tab, kill_worker, signal, soon, until,
};

/// The buttons on a held command, in their order.
pub(crate) const DENY: usize = 1;
pub(crate) const NEVER: usize = 2;
pub(crate) const ONCE: usize = 3;
const SESSION: usize = 4;
pub(crate) const ALWAYS: usize = 5;

pub(crate) struct ConsentStage {
    pub(crate) daemon: TestDaemon,
    pub(crate) client: McpClient,
    pub(crate) pages: TestPages,
    pub(crate) browser: Browser,
    pub(crate) hand: BrowserUser,
    pub(crate) tab: Value,
    pub(crate) profile: Profile,
}

impl ConsentStage {
    async fn set() -> Self {
        let stage = Self::open(TestPages::start().await, "/form").await;
        let ran = finish(cli_of(&stage.daemon, &["sites", "ask", "127.0.0.1"])).await;
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        stage
    }

    /// With every site allowed.
    pub(crate) async fn open(pages: TestPages, page: &str) -> Self {
        Self::open_where(pages, page, |_| {}).await
    }

    /// The same with a profile of which something is so.
    pub(crate) async fn open_where(
        pages: TestPages,
        page: &str,
        prepare: impl FnOnce(&Profile),
    ) -> Self {
        let daemon = TestDaemon::start().await;
        let profile = Profile::new(&daemon.home(), daemon.port());
        prepare(&profile);
        let (browser, mut hand) = profile.open(&pages.url(page)).await;
        let client = McpClient::legacy(&daemon).named("Order bot");
        let tab = first_tab(&client, &browser).await;
        hand.open_beside(&popup()).await;
        shows(&mut hand, "Connected").await;
        Self { daemon, client, pages, browser, hand, tab, profile }
    }

    pub(crate) fn script(&self, text: &str) -> Value {
        json!({"action": "execute_js", "script": text, "tab_id": self.tab, "wait_ms": 20_000})
    }

    /// A call that has to wait for the person. Returns the command.
    pub(crate) async fn held(&self, call: Value) -> String {
        self.held_by(&self.client, call).await
    }

    pub(crate) async fn held_by(&self, client: &McpClient, call: Value) -> String {
        let answer = client.call("interact", call).await;
        assert_eq!(answer["status"], "waiting_for_user", "{answer}");
        assert!(answer["message"].as_str().unwrap().contains(&self.site()), "{answer}");
        answer["correlation_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn site(&self) -> String {
        self.pages.url("").trim_end_matches('/').to_owned()
    }

    /// The person presses a button of the question about this command.
    pub(crate) async fn press(&mut self, id: &str, button: usize) {
        self.press_of(id, "", button).await;
    }

    /// The same of the question that begins like this.
    pub(crate) async fn press_of(&mut self, id: &str, purpose: &str, button: usize) {
        press_in(&mut self.hand, id, purpose, button).await;
    }

    /// The same of a question about a page that the agent of this owner, on another machine, has not opened yet.
    pub(crate) async fn press_of_far(&mut self, owner: &str, id: &str, button: usize) {
        let asks = format!("on {owner} wants to open, read and act on");
        press_button(&mut self.hand, id, &asks, button).await;
    }

    /// The daemon ends and starts again.
    pub(crate) async fn restarted(self) -> Self {
        let daemon = self.daemon.restart().await;
        let client = McpClient::legacy(&daemon).named("Order bot");
        Self { daemon, client, ..self }
    }

    pub(crate) async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// Presses a button of the question in the popup that is about this command and begins like this.
async fn press_in(hand: &mut BrowserUser, id: &str, purpose: &str, button: usize) {
    let picture = format!("document.getElementById('{id}')?.querySelector('.picture') != null");
    soon("the picture", until(async || hand.read(&picture).await == true)).await;
    press_button(hand, id, &format!("wants to {purpose}"), button).await;
}

/// Presses a button of the question in the popup that is about this command and says this.
pub(super) async fn press_button(hand: &mut BrowserUser, id: &str, words: &str, button: usize) {
    let asks = format!("document.getElementById('{id}')?.innerText.includes({words:?})");
    soon("the question", until(async || hand.read(&asks).await == true)).await;
    let still = "document.querySelector('#ask-list').dataset.settling";
    soon("a still popup", until(async || hand.read(still).await == "false")).await;
    let button = format!("#{id} .buttons button:nth-child({button})");
    hand.read(&format!("document.querySelector('{button}').scrollIntoView()")).await;
    hand.click(&button).await;
}

#[tokio::test]
async fn an_act_waits_for_the_person_who_allows_it_once_for_the_session_always_or_never() {
    let mut stage = ConsentStage::set().await;
    let look = json!({"what": "snapshot", "tab_id": stage.tab, "wait_ms": 20_000});
    let looked = stage.client.call("analyze", look).await;
    assert!(looked["result"]["value"].is_string(), "reading needs no word: {looked}");
    let id = stage.held(stage.script("globalThis.acted = 1")).await;
    let listed = finish(cli_of(&stage.daemon, &["asks"])).await.stdout;
    assert!(listed.contains("execute_js") && listed.contains(&stage.site()), "{listed}");
    stage.press(&id, ONCE).await;
    assert_eq!(stage.client.outcome(&id).await["result"]["value"], 1);
    // Once is once.
    let id = stage.held(stage.script("globalThis.acted")).await;
    stage.press(&id, SESSION).await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["result"]["value"], 1, "{done}");
    let again = stage.client.call("interact", stage.script("globalThis.acted + 1")).await;
    assert_eq!(again["result"]["value"], 2, "{again}");
    let ran = finish(cli_of(&stage.daemon, &["asks", "forget", "Order bot"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let id = stage.held(stage.script("3")).await;
    stage.press(&id, ALWAYS).await;
    assert_eq!(stage.client.outcome(&id).await["result"]["value"], 3);

    let stranger = McpClient::legacy(&stage.daemon).named("Other bot");
    let asked = stranger.call("interact", stage.script("globalThis.acted = 9")).await;
    let id = asked["correlation_id"].as_str().unwrap().to_owned();
    stage.press(&id, NEVER).await;
    let denied = stranger.outcome(&id).await;
    assert_eq!(
        (&denied["reason"], &denied["may_have_run"]),
        (&json!("denied_by_user"), &json!(false))
    );
    let again = stranger.call_raw("interact", stage.script("globalThis.acted = 9")).await;
    let denied = body(&again);
    assert_eq!(denied["reason"], "denied_by_user", "{denied}");
    let value = stage.client.call("interact", stage.script("globalThis.acted")).await;
    assert_eq!(value["result"]["value"], 1, "{value}");
    stage.end().await;
}

/// What the popup lists of the person's words.
const WORDS: &str = "[...document.querySelectorAll('#word-list li')].map((row) => row.innerText)";

/// Waits until the popup lists so many words.
async fn lists_words(hand: &mut BrowserUser, count: usize) -> Vec<String> {
    let listed = async || hand.read(WORDS).await.as_array().is_some_and(|all| all.len() == count);
    soon("the words", until(listed)).await;
    serde_json::from_value(hand.read(WORDS).await).unwrap()
}

/// The person presses the button of an entry.
pub(super) async fn press_entry(hand: &mut BrowserUser, list: &str, number: usize) {
    let button = format!("#{list} li:nth-child({number}) button");
    hand.read(&format!("document.querySelector('{button}').scrollIntoView({{block: 'center'}})"))
        .await;
    hand.click(&button).await;
}

#[tokio::test]
async fn the_popup_lists_the_words_and_the_rules_to_ask_and_a_click_takes_each_back() {
    let mut stage = ConsentStage::set().await;
    let id = stage.held(stage.script("1")).await;
    stage.press(&id, ALWAYS).await;
    assert_eq!(stage.client.outcome(&id).await["status"], "complete");
    let stranger = McpClient::legacy(&stage.daemon).named("Other bot");
    let asked = stranger.call("interact", stage.script("2")).await;
    let id = asked["correlation_id"].as_str().unwrap().to_owned();
    stage.press(&id, NEVER).await;
    assert_eq!(stranger.outcome(&id).await["reason"], "denied_by_user");

    stage.hand.read("document.querySelector('#words').open = true").await;
    let words = lists_words(&mut stage.hand, 2).await;
    let site = stage.site();
    let says = |word: &str, client: &str, told: &str| {
        let is_told = told.contains(&format!("{word}: act on {site}")) && told.contains(client);
        assert!(is_told, "{word}, {client}: {told}");
    };
    // The newest first.
    says("Never", "Other bot", &words[0]);
    says("Always", "Order bot", &words[1]);
    assert_eq!(
        stage.hand.read("document.querySelector('#words-text').innerText").await,
        "Your words to agents: 2"
    );
    // A page has no way to speak to the extension.
    let tries = format!(
        "Promise.resolve().then(() => chrome.runtime.sendMessage('{EXTENSION_ID}', {{ask: 'take_word_back', \
         word: {{owner: 'user', client_id: 'Other bot', kind: 'act', site: '{site}'}}}}))\
         .then(() => 'sent', () => 'refused')"
    );
    let tried = stage.client.call("interact", stage.script(&tries)).await;
    assert_eq!(tried["result"]["value"], "refused", "{tried}");
    assert_eq!(lists_words(&mut stage.hand, 2).await.len(), 2);

    press_entry(&mut stage.hand, "word-list", 2).await;
    says("Never", "Other bot", &lists_words(&mut stage.hand, 1).await[0]);
    let again = body(&stranger.call_raw("interact", stage.script("2")).await);
    assert_eq!(again["reason"], "denied_by_user", "the other word stays: {again}");
    let id = stage.held(stage.script("3")).await;
    stage.press(&id, DENY).await;
    press_entry(&mut stage.hand, "word-list", 1).await;
    lists_words(&mut stage.hand, 0).await;
    let asked = stranger.call("interact", stage.script("2")).await;
    assert_eq!(asked["status"], "waiting_for_user", "{asked}");
    let id = asked["correlation_id"].as_str().unwrap().to_owned();
    stage.press(&id, DENY).await;

    let ran = finish(cli_of(&stage.daemon, &["sites", "default", "ask"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    stage.hand.read("document.querySelector('#sites').parentElement.open = true").await;
    shows(&mut stage.hand, "ask before agents act on 127.0.0.1").await;
    shows(&mut stage.hand, "ask before agents act on any other site").await;
    press_entry(&mut stage.hand, "sites", 1).await;
    let left = "document.querySelectorAll('#sites li').length";
    soon("one rule", until(async || stage.hand.read(left).await == 1)).await;
    let id = stage.held(stage.script("4")).await;
    stage.press(&id, DENY).await;
    press_entry(&mut stage.hand, "sites", 1).await;
    soon("no rule", until(async || stage.hand.read(left).await == 0)).await;
    let acted = stage.client.call("interact", stage.script("5")).await;
    assert_eq!(acted["result"]["value"], 5, "no rule asks any more: {acted}");
    stage.end().await;
}

#[tokio::test]
async fn what_was_allowed_once_does_not_run_on_a_page_that_came_meanwhile() {
    let mut stage = ConsentStage::set().await;
    // The second time the document is the same, at another address.
    for page in ["/second", "/second#other"] {
        let id = stage.held(stage.script("document.title")).await;
        let go = json!({"action": "navigate", "url": stage.pages.url(page), "tab_id": stage.tab, "wait_ms": 20_000});
        let went = stage.client.call("interact", go).await;
        assert_ne!(went["status"], "waiting_for_user", "opening a page is no act: {went}");
        stage.press(&id, ONCE).await;
        let ended = stage.client.outcome(&id).await;
        assert_eq!(
            (&ended["reason"], &ended["may_have_run"]),
            (&json!("consent_stale"), &json!(false)),
            "{page}: {ended}"
        );
    }
    stage.end().await;
}

#[tokio::test]
async fn a_batch_waits_before_its_first_step_and_a_held_command_outlives_worker_and_daemon() {
    let stage = ConsentStage::set().await;
    let steps = json!([{"action": "page_info"}, {"action": "execute_js", "script": "globalThis.ran = (globalThis.ran ?? 0) + 1"}]);
    let batch = json!({"action": "batch", "tab_id": stage.tab, "steps": steps, "wait_ms": 20_000});
    let id = stage.held(batch).await;
    kill_worker(&stage.browser);
    let mut stage = stage.restarted().await;
    stage.hand.open_beside(&popup()).await;
    shows(&mut stage.hand, "Connected").await;
    stage.press(&id, ONCE).await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["status"], "complete", "{done}");
    assert_eq!(done["result"]["value"]["results"][1], 1, "{done}");
    stage.end().await;
}

#[tokio::test]
async fn a_held_command_whose_daemon_is_killed_waits_for_the_next_one_and_runs_once() {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let again = ["--port".to_owned(), served.port.to_string()];
    let again: Vec<_> = again.iter().map(String::as_str).collect();
    let ran = place.run(&["sites", "ask", "127.0.0.1"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let pages = TestPages::start().await;
    let profile = Profile::new(&place.home(), served.port);
    let (browser, mut hand) = profile.open(&pages.url("/form")).await;
    hand.open_beside(&popup()).await;
    shows(&mut hand, "Connected").await;
    let mut agent = StdioClient::spawn(place.command(&["mcp"]));
    agent.initialize("order-bot").await;
    let list = json!({"action": "tab_list", "wait_ms": 20_000});
    let tab = agent.call("interact", list).await["result"]["value"][0]["tab_id"].clone();
    let script = "globalThis.ran = (globalThis.ran ?? 0) + 1";
    let act = json!({"action": "execute_js", "script": script, "tab_id": tab, "wait_ms": 20_000});
    let held = agent.call("interact", act).await;
    assert_eq!(held["status"], "waiting_for_user", "{held}");
    let id = held["correlation_id"].as_str().unwrap();
    signal(served.pid(), Signal::KILL);
    served.end().await;
    shows(&mut hand, "Not connected").await;
    let served = place.serve(&again).await;
    shows(&mut hand, "Connected").await;
    press_in(&mut hand, id, "", ONCE).await;
    let read = json!({"what": "command_result", "correlation_id": id, "wait_ms": 20_000});
    let mut later = StdioClient::spawn(place.command(&["mcp"]));
    later.initialize("order-bot").await;
    let done = later.call("observe", read.clone()).await;
    assert_eq!((&done["status"], &done["result"]["value"]), (&json!("complete"), &json!(1)));
    // Once more killed: what has run stays so.
    signal(served.pid(), Signal::KILL);
    served.end().await;
    let served = place.serve(&again).await;
    shows(&mut hand, "Connected").await;
    assert_eq!(later.call("observe", read).await["result"]["value"], 1);
    hand.turn_to(&pages.url("/form")).await;
    assert_eq!(hand.read("globalThis.ran").await, 1);
    browser.end().await;
    let _ = served.stop().await;
}

#[tokio::test]
async fn a_tab_of_the_person_is_closed_with_their_word_alone_and_one_of_an_agent_without() {
    let mut stage = ConsentStage::set().await;
    let ran = finish(cli_of(&stage.daemon, &["sites", "default", "allow"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let close = |tab: &Value| json!({"action": "tab_close", "tab_id": tab, "wait_ms": 20_000});
    let open = json!({"action": "tab_open", "url": stage.pages.url("/second"), "keep": true, "wait_ms": 20_000});
    let opened = stage.client.call("interact", open).await["result"]["value"]["tab_id"].clone();
    let closed = stage.client.call("interact", close(&opened)).await;
    assert_eq!(closed["result"]["value"]["tab_id"], opened, "{closed}");

    let id = stage.held(close(&stage.tab)).await;
    stage.press(&id, DENY).await;
    let denied = stage.client.outcome(&id).await;
    assert_eq!(
        (&denied["reason"], &denied["may_have_run"]),
        (&json!("denied_by_user"), &json!(false)),
        "{denied}"
    );
    // A word on one thing is none on another.
    let id = stage.held(stage.script("document.title")).await;
    stage.press(&id, SESSION).await;
    assert_eq!(stage.client.outcome(&id).await["status"], "complete", "the tab is still there");
    let steps = json!([{"action": "page_info"}, {"action": "tab_close"}]);
    let batch = json!({"action": "batch", "tab_id": stage.tab, "steps": steps, "wait_ms": 20_000});
    let id = stage.held(batch).await;
    stage.press(&id, DENY).await;
    assert_eq!(stage.client.outcome(&id).await["reason"], "denied_by_user");
    let id = stage.held(close(&stage.tab)).await;
    stage.press(&id, ONCE).await;
    let closed = stage.client.outcome(&id).await;
    assert_eq!(closed["result"]["value"]["tab_id"], stage.tab, "{closed}");
    stage.end().await;
}
