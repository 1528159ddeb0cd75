//! Folders for what browsers and daemons of a test write.

use std::path::Path;

/// The file system in memory of Linux.
const MEMORY: &str = "/dev/shm";

/// A folder of its own, gone when it is dropped; in memory, where the system has the room. A
/// browser has the disk write hundreds of times as it starts, which nobody's power loss is
/// there to need: that is a third of a short test's time.
///
/// # Panics
///
/// The folder cannot be made.
pub fn scratch_folder(prefix: &str) -> tempfile::TempDir {
    let mut folder = tempfile::Builder::new();
    folder.prefix(prefix);
    let made = if takes(Path::new(MEMORY)) { folder.tempdir_in(MEMORY) } else { folder.tempdir() };
    made.unwrap()
}

/// Whether there is room below, and programs there may be run: tests put some beside a profile.
#[cfg(target_os = "linux")]
fn takes(place: &Path) -> bool {
    use rustix::fs::{StatVfsMountFlags, statvfs};

    /// Room for the profiles of some browsers, and for what those share in memory themselves, in bytes.
    const ROOM: u64 = 2 << 30;
    statvfs(place).is_ok_and(|system| {
        !system.f_flag.contains(StatVfsMountFlags::NOEXEC)
            && !system.f_flag.contains(StatVfsMountFlags::RDONLY)
            && system.f_bavail.saturating_mul(system.f_frsize) >= ROOM
    })
}

/// Other systems have no such folder.
#[cfg(not(target_os = "linux"))]
const fn takes(_place: &Path) -> bool {
    false
}
