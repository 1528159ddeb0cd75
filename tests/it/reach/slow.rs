//! A slow line: a real `sshd` behind 1 Mbit/s and 200 ms there and back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{DeliveredCommand, ExtensionBuilder, SlowLine, StdioClient};
use tokio_util::task::AbortOnDropHandle;

use super::place_run::{PlaceRun, TwoMachines};
use super::ssh::SshServer;
use super::{LONGEST, long_text};

/// A result of so many bytes comes whole, and calls beside it are answered.
async fn comes_whole(length: usize) {
    let machines = TwoMachines::new();
    machines.add_owner();
    let daemon = machines.home.serve(&["--limit", "calls_per_minute=0"]).await;
    let shim = ExtensionBuilder::at(daemon.port, &machines.home.home()).sharing(&[7]);
    let extension = shim.connect().await;
    let server = SshServer::start(&machines).await;
    let line = SlowLine::to(server.port()).await;
    server.lead_by(line.port());
    let _run = PlaceRun::start(server.reach_far_away(&machines)).await;
    let mut beside = StdioClient::spawn(machines.far.command(&["mcp", "--connect", "box"]));
    let long = long_text(length);
    let called = ["call", "execute_js", "script=long()", "tab_id=7", "--connect", "box"];
    let mut call = machines.far.command(&called);
    let called = tokio::time::timeout(Duration::from_secs(500), call.output());
    let running = AbortOnDropHandle::new(tokio::spawn(extension.run_all({
        let long = long.clone();
        move |_: &DeliveredCommand| json!({"value": long})
    })));
    let is_over = AtomicBool::new(false);
    let others = async {
        let mut answered = 0;
        while !is_over.load(Ordering::Relaxed) {
            let told = beside.call_raw("observe", json!({"what": "tabs"})).await;
            assert_ne!(told["isError"], true, "{told}");
            answered += 1;
        }
        answered
    };
    let called = async {
        let told = called.await.expect("the whole result").unwrap();
        is_over.store(true, Ordering::Relaxed);
        told
    };
    let (told, answered) = tokio::join!(called, others);
    drop(running);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let printed: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(printed["value"] == long, "another text");
    assert!(answered > 1, "{answered}");
}

#[tokio::test]
async fn over_a_slow_line_a_result_comes_whole_and_nothing_counts_as_lost() {
    comes_whole(500 * 1024).await;
}

#[tokio::test]
#[ignore = "takes over a minute: make bench-reach"]
async fn over_a_slow_line_the_largest_result_comes_whole_and_nothing_counts_as_lost() {
    comes_whole(LONGEST).await;
}
