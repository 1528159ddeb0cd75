//! The files of the extension that this build carries.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use lzma_rust2::LzmaReader;
use sha2::{Digest as _, Sha256};

pub(super) const MANIFEST: &str = "manifest.json";

/// The manifest's text, which is read more often than the other files.
pub(super) const MANIFEST_TEXT: &str = include_str!("../../extension-shim/manifest.json");

/// A file of the extension.
pub(super) struct CarriedFile {
    /// From the extension's folder, with `/` on every system.
    name: &'static str,
    /// In bytes.
    length: usize,
    /// SHA-256 of its contents.
    digest: [u8; 32],
}

/// Every file, sorted by name. `build.rs` chooses and packs them.
pub(super) static CARRIED: &[CarriedFile] = include!(concat!(env!("OUT_DIR"), "/carried_files.rs"));

/// The contents of [`CARRIED`], one after the other, as LZMA.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/extension.lzma"));

impl CarriedFile {
    /// Its path in the folder of the extension.
    pub(super) fn path(&self) -> PathBuf {
        self.name.split('/').collect()
    }

    /// Whether there is a file with its contents at `path`.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        // Only a regular file is opened: the read of a pipe would block.
        let is_so_long = |found: fs::Metadata| {
            found.is_file()
                && usize::try_from(found.len()).is_ok_and(|length| length == self.length)
        };
        let has_digest = |now: Vec<u8>| Sha256::digest(now).as_slice() == self.digest;
        fs::metadata(path).is_ok_and(is_so_long) && fs::read(path).is_ok_and(has_digest)
    }
}

/// The paths of all files.
pub(super) fn carried_paths() -> Vec<PathBuf> {
    CARRIED.iter().map(CarriedFile::path).collect()
}

/// The contents of all files, by path.
pub(super) fn unpacked() -> BTreeMap<PathBuf, Vec<u8>> {
    const PACKED_SO: &str = "the build script has packed it";
    let mut packed = LzmaReader::new_mem_limit(PACKED, u32::MAX, None).expect(PACKED_SO);
    let mut next = |file: &CarriedFile| {
        let mut contents = vec![0; file.length];
        packed.read_exact(&mut contents).expect(PACKED_SO);
        (file.path(), contents)
    };
    CARRIED.iter().map(&mut next).collect()
}

/// The names in each folder, the extension's own (an empty path) first, and each before those in it.
pub(super) fn names_by_folder<'a>(
    files: impl Iterator<Item = &'a PathBuf>,
) -> BTreeMap<&'a Path, BTreeSet<&'a OsStr>> {
    let mut names = BTreeMap::<_, BTreeSet<_>>::new();
    for path in files.map(PathBuf::as_path).flat_map(Path::ancestors) {
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            names.entry(folder).or_default().insert(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The entries of the extension's folder that are not carried.
    const LEFT_OUT: [&str; 3] = ["config.json", "test", "types"];

    fn read_all(from: &Path, below: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(from.join(below)).unwrap() {
            let path = below.join(entry.unwrap().file_name());
            if LEFT_OUT.iter().any(|left_out| path == Path::new(left_out)) {
                continue;
            }
            if from.join(&path).is_dir() {
                read_all(from, &path, files);
            } else {
                files.insert(path.clone(), fs::read(from.join(path)).unwrap());
            }
        }
    }

    #[test]
    fn all_of_the_extension_is_carried_but_for_its_tests_its_types_and_a_developers_key() {
        let mut there = BTreeMap::new();
        let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("extension-shim");
        read_all(&shim, Path::new(""), &mut there);
        let carried = unpacked();
        assert!(carried.keys().eq(there.keys()), "{:?} or {:?}", carried.keys(), there.keys());
        for (path, contents) in carried {
            assert_eq!(contents, there[&path], "{}", path.display());
        }
        let shim_has = |file: &CarriedFile| file.is_at(&shim.join(file.path()));
        assert!(CARRIED.iter().all(shim_has));
    }

    #[test]
    fn a_folder_is_named_before_those_in_it_with_all_that_is_in_it() {
        let files = ["a/b/c.js", "a/d.js", "e.js"].map(PathBuf::from);
        let named: Vec<_> = names_by_folder(files.iter())
            .into_iter()
            .map(|(folder, names)| (folder.display().to_string(), names.len()))
            .collect();
        let expected = [("", 2), ("a", 2), ("a/b", 1)];
        assert_eq!(named, expected.map(|(folder, count)| (folder.to_owned(), count)));
    }
}
