//! Attached extensions.
//!
//! A transport attaches with [`Hub::attach`], passes the frames that it receives to its
//! [`ExtensionLink`], and sends the frames that come out of its [`Outbox`]. Dropping the link
//! detaches the extension.

use super::Hub;
use super::core::LinkEnd;
use super::link_channel::link_channel;
use super::outbox::Outbox;
use crate::engine::{CloseReason, ExtensionFiles, LinkId, NewLink};
use crate::lifecycle::Peer;
use crate::protocol::{
    DrawingId, DrawingRefusal, FromExtension, NackReason, PastAct, SERVER_VERSION, TenantTrouble,
    Timestamp, ToExtension, Transport, UploadAnswer, UploadRefusal,
};

/// The transport's end of a link, for the frames of the extension. Dropping it detaches the
/// extension.
#[derive(Debug)]
pub struct ExtensionLink {
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
        transport: Transport,
        extension_version: String,
    ) -> (ExtensionLink, Outbox) {
        let room = self.0.limits.outbound;
        let (outbound, frames) = link_channel(room);
        let browser = peer.browser.clone();
        let (instance, version) = (peer.instance.clone(), extension_version.clone());
        let end = LinkEnd { browser: browser.clone(), outbound, is_filled: false, orders_sent: 0 };
        let of = peer.clone();
        let is_returning = self.view(|engine| engine.knows_browser(&browser));
        self.0.metrics.count_link(transport, is_returning);
        let id = self.open_link(end, |tx, id| {
            tx.attach(NewLink { id, peer: of, transport, extension_version, room });
        });
        tracing::info!(%browser, %instance, version, "extension attached");
        if version != SERVER_VERSION {
            tracing::warn!(
                extension = version,
                daemon = SERVER_VERSION,
                "the extension is of another version: run `tabwire install`, then reload it"
            );
        }
        let outbox = Outbox::new(self.clone(), browser, frames);
        (ExtensionLink { hub: self.clone(), id, peer }, outbox)
    }

    /// The folder of the extension holds this version and nothing else.
    pub fn tell_all_renewed(&self, version: &'static str) {
        self.transact(|tx| tx.tell_all_renewed(version));
    }

    /// Ends all links.
    pub fn end_links(&self, why: CloseReason) {
        self.transact(|tx| tx.end_links(why));
    }
}

impl ExtensionLink {
    /// Handles a frame of the extension.
    pub fn receive(&self, frame: FromExtension) {
        // Entries stay out of the engine, so that a flood of them holds up no command.
        if let FromExtension::Events { stream, entries } = frame {
            if self.hub.transact(|tx| tx.touch(&self.peer.browser, self.id)) {
                self.hub.0.streams.enqueue(&self.peer.browser, &stream, entries);
            }
            return;
        }
        // Neither do pictures, which are for the person alone.
        if let FromExtension::ActPicture { correlation_id, moment, jpeg } = frame {
            if self.hub.transact(|tx| tx.touch(&self.peer.browser, self.id)) {
                let browser = &self.peer.browser;
                self.hub.keep_act_picture(browser, correlation_id, moment, &jpeg);
            }
            return;
        }
        let mut frame = frame;
        if let FromExtension::Report { correlation_id, report, .. } = &mut frame {
            self.hub.redact_report(correlation_id, report);
        }
        self.hub.transact(|tx| tx.receive(&self.peer, self.id, frame));
    }

    /// Notes, before `ready` is received, whose files the extension has.
    pub fn note_files(&self, files: ExtensionFiles) {
        self.hub.transact(|tx| tx.note_files(&self.peer.browser, self.id, files));
    }

    /// The folder of the extension holds this version and nothing else, after `ready` was received.
    pub fn tell_renewed(&self, version: &'static str) {
        self.hub.transact(|tx| tx.tell_renewed(&self.peer.browser, version));
    }

    /// Tells the extension that it sent something other than a frame.
    pub fn refuse(&self, reason: NackReason) {
        self.reply(ToExtension::Nack { correlation_id: None, attempt: None, reason });
    }

    /// Tells the extension that a drawing is stored, or why it is not.
    pub fn acknowledge_drawing(&self, drawing_id: DrawingId, error: Option<DrawingRefusal>) {
        self.reply(ToExtension::AnnotationsAck { drawing_id, error });
    }

    /// Answers a `file_check`.
    pub fn tell_file_verdict(&self, check: u64, admitted: Vec<bool>) {
        self.reply(ToExtension::FileVerdict { check, admitted });
    }

    /// The extension of this link.
    #[must_use]
    pub const fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Answers an `upload_request`.
    pub fn answer_upload(&self, request: u64, answer: Result<UploadAnswer, UploadRefusal>) {
        let (UploadAnswer { files, asks }, error) = match answer {
            Ok(answer) => (answer, None),
            Err(error) => (UploadAnswer::default(), Some(error)),
        };
        self.reply(ToExtension::UploadCopies { request, files, asks, error });
    }

    /// Answers `history`.
    pub fn tell_history(&self, on: bool, acts: Vec<PastAct>, problem: Option<String>) {
        self.reply(ToExtension::History { on, acts, problem });
    }

    /// Tells the person of the owners on other machines and of teams in trouble, and why their change does not count.
    pub fn tell_far_owners(&self, troubles: Vec<TenantTrouble>, problem: Option<String>) {
        let owners = self.hub.view(|engine| engine.far_owners());
        self.reply(ToExtension::FarOwners { owners, troubles, problem });
    }

    /// Tells the person why their change of the open folders does not count.
    pub fn refuse_local_file_change(&self, problem: String) {
        self.hub.transact(|tx| tx.tell_local_files(&self.peer.browser, Some(problem)));
    }

    /// Tells the person why their change of the rules does not count.
    pub fn refuse_site_change(&self, problem: String) {
        self.hub.transact(|tx| tx.tell_site_rules(&self.peer.browser, Some(problem)));
    }

    /// Tells the person why the name that they have given to the browser does not count.
    pub fn refuse_name(&self, problem: String) {
        self.hub.transact(|tx| tx.tell_browser_name(&self.peer.browser, Some(problem)));
    }

    /// Tells the person why their decision on an older extension does not count.
    pub fn refuse_older_extension(&self, problem: String) {
        self.hub.transact(|tx| tx.show_older_extensions(&self.peer.browser, Some(problem)));
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.hub.now()
    }

    /// Asks the extension for a sign of life.
    pub fn ping(&self) {
        self.reply(ToExtension::Ping { t: self.now().unix_millis() });
    }

    fn reply(&self, frame: ToExtension) {
        self.hub.transact(|tx| tx.reply(&self.peer.browser, frame));
    }
}

impl Drop for ExtensionLink {
    fn drop(&mut self) {
        self.hub.transact(|tx| tx.detach(&self.peer.browser, self.id));
    }
}
