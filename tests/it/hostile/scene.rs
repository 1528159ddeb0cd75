//! Those who may get in, at work for as long as an attack goes on.

use std::cell::RefCell;
use std::time::Duration;

use futures_util::future::{join, join3};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use testkit::PollingExtension;
use testkit::{
    DeliveredCommand, ExtensionBuilder, ExtensionSession, HttpExtension, LOOK, McpClient,
    StdioClient, Stopwatch, TestDaemon, cli_of, soon, until,
};

/// Half of a well-behaved client's commands take no longer as a whole: ten times what is promised of
/// the program as it is released, on a machine with nothing else to do.
const USUAL_MS: u128 = 1_000;

/// None takes longer: a client has some fifty commands, and one of them may meet the start of a
/// browser in another test.
const LONGEST_MS: u128 = 4_000;

/// How far apart a client's commands are: it stays within a minute's worth of calls.
const PACE: Duration = Duration::from_millis(20);

/// What every command of theirs returns.
const RESULT: i64 = 4711;

/// A daemon with an extension on a socket, one over HTTP and one that polls, of which each has
/// an agent: two with a bearer token, one behind a bridge.
pub(crate) struct Scene {
    pub(crate) daemon: TestDaemon,
    /// How long the commands of each agent took, in ms, since the attack began.
    took: [RefCell<Vec<u128>>; 3],
}

impl Scene {
    pub(crate) async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        // It is let in for asking as long as none of ours has been there.
        PollingExtension::connect(&daemon).await;
        Self { daemon, took: Default::default() }
    }

    /// Runs an attack, once those who may work do, and sees to it that they still can: each has
    /// finished commands meanwhile, and nobody has waited for long.
    pub(crate) async fn while_others_work<T>(&self, attack: impl Future<Output = T>) -> T {
        let over = CancellationToken::new();
        let attack = async {
            let are_at_work = async || self.took.iter().all(|took| !took.borrow().is_empty());
            soon("the others' first commands", until(are_at_work)).await;
            self.took.iter().for_each(|took| took.borrow_mut().clear());
            let came = attack.await;
            over.cancel();
            came
        };
        let (came, ()) = join(attack, self.work(&over)).await;
        self.took.iter().for_each(assert_quick);
        came
    }

    async fn work(&self, over: &CancellationToken) {
        let shim = |name: &str| ExtensionBuilder::of(&self.daemon).browser(name).instance(name);
        let on_socket = shim("socket").connect().await.auto(|_| RESULT.into());
        let over_http = tokio::spawn(answer_over_http(shim("http")));
        let bearer = McpClient::legacy(&self.daemon).named("bearer");
        let modern = McpClient::modern(&self.daemon).named("modern");
        let stdio = Mutex::new(StdioClient::spawn(cli_of(&self.daemon, &["mcp"])));
        let old = polling_browser(&bearer).await;
        let (socket, http) = (shim("socket").label(), shim("http").label());
        let agents = join3(
            self.submit(0, over, async || bearer.call_raw("interact", script(&socket)).await),
            self.submit(1, over, async || modern.call_raw("interact", script(&http)).await),
            self.submit(2, over, async || {
                stdio.lock().await.call_raw("interact", script(&old)).await
            }),
        );
        let done = CancellationToken::new();
        let agents = async {
            agents.await;
            done.cancel();
        };
        join(self.poll(&done), agents).await;
        over_http.abort();
        drop(on_socket);
    }

    /// Submits an agent's commands one after another.
    async fn submit(&self, agent: usize, over: &CancellationToken, call: impl AsyncFn() -> Value) {
        while !over.is_cancelled() || self.took[agent].borrow().is_empty() {
            let watch = Stopwatch::start();
            let result = call().await;
            self.took[agent].borrow_mut().push(watch.millis());
            let came = &result["structuredContent"]["result"];
            assert!(*came == RESULT || came["value"] == RESULT, "{result}");
            tokio::time::sleep(PACE).await;
        }
    }

    /// The extension that polls: answers what comes.
    async fn poll(&self, done: &CancellationToken) {
        let old = PollingExtension::new(&self.daemon);
        while !done.is_cancelled() {
            for query in old.poll().await {
                let body = json!({
                    "correlation_id": query["correlation_id"], "status": "complete",
                    "result": {"success": true, "result": RESULT},
                });
                let answer = old.post("/execute-result", body.to_string()).await.json();
                assert_eq!(answer["accepted"], true, "{answer}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Sees to it that an agent's commands did not take long, and says how long.
#[expect(clippy::print_stdout, reason = "how long it took is told to whoever runs the tests")]
fn assert_quick(took: &RefCell<Vec<u128>>) {
    let mut took = took.borrow_mut();
    took.sort_unstable();
    let (usual, slowest) = (took[took.len() / 2], took[took.len() * 99 / 100]);
    println!("hostile p99: {slowest} ms of {} commands", took.len());
    let told = || format!("{} commands: p50 {usual} ms, p99 {slowest} ms", took.len());
    assert!(usual < USUAL_MS && slowest < LONGEST_MS, "{}", told());
}

/// A script for the browser of this name, whose result is waited for.
fn script(browser: &str) -> Value {
    json!({
        "action": "execute_js", "script": "1", "browser": browser, "wait_ms": 20_000,
    })
}

/// What the browser is called whose extension polls.
async fn polling_browser(client: &McpClient) -> String {
    let browsers = client.call("observe", json!({"what": "browsers"})).await;
    let browsers = browsers["browsers"].as_array().unwrap();
    let polling = browsers.iter().find(|browser| browser["extension_version"] == "5.6.0");
    polling.unwrap_or_else(|| panic!("{browsers:?}"))["browser"].as_str().unwrap().to_owned()
}

/// The extension over HTTP: runs what comes until it is dropped.
async fn answer_over_http(shim: ExtensionBuilder) {
    let requests = ExtensionSession::of(&shim);
    let patience = || Duration::from_secs(60);
    let mut link = HttpExtension::try_open(&requests, patience).await.unwrap();
    link.try_send(&shim.ready_frame(&[])).await.unwrap();
    while let Some(frame) = link.try_next().await {
        let said = match frame["type"].as_str().unwrap() {
            "command" => DeliveredCommand::of(&frame).answer("claim"),
            "go" => json!({
                "type": "complete", "correlation_id": frame["correlation_id"],
                "attempt": frame["attempt"], "result": RESULT,
            }),
            "ping" => json!({"type": "pong", "t": frame["t"]}),
            _ => continue,
        };
        link.try_send(&said).await.unwrap();
    }
}
