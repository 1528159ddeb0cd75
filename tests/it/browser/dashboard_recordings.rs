//! The recorded entries in the dashboard: real Chromium records pages, and the person sees it.

use serde_json::{Value, json};
use testkit::{authorization, raw, soon, until};

use super::capture::echo;
use super::dashboard::Viewing;

/// The rows of entries on the screen.
const SHOWN: &str = "[...document.querySelectorAll('#recordings .row:not([hidden])')]";

impl Viewing {
    /// Streams of the agent's tab are recorded, and the dashboard shows it.
    async fn recording() -> Self {
        let mut viewing = Self::begin().await;
        let streams = ["logs", "network", "websocket", "actions"];
        let ask = json!({"action": "capture", "tab_id": viewing.tab, "streams": streams});
        viewing.agent.call("configure", ask).await;
        viewing.hand.click("[data-view=recordings]").await;
        viewing.shows("0 entries").await;
        viewing
    }

    /// Waits until the list shows a row with these words.
    async fn lists(&mut self, words: &str) {
        self.becomes(&format!("{SHOWN}.some((row) => row.innerText.includes({words:?}))")).await;
    }

    async fn count(&mut self) -> u64 {
        self.hand.read(&format!("{SHOWN}.length")).await.as_u64().unwrap()
    }

    /// Runs a script in the agent's page.
    async fn page_does(&self, script: &str) {
        let ran = self.agent_does(json!({"action": "execute_js", "script": script})).await;
        assert_eq!(ran["status"], "complete", "{ran}");
    }
}

#[tokio::test]
async fn lines_requests_and_sockets_of_a_page_show_live_and_each_opens_whole() {
    let mut viewing = Viewing::recording().await;
    let (here, port) = (viewing.pages.url("/second?kind=oak"), echo().await);
    let script = format!(
        "console.log('a plain line'); console.warn('a warning');
         setTimeout(() => {{ throw new TypeError('cart is undefined') }});
         const socket = new WebSocket('ws://127.0.0.1:{port}/live');
         socket.onopen = () => socket.send('a message');
         await fetch('{here}')"
    );
    viewing.page_does(&script).await;
    for words in
        ["a plain line", "a warning", "cart is undefined", "GET 200", "/second", "a message"]
    {
        viewing.lists(words).await;
    }
    // Live: nothing is asked for anew.
    viewing.page_does("console.log('a later line')").await;
    viewing.lists("a later line").await;
    viewing.lists("Home Page").await;
    let bar = "#recordings .row[data-stream=network]:not([hidden]) .track i.done";
    viewing.becomes(&format!("document.querySelector('{bar}')?.offsetWidth > 0")).await;

    viewing.hand.click("[data-stream=network]").await;
    viewing.becomes(&format!("{SHOWN}.every(({{dataset}}) => dataset.stream === 'network')")).await;
    viewing.hand.click("#recordings .row[data-stream=network]").await;
    for words in ["resource type", "response headers", "First byte", "?kind=oak"] {
        viewing.shows(words).await;
    }
    viewing.hand.press("Escape", 1).await;
    // By keys alone.
    viewing.becomes("document.activeElement.id === 'entries'").await;
    viewing.hand.press("Home", 1).await;
    viewing.hand.press("Enter", 1).await;
    viewing.becomes("document.activeElement.id === 'detail'").await;
    viewing.hand.press("Escape", 1).await;
    viewing.hand.click("[data-view=commands]").await;
    viewing.shows("execute_js").await;
    viewing.end().await;
}

#[tokio::test]
async fn filters_choose_by_stream_tab_text_and_failure() {
    let mut viewing = Viewing::recording().await;
    viewing.page_does("console.log('oak'); console.error('beech'); await fetch('/nowhere')").await;
    let second =
        json!({"action": "tab_open", "url": viewing.pages.url("/strict"), "wait_ms": 20_000});
    let second = viewing.agent.call("interact", second).await["result"]["value"]["tab_id"].clone();
    let ask = json!({"action": "capture", "tab_id": second, "streams": ["logs"]});
    viewing.agent.call("configure", ask).await;
    let script = json!({"action": "execute_js", "script": "console.log('elm')", "tab_id": second, "wait_ms": 20_000});
    viewing.agent.call("interact", script).await;
    for words in ["oak", "beech", "elm", "/nowhere"] {
        viewing.lists(words).await;
    }
    let all = viewing.count().await;

    viewing.hand.click("#only-failures").await;
    viewing
        .becomes(&format!("{SHOWN}.length === 1 && {SHOWN}[0].innerText.includes('beech')"))
        .await;
    viewing.hand.click("#only-failures").await;
    viewing.hand.click("#find-entry").await;
    viewing.hand.type_text("ELM").await;
    viewing.becomes(&format!("{SHOWN}.length === 1 && {SHOWN}[0].innerText.includes('elm')")).await;
    let empty = "(() => { const find = document.querySelector('#find-entry'); find.value = ''; \
                 find.dispatchEvent(new Event('input')); return 1; })()";
    viewing.hand.read(empty).await;
    viewing.becomes(&format!("{SHOWN}.length === {all}")).await;

    // The title of a new tab comes with the next state of the daemon.
    let options = "[...document.querySelectorAll('#of-tab option')].map(({text}) => text)";
    let named = format!("{options}.some((text) => text.startsWith('Strict Page'))");
    viewing.becomes(&named).await;
    assert_eq!(viewing.hand.read(&format!("{options}.length")).await, 3);
    let choose = "(() => { const tab = document.querySelector('#of-tab'); \
                  tab.value = [...tab.options].find(({text}) => text.startsWith('Strict Page')).value; \
                  tab.dispatchEvent(new Event('change')); return 1; })()";
    viewing.hand.read(choose).await;
    viewing.becomes(&format!("{SHOWN}.length === 1 && {SHOWN}[0].innerText.includes('elm')")).await;
    viewing.end().await;
}

#[tokio::test]
async fn a_value_that_the_person_typed_is_nowhere_and_texts_of_pages_are_texts() {
    let mut viewing = Viewing::recording().await;
    viewing.agent_does(json!({"action": "navigate", "url": viewing.pages.url("/form")})).await;
    let dashboard = viewing.hand.read("location.href").await;
    viewing.hand.turn_to(&viewing.pages.url("/form")).await;
    viewing.hand.show().await;
    viewing.hand.click("#name").await;
    viewing.hand.type_text("Ada Lovelace").await;
    viewing.hand.click("#send").await;
    viewing.hand.turn_to(dashboard.as_str().unwrap()).await;
    viewing.hand.show().await;
    viewing
        .page_does("console.error('<img id=owned src=x onerror=\"window.owned = 1\">\\u202e')")
        .await;
    viewing.lists("onerror").await;
    viewing.lists("#name").await;
    viewing.hand.click("[data-stream=actions]").await;
    let find = format!("{SHOWN}.find((row) => row.innerText.includes('change'))");
    viewing.becomes(&format!("!!{find}")).await;
    viewing.hand.read(&format!("({find}.click(), 1)")).await;
    viewing.shows("[not shown]").await;
    let is_text = "window.owned === undefined && !document.querySelector('#owned')";
    assert_eq!(viewing.hand.read(is_text).await, true);
    let told = viewing.hand.read("document.documentElement.innerHTML").await.to_string();
    assert!(!told.contains("Lovelace"), "{told}");
    // Neither does the daemon give it to the page.
    let token = viewing.hand.read("sessionStorage.getItem('tabwire-token')").await;
    let token = authorization(token.as_str().unwrap());
    let mut seen = 0;
    for number in 0..40 {
        let line = format!("GET /dashboard/entries/actions.{number} HTTP/1.1");
        let answer = raw(&viewing.daemon, &[&line, "Host: HOST", &token], b"").await;
        assert!(!answer.body.contains("Lovelace"), "{answer:?}");
        seen += u64::from(answer.status == 200);
    }
    assert!(seen > 2, "{seen} actions");
    viewing.end().await;
}

#[tokio::test]
async fn thousands_of_entries_are_shown_by_few_elements_and_drawn_in_time() {
    let mut viewing = Viewing::recording().await;
    // The page's own code takes them in, as if the daemon had sent them.
    let fill = "(async () => {
        const { EntryStore, EntryList, TabNames } = await import('/dashboard/files/recordings.js');
        const store = new EntryStore(); const list = new EntryList(store, new TabNames());
        const entry = (number) => ({id: `logs.${number}`, stream: 'logs', at: new Date(1.8e12 + number).toISOString(),
          browser: 'b', tab_id: 1, level: number % 9 ? 'log' : 'error', kind: 'console', text: `line ${number}`});
        store.take(Array.from({length: 12000}, (_, number) => entry(number)));
        const times = [];
        for (let round = 0; round < 20; round += 1) {
          store.take(Array.from({length: 20}, (_, number) => entry(12000 + round * 20 + number)));
          const begun = performance.now();
          list.handleChange(); list.draw(); list.filter(({end}) => end === 'bad'); list.filter(null);
          document.querySelector('#entries').offsetHeight;
          times.push(performance.now() - begun);
        }
        times.sort((a, b) => a - b);
        return {kept: store.all.length, nodes: document.querySelectorAll('#recordings .row').length, least: times[0]};
    })()";
    let seen = viewing.hand.read(fill).await;
    assert_eq!(seen["kept"], 10_000, "{seen}");
    assert!(seen["nodes"].as_u64().unwrap() < 150, "{seen}");
    assert!(seen["least"].as_f64().unwrap() < 50.0, "three changes of the whole list: {seen}");
    viewing.end().await;
}

#[tokio::test]
async fn the_entries_come_for_those_who_show_them_and_go_on_where_they_were() {
    let mut viewing = Viewing::recording().await;
    viewing.page_does("console.log('seen at first')").await;
    viewing.lists("seen at first").await;
    viewing.hand.click("[data-view=commands]").await;
    viewing.page_does("console.log('said meanwhile')").await;
    viewing.shows("execute_js").await;
    let logs = async || {
        let read = viewing.agent.call("observe", json!({"what": "logs"})).await;
        read["entries"].to_string()
    };
    soon("the line", until(async || logs().await.contains("said meanwhile"))).await;
    let known = "document.querySelector('#recordings .rows').innerHTML";
    assert!(!viewing.hand.read(known).await.to_string().contains("said meanwhile"));
    viewing.hand.click("[data-view=recordings]").await;
    viewing.lists("said meanwhile").await;
    let twice = format!("{SHOWN}.filter((row) => row.innerText.includes('seen at first')).length");
    assert_eq!(viewing.hand.read(&twice).await, Value::from(1));
    viewing.end().await;
}

#[tokio::test]
async fn axe_finds_nothing_serious_in_the_entries_and_in_one_of_them() {
    let mut viewing = Viewing::recording().await;
    let script = "console.warn('a warning'); console.error('an error'); await fetch('/second')";
    viewing.page_does(script).await;
    for words in ["a warning", "an error", "/second"] {
        viewing.lists(words).await;
    }
    viewing.hand.click("#recordings .row[data-stream=network]").await;
    viewing.shows("response headers").await;
    viewing.is_accessible().await;
    viewing.hand.press("Escape", 1).await;
    viewing.is_accessible().await;
    viewing.end().await;
}

#[tokio::test]
async fn the_entries_of_the_list_are_saved_as_json_without_secrets() {
    let mut viewing = Viewing::recording().await;
    let address = viewing.pages.url("/second?token=tok_in_the_address");
    let script = format!(
        "console.log('password=hunter22 of oak'); console.error('beech');
         await fetch('{address}', {{method: 'POST', body: 'a secret body'}})"
    );
    viewing.page_does(&script).await;
    for words in ["oak", "beech", "POST"] {
        viewing.lists(words).await;
    }
    let keep = "URL.createObjectURL = (file) => { window.saved = file; return '#'; }; 1";
    viewing.hand.read(keep).await;
    let saved = async |viewing: &mut Viewing| {
        viewing.hand.read("(window.saved = undefined, 1)").await;
        viewing.hand.click("#save-entries").await;
        viewing.becomes("window.saved?.type === 'application/json'").await;
        let text = viewing.hand.read("window.saved.text()").await.as_str().unwrap().to_owned();
        (serde_json::from_str::<Value>(&text).unwrap(), text)
    };
    let (all, text) = saved(&mut viewing).await;
    let entries = all["entries"].as_array().unwrap();
    let of = |stream: &str| entries.iter().filter(|one| one["stream"] == stream).count();
    assert!(of("logs") >= 2 && of("network") >= 1, "{all}");
    assert_eq!(all["dropped"], 0);
    assert!(
        all["saved_at"].is_string() && all["daemon"].as_str().unwrap().contains("port"),
        "{all}"
    );
    assert!(entries.iter().all(|one| one["tab"] == "Home Page"), "{all}");
    let token = viewing.hand.read("sessionStorage.getItem('tabwire-token')").await;
    for secret in ["hunter22", "tok_in_the_address", "a secret body", token.as_str().unwrap()] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    // Of what is chosen, those alone.
    viewing.hand.click("[data-stream=logs]").await;
    viewing.hand.click("#only-failures").await;
    viewing.becomes(&format!("{SHOWN}.length === 1")).await;
    let (chosen, text) = saved(&mut viewing).await;
    assert_eq!(chosen["entries"].as_array().unwrap().len(), 1, "{text}");
    assert!(text.contains("beech") && !text.contains("oak"), "{text}");
    viewing.is_accessible().await;
    viewing.end().await;
}
