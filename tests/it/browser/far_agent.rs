//! An agent on another machine, by a real `sshd` on the loopback, in a real Chromium: `make demo-reach` shows it.

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::protocol::{OwnerKind, Timestamp};
use testkit::{StdioClient, TestPages, body, signal, soon, until};

use crate::browser::ask_first::{ALWAYS, ConsentStage};
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
