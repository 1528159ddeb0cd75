//! A slow line: a real `sshd` behind 1 Mbit/s and 200 ms there and back.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{DeliveredCommand, ExtensionBuilder, StdioClient};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Sleep, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::place_run::{PlaceRun, TwoMachines};
use super::ssh::SshServer;
use super::{LONGEST, long_text};

/// How many bytes pass in a second: 1 Mbit.
const RATE: f64 = 125_000.0;

/// How long a byte is on its way.
const ONE_WAY: Duration = Duration::from_millis(100);

/// How many bytes are taken at a time, and how many of these wait on the way: 64 KiB, as in a router.
const PART: usize = 1024;
const PARTS: usize = 64;

/// One direction of a slow line.
async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let (queue, mut waiting) = mpsc::channel::<(Pin<Box<Sleep>>, Vec<u8>)>(PARTS);
    let taking = async move {
        loop {
            let mut part = vec![0; PART];
            let Ok(read @ 1..) = from.read(&mut part).await else { return };
            part.truncate(read);
            if queue.send((Box::pin(sleep(ONE_WAY)), part)).await.is_err() {
                return;
            }
        }
    };
    let giving = async move {
        while let Some((arrives, part)) = waiting.recv().await {
            arrives.await;
            #[expect(clippy::cast_precision_loss, reason = "at most a part")]
            let takes = Duration::from_secs_f64(part.len() as f64 / RATE);
            if to.write_all(&part).await.is_err() {
                return;
            }
            sleep(takes).await;
        }
    };
    tokio::join!(taking, giving);
}

/// A port behind which a slow line leads to another.
async fn slow_line(port: u16) -> (u16, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let slow = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let (near_from, near_to) = near.into_split();
            let (far_from, far_to) = far.into_split();
            tokio::spawn(async { tokio::join!(pass(near_from, far_to), pass(far_from, near_to)) });
        }
    });
    (slow, AbortOnDropHandle::new(serving))
}

/// A result of so many bytes comes whole, and calls beside it are answered.
async fn comes_whole(length: usize) {
    let machines = TwoMachines::new();
    machines.add_owner();
    let daemon = machines.home.serve(&["--limit", "calls_per_minute=0"]).await;
    let shim = ExtensionBuilder::at(daemon.port, &machines.home.home()).sharing(&[7]);
    let extension = shim.connect().await;
    let server = SshServer::start(&machines).await;
    let (port, _line) = slow_line(server.port()).await;
    server.lead_by(port);
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
