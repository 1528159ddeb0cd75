//! The dashboard's one way to a new command: a retry, wanted for more than it is for.

use serde_json::{Value, json};
use testkit::{ExtensionBuilder, McpClient, RowReport, TestDaemon, authorization, cli_of, finish};

use super::dashboard::{act, send, viewer};

/// The daemon with an agent of the owner `ci`, and the dashboard's token.
struct Retrying {
    daemon: TestDaemon,
    agent: McpClient,
    token: String,
}

impl Retrying {
    async fn begin() -> Self {
        let daemon = TestDaemon::start().await;
        let agent = McpClient::at(daemon.port(), daemon.token_of("ci")).named("painter");
        let token = authorization(&viewer(&daemon).await);
        Self { daemon, agent, token }
    }

    async fn retry(&self, id: &str) -> Value {
        let answer = act(&self.daemon, &format!("/dashboard/retry/{id}"), &self.token, &[]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// A command that was cancelled before the browser had it.
    async fn cancelled(&self, call: Value) -> String {
        let answer = self.agent.call("interact", call).await;
        let id = answer["correlation_id"].as_str().unwrap().to_owned();
        assert_eq!(self.agent.cancel(&id).await["status"], "cancelled");
        id
    }
}

/// Tries a retry that has to be refused with these words.
async fn refused(row: &mut RowReport, retrying: &Retrying, id: &str, words: &str) {
    let told = retrying.retry(id).await;
    let is_refused = told["refused"].as_str().is_some_and(|told| told.contains(words));
    row.tried(words, is_refused && told["correlation_id"].is_null(), told);
}

#[tokio::test]
async fn row_49_a_retry_sends_a_command_that_failed_once_more_and_nothing_else() {
    let retrying = Retrying::begin().await;
    let mut extension = ExtensionBuilder::of(&retrying.daemon).connect().await;
    let mut row = RowReport::new(49);
    refused(&mut row, &retrying, "exec_1_00", "does not keep").await;

    let done = retrying.agent.script("1", 7).await;
    extension.run(&json!({"success": true, "value": 1, "type": "number"})).await;
    refused(&mut row, &retrying, &done, "has completed").await;
    let running = retrying.agent.script("2", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    refused(&mut row, &retrying, &running, "has not ended").await;
    let error = json!({"error": {"code": "script_threw", "message": "no"}});
    extension.report(&command, "error", error).await;

    // A double click is one retry, also after that has ended.
    let (first, second) = tokio::join!(retrying.retry(&running), retrying.retry(&running));
    let id = first["correlation_id"].as_str().unwrap().to_owned();
    assert_ne!(id, running);
    assert_eq!(second["correlation_id"], id.as_str());
    let is_new = [&first, &second].map(|told| told["is_new"] == true);
    row.tried("a double click", is_new[0] != is_new[1], json!([first, second]));
    let again = extension.run(&json!({"success": true, "value": 2, "type": "number"})).await;
    assert_eq!((again.id.as_str(), again.script()), (id.as_str(), "2"));
    assert_eq!(again.command["tab_id"], command.command["tab_id"], "in its tab");
    let third = retrying.retry(&running).await;
    row.tried("a retry later", third == json!({"correlation_id": id, "is_new": false}), third);
    extension.expect_nothing().await;
    // It is its client's own command, and no other owner's.
    assert_eq!(retrying.agent.outcome(&id).await["status"], "complete");
    let other = McpClient::modern(&retrying.daemon);
    let told = other.call_raw("observe", json!({"what": "command_result", "correlation_id": id}));
    let told = told.await.to_string();
    row.tried("another owner reads it", told.contains("not_found"), told);

    // No client can take the place of the person's retry beforehand.
    let key = format!("retry·{id}");
    let call = json!({"action": "page_info", "tab_id": 7, "idempotency_key": key});
    let told = retrying.agent.call_raw("interact", call).await.to_string();
    row.tried("a client names its key", told.contains("idempotency_key` must be"), told);
    row.report();
    retrying.daemon.stop().await;
}

#[tokio::test]
async fn row_49_a_retry_has_no_right_that_its_client_has_not_and_sends_no_hidden_secret() {
    let retrying = Retrying::begin().await;
    let mut row = RowReport::new(49);
    let script = |script: &str| json!({"action": "execute_js", "script": script, "tab_id": 7});
    // No browser was there yet, so the daemon does not know for which tab it was.
    let early = retrying.cancelled(json!({"action": "page_info"})).await;
    refused(&mut row, &retrying, &early, "no tab that the daemon knows").await;
    let mut extension = ExtensionBuilder::of(&retrying.daemon).connect().await;
    let blocker = retrying.agent.script("wait", 7).await;
    let running = extension.command().await;
    extension.claim(&running).await;
    let hidden = retrying.cancelled(script("login('[redacted]')")).await;
    refused(&mut row, &retrying, &hidden, "secret in the arguments").await;
    let ask = json!({"action": "ask_user", "kind": "answer", "question": "Which one?"});
    let question = retrying.cancelled(ask).await;
    refused(&mut row, &retrying, &question, "A question").await;

    let plain = retrying.cancelled(script("1")).await;
    let error = json!({"error": {"code": "script_threw", "message": "no"}});
    extension.report(&running, "error", error).await;
    assert_eq!(retrying.agent.outcome(&blocker).await["status"], "error");
    // Its program sees fewer tabs now, so the person's tab is gone for it.
    let ran = finish(cli_of(&retrying.daemon, &["scope", "ci", "own"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for id in [&plain, &blocker] {
        let told = retrying.retry(id).await;
        row.tried("a smaller scope", told["correlation_id"].is_null(), told);
    }
    let sent = extension.so_far().await;
    assert!(sent.iter().all(|frame| frame["type"] != "command"), "{sent:?}");
    row.report();
    retrying.daemon.stop().await;
}

#[tokio::test]
async fn row_49_no_other_token_and_no_page_stops_everything_or_retries() {
    let retrying = Retrying::begin().await;
    let Retrying { daemon, token, .. } = &retrying;
    let mut row = RowReport::new(49);
    for path in [
        "/dashboard/stop",
        "/dashboard/retry/exec_1",
        "/dashboard/sites",
        "/dashboard/act-pictures",
    ] {
        for other in [daemon.token(), daemon.token_of("ci"), daemon.home().auth().dashboard_key()] {
            let answer = act(daemon, path, &authorization(&other), &[]).await;
            row.tried(&format!("{path} with another token"), answer.status == 401, answer.status);
        }
        for head in ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site"] {
            let answer = act(daemon, path, token, &[head]).await;
            row.tried(&format!("{path} {head}"), answer.status == 403, answer.status);
        }
    }
    row.report();
    retrying.daemon.stop().await;
}

#[tokio::test]
async fn stopping_everything_ends_what_waits_and_what_runs_of_all_owners_and_begins_nothing() {
    let retrying = Retrying::begin().await;
    let mut extension = ExtensionBuilder::of(&retrying.daemon).connect().await;
    let mine = McpClient::modern(&retrying.daemon);
    let running = retrying.agent.script("1", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let queued = retrying.agent.script("2", 7).await;
    let question = json!({"action": "ask_user", "kind": "answer", "question": "Which one?"});
    let question = mine.call("interact", question).await;
    let question = question["correlation_id"].as_str().unwrap();
    let told = act(&retrying.daemon, "/dashboard/stop", &retrying.token, &[]).await.json();
    assert_eq!(told, json!({"stopped": 3}));
    for id in [&running, &queued] {
        assert_eq!(retrying.agent.outcome(id).await["reason"], "stopped_by_user");
    }
    assert_eq!(mine.outcome(question).await["status"], "cancelled");
    let sent = extension.so_far().await;
    assert!(sent.iter().all(|frame| frame["type"] != "command"), "{sent:?}");
    let again = act(&retrying.daemon, "/dashboard/stop", &retrying.token, &[]).await.json();
    assert_eq!(again, json!({"stopped": 0}));
    retrying.daemon.stop().await;
}

#[tokio::test]
async fn row_49_a_denial_in_the_dashboard_can_allow_nothing_and_lift_no_rule() {
    let retrying = Retrying::begin().await;
    let Retrying { daemon, token, agent } = &retrying;
    let mut row = RowReport::new(49);
    let sent = async |body: &str| send(daemon, "/dashboard/sites", token, body).await;
    let denied = sent(r#"{"deny": "Bank.Example"}"#).await;
    assert_eq!((denied.status, denied.json()), (200, json!({"denied": "bank.example"})));
    let rules = daemon.home().site_rules().read().unwrap();
    assert_eq!(json!(rules.deny()), json!(["bank.example"]), "as the person's own");
    for body in [
        "",
        "{}",
        "[]",
        r#"{"allow": "shop.example"}"#,
        r#"{"deny": "a.example", "allow": "shop.example"}"#,
        r#"{"deny": "a.example", "list": "allow"}"#,
        r#"{"remove": "bank.example"}"#,
        r#"{"deny": null}"#,
        r#"{"deny": ["a.example"]}"#,
        r#"{"deny": ""}"#,
        r#"{"deny": "a b"}"#,
        r#"{"deny": "a.example\u0000"}"#,
    ] {
        let answer = sent(body).await;
        let is_refused = answer.status == 400 && answer.json()["error"] == "invalid_site";
        row.tried(body, is_refused && answer.body.contains("hint"), answer.body);
    }
    let long = format!(r#"{{"deny": "{}.example"}}"#, "a".repeat(1_024));
    let long = sent(&long).await;
    row.tried("a long one", long.status == 413, long.status);
    let after = daemon.home().site_rules().read().unwrap();
    row.tried("the rules", after == rules, json!(after));
    // Agents see it at once, and lift it as little as any rule of the person.
    let told = agent.call("configure", json!({"action": "site_rules"})).await;
    assert_eq!(told["deny"], json!(["bank.example"]), "{told}");
    row.report();
    retrying.daemon.stop().await;
}
