//! An agent on another machine, by a real `sshd` on the loopback, in a real Chromium: `make demo-reach` shows it.

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::home::TenantCallState;
use tabwire::protocol::{OwnerKind, Timestamp};
use testkit::{McpClient, StdioClient, TestPages, body, signal, soon, until};

use crate::browser::ask_first::{ALWAYS, ConsentStage, press_entry};
use crate::browser::popup::shows;
use crate::reach::place_run::{PlaceRun, TwoMachines};
use crate::reach::ssh::{SshServer, ssh_of};

/// The way of a call, process by process.
fn way(machines: &TwoMachines, run: &PlaceRun, stage: &ConsentStage) -> String {
    let number = |process: Option<u32>| process.map_or("–".to_owned(), |pid| pid.to_string());
    format!(
        "agent → carry {} → sshd → ssh {} → reach {} → daemon on port {} → Chromium",
        number(machines.carrier()),
        number(ssh_of(run)),
        run.pid(),
        stage.daemon.port(),
    )
}

/// Calls as the agent.
async fn call(agent: &mut StdioClient, mut arguments: Value) -> Value {
    arguments["wait_ms"] = 20_000.into();
    body(&agent.call_raw("interact", arguments).await)
}

/// The value that comes back.
fn value(told: &Value) -> &Value {
    assert_eq!(told["status"], "complete", "{told}");
    &told["result"]["value"]
}

#[tokio::test]
async fn an_agent_on_another_machine_reads_a_page_and_goes_on_after_ssh_was_killed() {
    let mut stage = ConsentStage::open(TestPages::start().await, "/form").await;
    let machines = TwoMachines::new();
    let since = Timestamp::from_unix_micros(0);
    stage.daemon.home().owners().add("box", None, OwnerKind::Far, since).unwrap();
    let server = SshServer::start(&machines).await;
    let mut reach = server.reach_with_program(&machines);
    reach.env("TABWIRE_HOME", stage.daemon.home().dir());
    let mut run = PlaceRun::start(reach).await;
    println!("home: `tabwire reach box`; far: `tabwire mcp --connect box`");
    let mut agent = StdioClient::spawn(machines.far.command(&["mcp", "--connect", "box"]));
    let page = json!({"action": "tab_open", "url": stage.pages.url("/second")});
    let held = call(&mut agent, page).await;
    assert_eq!(held["status"], "waiting_for_user", "{held}");
    let id = held["correlation_id"].as_str().unwrap().to_owned();
    println!("tab_open waits for the person's word in the popup: {}", way(&machines, &run, &stage));
    stage.press_of_far("box", &id, ALWAYS).await;
    let asked = json!({"what": "command_result", "correlation_id": id, "wait_ms": 20_000});
    let opened = body(&agent.call_raw("observe", asked).await);
    let tab = value(&opened)["tab_id"].clone();
    println!("tab {tab} is open: {}", way(&machines, &run, &stage));
    let title = json!({"action": "execute_js", "script": "document.title", "tab_id": tab});
    let titled = call(&mut agent, title).await;
    let first = value(&titled);
    println!("title {first}: {}", way(&machines, &run, &stage));
    assert_eq!(first, "Second Page");
    // In the middle of a call.
    let begun = stage.pages.hits("/form");
    let slow = "await fetch('/form'); return new Promise(done => setTimeout(() => done(document.title), 3000))";
    let slow = json!({"action": "execute_js", "script": slow, "tab_id": tab, "wait_ms": 20_000});
    agent.ask(&"slow".into(), "interact", slow).await;
    soon("the script", until(async || stage.pages.hits("/form") > begun)).await;
    let killed = ssh_of(&run).expect("ssh runs");
    signal(killed, Signal::KILL);
    println!("ssh {killed} is killed during a call");
    run.until("waiting").await;
    run.until("connected").await;
    let told = body(&agent.answer(&"slow".into()).await["result"]);
    assert_eq!(
        (&told["status"], &told["result"]["value"]),
        (&json!("complete"), &json!("Second Page"))
    );
    println!("the same call's result by another line: {}", way(&machines, &run, &stage));
    stage.end().await;
}

/// The HTTP status of a call as the agent.
async fn status_of(agent: &McpClient) -> u16 {
    let (headers, message) = agent.message(&json!(1), "tools/list", json!({}));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    agent.post(&headers, message.to_string().into_bytes()).await.status.as_u16()
}

#[tokio::test]
async fn the_popup_lists_a_team_s_agent_whom_a_click_disconnects_and_lets_in_again_and_a_team_in_trouble()
 {
    let mut stage = ConsentStage::open(TestPages::start().await, "/form").await;
    let agent = McpClient::agent(&stage.daemon, "ci@acme").await;
    let url = stage.pages.url("/second");
    let page = json!({"action": "tab_open", "url": url, "wait_ms": 20_000});
    assert_eq!(agent.call("interact", page).await["status"], "waiting_for_user");
    shows(&mut stage.hand, "acme: ci, 1 call").await;
    press_entry(&mut stage.hand, "far-list", 1).await;
    shows(&mut stage.hand, "acme: ci, disconnected").await;
    assert!(matches!(status_of(&agent).await, 401 | 403), "it is let in");
    press_entry(&mut stage.hand, "far-list", 1).await;
    soon("the agent is let in", until(async || status_of(&agent).await == 200)).await;

    let tenants = stage.daemon.home().tenants();
    let lock = tenants.try_lock_homes().unwrap();
    std::fs::write(tenants.path("acme"), "x").unwrap();
    let (says, remedy) = ("no NATS server answers", "tell the `operator`");
    let trouble = TenantCallState { says: says.to_owned(), remedy: Some(remedy.to_owned()) };
    tenants.announce("acme", &trouble).unwrap();
    shows(&mut stage.hand, "acme: no NATS server answers").await;
    let shown = stage.hand.read("document.querySelector('#tenant-troubles').innerText").await;
    assert!(shown.as_str().unwrap().contains("Tell the operator."), "{shown}");
    tenants.announce("acme", &TenantCallState { remedy: None, ..trouble }).unwrap();
    let none = "document.querySelectorAll('#tenant-troubles li').length";
    let hand = &mut stage.hand;
    soon("the end of the trouble", until(async || hand.read(none).await == 0)).await;
    drop(lock);
    stage.end().await;
}
