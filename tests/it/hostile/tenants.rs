//! Agents of a team that want more than the person gave, and keys that went astray.

use serde_json::{Value, json};
use tabwire::protocol::{Owner, OwnerKind, Timestamp};
use testkit::{ExtensionBuilder, McpClient, RowReport, TestDaemon, cli_of, finish};

const SECRET: &str = "oftheother";

/// What an agent stores, under one name for all.
async fn store(client: &McpClient, value: &str) {
    client.call("configure", json!({"action": "store", "name": "note", "data": value})).await;
}

/// Everything by which an agent could find what is another owner's.
fn looks() -> Vec<(&'static str, Value)> {
    vec![
        ("configure", json!({"action": "load", "name": "note"})),
        ("configure", json!({"action": "list"})),
        ("configure", json!({"action": "clients"})),
        ("configure", json!({"action": "health"})),
        ("observe", json!({"what": "pending_commands"})),
        ("observe", json!({"what": "failed_commands"})),
        ("observe", json!({"what": "tabs"})),
    ]
}

#[tokio::test]
async fn row_59_an_agent_of_a_team_has_nothing_of_another_team_or_of_an_owner_with_its_name() {
    let daemon = TestDaemon::start().await;
    let _browser = ExtensionBuilder::of(&daemon).connect().await;
    let mut row = RowReport::new(59);
    let since = Timestamp::from_unix_micros(0);
    daemon.home().owners().add("ci", None, OwnerKind::Local, since).unwrap();
    let near = McpClient::legacy(&daemon).with_token(daemon.token_of("ci")).of_any_tools();
    let others = [
        McpClient::agent(&daemon, "ci@other").await.named(SECRET),
        McpClient::agent(&daemon, "ann@acme").await.named(SECRET),
        McpClient::far(&daemon, "acme").await.named(SECRET),
        near.named(SECRET),
    ];
    for other in &others {
        store(other, SECRET).await;
    }
    // The names of clients are the agents' own: none of them is a way to what is another's.
    for name in ["x", "ci", "ci@other", "user"] {
        let agent = McpClient::agent(&daemon, "ci@acme").await.named(name);
        for (tool, arguments) in looks() {
            let answer = agent.call_raw(tool, arguments.clone()).await.to_string();
            let is_silent = !answer.contains(SECRET);
            row.tried(&format!("{name}: {tool} {arguments}"), is_silent, &answer);
        }
    }
    row.report();
    daemon.stop().await;
}

#[tokio::test]
async fn row_59_no_owner_of_this_machine_is_called_like_an_agent_and_no_command_tells_its_token() {
    let daemon = TestDaemon::start().await;
    let mut row = RowReport::new(59);
    drop(McpClient::agent(&daemon, "ci@acme").await);
    let token = daemon.token_of("ci@acme");
    for words in [
        &["token", "--owner", "ci@acme"][..],
        &["owner", "add", "ci@acme", "--unattended"],
        &["owner", "add", "ann@acme", "--unattended"],
        &["mcp-config", "--owner", "ci@acme"],
        &["mcp", "--owner", "ci@acme"],
        &["install", "--client", "cursor", "--owner", "ci@acme", "--print"],
        &["reach", "--name", "ci@acme", "--", "true"],
    ] {
        let ran = finish(cli_of(&daemon, words)).await;
        let is_kept = ran.code != Some(0) && !ran.stdout.contains(&token);
        row.tried(&words.join(" "), is_kept, format!("{ran:?}"));
    }
    for kind in [OwnerKind::Local, OwnerKind::Far] {
        let added =
            daemon.home().owners().add("bob@acme", None, kind, Timestamp::from_unix_micros(0));
        row.tried(&format!("bob@acme as {kind}"), added.is_err(), format!("{added:?}"));
    }
    // A token of the bare name, or of another generation, is none of the agent's.
    let stranger = Owner::of_generation("ci@acme", &"0".repeat(32));
    for forged in [Owner::from("ci@acme"), stranger, Owner::from("ci"), Owner::from("acme")] {
        let token = daemon.home().auth().token(&forged);
        let client = McpClient::legacy(&daemon).with_token(token);
        let (headers, message) = client.message(&json!(1), "tools/list", json!({}));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = client.post(&headers, message.to_string().into_bytes()).await;
        let status = answer.status.as_u16();
        row.tried(forged.as_str(), matches!(status, 401 | 403), status);
    }
    row.report();
    daemon.stop().await;
}

#[tokio::test]
async fn row_59_a_team_that_was_left_and_joined_again_has_nothing_of_before() {
    let daemon = TestDaemon::start().await;
    let mut row = RowReport::new(59);
    let agent = McpClient::agent(&daemon, "ci@acme").await;
    store(&agent, SECRET).await;
    let before = daemon.token_of("ci@acme");
    // As `tabwire-fleet leave` does, and a call that came in meanwhile.
    let owners = daemon.home().owners();
    let left = owners.remove_agents_of("acme").unwrap();
    assert_eq!(left.len(), 1);
    let since = Timestamp::from_unix_micros(0);
    let meanwhile = owners.owner_of_agent("ci@acme", "qa", since, || false).unwrap();
    row.tried("a call after the key is forgotten", meanwhile.is_none(), format!("{meanwhile:?}"));
    let refused = async |token: &str| {
        let client = McpClient::legacy(&daemon).with_token(token.to_owned());
        let (headers, message) = client.message(&json!(1), "tools/list", json!({}));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        client.post(&headers, message.to_string().into_bytes()).await.status.as_u16()
    };
    let status = refused(&before).await;
    row.tried("its token", matches!(status, 401 | 403), status);
    let again = McpClient::agent(&daemon, "ci@acme").await;
    let status = refused(&before).await;
    row.tried("the old token, once joined again", matches!(status, 401 | 403), status);
    let loaded = again.call_raw("configure", json!({"action": "load", "name": "note"})).await;
    row.tried("the stored value", !loaded.to_string().contains(SECRET), &loaded);
    row.report();
    daemon.stop().await;
}

#[cfg(feature = "fleet")]
mod keys {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use testkit::ProgramSandbox;

    use super::*;
    use crate::cli::places::{fleet, operator};

    #[tokio::test]
    async fn row_59_a_key_that_went_astray_joins_nothing() {
        let place = ProgramSandbox::new();
        let mut row = RowReport::new(59);
        let dir = operator(&place).await;
        let file = dir.join("qa.join");
        let line = fs::read_to_string(&file).unwrap().trim().to_owned();
        let text = URL_SAFE_NO_PAD.decode(line.strip_prefix("tabwire-join:").unwrap()).unwrap();
        let text = String::from_utf8(text).unwrap();
        let password = text.replace("nats://127", "nats://ann:s3cretword@127");
        let password = format!("tabwire-join:{}", URL_SAFE_NO_PAD.encode(password));
        let [with_password, open, link] =
            ["pw.join", "open.join", "link.join"].map(|name| dir.join(name));
        fs::write(&with_password, password).unwrap();
        fs::set_permissions(&with_password, fs::Permissions::from_mode(0o600)).unwrap();
        fs::copy(&file, &open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
        symlink(&file, &link).unwrap();
        let paths = [&with_password, &open, &link].map(|path| path.to_str().unwrap());
        for (given, says) in [
            (paths[0], "a user or a password in it"),
            (paths[1], "chmod 600"),
            (paths[2], "Name the file itself"),
            (line.as_str(), "does not belong in the arguments"),
            (dir.join("ci.nk").to_str().unwrap(), "no key of a place"),
            ("none.join", "cannot use"),
        ] {
            let ran = finish(fleet(&place, &["join", given, "--unattended"])).await;
            let is_refused = ran.code == Some(1) && ran.stderr.contains(says);
            let tells = ran.stderr.contains("s3cretword") || ran.stderr.contains(&line);
            row.tried(says, is_refused && !tells, format!("{ran:?}"));
        }
        let piped = finish(fleet(&place, &["join", file.to_str().unwrap()])).await;
        row.tried("without a person", piped.code == Some(77), format!("{piped:?}"));
        let joined = place.home().tenants().names().unwrap();
        row.tried("what is joined after all this", joined.is_empty(), format!("{joined:?}"));
        row.report();
    }
}
