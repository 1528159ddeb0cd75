//! Extensions that only poll: the browser of each session, the answers to its requests, and the
//! extensions that ask for admission. The rest of the engine sees a [`Poller`] in place of a link.

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
