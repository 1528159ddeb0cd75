//! Redaction of analyses, by the same rules as for recorded streams.

use crate::protocol::{Action, ExtensionReport};
use crate::streams::redact_json;

/// Redacts a report on this action, if it is an analysis. A large result takes milliseconds.
pub(crate) fn redact_report(action: &Action, report: &mut ExtensionReport) {
    if let ExtensionReport::Complete { result, .. } = report
        && action.is_analysis()
        && let Some(clean) = redact_json(result)
    {
        *result = clean.into();
    }
}
