//! Decisions of the person: the rules for sites and local files, the stop of a browser, and widenings
//! that wait for a confirmation.
//!
//! The extension enforces the rules. The daemon sends them to each extension before its first
//! command. An extension that cannot enforce a rule gets no command that the rule covers.

use std::sync::Arc;

use super::browsers::BrowserState;
use super::refusal::RefusalReason;
use super::targets;
use super::{Engine, Transaction};
use crate::lifecycle::{Command, Lane, LifecycleEvent, Peer};
use crate::protocol::{
    Action, BrowserId, CorrelationId, ExtensionReport, LocalFileRules, ReportedError, SiteRules,
    TabId, ToExtension, UnconfirmedWidening,
};

/// The decisions of the person for every browser.
#[derive(Debug, Default)]
pub(super) struct PersonDecisions {
    /// The sites that agents may use.
    site_rules: Arc<SiteRules>,
    /// The local files that agents may open.
    local_files: Arc<LocalFileRules>,
    /// Widenings that no person has confirmed yet.
    unconfirmed: Arc<[UnconfirmedWidening]>,
    /// Whether the site rules were set in this run of the daemon.
    has_site_rules: bool,
    /// Whether tabs are pictured before and after acts.
    pictures_acts: bool,
}

impl Engine {
    /// The sites that agents may use.
    #[must_use]
    pub fn site_rules(&self) -> Arc<SiteRules> {
        self.decided.site_rules.clone()
    }

    /// The local files that agents may open.
    #[must_use]
    pub fn local_files(&self) -> Arc<LocalFileRules> {
        self.decided.local_files.clone()
    }

    /// Whether the person wants to see the tabs of acts before and after them.
    #[must_use]
    pub const fn pictures_acts(&self) -> bool {
        self.decided.pictures_acts
    }

    /// Whether the tab of a command is pictured for the person: one that acts, in a tab that is not private.
    pub(super) fn is_pictured(&self, command: &Command, lane: &Lane) -> bool {
        let is_open = || {
            !command.spec().is_private && self.private_owner_for(command, &lane.browser).is_none()
        };
        self.decided.pictures_acts
            && lane.tab.is_some()
            && !command.spec().work.is_safe()
            && is_open()
    }

    /// Whether a browser has a command that is pictured.
    #[must_use]
    pub fn takes_picture(&self, browser: &BrowserId, id: &CorrelationId) -> bool {
        let command = self.commands.get(id).filter(|command| {
            command.delivery().is_some_and(|delivery| delivery.peer.browser == *browser)
        });
        command.zip(self.lane_of(id)).is_some_and(|(command, lane)| self.is_pictured(command, lane))
    }
}

impl Transaction<'_> {
    /// Sets whether tabs are pictured before and after the acts of commands that are sent from now on.
    pub fn set_pictures_acts(&mut self, is_on: bool) {
        self.decided.pictures_acts = is_on;
    }

    /// Sets the sites that agents may use, and sends them to all connected browsers.
    pub fn set_site_rules(&mut self, rules: SiteRules) {
        self.decided.site_rules = Arc::new(rules);
        for browser in self.browsers.keys().cloned().collect::<Vec<_>>() {
            self.tell_site_rules(&browser, None);
        }
        // The first rules of a run are those by which the commands were held.
        if std::mem::replace(&mut self.decided.has_site_rules, true) {
            self.review_held();
        }
    }

    /// Sets the widenings without a confirmation, and sends them to all connected browsers.
    pub fn set_unconfirmed(&mut self, widenings: Vec<UnconfirmedWidening>) {
        // The daemon reads its file once a second (decision 306).
        if *self.decided.unconfirmed == *widenings {
            return;
        }
        self.decided.unconfirmed = widenings.into();
        let here = self.browsers.iter().filter(|(_, browser)| browser.is_ready());
        for browser in here.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.tell_unconfirmed(&browser);
        }
    }

    /// Sets the local files that agents may open, and sends them to all connected browsers.
    pub fn set_local_files(&mut self, rules: LocalFileRules) {
        self.decided.local_files = Arc::new(rules);
        for browser in self.browsers.keys().cloned().collect::<Vec<_>>() {
            self.tell_local_files(&browser, None);
        }
    }

    /// Sends all decisions to a browser that has just connected, and whether its extension's files
    /// were changed.
    pub(super) fn send_decisions(&mut self, browser: &BrowserId) {
        if self.browsers.get(browser).is_some_and(|known| known.is_changed()) {
            self.send(browser, ToExtension::ExtensionChanged {});
        }
        self.tell_site_rules(browser, None);
        self.tell_local_files(browser, None);
        self.show_older_extensions(browser, None);
        self.tell_unconfirmed_to_newcomer(browser);
    }

    /// Sends the site rules to a browser, if its extension enforces them.
    pub fn tell_site_rules(&mut self, browser: &BrowserId, problem: Option<String>) {
        if self.browsers.get(browser).is_some_and(|known| known.enforces_sites()) {
            let rules = self.decided.site_rules.clone();
            self.send(browser, ToExtension::SiteRules { rules, problem });
        }
    }

    /// Sends the rules for local files to a browser, if its extension enforces them.
    pub fn tell_local_files(&mut self, browser: &BrowserId, problem: Option<String>) {
        if self.browsers.get(browser).is_some_and(|known| known.enforces_sites()) {
            let rules = self.decided.local_files.clone();
            self.send(browser, ToExtension::LocalFiles { rules, problem });
        }
    }

    /// Sends the widenings without a confirmation to a browser. An extension that does not know the
    /// frame answers with a `nack`, which does no harm.
    pub(super) fn tell_unconfirmed(&mut self, browser: &BrowserId) {
        let widenings = self.decided.unconfirmed.clone();
        self.send(browser, ToExtension::Widenings { widenings });
    }

    /// The same for a browser that has just connected and therefore knows of none.
    fn tell_unconfirmed_to_newcomer(&mut self, browser: &BrowserId) {
        if !self.decided.unconfirmed.is_empty() {
            self.tell_unconfirmed(browser);
        }
    }

    /// The person at a browser stops one of its commands.
    pub(super) fn stop_one(&mut self, browser: &BrowserId, id: &CorrelationId) {
        // An extension may stop the commands of its own browser and no others.
        if self.scheduler.lane_of(id).is_some_and(|lane| lane.browser == *browser) {
            self.apply(id, LifecycleEvent::Stop);
        }
    }

    /// The person stops one command, away from its browser. `false`: it is not open.
    pub fn stop_open(&mut self, id: &CorrelationId) -> bool {
        let is_open = self.commands.get(id).is_some_and(|known| !known.phase().is_terminal());
        if is_open {
            self.apply(id, LifecycleEvent::Stop);
        }
        is_open
    }

    /// The person stops all commands that are open, away from their browsers. Returns their number.
    pub fn stop_all_open(&mut self) -> usize {
        let active: Vec<_> = self.clients.all_active().cloned().collect();
        let (begun, waiting): (Vec<_>, Vec<_>) = active
            .into_iter()
            .partition(|id| self.commands.get(id).is_some_and(|known| known.phase().holds_lane()));
        // Those that wait first: a lane that becomes free must not begin the next one.
        waiting.iter().chain(&begun).filter(|id| self.stop_open(id)).count()
    }

    /// The person stops everything in a browser, or lets agents continue.
    pub(super) fn set_stopped(&mut self, browser: &BrowserId, stopped: bool) {
        let Some(known) = self.browsers.get_mut(browser) else { return };
        if known.set_stopped(stopped) {
            tracing::info!(%browser, stopped, "the person has stopped the browser, or let it go on");
        }
        if !stopped {
            return self.may_deliver_to(browser);
        }
        // Commands that have ended are among them; for those the event changes nothing.
        for id in self.scheduler.of_browser(browser) {
            self.apply(&id, LifecycleEvent::Stop);
        }
    }

    /// Ends a command that is about to be sent to an extension that must not have it: its files were
    /// changed, or it does not enforce a rule that covers the command. False: it may have it.
    pub(super) fn is_withheld(&mut self, peer: &Peer, command: &Command) -> bool {
        let Some(browser) = self.browsers.get(&peer.browser) else { return false };
        let Some(attempt) = command.delivery().map(|delivery| delivery.attempt) else {
            return false;
        };
        let is_in_scope = self.is_in_scope(peer, command);
        if browser.enforces(&self.decided.site_rules) && !browser.is_changed() && is_in_scope {
            return false;
        }
        let work = &command.spec().work;
        let error = if browser.is_changed() {
            change_refusal(browser.label())
        } else if !is_in_scope {
            self.scope_refusal(browser, &command.spec().id)
        } else if !browser.enforces_sites() && work.action().is_some_and(Action::opens_local_file) {
            file_refusal()
        } else if self.decided.site_rules.is_empty()
            // Who only wants to be asked was asked before the delivery.
            || browser.poller().is_some() && self.decided.site_rules.only_asks_first()
        {
            return false;
        } else {
            site_refusal()
        };
        // In the extension's name, so that the command ends like one that the extension refuses.
        let report = ExtensionReport::Error { error };
        self.apply(&command.spec().id, LifecycleEvent::Report(peer.clone(), attempt, report));
        true
    }
}

impl Engine {
    /// What the extension of a browser, an old one, does not keep of a command's owner.
    fn unkept_by(&self, browser: &BrowserState, id: &CorrelationId) -> Option<RefusalReason> {
        let label = || browser.label().to_owned();
        if !browser.keeps_scopes() {
            return Some(RefusalReason::ScopeNotKept { browser: label() });
        }
        let is_far = self.commands.get(id).is_some_and(|it| self.is_far(&it.spec().owner));
        let is_kept = !is_far || browser.keeps_far_words();
        (!is_kept).then(|| RefusalReason::FarWordsNotKept { browser: label() })
    }

    /// The error for a command that the scope of its owner keeps from a browser: for a tab that is
    /// outside it is that for a tab that does not exist.
    fn scope_refusal(&self, browser: &BrowserState, id: &CorrelationId) -> ReportedError {
        let opens_private = self
            .commands
            .get(id)
            .and_then(|command| command.spec().work.action())
            .is_some_and(Action::opens_private_tab);
        let label = || browser.label().to_owned();
        let why = if opens_private && !browser.keeps_private_tabs() {
            Some(targets::no_private_tabs(label(), browser))
        } else {
            self.unkept_by(browser, id)
        };
        if let Some(why) = why {
            return ReportedError {
                hint: Some(why.hint().into_owned()),
                may_have_run: Some(false),
                ..ReportedError::new(why.code(), why.message())
            };
        }
        let tab = self.scheduler.lane_of(id).and_then(|lane| lane.tab);
        let said = match tab.filter(|tab| *tab != TabId::OF_FORMER_SESSION) {
            Some(tab) => format!("tab {tab} is not open"),
            None => "the browser was started anew and the tab is not open any more".to_owned(),
        };
        ReportedError { may_have_run: Some(false), ..ReportedError::new("no_such_tab", said) }
    }
}

/// The error for an extension whose files were changed.
fn change_refusal(browser: &str) -> ReportedError {
    ReportedError {
        hint: Some(RefusalReason::RESTORE_EXTENSION.to_owned()),
        may_have_run: Some(false),
        ..ReportedError::new(
            RefusalReason::EXTENSION_CHANGED,
            RefusalReason::extension_changed(browser),
        )
    }
}

/// The error for a command that opens a local file, in an extension without rules.
fn file_refusal() -> ReportedError {
    ReportedError {
        hint: Some(
            "Ask the person to install this version's extension (`tabwire install`) and to open \
             the folder (`tabwire sites files allow DIR`)."
                .to_owned(),
        ),
        may_have_run: Some(false),
        ..ReportedError::new(
            "blocked_by_policy",
            "Agents may not open local files through this browser's extension: it is an old one \
             that does not enforce which files they may open",
        )
    }
}

/// The error for an extension that does not enforce site rules.
fn site_refusal() -> ReportedError {
    ReportedError {
        hint: Some(
            "Ask the person to install this version's extension (`tabwire install`), or to \
             remove their site rules (`tabwire sites`)."
                .to_owned(),
        ),
        may_have_run: Some(false),
        ..ReportedError::new(
            "blocked_by_policy",
            "There are rules for which sites agents may use, and this browser's extension is \
             an old one that does not enforce them",
        )
    }
}
