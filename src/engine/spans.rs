//! Commands that are over, for a collector of traces.

use super::Transaction;
use super::past_acts::is_code;
use crate::lifecycle::Command;
use crate::protocol::{DOCTOR_CLIENT, TraceContext};
use crate::spans::CommandSpan;

impl Transaction<'_> {
    /// Gives a command that has ended to the shell as a span, if the shell exports spans.
    pub(super) fn note_span(&mut self, command: &Command) {
        let spec = command.spec();
        if !self.effects().records_spans || spec.client.as_str() == DOCTOR_CLIENT {
            return;
        }
        let summary = command.summary(None);
        let span = CommandSpan {
            id: spec.id.clone(),
            parent: spec.trace_context.clone().filter(TraceContext::is_sampled),
            action: spec.work.name(),
            transport: command.delivery().map(|delivery| delivery.transport),
            end: summary.status,
            // An extension may report any text.
            code: summary.reason.filter(|reason| is_code(reason)),
            browser: self.browser_label_of(command),
            created: spec.created,
            ended: summary.ended_at.unwrap_or_else(|| self.now()),
            phases: command.marks().to_vec(),
        };
        self.effects().spans.push(span);
    }
}
