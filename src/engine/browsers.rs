//! Browsers with the extension, connected or away for a while.

use std::collections::HashSet;

use super::links::LinkId;
use super::sessions::Poller;
use crate::lifecycle::Peer;
use crate::protocol::{Action, BrowserSession, Carrier, CorrelationId, Moment, Tab, TabId};

/// Frames kept free in an outbox for answers: commands wait rather than fill it.
pub(super) const KEPT_FREE: usize = 4;

/// A browser with the extension, connected or away for a while.
#[derive(Debug)]
pub(super) struct Browser {
    /// What it is shown as and may be named by: no two known browsers have the same.
    pub(super) label: String,
    /// What its extension calls it.
    pub(super) own_label: String,
    pub(super) user_agent: String,
    pub(super) extension_version: String,
    pub(super) actions: Vec<String>,
    pub(super) tabs: Vec<Tab>,
    /// Which run of the browser the tabs are of, if its extension says so.
    pub(super) session: Option<BrowserSession>,
    /// The commands that its extension has: Sent or Started.
    pub(super) held: HashSet<CorrelationId>,
    pub(super) last_seen: Moment,
    link: Option<LinkState>,
    /// Instead of a link, if its extension only polls.
    pub(super) poller: Option<Poller>,
    /// Whether its extension enforces which sites may be used.
    pub(super) enforces_sites: bool,
    /// Whether its extension shows the person which older extensions ask to be let in.
    pub(super) shows_older_extensions: bool,
    /// Whether the person has stopped everything in it.
    pub(super) is_stopped: bool,
    /// Whether its extension's files on the disk are not what was put there.
    pub(super) is_changed: bool,
}

/// The engine's side of a link.
#[derive(Debug)]
struct LinkState {
    id: LinkId,
    peer: Peer,
    carrier: Carrier,
    /// Whether `ready` has come: commands are delivered from there on.
    ready: bool,
    /// How many frames its outbox has room for, at least.
    room: usize,
}

/// A link whose outbox is full: its extension does not read.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutboxFull;

impl Browser {
    pub(super) fn new(extension_version: String, now: Moment) -> Self {
        Self {
            label: String::new(),
            own_label: String::new(),
            user_agent: String::new(),
            extension_version,
            actions: Vec::new(),
            tabs: Vec::new(),
            session: None,
            held: HashSet::new(),
            last_seen: now,
            link: None,
            poller: None,
            enforces_sites: false,
            shows_older_extensions: false,
            is_stopped: false,
            is_changed: false,
        }
    }

    /// Whether commands reach it now.
    pub(super) fn is_connected(&self) -> bool {
        let polls = self.poller.as_ref().is_some_and(|poller| poller.is_here);
        polls || self.is_ready()
    }

    /// Whether it has a connection at all, proven but perhaps not ready.
    pub(super) fn has_link(&self) -> bool {
        self.link.is_some() || self.is_connected()
    }

    pub(super) fn knows(&self, action: &Action) -> bool {
        self.actions.iter().any(|name| name == action.name())
    }

    /// Whether its extension has said `ready` on a link.
    pub(super) fn is_ready(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.ready)
    }

    /// Whether it is connected and gets no commands, since its extension's files were changed.
    pub(super) fn gets_nothing(&self) -> bool {
        self.is_changed && self.is_ready()
    }

    /// Its extension may have commands from here on.
    pub(super) const fn set_ready(&mut self) {
        if let Some(link) = &mut self.link {
            link.ready = true;
        }
    }

    pub(super) fn has_tab(&self, tab: TabId) -> bool {
        self.tabs.iter().any(|known| known.tab_id == tab)
    }

    /// The active tab of the window that had the focus last.
    pub(super) fn active_tab(&self) -> Option<TabId> {
        let active = || self.tabs.iter().filter(|tab| tab.active);
        active().find(|tab| tab.focused).or_else(|| active().next()).map(|tab| tab.tab_id)
    }

    /// Whose commands it takes now.
    ///
    /// # Errors
    ///
    /// It has no room for one more. If it has a link, that one: it has to be looked at again once
    /// its outbox has emptied.
    pub(super) fn with_room(&self) -> Result<(Peer, Carrier), Option<LinkId>> {
        if let Some(poller) = &self.poller {
            return poller.with_room().ok_or(None);
        }
        let link = self.link.as_ref().filter(|link| link.ready).ok_or(None)?;
        if link.room > KEPT_FREE {
            return Ok((link.peer.clone(), link.carrier));
        }
        Err(Some(link.id))
    }

    /// Takes the room for one frame. The link to send it on; `None`: there is no link.
    pub(super) const fn take_room(&mut self) -> Result<Option<LinkId>, OutboxFull> {
        let Some(link) = &mut self.link else { return Ok(None) };
        if link.room == 0 {
            return Err(OutboxFull);
        }
        link.room -= 1;
        Ok(Some(link.id))
    }

    /// The outbox of this link has room for so many frames.
    pub(super) fn set_room(&mut self, id: LinkId, room: usize) {
        if let Some(link) = self.link.as_mut().filter(|link| link.id == id) {
            link.room = room;
        }
    }

    /// Makes this link the browser's.
    pub(super) fn set_link(&mut self, id: LinkId, peer: Peer, carrier: Carrier, room: usize) {
        self.link = Some(LinkState { id, peer, carrier, ready: false, room });
    }

    /// Ends its link, if it has one. Which one that was.
    pub(super) fn take_link(&mut self) -> Option<LinkId> {
        self.link.take().map(|link| link.id)
    }

    pub(super) fn is_linked_by(&self, id: LinkId) -> bool {
        self.link.as_ref().is_some_and(|link| link.id == id)
    }
}
