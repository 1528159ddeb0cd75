//! The command lifecycle, pure: `now` is an argument, there is no IO, and no function can fail. The
//! engine ([`crate::engine`]) holds the commands, and the shell around it ([`crate::hub`]) wakes
//! waiters, carries frames and sleeps until the next deadline.
//!
//! The page below is `docs/lifecycle.md`; tests hold its tables against the code.
#![doc = ""]
#![doc = include_str!("../../docs/lifecycle.md")]

mod call_key;
mod command;
pub mod limits;
mod queue;
mod rate;
mod retention;
mod work;

pub use call_key::{CallDigest, CallKey};
#[cfg(test)]
pub(crate) use command::codes_of_extension;
pub use command::{
    BrowserAbsence, Command, CommandHold, CommandOutcome, CommandPhase, CommandSpec, CommandState,
    Delivery, EventReply, ExpiryReason, HoldHistory, LifecycleEvent, Peer, SavedCommand,
    SavedStage, TracePoint, Transition, next_step_of_code,
};
pub use limits::Limits;
pub use queue::{CommandQueue, FreedLanes, Lane, SchedulingMode, TargetSelector};
pub use rate::TokenBucket;
pub use retention::{Retention, Tombstone};
pub use work::{AwaitedDrawings, CommandWork};
