//! The same frames over HTTP: who may begin a session, what is handed over and when, what
//! a broken connection loses (nothing), and every way in which a session ends.

use futures_util::future::select;
use hyper::StatusCode;
use serde_json::{Value, json};

use testkit::{
    DeliveredCommand, ExtensionBuilder, ExtensionSession, FrozenClock, HttpAnswer, McpClient,
    OWN_TOKEN, RawConnection, Stopwatch, TestDaemon, answering, authorization, authorized,
    commands, raw, soon, until,
};

const OUR_ID: &str = "cojpnlnglaiojkhnmkknknhgnedlcmlg";
const OTHER_ID: &str = "abcdefghijklmnopabcdefghijklmnop";

async fn is_connected(client: &McpClient) -> bool {
    let browsers = client.call("observe", json!({"what": "browsers"})).await;
    browsers["browsers"].as_array().unwrap().iter().any(|browser| browser["connected"] == true)
}

async fn is_disconnected(client: &McpClient) {
    soon("the end of the link", until(async || !is_connected(client).await)).await;
}

/// A poll that the daemon holds: it has ended another one.
async fn held<'a>(
    session: &'a ExtensionSession,
    query: &'a str,
) -> impl Future<Output = HttpAnswer> + 'a {
    let polls = select(Box::pin(session.poll(query)), Box::pin(session.poll(query))).await;
    let (ended, held) = polls.factor_first();
    assert_eq!(ended.frames().0, Vec::<Value>::new());
    held
}

/// Runs the next command to its end: what the daemon says to the claim and to the report.
async fn run(session: &ExtensionSession, command: &DeliveredCommand) -> [Vec<Value>; 2] {
    let claimed = session.say(&[command.answer("claim")]).await.frames().0;
    let report = command.frame("complete", json!({"result": 1}));
    [claimed, session.say(&[report]).await.frames().0]
}

#[tokio::test]
async fn a_command_takes_the_way_that_it_takes_on_a_socket() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    assert_eq!(session.token().len(), 43, "32 bytes in base64url without padding");
    let query = format!("wait_ms=25000&after={last}");
    let held = session.poll(&query);
    let submitted = client.script("1", 7);
    let (answer, id) = tokio::join!(soon("the command", held), submitted);
    let [command] = &commands(&answer.frames().0)[..] else { panic!("{answer:?}") };
    assert_eq!(command.id, id);
    let answers = run(&session, command).await;
    assert_eq!(answers, [vec![command.answer("go")], vec![command.answer("result_ack")]]);
    assert_eq!(client.outcome(&id).await["status"], "complete");
}

#[tokio::test]
async fn answers_come_at_once_beside_a_poll_that_is_held() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    client.script("1", 7).await;
    let (frames, last) = session.poll(&format!("wait_ms=9000&after={last}")).await.frames();
    let query = format!("wait_ms=25000&after={last}");
    let mut held = Box::pin(held(&session, &query).await);
    let watch = Stopwatch::start();
    let ran = async {
        let post = |frame| json!({"frames": [frame], "after": last});
        let command = &commands(&frames)[0];
        let go = session.post(&post(command.answer("claim"))).await.frames().0;
        assert_eq!(go, [command.answer("go")]);
        let report = command.frame("complete", json!({"result": 1}));
        let ack = session.post(&post(report)).await.frames().0;
        assert_eq!(ack, [command.answer("go"), command.answer("result_ack")], "none is lost");
    };
    tokio::select! {
        answer = &mut held => panic!("the poll ends for what the posts bring: {answer:?}"),
        () = ran => {}
    }
    watch.assert_under(1_000, "four answers");
    client.script("2", 7).await;
    let (frames, _) = soon("the poll", held).await.frames();
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "command").count(), 1);
}

#[tokio::test]
async fn a_hello_that_does_not_prove_the_key_is_turned_away_and_gets_nothing() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let shim = ExtensionBuilder::of(&daemon);
    let session = ExtensionSession::of(&shim);
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 5] = [
        ("a wrong mac", |hello| hello["mac"] = "A".repeat(43).into()),
        ("no mac", |hello| hello["mac"] = "".into()),
        ("another instance", |hello| hello["instance_id"] = "instance-9".into()),
        ("another nonce", |hello| hello["nonce"] = "A".repeat(43).into()),
        ("no hello", |hello| hello["type"] = "ready".into()),
    ];
    for (what, change) in changes {
        let challenge = session.challenge().await;
        let mut hello = answering(shim.hello_to(&challenge), &challenge);
        change(&mut hello);
        let answer = session.begin(&hello).await;
        assert_eq!(answer.close(), (403, 4401), "{what}");
        assert_eq!(answer.json().get("session"), None, "{what}");
    }
    let forger = shim.clone().key(daemon.home().auth().extension_key(OTHER_ID));
    let challenge = session.challenge().await;
    let forged = answering(forger.hello_to(&challenge), &challenge);
    assert_eq!(session.begin(&forged).await.close(), (403, 4401), "another key");
    let browsers = client.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(browsers["count"], 0, "none of them was ever a browser");
}

#[tokio::test(start_paused = true)]
async fn a_challenge_can_be_answered_once_by_whoever_asked_within_five_seconds() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    assert!(daemon.home().allow_extension(OTHER_ID).unwrap());
    let shim = ExtensionBuilder::of(&daemon);
    let session = ExtensionSession::of(&shim);
    let hello = |challenge: &str| answering(shim.hello_to(challenge), challenge);
    let challenge = session.challenge().await;
    assert_eq!(session.begin(&hello(&challenge)).await.status, StatusCode::OK);
    assert_eq!(session.begin(&hello(&challenge)).await.close(), (403, 4408), "again");
    assert_eq!(session.begin(&hello("AAAA")).await.close(), (403, 4408), "one of its own");
    assert_eq!(session.begin(&shim.hello_to(&challenge)).await.close(), (403, 4408), "none");
    let theirs = ExtensionSession::of(&shim.clone().extension(OTHER_ID)).challenge().await;
    assert_eq!(session.begin(&hello(&theirs)).await.close(), (403, 4408), "another's");
    let wrong = session.challenge().await;
    let mut unproven = hello(&wrong);
    unproven["mac"] = "A".into();
    assert_eq!(session.begin(&unproven).await.close(), (403, 4401));
    assert_eq!(session.begin(&hello(&wrong)).await.close(), (403, 4408), "after a wrong answer");
    let late = session.challenge().await;
    time.pass_ms(5_001).await;
    assert_eq!(session.begin(&hello(&late)).await.close(), (403, 4408), "late");
}

#[tokio::test]
async fn another_version_of_the_protocol_is_turned_away_with_both_named() {
    let daemon = TestDaemon::start().await;
    let shim = ExtensionBuilder::of(&daemon);
    let session = ExtensionSession::of(&shim);
    let challenge = session.challenge().await;
    let mut hello = answering(shim.hello_to(&challenge), &challenge);
    hello["protocol"] = json!([7, 8]);
    let answer = session.begin(&hello).await;
    assert_eq!(answer.close(), (409, 4409));
    let reason = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(["protocol 2", "7", "8"].iter().all(|version| reason.contains(version)), "{reason}");
}

/// A request of a session, with these headers and body.
fn lines<'a>(request: &'a str, headers: &'a [&'a str]) -> Vec<&'a str> {
    [request, "Host: HOST"].into_iter().chain(headers.iter().copied()).collect()
}

#[tokio::test]
async fn pages_and_other_extensions_get_403_at_each_of_its_routes_and_no_leave_to_ask() {
    let daemon = TestDaemon::start().await;
    let (session, _) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let token = authorization(session.token());
    let own = format!("Origin: chrome-extension://{OUR_ID}");
    let other = format!("Origin: chrome-extension://{OTHER_ID}");
    let evil = format!("Origin: chrome-extension://{OUR_ID}.evil");
    let own_page = format!("Origin: http://127.0.0.1:{}", daemon.port());
    let (json, length) = ("Content-Type: application/json", "Content-Length: 2");
    let (none, cross) = ("Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site");
    let get = |headers: &[&str]| (vec!["GET /frames HTTP/1.1".to_owned()], headers.join("\n"));
    let post = |path: &str, headers: &[&str]| {
        (vec![format!("POST {path} HTTP/1.1"), json.into(), length.into()], headers.join("\n"))
    };
    let cases = [
        ("a worker's poll", get(&[&token, none]), 200),
        ("a poll with the origin", get(&[&token, &own, none]), 200),
        ("a page's no-cors poll", get(&[&token, cross]), 403),
        ("a page's poll", get(&[&token, "Origin: http://evil.example", cross]), 403),
        ("our own page's poll", get(&[&token, &own_page, "Sec-Fetch-Site: same-origin"]), 403),
        ("a sandboxed frame's poll", get(&[&token, "Origin: null"]), 403),
        ("another extension's poll", get(&[&token, &other, none]), 403),
        ("an id with more behind it", get(&[&token, &evil]), 403),
        ("a poll without a token", get(&[none]), 401),
        ("a poll with the user's token", get(&[OWN_TOKEN, none]), 401),
        ("a poll with a wrong token", get(&["Authorization: Bearer x", none]), 401),
        ("a worker's post", post("/frames", &[&token, &own, none]), 400),
        ("a post without an origin", post("/frames", &[&token, none]), 403),
        ("a page's post", post("/frames", &[&token, "Origin: http://evil.example"]), 403),
        ("another extension's post", post("/frames", &[&token, &other]), 403),
        ("a post without a token", post("/frames", &[&own, none]), 401),
        ("a start without an origin", post("/session", &[none]), 403),
        ("a page's start", post("/session", &["Origin: http://evil.example", cross]), 403),
        ("another extension's start", post("/session", &[&other, none]), 403),
        ("a worker's start", post("/session", &[&own, none]), 400),
    ];
    for (what, (mut lines, headers), status) in cases {
        lines.insert(1, "Host: HOST".into());
        lines.extend(headers.split('\n').map(str::to_owned));
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let body: &[u8] = if lines[0].starts_with("POST") { b"{}" } else { b"" };
        let answer = raw(&daemon, &lines, body).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        assert!(
            !answer.headers.iter().any(|(name, _)| name.starts_with("access-control")),
            "{what}"
        );
    }
    for path in ["/session", "/frames"] {
        let preflight = format!("OPTIONS {path} HTTP/1.1");
        let asks = ["Origin: http://evil.example", "Access-Control-Request-Method: POST"];
        let answer = raw(&daemon, &lines(&preflight, &asks), b"").await;
        assert_eq!(answer.status, 403, "{path}");
        assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control")));
        let form = format!("POST {path} HTTP/1.1");
        let text = [own.as_str(), token.as_str(), "Content-Type: text/plain", length];
        assert_eq!(raw(&daemon, &lines(&form, &text), b"{}").await.status, 415, "{path}");
    }
}

#[tokio::test]
async fn an_extension_cannot_use_the_session_of_another() {
    let daemon = TestDaemon::start().await;
    assert!(daemon.home().allow_extension(OTHER_ID).unwrap());
    let (session, _) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let thief = ExtensionSession::of(&ExtensionBuilder::of(&daemon).extension(OTHER_ID))
        .with_token(session.token());
    assert_eq!(thief.say(&[]).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(session.say(&[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_a_broken_connection_took_along_comes_again_until_it_has_come() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    client.script("1", 7).await;
    client.script("2", 8).await;
    let query = format!("wait_ms=9000&after={last}");
    let mut first = Vec::new();
    for _ in 0..3 {
        let mut lost = RawConnection::open(&daemon).await;
        let head = authorized(&format!("GET /frames?{query}"), daemon.port(), session.token());
        lost.send(head + "\r\n").await;
        first = lost.answer().await.unwrap().json()["frames"].as_array().unwrap().clone();
        assert_eq!(first[0]["type"], "command");
    }
    let (again, last) = session.poll(&query).await.frames();
    assert_eq!(again[..first.len()], first, "the same, in the same order");
    assert_eq!(commands(&again).len(), 2);
    let (none, _) = session.poll(&format!("after={last}")).await.frames();
    assert_eq!(none, Vec::<Value>::new(), "what has come does not come again");
    let (none, _) = session.poll("").await.frames();
    assert_eq!(none, Vec::<Value>::new(), "nor to one that does not number");
}

#[tokio::test]
async fn a_newer_poll_ends_an_older_one_and_gets_what_comes() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let query = format!("wait_ms=25000&after={last}");
    let mut older = RawConnection::open(&daemon).await;
    let head = authorized(&format!("GET /frames?{query}"), daemon.port(), session.token());
    older.send(head + "\r\n").await;
    let newer = session.poll(&query);
    let ended = async {
        let answer = older.answer().await.unwrap();
        assert_eq!((answer.status, &answer.json()["frames"]), (200, &json!([])));
        client.script("1", 7).await
    };
    let (newer, id) = soon("both polls", async { tokio::join!(newer, ended) }).await;
    assert_eq!(commands(&newer.frames().0)[0].id, id);
}

#[tokio::test]
async fn a_post_that_is_sent_again_is_taken_once() {
    let daemon = TestDaemon::start().await;
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    // Three of these would end the session.
    let post = json!({"n": 1, "after": last, "frames": [{"no": "type"}, {"type": "claim",
        "correlation_id": "x", "attempt": 1}]});
    let first = session.post(&post).await.frames();
    for _ in 0..5 {
        assert_eq!(session.post(&post).await.frames(), first, "with the same answer");
    }
    let next = json!({"n": 2, "after": first.1, "frames": [{"no": "type"}]});
    assert_eq!(session.post(&next).await.status, StatusCode::OK, "the next one is taken");
}

#[tokio::test]
async fn a_third_malformed_frame_ends_the_session() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let malformed = json!({"type": "complete", "attempt": 1, "result": 1});
    session.say(&[malformed.clone(), malformed.clone()]).await;
    let (nacks, _) = session.poll(&format!("wait_ms=9000&after={last}")).await.frames();
    assert_eq!(nacks[0], json!({"type": "nack", "reason": "malformed"}));
    let held = session.poll("wait_ms=25000&after=99");
    let third = [malformed];
    let (held, _) = soon("the end", async { tokio::join!(held, session.say(&third)) }).await;
    assert_eq!(held.close(), (410, 1008));
    assert_eq!(session.say(&[]).await.close(), (410, 1008), "and it says so from then on");
    is_disconnected(&client).await;
}

#[tokio::test]
async fn what_is_no_exchange_of_frames_is_refused_and_the_session_goes_on() {
    let daemon = TestDaemon::start().await;
    let (session, _) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    for body in
        ["", "{", "[]", "null", "{}", r#"{"frames":{}}"#, r#"{"n":-1,"frames":[]}"#, "\u{0}"]
    {
        let answer = session.post_bytes(body.into()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body:?}");
    }
    assert_eq!(session.post_bytes(vec![0xff; 4]).await.status, StatusCode::BAD_REQUEST);
    let many = vec![json!({"type": "pong", "t": 1}); 65];
    assert_eq!(session.say(&many).await.status, StatusCode::BAD_REQUEST, "too many at once");
    assert_eq!(session.poll("wait_ms=x").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(session.say(&many[1..]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_body_of_eight_mib_is_taken_and_one_byte_more_is_refused() {
    let daemon = TestDaemon::start().await;
    let (session, _) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let body = |length: usize| {
        let fill = " ".repeat(length - r#"{"frames":[]}"#.len());
        format!(r#"{{"frames":[{fill}]}}"#).into_bytes()
    };
    const LIMIT: usize = 8 * 1024 * 1024;
    assert_eq!(session.post_bytes(body(LIMIT)).await.status, StatusCode::OK);
    let too_large = session.post_bytes(body(LIMIT + 1)).await;
    assert_eq!(too_large.status, StatusCode::PAYLOAD_TOO_LARGE);
    let hello = ExtensionSession::of(&ExtensionBuilder::of(&daemon));
    let answer = hello.begin(&json!({"type": "start", "fill": "x".repeat(70_000)})).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(session.say(&[]).await.status, StatusCode::OK, "the session goes on");
}

#[tokio::test]
async fn a_new_connection_of_the_browser_takes_over_on_whatever_carrier() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let shim = ExtensionBuilder::of(&daemon);
    let (first, last) = ExtensionSession::connect(&shim).await;
    let query = format!("wait_ms=25000&after={last}");
    let held = first.poll(&query);
    let second = ExtensionSession::connect(&shim);
    let (held, (second, last)) = soon("both", async { tokio::join!(held, second) }).await;
    assert_eq!(held.close(), (410, 4001));
    assert_eq!(first.say(&[json!({"type": "pong", "t": 1})]).await.close(), (410, 4001));
    let query = format!("wait_ms=25000&after={last}");
    let (held, mut socket) =
        soon("both", async { tokio::join!(second.poll(&query), shim.connect()) }).await;
    assert_eq!(held.close(), (410, 4001));
    let (third, _) = ExtensionSession::connect(&shim).await;
    assert_eq!(socket.closed().await.0, 4001);
    assert!(is_connected(&client).await, "the end of the old ones touches nothing");
    assert_eq!(third.say(&[]).await.status, StatusCode::OK);
}

#[tokio::test]
async fn commands_in_flight_go_along_from_one_carrier_to_the_other() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let shim = ExtensionBuilder::of(&daemon);
    let mut socket = shim.connect().await;
    let (claimed, running) = (client.script("1", 7).await, client.script("2", 8).await);
    let mut delivered = [socket.command().await, socket.command().await];
    delivered.sort_by_key(|command| command.id != claimed);
    for command in &delivered {
        socket.claim(command).await;
    }
    let state = |n: usize, state: &str| json!({"correlation_id": delivered[n].id, "attempt": delivered[n].attempt, "state": state});
    let session = ExtensionSession::open(&shim).await;
    assert_eq!(socket.closed().await.0, 4001);
    session.say(&[shim.ready_frame(&[state(0, "claimed"), state(1, "running")])]).await;
    let (frames, _) = session.poll("wait_ms=9000").await.frames();
    assert_eq!(frames, [delivered[0].answer("go")], "the one whose go may be lost, no other");
    let reports: Vec<_> =
        delivered.iter().map(|command| command.frame("complete", json!({"result": 1}))).collect();
    session.say(&reports).await;
    for id in [claimed, running] {
        assert_eq!(client.outcome(&id).await["status"], "complete");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_without_a_request_for_two_seconds_is_over_and_a_held_poll_is_one() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let query = format!("wait_ms=20000&after={last}");
    let held = session.poll(&query);
    let passing = async {
        // Once the poll is there, it alone keeps the session.
        soon("the poll", until(async || is_connected(&client).await)).await;
        for _ in 0..12 {
            time.pass_ms(1_700).await;
            assert!(is_connected(&client).await);
        }
    };
    let (held, ()) = tokio::join!(held, passing);
    held.frames();
    time.pass_ms(1_990).await;
    assert!(is_connected(&client).await);
    time.pass_ms(20).await;
    is_disconnected(&client).await;
    assert_eq!(session.poll("after=99").await.close(), (410, 1002));
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_polls_but_says_nothing_for_45_seconds_is_given_up() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let client = McpClient::legacy(&daemon);
    let (session, mut last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let mut pings = 0;
    for _ in 0..30 {
        time.pass_ms(1_490).await;
        let (frames, newest) = session.poll(&format!("after={last}")).await.frames();
        pings += frames.iter().filter(|frame| frame["type"] == "ping").count();
        last = newest;
    }
    assert_eq!(pings, 2, "it was asked for a sign of life");
    time.pass_ms(400).await;
    is_disconnected(&client).await;
    assert_eq!(session.poll("").await.close(), (410, 1002));
}

#[tokio::test]
async fn an_extension_that_fetches_nothing_overflows() {
    let daemon = TestDaemon::start().await;
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let claim = |n| json!({"type": "claim", "correlation_id": format!("x{n}"), "attempt": 1});
    let claims: Vec<_> = (0..64).map(claim).collect();
    let post = json!({"after": last, "frames": claims});
    for _ in 0..2 {
        let answer = session.post(&post).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    let mut end = session.post(&post).await;
    if end.status == StatusCode::OK {
        end = session.post(&post).await;
    }
    assert_eq!(end.close(), (410, 4429));
}

#[tokio::test]
async fn on_shutdown_a_held_poll_is_told_so() {
    let daemon = TestDaemon::start().await;
    let (session, last) = ExtensionSession::connect(&ExtensionBuilder::of(&daemon)).await;
    let query = format!("wait_ms=25000&after={last}");
    let held = held(&session, &query).await;
    let (held, ()) = tokio::join!(held, daemon.stop());
    assert_eq!(held.close(), (503, 1001));
}

#[tokio::test]
async fn sessions_that_are_over_make_room_for_new_ones() {
    let daemon = TestDaemon::start().await;
    let shim = ExtensionBuilder::of(&daemon);
    let (first, _) = ExtensionSession::connect(&shim).await;
    for _ in 0..300 {
        ExtensionSession::open(&shim).await;
    }
    assert_eq!(first.say(&[]).await.status, StatusCode::UNAUTHORIZED, "long forgotten");
    let (last, _) = ExtensionSession::connect(&shim).await;
    assert_eq!(last.say(&[]).await.status, StatusCode::OK);
}
