//! The servers that are measured, each a process of its own, ended by its id.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

/// How often, and how far apart, it is looked whether a server has ended.
const END_LOOKS: u32 = 200;
const END_LOOK: Duration = Duration::from_millis(15);

/// A running server. Dropping it ends it.
pub struct MeasuredServer {
    child: Child,
    pub port: u16,
    /// All ports of a relay.
    pub ports: Vec<u16>,
}

/// What a server says on its first line.
#[derive(Deserialize)]
struct Listening {
    port: u16,
    #[serde(default)]
    ports: Vec<u16>,
}

impl MeasuredServer {
    /// The daemon, as a user runs it but for the rate limit.
    pub fn daemon(program: &Path, home: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        Self::limited(program, home, &[&["--limit", "calls_per_minute=0"], flags].concat())
    }

    /// The daemon with all its limits. If this process is killed, it ends by itself.
    pub fn limited(program: &Path, home: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["serve", "--port", "0", "--json", "--idle-exit", "60"])
            .args(flags)
            .env("TABWIRE_HOME", home)
            .env_remove("TABWIRE_PORT")
            .env_remove("TABWIRE_LOG");
        Self::start(&mut command).context("the daemon does not start")
    }

    /// Its resident memory, in MiB.
    pub fn resident(&self) -> anyhow::Result<f64> {
        resident(self.child.id())
    }

    /// The part of it that is no page of a file, in MiB: it cannot be dropped and read again.
    pub fn own(&self) -> anyhow::Result<f64> {
        status_of(self.child.id(), "RssAnon:")
    }

    /// Kills it, so that it cannot close anything.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// This program as the bare relay, with so many ports. It ends when its standard input does.
    pub fn relay(ports: usize) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--bare-relay", &ports.to_string()]);
        Self::start(&mut command).context("the relay does not start")
    }

    fn start(command: &mut Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn()?;
        let mut server = Self { child, port: 0, ports: Vec::new() };
        let stdout = server.child.stdout.take().context("no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let listening: Listening = serde_json::from_str(&line)
            .with_context(|| format!("its first line is not {{\"port\":…}}: {line:?}"))?;
        server.port = listening.port;
        server.ports = listening.ports;
        Ok(server)
    }
}

impl Drop for MeasuredServer {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended already.
            let _ = kill_process(pid, Signal::TERM);
        }
        for _ in 0..END_LOOKS {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(END_LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The resident memory of a process, in MiB.
pub fn resident(process: u32) -> anyhow::Result<f64> {
    status_of(process, "VmRSS:")
}

/// A size in a process's status, in MiB.
fn status_of(process: u32, field: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib.with_context(|| format!("no {field}"))?.parse()?;
    Ok(kib / 1024.0)
}
