//! Owners whose programs see the tabs that they open, with the person's tabs in a real browser.

use serde_json::{Value, json};

use tabwire::lifecycle::limits;

use super::Stage;
use super::popup::{popup, shows};
use testkit::{
    BrowserUser, McpClient, OTHER_SITE, TestDaemon, TestPages, cli_of, every_call, finish, says,
    soon, until, without_numbers,
};

/// In the title and in the address of each tab of the person.
const WORD: &str = "hiddenplace";

/// A tab of the person, and one that does not exist.
struct Outside {
    ids: Vec<i64>,
    nowhere: i64,
}

impl Outside {
    /// What a text says of the person's tabs, but for the tab that the call has named itself.
    fn told(&self, text: &str, named: Option<i64>) -> Option<String> {
        let words = self.ids.iter().filter(|id| Some(**id) != named).map(i64::to_string);
        let mut words = std::iter::once(WORD.to_owned()).chain(words);
        words.find(|word| *word == WORD && text.contains(WORD) || says(text, word))
    }
}

struct ScopeStage {
    stage: Stage,
    /// Its programs see the tabs that they open.
    work: McpClient,
    outside: Outside,
}

async fn choose(stage: &Stage, scope: &str) {
    let ran = finish(cli_of(&stage.daemon, &["scope", "work", scope, "--unattended"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

async fn call(client: &McpClient, mut arguments: Value) -> Value {
    if arguments["wait_ms"].is_null() {
        arguments["wait_ms"] = 20_000.into();
    }
    testkit::body(&client.call_raw("interact", arguments).await)
}

fn id_of(opened: &Value) -> i64 {
    let id = opened["result"]["value"]["tab_id"].as_i64();
    id.unwrap_or_else(|| panic!("no tab was opened: {opened}"))
}

/// Presses the button that shares, or takes back.
async fn press_share(hand: &mut BrowserUser) {
    hand.read("document.querySelector('#share').scrollIntoView({block: 'center'}); 1").await;
    hand.click("#share").await;
}

impl ScopeStage {
    async fn set() -> Self {
        let stage = Stage::with_user(TestPages::start().await, &[]).await;
        let tabs = stage.client.call("observe", json!({"what": "tabs"})).await;
        let mut ids = vec![tabs["tabs"][0]["tab_id"].as_i64().unwrap()];
        stage.client.call("configure", json!({"action": "capture"})).await;
        for number in 0..3 {
            let url = stage.pages.url(&format!("/{WORD}-{number}"));
            let opened = stage.interact(json!({"action": "tab_open", "url": url})).await;
            ids.push(id_of(&opened));
            let named = format!(
                "document.title = '{WORD} {number}'; console.error('{WORD}'); fetch('/{WORD}-sent');\
                 console.log('{WORD}')"
            );
            stage.value(&named).await;
        }
        // The person's own tab is named, too.
        let first = ids[0];
        let script = format!("document.title = '{WORD}'; history.pushState({{}}, '', '/{WORD}')");
        let named = json!({"action": "execute_js", "script": script, "tab_id": first});
        assert_eq!(stage.interact(named).await["status"], "complete");
        choose(&stage, "own").await;
        let token = stage.daemon.token_of("work");
        let work = McpClient::legacy(&stage.daemon).with_token(token).named("worker");
        let nowhere = ids.iter().max().unwrap() + 5_000;
        Self { stage, work, outside: Outside { ids, nowhere } }
    }

    async fn open(&self, path: &str) -> i64 {
        let url = self.stage.pages.url(path);
        let open = json!({"action": "tab_open", "url": url, "share": true});
        id_of(&call(&self.work, open).await)
    }

    async fn seen(&self) -> Vec<i64> {
        let told = self.work.call("observe", json!({"what": "tabs"})).await;
        let tabs = told["tabs"].as_array().unwrap().iter();
        tabs.map(|tab| tab["tab_id"].as_i64().unwrap()).collect()
    }

    /// The person's hand in the popup, which is a tab here.
    async fn hand(&mut self) -> BrowserUser {
        let mut hand = BrowserUser::reach(&self.stage.profile()).await;
        hand.open_beside(&popup()).await;
        let tabs = self.stage.client.call("observe", json!({"what": "tabs"})).await;
        let tabs = tabs["tabs"].as_array().unwrap().iter();
        let ids = tabs.map(|tab| tab["tab_id"].as_i64().unwrap());
        let is_popup = |id: &i64| !self.outside.ids.contains(id);
        let popup: Vec<_> = ids.filter(is_popup).collect();
        self.outside.ids.extend(popup);
        hand
    }

    /// Clicks in the popup as if it were open over this tab.
    async fn click_share(&self, hand: &mut BrowserUser, tab: i64, url: &str) {
        let over = format!("chrome.tabs.query = async () => [{{id: {tab}, url: '{url}'}}]; 1");
        hand.read(&over).await;
        let is_offered = "(({hidden, dataset}) => !hidden && dataset.shared === 'false')\
                          (document.querySelector('#share'))";
        soon("an offer to share", until(async || hand.read(is_offered).await == true)).await;
        press_share(hand).await;
    }

    async fn listed(&self) -> Vec<i64> {
        let told = call(&self.work, json!({"action": "tab_list"})).await;
        let tabs = told["result"]["value"].as_array().unwrap().iter();
        tabs.map(|tab| tab["tab_id"].as_i64().unwrap()).collect()
    }
}

#[tokio::test]
async fn a_program_works_in_the_tabs_that_it_opened_and_in_those_that_they_open() {
    let set = ScopeStage::set().await;
    let own = set.open("/form").await;
    assert_eq!((set.seen().await, set.listed().await), (vec![own], vec![own]));
    // Each owner is told that it is held, and only its own the name.
    let list = json!({"action": "tab_list"});
    for (client, whose) in
        [(&set.work, r#""yours":true"#), (&set.stage.client, r#""held_by":"another""#)]
    {
        let listed = call(client, list.clone()).await["result"]["value"].to_string();
        assert_eq!(listed.matches(whose).count(), 1, "{listed}");
        assert!(!listed.contains("worker"), "{listed}");
    }
    let shown = call(&set.work, json!({"action": "page_info"})).await;
    assert_eq!(shown["result"]["value"]["title"], "A Form", "its own is the current one: {shown}");
    let snapshot = json!({"what": "snapshot", "wait_ms": 20_000});
    let snapshot = set.work.call("analyze", snapshot).await;
    assert_eq!(snapshot["status"], "complete", "{snapshot}");
    let tabs = set.work.call("observe", json!({"what": "tabs"})).await;
    let letters = tabs["tabs"][0]["ref_prefix"].as_str().unwrap();
    assert_eq!(letters.len(), 3, "letters that count no tabs: {tabs}");
    // A tab that its page opens in an act is its own, too.
    let link = "document.body.innerHTML = '<a id=more target=_blank href=/second>more</a>'";
    call(&set.work, json!({"action": "execute_js", "script": link})).await;
    let clicked = call(&set.work, json!({"action": "click", "target": "#more"})).await;
    let new = clicked["result"]["value"]["new_tab"].as_i64();
    let new = new.unwrap_or_else(|| panic!("no new tab: {clicked}"));
    assert_eq!(set.seen().await, [own, new]);
    // And one that the same page opens while another owner acts there is not.
    let there = json!({"action": "click", "target": "#more", "tab_id": own});
    // The act of its own before must not be of late.
    tokio::time::sleep(limits::OPENED_AFTER_ACT).await;
    let by_other = set.stage.interact(there).await;
    assert!(by_other["result"]["value"]["new_tab"].is_i64(), "{by_other}");
    assert_eq!(set.seen().await, [own, new]);
    let closed = call(&set.work, json!({"action": "tab_close", "tab_id": new})).await;
    assert_eq!(closed["status"], "complete", "{closed}");
    assert_eq!(set.seen().await, [own]);
    set.stage.end().await;
}

#[tokio::test]
async fn without_a_tab_of_its_own_it_gets_none_and_a_guessed_one_is_not_there() {
    let set = ScopeStage::set().await;
    assert_eq!(set.seen().await, [0; 0]);
    for action in ["page_info", "screenshot", "tab_close", "back"] {
        let refused = call(&set.work, json!({"action": action})).await;
        assert_eq!(refused["error"], "no_tab", "{action}: {refused}");
        assert_eq!(set.outside.told(&refused.to_string(), None), None, "{refused}");
        let ask = |tab: i64| call(&set.work, json!({"action": action, "tab_id": tab}));
        let nowhere = without_numbers(&ask(set.outside.nowhere).await.to_string());
        for tab in &set.outside.ids {
            let guessed = ask(*tab).await.to_string();
            assert_eq!(without_numbers(&guessed), nowhere, "{action} of {tab}");
            assert_eq!(set.outside.told(&guessed, Some(*tab)), None, "{guessed}");
        }
    }
    // The person's tabs are all there, as they were.
    let tabs = set.stage.client.call("observe", json!({"what": "tabs"})).await;
    assert_eq!(tabs["count"].as_u64().unwrap() as usize, set.outside.ids.len(), "{tabs}");
    set.stage.end().await;
}

/// How a call was refused, without the list of tabs that may be used, which can change between two
/// calls. What is for no tab goes on all the same.
fn refusal_of(raw: &Value) -> String {
    let mut told = testkit::body(raw);
    if raw["isError"] != true {
        return String::new();
    }
    told.as_object_mut().unwrap().remove("tabs");
    without_numbers(&told.to_string())
}

/// Opens a tab of its own again if a call has closed it or led it elsewhere.
async fn own_tab(set: &ScopeStage, before: i64) -> i64 {
    if set.seen().await.contains(&before) { before } else { set.open("/form").await }
}

#[tokio::test]
async fn no_answer_of_any_tool_action_view_or_stream_has_a_byte_of_a_tab_outside() {
    walk(ScopeStage::set().await).await;
}

#[tokio::test]
async fn nor_does_one_where_the_person_shares_some_of_the_tabs() {
    let mut set = ScopeStage::set().await;
    choose(&set.stage, "shared").await;
    // Its address and title tell nothing of the others.
    let url = set.stage.pages.url("/orders");
    let shared = set.outside.ids[0];
    let go = json!({"action": "navigate", "url": url, "tab_id": shared});
    assert_eq!(set.stage.interact(go).await["status"], "complete");
    let mut hand = set.hand().await;
    set.click_share(&mut hand, shared, &url).await;
    soon("the shared tab", until(async || set.seen().await == [shared])).await;
    set.outside.ids.remove(0);
    walk(set).await;
}

async fn walk(set: ScopeStage) {
    let url = set.stage.pages.url("/form");
    set.work.call("configure", json!({"action": "capture"})).await;
    let mut own = set.open("/form").await;
    let guess = set.outside.ids[1];
    let mut wrong = Vec::new();
    let mut done = 0;
    for (number, offered) in every_call(&url).into_iter().enumerate() {
        let token = set.stage.daemon.token_of("work");
        let client = McpClient::legacy(&set.stage.daemon).with_token(token);
        let client = client.named(&format!("caller-{number}"));
        own = own_tab(&set, own).await;
        let mut nowhere = None;
        let ways = [Some(own), None, Some(set.outside.nowhere), Some(guess)];
        for tab in ways.into_iter().filter(|tab| tab.is_none() || offered.takes_tab) {
            let raw = client.call_raw(&offered.tool, offered.of_tab(tab)).await;
            done += usize::from(raw["isError"] == false);
            let answer = raw.to_string();
            if let Some(found) = set.outside.told(&answer, tab) {
                wrong.push(format!("{offered:?} of {tab:?} tells {found}: {answer:.900}"));
            }
            let came = refusal_of(&raw);
            if tab == Some(set.outside.nowhere) {
                nowhere = Some(came);
            } else if tab == Some(guess) && nowhere != Some(came) {
                wrong.push(format!("{offered:?} of {guess} answers not as of none: {answer:.900}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} answers:\n{}", wrong.len(), wrong.join("\n"));
    assert!(done > 80, "only {done} calls did what they are for");
    // Whoever sees every tab finds some by the same search: it can fail.
    let tabs = std::iter::once(json!({"what": "tabs"}));
    let streams = ["logs", "network", "errors"].map(|what| json!({"what": what, "text": WORD}));
    for what in tabs.chain(streams) {
        let told = set.stage.client.call("observe", what.clone()).await.to_string();
        assert!(set.outside.told(&told, None).is_some(), "{what}: {told}");
    }
    set.stage.end().await;
}

#[tokio::test]
async fn a_scope_is_narrowed_and_widened_while_programs_run() {
    let set = ScopeStage::set().await;
    choose(&set.stage, "all").await;
    let person = set.outside.ids[0];
    let long = "await new Promise((done) => setTimeout(done, 20_000)); return document.title";
    let there = json!({"action": "execute_js", "script": long, "tab_id": person,
                       "timeout_ms": 30_000});
    let running = set.work.submit(there).await;
    let waiting = json!({"action": "execute_js", "script": "document.title", "tab_id": person});
    let waiting = set.work.submit(waiting).await;
    assert_eq!(set.seen().await.len(), set.outside.ids.len());
    let is_running = async || set.work.status(&running).await["status"] == "pending";
    soon("a script", until(is_running)).await;
    choose(&set.stage, "own").await;
    for id in [running, waiting] {
        let told = json!({"what": "command_result", "correlation_id": id, "wait_ms": 0});
        let told = set.work.call_raw("observe", told).await.to_string();
        assert!(told.contains("expired") && set.outside.told(&told, None).is_none(), "{told}");
    }
    assert_eq!(set.seen().await, [0; 0]);
    choose(&set.stage, "all").await;
    assert_eq!(set.seen().await.len(), set.outside.ids.len());
    set.stage.end().await;
}

#[tokio::test]
async fn a_download_of_the_same_site_in_a_tab_outside_is_not_told() {
    let set = ScopeStage::set().await;
    let own = set.open("/form").await;
    let link = |name: &str| {
        format!(
            "const a = document.createElement('a'); a.href = '/download?name={name}'; \
             a.download = '{name}'; document.body.append(a); a.click(); 'begun'"
        )
    };
    let outside =
        json!({"action": "execute_js", "script": link(WORD), "tab_id": set.outside.ids[1]});
    let wait = json!({"action": "wait_for", "download": true, "timeout_ms": 4_000, "tab_id": own});
    let waiting = set.work.submit(wait).await;
    assert_eq!(set.stage.interact(outside).await["status"], "complete");
    let told = set.work.outcome(&waiting).await;
    assert_eq!(set.outside.told(&told.to_string(), None), None, "{told}");
    let own_link = json!({"action": "execute_js", "script": link("mine"), "tab_id": own});
    assert_eq!(call(&set.work, own_link).await["status"], "complete");
    let list = json!({"action": "downloads", "operation": "list"});
    let told = call(&set.work, list).await;
    assert_eq!(set.outside.told(&told.to_string(), None), None, "{told}");
    set.stage.end().await;
}

#[tokio::test]
async fn a_trace_which_would_record_other_tabs_of_the_process_is_refused() {
    let set = ScopeStage::set().await;
    let own = set.open("/form").await;
    let start = json!({"what": "trace", "phase": "start", "tab_id": own, "wait_ms": 10_000});
    let refused = testkit::body(&set.work.call_raw("analyze", start.clone()).await);
    assert_eq!(refused["reason"], "unsupported", "{refused}");
    let taken = set.stage.client.call("analyze", {
        let mut start = start;
        start["tab_id"] = set.outside.ids[1].into();
        start
    });
    assert_eq!(taken.await["status"], "complete");
    set.stage.end().await;
}

#[tokio::test]
async fn the_person_shares_a_tab_by_a_click_until_it_is_taken_back_goes_elsewhere_or_is_closed() {
    let mut set = ScopeStage::set().await;
    choose(&set.stage, "shared").await;
    assert_eq!(set.seen().await, [0; 0], "nothing is shared");
    let mut hand = set.hand().await;
    let (tab, other) = (set.outside.ids[0], set.outside.ids[2]);
    let url = set.stage.pages.url("/second");
    let go = |tab: i64, url: &str| json!({"action": "navigate", "url": url, "tab_id": tab});
    assert_eq!(set.stage.interact(go(tab, &url)).await["status"], "complete");
    set.click_share(&mut hand, tab, &url).await;
    shows(&mut hand, "Take this tab back").await;
    soon("the shared tab", until(async || set.seen().await == [tab])).await;
    assert_eq!(set.listed().await, [tab]);
    let title = json!({"action": "execute_js", "script": "document.title", "tab_id": tab});
    let read = call(&set.work, title.clone()).await;
    assert_eq!(read["result"]["value"], "Second Page", "{read}");
    let refused = call(&set.work, json!({"action": "page_info", "tab_id": other})).await;
    assert_eq!(refused["error"], "tab_gone", "the others are not shared: {refused}");
    // Taken back.
    press_share(&mut hand).await;
    soon("no tab", until(async || set.seen().await.is_empty())).await;
    let refused = call(&set.work, title.clone()).await;
    assert_eq!(refused["error"], "tab_gone", "{refused}");
    // A page of the same site keeps it, another site ends it before anything of it is told.
    set.click_share(&mut hand, tab, &url).await;
    soon("the shared tab", until(async || set.seen().await == [tab])).await;
    assert_eq!(
        set.stage.interact(go(tab, &set.stage.pages.url("/form"))).await["status"],
        "complete"
    );
    assert_eq!(call(&set.work, title.clone()).await["result"]["value"], "A Form");
    let elsewhere = set.stage.pages.url(&format!("/{WORD}")).replace("127.0.0.1", OTHER_SITE);
    let leaves = format!("location.href = '{elsewhere}'; await new Promise(() => {{}})");
    let leaves = json!({"action": "execute_js", "script": leaves, "tab_id": tab});
    let told = call(&set.work, leaves).await.to_string();
    assert!(!told.contains(WORD) && !told.contains("Another Page"), "{told}");
    soon("no tab", until(async || set.seen().await.is_empty())).await;
    let refused = call(&set.work, title).await;
    assert_eq!(refused["error"], "tab_gone", "{refused}");
    // It does not come back with its site.
    assert_eq!(set.stage.interact(go(tab, &url)).await["status"], "complete");
    assert_eq!(set.seen().await, [0; 0]);
    // Nor does a closed one.
    set.click_share(&mut hand, tab, &url).await;
    soon("the shared tab", until(async || set.seen().await == [tab])).await;
    hand.read(&format!("chrome.tabs.remove({tab}); 1")).await;
    soon("no tab", until(async || set.seen().await.is_empty())).await;
    set.stage.end().await;
}

#[tokio::test]
async fn what_is_shared_outlives_the_extensions_worker() {
    let mut set = ScopeStage::set().await;
    choose(&set.stage, "shared").await;
    let mut hand = set.hand().await;
    let tab = set.outside.ids[0];
    let url = set.stage.pages.url("/second");
    let go = json!({"action": "navigate", "url": url, "tab_id": tab});
    assert_eq!(set.stage.interact(go).await["status"], "complete");
    set.click_share(&mut hand, tab, &url).await;
    soon("the shared tab", until(async || set.seen().await == [tab])).await;
    set.stage.kill_worker();
    let title = json!({"action": "execute_js", "script": "document.title", "tab_id": tab});
    let read = async || call(&set.work, title.clone()).await["result"]["value"] == "Second Page";
    soon("the next worker", until(read)).await;
    assert_eq!(set.seen().await, [tab]);
    set.stage.end().await;
}

/// How many tabs of the person are opened at once.
const OPENED_AT_ONCE: usize = 20;

/// The person opens so many empty tabs in the background, with the word in their addresses.
async fn open_many(hand: &mut BrowserUser, count: usize) -> Vec<i64> {
    let mut ids = Vec::new();
    for from in (0..count).step_by(OPENED_AT_ONCE) {
        let open = format!(
            "Promise.all(Array.from({{length: {}}}, (_, at) => chrome.tabs.create({{active: false, \
             url: `about:blank#{WORD}-${{{from} + at}}`}}))).then((all) => all.map(({{ id }}) => id))",
            OPENED_AT_ONCE.min(count - from)
        );
        let opened = hand.read(&open).await;
        ids.extend(opened.as_array().unwrap().iter().map(|id| id.as_i64().unwrap()));
    }
    ids
}

/// An owner of each scope lists, reads streams and guesses the ids of so many tabs of the person.
async fn guess_among(count: usize) {
    // Many empty pages share a process then.
    let flags = ["--renderer-process-limit=1"];
    // Each guess is a call.
    let daemon = TestDaemon::with(|settings| settings.limits.calls_per_minute = 0).await;
    let pages = TestPages::start().await;
    let home = pages.url("/");
    let opened = BrowserUser::open_browser_with(&daemon, daemon.port(), &home, &flags);
    let stage = Stage::connected(daemon, pages, opened).await;
    let mut hand = BrowserUser::reach(&stage.profile()).await;
    hand.open_beside(&popup()).await;
    let ids = open_many(&mut hand, count).await;
    let nowhere = ids.iter().max().unwrap() + 5_000;
    let outside = Outside { ids, nowhere };
    let token = stage.daemon.token_of("work");
    let work = McpClient::legacy(&stage.daemon).with_token(token).named("worker");
    for scope in ["own", "shared"] {
        choose(&stage, scope).await;
        work.call("configure", json!({"action": "capture"})).await;
        // A browser with a thousand tabs takes its time for one more.
        let url = stage.pages.url("/form");
        let open =
            json!({"action": "tab_open", "url": url, "timeout_ms": 60_000, "wait_ms": 55_000});
        let own = id_of(&call(&work, open).await);
        let said =
            json!({"action": "execute_js", "script": "console.log('own words')", "tab_id": own});
        assert_eq!(call(&work, said).await["status"], "complete");
        let mut looks = vec![call(&work, json!({"action": "tab_list"})).await];
        for what in ["tabs", "logs", "network", "errors", "browsers"] {
            looks.push(work.call("observe", json!({"what": what})).await);
        }
        for told in looks {
            let told = told.to_string();
            assert_eq!(outside.told(&told, None), None, "{scope}: {told:.900}");
        }
        let guess = |tab: i64| {
            let look = json!({"action": "page_info", "tab_id": tab});
            async { without_numbers(&call(&work, look).await.to_string()) }
        };
        let none = guess(outside.nowhere).await;
        for tab in &outside.ids {
            assert_eq!(guess(*tab).await, none, "{scope}: tab {tab}");
        }
        call(&work, json!({"action": "tab_close", "tab_id": own})).await;
    }
    // Who sees every tab finds them: the search can fail.
    choose(&stage, "all").await;
    let told = work.call("observe", json!({"what": "tabs"})).await;
    assert!(told["count"].as_u64().unwrap() as usize >= count, "{told:.900}");
    assert!(outside.told(&told.to_string(), None).is_some(), "{told:.900}");
    stage.end().await;
}

#[tokio::test]
async fn an_owner_of_a_narrow_scope_lists_streams_and_guesses_none_of_200_tabs() {
    guess_among(200).await;
}

#[tokio::test]
#[ignore = "a minute or more: `make soak`"]
async fn an_owner_of_a_narrow_scope_lists_streams_and_guesses_none_of_1000_tabs() {
    guess_among(1_000).await;
}
