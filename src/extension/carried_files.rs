//! The files of the extension that this build carries.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

pub(super) const MANIFEST: &str = "manifest.json";

/// What the extension needs of its folder. Its tests and types are for developers, and `config.json` there
/// holds the key of a developer's browser, which must not get into a program for others.
static TOP: [(&str, &[u8]); 2] = [
    (MANIFEST, include_bytes!("../../extension-shim/manifest.json")),
    ("background.js", include_bytes!("../../extension-shim/background.js")),
];

static FOLDERS: [(&str, Dir<'_>); 4] = [
    ("icons", include_dir!("$CARGO_MANIFEST_DIR/extension-shim/icons")),
    ("popup", include_dir!("$CARGO_MANIFEST_DIR/extension-shim/popup")),
    ("src", include_dir!("$CARGO_MANIFEST_DIR/extension-shim/src")),
    ("third_party", include_dir!("$CARGO_MANIFEST_DIR/extension-shim/third_party")),
];

/// Every file, by its path in the folder of the extension.
pub(super) fn carried_files() -> BTreeMap<PathBuf, &'static [u8]> {
    let top = TOP.iter().map(|(name, contents)| (PathBuf::from(name), *contents));
    let mut files: BTreeMap<_, _> = top.collect();
    for (name, folder) in &FOLDERS {
        add(Path::new(name), folder, &mut files);
    }
    files
}

fn add(at: &Path, folder: &Dir<'static>, files: &mut BTreeMap<PathBuf, &'static [u8]>) {
    files.extend(folder.files().map(|file| (at.join(file.path()), file.contents())));
    for inner in folder.dirs() {
        add(at, inner, files);
    }
}

/// The manifest's text.
pub(super) const fn manifest() -> &'static [u8] {
    TOP[0].1
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
        let carried = carried_files();
        assert!(carried.keys().eq(there.keys()), "{:?} or {:?}", carried.keys(), there.keys());
        for (path, contents) in carried {
            assert_eq!(contents, there[&path], "{}", path.display());
        }
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
