//! Files that running commands give to pages.

use super::{Caller, Hub};
use crate::lifecycle::Peer;
use crate::protocol::{AskedFile, CorrelationId, GivenFile, TabId, UploadRequest};

impl Hub {
    /// The tab whose page gets the files of this request. `None`: this extension does not run the
    /// command, or the command names other files.
    #[must_use]
    pub fn upload_tab(&self, peer: &Peer, request: &UploadRequest) -> Option<Option<TabId>> {
        self.view(|engine| engine.upload_tab(peer, request))
    }

    /// Whether this extension has a command that names the files of this request.
    #[must_use]
    pub fn names_files(&self, peer: &Peer, request: &UploadRequest) -> bool {
        self.view(|engine| engine.names_files(peer, request))
    }

    /// The files that the person has allowed the command of this request alone to give to this site.
    #[must_use]
    pub fn allowed_files(&self, request: &UploadRequest) -> Vec<AskedFile> {
        self.view(|engine| engine.allowed_files(request))
    }

    /// The files about which the person is asked for this command now.
    #[must_use]
    pub fn asked_files(&self, id: &CorrelationId) -> Vec<AskedFile> {
        self.view(|engine| engine.asked_files(id))
    }

    /// The client whose command this is.
    #[must_use]
    pub fn caller_of(&self, id: &CorrelationId) -> Option<Caller> {
        self.view(|engine| engine.caller_of(id))
    }

    /// Notes files that a command gives to a page, for its timeline.
    pub fn note_given_files(&self, id: &CorrelationId, files: impl IntoIterator<Item = GivenFile>) {
        self.transact(|tx| tx.note_given_files(id, files));
    }
}
