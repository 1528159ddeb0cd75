//! Processes: asking them to end, starting them apart from this one, and waiting for the parent.

use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, Command};
use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close,
    ctrl_logoff, ctrl_shutdown,
};
use tokio::sync::oneshot;
use windows_sys::Win32::System::Threading::{
    CREATE_BREAKAWAY_FROM_JOB, CREATE_NEW_PROCESS_GROUP, DETACHED_PROCESS,
};

use super::calls::{self, NamedEvent, OpenedProcess};
use crate::os::StopRequest;

/// Exit codes from here on are those of exceptions that nobody handled.
const FIRST_CRASH: u32 = 0xC000_0000;

/// Listens for requests to end.
pub(crate) struct StopSignals {
    interrupt: CtrlC,
    ctrl_break: CtrlBreak,
    close: CtrlClose,
    logoff: CtrlLogoff,
    shutdown: CtrlShutdown,
    event: Option<oneshot::Receiver<()>>,
}

/// The name of the event by which a daemon of this session is asked to end.
fn stop_event(process: u32) -> String {
    format!(r"Local\tabwire-stop-{process}")
}

impl StopSignals {
    /// Listens for Ctrl+C and for the end of the console or of the session.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: ctrl_c()?,
            ctrl_break: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
            event: None,
        })
    }

    /// The same for a program that also ends with its terminal.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn listen_with_terminal() -> io::Result<Self> {
        Self::listen()
    }

    /// The same for a daemon, which [`ask_process_to_end`] reaches.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn listen_as_daemon() -> io::Result<Self> {
        let event = NamedEvent::create(&stop_event(std::process::id()))?;
        let (asks, asked) = oneshot::channel();
        // A thread of its own, since it waits for as long as the daemon lives; it ends with the process.
        std::thread::spawn(move || {
            if event.wait() {
                // The daemon may be about to end by itself.
                let _ = asks.send(());
            }
        });
        Ok(Self { event: Some(asked), ..Self::listen()? })
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> StopRequest {
        let event = async {
            match &mut self.event {
                Some(event) => event.await.ok(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(()) = self.interrupt.recv() => StopRequest::Interrupt,
            Some(()) = self.ctrl_break.recv() => StopRequest::Terminate,
            Some(()) = self.close.recv() => StopRequest::Terminate,
            Some(()) = self.logoff.recv() => StopRequest::Terminate,
            Some(()) = self.shutdown.recv() => StopRequest::Terminate,
            Some(()) = event => {
                self.event = None;
                StopRequest::Terminate
            }
            else => std::future::pending().await,
        }
    }
}

/// Asks a process of this user to end: a daemon, which waits for that.
///
/// # Errors
///
/// The system's: no such process waits in this session.
pub(crate) fn ask_process_to_end(process: u32) -> io::Result<()> {
    NamedEvent::set(&stop_event(process))
}

/// Leaves the session of the process that started this one. [`spawn_detached`] has done so.
pub(crate) const fn lead_new_session() {}

/// Starts a process that outlives this one, in no console and no job of it.
///
/// # Errors
///
/// The system's.
pub(crate) fn spawn_detached(command: &mut Command) -> io::Result<Child> {
    calls::keep_standard_handles();
    let apart = DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP;
    // Clients put their servers into jobs, with which everything ends that they have started.
    let free = command.creation_flags(apart | CREATE_BREAKAWAY_FROM_JOB).spawn();
    match free {
        // A job may forbid that.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            command.creation_flags(apart).spawn()
        }
        started => started,
    }
}

/// Has the command start a process that leads a group of its own.
pub(crate) fn start_new_group(command: &mut Command) {
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Ends a process and all that it has started.
pub(crate) fn kill_group(leader: u32) {
    // It may have ended by now.
    let _ = std::process::Command::new("taskkill.exe")
        .args(["/T", "/F", "/PID", &leader.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

/// Whether this process still runs.
pub(crate) fn is_group_running(leader: u32) -> bool {
    OpenedProcess::open(leader).is_ok_and(|process| !process.wait(Some(0)))
}

/// Whether the system has ended a program because it went wrong.
pub(crate) fn is_crash(status: &ExitStatus) -> bool {
    status.code().is_some_and(|code| code.cast_unsigned() >= FIRST_CRASH)
}

/// Whether this process has the rights of the computer's administrator. No program of ours is started in another
/// way because of that.
pub(crate) const fn is_administrator() -> bool {
    false
}

/// A process that outlives single calls of a program: the shell or program that calls. `None`: it is not known.
pub(crate) fn lasting_caller() -> Option<u32> {
    calls::parent_of(std::process::id()).ok().flatten()
}

/// The process that has started this one, as it was at that moment.
pub(crate) struct ParentProcess(Option<OpenedProcess>);

impl ParentProcess {
    /// Who started us; nobody, if that process has ended already.
    pub(crate) fn now() -> Self {
        let own = std::process::id();
        let started = |process: &OpenedProcess| process.started().ok();
        let parent = calls::parent_of(own).ok().flatten();
        let parent = parent.and_then(|parent| OpenedProcess::open(parent).ok());
        let own = OpenedProcess::open(own).ok().as_ref().and_then(started);
        // A younger process has taken the number of one that has ended.
        Self(parent.filter(|parent| started(parent) <= own))
    }

    /// Returns when it is dead; never, if there is none.
    pub(crate) async fn death(self) {
        let Some(parent) = self.0 else { return std::future::pending().await };
        let (dead, is_dead) = oneshot::channel();
        // A thread of its own, since it waits for as long as the bridge lives; it ends with the process.
        std::thread::spawn(move || {
            if parent.wait(None) {
                // The bridge may be about to end by itself.
                let _ = dead.send(());
            }
        });
        if is_dead.await.is_err() {
            std::future::pending().await
        }
    }
}
