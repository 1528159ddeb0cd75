//! Random edits between syncs: afterwards the database is what the model says.

use super::*;

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

type Model = BTreeMap<PathBuf, (u64, ContentHash)>;

/// Makes one edit, at a time that no other edit has.
fn edit(it: &Fixture, model: &mut Model, dice: &mut Dice, time: u64) {
    let folder = PathBuf::from(format!("{}/{}", dice.below(10), dice.below(4)));
    let path = folder.join(format!("{}", dice.below(30)));
    match dice.below(20) {
        0 => {
            let _ = fs::remove_dir_all(it.path(&folder));
            model.retain(|path, _| !path.starts_with(&folder));
        }
        1 => {
            let to = PathBuf::from(format!("moved-{time}"));
            if fs::rename(it.path(&folder), it.path(&to)).is_ok() {
                let all = std::mem::take(model).into_iter();
                model.extend(all.map(|(path, row)| match path.strip_prefix(&folder) {
                    Ok(rest) => (to.join(rest), row),
                    Err(_) => (path, row),
                }));
            }
        }
        2..=5 => {
            let _ = fs::remove_file(it.path(&path));
            model.remove(&path);
        }
        6..=8 => {
            if model.contains_key(&path) {
                touch(&it.path(&path), time);
            }
        }
        _ => {
            let content = format!("{}", dice.below(1 << 40)).repeat(1 + time as usize % 50);
            it.write(&path, &content, time);
            model.insert(path, row(&content));
        }
    }
}

#[test]
fn after_any_edits_a_sync_makes_the_database_what_is_on_the_disk() {
    let it = fixture();
    let mut dice = Dice(0x5eed);
    let mut model = Model::new();
    let mut time = 1;
    for folder in 0..40 {
        for file in 0..25 {
            let path = PathBuf::from(format!("{}/{}/{file}", folder / 4, folder % 4));
            it.write(&path, "first", time);
            model.insert(path, row("first"));
        }
    }
    assert_eq!(it.sync().files_new, 1_000);
    for round in 0..25 {
        let before = model.clone();
        for _ in 0..dice.below(60) {
            time += 1;
            edit(&it, &mut model, &mut dice, time);
        }
        let request = if dice.below(4) == 0 { it.verify() } else { it.request() };
        let summary = it.try_sync(&request).unwrap();
        assert_eq!(it.rows(), model, "round {round}");
        let new = model.keys().filter(|path| !before.contains_key(*path)).count();
        let removed = before.keys().filter(|path| !model.contains_key(*path)).count();
        let changed = model
            .iter()
            .filter(|(path, row)| before.get(*path).is_some_and(|before| before != *row));
        let expected = [new, changed.count(), removed].map(|count| count as u64);
        let counted = [summary.files_new, summary.files_changed, summary.files_removed];
        assert_eq!(counted, expected, "round {round}");
        assert_eq!(summary.files_processed, model.len() as u64);
    }
}
