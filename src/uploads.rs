//! Files that agents give to pages: found in the folders that a person opened, and copied to the state
//! directory, from where the browser attaches the copies.
//!
//! The extension asks while it runs the command, so that nothing is copied for a command that never
//! runs. It names paths only that its command has. Before that it has the daemon look whether the
//! person is to be asked about some of them: files that no folder rule opens.

mod proposed_roots;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;

use crate::client_roots::ClientRoots;
use crate::home::{
    AgentFiles, FolderAccess, ReadableFile, ReadableFileError, StateDirectory, StoredUpload,
    StoredUploadError, UPLOAD_KEPT, UPLOAD_SIZE_MAX, UploadStore,
};
use crate::hub::{ClockSample, Hub};
use crate::install::native_host::shell_quoted;
use crate::lifecycle::Peer;
use crate::local_files::LiveLocalFileRules;
use crate::protocol::{
    AskedFile, BrowserId, BrowserTab, CorrelationId, FileMark, GivenFile, ShownPath, TabId,
    UPLOAD_FILES_MAX, UploadAnswer, UploadCopy, UploadRefusal, UploadRefusalCode, UploadRequest,
};

/// How long to wait after a failed look for copies whose time is over.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Gives extensions copies of files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct UploadService {
    hub: Hub,
    home: Arc<StateDirectory>,
    files: AgentFiles,
    store: UploadStore,
    local_files: LiveLocalFileRules,
    roots: ClientRoots,
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
    /// Gives copies of these files, kept in this store. `home`: where the open folders are kept.
    #[must_use]
    pub fn new(
        hub: Hub,
        home: Arc<StateDirectory>,
        files: AgentFiles,
        store: UploadStore,
        local_files: LiveLocalFileRules,
    ) -> Self {
        let (roots, held, added) = Default::default();
        Self { hub, home, files, store, local_files, roots, held, added }
    }

    /// Asks clients in which folders they work.
    #[must_use]
    pub const fn client_roots(&self) -> &ClientRoots {
        &self.roots
    }

    /// Copies the files that the running command of this extension names, or looks whether the person
    /// is to be asked about them.
    ///
    /// # Errors
    ///
    /// [`UploadRefusal`]: of one file at least.
    pub async fn answer(
        &self,
        peer: &Peer,
        request: UploadRequest,
    ) -> Result<UploadAnswer, UploadRefusal> {
        if request.paths.len() > UPLOAD_FILES_MAX {
            let message = format!("a page gets at most {UPLOAD_FILES_MAX} files at once");
            let hint = "Give the files in several calls.".to_owned();
            return Err(UploadRefusal { code: UploadRefusalCode::FileTooLarge, message, hint });
        }
        if request.look {
            let asks = self.look(peer, request).await?;
            Ok(UploadAnswer { asks, ..UploadAnswer::default() })
        } else {
            let files = self.copy(peer, request).await?;
            Ok(UploadAnswer { files, ..UploadAnswer::default() })
        }
    }

    /// The files about which the person is to be asked before the command may give them.
    async fn look(
        &self,
        peer: &Peer,
        request: UploadRequest,
    ) -> Result<Vec<AskedFile>, UploadRefusal> {
        if !self.hub.names_files(peer, &request) {
            return Err(not_running(&request));
        }
        let (this, allowed) = (self.clone(), self.hub.allowed_files(&request));
        let id = request.correlation_id.clone();
        let look = move || {
            let asked = request.paths.iter().map(|path| this.look_at(path, &allowed));
            asked.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()
        };
        let asked =
            tokio::task::spawn_blocking(look).await.map_err(|error| unreadable(&error))??;
        Ok(self.propose_roots(&id, asked).await)
    }

    /// Opens the folders of the files about which the person is asked for this command, as they have
    /// said in the popup. Reads and writes the disk.
    ///
    /// # Errors
    ///
    /// A sentence for the person: one of them cannot be opened. The ones before it are open.
    pub fn open_asked_folders(&self, id: &CorrelationId, which: AskedFolder) -> Result<(), String> {
        for file in self.hub.asked_files(id) {
            let path = Path::new(file.path.as_str());
            let folder = match (which, &file.root) {
                (AskedFolder::OfFile, _) => self.openable_folder(path)?,
                (AskedFolder::Root, Some(root)) => {
                    self.openable_root(Path::new(root.as_str()), path)?
                }
                (AskedFolder::Root, None) => {
                    return Err(format!("no other folder is proposed for {}", path.display()));
                }
            };
            self.home
                .open_agent_folder(&folder, &[FolderAccess::Read])
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The folder of a file, if `tabwire files allow` would open it.
    fn openable_folder(&self, file: &Path) -> Result<PathBuf, String> {
        self.openable(file.parent().ok_or("the file is in no folder")?, file)
    }

    /// A folder that holds a file, if `tabwire files allow` would open it.
    fn openable(&self, folder: &Path, file: &Path) -> Result<PathBuf, String> {
        let person = etcetera::home_dir().ok();
        let found = self.home.check_agent_folder(folder, person.as_deref());
        let found = found.map_err(|error| error.to_string())?;
        // A link in the place of the folder would open another one than the person has read.
        if found != folder || !file.starts_with(&found) || self.local_files.is_closed(file) {
            return Err(format!("{} is not opened to agents", folder.display()));
        }
        Ok(found)
    }

    /// Copies the files that the running command of this extension names. All are copied, or none.
    async fn copy(
        &self,
        peer: &Peer,
        request: UploadRequest,
    ) -> Result<Vec<UploadCopy>, UploadRefusal> {
        let refused = || not_running(&request);
        let tab = self.hub.upload_tab(peer, &request).ok_or_else(refused)?;
        let (this, paths) = (self.clone(), request.paths.clone());
        let allowed = self.hub.allowed_files(&request);
        let copying = tokio::task::spawn_blocking(move || this.copy_all(&paths, &allowed)).await;
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

    fn copy_all(
        &self,
        paths: &[String],
        allowed: &[AskedFile],
    ) -> Result<Vec<StoredUpload>, UploadRefusal> {
        let mut copies = Vec::new();
        for path in paths {
            match self.copy_one(path, allowed) {
                Ok(copy) => copies.push(copy),
                Err(refusal) => {
                    copies.iter().for_each(|copy| self.store.remove(copy));
                    return Err(refusal);
                }
            }
        }
        Ok(copies)
    }

    fn copy_one(&self, path: &str, allowed: &[AskedFile]) -> Result<StoredUpload, UploadRefusal> {
        let mut opened = match self.find(path, allowed)? {
            FoundFile::Open(file) => file,
            FoundFile::Unruled(_) => return Err(self.not_asked(path)),
        };
        self.store.add(&mut opened).map_err(|error| store_refusal(&error))
    }

    /// The question about a file. `None`: there is none, since it may be given.
    fn look_at(
        &self,
        path: &str,
        allowed: &[AskedFile],
    ) -> Result<Option<AskedFile>, UploadRefusal> {
        let file = match self.find(path, allowed)? {
            FoundFile::Open(_) => return Ok(None),
            FoundFile::Unruled(file) => file,
        };
        if file.metadata.len() > UPLOAD_SIZE_MAX {
            return Err(self.unaskable(path));
        }
        let (Some(shown), Ok(mark)) = (ShownPath::new(path), FileMark::parse(&file.mark())) else {
            return Err(self.unaskable(path));
        };
        let may_open_folder = self.openable_folder(&file.path).is_ok();
        let size = file.metadata.len();
        Ok(Some(AskedFile { path: shown, size, mark, may_open_folder, root: None }))
    }

    /// Opens a file that an agent names. `allowed`: those that the person has allowed this command.
    fn find(&self, path: &str, allowed: &[AskedFile]) -> Result<FoundFile, UploadRefusal> {
        let found = match self.files.open_readable(path) {
            Ok(file) => FoundFile::Open(file),
            Err(ReadableFileError::NotOpen) => self.find_unruled(path, allowed)?,
            Err(error) => return Err(self.refusal(path, &error)),
        };
        let (FoundFile::Open(file) | FoundFile::Unruled(file)) = &found;
        if self.local_files.is_closed(&file.path) {
            return Err(self.refusal(path, &ReadableFileError::Kept));
        }
        Ok(found)
    }

    fn find_unruled(&self, path: &str, allowed: &[AskedFile]) -> Result<FoundFile, UploadRefusal> {
        let word = allowed.iter().find(|known| known.path.as_str() == path);
        let file = match self.files.open_unruled(path) {
            Ok(file) => file,
            Err(ReadableFileError::Kept) => {
                return Err(self.refusal(path, &ReadableFileError::Kept));
            }
            // Which of them it is would tell an agent what lies where nobody has let it look.
            Err(_) if word.is_none() => return Err(self.unaskable(path)),
            Err(_) => return Err(changed_since(path)),
        };
        match word {
            None => Ok(FoundFile::Unruled(file)),
            Some(word) if word.mark.as_str() == file.mark() => Ok(FoundFile::Open(file)),
            Some(_) => Err(changed_since(path)),
        }
    }

    /// The person was not asked about the file, and it is too late for that.
    fn not_asked(&self, path: &str) -> UploadRefusal {
        let UploadRefusal { code, message, hint } = self.refusal(path, &ReadableFileError::NotOpen);
        let hint = format!(
            "The user is asked before a command begins, about files for the page or the frame that \
             has the target then: for a page to which a step leads, call upload_file by itself. {hint}"
        );
        UploadRefusal { code, message, hint }
    }

    /// There is no file of this name that the person could be asked about.
    fn unaskable(&self, path: &str) -> UploadRefusal {
        let UploadRefusal { code, hint, .. } = self.refusal(path, &ReadableFileError::NotOpen);
        let message = format!(
            "cannot give {path} to the page: no folder that is open to agents for reading holds it, \
             and there is no file of that name that the user can be asked about"
        );
        let hint = format!(
            "Check the path: the user is not asked about links, folders, files that do not exist, \
             that Tabwire cannot read, that have a second name (a hard link), or that have more than \
             {} MiB. {hint}",
            UPLOAD_SIZE_MAX / (1024 * 1024)
        );
        UploadRefusal { code, message, hint }
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
            ReadableFileError::Kept => (
                UploadRefusalCode::FileNotAllowed,
                "Such files stay closed. Ask the person to copy the file to another folder."
                    .to_owned(),
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

/// The folders that the person opens with a word on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedFolder {
    /// The one in which each file lies.
    OfFile,
    /// The one that is proposed for each file, in which the agent's program says that it works.
    Root,
}

/// A file that an agent names, open.
enum FoundFile {
    /// A folder rule or the person's word for this command opens it.
    Open(ReadableFile),
    /// Nothing opens it: the person can be asked.
    Unruled(ReadableFile),
}

fn changed_since(path: &str) -> UploadRefusal {
    UploadRefusal {
        code: UploadRefusalCode::FileChanged,
        message: format!("{path} is not the file any more that the user has allowed"),
        hint: "Call again: the user is asked anew.".to_owned(),
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
