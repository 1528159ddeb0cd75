//! Idempotency keys, and the digest that tells whether two calls under one key are the same call.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{CommandWork, TargetSelector};

/// A call in 16 bytes: its work, and the target that the call names. The tab that a call without a
/// target goes to does not count: a repeated call is the same call even if its client has switched
/// tabs in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallDigest([u8; CallDigest::BYTES]);

/// An idempotency key, and the digest of the call that brings it.
#[derive(Clone, Debug)]
pub struct CallKey {
    /// The key.
    pub key: Arc<str>,
    /// The digest of the call.
    pub digest: CallDigest,
}

impl CallDigest {
    const BYTES: usize = 16;

    /// The digest of a call.
    #[must_use]
    pub fn of(work: &CommandWork, target: &TargetSelector) -> Self {
        let mut hash = Sha256::new();
        let record = work.to_record();
        // Every part is preceded by its length, so that no two calls give the same bytes.
        hash.update((record.len() as u64).to_be_bytes());
        hash.update(record);
        if let Some(browser) = &target.browser {
            hash.update([b'b']);
            hash.update((browser.len() as u64).to_be_bytes());
            hash.update(browser);
        }
        if let Some(tab) = target.tab {
            hash.update([b't']);
            hash.update(tab.0.to_be_bytes());
        }
        let mut digest = [0; Self::BYTES];
        digest.copy_from_slice(&hash.finalize()[..Self::BYTES]);
        Self(digest)
    }

    /// The digest with these bytes, read from the journal.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl CallKey {
    /// The key of a call, if it has one.
    #[must_use]
    pub fn of(key: Option<Arc<str>>, work: &CommandWork, target: &TargetSelector) -> Option<Self> {
        Some(Self { key: key?, digest: CallDigest::of(work, target) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::actions::{ExecuteJsAction, RefreshAction};
    use crate::protocol::{Action, TabId};

    #[test]
    fn calls_have_one_digest_if_work_and_target_are_the_same_and_else_another() {
        let work = |script: &str| {
            CommandWork::from(Action::ExecuteJs(ExecuteJsAction {
                script: script.to_owned(),
                user_gesture: None,
            }))
        };
        let target = |browser: Option<&str>, tab: Option<i64>| TargetSelector {
            browser: browser.map(str::to_owned),
            tab: tab.map(TabId),
        };
        let calls = [
            (work("1"), target(None, None)),
            (work("2"), target(None, None)),
            (work("1"), target(None, Some(1))),
            (work("1"), target(None, Some(2))),
            (work("1"), target(Some("a"), None)),
            (work("1"), target(Some("b"), None)),
            (work("1"), target(Some("a"), Some(1))),
            (CommandWork::from(Action::Refresh(RefreshAction {})), target(None, None)),
        ];
        let digests: Vec<_> = calls.iter().map(|(work, to)| CallDigest::of(work, to)).collect();
        for (at, (work, to)) in calls.iter().enumerate() {
            let same = digests.iter().filter(|digest| **digest == CallDigest::of(work, to));
            assert_eq!(same.count(), 1, "{at}");
        }
    }

    #[test]
    fn a_digest_is_the_same_in_every_build_since_the_journal_outlives_them() {
        let work = CommandWork::from(Action::ExecuteJs(ExecuteJsAction {
            script: "document.title".to_owned(),
            user_gesture: None,
        }));
        let target = TargetSelector { browser: Some("Chromium".to_owned()), tab: Some(TabId(7)) };
        let hex: String =
            CallDigest::of(&work, &target).bytes().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, "7e38b4fb2dd68bc960468efb00aa9138");
    }
}
