//! Browsers with the extension, connected or away for a while.

use std::collections::HashSet;

use super::links::LinkId;
use super::polling::{Poller, is_poller};
use super::summaries::BrowserSummary;
use crate::lifecycle::Peer;
use crate::protocol::{
    Action, BrowserId, BrowserName, BrowserSession, BrowserTab, CorrelationId, ReadyFrame,
    SERVER_VERSION, SiteRules, TabId, Timestamp, Transport, is_newer_version,
};

/// Frames kept free in an outbox for answers: commands wait rather than fill it.
const KEPT_FREE: usize = 4;

/// Whether an outbox with room for this many frames takes a command.
pub(super) const fn is_room_for_command(room: usize) -> bool {
    room > KEPT_FREE
}

/// A browser with the extension, connected or away for a while.
#[derive(Debug)]
pub(super) struct BrowserState {
    /// The name that callers see and may use. No two known browsers have the same one.
    label: String,
    /// The name that its extension gives it.
    own_label: String,
    user_agent: String,
    extension_version: String,
    actions: Vec<String>,
    tabs: Vec<BrowserTab>,
    /// Which run of the browser the tabs are of, if its extension says so.
    session: Option<BrowserSession>,
    /// The commands that its extension has: Sent or Started.
    held: HashSet<CorrelationId>,
    last_seen: Timestamp,
    link: Option<LinkState>,
    /// Instead of a link, if its extension only polls. Boxed: few do, and there may be thousands of browsers.
    poller: Option<Box<Poller>>,
    /// Whether its extension enforces which sites may be used.
    enforces_sites: bool,
    /// Whether its extension enforces rules about acts, too.
    enforces_acts: bool,
    /// Whether its extension asks the person before a client acts, where the rules say so.
    asks_first: bool,
    /// Whether its extension keeps commands to the tabs that they name.
    keeps_scopes: bool,
    /// Whether its extension keeps private tabs to their owner.
    keeps_private_tabs: bool,
    /// Whether its extension asks about each site that programs on another machine open, read or use.
    keeps_far_words: bool,
    /// Whether its extension lets the person do steps alone.
    hands_over: bool,
    /// Whether its extension shows the person which older extensions ask to be let in.
    shows_older_extensions: bool,
    /// Whether its extension lets the person name it.
    takes_name: bool,
    /// What the browser itself calls its profile.
    offered_name: Option<BrowserName>,
    /// Whether the person has stopped everything in it.
    is_stopped: bool,
    /// Whether somebody changed its extension's files on the disk.
    is_changed: bool,
    /// Whether its extension is the Tabwire extension and no other one that was allowed.
    has_our_extension: bool,
    /// Whether its extension was told to load itself anew.
    is_reload_told: bool,
}

/// Whose files the extension of a browser has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtensionFiles {
    /// It is another extension than Tabwire's: its files are its own affair.
    Foreign,
    /// Tabwire's, as far as is known.
    Ours,
    /// Somebody changed those that Tabwire wrote.
    Changed,
}

/// The engine's side of a link.
#[derive(Debug)]
struct LinkState {
    id: LinkId,
    peer: Peer,
    transport: Transport,
    /// Whether `ready` has come: commands are delivered from there on.
    ready: bool,
    /// How many frames its outbox has room for, at least.
    room: usize,
}

/// A link whose outbox is full: its extension does not read.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutboxFull;

impl BrowserState {
    /// A browser of which nothing is known yet.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            label: String::new(),
            own_label: String::new(),
            user_agent: String::new(),
            extension_version: String::new(),
            actions: Vec::new(),
            tabs: Vec::new(),
            session: None,
            held: HashSet::new(),
            last_seen: now,
            link: None,
            poller: None,
            enforces_sites: false,
            enforces_acts: false,
            asks_first: false,
            keeps_scopes: false,
            keeps_private_tabs: false,
            keeps_far_words: false,
            hands_over: false,
            shows_older_extensions: false,
            takes_name: false,
            offered_name: None,
            is_stopped: false,
            is_changed: false,
            has_our_extension: false,
            is_reload_told: false,
        }
    }

    /// The name that callers see and may use. Empty until its extension has said `ready`.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// The name that its extension gives it.
    pub(super) fn own_label(&self) -> &str {
        &self.own_label
    }

    pub(super) fn set_label(&mut self, label: String, own: String) {
        (self.label, self.own_label) = (label, own);
    }

    pub(super) fn extension_version(&self) -> &str {
        &self.extension_version
    }

    /// An extension of this version has attached.
    pub(super) fn attach(&mut self, extension_version: String, now: Timestamp) {
        self.extension_version = extension_version;
        // The files are checked anew before the `ready` of each link.
        self.is_changed = false;
        self.has_our_extension = false;
        self.last_seen = now;
    }

    /// An extension of this version polls, which knows these actions.
    pub(super) fn attach_poller(&mut self, extension_version: &str, now: Timestamp) {
        extension_version.clone_into(&mut self.extension_version);
        self.last_seen = now;
    }

    /// Sets the actions that its extension knows.
    pub(super) fn set_actions(&mut self, actions: Vec<String>) {
        self.actions = actions;
    }

    /// Applies the extension's `ready`. Returns the run of the browser that it names, if that is
    /// a new one.
    pub(super) fn apply_ready(
        &mut self,
        label: String,
        ready: &ReadyFrame,
    ) -> Option<BrowserSession> {
        self.set_label(label, ready.label.clone());
        self.user_agent.clone_from(&ready.user_agent);
        // Copies with no room to spare, of which there may be thousands.
        self.actions = ready.actions.to_vec();
        self.tabs = ready.tabs.to_vec();
        self.enforces_sites = ready.site_rules == Some(true);
        self.enforces_acts = ready.act_rules == Some(true);
        self.asks_first = ready.asks_first == Some(true);
        self.keeps_scopes = ready.tab_scopes == Some(true);
        self.keeps_private_tabs = ready.private_tabs == Some(true);
        self.keeps_far_words = ready.far_owners == Some(true);
        self.hands_over = ready.hands_over == Some(true);
        self.shows_older_extensions = ready.older_extensions == Some(true);
        self.takes_name = ready.names == Some(true);
        if let Some(link) = &mut self.link {
            link.ready = true;
        }
        let is_new = self.session != ready.session;
        self.session.clone_from(&ready.session);
        ready.session.clone().filter(|_| is_new)
    }

    /// Which run of the browser the tabs are of, if its extension says so.
    pub(super) const fn session(&self) -> Option<&BrowserSession> {
        self.session.as_ref()
    }

    /// The run of the browser in the last life of the daemon.
    pub(super) fn restore_session(&mut self, session: BrowserSession) {
        self.session = Some(session);
    }

    pub(super) fn tabs(&self) -> &[BrowserTab] {
        &self.tabs
    }

    pub(super) fn set_tabs(&mut self, tabs: Vec<BrowserTab>) {
        self.tabs = tabs;
    }

    /// The commands that its extension has: Sent or Started.
    pub(super) fn held(&self) -> impl Iterator<Item = &CorrelationId> {
        self.held.iter()
    }

    /// Its extension has this command.
    pub(super) fn add_held(&mut self, id: CorrelationId) {
        self.held.insert(id);
    }

    /// Its extension has this command no more.
    pub(super) fn remove_held(&mut self, id: &CorrelationId) {
        self.held.remove(id);
    }

    /// When it last made itself heard.
    pub(super) const fn last_seen(&self) -> Timestamp {
        self.last_seen
    }

    /// It has just made itself heard.
    pub(super) const fn touch(&mut self, now: Timestamp) {
        self.last_seen = now;
    }

    /// Its extension, if that only polls.
    pub(super) fn poller(&self) -> Option<&Poller> {
        self.poller.as_deref()
    }

    pub(super) fn poller_mut(&mut self) -> Option<&mut Poller> {
        self.poller.as_deref_mut()
    }

    /// Makes this extension its own. Returns the one that it had.
    pub(super) fn replace_poller(&mut self, poller: Poller) -> Option<Box<Poller>> {
        self.poller.replace(Box::new(poller))
    }

    /// Whether its extension enforces which sites may be used.
    pub(super) const fn enforces_sites(&self) -> bool {
        self.enforces_sites
    }

    /// Whether its extension enforces these rules.
    pub(super) fn enforces(&self, rules: &SiteRules) -> bool {
        self.enforces_sites
            && (self.enforces_acts || !rules.bounds_acts())
            && (self.asks_first || !rules.asks_first())
    }

    /// Whether its extension keeps commands to the tabs inside the scopes of their owners.
    pub(super) const fn keeps_scopes(&self) -> bool {
        self.keeps_scopes
    }

    /// Whether its extension keeps private tabs to the owner who opened them.
    pub(super) const fn keeps_private_tabs(&self) -> bool {
        self.keeps_private_tabs
    }

    /// Whether its extension asks about each site that programs on another machine open, read or use.
    pub(super) const fn keeps_far_words(&self) -> bool {
        self.keeps_far_words
    }

    /// Whether the person can do steps alone in it.
    pub(super) const fn hands_over(&self) -> bool {
        self.hands_over
    }

    /// Whether its extension shows the person which older extensions ask to be let in.
    pub(super) const fn shows_older_extensions(&self) -> bool {
        self.shows_older_extensions
    }

    /// Whether its extension lets the person name it, and hears us.
    pub(super) fn takes_name(&self) -> bool {
        self.takes_name && self.is_ready()
    }

    /// What the browser itself calls its profile, if that is known.
    pub(super) const fn offered_name(&self) -> Option<&BrowserName> {
        self.offered_name.as_ref()
    }

    pub(super) fn offer_name(&mut self, name: Option<BrowserName>) {
        self.offered_name = name;
    }

    /// Whether the person has stopped everything in it.
    pub(super) const fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// The person stops everything in it, or lets agents continue. Returns whether that is new.
    pub(super) const fn set_stopped(&mut self, stopped: bool) -> bool {
        let is_new = self.is_stopped != stopped;
        self.is_stopped = stopped;
        is_new
    }

    /// Whether somebody changed its extension's files on the disk.
    pub(super) const fn is_changed(&self) -> bool {
        self.is_changed
    }

    pub(super) fn set_files(&mut self, files: ExtensionFiles) {
        self.is_changed = files == ExtensionFiles::Changed;
        self.has_our_extension = files != ExtensionFiles::Foreign;
    }

    /// Whether its extension has to load itself anew to have this version. True once: one that does
    /// not have it afterwards would load itself anew without end.
    pub(super) fn begin_reload(&mut self, version: &str) -> bool {
        let is_due = self.has_our_extension
            && self.is_ready()
            && !self.is_changed
            && !self.is_reload_told
            && self.extension_version != version;
        self.is_reload_told |= is_due;
        is_due
    }

    /// The browser as callers are shown it.
    pub(super) fn summary(&self, id: &BrowserId) -> BrowserSummary {
        BrowserSummary {
            browser: id.clone(),
            label: self.label.clone(),
            connected: self.is_connected(),
            last_seen: self.last_seen,
            extension_version: self.extension_version.clone(),
            user_agent: self.user_agent.clone(),
            actions: self.actions.clone(),
            // Private tabs are their owner's alone, and so is their number.
            tabs: self.tabs.iter().filter(|tab| !tab.private).count(),
            polls: is_poller(id),
            control_off: self.poller().is_some_and(Poller::is_switched_off),
            stopped: self.is_stopped,
            extension_changed: self.is_quarantined(),
            // Older extensions, which only poll, count their versions in another way.
            extension_newer: !is_poller(id)
                && is_newer_version(&self.extension_version, SERVER_VERSION),
        }
    }

    /// Whether commands reach it now.
    pub(super) fn is_connected(&self) -> bool {
        let polls = self.poller().is_some_and(Poller::is_here);
        polls || self.is_ready()
    }

    /// How commands reach it now, if they do.
    pub(super) fn transport(&self) -> Option<Transport> {
        let link = self.link.as_ref().filter(|_| self.is_ready()).map(|link| link.transport);
        let poller = self.poller().filter(|poller| poller.is_here());
        link.or(poller.map(Poller::transport))
    }

    /// Whether it has a connection at all, proven but perhaps not ready.
    pub(super) fn has_link(&self) -> bool {
        self.link.is_some() || self.is_connected()
    }

    pub(super) fn supports(&self, action: &Action) -> bool {
        self.knows(action.name())
    }

    /// Whether its extension knows the action of this name.
    pub(super) fn knows(&self, action: &str) -> bool {
        self.actions.iter().any(|name| name == action)
    }

    /// Whether its extension has said `ready` on a link.
    pub(super) fn is_ready(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.ready)
    }

    /// Whether it is connected and gets no commands, since its extension's files were changed.
    pub(super) fn is_quarantined(&self) -> bool {
        self.is_changed && self.is_ready()
    }

    /// Whether it has this tab, under this id or under a later one.
    pub(super) fn has_tab(&self, tab: TabId) -> bool {
        let tab = self.id_now(tab);
        self.tabs.iter().any(|known| known.tab_id == tab)
    }

    /// The id of a tab now: the browser gives a tab whose page it unloads another one.
    pub(super) fn id_now(&self, tab: TabId) -> TabId {
        let renamed = self.tabs.iter().find(|known| known.former_ids.contains(&tab));
        renamed.map_or(tab, |known| known.tab_id)
    }

    /// The tabs whose ids have changed: the former one and the one now.
    pub(super) fn renamed_tabs(&self) -> Vec<(TabId, TabId)> {
        let of = |known: &BrowserTab| {
            let now = known.tab_id;
            known.former_ids.iter().map(|former| (*former, now)).collect::<Vec<_>>()
        };
        self.tabs.iter().flat_map(of).collect()
    }

    /// The active tab of the window that had the focus last.
    pub(super) fn active_tab(&self) -> Option<TabId> {
        let active = || self.tabs.iter().filter(|tab| tab.active && !tab.private);
        active().find(|tab| tab.focused).or_else(|| active().next()).map(|tab| tab.tab_id)
    }

    /// The extension that may get a command now.
    ///
    /// # Errors
    ///
    /// It has no room for one more. The error holds its link, if it has one: the shell looks again
    /// once the outbox of this link has room.
    pub(super) fn recipient(&self) -> Result<(Peer, Transport), Option<LinkId>> {
        if let Some(poller) = self.poller() {
            return poller.recipient().ok_or(None);
        }
        let link = self.link.as_ref().filter(|link| link.ready).ok_or(None)?;
        if is_room_for_command(link.room) {
            return Ok((link.peer.clone(), link.transport));
        }
        Err(Some(link.id))
    }

    /// Takes the room for one frame. Returns the link to send it on; `None`: there is no link.
    pub(super) const fn reserve_room(&mut self) -> Result<Option<LinkId>, OutboxFull> {
        let Some(link) = &mut self.link else { return Ok(None) };
        if link.room == 0 {
            return Err(OutboxFull);
        }
        // The shell reports the free room only between transactions (decision 363).
        link.room -= 1;
        Ok(Some(link.id))
    }

    /// The outbox of this link has room for this many frames.
    pub(super) fn set_room(&mut self, id: LinkId, room: usize) {
        // A late word of the former link must not count for this one.
        if let Some(link) = self.link.as_mut().filter(|link| link.id == id) {
            link.room = room;
        }
    }

    /// Makes this link the browser's.
    pub(super) fn set_link(&mut self, id: LinkId, peer: Peer, transport: Transport, room: usize) {
        self.link = Some(LinkState { id, peer, transport, ready: false, room });
    }

    /// Its link, if it has one.
    pub(super) fn link_id(&self) -> Option<LinkId> {
        self.link.as_ref().map(|link| link.id)
    }

    /// Removes its link, if it has one, and returns it.
    pub(super) fn take_link(&mut self) -> Option<LinkId> {
        self.link.take().map(|link| link.id)
    }

    pub(super) fn is_linked_by(&self, id: LinkId) -> bool {
        self.link.as_ref().is_some_and(|link| link.id == id)
    }
}
