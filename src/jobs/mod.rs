//! Long-running jobs of the daemon's own. Each is blocking code in a module by itself, which
//! knows nothing of who runs it: it is given a clock, somewhere to say how far it is, and a
//! way to be told to stop. `JobRunner` runs them: each is a command in the hub.

pub mod monitor;
mod runner;

pub use monitor::SyncError;
pub use runner::{JobRejection, JobRunner};
