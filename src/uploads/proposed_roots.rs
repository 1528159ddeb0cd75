//! The folder that is proposed to the person for a file: one above the file's own, in which the agent's
//! program says that it works. To say so opens nothing.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use super::UploadService;
use crate::local_files::path_of_url;
use crate::os;
use crate::protocol::{AskedFile, CorrelationId, ShownPath};

/// The longest URI of a folder, in bytes: longer than any that leads to a path that is shown.
const URI_MAX: usize = 8 * 1024;

impl UploadService {
    /// Adds the proposed folder to each file about which the person is asked, if there is one. Asks the
    /// command's client, and nobody if the person is not asked.
    pub(super) async fn propose_roots(
        &self,
        id: &CorrelationId,
        asked: Vec<AskedFile>,
    ) -> Vec<AskedFile> {
        let caller = self.hub.caller_of(id).filter(|caller| self.hub.has_roots(caller));
        let Some(caller) = caller.filter(|_| !asked.is_empty()) else { return asked };
        let roots = folders_of(&self.roots.ask(&caller).await);
        if roots.is_empty() {
            return asked;
        }
        let (this, plain) = (self.clone(), asked.clone());
        let propose = move || {
            let with_root = |file| AskedFile { root: this.root_of(&file, &roots), ..file };
            asked.into_iter().map(with_root).collect()
        };
        // Without a proposal the question is whole, too.
        tokio::task::spawn_blocking(propose).await.unwrap_or(plain)
    }

    /// The deepest of these folders that holds the file and could be opened. `None` also if the file lies
    /// in one of them itself: that one is proposed already. Reads the disk.
    fn root_of(&self, file: &AskedFile, roots: &[PathBuf]) -> Option<ShownPath> {
        let path = Path::new(file.path.as_str());
        let mut holding: Vec<_> = roots.iter().filter(|root| path.starts_with(root)).collect();
        holding.sort_by_key(|root| Reverse(root.components().count()));
        let above =
            holding.into_iter().map(|root| Some(root).filter(|_| path.parent() != Some(root)));
        let mut above = above.map_while(|root| root);
        above.find_map(|root| {
            let found = self.openable_root(root, path).ok()?;
            ShownPath::new(found.to_str()?)
        })
    }

    /// A folder in which a program says that it works, if the person can open it for the files below it:
    /// by the rules of `tabwire files allow`, and it is the person's own.
    pub(super) fn openable_root(&self, root: &Path, file: &Path) -> Result<PathBuf, String> {
        let found = self.openable(root, file)?;
        // A program can name `/etc` or a folder that everybody writes to; a project is the person's.
        if os::is_own(&found) && fs::read_dir(&found).is_ok() {
            Ok(found)
        } else {
            Err(format!("{} is not a folder of yours", found.display()))
        }
    }
}

/// The folders that a program names. URIs that can be read in two ways are left out.
fn folders_of(uris: &[String]) -> Vec<PathBuf> {
    let is_plain = |uri: &&String| uri.len() <= URI_MAX && !uri.contains(['?', '#']);
    uris.iter().filter(is_plain).filter_map(|uri| path_of_url(uri)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_uri_of_an_absolute_path_on_this_computer_names_a_folder() {
        let folders = |uri: &str| folders_of(&[uri.to_owned()]);
        for (uri, path) in [
            ("file:///home/ann/shop", "/home/ann/shop"),
            ("file:///home/ann/shop/", "/home/ann/shop"),
            ("file://localhost/home/ann", "/home/ann"),
            ("file:///home/ann/two%20words", "/home/ann/two words"),
            ("file:///home/ann/caf%C3%A9", "/home/ann/caf\u{e9}"),
            ("file:///", "/"),
        ] {
            assert_eq!(folders(uri), [PathBuf::from(path)], "{uri}");
        }
        let long = format!("file:///{}", "a".repeat(URI_MAX));
        for uri in [
            "",
            "/home/ann",
            "file:",
            "file:/home/ann",
            "file://",
            "file://other/home/ann",
            "file://localhost.evil/home",
            "FILE:///home/ann",
            "https:///home/ann",
            "file:///home/ann/../bob",
            "file:///home/./ann",
            "file:///home/ann/%2e%2e/bob",
            "file:///home/ann%2fshop",
            "file:///home/ann%00",
            "file:///home/ann%5C",
            "file:///home/ann%2",
            "file:///home/ann%zz",
            "file:///home/ann?x",
            "file:///home/ann#x",
            &long,
        ] {
            assert_eq!(folders(uri), Vec::<PathBuf>::new(), "{uri}");
        }
    }
}
