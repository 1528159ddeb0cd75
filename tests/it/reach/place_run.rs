//! `tabwire reach` and its far end as processes, in state directories of their own.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;
use tabwire::protocol::{OwnerKind, TabScope, Timestamp};
use testkit::{ProgramOutput, ProgramSandbox, RowReport, finish, program, signal, soon};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::{FarAnswer, ask_socket, place};
use crate::connection::socket::sent_by_another_user;

/// The machine with the browser, and the one with the agent: two state directories.
pub(crate) struct TwoMachines {
    pub(crate) home: ProgramSandbox,
    pub(crate) far: ProgramSandbox,
}

/// A `tabwire reach` that runs.
pub(crate) struct PlaceRun {
    child: Child,
    states: Lines<BufReader<ChildStdout>>,
}

impl TwoMachines {
    pub(crate) fn new() -> Self {
        Self { home: ProgramSandbox::new(), far: ProgramSandbox::new() }
    }

    /// Adds the place's owner, who sees the tabs that the person shares: before the daemon starts, else the browser
    /// is told that a person has to confirm it.
    pub(crate) fn add_owner(&self) {
        let home = self.home.home();
        let since = Timestamp::from_unix_micros(0);
        let owner = home.owners().add("box", None, OwnerKind::Far, since).unwrap().owner();
        home.scopes().choose(&owner, TabScope::Shared).unwrap();
    }

    /// What a shell at the far end runs.
    pub(crate) fn carry(&self) -> String {
        let (state, program) = (self.far.path().display(), program());
        format!("TABWIRE_HOME={state} exec {program} carry box --near")
    }

    /// The socket at the far end.
    pub(crate) fn socket(&self) -> PathBuf {
        tabwire::reach::far_socket(self.far.path(), &place())
    }

    /// `tabwire reach` with these arguments, which says each change as JSON.
    pub(crate) fn reach(&self, arguments: &[&str]) -> Command {
        let first = ["reach", "--json", "--unattended", "--near", "--name", "box"];
        self.home.command(&[&first, arguments].concat())
    }

    /// Reaches the far end by a shell.
    pub(crate) async fn by_shell(&self) -> PlaceRun {
        PlaceRun::start(self.reach(&["--", "sh", "-c", &self.carry()])).await
    }

    /// The same by a shell that runs this.
    async fn fails_with(&self, script: &str) -> String {
        let told = finish(self.reach(&["--", "sh", "-c", script])).await;
        assert_eq!(told.code, Some(1), "{told:?}");
        told.stderr
    }

    /// The process of the far end.
    pub(crate) fn carrier(&self) -> Option<u32> {
        self.far.processes().into_iter().find(|process| {
            let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains("\0carry\0")
        })
    }

    /// Asks the socket at the far end.
    pub(super) async fn get(&self, path: &str) -> FarAnswer {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        ask_socket(&self.socket(), &request).await
    }
}

impl PlaceRun {
    /// Starts it.
    pub(crate) fn begin(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).spawn().unwrap();
        let states = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, states }
    }

    /// Starts it, and waits until the far end has answered.
    pub(crate) async fn start(command: Command) -> Self {
        let mut run = Self::begin(command);
        if run.try_until("connected").await.is_none() {
            let mut stderr = String::new();
            run.child.stderr.take().unwrap().read_to_string(&mut stderr).await.unwrap();
            panic!("it has ended: {stderr}");
        }
        run
    }

    /// The same; `None`: it has ended before.
    pub(crate) async fn try_start(command: Command) -> Option<Self> {
        let mut run = Self::begin(command);
        run.try_until("connected").await.map(|_| run)
    }

    /// Waits until it says that it is so.
    pub(crate) async fn until(&mut self, state: &str) -> Value {
        self.try_until(state).await.expect("it has ended")
    }

    async fn try_until(&mut self, state: &str) -> Option<Value> {
        loop {
            let line = soon(state, self.states.next_line()).await.unwrap()?;
            let told: Value = serde_json::from_str(&line).unwrap();
            if told["state"] == state {
                return Some(told);
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Waits for its end.
    pub(crate) async fn end(self) -> ProgramOutput {
        let output = soon("the end of reach", self.child.wait_with_output()).await.unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        ProgramOutput {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

#[tokio::test]
async fn reach_starts_the_daemon_and_ctrl_c_ends_it_with_its_far_end() {
    let machines = TwoMachines::new();
    let run = machines.by_shell().await;
    let home = machines.get("/home").await.json();
    assert_eq!((&home["place"], &home["not_allowed"]), (&"box".into(), &Value::Null), "{home}");
    // Any call starts it, if it is not there yet.
    super::in_time_at(&machines.socket()).await;
    let daemon = machines.home.daemon().expect("a daemon runs");
    let listed = machines.home.run(&["reach", "--list"]).await;
    assert!(listed.stdout.contains("connected to box"), "{listed:?}");
    let carrier = machines.carrier().unwrap();
    signal(run.pid(), Signal::INT);
    let ended = run.end().await;
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
    soon("the far end", testkit::until(async || machines.carrier() != Some(carrier))).await;
    assert!(!machines.socket().exists());
    assert_eq!(machines.home.daemon(), Some(daemon), "the daemon is nobody's to end");
    let listed = machines.home.run(&["reach", "--list"]).await;
    assert!(listed.stdout.contains("No place is reached"), "{listed:?}");
}

#[tokio::test]
async fn a_line_that_breaks_or_is_silent_comes_back_by_itself() {
    let machines = TwoMachines::new();
    let mut run = machines.by_shell().await;
    for how in [Signal::KILL, Signal::STOP] {
        let carrier = machines.carrier().unwrap();
        signal(carrier, how);
        let broken = run.until("waiting").await;
        assert!(broken["why"].as_str().is_some_and(|why| !why.is_empty()), "{broken}");
        run.until("connected").await;
        assert_ne!(machines.carrier(), Some(carrier), "the command has ended with its line");
        assert_eq!(machines.get("/home").await.status, 200);
    }
}

#[tokio::test]
async fn a_far_end_that_does_not_carry_is_told_in_words_with_the_next_step() {
    let machines = TwoMachines::new();
    let none = machines.fails_with("exec no-such-tabwire carry box").await;
    assert!(
        none.contains("no `tabwire` at the far end") && none.contains("--far-program"),
        "{none}"
    );
    let other = machines.far.path().join("tabwire");
    // The beginning of a program for a machine of another kind.
    std::fs::write(&other, [0x7f, b'E', b'L', b'F', 2, 2, 1, 0, 0, 0, 0, 0]).unwrap();
    std::fs::set_permissions(&other, Permissions::from_mode(0o700)).unwrap();
    let other = machines.fails_with(&format!("exec {} carry box", other.display())).await;
    assert!(other.contains("another architecture"), "{other}");
    let old = "echo \"error: unrecognized subcommand 'carry'\" >&2; exit 2";
    let old = machines.fails_with(old).await;
    assert!(old.contains("too old") && old.contains("Update it there"), "{old}");
    let newer = machines.fails_with("echo tabwire carries 9 9.9.9 box; cat").await;
    assert!(newer.contains("Update the older of the two"), "{newer}");
    let ended = machines.fails_with("echo Welcome; echo 'no room' >&2; exit 3").await;
    assert!(ended.contains("Welcome") && ended.contains("no room"), "{ended}");
    let endless = machines.fails_with("yes").await;
    assert!(endless.contains("64 KiB"), "{endless}");
    let elsewhere = machines.carry().replace("carry box", "carry other");
    let elsewhere = machines.fails_with(&elsewhere).await;
    assert!(elsewhere.contains("the same name"), "{elsewhere}");
    let missing = finish(machines.reach(&["--", "no-such-command"])).await;
    assert!(missing.stderr.contains("cannot start no-such-command"), "{missing:?}");
}

#[tokio::test]
async fn a_socket_that_cannot_be_is_refused_at_the_far_end_and_nothing_there_changes() {
    let machines = TwoMachines::new();
    let mut row = RowReport::new(56);
    let socket = machines.socket();
    let folder = socket.parent().unwrap();
    std::fs::create_dir(folder).unwrap();
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let open = machines.fails_with(&machines.carry()).await;
    let is_told = open.contains("closed to others") && open.contains("chmod 700");
    row.tried("a folder that is open to others", is_told, open);
    std::fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
    let elsewhere = machines.far.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, &socket).unwrap();
    let link = machines.fails_with(&machines.carry()).await;
    row.tried("a link in the socket's place", link.contains("is a link. Remove it"), link);
    assert!(socket.is_symlink() && !elsewhere.exists());
    std::fs::remove_file(&socket).unwrap();
    let long = machines.far.path().join("x".repeat(100));
    let long = format!("TABWIRE_HOME={} exec {} carry box", long.display(), program());
    let long = machines.fails_with(&long).await;
    assert!(long.contains("bytes and may have 100") && long.contains("TABWIRE_HOME"), "{long}");
    let _run = machines.by_shell().await;
    // Another home reaches for the same place.
    let others = TwoMachines { home: ProgramSandbox::new(), far: ProgramSandbox::new() };
    let taken = others.fails_with(&machines.carry()).await;
    row.tried("two of one name", taken.contains("another program listens on"), taken);
    row.report();
    assert_eq!(machines.get("/home").await.status, 200, "the first is undisturbed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_at_the_far_end_is_closed_to_another_user_also_where_all_may_reach_it() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let machines = TwoMachines::new();
    let _run = machines.by_shell().await;
    let socket = machines.socket();
    assert_eq!(machines.get("/home").await.status, 200);
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    for path in [machines.far.path(), socket.parent().unwrap()] {
        mode(path, 0o711);
    }
    mode(&socket, 0o666);
    let request = "GET /home HTTP/1.1\r\nHost: tabwire\r\nConnection: close\r\n\r\n";
    let sending = tokio::task::spawn_blocking(move || sent_by_another_user(&socket, request));
    let answer = soon("the close", sending).await.unwrap();
    let said = answer.as_deref().map(String::from_utf8_lossy);
    let mut row = RowReport::new(56);
    row.tried("another user at the socket", said.as_deref() == Some(""), format!("{said:?}"));
    row.report();
}

#[tokio::test]
async fn names_that_are_not_for_places_and_ways_that_are_none_are_refused_before_anything_runs() {
    let machines = TwoMachines::new();
    let home = &machines.home;
    assert_eq!(home.run(&["owner", "add", "ci", "--unattended"]).await.code, Some(0));
    let ran = home.path().join("ran");
    let touch = format!("touch {}", ran.display());
    let mut row = RowReport::new(56);
    let mut refused = async |arguments: &[&str], code: i32, says: &str| {
        let told = home.run(&[&["reach"], arguments].concat()).await;
        let is_refused = told.code == Some(code) && told.stderr.contains(says);
        row.tried(&format!("{arguments:?}"), is_refused, format!("{told:?}"));
    };
    let way = ["--unattended", "--", "sh", "-c", &touch];
    let named = |name| [&["--name", name], way.as_slice()].concat();
    refused(&named("user"), 1, "Choose another name").await;
    refused(&named("ci"), 1, "another name with --name").await;
    refused(&named("Box"), 2, "letters a-z").await;
    refused(&["Box.lan"], 1, "Name it with --name").await;
    refused(&["-oProxyCommand=x"], 2, "unexpected argument").await;
    refused(&["--name", "box", ""], 1, "no destination").await;
    refused(&[], 1, "--help").await;
    refused(&way, 1, "--name").await;
    refused(&["box", "--far-program", "a b"], 2, "write the whole command").await;
    refused(&["--name", "box", "--", "sh", "-c", &touch], 77, "a person has to agree").await;
    row.report();
    assert!(!ran.exists());
    let owners = home.home().owners().read().unwrap().unwrap();
    assert!(owners.entry("box").is_none() && owners.entries().len() == 1, "{owners:?}");
}

#[tokio::test]
async fn a_place_is_reached_once_and_its_new_owner_is_shown_until_a_person_confirms_it() {
    let machines = TwoMachines::new();
    let run = machines.by_shell().await;
    let second = finish(machines.reach(&["--", "sh", "-c", &machines.carry()])).await;
    assert!(second.code == Some(1) && second.stderr.contains("reaches box already"), "{second:?}");
    let unconfirmed = machines.home.home().unconfirmed().unwrap();
    assert_eq!(unconfirmed.len(), 1, "{unconfirmed:?}");
    assert!(unconfirmed[0].what.contains("owner box"), "{unconfirmed:?}");
    // The daemon runs.
    super::in_time_at(&machines.socket()).await;
    // A removed owner ends the run: nobody gets its rights by a run that goes on.
    assert_eq!(machines.home.run(&["owner", "remove", "box"]).await.code, Some(0));
    signal(machines.carrier().unwrap(), Signal::KILL);
    let ended = run.end().await;
    assert!(ended.code == Some(1) && ended.stderr.contains("was removed"), "{ended:?}");
}
