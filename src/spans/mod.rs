//! Commands as spans of OpenTelemetry, pure: which trace a command is in, and what a collector gets to know of
//! it. No argument, address, word of a page or name of a client is in a span.

#[cfg(feature = "otlp")]
mod otlp;

use std::sync::Arc;

use crate::lifecycle::TracePoint;
use crate::protocol::{CorrelationId, StatusWord, Timestamp, TraceContext, Transport};
#[cfg(feature = "otlp")]
pub use otlp::{SpanSource, rejected_spans, trace_request};

/// A command that has ended, as a span.
#[derive(Clone, Debug)]
pub struct CommandSpan {
    /// The command.
    pub id: CorrelationId,
    /// The place of its call in a trace that the client records. `None`: the span is the root of a trace
    /// of its own.
    pub parent: Option<TraceContext>,
    /// The action's name.
    pub action: &'static str,
    /// How it was delivered last, if it was.
    pub transport: Option<Transport>,
    /// How it ended.
    pub end: StatusWord,
    /// The word for the reason, if it has no result.
    pub code: Option<Arc<str>>,
    /// What its browser is called.
    pub browser: Option<Arc<str>>,
    /// When it was accepted.
    pub created: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// The phases that it has reached.
    pub phases: Vec<TracePoint>,
}

/// The context that work within a command belongs to: that of the command's span if the span is recorded
/// in the client's trace, else the client's own.
#[must_use]
pub fn context_within(
    id: &CorrelationId,
    context: &TraceContext,
    records_spans: bool,
) -> TraceContext {
    if records_spans && context.is_sampled() {
        context.within(span_id(id))
    } else {
        context.clone()
    }
}

impl CommandSpan {
    /// The trace that it is in.
    #[must_use]
    pub fn trace_id(&self) -> [u8; 16] {
        let own = || first_bytes(&digest(&self.id));
        self.parent.as_ref().map_or_else(own, TraceContext::trace_id)
    }

    /// Its own id.
    #[must_use]
    pub fn span_id(&self) -> [u8; 8] {
        span_id(&self.id)
    }
}

/// The id of a command's span. It comes from the command's, so that a restarted daemon has the same and
/// nothing needs to be kept.
fn span_id(id: &CorrelationId) -> [u8; 8] {
    first_bytes(&digest(id)[16..])
}

fn digest(id: &CorrelationId) -> [u8; 32] {
    blake3::hash(id.as_str().as_bytes()).into()
}

fn first_bytes<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut first = [0; N];
    first.copy_from_slice(&bytes[..N]);
    first
}
