//! `tabwire mcp`, the daemon, the extension and Chromium, all real, and what their calls cost.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on panics")]

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};
use tabwire::demo::Browser;
use tabwire::home::StateDirectory;
use tabwire::protocol::EXTENSION_ID;
use testkit::load::{MeasuredServer, now, resident};
use testkit::{StdioClient, TestPages};
use tokio::process::Command;

/// Figures that are no times.
pub(crate) const BRIDGE_MEMORY: &str = "bridge: memory (MB)";
pub(crate) const IDLE_MEMORY: &str = "daemon: idle memory (MB)";

fn millis_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1_000.0
}

/// One figure: what was measured, and the bound that it should keep.
pub(crate) struct MeasuredCall {
    pub(crate) what: &'static str,
    pub(crate) values: Vec<f64>,
    pub(crate) p50: f64,
    pub(crate) p99: Option<f64>,
}

impl MeasuredCall {
    pub(crate) fn at(&self, part: f64) -> f64 {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index"
        )]
        let index = ((sorted.len() - 1) as f64 * part).round() as usize;
        sorted[index]
    }
}

/// A client of `tabwire mcp`, whose answers are not checked while they are measured.
struct Agent(StdioClient);

impl Agent {
    fn start(home: &Path) -> Self {
        let mut command = Command::new(testkit::program());
        command.args(["mcp", "--port", "0"]).env("TABWIRE_HOME", home);
        command.stdout(Stdio::piped()).kill_on_drop(true);
        Self(StdioClient::spawn(command).without_checks())
    }

    async fn initialize(&mut self) {
        self.0.initialize("bench").await;
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.0.request("tools/call", params).await["structuredContent"].take()
    }

    /// Runs a script and waits for its result; how long that took.
    async fn run(&mut self, script: &str) -> f64 {
        let arguments = json!({"action": "execute_js", "script": script, "wait_ms": 20_000});
        let start = now();
        let answer = self.call("interact", arguments).await;
        let took = millis_since(start);
        assert!(answer["result"].is_string(), "{answer}");
        took
    }

    async fn go(&mut self, url: &str) {
        let arguments = json!({"action": "navigate", "url": url, "wait_ms": 50_000});
        let answer = self.call("interact", arguments).await;
        assert!(answer["result"].is_string(), "{answer}");
    }

    /// The number that a script gives.
    async fn run_for(&mut self, script: &str) -> f64 {
        let arguments = json!({"action": "execute_js", "script": script, "wait_ms": 20_000});
        self.call("interact", arguments).await["result"].as_f64().unwrap()
    }

    /// Takes a snapshot; how many bytes its text has as an agent gets it.
    #[expect(clippy::cast_precision_loss, reason = "a length")]
    async fn snapshot(&mut self, mut arguments: Value) -> f64 {
        arguments["what"] = "snapshot".into();
        arguments["wait_ms"] = 20_000.into();
        let answer = self.call("analyze", arguments).await;
        assert!(answer["result"].is_string(), "{answer}");
        answer["result"].to_string().len() as f64
    }

    /// Does something in a tab that must succeed, and waits for its result; how long that took.
    async fn act(&mut self, tool: &str, mut arguments: Value, tab: &Value) -> (Value, f64) {
        arguments["tab_id"] = tab.clone();
        arguments["wait_ms"] = 20_000.into();
        let start = now();
        let mut answer = self.call(tool, arguments).await;
        let took = millis_since(start);
        assert!(!answer["result"].is_null(), "{answer}");
        (answer["result"].take(), took)
    }

    /// How long clicks on a button by its ref take.
    async fn clicks(&mut self, tab: &Value, calls: usize) -> Vec<f64> {
        let script = "document.body.innerHTML = '<button>Nothing</button>'; true";
        self.act("interact", json!({"action": "execute_js", "script": script}), tab).await;
        let find = json!({"what": "find", "role": "button"});
        let (found, _) = self.act("analyze", find, tab).await;
        let target = found.as_str().unwrap().split(' ').next_back().unwrap();
        let mut took = Vec::new();
        for n in 0..calls + 20 {
            let click = json!({"action": "click", "target": target});
            let (_, ms) = self.act("interact", click, tab).await;
            if n >= 20 {
                took.push(ms);
            }
        }
        took
    }

    /// How long it takes to type 20 characters, and to fill ten fields at once.
    async fn entries(&mut self, tab: &Value, calls: usize) -> [Vec<f64>; 2] {
        let script = "document.body.innerHTML = Array.from({length: 10}, (_, n) => \
                      `<label>Field ${n} <input></label>`).join(''); true";
        self.act("interact", json!({"action": "execute_js", "script": script}), tab).await;
        let find = json!({"what": "find", "role": "textbox"});
        let (found, _) = self.act("analyze", find, tab).await;
        let lines = found.as_str().unwrap().lines();
        let refs: Vec<_> = lines.map(|line| line.split(' ').nth(3).unwrap()).collect();
        let mut took = [Vec::new(), Vec::new()];
        for n in 0..calls + 20 {
            let text = format!("{n:020}");
            let typing = json!({"action": "type", "target": refs[0], "text": text, "clear": true});
            let (_, typed) = self.act("interact", typing, tab).await;
            let field = |target| json!({"target": target, "value": format!("value {n}")});
            let fields: Vec<_> = refs.iter().map(field).collect();
            let filling = json!({"action": "fill_form", "fields": fields});
            let (_, filled) = self.act("interact", filling, tab).await;
            if n >= 20 {
                took[0].push(typed);
                took[1].push(filled);
            }
        }
        took
    }

    async fn end(mut self) {
        self.0.end_input();
        assert!(self.0.ended().await, "the bridge has failed");
    }
}

pub(crate) async fn measure_bridge(folder: &Path, starts: usize) -> Vec<MeasuredCall> {
    let (mut hello, mut tools, mut first, mut weight) = (vec![], vec![], vec![], vec![]);
    for n in 0..starts {
        let home = folder.join(format!("bridge-{n}"));
        let start = now();
        let mut client = Agent::start(&home);
        client.initialize().await;
        hello.push(millis_since(start));
        client.0.request("tools/list", json!({})).await;
        tools.push(millis_since(start));
        let start = now();
        client.call("configure", json!({"action": "health"})).await;
        first.push(millis_since(start));
        weight.push(resident(client.0.pid().unwrap()).unwrap());
        client.end().await;
        let stopped =
            Command::new(testkit::program()).arg("stop").env("TABWIRE_HOME", &home).output().await;
        assert!(stopped.unwrap().status.success());
    }
    vec![
        MeasuredCall { what: "bridge: start → initialize", values: hello, p50: 5.0, p99: None },
        MeasuredCall { what: "bridge: start → tools/list", values: tools, p50: 15.0, p99: None },
        MeasuredCall {
            what: "bridge: first answer, no daemon",
            values: first,
            p50: 40.0,
            p99: None,
        },
        MeasuredCall { what: BRIDGE_MEMORY, values: weight, p50: 9.0, p99: None },
    ]
}

pub(crate) async fn measure_browser(
    folder: &Path,
    chromium: &Path,
    calls: usize,
    in_window: bool,
) -> Vec<MeasuredCall> {
    let state = folder.join("state");
    let daemon = MeasuredServer::daemon(Path::new(testkit::program()), &state, &[]).unwrap();
    let (port, idle) = (daemon.port, daemon.resident().unwrap());
    let unpacked = folder.join("extension");
    let key = StateDirectory::open(&state).unwrap().auth().extension_key(EXTENSION_ID);
    tabwire::extension::unpack(&unpacked, port, &key).unwrap();
    let pages = TestPages::start().await;
    let profile = folder.join("profile");
    let launch = if in_window { Browser::launch_in_window } else { Browser::launch };
    let browser = launch(chromium, &profile, &unpacked, &pages.url("/")).unwrap();
    let mut client = Agent::start(&state);
    client.initialize().await;
    client.call("interact", json!({"action": "tab_list", "wait_ms": 30_000})).await;
    for _ in 0..20 {
        client.run("document.title").await;
    }
    let mut title = Vec::new();
    for _ in 0..calls {
        title.push(client.run("document.title").await);
    }
    let mut late = Vec::new();

    let inside = "new Promise(done => { const start = performance.now(); \
                  setTimeout(() => done(performance.now() - start), 250) })";
    for _ in 0..calls / 5 {
        let arguments = json!({"action": "execute_js", "script": inside, "wait_ms": 20_000});
        let start = now();
        let answer = client.call("interact", arguments).await;
        let took = millis_since(start);
        late.push(took - answer["result"].as_f64().unwrap());
    }
    let tabs = client.call("interact", json!({"action": "tab_list", "wait_ms": 30_000})).await;
    let front = client.clicks(&tabs["result"][0]["tab_id"], calls).await;
    let open = json!({"action": "tab_open", "url": pages.url("/"), "wait_ms": 30_000});
    let opened = client.call("interact", open).await;
    let behind = client.clicks(&opened["result"]["tab_id"], calls).await;
    let [typed, filled] = client.entries(&opened["result"]["tab_id"], calls).await;
    let snapshots = measure_snapshots(&mut client, &pages, calls).await;
    client.end().await;
    browser.end().await;
    daemon.kill().unwrap();
    let mut figures = vec![
        MeasuredCall {
            what: "document.title, over stdio",
            values: title,
            p50: 2.0,
            p99: Some(6.0),
        },
        MeasuredCall { what: "250 ms action: answers late by", values: late, p50: 5.0, p99: None },
        MeasuredCall { what: "click by ref, tab in front", values: front, p50: 15.0, p99: None },
        MeasuredCall {
            what: "click by ref, in the background",
            values: behind,
            p50: 15.0,
            p99: None,
        },
        MeasuredCall { what: "type 20 characters", values: typed, p50: 25.0, p99: None },
        MeasuredCall { what: "fill_form of 10 fields", values: filled, p50: 120.0, p99: None },
        MeasuredCall { what: IDLE_MEMORY, values: vec![idle], p50: 10.0, p99: None },
    ];
    figures.extend(snapshots);
    figures
}

/// Snapshots of large pages, and the lengths of snapshots.
async fn measure_snapshots(
    client: &mut Agent,
    pages: &TestPages,
    calls: usize,
) -> Vec<MeasuredCall> {
    let mut times = Vec::new();
    for (nodes, calls) in [(5_000, calls / 5), (50_000, calls / 20)] {
        client.go(&pages.url(&format!("/nodes?{nodes}"))).await;
        client.snapshot(json!({})).await;
        let mut values = Vec::new();
        for _ in 0..calls {
            let start = now();
            client.snapshot(json!({})).await;
            values.push(millis_since(start));
        }
        times.push(values);
    }
    client.go(&pages.url("/nodes?1000")).await;
    let elements = client.run_for("document.querySelectorAll('body *').length").await;
    let whole = client.snapshot(json!({"max_bytes": 65_536})).await;
    let short = client.snapshot(json!({"max_bytes": 65_536, "interactive_only": true})).await;
    let [fifty, five] = [times.pop().unwrap(), times.pop().unwrap()];
    vec![
        MeasuredCall { what: "snapshot: 5,000 nodes", values: five, p50: 60.0, p99: None },
        MeasuredCall { what: "snapshot: 50,000 nodes", values: fifty, p50: 600.0, p99: None },
        MeasuredCall {
            what: "snapshot: bytes an element",
            values: vec![whole / elements],
            p50: 40.0,
            p99: None,
        },
        MeasuredCall {
            what: "interactive_only: share of bytes",
            values: vec![short / whole],
            p50: 1.0 / 3.0,
            p99: None,
        },
    ]
}
