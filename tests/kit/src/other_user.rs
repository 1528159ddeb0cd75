//! Another user of the computer.

/// Makes this thread, and no other one, that of the user with this number until it ends. Whether that could be done:
/// by the administrator of Linux alone.
#[cfg(target_os = "linux")]
#[must_use]
pub fn become_user(user: u32) -> bool {
    let user = rustix::process::Uid::from_raw(user);
    rustix::thread::set_thread_res_uid(user, user, user).is_ok()
}

/// Other systems have one user for all threads of a process.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub const fn become_user(_user: u32) -> bool {
    false
}
