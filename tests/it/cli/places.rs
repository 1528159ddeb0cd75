//! `tabwire places`, `join` and `leave`: in the usual program they name the other one; there an operator sets places
//! up, and a person lets a team in and out.

#[cfg(feature = "fleet")]
use std::fs;
#[cfg(feature = "fleet")]
use std::path::PathBuf;

#[cfg(feature = "fleet")]
use serde_json::{Value, json};
use testkit::ProgramSandbox;
#[cfg(feature = "fleet")]
use testkit::{McpClient, ProgramOutput, PseudoTerminal, finish, soon};
#[cfg(feature = "fleet")]
use tokio::process::Command;

#[cfg(not(feature = "fleet"))]
#[tokio::test]
async fn the_usual_program_names_the_one_that_has_places_and_does_nothing() {
    let place = ProgramSandbox::new();
    for words in [
        &["join"][..],
        &["join", "acme.join", "--tenant", "acme"],
        &["leave", "--keep"],
        &["places", "init", "acme", "--server", "nats.acme.example:4222"],
        &["places", "list", "--json"],
    ] {
        let ran = place.run(words).await;
        assert_eq!(ran.code, Some(1), "{words:?}: {ran:?}");
        assert!(
            ran.stderr.contains("tabwire-fleet") && ran.stderr.contains("`make dist-host`"),
            "{ran:?}"
        );
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
    assert!(!place.path().join("acme").exists() && place.daemon().is_none());
}

/// A run of `tabwire-fleet` in a sandbox: of the build beside the tests, unless `TABWIRE_FLEET_PROGRAM` names another.
#[cfg(feature = "fleet")]
pub(crate) fn fleet(place: &ProgramSandbox, arguments: &[&str]) -> Command {
    let named = std::env::var("TABWIRE_FLEET_PROGRAM");
    let program = named.as_deref().unwrap_or(env!("CARGO_BIN_EXE_tabwire-fleet"));
    let mut command = place.command_of(program, arguments);
    command.current_dir(place.path());
    command
}

#[cfg(feature = "fleet")]
async fn run(place: &ProgramSandbox, arguments: &[&str]) -> ProgramOutput {
    finish(fleet(place, arguments)).await
}

#[cfg(feature = "fleet")]
async fn done(place: &ProgramSandbox, arguments: &[&str]) -> Value {
    let ran = run(place, arguments).await;
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_default()
}

/// The folder of an operator, with the keys of a place and of an agent in it.
#[cfg(feature = "fleet")]
pub(crate) async fn operator(place: &ProgramSandbox) -> PathBuf {
    for words in [
        &["places", "init", "acme"][..],
        &["places", "add", "qa", "--dir", "acme", "--out", "acme/qa.join"],
        &["places", "grant", "ci", "qa", "--dir", "acme", "--out", "acme/ci.nk"],
    ] {
        let ran = run(place, words).await;
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    }
    place.path().join("acme")
}

#[cfg(feature = "fleet")]
#[tokio::test]
async fn an_operator_adds_places_and_agents_and_each_key_is_written_once_and_kept_nowhere() {
    let place = ProgramSandbox::new();
    let dir = operator(&place).await;
    let line = run(&place, &["places", "add", "dev", "--dir", "acme"]).await;
    assert!(
        line.stdout.starts_with("tabwire-join:") && line.stdout.lines().count() == 1,
        "{line:?}"
    );
    assert!(line.stderr.contains("kill -HUP"), "{line:?}");
    let more = done(&place, &["places", "grant", "ci", "dev", "--dir", "acme", "--json"]).await;
    assert_eq!(more, json!({"agent": "ci", "file": null, "is_new": false}));
    let listed = done(&place, &["places", "list", "--dir", "acme", "--json"]).await;
    assert_eq!(listed["places"], json!(["qa", "dev"]));
    assert_eq!(listed["agents"], json!([{"name": "ci", "places": ["dev", "qa"]}]));
    let seed: Value = serde_json::from_slice(&fs::read(dir.join("ci.nk")).unwrap()).unwrap();
    let seed = seed["seed"].as_str().unwrap().to_owned();
    for name in ["nats.conf", "users.conf", "tenant.json"] {
        assert!(!fs::read_to_string(dir.join(name)).unwrap().contains(&seed), "{name}");
    }
    for (words, says) in [
        (&["places", "add", "qa"][..], "is used"),
        (&["places", "add", "new", "--out", "acme/qa.join"], "name another file"),
        (&["places", "add", "new", "--out", "no/such/file"], "create it first"),
        (&["places", "grant", "ann", "none"], "places add none"),
        (&["places", "grant", "ci", "dev", "--out", "again.nk"], "kept nowhere"),
        (&["places", "remove", "none"], "places list"),
    ] {
        let ran = run(&place, &[words, &["--dir", "acme"]].concat()).await;
        assert!(ran.code == Some(1) && ran.stderr.contains(says), "{words:?}: {ran:?}");
    }
    assert_eq!(done(&place, &["places", "list", "--dir", "acme", "--json"]).await, listed);
    done(&place, &["places", "remove", "qa", "--dir", "acme", "--json"]).await;
    let users = fs::read_to_string(dir.join("users.conf")).unwrap();
    assert!(!users.contains("qa") && users.contains("tw.call.dev.ci"), "{users}");
    let nowhere = run(&place, &["places", "list"]).await;
    assert!(nowhere.stderr.contains("--dir DIR"), "{nowhere:?}");
    let again = run(&place, &["places", "init", "acme"]).await;
    assert!(again.code == Some(1) && again.stderr.contains("set up already"), "{again:?}");
    for wrong in ["nats://ann:pw@host:1", "http://host:1"] {
        let ran = run(&place, &["places", "init", "other", "--server", wrong]).await;
        assert!(ran.code == Some(2) && !place.path().join("other").exists(), "{ran:?}");
    }
}

#[cfg(feature = "fleet")]
#[tokio::test]
async fn places_that_are_added_at_once_are_all_there() {
    let place = ProgramSandbox::new();
    operator(&place).await;
    let names: Vec<_> = (0..8).map(|number| format!("p{number}")).collect();
    let words = |name| ["places", "add", name, "--dir", "acme", "--json"];
    let runs = names.iter().map(|name| finish(fleet(&place, &words(name))));
    for ran in futures_util::future::join_all(runs).await {
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let listed = done(&place, &["places", "list", "--dir", "acme", "--json"]).await;
    assert_eq!(listed["places"].as_array().unwrap().len(), 9, "{listed}");
}

#[cfg(feature = "fleet")]
#[tokio::test]
async fn a_person_joins_at_a_terminal_and_is_told_first_what_the_operator_can_do() {
    let place = ProgramSandbox::new();
    let dir = operator(&place).await;
    let line = fs::read_to_string(dir.join("qa.join")).unwrap();
    for (answer, is_joined) in [("n\n", false), ("y\n", true)] {
        let mut terminal = PseudoTerminal::new(80, 24);
        let mut command = fleet(&place, &["join"]);
        command.stdin(terminal.stream()).stderr(terminal.stream());
        terminal.press(&format!("{line}{answer}"));
        let mut child = command.spawn().unwrap();
        let code = soon("its end", child.wait()).await.unwrap().code();
        assert_eq!(code == Some(0), is_joined, "{code:?}");
        assert_eq!(place.home().tenants().has("acme"), is_joined);
    }
    assert_eq!(place.home().unconfirmed().unwrap(), [], "a person has agreed");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(place.home().tenants().path("acme")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let file = dir.join("qa.join");
    let twice = run(&place, &["join", file.to_str().unwrap(), "--unattended"]).await;
    assert!(twice.code == Some(1) && twice.stderr.contains("leave --tenant acme"), "{twice:?}");
    let other = ["join", file.to_str().unwrap(), "--tenant", "two", "--unattended"];
    let other = run(&place, &other).await;
    let sentence = "The operator of two reads all calls and answers and can act as any agent of two. What you allow one, you allow two.";
    assert!(other.code == Some(0) && other.stderr.contains(sentence), "{other:?}");
    let noted = place.home().unconfirmed().unwrap();
    assert_eq!(noted[0].take_back.as_deref(), Some("tabwire-fleet leave --tenant two"));
    let which = run(&place, &["leave"]).await;
    assert!(which.code == Some(1) && which.stderr.contains("acme, two"), "{which:?}");
    let doctor = run(&place, &["doctor"]).await.stdout;
    assert!(doctor.contains("acme: joined") && doctor.contains("two: joined"), "{doctor}");
}

#[cfg(feature = "fleet")]
#[tokio::test]
async fn who_leaves_ends_the_team_s_agents_and_deletes_what_they_stored_unless_told_to_keep_it() {
    let place = ProgramSandbox::new();
    let file = operator(&place).await.join("qa.join");
    let file = file.to_str().unwrap();
    let daemon = place.serve(&[]).await;
    let since = tabwire::protocol::Timestamp::from_unix_micros(0);
    for keep in [false, true] {
        done(&place, &["join", file, "--unattended", "--json"]).await;
        let owner =
            place.home().owners().owner_of_agent("ci@acme", "qa", since, || true).unwrap().unwrap();
        place.home().owners().owner_of_agent("ci@other", "qa", since, || true).unwrap();
        let value = serde_json::value::to_raw_value(&1).unwrap();
        let name = tabwire::home::ValueName::parse("note").unwrap();
        place.home().store().store(&owner, &name, &value).unwrap();
        let token = place.home().auth().token(&owner);
        let words = if keep { &["leave", "--keep", "--json"][..] } else { &["leave", "--json"] };
        let left = done(&place, words).await;
        assert_eq!((&left["left"], &left["agents"]), (&json!("acme"), &json!(["ci@acme"])));
        assert_eq!(place.home().store().list(&owner).unwrap().len(), usize::from(keep), "{left}");
        assert!(!place.home().tenants().has("acme"));
        let list = place.home().owners().read().unwrap().unwrap();
        let names: Vec<_> = list.entries().iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["ci@other"]);
        let client = McpClient::at(daemon.port, token);
        let (headers, message) = client.message(&json!(1), "tools/list", json!({}));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = client.post(&headers, message.to_string().into_bytes()).await;
        assert!(matches!(answer.status.as_u16(), 401 | 403), "{}", answer.status);
    }
    let none = run(&place, &["leave"]).await;
    assert!(none.code == Some(1) && none.stderr.contains("nothing to leave"), "{none:?}");
    daemon.stop().await;
}
