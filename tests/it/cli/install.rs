//! `tabwire install` and what it sets up, in a home directory of nobody; and how keys get to
//! an extension and end.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::process::Signal;
use serde_json::{Value, json};
use tabwire::demo::{Browser, find_browser};
use tabwire::home::StateDirectory;
use tabwire::install::manifest_below;
use tabwire::protocol::EXTENSION_ID;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::person::{PORT, Person};
use testkit::{
    ExtensionBuilder, McpClient, ProgramOutput, ProgramSandbox, StdioClient, Terminal, TestPages,
    finish, free_port, signal, soon, token_of,
};

fn json_of(ran: &ProgramOutput) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[tokio::test]
async fn install_sets_up_what_is_asked_for_and_uninstall_takes_all_of_it_away() {
    let person = Person::new();
    let cursor = person.write(".cursor/mcp.json", "{\n  // mine\n  \"mcpServers\": {}\n}\n");
    person.write(".codex/config.toml", "model = 'x'\n");
    fs::create_dir_all(person.at(".config/chromium/Default")).unwrap();
    let before = person.files();

    let told = json_of(&person.run(&["install", "--client", "cursor", "--json"]).await);
    assert_eq!(told["clients"], json!({"found": ["cursor", "codex-cli"], "added": ["cursor"]}));
    assert_eq!(told["browsers"], json!(["Chromium"]));
    assert_eq!(told["sites_default"], "allow");
    let hops = told["doctor"]["hops"].as_array().unwrap();
    let folder = hops.iter().find(|hop| hop["hop"] == "extension folder").unwrap();
    assert_eq!(folder["state"], "fine", "{folder}");
    let settings = fs::read_to_string(&cursor).unwrap();
    assert!(settings.contains("// mine") && settings.contains("\"tabwire\""), "{settings}");
    assert!(settings.contains(&format!("\"{PORT}\"")), "the port that was set: {settings}");
    let manifest = manifest_below(&person.at(".config/chromium"));
    assert!(manifest.is_file());
    let config = person.at("Tabwire/extension/config.json");
    assert!(fs::read_to_string(config).unwrap().contains(&PORT.to_string()));

    let once = person.files();
    let again = person.run(&["install", "--client", "cursor"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.starts_with("Everything was already set up.\n"), "{again:?}");
    assert!(!again.stdout.contains("restart"), "{again:?}");
    assert!(again.stdout.contains("tabwire install --client codex-cli"), "{again:?}");
    let folder = person.at("Tabwire/extension");
    let last = again.stdout.lines().last();
    assert_eq!(last, folder.to_str(), "it ends with the folder: {again:?}");
    assert_eq!(person.files(), once);

    let gone = person.run(&["uninstall", "--state"]).await;
    assert_eq!(gone.code, Some(0), "{gone:?}");
    assert_eq!(person.files(), before);
    assert!(!person.at(".local/state/tabwire").exists());
}

#[tokio::test]
async fn an_install_that_broke_off_half_way_is_completed_by_the_next_or_taken_away() {
    // The signal that comes when a file is too large kills, unless it is ignored: then the file
    // cannot be written, as on a full disk.
    for ignored in ["trap '' 25; ", ""] {
        for next in [&["install"][..], &["uninstall", "--state"]] {
            let person = Person::new();
            let script = format!("{ignored}ulimit -f 8; exec \"$0\" install");
            let mut shell = person.place.command_of("sh", &["-c", &script]);
            shell.arg(testkit::program());
            let broke = finish(person.at_home(shell)).await;
            assert_ne!(broke.code, Some(0), "{broke:?}");
            let extension = person.at("Tabwire/extension");
            assert!(!extension.join("config.json").exists(), "half of it: {broke:?}");
            let ran = person.run(next).await;
            assert_eq!(ran.code, Some(0), "{broke:?} then {ran:?}");
        }
    }
}

#[tokio::test]
async fn an_extension_at_its_former_place_moves_and_the_place_still_leads_to_it() {
    let person = Person::new();
    let (old, new) = (person.at(".local/state/tabwire/extension"), person.at("Tabwire/extension"));
    let unpack = ["extension", "unpack", old.to_str().unwrap()];
    assert_eq!(person.run(&unpack).await.code, Some(0));
    fs::create_dir_all(person.at(".config/chromium/Default")).unwrap();
    let ran = person.run(&["install"]).await;
    assert!(ran.stdout.contains(&format!("left a link at {}.", old.display())), "{ran:?}");
    assert!(old.is_symlink() && old.join("manifest.json").is_file() && !new.is_symlink());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&new), 0o700);
    assert_eq!(mode(&new.join("src/worker/background.js")), 0o444);
    let noted = fs::read_to_string(person.at(".local/state/tabwire/unpacked.json")).unwrap();
    assert_eq!(noted.trim(), json!(new).to_string());
    let found = person.run(&["doctor"]).await;
    assert!(found.stdout.contains(&format!("{} fits", new.display())), "{found:?}");
    assert!(found.stdout.contains("port and key in Chromium"), "{found:?}");
    let again = person.run(&["install"]).await;
    assert!(again.stdout.starts_with("Everything was already set up.\n"), "{again:?}");
    assert_eq!(person.run(&["uninstall", "--state"]).await.code, Some(0));
    assert!(!person.at(".local/state/tabwire").exists() && !person.at("Tabwire").exists());
}

#[tokio::test]
async fn a_browser_whose_manifest_is_missing_or_starts_another_program_is_named() {
    let person = Person::new();
    fs::create_dir_all(person.at(".config/chromium/Default")).unwrap();
    person.run(&["install"]).await;
    // Another browser that came later.
    fs::create_dir_all(person.at(".config/google-chrome/Default")).unwrap();
    let found = person.run(&["doctor"]).await;
    let chrome = manifest_below(&person.at(".config/google-chrome"));
    let missing = format!("Chrome: {} is missing", chrome.display());
    assert!(found.code == Some(1) && found.stdout.contains(&missing), "{found:?}");
    person.run(&["install"]).await;
    let chromium = manifest_below(&person.at(".config/chromium"));
    let manifest = fs::read_to_string(&chromium).unwrap();
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest["path"] = "/opt/other/native-host".into();
    fs::write(&chromium, manifest.to_string()).unwrap();
    let found = person.run(&["doctor"]).await;
    let other =
        format!("Chromium: {} starts another program, /opt/other/native-host", chromium.display());
    assert!(found.code == Some(1) && found.stdout.contains(&other), "{found:?}");
    assert!(!found.stdout.contains("Chrome: "), "{found:?}");
    assert!(found.stdout.contains("→ run `tabwire install`"), "{found:?}");
}

#[tokio::test]
async fn without_a_terminal_install_waits_only_if_it_is_told_to() {
    let place = ProgramSandbox::new();
    let port = free_port().to_string();
    let ran = place.run(&["install", "--port", &port]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(place.daemon().is_none() && !ran.stdout.contains("Waiting"), "{ran:?}");
    let installing = tokio::spawn(finish(place.command(&["install", "--port", &port, "--wait"])));
    let started = async {
        while place.daemon().is_none() {
            tokio::time::sleep(testkit::LOOK).await;
        }
    };
    soon("a daemon", started).await;
    let shim = ExtensionBuilder::at(place.daemon().unwrap().port, &place.home());
    let _extension = shim.connect().await.auto(|_| json!({"success": true, "value": []}));
    let ran = installing.await.unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let connected = format!("✓ {} connected", shim.label());
    assert_eq!(ran.stdout.lines().last(), Some(&*connected), "{ran:?}");
    assert!(!ran.stdout.contains("Waiting") && !ran.stdout.contains('\r'), "{ran:?}");
    let told = json_of(&place.run(&["install", "--port", &port, "--wait", "--json"]).await);
    assert_eq!(told["connected"], shim.label());
    place.run(&["stop"]).await;
}

#[tokio::test]
async fn at_a_terminal_enter_takes_all_clients_and_an_interrupted_wait_leaves_everything_well() {
    let person = Person::new();
    person.write(".cursor/mcp.json", "{}");
    person.write(".gemini/settings.json", "{}");
    let mut terminal =
        Terminal::run(person.command(&["install", "--port", &free_port().to_string()]));
    terminal.until_shows("Add Tabwire to which? Enter for all").await;
    terminal.press("\n");
    terminal.until_shows("Cursor: which tabs? Enter for 1").await;
    terminal.press("x\n");
    terminal.until_shows("Give 1, 2 or 3").await;
    terminal.press("2\n");
    // The answer before is the usual one.
    terminal.until_shows("Gemini CLI: which tabs? Enter for 2").await;
    terminal.press("\n");
    // Asking first is offered first.
    terminal.until_shows("Which? Enter for 1").await;
    terminal.press("x\n");
    terminal.until_shows("Give 1 or 2").await;
    terminal.press("\n");
    terminal.until_shows("Waiting for the extension").await;
    let rules = person.run(&["sites", "--json"]).await;
    assert_eq!(json_of(&rules)["default"], "ask", "{rules:?}");
    let home = person.at(".local/state/tabwire");
    assert!(home.join("daemon.json").is_file(), "a daemon runs");
    signal(terminal.pid(), Signal::INT);
    let (code, screen) = terminal.ended().await;
    assert_eq!(code, Some(0), "{screen:#?}");
    assert!(screen.iter().any(|line| line.starts_with("Everything is set up")), "{screen:#?}");
    assert!(!screen.iter().any(|line| line.contains("Waiting")), "{screen:#?}");
    for (settings, owner) in
        [(".cursor/mcp.json", "cursor"), (".gemini/settings.json", "gemini-cli")]
    {
        assert_eq!(owner_in(&person.at(settings)).as_deref(), Some(owner));
    }
    assert_eq!(scopes(&person).await, json!({"cursor": "own", "gemini-cli": "own", "user": "all"}));
    assert_eq!(person.run(&["stop"]).await.code, Some(0), "the daemon has outlived it");
}

#[tokio::test]
async fn at_a_terminal_enter_lets_new_programs_see_every_tab() {
    let person = Person::new();
    let cursor = person.write(".cursor/mcp.json", "{}");
    let mut terminal =
        Terminal::run(person.command(&["install", "--port", &free_port().to_string()]));
    terminal.until_shows("Add Tabwire to which? Enter for all").await;
    terminal.press("\n");
    terminal.until_shows("Cursor: which tabs? Enter for 1").await;
    terminal.press("\n");
    terminal.until_shows("Which? Enter for 1").await;
    terminal.press("2\n");
    terminal.until_shows("Waiting for the extension").await;
    signal(terminal.pid(), Signal::INT);
    terminal.ended().await;
    assert!(fs::read_to_string(&cursor).unwrap().contains("tabwire"));
    assert_eq!(owner_in(&cursor), None);
    assert_eq!(scopes(&person).await, json!({"user": "all"}));
    person.run(&["stop"]).await;
}

#[tokio::test]
async fn at_a_terminal_each_new_program_gets_the_scope_of_its_own_answer() {
    let person = Person::new();
    let settings =
        [".cursor/mcp.json", ".gemini/settings.json", ".codeium/windsurf/mcp_config.json"];
    let settings = settings.map(|file| person.write(file, "{}"));
    // One that has Tabwire already is not asked about.
    person.run(&["install", "--client", "windsurf"]).await;
    let mut terminal =
        Terminal::run(person.command(&["install", "--port", &free_port().to_string()]));
    terminal.until_shows("Add Tabwire to which? Enter for all").await;
    terminal.press("\n");
    terminal.until_shows("Cursor: which tabs? Enter for 1").await;
    terminal.press("3\n");
    terminal.until_shows("Gemini CLI: which tabs? Enter for 3").await;
    terminal.press("1\n");
    let screen = terminal.until_shows("Waiting for the extension").await;
    assert!(!screen.iter().any(|line| line.contains("Windsurf: which tabs")), "{screen:#?}");
    signal(terminal.pid(), Signal::INT);
    terminal.ended().await;
    let owners = settings.map(|file| owner_in(&file));
    assert_eq!(owners, [Some("cursor".to_owned()), None, None]);
    assert_eq!(scopes(&person).await, json!({"cursor": "shared", "user": "all"}));
    person.run(&["stop"]).await;
}

#[tokio::test]
async fn an_end_of_input_between_two_answers_changes_nothing() {
    let person = Person::new();
    let settings = [".cursor/mcp.json", ".gemini/settings.json"];
    let settings = settings.map(|file| person.write(file, "{}"));
    let mut terminal =
        Terminal::run(person.command(&["install", "--port", &free_port().to_string()]));
    terminal.until_shows("Add Tabwire to which? Enter for all").await;
    terminal.press("\n");
    terminal.until_shows("Cursor: which tabs? Enter for 1").await;
    terminal.press("2\n");
    terminal.until_shows("Gemini CLI: which tabs? Enter for 2").await;
    terminal.press("\u{4}");
    let (code, screen) = terminal.ended().await;
    assert_eq!(code, Some(1), "{screen:#?}");
    assert!(screen.iter().any(|line| line.contains("nothing was changed")), "{screen:#?}");
    for file in settings {
        assert_eq!(fs::read_to_string(file).unwrap(), "{}");
    }
    assert_eq!(scopes(&person).await, json!({"user": "all"}));
}

/// The owner that the entry in a client's JSON settings names.
fn owner_in(settings: &Path) -> Option<String> {
    let settings: Value = serde_json::from_str(&fs::read_to_string(settings).unwrap()).unwrap();
    let args = settings["mcpServers"]["tabwire"]["args"].as_array()?;
    let at = args.iter().position(|arg| arg == "--owner")?;
    Some(args[at + 1].as_str().unwrap().to_owned())
}

/// The scopes that are chosen.
async fn scopes(person: &Person) -> Value {
    json_of(&person.run(&["scope", "--json"]).await)["owners"].clone()
}

#[tokio::test]
async fn a_program_with_a_scope_gets_an_owner_of_its_own_and_keeps_it() {
    let person = Person::new();
    let cursor = person.write(".cursor/mcp.json", "{}");
    let gemini = person.write(".gemini/settings.json", "{}");
    let narrow = ["install", "--client", "cursor", "--scope", "own"];
    let plan = json_of(&person.run(&[&narrow[..], &["--print", "--json"]].concat()).await);
    let first = json!({"action": "scope", "owner": "cursor", "scope": "own"});
    assert_eq!(plan["would"][0], first, "the scope is there before the entry: {plan}");
    assert!(!person.at(".local").exists());
    let told = json_of(&person.run(&[&narrow[..], &["--json"]].concat()).await);
    assert_eq!(told["owners"], json!({"cursor": {"owner": "cursor", "scope": "own"}}));
    assert_eq!(told["changes"][0], first, "{told}");
    assert_eq!(owner_in(&cursor).as_deref(), Some("cursor"));
    assert_eq!(scopes(&person).await, json!({"cursor": "own", "user": "all"}));

    // The others belong to the default owner, and nothing changes what the entry has.
    person.run(&["install", "--all"]).await;
    assert_eq!((owner_in(&cursor).as_deref(), owner_in(&gemini)), (Some("cursor"), None));
    let again = person.run(&narrow).await;
    assert!(again.stdout.starts_with("Everything was already set up.\n"), "{again:?}");

    // A name of the person's choice, in place of the one that the entry has.
    let named = ["install", "--client", "gemini-cli", "--owner", "work", "--scope", "shared"];
    let shown = person.run(&named).await;
    assert!(shown.stdout.contains("let the programs of owner work see"), "{shown:?}");
    assert_eq!(owner_in(&gemini).as_deref(), Some("work"));
    let chosen = json!({"cursor": "own", "user": "all", "work": "shared"});
    assert_eq!(scopes(&person).await, chosen);

    let gone = person.run(&["uninstall"]).await;
    assert!(gone.stdout.contains("cursor (own), work (shared)"), "{gone:?}");
    assert_eq!(scopes(&person).await, chosen, "a removal widens nothing");
    let settings = [&cursor, &gemini].map(|path| fs::read_to_string(path).unwrap());
    assert_eq!(settings, ["{}", "{}"]);
    let told = json_of(&person.run(&["uninstall", "--json"]).await);
    assert_eq!(told["scopes"], json!({"cursor": "own", "work": "shared"}));
    person.run(&["install", "--all"]).await;
    let owners = [owner_in(&cursor), owner_in(&gemini)];
    assert_eq!(owners, [Some("cursor".to_owned()), None], "by its name it is found again");
}

#[tokio::test]
async fn a_program_sees_more_tabs_only_if_a_person_agrees() {
    let person = Person::new();
    person.write(".cursor/mcp.json", "{}");
    person.run(&["install", "--client", "cursor", "--scope", "own"]).await;
    let state = person.at(".local/state/tabwire");
    let kept = || {
        let mut files = person.files();
        files.retain(|path, _| !path.starts_with(&state) || path.ends_with("scopes.json"));
        files
    };
    let before = kept();
    // Another owner that sees more is a wider scope, too.
    for wider in [&["--scope", "all"][..], &["--scope", "shared", "--json"], &["--owner", "other"]]
    {
        let ran = person.run(&[&["install", "--client", "cursor"], wider].concat()).await;
        assert_eq!(ran.code, Some(77), "{wider:?}: {ran:?}");
        assert!(ran.stderr.contains("--unattended"), "{wider:?}: {ran:?}");
        assert_eq!(kept(), before, "{wider:?}");
    }
    // One that does not see more needs nobody.
    let ran =
        person.run(&["install", "--client", "cursor", "--owner", "other", "--scope", "own"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let wide = ["install", "--client", "cursor", "--scope", "all", "--unattended"];
    assert_eq!(person.run(&wide).await.code, Some(0));
    assert_eq!(scopes(&person).await, json!({"cursor": "own", "other": "all", "user": "all"}));
    let unconfirmed = StateDirectory::open(&state).unwrap().unconfirmed().unwrap();
    let told: Vec<_> = unconfirmed
        .iter()
        .map(|widening| (&*widening.what, widening.take_back.as_deref()))
        .collect();
    assert_eq!(
        told,
        [("the programs of owner other see every tab", Some("tabwire scope other own"))]
    );
    for (wrong, code, hint) in [
        (&["--scope", "own"][..], 1, "--client"),
        (&["--owner", "work"], 1, "--client"),
        (&["--client", "cursor", "--scope", "none"], 2, "own, shared or all"),
        (&["--client", "cursor", "--owner", "a b"], 2, "1 to 64"),
    ] {
        let ran = person.run(&[&["install"], wrong].concat()).await;
        assert!(ran.code == Some(code) && ran.stderr.contains(hint), "{wrong:?}: {ran:?}");
    }
    fs::write(state.join("scopes.json"), "{").unwrap();
    let damaged = kept();
    let ran = person.run(&["install", "--client", "cursor", "--scope", "own"]).await;
    assert!(ran.code == Some(1) && ran.stderr.contains("scopes.json"), "{ran:?}");
    assert_eq!(kept(), damaged);
}

#[tokio::test]
async fn a_running_daemon_hides_tabs_from_a_program_as_soon_as_it_is_installed_with_a_scope() {
    let person = Person::new();
    person.write(".cursor/mcp.json", "{}");
    let daemon = person.place.serve_by(person.command(&["serve", "--json", "--port", "0"])).await;
    let home = StateDirectory::open(&person.at(".local/state/tabwire")).unwrap();
    let tab = json!({"tab_id": 7, "window_id": 1, "url": "http://bank.test/", "title": "Bank",
                     "active": true, "focused": true});
    let shim = ExtensionBuilder::at(daemon.port, &home).tabs(vec![tab]);
    let _extension = shim.connect().await.auto(|_| json!({"success": true, "value": []}));
    let program = McpClient::at(daemon.port, token_of(&home, "cursor"));
    let list = async || program.call("observe", json!({"what": "tabs"})).await.to_string();
    assert!(list().await.contains("Bank"));
    let ran = person.run(&["install", "--client", "cursor", "--scope", "own"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!list().await.contains("Bank"));
    daemon.stop().await;
}

#[tokio::test]
async fn the_path_of_the_folder_is_put_on_the_clipboard_where_there_is_one() {
    let person = Person::new();
    let program = person.write("bin/wl-copy", "#!/bin/sh\nexec cat > \"$HOME/clipboard\"\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let path = format!("{}:{}", person.at("bin").display(), std::env::var("PATH").unwrap());
    let folder = person.at("Tabwire/extension");
    let mut command = person.command(&["install", "--port", &free_port().to_string()]);
    command.env("PATH", path).env("WAYLAND_DISPLAY", "wayland-0");
    let mut terminal = Terminal::run(command);
    terminal.until_shows("Which? Enter for 1").await;
    terminal.press("2\n");
    let screen = terminal.until_shows("Waiting for the extension").await;
    assert!(screen.contains(&"The folder (on the clipboard):".to_owned()), "{screen:#?}");
    let copied = fs::read_to_string(person.at("clipboard")).unwrap();
    assert_eq!(Some(&*copied), folder.to_str());
    signal(terminal.pid(), Signal::INT);
    terminal.ended().await;
    person.run(&["stop"]).await;
}

#[tokio::test]
async fn a_state_directory_whose_key_is_gone_stays_and_is_named() {
    let person = Person::new();
    person.run(&["install"]).await;
    let state = person.at(".local/state/tabwire");
    fs::remove_file(state.join("auth.key")).unwrap();
    let ran = person.run(&["uninstall", "--state"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("it has no auth.key"), "{ran:?}");
    assert!(state.exists() && !person.at("Tabwire").exists());
}

#[tokio::test]
async fn what_has_not_been_used_yet_is_not_called_broken() {
    let person = Person::new();
    person.write(".cursor/mcp.json", "{}");
    let ran = person.run(&["install", "--all"]).await;
    assert!(ran.stdout.contains("Restart Cursor."), "{ran:?}");
    assert!(!ran.stdout.contains("broken") && !ran.stdout.contains('✗'), "{ran:?}");
    let found = person.run(&["doctor"]).await;
    assert!(found.stdout.contains("Nothing is broken so far"), "{found:?}");
    assert!(found.code == Some(0) && !found.stdout.contains('✗'), "{found:?}");
}

#[tokio::test]
async fn every_client_starts_the_program_with_a_tool_for_each_action() {
    const CLIENTS: [&str; 18] = [
        "claude-code",
        "claude-desktop",
        "cursor",
        "vscode",
        "vscode-insiders",
        "vscodium",
        "windsurf",
        "gemini-cli",
        "codex-cli",
        "cline",
        "roo-code",
        "zed",
        "kiro",
        "amp",
        "junie",
        "lm-studio",
        "copilot-cli",
        "opencode",
    ];
    let person = Person::new();
    for client in CLIENTS {
        person.run(&["install", "--client", client]).await;
    }
    let is_split = |text: &str| {
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        plain.contains(r#""mcp","--tools","split""#)
    };
    let settings = || {
        let files = person.files().into_iter();
        let files = files.map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).into_owned()));
        let is_entry = |text: &str| text.contains("\"mcp\"") && text.contains("command");
        files.filter(|(_, text)| is_entry(text)).collect::<Vec<_>>()
    };
    let written = settings();
    assert!(written.len() >= CLIENTS.len(), "{written:?}");
    for (path, text) in &written {
        assert!(is_split(text), "{}: {text}", path.display());
    }
    let config = person.run(&["mcp-config"]).await.stdout;
    assert!(is_split(&config), "{config}");
}

#[tokio::test]
async fn another_port_reaches_every_client_that_was_set_up_and_none_that_was_not() {
    let person = Person::new();
    let cursor = person.write(".cursor/mcp.json", "{}");
    let own = r#"{"mcpServers": {"tabwire": {"command": "mine", "args": []}}}"#;
    let gemini = person.write(".gemini/settings.json", own);
    person.run(&["install", "--client", "cursor"]).await;
    let ran = person.run(&["install", "--port", "47891"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Restart Cursor."), "{ran:?}");
    assert!(!ran.stdout.contains("adds Tabwire"), "both have it: {ran:?}");
    let settings = fs::read_to_string(&cursor).unwrap();
    assert!(settings.contains("47891") && !settings.contains(&PORT.to_string()), "{settings}");
    assert_eq!(fs::read_to_string(gemini).unwrap(), own);

    // Whoever has taken it out does not get it again.
    fs::write(&cursor, "{}").unwrap();
    person.run(&["install"]).await;
    assert_eq!(fs::read_to_string(&cursor).unwrap(), "{}");
}

#[tokio::test]
async fn extension_and_clients_are_for_the_port_of_the_daemon_that_runs() {
    let person = Person::new();
    let cursor = person.write(".cursor/mcp.json", "{}");
    let serve = person.command(&["serve", "--json", "--port", "0"]);
    let daemon = person.place.serve_by(serve).await;
    let ran = person.run(&["install", "--all"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let words = format!("A daemon runs on port {}", daemon.port);
    assert!(ran.stdout.contains(&words), "{ran:?}");
    let again = format!("`tabwire install --port {PORT}`");
    assert!(ran.stdout.contains(&again), "{ran:?}");
    let config = person.at("Tabwire/extension/config.json");
    for file in [cursor, config] {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(&daemon.port.to_string()), "{text}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn print_shows_what_would_be_written_and_writes_nothing() {
    let person = Person::new();
    person.write(".claude.json", "{\"oauth\": \"s3cret\"}");
    let before = person.files();
    let shown = person.run(&["install", "--all", "--print"]).await;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("\"mcpServers\"") && shown.stdout.contains(".claude.json"));
    assert!(!shown.stdout.contains("s3cret"), "{shown:?}");
    let told = json_of(&person.run(&["install", "--all", "--print", "--json"]).await);
    let edits = told["would"].as_array().unwrap().iter().filter(|c| c["action"] == "edit");
    assert_eq!(edits.count(), 1, "{told}");
    assert_eq!(person.run(&["uninstall", "--print"]).await.code, Some(0));
    assert_eq!(person.files(), before);
    assert!(!person.at(".local").exists());
}

#[tokio::test]
async fn nobody_to_ask_means_no_client_is_touched() {
    let person = Person::new();
    let settings = person.write(".gemini/settings.json", "{}");
    let ran = person.run(&["install"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("tabwire install --client gemini-cli"), "{ran:?}");
    // Without a terminal agents act as ever, and that is said once.
    assert!(ran.stdout.contains("tabwire sites default ask"), "{ran:?}");
    let again = person.run(&["install"]).await;
    assert!(!again.stdout.contains("tabwire sites default ask"), "{again:?}");
    let rules = json_of(&person.run(&["sites", "--json"]).await);
    assert_eq!(rules["default"], "allow", "{rules}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{}");
    assert_eq!(person.run(&["install", "--client", "emacs"]).await.code, Some(2));
}

#[tokio::test]
async fn settings_that_do_not_parse_are_named_and_nothing_is_installed() {
    let person = Person::new();
    let broken = person.write(".cursor/mcp.json", "{ \"mcpServers\": ");
    let before = person.files();
    let ran = person.run(&["install", "--all"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(&broken.display().to_string()), "{ran:?}");
    assert_eq!(person.files(), before);
}

#[tokio::test]
async fn a_browser_in_a_sandbox_is_paired_by_the_line_and_install_and_doctor_say_so() {
    let person = Person::new();
    let line = "paste the line that `tabwire pair` prints into the extension's popup";
    fs::create_dir_all(person.at(".var/app/com.google.Chrome/config/google-chrome/Default"))
        .unwrap();
    let ran = person.run(&["install"]).await;
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("Chrome (Flatpak) runs in a sandbox and cannot start Tabwire."),
        "{said}"
    );
    assert!(said.contains(line) && !said.contains("found no browser"), "{said}");
    assert!(!person.at(".config/google-chrome").exists(), "no portal would read it");

    fs::create_dir_all(person.at("snap/chromium/common/chromium/Default")).unwrap();
    let told = json_of(&person.run(&["install", "--json"]).await);
    assert_eq!(told["browsers"], json!([]));
    assert_eq!(told["sandboxed_browsers"], json!(["Chrome (Flatpak)", "Chromium (Snap)"]));
    let manifest = manifest_below(&person.at(".config/chromium"));
    assert!(manifest.is_file(), "Ubuntu's portal reads it for the Snap");
    let ran = person.run(&["install"]).await;
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("On Ubuntu it asks you whether it may start Tabwire"), "{said}");
    let found = person.run(&["doctor"]).await;
    let hint = "Chrome (Flatpak), Chromium (Snap) may need the line of `tabwire pair`";
    assert!(found.stdout.contains(hint), "{found:?}");
    assert_eq!(person.run(&["uninstall"]).await.code, Some(0));
    assert!(!manifest.exists());
}

#[tokio::test]
async fn with_a_state_directory_of_its_own_the_home_directory_is_not_touched() {
    let person = Person::new();
    person.write(".cursor/mcp.json", "{}");
    fs::create_dir_all(person.at(".config/google-chrome/Default")).unwrap();
    let before = person.files();
    let with_home = |arguments: &[&str]| {
        let mut command = person.command(arguments);
        command.env("TABWIRE_HOME", person.place.path());
        finish(command)
    };
    assert_eq!(with_home(&["install"]).await.code, Some(0));
    for asks in [&["install", "--all"][..], &["install", "--client", "cursor"]] {
        let refused = with_home(asks).await;
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("tabwire mcp-config"), "{refused:?}");
    }
    assert_eq!(person.files(), before);
    assert!(manifest_below(person.place.path()).is_file());
    assert_eq!(with_home(&["uninstall"]).await.code, Some(0));
    assert!(!manifest_below(person.place.path()).exists());
    assert_eq!(person.files(), before);
}

/// Installs in a place; the wrapper that the host manifest names.
async fn wrapper(place: &ProgramSandbox) -> PathBuf {
    let ran = place.run(&["install"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let manifest = fs::read_to_string(manifest_below(place.path())).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let path = PathBuf::from(manifest["path"].as_str().unwrap());
    assert!(path.is_absolute());
    path
}

fn framed(message: &str) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_ne_bytes();
    [&length, message.as_bytes()].concat()
}

/// Starts the host as a browser does: through the wrapper, with nothing in the environment.
fn host(wrapper: &Path, origin: &str) -> Command {
    let mut command = Command::new(wrapper);
    command.arg(origin).env_clear().current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// What the host answers to these bytes, and the code that it ends with.
async fn answered(wrapper: &Path, origin: &str, bytes: &[u8]) -> (Vec<u8>, Option<i32>) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(bytes).unwrap();
    drop(writer);
    let mut command = host(wrapper, origin);
    command.stdin(reader);
    let output = soon("the host's end", command.output()).await.unwrap();
    (output.stdout, output.status.code())
}

fn own_origin() -> String {
    format!("chrome-extension://{EXTENSION_ID}/")
}

#[tokio::test]
async fn a_browser_is_told_the_key_through_the_wrapper_as_often_as_it_asks() {
    let place = ProgramSandbox::with_port(PORT);
    let mut child = host(&wrapper(&place).await, &own_origin()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let key = place.home().auth().extension_key(EXTENSION_ID).encoded();
    for _ in 0..2 {
        soon("asking", input.write_all(&framed(r#"{"type":"pair"}"#))).await.unwrap();
        let mut length = [0; 4];
        soon("the length", output.read_exact(&mut length)).await.unwrap();
        let mut answer = vec![0; u32::from_ne_bytes(length).try_into().unwrap()];
        soon("the answer", output.read_exact(&mut answer)).await.unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer, json!({"port": PORT, "ext_key": key}));
    }
    drop(input);
    assert_eq!(soon("its end", child.wait()).await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn the_host_tells_others_nothing_and_ends_when_it_hears_nonsense() {
    let place = ProgramSandbox::with_port(PORT);
    let wrapper = wrapper(&place).await;
    let key = place.home().auth().extension_key(EXTENSION_ID).encoded();
    let asks = framed(r#"{"type":"pair"}"#);
    let says = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for origin in ["chrome-extension://aaaabbbbccccddddaaaabbbbccccdddd/", "", "--help-me"] {
        let (answer, _) = answered(&wrapper, origin, &asks).await;
        assert!(says(&answer).contains("foreign_origin"), "{origin}: {}", says(&answer));
        assert!(!says(&answer).contains(&key));
    }
    let (answer, code) = answered(&wrapper, &own_origin(), b"").await;
    assert_eq!((answer.as_slice(), code), (&b""[..], Some(0)), "the end is the end");
    let too_long = (1024 * 1024 + 1_u32).to_ne_bytes();
    let (answer, code) = answered(&wrapper, &own_origin(), &too_long).await;
    assert_eq!(code, Some(1));
    assert!(says(&answer).contains("bad_message"), "{}", says(&answer));
    let (answer, code) = answered(&wrapper, &own_origin(), &asks[..9]).await;
    assert_eq!((answer.as_slice(), code), (&b""[..], Some(1)), "cut short");
    let (answer, code) = answered(&wrapper, &own_origin(), &framed("garbage")).await;
    assert_eq!(code, Some(0));
    assert!(says(&answer).contains("bad_message"), "{}", says(&answer));
}

#[tokio::test]
async fn the_host_names_the_port_of_the_daemon_that_runs_or_says_that_there_is_none() {
    let place = ProgramSandbox::with_port(PORT);
    let wrapper = wrapper(&place).await;
    let asks = framed(r#"{"type":"pair"}"#);
    let daemon = place.serve(&["--port", "0"]).await;
    let (answer, _) = answered(&wrapper, &own_origin(), &asks).await;
    let answer: Value = serde_json::from_slice(&answer[4..]).unwrap();
    assert_eq!(answer["port"], daemon.port);
    signal(daemon.pid(), Signal::TERM);
    daemon.end().await;
    let text = fs::read_to_string(&wrapper).unwrap();
    fs::write(&wrapper, text.replace(&format!("TABWIRE_PORT={PORT}"), "TABWIRE_PORT=0")).unwrap();
    let (answer, _) = answered(&wrapper, &own_origin(), &asks).await;
    let answer: Value = serde_json::from_slice(&answer[4..]).unwrap();
    assert_eq!(answer["error"], "no_port", "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("--port"), "{answer}");
}

#[tokio::test]
async fn pair_prints_one_line_with_port_and_key() {
    let place = ProgramSandbox::with_port(PORT);
    let ran = place.run(&["pair"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = ran.stdout.strip_suffix('\n').unwrap();
    let said = URL_SAFE_NO_PAD.decode(line.strip_prefix("tabwire-pair:").unwrap()).unwrap();
    let said: Value = serde_json::from_slice(&said).unwrap();
    let key = place.home().auth().extension_key(EXTENSION_ID).encoded();
    assert_eq!(said, json!({"port": PORT, "ext_key": key}));
    let told = json_of(&place.run(&["pair", "--json"]).await);
    assert_eq!(told, json!({"port": PORT, "ext_key": key, "line": line}));
}

#[tokio::test]
async fn unpair_ends_every_key_token_and_link() {
    let place = ProgramSandbox::new();
    let mut agent = StdioClient::start(&place);
    agent.call("configure", json!({"action": "health"})).await;
    let daemon = place.daemon().unwrap();
    let old = place.home();
    let shim = ExtensionBuilder::at(daemon.port, &old);
    let mut extension = shim.connect().await;
    let told = json_of(&place.run(&["unpair", "--json"]).await);
    assert_eq!(told, json!({"unpaired": true, "daemon_ended": daemon.pid}));
    let (code, reason) = extension.closed().await;
    assert_eq!((code, reason.contains("pair")), (4401, true), "{reason}");

    // The agent's next call finds its way by itself.
    agent.call("configure", json!({"action": "health"})).await;
    let next = place.daemon_after(&daemon).await;
    let mut with_old_key = ExtensionBuilder::at(next.port, &old).open().await;
    let challenge = with_old_key.challenge().await;
    with_old_key.send(&with_old_key.hello_to(&challenge)).await;
    assert_eq!(with_old_key.closed_without_a_frame().await.0, 4401);
    let owners = ["user", "ci"].map(|owner| old.auth().token(&owner.into()));
    for token in owners {
        assert_eq!(place.home().auth().owner_of(&token), None);
    }
    ExtensionBuilder::at(next.port, &place.home()).connect().await;
    let told = json_of(&place.run(&["stop", "--json"]).await);
    assert_eq!(told["pid"], next.pid);
    let told = json_of(&place.run(&["unpair", "--json"]).await);
    assert_eq!(told["daemon_ended"], Value::Null, "nor is a daemon needed for it");
}

/// Writes an extension that asks the host for the key and tells a page of the answer.
fn asking_extension(dir: &Path, key: Option<&Value>, pages: &TestPages, name: &str) {
    let worker = "
        const told = (path) => fetch(new URL(path, PAGES));
        chrome.runtime.sendNativeMessage('dev.tabwire.host', { type: 'pair' }).then(
            (answer) => told(`/${NAME}/${answer.port}/${answer.ext_key}`),
            (_refused) => told(`/${NAME}/refused`),
        );";
    let worker =
        worker.replace("PAGES", &json!(pages.url("/")).to_string()).replace("${NAME}", name);
    let mut manifest = json!({
        "manifest_version": 3, "name": name, "version": "1", "permissions": ["nativeMessaging"],
        "host_permissions": ["<all_urls>"], "background": {"service_worker": "worker.js"},
    });
    if let Some(key) = key {
        manifest["key"] = key.clone();
    }
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(dir.join("worker.js"), worker).unwrap();
}

/// Whether this process has opened the daemon's lock.
#[cfg(target_os = "linux")]
fn has_opened_lock(pid: u32) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut names = files.filter_map(|file| fs::read_link(file.path()).ok());
    names.any(|name| name.ends_with("daemon.lock"))
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_daemon_that_is_starting_while_the_secret_is_replaced_takes_the_new_one() {
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    let place = ProgramSandbox::new();
    let home = place.home();
    let (port, _daemon) = loop {
        let lock = home.try_lock_daemon().unwrap().unwrap();
        let mut starting = place.command(&["serve", "--json"]).spawn().unwrap();
        let pid = starting.id().unwrap();
        let waits = async {
            while !has_opened_lock(pid) {
                tokio::task::yield_now().await;
            }
        };
        soon("a daemon that waits for the lock", waits).await;
        home.replace_key().unwrap();
        drop(lock);
        let mut said = BufReader::new(starting.stdout.take().unwrap()).lines();
        let line = soon("a word of it", said.next_line()).await.unwrap().unwrap();
        // On a busy machine it may have given the lock up before.
        if let Ok(said) = serde_json::from_str::<Value>(&line) {
            break (said["port"].as_u64().unwrap().try_into().unwrap(), starting);
        }
    };
    let token = place.home().auth().token(&tabwire::proof::DEFAULT_OWNER.into());
    McpClient::at(port, token).call("configure", json!({"action": "health"})).await;
}

mod browser {
    use super::*;

    #[tokio::test]
    async fn a_real_browser_tells_our_extension_the_key_and_no_other() {
        let place = ProgramSandbox::with_port(PORT);
        wrapper(&place).await;
        let folder = tempfile::tempdir().unwrap();
        let profile = folder.path().join("profile");
        let manifest = manifest_below(&profile);
        fs::create_dir_all(manifest.parent().unwrap()).unwrap();
        fs::copy(manifest_below(place.path()), &manifest).unwrap();
        let pages = TestPages::start().await;
        let shim: Value =
            serde_json::from_str(include_str!("../../../extension-shim/manifest.json")).unwrap();
        let (ours, other) = (folder.path().join("ours"), folder.path().join("other"));
        asking_extension(&ours, Some(&shim["key"]), &pages, "ours");
        asking_extension(&other, None, &pages, "other");
        let both = format!("{},{}", ours.display(), other.display());
        let chromium = find_browser().expect("the tests need a Chromium");
        let browser =
            Browser::launch(&chromium, &profile, Path::new(&both), &pages.url("/")).unwrap();
        let key = place.home().auth().extension_key(EXTENSION_ID).encoded();
        pages.asked_for(&format!("/ours/{PORT}/{key}")).await;
        pages.asked_for("/other/refused").await;
        browser.end().await;
    }
}
