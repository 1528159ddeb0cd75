//! Files that agents give to pages: found in the folders that a person opened, and copied to the state
//! directory, from where the browser attaches the copies.
//!
//! The extension asks while it runs the command, so that nothing is copied for a command that never
//! runs. It names paths only that its command has.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;

use crate::home::{
    AgentFiles, ReadableFileError, StoredUpload, StoredUploadError, UPLOAD_KEPT, UPLOAD_SIZE_MAX,
    UploadStore,
};
use crate::hub::{ClockSample, Hub};
use crate::install::native_host::shell_quoted;
use crate::lifecycle::Peer;
use crate::local_files::LiveLocalFileRules;
use crate::protocol::{
    BrowserId, BrowserTab, GivenFile, TabId, UPLOAD_FILES_MAX, UploadCopy, UploadRefusal,
    UploadRefusalCode, UploadRequest,
};

/// How long to wait after a failed look for copies whose time is over.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Gives extensions copies of files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct UploadService {
    hub: Hub,
    files: AgentFiles,
    store: UploadStore,
    local_files: LiveLocalFileRules,
    held: Arc<Mutex<Vec<HeldUpload>>>,
    /// Wakes the removal of copies: there is a new one.
    added: Arc<Notify>,
}

/// A copy whose tab is known. Copies of an earlier daemon stay until their time is over.
#[derive(Debug)]
struct HeldUpload {
    copy: StoredUpload,
    browser: BrowserId,
    tab: TabId,
}

impl UploadService {
    /// Gives copies of these files, kept in this store.
    #[must_use]
    pub fn new(
        hub: Hub,
        files: AgentFiles,
        store: UploadStore,
        local_files: LiveLocalFileRules,
    ) -> Self {
        Self { hub, files, store, local_files, held: Arc::default(), added: Arc::default() }
    }

    /// Copies the files that the running command of this extension names. All are copied, or none.
    ///
    /// # Errors
    ///
    /// [`UploadRefusal`].
    pub async fn copy(
        &self,
        peer: &Peer,
        request: UploadRequest,
    ) -> Result<Vec<UploadCopy>, UploadRefusal> {
        let refused = || not_running(&request);
        let tab = self.hub.upload_tab(peer, &request).ok_or_else(refused)?;
        if request.paths.len() > UPLOAD_FILES_MAX {
            let message = format!("a page gets at most {UPLOAD_FILES_MAX} files at once");
            let hint = "Give the files in several calls.".to_owned();
            return Err(UploadRefusal { code: UploadRefusalCode::FileTooLarge, message, hint });
        }
        let (this, paths) = (self.clone(), request.paths.clone());
        let copying = tokio::task::spawn_blocking(move || this.copy_all(&paths)).await;
        let copies = copying.map_err(|error| unreadable(&error))??;
        // It may have been cancelled while the files were copied.
        if self.hub.upload_tab(peer, &request) != Some(tab) {
            self.remove(copies);
            return Err(refused());
        }
        self.hub.note_given_files(
            &request.correlation_id,
            copies.iter().map(|copy| GivenFile {
                name: copy.name.clone(),
                size: copy.size,
                site: request.site.clone(),
            }),
        );
        let answer = copies.iter().map(upload_copy).collect();
        if let Some(tab) = tab {
            let held = copies.into_iter();
            let held = held.map(|copy| HeldUpload { copy, browser: peer.browser.clone(), tab });
            self.held.lock().unwrap_or_else(PoisonError::into_inner).extend(held);
        }
        self.added.notify_one();
        Ok(answer)
    }

    /// Removes the copies for tabs of this browser that are closed.
    pub fn forget_closed(&self, browser: &BrowserId, tabs: &[BrowserTab]) {
        let is_open = |tab: TabId| {
            tabs.iter().any(|open| open.tab_id == tab || open.former_ids.contains(&tab))
        };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = held.extract_if(.., |one| one.browser == *browser && !is_open(one.tab));
        let copies: Vec<_> = closed.map(|one| one.copy).collect();
        drop(held);
        if !copies.is_empty() {
            self.remove(copies);
        }
    }

    /// Removes copies when their time is over, without end.
    pub async fn remove_old(self) {
        loop {
            let service = self.clone();
            let next = match tokio::task::spawn_blocking(move || service.remove_expired()).await {
                Ok(Ok(next)) => next,
                Ok(Err(error)) => {
                    tracing::warn!(%error, "cannot remove old copies of files for pages");
                    Some(LOOK_AGAIN)
                }
                Err(_ending) => return,
            };
            match next {
                Some(next) => tokio::time::sleep(next).await,
                None => self.added.notified().await,
            }
        }
    }

    /// Removes the copies whose time is over. Returns the time until the next one's.
    fn remove_expired(&self) -> std::io::Result<Option<Duration>> {
        let next = self.store.remove_older_than(UPLOAD_KEPT, system_now())?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|one| one.copy.path.exists());
        Ok(next)
    }

    fn remove(&self, copies: Vec<StoredUpload>) {
        let store = self.store.clone();
        // Nobody waits for it.
        tokio::task::spawn_blocking(move || copies.iter().for_each(|copy| store.remove(copy)));
    }

    fn copy_all(&self, paths: &[String]) -> Result<Vec<StoredUpload>, UploadRefusal> {
        let mut copies = Vec::new();
        for path in paths {
            match self.copy_one(path) {
                Ok(copy) => copies.push(copy),
                Err(refusal) => {
                    copies.iter().for_each(|copy| self.store.remove(copy));
                    return Err(refusal);
                }
            }
        }
        Ok(copies)
    }

    fn copy_one(&self, path: &str) -> Result<StoredUpload, UploadRefusal> {
        let mut opened =
            self.files.open_readable(path).map_err(|error| self.refusal(path, &error))?;
        if self.local_files.is_closed(&opened.path) {
            return Err(self.refusal(path, &ReadableFileError::NotOpen));
        }
        self.store.add(&mut opened).map_err(|error| store_refusal(&error))
    }

    fn refusal(&self, path: &str, error: &ReadableFileError) -> UploadRefusal {
        let open = self.files.readable_folders().unwrap_or_default();
        let open: Vec<_> = open.iter().map(|folder| format!("`{}`", folder.display())).collect();
        let folder = Path::new(path).parent().filter(|folder| folder.is_absolute());
        let folder = folder.and_then(Path::to_str).map_or_else(|| "DIR".into(), shell_quoted);
        let ask = format!("Ask the person to run `tabwire files allow {folder} --read`");
        let (code, hint) = match error {
            ReadableFileError::NotOpen if open.is_empty() => (
                UploadRefusalCode::FileNotAllowed,
                format!("{ask}: no folder is open for reading."),
            ),
            ReadableFileError::NotOpen => (
                UploadRefusalCode::FileNotAllowed,
                format!("{ask}, or name a file below {}.", open.join(", ")),
            ),
            ReadableFileError::NoPath => (
                UploadRefusalCode::FileNotAllowed,
                "Give the whole path of the file, from the root on.".to_owned(),
            ),
            ReadableFileError::Dot => (
                UploadRefusalCode::FileNotAllowed,
                "Such files stay closed. Ask the person to copy the file under another name."
                    .to_owned(),
            ),
            ReadableFileError::Link(_) | ReadableFileError::SeveralNames(_) => (
                UploadRefusalCode::FileNotAllowed,
                "Links are not followed. Ask the person for a copy of the file in an open folder."
                    .to_owned(),
            ),
            ReadableFileError::NotFound(_) => {
                (UploadRefusalCode::FileNotFound, "Check the path.".to_owned())
            }
            ReadableFileError::NotRegular(_) => (
                UploadRefusalCode::FileNotAllowed,
                "Name a file; a folder cannot be given.".to_owned(),
            ),
            ReadableFileError::Home(_) | ReadableFileError::Io { .. } => {
                (UploadRefusalCode::FileUnreadable, "Ask the person to correct that.".to_owned())
            }
        };
        UploadRefusal { code, message: format!("cannot give {path} to the page: {error}"), hint }
    }
}

fn upload_copy(copy: &StoredUpload) -> UploadCopy {
    let path = copy.path.to_string_lossy().into_owned();
    UploadCopy { path, name: copy.name.clone(), size: copy.size }
}

fn store_refusal(error: &StoredUploadError) -> UploadRefusal {
    let (code, hint) = match error {
        StoredUploadError::TooLarge { .. } => (
            UploadRefusalCode::FileTooLarge,
            format!("Give a file of at most {} MiB.", UPLOAD_SIZE_MAX / (1024 * 1024)),
        ),
        StoredUploadError::Changed(_) => (
            UploadRefusalCode::FileChanged,
            "Wait until the file is written, then call again.".to_owned(),
        ),
        StoredUploadError::Full => (
            UploadRefusalCode::FileTooLarge,
            "Close tabs that have got files, or wait: a copy is kept for an hour.".to_owned(),
        ),
        StoredUploadError::Io { .. } => {
            (UploadRefusalCode::FileUnreadable, "Ask the person to correct that.".to_owned())
        }
    };
    UploadRefusal { code, message: error.to_string(), hint }
}

fn unreadable(error: &tokio::task::JoinError) -> UploadRefusal {
    UploadRefusal {
        code: UploadRefusalCode::FileUnreadable,
        message: format!("the files were not copied: {error}"),
        hint: "Call again.".to_owned(),
    }
}

fn not_running(request: &UploadRequest) -> UploadRefusal {
    UploadRefusal {
        code: UploadRefusalCode::Internal,
        message: format!("{} does not run, or names other files", request.correlation_id),
        hint: "Call again.".to_owned(),
    }
}

fn system_now() -> SystemTime {
    let now = ClockSample::now().system;
    SystemTime::UNIX_EPOCH + Duration::from_millis(now.unix_millis())
}
