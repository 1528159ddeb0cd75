//! The Model Context Protocol over the tools: JSON-RPC, both eras of versions, and what
//! each method answers. No HTTP and no stdio: the daemon and the bridge both speak
//! through it, so that both say the same.

mod answer;
mod calls;
mod client_info;
mod era;
mod followed;
mod job_calls;
mod message;
mod methods;
mod notices;
mod progress;
mod subscription;
mod tasks;
#[cfg(test)]
mod tests;
mod toolbox;

pub use answer::{Answer, Done, body_of, failure, is_farewell};
pub use calls::{Calls, InProgress};
pub use era::{
    Era, Headers, LEGACY_VERSIONS, META_VERSION, MODERN_VERSION, encode_name, name_in_header,
    negotiate,
};
pub use job_calls::{JobCall, JobCalls};
pub use message::{CANCELLED, Fault, Id, Incoming, Notification, Request, RpcError};
pub use methods::{answer_alone, handle};
pub use notices::{JOBS_CAPABILITY, JobNotices, asks_for_jobs};
pub use progress::CallProgress;
pub use subscription::{LISTEN, Subscription};
pub use tasks::tasks_undeclared;
pub use toolbox::{Catalogue, ToolCall, Toolbox};
