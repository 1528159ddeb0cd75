//! Which program listens on a port.

#[cfg(not(target_os = "macos"))]
use std::fs;

use rustix::process::getuid;

use crate::os::PortOwner;

/// The program that listens on a port of the loopback.
#[cfg(not(target_os = "macos"))]
pub(crate) fn listening_program(port: u16) -> PortOwner {
    let sockets = listening_sockets(port);
    let own_uid = getuid().as_raw();
    PortOwner {
        process: sockets.iter().find_map(|socket| process_with(socket.inode)),
        is_own: sockets.iter().any(|socket| socket.uid == own_uid),
    }
}

/// The program that listens on a port of the loopback. The system tells an administrator alone of other users' programs.
#[cfg(target_os = "macos")]
pub(crate) fn listening_program(port: u16) -> PortOwner {
    let found = listeners::get_process_by_port(port, listeners::Protocol::TCP).ok();
    PortOwner {
        is_own: found.is_some() && !getuid().is_root(),
        process: found.map(|process| (process.pid, process.name)),
    }
}

#[cfg(not(target_os = "macos"))]
struct ListeningSocket {
    uid: u32,
    inode: u64,
}

/// The sockets that listen on a port, from the kernel's tables (Linux; none elsewhere).
#[cfg(not(target_os = "macos"))]
fn listening_sockets(port: u16) -> Vec<ListeningSocket> {
    const LISTEN: &str = "0A";
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|path| fs::read_to_string(path).unwrap_or_default());
    let read = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(local_port, 16).ok()? == port && *fields.get(3)? == LISTEN;
        is_it.then_some(ListeningSocket {
            uid: fields.get(7)?.parse().ok()?,
            inode: fields.get(9)?.parse().ok()?,
        })
    };
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(read).collect()
}

/// The process that has a socket open: its number and its name.
#[cfg(not(target_os = "macos"))]
fn process_with(inode: u64) -> Option<(u32, String)> {
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).find_map(|pid| {
        let mut open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
        let has_it = open.any(|file| {
            fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str())
        });
        let name = || fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        has_it
            .then(|| (pid, name().map_or_else(|| "a program".to_owned(), |n| n.trim().to_owned())))
    })
}
