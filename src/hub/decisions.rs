//! Decisions of the person, and extensions that ask for admission.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Caller, Hub};
use crate::engine::{CallRefusal, KnockList, RefusalReason};
use crate::home::PollingPolicy;
use crate::proof::DEFAULT_OWNER;
use crate::protocol::{
    BrowserId, BrowserName, InstanceId, LocalFileRules, Owner, OwnerList, OwnerScopes, SiteRules,
    TabId, TabScope, UnconfirmedWidening,
};

impl Hub {
    /// Sets the port of the daemon's own pages, which are kept from agents.
    pub fn set_own_port(&self, port: u16) {
        self.transact(|tx| tx.set_own_port(port));
    }

    /// Sets the sites that agents may use, and sends them to all connected browsers.
    pub fn set_site_rules(&self, rules: SiteRules) {
        self.transact(|tx| tx.set_site_rules(rules));
    }

    /// Sets the names of browsers, and tells them.
    pub fn set_browser_names(&self, names: HashMap<BrowserId, BrowserName>) {
        self.transact(|tx| tx.set_browser_names(names));
    }

    /// Offers the person a name for a browser: that of its profile in the browser itself.
    pub fn offer_browser_name(&self, browser: &BrowserId, name: Option<BrowserName>) {
        self.transact(|tx| tx.offer_browser_name(browser, name));
    }

    /// Sets the owners whose tokens count. What belongs to others ends.
    pub fn set_owners(&self, list: Arc<OwnerList>) {
        self.transact(|tx| tx.set_owners(list));
    }

    /// The refusal for a caller whose owner was removed or disconnected meanwhile; `None`: it counts.
    #[must_use]
    pub fn refusal_of_removed(&self, caller: &Caller) -> Option<CallRefusal> {
        let is_default = caller.owner.as_str() == DEFAULT_OWNER;
        if is_default || self.view(|engine| engine.is_listed(&caller.owner)) {
            return None;
        }
        Some(self.transact(|tx| tx.refuse(caller, RefusalReason::OwnerRemoved)))
    }

    /// Whether the programs of an owner are on another machine. The default owner's never are.
    #[must_use]
    pub fn is_far(&self, owner: &Owner) -> bool {
        owner.as_str() != DEFAULT_OWNER && self.view(|engine| engine.is_far(owner))
    }

    /// The name by which the programs of an owner on another machine know the way here: that of a team's place, else
    /// that of the owner. `None`: they are on this machine.
    #[must_use]
    pub fn place_of(&self, owner: &Owner) -> Option<String> {
        self.view(|engine| engine.place_of(owner).map(str::to_owned))
    }

    /// Sets which tabs the clients of owners see. Commands for others are stopped.
    pub fn set_scopes(&self, scopes: OwnerScopes) {
        self.transact(|tx| tx.set_scopes(scopes));
    }

    /// Which tabs the clients of an owner see.
    #[must_use]
    pub fn scope_of(&self, owner: &Owner) -> TabScope {
        self.view(|engine| engine.scope_of(owner))
    }

    /// Whether the person shares a tab with the owners who see such tabs.
    #[must_use]
    pub fn is_shared(&self, browser: &BrowserId, tab: TabId) -> bool {
        self.view(|engine| engine.is_shared(browser, tab))
    }

    /// Whether the clients of an owner opened a tab, whichever tabs they see.
    #[must_use]
    pub fn is_own(&self, owner: &Owner, browser: &BrowserId, tab: TabId) -> bool {
        self.view(|engine| engine.is_own(owner, browser, tab))
    }

    /// Sets the widenings without a confirmation, and sends them to all connected browsers.
    pub fn set_unconfirmed(&self, widenings: Vec<UnconfirmedWidening>) {
        self.transact(|tx| tx.set_unconfirmed(widenings));
    }

    /// The sites that agents may use.
    #[must_use]
    pub fn site_rules(&self) -> Arc<SiteRules> {
        self.view(|engine| engine.site_rules())
    }

    /// Sets the local files that agents may open, and sends them to all connected browsers.
    pub fn set_local_files(&self, rules: LocalFileRules) {
        self.transact(|tx| tx.set_local_files(rules));
    }

    /// The local files that agents may open.
    #[must_use]
    pub fn local_files(&self) -> Arc<LocalFileRules> {
        self.view(|engine| engine.local_files())
    }

    /// Notes that an extension that is not let in names a session and so asks to be.
    pub fn note_knock(&self, extension_id: &str, session: &InstanceId, version: &str) {
        self.transact(|tx| tx.note_knock(extension_id, session, version));
    }

    /// Notes that an extension asks while polling is switched off for all.
    pub fn note_switched_off(&self, extension_id: &str) {
        self.transact(|tx| tx.note_switched_off(extension_id));
    }

    /// Notes that something polls under a session that no extension has named.
    pub fn note_nameless(&self, version: &str) {
        self.transact(|tx| tx.note_nameless(version));
    }

    /// The extension that asks under this session.
    #[must_use]
    pub fn knocking_under(&self, session: &InstanceId) -> Option<String> {
        self.view(|engine| engine.knocking_under(session))
    }

    /// Those who ask to be let in.
    #[must_use]
    pub fn knocks(&self) -> KnockList {
        self.transact(|tx| tx.knock_list())
    }

    /// The extensions that are let in to poll, and those that ask. The latter only if they matter to
    /// an agent: no browser is connected, or the agent `lacks` the one that it named.
    #[must_use]
    pub fn poller_news(&self, lacks: bool) -> (Arc<PollingPolicy>, KnockList) {
        self.transact(|tx| tx.poller_news(lacks))
    }

    /// The extensions that poll now.
    #[must_use]
    pub fn polling_extensions(&self) -> Vec<String> {
        self.view(|engine| engine.polling_extensions())
    }

    /// An extension is let in no longer.
    pub fn dismiss_poller(&self, extension_id: &str) {
        self.transact(|tx| tx.dismiss_poller(extension_id));
    }

    /// Forgets that an extension asked: it is let in, or must not be shown.
    pub fn forget_knock(&self, extension_id: &str) {
        self.transact(|tx| tx.forget_knock(extension_id));
    }

    /// Who is let in to poll, as it stands in the state directory; paired extensions are told.
    pub fn set_poller_rights(&self, rights: PollingPolicy) {
        self.transact(|tx| tx.set_poller_rights(rights));
    }

    /// Who is let in to poll, as it was read last.
    #[must_use]
    pub fn poller_rights(&self) -> Arc<PollingPolicy> {
        self.view(|engine| engine.poller_rights())
    }
}
