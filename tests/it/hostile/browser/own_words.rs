//! Ways to a page's stored values, and to its requests, around the person's word on them.

use serde_json::{Value, json};
use tabwire::protocol::EXTENSION_ID;

use super::asks::{acts_on, answer, try_to_allow};
use crate::browser::actions::folder;
use crate::browser::ask_first::{ALWAYS, ConsentStage};
use crate::browser::site_permissions::{
    GIVE, PURPOSE, lacks_permission, set, stage_of_giver, told,
};
use testkit::{McpClient, RowReport, TestPages, soon, until};

const SECRET: &str = "s3cret";

fn use_of(area: &str, tab: &Value) -> Value {
    json!({"action": "storage", "area": area, "operation": "get", "tab_id": tab, "wait_ms": 20_000})
}

/// Whether nothing of it has run, and the person is asked or it is refused.
fn is_kept_out(answer: &Value) -> bool {
    let is_asked = answer["status"] == "waiting_for_user";
    let is_refused = [
        "consent_needed",
        "consent_stale",
        "denied_by_user",
        "blocked_by_policy",
        "wrong_kind",
        "invalid_params",
    ]
    .iter()
    .any(|code| answer["reason"] == *code);
    (is_asked || is_refused) && !answer.to_string().contains(SECRET)
}

/// A batch ends at the step that is refused.
fn is_batch_kept_out(answer: &Value) -> bool {
    let failed = answer.to_string();
    is_kept_out(answer) || failed.contains("consent_needed") && !failed.contains(SECRET)
}

#[tokio::test]
async fn row_48_no_stored_value_is_told_without_the_persons_word_on_this_client_and_site() {
    let mut row = RowReport::new(48);
    let pages = TestPages::with_folders(&[&folder()]).await;
    let mut stage = ConsentStage::open(pages, "/cookies.html").await;
    let (here, there) = (stage.site(), stage.site().replace("127.0.0.1", "localhost"));
    let id = stage.held(use_of("cookies", &stage.tab)).await;
    try_to_allow(&mut row, &stage, &id, &["once", "session", "always"]).await;
    stage.press(&id, ALWAYS).await;
    let told = stage.client.outcome(&id).await;
    assert!(told.to_string().contains(SECRET), "the person's word counts: {told}");

    // The same client elsewhere, another client here, and words on other things.
    let stranger = McpClient::legacy(&stage.daemon).named("Other bot");
    for area in ["cookies", "local", "session", "indexed_db"] {
        let came = answer(&stranger, use_of(area, &stage.tab)).await;
        row.tried(&format!("another client: {area}"), is_kept_out(&came), &came);
    }
    let rule = json!([{"url": "/second", "answer": {"body": ""}}]);
    let asks = json!({"action": "network_rules", "rules": rule, "tab_id": stage.tab});
    let came = answer(&stage.client, asks).await;
    row.tried("a word on values for rules", is_kept_out(&came), &came);
    // To the other site within a batch: as a step that names it, by a script, and by a later result.
    // The script has answered before its page is left.
    let to = format!("setTimeout(() => {{ location.href = '{there}/cookies.html' }}, 100); 1");
    let get = json!({"action": "storage", "area": "cookies", "operation": "get"});
    let slow = json!({"action": "wait_for", "url": there, "timeout_ms": 5_000});
    for steps in [
        json!([{"action": "navigate", "url": format!("{there}/cookies.html")}, get]),
        json!([{"action": "execute_js", "script": format!("'{there}/cookies.html'"), "as": "u"}, {"action": "navigate", "url": "{{u}}"}, get]),
        json!([{"action": "execute_js", "script": to}, slow, get]),
    ] {
        let came =
            answer(&stage.client, json!({"action": "batch", "steps": steps, "tab_id": stage.tab}))
                .await;
        row.tried(
            &format!("a batch to another site: {steps:.120}"),
            is_batch_kept_out(&came),
            &came,
        );
        answer(&stage.client, json!({"action": "navigate", "url": format!("{here}/cookies.html"), "tab_id": stage.tab})).await;
    }
    row.report();
    stage.end().await;
}

/// Scripts that a rule would answer, if they were the page's own.
async fn try_workers_and_frames(row: &mut RowReport, stage: &ConsentStage) {
    let reached = stage.pages.hits("/pointer.js");
    let worker = "navigator.serviceWorker.register('/pointer.js').then(() => 'there', (error) => String(error))";
    let came = answer(&stage.client, stage.script(worker)).await;
    let is_server = stage.pages.hits("/pointer.js") > reached;
    row.tried("the script of a service worker", is_server, &came);
    let reached = stage.pages.hits("/pointer.js");
    let worker = "new Promise((done) => { const worker = new SharedWorker('/pointer.js'); worker.onerror = () => done('error'); setTimeout(() => done('there'), 1000); })";
    let came = answer(&stage.client, stage.script(worker)).await;
    row.tried("the script of a shared worker", stage.pages.hits("/pointer.js") > reached, &came);
    let frame = "const frame = document.createElement('iframe'); frame.src = '/second'; document.body.append(frame); \
                 await new Promise((done) => frame.onload = done); const inside = frame.contentDocument.createElement('script'); \
                 inside.src = '/pointer.js'; frame.contentDocument.head.append(inside); \
                 await new Promise((done) => inside.onload = inside.onerror = done); return frame.contentWindow.agents ?? 'none'";
    let came = answer(&stage.client, stage.script(frame)).await;
    row.tried("a script of a frame", came["result"]["value"] == "none", &came);
}

#[tokio::test]
async fn row_48_no_rule_reaches_a_worker_a_frame_another_site_or_a_header_that_says_who_asks() {
    let mut row = RowReport::new(48);
    let pages = TestPages::with_folders(&[&folder()]).await;
    let mut stage = ConsentStage::open(pages, "/requests.html").await;
    let there = stage.site().replace("127.0.0.1", "localhost");
    let tab = stage.tab.clone();
    let rules = |rules: Value| json!({"action": "network_rules", "rules": rules, "tab_id": tab});
    for header in [
        "Cookie",
        "Authorization",
        "Origin",
        "Referer",
        "Content-Security-Policy",
        "Sec-Fetch-Site",
        "X-CSRF-Token",
    ] {
        let came =
            answer(&stage.client, rules(json!([{"url": "/headers", "headers": {header: "x"}}])))
                .await;
        row.tried(header, came["reason"] == "invalid_params", &came);
    }
    let wanted = json!([
        {"url": "/pointer.js", "answer": {"body": "globalThis.agents = 1", "type": "text/javascript"}},
        {"url": "/headers", "headers": {"X-Variant": "of-the-agent"}},
    ]);
    let rules = json!({"action": "network_rules", "rules": wanted, "tab_id": stage.tab});
    let mut first = rules.clone();
    first["wait_ms"] = 20_000.into();
    let id = stage.held(first).await;
    stage.press(&id, ALWAYS).await;
    let set = stage.client.outcome(&id).await;
    assert_eq!(set["status"], "complete", "the word is on this site: {set}");

    try_workers_and_frames(&mut row, &stage).await;
    for url in [format!("{there}/headers"), format!("/to?{there}/headers")] {
        let ask = format!("(await fetch('{url}')).text()");
        let came = answer(&stage.client, stage.script(&ask)).await;
        let head = came["result"]["value"].as_str().unwrap_or_default().to_ascii_lowercase();
        let is_kept = head.contains("user-agent") && !head.contains("x-variant");
        row.tried(&format!("a header to another site: {url}"), is_kept, &came);
    }
    // A page of another site that comes by a redirect of this one.
    let to = format!("{}/to?{there}/pointer.html", stage.site());
    answer(&stage.client, json!({"action": "navigate", "url": to, "tab_id": stage.tab})).await;
    let came = answer(&stage.client, stage.script("globalThis.agents ?? 'none'")).await;
    row.tried("a script of a page on another site", came["result"]["value"] == "none", &came);
    let look = json!({"action": "network_rules", "tab_id": stage.tab});
    let over =
        async || answer(&stage.client, look.clone()).await["result"]["value"]["rules"] == json!([]);
    soon("the end of the rules", until(over)).await;
    // Where agents run no scripts they answer none either.
    answer(&stage.client, json!({"action": "navigate", "url": stage.pages.url("/requests.html"), "tab_id": stage.tab})).await;
    let ran = testkit::finish(testkit::cli_of(
        &stage.daemon,
        &["sites", "deny", "127.0.0.1", "--action", "execute_js"],
    ))
    .await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let came = answer(&stage.client, rules).await;
    row.tried("an answer where scripts are denied", came["reason"] == "blocked_by_policy", &came);
    row.report();
    stage.end().await;
}

/// Ways of agents where the extension has its permission, and one client the word on one site.
async fn try_beside_the_words(row: &mut RowReport, stage: &ConsentStage) {
    let there = stage.site().replace("127.0.0.1", "localhost");
    let camera = json!({"camera": "allow"});
    let stranger = McpClient::legacy(&stage.daemon).named("Other bot");
    let reset = json!({"action": "set_permissions", "reset": true, "tab_id": stage.tab});
    answer(&stage.client, reset).await;
    let came = answer(&stranger, set(&stage.tab, &camera)).await;
    row.tried("another client", is_kept_out(&came), &came);
    let came = answer(&stage.client, use_of("cookies", &stage.tab)).await;
    row.tried("a word on permissions for values", is_kept_out(&came), &came);
    let step = json!({"action": "set_permissions", "permissions": camera});
    let to = format!("setTimeout(() => {{ location.href = '{there}/requests.html' }}, 100); 1");
    let slow = json!({"action": "wait_for", "url": there, "timeout_ms": 5_000});
    for steps in [
        json!([{"action": "navigate", "url": format!("{there}/requests.html")}, step]),
        json!([{"action": "execute_js", "script": to}, slow, step]),
    ] {
        let batch = json!({"action": "batch", "steps": steps, "tab_id": stage.tab});
        let came = answer(&stage.client, batch).await;
        let is_out =
            is_batch_kept_out(&came) && told(stage, &["camera"]).await == json!(["prompt"]);
        row.tried(&format!("a batch to another site: {steps:.120}"), is_out, &came);
    }
}

#[tokio::test]
async fn row_50_no_site_gets_a_permission_without_the_persons_words_on_it_and_on_the_extensions_own()
 {
    let mut row = RowReport::new(50);
    let mut stage = stage_of_giver().await;
    let camera = json!({"camera": "allow"});
    let id = stage.held(set(&stage.tab, &camera)).await;
    let is_held =
        async |client: &McpClient| client.status(&id).await["status"] == "waiting_for_user";
    stage.press(&id, ALWAYS).await;
    lacks_permission(&stage, &stage.client, &id).await;

    // The extension's permission: neither a program, a page nor an agent asks the browser for it.
    let words = ["once", "session", "always", "folder"];
    let other = try_to_allow(&mut row, &stage, &id, &words).await;
    // A page that looks like the popup, with a button that the person may press.
    let imitation = format!(
        "document.body.innerHTML = `<ul id=ask-list><li id='{id}'><div class=buttons><button>Deny</button><button>Give it…</button></div></li></ul>`; \
         const give = document.querySelectorAll('button')[1]; \
         give.onclick = () => {{ document.title = String(chrome.permissions?.request); chrome.runtime?.sendMessage?.('{EXTENSION_ID}', {{ask: 'answer_ask', correlation_id: '{id}', answer: {{kind: 'consent', consent: 'once'}}}}); }}; 1"
    );
    answer(&stage.client, json!({"action": "execute_js", "script": imitation, "tab_id": other}))
        .await;
    let press = json!({"action": "click", "target": "button:nth-child(2)", "tab_id": other});
    let came = answer(&stage.client, press).await;
    row.tried("a page that imitates the popup", is_held(&stage.client).await, &came);
    let button = format!("#{id} .buttons button:nth-child(2)");
    let tabs = stage.client.call("observe", json!({"what": "tabs"})).await;
    let popup = format!("chrome-extension://{EXTENSION_ID}/popup/popup.html");
    let listed = tabs["tabs"].as_array().unwrap().iter();
    let shown = listed.filter(|tab| tab["url"] == popup).map(|tab| tab["tab_id"].clone()).next();
    for act in acts_on(&popup, &shown.unwrap_or(json!(1)), &other, &button) {
        let came = answer(&stage.client, act.clone()).await;
        row.tried(&format!("an agent: {act:.90}"), is_held(&stage.client).await, &came);
    }
    assert_eq!(told(&stage, &["camera"]).await, json!(["prompt"]));
    stage.press_of(&id, PURPOSE, GIVE).await;
    let came = stage.client.outcome(&id).await;
    assert_eq!(came["status"], "complete", "the person's click counts: {came}");

    try_beside_the_words(&mut row, &stage).await;
    row.report();
    stage.end().await;
}
