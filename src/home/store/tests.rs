use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::*;
use crate::home::files::ASIDE;

/// A state directory, and what is stored in it.
struct StoreFixture {
    dir: tempfile::TempDir,
    store: ValueStore,
}

fn kept() -> StoreFixture {
    let dir = crate::os::testing::private_folder();
    let store = StateDirectory::open(dir.path()).unwrap().store();
    StoreFixture { dir, store }
}

fn name(name: &str) -> ValueName {
    ValueName::parse(name).unwrap()
}

fn user() -> Owner {
    "user".into()
}

impl StoreFixture {
    fn put(&self, at: &str, value: &Value) -> Result<(), StoreError> {
        self.store.store(&user(), &name(at), &to_raw_value(value).unwrap())
    }

    fn get(&self, at: &str) -> Value {
        let (_, value) = self.store.load(&user(), &name(at)).unwrap();
        serde_json::from_str(value.get()).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let list = self.store.list(&user()).unwrap();
        list.into_iter().map(|value| value.name.as_str().to_owned()).collect()
    }

    fn folder(&self) -> PathBuf {
        self.store.folder(&user())
    }

    /// All files and folders of the store, with their modes.
    fn modes(&self) -> Vec<u32> {
        let mode = |path: &Path| crate::os::testing::mode(path);
        let files = fs::read_dir(self.folder()).unwrap().map(|entry| mode(&entry.unwrap().path()));
        [mode(&self.store.dir), mode(&self.folder())].into_iter().chain(files).collect()
    }
}

#[test]
fn what_was_stored_is_loaded_listed_and_deleted_also_by_the_next_daemon() {
    let kept = kept();
    let value = json!({"b": [1, null, "ä"], "a": 5.0});
    kept.put("login flow", &value).unwrap();
    kept.put("default", &json!(null)).unwrap();
    let next =
        StoreFixture { store: StateDirectory::open(kept.dir.path()).unwrap().store(), ..kept };
    assert_eq!(next.get("login flow"), value);
    assert_eq!(next.get("default"), json!(null));
    let list = next.store.list(&user()).unwrap();
    assert_eq!(list[1].size, u64::try_from(value.to_string().len()).unwrap());
    assert!(list[1].at > Timestamp::from_unix_micros(0));
    next.store.delete(&user(), &name("default")).unwrap();
    assert_eq!(next.names(), ["login flow"]);
    for gone in [
        next.store.delete(&user(), &name("default")).unwrap_err(),
        next.store.load(&user(), &name("default")).unwrap_err(),
    ] {
        assert!(matches!(gone, StoreError::NotFound { .. }), "{gone}");
    }
}

#[test]
fn only_the_user_can_read_it_and_nothing_is_left_aside() {
    let kept = kept();
    kept.put("a", &json!(1)).unwrap();
    kept.put("a", &json!(2)).unwrap();
    assert_eq!(kept.modes(), [0o700, 0o700, 0o600]);
}

#[test]
fn owners_neither_see_nor_overwrite_each_others_values() {
    let kept = kept();
    let (upper, lower) = (Owner::from("CI"), Owner::from("ci"));
    kept.put("a", &json!("the user's")).unwrap();
    kept.store.store(&upper, &name("a"), &to_raw_value("CI's").unwrap()).unwrap();
    assert!(kept.store.list(&lower).unwrap().is_empty());
    assert!(kept.store.delete(&lower, &name("a")).is_err());
    assert_eq!(kept.store.load(&upper, &name("a")).unwrap().1.get(), "\"CI's\"");
    assert_eq!(kept.get("a"), "the user's");
    let folders: Vec<_> = fs::read_dir(&kept.store.dir).unwrap().flatten().collect();
    let lowered = folders.iter().map(|folder| folder.file_name().to_ascii_lowercase());
    let distinct: std::collections::BTreeSet<_> = lowered.collect();
    assert_eq!(distinct.len(), 2, "also where capital letters are the same as small ones");
}

#[test]
fn no_name_leaves_the_folder_or_meets_another_one_on_any_file_system() {
    let names = [
        "../auth.key",
        "..",
        ".",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "con",
        "a.json",
        "writing",
        "%61",
        "a",
        "A",
        "é",
        "e\u{301}",
        "名前",
        "🙂",
        "a b",
        "-rf",
        "~",
    ];
    let kept = kept();
    for at in names {
        kept.put(at, &json!(at)).unwrap();
    }
    for at in names {
        assert_eq!(kept.get(at), at);
    }
    assert_eq!(kept.names().len(), names.len());
    let files: Vec<_> = fs::read_dir(kept.folder()).unwrap().flatten().collect();
    assert_eq!(files.len(), names.len());
    for file in files {
        let file = file.file_name().into_string().unwrap();
        assert!(file.is_ascii() && file == file.to_lowercase(), "{file}");
    }
    assert_eq!(fs::read_dir(kept.dir.path()).unwrap().count(), 2, "the key and the store");
}

#[test]
fn sizes_and_numbers_are_bounded_and_what_is_there_can_still_be_replaced() {
    let kept = kept();
    let fits = "x".repeat(VALUE_MAX - 2);
    kept.put("a", &json!(fits)).unwrap();
    let error = kept.put("a", &json!(fits + "x")).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { size } if size == VALUE_MAX + 1), "{error}");
    assert_eq!(kept.get("a").as_str().unwrap().len(), VALUE_MAX - 2);
    for number in 1..VALUES_MAX {
        fs::write(kept.folder().join(name(&number.to_string()).file()), "1").unwrap();
    }
    assert!(matches!(kept.put("one more", &json!(1)), Err(StoreError::Full)));
    kept.put("a", &json!(1)).unwrap();
    assert_eq!((kept.get("a"), kept.names().len()), (json!(1), VALUES_MAX));
}

#[test]
fn a_write_that_was_interrupted_or_failed_leaves_the_value_that_was_there() {
    let kept = kept();
    kept.put("a", &json!("before")).unwrap();
    let aside = kept.folder().join(ASIDE);
    // A daemon was killed in the middle of writing.
    fs::write(&aside, "\"half of").unwrap();
    assert_eq!((kept.get("a"), kept.names()), (json!("before"), vec!["a".to_owned()]));
    kept.put("b", &json!("next")).unwrap();
    assert!(!aside.exists(), "the next one writes over it");

    // Nothing can be written: what is in its place cannot be opened as a file.
    fs::create_dir(&aside).unwrap();
    let error = kept.put("a", &json!("after")).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.to_string().contains("a.json"), "{error}");
    assert_eq!(kept.get("a"), "before");
}

#[test]
fn a_file_that_others_wrote_is_refused_by_its_name_and_what_is_no_value_is_not_listed() {
    let kept = kept();
    kept.put("a", &json!(1)).unwrap();
    for (text, why) in
        [(b"{".to_vec(), "EOF"), (vec![0xff], "UTF-8"), (vec![b' '; VALUE_MAX + 1], "too large")]
    {
        fs::write(kept.folder().join("a.json"), text).unwrap();
        let error = kept.store.load(&user(), &name("a")).unwrap_err().to_string();
        assert!(error.contains("a.json") && error.contains(why), "{error}");
    }
    for foreign in ["B.json", "notes.txt", "%zz.json", "%61.json", ".json"] {
        fs::write(kept.folder().join(foreign), "1").unwrap();
    }
    assert_eq!(kept.names(), ["a"]);
}

#[test]
fn values_that_are_stored_at_the_same_time_are_all_there_whole() {
    let kept = kept();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (store, kept) = (kept.store.clone(), &kept);
            scope.spawn(move || {
                for turn in 0..20 {
                    let text =
                        to_raw_value(&format!("{writer}{}", "x".repeat(turn * 1000))).unwrap();
                    store.store(&user(), &name("shared"), &text).unwrap();
                    assert!(kept.get("shared").is_string());
                }
                store
                    .store(
                        &user(),
                        &name(&format!("own {writer}")),
                        &to_raw_value(&writer).unwrap(),
                    )
                    .unwrap();
            });
        }
    });
    assert_eq!(kept.names(), ["own 0", "own 1", "own 2", "own 3", "shared"]);
    assert!(!kept.folder().join(ASIDE).exists());
}
