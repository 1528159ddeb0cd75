//! `tabwire service`: the files that systemd reads, and a daemon that it starts at a connection.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use super::person::Person;
use testkit::{ProgramOutput, finish, free_port, soon, until};

/// Keeps what it is asked for, and says that everything is active.
const SYSTEMCTL: &str =
    "#!/bin/sh\necho \"$*\" >> \"$HOME/asked\"\n[ \"$2\" = is-active ] && echo active\nexit 0\n";

const NO_SYSTEMD: &str =
    "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n";

/// A person with a service manager that does as it says.
struct Session {
    person: Person,
}

impl Session {
    fn with(systemctl: &str) -> Self {
        let person = Person::new();
        let path = person.write("bin/systemctl", systemctl);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { person }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.person.command(arguments);
        let usual = std::env::var_os("PATH").unwrap();
        let paths = [self.person.at("bin")].into_iter().chain(std::env::split_paths(&usual));
        command.env("PATH", std::env::join_paths(paths).unwrap());
        command
    }

    async fn run(&self, arguments: &[&str]) -> ProgramOutput {
        finish(self.command(arguments)).await
    }

    async fn does(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    }

    /// What was asked of the service manager since the last look.
    fn asked(&self) -> Vec<String> {
        let path = self.person.at("asked");
        let asked = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        asked.lines().map(str::to_owned).collect()
    }

    fn units(&self) -> [PathBuf; 2] {
        ["tabwire.socket", "tabwire.service"]
            .map(|unit| self.person.at(".config/systemd/user").join(unit))
    }
}

#[tokio::test]
async fn a_service_is_installed_shown_brought_up_to_date_and_taken_away() {
    let session = Session::with(SYSTEMCTL);
    let none = session.run(&["service", "status"]).await;
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(none.stdout.contains("tabwire service install"), "{none:?}");

    let shown = session.does(&["service", "install", "--print"]).await;
    assert!(shown.contains("ListenStream=127.0.0.1:47890"), "{shown}");
    assert!(shown.contains("systemctl --user enable --now tabwire.socket"), "{shown}");
    assert!(!session.units()[0].exists(), "--print changes nothing");
    session.asked();

    session.does(&["service", "install"]).await;
    let [socket, service] = session.units();
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o644);
    assert!(fs::read_to_string(&service).unwrap().contains(" serve --port 47890"));
    let started = ["--user daemon-reload", "--user enable --now tabwire.socket"];
    let asked = session.asked();
    assert_eq!(asked[1..3], started, "after what holds the port was stopped: {asked:?}");

    session.does(&["service", "install"]).await;
    let asked = session.asked();
    assert!(
        asked.iter().all(|call| call.contains("is-active")),
        "nothing was to be done: {asked:?}"
    );
    session.does(&["service", "install", "--port", "47891"]).await;
    assert!(fs::read_to_string(&socket).unwrap().contains("127.0.0.1:47891"));
    let otlp = ["service", "install", "--otlp", "http://127.0.0.1:4318"];
    session.does(&otlp).await;
    let unit = fs::read_to_string(&service).unwrap();
    assert!(unit.contains(r#""--otlp" "http://127.0.0.1:4318/v1/traces""#), "{unit}");
    let refused = session.run(&["service", "install", "--otlp", "https://127.0.0.1:4318"]).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert_eq!(fs::read_to_string(&service).unwrap(), unit, "nothing was changed");
    session.does(&["service", "install"]).await;
    assert!(!fs::read_to_string(&service).unwrap().contains("otlp"), "it sends none any more");
    let status = session.does(&["service", "status", "--json"]).await;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((&status["installed"], &status["active"]), (&true.into(), &true.into()));

    session.asked();
    session.does(&["service", "uninstall"]).await;
    assert!(!socket.exists() && !service.exists());
    let ended = ["--user disable --now tabwire.socket tabwire.service", "--user daemon-reload"];
    assert_eq!(session.asked(), ended);
    assert!(session.does(&["service", "uninstall"]).await.contains("No service"));

    let told = session.does(&["service", "install", "--json"]).await;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["installed"], told["changes"].as_array().unwrap().len()), (&true.into(), 2));
    let gone = session.does(&["service", "uninstall", "--json"]).await;
    let gone: Value = serde_json::from_str(&gone).unwrap();
    assert_eq!(gone["changes"][1]["action"], "remove", "{gone}");

    session.does(&["service", "install"]).await;
    session.does(&["uninstall"]).await;
    assert!(!socket.exists() && !service.exists(), "it goes with the rest");
}

#[tokio::test]
async fn a_service_manager_that_refuses_is_told_of_and_files_of_others_stay() {
    let session = Session::with(NO_SYSTEMD);
    let failed = session.run(&["service", "install"]).await;
    assert_eq!(failed.code, Some(1), "{failed:?}");
    for part in ["Failed to connect to bus", "tabwire service uninstall"] {
        assert!(failed.stderr.contains(part), "{failed:?}");
    }
    session.does(&["service", "uninstall"]).await;

    let theirs = session.person.write(".config/systemd/user/tabwire.service", "[Unit]\n");
    let refused = session.run(&["service", "install"]).await;
    assert!(refused.code == Some(1) && refused.stderr.contains("Move it away"), "{refused:?}");
    session.does(&["service", "uninstall"]).await;
    session.does(&["uninstall"]).await;
    assert_eq!(fs::read_to_string(theirs).unwrap(), "[Unit]\n");
    assert!(!session.units()[0].exists());

    let no_port = session.run(&["service", "install", "--port", "0"]).await;
    assert!(no_port.code == Some(1) && no_port.stderr.contains("--port"), "{no_port:?}");
    let named =
        session.command(&["service", "install", "--home"]).arg(session.person.at("x")).output();
    let named = named.await.unwrap();
    let said = String::from_utf8_lossy(&named.stderr);
    assert!(!named.status.success() && said.contains("--print"), "{said}");
}

#[tokio::test]
async fn systemd_accepts_the_units_also_for_a_program_in_an_odd_place() {
    let session = Session::with(SYSTEMCTL);
    let odd = session.person.at("a b %h $x");
    fs::create_dir_all(&odd).unwrap();
    let program = odd.join("tabwire");
    fs::copy(testkit::program(), &program).unwrap();
    let odd_command = session.person.place.command_of(&program, &["service", "install"]);
    let mut odd_command = session.person.at_home(odd_command);
    odd_command
        .env("PATH", session.person.at("bin"))
        .env("XDG_STATE_HOME", session.person.at("s $y %n"));
    let ran = finish(odd_command).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["--user", "verify"]).args(session.units()).env("XDG_RUNTIME_DIR", odd);
    let verified = session.person.at_home(verify).output().await.unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    // It may have words on other units of this computer.
    assert!(verified.status.success() && !said.contains("tabwire"), "{said}");
}

#[tokio::test]
async fn a_call_finds_the_daemon_that_the_service_manager_starts_on_its_own_socket() {
    let session = Session::with(SYSTEMCTL);
    let port = free_port().to_string();
    session.does(&["service", "install", "--port", &port]).await;
    let address = format!("127.0.0.1:{port}");
    // As systemd does, it listens, and becomes the daemon at the first connection.
    let mut activate = Command::new("systemd-socket-activate");
    activate.args(["-l", &address, "-E", "HOME", testkit::program(), "serve", "--port", &port]);
    let mut activate = session.person.at_home(activate).kill_on_drop(true).spawn().unwrap();
    let pid = activate.id().unwrap();
    soon("a listener", until(async || TcpListener::bind(&address).is_err())).await;

    let call = ["call", "configure", "--port", &port, r#"{"action": "health"}"#];
    let called = session.does(&call).await;
    assert!(called.contains("pending"), "{called}");
    let status = session.does(&["status", "--json"]).await;
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["pid"], pid, "no second daemon was started: {status}");
    assert_eq!(status["port"].to_string(), port);

    let stopped = session.does(&["stop", "--port", &port]).await;
    assert!(stopped.contains("tabwire service uninstall"), "{stopped}");
    soon("its end", activate.wait()).await.unwrap();
}

#[tokio::test]
async fn a_service_that_starts_no_daemon_is_named_by_the_call_that_waits_for_it() {
    let session = Session::with(SYSTEMCTL);
    // Somebody has the port, and starts nothing.
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = held.local_addr().unwrap().port().to_string();
    session.does(&["service", "install", "--port", &port]).await;
    let call = ["call", "configure", "--port", &port, r#"{"action": "health"}"#];
    let called = session.run(&call).await;
    assert!(called.code != Some(0), "{called:?}");
    assert!(called.stderr.contains("systemctl --user status tabwire.service"), "{called:?}");
}

#[tokio::test]
async fn a_socket_that_other_machines_can_reach_is_refused() {
    let person = Person::new();
    let port = free_port();
    let mut activate = Command::new("systemd-socket-activate");
    activate.args(["-l", &format!("0.0.0.0:{port}"), "-E", "HOME", testkit::program(), "serve"]);
    let mut activate = person.at_home(activate);
    let activate = activate.stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let pid = activate.id().unwrap();
    let knocks = async || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    soon("a knock", until(knocks)).await;
    let ended = soon("its end", activate.wait_with_output()).await.unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("127.0.0.1 and [::1]"), "{pid}: {said}");
}

#[tokio::test]
async fn shells_and_man_know_every_command() {
    let person = Person::new();
    for (shell, mark) in
        [("bash", "complete -F"), ("zsh", "#compdef tabwire"), ("fish", "complete -c tabwire")]
    {
        let ran = person.run(&["completions", shell]).await;
        assert!(ran.code == Some(0) && ran.stdout.contains(mark), "{shell}");
        assert!(ran.stdout.contains("socket") || ran.stdout.contains("service"), "{shell}");
    }
    let wrong = person.run(&["completions", "dos"]).await;
    assert!(wrong.code == Some(2) && wrong.stderr.contains("fish"), "{wrong:?}");

    let dir = person.at("man1");
    let missing = person.run(&["man", dir.to_str().unwrap()]).await;
    assert!(missing.code == Some(1) && missing.stderr.contains("mkdir -p"), "{missing:?}");
    fs::create_dir(&dir).unwrap();
    assert_eq!(person.run(&["man", dir.to_str().unwrap()]).await.code, Some(0));
    let page = fs::read_to_string(dir.join("tabwire-service-install.1")).unwrap();
    assert!(page.contains("systemd"), "{page}");
    assert!(dir.join("tabwire.1").exists());
}
