//! Ways to have a page run an agent's code where the person denies `execute_js`.

use serde_json::{Value, json};

use super::asks::answer;
use crate::browser::actions::folder;
use crate::browser::ask_first::{ALWAYS, ConsentStage};
use testkit::{OTHER_SITE, RowReport, TestPages, cli_of, finish, soon, until};

/// Puts code into the addresses of a page, in each way in which an act could run it later.
const PLANT: &str = r##"
    const code = `javascript:void(fetch('${location.origin}/scripted', {cache: 'no-store'}), (top.document.title = 'scripted'))`;
    const put = (html) => document.body.insertAdjacentHTML('beforeend', `<p>${html}</p>`);
    const filled = (words) => `<a href="${code}" style="position: fixed; inset: 0">${words}</a>`;
    put(`<a id=link href="${code}"><span id=span>Link</span></a>`);
    put(`<a id=spaced href=" \n JaVa\tScRiPt:${code.slice(11)}">Spaced</a>`);
    put(`<div id=wrapper style="width: 200px"><a href="${code}" style="display: block">Wrapped</a></div>`);
    put(`<form id=far action="${code}"></form><button id=outside form=far>Outside</button>`);
    put(`<form action="${code}"><input id=field><button id=inside>Send</button></form>`);
    put(`<form action="${code}"><input id=single></form>`);
    put(`<form><input id=entry><button formaction="${code}">Go</button></form>`);
    put(`<label id=label for=labelled>Label</label> <input type=submit id=labelled form=far>`);
    put(`<map name=map><area shape=rect coords="0,0,50,50" href="${code}"></map><img id=mapped usemap="#map" width=50 height=50 src="/dot.svg">`);
    put(`<svg width=100 height=30><a href="#"><animate attributeName=href values="${code}" fill=freeze dur=1ms /><text id=animated y=20>Animated</text></a></svg>`);
    put(`<a accesskey=x href="${code}">Keyed</a>`);
    put(`<a href="${code}"><input id=box type=checkbox></a>`);
    put('<div id=host></div>');
    host.attachShadow({mode: 'closed'}).innerHTML = `<a href="${code}">In a shadow tree</a>`;
    const frame = (id, make) => new Promise((done) => {
      const added = document.createElement('iframe');
      added.id = id;
      added.onload = () => done(added);
      make(added);
      document.body.append(added);
    });
    (await frame('blank', () => {})).contentDocument.body.innerHTML = filled('In a blank frame');
    await frame('srcdoc', (added) => { added.srcdoc = filled('In a written frame'); });
    await frame('blob', (added) => { added.src = URL.createObjectURL(new Blob([filled('In a made frame')], {type: 'text/html'})); });
    scrollTo(0, 0);
    return [span, mapped].map((one) => one.getBoundingClientRect()).map(({ x, y }) => [x + 3, y + 3])"##;

/// A page on a site, whose scripts the person can deny.
struct DeniedStage {
    consent: ConsentStage,
    row: RowReport,
}

impl DeniedStage {
    async fn set() -> Self {
        let pages = TestPages::with_folders(&[&folder()]).await;
        let consent = ConsentStage::open(pages, "/plain.html").await;
        let stage = Self { consent, row: RowReport::new(54) };
        stage.load().await;
        stage
    }

    fn url(&self, path: &str) -> String {
        self.consent.pages.url(path).replace("127.0.0.1", OTHER_SITE)
    }

    /// Loads the page anew: no script has touched the new document.
    async fn load(&self) {
        let go = json!({"action": "navigate", "url": self.url("/denied_scripts.html"), "tab_id": self.consent.tab});
        let came = answer(&self.consent.client, go).await;
        assert_eq!(came["status"], "complete", "{came}");
    }

    async fn rule(&self, arguments: &[&str]) {
        let ran = finish(cli_of(&self.consent.daemon, &[&["sites"], arguments].concat())).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    async fn deny(&self) {
        self.rule(&["deny", OTHER_SITE, "--action", "execute_js"]).await;
    }

    async fn allow(&self) {
        self.rule(&["remove", OTHER_SITE, "--action", "execute_js", "--unattended"]).await;
        let script = self.consent.script("1");
        let runs =
            async || answer(&self.consent.client, script.clone()).await["status"] == "complete";
        soon("a script", until(runs)).await;
    }

    async fn act(&self, mut act: Value) -> Value {
        act["tab_id"] = self.consent.tab.clone();
        if act["timeout_ms"].is_null() {
            act["timeout_ms"] = 10_000.into();
        }
        answer(&self.consent.client, act).await
    }

    /// One try. Nothing of it may run, and the answer names the rule, or says that no address with code is opened anywhere.
    async fn tries(&mut self, act: Value) {
        let before = self.consent.pages.hits("/scripted");
        let came = self.act(act.clone()).await;
        let title =
            self.act(json!({"action": "page_info"})).await["result"]["value"]["title"].clone();
        let is_unchanged = title == "Untouched" && self.consent.pages.hits("/scripted") == before;
        let failed = &came["result"]["value"]["failed"];
        let refused = if failed.is_null() { &came } else { failed };
        let text = refused.to_string();
        let rule = format!("the rule that denies execute_js on {OTHER_SITE}");
        let is_named = refused["reason"] == "blocked_by_policy" && text.contains(&rule)
            || text.contains("invalid_params")
                && (text.contains("not opened") || text.contains("url must be"));
        self.row.tried(
            &format!("{act:.140}"),
            is_unchanged && is_named,
            format!("{title}: {came:.400}"),
        );
    }

    async fn title(&self) -> Value {
        self.act(json!({"action": "page_info"})).await["result"]["value"]["title"].clone()
    }

    async fn end(self) {
        self.row.report();
        self.consent.end().await;
    }
}

/// Scripts by each name, and what a page would run in place of its own.
fn scripts() -> Vec<Value> {
    let script = "document.title = 'scripted'; fetch('/scripted')";
    let mut acts = vec![
        json!({"action": "execute_js", "script": script}),
        json!({"action": "execute_js", "script": script, "user_gesture": true}),
        json!({"action": "wait_for", "function": format!("() => {{ {script} }}")}),
        json!({"action": "call_page_tool", "name": "add", "document": "D", "hash": "h", "arguments": {}}),
    ];
    for kind in [
        "text/javascript",
        "application/javascript",
        "text/css",
        "application/wasm",
        "application/json",
        "text/html",
        "image/svg+xml",
        "font/woff2",
    ] {
        let rule = json!({"url": "/answered", "answer": {"body": script, "type": kind}});
        acts.push(json!({"action": "network_rules", "rules": [rule]}));
    }
    let nested = |name: &str, step: &Value| json!({"action": name, "steps": [{"action": "page_info"}, step]});
    let inner: Vec<_> =
        acts.iter().flat_map(|act| ["batch", "run"].map(|name| nested(name, act))).collect();
    acts.extend(inner);
    acts
}

/// Addresses that are code, or hold a document of the agent's.
fn addresses() -> Vec<Value> {
    let code = "void(document.title = 'scripted')";
    let mut acts = Vec::new();
    for url in [
        format!("javascript:{code}"),
        format!(" JAVA\nscript:{code}"),
        format!("\u{1}java\tscript:{code}"),
        format!("javascript://%0a{code}"),
        format!("view-source:javascript:{code}"),
        "data:text/html,<script>top.document.title = 'scripted'</script>".to_owned(),
        format!("blob:http://{OTHER_SITE}/4b1d"),
        format!("filesystem:http://{OTHER_SITE}/temporary/a.html"),
    ] {
        let step = json!({"action": "navigate", "url": url});
        acts.push(step.clone());
        acts.push(json!({"action": "tab_open", "url": url}));
        acts.push(json!({"action": "batch", "steps": [step]}));
        acts.push(json!({"action": "run", "steps": [{"action": "navigate", "url": "{{param.there}}"}], "params": {"there": url}}));
    }
    // The words of the page, in a later step.
    acts.push(json!({"action": "batch", "steps": [
        {"action": "get_text", "target": "#words", "as": "code"}, {"action": "navigate", "url": "{{code}}"},
    ]}));
    acts
}

/// Acts that press, or send, what was planted.
fn presses(points: &Value) -> Vec<Value> {
    // Where it was planted, while the page is not scrolled.
    let point = |at: usize| json!({"action": "click", "x": points[at][0], "y": points[at][1]});
    let mut acts = vec![point(0), point(1)];
    let targets = [
        "#link",
        "#span",
        "#spaced",
        "#wrapper",
        "#outside",
        "#inside",
        "#label",
        "#labelled",
        "#animated",
        "text=In a shadow tree",
        "#blank",
        "#srcdoc",
        "#blob",
        "text=In a blank frame",
        "text=In a written frame",
    ];
    acts.extend(targets.map(|target| json!({"action": "click", "target": target})));
    acts.extend([
        json!({"action": "click", "target": "#link", "doubleClick": true}),
        json!({"action": "click", "target": "#link", "button": "middle"}),
        json!({"action": "check", "target": "#box"}),
        json!({"action": "press_key", "key": "Enter", "target": "#link"}),
        json!({"action": "press_key", "key": "Enter", "target": "#single"}),
        json!({"action": "press_key", "key": "Enter", "target": "#entry"}),
        json!({"action": "press_key", "key": "Alt+x", "target": "#plain"}),
        json!({"action": "type", "target": "#field", "text": "x", "submit": true}),
        json!({"action": "type", "target": "#entry", "text": "x", "submit": true}),
        json!({"action": "type", "target": "#single", "text": "x\n", "slowly": true}),
        json!({"action": "fill_form", "fields": [{"target": "#single", "value": "x"}], "submit": true}),
        json!({"action": "fill_form", "fields": [{"target": "#entry", "value": "x"}], "submit": true}),
        json!({"action": "draw", "target": "#wrapper", "points": [[8, 8]]}),
        json!({"action": "drag", "startTarget": "#span", "endTarget": "#link"}),
        json!({"action": "batch", "steps": [{"action": "click", "target": "#link"}]}),
        json!({"action": "run", "steps": [{"action": "click", "target": "#link"}]}),
    ]);
    acts
}

#[tokio::test]
async fn row_54_no_agent_has_a_page_run_its_code_where_scripts_are_denied() {
    let mut stage = DeniedStage::set().await;
    stage.deny().await;
    for act in scripts().into_iter().chain(addresses()) {
        stage.tries(act).await;
    }
    // From another site, where scripts are allowed.
    let (there, around) =
        (stage.url("/denied_scripts.html"), stage.consent.pages.url("/plain.html"));
    let script = json!({"action": "execute_js", "script": "document.title = 'scripted'"});
    let to = format!("setTimeout(() => location.href = '{there}', 500); 1");
    let came = json!({"action": "wait_for", "url": there});
    for steps in [
        json!([{"action": "navigate", "url": there}, script]),
        json!([{"action": "execute_js", "script": to}, came, script]),
    ] {
        stage.act(json!({"action": "navigate", "url": around})).await;
        stage.tries(json!({"action": "batch", "steps": steps})).await;
    }
    // The page's own stay.
    let pressed = stage.act(json!({"action": "click", "target": "#own"})).await;
    assert_eq!(pressed["status"], "complete", "{pressed}");
    soon("the page's own code", until(async || stage.title().await == "Pressed")).await;
    stage.end().await;
}

#[tokio::test]
async fn row_54_nor_by_what_its_scripts_and_rules_have_put_there_before() {
    let mut stage = DeniedStage::set().await;
    // A script of the page itself, which a rule has answered after it was set.
    let body = "addEventListener('load', () => document.body.insertAdjacentHTML('beforeend', \
                `<a id=answered href=\"javascript:void(document.title = 'scripted')\">Answered</a>`))";
    let rules =
        json!([{"url": "/answered.js", "answer": {"body": body, "type": "text/javascript"}}]);
    let rules = json!({"action": "network_rules", "rules": rules, "tab_id": stage.consent.tab, "wait_ms": 20_000});
    let asked = stage.consent.client.call("interact", rules).await;
    assert_eq!(asked["status"], "waiting_for_user", "{asked}");
    let id = asked["correlation_id"].as_str().unwrap().to_owned();
    stage.consent.press(&id, ALWAYS).await;
    let set = stage.consent.client.outcome(&id).await;
    assert_eq!(set["status"], "complete", "{set}");
    stage.load().await;
    let planted = stage.act(json!({"action": "wait_for", "text": "Answered"})).await;
    assert_eq!(planted["status"], "complete", "{planted}");
    stage.deny().await;
    stage.tries(json!({"action": "click", "target": "#answered"})).await;
    stage.tries(json!({"action": "click", "target": "#own"})).await;
    // The rule has ended, too: the server's own words come.
    stage.load().await;
    let served = stage.consent.pages.hits("/answered.js");
    stage.load().await;
    let came = stage.consent.pages.hits("/answered.js");
    stage.row.tried("a rule from before", came > served, came);

    stage.allow().await;
    stage.load().await;
    let planted = stage.act(json!({"action": "execute_js", "script": PLANT})).await;
    assert_eq!(planted["status"], "complete", "{planted}");
    stage.deny().await;
    for act in presses(&planted["result"]["value"]) {
        stage.tries(act).await;
    }
    let title = stage.title().await;
    stage.row.tried("all of it, in the end", title == "Untouched", title);
    stage.end().await;
}
