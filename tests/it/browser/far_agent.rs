//! An agent on another machine, by a real `sshd` on the loopback, in a real Chromium: `make demo-reach` shows it.

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::protocol::{OwnerKind, Timestamp};
use testkit::{StdioClient, body, signal};

use crate::browser::Stage;
use crate::reach::place_run::{PlaceRun, TwoMachines};
use crate::reach::ssh::{SshServer, ssh_of};

/// The way of a call, process by process.
fn way(machines: &TwoMachines, run: &PlaceRun, stage: &Stage) -> String {
    let number = |process: Option<u32>| process.map_or("–".to_owned(), |pid| pid.to_string());
    format!(
        "agent → carry {} → sshd → ssh {} → reach {} → daemon on port {} → Chromium",
        number(machines.carrier()),
        number(ssh_of(run)),
        run.pid(),
        stage.daemon.port(),
    )
}

/// Calls as the agent; the value that comes back.
async fn value(agent: &mut StdioClient, mut arguments: Value) -> Value {
    arguments["wait_ms"] = 20_000.into();
    let told = body(&agent.call_raw("interact", arguments).await);
    assert_eq!(told["status"], "complete", "{told}");
    told["result"]["value"].clone()
}

#[tokio::test]
async fn an_agent_on_another_machine_reads_a_page_and_goes_on_after_ssh_was_killed() {
    let stage = Stage::set().await;
    let machines = TwoMachines::new();
    let since = Timestamp::from_unix_micros(0);
    stage.daemon.home().owners().add("box", None, OwnerKind::Far, since).unwrap();
    let server = SshServer::start(&machines).await;
    let mut reach = server.reach_with_program(&machines);
    reach.env("TABWIRE_HOME", stage.daemon.home().dir());
    let mut run = PlaceRun::start(reach).await;
    println!("home: `tabwire reach box`; far: `tabwire mcp --connect box`");
    let mut agent = StdioClient::spawn(machines.far.command(&["mcp", "--connect", "box"]));
    let title = json!({"action": "execute_js", "script": "document.title"});
    let page = json!({"action": "navigate", "url": stage.pages.url("/second")});
    value(&mut agent, page).await;
    println!("navigate: {}", way(&machines, &run, &stage));
    let first = value(&mut agent, title.clone()).await;
    println!("title {first}: {}", way(&machines, &run, &stage));
    assert_eq!(first, "Second Page");
    // In the middle of a call.
    let slow = "new Promise(done => setTimeout(() => done(document.title), 3000))";
    let slow = json!({"action": "execute_js", "script": slow, "wait_ms": 20_000});
    agent.ask(&"slow".into(), "interact", slow).await;
    stage.page(|url| url.ends_with("/second")).await;
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
