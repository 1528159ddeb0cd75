//! Programs of an owner that sees only the tabs that they open, or also those that the person shares,
//! and that want to see the person's others.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, McpClient, RowReport, StdioClient,
    TestDaemon, authorization, cli_of, every_call, finish, raw, soon, until, without_numbers,
};
use tokio::task::JoinHandle;

/// The tabs of the person: each has the word in its title and in its address.
const TABS: std::ops::RangeInclusive<i64> = 700_001..=701_000;
const WORD: &str = "hiddenplace";

/// The first tab that the bounded owner opens, behind which the next ones follow, and one that does
/// not exist.
const OWN: i64 = 900_001;
const NOWHERE: i64 = 800_001;

/// A tab that the person shares at times. Neither its title nor its address has the word.
const SHARED: i64 = 650_001;
const SHARED_HOST: &str = "shared.test";

/// The owner that sees every tab. The default owner sees its own.
const BOSS: &str = "boss";

fn of_person() -> Vec<Value> {
    let tab = |id: i64| {
        json!({"tab_id": id, "window_id": 1, "url": format!("http://{WORD}-{id}.test/"),
               "title": format!("{WORD} {id}"), "active": id == *TABS.start(), "focused": true,
               "ref_prefix": format!("q{}", char::from(b'a' + u8::try_from(id % 26).unwrap()))})
    };
    let shared = json!({"tab_id": SHARED, "window_id": 1, "url": format!("http://{SHARED_HOST}/"),
                        "title": "Shared", "active": false, "focused": true});
    TABS.map(tab).chain([shared]).collect()
}

/// These, and so many that the bounded owner has opened.
fn with_own(opened: i64) -> Vec<Value> {
    let own = |id: i64| {
        json!({"tab_id": id, "window_id": 1, "url": "http://own.test/", "title": "Own",
               "active": false, "focused": true})
    };
    of_person().into_iter().chain((OWN..OWN + opened).map(own)).collect()
}

/// The tab that a program opens in a private window, one there that nobody has opened for it, and the
/// word in their titles and addresses.
const PRIVATE: i64 = 600_001;
const OF_NOBODY: i64 = 600_002;
const PRIVATE_WORD: &str = "unseenplace";

fn private_tabs(is_open: bool) -> Vec<Value> {
    let tab = |id: i64| {
        json!({"tab_id": id, "window_id": 0, "url": format!("http://{PRIVATE_WORD}-{id}.test/"),
               "title": format!("{PRIVATE_WORD} {id}"), "active": true, "focused": false,
               "private": true, "ref_prefix": format!("zz{}", if id == PRIVATE { 'a' } else { 'b' })})
    };
    if is_open { vec![tab(PRIVATE), tab(OF_NOBODY)] } else { Vec::new() }
}

/// Whether a text says anything of private tabs, but for the one that the call has named itself.
fn tells_of_private(text: &str, named: Option<i64>) -> bool {
    let says = |id: i64| Some(id) != named && text.contains(&id.to_string());
    text.contains(PRIVATE_WORD) || says(PRIVATE) || says(OF_NOBODY)
}

/// What a text says of the person's tabs, but for the tab that the call has named itself.
fn told(text: &str, named: Option<i64>) -> Option<String> {
    if text.contains(WORD) {
        return Some(WORD.to_owned());
    }
    let words = text.split(|sign: char| !sign.is_alphanumeric());
    let mut numbers = words.filter_map(|word| word.parse::<i64>().ok());
    let id = numbers.find(|id| TABS.contains(id) && Some(*id) != named);
    id.map(|id| id.to_string())
}

/// A browser with the person's tabs, which does what it is told, and the commands that it got.
struct StandInBrowser {
    got: Arc<Mutex<Vec<Value>>>,
    say: tokio::sync::mpsc::UnboundedSender<Value>,
    task: JoinHandle<()>,
}

impl Drop for StandInBrowser {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl StandInBrowser {
    async fn open(daemon: &TestDaemon) -> Self {
        let calls = every_call("").into_iter().filter(|call| call.takes_tab);
        let actions: Vec<&'static str> =
            calls.map(|call| &*call.choice.to_owned().leak()).collect();
        let builder = ExtensionBuilder::of(daemon).actions(&actions).tabs(of_person());
        let extension = builder.connect().await;
        let got = Arc::new(Mutex::new(Vec::new()));
        let (say, news) = tokio::sync::mpsc::unbounded_channel();
        let task = tokio::spawn(serve(extension, got.clone(), news));
        Self { got, say, task }
    }

    /// What each stream records, all of it in a tab of the person.
    fn record(&self) {
        self.record_in(*TABS.start(), WORD);
    }

    /// The person shares these tabs and no others.
    fn share(&self, tabs: &[i64]) {
        self.say.send(json!({"type": "shared_tabs", "tab_ids": tabs})).unwrap();
    }

    /// The same in this tab, on a site of this name.
    fn record_in(&self, tab: i64, word: &str) {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire/from_extension");
        let mut streams = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if !path.file_name().unwrap().to_str().unwrap().starts_with("events.") {
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let text = text.replace("127.0.0.1:8000", &format!("{word}.test"));
            let mut frame: Value = serde_json::from_str(&text).unwrap();
            for entry in frame["entries"].as_array_mut().unwrap() {
                entry["tab_id"] = tab.into();
            }
            self.say.send(frame).unwrap();
            streams += 1;
        }
        assert!(streams >= 6, "only {streams} streams are recorded");
    }
}

async fn serve(
    mut extension: FakeExtension,
    got: Arc<Mutex<Vec<Value>>>,
    mut news: tokio::sync::mpsc::UnboundedReceiver<Value>,
) {
    let mut claimed: HashMap<String, DeliveredCommand> = HashMap::new();
    let (mut opened, mut has_private) = (0, false);
    loop {
        let frame = tokio::select! {
            frame = extension.try_next() => frame,
            Some(frame) = news.recv() => {
                extension.send(&frame).await;
                continue;
            }
        };
        let Some(frame) = frame else { return };
        let ready = match frame["type"].as_str().unwrap_or_default() {
            "command" => {
                let command = DeliveredCommand::of(&frame);
                got.lock().unwrap().push(command.command.clone());
                if command.command["safe"] == true {
                    Some(command)
                } else {
                    extension.send(&command.answer("claim")).await;
                    claimed.insert(command.id.clone(), command);
                    None
                }
            }
            "go" => claimed.remove(frame["correlation_id"].as_str().unwrap()),
            "ping" => {
                extension.send(&json!({"type": "pong", "t": frame["t"]})).await;
                None
            }
            _ => None,
        };
        let Some(command) = ready else { continue };
        let mut value = Value::Null;
        if command.command["type"] == "tab_open" {
            let is_private = command.command["params"]["private"] == true;
            let id = if is_private { PRIVATE } else { OWN + opened };
            opened += i64::from(!is_private);
            has_private |= is_private;
            let news = json!({"type": "tab_opened", "correlation_id": command.id, "tab_id": id,
                              "private": is_private});
            extension.send(&news).await;
            let tabs: Vec<_> =
                with_own(opened).into_iter().chain(private_tabs(has_private)).collect();
            extension.send(&json!({"type": "tabs", "tabs": tabs})).await;
            value = json!({"tab_id": id, "url": "http://own.test/", "title": "Own"});
        }
        let result = json!({"success": true, "value": value, "type": "object"});
        extension.send(&command.frame("complete", json!({"result": result}))).await;
    }
}

/// A daemon and a browser; the default owner's programs see the tabs that they open, and have one.
struct Place {
    daemon: TestDaemon,
    browser: StandInBrowser,
    boss: McpClient,
}

impl Place {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let browser = StandInBrowser::open(&daemon).await;
        let boss = McpClient::legacy(&daemon).with_token(daemon.token_of(BOSS)).named("helper");
        boss.call("configure", json!({"action": "capture"})).await;
        Self { daemon, browser, boss }
    }

    fn client(&self, name: &str) -> McpClient {
        McpClient::legacy(&self.daemon).named(name)
    }

    /// From here on the default owner's programs see the tabs of this scope, and have one of their own.
    async fn narrow(&self, scope: &str) -> McpClient {
        let ran = finish(cli_of(&self.daemon, &["scope", "user", scope])).await;
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let client = self.client("curious");
        let open = json!({"action": "tab_open", "share": true, "wait_ms": 5_000});
        let opened = client.call("interact", open).await;
        assert_eq!(opened["result"]["value"]["tab_id"], OWN, "{opened}");
        client
    }
}

/// A tab that is guessed.
const GUESS: i64 = *TABS.start() + 500;

/// Tries each call in each of these ways of naming a tab.
async fn try_every_call(row: &mut RowReport, place: &Place, ways: &[Option<i64>]) {
    for (number, call) in every_call("http://own.test/").into_iter().enumerate() {
        // A client has so many calls a minute, and so many open questions.
        let client = place.client(&format!("caller-{number}"));
        let mut told_of_nothing = None;
        for &tab in ways {
            if tab.is_some() && !call.takes_tab {
                continue;
            }
            let raw = client.call_raw(&call.tool, call.of_tab(tab)).await;
            let answer = raw.to_string();
            let found = told(&answer, tab);
            // What is for no tab goes on all the same.
            let came =
                if raw["isError"] == true { without_numbers(&answer) } else { String::new() };
            let what = format!("{} {} of tab {tab:?}", call.tool, call.choice);
            row.tried(&what, found.is_none(), format!("it tells {found:?}: {answer:.600}"));
            if tab == Some(NOWHERE) {
                told_of_nothing = Some(came);
            } else if tab == Some(GUESS) {
                let is_same = told_of_nothing.as_ref() == Some(&came);
                let came = format!("not as a tab that does not exist: {answer:.600}");
                row.tried(&format!("{what}, guessed"), is_same, came);
            }
        }
    }
}

/// All of the same calls tell an owner that sees every tab of the person's: the search finds it.
async fn check_search(place: &Place) {
    let mut found = 0;
    for call in every_call("http://own.test/").iter().filter(|call| call.tool == "observe") {
        for tab in [None, Some(GUESS)] {
            let answer = place.boss.call_raw(&call.tool, call.of_tab(tab)).await.to_string();
            found += usize::from(told(&answer, None).is_some());
        }
    }
    assert!(found >= 8, "only {found} answers tell whoever sees every tab of one");
}

const PAGE_INFO: (&str, &str, &str) = ("interact", "action", "page_info");
const PAGE: (&str, &str, &str) = ("observe", "what", "page");

/// Each of the thousand ids answers as one that does not exist.
async fn guess_all(row: &mut RowReport, place: &Place, ways: &[(&'static str, &str, &str)]) {
    for &(tool, selector, choice) in ways {
        let ask = |client: McpClient, tab: i64| async move {
            let call = json!({selector: choice, "tab_id": tab});
            client.call_raw(tool, call).await.to_string()
        };
        let unknown = without_numbers(&ask(place.client("nowhere"), NOWHERE).await);
        for tab in TABS {
            let client = place.client(&format!("guesser-{choice}-{}", tab / 200));
            let answer = ask(client, tab).await;
            let is_same = without_numbers(&answer) == unknown && told(&answer, Some(tab)).is_none();
            row.tried(&format!("{choice} of tab {tab}"), is_same, &answer);
        }
    }
}

/// What routes and the command line tell of the default owner.
async fn try_routes(row: &mut RowReport, place: &Place) {
    let own = authorization(&place.daemon.token());
    for path in ["/api/status", "/api/commands", "/api/asks"] {
        let line = format!("GET {path} HTTP/1.1");
        let answer = raw(&place.daemon, &[&line, "Host: HOST", &own], b"").await;
        let text = &answer.body;
        let found = told(text, Some(GUESS));
        row.tried(path, answer.status == 200 && found.is_none(), format!("{found:?}: {text:.600}"));
    }
    for arguments in [
        &["status", "--json"][..],
        &["status"],
        &["commands"],
        &["asks"],
        &["doctor"],
        &["call", "observe", "what=tabs"],
        &["call", "observe", "what=logs"],
        &["call", "interact", "action=tab_list"],
    ] {
        let ran = finish(cli_of(&place.daemon, arguments)).await;
        let text = format!("{}{}", ran.stdout, ran.stderr);
        let found = told(&text, Some(GUESS));
        row.tried(&arguments.join(" "), found.is_none(), format!("{found:?}: {text:.600}"));
    }
}

/// Cursors count nothing that comes outside, and none is taken that another has.
async fn try_cursors(row: &mut RowReport, place: &Place) {
    let me = place.client("reader");
    for what in ["logs", "network", "errors", "websocket", "actions", "performance"] {
        let read = |cursor: &str| json!({"what": what, "cursor": cursor});
        let before = me.call("observe", read("oldest")).await["next_cursor"].clone();
        place.browser.record();
        let seen = async || {
            let counted = place.boss.call("observe", read("oldest")).await;
            !counted["entries"].as_array().unwrap().is_empty()
        };
        soon("entries", until(seen)).await;
        let after = me.call("observe", read(before.as_str().unwrap())).await;
        row.tried(&format!("the cursor of {what}"), after["next_cursor"] == before, &after);
        let open = place.boss.call("observe", read("oldest")).await["next_cursor"].clone();
        let answer = me.call_raw("observe", read(open.as_str().unwrap())).await.to_string();
        let is_refused = answer.contains("invalid_argument");
        row.tried(&format!("a cursor of another for {what}"), is_refused, &answer);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_41_a_program_that_sees_its_own_tabs_learns_of_none_of_a_thousand_others() {
    let place = Place::set().await;
    // While it sees every tab, it learns of some.
    let before = place.client("curious");
    let list = json!({"what": "tabs"});
    assert!(told(&before.call("observe", list).await.to_string(), None).is_some());
    let there = json!({"action": "execute_js", "script": WORD, "tab_id": TABS.start()});
    let id = before.submit(there).await;
    before.outcome(&id).await;
    before.call_fails("observe", json!({"what": "page", "tab_id": NOWHERE})).await;
    place.browser.record();
    let mut row = RowReport::new(41);
    let me = place.narrow("own").await;
    let late = json!({"what": "command_result", "correlation_id": id});
    let answer = me.call_raw("observe", late).await.to_string();
    row.tried("a result from before", told(&answer, None).is_none(), &answer);
    for what in ["failed_commands", "pending_commands"] {
        let answer = me.call_raw("observe", json!({"what": what})).await.to_string();
        row.tried(&format!("{what} from before"), told(&answer, None).is_none(), &answer);
    }
    check_search(&place).await;
    let ways = [None, Some(OWN), Some(NOWHERE), Some(GUESS)];
    try_every_call(&mut row, &place, &ways).await;
    guess_all(&mut row, &place, &[PAGE_INFO, PAGE]).await;
    try_routes(&mut row, &place).await;
    try_cursors(&mut row, &place).await;
    for letters in ["qa1", "qz1", "qb12"] {
        let click = json!({"action": "click", "target": letters, "wait_ms": 2_000});
        let answer = place.client("ref-guesser").call_raw("interact", click).await.to_string();
        row.tried(&format!("the ref {letters}"), told(&answer, None).is_none(), &answer);
    }
    let got = place.browser.got.lock().unwrap().clone();
    let is_bounded = |command: &&Value| command["tabs"].is_array();
    let kinds: std::collections::HashSet<_> =
        got.iter().filter(is_bounded).map(|command| command["type"].to_string()).collect();
    assert!(kinds.len() > 40, "only {} actions were tried in a tab: {kinds:?}", kinds.len());
    for command in got.iter().filter(is_bounded) {
        let is_inside = command["tab_id"].as_i64().is_none_or(|tab| tab >= OWN);
        row.tried("what the browser is told to do", is_inside, command);
        let of_own =
            command["tabs"].as_array().unwrap().iter().all(|tab| tab.as_i64() >= Some(OWN));
        row.tried("the tabs that it may do it in", of_own, command);
    }
    row.report();
}

/// A program that sees shared tabs, and one of the thousand and one is shared for a while. The calls that
/// act in its own tab are those of a program that sees its own tabs alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_41_a_program_that_sees_shared_tabs_learns_of_none_of_a_thousand_that_are_not_shared() {
    let place = Place::set().await;
    place.browser.record_in(SHARED, WORD);
    let mut row = RowReport::new(41);
    let me = place.narrow("shared").await;
    let listed = async || me.call("observe", json!({"what": "tabs"})).await.to_string();
    let tabs = listed().await;
    let is_hidden = !tabs.contains(SHARED_HOST) && told(&tabs, None).is_none();
    row.tried("the list before a tab is shared", is_hidden, &tabs);
    place.browser.share(&[SHARED]);
    soon("the shared tab", until(async || listed().await.contains(SHARED_HOST))).await;
    let look = json!({"action": "page_info", "tab_id": SHARED, "wait_ms": 5_000});
    let looked = place.client("looker").call("interact", look).await;
    assert_eq!(looked["status"], "complete", "a shared tab can be used: {looked}");

    try_every_call(&mut row, &place, &[None, Some(NOWHERE), Some(GUESS)]).await;
    guess_all(&mut row, &place, &[PAGE]).await;
    try_routes(&mut row, &place).await;
    try_cursors(&mut row, &place).await;
    // What it did before stays hidden, and what it does now is told.
    let oldest = json!({"what": "network", "cursor": "oldest"});
    place.browser.record_in(SHARED, "sharedplace");
    let read = async || me.call("observe", oldest.clone()).await.to_string();
    soon("an entry of the shared tab", until(async || read().await.contains("sharedplace"))).await;
    let answer = read().await;
    row.tried("a stream from before it was shared", told(&answer, None).is_none(), &answer);
    for command in place.browser.got.lock().unwrap().iter() {
        let Some(tabs) = command["tabs"].as_array() else { continue };
        let is_inside = |tab: &Value| tab.as_i64() >= Some(OWN) || *tab == SHARED;
        let is_for_one = command["tab_id"].is_null() || is_inside(&command["tab_id"]);
        row.tried("the tabs of a command", is_for_one && tabs.iter().all(is_inside), command);
    }

    place.browser.share(&[]);
    soon("no shared tab", until(async || !listed().await.contains(SHARED_HOST))).await;
    for (tool, selector, choice) in [PAGE_INFO, PAGE] {
        let ask = async |tab: i64| {
            let call = json!({selector: choice, "tab_id": tab});
            without_numbers(&place.client("late").call_raw(tool, call).await.to_string())
        };
        let (unknown, answer) = (ask(NOWHERE).await, ask(SHARED).await);
        row.tried(&format!("{choice} of the tab that was shared"), answer == unknown, &answer);
    }
    row.report();
}

/// The name of a client that works in a tab of the person, with another owner's token.
const NAME: &str = "helper";

/// Calls that would work in another's name.
fn calls_in_its_name(id: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("observe", json!({"what": "tabs"})),
        ("observe", json!({"what": "page"})),
        ("observe", json!({"what": "command_result", "correlation_id": id, "wait_ms": 0})),
        ("observe", json!({"what": "pending_commands"})),
        ("observe", json!({"what": "failed_commands"})),
        ("configure", json!({"action": "clients"})),
        ("configure", json!({"action": "cancel", "correlation_id": id})),
        ("configure", json!({"action": "tab_release"})),
        ("interact", json!({"action": "page_info", "wait_ms": 2_000})),
        ("interact", json!({"action": "tab_list", "wait_ms": 2_000})),
        ("interact", json!({"action": "execute_js", "script": "1", "wait_ms": 2_000})),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_42_the_name_of_a_client_that_sees_every_tab_shows_none_to_another_owner() {
    let place = Place::set().await;
    let there = json!({"action": "execute_js", "script": WORD, "tab_id": TABS.start()});
    let id = place.boss.submit(there).await;
    place.boss.outcome(&id).await;
    assert!(
        told(&place.boss.call("observe", json!({"what": "page"})).await.to_string(), None)
            .is_some()
    );
    place.narrow("own").await;
    let mut row = RowReport::new(42);
    let stdio = &["mcp", "--client", NAME][..];
    let mut bridge = StdioClient::spawn(cli_of(&place.daemon, stdio));
    bridge.initialize(NAME).await;
    let modern = McpClient::modern(&place.daemon).named(NAME);
    for (tool, arguments) in calls_in_its_name(&id) {
        let over_http = place.client(NAME).call_raw(tool, arguments.clone()).await.to_string();
        let of_new_era = modern.call_raw(tool, arguments.clone()).await.to_string();
        let params = json!({"name": tool, "arguments": arguments});
        let over_stdio = bridge.request("tools/call", params).await.to_string();
        let words = arguments.as_object().unwrap().iter().map(|(name, value)| {
            format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        });
        let words: Vec<_> = words.collect();
        let mut line = vec!["call", tool];
        line.extend(words.iter().map(String::as_str));
        line.extend(["--client", NAME]);
        let ran = finish(cli_of(&place.daemon, &line)).await;
        let at_terminal = format!("{}{}", ran.stdout, ran.stderr);
        for (way, answer) in [
            ("HTTP", over_http),
            ("HTTP of 2026", of_new_era),
            ("stdio", over_stdio),
            ("tabwire call", at_terminal),
        ] {
            let found = told(&answer, None);
            let came = format!("{found:?}: {answer:.600}");
            row.tried(&format!("{way}: {tool} {arguments}"), found.is_none(), came);
        }
    }
    // The form in which the daemon tells clients of owners apart cannot be sent.
    let own = authorization(&place.daemon.token());
    for name in ["boss·helper", "boss\u{b7}helper", "X-Owner: boss\r\nX-Tabwire-Owner: boss"] {
        let named = format!("X-Tabwire-Client: {name}");
        let head = ["GET /api/commands HTTP/1.1", "Host: HOST", &own, &named];
        let answer = raw(&place.daemon, &head, b"").await;
        let text = &answer.body;
        row.tried(&format!("the header {name:?}"), told(text, None).is_none(), text);
    }
    let status = place.boss.status(&id).await;
    row.tried("what it asked for is untouched", status["status"] == "complete", &status);
    row.report();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_51_a_private_tab_is_nowhere_for_an_owner_that_sees_every_tab_and_did_not_open_it() {
    let place = Place::set().await;
    let me = place.client("private");
    let url = format!("http://{PRIVATE_WORD}-{PRIVATE}.test/");
    let open = json!({"action": "tab_open", "private": true, "url": url, "wait_ms": 5_000});
    let opened = me.call("interact", open).await;
    assert_eq!(opened["result"]["value"]["tab_id"], PRIVATE, "{opened}");
    let listed = me.call("observe", json!({"what": "tabs"})).await.to_string();
    assert!(listed.contains(&format!("{PRIVATE_WORD} {PRIVATE}")), "its own: {listed:.600}");
    let mut row = RowReport::new(51);
    row.tried("one that nobody opened", !listed.contains(&OF_NOBODY.to_string()), &listed);

    for (number, call) in every_call("http://own.test/").into_iter().enumerate() {
        let name = format!("caller-{number}");
        let other = McpClient::legacy(&place.daemon).with_token(place.daemon.token_of(BOSS));
        let client = other.named(&name);
        let mut unknown = None;
        for tab in [None, Some(NOWHERE), Some(PRIVATE), Some(OF_NOBODY)] {
            if tab.is_some() && !call.takes_tab {
                continue;
            }
            let raw = client.call_raw(&call.tool, call.of_tab(tab)).await;
            let answer = raw.to_string();
            let what = format!("{} {} of tab {tab:?}", call.tool, call.choice);
            row.tried(&what, !tells_of_private(&answer, tab), format!("{answer:.600}"));
            let failed = raw["isError"] == true;
            let came = if failed { without_numbers(&answer) } else { String::new() };
            match tab {
                None => {}
                Some(NOWHERE) => unknown = Some(came),
                Some(_) => {
                    let is_same = unknown.as_ref() == Some(&came);
                    row.tried(&format!("{what}, guessed"), is_same, format!("{answer:.600}"));
                }
            }
        }
    }
    for letters in ["zza1", "zzb1"] {
        let click = json!({"action": "click", "target": letters, "wait_ms": 2_000});
        let answer = place.boss.call_raw("interact", click).await.to_string();
        row.tried(&format!("the ref {letters}"), !tells_of_private(&answer, None), &answer);
    }
    let own = authorization(&place.daemon.token_of(BOSS));
    for path in ["/api/status", "/api/commands", "/api/asks"] {
        let line = format!("GET {path} HTTP/1.1");
        let answer = raw(&place.daemon, &[&line, "Host: HOST", &own], b"").await;
        row.tried(path, !tells_of_private(&answer.body, None), format!("{:.600}", answer.body));
    }
    for command in place.browser.got.lock().unwrap().iter() {
        let is_for_me = command["private_owner"] == "user";
        let touches = [PRIVATE, OF_NOBODY].iter().any(|id| command["tab_id"] == *id);
        row.tried("the tab of a command", !touches || is_for_me, command);
        let is_mine = command["client"] == "private";
        row.tried("who may see it", command["private_owner"].is_null() || is_mine, command);
    }
    row.report();
}
