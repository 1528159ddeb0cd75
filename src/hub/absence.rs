//! The reasons that callers get while no browser is connected.

use super::Hub;
use crate::protocol::{CommandReport, CommandStatus};

impl Hub {
    /// Notes that an extension tried to connect that speaks older versions of the protocol only.
    pub fn note_outdated_extension(&self) {
        self.transact(|tx| tx.note_outdated_extension());
    }

    /// Notes that an extension tried to connect that does not prove the key.
    pub fn note_wrong_key(&self) {
        self.transact(|tx| tx.note_wrong_key());
    }

    /// Whether an outdated extension has tried to connect recently.
    #[must_use]
    pub fn has_outdated_extension(&self) -> bool {
        let now = self.now();
        self.view(|engine| engine.has_outdated_extension(now))
    }

    /// Why no browser is connected, and the next step, in sentences. `None` if one is connected.
    #[must_use]
    pub fn browser_absence(&self) -> Option<String> {
        self.transact(|tx| tx.browser_absence())
    }

    /// Adds the reason to the hint of a command that waits for a browser, or expired while it waited.
    pub(super) fn explain_absence(&self, report: &mut CommandReport) {
        if !report.lacks_browser {
            return;
        }
        let command = report.command;
        let unsupported = || self.transact(|tx| tx.unsupported_here(command));
        let Some(known) = self.browser_absence().or_else(unsupported) else { return };
        if let CommandStatus::Pending { hint, .. } | CommandStatus::Expired { hint, .. } =
            &mut report.status
        {
            *hint = known.into();
        }
    }
}
