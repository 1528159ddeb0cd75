//! What leaves the machine: nothing without `--connect`, and with it nothing but the socket of the place.

use std::fs;

use testkit::{ProgramOutput, finish, program};

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
