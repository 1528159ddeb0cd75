//! The collector that operators have: a real Prometheus reads the metrics of a real daemon, and
//! understands the files in `docs/operations`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::process::{Child, Command};

use testkit::{ExtensionBuilder, McpClient, TestDaemon, free_port, until};

/// Where `make collectors` unpacks it, if the system has none.
fn program(name: &str) -> PathBuf {
    let unpacked =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/prometheus/usr/bin").join(name);
    if unpacked.is_file() { unpacked } else { name.into() }
}

fn documented(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// A Prometheus with the settings of the documentation, for this daemon.
struct Collector {
    folder: tempfile::TempDir,
    port: u16,
    _process: Child,
}

impl Collector {
    fn start(daemon: &TestDaemon) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = documented("prometheus.yml")
            .replace("127.0.0.1:7890", &format!("127.0.0.1:{}", daemon.port()))
            .replace("scrape_interval: 15s", "scrape_interval: 1s");
        assert!(!settings.contains("7890"), "{settings}");
        std::fs::write(folder.path().join("prometheus.yml"), settings).unwrap();
        std::fs::write(folder.path().join("alerts.yml"), documented("alerts.yml")).unwrap();
        let token = daemon.home().auth().metrics_token();
        // As the shell writes it: with the end of a line.
        std::fs::write(folder.path().join("tabwire.token"), format!("{token}\n")).unwrap();
        let port = free_port();
        let process = Command::new(program("prometheus"))
            .arg("--config.file=prometheus.yml")
            .arg("--storage.tsdb.path=data")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the test needs Prometheus: `make collectors` unpacks it on Debian");
        Self { folder, port, _process: process }
    }

    /// The answer to a request; `None`: it does not listen yet, or is not ready.
    async fn ask(&self, path: &str) -> Option<Bytes> {
        let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
        let address = format!("http://127.0.0.1:{}{path}", self.port).parse().unwrap();
        let answer = client.get(address).await.ok()?;
        let is_well = answer.status().is_success();
        let body = answer.into_body().collect().await.ok()?.to_bytes();
        is_well.then_some(body)
    }

    /// The series of an expression.
    async fn query(&self, expression: &str) -> Vec<Value> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = self.ask(&format!("/api/v1/query?query={encoded}")).await;
        let answer = answer.unwrap_or_else(|| panic!("{expression}: refused"));
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        answer["data"]["result"].as_array().unwrap().clone()
    }

    async fn number(&self, expression: &str) -> Option<f64> {
        let series = self.query(expression).await;
        series.first()?["value"][1].as_str()?.parse().ok()
    }
}

/// The expressions of the panels of the dashboard, with an interval in the place of Grafana's.
fn panels() -> Vec<String> {
    let board: Value = serde_json::from_str(&documented("grafana.json")).unwrap();
    let panels = board["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap().clone());
    let named = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    named.map(|expression| expression.replace("$__rate_interval", "1m")).collect()
}

#[tokio::test]
async fn prometheus_reads_the_metrics_and_understands_the_documented_files() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let collector = Collector::start(&daemon);

    let checked = Command::new(program("promtool"))
        .args(["check", "config", "prometheus.yml"])
        .current_dir(collector.folder.path())
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success(), "{said}{}", String::from_utf8_lossy(&checked.stderr));
    assert!(said.contains("6 rules found"), "{said}");

    let is_ready = async || collector.ask("/-/ready").await.is_some();
    long("the collector", until(is_ready)).await;
    let is_up = async || collector.number("up").await == Some(1.0);
    long("the first scrape", until(is_up)).await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    for tab in [7, 8, 7] {
        let id = client.script("1", tab).await;
        let command = extension.command().await;
        extension.claim(&command).await;
        let result = serde_json::json!({"success": true, "value": 1, "type": "number"});
        extension.report(&command, "complete", serde_json::json!({"result": result})).await;
        client.outcome(&id).await;
    }
    let all = "sum(tabwire_commands_total)";
    let is_counted = async || collector.number(all).await == Some(3.0);
    long("the commands", until(is_counted)).await;
    // A rate needs two samples with the commands in them.
    let has_rate =
        async || !collector.query("rate(tabwire_command_time_seconds_count[1m])").await.is_empty();
    long("a rate", until(has_rate)).await;
    for expression in panels() {
        let series = collector.query(&expression).await;
        // Nothing was rejected, and no browser has come back: no panel has to show that.
        let may_be_empty = expression.contains("rejected") || expression.contains("returning");
        assert!(!series.is_empty() || may_be_empty, "{expression}");
    }
    daemon.stop().await;
    let is_down = async || !collector.query("up{job=\"tabwire\"} == 0").await.is_empty();
    long("the alert's expression", until(is_down)).await;
}

/// A program of others that scrapes once a second.
async fn long(what: &str, future: impl Future<Output = ()>) {
    let waited = tokio::time::timeout(std::time::Duration::from_secs(40), future).await;
    assert!(waited.is_ok(), "{what}: did not happen");
}
