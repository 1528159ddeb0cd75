//! The process that has started the bridge. When it dies, the bridge ends, even if
//! somebody else still holds the other end of standard input.

use rustix::process::{Pid, getppid};

/// The parent, as it was when the bridge started.
pub(super) struct ParentProcess(Option<Pid>);

impl ParentProcess {
    /// Who started us. Nobody, as far as this matters, if it was the system's first
    /// process: that does not die before us.
    pub(super) fn now() -> Self {
        Self(getppid().filter(|parent| *parent != Pid::INIT))
    }

    /// Returns when it is dead; never, if there is none.
    #[cfg(target_os = "linux")]
    pub(super) async fn death(self) {
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
    pub(super) async fn death(self) {
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
