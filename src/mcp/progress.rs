//! The progress of a call that waits for a command, as notifications on the call's token.

use serde::Serialize;
use serde_json::{Map, Number, Value, json};

use super::trace_meta;
use crate::hub::CommandFollower;
use crate::protocol::{self, CommandStatus, TraceContext};

/// The notification that says how far something is.
pub(super) const PROGRESS: &str = "notifications/progress";

/// The notifications of one call that waits.
#[derive(Debug)]
pub struct CallProgress {
    token: Value,
    following: CommandFollower,
    said: Option<ReportedProgress>,
}

/// How far it was said to be: it may only ever be farther.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ReportedProgress {
    progress: f64,
    /// Whether that is a part of 1, or just a count.
    is_part: bool,
}

/// The token under which a client wants to hear of a request's progress.
pub(super) fn progress_token(params: &Map<String, Value>) -> Option<&Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then_some(token)
}

impl CallProgress {
    pub(super) const fn new(token: Value, following: CommandFollower) -> Self {
        Self { token, following, said: None }
    }

    /// The next notification, as the whole message that goes out; `None` once there are no
    /// more.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            let report = self.following.next().await?;
            let CommandStatus::Pending { progress: Some(progress), .. } = report.status else {
                return None;
            };
            if let Some(said) = ReportedProgress::after(self.said, progress.progress) {
                self.said = Some(said);
                return Some(self.message(said, &progress, report.trace_context.as_ref()));
            }
        }
    }

    fn message(
        &self,
        said: ReportedProgress,
        progress: &protocol::CommandProgress,
        context: Option<&TraceContext>,
    ) -> String {
        let mut params = json!({"progressToken": self.token, "progress": said.number()});
        if said.is_part {
            params["total"] = 1.into();
        }
        if let Some(message) = &progress.message {
            params["message"] = (**message).into();
        }
        params["_meta"] = json!({
            "tabwire/jobId": self.following.id(), "tabwire/timestamp": progress.at,
        });
        trace_meta::add_to(&mut params["_meta"], context);
        notification(PROGRESS, &params)
    }
}

impl ReportedProgress {
    /// How far to say it is when it is said to be at `part`. `None`: it was said to be at
    /// its end, and there is nothing farther.
    fn after(before: Option<Self>, part: Option<f64>) -> Option<Self> {
        let farther = |part: &f64| before.is_none_or(|before| *part > before.progress);
        match (before, part.filter(farther)) {
            (_, Some(part)) => Some(Self { progress: part, is_part: true }),
            // The smallest step: clients drop progress that does not grow.
            (Some(Self { progress, is_part: true }), None) => {
                let progress = progress.next_up();
                (progress <= 1.0).then_some(Self { progress, is_part: true })
            }
            // A job without a known length counts its steps.
            (before, None) => {
                let progress = before.map_or(0.0, |before| before.progress) + 1.0;
                Some(Self { progress, is_part: false })
            }
        }
    }

    /// A count without a fraction: 2, not 2.0.
    fn number(self) -> Value {
        #[expect(clippy::cast_possible_truncation, reason = "counts, and 0 and 1, are whole")]
        let whole = self.progress as i64;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a whole number that is not the same is none"
        )]
        let is_whole = whole as f64 == self.progress;
        if is_whole {
            whole.into()
        } else {
            Number::from_f64(self.progress).map_or(Value::Null, Value::Number)
        }
    }
}

/// A notification as the whole message that goes out.
pub(super) fn notification(method: &str, params: &impl Serialize) -> String {
    let message = NotificationMessage { jsonrpc: "2.0", method, params };
    serde_json::to_string(&message).unwrap_or_default()
}

#[derive(Serialize)]
struct NotificationMessage<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(parts: &[Option<f64>]) -> Vec<Option<(f64, bool)>> {
        let mut before = None;
        let each = |part: &Option<f64>| {
            let said = ReportedProgress::after(before, *part);
            before = said.or(before);
            said.map(|said| (said.progress, said.is_part))
        };
        parts.iter().map(each).collect()
    }

    #[test]
    fn what_is_said_is_always_farther_than_before() {
        let least = f64::EPSILON / 4.0;
        for (parts, expected) in [
            (
                vec![Some(0.0), Some(0.5), Some(1.0)],
                vec![Some((0.0, true)), Some((0.5, true)), Some((1.0, true))],
            ),
            (
                vec![None, None, None],
                vec![Some((1.0, false)), Some((2.0, false)), Some((3.0, false))],
            ),
            (vec![Some(0.25), Some(0.25)], vec![Some((0.25, true)), Some((0.25 + least, true))]),
            (
                vec![Some(0.25), Some(0.1), None],
                vec![
                    Some((0.25, true)),
                    Some((0.25 + least, true)),
                    Some((0.25 + 2.0 * least, true)),
                ],
            ),
            (vec![Some(1.0), Some(1.0), None], vec![Some((1.0, true)), None, None]),
            (
                vec![None, Some(0.5), Some(1.0)],
                vec![Some((1.0, false)), Some((2.0, false)), Some((3.0, false))],
            ),
        ] {
            assert_eq!(said(&parts), expected, "{parts:?}");
        }
    }

    #[test]
    fn numbers_look_as_they_would_be_written() {
        for (progress, expected) in [(0.0, "0"), (1.0, "1"), (3.0, "3"), (0.25, "0.25")] {
            assert_eq!(
                ReportedProgress { progress, is_part: false }.number().to_string(),
                expected
            );
        }
    }

    #[test]
    fn a_token_is_a_string_or_a_number() {
        let token = |token: Value| {
            let params = json!({"_meta": {"progressToken": token}});
            progress_token(params.as_object().unwrap()).cloned()
        };
        for good in [json!("a"), json!(""), json!(0), json!(-7), json!(1.5)] {
            assert_eq!(token(good.clone()), Some(good));
        }
        for bad in [json!(null), json!(true), json!([]), json!({})] {
            assert_eq!(token(bad.clone()), None, "{bad}");
        }
    }
}
