//! Agents on another machine that want more than the person gave their machine, at the daemon.

use serde_json::{Value, json};
use tabwire::protocol::{OwnerKind, TabScope, Timestamp};

use testkit::{
    ExtensionBuilder, McpClient, RowReport, TestDaemon, body, cli_of, finish, soon, until,
};

/// In the address and the title of the person's tabs.
const WORD: &str = "hiddenplace";

fn persons_tabs() -> Vec<Value> {
    let tab = |id: i64| {
        json!({
            "tab_id": id, "window_id": 1, "url": format!("https://{WORD}.example/"),
            "title": WORD, "active": id == 7, "focused": true,
        })
    };
    vec![tab(7), tab(8)]
}

/// Every choice of every tool that such an owner has, with the person's tab where it takes one.
fn calls() -> Vec<(&'static str, Value)> {
    let observed = ["tabs", "browsers", "logs", "errors", "network", "websocket", "actions"];
    let observed = observed.into_iter().chain(["performance", "page", "failed_commands"]);
    let mut calls: Vec<_> = observed.map(|what| ("observe", json!({"what": what}))).collect();
    calls.push(("observe", json!({"what": "page", "tab_id": 7})));
    for action in ["page_info", "screenshot", "tab_close", "tab_activate", "refresh"] {
        calls.push(("interact", json!({"action": action, "tab_id": 7, "wait_ms": 0})));
    }
    calls.push(("analyze", json!({"what": "get_text", "tab_id": 7, "wait_ms": 0})));
    calls.push(("configure", json!({"action": "capture", "tab_id": 7})));
    calls.push(("configure", json!({"action": "tab_release", "tab_id": 7})));
    calls.push(("configure", json!({"action": "site_rules"})));
    calls.push((
        "interact",
        json!({"action": "navigate", "url": "file:///etc/passwd", "tab_id": 7}),
    ));
    calls.push(("interact", json!({"action": "record", "phase": "start", "by": "person"})));
    calls
}

#[tokio::test]
async fn row_57_no_list_stream_or_hint_tells_an_agent_on_another_machine_of_the_persons_tabs() {
    let daemon = TestDaemon::start().await;
    let deny = ["sites", "deny", &format!("{WORD}.example")];
    assert_eq!(finish(cli_of(&daemon, &deny)).await.code, Some(0));
    let _browser = ExtensionBuilder::of(&daemon).tabs(persons_tabs()).connect().await;
    let mut row = RowReport::new(57);
    for name in ["agent", "user", "box", "user·agent"] {
        let name = name.replace('·', ".");
        let far = McpClient::far(&daemon, "box").await.named(&name);
        for (tool, arguments) in calls() {
            let answer = far.call_raw(tool, arguments.clone()).await;
            let is_silent = !answer.to_string().contains(WORD);
            row.tried(&format!("{tool} {arguments}"), is_silent, &answer);
        }
    }
    // As wide as a file can say it.
    daemon
        .home()
        .scopes()
        .choose(&daemon.home().owners().owner("box").unwrap(), TabScope::All)
        .unwrap();
    let ran = finish(cli_of(&daemon, &["scope", "box", "all", "--unattended"])).await;
    row.tried("scope all", ran.code == Some(1) && ran.stderr.contains("shared"), &ran.stderr);
    let far = McpClient::far(&daemon, "box").await;
    let listed = far.call("observe", json!({"what": "tabs"})).await;
    row.tried("every tab", listed["tabs"] == json!([]), &listed);
    row.report();
    daemon.stop().await;
}

/// A call as it comes back: the status, and the whole body.
async fn raw(client: &McpClient, tool: &str, arguments: Value) -> (u16, Value) {
    let params = json!({"name": tool, "arguments": arguments});
    let (headers, message) = client.message(&json!(1), "tools/call", params);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = client.post(&headers, message.to_string().into_bytes()).await;
    (answer.status.as_u16(), answer.json())
}

#[tokio::test]
async fn row_57_a_disconnected_machine_does_nothing_more_until_the_person_lets_it_in() {
    let daemon = TestDaemon::start().await;
    let actions = ["tab_open", "page_info"];
    let browser = ExtensionBuilder::of(&daemon).actions(&actions).connect().await;
    let far = McpClient::far(&daemon, "box").await;
    let near = McpClient::legacy(&daemon);
    let waiting = McpClient::far(&daemon, "box").await.named("waits");
    let mut row = RowReport::new(57);
    // A call that waits, and one of this machine beside it.
    let open = json!({"action": "tab_open", "wait_ms": 20_000});
    let call = tokio::spawn(async move { body(&waiting.call_raw("interact", open).await) });
    let is_there = async || {
        let pending = near.call("configure", json!({"action": "health"})).await.to_string();
        let clients = far.call("configure", json!({"action": "clients"})).await.to_string();
        clients.contains("waits") && !pending.is_empty()
    };
    soon("the waiting call", until(is_there)).await;
    let ran = finish(cli_of(&daemon, &["owner", "suspend", "box"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ended = soon("the end of the call", call).await.unwrap();
    row.tried("a call that waits", ended["error"] == "not_allowed", &ended);
    let hint = ended["hint"].as_str().unwrap_or_default();
    row.tried("its next step", hint.contains("tabwire owner allow"), &ended);
    for (tool, arguments) in [
        ("observe", json!({"what": "tabs"})),
        ("interact", json!({"action": "tab_open", "wait_ms": 0})),
        ("configure", json!({"action": "health"})),
    ] {
        let (status, told) = raw(&far, tool, arguments).await;
        let is_refused = status == 403 && told["error"] == "not_allowed";
        row.tried(tool, is_refused, &told);
        let hint = told["hint"].as_str().unwrap_or_default();
        row.tried("the next step", hint.contains("`tabwire owner allow box`"), &told);
    }
    // From a pipe nobody lets it in, and no other way leads around the list.
    let piped = finish(cli_of(&daemon, &["owner", "allow", "box"])).await;
    row.tried("owner allow from a pipe", piped.code == Some(77), &piped.stderr);
    let again = finish(cli_of(&daemon, &["owner", "add", "box", "--unattended"])).await;
    row.tried("owner add", again.code == Some(1), &again.stderr);
    row.tried(
        "a call after that",
        raw(&far, "observe", json!({"what": "tabs"})).await.0 == 403,
        "",
    );
    near.call("configure", json!({"action": "health"})).await;
    // The suspension outlives the daemon.
    let daemon = daemon.restart().await;
    let far = McpClient::legacy(&daemon).with_token({
        let list = daemon.home().owners().read().unwrap().unwrap();
        daemon.home().auth().token(&list.entry("box").unwrap().owner())
    });
    let (status, told) = raw(&far, "observe", json!({"what": "tabs"})).await;
    row.tried("after a restart", status == 403 && told["error"] == "not_allowed", &told);
    row.report();
    drop(browser);
    daemon.stop().await;
}

#[tokio::test]
async fn an_owner_that_is_let_in_again_goes_on_and_a_person_is_told_of_it() {
    let daemon = TestDaemon::start().await;
    let far = McpClient::far(&daemon, "box").await;
    for verb in ["suspend", "allow"] {
        let ran = finish(cli_of(&daemon, &["owner", verb, "box", "--json"])).await;
        if verb == "allow" {
            assert_eq!(ran.code, Some(77), "a person is asked: {}", ran.stderr);
        } else {
            assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["suspended"], true);
        }
    }
    let ran = finish(cli_of(&daemon, &["owner", "allow", "box", "--unattended"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let noted = daemon.home().unconfirmed().unwrap();
    assert_eq!(noted[0].take_back.as_deref(), Some("tabwire owner suspend box"));
    let by = McpClient::far(&daemon, "box").await;
    by.call("observe", json!({"what": "tabs"})).await;
    drop(far);
    for verb in ["suspend", "allow"] {
        let ran = finish(cli_of(&daemon, &["owner", verb, "none"])).await;
        assert!(ran.code == Some(1) && ran.stderr.contains("`tabwire owner list`"), "{ran:?}");
    }
    let since = Timestamp::from_unix_micros(0);
    daemon.home().owners().add("ci", None, OwnerKind::Local, since).unwrap();
    let listed = finish(cli_of(&daemon, &["owner", "list"])).await.stdout;
    let line = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(
        line("box").contains("far") && line("box").ends_with("the tabs that its programs open")
    );
    assert!(line("ci").ends_with("every tab"), "{listed}");
    let scopes = finish(cli_of(&daemon, &["scope"])).await.stdout;
    assert!(scopes.contains("box  own"), "{scopes}");
    daemon.stop().await;
}
