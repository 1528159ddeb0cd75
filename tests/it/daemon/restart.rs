//! What a daemon that was killed leaves to the next one, as the agent and the browser see it.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::proof::DEFAULT_OWNER;

use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, McpClient, ProgramSandbox, ServedDaemon,
    StdioClient, TestDaemon, signal, soon,
};

/// A daemon that can be killed.
struct Killable {
    place: ProgramSandbox,
    daemon: ServedDaemon,
}

impl Killable {
    async fn start() -> Self {
        let place = ProgramSandbox::new();
        let daemon = place.serve(&[]).await;
        Self { place, daemon }
    }

    fn shim(&self) -> ExtensionBuilder {
        ExtensionBuilder::at(self.daemon.port, &self.place.home())
    }

    fn client(&self) -> McpClient {
        let token = self.place.home().auth().token(&DEFAULT_OWNER.into());
        McpClient::at(self.daemon.port, token).named("agent")
    }

    /// Kills the daemon and starts another one.
    async fn kill(self) -> Self {
        signal(self.daemon.pid(), Signal::KILL);
        self.daemon.end().await;
        self.place.until_no_daemon().await;
        let daemon = self.place.serve(&[]).await;
        Self { daemon, ..self }
    }
}

async fn result_of(client: &McpClient, id: &str) -> Value {
    let call = json!({"what": "command_result", "correlation_id": id, "wait_ms": 8_000});
    client.call("observe", call).await
}

/// A daemon with a connected extension that was sent a command.
async fn with_a_command() -> (Killable, FakeExtension, DeliveredCommand) {
    let daemon = Killable::start().await;
    let mut extension = daemon.shim().connect().await;
    daemon.client().script("document.title", 7).await;
    let command = extension.command().await;
    (daemon, extension, command)
}

#[tokio::test]
async fn a_result_is_the_same_bytes_after_the_daemon_was_killed() {
    let (daemon, mut extension, command) = with_a_command().await;
    extension.claim(&command).await;
    extension.complete(&command, &json!({"success": true, "value": "Hömepage", "n": 1.0})).await;
    let before = result_of(&daemon.client(), &command.id).await;
    assert_eq!(before["status"], "complete");
    let daemon = daemon.kill().await;
    assert_eq!(result_of(&daemon.client(), &command.id).await, before);
    let daemon = daemon.kill().await;
    assert_eq!(result_of(&daemon.client(), &command.id).await, before);
}

#[tokio::test]
async fn a_command_that_waits_for_a_browser_outlives_the_daemon_and_runs_once() {
    let daemon = Killable::start().await;
    let id = daemon.client().script("document.title", 7).await;
    let daemon = daemon.kill().await;
    let mut extension = daemon.shim().connect().await;
    let ran = extension.run(&json!("Home")).await;
    assert_eq!((ran.id.as_str(), ran.script()), (id.as_str(), "document.title"));
    assert_eq!(result_of(&daemon.client(), &id).await["status"], "complete");
    extension.expect_nothing().await;
}

#[tokio::test]
async fn a_command_that_was_sent_and_not_begun_is_sent_again_as_a_first_attempt() {
    let (daemon, extension, command) = with_a_command().await;
    extension.breaks();
    let daemon = daemon.kill().await;
    // At a new epoch the extension has forgotten what it had not begun.
    let mut extension = daemon.shim().connect().await;
    let again = extension.run(&json!("Home")).await;
    assert_eq!((again.id.as_str(), again.attempt), (command.id.as_str(), 1));
    assert_eq!(result_of(&daemon.client(), &command.id).await["status"], "complete");
}

#[tokio::test]
async fn a_running_command_goes_on_and_its_result_counts() {
    let (daemon, mut extension, command) = with_a_command().await;
    extension.claim(&command).await;
    let daemon = daemon.kill().await;
    let mut extension = daemon.shim().connect_with(&[(&command, "running")]).await;
    extension.expect_nothing().await;
    extension.complete(&command, &json!("Home")).await;
    assert_eq!(result_of(&daemon.client(), &command.id).await["status"], "complete");
}

#[tokio::test]
async fn a_result_from_the_outbox_counts_though_daemon_and_worker_are_others_now() {
    let (daemon, mut extension, command) = with_a_command().await;
    extension.claim(&command).await;
    let daemon = daemon.kill().await;
    let reborn = daemon.shim().instance("instance-2");
    let mut extension = reborn.connect_with(&[(&command, "done")]).await;
    extension.complete(&command, &json!("Home")).await;
    assert_eq!(result_of(&daemon.client(), &command.id).await["status"], "complete");
}

#[tokio::test]
async fn a_command_that_its_browser_does_not_know_any_more_may_have_run_and_is_not_sent_again() {
    let (daemon, mut extension, command) = with_a_command().await;
    extension.claim(&command).await;
    let daemon = daemon.kill().await;
    let mut extension = daemon.shim().instance("instance-2").connect().await;
    extension.expect_nothing().await;
    let status = result_of(&daemon.client(), &command.id).await;
    assert_eq!(
        (&status["status"], &status["reason"]),
        (&json!("expired"), &json!("daemon_restarted"))
    );
    assert_eq!(status["may_have_run"], true);
}

#[tokio::test]
async fn a_call_with_the_same_key_is_the_same_command_in_the_next_life() {
    let daemon = Killable::start().await;
    let call = |script: &str| json!({"action": "execute_js", "script": script, "tab_id": 7, "idempotency_key": "k1"});
    let first = daemon.client().call("interact", call("1")).await;
    let daemon = daemon.kill().await;
    let again = daemon.client().call("interact", call("1")).await;
    assert_eq!(again["correlation_id"], first["correlation_id"]);
    assert_eq!(again["query_id"], first["query_id"]);
    let refused = daemon.client().call_fails("interact", call("2")).await;
    assert_eq!(refused["error"], "idempotency_key_reused");
    let mut elsewhere = call("1");
    elsewhere["tab_id"] = 8.into();
    let refused = daemon.client().call_fails("interact", elsewhere).await;
    assert_eq!(refused["error"], "idempotency_key_reused");
    let mut extension = daemon.shim().connect().await;
    extension.run(&json!("Home")).await;
    extension.expect_nothing().await;
}

#[tokio::test]
async fn a_command_without_a_tab_goes_to_the_tab_of_the_last_life() {
    let daemon = Killable::start().await;
    let mut extension = daemon.shim().connect().await;
    daemon.client().script("1", 8).await;
    extension.run(&json!("Home")).await;
    let daemon = daemon.kill().await;
    let call = json!({"action": "execute_js", "script": "2"});
    daemon.client().call("interact", call).await;
    let mut extension = daemon.shim().connect().await;
    assert_eq!(extension.run(&json!("Home")).await.command["tab_id"], 8);
}

#[tokio::test]
async fn a_daemon_that_is_stopped_lets_a_running_command_finish_and_keeps_the_rest() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::modern(&daemon).named("agent");
    let running = client.script("runs", 7).await;
    let waiting = client.script("waits", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    daemon.begin_to_stop();
    let refused = client.call_fails("interact", json!({"action": "execute_js", "script": "3"}));
    assert_eq!(refused.await["error"], "shutting_down");
    extension.complete(&command, &json!("Home")).await;
    assert_eq!(extension.closed().await.0, 1001);
    let daemon = daemon.restart().await;
    assert_eq!(result_of(&client, &running).await["status"], "complete");
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    assert_eq!(extension.run(&json!("Home")).await.id, waiting);
}

#[tokio::test]
async fn without_a_journal_nothing_outlives_the_daemon_and_it_says_so() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&["--ephemeral"]).await;
    let token = place.home().auth().token(&DEFAULT_OWNER.into());
    let client = McpClient::at(daemon.port, token.clone());
    let id = client.script("1", 7).await;
    let health = client.call("configure", json!({"action": "health"})).await;
    assert_eq!(health["storage"], json!({"state": "ephemeral"}));
    assert!(!place.home().journal_path().exists());
    let status = place.run(&["status"]).await;
    assert!(status.stdout.contains("ephemeral"), "{}", status.stdout);
    signal(daemon.pid(), Signal::KILL);
    daemon.end().await;
    let daemon = place.serve(&["--ephemeral"]).await;
    let client = McpClient::at(daemon.port, token);
    let call = json!({"what": "command_result", "correlation_id": id});
    assert_eq!(client.call_fails("observe", call).await["status"], "not_found");
}

#[tokio::test]
async fn a_journal_that_cannot_be_used_is_moved_aside_and_status_says_where_it_is() {
    let place = ProgramSandbox::new();
    let journal = place.home().journal_path();
    std::fs::write(&journal, "not a journal, and longer than a page ".repeat(200)).unwrap();
    let _daemon = place.serve(&[]).await;
    let kept: Vec<_> = std::fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("journal.db.unusable-"))
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let status = place.run(&["status"]).await;
    assert!(status.stdout.contains(&kept[0]), "{}", status.stdout);
}

#[tokio::test]
async fn the_bridge_goes_on_by_itself_after_its_daemon_was_killed() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    let call = json!({"action": "execute_js", "script": "1", "tab_id": 7});
    let id = client.call("interact", call).await["correlation_id"].as_str().unwrap().to_owned();
    signal(place.daemon().unwrap().pid, Signal::KILL);
    place.until_no_daemon().await;
    let call = json!({"what": "command_result", "correlation_id": id});
    assert_eq!(client.call("observe", call).await["status"], "pending");
    let mut extension =
        ExtensionBuilder::at(place.daemon().unwrap().port, &place.home()).connect().await;
    let ran = soon("the command", extension.run(&json!("Home"))).await;
    assert_eq!(ran.id, id);
}

#[tokio::test]
async fn a_thousand_commands_in_the_journal_do_not_hold_up_a_start() {
    let daemon = Killable::start().await;
    // Of several clients, since one may keep a hundred.
    let mut extension = daemon.shim().connect().await.auto(|_| json!("x".repeat(500)));
    for client in 0..10 {
        let client = daemon.client().named(&format!("agent-{client}"));
        for n in 0..100 {
            let call = json!({
                "action": "execute_js", "script": n.to_string(), "tab_id": 7, "wait_ms": 8_000
            });
            assert_eq!(client.call("interact", call).await["status"], "complete");
        }
    }
    let _ = &mut extension;
    let watch = testkit::Stopwatch::start();
    let daemon = daemon.kill().await;
    // Ten times what is normal, and with what it takes to start the process.
    watch.assert_under(1_000, "the start");
    let kept = daemon.client().call("configure", json!({"action": "health"})).await;
    assert_eq!(kept["kept"], 1_000);
    tokio::time::sleep(Duration::ZERO).await;
}

#[tokio::test]
async fn noise_rules_outlive_the_daemon_and_a_file_that_is_damaged_is_named() {
    let daemon = Killable::start().await;
    let rule = |pattern: &str| json!({"action": "noise_rule", "pattern": pattern});
    let kept = daemon.client().call("configure", rule("[hmr]")).await;
    daemon.client().call("configure", rule("/ads/*.gif")).await;
    let remove = json!({"action": "noise_rule", "remove": kept["id"]});
    let left = daemon.client().call("configure", remove).await["rules"].clone();
    let list = || json!({"action": "noise_rule"});
    let daemon = daemon.kill().await;
    assert_eq!(daemon.client().call("configure", list()).await["rules"], left);
    assert_eq!(left[0]["pattern"], "/ads/*.gif");
    // The number of one that went is not given again.
    let next = daemon.client().call("configure", rule("next")).await;
    assert_eq!(next["id"], "noise_3");
    let file = daemon.place.home().dir().join("noise/user/rules.json");
    std::fs::write(&file, "{}").unwrap();
    let failed = daemon.client().call_fails("configure", rule("more")).await;
    assert_eq!(failed["error"], "noise_rules_damaged");
    assert!(failed["message"].as_str().unwrap().contains("rules.json"), "{failed}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}", "it is left as it is");
    let daemon = daemon.kill().await;
    std::fs::remove_file(&file).unwrap();
    assert_eq!(daemon.client().call("configure", list()).await["rules"], json!([]));
}
