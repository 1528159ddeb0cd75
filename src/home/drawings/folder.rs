//! One owner's folder: the files of each drawing, and leftovers.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::home::files::{ASIDE, FileError, paths_in, sync_folder};
use crate::protocol::{DrawingId, ImageFormat};

const RECORD: &str = "json";
const READ_MARK: &str = "read";

/// The endings of a drawing's files. The record is first, so that it is removed first: a drawing
/// without its record is a leftover, and one without its picture would be damaged.
const ENDINGS: [&str; 4] =
    [RECORD, ImageFormat::Png.extension(), ImageFormat::Jpeg.extension(), READ_MARK];

/// The files of a drawing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DrawingFiles {
    /// Whether the record is there, without which the drawing does not count.
    has_record: bool,
    /// How many bytes they have together.
    pub(super) bytes: u64,
    /// Whether it was read.
    pub(super) is_read: bool,
}

/// The content of a folder. Foreign files are left alone.
#[derive(Debug)]
pub(super) struct DrawingFolder {
    pub(super) path: PathBuf,
    /// The drawings that count.
    pub(super) drawings: BTreeMap<DrawingId, DrawingFiles>,
    leftovers: Vec<PathBuf>,
}

/// The file with a drawing's record.
pub(super) fn record_path(folder: &Path, id: &DrawingId) -> PathBuf {
    folder.join(format!("{id}.{RECORD}"))
}

/// The file with its screenshot.
pub(super) fn picture_path(folder: &Path, id: &DrawingId, format: ImageFormat) -> PathBuf {
    folder.join(format!("{id}.{}", format.extension()))
}

/// The file that is there if it was read.
pub(super) fn read_mark(folder: &Path, id: &DrawingId) -> PathBuf {
    folder.join(format!("{id}.{READ_MARK}"))
}

/// The drawing that a file belongs to, and how its name ends.
pub(super) fn belongs_to(path: &Path) -> Option<(DrawingId, &str)> {
    let (id, ending) = path.file_name()?.to_str()?.split_once('.')?;
    let id = DrawingId::parse(id)?;
    ENDINGS.contains(&ending).then_some((id, ending))
}

impl DrawingFolder {
    /// Reads a folder, which need not exist.
    pub(super) fn read(path: &Path) -> Result<Self, FileError> {
        let mut found: BTreeMap<DrawingId, DrawingFiles> = BTreeMap::new();
        let mut leftovers = Vec::new();
        for path in paths_in(path)? {
            let Some((id, ending)) = belongs_to(&path) else {
                leftovers.extend(path.file_name().is_some_and(|it| it == ASIDE).then_some(path));
                continue;
            };
            let files = found.entry(id).or_default();
            files.has_record |= ending == RECORD;
            files.is_read |= ending == READ_MARK;
            // A file that was deleted meanwhile has no bytes.
            files.bytes += fs::symlink_metadata(&path).map_or(0, |found| found.len());
        }
        let (drawings, parts): (BTreeMap<_, _>, BTreeMap<_, _>) =
            found.into_iter().partition(|(_, files)| files.has_record);
        leftovers.extend(parts.keys().flat_map(|id| files_of(path, id)));
        Ok(Self { path: path.to_owned(), drawings, leftovers })
    }

    /// Removes the leftovers of a killed daemon. One that cannot be removed does no harm.
    pub(super) fn sweep(&mut self) {
        for path in self.leftovers.drain(..) {
            if let Err(error) = remove(&path) {
                tracing::debug!(path = %path.display(), %error, "a leftover stays");
            }
        }
    }

    /// Makes way for a new copy of a damaged drawing. Its record stays until it is written over, so
    /// that a failure loses nothing that can still be read.
    pub(super) fn strip(&mut self, id: &DrawingId) -> Result<(), FileError> {
        if self.drawings.remove(id).is_some() {
            for path in files_of(&self.path, id).skip(1) {
                remove(&path).map_err(FileError::at(&path))?;
            }
        }
        Ok(())
    }

    /// Removes a drawing. False: there was none.
    pub(super) fn remove(&mut self, id: &DrawingId) -> Result<bool, FileError> {
        if !self.drawings.contains_key(id) {
            return Ok(false);
        }
        for path in files_of(&self.path, id) {
            remove(&path).map_err(FileError::at(&path))?;
        }
        sync_folder(&self.path)?;
        self.drawings.remove(id);
        Ok(true)
    }
}

fn files_of(folder: &Path, id: &DrawingId) -> impl Iterator<Item = PathBuf> + use<> {
    let (folder, id) = (folder.to_owned(), id.clone());
    ENDINGS.into_iter().map(move |ending| folder.join(format!("{id}.{ending}")))
}

/// Removes a file, unless it is gone.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
