//! What leaves the machine: nothing without `--connect`, and with it nothing but the socket of the place.

use std::fs;

use serde_json::json;
use testkit::{ExtensionBuilder, ProgramOutput, ProgramSandbox, StdioClient, finish, program};
use tokio::process::Command;

use super::place_run::TwoMachines;

/// The addresses to which a run of the program connects, as the system saw them.
async fn connects(machines: &TwoMachines, arguments: &[&str]) -> (ProgramOutput, Vec<String>) {
    let log = machines.far.path().join("strace.log");
    let traced = ["-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o"];
    let mut command = machines.far.command_of("strace", &traced);
    command.arg(&log).arg(program()).args(arguments);
    // None of these may lead anywhere.
    for variable in [
        "TABWIRE_CONNECT",
        "TABWIRE_REACH",
        "TABWIRE_PLACE",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
    ] {
        command.env(variable, "http://192.0.2.1:9");
    }
    let output = finish(command).await;
    let log = fs::read_to_string(&log).expect("strace: `make` installs it");
    let addresses = log.lines().filter(|line| line.contains("sa_family="));
    (output, addresses.map(str::to_owned).collect())
}

/// Tells the inner test that it has no way out.
const WITHOUT_WAY: &str = "TABWIRE_TEST_WITHOUT_WAY";

/// Runs a command in a network namespace that has the loopback and no way out.
const NAMESPACE: [&str; 4] = ["-rn", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""];

fn is_inward(address: &str) -> bool {
    let inward = ["AF_UNIX", "inet_addr(\"127.0.0.1\")", "\"::1\"", "AF_NETLINK"];
    inward.iter().any(|known| address.contains(known))
}

#[tokio::test]
async fn without_connect_no_call_leaves_the_machine_whatever_is_in_the_environment() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let machines = TwoMachines::new();
    let _run = machines.by_shell().await;
    let call = ["call", "configure", "action=health", "--json"];
    // The daemon there would be traced, too, for as long as it runs.
    assert_eq!(machines.far.run(&call).await.code, Some(0));
    let (told, addresses) = connects(&machines, &call).await;
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(!told.stdout.contains("\"place\""), "it went to the other machine: {told:?}");
    assert!(machines.far.daemon().is_some(), "a daemon of this machine answered");
    assert!(!addresses.is_empty(), "nothing was traced");
    let outward: Vec<_> = addresses.iter().filter(|address| !is_inward(address)).collect();
    assert!(outward.is_empty(), "{outward:?}");
    assert!(!addresses.iter().any(|address| address.contains("box-")), "{addresses:?}");
    // With it, the call takes the place's socket and no other way.
    let (told, addresses) = connects(&machines, &[&call[..], &["--connect", "box"]].concat()).await;
    assert!(told.stdout.contains("\"place\""), "{told:?}");
    let socket = machines.socket().display().to_string();
    let others: Vec<_> = addresses.iter().filter(|address| !address.contains(&socket)).collect();
    assert!(others.is_empty(), "{others:?}");
}

/// A daemon, a browser, an agent's program and the command line at work.
async fn works(sandbox: &ProgramSandbox, program: &str) {
    let daemon = sandbox.serve_by(sandbox.command_of(program, &["serve", "--json"])).await;
    let browser = ExtensionBuilder::at(daemon.port, &sandbox.home()).connect().await;
    let _browser = browser.auto(|_| json!({"value": 7}));
    let script = json!({"action": "execute_js", "script": "1", "wait_ms": 20_000});
    let mut agent = StdioClient::spawn(sandbox.command_of(program, &["mcp"])).without_checks();
    let told = agent.call("interact", script).await;
    assert_eq!(told["status"], "complete", "{told}");
    for words in [
        &["call", "interact", "action=execute_js", "script=1", "--json"][..],
        &["status", "--json"],
        &["doctor", "--json"],
        &["update", "--json"],
    ] {
        let ran = finish(sandbox.command_of(program, words)).await;
        assert!(!ran.stdout.is_empty(), "{words:?}: {ran:?}");
    }
    drop(agent);
    daemon.stop().await;
}

/// Not a test of its own: the next one starts it where there is no way out.
#[tokio::test]
#[ignore = "the inner half of another test"]
async fn a_program_at_work_where_there_is_no_way_out() {
    if std::env::var_os(WITHOUT_WAY).is_none() {
        return;
    }
    works(&ProgramSandbox::new(), program()).await;
    #[cfg(feature = "fleet")]
    works(&ProgramSandbox::new(), env!("CARGO_BIN_EXE_tabwire-fleet")).await;
}

#[tokio::test]
async fn a_daemon_with_a_browser_and_its_clients_tries_no_way_out_and_needs_none() {
    let can = Command::new("unshare").args(NAMESPACE).arg("true").output().await;
    if !can.is_ok_and(|can| can.status.success()) {
        eprintln!(
            "skipped: no `unshare -rn` with `ip` here, so there is no namespace without a way out"
        );
        return;
    }
    let sandbox = ProgramSandbox::new();
    let log = sandbox.path().join("strace.log");
    let mut command = Command::new("unshare");
    command.args(NAMESPACE);
    command
        .args(["strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"])
        .arg(&log);
    command.arg(std::env::current_exe().unwrap());
    let inner = "reach::outward::a_program_at_work_where_there_is_no_way_out";
    command.args(["--exact", inner, "--ignored"]).env(WITHOUT_WAY, "1").env_remove("NEXTEST");
    let ran = command.output().await.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && said.contains("1 passed"),
        "{said} {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let log = fs::read_to_string(&log).unwrap();
    let addresses: Vec<_> = log.lines().filter(|line| line.contains("sa_family=")).collect();
    assert!(addresses.iter().any(|address| address.contains("127.0.0.1")), "nothing was traced");
    let outward: Vec<_> = addresses.iter().filter(|address| !is_inward(address)).collect();
    assert!(outward.is_empty(), "{outward:?}");
}
