//! What analyses tell of pages goes through the same net as what is recorded of them.

use super::Hub;
use crate::engine::{is_analysis, redact_report};
use crate::protocol::{CorrelationId, ExtensionReport};

impl Hub {
    /// Takes the secrets out of a report on a command, if it is an analysis. A large result takes
    /// milliseconds: not behind the lock.
    pub(super) fn redact_report(&self, id: &CorrelationId, report: &mut ExtensionReport) {
        let action = self.0.commands.get(id).and_then(|tracked| {
            let command = tracked.borrow();
            command.spec().work.action().filter(|action| is_analysis(action)).cloned()
        });
        if let Some(action) = action {
            redact_report(&action, report);
        }
    }
}
