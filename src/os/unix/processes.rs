//! Processes: asking them to end, starting them apart from this one, and waiting for the parent.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use nix::unistd::{Pid as NixPid, getpid, getsid};
use rustix::process::{
    Pid, Signal, geteuid, getppid, kill_process, kill_process_group, setsid,
    test_kill_process_group,
};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};

use crate::os::StopRequest;

/// The signals with which the system ends a program that went wrong.
const CRASHES: [Signal; 6] =
    [Signal::ILL, Signal::TRAP, Signal::ABORT, Signal::BUS, Signal::FPE, Signal::SEGV];

/// Listens for requests to end.
pub(crate) struct StopSignals {
    interrupt: SignalStream,
    terminate: SignalStream,
    hang_up: Option<SignalStream>,
}

impl StopSignals {
    /// Listens for Ctrl+C and for the request to terminate.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn listen() -> io::Result<Self> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())?, hang_up: None })
    }

    /// The same for a program that also ends with its terminal.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn listen_with_terminal() -> io::Result<Self> {
        Ok(Self { hang_up: Some(signal(SignalKind::hangup())?), ..Self::listen()? })
    }

    /// The same for a daemon, which [`ask_process_to_end`] reaches.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn listen_as_daemon() -> io::Result<Self> {
        Self::listen()
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> StopRequest {
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(()) = self.interrupt.recv() => StopRequest::Interrupt,
            Some(()) = self.terminate.recv() => StopRequest::Terminate,
            Some(()) = hang_up => StopRequest::Terminate,
            else => std::future::pending().await,
        }
    }
}

fn pid(process: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(process).ok()?)
}

/// Asks a process of this user to end.
///
/// # Errors
///
/// The system's: there is no such process, or it is another user's.
pub(crate) fn ask_process_to_end(process: u32) -> io::Result<()> {
    let pid = pid(process).ok_or(io::ErrorKind::NotFound)?;
    Ok(kill_process(pid, Signal::TERM)?)
}

/// Leaves the session of the process that started this one, so that the end of its terminal does not
/// end this process.
pub(crate) fn lead_new_session() {
    // Fails only if this process leads a group already, and then it is detached.
    let _ = setsid();
}

/// Starts a process that outlives this one. It leaves this one's session by itself, see
/// [`lead_new_session`].
///
/// # Errors
///
/// The system's.
pub(crate) fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// Has the command start a process that leads a group of its own.
pub(crate) fn start_new_group(command: &mut Command) {
    command.process_group(0);
}

/// Ends all processes of the group that this one leads.
pub(crate) fn kill_group(leader: u32) {
    if let Some(group) = pid(leader) {
        // Its processes may all have ended by now.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Whether a process of the group that this one leads still runs. One that has ended stays in its group
/// until the process that it was left to, the system's first, takes note: in some containers that takes
/// seconds, in which it does nothing any more.
pub(crate) fn is_group_running(leader: u32) -> bool {
    let Some(group) = pid(leader) else { return false };
    if test_kill_process_group(group).is_err() {
        return false;
    }
    // Where the system has no such files, its first process takes note at once.
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    let stats = processes.flatten().map(|process| process.path().join("stat"));
    let mut stats = stats.filter_map(|stat| fs::read_to_string(stat).ok());
    stats.any(|stat| runs_in(&stat, group))
}

/// Whether a process of which the system says this runs in this group (`proc_pid_stat(5)`: its
/// number, its name in brackets, its state, its parent, its group).
fn runs_in(stat: &str, group: Pid) -> bool {
    // A name can have brackets and spaces of its own.
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let mut fields = rest.split_whitespace();
    let (state, its_group) = (fields.next(), fields.nth(1));
    state.is_some_and(|state| !["Z", "X"].contains(&state))
        && its_group == Some(group.as_raw_nonzero().to_string().as_str())
}

/// Whether the system has ended a program because it went wrong.
pub(crate) fn is_crash(status: &ExitStatus) -> bool {
    status.signal().is_some_and(|signal| CRASHES.iter().any(|crash| crash.as_raw() == signal))
}

/// Whether this process has the rights of the computer's administrator.
pub(crate) fn is_administrator() -> bool {
    geteuid().is_root()
}

/// A process that outlives single calls of a program: one for all calls of a terminal, and for all calls of
/// a script that has none. `None`: there is none that this process knows.
///
/// A terminal window is a session, and a script of cron or systemd runs in one too: the session's
/// leader outlives each single call. A call that leads a session itself takes the process that
/// started it, since its own number is another one each time.
pub(crate) fn lasting_caller() -> Option<u32> {
    lasting_one(getsid(None).ok(), getpid(), nix::unistd::getppid())
}

fn lasting_one(leader: Option<NixPid>, call: NixPid, parent: NixPid) -> Option<u32> {
    let lasting = leader.filter(|leader| *leader != call).into_iter().chain([parent]);
    // In a container the leader or the parent can be a process outside: those have the number 0.
    let mut numbers = lasting.filter_map(|process| u32::try_from(process.as_raw()).ok());
    numbers.find(|process| *process > 0)
}

/// The process that has started this one, as it was at that moment.
pub(crate) struct ParentProcess(Option<Pid>);

impl ParentProcess {
    /// Who started us. Nobody, as far as this matters, if it was the system's first
    /// process: that does not die before us.
    pub(crate) fn now() -> Self {
        Self(getppid().filter(|parent| *parent != Pid::INIT))
    }

    /// Returns when it is dead; never, if there is none.
    #[cfg(target_os = "linux")]
    pub(crate) async fn death(self) {
        let Some(parent) = self.0 else { return std::future::pending().await };
        // A thread of its own, since it waits for as long as the bridge lives; it ends
        // with the process.
        let (dead, is_dead) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            if wait_for_death(parent) {
                // The bridge may be about to end by itself.
                let _ = dead.send(());
            }
        });
        if is_dead.await.is_err() {
            self.look_for_death().await;
        }
    }

    /// Returns when it is dead; never, if there is none.
    #[cfg(not(target_os = "linux"))]
    pub(crate) async fn death(self) {
        self.look_for_death().await;
    }

    /// For systems that cannot tell: looks now and then.
    async fn look_for_death(self) {
        const LOOK: std::time::Duration = std::time::Duration::from_millis(100);
        let Some(parent) = self.0 else { return std::future::pending().await };
        while getppid() == Some(parent) {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Blocks until a process is dead. False: the system does not let us wait for it.
#[cfg(target_os = "linux")]
fn wait_for_death(process: Pid) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::process::{PidfdFlags, pidfd_open};

    let Ok(watched) = pidfd_open(process, PidfdFlags::empty()) else { return false };
    // It may have died before it could be watched, and its number be another's now.
    if getppid() != Some(process) {
        return true;
    }
    // The file of a process is readable once that is dead.
    let mut ready = [PollFd::new(&watched, PollFlags::IN)];
    loop {
        match poll(&mut ready, None) {
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_a_process_that_outlives_them() {
        for (leader, parent, expected) in [
            (Some(3), 5, Some(3)),
            (Some(7), 5, Some(5)),
            (Some(0), 5, Some(5)),
            (None, 5, Some(5)),
            (Some(7), 0, None),
            (Some(0), 0, None),
        ] {
            let leader = leader.map(NixPid::from_raw);
            let found = lasting_one(leader, NixPid::from_raw(7), NixPid::from_raw(parent));
            assert_eq!(found, expected, "{leader:?} {parent}");
        }
    }

    #[test]
    fn a_process_that_has_ended_and_is_not_taken_note_of_does_not_run() {
        let group = Pid::from_raw(4_939).unwrap();
        assert!(runs_in("4941 (chromium) S 4939 4939 77 0 -1 4194560", group));
        assert!(runs_in("4941 (a) Z 1 (b) R 1 4939 77 0", group), "the name has brackets");
        assert!(!runs_in("4941 (chromium) Z 1 4939 77 0 -1 4194560", group));
        assert!(!runs_in("4942 (other) S 4939 493 77 0 -1 4194560", group));
        assert!(!runs_in("", group));
    }
}
