//! The worker of a real extension, and its end.

use rustix::process::{Pid, Signal, kill_process};
use tabwire::demo::Browser;

/// Kills the process that the extension's worker runs in, as a lack of memory does.
/// Nobody is attached to the worker before or after: that would keep it alive.
pub(crate) fn kill_worker(browser: &Browser) {
    let of_browser = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let group = stat.rsplit(") ").next()?.split(' ').nth(2)?.parse::<u32>().ok()?;
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        (group == browser.id() && command.contains("--extension-process")).then_some(pid)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let workers: Vec<_> = pids.filter_map(of_browser).collect();
    assert!(!workers.is_empty(), "the extension runs in a process of its own");
    for pid in workers.into_iter().filter_map(Pid::from_raw) {
        kill_process(pid, Signal::KILL).unwrap();
    }
}
