use serde_json::{Value, json};

use super::*;
use crate::home::files::ASIDE;
use crate::protocol::{ImageFormat, Screenshot, TabScope};

/// A state directory, and the drawings in it.
struct DrawingsFixture {
    dir: tempfile::TempDir,
    drawings: DrawingStore,
}

fn kept() -> DrawingsFixture {
    let dir = crate::os::testing::private_folder();
    let drawings = StateDirectory::open(dir.path()).unwrap().drawings();
    DrawingsFixture { dir, drawings }
}

fn user() -> Owner {
    "user".into()
}

fn id(number: usize) -> DrawingId {
    DrawingId::parse(&format!("{number:032x}")).unwrap()
}

fn session(name: &str) -> SessionName {
    SessionName::parse(name).unwrap()
}

fn at(second: usize) -> Timestamp {
    Timestamp::from_unix_micros(second as u64 * 1_000_000)
}

fn picture(bytes: usize) -> Screenshot {
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    picture.resize(bytes, 7);
    Screenshot { format: ImageFormat::Png, bytes: picture.into() }
}

/// A drawing with a small picture.
fn drawing(number: usize) -> Drawing {
    let body = json!({
        "drawing_id": id(number),
        "annotations": [{"id": 1, "kind": "note"}],
        "page_url": format!("http://127.0.0.1/{number}"),
    });
    let read = Drawing::parse(body.to_string().as_bytes()).unwrap();
    Drawing { screenshot: Some(picture(100)), ..read }
}

impl DrawingsFixture {
    /// Keeps a drawing at the second of its number. Whether it is new.
    fn keep(&self, drawing: &Drawing) -> bool {
        let number = usize::from_str_radix(drawing.drawing_id.as_str(), 16).unwrap();
        self.drawings.keep(&user(), drawing, at(number), TabScope::All).unwrap().1
    }

    fn refuses(&self, drawing: &Drawing) -> DrawingsError {
        self.drawings.keep(&user(), drawing, at(0), TabScope::All).unwrap_err()
    }

    fn load(&self, number: usize) -> Value {
        serde_json::to_value(self.drawings.load(&user(), &id(number)).unwrap()).unwrap()
    }

    fn list(&self) -> DrawingList {
        self.drawings.list(&user()).unwrap()
    }

    fn ids(&self) -> Vec<DrawingId> {
        self.list().drawings.into_iter().map(|kept| kept.drawing_id).collect()
    }

    fn unread(&self) -> Vec<DrawingId> {
        let unread = self.list().drawings.into_iter().filter(|kept| kept.is_unread);
        unread.map(|kept| kept.drawing_id).collect()
    }

    fn mark_read(&self, number: usize) {
        self.drawings.mark_read(&user(), &id(number)).unwrap();
    }

    fn folder(&self) -> PathBuf {
        self.drawings.folder(&user())
    }

    fn file(&self, number: usize, ending: &str) -> PathBuf {
        self.folder().join(format!("{number:032x}.{ending}"))
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The same directory, as the next daemon finds it.
    fn restart(self) -> Self {
        Self { drawings: StateDirectory::open(self.dir.path()).unwrap().drawings(), ..self }
    }
}

#[test]
fn a_drawing_is_loaded_listed_and_deleted_also_by_the_next_daemon() {
    let kept = kept();
    let body = json!({
        "drawing_id": id(1),
        "annotations": [{"id": 1, "box": {"x": 1.0}}, {}],
        "element_details": {"e1": {"selector": "#buy"}},
        "page_url": "http://127.0.0.1/1",
        "page_title": "Home",
        "tab_id": 12,
        "annot_session_name": "check out",
        "correlation_id": "ann_1",
    });
    let one = Drawing::parse(body.to_string().as_bytes()).unwrap();
    let one = Drawing { screenshot: Some(picture(100)), ..one };
    let (told, is_new) = kept.drawings.keep(&user(), &one, at(1), TabScope::All).unwrap();
    assert!(is_new && told.is_unread);
    kept.keep(&Drawing { screenshot: None, ..drawing(2) });
    let next = kept.restart();
    assert_eq!(next.list().drawings[0], told);
    assert_eq!(told.session, Some(session("check out")));
    assert_eq!(told.correlation_id, Some("ann_1".into()));
    assert_eq!((told.at, told.annotations), (at(1), 2));
    let on_disk = |ending| fs::metadata(next.file(1, ending)).unwrap().len();
    assert_eq!(told.bytes, on_disk("json") + on_disk("png"));
    let path = next.file(1, "png");
    let expected = json!({
        "session": "check out",
        "drawing_id": id(1),
        "page_url": "http://127.0.0.1/1",
        "page_title": "Home",
        "tab_id": 12,
        "at": "1970-01-01T00:00:01.000Z",
        "screenshot": path,
        "annotations": body["annotations"],
        "element_details": body["element_details"],
    });
    assert_eq!(next.load(1).to_string(), expected.to_string());
    assert!(path.is_absolute());
    assert_eq!(fs::read(path).unwrap(), picture(100).bytes);
    assert_eq!(next.load(2).get("screenshot"), None);
    next.drawings.delete(&user(), &id(1)).unwrap();
    assert_eq!(next.ids(), [id(2)]);
    assert_eq!(next.files(), [format!("{}.json", id(2))]);
    for gone in [
        next.drawings.delete(&user(), &id(1)).unwrap_err(),
        next.drawings.load(&user(), &id(1)).unwrap_err(),
        next.drawings.mark_read(&user(), &id(1)).unwrap_err(),
    ] {
        assert!(matches!(gone, DrawingsError::NotFound { .. }), "{gone}");
    }
}

#[test]
fn only_the_user_can_read_it_and_nothing_is_left_aside() {
    let kept = kept();
    kept.keep(&drawing(1));
    kept.mark_read(1);
    let mode = |path: &Path| crate::os::testing::mode(path);
    assert_eq!([mode(&kept.drawings.dir), mode(&kept.folder())], [0o700, 0o700]);
    let files = ["json", "png", "read"].map(|ending| format!("{}.{ending}", id(1)));
    assert_eq!(kept.files(), files);
    assert!(kept.files().iter().all(|name| mode(&kept.folder().join(name)) == 0o600));
}

#[test]
fn owners_neither_see_nor_change_each_others_drawings() {
    let kept = kept();
    let ci = Owner::from("../CI");
    kept.keep(&drawing(1));
    assert!(kept.drawings.list(&ci).unwrap().drawings.is_empty());
    assert!(kept.drawings.load(&ci, &id(1)).is_err());
    assert!(kept.drawings.delete(&ci, &id(1)).is_err());
    assert!(kept.drawings.mark_read(&ci, &id(1)).is_err());
    assert_eq!(kept.drawings.clear(&ci).unwrap(), 0);
    assert!(
        kept.drawings.keep(&ci, &drawing(1), at(9), TabScope::All).unwrap().1,
        "the same id is another one"
    );
    kept.drawings.mark_read(&ci, &id(1)).unwrap();
    assert_eq!(kept.unread(), [id(1)]);
    assert_eq!(kept.drawings.clear(&ci).unwrap(), 1);
    assert_eq!(kept.ids(), [id(1)]);
    assert_eq!(fs::read_dir(kept.dir.path()).unwrap().count(), 2, "the key and the drawings");
}

#[test]
fn the_same_drawing_again_is_kept_once_and_stays_as_read_as_it_was() {
    let kept = kept();
    assert!(kept.keep(&drawing(1)));
    kept.mark_read(1);
    let before = kept.list();
    let kept = kept.restart();
    let (told, is_new) = kept.drawings.keep(&user(), &drawing(1), at(99), TabScope::All).unwrap();
    assert!(!is_new);
    assert_eq!((vec![told], before.drawings), (kept.list().drawings, kept.list().drawings));
    assert_eq!(kept.files().len(), 3);
}

#[test]
fn what_was_handed_over_is_not_unread_again_after_a_restart() {
    let kept = kept();
    (1..=3).for_each(|number| assert!(kept.keep(&drawing(number))));
    assert_eq!(kept.unread(), [id(1), id(2), id(3)]);
    kept.mark_read(2);
    kept.mark_read(2);
    let next = kept.restart();
    assert_eq!(next.unread(), [id(1), id(3)]);
    assert_eq!(next.load(2)["page_url"], "http://127.0.0.1/2", "and can still be read");
}

#[test]
fn a_drawing_of_a_session_that_nobody_opened_is_kept_and_readable_later() {
    let kept = kept();
    let of = |name| Some(session(name));
    kept.keep(&Drawing { session: of("never opened"), ..drawing(1) });
    kept.keep(&Drawing { session: of("other"), ..drawing(2) });
    kept.keep(&drawing(3));
    let next = kept.restart();
    assert_eq!(next.unread(), [id(1), id(2), id(3)]);
    assert_eq!(next.load(1)["session"], "never opened");
    let clear =
        |name| next.drawings.clear_session(&user(), of(name).as_ref(), TabScope::All).unwrap();
    assert_eq!(clear("Never opened"), 0);
    assert_eq!(clear("never opened"), 1);
    assert_eq!(next.ids(), [id(2), id(3)]);
    assert_eq!(
        next.drawings.clear_session(&user(), None, TabScope::All).unwrap(),
        1,
        "that of no session"
    );
    assert_eq!(next.ids(), [id(2)]);
    assert_eq!(next.drawings.clear(&user()).unwrap(), 1);
    assert!(next.files().is_empty());
}

#[test]
fn a_drawing_of_8_mb_is_kept_whole() {
    let kept = kept();
    let screenshot = picture(8_000_000);
    let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(4_000_000));
    let annotation: Box<serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
    let large = Drawing {
        screenshot: Some(screenshot.clone()),
        annotations: vec![annotation.into()],
        ..drawing(1)
    };
    assert!(kept.keep(&large));
    let next = kept.restart();
    let report = next.drawings.load(&user(), &id(1)).unwrap();
    assert_eq!(report.annotations[0].get(), text);
    assert!(fs::read(report.screenshot.unwrap()).unwrap() == screenshot.bytes);
    assert!(next.list().drawings[0].bytes > 12_000_000);
}

#[test]
fn the_oldest_that_were_read_make_room_and_no_others() {
    let kept = kept();
    (1..=DRAWINGS_MAX).for_each(|number| assert!(kept.keep(&drawing(number))));
    let full = kept.refuses(&drawing(500));
    assert!(matches!(full, DrawingsError::Full { .. }), "{full}");
    assert_eq!(kept.ids().len(), DRAWINGS_MAX, "nothing is lost");
    assert!(!kept.keep(&drawing(7)), "what is there already needs no room");
    [9, 5, 3].into_iter().for_each(|number| kept.mark_read(number));
    assert!(kept.keep(&drawing(501)));
    assert!(kept.keep(&drawing(502)));
    let ids = kept.ids();
    assert_eq!(ids.len(), DRAWINGS_MAX);
    assert!(!ids.contains(&id(3)) && !ids.contains(&id(5)) && ids.contains(&id(9)));
}

#[test]
fn bytes_are_bounded_and_nothing_leaves_for_one_that_has_no_room_all_the_same() {
    let kept = kept();
    (1..=3).for_each(|number| assert!(kept.keep(&drawing(number))));
    kept.mark_read(1);
    // Two of them are said to be large; a file with a hole takes no room on the disk.
    let grow = |number, bytes| {
        let file = fs::OpenOptions::new().write(true).open(kept.file(number, "png")).unwrap();
        file.set_len(bytes).unwrap();
    };
    grow(1, 1024 * 1024);
    grow(2, DRAWINGS_BYTES_MAX - 1024 * 1024);
    let large = Drawing { screenshot: Some(picture(2 * 1024 * 1024)), ..drawing(4) };
    assert!(
        matches!(kept.refuses(&large), DrawingsError::Full { bytes } if bytes > 2 * 1024 * 1024)
    );
    assert_eq!(kept.ids(), [id(1), id(2), id(3)], "to let the read one go would not be enough");
    assert!(kept.keep(&drawing(4)));
    assert_eq!(kept.ids(), [id(2), id(3), id(4)]);
}

#[test]
fn whenever_it_was_killed_what_was_there_is_readable_and_the_rest_is_swept() {
    let kept = kept();
    kept.keep(&drawing(1));
    kept.mark_read(1);
    // In the middle of writing; after the screenshot; in the middle of deleting.
    fs::write(kept.folder().join(ASIDE), "half of").unwrap();
    fs::write(kept.file(2, "png"), "whole").unwrap();
    fs::write(kept.file(3, "jpg"), "left").unwrap();
    fs::write(kept.file(3, "read"), "").unwrap();
    fs::write(kept.folder().join("notes.txt"), "somebody else's").unwrap();
    let next = kept.restart();
    assert_eq!(next.list().damaged, []);
    assert_eq!(next.ids(), [id(1)]);
    assert!(matches!(next.drawings.load(&user(), &id(2)), Err(DrawingsError::NotFound { .. })));
    assert!(next.keep(&drawing(3)));
    assert_eq!(next.unread(), [id(3)], "an old mark is not its own");
    let name = |number, ending: &str| format!("{}.{ending}", id(number));
    let expected = [
        name(1, "json"),
        name(1, "png"),
        name(1, "read"),
        name(3, "json"),
        name(3, "png"),
        "notes.txt".to_owned(),
    ];
    assert_eq!(next.files(), expected);
}

#[test]
fn a_full_disk_loses_nothing_and_leaves_nothing_behind() {
    let kept = kept();
    kept.keep(&drawing(1));
    kept.mark_read(1);
    // Nothing can be written: what is in its place cannot be opened as a file.
    let aside = kept.folder().join(ASIDE);
    fs::create_dir(&aside).unwrap();
    let full = kept.refuses(&drawing(2));
    assert!(matches!(full, DrawingsError::Io { .. }), "{full}");
    assert!(full.to_string().contains(id(2).as_str()), "{full}");
    assert_eq!(kept.ids(), [id(1)]);
    assert!(!kept.keep(&drawing(1)), "what is there already needs no room");
    fs::remove_dir(&aside).unwrap();
    // There is room for the screenshot, but then there is none.
    fs::create_dir(kept.file(2, "json")).unwrap();
    assert!(matches!(kept.refuses(&drawing(2)), DrawingsError::Io { .. }));
    assert!(!kept.file(2, "png").exists());
    fs::remove_dir(kept.file(2, "json")).unwrap();
    assert!(kept.keep(&drawing(2)));
    assert_eq!(kept.ids(), [id(1), id(2)]);
}

#[test]
fn a_damaged_file_is_named_and_hides_no_other() {
    let kept = kept();
    (1..=6).for_each(|number| assert!(kept.keep(&drawing(number))));
    fs::write(kept.file(1, "json"), "{").unwrap();
    fs::write(kept.file(2, "json"), [0xff]).unwrap();
    fs::copy(kept.file(4, "json"), kept.file(3, "json")).unwrap();
    fs::write(kept.file(5, "png"), "short").unwrap();
    fs::remove_file(kept.file(6, "png")).unwrap();
    let list = kept.list();
    let ids: Vec<_> = list.drawings.iter().map(|kept| &kept.drawing_id).collect();
    assert_eq!(ids, [&id(4), &id(5), &id(6)]);
    let damaged: Vec<_> = list.damaged.iter().map(|file| file.path.clone()).collect();
    let expected = [(1, "json"), (2, "json"), (3, "json"), (5, "png"), (6, "png")];
    assert_eq!(damaged, expected.map(|(number, ending)| kept.file(number, ending)));
    for number in 1..=3 {
        let error = kept.drawings.load(&user(), &id(number)).unwrap_err();
        assert!(matches!(error, DrawingsError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains(id(number).as_str()), "{error}");
    }
    for number in 5..=6 {
        let report = kept.load(number);
        assert_eq!(report["annotations"][0]["kind"], "note", "what can be read is");
        assert_eq!(report.get("screenshot"), None);
    }
    kept.drawings.delete(&user(), &id(1)).unwrap();
    assert!(kept.list().damaged.iter().all(|file| file.drawing_id != id(1)));
}

#[test]
fn a_damaged_drawing_is_mended_when_it_comes_again() {
    let kept = kept();
    (1..=2).for_each(|number| assert!(kept.keep(&drawing(number))));
    kept.mark_read(1);
    fs::write(kept.file(1, "json"), "{").unwrap();
    fs::remove_file(kept.file(2, "png")).unwrap();
    for number in 1..=2 {
        assert!(kept.keep(&drawing(number)), "it can be read for the first time");
        assert!(!kept.keep(&drawing(number)));
    }
    assert_eq!(kept.list().damaged, []);
    assert_eq!(kept.unread(), [id(1), id(2)]);
    assert!(kept.load(2)["screenshot"].is_string());
}

#[test]
fn drawings_that_come_at_the_same_time_are_all_there_and_each_is_new_once() {
    let kept = kept();
    let news: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let kept = &kept;
                scope.spawn(move || {
                    let own = (0..10).filter(|turn| kept.keep(&drawing(100 + writer * 10 + turn)));
                    let own = own.count();
                    own + (0..10).filter(|turn| kept.keep(&drawing(*turn))).count()
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!((news, kept.ids().len()), (50, 50));
    assert_eq!(kept.list().damaged, []);
}

#[test]
fn every_change_of_any_owners_drawings_is_seen_in_the_time_of_the_last_one() {
    let fixture = kept();
    let DrawingsFixture { dir, drawings } = &fixture;
    // There is a folder of a drawing's owner from the first drawing on.
    assert_eq!(drawings.changed_at(), None);
    let ci = Owner::from("ci");
    let age = |folder: &Path| {
        let long_ago = UNIX_EPOCH + std::time::Duration::from_secs(1);
        fs::File::open(folder).unwrap().set_modified(long_ago).unwrap();
    };
    let is_seen = |change: &dyn Fn()| {
        let all = dir.path().join("drawings");
        for folder in paths_in(&all).unwrap().chain([all.clone()]).filter(|path| path.exists()) {
            age(&folder);
        }
        let before = drawings.changed_at();
        change();
        drawings.changed_at() > before
    };
    assert!(is_seen(&|| assert!(fixture.keep(&drawing(1)))));
    assert!(is_seen(&|| drop(drawings.keep(&ci, &drawing(2), at(2), TabScope::All).unwrap())));
    assert!(is_seen(&|| drawings.mark_read(&ci, &id(2)).unwrap()));
    assert!(is_seen(&|| drawings.delete(&ci, &id(2)).unwrap()));
    assert!(is_seen(&|| assert_eq!(drawings.clear(&user()).unwrap(), 1)));
    assert!(!is_seen(&|| drop(drawings.list(&user()).unwrap())), "a look is no change");
    assert_eq!(drawings.owners().unwrap().len(), 2);
}
