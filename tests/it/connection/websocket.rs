//! The extension's socket: who may open it, how both sides prove themselves, and every
//! way in which it is closed.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use testkit::{
    ExtensionBuilder, FakeExtension, FrozenClock, McpClient, RawConnection, Stopwatch, TestDaemon,
    raw,
};

const OUR_ID: &str = "cojpnlnglaiojkhnmkknknhgnedlcmlg";
const OTHER_ID: &str = "abcdefghijklmnopabcdefghijklmnop";

/// A handshake with these headers in place of our extension's.
pub(crate) fn handshake<'a>(origins: &'a [impl AsRef<str>], protocol: &'a str) -> Vec<&'a str> {
    let mut lines = vec![
        "GET /ws HTTP/1.1",
        "Host: HOST",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    lines.extend(origins.iter().map(AsRef::as_ref));
    lines.extend((!protocol.is_empty()).then_some(protocol));
    lines
}

pub(crate) const PROTOCOL: &str = "Sec-WebSocket-Protocol: tabwire.v1";

fn origin(origin: &str) -> Vec<String> {
    vec![format!("Origin: {origin}")]
}

fn ours() -> Vec<String> {
    origin(&format!("chrome-extension://{OUR_ID}"))
}

#[tokio::test]
async fn only_our_own_extension_may_open_a_socket() {
    let daemon = TestDaemon::start().await;
    let own_page = format!("http://127.0.0.1:{}", daemon.port());
    let upper = format!("chrome-extension://{}", OUR_ID.to_uppercase());
    let mut two = ours();
    two.extend(ours());
    let refused = [
        ("no Origin", Vec::new()),
        ("a page", origin("http://evil.example")),
        ("a secure page", origin("https://evil.example")),
        ("a sandboxed frame", origin("null")),
        ("our own page", origin(&own_page)),
        ("another extension", origin(&format!("chrome-extension://{OTHER_ID}"))),
        ("an id with more behind it", origin(&format!("chrome-extension://{OUR_ID}.evil"))),
        ("an id with a path", origin(&format!("chrome-extension://{OUR_ID}/"))),
        ("an id with a port", origin(&format!("chrome-extension://{OUR_ID}:80"))),
        ("an id in upper case", origin(&upper)),
        ("a scheme in upper case", origin(&format!("Chrome-Extension://{OUR_ID}"))),
        ("another scheme", origin(&format!("moz-extension://{OUR_ID}"))),
        ("two Origins", two),
        ("two in one", origin(&format!("chrome-extension://{OUR_ID}, http://evil.example"))),
    ];
    for (what, origins) in refused {
        let answer = raw(&daemon, &handshake(&origins, PROTOCOL), b"").await;
        assert_eq!(answer.status, 403, "{what}");
        assert_eq!(answer.header("sec-websocket-accept"), None, "{what}");
    }
    let answer = raw(&daemon, &handshake(&ours(), PROTOCOL), b"").await;
    assert_eq!(answer.status, 101);
    assert_eq!(answer.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(answer.header("sec-websocket-protocol"), Some("tabwire.v1"));
}

#[tokio::test]
async fn a_refusal_of_an_unknown_extension_names_the_command_that_allows_it() {
    let daemon = TestDaemon::start().await;
    let other = origin(&format!("chrome-extension://{OTHER_ID}"));
    let answer = raw(&daemon, &handshake(&other, PROTOCOL), b"").await;
    let hint = answer.json()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("tabwire extension allow"), "{hint}");
}

#[tokio::test]
async fn a_handshake_that_we_do_not_speak_is_refused() {
    let daemon = TestDaemon::start().await;
    let ours = ours();
    for protocol in ["", "Sec-WebSocket-Protocol: tabwire.v2", "Sec-WebSocket-Protocol: chat"] {
        let answer = raw(&daemon, &handshake(&ours, protocol), b"").await;
        assert_eq!(answer.status, 400, "{protocol:?}");
        assert!(answer.json()["message"].as_str().unwrap().contains("tabwire.v1"), "{protocol:?}");
    }
    let among = raw(&daemon, &handshake(&ours, "Sec-WebSocket-Protocol: x, tabwire.v1"), b"").await;
    assert_eq!(among.status, 101, "among others");
    for part in ["Upgrade: websocket", "Sec-WebSocket-Version: 13", "Connection: Upgrade"] {
        let mut lines = handshake(&ours, PROTOCOL);
        lines.retain(|line| *line != part);
        assert_eq!(raw(&daemon, &lines, b"").await.status, 400, "without {part}");
    }
    let mut lines = handshake(&ours, PROTOCOL);
    lines.retain(|line| !line.starts_with("Sec-WebSocket-Key"));
    assert_eq!(raw(&daemon, &lines, b"").await.status, 400, "without a key");
}

#[tokio::test]
async fn each_connection_is_proven_anew() {
    let daemon = TestDaemon::start().await;
    let mut nonces = Vec::new();
    let mut epochs = Vec::new();
    for _ in 0..2 {
        let mut extension = ExtensionBuilder::of(&daemon).open().await;
        let challenge = extension.challenge().await;
        let hello = extension.hello_to(&challenge);
        extension.send(&hello).await;
        let welcome = extension.next().await;
        assert_eq!((&welcome["type"], &welcome["protocol"]), (&json!("welcome"), &json!(2)));
        assert_eq!(welcome["server_version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(welcome["heartbeat_ms"], 20_000);
        assert!(welcome["capture"].is_object());
        assert_eq!(challenge.len(), 43, "32 bytes in base64url without padding");
        nonces.extend([challenge, welcome["mac"].as_str().unwrap().to_owned()]);
        epochs.push(welcome["epoch"].as_str().unwrap().to_owned());
    }
    nonces.sort_unstable();
    nonces.dedup();
    assert_eq!(nonces.len(), 4, "no nonce and no proof comes twice");
    assert_eq!(epochs[0], epochs[1], "one life of the daemon");
    let another = TestDaemon::start().await;
    let welcome = ExtensionBuilder::of(&another).open().await.hello().await;
    assert_ne!(welcome["epoch"], epochs[0].as_str(), "another life");
}

/// A `hello` after a change.
async fn hello_with(daemon: &TestDaemon, change: impl FnOnce(&mut Value)) -> FakeExtension {
    let mut extension = ExtensionBuilder::of(daemon).open().await;
    let challenge = extension.challenge().await;
    let mut hello = extension.hello_to(&challenge);
    change(&mut hello);
    extension.send(&hello).await;
    extension
}

#[tokio::test]
async fn a_hello_that_does_not_prove_the_key_is_turned_away_and_gets_nothing() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    client.script("secret", 7).await;
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 5] = [
        ("a wrong mac", |hello| hello["mac"] = "A".repeat(43).into()),
        ("no mac", |hello| hello["mac"] = "".into()),
        ("another instance", |hello| hello["instance_id"] = "instance-9".into()),
        ("another nonce", |hello| hello["nonce"] = "A".repeat(43).into()),
        ("a mac that is too long", |hello| {
            let longer = format!("{}A", hello["mac"].as_str().unwrap());
            hello["mac"] = longer.into();
        }),
    ];
    for (what, change) in changes {
        let mut extension = hello_with(&daemon, change).await;
        let (code, reason) = extension.closed_without_a_frame().await;
        assert_eq!(code, 4401, "{what}: {reason}");
        assert!(reason.contains("tabwire install"), "{what}: {reason}");
    }
    // A hello that was overheard proves nothing on another connection.
    let mut first = ExtensionBuilder::of(&daemon).open().await;
    let challenge = first.challenge().await;
    let overheard = first.hello_to(&challenge);
    let mut replay = hello_with(&daemon, |hello| *hello = overheard).await;
    assert_eq!(replay.closed_without_a_frame().await.0, 4401, "replayed");
    // Our own extension's origin, forged by one with another key.
    let other_key = daemon.home().auth().extension_key(OTHER_ID);
    let mut forger = ExtensionBuilder::of(&daemon).key(other_key).open().await;
    let challenge = forger.challenge().await;
    let hello = forger.hello_to(&challenge);
    forger.send(&hello).await;
    assert_eq!(forger.closed_without_a_frame().await.0, 4401, "forged");
    let browsers = client.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(browsers["count"], 0, "none of them was ever a browser");
    let hint = browsers["hint"].as_str().unwrap();
    let told =
        ["No browser has connected", "A Tabwire extension with a wrong key", "`tabwire doctor`"];
    assert!(told.iter().all(|part| hint.contains(part)), "{hint}");
}

#[tokio::test]
async fn the_first_frame_is_hello() {
    let daemon = TestDaemon::start().await;
    let ready = json!({"type": "ready", "label": "", "user_agent": "", "actions": [], "tabs": [], "in_flight": []});
    let frames = [
        json!({"type": "claim", "correlation_id": "x", "attempt": 1}),
        ready,
        json!({"type": "unheard-of"}),
        json!({"type": "hello"}),
        json!("hello"),
    ];
    for frame in frames {
        let mut extension = hello_with(&daemon, |hello| *hello = frame.clone()).await;
        let (code, reason) = extension.closed_without_a_frame().await;
        assert_eq!((code, reason.contains("hello")), (4401, true), "{frame}: {reason}");
    }
}

#[tokio::test]
async fn a_newer_version_of_the_protocol_is_turned_away_with_both_named() {
    let daemon = TestDaemon::start().await;
    let mut extension = hello_with(&daemon, |hello| hello["protocol"] = json!([7, 8])).await;
    let (code, reason) = extension.closed_without_a_frame().await;
    assert_eq!(code, 4409);
    for version in ["protocol 2", "7", "8", "update Tabwire"] {
        assert!(reason.contains(version), "{reason}");
    }
    let mut newer = hello_with(&daemon, |hello| hello["protocol"] = json!([3, 2])).await;
    assert_eq!(newer.next().await["type"], "welcome", "one that is spoken by both will do");
}

#[tokio::test(start_paused = true)]
async fn a_hello_is_waited_for_five_seconds() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).open().await;
    extension.challenge().await;
    time.pass_ms(5_001).await;
    assert_eq!(extension.closed_without_a_frame().await.0, 4408);
}

#[tokio::test]
async fn binary_messages_are_refused() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    extension.send_message(Message::binary(b"{}".to_vec())).await;
    assert_eq!(extension.closed().await.0, 1003);
}

#[tokio::test]
async fn text_that_is_no_utf_8_is_refused() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let frame = Frame::message(vec![b'"', 0xff, 0xfe, b'"'], OpCode::Data(Data::Text), true);
    extension.send_message(Message::Frame(frame)).await;
    assert_eq!(extension.closed().await.0, 1007);
}

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_message_of_eight_mib_is_taken_and_one_byte_more_is_refused() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    client.script("long", 7).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let frame = |length: usize| {
        let frame = |fill: &str| command.frame("complete", json!({"result": fill})).to_string();
        frame(&"x".repeat(length - frame("").len()))
    };
    assert_eq!(frame(8 * MIB).len(), 8 * MIB);
    extension.send_message(Message::text(frame(8 * MIB))).await;
    extension.expect(&command.answer("result_ack")).await;
    extension.try_send_message(Message::text(frame(8 * MIB + 1))).await;
    let (code, reason) = extension.closed().await;
    assert_eq!((code, reason.contains("8 MiB")), (1009, true), "{reason}");
}

#[tokio::test]
async fn before_a_valid_hello_no_message_can_fill_the_memory() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).open().await;
    extension.challenge().await;
    extension.try_send_message(Message::text("x".repeat(64 * 1024))).await;
    let (code, reason) = extension.closed_without_a_frame().await;
    assert_eq!((code, reason.contains("64 KiB")), (1009, true), "{reason}");
}

#[tokio::test]
async fn a_third_malformed_frame_ends_the_connection() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let malformed = json!({"type": "nack", "reason": "malformed"});
    extension.send_message(Message::text("no JSON")).await;
    extension.expect(&malformed).await;
    extension.send(&json!({"type": "complete", "attempt": 1, "result": 1})).await;
    extension.expect(&malformed).await;
    extension.send(&json!({"no": "type"})).await;
    assert_eq!(extension.closed_without_a_frame().await.0, 1008);
}

#[tokio::test]
async fn a_drawing_that_cannot_be_read_is_answered_under_its_id_and_ends_nothing() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    for n in 0..4 {
        let id = format!("{n:032x}");
        let bad =
            json!({"type": "annotations", "drawing_id": id, "annotations": [1], "page_url": ""});
        extension.send(&bad).await;
        let error =
            json!({"code": "malformed", "message": "`annotations[0]` must be a JSON object"});
        let ack = json!({"type": "annotations_ack", "drawing_id": id, "error": error});
        extension.expect(&ack).await;
    }
}

#[tokio::test]
async fn frames_of_a_newer_extension_are_ignored_and_it_is_told_once() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let unknown = json!({"type": "nack", "reason": "unknown_type"});
    for n in 0..10 {
        extension.send(&json!({"type": "telepathy", "n": n})).await;
    }
    extension.send(&json!({"type": "levitation"})).await;
    assert_eq!(extension.so_far().await, [unknown.clone(), unknown], "once for each type");
    client.script("1", 7).await;
    let command = extension.command().await;
    extension.send(&command.frame("claim", json!({"mood": "eager"}))).await;
    extension.expect(&command.answer("go")).await;
    extension.report(&command, "complete", json!({"result": 1, "mood": ["content"]})).await;
    assert_eq!(client.outcome(&command.id).await["status"], "complete");
}

#[tokio::test]
async fn streams_and_a_second_hello_are_taken_in_silence() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    let hello = extension.hello_to("again");
    extension.send(&hello).await;
    extension.send(&json!({"type": "events", "stream": "logs", "entries": [{"any": 1}]})).await;
    extension.send(&json!({"type": "pong", "t": 1})).await;
    extension.expect_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_comes_every_twenty_seconds_as_a_data_frame() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    for _ in 0..4 {
        time.pass_ms(19_990).await;
        extension.expect_nothing().await;
        time.pass_ms(10).await;
        let ping = extension.next().await;
        assert_eq!(ping["type"], "ping");
        extension.send(&json!({"type": "pong", "t": ping["t"]})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_on_which_nothing_comes_for_45_seconds_is_closed() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    time.pass_ms(44_000).await;
    let browsers = client.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(browsers["browsers"][0]["connected"], true);
    time.pass_ms(1_010).await;
    extension.closed().await;
    let browsers = client.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(browsers["browsers"][0]["connected"], false);
}

#[tokio::test]
async fn on_shutdown_sockets_are_closed_with_1001_and_waiting_calls_get_their_answer() {
    let daemon = TestDaemon::start().await;
    let mut ready = ExtensionBuilder::of(&daemon).connect().await;
    let mut greeted = ExtensionBuilder::of(&daemon).browser("browser-2").greet().await;
    let mut silent = ExtensionBuilder::of(&daemon).browser("browser-3").connect().await;
    let mut half_open = RawConnection::open(&daemon).await;
    half_open.send("POST /mcp HT").await;
    let client = McpClient::modern(&daemon);
    let call = json!({
        "action": "execute_js", "script": "1", "browser": "browser-1", "wait_ms": 50_000
    });
    let waiting = client.call("interact", call);
    let ending = async {
        let command = ready.command().await;
        let watch = Stopwatch::start();
        daemon.begin_to_stop();
        let (code, reason) = ready.closed().await;
        assert_eq!((code, reason.is_empty()), (1001, false), "{reason}");
        assert_eq!(greeted.closed().await.0, 1001);
        watch.assert_under(1_000, "saying goodbye");
        daemon.stop().await;
        watch.assert_under(2_000, "the end");
        command
    };
    let (answer, command) = tokio::join!(waiting, ending);
    assert_eq!(answer["status"], "pending");
    assert_eq!(answer["correlation_id"], command.id.as_str());
    assert_eq!(silent.closed().await.0, 1001);
}

#[tokio::test]
async fn an_extension_that_was_allowed_connects_at_once_with_a_key_of_its_own() {
    let daemon = TestDaemon::start().await;
    let home = daemon.home();
    let shim = ExtensionBuilder::of(&daemon).extension(OTHER_ID);
    let other = origin(&format!("chrome-extension://{OTHER_ID}"));
    assert_eq!(raw(&daemon, &handshake(&other, PROTOCOL), b"").await.status, 403);
    assert!(home.allow_extension(OTHER_ID).unwrap());

    let mut with_our_key = shim.open().await;
    let challenge = with_our_key.challenge().await;
    let hello = with_our_key.hello_to(&challenge);
    with_our_key.send(&hello).await;
    assert_eq!(with_our_key.closed_without_a_frame().await.0, 4401, "our key is not its key");

    let mut extension = shim.key(home.auth().extension_key(OTHER_ID)).connect().await;
    McpClient::legacy(&daemon).script("1", 7).await;
    extension.run(&json!(1)).await;
}

#[tokio::test]
async fn many_malformed_connections_leave_a_daemon_that_works() {
    let daemon = TestDaemon::start().await;
    for _ in 0..300 {
        let mut extension = ExtensionBuilder::of(&daemon).open().await;
        extension.try_send_message(Message::text("{")).await;
        extension.breaks();
    }
    let mut extension = ExtensionBuilder::of(&daemon).connect().await;
    McpClient::legacy(&daemon).script("1", 7).await;
    extension.run(&json!(1)).await;
}
