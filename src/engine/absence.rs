//! Why no browser is connected, as far as the daemon knows, and the next step.

use std::time::Duration;

use super::browsers::BrowserState;
use super::refusal::RefusalReason;
use super::{Engine, Transaction};
use crate::protocol::Timestamp;

/// How long `tabwire status` shows an outdated extension after its last attempt. The extension tries
/// every 5 s.
const OUTDATED_FOR: Duration = Duration::from_secs(60);

/// When the daemon last rejected a handshake. An extension that has proven no key has no name here:
/// the daemon knows the time of its attempt and nothing else.
#[derive(Debug, Default)]
pub(super) struct RejectedHandshakes {
    /// By an extension of an older protocol.
    outdated: Option<Timestamp>,
    /// By an extension that did not prove the key.
    wrong_key: Option<Timestamp>,
}

impl Engine {
    /// Whether an extension that is too old has tried a moment ago.
    #[must_use]
    pub fn has_outdated_extension(&self, now: Timestamp) -> bool {
        self.rejected.outdated.is_some_and(|last| now.since(last) <= OUTDATED_FOR)
    }
}

impl Transaction<'_> {
    /// Notes that an extension tried to connect that speaks older versions of the protocol only.
    pub fn note_outdated_extension(&mut self) {
        self.rejected.outdated = Some(self.now());
    }

    /// Notes that an extension tried to connect that does not prove the key.
    pub fn note_wrong_key(&mut self) {
        self.rejected.wrong_key = Some(self.now());
    }

    /// Why a command for any browser still waits, in sentences, if only old extensions are connected
    /// that do not know its action.
    #[must_use]
    pub fn unsupported_here(&self, action: &str) -> Option<String> {
        let mut connected = self.browsers.values().filter(|browser| browser.is_connected());
        let first = connected.next()?;
        let is_old = |browser: &BrowserState| browser.poller().is_some() && !browser.knows(action);
        (is_old(first) && connected.all(is_old)).then(|| {
            let what = RefusalReason::too_old_for(action, first.extension_version());
            format!("{what}. {}", RefusalReason::NEEDS_OWN_EXTENSION)
        })
    }

    /// Why no browser is connected, and the next step, in sentences. `None` if one is connected.
    pub fn browser_absence(&mut self) -> Option<String> {
        if self.browsers.values().any(BrowserState::is_connected) {
            return None;
        }
        let now = self.now();
        let ago = |at: Timestamp| in_words(now.since(at));
        // A browser that commands of an earlier life of the daemon are for has no label yet.
        let seen = self.browsers.values().filter(|browser| !browser.label().is_empty());
        let last = seen.max_by_key(|browser| browser.last_seen());
        let last_seen = last.map(|browser| browser.last_seen());
        let mut sentences = vec![match last {
            Some(last) => {
                format!("The last browser, `{}`, left {}.", last.label(), ago(last.last_seen()))
            }
            None => {
                let started = ago(self.started);
                format!("No browser has connected since the daemon started {started}.")
            }
        }];
        // An attempt before the last browser came says nothing of why it is away now.
        let since =
            |tried: Option<Timestamp>| tried.filter(|at| last_seen.is_none_or(|seen| *at > seen));
        let rejected = &self.rejected;
        let causes = [
            (since(rejected.wrong_key), "A Tabwire extension with a wrong key"),
            (since(rejected.outdated), "A Tabwire extension that is too old for this daemon"),
        ];
        for (at, what) in causes {
            let Some(at) = at else { continue };
            sentences.push(format!(
                "{what} tried to connect {}: ask the person to run `tabwire install` and then to \
                 reload the extension at chrome://extensions.",
                ago(at)
            ));
        }
        if !self.knock_list().is_empty() {
            sentences.push(
                "An older extension asks to be let in: `tabwire legacy` shows it.".to_owned(),
            );
        }
        if sentences.len() == 1 {
            sentences.push(
                "Ask the person to open the browser and to check that the Tabwire extension is \
                 enabled (`tabwire install` says how to load it)."
                    .to_owned(),
            );
        }
        sentences.push("`tabwire doctor` names what is missing.".to_owned());
        Some(sentences.join(" "))
    }
}

fn in_words(length: Duration) -> String {
    match length.as_secs() {
        seconds @ 0..120 => format!("{seconds} s ago"),
        seconds @ 120..7_200 => format!("{} min ago", seconds / 60),
        seconds => format!("{} h ago", seconds / 3_600),
    }
}
