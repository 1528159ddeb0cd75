//! The processes of a real browser, and their end: that of the extension's worker, and those of
//! pages.

use std::time::Duration;

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
    assert!(kill_processes(browser, is_of_page) > 0, "a page runs in a process");
}

/// Kills the process of the one page that is busy all the time: it crashes, and the others stay.
pub async fn kill_busy_page(browser: &Browser) {
    let pages = || pids_of(browser, is_of_page);
    let before: Vec<_> = pages().into_iter().map(|pid| (pid, ticks_of(pid))).collect();
    tokio::time::sleep(BUSY_FOR).await;
    let grown = before.into_iter().max_by_key(|(pid, ticks)| ticks_of(*pid).saturating_sub(*ticks));
    let (busiest, _) = grown.expect("a page runs in a process");
    kill_process(Pid::from_raw(busiest).unwrap(), Signal::KILL).unwrap();
}

/// How long a page has to be busy to stand out.
const BUSY_FOR: Duration = Duration::from_millis(300);

/// How long a process has run on a core.
fn ticks_of(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn is_of_page(command: &str) -> bool {
    command.contains("--type=renderer") && !command.contains("--extension-process")
}

/// Kills the browser's processes with such a command line. How many there were.
fn kill_processes(browser: &Browser, is_wanted: impl Fn(&str) -> bool) -> usize {
    let wanted = pids_of(browser, is_wanted);
    for pid in wanted.iter().copied().filter_map(Pid::from_raw) {
        kill_process(pid, Signal::KILL).unwrap();
    }
    wanted.len()
}

fn pids_of(browser: &Browser, is_wanted: impl Fn(&str) -> bool) -> Vec<i32> {
    let of_browser = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let group = stat.rsplit(") ").next()?.split(' ').nth(2)?.parse::<u32>().ok()?;
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        (group == browser.id() && is_wanted(&command)).then_some(pid)
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(of_browser).collect()
}
