//! Attached extensions.
//!
//! A carrier (the WebSocket edge) attaches with [`Hub::attach`], feeds what it
//! receives to its [`Link`] and sends what comes out of its [`Outbox`]: a transport is
//! a pair of channels. Dropping the link detaches it. A new link of a browser takes
//! over from the old one; the old one's end, whenever it comes, no longer matters.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::capture::BrowserCapture;
use super::desk::Desk;
use super::drawing_tools::OpenTools;
use super::outbox::{Farewell, Outbox, Outgoing};
use super::sessions::Poller;
use super::{Hub, targets};
use crate::journal::Entry;
use crate::lifecycle::{Event, Peer};
use crate::protocol::{
    BrowserId, BrowserSession, Carrier, CorrelationId, DrawingId, DrawingRefusal, FromExtension,
    Moment, NackReason, Ready, SERVER_VERSION, Tab, ToExtension,
};

/// Frames kept free in an outbox for answers: commands wait rather than fill it.
const KEPT_FREE: usize = 4;

/// Tells links apart, so that a late end of an old one does not touch the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkId(u64);

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
    /// For whom it has drawing tools open.
    pub(super) open_tools: OpenTools,
    pub(super) last_seen: Moment,
    /// What it is to record on its own, besides what all are.
    pub(super) capture: BrowserCapture,
    link: Option<LinkEnd>,
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

/// The hub's end of a link.
#[derive(Debug)]
struct LinkEnd {
    id: LinkId,
    peer: Peer,
    carrier: Carrier,
    /// Whether `ready` has come: commands are delivered from there on.
    ready: bool,
    outbound: mpsc::Sender<Outgoing>,
    /// Set when a command had to wait for room; the outbox asks for it once there is.
    starved: Arc<AtomicBool>,
    farewell: Option<oneshot::Sender<Farewell>>,
}

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
            open_tools: OpenTools::new(),
            last_seen: now,
            capture: BrowserCapture::default(),
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
        polls || self.link.as_ref().is_some_and(|link| link.ready)
    }

    /// Whether it has a connection at all, proven but perhaps not ready.
    pub(super) fn has_link(&self) -> bool {
        self.link.is_some() || self.is_connected()
    }

    /// Whether its extension has said `ready` on a link.
    pub(super) fn is_ready(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.ready)
    }

    /// Whose commands it takes now, if it has room for one more.
    pub(super) fn with_room(&self) -> Option<(Peer, Carrier)> {
        if let Some(poller) = &self.poller {
            return poller.with_room();
        }
        let link = self.link.as_ref().filter(|link| link.ready)?;
        let recipient = || (link.peer.clone(), link.carrier);
        if link.outbound.capacity() > KEPT_FREE {
            return Some(recipient());
        }
        link.starved.store(true, Ordering::Release);
        // The outbox may have emptied in between and not have seen the mark.
        (link.outbound.capacity() > KEPT_FREE).then(recipient)
    }

    /// Sends a frame. False: the extension does not read, and the link has to go.
    #[must_use]
    pub(super) fn send(&self, frame: Outgoing) -> bool {
        let Some(link) = &self.link else { return true };
        match link.outbound.try_send(frame) {
            // Its carrier is about to drop the link, which settles everything.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => true,
            Err(mpsc::error::TrySendError::Full(_)) => false,
        }
    }

    /// Ends its link, if it has one.
    pub(super) fn say_farewell(&mut self, why: Farewell) -> bool {
        let Some(mut link) = self.link.take() else { return false };
        if let Some(farewell) = link.farewell.take() {
            // The carrier may have gone first; then there is nobody to tell.
            let _ = farewell.send(why);
        }
        true
    }

    fn is_linked_by(&self, id: LinkId) -> bool {
        self.link.as_ref().is_some_and(|link| link.id == id)
    }
}

/// The carrier's end of a link: what the extension says goes in here. Dropping it
/// detaches the extension.
#[derive(Debug)]
pub struct Link {
    hub: Hub,
    id: LinkId,
    peer: Peer,
}

impl Hub {
    /// Attaches an extension whose proof was valid. A link that its browser has
    /// already is replaced.
    #[must_use]
    pub fn attach(
        &self,
        peer: Peer,
        carrier: Carrier,
        extension_version: String,
    ) -> (Link, Outbox) {
        let (outbound, frames) = mpsc::channel(self.0.limits.outbound);
        let (farewell, ended) = oneshot::channel();
        let starved = Arc::new(AtomicBool::new(false));
        let version = extension_version.clone();
        let id = self.with_desk(|desk| {
            desk.end_link(&peer.browser, Farewell::Replaced);
            let id = LinkId(desk.next_link());
            let now = desk.now();
            let browser = desk
                .browsers
                .entry(peer.browser.clone())
                .or_insert_with(|| Browser::new(extension_version.clone(), now));
            browser.extension_version = extension_version;
            browser.last_seen = now;
            browser.is_changed = false;
            browser.link = Some(LinkEnd {
                id,
                peer: peer.clone(),
                carrier,
                ready: false,
                outbound,
                starved: starved.clone(),
                farewell: Some(farewell),
            });
            id
        });
        let browser = peer.browser.clone();
        tracing::info!(browser = %browser, instance = %peer.instance, version, "extension attached");
        if version != SERVER_VERSION {
            tracing::warn!(
                extension = version,
                daemon = SERVER_VERSION,
                "the extension is of another version: run `tabwire install`, then reload it"
            );
        }
        let outbox = Outbox::new(self.clone(), browser, frames, starved, ended);
        (Link { hub: self.clone(), id, peer }, outbox)
    }
}

impl Link {
    /// Takes what the extension sent.
    pub fn receive(&self, frame: FromExtension) {
        if let FromExtension::Events { stream, entries } = frame {
            if self.hub.with_desk(|desk| desk.touch(&self.peer.browser, self.id)) {
                self.hub.0.streams.enqueue(&self.peer.browser, &stream, entries);
            }
            return;
        }
        let mut frame = frame;
        if let FromExtension::Report { correlation_id, report, .. } = &mut frame {
            self.hub.take_secrets_out(correlation_id, report);
        }
        self.hub.with_desk(|desk| {
            let is_current = desk.touch(&self.peer.browser, self.id);
            match frame {
                FromExtension::Report { correlation_id, attempt, report } => {
                    let event = Event::Report(self.peer.clone(), attempt, report);
                    desk.answer(&self.peer, &correlation_id, attempt, event);
                }
                // What follows is the current link's to say.
                _ if !is_current => {}
                // What has not begun goes on in the next life of the daemon.
                FromExtension::Claim { .. } if desk.is_ending() => {}
                FromExtension::Claim { correlation_id, attempt } => {
                    let event = Event::Claim(self.peer.clone(), attempt);
                    desk.answer(&self.peer, &correlation_id, attempt, event);
                }
                FromExtension::Ready(ready) => desk.ready(&self.peer, ready),
                FromExtension::Tabs { tabs } => desk.set_tabs(&self.peer.browser, tabs),
                FromExtension::Stop { correlation_id } => {
                    desk.stop_one(&self.peer.browser, &correlation_id);
                }
                FromExtension::Stopped { stopped } => {
                    desk.set_stopped(&self.peer.browser, stopped);
                }
                // `pong` only shows that it lives; streams, drawings and rules do not come here;
                // a second `hello` says nothing new; nothing that is sent needs to be known.
                FromExtension::Pong { .. }
                | FromExtension::Nack { .. }
                | FromExtension::Events { .. }
                | FromExtension::Annotations(_)
                | FromExtension::SiteRule(_)
                | FromExtension::OlderExtension(_)
                | FromExtension::ConfirmWidening { .. }
                | FromExtension::LocalFileRule(_)
                | FromExtension::FileCheck { .. }
                | FromExtension::KeyStored {}
                | FromExtension::Hello(_) => {}
            }
        });
    }

    pub(super) const fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(super) const fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Notes, before `ready` is received, whether the extension's files were changed on the disk.
    pub fn note_changed(&self, is_changed: bool) {
        self.hub.with_desk(|desk| {
            let browser = desk.browsers.get_mut(&self.peer.browser);
            if let Some(browser) = browser.filter(|browser| browser.is_linked_by(self.id)) {
                browser.is_changed = is_changed;
            }
        });
    }

    /// Tells the extension that what it sent is no frame.
    pub fn refuse(&self, reason: NackReason) {
        let nack = ToExtension::Nack { correlation_id: None, attempt: None, reason };
        self.hub.with_desk(|desk| desk.send(&self.peer.browser, nack));
    }

    /// Tells the extension that a drawing is kept, or why it is not.
    pub fn acknowledge_drawing(&self, drawing_id: DrawingId, error: Option<DrawingRefusal>) {
        let ack = ToExtension::AnnotationsAck { drawing_id, error };
        self.hub.with_desk(|desk| desk.send(&self.peer.browser, ack));
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.hub.now()
    }

    /// Asks the extension for a sign of life.
    pub fn ping(&self) {
        self.hub.with_desk(|desk| {
            let ping = ToExtension::Ping { t: desk.now().unix_millis() };
            desk.send(&self.peer.browser, ping);
        });
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.hub.with_desk(|desk| {
            let browser = &self.peer.browser;
            if desk.browsers.get(browser).is_some_and(|b| b.is_linked_by(self.id)) {
                tracing::info!(browser = %browser, "extension detached");
                desk.end_link(browser, Farewell::Shutdown);
            }
        });
    }
}

/// What links do at the desk.
impl Desk<'_> {
    /// Ends a browser's link and settles what it held (rows 7, 7a, 11).
    pub(super) fn end_link(&mut self, id: &BrowserId, why: Farewell) {
        let now = self.now();
        let Some(browser) = self.browsers.get_mut(id) else { return };
        if !browser.say_farewell(why) {
            return;
        }
        browser.last_seen = now;
        let held: Vec<_> = browser.held.iter().cloned().collect();
        for command in held {
            self.apply(&command, Event::LinkClosed);
        }
    }

    /// Notes that the browser made itself heard. Whether by its current link.
    fn touch(&mut self, browser: &BrowserId, link: LinkId) -> bool {
        let now = self.now();
        let Some(browser) = self.browsers.get_mut(browser) else { return false };
        browser.last_seen = now;
        browser.is_linked_by(link)
    }

    /// The extension may have commands from here on: what it had is settled first
    /// (rows 11a, 12).
    fn ready(&mut self, peer: &Peer, ready: Ready) {
        let label = targets::label_for(&self.browsers, &peer.browser, &ready.label);
        let Some(browser) = self.browsers.get_mut(&peer.browser) else { return };
        let kept = targets::kept_by_new_session(browser, &ready);
        (browser.label, browser.own_label) = (label, ready.label);
        browser.user_agent = ready.user_agent;
        browser.actions = ready.actions;
        let session = ready.session.clone().filter(|_| browser.session != ready.session);
        browser.session = ready.session;
        browser.tabs = ready.tabs;
        browser.enforces_sites = ready.site_rules == Some(true);
        browser.shows_older_extensions = ready.older_extensions == Some(true);
        if let Some(link) = &mut browser.link {
            link.ready = true;
        }
        let held: Vec<_> = browser.held.iter().cloned().collect();
        self.tell_decisions(&peer.browser);
        if let Some(session) = session {
            self.record(Entry::Session(peer.browser.clone(), session));
        }
        for id in held {
            let Some(attempt) = self.attempt_of(&id) else { continue };
            let of_this = |known: &&crate::protocol::InFlight| {
                known.correlation_id == id && known.attempt == attempt
            };
            let says = ready.in_flight.iter().find(of_this).map(|known| known.state);
            self.answer(peer, &id, attempt, Event::Back(peer.clone(), says));
        }
        if let Some(kept) = kept {
            self.forget_tabs_but(&kept, &peer.browser);
        }
        self.settle_tools(&peer.browser, ready.draws_for.unwrap_or_default());
        self.forget_closed_captures(&peer.browser);
        self.place_waiting(&peer.browser);
        self.set_stopped(&peer.browser, ready.stopped == Some(true));
        self.may_deliver_to(&peer.browser);
    }

    fn set_tabs(&mut self, browser: &BrowserId, tabs: Vec<Tab>) {
        if let Some(browser) = self.browsers.get_mut(browser) {
            browser.tabs = tabs;
        }
        self.forget_closed_captures(browser);
    }
}
