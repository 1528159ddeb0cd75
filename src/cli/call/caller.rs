//! Who calls: the name under which the daemon remembers a caller's tab.

use nix::unistd::{Pid, getpid, getppid, getsid};

/// One name for all calls of a terminal, and for all calls of a script that has none.
///
/// A terminal window is a session, and a script of cron or systemd runs in one too: the session's
/// leader outlives each single call. A call that leads a session itself takes the name of the
/// process that started it, since its own number is another one each time.
pub(super) fn default_client() -> String {
    client_of(getsid(None).ok(), getpid(), getppid())
}

fn client_of(leader: Option<Pid>, call: Pid, parent: Pid) -> String {
    let lasting = leader.filter(|leader| *leader != call).into_iter().chain([parent]);
    // In a container the leader or the parent can be a process outside: those have the number 0.
    let named = lasting.map(Pid::as_raw).find(|process| *process > 0);
    named.map_or_else(|| "call".to_owned(), |process| format!("call-{process}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_name_of_a_process_that_outlives_them_or_else_the_name_call() {
        for (leader, parent, name) in [
            (Some(3), 5, "call-3"),
            (Some(7), 5, "call-5"),
            (Some(0), 5, "call-5"),
            (None, 5, "call-5"),
            (Some(7), 0, "call"),
            (Some(0), 0, "call"),
        ] {
            let leader = leader.map(Pid::from_raw);
            assert_eq!(client_of(leader, Pid::from_raw(7), Pid::from_raw(parent)), name);
        }
    }
}
