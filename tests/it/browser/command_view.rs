//! The view of a command in a real Chromium, as an MCP client shows it in its chat: a page in a sandboxed frame, and
//! a host beside it that speaks MCP Apps (SEP-1865, version 2026-01-26) with it.

use serde_json::{Value, json};
use tabwire::demo::Browser;

use testkit::{BrowserUser, McpClient, RowReport, TestDaemon, TestPages, first_tab};

const AXE: &str = include_str!("../../../extension-shim/third_party/axe-core/axe.min.js");

/// The policy that a host must enforce ("Host Behavior", "Restrictive Default").
const HOST_POLICY: &str = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
                           img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

/// The host's side. `chat.show` frames the page; `chat.heard` has all that the page said.
const HOST: &str = "if (!window.chat) { window.chat = {
  heard: [],
  send(message) { this.frame.contentWindow.postMessage({jsonrpc: '2.0', ...message}, '*'); },
  show(html, sandbox, theme) {
    this.frame?.remove();
    this.heard = [];
    this.frame = document.createElement('iframe');
    this.frame.sandbox = sandbox;
    this.frame.style = 'display: block; width: 100%; height: 40px; border: 0';
    this.context = {theme, displayMode: 'inline', containerDimensions: {maxHeight: 900}};
    this.frame.srcdoc = html;
    document.body.style.margin = 0;
    document.body.replaceChildren(this.frame);
  },
};
addEventListener('message', ({source, data}) => {
  if (source !== chat.frame?.contentWindow) return;
  chat.heard.push(data);
  if (data.method === 'ui/initialize') {
    const opened = {protocolVersion: '2026-01-26', hostInfo: {name: 'it', version: '1'}, hostCapabilities: {}, hostContext: chat.context};
    chat.send({id: data.id, result: opened});
  }
  if (data.method === 'ui/notifications/size-changed') chat.frame.style.height = `${data.params.height}px`;
}); } 1";

/// Of a host on the web: its sandbox has an origin of its own, and the page is in the same.
const OF_WEB_HOST: &str = "allow-scripts allow-same-origin";

/// Of a host that is a program.
const OF_PROGRAM: &str = "allow-scripts";

/// An agent at work in one tab, and its chat in another.
struct Chat {
    daemon: TestDaemon,
    agent: McpClient,
    pages: TestPages,
    browser: Browser,
    hand: BrowserUser,
    tab: Value,
    view: String,
    _folder: tempfile::TempDir,
}

impl Chat {
    async fn begin() -> Self {
        let daemon = TestDaemon::start().await;
        let agent = McpClient::modern(&daemon).with_views().named("painter");
        let pages = TestPages::start().await;
        let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
        let tab = first_tab(&agent, &browser).await;
        let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
        hand.open_beside(&pages.url("/second")).await;
        let tools = agent.rpc("tools/list", json!({})).await.json();
        let uri = &tools["result"]["tools"][0]["_meta"]["ui"]["resourceUri"];
        let read = agent.rpc("resources/read", json!({"uri": uri})).await.json();
        let page = read["result"]["contents"][0]["text"].as_str().unwrap();
        let policy = format!(
            "<head><meta http-equiv=\"Content-Security-Policy\" content=\"{HOST_POLICY}\">"
        );
        let view = page.replacen("<head>", &policy, 1);
        assert!(view.len() > page.len());
        Self { daemon, agent, pages, browser, hand, tab, view, _folder: folder }
    }

    /// Calls `interact` in the agent's tab; the arguments and the whole result.
    async fn agent_does(&self, mut act: Value) -> (Value, Value) {
        act["tab_id"] = self.tab.clone();
        act["wait_ms"] = 20_000.into();
        let result = self.agent.call_raw("interact", act.clone()).await;
        (act, result)
    }

    /// Frames the page, as for a new call.
    async fn open(&mut self, sandbox: &str, theme: &str) {
        self.hand.read(HOST).await;
        let view = json!(self.view);
        self.hand.read(&format!("chat.show({view}, '{sandbox}', '{theme}')")).await;
        self.hand
            .becomes(
                "chat.heard.some(({method}) => method === 'ui/notifications/initialized')",
                true,
            )
            .await;
    }

    async fn tell(&mut self, method: &str, params: &Value) {
        self.hand
            .read(&format!("chat.send({{method: 'ui/notifications/{method}', params: {params}}})"))
            .await;
    }

    /// Shows a call with its result.
    async fn shows(&mut self, (act, result): &(Value, Value)) {
        self.tell("tool-input", &json!({"arguments": act})).await;
        self.tell("tool-result", result).await;
    }

    /// Waits until this is true, `view` being the page's document.
    async fn becomes(&mut self, expression: &str) {
        let inside = format!("(({{contentDocument: view}}) => {expression})(chat.frame)");
        self.hand.becomes(&inside, true).await;
    }

    async fn text(&mut self) -> String {
        self.hand
            .read("chat.frame.contentDocument.body.innerText")
            .await
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The methods that the page has used, each once.
    async fn methods(&mut self) -> Value {
        self.hand
            .read("[...new Set(chat.heard.map(({method}) => method ?? 'an answer'))].sort()")
            .await
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// All that the page ever says by itself.
fn own_methods() -> Value {
    json!(["ui/initialize", "ui/notifications/initialized", "ui/notifications/size-changed"])
}

#[tokio::test]
async fn the_phases_and_the_picture_of_a_command_are_seen_in_the_chat_light_dark_and_narrow() {
    let mut chat = Chat::begin().await;
    let shot = chat.agent_does(json!({"action": "screenshot"})).await;
    for (width, theme) in [(720, "light"), (720, "dark"), (360, "light"), (360, "dark")] {
        chat.hand.go(&chat.pages.url("/second")).await;
        // The host's theme counts, not the system's.
        let system = if theme == "dark" { "light" } else { "dark" };
        chat.hand.set_view(width, 900, system).await;
        chat.open(OF_WEB_HOST, theme).await;
        chat.tell("tool-input", &json!({"arguments": shot.0})).await;
        chat.becomes("view.querySelector('#status').textContent === 'pending'").await;
        chat.shows(&shot).await;
        chat.becomes("view.querySelector('#status').textContent === 'complete'").await;
        chat.becomes("(({complete, naturalWidth, alt} = {}) => complete && naturalWidth > 100 && alt !== '')(view.images[0])").await;
        chat.becomes("view.querySelectorAll('#bar i:not([hidden])').length >= 2").await;
        chat.becomes("view.querySelectorAll('#trace tbody tr').length >= 3").await;
        chat.becomes("view.documentElement.scrollWidth <= view.documentElement.clientWidth").await;
        chat.becomes("(view.querySelector('#phases').open = true)").await;
        // The host has given it the height that it asked for.
        chat.becomes("view.documentElement.scrollHeight <= chat.frame.clientHeight").await;
        let back = if theme == "dark" { "rgb(22, 25, 31)" } else { "rgb(255, 255, 255)" };
        chat.becomes(&format!("getComputedStyle(view.body).backgroundColor === '{back}'")).await;
        assert_eq!(chat.methods().await, own_methods());
        // No script gets into the frame, so axe looks at a copy of it.
        let copy = "(() => { const { head, body, documentElement: { style } } = chat.frame.contentDocument;\
            const copies = [head, body].map((part) => document.adoptNode(part.cloneNode(true)));\
            Object.assign(document.documentElement, { lang: 'en' }).style.colorScheme = style.colorScheme;\
            document.head.replaceWith(copies[0]); document.body.replaceWith(copies[1]); })()";
        chat.hand.read(copy).await;
        chat.hand.read(&format!("{AXE};1")).await;
        let found = chat.hand.read(
            "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations\
             .filter(({impact}) => impact === 'serious' || impact === 'critical')\
             .map(({id, nodes}) => id + ': ' + nodes.map(({html}) => html).join(' | ')))",
        );
        assert_eq!(found.await, json!([]), "{width} {theme}");
    }
    chat.end().await;
}

#[tokio::test]
async fn a_failure_is_seen_with_its_next_step_and_no_argument_of_the_call_is() {
    let mut chat = Chat::begin().await;
    let typed = json!({"action": "type", "target": "#nowhere", "text": "a secret word"});
    let failed = chat.agent_does(typed).await;
    chat.open(OF_WEB_HOST, "light").await;
    chat.shows(&failed).await;
    chat.becomes("view.querySelector('#status').textContent === 'error · target_not_found'").await;
    chat.becomes("view.querySelector('.note').textContent.includes('#nowhere')").await;
    let text = chat.text().await;
    assert!(text.contains("Next step for the agent") && text.contains("type"), "{text}");
    assert!(!text.contains("a secret word"), "{text}");
    // A refused call has no command; what the answer says is shown.
    let refused = chat.agent.call_raw("interact", json!({"action": "no_such_action"})).await;
    chat.open(OF_WEB_HOST, "light").await;
    chat.shows(&(json!({"action": "no_such_action"}), refused)).await;
    chat.becomes("view.querySelector('#status').dataset.end === 'bad'").await;
    let text = chat.text().await;
    assert!(text.contains("no_such_action") && text.contains("Next step"), "{text}");
    // A host that stops waiting says so.
    chat.open(OF_WEB_HOST, "light").await;
    chat.tell("tool-input", &json!({"arguments": {"action": "navigate"}})).await;
    chat.tell("tool-cancelled", &json!({"reason": "the user pressed Escape"})).await;
    chat.becomes("view.querySelector('#status').textContent === 'cancelled'").await;
    assert!(chat.text().await.contains("the user pressed Escape"));
    chat.end().await;
}

/// Results that no daemon makes, and messages that no host sends.
fn rubbish() -> Vec<Value> {
    let markup = "<img src=x onerror='top.hacked = 1'><script>top.hacked = 1</script>";
    let long = |part: &str| part.repeat(100_000);
    let story = |fields: Value| json!({"_meta": {"tabwire/command": fields}, "content": []});
    let mut results = vec![
        json!(null),
        json!([]),
        json!("a text"),
        json!({}),
        json!({"content": "no list", "_meta": 7}),
        json!({"content": [null, 1, [], {}, {"type": "text", "text": 1}, {"type": "text", "text": "{"}]}),
        json!({"content": [{"type": "text", "text": long("[")}]}),
        json!({"content": [{"type": "image", "mimeType": "image/svg+xml", "data": "PHN2Zz4="}]}),
        json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA\" onerror=\"top.hacked = 1"}]}),
        json!({"content": [{"type": "image", "mimeType": "image/png", "data": {"toString": 1}}]}),
    ];
    for hostile in [
        json!(markup),
        json!(long("W")),
        json!(1e300),
        json!(-1),
        json!([markup]),
        json!({"a": markup}),
        json!(true),
    ] {
        results.push(story(json!({
            "command": hostile, "status": hostile, "reason": hostile, "error": hostile, "message": hostile, "hint": hostile,
            "tab_id": hostile, "browser_label": hostile, "duration_ms": hostile,
            "trace": [hostile, {"phase": hostile, "after_ms": hostile, "carrier": hostile}, {"phase": "queued", "after_ms": 0, "carrier": hostile}],
        })));
        results.push(story(hostile));
    }
    results.push(story(json!({"command": "x", "status": "complete", "trace": vec![json!({"phase": "started", "after_ms": 1}); 50_000]})));
    results
}

#[tokio::test]
async fn hostile_results_and_rubbish_stay_text_and_the_page_goes_on() {
    let mut chat = Chat::begin().await;
    let thrown = "throw new Error(\"<img src=/from-error onerror='top.hacked = 1'>\")";
    let failed = chat.agent_does(json!({"action": "execute_js", "script": thrown})).await;
    let mut row = RowReport::new(55);
    for sandbox in [OF_WEB_HOST, OF_PROGRAM] {
        chat.open(sandbox, "dark").await;
        let told = rubbish();
        for result in &told {
            chat.tell("tool-input", &json!({"arguments": result})).await;
            chat.tell("tool-result", result).await;
            chat.tell("host-context-changed", result).await;
            chat.tell("no-such-notification", result).await;
            let hacked = chat.hand.read("window.hacked").await;
            row.tried("a made-up result", hacked.is_null(), result.to_string().len());
            if sandbox == OF_WEB_HOST {
                chat.becomes("view.scripts.length === 1 && view.querySelectorAll('[onerror], a, form, iframe, object').length === 0").await;
                chat.becomes("view.querySelectorAll('tbody tr').length <= 100 && view.body.textContent.length < 60_000").await;
                chat.becomes(
                    "view.documentElement.scrollWidth <= view.documentElement.clientWidth",
                )
                .await;
            }
        }
        chat.hand.read("['', null, [], {jsonrpc: '1.0'}, {jsonrpc: '2.0'}, {jsonrpc: '2.0', method: {}}, {jsonrpc: '2.0', id: 1, result: {}},\
            {jsonrpc: '2.0', id: 1, error: 'x'}, {jsonrpc: '2.0', id: {}, method: 'ping'}].forEach((one) => chat.frame.contentWindow.postMessage(one, '*')), 1").await;
        // It answers two requests, and no other.
        chat.hand.read("chat.heard = [], ['ping', 'ui/resource-teardown', 'tools/call', 'sampling/createMessage'].forEach((method, id) => chat.send({id: `it-${id}`, method, params: {}})), 1").await;
        let answers = "chat.heard.filter(({id}) => id !== undefined).map(({id, result, error}) => [id, result ?? error.code])";
        let right = json!([["it-0", {}], ["it-1", {}], ["it-2", -32601], ["it-3", -32601]]);
        chat.hand.becomes(answers, right).await;
        // And shows the next result.
        chat.tell("tool-result", &failed.1).await;
        if sandbox == OF_WEB_HOST {
            chat.becomes("view.querySelector('#action').textContent === 'execute_js'").await;
            chat.becomes(
                "view.querySelector('.note').textContent.includes('<img src=/from-error')",
            )
            .await;
        }
        let methods = chat.methods().await.to_string();
        for act in ["tools/", "resources/", "open-link", "ui/message", "model-context", "download"]
        {
            assert!(!methods.contains(act), "{methods}");
        }
        let hacked = chat.hand.read("window.hacked").await;
        row.tried("messages of no form, and a page's error", hacked.is_null(), hacked);
    }
    row.tried("a page's error", chat.pages.hits("/from-error") == 0, "it was asked for");
    row.report();
    chat.end().await;
}

#[tokio::test]
async fn the_page_hears_its_host_alone_and_its_own_policy_keeps_the_network_from_it() {
    let mut chat = Chat::begin().await;
    let done = chat.agent_does(json!({"action": "page_info"})).await;
    // The host's policy is left out: the page has one of its own.
    let own = chat.view.replacen(HOST_POLICY, "", 1);
    chat.view = own;
    chat.open(OF_WEB_HOST, "light").await;
    chat.shows(&done).await;
    chat.becomes("view.querySelector('#action').textContent === 'page_info'").await;
    // Another frame of the chat makes up a result.
    let forged = json!({"jsonrpc": "2.0", "method": "ui/notifications/tool-result", "params": {
        "content": [], "_meta": {"tabwire/command": {"command": "forged", "status": "complete"}},
    }});
    let other = format!(
        "(() => {{ const other = document.createElement('iframe'); document.body.append(other);\
           other.contentWindow.eval(`parent.chat.frame.contentWindow.postMessage({forged}, '*')`); }})()"
    );
    chat.hand.read(&other).await;
    // A message of the host that comes after it has been heard, so the other one has come.
    chat.tell("host-context-changed", &json!({"theme": "dark"})).await;
    chat.becomes("view.documentElement.style.colorScheme === 'dark'").await;
    let shown =
        chat.hand.read("chat.frame.contentDocument.querySelector('#action').textContent").await;
    let mut row = RowReport::new(55);
    row.tried("a result that another frame made up", shown == "page_info", shown);
    // Whatever were put into the page would load nothing and run nothing.
    let address = chat.pages.url("/leak");
    let put_in = format!(
        "(() => {{ const view = chat.frame.contentDocument; window.blocked = [];\
           view.addEventListener('securitypolicyviolation', ({{effectiveDirective}}) => blocked.push(effectiveDirective));\
           for (const tag of ['img', 'iframe']) view.body.append(Object.assign(view.createElement(tag), {{src: '{address}?' + tag}}));\
           view.head.append(Object.assign(view.createElement('link'), {{rel: 'stylesheet', href: '{address}?link'}}));\
           try {{ view.body.innerHTML = '<p>markup</p>'; }} catch {{ blocked.push('markup'); }}\
           try {{ view.createElement('script').text = 'top.hacked = 1'; }} catch {{ blocked.push('script'); }} }})()"
    );
    chat.hand.read(&put_in).await;
    let all = "['img-src', 'frame-src', 'style-src-elem', 'markup', 'script'].every((one) => blocked.includes(one))";
    chat.hand.becomes(all, true).await;
    let asked = chat.pages.asked_like("/leak");
    row.tried("the network", asked.is_empty(), format!("{asked:?}"));
    let hacked = chat.hand.read("window.hacked").await;
    row.tried("a script in the page", hacked.is_null(), hacked);
    row.report();
    chat.end().await;
}
