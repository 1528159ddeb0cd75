//! Extensions that only poll: which browser a session is, how its requests are answered, and who
//! asks to be let in. Of all this the rest of the engine knows a [`Poller`] in the place of a link.

mod knocks;
mod polls;
mod sessions;
mod syncs;

pub(super) use knocks::Knocks;
pub use knocks::{KnockList, KnockSummary, NamelessPoller};
pub use polls::{PendingQuerySummary, PollRequest, ReportDisposition};
pub use sessions::{Assignment, PollId};
pub(super) use sessions::{Poller, PollerSessions, is_browser_of, is_poller};
pub use syncs::BegunSync;
