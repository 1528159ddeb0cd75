//! Files that running commands give to pages.

use super::{Engine, Transaction};
use crate::lifecycle::{CommandState, Peer};
use crate::protocol::{CorrelationId, GivenFile, TabId, UploadRequest};

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
