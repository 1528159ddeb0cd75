//! The place of a call in a trace of its client, as [W3C Trace Context](https://www.w3.org/TR/trace-context-2/)
//! writes it. The daemon hands it on and trusts it for nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest `tracestate`, in bytes: as much as the specification asks everybody to hand on.
pub const TRACE_STATE_MAX: usize = 512;

/// The most members of a `tracestate`.
const MEMBERS_MAX: usize = 32;

/// The longest key and the longest value of a member, in bytes.
const MEMBER_PART_MAX: usize = 256;

/// The length of a `traceparent` of version 00.
const PARENT_LENGTH: usize = 55;

/// The flags that version 00 defines: sampled, and a trace id that is random.
const KNOWN_FLAGS: u8 = 0b11;

/// The flag of a span that its maker records.
const SAMPLED: u8 = 0b01;

/// A `traceparent` and its `tracestate`, both well formed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "TraceFields", into = "TraceFields")]
pub struct TraceContext {
    trace_id: [u8; 16],
    parent_id: [u8; 8],
    flags: u8,
    state: Option<Arc<str>>,
}

/// The same as it stands in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFields {
    /// The trace and the span that the call is a part of.
    pub traceparent: String,
    /// What tracing systems have added to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<Arc<str>>,
}

impl TraceContext {
    /// Reads both. `None`: `traceparent` is malformed, and the call is a part of no trace. A malformed
    /// or overlong `tracestate` is left out.
    #[must_use]
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let (head, rest) = traceparent.as_bytes().split_at_checked(PARENT_LENGTH)?;
        let [version, trace_id, parent_id, flags] = split_parent(head)?;
        let [version] = hex::<1>(version)?;
        // A later version may have more parts; the first four stay.
        let is_whole = if version == 0 { rest.is_empty() } else { matches!(rest, [] | [b'-', ..]) };
        if version == u8::MAX || !is_whole {
            return None;
        }
        let (trace_id, parent_id) = (hex(trace_id)?, hex(parent_id)?);
        let [flags] = hex::<1>(flags)?;
        if trace_id == [0; 16] || parent_id == [0; 8] {
            return None;
        }
        let state = tracestate.filter(|state| is_state(state)).map(Into::into);
        Some(Self { trace_id, parent_id, flags: flags & KNOWN_FLAGS, state })
    }

    /// The id of the trace.
    #[must_use]
    pub const fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The id of the span that made the call.
    #[must_use]
    pub const fn parent_id(&self) -> [u8; 8] {
        self.parent_id
    }

    /// Whether the caller records its span.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The `tracestate`.
    #[must_use]
    pub const fn state(&self) -> Option<&Arc<str>> {
        self.state.as_ref()
    }

    /// The same trace, for work that is done within this span.
    #[must_use]
    pub fn within(&self, span_id: [u8; 8]) -> Self {
        Self { parent_id: span_id, ..self.clone() }
    }

    /// Both as they stand in JSON.
    #[must_use]
    pub fn fields(&self) -> TraceFields {
        let (trace, parent) = (to_hex(&self.trace_id), to_hex(&self.parent_id));
        let traceparent = format!("00-{trace}-{parent}-{:02x}", self.flags);
        TraceFields { traceparent, tracestate: self.state.clone() }
    }
}

impl From<TraceContext> for TraceFields {
    fn from(context: TraceContext) -> Self {
        context.fields()
    }
}

impl TryFrom<TraceFields> for TraceContext {
    type Error = &'static str;

    fn try_from(fields: TraceFields) -> Result<Self, Self::Error> {
        let read = Self::parse(&fields.traceparent, fields.tracestate.as_deref());
        read.ok_or("`traceparent` is malformed")
    }
}

/// The four parts of a `traceparent`.
fn split_parent(text: &[u8]) -> Option<[&[u8]; 4]> {
    let mut parts = text.split(|byte| *byte == b'-');
    let four = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(four)
}

/// Exactly `N` bytes in lower-case hexadecimal.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4) | digit(pair[1])?;
    }
    Some(bytes)
}

const fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether this is a `tracestate` with a member at least.
fn is_state(text: &str) -> bool {
    if text.len() > TRACE_STATE_MAX {
        return false;
    }
    let members = text.split(',').map(|member| member.trim_matches([' ', '\t']));
    let members: Vec<_> = members.filter(|member| !member.is_empty()).collect();
    let mut keys = Vec::new();
    for member in &members {
        let Some((key, value)) = member.split_once('=') else { return false };
        if !is_key(key) || !is_value(value) || keys.contains(&key) {
            return false;
        }
        keys.push(key);
    }
    (1..=MEMBERS_MAX).contains(&members.len())
}

fn is_key(key: &str) -> bool {
    let is_part = |part: &str| {
        let first = part.bytes().next();
        let begins = first.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_inner = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(&byte)
        };
        begins && part.bytes().all(is_inner)
    };
    // With several tenants of one system: `tenant@system`.
    let is_well = match key.split_once('@') {
        Some((tenant, system)) => is_part(tenant) && is_part(system),
        None => is_part(key),
    };
    is_well && key.len() <= MEMBER_PART_MAX
}

fn is_value(value: &str) -> bool {
    let is_inner = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    (1..=MEMBER_PART_MAX).contains(&value.len()) && value.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::protocol::garbled;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(traceparent: &str) -> Option<String> {
        Some(TraceContext::parse(traceparent, None)?.fields().traceparent)
    }

    #[test]
    fn a_well_formed_traceparent_is_handed_on_as_it_came() {
        let context = TraceContext::parse(PARENT, Some("vendor=1, t@sys=a b")).unwrap();
        let fields = context.fields();
        assert_eq!(fields.traceparent, PARENT);
        assert_eq!(fields.tracestate.as_deref(), Some("vendor=1, t@sys=a b"));
        assert!(context.is_sampled());
        assert!(!TraceContext::parse(&PARENT.replace("-01", "-02"), None).unwrap().is_sampled());
        let json = serde_json::to_string(&context).unwrap();
        assert_eq!(serde_json::from_str::<TraceContext>(&json).unwrap(), context);
    }

    #[test]
    fn a_later_version_is_handed_on_as_this_one_with_the_flags_that_this_one_has() {
        assert_eq!(read(&PARENT.replacen("00", "01", 1)).as_deref(), Some(PARENT));
        let longer = format!("{}-more", PARENT.replacen("00", "fe", 1));
        assert_eq!(read(&longer).as_deref(), Some(PARENT));
        assert_eq!(read(&PARENT.replace("-01", "-ff")), Some(PARENT.replace("-01", "-03")));
    }

    #[test]
    fn a_malformed_traceparent_is_no_context() {
        let zero_trace = PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let zero_span = PARENT.replace("00f067aa0ba902b7", &"0".repeat(16));
        for wrong in [
            "",
            "00",
            &PARENT[..54],
            &format!("{PARENT}-"),
            &format!("{PARENT}0"),
            &format!(" {PARENT}"),
            &PARENT.to_uppercase(),
            &PARENT.replacen("00", "ff", 1),
            &format!("{}0", PARENT.replacen("00", "01", 1)),
            &PARENT.replace('-', "_"),
            &PARENT.replace("4bf", "4bg"),
            &zero_trace,
            &zero_span,
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_malformed_or_overlong_tracestate_is_left_out_and_the_traceparent_stays() {
        let state = |text: &str| {
            let context = TraceContext::parse(PARENT, Some(text)).unwrap();
            context.state().map(ToString::to_string)
        };
        let longest = format!("k={},l={}", "v".repeat(256), "v".repeat(251));
        assert_eq!(longest.len(), TRACE_STATE_MAX);
        let most = (0..32).map(|number| format!("k{number}=v")).collect::<Vec<_>>().join(",");
        for good in ["a=1", "a=1,,b=2", "0@a/b=x y", &longest, &most] {
            assert_eq!(state(good).as_deref(), Some(good));
        }
        for wrong in [
            "",
            ",",
            "a",
            "a=",
            "=1",
            "A=1",
            "a=1,a=2",
            "a=é",
            "a=1=2",
            "@a=1",
            "a@=1",
            "a@b@c=1",
            &format!("{longest}v"),
            &format!("{most},k=v"),
            &format!("k={}", "v".repeat(257)),
        ] {
            assert_eq!(state(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_read_is_written_so_that_it_is_read_the_same() {
        let samples = [PARENT, "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff-x"];
        proptest!(garbled::cases(4_000), |(text in garbled::nearly_text(&samples))| {
            if let Some(context) = TraceContext::parse(&text, Some(&text)) {
                let fields = context.fields();
                prop_assert_eq!(fields.traceparent.len(), PARENT_LENGTH);
                prop_assert!(fields.traceparent.starts_with("00-"));
                prop_assert_eq!(TraceContext::try_from(fields), Ok(context));
            }
        });
    }
}
