//! The processes of a real browser, and their end: that of the extension's worker, and those of
//! pages.

use rustix::process::{Pid, Signal, kill_process};
use tabwire::demo::Browser;

/// Kills the process that the extension's worker runs in, as a lack of memory does.
/// Nobody is attached to the worker before or after: that would keep it alive.
pub fn kill_worker(browser: &Browser) {
    let killed = kill_processes(browser, |command| command.contains("--extension-process"));
    assert!(killed > 0, "the extension runs in a process of its own");
}

/// Kills the processes of all pages: they crash.
pub fn kill_pages(browser: &Browser) {
    let is_of_page = |command: &str| {
        command.contains("--type=renderer") && !command.contains("--extension-process")
    };
    assert!(kill_processes(browser, is_of_page) > 0, "a page runs in a process");
}

/// Kills the browser's processes with such a command line. How many there were.
fn kill_processes(browser: &Browser, is_wanted: impl Fn(&str) -> bool) -> usize {
    let of_browser = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let group = stat.rsplit(") ").next()?.split(' ').nth(2)?.parse::<u32>().ok()?;
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        (group == browser.id() && is_wanted(&command)).then_some(pid)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let wanted: Vec<_> = pids.filter_map(of_browser).filter_map(Pid::from_raw).collect();
    for pid in &wanted {
        kill_process(*pid, Signal::KILL).unwrap();
    }
    wanted.len()
}
