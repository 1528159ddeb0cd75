//! The place of a message in a trace of its client: `traceparent` and `tracestate` of `_meta`, which the
//! specification takes over from W3C Trace Context (SEP-414). `baggage` is left alone.

use serde_json::{Map, Value};

use crate::protocol::{TraceContext, TraceFields};

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

/// The context that a request names. `None`: it names none, or none that is well formed.
pub(super) fn context_of(params: &Map<String, Value>) -> Option<TraceContext> {
    let meta = params.get("_meta")?;
    let text = |name| meta.get(name).and_then(Value::as_str);
    TraceContext::parse(text(PARENT)?, text(STATE))
}

/// Adds the context of the command that a message tells of.
pub(super) fn add_to(meta: &mut Value, context: Option<&TraceContext>) {
    let Some(TraceFields { traceparent, tracestate }) = context.map(TraceContext::fields) else {
        return;
    };
    meta[PARENT] = traceparent.into();
    if let Some(state) = tracestate {
        meta[STATE] = (*state).into();
    }
}
