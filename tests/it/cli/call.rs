//! `tabwire call`: tools from the command line, as people and scripts use them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use testkit::{
    AutoExtension, DeliveredCommand, ExtensionBuilder, FakeExtension, ProgramOutput,
    ProgramSandbox, PseudoTerminal, ServedDaemon, active_tab, finish, png, signal, soon, tab,
    until,
};

/// A page whose title is the script that asks for it.
fn echo(command: &DeliveredCommand) -> Value {
    let value = command.command["params"]["script"].clone();
    json!({"success": true, "value": value, "type": "string"})
}

/// A daemon and a browser that runs whatever comes.
async fn browser(
    place: &ProgramSandbox,
    run: fn(&DeliveredCommand) -> Value,
) -> (ServedDaemon, AutoExtension) {
    let served = place.serve(&[]).await;
    let extension = ExtensionBuilder::at(served.port, &place.home()).connect().await;
    (served, extension.auto(run))
}

/// A daemon and a browser with the tabs 7, which is active, and 8.
async fn two_tabs(place: &ProgramSandbox) -> (ServedDaemon, FakeExtension) {
    let served = place.serve(&[]).await;
    let shim = ExtensionBuilder::at(served.port, &place.home()).tabs(vec![active_tab(7), tab(8)]);
    let extension = shim.connect().await;
    (served, extension)
}

fn script(text: &str) -> [String; 4] {
    ["call", "interact", "action=execute_js", &format!("script={text}")].map(str::to_owned)
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// A call that goes on; what it prints is read at its end.
fn begin(place: &ProgramSandbox, arguments: &[&str]) -> Child {
    place.command(arguments).spawn().unwrap()
}

async fn ended(child: Child) -> ProgramOutput {
    let output = soon("the call's end", child.wait_with_output()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    ProgramOutput {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn the_value_alone_is_printed_and_the_whole_answer_as_json() {
    let place = ProgramSandbox::new();
    let (_served, _browser) = browser(&place, echo).await;
    for text in ["document.title", "two\nlines", "a = 'b=c'", "{\"a\": 1}", "-"] {
        let ran = place.run(&words(&script(text))).await;
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
        assert_eq!(ran.stdout, format!("{text}\n"));
    }
    let whole = script("1");
    let ran = place.run(&[&words(&whole)[..], &["--json"]].concat()).await;
    let answer = json_of(&ran.stdout);
    let expected = json!({"result": "1", "page": "*"});
    assert_eq!((ran.code, answer), (Some(0), expected), "as an MCP client is told: {ran:?}");
    let traced = place.run(&[&words(&whole)[..], &["trace=true", "--json"]].concat()).await;
    let answer = json_of(&traced.stdout);
    assert_eq!(
        (&answer["command"], &answer["result"]["value"]),
        (&json!("execute_js"), &json!("1"))
    );
    assert!(answer["trace"].is_array(), "{answer}");
    let health = place.run(&["call", "configure", "action=health"]).await;
    let health = json_of(&health.stdout);
    assert_eq!((&health["browsers"], health.get("status")), (&json!(1), None), "{health}");
    let logs = place.run(&["call", "observe", "what=logs"]).await;
    assert_eq!((logs.code, &json_of(&logs.stdout)["entries"]), (Some(0), &json!([])), "{logs:?}");
    let next = "`tabwire call configure action=capture streams=logs` starts it";
    assert!(logs.stderr.contains(next), "the next step: {logs:?}");
}

#[tokio::test]
async fn a_wrong_call_gets_the_tools_own_error_and_a_wrong_command_line_is_refused() {
    let place = ProgramSandbox::new();
    let (_served, browser) = browser(&place, echo).await;
    for (arguments, code, says) in [
        (&["interact", "action=execute_js", "scrpt=1"][..], 1, "Did you mean `script`?"),
        (&["interact", "action=execute_js", "scrpt=1"], 1, "choose from: script, "),
        (&["interact", "action=execute_js", "script=1", "tab_id=seven"], 1, "of type integer"),
        (&["interact", "action=fly"], 1, "invalid value `fly`"),
        (&["interact", "action=fly"], 1, "one of: execute_js, "),
        (&["interact"], 1, "missing argument `action`"),
        (&["observe", "what=command_result", "correlation_id=exec_1"], 1, "no command"),
        (&["interacct"], 2, "did you mean `interact`?"),
        (&["fly"], 2, "Valid tools: interact, observe, "),
        (&["interact", "execute_js"], 2, "did you mean action=execute_js?"),
        (&["interact", "fly"], 2, "valid keys of interact: action, "),
        (&["interact", "tab_id:=seven"], 2, "not JSON"),
        (&["interact", "--wait", "soon"], 2, "--wait"),
    ] {
        let ran = place.run(&[&["call"], arguments].concat()).await;
        assert_eq!((ran.code, &*ran.stdout), (Some(code), ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{arguments:?}: {ran:?}");
    }
    assert!(browser.runs().is_empty(), "nothing went to the browser");
    let told = place.run(&["call", "interact", "action=fly", "--json"]).await;
    assert_eq!(told.code, Some(1));
    assert_eq!(json_of(&told.stdout)["error"], "invalid_argument");
}

#[tokio::test]
async fn a_command_that_fails_ends_the_call_with_1_and_says_why() {
    let place = ProgramSandbox::new();
    let (_served, mut extension) = two_tabs(&place).await;
    let call = begin(&place, &words(&script("boom()")));
    let command = extension.command().await;
    extension.claim(&command).await;
    let failure = json!({"error": {"code": "script_error", "message": "boom is not defined"}});
    extension.report(&command, "error", failure).await;
    let ran = ended(call).await;
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{ran:?}");
    assert!(ran.stderr.contains("boom is not defined"), "{ran:?}");
}

#[tokio::test]
async fn a_job_is_waited_for_too() {
    let place = ProgramSandbox::new();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "a").unwrap();
    let root = folder.path().to_str().unwrap();
    let _served = place.serve(&["--monitor-root", root, "--unattended"]).await;
    let path = format!("path={root}");
    let ran = place.run(&["call", "wksm_monitor_sync", &path]).await;
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    assert_eq!(json_of(&ran.stdout)["data"]["files_processed"], 1, "{ran:?}");

    // It takes long to read, and no room on the disk.
    let long = folder.path().join("long");
    fs::File::create(&long).unwrap().set_len(1 << 36).unwrap();
    let job = begin(&place, &["call", "wksm_monitor_sync", &path]);
    let is_accepted = async || place.run(&["commands"]).await.stdout.lines().count() == 2;
    soon("the second job", until(is_accepted)).await;
    signal(job.id().unwrap(), Signal::INT);
    let ran = ended(job).await;
    assert_eq!((ran.code, &*ran.stdout), (Some(130), ""), "{ran:?}");
    assert!(ran.stderr.contains("cancelled"), "{ran:?}");
}

#[tokio::test]
async fn the_first_call_starts_the_daemon() {
    let place = ProgramSandbox::new();
    assert!(place.daemon().is_none());
    let ran = place.run(&["call", "configure", "action=health"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(place.daemon().is_some());
}

#[tokio::test]
async fn arguments_come_from_standard_input_too() {
    let place = ProgramSandbox::new();
    let (_served, _browser) = browser(&place, echo).await;
    let mut command = place.command(&["call", "interact", "-", "script=other"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"{\"action\": \"execute_js\", \"script\": \"one\"}").await.unwrap();
    drop(input);
    let ran = ended(child).await;
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "other\n"), "{ran:?}");
}

#[tokio::test]
async fn a_call_waits_for_its_command_and_a_bounded_wait_prints_the_id_that_reads_it_later() {
    let place = ProgramSandbox::new();
    let (_served, mut extension) = two_tabs(&place).await;
    let waiting = begin(&place, &words(&script("1")));
    let command = extension.command().await;
    extension.claim(&command).await;
    let early = place.run(&[&words(&script("2"))[..], &["--wait", "0s"]].concat()).await;
    assert_eq!(early.code, Some(75), "{early:?}");
    let id = early.stdout.trim_end();
    assert!(early.stderr.contains(&format!("correlation_id={id}")), "{early:?}");
    let look = ["call", "observe", "what=command_result"];
    let by_id = format!("correlation_id={id}");
    let bounded = place.run(&[&look[..], &[&by_id, "--wait", "10ms"]].concat()).await;
    assert_eq!((bounded.code, bounded.stdout.trim_end()), (Some(75), id), "{bounded:?}");
    extension.complete(&command, &json!({"success": true, "value": "first"})).await;
    assert_eq!(ended(waiting).await.stdout, "first\n");

    let second = extension.command().await;
    extension.claim(&second).await;
    // As `tabwire commands` shows it.
    let shown = format!("correlation_id={}", &id.rsplit_once('_').unwrap().1[..12]);
    let reading = begin(&place, &[&look[..], &[&shown]].concat());
    extension.complete(&second, &json!({"success": true, "value": "second"})).await;
    let ran = ended(reading).await;
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "second\n"), "{ran:?}");
}

#[tokio::test]
async fn ctrl_c_cancels_the_command_of_the_call_and_no_other() {
    let place = ProgramSandbox::new();
    let (_served, mut extension) = two_tabs(&place).await;
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let call = begin(&place, &words(&script("slow")));
        let command = extension.command().await;
        extension.claim(&command).await;
        signal(call.id().unwrap(), sent);
        extension.expect(&command.cancel("cancelled")).await;
        let ran = ended(call).await;
        assert_eq!((ran.code, &*ran.stdout), (Some(code), ""), "{ran:?}");
        assert!(ran.stderr.contains("cancelled; it may have begun in the page"), "{ran:?}");
        extension.report(&command, "cancelled", json!({"may_have_run": true})).await;
    }
    // One that only reads leaves the command alone.
    let id = place.run(&[&words(&script("goes on"))[..], &["--wait", "0s"]].concat()).await.stdout;
    let command = extension.command().await;
    extension.claim(&command).await;
    let by_id = format!("correlation_id={}", id.trim_end());
    let look = ["call", "observe", "what=command_result", &by_id, "--client"];
    let reading = begin(&place, &[&look[..], &["reader"]].concat());
    let has_begun = async || {
        let clients = place.run(&["call", "configure", "action=clients"]).await.stdout;
        clients.contains("reader")
    };
    soon("the reader's first call", until(has_begun)).await;
    signal(reading.id().unwrap(), Signal::INT);
    let ran = ended(reading).await;
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let other = begin(&place, &[&look[..], &["other"]].concat());
    extension.complete(&command, &json!({"success": true, "value": "done"})).await;
    assert_eq!(ended(other).await.stdout, "done\n");
}

fn picture(_: &DeliveredCommand) -> Value {
    let data = STANDARD.encode(png(1, 1));
    let value = json!({"mime_type": "image/png", "data": data, "width": 1, "height": 1});
    json!({"success": true, "value": value})
}

#[tokio::test]
async fn a_picture_goes_to_a_new_file_whose_path_is_printed() {
    let place = ProgramSandbox::new();
    let (_served, browser) = browser(&place, picture).await;
    let folder = tempfile::tempdir().unwrap();
    let shot = |more: &[&str]| -> Command {
        let mut command =
            place.command(&[&["call", "interact", "action=screenshot"], more].concat());
        command.current_dir(folder.path()).env("TMPDIR", folder.path().join("tmp"));
        command
    };
    fs::create_dir(folder.path().join("tmp")).unwrap();
    let ran = finish(shot(&[])).await;
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    let path = std::path::Path::new(ran.stdout.trim_end());
    assert!(path.starts_with(folder.path().canonicalize().unwrap()), "{ran:?}");
    assert!(
        ran.stdout.contains("tabwire-screenshot-") && ran.stdout.ends_with(".png\n"),
        "{ran:?}"
    );
    assert_eq!(fs::read(path).unwrap(), png(1, 1));
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);

    let named = finish(shot(&["--out", "page.png", "--json"])).await;
    assert_eq!(json_of(&named.stdout)["picture_file"], "page.png", "{named:?}");
    let before = browser.runs().len();
    let refused = finish(shot(&["--out", "page.png"])).await;
    assert_eq!((refused.code, &*refused.stdout), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.contains("page.png exists"), "{refused:?}");
    assert_eq!(browser.runs().len(), before, "the browser was not asked");

    let mut elsewhere = shot(&[]);
    // Nobody, not even root, makes a file there.
    elsewhere.current_dir("/proc");
    let ran = finish(elsewhere).await;
    let path = std::path::Path::new(ran.stdout.trim_end());
    assert!(path.starts_with(folder.path().join("tmp")), "{ran:?}");
    let nowhere = finish(shot(&["--out", "no/such/folder.png"])).await;
    assert_eq!((nowhere.code, &*nowhere.stdout), (Some(1), ""), "{nowhere:?}");
    assert!(nowhere.stderr.contains("there is no folder no/such; create it"), "{nowhere:?}");
    assert_eq!(browser.runs().len(), before + 1, "the browser was not asked");
    let without =
        place.run(&["call", "configure", "action=health", "--out", "/tmp/none.png"]).await;
    assert_eq!(without.code, Some(1), "{without:?}");
    assert!(without.stderr.contains("has no picture and no PDF"), "{without:?}");
}

#[tokio::test]
async fn all_calls_of_one_script_use_the_tab_that_the_one_before_used() {
    let place = ProgramSandbox::new();
    let (_served, mut extension) = two_tabs(&place).await;
    let program = testkit::program();
    // Each in a session of its own, as cron and systemd start scripts. The second script calls
    // from sessions of their own, of which each leads one.
    for (calls, tab_of_second) in [("\"$0\" call", 8), ("setsid -w \"$0\" call", 8)] {
        let first = format!("{calls} interact action=page_info tab_id=8 > /dev/null");
        let second = format!("{calls} interact action=page_info");
        let text = format!("{first}; {second}; exit 0");
        let mut command = place.command_of("setsid", &["-w", "sh", "-c", &text, program]);
        let script = command.spawn().unwrap();
        for wanted in [8, tab_of_second] {
            let command = extension.run(&json!({"success": true, "value": "x"})).await;
            assert_eq!(command.command["tab_id"], wanted, "{calls}");
        }
        assert_eq!(ended(script).await.code, Some(0));
    }
    let call = ["call", "interact", "action=page_info", "--client", "another"];
    let other = begin(&place, &call);
    let command = extension.run(&json!({"success": true, "value": "x"})).await;
    assert_eq!(command.command["tab_id"], 7, "another client has a tab of its own");
    ended(other).await;
    let mut named = place.command(&["call", "configure", "action=clients", "--json"]);
    named.env("TABWIRE_CLIENT", "nightly");
    assert_eq!(json_of(&finish(named).await.stdout)["you"], "nightly");
    let mut wrong = place.command(&["call", "configure", "action=health"]);
    wrong.env("TABWIRE_CLIENT", "n\u{e4}chtlich");
    let ran = finish(wrong).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("TABWIRE_CLIENT"), "{ran:?}");
}

#[tokio::test]
async fn without_a_tool_the_tools_and_their_parameters_are_listed_and_no_daemon_is_started() {
    let place = ProgramSandbox::new();
    let listed = place.run(&["call"]).await;
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let tools = json_of(&place.run(&["call", "--json"]).await.stdout);
    assert_eq!(&tools, tabwire::tools::list());
    for tool in tools.as_array().unwrap() {
        assert!(listed.stdout.contains(tool["name"].as_str().unwrap()), "{tool}");
        for name in tool["inputSchema"]["properties"].as_object().unwrap().keys() {
            assert!(listed.stdout.contains(name), "{name}");
        }
    }
    // One tool, and the help of the subcommand itself.
    let one = place.run(&["call", "screenshot", "--help"]).await;
    assert_eq!(one.code, Some(0), "{one:?}");
    for said in ["full_page", "max_side", "Every action also takes"] {
        assert!(one.stdout.contains(said), "{said}: {one:?}");
    }
    assert!(!one.stdout.contains("interact"), "{one:?}");
    for help in ["-h", "--help"] {
        let own = place.run(&["call", help]).await;
        assert!(own.stdout.contains("Usage: tabwire call [OPTIONS] [TOOL]"), "{own:?}");
    }
    let wrong = place.run(&["call", "screenshot", "--ful-page"]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("A tool's parameters are written key=value"), "{wrong:?}");
    assert!(place.daemon().is_none());
}

#[tokio::test]
async fn what_a_page_says_cannot_command_a_terminal_and_reaches_a_pipe_whole() {
    let place = ProgramSandbox::new();
    let (_served, _browser) =
        browser(&place, |_| json!({"success": true, "value": "one\u{1b}[2J\ntwo"})).await;
    let piped = place.run(&words(&script("1"))).await;
    assert_eq!(piped.stdout, "one\u{1b}[2J\ntwo\n");
    let mut terminal = PseudoTerminal::new(80, 24);
    let mut command = place.command(&words(&script("1")));
    command.stdout(terminal.stream());
    assert_eq!(ended(command.spawn().unwrap()).await.code, Some(0));
    assert_eq!(terminal.shown().await, "one\u{fffd}[2J\r\ntwo\r\n");
}
