//! Calls on their way over the server, and back.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use testkit::{body, finish, png};

use super::nats::NatsServer;
use super::{AGENT, AgentMachine, PLACE, PlaceMachine, PlaceStage, failure, script};

/// How long a large result may take in a program that is not optimized.
const LONG: Duration = Duration::from_secs(50);

/// The bytes of a picture that is as large as an answer may have one.
const PICTURE: usize = 3_700_000;

#[tokio::test]
async fn a_command_of_an_agent_runs_in_the_browser_of_the_place_and_its_result_comes_back() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, machine: _machine, mut browser, caller: agent, .. } = stage;
    let arguments = ["call", "interact", "action=execute_js", "script=1", "tab_id=7"];
    let called = tokio::spawn(finish(agent.command(&arguments)));
    let command = browser.run(&json!({"value": 7})).await;
    assert_eq!(command.script(), "1");
    let told = called.await.unwrap();
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.stdout.contains("\"value\": 7"), "{told:?}");
    let mut bridge = agent.mcp();
    bridge.ask(&"a".into(), "interact", script("2")).await;
    browser.run(&json!({"value": 8})).await;
    let told = body(&bridge.answer(&"a".into()).await["result"]);
    assert_eq!(told["status"], "complete", "{told}");
}

#[tokio::test]
async fn a_result_of_eight_mebibytes_comes_back_whole() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, machine: _machine, browser, caller: agent, .. } = stage;
    let long =
        "0123456789abcdefghijklmnopqrstuvwxyz-0123456789abcdefghijklmnopq ".repeat(126 * 1024);
    let result = long.clone();
    let _browser = browser.auto(move |_| json!({"value": result}));
    // The command line puts the parts of it together.
    let arguments = ["call", "interact", "action=execute_js", "script=1", "tab_id=7"];
    let told = tokio::time::timeout(LONG, agent.command(&arguments).output()).await;
    let told = told.expect("it comes").unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    assert!(String::from_utf8(told.stdout).unwrap().contains(&long), "it is whole");
}

#[tokio::test]
async fn a_picture_of_five_megabytes_comes_back_whole_in_one_answer() {
    let Some(stage) = PlaceStage::start().await else { return };
    let PlaceStage { server: _server, machine: _machine, mut browser, caller: agent, .. } = stage;
    let mut bridge = agent.mcp();
    let shot = json!({"action": "screenshot", "tab_id": 7, "wait_ms": 20_000});
    bridge.ask(&"a".into(), "interact", shot).await;
    let mut bytes = png(800, 600);
    bytes.resize(PICTURE, b'A');
    let data = STANDARD.encode(bytes);
    let value = json!({"mime_type": "image/png", "data": data, "width": 800, "height": 600});
    browser.run(&json!({"success": true, "type": "image", "value": value})).await;
    let told = bridge.late_answer(&"a".into()).await;
    assert!(told["result"]["content"][1]["data"] == data, "{}", told["result"]["content"][0]);
}

#[tokio::test]
async fn an_agent_of_a_place_that_it_is_not_granted_is_told_so_at_once() {
    let Some(mut server) = NatsServer::start().await else { return };
    let place = server.place(PLACE).await;
    let key = server.agent(AGENT, &["qa-18"]).await;
    let (_machine, mut browser) = PlaceMachine::start(&place, &[AGENT]).await;
    let agent = AgentMachine::new(&key, PLACE);
    let mut bridge = agent.mcp();
    bridge.ask(&"a".into(), "interact", script("1")).await;
    let told = bridge.answer(&"a".into()).await;
    assert_eq!(failure(&told), ("not_granted".to_owned(), Some(false)), "{told}");
    assert!(told.to_string().contains("places grant"), "{told}");
    browser.expect_nothing().await;
    let elsewhere = AgentMachine::new(&key, "qa-18");
    let mut bridge = elsewhere.mcp();
    bridge.ask(&"a".into(), "interact", script("1")).await;
    let told = bridge.answer(&"a".into()).await;
    assert_eq!(
        failure(&told),
        ("place_offline".to_owned(), Some(false)),
        "nobody has joined: {told}"
    );
}

#[tokio::test]
async fn an_address_with_a_password_and_a_key_that_others_can_read_are_refused_with_the_next_step()
{
    let Some(mut server) = NatsServer::start().await else { return };
    let key = server.agent(AGENT, &[PLACE]).await;
    let agent = AgentMachine::new(&key, PLACE);
    let run = async |address: &str, creds: &str| {
        let arguments = ["call", "observe", "what=tabs", "--connect", address, "--creds", creds];
        agent.sandbox.run(&arguments).await
    };
    let secret = run("nats://ci:hunter2@127.0.0.1:4222/qa-17", &agent.creds).await;
    assert_eq!(secret.code, Some(2), "{secret:?}");
    assert!(secret.stderr.contains("password in it. Take it out"), "{secret:?}");
    std::fs::set_permissions(&agent.creds, Permissions::from_mode(0o644)).unwrap();
    let open = run(&agent.address, &agent.creds).await;
    assert_eq!(open.code, Some(1), "{open:?}");
    assert!(open.stderr.contains("open to others") && open.stderr.contains("chmod"), "{open:?}");
    let none =
        agent.sandbox.run(&["call", "observe", "what=tabs", "--connect", &agent.address]).await;
    assert!(none.stderr.contains("--creds FILE"), "{none:?}");
}

#[tokio::test]
async fn a_server_that_is_too_old_is_refused_with_its_version_and_the_next_step() {
    let Some(program) = std::env::var_os("TABWIRE_OLD_NATS_SERVER") else {
        eprintln!(
            "skipped: TABWIRE_OLD_NATS_SERVER names no server; `make fleet` gets one on Debian"
        );
        return;
    };
    let mut server = NatsServer::start_with(program.into()).await;
    let key = server.agent(AGENT, &[PLACE]).await;
    let agent = AgentMachine::new(&key, PLACE);
    let told = finish(agent.command(&["call", "observe", "what=tabs"])).await;
    assert_eq!(told.code, Some(1), "{told:?}");
    let words = told.stderr + &told.stdout;
    assert!(words.contains("2.9.10") && words.contains("2.12.3 or newer"), "{words}");
    let told = finish(agent.command(&["doctor"])).await;
    assert!(told.stdout.contains("2.12.3 or newer"), "{told:?}");
}
