//! What the way to another machine costs: `make bench-reach`. A real `sshd` on the loopback, and calls of an agent there
//! and of one at home by turns.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{DeliveredCommand, ExtensionBuilder, FakeExtension, StdioClient, Stopwatch};
use tokio_util::task::AbortOnDropHandle;

use super::connect::own_memory;
use super::place_run::{PlaceRun, TwoMachines};
use super::ssh::SshServer;
use super::{LONGEST, long_text};

/// Required: how much longer a whole command takes, at the median.
const ADDED: Duration = Duration::from_micros(800);

/// Required: how much longer so many commands take together, as a multiple.
const TOGETHER: f64 = 2.0;

/// How many commands are sent at once.
const AT_ONCE: usize = 64;

/// Required: the memory of its own of each program on the way, in KiB.
const MEMORY: u64 = 20 * 1024;

const BLOCKS: usize = 9;
const CALLS: usize = 100;

/// Answers every command, in a task of its own: a script `long` with 7.3 MiB.
fn answering(extension: FakeExtension) -> AbortOnDropHandle<()> {
    let long = long_text(LONGEST);
    let result = move |command: &DeliveredCommand| {
        let value = if command.script() == "long" { json!(long) } else { json!(1) };
        json!({"value": value})
    };
    AbortOnDropHandle::new(tokio::spawn(extension.run_all(result)))
}

fn script(text: &str, tab: i64) -> Value {
    json!({"action": "execute_js", "script": text, "tab_id": tab, "wait_ms": 20_000})
}

fn request(id: impl Into<Value>, arguments: &Value) -> Value {
    let id = id.into();
    let params = json!({"name": "interact", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// How long each of some calls took, one after the other, in ms.
async fn one_by_one(agent: &mut StdioClient, tab: i64) -> Vec<f64> {
    let mut took = Vec::new();
    for number in 0..CALLS {
        let watch = Stopwatch::start();
        let answer = agent.try_rpc(&request(number, &script("1", tab))).await.unwrap();
        took.push(millis(&watch));
        assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{answer}");
    }
    took
}

/// How long many calls take that are sent at once, in ms.
async fn at_once(agent: &mut StdioClient, tab: i64) -> f64 {
    let watch = Stopwatch::start();
    for number in 0..AT_ONCE {
        agent.send(&request(format!("at once {number}"), &script("1", tab))).await;
    }
    for number in 0..AT_ONCE {
        let answer = agent.answer(&format!("at once {number}").into()).await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    millis(&watch)
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of one call")]
fn millis(watch: &Stopwatch) -> f64 {
    watch.micros() as f64 / 1_000.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::test]
#[ignore = "a measurement: make bench-reach"]
async fn what_the_way_to_another_machine_costs() {
    let machines = TwoMachines::new();
    machines.add_owner();
    let daemon = machines
        .home
        .serve(&["--limit", "calls_per_minute=0", "--limit", &format!("queued={AT_ONCE}")])
        .await;
    let shim = ExtensionBuilder::at(daemon.port, &machines.home.home()).sharing(&[7]);
    let _answering = answering(shim.connect().await);
    let server = SshServer::start(&machines).await;
    let run = PlaceRun::start(server.reach_with_program(&machines)).await;
    let far = StdioClient::spawn(machines.far.command(&["mcp", "--connect", "box"]));
    let (mut far, mut near) =
        (far.without_checks(), StdioClient::start(&machines.home).without_checks());
    // Each in a tab of its own: a tab has one client.
    let (far_tab, near_tab) = (7, 8);
    let (mut added, mut together) = (Vec::new(), Vec::new());
    for block in 0..=BLOCKS {
        let (own, local) =
            (one_by_one(&mut far, far_tab).await, one_by_one(&mut near, near_tab).await);
        let (own, local) = (median(own), median(local));
        let all = (at_once(&mut far, far_tab).await, at_once(&mut near, near_tab).await);
        // The first is a warm-up.
        if block > 0 {
            println!(
                "a call: {own:.2} ms there, {local:.2} ms here; {AT_ONCE} at once: {:.1} ms there, {:.1} ms here",
                all.0, all.1
            );
            added.push(own - local);
            together.push(all.0 / all.1);
        }
    }
    let long = far.try_rpc(&request("long", &script("long", far_tab))).await.unwrap();
    assert!(long["result"]["isError"] != true, "{long}");
    let carrier = machines.carrier().unwrap();
    let memory = [("reach", own_memory(run.pid())), ("carry", own_memory(carrier))];
    let (added, together) = (median(added), median(together));
    println!("added at the median: {added:.2} ms of {:.2}", ADDED.as_secs_f64() * 1_000.0);
    println!("{AT_ONCE} at once: {together:.2} × of {TOGETHER}");
    println!("memory of their own after a result of 7.3 MiB: {memory:?} KiB of {MEMORY}");
    assert!(added <= ADDED.as_secs_f64() * 1_000.0 && together <= TOGETHER);
    assert!(memory.iter().all(|(_, memory)| *memory <= MEMORY));
}
