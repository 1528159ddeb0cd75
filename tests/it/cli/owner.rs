//! Owners: added by a person, kept apart from each other, and removed for good.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tabwire::home::StateDirectory;
use tabwire::proof::DEFAULT_OWNER;
use tabwire::protocol::Owner;

use testkit::{
    ExtensionBuilder, McpClient, ProgramOutput, ProgramSandbox, PseudoTerminal, RawConnection,
    StdioClient, TestDaemon, authorized, bearer, body, cli_of, finish, soon, token_of,
};

/// The command that the journal of schema 12 holds, queued by the owner `ci`.
const RECORDED: &str = "exec_1795737882935_9324a8b96ee1397ad02e824b72b73e79";

fn json_of(ran: &ProgramOutput) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

async fn names(place: &ProgramSandbox) -> Vec<String> {
    let listed = json_of(&place.run(&["owner", "list", "--json"]).await);
    let owners = listed["owners"].as_array().unwrap().iter();
    owners.map(|owner| owner["name"].as_str().unwrap().to_owned()).collect()
}

fn owner_of(home: &StateDirectory, name: &str) -> Owner {
    home.owners().owner(name).unwrap()
}

#[tokio::test]
async fn an_owner_is_added_by_a_person_or_noted_for_one_and_listed_and_removed() {
    let place = ProgramSandbox::new();
    let add = ["owner", "add", "ci", "--label", "Nightly tests"];
    let piped = place.run(&add).await;
    assert_eq!(piped.code, Some(77), "{piped:?}");
    assert!(piped.stderr.contains("as owner ci") && piped.stderr.contains("--unattended"));
    assert_eq!(names(&place).await, ["user"]);

    let mut terminal = PseudoTerminal::new(80, 24);
    let mut command = place.command(&add);
    command.stdin(terminal.stream()).stderr(terminal.stream());
    terminal.press("y\n");
    // Not by its output, which would take the streams of the terminal.
    let mut child = command.spawn().unwrap();
    assert_eq!(soon("its end", child.wait()).await.unwrap().code(), Some(0));
    assert_eq!(place.home().unconfirmed().unwrap(), [], "a person has agreed");

    let listed = json_of(&place.run(&["owner", "list", "--json"]).await);
    let ci = &listed["owners"][1];
    for (field, value) in [("name", "ci"), ("label", "Nightly tests"), ("kind", "local")] {
        assert_eq!(ci[field], value, "{listed}");
    }
    let again = place.run(&["owner", "add", "ci", "--unattended"]).await;
    assert!(again.code == Some(1) && again.stderr.contains("already"), "{again:?}");
    assert_eq!(place.home().unconfirmed().unwrap(), [], "what cannot be done is not noted");

    let noted = json_of(&place.run(&["owner", "add", "work", "--unattended", "--json"]).await);
    assert_eq!(noted["scope"], "all", "{noted}");
    let widenings = place.home().unconfirmed().unwrap();
    assert_eq!(&*widenings[0].what, "programs use the browser as owner work");
    assert_eq!(widenings[0].take_back.as_deref(), Some("tabwire owner remove work"));
    let shown = place.run(&["owner", "list"]).await.stdout;
    assert!(shown.contains("Nightly tests") && shown.contains("sees every tab"), "{shown}");

    let removed = json_of(&place.run(&["owner", "remove", "ci", "--json"]).await);
    assert_eq!((&removed["removed"], &removed["keeps_files"]), (&json!("ci"), &json!(false)));
    assert_eq!(names(&place).await, ["user", "work"]);
    let mode = fs::metadata(place.home().owners().path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_name_that_is_not_listed_is_refused_with_the_command_that_adds_it() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    for refused in [&["owner", "remove", "ci"][..], &["asks", "--owner", "ci"]] {
        let ran = place.run(refused).await;
        assert_eq!(ran.code, Some(1), "{refused:?}: {ran:?}");
        assert!(ran.stderr.contains("`tabwire owner add ci`"), "{refused:?}: {ran:?}");
    }
    for (name, says) in [("a b", "letters, digits"), ("user", "always there")] {
        for verb in ["add", "remove"] {
            let ran = place.run(&["owner", verb, name]).await;
            assert!(ran.code == Some(1) && ran.stderr.contains(says), "{verb} {name}: {ran:?}");
        }
    }
    let mut bridge = StdioClient::spawn(place.command(&["mcp", "--owner", "ci"])).without_checks();
    let refused = bridge.call_fails("configure", json!({"action": "health"})).await;
    assert_eq!(refused["error"], "not_allowed", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("`tabwire owner add ci`"), "{refused}");
    let token = place.home().auth().token(&"ci".into());
    let client = McpClient::at(daemon.port, token);
    let (headers, message) = client.message(&json!(1), "tools/list", json!({}));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = client.post(&headers, message.to_string().into_bytes()).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]), (403, &json!("unlisted_owner")));
    assert!(answer.json()["hint"].as_str().unwrap().contains("`tabwire owner add ci`"));
    // The next call of the same bridge works, once the owner is there.
    assert_eq!(place.run(&["owner", "add", "ci", "--unattended"]).await.code, Some(0));
    bridge.call("configure", json!({"action": "health"})).await;
    bridge.kill().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_command_that_makes_a_token_adds_its_owner_and_notes_it_where_nobody_can_be_asked() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let token = place.run(&["token", "--owner", "ci"]).await.stdout.trim().to_owned();
    let told = place.run(&["mcp-config", "--owner", "work"]).await;
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!(names(&place).await, ["user", "ci", "work"]);
    assert_eq!(place.home().unconfirmed().unwrap().len(), 2);
    assert_eq!(place.run(&["token", "--owner", "ci"]).await.stdout.trim(), token, "it stays");
    let client = McpClient::at(daemon.port, token);
    client.call("configure", json!({"action": "health"})).await;
    daemon.stop().await;
}

/// A running daemon, and an agent of the owner `ci` with all that is an owner's own.
struct Removal {
    daemon: TestDaemon,
    token: String,
    command: String,
    ask: String,
}

impl Removal {
    async fn start() -> Self {
        let daemon = TestDaemon::start().await;
        let token = token_of(&daemon.home(), "ci");
        let client = McpClient::legacy(&daemon).with_token(token.clone()).named("nightly");
        client.call("configure", json!({"action": "store", "name": "note", "data": 1})).await;
        let choose = json!({"action": "ask_user", "kind": "answer", "question": "Which?"});
        let ask = client.call("interact", choose).await["correlation_id"].clone();
        let ask = ask.as_str().unwrap().to_owned();
        let command = client.script("1", 7).await;
        Self { daemon, token, command, ask }
    }

    async fn remove(&self, more: &[&str]) -> Value {
        let command = [&["owner", "remove", "ci", "--json"], more].concat();
        json_of(&finish(cli_of(&self.daemon, &command)).await)
    }
}

#[tokio::test]
async fn a_name_that_was_removed_and_added_again_has_nothing_of_the_old_one() {
    let removal = Removal::start().await;
    let Removal { daemon, token, .. } = &removal;
    let old = owner_of(&daemon.home(), "ci");
    assert_eq!(finish(cli_of(daemon, &["scope", "ci", "own"])).await.code, Some(0));
    removal.remove(&[]).await;
    assert!(daemon.home().scopes().read().unwrap().of(&old).is_all());
    let added = finish(cli_of(daemon, &["owner", "add", "ci", "--unattended"])).await;
    assert_eq!(added.code, Some(0), "{added:?}");
    let new = owner_of(&daemon.home(), "ci");
    let new_token = daemon.home().auth().token(&new);
    assert_ne!((&new, &new_token), (&old, token));
    let again = McpClient::legacy(daemon).with_token(new_token).named("nightly");
    let stored = again.call("configure", json!({"action": "list"})).await;
    assert!(!stored.to_string().contains("note"), "{stored}");
    let pending = again.call("observe", json!({"what": "pending_commands"})).await;
    assert_eq!((&pending["pending"], &pending["failed"]), (&json!([]), &json!([])), "{pending}");
    for id in [&removal.command, &removal.ask] {
        let look = json!({"what": "command_result", "correlation_id": id});
        assert_eq!(body(&again.call_raw("observe", look).await)["status"], "not_found");
    }
    let stale = RawConnection::to(daemon.port());
    let mut stale = stale.await;
    stale.send(authorized("GET /api/status", daemon.port(), token) + "\r\n").await;
    assert_eq!(soon("an answer", stale.answer()).await.unwrap().status, 401);
    // Its files are there for the person, until they are purged.
    assert_eq!(daemon.home().store().list(&old).unwrap().len(), 1);
    let client = again;
    client.call("configure", json!({"action": "store", "name": "mine", "data": 2})).await;
    let purged = removal.remove(&["--purge"]).await;
    assert_eq!(purged["stays"], json!([]), "{purged}");
    for owner in [&old, &new] {
        assert!(daemon.home().store().list(owner).unwrap().is_empty(), "{owner}");
    }
}

#[tokio::test]
async fn what_was_queued_for_an_owner_that_was_removed_while_no_daemon_ran_never_runs() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let token = token_of(&place.home(), "ci");
    let client = McpClient::at(daemon.port, token.clone());
    client.script("1", 7).await;
    let mine = McpClient::at(daemon.port, place.home().auth().token(&DEFAULT_OWNER.into()));
    let own = mine.script("2", 7).await;
    daemon.stop().await;
    assert_eq!(place.run(&["owner", "remove", "ci"]).await.code, Some(0));
    let daemon = place.serve(&[]).await;
    let mut extension = ExtensionBuilder::at(daemon.port, &place.home()).connect().await;
    assert_eq!(extension.run(&json!(1)).await.id, own);
    extension.expect_nothing().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_journal_from_before_the_list_opens_and_its_owners_keep_their_tokens_and_all_that_is_theirs()
 {
    let place = ProgramSandbox::new();
    let home = place.home();
    fs::copy("tests/fixtures/journal-12.db", home.journal_path()).unwrap();
    fs::set_permissions(home.journal_path(), fs::Permissions::from_mode(0o600)).unwrap();
    let daemon = place.serve(&[]).await;
    let listed = json_of(&place.run(&["owner", "list", "--json"]).await);
    assert_eq!(listed["owners"][1]["name"], "ci", "{listed}");
    assert_eq!(listed["owners"][1]["generation"], "old", "{listed}");
    let client = McpClient::at(daemon.port, home.auth().token(&"ci".into()));
    let look = json!({"what": "command_result", "correlation_id": RECORDED});
    let found = body(&client.call_raw("observe", look).await);
    assert_ne!(found["status"], "not_found", "{found}");
    let doctor = async || place.run(&["doctor"]).await.stdout;
    let told = doctor().await;
    assert!(told.contains("owner ci") && told.contains("tabwire owner remove"), "{told}");
    assert!(!doctor().await.contains("owner ci"), "once");
    // Removed and added again, the name has a token of its own.
    assert_eq!(place.run(&["owner", "remove", "ci"]).await.code, Some(0));
    assert_eq!(place.run(&["owner", "add", "ci", "--unattended"]).await.code, Some(0));
    let token = place.run(&["token", "--owner", "ci"]).await.stdout.trim().to_owned();
    assert_ne!(bearer(&token), bearer(&home.auth().token(&"ci".into())));
    let ended = client.post(&[], b"{}".to_vec()).await;
    assert_eq!((ended.status.as_u16(), &ended.json()["error"]), (403, &json!("unlisted_owner")));
    daemon.stop().await;
    let daemon = place.serve(&[]).await;
    assert_eq!(names(&place).await, ["user", "ci"], "no owner comes back");
    daemon.stop().await;
}

#[tokio::test]
async fn a_damaged_list_stops_the_start_and_every_change_and_stays_as_it_is() {
    let place = ProgramSandbox::new();
    let path = place.home().owners().path();
    fs::write(&path, "{\"owners\": [").unwrap();
    for refused in [
        &["serve"][..],
        &["owner", "list"],
        &["owner", "add", "ci", "--unattended"],
        &["token", "--owner", "ci"],
        &["scope", "ci", "own"],
    ] {
        let ran = place.run(refused).await;
        assert!(ran.code != Some(0) && ran.stderr.contains("owners.json"), "{refused:?}: {ran:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"owners\": [", "{refused:?}");
    }
    assert_eq!(place.run(&["token"]).await.code, Some(0), "the default owner is in no list");
}

#[tokio::test]
async fn beside_a_connected_extension_the_commands_of_a_removed_owner_end_and_others_go_on() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let client = McpClient::legacy(&daemon).with_token(daemon.token_of("ci"));
    let script = json!({"action": "execute_js", "script": "1", "tab_id": 7, "wait_ms": 20_000});
    let call = tokio::spawn(async move { body(&client.call_raw("interact", script).await) });
    let running = extension.start_script("1").await;
    let own = McpClient::legacy(&daemon);
    let next = own.script("2", 7).await;
    let ran = finish(cli_of(&daemon, &["owner", "remove", "ci"])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ended = soon("the end of the call", call).await.unwrap();
    assert_eq!(ended["error"], "not_allowed", "{ended}");
    let told = soon("the end of it", async {
        let mut told = Vec::new();
        while !told.iter().any(|frame: &Value| frame["type"] == "command") {
            told.push(extension.next().await);
        }
        told
    });
    let told = told.await;
    let is_cancel = |frame: &&Value| frame["type"] == "cancel";
    let cancelled = told.iter().find(is_cancel).map(|frame| frame["correlation_id"].clone());
    assert_eq!(cancelled, Some(json!(running.id)), "it is stopped in the page: {told:?}");
    // The tab is free for the next one.
    assert_eq!(told[told.len() - 1]["command"]["correlation_id"], json!(next), "{told:?}");
    daemon.stop().await;
}
