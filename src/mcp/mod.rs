//! The Model Context Protocol over the tools: JSON-RPC, both generations of versions, and the
//! answer to each method. No HTTP and no stdio: the daemon and the bridge share this code, so that
//! their answers are the same.

mod answer;
mod calls;
mod client_info;
mod command_view;
mod extra_tools;
mod followed;
mod generation;
mod job_calls;
mod message;
mod methods;
mod notices;
mod progress;
mod roots;
mod subscription;
mod tasks;
#[cfg(test)]
mod tests;
mod trace_meta;

pub use answer::{RpcAnswer, RpcResponse, body_of, failure, is_shutdown_refusal, is_too_late};
pub use calls::{CallInProgress, CallRegistry};
pub use command_view::declares_views;
pub use extra_tools::{ExtraReply, ExtraTools, ToolCall, ToolCatalogue};
pub use generation::{
    LEGACY_VERSIONS, META_VERSION, MODERN_VERSION, McpHeaders, ProtocolGeneration, encode_name,
    name_in_header, negotiate,
};
pub use job_calls::{JobCall, JobCalls};
pub use message::{
    CANCELLED, IncomingMessage, RequestId, RpcError, RpcErrorKind, RpcNotification, RpcReply,
    RpcRequest,
};
pub use methods::{answer_alone, handle, only_reads};
pub use notices::{JOBS_CAPABILITY, JobNotices, asks_for_jobs};
pub use progress::CallProgress;
pub use roots::{asked_id, declares_roots, note_reply, roots_message, withdrawn_id};
pub use subscription::{LISTEN, TaskSubscription};
pub use tasks::tasks_undeclared;
