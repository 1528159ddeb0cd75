//! Acts that need a word of their own, whatever the rules for sites are, in a real browser: uses of
//! stored values, and rules that answer requests or change their headers.

use serde_json::{Value, json};

use super::actions::folder;
use super::ask_first::{ALWAYS, ConsentStage, DENY, NEVER, ONCE};
use testkit::{McpClient, TestPages, body, soon, until};

async fn at(page: &str) -> ConsentStage {
    ConsentStage::open(TestPages::with_folders(&[&folder()]).await, page).await
}

fn storage(stage: &ConsentStage, area: &str, operation: &str, name: &str) -> Value {
    json!({"action": "storage", "area": area, "operation": operation, "name": name, "tab_id": stage.tab, "wait_ms": 20_000})
}

fn rules(stage: &ConsentStage, rules: &Value) -> Value {
    json!({"action": "network_rules", "rules": rules, "tab_id": stage.tab, "wait_ms": 20_000})
}

/// The value of a call that needs no question.
async fn done(stage: &ConsentStage, call: Value) -> Value {
    let answer = body(&stage.client.call_raw("interact", call).await);
    assert_eq!(answer["status"], "complete", "{answer}");
    answer["result"]["value"].clone()
}

async fn read(stage: &ConsentStage, script: &str) -> Value {
    done(stage, stage.script(script)).await
}

/// The person presses this on the call's question. What became of it.
async fn asked(stage: &mut ConsentStage, call: Value, button: usize) -> Value {
    let id = stage.held(call).await;
    stage.press(&id, button).await;
    stage.client.outcome(&id).await
}

#[tokio::test]
async fn cookies_are_read_set_and_deleted_with_the_persons_word_also_where_every_site_is_allowed() {
    let mut stage = at("/cookies.html").await;
    let names = json!({"what": "cookies", "tab_id": stage.tab, "wait_ms": 20_000});
    let named = stage.client.call("analyze", names).await;
    assert!(named.to_string().contains("sid") && !named.to_string().contains("s3cret"), "{named}");

    let all = json!({"action": "storage", "area": "cookies", "operation": "get", "tab_id": stage.tab, "wait_ms": 20_000});
    let denied = asked(&mut stage, all.clone(), DENY).await;
    assert_eq!(denied["reason"], "denied_by_user", "{denied}");
    assert!(!denied.to_string().contains("s3cret"), "{denied}");
    let told = asked(&mut stage, all, ONCE).await["result"]["value"]["cookies"].clone();
    let sid = told.as_array().unwrap().iter().find(|one| one["name"] == "sid").unwrap();
    assert_eq!(
        (&sid["value"], &sid["http_only"]),
        (&json!("s3cret-of-the-server"), &json!(true)),
        "{told}"
    );
    // Once is once.
    let mut set = storage(&stage, "cookies", "set", "sid");
    set["value"] = "of the agent".into();
    let changed = asked(&mut stage, set, ALWAYS).await["result"]["value"].clone();
    assert_eq!(changed, json!({"set": "sid", "is_new": false}));
    let sid = done(&stage, storage(&stage, "cookies", "get", "sid")).await["cookies"][0].clone();
    let kept = (&sid["value"], &sid["http_only"], &sid["same_site"]);
    assert_eq!(kept, (&json!("of the agent"), &json!(true), &json!("lax")), "the rest stays");
    let mut set = storage(&stage, "cookies", "set", "basket");
    set["value"] = "7".into();
    assert_eq!(done(&stage, set).await, json!({"set": "basket", "is_new": true}));
    assert!(read(&stage, "document.cookie").await.as_str().unwrap().contains("basket=7"));
    let gone = done(&stage, storage(&stage, "cookies", "delete", "sid")).await;
    assert_eq!(gone, json!({"deleted": 1}));
    let left = done(&stage, storage(&stage, "cookies", "get", "sid")).await;
    assert_eq!(left["cookies"], json!([]), "{left}");

    // The word is this client's.
    let stranger = McpClient::legacy(&stage.daemon).named("Other bot");
    let id = stage.held_by(&stranger, storage(&stage, "cookies", "get", "theme")).await;
    stage.press(&id, NEVER).await;
    assert_eq!(stranger.outcome(&id).await["reason"], "denied_by_user");
    let again = stranger.call_raw("interact", storage(&stage, "local", "get", "theme")).await;
    assert_eq!(body(&again)["reason"], "denied_by_user", "{again}");
    stage.end().await;
}

#[tokio::test]
async fn stored_data_of_the_page_is_used_with_the_persons_word_and_databases_are_only_read() {
    let mut stage = at("/requests.html").await;
    let fill = "localStorage.theme = 'dark'; localStorage.tour = 'done'; sessionStorage.step = '2'; \
        await new Promise((done) => { const open = indexedDB.open('shop', 1); \
        open.onupgradeneeded = () => open.result.createObjectStore('items').put({tea: 3n, at: new Uint8Array(2)}, 'a'); \
        open.onsuccess = () => { open.result.close(); done(); }; }); return 1";
    read(&stage, fill).await;
    let all = json!({"action": "storage", "area": "local", "operation": "get", "tab_id": stage.tab, "wait_ms": 20_000});
    let told = asked(&mut stage, all, ALWAYS).await;
    let values = told["result"]["value"]["values"].clone();
    assert_eq!(values, json!({"theme": "dark", "tour": "done"}), "{told}");
    let mut set = storage(&stage, "local", "set", "theme");
    set["value"] = "light".into();
    assert_eq!(done(&stage, set).await, json!({"set": "theme", "is_new": false}));
    assert_eq!(done(&stage, storage(&stage, "local", "delete", "tour")).await["deleted"], 1);
    assert_eq!(read(&stage, "({...localStorage})").await, json!({"theme": "light"}));
    let step = done(&stage, storage(&stage, "session", "get", "step")).await;
    assert_eq!(step["values"], json!({"step": "2"}));
    let items = done(&stage, storage(&stage, "indexed_db", "get", "shop/items")).await;
    let item = json!({"key": "a", "value": {"tea": "3", "at": "[Uint8Array]"}});
    assert_eq!(items["entries"], json!([item]), "{items}");

    for (call, says) in [
        (storage(&stage, "indexed_db", "set", "shop/items"), "indexed_db is read only"),
        (storage(&stage, "indexed_db", "get", "none/items"), "no database none; it has: shop"),
        (storage(&stage, "indexed_db", "get", "shop/none"), "no store none; it has: items"),
        (storage(&stage, "local", "set", "theme"), "value must be a text"),
    ] {
        let refused = body(&stage.client.call_raw("interact", call).await);
        assert_eq!(refused["reason"], "invalid_params", "{refused}");
        assert!(refused["error"].as_str().unwrap().contains(says), "{says}: {refused}");
    }
    assert_eq!(read(&stage, "(await indexedDB.databases()).length").await, 1, "none was made");
    // A page of no site has none, and nobody is asked.
    let empty =
        json!({"action": "navigate", "url": "about:blank", "tab_id": stage.tab, "wait_ms": 20_000});
    done(&stage, empty).await;
    let refused =
        body(&stage.client.call_raw("interact", storage(&stage, "local", "get", "a")).await);
    assert_eq!(refused["reason"], "wrong_kind", "{refused}");
    stage.end().await;
}

#[tokio::test]
async fn rules_answer_requests_and_change_headers_with_the_persons_word_and_no_document_is_theirs()
{
    let mut stage = at("/requests.html").await;
    let wanted = json!([
        {"url": "/second", "answer": {"body": "{\"of\": \"the agent\"}"}},
        {"url": "/cart.js", "answer": {"body": "globalThis.answered = 'ü'", "type": "text/javascript"}},
        {"url": "/headers", "headers": {"X-Variant": "b"}},
        {"url": "/cart.css", "block": true},
    ]);
    // What can never be is refused before anybody is asked.
    for (rule, says) in [
        (json!({"url": "/x", "headers": {"Cookie": "a"}}), "cannot change Cookie"),
        (json!({"url": "/x", "answer": {"body": "", "status": 302}}), "status must be"),
    ] {
        let call = rules(&stage, &json!([rule]));
        let refused = body(&stage.client.call_raw("interact", call).await);
        assert_eq!(refused["reason"], "invalid_params", "{refused}");
        assert!(refused["error"].as_str().unwrap().contains(says), "{says}: {refused}");
    }
    let set_rules = rules(&stage, &wanted);
    let denied = asked(&mut stage, set_rules.clone(), DENY).await;
    assert_eq!(denied["reason"], "denied_by_user", "{denied}");
    let gets = |path: &str| format!("(await fetch('{path}', {{cache: 'no-store'}})).text()");
    assert!(read(&stage, &gets("/second")).await.as_str().unwrap().contains("Second Page"));
    let set = asked(&mut stage, set_rules, ONCE).await["result"]["value"].clone();
    let answer = json!({"status": 200, "type": "application/json"});
    assert_eq!(set["rules"][0], json!({"url": "/second", "answer": answer, "matched": 0}));

    let reached = stage.pages.hits("/second");
    assert_eq!(read(&stage, &gets("/second")).await, r#"{"of": "the agent"}"#);
    assert_eq!(stage.pages.hits("/second"), reached, "no server has heard of it");
    let script = "await new Promise((done) => { const script = document.createElement('script'); \
                  script.src = '/cart.js'; script.onload = done; document.head.append(script); }); return answered";
    assert_eq!(read(&stage, script).await, "ü");
    let head = read(&stage, &gets("/headers")).await.as_str().unwrap().to_ascii_lowercase();
    assert!(head.contains("x-variant: b") && head.contains("user-agent: "), "{head}");
    assert_eq!(read(&stage, "gets('/cart.css')").await, "blocked");
    stage.hand.read("document.querySelector('#changed')?.scrollIntoView()").await;
    let changed = "document.querySelector('#changed').innerText";
    let told = async || {
        let text = stage.hand.read(changed).await;
        let text = text.as_str().unwrap_or_default();
        text.contains("answers requests to /second")
            && text.contains("headers of requests to /headers")
    };
    soon("the popup tells it", until(told)).await;

    // What a page is, its site decides: no document and no frame is answered.
    let go = |url: String| json!({"action": "navigate", "url": url, "tab_id": stage.tab, "wait_ms": 20_000});
    done(&stage, go(stage.pages.url("/second"))).await;
    assert_eq!(read(&stage, "document.title").await, "Second Page");
    for tag in ["iframe src", "object data", "embed src"] {
        let show = format!(
            "document.body.innerHTML = '<{tag}=/second>'; const [shown] = document.body.children; \
             await new Promise((done) => shown.onload = done); return shown.contentDocument?.title ?? frames[0].document.title"
        );
        assert_eq!(read(&stage, &show).await, "Second Page", "{tag}");
    }
    // The word is on this site: on another one there is no rule any more.
    let elsewhere = stage.pages.url("/requests.html").replace("127.0.0.1", "localhost");
    done(&stage, go(elsewhere)).await;
    assert!(read(&stage, &gets("/second")).await.as_str().unwrap().contains("Second Page"));
    let look = json!({"action": "network_rules", "tab_id": stage.tab, "wait_ms": 20_000});
    assert_eq!(done(&stage, look).await["rules"], json!([]));
    stage.end().await;
}
