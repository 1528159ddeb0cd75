//! The golden frames of `tests/fixtures/wire/`, which the shim's tests read too, and
//! what is not a frame.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proptest::{prop_assert, prop_assert_eq, proptest};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::protocol::actions::{Action, ExecuteJsAction, RegisteredAction, ScreenshotAction};
use crate::protocol::{
    AdmittedExtension, AgentTab, AskOption, AskQuestion, AskWords, AskedFile, AskingExtension,
    Attempt, BrowserName, CaptureSettings, ConsentKind, ConsentNeed, ConsentSite, CorrelationId,
    DrawingId, FarOwner, FileMark, HeldTab, ImageFormat, KeptWord, KnownConsent, LocalFileChange,
    LocalFileRuleError, LocalFileRules, OlderExtensions, OpenAsk, Owner, PageState, PastAct,
    PersonAsk, ShownPath, SiteRuleError, SiteRules, StreamKind, TabCapture, TabId, TenantTrouble,
    Timestamp, UnconfirmedWidening, UploadCopy, UploadRefusal, UploadRefusalCode, WordTerm,
    garbled, well_formed,
};

const EXEC: &str = "exec_1795298985123_0123456789abcdef0123456789abcdef";

// ── Golden frames ───────────────────────────────────────────────────────────────────

/// The golden frames of one direction, by the name of their file.
fn golden(direction: &str) -> BTreeMap<String, String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire").join(direction);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let frame = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let name = name.strip_suffix(".json").unwrap_or_else(|| panic!("{name} is no .json"));
        (name.to_owned(), std::fs::read_to_string(path).expect("readable").trim_end().to_owned())
    };
    entries.map(|entry| frame(&entry.expect("an entry").path())).collect()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn on_the_wire(frame: &impl Serialize) -> Value {
    value(&serde_json::to_string(frame).expect("JSON"))
}

fn parse(text: &str) -> FromExtension {
    FromExtension::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[track_caller]
fn assert_malformed(text: &str) {
    let parsed = FromExtension::parse(text);
    let is_malformed =
        matches!(parsed, Err(FrameError::Malformed(_) | FrameError::BadDrawing { .. }));
    assert!(is_malformed, "{text:.300}: {parsed:?}");
}

/// A command with the ids of the golden frames.
fn command(attempt: u32, action: &Action) -> ToExtension {
    let correlation_id = EXEC.replace("exec", action.id_kind());
    let command = CommandBody {
        id: "q_0123456789abcdef".into(),
        correlation_id: correlation_id.into(),
        kind: action.name(),
        params: action.params().into(),
        tab_id: (!action.is_browser_wide()).then_some(TabId(7)),
        private_owner: None,
        far: false,
        tabs: None,
        timeout_ms: 10_000,
        safe: action.is_safe(),
        redelivered: attempt > 1,
        client_id: "agent-1".into(),
        holds_dialogs: false,
        pictured: false,
        consents: Vec::new(),
        allowed: Vec::new(),
        traceparent: None,
        tracestate: None,
        client: "Claude Code 2.1.330".into(),
    };
    ToExtension::Command { attempt: Attempt(attempt), command }
}

fn rules(allow: &[&str], deny: &[&str]) -> Arc<SiteRules> {
    Arc::new(serde_json::from_value(json!({"allow": allow, "deny": deny})).expect("rules"))
}

fn open_folder() -> Arc<LocalFileRules> {
    let mut rules = LocalFileRules::default();
    rules.apply(&LocalFileChange::Add { folder: "/home/me/site".into() }).expect("a folder");
    Arc::new(rules)
}

/// The golden frames to an extension, built by hand.
fn frames_to_extension() -> BTreeMap<String, ToExtension> {
    let capture = CaptureSettings {
        all: [StreamKind::Logs, StreamKind::Network].into(),
        tabs: vec![TabCapture { tab_id: TabId(7), streams: [StreamKind::Bodies].into() }],
    };
    let attempt = Attempt(1);
    let correlation_id = CorrelationId::from(EXEC);
    let drawing_id = DrawingId::parse("0123456789abcdef0123456789abcdef").expect("an id");
    let refusal = DrawingRefusal {
        code: DrawingRefusalCode::StorageUnavailable,
        message: "What was drawn cannot be kept now; send it again later".to_owned(),
    };
    let frames = [
        (
            "annotations_ack",
            ToExtension::AnnotationsAck { drawing_id: drawing_id.clone(), error: None },
        ),
        ("annotations_ack.error", ToExtension::AnnotationsAck { drawing_id, error: Some(refusal) }),
        (
            "annotations_over",
            ToExtension::AnnotationsOver {
                correlation_ids: vec![EXEC.replace("exec", "ann").into()],
            },
        ),
        (
            "cancel",
            ToExtension::Cancel {
                correlation_id: correlation_id.clone(),
                reason: CancelReason::Cancelled,
            },
        ),
        ("capture", ToExtension::Capture { capture }),
        (
            "challenge",
            ToExtension::Challenge { nonce: "bSLlDG_spL1orNW87mRBS_QDNZAtfkT-LFrN8qg6zGE".into() },
        ),
        ("go", ToExtension::Go { correlation_id: correlation_id.clone(), attempt }),
        (
            "nack",
            ToExtension::Nack {
                correlation_id: Some(correlation_id.clone()),
                attempt: Some(attempt),
                reason: NackReason::StaleAttempt,
            },
        ),
        (
            "nack.unknown_type",
            ToExtension::Nack {
                correlation_id: None,
                attempt: None,
                reason: NackReason::UnknownType,
            },
        ),
        ("ping", ToExtension::Ping { t: 1_795_298_985_123 }),
        ("result_ack", ToExtension::ResultAck { correlation_id, attempt }),
        ("welcome", golden_welcome(false)),
        ("welcome.newer_extension", golden_welcome(true)),
    ];
    let frames = frames.into_iter().map(|(name, frame)| (name.to_owned(), frame));
    let frames = frames.chain(golden_rules()).chain(golden_older_extensions());
    frames.chain(golden_widenings()).chain(golden_commands()).collect()
}

fn golden_welcome(extension_newer: bool) -> ToExtension {
    ToExtension::Welcome {
        protocol: crate::protocol::PROTOCOL_VERSION,
        epoch: "1795298985123000".into(),
        server_version: "0.1.0",
        extension_newer,
        heartbeat_ms: 20_000,
        capture: CaptureSettings::default(),
        mac: "mPIhyMllphNfaOHV3UJ4ZtcIZvS-vxfthjOKEemtO1Q".into(),
    }
}

/// Which older extensions ask and are let in, and why a decision does not count.
fn golden_older_extensions() -> impl Iterator<Item = (String, ToExtension)> {
    let asking = |letter: &str, was_let_in| AskingExtension {
        extension_id: letter.repeat(32),
        extension_version: "5.6.0".to_owned(),
        was_let_in,
    };
    let extensions = OlderExtensions {
        asking: vec![asking("a", false), asking("b", true)],
        let_in: vec![AdmittedExtension { extension_id: "c".repeat(32), connected: true }],
    };
    let problem = Some("It does not ask any more".to_owned());
    let frame = |extensions, problem| ToExtension::OlderExtensions { extensions, problem };
    let frames = [
        ("older_extensions", frame(Arc::new(extensions), None)),
        ("older_extensions.problem", frame(Arc::default(), problem)),
    ];
    frames.into_iter().map(|(name, frame)| (name.to_owned(), frame))
}

fn upload_copies() -> ToExtension {
    let copy = UploadCopy {
        path: "/home/ann/.local/state/tabwire/uploads/000102030405060708090a0b0c0d0e0f/cat.png"
            .to_owned(),
        name: "cat.png".to_owned(),
        size: 12_345,
    };
    ToExtension::UploadCopies { request: 3, files: vec![copy], asks: Vec::new(), error: None }
}

fn refused_upload() -> ToExtension {
    let error = UploadRefusal {
        code: UploadRefusalCode::FileNotAllowed,
        message: "cannot give /home/ann/cat.png to the page: no folder that is open to agents for \
                  reading holds the file"
            .to_owned(),
        hint: "Ask the person to run `tabwire files allow /home/ann/shop --read`.".to_owned(),
    };
    ToExtension::UploadCopies {
        request: 3,
        files: Vec::new(),
        asks: Vec::new(),
        error: Some(error),
    }
}

fn asked_upload() -> ToExtension {
    let file = AskedFile {
        path: ShownPath::new("/home/ann/shop/cat.png").unwrap(),
        size: 12_345,
        mark: FileMark::parse("66305:131:12345:1700000000.5:1700000000.5").unwrap(),
        may_open_folder: true,
        root: ShownPath::new("/home/ann"),
    };
    ToExtension::UploadCopies { request: 3, files: Vec::new(), asks: vec![file], error: None }
}

fn browser_name(name: Option<&str>, problem: Option<&str>) -> ToExtension {
    ToExtension::BrowserName {
        offered: name.is_none().then(|| BrowserName::parse("Ann").unwrap()),
        name: name.map(|name| BrowserName::parse(name).expect("a name")),
        label: name.unwrap_or("Chromium on Linux").to_owned(),
        others: true,
        problem: problem.map(str::to_owned),
    }
}

/// Which sites may be used and which local files, why a change of that does not count, and a
/// verdict on two files.
fn golden_rules() -> impl Iterator<Item = (String, ToExtension)> {
    let frames = [
        ("upload_copies", upload_copies()),
        ("upload_copies.refused", refused_upload()),
        ("upload_copies.asks", asked_upload()),
        ("file_verdict", ToExtension::FileVerdict { check: 7, admitted: vec![true, false] }),
        ("browser_name", browser_name(Some("work"), None)),
        ("browser_name.problem", browser_name(None, Some("another browser is called so"))),
        ("local_files", ToExtension::LocalFiles { rules: open_folder(), problem: None }),
        (
            "local_files.problem",
            ToExtension::LocalFiles {
                rules: Arc::default(),
                problem: Some(LocalFileRuleError::TooMany.to_string()),
            },
        ),
        (
            "site_rules",
            ToExtension::SiteRules {
                rules: rules(&["example.com"], &["https://*.private.example.com:8443"]),
                problem: None,
            },
        ),
        (
            "site_rules.agents",
            ToExtension::SiteRules {
                rules: Arc::new(
                    serde_json::from_value(json!({"agent_deny": ["bank.example"]})).expect("rules"),
                ),
                problem: None,
            },
        ),
        (
            "site_rules.problem",
            ToExtension::SiteRules {
                rules: rules(&[], &[]),
                problem: Some(SiteRuleError::TooMany.to_string()),
            },
        ),
    ];
    frames.into_iter().map(|(name, frame)| (name.to_owned(), frame))
}

/// What no person has confirmed yet.
fn golden_widenings() -> impl Iterator<Item = (String, ToExtension)> {
    let widening = |id: &str, what: &str, take_back: Option<&str>| UnconfirmedWidening {
        id: id.to_owned(),
        at: Timestamp::from_unix_micros(1_795_298_985_123_000),
        what: what.to_owned(),
        take_back: take_back.map(str::to_owned),
    };
    let site = "tabwire sites remove 'example.com'";
    let widenings = [
        widening("6f71ae53d622db4a", "agents use example.com", Some(site)),
        widening("d76e39d9143a37c0", "every extension that polls come in", None),
    ];
    let frame = ToExtension::Widenings { widenings: widenings.into() };
    let changed = ToExtension::ExtensionChanged {};
    let held = ToExtension::HeldTabs {
        held: vec![HeldTab {
            tab_id: TabId(7),
            client: "Claude Code".into(),
            opened: true,
            since: Timestamp::from_unix_micros(1_763_763_345_123_000),
        }],
    };
    let opened = ToExtension::OpenedTabs {
        opened: vec![AgentTab {
            tab_id: TabId(7),
            client: "Claude Code".into(),
            client_id: "c1".into(),
            closes_at: Some(Timestamp::from_unix_micros(1_763_763_945_123_000)),
        }],
    };
    let close = ToExtension::CloseTabs { tab_ids: vec![TabId(7), TabId(9)] };
    let state = PageState { tab_id: TabId(7), client_id: "claude-1".into() };
    let changed_tabs = ToExtension::PageStatesOver { states: vec![state] };
    let asks = ToExtension::Asks { asks: golden_asks() };
    let act = |action: &str, site: Option<&str>, reason: Option<&str>| PastAct {
        at: Timestamp::from_unix_micros(1_795_298_985_123_000),
        owner: "default".into(),
        client: "Claude Code".into(),
        browser: site.map(|_| "work".into()),
        action: action.into(),
        site: site.map(Into::into),
        ended: reason.map_or("complete", |_| "error").into(),
        reason: reason.map(Into::into),
        took_ms: 41,
    };
    let acts = vec![
        act("batch: type, click", Some("shop.example"), None),
        act("navigate", Some("bank.example"), Some("blocked_by_policy")),
        act("tab_list", None, None),
    ];
    let history = ToExtension::History { on: true, acts, problem: None };
    let damaged = "cannot use the history /state/history.db: disk I/O error".to_owned();
    let no_history = ToExtension::History { on: false, acts: vec![], problem: Some(damaged) };
    [
        ("widenings".to_owned(), frame),
        ("asks".to_owned(), asks),
        ("held_tabs".to_owned(), held),
        ("opened_tabs".to_owned(), opened),
        ("close_tabs".to_owned(), close),
        ("history".to_owned(), history),
        ("history.problem".to_owned(), no_history),
        ("kept_words".to_owned(), golden_words()),
        ("far_owners".to_owned(), far_owners(None)),
        ("far_owners.problem".to_owned(), far_owners(Some("there is no owner box".to_owned()))),
        ("far_owners.troubles".to_owned(), far_owners_with_trouble()),
        ("page_states_over".to_owned(), changed_tabs),
        ("extension_changed".to_owned(), changed),
        ("reload".to_owned(), ToExtension::Reload { version: "0.2.0" }),
    ]
    .into_iter()
}

fn far_owners(problem: Option<String>) -> ToExtension {
    let owner = |name: &str, label: Option<&str>, calls| FarOwner {
        owner: Owner::of_generation(name, "0123456789abcdef0123456789abcdef"),
        label: label.map(str::to_owned),
        calls,
        suspended: calls == 0,
    };
    let owners = vec![owner("box", Some("The big machine"), 2), owner("dev", None, 0)];
    ToExtension::FarOwners { owners, troubles: Vec::new(), problem }
}

fn far_owners_with_trouble() -> ToExtension {
    let trouble = TenantTrouble {
        tenant: "acme".to_owned(),
        says: "another machine has the key of place qa-17, too".to_owned(),
        remedy: "run `tabwire-fleet leave --tenant acme` there".to_owned(),
    };
    ToExtension::FarOwners { owners: Vec::new(), troubles: vec![trouble], problem: None }
}

fn golden_words() -> ToExtension {
    let word = |kind, site: &str, word| KeptWord {
        owner: "user".into(),
        client_id: "claude-1".into(),
        client: "Claude Code".into(),
        kind,
        site: site.into(),
        word,
        at: Timestamp::from_unix_micros(1_763_763_345_123_000),
    };
    let words = vec![
        word(ConsentKind::Act, "https://shop.example", WordTerm::Always),
        word(ConsentKind::Close, "https://shop.example", WordTerm::Never),
        word(ConsentKind::Act, "https://bank.example", WordTerm::Session),
    ];
    ToExtension::KeptWords { words, more: 2 }
}

fn golden_asks() -> Vec<OpenAsk> {
    let question = AskQuestion::parse("Send the order of 3 chairs?").unwrap();
    let options = ["red", "blue"].map(|option| AskOption::parse(option).unwrap()).into();
    let need = ConsentNeed {
        kind: ConsentKind::Act,
        site: ConsentSite::parse("https://shop.example").unwrap(),
        document: Some("0123456789ABCDEF".into()),
        detail: None,
        files: Vec::new(),
    };
    let asks = [
        (PersonAsk::Approve { question: question.clone() }, Some(TabId(7))),
        (PersonAsk::Choose { question: question.clone(), options }, None),
        (PersonAsk::Answer { question: question.clone() }, None),
        (PersonAsk::HandOver { question }, Some(TabId(7))),
        (
            PersonAsk::Consent { question: AskQuestion::parse("click: Order").unwrap(), need },
            Some(TabId(7)),
        ),
    ];
    let open = asks.into_iter().zip(1..).map(|((ask, tab_id), number)| OpenAsk {
        correlation_id: format!("ask_1795298985123_0123456789abcdef0123456789abcde{number}").into(),
        client: "Claude Code".into(),
        ask,
        browser_label: tab_id.is_none().then(|| "work".to_owned()),
        tab_id,
        asked_at: Timestamp::from_unix_micros(1_763_763_345_123_000),
        until: Timestamp::from_unix_micros(1_763_763_945_123_000),
    });
    open.collect()
}

/// The example of each action, and three more scripts: one that was delivered before, one with a
/// gesture, and one of a call in a trace.
fn golden_commands() -> impl Iterator<Item = (String, ToExtension)> {
    let script = ExecuteJsAction { script: "document.title".into(), user_gesture: None };
    let again = command(2, &script.clone().into());
    let far = of_far_owner(command(1, &script.clone().into()));
    let traced = in_trace(command(1, &script.clone().into()));
    let gesture = command(1, &ExecuteJsAction { user_gesture: Some(true), ..script }.into());
    RegisteredAction::all().iter().map(golden_command).chain([
        ("command.execute_js.far".to_owned(), far),
        ("command.execute_js.redelivered".to_owned(), again),
        ("command.execute_js.traced".to_owned(), traced),
        ("command.execute_js.user_gesture".to_owned(), gesture),
    ])
}

fn of_far_owner(frame: ToExtension) -> ToExtension {
    let ToExtension::Command { attempt, command } = frame else { panic!("no command: {frame:?}") };
    let word = |site: &str, allowed| KnownConsent {
        kind: ConsentKind::Use,
        site: ConsentSite::parse(site).expect("a site"),
        allowed,
    };
    let consents = vec![word("https://shop.example", true), word("https://bank.example", false)];
    let command = CommandBody { far: true, tabs: Some(vec![TabId(7)]), consents, ..command };
    ToExtension::Command { attempt, command }
}

fn in_trace(frame: ToExtension) -> ToExtension {
    let ToExtension::Command { attempt, command } = frame else { panic!("no command: {frame:?}") };
    let traceparent = Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned());
    let tracestate = Some("vendor=1".into());
    ToExtension::Command { attempt, command: CommandBody { traceparent, tracestate, ..command } }
}

fn golden_command(known: &RegisteredAction) -> (String, ToExtension) {
    (format!("command.{}", known.spec.name), command(1, &known.example()))
}

#[test]
fn every_golden_frame_from_an_extension_is_read_and_written_back_the_same() {
    for (name, text) in golden("from_extension") {
        assert_eq!(on_the_wire(&parse(&text)), value(&text), "{name}");
    }
}

/// Writes the golden frames that are missing, if that is asked for.
fn write_missing(direction: &str, frames: &BTreeMap<String, ToExtension>) {
    if std::env::var_os("UPDATE_DOCS").is_none() {
        return;
    }
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire").join(direction);
    for (name, frame) in frames {
        let path = dir.join(format!("{name}.json"));
        if !path.exists() {
            let text = serde_json::to_string_pretty(&on_the_wire(frame)).expect("JSON");
            std::fs::write(path, text + "\n").expect("written");
        }
    }
}

#[test]
fn every_golden_frame_to_an_extension_is_what_we_write() {
    write_missing("to_extension", &frames_to_extension());
    let golden = golden("to_extension");
    let frames = frames_to_extension();
    let names: Vec<_> = golden.keys().collect();
    assert_eq!(names, frames.keys().collect::<Vec<_>>(), "files and frames, one each");
    for (name, text) in &golden {
        assert_eq!(on_the_wire(&frames[name]), value(text), "{name}");
    }
}

#[test]
fn every_kind_of_frame_has_a_golden_one_and_is_read_as_that_kind() {
    let mut read = BTreeSet::new();
    for (name, text) in golden("from_extension") {
        let kind = kind_of(&parse(&text));
        assert_eq!(kind, name.split('.').next().expect("a part"), "{name}");
        assert_eq!(kind, value(&text)["type"], "{name}");
        read.insert(kind);
    }
    let kinds = [
        "act_picture",
        "annotations",
        "ask_answer",
        "cancelled",
        "claim",
        "complete",
        "confirm_widening",
        "error",
        "events",
        "file_check",
        "hello",
        "hold",
        "keep_tab",
        "name_browser",
        "key_stored",
        "local_file_rule",
        "nack",
        "older_extension",
        "page_states",
        "pending",
        "pong",
        "ready",
        "restored_tabs",
        "site_rule",
        "stop",
        "stopped",
        "shared_tabs",
        "tab_created",
        "tab_opened",
        "tabs",
        "take_tab",
        "history",
        "kept_words",
        "far_owners",
        "timeout",
        "upload_request",
    ];
    assert_eq!(read, BTreeSet::from(kinds));
}

/// Exhaustive, so that a new kind is missed by nobody: it needs its golden frame too.
fn kind_of(frame: &FromExtension) -> &'static str {
    match frame {
        FromExtension::Hello(_) => "hello",
        FromExtension::Ready(_) => "ready",
        FromExtension::Claim { .. } => "claim",
        FromExtension::Hold { .. } => "hold",
        FromExtension::ActPicture { .. } => "act_picture",
        FromExtension::Events { .. } => "events",
        FromExtension::Annotations(_) => "annotations",
        FromExtension::Tabs { .. } => "tabs",
        FromExtension::Stop { .. } => "stop",
        FromExtension::Stopped { .. } => "stopped",
        FromExtension::SiteRule(_) => "site_rule",
        FromExtension::OlderExtension(_) => "older_extension",
        FromExtension::ConfirmWidening { .. } => "confirm_widening",
        FromExtension::NameBrowser { .. } => "name_browser",
        FromExtension::TakeTab { .. } => "take_tab",
        FromExtension::KeepTab { .. } => "keep_tab",
        FromExtension::SharedTabs { .. } => "shared_tabs",
        FromExtension::TabOpened { .. } => "tab_opened",
        FromExtension::TabCreated { .. } => "tab_created",
        FromExtension::RestoredTabs { .. } => "restored_tabs",
        FromExtension::History { .. } => "history",
        FromExtension::KeptWords { .. } => "kept_words",
        FromExtension::FarOwners(_) => "far_owners",
        FromExtension::PageStates { .. } => "page_states",
        FromExtension::AskAnswer { .. } => "ask_answer",
        FromExtension::LocalFileRule(_) => "local_file_rule",
        FromExtension::FileCheck { .. } => "file_check",
        FromExtension::UploadRequest(_) => "upload_request",
        FromExtension::KeyStored {} => "key_stored",
        FromExtension::Pong { .. } => "pong",
        FromExtension::Nack { .. } => "nack",
        FromExtension::Report { report, .. } => match report {
            ExtensionReport::Pending { .. } => "pending",
            ExtensionReport::Complete { .. } => "complete",
            ExtensionReport::Error { .. } => "error",
            ExtensionReport::Timeout { .. } => "timeout",
            ExtensionReport::Cancelled { .. } => "cancelled",
        },
    }
}

#[test]
fn every_action_has_a_golden_command_from_which_it_can_be_read_back() {
    let golden = golden("to_extension");
    for known in RegisteredAction::all() {
        let name = known.spec.name;
        let text = golden.get(&format!("command.{name}"));
        let text = text.unwrap_or_else(|| panic!("no golden frame command.{name}.json"));
        let command = value(text)["command"].clone();
        let params = command["params"].as_object().expect("an object");
        let action = Action::of_params(name, params).expect("a name").expect("its parameters");
        let record: Action = serde_json::from_str(&action.to_record()).expect("a record");
        assert_eq!(record, action);
        assert_eq!(action.name(), name);
        assert_eq!(command["type"], name);
        assert_eq!(value(action.params().get()), command["params"], "{name}");
        assert_eq!(command["safe"], action.is_safe(), "{name}");
        assert_eq!(command.get("tab_id").is_none(), action.is_browser_wide(), "{name}");
        let id = command["correlation_id"].as_str().expect("an id");
        assert_eq!(id.split('_').next(), Some(action.id_kind()), "{name}");
    }
}

#[test]
fn options_of_an_action_that_were_not_given_do_not_go_over_the_wire() {
    let bare = Action::Screenshot(ScreenshotAction::default());
    assert_eq!(bare.params().get(), "{}");
    let jpeg = Action::Screenshot(ScreenshotAction {
        full_page: Some(false),
        format: Some(ImageFormat::Jpeg),
        max_side: Some(4_000),
        path: Some("/not/for/the/extension.jpg".to_owned()),
        ..ScreenshotAction::default()
    });
    let expected = json!({ "full_page": false, "format": "jpeg", "max_side": 4_000 });
    assert_eq!(value(jpeg.params().get()), expected);
}

#[test]
fn reasons_have_their_words() {
    use CancelReason::{Cancelled, CommandExpired, ExecutionTimeout};
    use NackReason::{AlreadyTerminal, Malformed, StaleAttempt, UnknownCommand, UnknownType};
    let cancels = [Cancelled, ExecutionTimeout, CommandExpired];
    assert_eq!(on_the_wire(&cancels), json!(["cancelled", "execution_timeout", "command_expired"]));
    let nacks = [StaleAttempt, AlreadyTerminal, UnknownCommand, UnknownType, Malformed];
    assert_eq!(
        on_the_wire(&nacks),
        json!([
            "stale_attempt",
            "already_terminal",
            "unknown_command",
            "unknown_type",
            "malformed"
        ])
    );
    use DrawingRefusalCode::{Malformed as BadDrawing, StorageUnavailable, TooLarge};
    let refusals = [TooLarge, BadDrawing, StorageUnavailable];
    assert_eq!(on_the_wire(&refusals), json!(["too_large", "malformed", "storage_unavailable"]));
}

// ── Peers of another age ────────────────────────────────────────────────────────────

#[test]
fn an_unknown_type_is_told_from_a_malformed_frame() {
    for text in [
        r#"{"type":"annotation","items":[]}"#,
        r#"{"type":"Claim","correlation_id":"exec_1","attempt":1}"#,
        r#"{"type":"go","correlation_id":"exec_1","attempt":1}"#,
        r#"{"type":""}"#,
        r#"{"attempt":"nonsense","type":"from_the_future"}"#,
    ] {
        let kind = value(text)["type"].as_str().expect("a type").to_owned();
        match FromExtension::parse(text) {
            Err(FrameError::UnknownType(unknown)) => assert_eq!(unknown, kind),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn unknown_fields_are_ignored_wherever_they_stand() {
    for (name, text) in golden("from_extension") {
        let known = value(&text);
        let mut wider = known.clone();
        add_unknown_fields(&mut wider);
        assert_ne!(wider, known);
        let read = on_the_wire(&parse(&wider.to_string()));
        // What is kept as it was sent keeps its unknown fields too.
        let kept = ["result", "entries", "annotations", "element_details"];
        let mut expected = known;
        for field in kept {
            if expected.get(field).is_some() {
                expected[field] = wider[field].clone();
            }
        }
        assert_eq!(read, expected, "{name}");
    }
}

fn add_unknown_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(add_unknown_fields);
            fields.shift_insert(0, "from_the_future".into(), json!({ "type": [1, null] }));
        }
        Value::Array(items) => items.iter_mut().for_each(add_unknown_fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_type_may_stand_anywhere_and_be_escaped() {
    let text = r#" {"attempt":1,"correlation_id":"exec_1","t\u0079pe":"cl\u0061im"} "#;
    assert_eq!(kind_of(&parse(text)), "claim");
}

#[test]
fn a_tab_needs_its_ids_only() {
    let FromExtension::Tabs { tabs } =
        parse(r#"{"type":"tabs","tabs":[{"tab_id":7,"window_id":1}]}"#)
    else {
        panic!("not tabs");
    };
    let bare = BrowserTab {
        tab_id: TabId(7),
        window_id: 1,
        url: String::new(),
        title: String::new(),
        active: false,
        focused: false,
        ref_prefix: None,
        discarded: false,
        frozen: false,
        former_ids: Vec::new(),
        private: false,
    };
    assert_eq!(tabs, [bare]);
    assert_malformed(r#"{"type":"tabs","tabs":[{"tab_id":7}]}"#);
}

// ── Results ─────────────────────────────────────────────────────────────────────────

fn complete_with(result: &str) -> String {
    format!(r#"{{"type":"complete","correlation_id":"exec_1","attempt":1,"result":{result}}}"#)
}

fn result_of(text: &str) -> Arc<RawValue> {
    let FromExtension::Report { report: ExtensionReport::Complete { result, .. }, .. } =
        parse(text)
    else {
        panic!("{text}: no result");
    };
    result
}

#[test]
fn a_result_is_kept_byte_for_byte() {
    for result in [
        "null",
        "\"\"",
        "12345678901234567890.5",
        "1e400",
        "-0",
        "1.0",
        r#"{ "b" : 1,"a":[ 1 , 2 ],
            "b":2 }"#,
        r#"{"\u0061":1,"a":2}"#,
        r#""\u00e9 é e\u0301 \ud83d\ude00 \/ \u0000""#,
        r#""\\ud800""#,
    ] {
        let kept = result_of(&complete_with(result));
        assert_eq!(kept.get(), result);
        let report = ExtensionReport::Complete { result: kept, origin: None };
        let written = serde_json::to_string(&report).expect("JSON");
        assert!(written.contains(result), "{written}");
    }
}

#[test]
fn half_a_character_in_a_result_is_replaced_and_the_rest_is_kept() {
    let sent = r#"{ "k\ud800":"\uDC00\u00e9 \ud83d\ude00 \\ud800","b" : 1.0}"#;
    let kept = r#"{ "k\ufffd":"\ufffd\u00e9 \ud83d\ude00 \\ud800","b" : 1.0}"#;
    assert_eq!(result_of(&complete_with(sent)).get(), kept);
    assert!(serde_json::from_str::<Value>(kept).is_ok(), "as every parser reads it");
}

#[test]
fn a_result_as_deep_as_a_page_likes_is_kept_and_not_walked_into() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(result_of(&complete_with(&deep)).get(), deep);
}

// ── Drawings ────────────────────────────────────────────────────────────────────────

#[test]
fn a_drawing_is_kept_byte_for_byte_and_needs_its_id() {
    let annotation = r#"{ "id" : 1.0, "text":"\u00e9" }"#;
    let frame = |more: &str| {
        format!(r#"{{"type":"annotations","annotations":[{annotation}],"page_url":""{more}}}"#)
    };
    let id = r#","drawing_id":"0123456789abcdef0123456789abcdef""#;
    let FromExtension::Annotations(drawing) = parse(&frame(id)) else { panic!("no drawing") };
    assert_eq!(drawing.annotations[0].get(), annotation);
    let nameless = FromExtension::parse(&frame("")).expect_err("none to answer under");
    assert!(matches!(nameless, FrameError::Malformed(_)), "{nameless}");
    assert_malformed(&frame(r#","drawing_id":"../../auth.key""#));
}

#[test]
fn a_bad_drawing_is_told_apart_so_that_it_can_be_answered_under_its_id() {
    let good = value(&golden("from_extension")["annotations"]);
    for (field, wrong) in [
        ("screenshot_data_url", json!("data:image/png;base64,AAAA")),
        ("annotations", json!([1])),
        ("annot_session_name", json!(" ")),
        ("cancelled", json!("user")),
    ] {
        let mut bad = good.clone();
        bad[field] = wrong;
        let refused = FromExtension::parse(&bad.to_string()).expect_err("a bad drawing");
        let FrameError::BadDrawing { drawing_id, .. } = refused else {
            panic!("{field}: {refused}")
        };
        assert_eq!(good["drawing_id"], drawing_id.as_str(), "{field}");
    }
}

// ── What is no frame ────────────────────────────────────────────────────────────────

#[test]
fn what_is_not_an_object_with_a_type_is_malformed() {
    for text in [
        "",
        " ",
        "null",
        "true",
        "1",
        "\"claim\"",
        "[]",
        r#"["claim","exec_1",1]"#,
        r#"["x"]"#,
        r#"[{"type":"pong","t":1}]"#,
        "{}",
        r#"{"t":1}"#,
        r#"{"Type":"pong","t":1}"#,
        r#"{"type":null}"#,
        r#"{"type":1}"#,
        r#"{"type":["pong"]}"#,
        r#"{"type":{"pong":{}}}"#,
        r#"{"type":"pong","type":"pong","t":1}"#,
        r#"{"type":"pong","t":1}{"type":"pong","t":1}"#,
        r#"{"type":"pong","t":1},"#,
        r#"{"type":"pong","t":1,}"#,
        r#"{'type':'pong','t':1}"#,
        "{type:\"pong\",t:1}",
        "\u{feff}{\"type\":\"pong\",\"t\":1}",
        "{\"type\":\"po\u{0}ng\"}",
        r#"{"type":"from_the_future","x":nonsense}"#,
    ] {
        assert_malformed(text);
    }
}

#[test]
fn every_part_of_a_frame_that_was_cut_off_is_malformed() {
    for text in golden("from_extension").values() {
        let ends = text.char_indices().map(|(at, _)| at);
        ends.for_each(|end| assert_malformed(&text[..end]));
    }
}

/// Whether a frame may leave this field out.
fn is_optional(frame: &Value, field: &str) -> bool {
    match frame["type"].as_str() {
        Some("annotations") => !["type", "drawing_id", "annotations", "page_url"].contains(&field),
        _ => {
            let optional = [
                "message",
                "progress",
                "dialog",
                "origin",
                "session",
                "draws_for",
                "site_rules",
                "act_rules",
                "asks_first",
                "names",
                "tab_scopes",
                "private_tabs",
                "far_owners",
                "hands_over",
                "stopped",
                "older_extensions",
                "look",
                "take_back",
                "change",
            ];
            let is_rule = frame["type"].as_str().is_some_and(|kind| {
                ["site_rule", "local_file_rule", "older_extension"].contains(&kind)
            });
            optional.contains(&field)
                && frame["type"] != "stopped"
                && !(field == "change" && is_rule)
        }
    }
}

#[test]
fn a_frame_without_one_of_its_fields_is_malformed() {
    for text in golden("from_extension").values() {
        let frame = value(text);
        for field in frame.as_object().expect("an object").keys() {
            let mut less = frame.clone();
            less.as_object_mut().expect("an object").shift_remove(field);
            let less = less.to_string();
            if is_optional(&frame, field) {
                drop(parse(&less));
            } else {
                assert_malformed(&less);
            }
        }
    }
}

#[test]
fn a_field_of_another_type_is_malformed() {
    let others =
        [json!(null), json!(true), json!(-1), json!(1.5), json!("text"), json!([1]), json!({})];
    for text in golden("from_extension").values() {
        let frame = value(text);
        for (field, own) in frame.as_object().expect("an object") {
            let is_other =
                |other: &&Value| std::mem::discriminant(*other) != std::mem::discriminant(own);
            let optional = is_optional(&frame, field);
            for other in others.iter().filter(is_other) {
                let mut wrong = frame.clone();
                wrong[field] = other.clone();
                let wrong = wrong.to_string();
                match (field.as_str(), other) {
                    ("result", _) => drop(parse(&wrong)),
                    (_, Value::Null) if optional && field != "look" => drop(parse(&wrong)),
                    _ => assert_malformed(&wrong),
                }
            }
        }
    }
}

#[test]
fn numbers_out_of_range_are_malformed() {
    for attempt in ["-1", "1.5", "4294967296", "1e400", "\"1\""] {
        let frame = json!({ "type": "claim", "correlation_id": "exec_1", "attempt": "here" });
        assert_malformed(&frame.to_string().replace("\"here\"", attempt));
    }
    assert_malformed(r#"{"type":"pong","t":-1}"#);
    assert_malformed(r#"{"type":"pong","t":18446744073709551616}"#);
    assert_malformed(r#"{"type":"pending","correlation_id":"x","attempt":1,"progress":1e400}"#);
}

#[test]
fn words_that_a_field_does_not_have_are_malformed() {
    let ready = golden("from_extension").remove("ready").expect("a file");
    assert_malformed(&ready.replace("\"claimed\"", "\"lost\""));
}

#[test]
fn deep_nesting_never_overflows_the_stack() {
    let open = "[".repeat(200_000);
    let objects = "{\"a\":".repeat(200_000);
    for deep in [&open, &objects] {
        assert_malformed(deep);
        assert_malformed(&format!("{{\"type\":{deep}"));
        assert_malformed(&format!("{{\"type\":\"tabs\",\"tabs\":{deep}"));
        assert_malformed(&complete_with(deep));
    }
    let closed = format!("{open}{}", "]".repeat(200_000));
    assert_malformed(&format!("{{\"type\":{closed}}}"));
    assert_malformed(&format!("{{\"type\":\"tabs\",\"tabs\":{closed}}}"));
    assert_malformed(&complete_with("1").replace("\"exec_1\"", &closed));
    // Nobody looks into a field that nobody knows.
    assert_eq!(kind_of(&parse(&format!("{{\"type\":\"pong\",\"t\":1,\"x\":{closed}}}"))), "pong");
}

#[test]
fn a_frame_with_any_one_byte_changed_is_read_or_refused() {
    let bytes = b"\0\"\\{],0-n\xc3";
    for text in golden("from_extension").values() {
        for at in 0..text.len() {
            for &byte in bytes {
                let mut damaged = text.clone().into_bytes();
                damaged[at] = byte;
                let Ok(damaged) = String::from_utf8(damaged) else { continue };
                if let Ok(frame) = FromExtension::parse(&damaged) {
                    let again = on_the_wire(&frame).to_string();
                    assert_eq!(on_the_wire(&parse(&again)).to_string(), again);
                }
            }
        }
    }
}

// ── Nearly frames ───────────────────────────────────────────────────────────────────

/// Whether what was read says what the text said. What the text left out is empty.
fn says_the_same(text: &Value, read: &Value) -> bool {
    match (text, read) {
        (Value::Object(text), Value::Object(read)) => read.iter().all(|(name, read)| {
            let empty = read == "" || *read == json!(false) || *read == json!({});
            let older = || text.get("screenshot").filter(|_| name == "screenshot_data_url");
            let text = text.get(name).or_else(older);
            text.map_or(empty, |text| says_the_same(text, read))
        }),
        (Value::Null, Value::Object(read)) => read.is_empty(),
        (Value::Array(text), Value::Array(read)) => {
            text.len() == read.len() && text.iter().zip(read).all(|(a, b)| says_the_same(a, b))
        }
        (Value::Number(text), Value::Number(read)) => {
            text == read || text.as_f64() == read.as_f64()
        }
        // Words for a person are brought into one line.
        (Value::String(text), Value::String(read)) => {
            text == read
                || AskWords::<10_000>::parse(text).is_ok_and(|words| words.as_str() == read)
        }
        (text, read) => text == read,
    }
}

#[test]
fn whatever_is_sent_is_read_as_what_it_says_or_refused_with_a_reason() {
    let golden = golden("from_extension");
    let samples: Vec<_> = golden.values().map(String::as_str).collect();
    let texts = garbled::nearly_text(&samples);
    proptest!(garbled::cases(2_000), |(text in texts)| {
        match FromExtension::parse(&text) {
            Ok(frame) => {
                let written = serde_json::to_string(&frame).expect("JSON");
                let again = serde_json::to_string(&parse(&written)).expect("JSON");
                prop_assert_eq!(&again, &written);
                // A result may hold what is JSON, but too large for a number.
                if let Ok(meant) = serde_json::from_str::<Value>(&text) {
                    prop_assert!(says_the_same(&meant, &value(&written)), "{} is not {}", text, written);
                }
                if let FromExtension::Report { report: ExtensionReport::Complete { result, .. }, .. } = frame {
                    prop_assert!(well_formed(&text).contains(result.get()), "byte for byte");
                }
            }
            Err(FrameError::UnknownType(kind)) => {
                // What else it says need not make sense.
                if let Ok(meant) = serde_json::from_str::<Value>(&text) {
                    prop_assert_eq!(&meant["type"], &json!(kind));
                }
            }
            Err(FrameError::Malformed(why)) => prop_assert!(!why.to_string().is_empty()),
            Err(FrameError::BadDrawing { drawing_id, why }) => {
                prop_assert!(text.contains(drawing_id.as_str()) || text.contains("\\u"));
                prop_assert!(!why.to_string().is_empty());
            }
        }
    });
}
