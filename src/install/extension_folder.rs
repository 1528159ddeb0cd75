//! The folder of the extension: where it goes, how it gets there from its former place, and what
//! takes it away.

use std::fs;
use std::path::PathBuf;

use super::{Installation, PlannedChange, is_missing};
use crate::extension;
use crate::home::{StateDirectory, extension_in_person_folder, extension_in_state};
use crate::protocol::EXTENSION_ID;

impl Installation {
    /// Where the extension goes: to a folder that file dialogs show, or below a state directory
    /// that was named by hand.
    pub(crate) fn extension(&self) -> PathBuf {
        match &self.user_folders {
            Some(user_folders) => extension_in_person_folder(&user_folders.home),
            None => extension_in_state(&self.state),
        }
    }

    /// Where the extension went before it went to the home directory; `None`: it still goes there.
    fn former_extension(&self) -> Option<PathBuf> {
        self.user_folders.as_ref().map(|_| extension_in_state(&self.state))
    }

    /// What takes the extension away, from its former place first.
    pub(super) fn extension_removals(&self) -> Vec<PlannedChange> {
        let extension = self.extension();
        let former = self.former_extension();
        let link = former
            .iter()
            .filter(|former| fs::read_link(former).is_ok_and(|leads_to| leads_to == extension));
        // A folder of this name that holds something else is not ours, and a link is none.
        let is_ours = |dir: &&PathBuf| {
            let is_folder = fs::symlink_metadata(dir).is_ok_and(|found| found.is_dir());
            is_folder && (extension::find(dir).is_some() || extension::is_empty_folder(dir))
        };
        let folders = former.iter().chain([&extension]).filter(is_ours);
        link.chain(folders).map(|dir| PlannedChange::RemoveExtension { dir: dir.clone() }).collect()
    }

    /// What brings an extension from its former place to where it goes now.
    pub(super) fn extension_move(&self) -> Option<PlannedChange> {
        let (from, to) = (self.former_extension()?, self.extension());
        let is_folder = fs::symlink_metadata(&from).is_ok_and(|found| found.is_dir());
        let is_there = is_folder && extension::find(&from).is_some();
        let is_gone = || fs::symlink_metadata(&from).is_err_and(|error| is_missing(&error));
        let is_noted = || {
            let home = StateDirectory::find(&self.state).ok().flatten();
            home.is_some_and(|home| {
                home.unpacked().is_ok_and(|noted| noted.as_ref() == Some(&from))
            })
        };
        // The second: a move broke off.
        let is_moved = is_there || (is_gone() && extension::find(&to).is_some() && is_noted());
        is_moved.then_some(PlannedChange::MoveExtension { from, to })
    }

    /// Whether the extension is there already, just as it would be unpacked, and known to be.
    pub(super) fn is_unpacked(&self) -> bool {
        let Ok(Some(home)) = StateDirectory::find(&self.state) else { return false };
        let dir = self.extension();
        let is_noted = home.unpacked().is_ok_and(|noted| noted.as_ref() == Some(&dir));
        // A browser that asks for the key by native messaging needs none in the folder.
        let may_lack_key = !self.browsers().is_empty();
        let key = home.auth().extension_key(EXTENSION_ID);
        is_noted && extension::is_as_unpacked(&dir, self.port, &key, may_lack_key)
    }
}
