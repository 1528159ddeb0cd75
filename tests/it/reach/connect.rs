//! `--connect`: what an agent on another machine is told, whatever breaks on the way.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, ServedDaemon, StdioClient, Stopwatch, body,
    passes, signal, soon, until,
};

use super::place_run::{PlaceRun, TwoMachines};
use super::{LONGEST, in_time_at, long_text, message, post_to};

/// The machine with the browser, where all runs, and its browser.
struct Browser {
    daemon: ServedDaemon,
    extension: FakeExtension,
}

impl Browser {
    /// Started before a place is reached.
    async fn at(machines: &TwoMachines) -> Self {
        machines.add_owner();
        let daemon = machines.home.serve(&[]).await;
        let shim = ExtensionBuilder::at(daemon.port, &machines.home.home()).sharing(&[7]);
        Self { extension: shim.connect().await, daemon }
    }
}

/// `tabwire mcp --connect` at the far end.
fn agent(machines: &TwoMachines) -> StdioClient {
    agent_at(machines, "box")
}

fn agent_at(machines: &TwoMachines, place: &str) -> StdioClient {
    StdioClient::spawn(machines.far.command(&["mcp", "--connect", place, "--client", "agent"]))
}

fn script(text: &str) -> Value {
    json!({"action": "execute_js", "script": text, "tab_id": 7, "wait_ms": 20_000})
}

/// The error of a call, and whether it may have run.
fn error(result: &Value) -> (String, bool) {
    let told = body(result);
    assert_eq!(result["isError"], true, "{told}");
    assert!(told["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{told}");
    let may_have_run = told["may_have_run"].as_bool().unwrap_or_else(|| panic!("{told}"));
    (told["error"].as_str().unwrap_or_default().to_owned(), may_have_run)
}

#[tokio::test]
async fn an_agent_on_another_machine_uses_the_browser_and_its_machine_has_no_daemon_and_no_secret()
{
    let machines = TwoMachines::new();
    let mut browser = Browser::at(&machines).await;
    let _run = machines.by_shell().await;
    let mut agent = agent(&machines);
    agent.initialize("far").await;
    agent.ask(&"a".into(), "interact", script("1 + 1")).await;
    browser.extension.run(&json!({"value": 2})).await;
    let answer = agent.answer(&"a".into()).await;
    assert_eq!(body(&answer["result"])["status"], "complete", "{answer}");
    let called = ["call", "configure", "action=clients", "--connect", "box", "--json"];
    let told = machines.far.run(&called).await;
    assert!(told.code == Some(0) && told.stdout.contains("agent"), "{told:?}");
    let left = std::fs::read_dir(machines.far.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["reach"], "neither a daemon was started there, nor a secret made");
}

#[tokio::test]
async fn commands_that_are_sent_at_once_keep_the_order_of_their_lines_over_the_line() {
    let machines = TwoMachines::new();
    machines.add_owner();
    let daemon = machines.home.serve(&["--limit", "queued=100"]).await;
    let shim = ExtensionBuilder::at(daemon.port, &machines.home.home()).sharing(&[7]);
    let mut extension = shim.connect().await;
    let _run = machines.by_shell().await;
    let mut agent = agent(&machines);
    let scripts: Vec<_> = (0..64).map(|n| format!("script {n}")).collect();
    for (n, text) in scripts.iter().enumerate() {
        // Some wait for their results, and hold up none behind them.
        let arguments = json!({
            "action": "execute_js", "script": text, "tab_id": 7, "wait_ms": if n % 3 == 0 { 20_000 } else { 0 },
        });
        agent.ask(&json!(n), "interact", arguments).await;
    }
    let mut ran = Vec::new();
    for _ in &scripts {
        ran.push(extension.run(&json!({"value": 1})).await.script().to_owned());
    }
    assert_eq!(ran, scripts);
    for n in 0..scripts.len() {
        let answer = agent.answer(&json!(n)).await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[tokio::test]
async fn a_call_that_names_the_one_before_it_is_taken_after_that_one_whichever_comes_first() {
    let machines = TwoMachines::new();
    let mut browser = Browser::at(&machines).await;
    let _run = machines.by_shell().await;
    let by = in_time_at(&machines.socket()).await;
    let ask = async |key: &str, after: Option<&str>| {
        let after = after.map(|key| format!("X-Tabwire-After: {key}\r\n")).unwrap_or_default();
        let lines = format!("{by}X-Tabwire-Idempotency-Key: {key}\r\n{after}");
        let script = json!({"action": "execute_js", "script": key, "tab_id": 7, "wait_ms": 0});
        let call = json!({"name": "interact", "arguments": script});
        let answer = post_to(&machines.socket(), &lines, &message("tools/call", &call)).await;
        assert_eq!(answer.json()["result"]["isError"], false, "{answer:?}");
    };
    // The later ones come first.
    let earlier = async {
        in_time_at(&machines.socket()).await;
        ask("a", None).await;
    };
    tokio::join!(ask("c", Some("b")), ask("b", Some("a")), earlier);
    for key in ["a", "b", "c"] {
        assert_eq!(browser.extension.run(&json!({"value": 1})).await.script(), key);
    }
}

#[tokio::test]
async fn a_place_that_is_not_reached_is_told_at_once_with_the_next_step() {
    let machines = TwoMachines::new();
    let told = |place: &str| {
        let mut agent = agent_at(&machines, place);
        async move {
            let result = agent.call_raw("observe", json!({"what": "tabs"})).await;
            let (code, may_have_run) = error(&result);
            assert_eq!((&*code, may_have_run), ("place_offline", false), "{result}");
            body(&result).to_string()
        }
    };
    assert!(told("box").await.contains("there is no socket"));
    let folder = machines.far.path().join("s");
    std::fs::create_dir(&folder).unwrap();
    let named = |name: &str| format!("unix:{}", folder.join(name).display());
    drop(std::os::unix::net::UnixListener::bind(folder.join("dead")).unwrap());
    assert!(told(&named("dead")).await.contains("nobody answers"));
    std::fs::write(folder.join("file"), "").unwrap();
    assert!(told(&named("file")).await.contains("is no socket"));
    std::os::unix::fs::symlink(folder.join("dead"), folder.join("link")).unwrap();
    assert!(told(&named("link")).await.contains("is a link"));
    let wrong = machines.far.run(&["mcp", "--connect", "unix:relative"]).await;
    assert!(wrong.code == Some(2) && wrong.stderr.contains("unix:/PATH"), "{wrong:?}");
    let both = machines.far.run(&["mcp", "--connect", "box", "--owner", "ci"]).await;
    assert!(both.code == Some(2) && both.stderr.contains("cannot be used with"), "{both:?}");
    let called = ["call", "observe", "what=tabs", "--connect", "box"];
    let called = machines.far.run(&called).await;
    assert!(called.code == Some(1) && called.stderr.contains("reach"), "{called:?}");
}

#[tokio::test]
async fn offline_is_said_within_five_seconds_when_either_end_stands_still_and_it_goes_on_by_itself()
{
    for is_far in [true, false] {
        let machines = TwoMachines::new();
        let mut browser = Browser::at(&machines).await;
        let run = machines.by_shell().await;
        let mut agent = agent(&machines);
        let reads = json!({"what": "pending_commands"});
        agent.call("observe", reads.clone()).await;
        let stopped = if is_far { machines.carrier().unwrap() } else { run.pid() };
        let watch = Stopwatch::start();
        signal(stopped, Signal::STOP);
        let offline = async {
            loop {
                let mut other = self::agent(&machines);
                let result = other.call_raw("observe", reads.clone()).await;
                if result["isError"] == true {
                    return error(&result);
                }
            }
        };
        let (code, may_have_run) = soon("offline", offline).await;
        assert_eq!((&*code, may_have_run), ("place_offline", false), "{is_far}");
        assert!(watch.is_under(5_000), "{is_far}: {} ms", watch.millis());
        signal(stopped, Signal::CONT);
        let again = async || agent.call_raw("observe", reads.clone()).await["isError"] != true;
        soon("the line", until(again)).await;
        agent.ask(&"a".into(), "interact", script("1")).await;
        browser.extension.run(&json!({"value": 1})).await;
        assert_eq!(body(&agent.answer(&"a".into()).await["result"])["status"], "complete");
    }
}

#[tokio::test]
async fn a_command_outlives_the_line_and_its_result_comes_by_the_next_one() {
    let machines = TwoMachines::new();
    let mut browser = Browser::at(&machines).await;
    let mut run = machines.by_shell().await;
    let mut agent = agent(&machines);
    agent.ask(&"a".into(), "interact", script("work()")).await;
    let command = browser.extension.command().await;
    browser.extension.claim(&command).await;
    signal(machines.carrier().unwrap(), Signal::KILL);
    run.until("connected").await;
    browser.extension.complete(&command, &json!({"value": 7})).await;
    let told = body(&agent.answer(&"a".into()).await["result"]);
    assert_eq!(
        (&told["status"], &told["correlation_id"]),
        (&json!("complete"), &json!(command.id))
    );
    browser.extension.expect_nothing().await;
}

#[tokio::test]
async fn of_a_lost_call_that_cannot_be_sent_twice_the_agent_is_told_that_it_may_have_run() {
    let machines = TwoMachines::new();
    let browser = Browser::at(&machines).await;
    let mut run = machines.by_shell().await;
    let mut agent = agent(&machines);
    agent.call("observe", json!({"what": "tabs"})).await;
    let calls = async || machines.get("/home").await.json()["calls"].as_u64().unwrap();
    let before = calls().await;
    signal(browser.daemon.pid(), Signal::STOP);
    agent.ask(&"a".into(), "configure", json!({"action": "dialogs", "dialogs": "hold"})).await;
    // The call is on its way when the line breaks.
    soon("the call", until(async || calls().await > before)).await;
    signal(machines.carrier().unwrap(), Signal::KILL);
    let told = agent.answer(&"a".into()).await;
    assert_eq!(error(&told["result"]), ("place_lost".to_owned(), true), "{told}");
    signal(browser.daemon.pid(), Signal::CONT);
    run.until("connected").await;
}

#[tokio::test]
async fn a_call_that_lay_before_a_stopped_daemon_for_longer_than_ten_seconds_does_not_run() {
    let machines = TwoMachines::new();
    let mut browser = Browser::at(&machines).await;
    let _run = machines.by_shell().await;
    let mut agent = agent(&machines);
    agent.call("observe", json!({"what": "tabs"})).await;
    signal(browser.daemon.pid(), Signal::STOP);
    for n in 0..4 {
        agent.ask(&json!(n), "interact", script("late()")).await;
    }
    passes(Duration::from_secs(11)).await;
    signal(browser.daemon.pid(), Signal::CONT);
    for n in 0..4 {
        let told = agent.answer(&json!(n)).await;
        let (code, may_have_run) = error(&told["result"]);
        // On a busy machine the line may count as broken meanwhile: then the call was sent twice.
        let is_told = (&*code, may_have_run) == ("too_late", false) || code == "place_lost";
        assert!(is_told, "{told}");
    }
    browser.extension.expect_nothing().await;
    // The next one is in time.
    agent.ask(&"a".into(), "interact", script("1")).await;
    browser.extension.run(&json!({"value": 1})).await;
    assert_eq!(body(&agent.answer(&"a".into()).await["result"])["status"], "complete");
}

#[tokio::test]
async fn an_agent_whose_machine_was_disconnected_is_told_so_and_goes_on_once_it_is_let_in() {
    let machines = TwoMachines::new();
    let _browser = Browser::at(&machines).await;
    let _run = machines.by_shell().await;
    let mut agent = agent(&machines);
    let tabs = json!({"what": "tabs"});
    agent.call("observe", tabs.clone()).await;
    assert_eq!(machines.home.run(&["owner", "suspend", "box"]).await.code, Some(0));
    let told = agent.call_raw("observe", tabs.clone()).await;
    assert_eq!(error(&told), ("not_allowed".to_owned(), false), "{told}");
    assert!(body(&told)["hint"].as_str().unwrap().contains("popup"), "{told}");
    assert_eq!(machines.home.run(&["owner", "allow", "box", "--unattended"]).await.code, Some(0));
    agent.call("observe", tabs).await;
}

#[tokio::test]
async fn an_agent_whose_owner_was_removed_is_told_what_to_ask_the_person() {
    let machines = TwoMachines::new();
    let _browser = Browser::at(&machines).await;
    let _run = machines.by_shell().await;
    let mut agent = agent(&machines);
    agent.call("observe", json!({"what": "tabs"})).await;
    assert_eq!(machines.home.run(&["owner", "remove", "box"]).await.code, Some(0));
    let told = agent.call_raw("observe", json!({"what": "tabs"})).await;
    assert_eq!(error(&told), ("not_allowed".to_owned(), false), "{told}");
    assert!(body(&told)["hint"].as_str().unwrap().contains("tabwire reach"), "{told}");
    // The same name is another owner from now on: the run speaks for the former one only.
    assert_eq!(machines.home.run(&["owner", "add", "box", "--unattended"]).await.code, Some(0));
    let told = agent.call_raw("observe", json!({"what": "tabs"})).await;
    assert_eq!(error(&told), ("not_allowed".to_owned(), false), "{told}");
}

#[tokio::test]
async fn a_bridge_of_a_version_that_does_not_fit_is_told_which_end_to_update() {
    let machines = TwoMachines::new();
    let daemon = machines.home.serve(&[]).await;
    let _run = machines.by_shell().await;
    let by = in_time_at(&machines.socket()).await;
    let ask = async |version: &str| {
        let lines = format!("{by}X-Tabwire-Bridge: {version}\r\n");
        post_to(&machines.socket(), &lines, &message("ping", &json!({}))).await
    };
    let same = env!("CARGO_PKG_VERSION");
    assert_eq!(ask(same).await.status, 200);
    for (other, update) in [("99.0.0", "the machine with the browser"), ("0.0.1", "this machine")] {
        let refused = ask(other).await;
        let told = refused.json();
        assert_eq!((refused.status, &told["error"]), (409, &json!("version_mismatch")), "{told}");
        let message = told["message"].as_str().unwrap();
        assert!(message.contains(other) && message.contains(same), "{told}");
        assert!(told["hint"].as_str().unwrap().contains(update), "{told}");
        assert_eq!(told["may_have_run"], false, "{told}");
    }
    assert_eq!(machines.home.daemon().unwrap().pid, daemon.pid(), "the daemon was left alone");
}

#[tokio::test]
async fn a_container_with_the_folder_reaches_the_browser_by_its_socket() {
    let machines = TwoMachines::new();
    let mut browser = Browser::at(&machines).await;
    let folder = machines.far.path().join("shared");
    let socket = folder.join("tabwire.sock");
    let by_folder = machines.reach(&["--socket", folder.to_str().unwrap()]);
    let mut run = PlaceRun::begin(by_folder);
    run.until("listening").await;
    let mut agent = agent_at(&machines, &format!("unix:{}", socket.display()));
    agent.ask(&"a".into(), "interact", script("1")).await;
    browser.extension.run(&json!({"value": 1})).await;
    assert_eq!(body(&agent.answer(&"a".into()).await["result"])["status"], "complete");
    for path in ["/api/status", "/ws", "/mcp/../api/asks"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let refused = super::ask_socket(&socket, &request).await;
        assert_eq!((refused.status, &refused.json()["error"]), (404, &json!("not_carried")));
    }
    signal(run.pid(), Signal::TERM);
    assert_eq!(run.end().await.code, Some(0));
    assert!(!socket.exists());
    let told = agent.call_raw("observe", json!({"what": "tabs"})).await;
    assert_eq!(error(&told), ("place_offline".to_owned(), false), "{told}");
}

/// What `tabwire doctor --connect box` says: its exit code, the first broken hop, and the remedy.
async fn doctor(machines: &TwoMachines) -> (Option<i32>, Value, String) {
    let told = machines.far.run(&["doctor", "--connect", "box", "--json"]).await;
    let report: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    assert_eq!(report["hops"].as_array().unwrap().len(), 5, "{report}");
    (told.code, report["first_broken"].clone(), report["do"].to_string())
}

#[tokio::test]
async fn doctor_names_the_first_broken_hop_to_another_machine_and_its_remedy() {
    let machines = TwoMachines::new();
    let (code, broken, remedy) = doctor(&machines).await;
    assert_eq!((code, &broken), (Some(1), &json!("socket")), "{remedy}");
    assert!(remedy.contains("tabwire reach box"), "{remedy}");
    let run = machines.by_shell().await;
    in_time_at(&machines.socket()).await;
    let (_, broken, remedy) = doctor(&machines).await;
    assert_eq!(broken, "far extension", "{remedy}");
    let port = machines.home.daemon().unwrap().port;
    let extension = ExtensionBuilder::at(port, &machines.home.home()).connect().await;
    let (code, broken, _) = doctor(&machines).await;
    assert_eq!((code, broken), (Some(0), Value::Null));
    signal(run.pid(), Signal::STOP);
    let (_, broken, remedy) = doctor(&machines).await;
    signal(run.pid(), Signal::CONT);
    assert!(["reach", "carry", "socket"].contains(&broken.as_str().unwrap()), "{broken}: {remedy}");
    let carried = async || doctor(&machines).await.0 == Some(0);
    soon("the line", until(carried)).await;
    signal(machines.carrier().unwrap(), Signal::STOP);
    let (_, broken, _) = doctor(&machines).await;
    assert_eq!(broken, "carry");
    signal(machines.carrier().unwrap(), Signal::CONT);
    soon("the line", until(carried)).await;
    assert_eq!(machines.home.run(&["owner", "remove", "box"]).await.code, Some(0));
    let (_, broken, remedy) = doctor(&machines).await;
    assert!(broken == "reach" && remedy.contains("ask the person"), "{broken}: {remedy}");
    drop(extension);
}

#[tokio::test]
async fn a_daemon_that_the_person_has_ended_is_started_by_the_next_call_and_by_nothing_else() {
    let machines = TwoMachines::new();
    let _run = machines.by_shell().await;
    let mut agent = agent(&machines);
    agent.initialize("far").await;
    agent.call("observe", json!({"what": "tabs"})).await;
    assert_eq!(machines.home.run(&["stop"]).await.code, Some(0));
    // Longer than the streams of bridge and reach rest before they look again.
    passes(Duration::from_secs(7)).await;
    assert_eq!(machines.home.daemon(), None);
    let again =
        async || agent.call_raw("observe", json!({"what": "tabs"})).await["isError"] != true;
    soon("an answer", until(again)).await;
    assert!(machines.home.daemon().is_some());
}

#[tokio::test]
async fn an_agent_on_another_machine_is_told_its_place_and_one_at_home_is_not() {
    let machines = TwoMachines::new();
    let _browser = Browser::at(&machines).await;
    let _run = machines.by_shell().await;
    let (health, browsers) = (json!({"action": "health"}), json!({"what": "browsers"}));
    let mut far = agent(&machines);
    assert_eq!(far.call("configure", health.clone()).await["place"], "box");
    assert_eq!(far.call("observe", browsers.clone()).await["place"], "box");
    let mut near = StdioClient::start(&machines.home);
    assert_eq!(near.call("configure", health).await["place"], Value::Null);
    assert_eq!(near.call("observe", browsers).await["place"], Value::Null);
}

#[tokio::test]
async fn the_entry_for_a_client_of_another_machine_names_the_place_and_no_daemon() {
    let machines = TwoMachines::new();
    let told = machines.far.run(&["mcp-config", "--connect", "box"]).await;
    let entry: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    let words = entry["mcpServers"]["tabwire"]["args"].to_string();
    assert!(words.contains(r#""--connect","box""#), "{words}");
    let both = machines.far.run(&["mcp-config", "--connect", "box", "--owner", "ci"]).await;
    assert!(both.code == Some(2) && both.stderr.contains("cannot be used with"), "{both:?}");
    let scoped = ["install", "--client", "cursor", "--connect", "box", "--scope", "own"];
    let scoped = machines.far.run(&scoped).await;
    assert!(scoped.code == Some(2) && scoped.stderr.contains("cannot be used with"), "{scoped:?}");
}

#[tokio::test]
async fn install_on_the_machine_of_an_agent_adds_the_client_and_neither_extension_nor_key() {
    let machines = TwoMachines::new();
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".cursor")).unwrap();
    let install = async |words: &[&str]| {
        let mut command = machines.far.command(&[&["install"], words].concat());
        command.env("HOME", home.path());
        for variable in ["TABWIRE_HOME", "TABWIRE_PORT", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        testkit::finish(command).await
    };
    let told = install(&["--client", "cursor", "--connect", "box"]).await;
    assert_eq!(told.code, Some(0), "{told:?}");
    let entry = std::fs::read_to_string(home.path().join(".cursor/mcp.json")).unwrap();
    assert!(entry.contains(r#""--connect", "box""#), "{entry}");
    let state = home.path().join(".local/state/tabwire");
    let left: Vec<_> = std::fs::read_dir(&state).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["installed.json"]);
    let nobody = install(&["--connect", "box"]).await;
    assert!(nobody.code == Some(1) && nobody.stderr.contains("--client"), "{nobody:?}");
}

/// How much memory of its own a process on the way may have after a long result, in KiB. A build without
/// optimisations has more than the published program.
const OWN_MEMORY_MAX: u64 = 40 * 1024;

/// The memory that a process has of its own, in KiB: the pages of a program with symbols are of no account.
pub(super) fn own_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[tokio::test]
async fn a_result_of_the_greatest_length_comes_whole_and_takes_bounded_memory_on_the_way() {
    let machines = TwoMachines::new();
    let mut browser = Browser::at(&machines).await;
    let run = machines.by_shell().await;
    let text = long_text(LONGEST);
    let called = ["call", "execute_js", "script=long()", "tab_id=7", "--connect", "box"];
    let mut call = machines.far.command(&called);
    // It is read in hundreds of parts.
    let called = tokio::time::timeout(Duration::from_secs(50), call.output());
    let result = json!({"value": text});
    let running = async {
        let extension = &mut browser.extension;
        // A program of the command line holds the tab, of which the browser is told first.
        let command = loop {
            let frame = extension.next().await;
            if frame["type"] == "command" {
                break DeliveredCommand::of(&frame);
            }
        };
        extension.claim(&command).await;
        extension.complete(&command, &result).await;
    };
    let (told, ()) = tokio::join!(called, running);
    let told = told.expect("the whole result").unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let printed = String::from_utf8(told.stdout).unwrap();
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert!(printed["value"] == text, "another text");
    for (name, process) in [("reach", run.pid()), ("carry", machines.carrier().unwrap())] {
        let memory = own_memory(process);
        assert!(memory <= OWN_MEMORY_MAX, "{name}: {memory} KiB");
    }
}
