//! The command lifecycle, pure: `now` is an argument, there is no IO, and nothing
//! in it can fail. What is left for the shell ([`crate::hub`]) is to hold the
//! commands, to wake whoever waits, to carry frames and to sleep until the next
//! deadline.
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
pub use command::{
    Away, Command, Event, Expiry, Facts, Hold, Mark, Outcome, Peer, Phase, Reply, Saved, Stage,
    State, Step, next_step_of_code,
};
pub use limits::Limits;
pub use queue::{Freed, Lane, Manner, Queue, Wish};
pub use rate::Rate;
pub use retention::{Gone, Retention};
pub use work::{Asked, Work};
