//! Which start of the machine this is.

use std::sync::Arc;

/// Names this start of the machine. Where the system has no such name, each call gives
/// another one: the machine then counts as restarted, and no command is sent again.
#[must_use]
pub fn boot_id() -> Arc<str> {
    let told = system_boot_id().map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    told.unwrap_or_else(|| format!("unknown-{}", crate::proof::random_hex::<8>())).into()
}

#[cfg(target_os = "linux")]
fn system_boot_id() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}

#[cfg(target_os = "macos")]
fn system_boot_id() -> Option<String> {
    let asked = std::process::Command::new("/usr/sbin/sysctl")
        .args(["-n", "kern.bootsessionuuid"])
        .output();
    String::from_utf8(asked.ok()?.stdout).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn system_boot_id() -> Option<String> {
    None
}
