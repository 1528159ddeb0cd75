//! Over a real `sshd` on the loopback, with keys of its own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;
use testkit::{ExtensionBuilder, StdioClient, body, free_port, program, signal, soon, until};
use tokio::process::{Child, Command};

use super::place_run::{PlaceRun, TwoMachines};

/// A server of its own, and an `ssh` that knows it as `box`.
pub(crate) struct SshServer {
    dir: tempfile::TempDir,
    server: Child,
    port: u16,
}

impl SshServer {
    /// Serves this user, whose programs find the state of the far machine.
    pub(crate) async fn start(machines: &TwoMachines) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(at(key))
                .output()
                .await;
            assert!(made.is_ok_and(|made| made.status.success()), "ssh-keygen: `make` installs it");
        }
        fs::copy(at("user.pub"), at("authorized")).unwrap();
        let port = free_port();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n\
             PermitRootLogin yes\nBanner {}\nSetEnv TABWIRE_HOME={} TABWIRE_PORT=0\n",
            at("host").display(),
            at("authorized").display(),
            at("banner").display(),
            machines.far.path().display(),
        );
        fs::write(at("banner"), "Authorized use only.\n").unwrap();
        fs::write(at("sshd_config"), settings).unwrap();
        let client = format!(
            "Host box\nHostName 127.0.0.1\nPort {port}\nIdentityFile {}\nIdentitiesOnly yes\n\
             UserKnownHostsFile {}\nStrictHostKeyChecking accept-new\n",
            at("user").display(),
            at("known").display(),
        );
        fs::write(at("ssh_config"), client).unwrap();
        fs::create_dir(at("bin")).unwrap();
        let ssh =
            format!("#!/bin/sh\nexec {} -F {} \"$@\"\n", ssh_path(), at("ssh_config").display());
        fs::write(at("bin/ssh"), ssh).unwrap();
        fs::set_permissions(at("bin/ssh"), Permissions::from_mode(0o700)).unwrap();
        if rustix::process::geteuid().is_root() {
            // Where the server's unprivileged part lives; a service would make it.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let server = Command::new(found("sshd"))
            .args(["-D", "-e", "-f"])
            .arg(at("sshd_config"))
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let listens = async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok();
        soon("sshd", until(listens)).await;
        Self { dir, server, port }
    }

    /// Where it listens.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Has its `ssh` connect to another port, which leads to it.
    pub(super) fn lead_by(&self, port: u16) {
        let settings = self.dir.path().join("ssh_config");
        let text = fs::read_to_string(&settings).unwrap();
        let (own, other) = (format!("Port {}\n", self.port), format!("Port {port}\n"));
        fs::write(&settings, text.replace(&own, &other)).unwrap();
    }

    /// `tabwire reach box` by this `ssh`, with the program that is tested at the far end, as over a network.
    pub(super) fn reach_far_away(&self, machines: &TwoMachines) -> Command {
        let first = ["reach", "--json", "--unattended", "box", "--far-program", program()];
        self.by_this_ssh(machines.home.command(&first))
    }

    /// `tabwire reach box` by this `ssh`.
    fn reach(&self, machines: &TwoMachines, arguments: &[&str]) -> Command {
        let first = ["reach", "--json", "--unattended", "--near", "box"];
        self.by_this_ssh(machines.home.command(&[&first, arguments].concat()))
    }

    fn by_this_ssh(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.dir.path().join("bin").display()));
        command
    }

    /// The same with the program that is tested at the far end.
    pub(crate) fn reach_with_program(&self, machines: &TwoMachines) -> Command {
        self.reach(machines, &["--far-program", program()])
    }
}

/// A program of the system's administrator is not in everybody's path.
fn found(name: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/usr/local/sbin", "/usr/bin"]);
    let mut files = folders.map(|folder| Path::new(folder).join(name));
    files.find(|file| file.is_file()).unwrap_or_else(|| panic!("no {name}: `make` installs it"))
}

fn ssh_path() -> String {
    found("ssh").display().to_string()
}

/// The processes of `ssh` that `tabwire reach` has started.
pub(crate) fn ssh_of(run: &PlaceRun) -> Option<u32> {
    let children = format!("/proc/{0}/task/{0}/children", run.pid());
    fs::read_to_string(children).ok()?.split_whitespace().next()?.parse().ok()
}

#[tokio::test]
async fn a_host_of_ssh_is_reached_with_its_banner_skipped_and_no_port_opened() {
    let machines = TwoMachines::new();
    machines.add_owner();
    let daemon = machines.home.serve(&[]).await;
    let shim = ExtensionBuilder::at(daemon.port, &machines.home.home()).sharing(&[7]);
    let mut extension = shim.connect().await;
    let server = SshServer::start(&machines).await;
    let mut run = PlaceRun::start(server.reach_with_program(&machines)).await;
    let mut agent = StdioClient::spawn(machines.far.command(&["mcp", "--connect", "box"]));
    let script = json!({"action": "execute_js", "script": "1", "tab_id": 7, "wait_ms": 20_000});
    agent.ask(&"a".into(), "interact", script.clone()).await;
    extension.run(&json!({"value": 1})).await;
    assert_eq!(body(&agent.answer(&"a".into()).await["result"])["status"], "complete");
    // ssh is killed in the middle of a call.
    agent.ask(&"b".into(), "interact", script).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    signal(ssh_of(&run).expect("ssh runs"), Signal::KILL);
    run.until("waiting").await;
    run.until("connected").await;
    extension.complete(&command, &json!({"value": 2})).await;
    let told = body(&agent.answer(&"b".into()).await["result"]);
    assert_eq!(
        (&told["status"], &told["correlation_id"]),
        (&json!("complete"), &json!(command.id))
    );
    let token = machines.home.home().auth().token(&"user".into());
    let environment = fs::read(format!("/proc/{}/environ", machines.carrier().unwrap())).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains(&token));
    signal(run.pid(), Signal::INT);
    assert_eq!(run.end().await.code, Some(0));
    soon("the far end", until(async || machines.carrier().is_none())).await;
}

#[tokio::test]
async fn what_ssh_and_the_far_machine_say_is_told_in_words() {
    let machines = TwoMachines::new();
    let mut server = SshServer::start(&machines).await;
    let told = testkit::finish(server.reach(&machines, &["--far-program", "/none/tabwire"])).await;
    assert!(told.stderr.contains("no `tabwire` at the far end"), "{told:?}");
    // Neither in the path nor below the home directory, unless somebody has installed one.
    let cannot = testkit::finish(server.reach(&machines, &["--far-program", "/etc/passwd"])).await;
    assert!(cannot.stderr.contains("cannot be run there"), "{cannot:?}");
    fs::write(server.dir.path().join("authorized"), "").unwrap();
    let denied = testkit::finish(server.reach_with_program(&machines)).await;
    assert!(denied.stderr.contains("ssh does not connect"), "{denied:?}");
    assert!(denied.stderr.contains("Permission denied"), "{denied:?}");
    server.server.kill().await.unwrap();
    let gone = testkit::finish(server.reach(&machines, &[])).await;
    assert!(gone.stderr.contains("ssh does not connect"), "{gone:?}");
    assert!(gone.stderr.contains(&format!("port {}", server.port)), "{gone:?}");
}
