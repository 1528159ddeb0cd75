//! Files that running commands give to pages.

use super::Hub;
use crate::lifecycle::Peer;
use crate::protocol::{CorrelationId, GivenFile, TabId, UploadRequest};

impl Hub {
    /// The tab whose page gets the files of this request. `None`: this extension does not run the
    /// command, or the command names other files.
    #[must_use]
    pub fn upload_tab(&self, peer: &Peer, request: &UploadRequest) -> Option<Option<TabId>> {
        self.view(|engine| engine.upload_tab(peer, request))
    }

    /// Notes files that a command gives to a page, for its timeline.
    pub fn note_given_files(&self, id: &CorrelationId, files: impl IntoIterator<Item = GivenFile>) {
        self.transact(|tx| tx.note_given_files(id, files));
    }
}
