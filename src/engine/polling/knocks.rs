//! Extensions that poll and are not let in: who asks, as a person and agents are shown it.
//!
//! Nothing that such an extension says is trusted. Its id has the form of one and its version is
//! digits and points; how many are remembered is bounded, and one that goes on asking keeps its
//! place against any number of newcomers.

use std::sync::Arc;
use std::time::Duration;

use super::sessions::{Poller, is_browser_of};
use crate::engine::browsers::BrowserState;
use crate::engine::{Engine, Transaction};
use crate::home::{LegacyAnswer, LegacyMode, PollingPolicy};
use crate::protocol::{
    AdmittedExtension, AskingExtension, BrowserId, InstanceId, OlderExtensions, Timestamp,
    ToExtension, plain_version,
};

/// How many that ask are remembered.
const KNOCKS_MAX: usize = 16;

/// How long one that asks keeps its place against newcomers: such extensions ask every 2 s.
const KNOCK_FRESH: Duration = Duration::from_secs(10);

/// How long one that has asked is shown. Their workers are woken once a minute.
const KNOCK_SHOWN: Duration = Duration::from_secs(70);

/// How long a nameless extension must have polled before it is shown: one that names itself does
/// so every 2 s, also after a restart of the daemon.
const NAMELESS_AFTER: Duration = Duration::from_secs(10);

/// An extension that asks to be let in.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct KnockSummary {
    /// The extension: the daemon knows no more of it than that a request named it.
    pub extension_id: String,
    /// The version that it says it has; `unknown` if that is none.
    pub extension_version: String,
    /// When it asked last.
    pub last_seen: Timestamp,
    /// How often it has asked.
    pub count: u64,
}

/// An extension that polls and never says which one it is, so nobody can let it in.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct NamelessPoller {
    /// The version that it says it has; `unknown` if that is none.
    pub extension_version: String,
    /// When it polled last.
    pub last_seen: Timestamp,
}

/// Those who ask.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct KnockList {
    /// Oldest first.
    pub asking: Vec<KnockSummary>,
    /// Those that ask while polling is switched off for all.
    pub switched_off: Vec<KnockSummary>,
    /// One that polls without saying which it is.
    pub nameless: Option<NamelessPoller>,
    /// How often others asked for whom there was no place.
    pub not_shown: u64,
}

impl KnockList {
    /// Whether nobody asks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.asking.is_empty() && self.switched_off.is_empty() && self.nameless.is_none()
    }
}

#[derive(Debug)]
struct Knock {
    summary: KnockSummary,
    /// The session that it named last, if it was listened to so far.
    session: Option<InstanceId>,
}

/// Polls of a session that no extension has named.
#[derive(Debug)]
struct NamelessPolls {
    since: Timestamp,
    last: NamelessPoller,
}

/// The extensions that poll without being let in, and those that are let in.
#[derive(Debug, Default)]
pub(in crate::engine) struct Knocks {
    known: Vec<Knock>,
    nameless: Option<NamelessPolls>,
    not_shown: u64,
    /// Who is let in, as it stands in the state directory.
    rights: Arc<PollingPolicy>,
    /// The list that paired extensions got last.
    told: Arc<OlderExtensions>,
}

impl Knocks {
    /// Notes that an extension asks. Whether it did not before.
    fn note(
        &mut self,
        id: &str,
        session: Option<&InstanceId>,
        version: &str,
        now: Timestamp,
    ) -> bool {
        let extension_version = plain_version(version).to_owned();
        if let Some(known) = self.known.iter_mut().find(|k| k.summary.extension_id == id) {
            known.session = session.cloned();
            known.summary.last_seen = now;
            known.summary.count += 1;
            known.summary.extension_version = extension_version;
            return false;
        }
        if self.known.len() >= KNOCKS_MAX && !self.drop_stale(now) {
            self.not_shown += 1;
            return false;
        }
        let summary = KnockSummary {
            extension_id: id.to_owned(),
            extension_version,
            last_seen: now,
            count: 1,
        };
        self.known.push(Knock { summary, session: session.cloned() });
        true
    }

    /// Notes a poll of a session that no extension has named. Whether it is to be shown from now
    /// on.
    fn note_nameless(&mut self, version: &str, now: Timestamp) -> bool {
        let was_shown = self.nameless_poller(now).is_some();
        let before = self.nameless.take();
        let goes_on = before.filter(|polls| now.since(polls.last.last_seen) < KNOCK_FRESH);
        let since = goes_on.map_or(now, |polls| polls.since);
        let extension_version = plain_version(version).to_owned();
        let last = NamelessPoller { extension_version, last_seen: now };
        self.nameless = Some(NamelessPolls { since, last });
        !was_shown && self.nameless_poller(now).is_some()
    }

    /// Those that are not let in. One that just was stays known by its session, so that its next
    /// poll counts.
    fn asking(&self) -> impl Iterator<Item = &KnockSummary> {
        let summaries = self.known.iter().map(|knock| &knock.summary);
        summaries.filter(|of| self.rights.answer(&of.extension_id) != LegacyAnswer::Welcome)
    }

    fn nameless_poller(&self, now: Timestamp) -> Option<&NamelessPoller> {
        let NamelessPolls { since, last } = self.nameless.as_ref()?;
        let has_gone_on = last.last_seen.since(*since) >= NAMELESS_AFTER;
        (has_gone_on && now.since(last.last_seen) < KNOCK_SHOWN).then_some(last)
    }

    /// Makes room for a newcomer. False: all ask still.
    fn drop_stale(&mut self, now: Timestamp) -> bool {
        let seen = |knock: &Knock| knock.summary.last_seen;
        let oldest = (0..self.known.len()).min_by_key(|at| self.known.get(*at).map(seen));
        let Some(at) = oldest else { return true };
        let is_stale = self.known.get(at).is_some_and(|k| now.since(seen(k)) >= KNOCK_FRESH);
        if is_stale {
            self.known.remove(at);
        }
        is_stale
    }

    /// Forgets an extension that asked. Whether it did.
    fn forget(&mut self, id: &str) -> bool {
        let before = self.known.len();
        self.known.retain(|knock| knock.summary.extension_id != id);
        self.known.len() < before
    }
}

impl Engine {
    /// The extension that asks under this session.
    #[must_use]
    pub fn knocking_under(&self, session: &InstanceId) -> Option<String> {
        let mut known = self.knocks.known.iter();
        let found = known.find(|knock| knock.session.as_ref() == Some(session));
        found.map(|knock| knock.summary.extension_id.clone())
    }

    /// The extensions that poll now.
    #[must_use]
    pub fn polling_extensions(&self) -> Vec<String> {
        let pollers = self.browsers.values().filter_map(BrowserState::poller);
        let here = pollers.filter(|poller| poller.is_here);
        here.map(|poller| poller.extension_id.clone()).collect()
    }

    /// Who is let in to poll, as it was read last.
    #[must_use]
    pub fn poller_rights(&self) -> Arc<PollingPolicy> {
        self.knocks.rights.clone()
    }

    fn older_extensions(&self) -> OlderExtensions {
        let PollingPolicy { mode, approvals, ended, .. } = &*self.knocks.rights;
        // A click could not let one in while polling is switched off.
        let asking = self.knocks.asking().filter(|_| *mode != LegacyMode::Deny);
        let asking = asking.map(|summary| AskingExtension {
            extension_id: summary.extension_id.clone(),
            extension_version: summary.extension_version.clone(),
            was_let_in: ended.contains(&summary.extension_id),
        });
        let let_in = approvals.iter().map(|approval| AdmittedExtension {
            extension_id: approval.id.clone(),
            connected: self.polls_now(&approval.id),
        });
        OlderExtensions { asking: asking.collect(), let_in: let_in.collect() }
    }

    fn polls_now(&self, extension_id: &str) -> bool {
        let is_here = |poller: &Poller| poller.is_here;
        self.browsers.iter().any(|(id, browser)| {
            is_browser_of(id, extension_id) && browser.poller().is_some_and(is_here)
        })
    }
}

impl Transaction<'_> {
    /// Notes that an extension that is not let in names a session and so asks to be.
    pub fn note_knock(&mut self, extension_id: &str, session: &InstanceId, version: &str) {
        let now = self.now();
        // Only the first time: it asks every 2 s and would fill the log.
        if self.knocks.note(extension_id, Some(session), version, now) {
            tracing::warn!(
                extension_id,
                version = plain_version(version),
                "an older extension asks to be let in: if it is yours, run \
                 `tabwire legacy allow {extension_id}`"
            );
            self.tell_older_extensions();
        }
    }

    /// Notes that an extension asks while polling is switched off for all.
    pub fn note_switched_off(&mut self, extension_id: &str) {
        let now = self.now();
        if self.knocks.note(extension_id, None, "", now) {
            tracing::warn!(
                extension_id,
                "an older extension polls, and polling is switched off: `tabwire legacy ask` \
                 lets in those that a person allows"
            );
        }
    }

    /// Notes that something polls under a session that no extension has named.
    pub fn note_nameless(&mut self, version: &str) {
        let now = self.now();
        if self.knocks.note_nameless(version, now) {
            tracing::warn!(
                version = plain_version(version),
                "an extension polls that does not say which one it is, so it is too old to be \
                 let in: `tabwire install` sets up the Tabwire extension"
            );
        }
    }

    /// The extensions that are let in to poll, and those that ask. The latter only if they matter to
    /// an agent: no browser is connected, or the agent `lacks` the one that it named.
    pub fn poller_news(&mut self, lacks: bool) -> (Arc<PollingPolicy>, KnockList) {
        let asks = lacks || !self.browsers.values().any(BrowserState::is_connected);
        let knocks = if asks { self.knock_list() } else { KnockList::default() };
        (self.knocks.rights.clone(), knocks)
    }

    /// Forgets that an extension asked: it is let in, or must not be shown.
    pub fn forget_knock(&mut self, extension_id: &str) {
        if self.knocks.forget(extension_id) {
            self.tell_older_extensions();
        }
    }

    /// Who is let in to poll, as it stands in the state directory; paired extensions are told.
    pub fn set_poller_rights(&mut self, rights: PollingPolicy) {
        self.knocks.rights = Arc::new(rights);
        self.tell_older_extensions();
    }

    /// Those who ask to be let in.
    pub fn knock_list(&mut self) -> KnockList {
        self.sweep_knocks();
        let asking = self.knocks.asking().cloned().collect();
        let nameless = self.knocks.nameless_poller(self.now()).cloned();
        let mut list = KnockList { asking, nameless, ..KnockList::default() };
        list.not_shown = self.knocks.not_shown;
        if self.knocks.rights.mode == LegacyMode::Deny {
            list.switched_off = std::mem::take(&mut list.asking);
        }
        list
    }

    /// Forgets those who ask no more.
    pub(in crate::engine) fn sweep_knocks(&mut self) {
        let now = self.now();
        let before = self.knocks.known.len();
        self.knocks.known.retain(|knock| now.since(knock.summary.last_seen) < KNOCK_SHOWN);
        if self.knocks.known.len() < before {
            self.tell_older_extensions();
        }
    }

    /// Tells the paired extensions, if anything is other than they were told.
    pub(in crate::engine) fn tell_older_extensions(&mut self) {
        let now = self.older_extensions();
        if now == *self.knocks.told {
            return;
        }
        self.knocks.told = Arc::new(now);
        for browser in self.browsers.keys().cloned().collect::<Vec<_>>() {
            self.show_older_extensions(&browser, None);
        }
    }

    /// Tells one browser, if its extension shows such things.
    pub fn show_older_extensions(&mut self, browser: &BrowserId, problem: Option<String>) {
        if self.browsers.get(browser).is_some_and(|known| known.shows_older_extensions()) {
            let extensions = self.knocks.told.clone();
            self.send(browser, ToExtension::OlderExtensions { extensions, problem });
        }
    }
}
