//! Redaction of analyses, by the same rules as for recorded streams.

use crate::protocol::{Action, ExtensionReport};
use crate::streams::redact_json;

/// Whether a report on this action may contain secrets of a page.
pub(crate) fn is_analysis(action: &Action) -> bool {
    action.is_analysis()
}

/// Redacts a report on this action, if it is an analysis. A large result takes milliseconds.
pub(crate) fn redact_report(action: &Action, report: &mut ExtensionReport) {
    if let ExtensionReport::Complete { result, .. } = report
        && is_analysis(action)
        && let Some(clean) = redact_json(result)
    {
        *result = clean.into();
    }
}
