//! Extensions of ours that are too old for this daemon: they are turned away before their proof,
//! so all that is known of them is that one has tried.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Hub;
use crate::protocol::Moment;

/// How long after its last try an outdated extension is told of. It tries every 5 s.
const TOLD: Duration = Duration::from_secs(60);

/// When an outdated extension tried last, in µs since the Unix epoch; 0 for never.
#[derive(Debug, Default)]
pub(super) struct LastOutdated(AtomicU64);

impl Hub {
    /// Notes that an extension tried to connect that speaks older versions of the protocol only.
    pub fn note_outdated_extension(&self) {
        self.0.outdated.0.store(self.now().unix_micros(), Ordering::Relaxed);
    }

    /// Whether one has tried a moment ago.
    #[must_use]
    pub fn has_outdated_extension(&self) -> bool {
        let last = self.0.outdated.0.load(Ordering::Relaxed);
        last > 0 && self.now().since(Moment::from_unix_micros(last)) <= TOLD
    }
}
