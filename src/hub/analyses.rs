//! Redaction of analyses, by the same rules as for recorded streams.

use super::Hub;
use crate::engine::redact_report;
use crate::protocol::{CorrelationId, ExtensionReport};

impl Hub {
    /// Redacts a report on an analysis. A large result takes milliseconds, so this runs outside the
    /// lock.
    pub(super) fn redact_report(&self, id: &CorrelationId, report: &mut ExtensionReport) {
        let action = self.0.commands.get(id).and_then(|tracked| {
            let command = tracked.borrow();
            command.spec().work.action().filter(|action| action.is_analysis()).cloned()
        });
        if let Some(action) = action {
            redact_report(&action, report);
        }
    }
}
