//! The daemon's process, as the system counts it.

use rustix::time::{ClockId, clock_gettime};

/// The memory that the process takes, in bytes, where the system tells it.
pub(super) fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The processor time that the process has taken, in seconds.
pub(super) fn processor_seconds() -> f64 {
    let taken = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are a hundred days")]
    let seconds = taken.tv_sec as f64 + taken.tv_nsec as f64 / 1e9;
    seconds
}
