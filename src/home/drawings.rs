//! Drawings on the disk: a folder for each owner, and in it a file for each drawing, beside it the
//! screenshot.
//!
//! A drawing counts once its own file is in place, which is written after the screenshot. The next
//! drawing sweeps what a killed daemon left. A third file marks a drawing as read, since the others
//! never change.

mod folder;
mod record;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use schemars::JsonSchema;
use serde::Serialize;

use super::StateDirectory;
use super::files::{FileError, ReadError, decode, encode, make_folder, paths_in, read_text, write};
use crate::protocol::{
    CorrelationId, Drawing, DrawingId, DrawingReport, Owner, SessionName, TabScope, Timestamp,
};
use folder::{DrawingFiles, DrawingFolder};
use record::DrawingRecord;

/// How many drawings an owner can have.
pub const DRAWINGS_MAX: usize = 200;

/// How many bytes an owner's drawings can have together, with their screenshots.
pub const DRAWINGS_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The largest file of a drawing that is read, in bytes. Every drawing that can be sent is smaller.
const RECORD_MAX: usize = 32 * 1024 * 1024;

/// The drawings of all owners. Clones are cheap and write one after another. The functions block on
/// the disk.
#[derive(Clone, Debug)]
pub struct DrawingStore {
    dir: PathBuf,
    writing: Arc<Mutex<()>>,
}

/// A drawing's description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptDrawing {
    /// Its id.
    pub drawing_id: DrawingId,
    /// The session that it belongs to.
    pub session: Option<SessionName>,
    /// The wait that asked for it.
    #[serde(skip)]
    pub correlation_id: Option<CorrelationId>,
    /// When it was kept.
    pub at: Timestamp,
    /// The page.
    pub page_url: String,
    /// The narrowest scope in which the owner's clients see it.
    #[serde(skip)]
    pub scope: TabScope,
    /// How many annotations it has.
    pub annotations: usize,
    /// How many bytes its files have.
    pub bytes: u64,
    /// Whether nobody has read it yet.
    #[serde(rename = "unread")]
    pub is_unread: bool,
}

/// An owner's drawings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawingList {
    /// The drawings, oldest first. One whose screenshot is damaged is among them.
    pub drawings: Vec<KeptDrawing>,
    /// The damaged files.
    pub damaged: Vec<DamagedDrawing>,
}

/// A damaged file of a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedDrawing {
    /// The drawing of the file, by which it can be deleted.
    pub drawing_id: DrawingId,
    /// The file.
    pub path: PathBuf,
    /// The error in it.
    pub why: String,
}

/// The reason why nothing was kept, read, marked or deleted.
#[derive(Debug, thiserror::Error)]
pub enum DrawingsError {
    /// There is no room, and none can be made: an unread drawing is never removed.
    #[error(
        "there is no room for a drawing of {bytes} bytes: at most {DRAWINGS_MAX} drawings of \
         together {DRAWINGS_BYTES_MAX} bytes are kept, and only those that were read make room. \
         `tabwire drawings` lists and deletes them"
    )]
    Full {
        /// How many bytes it has.
        bytes: u64,
    },
    /// There is no drawing of that id.
    #[error("there is no drawing `{drawing_id}`")]
    NotFound {
        /// The id.
        drawing_id: DrawingId,
    },
    /// Another program has changed its file.
    #[error("{} does not hold what was kept: {why}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The error in it.
        why: String,
    },
    /// The disk is full, cannot be written or cannot be read.
    #[error(transparent)]
    Io(#[from] FileError),
}

impl StateDirectory {
    /// The drawings in this directory.
    #[must_use]
    pub fn drawings(&self) -> DrawingStore {
        let dir = self.dir.join("drawings");
        // An agent that reads the path in a report has another working directory.
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        DrawingStore { dir, writing: Arc::default() }
    }
}

impl DrawingStore {
    /// Keeps a drawing. True: it is new. `scope`: the narrowest one in which the owner's clients see it.
    /// A repetition finds the drawing whole, or repairs it. If there is no room, the oldest drawings that
    /// were read are removed.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Full`], [`DrawingsError::Io`]. Nothing that nobody has read is lost.
    pub fn keep(
        &self,
        owner: &Owner,
        drawing: &Drawing,
        at: Timestamp,
        scope: TabScope,
    ) -> Result<(KeptDrawing, bool), DrawingsError> {
        let _turn = self.turn();
        let path = self.folder(owner);
        make_folder(&self.dir)?;
        make_folder(&path)?;
        let mut folder = DrawingFolder::read(&path)?;
        folder.sweep();
        let id = &drawing.drawing_id;
        if let Some(files) = folder.drawings.get(id)
            && let Ok(record) = whole(&path, id)
        {
            return Ok((describe(&record, files), false));
        }
        // A damaged drawing is written anew: nobody can have read it whole (decision 164).
        folder.strip(id)?;
        let record = DrawingRecord::new(drawing, at, scope);
        let text = record.to_json();
        // Before anything is written, so that a refusal leaves no files.
        make_room(&mut folder, text.len() + record.picture_size())?;
        put(&path, drawing, &record, &text)?;
        let bytes = (text.len() + record.picture_size()) as u64;
        Ok((KeptDrawing { bytes, ..record.describe() }, true))
    }

    /// The drawings of an owner.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Io`].
    pub fn list(&self, owner: &Owner) -> Result<DrawingList, DrawingsError> {
        let path = self.folder(owner);
        let mut list = DrawingList::default();
        for (id, files) in &DrawingFolder::read(&path)?.drawings {
            match read(&path, id) {
                Ok(record) => {
                    list.damaged.extend(record.damaged_picture(&path));
                    list.drawings.push(describe(&record, files));
                }
                Err(DrawingsError::Damaged { path, why }) => {
                    list.damaged.push(DamagedDrawing { drawing_id: id.clone(), path, why });
                }
                Err(DrawingsError::Io(FileError { path, source })) => {
                    let (drawing_id, why) = (id.clone(), source.to_string());
                    list.damaged.push(DamagedDrawing { drawing_id, path, why });
                }
                // It was deleted since the folder was listed.
                Err(DrawingsError::NotFound { .. } | DrawingsError::Full { .. }) => {}
            }
        }
        list.drawings.sort_unstable_by(|a, b| (a.at, &a.drawing_id).cmp(&(b.at, &b.drawing_id)));
        Ok(list)
    }

    /// The owners that have a folder of drawings.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Io`].
    pub fn owners(&self) -> Result<Vec<Owner>, DrawingsError> {
        let owner = |path: PathBuf| Some(decode(path.file_name()?.to_str()?)?.as_str().into());
        Ok(paths_in(&self.dir)?.filter_map(owner).collect())
    }

    /// When a drawing of any owner was last kept, read or deleted, also by another program. `None`: there
    /// has never been one. It looks at one folder for each owner and at no drawing.
    #[must_use]
    pub fn changed_at(&self) -> Option<Timestamp> {
        let folders = paths_in(&self.dir).ok()?.chain([self.dir.clone()]);
        let changes = folders.filter_map(|folder| fs::metadata(folder).ok()?.modified().ok());
        let since = changes.max()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Timestamp::from_unix_micros(u64::try_from(since.as_micros()).ok()?))
    }

    /// A drawing as agents read it, without its screenshot if that is damaged. The drawing stays
    /// unread until [`mark_read`](Self::mark_read).
    ///
    /// # Errors
    ///
    /// [`DrawingsError::NotFound`], [`DrawingsError::Damaged`], [`DrawingsError::Io`].
    pub fn load(&self, owner: &Owner, id: &DrawingId) -> Result<DrawingReport, DrawingsError> {
        let path = self.folder(owner);
        let record = read(&path, id)?;
        let screenshot = match record.damaged_picture(&path) {
            Some(DamagedDrawing { path, why, .. }) => {
                tracing::warn!(path = %path.display(), why, "a screenshot is damaged");
                None
            }
            None => record.picture_path(&path),
        };
        Ok(record.into_report(screenshot))
    }

    /// Marks a drawing as read, on the disk.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::NotFound`], [`DrawingsError::Io`].
    pub fn mark_read(&self, owner: &Owner, id: &DrawingId) -> Result<(), DrawingsError> {
        let _turn = self.turn();
        let path = self.folder(owner);
        let folder = DrawingFolder::read(&path)?;
        let Some(files) = folder.drawings.get(id) else { return Err(not_found(id)) };
        if files.is_read { Ok(()) } else { Ok(write(&path, &folder::read_mark(&path, id), b"")?) }
    }

    /// Deletes a drawing, also a damaged one.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::NotFound`], [`DrawingsError::Io`].
    pub fn delete(&self, owner: &Owner, id: &DrawingId) -> Result<(), DrawingsError> {
        let _turn = self.turn();
        let mut folder = DrawingFolder::read(&self.folder(owner))?;
        if folder.remove(id)? { Ok(()) } else { Err(not_found(id)) }
    }

    /// Deletes all drawings, also the damaged ones. Returns their number.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Io`]. Those that were deleted before it are gone.
    pub fn clear(&self, owner: &Owner) -> Result<usize, DrawingsError> {
        self.remove(owner, |_, _| true)
    }

    /// Deletes the drawings of a session, or those without one, that clients within a scope see. Returns
    /// their number.
    ///
    /// # Errors
    ///
    /// See [`clear`](Self::clear).
    pub fn clear_session(
        &self,
        owner: &Owner,
        session: Option<&SessionName>,
        within: TabScope,
    ) -> Result<usize, DrawingsError> {
        let is_of = |record: DrawingRecord| record.session() == session && record.scope() <= within;
        self.remove(owner, |path, id| read(path, id).is_ok_and(is_of))
    }

    fn remove(
        &self,
        owner: &Owner,
        is_meant: impl Fn(&Path, &DrawingId) -> bool,
    ) -> Result<usize, DrawingsError> {
        let _turn = self.turn();
        let path = self.folder(owner);
        let mut folder = DrawingFolder::read(&path)?;
        let mut ids: Vec<_> = folder.drawings.keys().cloned().collect();
        ids.retain(|id| is_meant(&path, id));
        for id in &ids {
            folder.remove(id)?;
        }
        Ok(ids.len())
    }

    fn folder(&self, owner: &Owner) -> PathBuf {
        self.dir.join(encode(owner.as_str()))
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_found(id: &DrawingId) -> DrawingsError {
    DrawingsError::NotFound { drawing_id: id.clone() }
}

/// The record of a drawing, with or without its screenshot.
fn read(folder: &Path, id: &DrawingId) -> Result<DrawingRecord, DrawingsError> {
    let path = folder::record_path(folder, id);
    let damaged = |why: String| DrawingsError::Damaged { path: path.clone(), why };
    let text = read_text(&path, RECORD_MAX).map_err(|error| match error {
        ReadError::Damaged(why) => damaged(why),
        ReadError::Io(error) if error.source.kind() == io::ErrorKind::NotFound => not_found(id),
        ReadError::Io(error) => error.into(),
    })?;
    DrawingRecord::parse(&text, id).map_err(damaged)
}

/// The record of a drawing, if its screenshot is whole too.
fn whole(folder: &Path, id: &DrawingId) -> Result<DrawingRecord, DrawingsError> {
    let record = read(folder, id)?;
    match record.damaged_picture(folder) {
        Some(DamagedDrawing { path, why, .. }) => Err(DrawingsError::Damaged { path, why }),
        None => Ok(record),
    }
}

fn describe(record: &DrawingRecord, files: &DrawingFiles) -> KeptDrawing {
    KeptDrawing { bytes: files.bytes, is_unread: !files.is_read, ..record.describe() }
}

/// Puts a drawing in its place, the screenshot first.
fn put(
    path: &Path,
    drawing: &Drawing,
    record: &DrawingRecord,
    text: &str,
) -> Result<(), DrawingsError> {
    let picture = drawing.screenshot.as_ref().zip(record.picture_path(path));
    if let Some((screenshot, picture)) = &picture {
        write(path, picture, &screenshot.bytes)?;
    }
    // Last, because the record makes the drawing count (decision 161).
    let written = write(path, &folder::record_path(path, &drawing.drawing_id), text.as_bytes());
    if let (Err(_), Some((_, picture))) = (&written, &picture) {
        // The disk may be full, and the picture is of no use alone. If this fails, it is swept later.
        let _ = fs::remove_file(picture);
    }
    Ok(written?)
}

/// Makes room for a drawing: removes the oldest ones that were read, but only if that is enough.
fn make_room(folder: &mut DrawingFolder, bytes: usize) -> Result<(), DrawingsError> {
    let bytes = bytes as u64;
    let mut count = folder.drawings.len() + 1;
    let mut total = bytes + folder.drawings.values().map(|files| files.bytes).sum::<u64>();
    let fits = |count: usize, total: u64| count <= DRAWINGS_MAX && total <= DRAWINGS_BYTES_MAX;
    if fits(count, total) {
        return Ok(());
    }
    let is_read = |(id, files): (&DrawingId, &DrawingFiles)| {
        let at = files.is_read.then(|| read(&folder.path, id))?.ok()?.at();
        Some((at, id.clone(), files.bytes))
    };
    let mut leaving: Vec<_> = folder.drawings.iter().filter_map(is_read).collect();
    leaving.sort_unstable();
    let mut leave = Vec::new();
    for (_, id, size) in leaving {
        if fits(count, total) {
            break;
        }
        (count, total) = (count - 1, total - size);
        leave.push(id);
    }
    if !fits(count, total) {
        return Err(DrawingsError::Full { bytes });
    }
    for id in leave {
        folder.remove(&id)?;
    }
    Ok(())
}

/// Whether this is a file of a drawing.
pub(super) fn is_own_file(path: &Path) -> bool {
    folder::belongs_to(path).is_some()
}

#[cfg(test)]
mod tests;
