//! What analyses tell of pages goes through the same net as what is recorded of them.

use super::Hub;
use crate::protocol::{Action, CorrelationId, ExtensionReport};
use crate::streams::redact_json;

impl Hub {
    /// A report on a command as it is kept. A large result takes milliseconds: not behind the lock.
    pub(super) fn without_secrets(
        &self,
        id: &CorrelationId,
        report: ExtensionReport,
    ) -> ExtensionReport {
        let action = self.0.commands.get(id).and_then(|tracked| {
            let command = tracked.borrow();
            command.facts().work.action().filter(|action| is_analysis(action)).cloned()
        });
        match action {
            Some(action) => without_secrets(&action, report),
            None => report,
        }
    }
}

const fn is_analysis(action: &Action) -> bool {
    matches!(action, Action::Analyze(_))
}

/// A report on this action without the secrets that an analysis has found.
pub(super) fn without_secrets(action: &Action, report: ExtensionReport) -> ExtensionReport {
    match report {
        ExtensionReport::Complete { result, origin } if is_analysis(action) => {
            let result = redact_json(&result).map_or(result, Into::into);
            ExtensionReport::Complete { result, origin }
        }
        other => other,
    }
}
