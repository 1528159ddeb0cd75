//! Long-running jobs of the daemon itself. Each job is blocking code in a module of its own that does
//! not know its runner: it gets a clock, a callback for progress and a flag to stop. `JobRunner` runs
//! the jobs; each is a command in the hub.

pub mod monitor;
mod runner;

pub use monitor::SyncError;
pub use runner::{JobRejection, JobRunner};
