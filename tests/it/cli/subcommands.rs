//! The command line: what each subcommand shows, and what it makes of bad input.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::proof::DEFAULT_OWNER;
use tabwire::protocol::{Drawing, SiteChange, SiteList, SitePattern, TabScope, Timestamp};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use testkit::PollingExtension;
use testkit::{
    ExtensionBuilder, OWN_TOKEN, ProgramSandbox, StdioClient, TestDaemon, authorization, cli_of,
    finish, raw, signal, soon,
};

const SUBCOMMANDS: [&[&str]; 42] = [
    &["install"],
    &["uninstall"],
    &["pair"],
    &["unpair"],
    &["serve"],
    &["mcp"],
    &["call"],
    &["stop"],
    &["status"],
    &["doctor"],
    &["commands"],
    &["trace"],
    &["token"],
    &["mcp-config"],
    &["extension", "unpack"],
    &["extension", "id"],
    &["extension", "allow"],
    &["legacy"],
    &["legacy", "allow"],
    &["legacy", "remove"],
    &["legacy", "auto"],
    &["sites"],
    &["sites", "allow"],
    &["sites", "deny"],
    &["sites", "remove"],
    &["confirm"],
    &["sites", "clear"],
    &["sites", "files"],
    &["sites", "files", "list"],
    &["sites", "files", "allow"],
    &["sites", "files", "remove"],
    &["files"],
    &["files", "allow"],
    &["files", "remove"],
    &["drawings"],
    &["drawings", "delete"],
    &["drawings", "clear"],
    &["demo"],
    &["owner"],
    &["owner", "add"],
    &["owner", "list"],
    &["owner", "remove"],
];

#[tokio::test]
async fn which_sites_agents_may_use_is_shown_and_set_and_a_daemon_that_runs_follows() {
    let place = ProgramSandbox::new();
    let rules = async |arguments: &[&str]| {
        let ran = place.run(&[&["sites"], arguments, &["--json"]].concat()).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        json_of(&ran.stdout)
    };
    assert_eq!(rules(&[]).await, json!({"allow": [], "deny": []}));
    assert_eq!(rules(&["deny", "Bank.Example."]).await["deny"], json!(["bank.example"]));
    let served = place.serve(&[]).await;
    let mut client = StdioClient::start(&place);
    let held = client.call("configure", json!({"action": "site_rules"})).await;
    assert_eq!(held["deny"], json!(["bank.example"]));
    rules(&["allow", "*.corp.example"]).await;
    // An agent may deny more, and open nothing.
    let tighter = json!({"action": "site_rules", "pattern": "https://mail.corp.example"});
    let held = client.call("configure", tighter).await;
    assert_eq!(held["allow"], json!(["*.corp.example"]));
    assert_eq!(held["deny"], json!(["bank.example"]));
    assert_eq!(held["agent_deny"], json!(["https://mail.corp.example"]));
    for opens in [json!({"allow": "bank.example"}), json!({"remove": "bank.example"})] {
        let mut asked = opens;
        asked["action"] = "site_rules".into();
        client.call_fails("configure", asked).await;
    }
    let wrong =
        client.call_fails("configure", json!({"action": "site_rules", "pattern": "*"})).await;
    assert!(wrong["message"].as_str().unwrap().contains("not a site pattern"), "{wrong}");
    let left = rules(&["remove", "bank.example", "--unattended"]).await;
    assert_eq!(left["deny"], json!([]));
    assert_eq!(left["agent_deny"], json!(["https://mail.corp.example"]));
    let shown = place.run(&["sites"]).await.stdout;
    assert!(shown.contains("deny   https://mail.corp.example  (by an agent)"), "{shown}");
    assert_eq!(rules(&["clear", "--agents", "--unattended"]).await.get("agent_deny"), None);
    let held = client.call("configure", json!({"action": "site_rules"})).await;
    assert_eq!(held["agent_deny"], json!([]), "the daemon follows");
    let mistyped = place.run(&["sites", "remove", "mial.corp.example"]).await.stdout;
    assert!(mistyped.starts_with("Nothing changed."), "{mistyped}");
    let shown = place.run(&["sites"]).await.stdout;
    assert!(!shown.contains("Nothing changed"), "{shown}");
    assert!(shown.contains("allow  *.corp.example"), "{shown}");
    let refused = place.run(&["sites", "deny", "example.com/path"]).await;
    assert_eq!(refused.code, Some(2));
    client.kill().await;
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
    assert!(served.end().await.success());
}

#[tokio::test]
async fn which_tabs_an_owners_programs_see_is_shown_and_chosen_and_a_daemon_that_runs_follows() {
    let place = ProgramSandbox::new();
    let scopes = async |arguments: &[&str]| {
        let ran = place.run(&[&["scope"], arguments, &["--json"]].concat()).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        json_of(&ran.stdout)["owners"].clone()
    };
    assert_eq!(scopes(&[]).await, json!({"user": "all"}), "homes that exist keep every tab");
    assert!(!place.home().dir().join("scopes.json").exists());
    assert_eq!(scopes(&["work", "own"]).await, json!({"user": "all", "work": "own"}));
    let shown = place.run(&["scope"]).await.stdout;
    assert!(shown.contains("work  own") && shown.contains("no accounts"), "{shown}");
    let served = place.serve(&[]).await;
    let mut client = StdioClient::start(&place);
    let info = json!({"action": "page_info"});
    assert_eq!(
        client.call("interact", info.clone()).await["status"],
        "queued",
        "it sees every tab"
    );
    scopes(&["user", "own"]).await;
    let refused = client.call_fails("interact", info.clone()).await;
    assert_eq!(refused["error"], "no_tab", "the daemon follows: {refused}");
    // More is seen only by a person's word.
    let more = place.run(&["scope", "user", "all"]).await;
    assert!(more.code != Some(0) && more.stderr.contains("every tab"), "{more:?}");
    assert_eq!(client.call_fails("interact", info.clone()).await["error"], "no_tab");
    let more = place.run(&["scope", "work", "shared"]).await;
    assert!(more.code != Some(0) && more.stderr.contains("those that you share"), "{more:?}");
    scopes(&["user", "all", "--unattended"]).await;
    assert_eq!(client.call("interact", info).await["status"], "queued");
    let noted = place.home().unconfirmed().unwrap();
    assert!(
        noted.iter().any(|it| format!("{it:?}").contains("tabwire scope user own")),
        "{noted:?}"
    );
    for wrong in [&["work", "mine"][..], &["work", "none"], &["work"], &["no owner", "own"]] {
        let ran = place.run(&[&["scope"], wrong].concat()).await;
        assert!(ran.code != Some(0) && ran.stdout.is_empty(), "{wrong:?}: {ran:?}");
    }
    let unknown = place.run(&["scope", "work", "mine"]).await.stderr;
    assert!(unknown.contains("own, shared or all"), "{unknown}");
    client.kill().await;
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
    assert!(served.end().await.success());
    std::fs::write(place.home().dir().join("scopes.json"), "{").unwrap();
    let refused = place.run(&["serve"]).await;
    assert!(refused.code != Some(0) && refused.stderr.contains("scopes.json"), "{refused:?}");
}

#[tokio::test]
async fn from_a_pipe_rights_are_only_narrowed_unless_the_change_may_be_made_unattended() {
    const OTHER_ID: &str = "abcdefghijklmnopabcdefghijklmnop";
    // `extension allow` names the port to the person. Nobody listens there.
    let place = ProgramSandbox::with_port(1);
    for narrows in [
        &["sites", "deny", "bank.example"][..],
        &["sites", "allow", "a.example"],
        &["sites", "allow", "a.example"],
        &["sites", "remove", "unknown.example"],
        &["sites", "clear", "--agents"],
        &["sites", "files", "remove", "/unknown"],
        &["legacy", "deny"],
    ] {
        assert_eq!(place.run(narrows).await.code, Some(0), "{narrows:?}");
    }
    let home = place.home();
    let held = || {
        let legacy = home.legacy().read().unwrap().mode;
        let files = home.local_files().read().unwrap();
        (home.site_rules().read().unwrap(), files, home.allowed_extensions().unwrap(), legacy)
    };
    let pattern = SitePattern::parse("shop.example").unwrap();
    let denied = SiteChange::Add { list: SiteList::AgentDeny, pattern };
    home.site_rules().change(&denied).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let before = held();
    assert_eq!(home.unconfirmed().unwrap(), []);
    let widening = [
        (&["sites", "allow", "b.example"][..], "agents use b.example"),
        (&["sites", "remove", "bank.example"], "bank.example (the rule that denies it goes)"),
        (&["sites", "clear", "--agents"], "all sites that agents have denied"),
        (&["sites", "files", "allow", folder], folder),
        (&["legacy", "auto"], "the first extension that polls"),
        (&["legacy", "any"], "every extension that polls"),
        (&["legacy", "allow", OTHER_ID], "the older extension"),
        (&["extension", "allow", OTHER_ID], OTHER_ID),
    ];
    for (arguments, what) in widening {
        let ran = place.run(arguments).await;
        assert_eq!((ran.code, &*ran.stdout), (Some(77), ""), "{arguments:?}: {ran:?}");
        for part in [what, "in a terminal", "popup", "--unattended"] {
            assert!(ran.stderr.contains(part), "{arguments:?} {part}: {}", ran.stderr);
        }
    }
    assert_eq!((held(), home.unconfirmed().unwrap()), (before, Vec::new()));
    for (arguments, what) in widening {
        let ran = place.run(&[arguments, &["--unattended"]].concat()).await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let noted = home.unconfirmed().unwrap();
        assert!(noted.last().unwrap().what.contains(what), "{noted:?}");
    }
    assert_eq!(home.unconfirmed().unwrap().len(), widening.len());
    let last = place.run(&["sites", "remove", "a.example"]).await;
    assert_eq!(last.code, Some(0), "one of two allowed sites goes: {last:?}");
    let last = place.run(&["sites", "remove", "b.example"]).await;
    assert_eq!(last.code, Some(77), "the last one: {last:?}");
}

#[tokio::test]
async fn which_folders_agents_may_open_files_of_is_shown_and_set_and_a_daemon_that_runs_follows() {
    let place = ProgramSandbox::new();
    let files = async |arguments: &[&str]| {
        let ran = place.run(&[&["sites", "files"], arguments, &["--json"]].concat()).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        json_of(&ran.stdout)
    };
    assert_eq!(files(&[]).await, json!({"enabled": true, "folders": []}));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "to ask makes nothing");
    let shown = place.run(&["sites", "files"]).await.stdout;
    assert!(shown.contains("`tabwire sites files allow DIR`"), "{shown}");
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().canonicalize().unwrap().join("site");
    fs::create_dir(&site).unwrap();
    let named = folder.path().join("link");
    std::os::unix::fs::symlink(&site, &named).unwrap();
    let served = place.serve(&[]).await;
    let opened = files(&["allow", named.to_str().unwrap(), "--unattended"]).await;
    assert_eq!(opened, json!({"enabled": true, "folders": [site]}), "by its own name");
    let again = place.run(&["sites", "files", "allow", site.to_str().unwrap()]).await;
    assert_eq!(again.code, Some(0), "nothing is widened: {again:?}");
    assert!(again.stdout.starts_with("Nothing changed."), "{again:?}");
    for (closed, why) in [
        (place.path().to_owned(), "stays closed to agents"),
        (site.join("absent"), "Name a folder that exists"),
        (std::env::current_exe().unwrap(), "is not a folder"),
    ] {
        let closed = closed.to_str().unwrap();
        let refused = place.run(&["sites", "files", "allow", closed, "--unattended"]).await;
        assert!(refused.code != Some(0) && refused.stderr.contains(why), "{closed}: {refused:?}");
    }
    let allowed = place.run(&["sites", "allow", "file:", "--unattended"]).await;
    assert!(allowed.code != Some(0), "{allowed:?}");
    assert!(allowed.stderr.contains("`tabwire sites files allow DIR`"), "{allowed:?}");
    assert_eq!(files(&["remove", named.to_str().unwrap()]).await["folders"], json!([]));
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
    assert!(served.end().await.success());
}

#[tokio::test]
async fn a_daemon_does_not_start_on_rules_that_it_cannot_read() {
    let place = ProgramSandbox::new();
    let file = place.home().dir().join("site_rules.json");
    fs::write(&file, "{\"deny\": [\"*\"]}").unwrap();
    let ran = place.run(&["serve"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("site_rules.json") && ran.stderr.contains("Correct it"), "{ran:?}");
}

#[tokio::test]
async fn which_polling_extensions_are_let_in_is_shown_and_set() {
    let place = ProgramSandbox::new();
    let id = "a".repeat(32);
    let shown = json_of(&place.run(&["legacy", "--json"]).await.stdout);
    let nobody = json!({
        "mode": "ask", "let_in": [], "ended": [], "paired": false, "asking": [],
        "switched_off": [], "nameless": null, "not_shown": 0,
    });
    assert_eq!(shown, nobody);
    let ran = place.run(&["legacy", "allow"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("no older extension asks"), "{ran:?}");
    let allow = ["legacy", "allow", &id, "--unattended", "--json"];
    let shown = json_of(&place.run(&allow).await.stdout);
    assert_eq!(shown["let_in"], json!([{"id": id, "by": "person"}]));
    let set = place.run(&["legacy", "deny"]).await;
    assert!(set.stdout.starts_with("deny: ") && set.stdout.contains(&id), "{set:?}");
    let removed = json_of(&place.run(&["legacy", "remove", &id, "--json"]).await.stdout);
    assert_eq!((&removed["mode"], &removed["let_in"]), (&json!("deny"), &json!([])));
    let again = place.run(&["legacy", "remove", &id]).await;
    assert!(again.stdout.contains("so nothing changed"), "{again:?}");
    for wrong in [&["legacy", "maybe"][..], &["legacy", "allow", "short"]] {
        assert_eq!(place.run(wrong).await.code, Some(2), "{wrong:?}");
    }
}

#[tokio::test]
async fn one_that_asks_is_named_with_the_command_that_lets_it_in_and_a_daemon_that_runs_follows() {
    let daemon = TestDaemon::start().await;
    let id = "a".repeat(32);
    PollingExtension::named(&daemon, &id, "ext_1_a").name_session().await;
    for words in [&["legacy"][..], &["status"], &["doctor"]] {
        let ran = finish(cli_of(&daemon, words)).await;
        assert!(ran.stdout.contains(&format!("`tabwire legacy allow {id}`")), "{words:?}: {ran:?}");
    }
    let ran = finish(cli_of(&daemon, &["legacy", "allow"])).await;
    assert_eq!(ran.code, Some(1), "nobody is there to choose: {ran:?}");
    assert!(ran.stderr.contains(&format!("tabwire legacy allow {id}")), "{ran:?}");
    let installed = finish(cli_of(&daemon, &["install", "--json"])).await;
    assert_eq!(json_of(&installed.stdout)["older_extensions"], json!([id]), "{installed:?}");
    let allow = ["legacy", "allow", &id, "--unattended", "--json"];
    let shown = json_of(&finish(cli_of(&daemon, &allow)).await.stdout);
    assert_eq!(shown["let_in"], json!([{"id": id, "by": "person"}]));
    PollingExtension::named(&daemon, &id, "ext_1_a").name_session().await;
    let shown = json_of(&finish(cli_of(&daemon, &["legacy", "--json"])).await.stdout);
    assert_eq!(shown["asking"], json!([]), "{shown}");
}

#[tokio::test]
async fn serve_sets_which_polling_extensions_are_let_in_and_needs_a_person_for_more() {
    let place = ProgramSandbox::new();
    let refused = place.run(&["serve", "--legacy", "auto"]).await;
    assert_eq!(refused.code, Some(77), "{refused:?}");
    let served = place.serve(&["--legacy", "auto", "--unattended"]).await;
    let shown = json_of(&place.run(&["legacy", "--json"]).await.stdout);
    assert_eq!(shown["mode"], "auto");
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
    assert!(served.end().await.success());
}

#[tokio::test]
async fn drawings_are_listed_and_deleted_without_a_daemon() {
    let place = ProgramSandbox::new();
    assert_eq!(place.run(&["drawings"]).await.stdout, "no drawings\n");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "to ask makes nothing");
    let drawings = place.home().drawings();
    assert_eq!(place.run(&["drawings"]).await.stdout, "no drawings\n");
    let ids = [1, 2, 3].map(|n| format!("{n:032x}"));
    for (id, session) in ids.iter().zip(["checkout", "checkout", "search"]) {
        let body = json!({
            "drawing_id": id, "annotations": [{"kind": "note"}], "page_url": "http://shop.test/",
            "annot_session_name": session,
        });
        let drawing = Drawing::parse(body.to_string().as_bytes()).unwrap();
        drawings
            .keep(&DEFAULT_OWNER.into(), &drawing, Timestamp::from_unix_micros(0), TabScope::All)
            .unwrap();
    }
    let shown = place.run(&["drawings"]).await.stdout;
    assert!(shown.contains(&ids[0]) && shown.contains("http://shop.test/"), "{shown}");
    let deleted = place.run(&["drawings", "delete", &ids[0]]).await;
    assert_eq!((deleted.code, &*deleted.stdout), (Some(0), "1 drawing deleted\n"), "{deleted:?}");
    let again = place.run(&["drawings", "delete", &ids[0]]).await;
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("no drawing"), "{again:?}");
    assert_eq!(place.run(&["drawings", "delete", "../secret"]).await.code, Some(2));
    let several = place.run(&["drawings", "delete", "000"]).await;
    assert_eq!(several.code, Some(1), "{several:?}");
    assert!(several.stderr.contains("several ids begin with 000"), "{several:?}");
    let unknown = place.run(&["drawings", "delete", "f00"]).await;
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    let own = format!("a{:031x}", 4);
    let body =
        json!({"drawing_id": own, "annotations": [{"kind": "note"}], "page_url": "http://x.test/"});
    let drawing = Drawing::parse(body.to_string().as_bytes()).unwrap();
    drawings
        .keep(&DEFAULT_OWNER.into(), &drawing, Timestamp::from_unix_micros(0), TabScope::All)
        .unwrap();
    let by_beginning = place.run(&["drawings", "delete", "a0"]).await;
    assert_eq!(&*by_beginning.stdout, "1 drawing deleted\n", "{by_beginning:?}");
    let cleared = place.run(&["drawings", "clear", "--session", "checkout", "--json"]).await;
    assert_eq!(json_of(&cleared.stdout), json!({"deleted": 1}));
    let left = json_of(&place.run(&["drawings", "--json"]).await.stdout);
    assert_eq!(left["drawings"][0]["session"], "search", "{left}");
    assert_eq!(left["drawings"].as_array().unwrap().len(), 1);
    let others = json_of(&place.run(&["drawings", "--json", "--owner", "other"]).await.stdout);
    assert_eq!(others["drawings"], json!([]));
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn every_subcommand_has_help_and_refuses_what_it_does_not_know() {
    let place = ProgramSandbox::new();
    for subcommand in SUBCOMMANDS {
        let help = place.run(&[subcommand, &["--help"]].concat()).await;
        assert_eq!(help.code, Some(0), "{subcommand:?}");
        assert!(help.stdout.contains("Usage:"), "{subcommand:?}: {}", help.stdout);
        for extra in [&["--no-such-flag"][..], &["one", "two", "three"], &["--json=yes"]] {
            let ran = place.run(&[subcommand, extra].concat()).await;
            assert_eq!(ran.code, Some(2), "{subcommand:?} {extra:?}: {ran:?}");
            assert!(ran.stderr.contains("error:"), "{ran:?}");
            assert_eq!(ran.stdout, "", "{ran:?}");
        }
    }
    let codes = place.run(&["--help"]).await.stdout;
    for code in ["0 ", "1 ", "2 ", "3 ", "69 ", "75 ", "77 ", "130 "] {
        assert!(codes.contains(&format!("\n  {code}")), "{code}: {codes}");
    }
}

#[tokio::test]
async fn values_that_make_no_sense_are_refused_and_named() {
    let place = ProgramSandbox::new();
    for (arguments, says) in [
        (&["serve", "--port", "70000"][..], "--port"),
        (&["serve", "--port", "-1"], "-1"),
        (&["serve", "--port", ""], "--port"),
        (&["status", "--port", "http"], "--port"),
        (&["serve", "--wait-ms", "25001"], "--wait-ms"),
        (&["serve", "--wait-ms", "soon"], "--wait-ms"),
        (&["serve", "--idle-exit", "1.5"], "--idle-exit"),
        (&["serve", "--limit", "=1"], "did you mean"),
        (&["serve", "--otlp", "127.0.0.1:4318"], "http://HOST:PORT"),
        (&["serve", "--otlp", "https://collector.test"], "speaks no TLS"),
        (&["serve", "--limit", "queued=99999999999999999999999"], "invalid number"),
        (&["status", "--home", ""], "--home"),
        (&["mcp", "--client", ""], "--client"),
        (&["mcp", "--client", "two\nlines"], "printable ASCII"),
        (&["mcp", "--client", "ünïcode"], "printable ASCII"),
        (&["trace", ""], "ID"),
        (&["trace", "../status"], "letters, digits and _"),
        (&["trace", "a b"], "letters, digits and _"),
        // Values that are missing.
        (&["serve", "--port"], "--port"),
        (&["serve", "--limit"], "--limit"),
        (&["serve", "--otlp"], "--otlp"),
        (&["mcp", "--client"], "--client"),
        (&["token", "--owner"], "--owner"),
        (&["trace"], "ID"),
        (&["extension"], "unpack"),
        (&["extension", "allow"], "ID"),
        (&["status", "--home"], "--home"),
    ] {
        let ran = place.run(arguments).await;
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{arguments:?}: {}", ran.stderr);
    }
    for (wrong, right) in [
        ("statsu", "status"),
        ("docter", "doctor"),
        ("comands", "commands"),
        ("trce", "trace"),
        ("extention", "extension"),
    ] {
        let ran = place.run(&[wrong]).await;
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(&format!("'{right}'")), "{wrong}: {}", ran.stderr);
    }
}

#[tokio::test]
async fn arguments_that_are_no_text_are_refused_without_a_panic() {
    let place = ProgramSandbox::new();
    let garbage = OsStr::from_bytes(b"caf\xe9\xff");
    for before in [
        &[][..],
        &["serve", "--port"],
        &["serve", "--limit"],
        &["mcp", "--client"],
        &["token", "--owner"],
        &["trace"],
        &["extension", "allow"],
        &["extension"],
    ] {
        let mut command = place.command(before);
        command.arg(garbage);
        let ran = finish(command).await;
        assert_eq!(ran.code, Some(2), "{before:?}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{before:?}: {}", ran.stderr);
    }
    // A folder may be called so.
    let mut command = place.command(&["--home"]);
    command.arg(place.path().join(garbage)).arg("status");
    assert_eq!(finish(command).await.code, Some(3));
}

#[tokio::test]
async fn values_from_the_environment_that_cannot_be_used_are_named() {
    let place = ProgramSandbox::new();
    let mut command = place.command(&["status"]);
    command.env("TABWIRE_PORT", "garbage");
    let ran = finish(command).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("TABWIRE_PORT"), "{}", ran.stderr);
    let mut command = place.command(&["mcp"]);
    command.env("TABWIRE_LOG", "tabwire=[[[");
    let ran = finish(command).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("invalid filter in TABWIRE_LOG"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_reader_that_has_had_enough_is_no_error() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    for arguments in [
        &["token"][..],
        &["token", "--json"],
        &["mcp-config"],
        &["pair"],
        &["install"],
        &["install", "--print"],
        &["uninstall"],
        &["extension", "id"],
        &["extension", "unpack"],
        &["status"],
        &["commands", "--json"],
        &["commands", "--follow", "--json"],
        &["doctor"],
        &["--help"],
        &["--version"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = place.command(arguments);
        let child = command.stdout(writer).spawn().unwrap();
        // The command has a copy of the pipe's end.
        drop(command);
        let output = soon("its end", child.wait_with_output()).await.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
    signal(daemon.pid(), Signal::TERM);
    daemon.end().await;
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_made_ends_each_command_with_the_next_step() {
    let place = ProgramSandbox::new();
    // Nobody, not even root, makes anything there.
    let dir = "/proc/tabwire";
    for (arguments, code) in [
        (&["serve"][..], 1),
        (&["token"], 1),
        (&["extension", "unpack"], 1),
        (&["pair"], 1),
        (&["unpair"], 1),
        (&["extension", "allow", "abcdefghijklmnopabcdefghijklmnop", "--unattended"], 1),
        (&["doctor"], 1),
        (&["status"], 3),
        (&["commands"], 3),
        (&["trace", "exec_1"], 3),
        (&["stop"], 0),
    ] {
        let mut command = place.command(arguments);
        command.env("TABWIRE_HOME", dir);
        let ran = finish(command).await;
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        if code == 1 {
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains(dir), "{arguments:?}: {said}");
        }
    }
}

#[tokio::test]
async fn without_a_daemon_status_commands_and_trace_end_with_3_and_make_nothing() {
    let place = ProgramSandbox::new();
    for arguments in
        [&["status"][..], &["commands"], &["commands", "--follow"], &["trace", "exec_1"]]
    {
        let ran = place.run(arguments).await;
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("no daemon runs"), "{ran:?}");
    }
    let status = place.run(&["status", "--json"]).await;
    assert_eq!((status.code, &json_of(&status.stdout)["running"]), (Some(3), &json!(false)));
    assert_eq!(json_of(&place.run(&["stop", "--json"]).await.stdout), json!({"stopped": false}));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn status_shows_the_daemon_its_browsers_and_its_clients() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let _extension = shim.connect().await;
    let mut client = StdioClient::spawn(place.command(&["mcp", "--client", "probe"]));
    client.call("interact", json!({"action": "page_info"})).await;

    let said = place.run(&["status", "--json"]).await;
    let status = json_of(&said.stdout);
    assert_eq!(said.code, Some(0));
    assert_eq!(status["running"], true);
    assert_eq!((&status["pid"], &status["port"]), (&json!(daemon.pid()), &json!(daemon.port)));
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["home"], place.path().to_str().unwrap());
    assert_eq!(
        (&status["pending"], &status["browsers"][0]["connected"]),
        (&json!(1), &json!(true))
    );
    assert_eq!(status["clients"][0]["client"], "probe");

    let text = place.run(&["status"]).await.stdout;
    for part in [&format!("process {}", daemon.pid()), "1 pending", &shim.label(), "probe"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let stopped = json_of(&place.run(&["stop", "--json"]).await.stdout);
    assert_eq!(stopped, json!({"stopped": true, "pid": daemon.pid()}));
}

#[tokio::test]
async fn commands_and_traces_have_everything_but_parameters_and_results() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let _extension = shim.connect().await.auto(|_| json!({"value": "secret-result"}));
    let mut client = StdioClient::spawn(place.command(&["mcp", "--client", "probe"]));
    let arguments = json!({"action": "execute_js", "script": "secret-script", "wait_ms": 5_000});
    let answer = client.call("interact", arguments).await;
    let id = answer["correlation_id"].as_str().unwrap();

    let all = place.run(&["commands", "--json"]).await.stdout;
    let list = json_of(&all);
    let command = &list["commands"][0];
    assert_eq!((&list["count"], &command["correlation_id"]), (&json!(1), &json!(id)));
    for (field, value) in [
        ("command", json!("execute_js")),
        ("client", json!("probe")),
        ("browser", json!("browser-1")),
        ("tab_id", json!(7)),
        ("status", json!("complete")),
        ("phase", json!("done")),
        ("created_at", answer["created_at"].clone()),
        ("ended_at", answer["completed_at"].clone()),
        ("duration_ms", answer["duration_ms"].clone()),
    ] {
        assert_eq!(command[field], value, "{field}");
    }
    let plain = place.run(&["commands"]).await.stdout;
    let fields: Vec<_> = plain.trim_end().split('\t').collect();
    assert_eq!((fields[1], fields[3], fields[4]), ("complete", id, "execute_js"), "{plain}");

    let json = place.run(&["trace", id, "--json"]).await;
    let phases = testkit::phases(&json_of(&json.stdout));
    assert_eq!(
        phases[..5],
        ["queued", "delivered", "claimed", "started", "done"],
        "{}",
        json.stdout
    );
    let random = id.rsplit_once('_').unwrap().1;
    for beginning in [&id[..20], &random[..12]] {
        let traced = place.run(&["trace", beginning]).await;
        assert_eq!(traced.code, Some(0), "{traced:?}");
        assert!(traced.stdout.contains("started") && traced.stdout.contains(id), "{traced:?}");
        assert!(!traced.stdout.contains("secret"), "{traced:?}");
    }
    client.call("interact", json!({"action": "execute_js", "script": "2", "wait_ms": 5_000})).await;
    let several = place.run(&["trace", "exec_"]).await;
    assert_eq!(several.code, Some(1), "{several:?}");
    assert!(several.stderr.contains("2 ids begin with exec_") && several.stderr.contains(id));
    let log = fs::read_to_string(place.home().log_path()).unwrap();
    for said in [all, plain, json.stdout, log] {
        assert!(!said.contains("secret"), "{said}");
    }
}

#[tokio::test]
async fn a_trace_tells_an_id_that_never_was_from_one_whose_record_is_gone() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&["--limit", "retained=1"]).await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let _extension = shim.connect().await.auto(|_| json!({"value": 1}));
    let mut client = StdioClient::start(&place);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let arguments = json!({"action": "page_info", "wait_ms": 5_000});
        let answer = client.call("interact", arguments).await;
        ids.push(answer["correlation_id"].as_str().unwrap().to_owned());
    }
    let gone = place.run(&["trace", &ids[0]]).await;
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(gone.stderr.contains("its record expired at"), "{}", gone.stderr);
    let never = place.run(&["trace", "exec_never"]).await;
    assert_eq!(never.code, Some(1), "{never:?}");
    assert!(never.stderr.contains("unknown command exec_never"), "{}", never.stderr);
    for (id, error) in [(ids[0].as_str(), "expired"), ("exec_never", "no_such_command")] {
        let ran = place.run(&["trace", id, "--json"]).await;
        assert_eq!((ran.code, &json_of(&ran.stdout)["error"]), (Some(1), &json!(error)), "{ran:?}");
    }
}

#[tokio::test]
async fn following_shows_each_change_and_ends_well_with_an_interrupt() {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let shim = ExtensionBuilder::at(daemon.port, &place.home());
    let _extension = shim.connect().await.auto(|_| json!({"value": 1}));
    let mut child = place.command(&["commands", "--follow", "--json"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = soon("the list", lines.next_line()).await.unwrap().unwrap();
    assert_eq!(json_of(&first), json!({"event": "known", "commands": []}));

    let mut client = StdioClient::start(&place);
    let arguments = json!({"action": "execute_js", "script": "1", "wait_ms": 5_000});
    client.call("interact", arguments).await;
    let mut seen = Vec::new();
    while seen.last().is_none_or(|last| last != "complete done") {
        let line = soon("a change", lines.next_line()).await.unwrap().unwrap();
        let event = json_of(&line);
        assert_eq!(event["event"], "changed", "{event}");
        let word = |field: &str| event["command"][field].as_str().unwrap().to_owned();
        seen.push(format!("{} {}", word("status"), word("phase")));
    }
    assert_eq!(seen, ["pending queued", "pending delivered", "pending started", "complete done"]);

    signal(child.id().unwrap(), Signal::INT);
    assert_eq!(soon("its end", child.wait()).await.unwrap().code(), Some(0));

    let mut plain = place.command(&["commands", "--follow"]).spawn().unwrap();
    let mut lines = BufReader::new(plain.stdout.take().unwrap()).lines();
    let line = soon("a line", lines.next_line()).await.unwrap().unwrap();
    assert!(line.contains("\tcomplete\t"), "{line}");
    signal(daemon.pid(), Signal::TERM);
    let output = soon("its end", plain.wait_with_output()).await.unwrap();
    assert_eq!(output.status.code(), Some(1), "the daemon has ended: that is said");
    assert!(String::from_utf8_lossy(&output.stderr).contains("the daemon ended"));
    daemon.end().await;
}

#[tokio::test]
async fn what_the_command_line_asks_is_for_holders_of_a_token_and_each_owner_sees_its_own() {
    let daemon = TestDaemon::start().await;
    let client = testkit::McpClient::legacy(&daemon);
    let id = client.script("1", 7).await;
    let command = format!("/api/commands/{id}");
    let other = authorization(&daemon.token_of("other"));
    let get = async |path: &str, token: &str| {
        raw(&daemon, &[&format!("GET {path} HTTP/1.1"), "Host: HOST", token], b"").await
    };
    let own = OWN_TOKEN;
    for path in ["/api/status", "/api/commands", "/api/commands?follow=1", &command] {
        assert_eq!(get(path, "Accept: */*").await.status, 401, "{path}");
        let line = format!("POST {path} HTTP/1.1");
        let json = "Content-Type: application/json";
        let posted =
            raw(&daemon, &[&line, "Host: HOST", own, json, "Content-Length: 0"], b"").await;
        assert_eq!((posted.status, posted.header("allow")), (405, Some("GET")), "{path}");
        let page = "Origin: http://evil.test";
        let line = format!("GET {path} HTTP/1.1");
        assert_eq!(raw(&daemon, &[&line, "Host: HOST", own, page], b"").await.status, 403);
    }
    assert_eq!(get(&command, own).await.json()["correlation_id"], id.as_str());
    assert_eq!(get("/api/commands", own).await.json()["count"], 1);
    assert_eq!(get("/api/commands", &other).await.json()["count"], 0);
    let never = get("/api/commands/exec_never", &other).await;
    assert_eq!((never.status, get(&command, &other).await), (404, never));
    for path in ["/api", "/api/", "/api/commands/", "/api/commands/a/b", "/api/other"] {
        assert_eq!(get(path, own).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_log_of_a_daemon_is_private_and_has_each_line_once() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    client.call("configure", json!({"action": "health"})).await;
    let path = place.home().log_path();
    let log = fs::read_to_string(&path).unwrap();
    assert_eq!(log.matches("listening").count(), 1, "{log}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    place.run(&["stop"]).await;

    let mut command = place.command(&["serve", "--json"]);
    command.stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = soon("a line", stderr.next_line()).await.unwrap().unwrap();
    assert!(line.contains("listening"), "in a terminal it is shown too: {line}");
    assert_eq!(fs::read_to_string(&path).unwrap().matches("listening").count(), 2);
    signal(child.id().unwrap(), Signal::TERM);
    soon("its end", child.wait()).await.unwrap();
}

#[tokio::test]
async fn unpacking_over_another_version_names_it() {
    let place = ProgramSandbox::with_port(1234);
    place.run(&["extension", "unpack"]).await;
    let manifest = place.path().join("extension/manifest.json");
    let mut older = json_of(&fs::read_to_string(&manifest).unwrap());
    older["version"] = "0.0.1".into();
    fs::write(&manifest, older.to_string()).unwrap();
    let ran = place.run(&["extension", "unpack"]).await;
    assert!(ran.stdout.contains("replaces version 0.0.1"), "{}", ran.stdout);
    let again = place.run(&["extension", "unpack", "--json"]).await;
    assert_eq!(json_of(&again.stdout)["replaced"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn a_demonstration_that_cannot_be_says_what_is_missing() {
    let place = ProgramSandbox::new();
    let mut command = place.command(&["demo", "--headed"]);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    let ran = finish(command).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("without --headed"), "{}", ran.stderr);
    let mut command = place.command(&["demo", "--json"]);
    command.env("TABWIRE_BROWSER", "/no/such/browser");
    let ran = finish(command).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("/no/such/browser"), "{}", ran.stderr);
}
