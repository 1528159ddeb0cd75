//! Who is there, which tabs clients give back, and how their commands meet dialogs.

use super::{Caller, Hub};
use crate::engine::{CallRefusal, DialogHandling};
use crate::lifecycle::TargetSelector;
use crate::protocol::TabId;

impl Hub {
    /// The client has an open stream until the guard is dropped.
    #[must_use]
    pub fn present(&self, caller: &Caller) -> PresenceGuard {
        self.transact(|tx| tx.begin_stream(caller));
        PresenceGuard { hub: self.clone(), caller: caller.clone() }
    }

    /// A client gives a tab back. Returns the tab, and whether the client held it. `must_name_tab`: a
    /// call that names none is refused while its client uses several tabs.
    ///
    /// # Errors
    ///
    /// There is no such tab, it could be in several browsers, or the call has to name one.
    pub fn release_tab(
        &self,
        caller: &Caller,
        selector: &TargetSelector,
        must_name_tab: bool,
    ) -> Result<(TabId, bool), CallRefusal> {
        self.transact(|tx| tx.release_tab(caller, selector, must_name_tab))
    }

    /// Sets what becomes of the dialogs that a client's commands meet.
    pub fn handle_dialogs(&self, caller: &Caller, dialogs: DialogHandling) {
        self.transact(|tx| tx.handle_dialogs(caller, dialogs));
    }
}

/// An open stream of a client.
#[derive(Debug)]
pub struct PresenceGuard {
    hub: Hub,
    caller: Caller,
}

impl Drop for PresenceGuard {
    fn drop(&mut self) {
        self.hub.transact(|tx| tx.end_stream(&self.caller));
    }
}
