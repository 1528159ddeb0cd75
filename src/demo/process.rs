//! A browser's process and all that it has started: looked after, started again if it crashes as
//! it starts, ended as a whole.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::os;

/// A crash within this time is one of the start: now and then a Chromium crashes some 50 ms
/// after it was started, and the next one does well.
const START: Duration = Duration::from_secs(5);

/// How often it is started, at most.
const STARTS: u32 = 3;

/// How long a process of ours may take to end when it is asked to.
pub(super) const END: Duration = Duration::from_secs(5);

/// How often, and how far apart, it is looked whether all that it has started has ended.
const LOOKS: u32 = 100;
const LOOK: Duration = Duration::from_millis(20);

/// Where it is in its life.
#[derive(Clone, Debug)]
struct Life {
    /// The process that was started last, which leads a group of its own.
    leader: Option<u32>,
    /// How that one ended, and that it is not started again.
    ended: Option<String>,
}

/// A process that [`Process::start`] started. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    life: watch::Receiver<Life>,
    /// It was asked to end: it is not started again.
    is_ending: Arc<AtomicBool>,
    keeper: JoinHandle<()>,
}

impl Process {
    /// Starts `command` in a process group of its own. What it says of itself is added to `log`,
    /// and what is to be known of its ends.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) fn start(mut command: Command, log: &Path) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        command.stderr(log.try_clone()?).kill_on_drop(true);
        os::start_new_group(&mut command);
        let process = command.spawn()?;
        let (lives, life) = watch::channel(Life { leader: process.id(), ended: None });
        let is_ending = Arc::new(AtomicBool::new(false));
        let keeper = Keeper { command, log, is_ending: Arc::clone(&is_ending), lives };
        Ok(Self { life, is_ending, keeper: tokio::spawn(keeper.keep(process)) })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.life.borrow().leader
    }

    /// Waits until it has ended, and is not started again: how.
    pub(super) async fn ended(&self) -> String {
        let mut life = self.life.clone();
        match life.wait_for(|life| life.ended.is_some()).await {
            Ok(life) => life.ended.clone().unwrap_or_default(),
            // The task that looked after it is gone, and the process with it.
            Err(_) => String::new(),
        }
    }

    /// Ends it, with everything that it has started.
    pub(super) async fn end(self) {
        self.is_ending.store(true, Ordering::Relaxed);
        ask_to_end(self.id());
        if tokio::time::timeout(END, self.ended()).await.is_err() {
            kill_group(self.id());
            self.ended().await;
        }
        // Its children end a moment after it.
        for _ in 0..LOOKS {
            if !self.id().is_some_and(os::is_group_running) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.keeper.abort();
        kill_group(self.id());
    }
}

/// Waits for the ends of a process.
struct Keeper {
    command: Command,
    log: File,
    is_ending: Arc<AtomicBool>,
    lives: watch::Sender<Life>,
}

impl Keeper {
    async fn keep(mut self, mut process: Child) {
        let mut starts = 1;
        loop {
            let at_start = tokio::time::timeout(START, process.wait()).await;
            let is_at_start = at_start.is_ok();
            let status = match at_start {
                Ok(status) => status,
                Err(_) => process.wait().await,
            };
            let how = how(&status, is_at_start);
            let goes_on = is_at_start
                && status.as_ref().is_ok_and(os::is_crash)
                && starts < STARTS
                && !self.is_ending.load(Ordering::Relaxed);
            if goes_on && let Some(next) = self.start_again(&how) {
                process = next;
                starts += 1;
                continue;
            }
            self.lives.send_modify(|life| life.ended = Some(how));
            return;
        }
    }

    fn start_again(&mut self, how: &str) -> Option<Child> {
        // Its children may still be there.
        kill_group(self.lives.borrow().leader);
        self.note(&format!("the browser {how}; it is started again"));
        match self.command.spawn() {
            Ok(next) => {
                self.lives.send_modify(|life| life.leader = next.id());
                Some(next)
            }
            Err(error) => {
                self.note(&format!("the browser cannot be started again: {error}"));
                None
            }
        }
    }

    /// A note that cannot be written changes nothing.
    fn note(&mut self, text: &str) {
        let _ = writeln!(self.log, "tabwire: {text}");
    }
}

fn how(status: &io::Result<ExitStatus>, is_at_start: bool) -> String {
    let status = match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let when = if is_at_start { "as it started " } else { "" };
    format!("ended by itself {when}({status})")
}

/// Asks a process of our own to end.
pub(super) fn ask_to_end(process: Option<u32>) {
    if let Some(pid) = process {
        // It may have ended by itself.
        let _ = os::ask_process_to_end(pid);
    }
}

fn kill_group(leader: Option<u32>) {
    if let Some(leader) = leader {
        os::kill_group(leader);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A program that does this, and notes its starts in a file of this folder.
    fn program(folder: &Path, does: &str) -> Command {
        let file = folder.join("starts");
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("echo start >> '{}'; {does}", file.display()));
        command
    }

    fn starts(folder: &Path) -> usize {
        std::fs::read_to_string(folder.join("starts")).unwrap_or_default().lines().count()
    }

    fn folder_with_log() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "its own words\n").unwrap();
        (folder, log)
    }

    #[tokio::test]
    async fn one_that_crashes_as_it_starts_is_started_again_and_its_log_says_so() {
        let (folder, log) = folder_with_log();
        let here = folder.path();
        let does = format!(
            "[ $(wc -l < '{0}/starts') = 2 ] || kill -SEGV $$; exec sleep 60",
            here.display()
        );
        let process = Process::start(program(here, &does), &log).unwrap();
        let first = process.id();
        let mut life = process.life.clone();
        life.wait_for(|life| life.leader != first).await.unwrap();
        while starts(here) < 2 {
            tokio::time::sleep(LOOK).await;
        }
        let said = std::fs::read_to_string(&log).unwrap();
        assert!(
            said.starts_with("its own words\ntabwire: the browser ended by itself as it started "),
            "{said}"
        );
        assert!(said.contains("SIGSEGV"), "{said}");
        let second = process.id().unwrap();
        process.end().await;
        assert!(!os::is_group_running(second), "nothing is left of it");
        assert_eq!(starts(here), 2);
    }

    #[tokio::test]
    async fn one_that_always_crashes_is_given_up_after_three_starts() {
        let (folder, log) = folder_with_log();
        let process = Process::start(program(folder.path(), "kill -TRAP $$"), &log).unwrap();
        let how = process.ended().await;
        assert!(
            how.starts_with("ended by itself as it started ") && how.contains("SIGTRAP"),
            "{how}"
        );
        assert_eq!(starts(folder.path()), 3);
    }

    /// Time passes at once while nothing happens, so the start is over before the crash.
    #[tokio::test(start_paused = true)]
    async fn one_that_crashes_after_its_start_is_not_started_again() {
        let (folder, log) = folder_with_log();
        let does = "sleep 0.2; kill -SEGV $$";
        let process = Process::start(program(folder.path(), does), &log).unwrap();
        let how = process.ended().await;
        assert!(how.starts_with("ended by itself (") && how.contains("SIGSEGV"), "{how}");
        assert_eq!(starts(folder.path()), 1);
    }

    #[tokio::test]
    async fn one_that_cannot_be_started_again_has_ended_and_its_log_says_why() {
        let (folder, log) = folder_with_log();
        let program = folder.path().join("program");
        os::testing::symlink("/bin/sh", &program).unwrap();
        let mut command = Command::new(&program);
        command.arg("-c").arg(format!("rm '{}'; kill -SEGV $$", program.display()));
        let process = Process::start(command, &log).unwrap();
        assert!(process.ended().await.contains("SIGSEGV"));
        let said = std::fs::read_to_string(&log).unwrap();
        assert!(said.contains("tabwire: the browser cannot be started again: No such"), "{said}");
    }

    #[tokio::test]
    async fn one_that_is_closed_or_refuses_to_start_is_not_started_again() {
        for does in ["exit 0", "exit 21", "kill -TERM $$"] {
            let (folder, log) = folder_with_log();
            let process = Process::start(program(folder.path(), does), &log).unwrap();
            process.ended().await;
            assert_eq!(starts(folder.path()), 1, "{does}");
        }
    }

    #[tokio::test]
    async fn one_that_crashes_when_it_is_asked_to_end_is_not_started_again() {
        let (folder, log) = folder_with_log();
        let does = "trap 'kill -SEGV $$' TERM; echo ready >> \"$0\"; while :; do sleep 0.01; done";
        let mut command = program(folder.path(), does);
        let ready = folder.path().join("ready");
        command.arg(&ready);
        let process = Process::start(command, &log).unwrap();
        while !ready.exists() {
            tokio::time::sleep(LOOK).await;
        }
        process.end().await;
        assert_eq!(starts(folder.path()), 1);
    }

    #[tokio::test]
    async fn one_that_is_dropped_ends_with_all_that_it_has_started() {
        let (folder, log) = folder_with_log();
        let process = Process::start(program(folder.path(), "sleep 60 & sleep 60"), &log).unwrap();
        let group = process.id().unwrap();
        while starts(folder.path()) == 0 {
            tokio::time::sleep(LOOK).await;
        }
        drop(process);
        while os::is_group_running(group) {
            tokio::time::sleep(LOOK).await;
        }
    }
}
