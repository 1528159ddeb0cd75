use std::fs::OpenOptions;
use std::io::Write as _;

use super::*;
use crate::home::{AgentFiles, FolderAccess, UsualFolder};

/// A state directory, and a folder that is open for reading.
struct Shop {
    _dir: tempfile::TempDir,
    files: AgentFiles,
    store: UploadStore,
    folder: PathBuf,
}

impl Shop {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("tabwire-").tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let home = StateDirectory::open(&root.join("state")).unwrap();
        let folder = root.join("shop");
        fs::create_dir(&folder).unwrap();
        home.open_agent_folder(&folder, &[FolderAccess::Read]).unwrap();
        let files = home.agent_files(UsualFolder { base: root, below: "Tabwire/files".into() });
        Self { _dir: dir, files, store: home.uploads(), folder }
    }

    fn open(&self, name: &str, bytes: &[u8]) -> ReadableFile {
        let path = self.folder.join(name);
        fs::write(&path, bytes).unwrap();
        self.files.open_readable(path.to_str().unwrap()).unwrap()
    }

    fn folders(&self) -> usize {
        fs::read_dir(&self.store.dir).map_or(0, Iterator::count)
    }
}

fn mode(path: &Path) -> u32 {
    crate::os::testing::mode(path)
}

#[test]
fn a_copy_has_the_name_of_the_file_in_a_folder_of_its_own_for_its_owner_alone() {
    let shop = Shop::new();
    let name = "Фото кота 🐈.png";
    let first = shop.store.add(&mut shop.open(name, b"cat")).unwrap();
    let second = shop.store.add(&mut shop.open(name, b"another cat")).unwrap();
    assert_eq!((first.name.as_str(), first.size, second.size), (name, 3, 11));
    assert_eq!(first.path.file_name().unwrap(), name);
    assert_eq!(fs::read(&first.path).unwrap(), b"cat", "it is no other name of the file");
    assert_eq!(fs::read(&second.path).unwrap(), b"another cat");
    let folder = first.path.parent().unwrap();
    assert_eq!((mode(&first.path), mode(folder), mode(&shop.store.dir)), (0o600, 0o700, 0o700));
    shop.store.remove(&first);
    assert!(!folder.exists() && second.path.exists());
}

#[test]
fn a_file_that_grows_shrinks_or_is_written_to_while_it_is_read_is_not_copied() {
    let shop = Shop::new();
    type Change = fn(&Path);
    let changes: [(&str, Change); 3] = [
        ("grows", |path| {
            let mut file = OpenOptions::new().append(true).open(path).unwrap();
            file.write_all(b"more").unwrap();
        }),
        ("shrinks", |path| fs::write(path, b"c").unwrap()),
        ("written", |path| {
            fs::write(path, b"dog").unwrap();
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }),
    ];
    for (name, change) in changes {
        let mut opened = shop.open(name, b"cat");
        change(&shop.folder.join(name));
        let refused = shop.store.add(&mut opened).unwrap_err();
        assert!(matches!(refused, StoredUploadError::Changed(_)), "{name}: {refused}");
    }
    assert_eq!(shop.folders(), 0, "nothing is left of a copy that was begun");
}

#[test]
fn a_file_that_another_process_puts_aside_meanwhile_is_the_one_that_is_copied() {
    let shop = Shop::new();
    let mut opened = shop.open("cat.png", b"cat");
    let path = shop.folder.join("cat.png");
    fs::rename(&path, shop.folder.join("aside")).unwrap();
    fs::write(&path, b"secret").unwrap();
    let copied = shop.store.add(&mut opened).unwrap();
    assert_eq!(fs::read(copied.path).unwrap(), b"cat", "the file that was checked");
}

#[test]
fn a_file_beyond_the_limit_and_one_for_which_there_is_no_room_are_not_copied() {
    let shop = Shop::new();
    let sparse = |name: &str, size: u64| {
        let opened = shop.open(name, b"");
        let file = OpenOptions::new().write(true).open(&opened.path).unwrap();
        file.set_len(size).unwrap();
        shop.files.open_readable(opened.path.to_str().unwrap()).unwrap()
    };
    let refused = shop.store.add(&mut sparse("large", UPLOAD_SIZE_MAX + 1)).unwrap_err();
    assert!(matches!(refused, StoredUploadError::TooLarge { .. }), "{refused}");
    assert_eq!(shop.folders(), 0);
    let kept = shop.store.add(&mut shop.open("cat.png", b"cat")).unwrap();
    // As large as all copies may be, without its blocks.
    let file = OpenOptions::new().write(true).open(&kept.path).unwrap();
    file.set_len(UPLOADS_KEPT_MAX).unwrap();
    let refused = shop.store.add(&mut shop.open("dog.png", b"dog")).unwrap_err();
    assert!(matches!(refused, StoredUploadError::Full), "{refused}");
    shop.store.remove(&kept);
    shop.store.add(&mut shop.open("dog.png", b"dog")).unwrap();
}

#[test]
fn copies_whose_time_is_over_go_and_nothing_else_in_the_folder_does() {
    let shop = Shop::new();
    shop.store.remove_older_than(UPLOAD_KEPT, SystemTime::UNIX_EPOCH).unwrap();
    let copy = shop.store.add(&mut shop.open("cat.png", b"cat")).unwrap();
    let theirs = shop.store.dir.join("notes");
    fs::create_dir(&theirs).unwrap();
    let made = fs::metadata(copy.path.parent().unwrap()).unwrap().modified().unwrap();
    let next = shop.store.remove_older_than(UPLOAD_KEPT, made + UPLOAD_KEPT / 3).unwrap();
    assert_eq!(next, Some(UPLOAD_KEPT - UPLOAD_KEPT / 3));
    assert!(copy.path.exists());
    // The daemon's clock has milliseconds, and the disk's has less.
    let just_before = made - std::time::Duration::from_micros(1);
    assert_eq!(shop.store.remove_older_than(UPLOAD_KEPT, just_before).unwrap(), Some(UPLOAD_KEPT));
    assert!(copy.path.exists());
    assert_eq!(shop.store.remove_older_than(UPLOAD_KEPT, made + UPLOAD_KEPT).unwrap(), None);
    assert!(!copy.path.exists() && theirs.exists());
    // The clock was set back by more than a copy's time.
    let copy = shop.store.add(&mut shop.open("cat.png", b"cat")).unwrap();
    shop.store.remove_older_than(UPLOAD_KEPT, made - 2 * UPLOAD_KEPT).unwrap();
    assert!(!copy.path.exists());
    assert!(theirs.exists());
}
