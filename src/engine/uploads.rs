//! Files that running commands give to pages.

use super::{Caller, Engine, Transaction};
use crate::lifecycle::{Command, CommandState, Peer};
use crate::protocol::{AskedFile, ConsentKind, CorrelationId, GivenFile, TabId, UploadRequest};

impl Engine {
    /// The tab whose page gets the files of this request. `None`: this extension does not run the
    /// command, or the command names other files.
    #[must_use]
    pub fn upload_tab(&self, peer: &Peer, request: &UploadRequest) -> Option<Option<TabId>> {
        let command = self.commands.get(&request.correlation_id)?;
        let CommandState::Started { delivery, let_go: true, .. } = command.state() else {
            return None;
        };
        let is_holder =
            delivery.attempt == request.attempt && delivery.peer.browser == peer.browser;
        let action = command.spec().work.action()?;
        let lane = self.scheduler.lane_of(&request.correlation_id);
        (is_holder && action.gives_files(&request.paths)).then(|| lane.and_then(|lane| lane.tab))
    }

    /// Whether this extension has a command that names the files of this request. It may not have
    /// begun.
    #[must_use]
    pub fn names_files(&self, peer: &Peer, request: &UploadRequest) -> bool {
        let Some(command) = self.commands.get(&request.correlation_id) else { return false };
        let (CommandState::Sent { delivery, .. } | CommandState::Started { delivery, .. }) =
            command.state()
        else {
            return false;
        };
        let is_holder =
            delivery.attempt == request.attempt && delivery.peer.browser == peer.browser;
        let action = command.spec().work.action();
        is_holder && action.is_some_and(|action| action.gives_files(&request.paths))
    }

    /// The files that the person has allowed the command of this request alone to give to this site.
    #[must_use]
    pub fn allowed_files(&self, request: &UploadRequest) -> Vec<AskedFile> {
        let Some(command) = self.commands.get(&request.correlation_id) else { return Vec::new() };
        let words = command.holds().allowed.iter();
        let of_site = words
            .filter(|need| need.kind == ConsentKind::File && need.site.as_str() == request.site);
        of_site.flat_map(|need| need.files.iter().cloned()).collect()
    }

    /// The files about which the person is asked for this command now.
    #[must_use]
    pub fn asked_files(&self, id: &CorrelationId) -> Vec<AskedFile> {
        let hold = self.commands.get(id).and_then(Command::hold);
        hold.map(|hold| hold.need.files.clone()).unwrap_or_default()
    }

    /// The client whose command this is.
    #[must_use]
    pub fn caller_of(&self, id: &CorrelationId) -> Option<Caller> {
        let spec = self.commands.get(id)?.spec();
        Some(Caller { owner: spec.owner.clone(), client: spec.client.clone() })
    }

    /// The files that a command gave to pages, oldest first.
    #[must_use]
    pub fn given_files(&self, id: &CorrelationId) -> &[GivenFile] {
        self.commands.given_files(id)
    }
}

impl Transaction<'_> {
    /// Notes files that a command gives to a page, for its timeline.
    pub fn note_given_files(
        &mut self,
        id: &CorrelationId,
        files: impl IntoIterator<Item = GivenFile>,
    ) {
        self.commands.note_given_files(id, files);
    }
}
