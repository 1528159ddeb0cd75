//! `places init` of a cluster that is killed between its files: nothing of it is used, and the next one says how to
//! go on.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use testkit::{ProgramSandbox, finish};

use super::done;
use super::nats::nats_program;
use crate::cli::places::fleet;

const INIT: [&str; 11] = [
    "places",
    "init",
    "acme",
    "--server",
    "nats1.acme.example",
    "--server",
    "nats2.acme.example",
    "--server",
    "nats3.acme.example",
    "--ca",
    "ca.pem",
];

/// The files in the order in which they are written; without the last one the folder counts as none.
const FILES: [&str; 6] =
    ["nats-1.conf", "nats-2.conf", "nats-3.conf", "ca.pem", "users.conf", "tenant.json"];

/// How often it is tried to kill the program between two files.
const TRIES: usize = 200;

fn files_in(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| FILES.contains(&name.as_str())).collect()
}

/// Kills a set-up once this many of its files are there. `None`: it was quicker.
async fn killed_after(place: &ProgramSandbox, count: usize) -> Option<PathBuf> {
    let dir = place.path().join("acme");
    let mut run = fleet(place, &INIT);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while files_in(&dir).len() < count && run.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
    run.kill().await.unwrap();
    let made = files_in(&dir).len();
    (made >= count && made < FILES.len()).then_some(dir)
}

/// A place whose set-up was killed once this many of its files were there.
async fn half_made(count: usize) -> (ProgramSandbox, PathBuf) {
    for _ in 0..TRIES {
        let place = ProgramSandbox::new();
        fs::write(place.path().join("ca.pem"), "-----BEGIN CERTIFICATE-----\n").unwrap();
        if let Some(dir) = killed_after(&place, count).await {
            return (place, dir);
        }
    }
    panic!("the set-up is too quick to be killed after {count} files");
}

/// The password that the servers of a cluster share, as the file of one has it.
fn password(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("password: \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_s_set_up_that_is_killed_half_way_names_its_files_and_nothing_of_it_is_used() {
    for count in 1..FILES.len() {
        let (place, dir) = half_made(count).await;
        let made = files_in(&dir);
        let add = ["places", "add", "qa", "--dir", "acme"];
        let told = finish(fleet(&place, &add)).await;
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.stderr.contains("is no folder of places") && told.stdout.is_empty());
        if let Some(server) = nats_program().filter(|_| !made.contains("users.conf")) {
            let check = ["-t", "-c", "nats-1.conf"];
            let checked = std::process::Command::new(server).args(check).current_dir(&dir).output();
            assert!(!checked.unwrap().status.success(), "a server starts without its users");
        }
        let told = finish(fleet(&place, &INIT)).await;
        assert_eq!(told.code, Some(1), "{made:?}: {told:?}");
        let of_servers: Vec<_> = made.iter().filter(|name| name.ends_with(".conf")).collect();
        let of_servers: Vec<_> =
            of_servers.into_iter().filter(|name| *name != "users.conf").cloned().collect();
        let named = format!("this command: {}. If", of_servers.join(", "));
        assert!(told.stderr.contains(&named), "{named}: {told:?}");
        assert_eq!(files_in(&dir), made, "all stays as it was");
        for name in &of_servers {
            fs::remove_file(dir.join(name)).unwrap();
        }
        done(&place, &INIT).await;
        let passwords: BTreeSet<_> =
            FILES[..3].iter().map(|name| password(&dir.join(name))).collect();
        assert_eq!(passwords.len(), 1, "nothing of the first try is left");
        assert!(done(&place, &add).await.starts_with("tabwire-join:"));
    }
}
