//! Attached extensions: one link a browser. A new link of a browser takes over from the old one;
//! the old one's end, whenever it comes, no longer matters.

use super::browsers::{BrowserState, ExtensionFiles, is_room_for_command};
use super::effects::CloseReason;
use super::entry::JournalEntry;
use super::{Engine, Transaction, targets};
use crate::lifecycle::{Command, CommandState, EventReply, Lane, LifecycleEvent, Peer};
use crate::protocol::{
    Attempt, BrowserId, BrowserTab, CommandBody, CorrelationId, FromExtension, InFlight,
    ReadyFrame, ToExtension, Transport,
};
use crate::seeded_bug;
use crate::spans::context_within;

/// Tells links apart, so that a late end of an old one does not touch the new one. The shell
/// numbers them; no number comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkId(pub u64);

/// An extension whose proof was valid has a connection.
#[derive(Debug)]
pub struct NewLink {
    /// The link's own number.
    pub id: LinkId,
    /// Whose it is.
    pub peer: Peer,
    /// How frames go over it.
    pub transport: Transport,
    /// The version that the extension says it has.
    pub extension_version: String,
    /// How many frames its outbox holds.
    pub room: usize,
}

impl Engine {
    /// The outbox of a link has room for this many frames.
    pub fn note_room(&mut self, browser: &BrowserId, link: LinkId, room: usize) {
        if let Some(known) = self.browsers.get_mut(browser) {
            known.set_room(link, room);
        }
    }

    /// Whether an outbox with room for this many frames takes a command: the last ones are kept
    /// free for answers.
    #[must_use]
    pub const fn is_room_for_command(room: usize) -> bool {
        is_room_for_command(room)
    }
}

impl Transaction<'_> {
    /// Attaches an extension. A link that its browser has already is replaced.
    pub fn attach(&mut self, link: NewLink) {
        let NewLink { id, peer, transport, extension_version, room } = link;
        // First, so that the old link's commands are back in their lanes when the new one is ready.
        self.end_link(&peer.browser, CloseReason::Replaced);
        let now = self.now();
        let new = || BrowserState::new(now);
        let browser = self.browsers.entry(peer.browser.clone()).or_insert_with(new);
        browser.attach(extension_version, now);
        browser.set_link(id, peer, transport, room);
    }

    /// The connection of a link is gone.
    pub fn detach(&mut self, browser: &BrowserId, link: LinkId) {
        let any = seeded_bug::is_on("late-close-evicts-the-new-link");
        if self.browsers.get(browser).is_some_and(|known| any || known.is_linked_by(link)) {
            tracing::info!(%browser, "extension detached");
            self.end_link(browser, CloseReason::Shutdown);
        }
    }

    /// Takes a frame that an extension sent over a link. Entries of streams are not for the
    /// engine: of them it notes with [`touch`](Self::touch) that the browser made itself heard.
    pub fn receive(&mut self, peer: &Peer, link: LinkId, frame: FromExtension) {
        let is_current = self.touch(&peer.browser, link);
        match frame {
            // On a link that is gone it may be about an attempt that an earlier run of the daemon
            // numbered, and this run has begun the same number since. It comes again on the new link.
            FromExtension::Report { report, .. } if !is_current && report.says_it_never_ran() => {}
            FromExtension::Report { correlation_id, attempt, report } => {
                // From any link: the browser holds the attempt, not its worker (decision 9).
                let event = LifecycleEvent::Report(peer.clone(), attempt, report);
                self.answer(peer, &correlation_id, attempt, event);
            }
            // All other frames count only from the current link.
            _ if !is_current => {}
            // The next run of the daemon delivers commands that have not begun (decision 98).
            FromExtension::Claim { .. } if self.is_shutting_down => {}
            FromExtension::Claim { correlation_id, attempt } => {
                self.withhold_handed_over(peer, &correlation_id);
                let event = LifecycleEvent::Claim(peer.clone(), attempt);
                self.answer(peer, &correlation_id, attempt, event);
            }
            FromExtension::Hold { correlation_id, attempt, need } => {
                self.hold(peer, &correlation_id, attempt, need);
            }
            FromExtension::Ready(ready) => self.ready(peer, ready),
            FromExtension::Tabs { tabs } => self.set_tabs(&peer.browser, tabs),
            FromExtension::Stop { correlation_id } => {
                self.stop_one(&peer.browser, &correlation_id);
            }
            FromExtension::AskAnswer { correlation_id, answer } => {
                self.answer_in_browser(&peer.browser, &correlation_id, answer);
            }
            FromExtension::KeptWords { take_back } => {
                self.answer_kept_words(&peer.browser, take_back);
            }
            FromExtension::PageStates { states } => self.set_page_states(&peer.browser, states),
            FromExtension::TakeTab { tab_id } => self.take_tab_back(&peer.browser, tab_id),
            FromExtension::TabOpened { correlation_id, tab_id, private } => {
                self.note_tab_of_command(&peer.browser, &correlation_id, tab_id, private);
            }
            FromExtension::TabCreated { source_tab_id, tab_id } => {
                self.note_created(&peer.browser, source_tab_id, tab_id);
            }
            FromExtension::SharedTabs { tab_ids } => {
                self.set_shared_tabs(&peer.browser, &tab_ids);
            }
            FromExtension::KeepTab { tab_id } => self.give_way_to_person(&peer.browser, tab_id),
            FromExtension::RestoredTabs { restored } => {
                self.restore_opened_tabs(&peer.browser, restored);
            }
            FromExtension::Stopped { stopped } => self.set_stopped(&peer.browser, stopped),
            // `pong` only shows that it lives; streams, pictures, drawings and rules do not come here;
            // a second `hello` says nothing new; nothing that is sent needs to be known.
            FromExtension::Pong { .. }
            | FromExtension::Nack { .. }
            | FromExtension::FarOwners(_)
            | FromExtension::History { .. }
            | FromExtension::ActPicture { .. }
            | FromExtension::Events { .. }
            | FromExtension::Annotations(_)
            | FromExtension::SiteRule(_)
            | FromExtension::OlderExtension(_)
            | FromExtension::NameBrowser { .. }
            | FromExtension::ConfirmWidening { .. }
            | FromExtension::LocalFileRule(_)
            | FromExtension::FileCheck { .. }
            | FromExtension::UploadRequest(_)
            | FromExtension::KeyStored {}
            | FromExtension::Hello(_) => {}
        }
    }

    /// Notes that the browser made itself heard. Whether by its current link.
    pub fn touch(&mut self, browser: &BrowserId, link: LinkId) -> bool {
        let now = self.now();
        let Some(browser) = self.browsers.get_mut(browser) else { return false };
        browser.touch(now);
        browser.is_linked_by(link)
    }

    /// Notes, before `ready` is received, whose files the extension has.
    pub fn note_files(&mut self, browser: &BrowserId, link: LinkId, files: ExtensionFiles) {
        let known = self.browsers.get_mut(browser).filter(|known| known.is_linked_by(link));
        if let Some(known) = known {
            known.set_files(files);
        }
    }

    /// The folder of the Tabwire extension holds all files of this version, and no others. A browser
    /// that has loaded another version is told, once in the life of the engine.
    pub fn tell_renewed(&mut self, browser: &BrowserId, version: &'static str) {
        if self.browsers.get_mut(browser).is_some_and(|known| known.begin_reload(version)) {
            tracing::info!(%browser, version, "the extension is told to load its renewed files");
            self.send(browser, ToExtension::Reload { version });
        }
    }

    /// The same for all browsers.
    pub fn tell_all_renewed(&mut self, version: &'static str) {
        for browser in self.browsers.keys().cloned().collect::<Vec<_>>() {
            self.tell_renewed(&browser, version);
        }
    }

    /// Sends a browser a frame that is the answer to one of its own and tells of no command.
    pub fn reply(&mut self, browser: &BrowserId, frame: ToExtension) {
        self.send(browser, frame);
    }

    /// Whether a `go` may still leave: not for a command that has been cancelled since its claim.
    /// If it may, the command may have run from here on (row 5a).
    pub fn may_go(&mut self, id: &CorrelationId, attempt: Attempt) -> bool {
        self.apply(id, LifecycleEvent::Go(attempt)) == Some(EventReply::Go)
    }

    /// Whether a command is still with the extension that this attempt sent it to, and has not begun. A
    /// deadline that has passed counts.
    pub fn is_sent(&mut self, id: &CorrelationId, attempt: Attempt) -> bool {
        self.apply(id, LifecycleEvent::Tick);
        self.commands.get(id).is_some_and(|command| command.is_sent_as(attempt))
    }

    /// Ends all links.
    pub fn end_links(&mut self, why: CloseReason) {
        for id in self.browsers.keys().cloned().collect::<Vec<_>>() {
            self.end_link(&id, why);
        }
    }

    /// Ends a browser's link and settles the commands that it held (rows 7, 7a, 11).
    pub(super) fn end_link(&mut self, id: &BrowserId, why: CloseReason) {
        let now = self.now();
        let Some(browser) = self.browsers.get_mut(id) else { return };
        let Some(link) = browser.take_link() else { return };
        // It was there until this moment, even if it had nothing to say.
        browser.touch(now);
        let held: Vec<_> = browser.held().cloned().collect();
        self.effects().closed.push((link, why));
        for command in held {
            self.apply(&command, LifecycleEvent::LinkClosed);
        }
    }

    /// The extension may get commands from here on. Those that it had are settled first
    /// (rows 11a, 12).
    fn ready(&mut self, peer: &Peer, mut ready: ReadyFrame) {
        ready.tabs = self.without_own_pages(ready.tabs);
        self.drop_private_of_nobody(&peer.browser, &mut ready.tabs);
        let label =
            targets::label_for(&self.browsers, &self.browser_names, &peer.browser, &ready.label);
        let Some(browser) = self.browsers.get_mut(&peer.browser) else { return };
        // Before `apply_ready`, which replaces the tabs that this compares.
        let kept = targets::kept_by_new_session(browser, &ready);
        let session = browser.apply_ready(label, &ready);
        let held: Vec<_> = browser.held().cloned().collect();
        // Before anything is told or delivered: one may have gone to another site meanwhile.
        self.set_shared_tabs(&peer.browser, &ready.shared_tabs);
        // Before the first command, which the extension has to judge by them (decision 248).
        self.send_decisions(&peer.browser);
        if let Some(session) = session {
            self.record(JournalEntry::Session(peer.browser.clone(), session));
        }
        self.end_consents_of_session(&peer.browser);
        // Before any delivery: these commands hold their lanes until their fate is known.
        for id in held {
            let Some(attempt) = self.commands.attempt_of(&id) else { continue };
            let of_this =
                |known: &&InFlight| known.correlation_id == id && known.attempt == attempt;
            let says = ready.in_flight.iter().find(of_this).map(|known| known.state);
            self.answer(peer, &id, attempt, LifecycleEvent::Reconnected(peer.clone(), says));
        }
        self.follow_renamed_tabs(&peer.browser);
        if let Some(kept) = kept {
            self.forget_tabs_but(&kept, &peer.browser);
        }
        self.reconcile_drawing_tools(&peer.browser, ready.draws_for.unwrap_or_default());
        self.page_states.forget_browser(&peer.browser);
        self.forget_closed_captures(&peer.browser);
        self.forget_closed_leases(&peer.browser);
        self.show_held_tabs_to_newcomer(&peer.browser);
        self.forget_closed_opened_tabs(&peer.browser);
        self.forget_closed_owned_tabs(&peer.browser);
        self.show_opened_tabs_to_newcomer(&peer.browser);
        self.end_asks_of_closed_tabs(&peer.browser);
        self.show_asks_to_newcomer(&peer.browser);
        self.tell_browser_name_to_newcomer(&peer.browser);
        self.place_waiting(&peer.browser);
        // After the placing, so that Stop also ends the commands that were just placed here.
        self.set_stopped(&peer.browser, ready.stopped == Some(true));
        self.may_deliver_to(&peer.browser);
    }

    fn set_tabs(&mut self, browser: &BrowserId, tabs: Vec<BrowserTab>) {
        let mut tabs = self.without_own_pages(tabs);
        self.drop_private_of_nobody(browser, &mut tabs);
        if let Some(browser) = self.browsers.get_mut(browser) {
            browser.set_tabs(tabs);
        }
        if self.follow_renamed_tabs(browser) {
            self.may_deliver_to(browser);
        }
        self.forget_closed_captures(browser);
        self.forget_closed_leases(browser);
        self.forget_closed_opened_tabs(browser);
        self.forget_closed_owned_tabs(browser);
        self.end_asks_of_closed_tabs(browser);
    }
}

/// The frame that delivers a command, if it was just sent.
pub(super) fn command_frame(
    command: &Command,
    lane: &Lane,
    engine: &Engine,
    records_spans: bool,
) -> Option<ToExtension> {
    let CommandState::Sent { delivery, .. } = command.state() else { return None };
    let spec = command.spec();
    let within = |context| context_within(&spec.id, context, records_spans);
    let trace = spec.trace_context.as_ref().map(|context| within(context).fields());
    let (traceparent, tracestate) =
        trace.map_or((None, None), |fields| (Some(fields.traceparent), fields.tracestate));
    let body = CommandBody {
        id: spec.query_id.clone(),
        correlation_id: spec.id.clone(),
        kind: spec.work.name(),
        params: spec.params.clone(),
        tab_id: lane.tab,
        tabs: engine.tabs_for(command, &lane.browser),
        private_owner: engine.private_owner_for(command, &lane.browser),
        far: engine.is_far(&spec.owner),
        timeout_ms: u64::try_from(spec.timeout.as_millis()).unwrap_or(u64::MAX),
        safe: spec.work.is_safe(),
        redelivered: delivery.attempt.0 > 1,
        holds_dialogs: spec.holds_dialogs,
        pictured: engine.is_pictured(command, lane),
        client: engine.shown_client(spec),
        client_id: spec.client.clone(),
        consents: engine.consents_of(command),
        allowed: command.holds().allowed.clone(),
        traceparent,
        tracestate,
    };
    Some(ToExtension::Command { attempt: delivery.attempt, command: body })
}
