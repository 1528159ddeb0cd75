//! Names in a state directory that merely look like Tabwire's.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tabwire::protocol::{SiteChange, SiteList, SitePattern};

use testkit::{ProgramSandbox, RowReport, finish};

/// What a person might have put into the directory.
const THEIRS: [&str; 24] = [
    "store-front/index.html",
    "extension-of-thesis/chapter-1.txt",
    "drawings.2025/plan.svg",
    "drawings-old/a",
    "storefront",
    "store.zip",
    "journal.db.bak",
    "journal.db.2025/notes",
    "journal.db-old",
    "daemon.log.old",
    "daemon.log.3",
    "auth.key.bak",
    "auth.key.pub",
    "legacy.json.txt",
    "legacy.json-copy",
    "native-host.sh",
    "monitor.db.damaged-by-me",
    "settings.lock.d/x",
    "store/readme.txt",
    "store/default/readme.txt",
    "drawings/mine/sunset.png",
    "drawings/sunset.png",
    "files/page.png",
    "thesis.txt",
];

fn all_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
            found.insert(entry.path());
        }
    }
    found
}

fn paths(list: &Value) -> Vec<PathBuf> {
    let texts = list.as_array().unwrap().iter();
    texts.map(|path| PathBuf::from(path.as_str().unwrap())).collect()
}

#[tokio::test]
async fn row_28_what_uninstall_does_not_own_stays_and_print_tells_all_that_goes() {
    let place = ProgramSandbox::with_port(1);
    assert_eq!(place.run(&["install"]).await.code, Some(0));
    // A file of rules without a rule: with one a person is asked first.
    let pattern = SitePattern::parse("bank.example").unwrap();
    let deny = SiteChange::Add { list: SiteList::Deny, pattern: pattern.clone() };
    for change in [deny, SiteChange::Remove { list: SiteList::Deny, pattern }] {
        assert!(place.home().site_rules().change(&change).unwrap().1);
    }
    for theirs in THEIRS {
        let path = place.path().join(theirs);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "years of work").unwrap();
    }
    let before = all_below(place.path());
    let printed = place.run(&["uninstall", "--state", "--print", "--json"]).await;
    let told: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(all_below(place.path()), before, "--print changes nothing");
    let shown = place.run(&["uninstall", "--state", "--print"]).await.stdout;
    let done = place.run(&["uninstall", "--state", "--json"]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let done: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(done["state"], false, "something stays");
    let after = all_below(place.path());

    let mut row = RowReport::new(28);
    let stays = paths(&done["stays"]);
    row.tried("what is named", stays == paths(&told["state"]["stays"]), &told);
    for theirs in THEIRS {
        let path = place.path().join(theirs);
        let is_whole = fs::read(&path).is_ok_and(|bytes| bytes == b"years of work");
        let is_named = stays.iter().any(|named| path.starts_with(named));
        row.tried(theirs, is_whole && is_named, &done);
    }
    // What goes is what was printed: a folder stands for what is in it.
    let mut goes = paths(&told["state"]["remove"]);
    let changes = told["would"].as_array().unwrap().iter();
    let removed = changes.filter(|change| change["action"] == "remove");
    goes.extend(removed.map(|change| PathBuf::from(change["path"].as_str().unwrap())));
    for gone in before.difference(&after) {
        let is_told = goes.iter().any(|path| gone.starts_with(path));
        row.tried("what goes", is_told, gone.display());
    }
    for path in &goes {
        row.tried("what was to go", !path.exists(), path.display());
        let is_shown = shown.contains(path.to_str().unwrap());
        row.tried("what a person is shown", is_shown, &shown);
    }
    assert!(goes.iter().any(|path| path.ends_with("auth.key")), "{told}");
    row.report();
}

#[tokio::test]
async fn row_28_a_link_in_the_place_of_the_extension_leads_uninstall_nowhere() {
    let mut row = RowReport::new(28);
    for link in ["Tabwire/extension", ".local/state/tabwire/extension"] {
        let (place, dir) = (ProgramSandbox::with_port(1), tempfile::tempdir().unwrap());
        let home = dir.path().canonicalize().unwrap();
        let run = async |arguments: &[&str]| {
            let mut command = place.command(arguments);
            command.env("HOME", &home).env_remove("TABWIRE_HOME");
            command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
            finish(command).await
        };
        assert_eq!(run(&["install"]).await.code, Some(0));
        // An extension of ours, too, which somebody has put there themselves.
        let theirs = home.join("thesis");
        let unpacked = home.join("Tabwire/extension");
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("chapter-1.txt"), "years of work").unwrap();
        fs::copy(unpacked.join("manifest.json"), theirs.join("manifest.json")).unwrap();
        if home.join(link) == unpacked {
            fs::remove_dir_all(&unpacked).unwrap();
        }
        symlink(&theirs, home.join(link)).unwrap();
        let gone = run(&["uninstall", "--state"]).await;
        assert_eq!(gone.code, Some(0), "{gone:?}");
        let is_whole = ["chapter-1.txt", "manifest.json"].map(|name| theirs.join(name).exists());
        row.tried(link, is_whole == [true; 2] && home.join(link).is_symlink(), format!("{gone:?}"));
    }
    row.report();
}
