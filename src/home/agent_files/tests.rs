use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::os::testing::symlink;
use crate::protocol::ImageFormat;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nits rest";
const JPEG: &[u8] = b"\xff\xd8\xffits rest";

/// A person's home directory with a state directory outside of it, and a folder that is open.
struct Person {
    _dir: tempfile::TempDir,
    home: StateDirectory,
    files: AgentFiles,
    /// The home directory, without links.
    place: PathBuf,
    /// A folder that the person opened.
    opened: PathBuf,
}

impl Person {
    fn new() -> Self {
        // Without a dot in front, since no folder with one is opened.
        let dir = tempfile::Builder::new().prefix("tabwire-").tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        let place = dir.path().join("person");
        let opened = place.join("pictures");
        fs::create_dir_all(&opened).unwrap();
        let usual = UsualFolder { base: place.clone(), below: "Tabwire/files".into() };
        let files = home.agent_files(usual);
        home.open_agent_folder(&opened, &[FolderAccess::Write]).unwrap();
        Self { _dir: dir, home, files, place, opened }
    }

    fn write(&self, name: impl AsRef<Path>) -> Result<PathBuf, AgentFileError> {
        self.files.write(name.as_ref().to_str().unwrap(), PNG)
    }
}

fn mode(path: &Path) -> u32 {
    crate::os::testing::mode(path)
}

#[test]
fn a_trace_is_written_under_the_ending_of_compressed_files_alone() {
    let person = Person::new();
    let bytes = b"\x1f\x8b\x08its rest";
    let written = person.files.write("load.json.gz", bytes).unwrap();
    assert_eq!(fs::read(&written).unwrap(), bytes);
    let refused = person.files.write("load.png", bytes).unwrap_err();
    assert!(matches!(refused, AgentFileError::Ending(SavedFormat::Trace)), "{refused}");
}

#[test]
fn a_bare_name_is_a_new_file_for_its_owner_alone_in_the_usual_folder_which_is_made_so() {
    let person = Person::new();
    let usual = person.place.join("Tabwire/files");
    assert!(!usual.exists());
    let written = person.write("page.png").unwrap();
    assert_eq!(written, usual.join("page.png"));
    assert_eq!(fs::read(&written).unwrap(), PNG);
    assert_eq!(
        (mode(&written), mode(&usual), mode(&person.place.join("Tabwire"))),
        (0o600, 0o700, 0o700)
    );
    assert_eq!(person.write(usual.join("again.PNG")).unwrap(), usual.join("again.PNG"));
    assert_eq!(person.files.open_folders().unwrap(), [usual, person.opened]);
}

#[test]
fn a_whole_path_is_written_below_an_opened_folder_and_nowhere_else() {
    let person = Person::new();
    fs::create_dir(person.opened.join("shop")).unwrap();
    let path = person.opened.join("shop/page.png");
    assert_eq!(person.write(&path).unwrap(), path);
    for elsewhere in [
        person.place.join("page.png"),
        person.place.join("pictures.png"),
        person.place.join("pictures-of-mine/page.png"),
        person.home.dir().join("page.png"),
        "/page.png".into(),
        "/tmp/page.png".into(),
    ] {
        let refused = person.write(&elsewhere).unwrap_err();
        assert!(matches!(refused, AgentFileError::NotOpen), "{elsewhere:?}: {refused}");
    }
    person.home.close_agent_folder(&person.opened, &FolderAccess::ALL).unwrap();
    let refused = person.write(person.opened.join("shop/other.png")).unwrap_err();
    assert!(matches!(refused, AgentFileError::NotOpen), "a closed folder: {refused}");
}

#[test]
fn names_that_lead_elsewhere_or_are_read_by_programs_on_their_own_are_refused() {
    let person = Person::new();
    let opened = person.opened.to_str().unwrap();
    for name in ["", "a\0b.png", "a\nb.png", "a\u{1b}b.png", "/", opened] {
        assert!(person.write(name).is_err(), "{name:?}");
    }
    for name in [
        "../page.png",
        "a/../../page.png",
        &format!("{opened}/../page.png"),
        "..",
        "../.xsessionrc",
    ] {
        let refused = person.write(name).unwrap_err();
        assert!(matches!(refused, AgentFileError::Upwards), "{name:?}: {refused}");
    }
    for name in [".page.png", ".config/page.png", "a/.b/page.png", ".png", "...png", ".bashrc"] {
        let refused = person.write(name).unwrap_err();
        assert!(matches!(refused, AgentFileError::Dot), "{name:?}: {refused}");
    }
    assert!(!person.place.join("Tabwire").exists(), "nothing is made for a name that is refused");
}

#[test]
fn a_name_ends_as_the_picture_in_it_does() {
    let person = Person::new();
    for name in [
        "page",
        "page.sh",
        "page.png.sh",
        "page.svg",
        "page.jpg",
        "png",
        "page.desktop",
        "page.png ",
    ] {
        let refused = person.write(name).unwrap_err();
        assert!(
            matches!(refused, AgentFileError::Ending(SavedFormat::Image(ImageFormat::Png))),
            "{name:?}: {refused}"
        );
    }
    for name in ["page.jpg", "page.jpeg", "page.JPEG"] {
        person.files.write(name, JPEG).unwrap();
    }
    assert!(person.files.check("x.jpg", ImageFormat::Png).is_err());
    let script = b"#!/bin/sh\necho owned";
    let refused = person.files.write("script.png", script).unwrap_err();
    assert!(matches!(refused, AgentFileError::UnknownFormat), "{refused}");
    assert!(!person.place.join("Tabwire/files/script.png").exists());
}

#[test]
fn what_is_there_stays_and_the_same_picture_again_is_as_good() {
    let person = Person::new();
    let path = person.opened.join("page.png");
    fs::write(&path, "theirs").unwrap();
    let name = path.to_str().unwrap();
    assert!(matches!(person.write(&path), Err(AgentFileError::Exists)));
    assert!(matches!(person.files.check(name, ImageFormat::Png), Err(AgentFileError::Exists)));
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    fs::remove_file(&path).unwrap();
    person.write(&path).unwrap();
    person.write(&path).unwrap();
    // One that holds the picture, but by a link, is another's.
    let link = person.opened.join("link.png");
    symlink(&path, &link).unwrap();
    assert!(matches!(person.write(&link), Err(AgentFileError::Exists)));
    symlink("/nowhere", person.opened.join("dangling.png")).unwrap();
    assert!(matches!(
        person.write(person.opened.join("dangling.png")),
        Err(AgentFileError::Exists)
    ));
    let status = std::process::Command::new("mkfifo").arg(person.opened.join("pipe.png")).status();
    assert!(status.unwrap().success());
    assert!(matches!(person.write(person.opened.join("pipe.png")), Err(AgentFileError::Exists)));
}

#[test]
fn no_link_is_followed_on_the_way_to_the_file() {
    let person = Person::new();
    let theirs = person.place.join("theirs");
    fs::create_dir_all(theirs.join("deep")).unwrap();
    symlink(&theirs, person.opened.join("link")).unwrap();
    fs::create_dir(person.opened.join("real")).unwrap();
    symlink(&theirs, person.opened.join("real/link")).unwrap();
    fs::write(person.opened.join("file"), "").unwrap();
    for below in ["link/page.png", "link/deep/page.png", "real/link/page.png", "file/page.png"] {
        let refused = person.write(person.opened.join(below)).unwrap_err();
        assert!(matches!(refused, AgentFileError::Link(_)), "{below}: {refused}");
        assert!(
            person
                .files
                .check(person.opened.join(below).to_str().unwrap(), ImageFormat::Png)
                .is_err()
        );
    }
    // The folder itself, and the one that holds it.
    fs::rename(&person.opened, person.place.join("moved")).unwrap();
    symlink(&theirs, &person.opened).unwrap();
    assert!(matches!(person.write(person.opened.join("page.png")), Err(AgentFileError::Link(_))));
    symlink(&theirs, person.place.join("Tabwire")).unwrap();
    assert!(matches!(person.write("page.png"), Err(AgentFileError::Link(_))));
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1, "nothing but `deep`");
    assert_eq!(fs::read_dir(theirs.join("deep")).unwrap().count(), 0);
}

#[test]
fn a_folder_that_is_swapped_for_a_link_meanwhile_takes_no_file_elsewhere() {
    const FILES: u32 = 2_000;
    let person = Person::new();
    let theirs = person.place.join("theirs");
    let (real, link) = (person.opened.join("a"), person.opened.join("b"));
    fs::create_dir(&theirs).unwrap();
    fs::create_dir(&real).unwrap();
    symlink(&theirs, &link).unwrap();
    let is_over = AtomicBool::new(false);
    let (mut written, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let aside = person.opened.join("aside");
            while !is_over.load(Ordering::Relaxed) {
                // `a` is now the folder, now the link.
                fs::rename(&real, &aside).unwrap();
                fs::rename(&link, &real).unwrap();
                fs::rename(&aside, &link).unwrap();
            }
        });
        for n in 0.. {
            match person.write(real.join(format!("{n}.png"))) {
                Ok(_) => written += 1,
                Err(AgentFileError::Link(_)) => refused += 1,
                Err(_neither_is_there) => {}
            }
            if n >= FILES && written > 0 && refused > 0 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0, "{written} written, {refused} refused");
}

#[test]
fn folders_that_hold_everything_or_keys_or_settings_are_not_opened() {
    let person = Person::new();
    let check = |path: &Path| person.home.check_agent_folder(path, Some(&person.place));
    let settings = person.place.join(".config/autostart");
    fs::create_dir_all(&settings).unwrap();
    let extension = person.place.join("my-extension");
    fs::create_dir_all(extension.join("page")).unwrap();
    person.home.note_unpacked(&extension).unwrap();
    symlink(&settings, person.place.join("innocent")).unwrap();
    fs::create_dir(person.home.dir().join("files")).unwrap();
    // Where it goes, though it was unpacked to another folder last.
    let usual = person.place.join("Tabwire/extension");
    fs::create_dir_all(usual.join("page")).unwrap();
    for kept in [
        PathBuf::from("/"),
        person.place.clone(),
        person.place.parent().unwrap().to_owned(),
        person.place.join("pictures/.."),
        settings,
        person.place.join("innocent"),
        person.home.dir().to_owned(),
        person.home.dir().join("files"),
        extension.clone(),
        extension.join("page"),
        usual.clone(),
        usual.join("page"),
        person.place.join("Tabwire"),
    ] {
        let refused = check(&kept).unwrap_err();
        assert!(matches!(refused, AgentFolderError::Kept { .. }), "{kept:?}: {refused}");
    }
    let file = person.place.join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(check(&file), Err(AgentFolderError::NoFolder(_))));
    assert!(matches!(check(&person.place.join("none")), Err(AgentFolderError::Io { .. })));
    let unseen = person.place.join("a\rb");
    fs::create_dir(&unseen).unwrap();
    assert!(matches!(check(&unseen), Err(AgentFolderError::NoText(_))));
    symlink(&person.opened, person.place.join("link")).unwrap();
    assert_eq!(check(&person.place.join("link")).unwrap(), person.opened, "without links");
    // The extension was unpacked into an opened folder only afterwards.
    let late = person.opened.join("extension");
    fs::create_dir(&late).unwrap();
    person.write(late.join("before.png")).unwrap();
    person.home.note_unpacked(&late).unwrap();
    assert!(matches!(person.write(late.join("after.png")), Err(AgentFileError::NotOpen)));
    // Opened before Tabwire went there, by a build that opened it.
    person.home.open_agent_folder(&person.place.join("Tabwire"), &[FolderAccess::Write]).unwrap();
    for kept in [usual.clone(), usual.join("page")] {
        assert!(
            matches!(person.write(kept.join("a.png")), Err(AgentFileError::NotOpen)),
            "{kept:?}"
        );
    }
}

#[test]
fn each_refusal_names_where_a_file_can_go() {
    let person = Person::new();
    let open = person.files.open_folders().unwrap();
    let hint = AgentFileError::NotOpen.hint(&open);
    for part in ["Tabwire/files", "pictures", "tabwire files allow DIR --write"] {
        assert!(hint.contains(part), "{part}: {hint}");
    }
}

/// What opening a path ends with, for a person who opened `pictures` for reading too.
fn read(person: &Person, path: impl AsRef<Path>) -> Result<Vec<u8>, ReadableFileError> {
    let mut opened = person.files.open_readable(path.as_ref().to_str().unwrap())?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut opened.file, &mut bytes).unwrap();
    Ok(bytes)
}

#[test]
fn a_file_is_read_below_a_folder_that_is_open_for_reading_and_nowhere_else() {
    let person = Person::new();
    fs::create_dir(person.opened.join("shop")).unwrap();
    let path = person.opened.join("shop/cat.png");
    fs::write(&path, "cat").unwrap();
    let refused = read(&person, &path).unwrap_err();
    assert!(matches!(refused, ReadableFileError::NotOpen), "it is open for writing: {refused}");
    person.home.open_agent_folder(&person.opened, &[FolderAccess::Read]).unwrap();
    assert_eq!(read(&person, &path).unwrap(), b"cat");
    fs::write(person.place.join("key"), "secret").unwrap();
    fs::create_dir(person.place.join("pictures-of-mine")).unwrap();
    fs::write(person.place.join("pictures-of-mine/key"), "secret").unwrap();
    for elsewhere in [
        person.place.join("key"),
        person.place.join("pictures-of-mine/key"),
        person.home.dir().join("auth.key"),
        "/etc/passwd".into(),
        "/".into(),
    ] {
        let refused = read(&person, &elsewhere).unwrap_err();
        assert!(matches!(refused, ReadableFileError::NotOpen), "{elsewhere:?}: {refused}");
    }
    person.home.close_agent_folder(&person.opened, &[FolderAccess::Read]).unwrap();
    let refused = read(&person, &path).unwrap_err();
    assert!(matches!(refused, ReadableFileError::NotOpen), "a closed folder: {refused}");
}

#[test]
fn no_path_leads_to_a_file_with_a_dot_in_front_a_link_or_anything_but_a_regular_file() {
    let person = Person::new();
    person.home.open_agent_folder(&person.opened, &[FolderAccess::Read]).unwrap();
    let at = |path: &str| person.opened.join(path);
    fs::create_dir_all(at(".git/deep")).unwrap();
    fs::create_dir(at("real")).unwrap();
    let theirs = person.place.join("theirs");
    fs::write(&theirs, "secret").unwrap();
    for file in [".env", ".git/config", ".git/deep/file", "real/cat.png"] {
        fs::write(at(file), "x").unwrap();
    }
    symlink(&theirs, at("link")).unwrap();
    symlink("real", at("folder-link")).unwrap();
    fs::hard_link(&theirs, at("second-name")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let _socket = crate::os::UnixListener::bind(at("socket")).unwrap();
    for dot in [".env", ".git/config", ".git/deep/file", "real/.hidden"] {
        assert!(matches!(read(&person, at(dot)), Err(ReadableFileError::Dot)), "{dot}");
    }
    for path in ["../theirs", "real/../../theirs", "real/..", ".."] {
        assert!(matches!(read(&person, at(path)), Err(ReadableFileError::NoPath)), "{path}");
    }
    for path in ["", "pictures/real/cat.png", "~/cat.png", "/a\0b", "/a\nb", &"/a".repeat(4_096)] {
        assert!(matches!(read(&person, path), Err(ReadableFileError::NoPath)), "{path:?}");
    }
    for link in ["link", "folder-link/cat.png", "real/cat.png/more"] {
        assert!(matches!(read(&person, at(link)), Err(ReadableFileError::Link(_))), "{link}");
    }
    for other in ["pipe", "real", "socket", ""] {
        let refused = read(&person, at(other)).unwrap_err();
        assert!(matches!(refused, ReadableFileError::NotRegular(_)), "{other}: {refused:?}");
    }
    assert!(matches!(read(&person, at("second-name")), Err(ReadableFileError::SeveralNames(_))));
    assert!(matches!(read(&person, at("none")), Err(ReadableFileError::NotFound(_))));
    assert_eq!(read(&person, at("real/cat.png")).unwrap(), b"x");
    // Devices lie outside of all folders that can be opened; this one was opened by hand.
    person.home.open_agent_folder(Path::new("/dev"), &[FolderAccess::Read]).unwrap();
    assert!(matches!(read(&person, "/dev/zero"), Err(ReadableFileError::NotRegular(_))));
}

#[test]
fn a_folder_that_is_swapped_for_a_link_meanwhile_gives_no_file_from_elsewhere() {
    const FILES: u32 = 2_000;
    let person = Person::new();
    person.home.open_agent_folder(&person.opened, &[FolderAccess::Read]).unwrap();
    let theirs = person.place.join("theirs");
    let (real, link) = (person.opened.join("a"), person.opened.join("b"));
    for (folder, text) in [(&theirs, "secret"), (&real, "cat")] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("file"), text).unwrap();
    }
    symlink(&theirs, &link).unwrap();
    let is_over = AtomicBool::new(false);
    let (mut opened, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let aside = person.opened.join("aside");
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(&real, &aside).unwrap();
                fs::rename(&link, &real).unwrap();
                fs::rename(&aside, &link).unwrap();
            }
        });
        for n in 0.. {
            match read(&person, real.join("file")) {
                Ok(bytes) => {
                    assert_eq!(bytes, b"cat");
                    opened += 1;
                }
                Err(ReadableFileError::Link(_)) => refused += 1,
                Err(_neither_is_there) => {}
            }
            if n >= FILES && opened > 0 && refused > 0 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
