//! Who calls: the name under which the daemon remembers a caller's tab.

use crate::os;

/// One name for all calls of a terminal, and for all calls of a script that has none.
pub(super) fn default_client() -> String {
    os::lasting_caller().map_or_else(|| "call".to_owned(), |process| format!("call-{process}"))
}
