//! Who calls: the name under which the daemon remembers a caller's tab.

use rustix::process::{getpid, getppid, getsid};

/// One name for all calls of a terminal, and for all calls of a script that has none.
///
/// A terminal window is a session, and a script of cron or systemd runs in one too: the session's
/// leader outlives each single call. A call that leads a session itself takes the name of the
/// process that started it, since its own number is another one each time.
pub(super) fn default_client() -> String {
    let leader = getsid(None).ok().filter(|leader| *leader != getpid());
    let process = leader.or_else(getppid).map(|process| process.as_raw_nonzero());
    process.map_or_else(|| "call".to_owned(), |process| format!("call-{process}"))
}
