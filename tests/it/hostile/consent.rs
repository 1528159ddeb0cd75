//! A program, an agent, a page or another extension that widens the rights of agents, or confirms what
//! was widened, in the place of a person.

use serde_json::{Value, json};
use tabwire::home::StateDirectory;
use tabwire::protocol::{EXTENSION_ID, Timestamp};

use testkit::PollingExtension;
use testkit::{
    BrowserUser, ExtensionBuilder, FakeExtension, McpClient, OWN_TOKEN, ProgramOutput,
    ProgramSandbox, PseudoTerminal, RowReport, TestDaemon, TestPages, body, first_tab, raw, soon,
    until,
};

const OTHER_ID: &str = "abcdefghijklmnopabcdefghijklmnop";
const OLDER_ID: &str = "bcdefghijklmnopabcdefghijklmnopa";

/// What can be widened on the command line, and what is told of it.
fn widening(folder: &str) -> Vec<(Vec<String>, String)> {
    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    vec![
        (texts(&["sites", "allow", "b.example"]), "agents use b.example".to_owned()),
        (texts(&["sites", "remove", "bank.example"]), "bank.example".to_owned()),
        (texts(&["extension", "allow", OTHER_ID]), OTHER_ID.to_owned()),
        (texts(&["files", "allow", folder, "--write"]), folder.to_owned()),
        (
            texts(&["files", "allow", folder, "--read"]),
            format!("give web pages the files below {folder}"),
        ),
        (texts(&["sites", "files", "allow", folder]), format!("open the files in {folder}")),
        (texts(&["legacy", "any"]), "every extension that polls".to_owned()),
    ]
}

/// Everything that the commands above change.
fn rights(home: &StateDirectory) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        home.site_rules().read().unwrap(),
        home.allowed_extensions().unwrap(),
        home.agent_folders().unwrap(),
        home.local_files().read().unwrap(),
        home.legacy().read().unwrap().mode,
    )
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Runs a command with a terminal as standard input and standard error, at which this is typed.
/// What it ended with, and what the terminal showed.
async fn at_a_terminal(
    place: &ProgramSandbox,
    arguments: &[&str],
    typed: &str,
) -> (ProgramOutput, String) {
    let mut terminal = PseudoTerminal::new(80, 24);
    let mut command = place.command(arguments);
    command.stdin(terminal.stream()).stderr(terminal.stream());
    terminal.press(typed);
    let child = command.spawn().unwrap();
    let output = soon("its end", child.wait_with_output()).await.unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let ran = ProgramOutput { code: output.status.code(), stdout, stderr: String::new() };
    (ran, terminal.shown().await)
}

/// The next frame that tells what nobody has confirmed.
async fn widenings(extension: &mut FakeExtension) -> Value {
    loop {
        let frame = extension.next().await;
        if frame["type"] == "widenings" {
            return frame;
        }
    }
}

#[tokio::test]
async fn row_35_from_a_pipe_nothing_is_widened_and_what_is_unattended_is_named_until_a_person_confirms()
 {
    let place = ProgramSandbox::new();
    let served = place.serve(&[]).await;
    let home = place.home();
    let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    for narrows in [["sites", "deny", "bank.example"], ["sites", "allow", "a.example"]] {
        assert_eq!(place.run(&narrows).await.code, Some(0), "what narrows counts at once");
    }
    let before = rights(&home);
    let mut row = RowReport::new(35);
    for (arguments, _) in widening(folder) {
        let ran = place.run(&words(&arguments)).await;
        row.tried(&arguments.join(" "), ran.code == Some(77), format!("{ran:?}"));
    }
    row.tried("all of them", rights(&home) == before, rights(&home));
    // A person who says no, or nothing.
    for typed in ["n\n", "\n", "\u{4}"] {
        let (ran, shown) = at_a_terminal(&place, &["sites", "allow", "b.example"], typed).await;
        let is_refused = ran.code == Some(77) && shown.contains("Let agents use b.example? [y/N]");
        row.tried("a person who does not agree", is_refused, format!("{ran:?} {shown}"));
    }
    row.tried("what nobody agreed to", rights(&home) == before, rights(&home));
    assert_eq!(home.unconfirmed().unwrap(), []);

    let shim = ExtensionBuilder::at(served.port, &home);
    let mut extension = shim.connect().await;
    for (arguments, what) in widening(folder) {
        let ran = place.run(&[&*words(&arguments), &["--unattended"]].concat()).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let frame = soon("what the browser is told", widenings(&mut extension)).await;
        let told = frame["widenings"].as_array().unwrap().last().unwrap()["what"].clone();
        row.tried("the browser", told.as_str().unwrap().contains(&what), &frame);
        let text = place.run(&["status"]).await.stdout;
        row.tried("tabwire status", text.contains(&what) && text.contains("tabwire confirm"), text);
    }
    assert_eq!(home.unconfirmed().unwrap().len(), widening(folder).len());
    only_a_person_confirms(&place, served.port, &mut extension, &mut row).await;
    row.report();
    assert_eq!(place.run(&["stop"]).await.code, Some(0));
    served.end().await;
}

/// What was made unattended is confirmed neither from a pipe nor by another extension that was let
/// in; in the popup of ours it is, and at a terminal.
async fn only_a_person_confirms(
    place: &ProgramSandbox,
    port: u16,
    extension: &mut FakeExtension,
    row: &mut RowReport,
) {
    let home = place.home();
    let unconfirmed = home.unconfirmed().unwrap();
    let piped = place.run(&["confirm"]).await;
    row.tried("confirm from a pipe", piped.code == Some(77), format!("{piped:?}"));
    let other = ExtensionBuilder::at(port, &home).extension(OTHER_ID).browser("browser-2");
    let mut other = other.key(home.auth().extension_key(OTHER_ID)).connect().await;
    for one in &unconfirmed {
        other.send(&json!({"type": "confirm_widening", "id": one.id})).await;
        let answer = soon("an answer", async {
            loop {
                let frame = other.next().await;
                if frame["type"] == "nack" {
                    return frame;
                }
            }
        });
        let answer = answer.await;
        row.tried("another extension", answer["reason"] == "unknown_type", &answer);
    }
    row.tried("all of them", home.unconfirmed().unwrap() == unconfirmed, "confirmed");

    // In the popup one, at a terminal the others.
    extension.send(&json!({"type": "confirm_widening", "id": unconfirmed[0].id})).await;
    let frame = soon("what is left", widenings(extension)).await;
    assert_eq!(frame["widenings"].as_array().unwrap().len(), unconfirmed.len() - 1);
    let answers = "y\n".repeat(unconfirmed.len() - 1);
    let (ran, shown) = at_a_terminal(place, &["confirm"], &answers).await;
    assert_eq!(ran.code, Some(0), "{ran:?} {shown}");
    assert_eq!(home.unconfirmed().unwrap(), []);
    let frame = soon("that nothing is left", widenings(extension)).await;
    assert_eq!(frame["widenings"], json!([]));
    assert!(!place.run(&["status"]).await.stdout.contains("tabwire confirm"));
    let again = at_a_terminal(place, &["sites", "remove", "b.example"], "").await.0;
    assert_eq!(again.code, Some(0), "what narrows asks nobody: {again:?}");
    let (agreed, _) = at_a_terminal(place, &["sites", "allow", "b.example"], "y\n").await;
    assert_eq!(agreed.code, Some(0), "{agreed:?}");
    assert_eq!(home.unconfirmed().unwrap(), [], "a person at a terminal has confirmed it");
}

#[tokio::test]
async fn row_35_to_remove_everything_or_to_start_a_daemon_is_no_way_around_a_person() {
    let place = ProgramSandbox::with_port(1);
    let home = place.home();
    let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
    // A name that breaks out of the command that takes it back, once it is pasted.
    let folder = dir.path().join("a'; touch owned; '");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let mut row = RowReport::new(35);
    let opened = place.run(&["files", "allow", folder, "--write", "--unattended"]).await;
    assert_eq!(opened.code, Some(0), "{opened:?}");
    let command = home.unconfirmed().unwrap()[0].take_back.clone().unwrap();
    let pasted = tokio::process::Command::new("sh")
        .args(["-c", &format!("tabwire() {{ printf '%s|' \"$@\"; }}; {command}")])
        .current_dir(dir.path())
        .output();
    let pasted = String::from_utf8(pasted.await.unwrap().stdout).unwrap();
    row.tried("the command", pasted == format!("files|remove|{folder}|"), &command);

    assert_eq!(place.run(&["sites", "deny", "bank.example"]).await.code, Some(0));
    let denied = |home: &StateDirectory| home.site_rules().read().unwrap().deny().len() == 1;
    for removes in [&["uninstall", "--state"][..], &["uninstall", "--state", "--json"]] {
        let ran = place.run(removes).await;
        let is_whole = denied(&home) && home.unconfirmed().unwrap().len() == 1;
        row.tried(&removes.join(" "), ran.code == Some(77) && is_whole, format!("{ran:?}"));
    }
    let (ran, shown) = at_a_terminal(&place, &["uninstall", "--state"], "n\n").await;
    let is_asked = shown.contains("the rules for sites go");
    row.tried("no", ran.code == Some(77) && is_asked && denied(&home), format!("{ran:?} {shown}"));
    let serves = ["serve", "--monitor-root", "/"];
    let ran = soon("that it ends", place.run(&serves)).await;
    row.tried(&serves.join(" "), ran.code == Some(77), format!("{ran:?}"));

    // Made unattended, it is named in the next life too.
    let ran = place.run(&["uninstall", "--state", "--unattended"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let home = place.home();
    let unconfirmed = home.unconfirmed().unwrap();
    let is_named = unconfirmed.iter().any(|one| one.what.contains("the rules for sites go"));
    row.tried("what is named", is_named && !denied(&home), format!("{unconfirmed:?}"));
    assert_eq!(home.unconfirmed().unwrap().len(), 2, "what was there before as well");
    row.report();
    let (ran, shown) = at_a_terminal(&place, &["uninstall", "--state"], "y\n").await;
    assert_eq!(ran.code, Some(0), "{ran:?} {shown}");
    assert!(!place.path().join("unconfirmed.json").exists(), "a person has agreed to all of it");
}

#[tokio::test]
async fn row_35_another_extension_that_was_let_in_narrows_and_widens_nothing() {
    let daemon = TestDaemon::start().await;
    let home = daemon.home();
    let rule = |change: &str, list: &str, pattern: &str| json!({"type": "site_rule", "change": change, "list": list, "pattern": pattern});
    let mut ours = ExtensionBuilder::of(&daemon).connect().await;
    for (list, pattern) in [("deny", "bank.example"), ("allow", "a.example")] {
        ours.send(&rule("add", list, pattern)).await;
    }
    let rules = || home.site_rules().read().unwrap();
    let is_set = async || rules().allow().len() + rules().deny().len() == 2;
    soon("the person's rules", until(is_set)).await;
    let old = PollingExtension::named(&daemon, OLDER_ID, "ext_1_a");
    assert_eq!(old.name_session().await.status, 200, "it asks to be let in");

    assert!(home.allow_extension(OTHER_ID).unwrap());
    let other = ExtensionBuilder::of(&daemon).extension(OTHER_ID).browser("browser-2");
    let other = other.key(home.auth().extension_key(OTHER_ID));
    let mut ready = other.ready_frame(&[]);
    (ready["older_extensions"], ready["site_rules"]) = (true.into(), true.into());
    let before = rights(&home);
    let mut other = other.greet().await;
    other.send(&ready).await;
    let mut row = RowReport::new(35);
    let widens = [
        rule("add", "allow", "b.example"),
        rule("remove", "deny", "bank.example"),
        rule("remove", "allow", "a.example"),
        json!({"type": "local_file_rule", "change": "add", "folder": "/srv"}),
        json!({"type": "local_file_rule", "change": "switch", "enabled": true}),
        json!({"type": "older_extension", "change": "allow", "extension_id": OLDER_ID}),
    ];
    for frame in widens {
        other.send(&frame).await;
        let told = soon("a refusal", async {
            loop {
                let told = other.next().await;
                if told["problem"].is_string() {
                    return told;
                }
            }
        });
        let told = told.await;
        let problem = told["problem"].as_str().unwrap();
        let is_refused = problem.contains("Only the popup") && problem.contains("`tabwire sites`");
        row.tried(&frame.to_string(), is_refused, &told);
    }
    let is_out = home.legacy().read().unwrap().approver_of(OLDER_ID).is_none();
    row.tried("all of them", is_out && rights(&home) == before, rights(&home));
    row.report();
    other.send(&rule("add", "deny", "c.example")).await;
    soon("what narrows", until(async || rules().deny().len() == 2)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn row_35_whoever_has_a_token_confirms_nothing() {
    let daemon = TestDaemon::start().await;
    let home = daemon.home();
    let at = Timestamp::from_unix_micros(1_700_000_000_000_000);
    let one = home.note_widening("agents use a.example", None, at).unwrap();
    let client = McpClient::legacy(&daemon);
    let mut row = RowReport::new(35);
    let confirm = json!({"type": "confirm_widening", "id": one.id});
    for action in ["confirm", "confirm_widening", "widenings", "keep"] {
        let asked = json!({"action": action, "id": one.id});
        let answer = client.call_raw("configure", asked).await;
        row.tried(action, answer["isError"] == true, &answer);
    }
    for path in ["/api/confirm", "/api/widenings", "/frames", "/session", "/api/sites", "/mcp"] {
        let body = if path == "/frames" { json!({"frames": [confirm]}) } else { confirm.clone() };
        let body = body.to_string();
        let (first, length) =
            (format!("POST {path} HTTP/1.1"), format!("Content-Length: {}", body.len()));
        let lines = [&*first, "Host: HOST", OWN_TOKEN, "Content-Type: application/json", &length];
        raw(&daemon, &lines, body.as_bytes()).await;
        row.tried(path, home.unconfirmed().unwrap() == [one.clone()], "confirmed");
    }
    row.report();
    daemon.stop().await;
}

mod browser {
    use super::*;

    #[tokio::test]
    async fn row_35_in_a_browser_no_page_and_no_agent_confirms_and_a_click_in_the_popup_does() {
        let daemon = TestDaemon::start().await;
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
        let tab = first_tab(&client, &browser).await;
        let home = daemon.home();
        let at = Timestamp::from_unix_micros(1_700_000_000_000_000);
        let one = home.note_widening("agents use a.example", Some("tabwire x"), at).unwrap();
        let popup = format!("chrome-extension://{EXTENSION_ID}/popup/popup.html");
        let mut row = RowReport::new(35);
        let ask = json!({"ask": "keep", "id": one.id});
        let scripts = [
            format!("await chrome.runtime.sendMessage('{EXTENSION_ID}', {ask})"),
            format!("await chrome.runtime.sendMessage({ask})"),
            format!("chrome.runtime.connect('{EXTENSION_ID}').postMessage({ask})"),
            format!("window.postMessage({ask}, '*'); throw new Error('not heard')"),
            format!("await fetch('{popup}')"),
            format!(
                "const frame = document.body.appendChild(document.createElement('iframe')); \
             frame.src = '{popup}'; await new Promise((done) => frame.onload = done); \
             frame.contentDocument.querySelector('#widenings button').click()"
            ),
        ];
        for script in scripts {
            let run =
                json!({"action": "execute_js", "script": script, "tab_id": tab, "wait_ms": 20_000});
            let answer = body(&client.call_raw("interact", run).await);
            row.tried(&script, answer["status"] == "error", &answer);
        }
        for action in ["navigate", "tab_open"] {
            let go = json!({"action": action, "url": popup, "tab_id": tab, "wait_ms": 20_000});
            let answer = client.call_raw("interact", go).await;
            row.tried(action, answer["isError"] == true, &answer);
        }
        // The person has the popup open, and an agent tries to use it.
        let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
        hand.go(&popup).await;
        let shown = "new Promise((done) => { const look = () => (document.querySelector('#widenings') \
                 .textContent.includes('Let agents use a.example.') ? done(true) : setTimeout(look, 50)); \
                 look(); })";
        assert_eq!(soon("the widening in the popup", hand.read(shown)).await, true);
        let click = json!({
            "action": "execute_js", "script": "document.querySelector('#widenings button').click()",
            "tab_id": tab, "wait_ms": 20_000,
        });
        let answer = body(&client.call_raw("interact", click).await);
        // The tab shows a page of Tabwire, so agents have no such tab.
        row.tried("a script in the popup", answer["error"] == "tab_gone", &answer);
        row.tried("all of them", home.unconfirmed().unwrap() == [one], "confirmed");
        row.report();

        hand.click("#widenings button").await;
        soon("the person's click", until(async || home.unconfirmed().unwrap().is_empty())).await;
        browser.end().await;
        daemon.stop().await;
    }
}
