//! What is in the files of a folder.

use std::path::{Path, PathBuf};

/// The files below a folder that hold this word.
pub fn files_with(folder: &Path, word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // A socket is no file.
            let Ok(bytes) = std::fs::read(&path) else { continue };
            if String::from_utf8_lossy(&bytes).contains(word) {
                found.push(path);
            }
        }
    }
    found
}
