//! An agent with a slow line to the NATS server: 1 Mbit/s and 200 ms there and back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{SlowLine, Stopwatch};
use tokio::time::timeout;

use super::nats::NatsServer;
use super::{AGENT, AgentMachine, PLACE, PlaceMachine};
use crate::reach::{LONGEST, long_text};

/// The largest result has this long at 1 Mbit/s.
const LONG: Duration = Duration::from_secs(500);

/// A result of so many bytes comes whole, and calls beside it are answered.
#[expect(clippy::print_stdout, reason = "the figures are told to whoever runs the tests")]
async fn comes_whole(length: usize) {
    let Some(mut server) = NatsServer::start().await else { return };
    let place = server.place(PLACE).await;
    let mut key = server.agent(AGENT, &[PLACE]).await;
    let line = SlowLine::to(server.port).await;
    key.servers.addresses = vec![format!("127.0.0.1:{}", line.port()).parse().unwrap()];
    let (_machine, browser) = PlaceMachine::start(&place, &[AGENT]).await;
    let long = long_text(length);
    let result = long.clone();
    let _browser = browser.auto(move |_| json!({"value": result}));
    let caller = AgentMachine::new(&key, PLACE);
    let mut beside = caller.mcp();
    let words = ["call", "execute_js", "script=long()", "tab_id=7"];
    let mut called = caller.command(&words);
    let is_over = AtomicBool::new(false);
    let called = async {
        let watch = Stopwatch::start();
        let told = timeout(LONG, called.output()).await.expect("the whole result").unwrap();
        is_over.store(true, Ordering::Relaxed);
        (told, watch.millis())
    };
    let others = async {
        let mut took = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let watch = Stopwatch::start();
            beside.ask(&json!(took.len()), "observe", json!({"what": "tabs"})).await;
            let told = beside.late_answer(&json!(took.len())).await;
            assert_eq!(told["result"]["isError"], false, "{told}");
            took.push(watch.millis());
        }
        took.sort_unstable();
        took
    };
    let ((told, whole), took) = tokio::join!(called, others);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let printed: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert!(printed["value"] == long, "another text");
    assert!(took.len() > 1, "{took:?}");
    println!(
        "a result of {} KiB: {whole} ms; {} calls beside it: {} ms at the median, {} ms at most",
        length / 1024,
        took.len(),
        took[took.len() / 2],
        took[took.len() - 1]
    );
}

#[tokio::test]
async fn over_a_slow_line_to_the_server_a_result_comes_whole_and_nothing_counts_as_lost() {
    comes_whole(200 * 1024).await;
}

#[tokio::test]
#[ignore = "takes minutes: make bench-places"]
async fn over_a_slow_line_to_the_server_the_largest_result_comes_whole_and_nothing_counts_as_lost()
{
    comes_whole(LONGEST).await;
}
