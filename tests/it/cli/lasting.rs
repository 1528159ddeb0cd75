//! A program that was started from a place which does not last: `npx`, `uvx`, a download.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::person::Person;
use testkit::{ProgramOutput, finish};

/// The program in the cache of `npx`.
const IN_NPX: &str = ".npm/_npx/5f2a/node_modules/@tabwire/cli-linux-x64/bin/tabwire";

impl Person {
    /// The program at this place below the home directory.
    fn with_program_at(&self, place: &str) -> PathBuf {
        let program = self.at(place);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::copy(testkit::program(), &program).unwrap();
        program
    }

    async fn run_program(&self, program: &Path, arguments: &[&str]) -> ProgramOutput {
        finish(self.at_home(self.place.command_of(program.to_str().unwrap(), arguments))).await
    }

    fn copy(&self) -> PathBuf {
        self.at(".local/state/tabwire/bin/tabwire")
    }
}

fn json_of(ran: &ProgramOutput) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[tokio::test]
async fn what_is_installed_from_a_cache_is_still_there_after_the_cache_was_deleted() {
    let person = Person::new();
    person.write(".cursor/mcp.json", "{}\n");
    fs::create_dir_all(person.at(".config/chromium/Default")).unwrap();
    let program = person.with_program_at(IN_NPX);
    let before = person.run_program(&program, &["mcp-config"]).await;
    assert_eq!(before.code, Some(1), "{before:?}");
    assert!(before.stderr.contains("runs from npx's cache"), "{before:?}");

    let install = ["install", "--client", "cursor"];
    let told = person.run_program(&program, &install).await;
    assert_eq!(told.code, Some(0), "{told:?}");
    let copy = person.copy();
    let line = format!("copy this program from npx's cache to {}", copy.display());
    // Lines are broken to fit a terminal.
    let words: Vec<_> = told.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(&line), "{told:?}");
    fs::remove_dir_all(person.at(".npm")).unwrap();

    let settings = fs::read_to_string(person.at(".cursor/mcp.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["mcpServers"]["tabwire"]["command"], json!(copy));
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o700);
    let host = fs::read_to_string(person.at(".local/state/tabwire/native-host")).unwrap();
    assert!(host.contains(copy.to_str().unwrap()), "{host}");
    assert_eq!(person.run_program(&copy, &["mcp-config"]).await.code, Some(0));
    let update = json_of(&person.run_program(&copy, &["update", "--json"]).await);
    assert_eq!(update["command"], "npx -y tabwire@latest install", "{update}");
    assert_eq!(update["origin"], "npx");

    // The same version once more, from a new cache: nothing is to be done.
    let again = person.with_program_at(IN_NPX);
    let told = person.run_program(&again, &install).await;
    assert!(told.stdout.starts_with("Everything was already set up.\n"), "{told:?}");
    let gone = person.run_program(&copy, &["uninstall", "--state"]).await;
    assert_eq!(gone.code, Some(0), "{gone:?}");
    assert!(!person.at(".local/state/tabwire").exists(), "{gone:?}");
}

#[tokio::test]
async fn a_program_that_lasts_takes_the_place_of_the_copy() {
    let person = Person::new();
    person.write(".cursor/mcp.json", "{}\n");
    let cached = person.with_program_at(".cache/uv/archive-v0/x1/bin/tabwire");
    let told = person.run_program(&cached, &["install", "--client", "cursor", "--json"]).await;
    assert_eq!(json_of(&told)["clients"]["added"], json!(["cursor"]));
    assert!(person.copy().is_file());
    let lasting = person.with_program_at(".local/bin/tabwire");
    let told = person.run_program(&lasting, &["install", "--json"]).await;
    json_of(&told);
    let settings = fs::read_to_string(person.at(".cursor/mcp.json")).unwrap();
    assert!(settings.contains(lasting.to_str().unwrap()), "{settings}");
    assert!(!person.copy().exists());
    let note = person.at(".local/state/tabwire/program.json");
    assert!(!note.exists(), "it would stand in the way of an older one");
    let update = json_of(&person.run_program(&lasting, &["update", "--json"]).await);
    assert_eq!(update["origin"], "file", "{update}");
    assert!(update["before"].as_str().unwrap().starts_with("Download"), "{update}");
}

#[tokio::test]
async fn a_newer_program_and_a_newer_extension_are_replaced_with_the_flag_only() {
    let person = Person::new();
    let program = person.with_program_at(IN_NPX);
    person.run_program(&program, &["install", "--json"]).await;
    // As a later version leaves it.
    person
        .write(".local/state/tabwire/program.json", "{\"version\":\"99.0.0\",\"origin\":\"npx\"}");
    fs::write(person.copy(), "a later program").unwrap();
    let refused = person.run_program(&program, &["install"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("the installed program has version 99.0.0"), "{refused:?}");
    assert!(refused.stderr.contains("--downgrade"), "{refused:?}");
    assert_eq!(fs::read(person.copy()).unwrap(), b"a later program");
    let lasting = person.with_program_at(".local/bin/tabwire");
    let refused = person.run_program(&lasting, &["install"]).await;
    assert_eq!(refused.code, Some(1), "one in another place: {refused:?}");
    let forced = person.run_program(&program, &["install", "--downgrade", "--json"]).await;
    json_of(&forced);
    assert_eq!(fs::read(person.copy()).unwrap(), fs::read(&program).unwrap());

    person.write(".local/state/tabwire/unpacked_version.json", "\"99.0.0\"");
    let manifest = person.at("Tabwire/extension/manifest.json");
    let folder = manifest.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(&manifest, fs::Permissions::from_mode(0o600)).unwrap();
    let newer =
        fs::read_to_string(&manifest).unwrap().replacen("\"version\": \"", "\"version\": \"99.", 1);
    fs::write(&manifest, &newer).unwrap();
    let refused = person.run_program(&program, &["install"]).await;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("the installed extension has version 99.0.0"), "{refused:?}");
    assert_eq!(fs::read_to_string(&manifest).unwrap(), newer);
    let forced = person.run_program(&program, &["install", "--downgrade", "--json"]).await;
    json_of(&forced);
    assert_ne!(fs::read_to_string(&manifest).unwrap(), newer);
}
