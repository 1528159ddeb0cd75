//! What a person draws, from the call that asks for it to the file that keeps it. The
//! extension is a simulated one; `draw` has the real tools.

use serde_json::{Value, json};

use testkit::PollingExtension;
use testkit::{
    DeliveredCommand, ExtensionBuilder, FakeExtension, McpClient, TestDaemon, active_tab, body,
    cli_of, finish, soon, tab, until,
};

/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const ASK: &str = "analyze";

fn ids(n: u8) -> String {
    format!("{n:032x}")
}

/// A drawing of one mark.
fn drawing(n: u8, more: &Value) -> Value {
    let mut drawing = json!({
        "type": "annotations", "drawing_id": ids(n),
        "screenshot_data_url": format!("data:image/png;base64,{PNG}"),
        "annotations": [{"id": 1, "kind": "note", "text": format!("too small {n}"), "element": "e"}],
        "element_details": {"e": {"selector": "#buy", "role": "button"}},
        "page_url": "http://shop.test/", "tab_id": 7,
    });
    drawing.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    drawing
}

async fn connect(daemon: &TestDaemon) -> FakeExtension {
    ExtensionBuilder::of(daemon).actions(&["draw_mode", "execute_js"]).connect().await
}

/// Sends a drawing and reads its acknowledgement.
async fn send(extension: &mut FakeExtension, drawing: &Value) -> Value {
    extension.send(drawing).await;
    let mut ack = extension.next().await;
    while ack["type"] == "annotations_over" {
        // Of waits that it ends, too.
        ack = extension.next().await;
    }
    assert_eq!(ack["type"], "annotations_ack", "{ack}");
    assert_eq!(ack["drawing_id"], drawing["drawing_id"]);
    ack["error"].clone()
}

async fn kept(extension: &mut FakeExtension, drawing: &Value) {
    assert_eq!(send(extension, drawing).await, Value::Null);
}

fn wait(session: Option<&str>) -> Value {
    let mut call = json!({"what": "annotations", "wait": true});
    if let Some(session) = session {
        call["session"] = session.into();
    }
    call
}

/// Asks for a drawing, with an extension that opens the tools; what the call answers, and
/// what the extension was asked.
async fn ask(
    client: &McpClient,
    extension: &mut FakeExtension,
    call: Value,
) -> (String, Value, Value) {
    let opened = async {
        let command = extension.command().await;
        let value = json!({"open": true, "was_open": false});
        extension
            .report(&command, "complete", json!({"result": {"success": true, "value": value}}))
            .await;
        command.command
    };
    let (answer, command) = tokio::join!(client.call(ASK, call), opened);
    assert_eq!(answer["status"], "waiting_for_user", "{answer}");
    let id = answer["correlation_id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("ann_"), "{id}");
    (id, answer, command)
}

fn read(id: &str) -> Value {
    json!({"what": "command_result", "correlation_id": id})
}

#[tokio::test]
async fn a_person_is_asked_and_the_read_that_waits_has_the_drawing_at_once() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let (id, answer, command) = ask(&client, &mut extension, wait(None)).await;
    assert_eq!(command["type"], "draw_mode");
    assert_eq!(command["params"], json!({"correlation_id": id}));
    assert_eq!((&command["safe"], &command["tab_id"]), (&json!(true), &json!(7)));
    assert_eq!(answer["draw_mode"]["status"], "complete");
    let reading = soon("the drawing", client.call_raw("observe", read(&id)));
    let sending = kept_after_a_look(&mut extension, &client, &id);
    let (read, ()) = tokio::join!(reading, sending);
    let body = &body(&read);
    assert_eq!((&body["status"], &body["page"]), (&json!("complete"), &json!("*")));
    assert_eq!(body["annotations"][0]["text"], "too small 1");
    let page = &body["result"]["pages"][0];
    assert_eq!(page["element_details"]["e"]["selector"], "#buy");
    assert_eq!(page["page_url"], "http://shop.test/");
    assert!(page.get("annotations").is_none(), "they are told once: {page}");
    let file = std::fs::read(page["screenshot"].as_str().unwrap()).unwrap();
    assert!(file.starts_with(b"\x89PNG"));
    assert_eq!(read["content"][1]["type"], "image");
    assert_eq!(read["content"][1]["data"], PNG);
    daemon.stop().await;
}

/// Sends a drawing once the wait is known to be one.
async fn kept_after_a_look(extension: &mut FakeExtension, client: &McpClient, id: &str) {
    let looked = client.call("observe", json!({"what": "pending_commands"})).await;
    assert_eq!(looked["pending"][0]["correlation_id"], id, "{looked}");
    kept(extension, &drawing(1, &json!({"correlation_id": id}))).await;
}

#[tokio::test]
async fn what_was_drawn_before_anybody_asked_is_there_at_once_and_told_once() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::legacy(&daemon);
    assert_eq!(client.call(ASK, json!({"what": "annotations"})).await["status"], "none");
    kept(&mut extension, &drawing(1, &json!({"annot_session_name": "checkout"}))).await;
    kept(&mut extension, &drawing(2, &json!({"annot_session_name": "checkout"}))).await;
    kept(&mut extension, &drawing(3, &json!({}))).await;
    let answer = client.call(ASK, wait(Some("checkout"))).await;
    assert_eq!(answer["status"], "complete", "{answer}");
    assert_eq!(answer["result"]["session"], "checkout");
    let texts = |answer: &Value| -> Vec<String> {
        let all = answer["annotations"].as_array().unwrap().iter();
        all.map(|one| one["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&answer), ["too small 1", "too small 2"]);
    assert_eq!(answer["annotations"][1]["drawing_id"], ids(2), "several are told apart");
    let unread = async || {
        let list = client.call(ASK, json!({"what": "annotations", "manage": "list"})).await;
        let all = list["drawings"].as_array().unwrap().clone();
        all.iter().filter(|kept| kept["unread"] == true).count()
    };
    ask(&client, &mut extension, wait(Some("checkout"))).await;
    soon("both are marked", until(async || unread().await == 1)).await;
    let all = client.call(ASK, json!({"what": "annotations", "session": "checkout"})).await;
    assert_eq!(texts(&all), ["too small 1", "too small 2"], "a session can be read again");
    let daemon = daemon.restart().await;
    let client = McpClient::legacy(&daemon);
    let answer = client.call(ASK, wait(None)).await;
    assert_eq!(texts(&answer), ["too small 3"], "unread it stays, also over a restart");
    daemon.stop().await;
}

#[tokio::test]
async fn everybody_who_waits_for_a_session_has_the_drawing() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let clients =
        [McpClient::modern(&daemon).named("one"), McpClient::legacy(&daemon).named("two")];
    let mut waits = Vec::new();
    for client in &clients {
        waits.push(ask(client, &mut extension, wait(Some("checkout"))).await.0);
    }
    let drawn = drawing(1, &json!({"annot_session_name": "checkout"}));
    let (one, two, ()) = tokio::join!(
        soon("the first", clients[0].call("observe", read(&waits[0]))),
        soon("the second", clients[1].call("observe", read(&waits[1]))),
        kept(&mut extension, &drawn),
    );
    for read in [one, two] {
        assert_eq!(read["annotations"][0]["text"], "too small 1", "{read}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_drawing_that_comes_twice_is_one_and_ends_no_later_wait() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let (first, ..) = ask(&client, &mut extension, wait(None)).await;
    let drawn = drawing(1, &json!({"correlation_id": first}));
    kept(&mut extension, &drawn).await;
    let read_of = async |id: &str| client.call("observe", read(id)).await["status"].clone();
    assert_eq!(read_of(&first).await, "complete");
    let list = json!({"what": "annotations", "manage": "list"});
    let (second, ..) = ask(&client, &mut extension, wait(None)).await;
    kept(&mut extension, &drawn).await;
    assert_eq!(client.call(ASK, list.clone()).await["count"], 1);
    assert_eq!(client.status(&second).await["status"], "pending");
    daemon.stop().await;
}

#[tokio::test]
async fn who_gives_up_and_a_page_that_goes_away_end_the_wait_and_say_so() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    for (n, (why, reason)) in
        [("user", "cancelled_by_user"), ("page_closed", "page_closed")].into_iter().enumerate()
    {
        let (id, ..) = ask(&client, &mut extension, wait(None)).await;
        let mut given_up =
            json!({"type": "annotations", "annotations": [], "page_url": "http://a/"});
        given_up["drawing_id"] = ids(n.try_into().unwrap()).into();
        given_up["correlation_id"] = id.as_str().into();
        given_up["cancelled"] = why.into();
        kept(&mut extension, &given_up).await;
        let read = client.call("observe", read(&id)).await;
        assert_eq!((&read["status"], &read["reason"]), (&json!("error"), &json!(reason)), "{read}");
    }
    let list = client.call(ASK, json!({"what": "annotations", "manage": "list"})).await;
    assert_eq!(list["count"], 0, "nothing was drawn");
    daemon.stop().await;
}

#[tokio::test]
async fn what_keeps_the_tools_from_opening_is_said_and_the_wait_goes_on() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let alone = client.call(ASK, wait(None)).await;
    let message = alone["message"].as_str().unwrap();
    assert!(message.contains("for a browser") && message.contains("popup"), "{message}");
    assert!(!message.contains(".."), "{message}");
    let mut extension = connect(&daemon).await;
    let command = extension.command().await;
    assert_eq!(command.command["type"], "draw_mode", "it is asked as soon as it is there");
    let error =
        json!({"error": {"code": "restricted_page", "message": "this page cannot be drawn on"}});
    extension.report(&command, "error", error.clone()).await;
    let refusing = async {
        let command = extension.command().await;
        extension.report(&command, "error", error).await;
    };
    let (answer, ()) = tokio::join!(client.call(ASK, wait(None)), refusing);
    assert_eq!(answer["draw_mode"]["reason"], "restricted_page", "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("cannot be drawn on"));
    let id = answer["correlation_id"].as_str().unwrap();
    assert_eq!(client.status(id).await["status"], "pending");
    let old = ExtensionBuilder::of(&daemon).browser("old").actions(&["execute_js"]);
    let _old = old.connect().await;
    let mut call = wait(None);
    call["browser"] = "old".into();
    let refused = client.call(ASK, call).await;
    assert_eq!(refused["draw_mode"]["error"], "unsupported_action", "{refused}");
    daemon.stop().await;
}

#[tokio::test]
async fn a_wait_outlives_the_daemon_and_the_agent() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    let (id, ..) = ask(&agent, &mut extension, wait(Some("checkout"))).await;
    drop((agent, extension));
    let daemon = daemon.restart().await;
    let mut extension = connect(&daemon).await;
    let reborn = McpClient::modern(&daemon).named("another");
    assert_eq!(reborn.status(&id).await["status"], "pending");
    let drawn = drawing(1, &json!({"annot_session_name": "checkout"}));
    let sending = kept(&mut extension, &drawn);
    let (read, ()) = tokio::join!(soon("the drawing", reborn.call("observe", read(&id))), sending);
    assert_eq!(read["annotations"][0]["text"], "too small 1");
    daemon.stop().await;
}

#[tokio::test]
async fn an_old_extension_posts_the_drawing_that_it_was_asked_for_and_a_large_one_is_kept_whole() {
    let daemon = TestDaemon::start().await;
    let old = PollingExtension::connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let mut large = drawing(1, &json!({}));
    let picture = [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![7; 8 << 20]].concat();
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &picture);
    large["screenshot_data_url"] = format!("data:image/png;base64,{encoded}").into();
    large.as_object_mut().unwrap().shift_remove("drawing_id");
    let post = async || old.post("/draw-mode/complete", large.to_string()).await.json();
    let unasked = post().await;
    assert_eq!((&unasked["accepted"], &unasked["reason"]), (&json!(false), &json!("no_wait")));
    let asked = client.call(ASK, wait(None)).await;
    let id = asked["correlation_id"].as_str().unwrap().to_owned();
    assert_eq!(post().await["accepted"], true);
    assert_eq!(post().await["accepted"], false, "the wait is over");
    let list = client.call(ASK, json!({"what": "annotations", "manage": "list"})).await;
    assert_eq!(list["count"], 1, "{list}");
    let result = client.call_raw("observe", read(&id)).await;
    let answer = &body(&result);
    let path = answer["result"]["pages"][0]["screenshot"].as_str().unwrap();
    assert!(std::fs::read(path).unwrap() == picture);
    assert!(result["content"].get(1).is_none(), "too large to be shown, it is named");
    daemon.stop().await;
}

#[tokio::test]
async fn an_old_extension_draws_for_no_wait_that_our_own_holds_and_for_its_own_after_a_restart() {
    let daemon = TestDaemon::start().await;
    let old = PollingExtension::connect(&daemon).await;
    let client = McpClient::modern(&daemon).named("agent");
    let its = client.call(ASK, wait(Some("its"))).await["correlation_id"].clone();
    let mut extension = connect(&daemon).await;
    let (ours, ..) = ask(&client, &mut extension, wait(Some("ours"))).await;
    for more in [
        json!({"annot_session_name": "ours"}),
        json!({"correlation_id": ours}),
        json!({"annot_session_name": "ours", "cancelled": "user"}),
        json!({"annot_session_name": "other"}),
    ] {
        let mut forged = drawing(9, &more);
        if more.get("cancelled").is_some() {
            forged["annotations"] = json!([]);
        }
        let answer = old.post("/draw-mode/complete", forged.to_string()).await.json();
        assert_eq!(answer["accepted"], false, "{more}: {answer}");
    }
    assert_eq!(client.status(&ours).await["status"], "pending");
    drop(extension);
    let daemon = daemon.restart().await;
    let client = McpClient::modern(&daemon).named("agent");
    let old = PollingExtension::connect(&daemon).await;
    let drawn = drawing(1, &json!({"annot_session_name": "its"}));
    let answer = old.post("/draw-mode/complete", drawn.to_string()).await.json();
    assert_eq!(answer["accepted"], true, "{answer}");
    let read = client.call("observe", read(its.as_str().unwrap())).await;
    assert_eq!(read["annotations"][0]["text"], "too small 1", "{read}");
    assert_eq!(client.status(&ours).await["status"], "pending");
    daemon.stop().await;
}

#[tokio::test]
async fn a_drawing_that_cannot_be_kept_is_refused_until_it_can_and_nothing_is_told_of_it() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let (id, ..) = ask(&client, &mut extension, wait(None)).await;
    let folder = daemon.home().dir().join("drawings");
    std::fs::write(&folder, "in the way").unwrap();
    let drawn = drawing(1, &json!({"correlation_id": id}));
    let refused = send(&mut extension, &drawn).await;
    assert_eq!(refused["code"], "storage_unavailable", "{refused}");
    assert_eq!(client.status(&id).await["status"], "pending");
    std::fs::remove_file(&folder).unwrap();
    kept(&mut extension, &drawn).await;
    assert_eq!(client.status(&id).await["status"], "complete");
    daemon.stop().await;
}

#[tokio::test]
async fn another_owner_neither_sees_nor_gets_what_was_drawn() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let stranger = McpClient::modern(&daemon).with_token(daemon.token_of("stranger"));
    let (id, ..) = ask(&stranger, &mut extension, wait(Some("checkout"))).await;
    kept(&mut extension, &drawing(1, &json!({"annot_session_name": "checkout"}))).await;
    assert_eq!(stranger.status(&id).await["status"], "pending", "it was drawn for the user");
    kept(&mut extension, &drawing(2, &json!({"correlation_id": id}))).await;
    assert_eq!(stranger.status(&id).await["annotations"][0]["text"], "too small 2");
    let result = client.call_raw("observe", read(&id)).await;
    assert_eq!(body(&result)["error"], "not_found");
    let list = json!({"what": "annotations", "manage": "list"});
    assert_eq!(client.call(ASK, list.clone()).await["drawings"][0]["drawing_id"], ids(1));
    assert_eq!(stranger.call(ASK, list).await["drawings"][0]["drawing_id"], ids(2));
    daemon.stop().await;
}

#[tokio::test]
async fn of_drawings_in_other_tabs_an_owner_of_its_own_tabs_hears_reads_and_deletes_none() {
    let daemon = TestDaemon::start().await;
    let mut extension =
        ExtensionBuilder::of(&daemon).actions(&["draw_mode", "tab_open"]).connect().await;
    let (list, clear) = (
        json!({"what": "annotations", "manage": "list"}),
        json!({"what": "annotations", "manage": "clear"}),
    );
    let client = McpClient::modern(&daemon);
    kept(&mut extension, &drawing(1, &json!({}))).await;
    assert_eq!(client.call(ASK, list.clone()).await["count"], 1, "it sees every tab");
    let ran = finish(cli_of(&daemon, &["scope", "user", "own"])).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(client.call(ASK, list.clone()).await["count"], 0);
    // Its own tab, in which it asks.
    let id = client.submit(json!({"action": "tab_open"})).await;
    let command = extension.command().await;
    extension.claim(&command).await;
    let opened = json!({"type": "tab_opened", "correlation_id": command.id, "tab_id": 9});
    extension.send(&opened).await;
    extension.set_tabs(&[active_tab(7), tab(8), tab(9)]).await;
    let value = json!({"success": true, "value": {"tab_id": 9}, "type": "object"});
    extension.report(&command, "complete", json!({"result": value})).await;
    client.outcome(&id).await;
    extension.so_far().await;
    let asking = client.call(ASK, wait(None));
    let opening = async {
        let mut frame = extension.next().await;
        while frame["type"] != "command" {
            frame = extension.next().await;
        }
        let command = DeliveredCommand::of(&frame);
        let value = json!({"open": true, "was_open": false});
        let result = json!({"result": {"success": true, "value": value}});
        extension.report(&command, "complete", result).await;
        command.command
    };
    let (asked, command) = tokio::join!(asking, opening);
    assert_eq!((&command["tab_id"], &command["tabs"]), (&json!(9), &json!([9])));
    let id = asked["correlation_id"].as_str().unwrap().to_owned();
    // The person draws elsewhere, and gives a drawing up there.
    kept(&mut extension, &drawing(2, &json!({"tab_id": 8}))).await;
    let given_up = json!({"type": "annotations", "drawing_id": ids(3), "tab_id": 8,
                          "cancelled": "user", "annotations": [], "page_url": ""});
    let _ = send(&mut extension, &given_up).await;
    assert_eq!(client.status(&id).await["status"], "pending");
    assert_eq!(client.call(ASK, clear.clone()).await["deleted"], 0);
    kept(&mut extension, &drawing(4, &json!({"tab_id": 9}))).await;
    let told = client.call("observe", read(&id)).await;
    assert_eq!(told["annotations"][0]["text"], "too small 4", "{told}");
    let listed = client.call(ASK, list).await;
    assert_eq!(
        (&listed["count"], &listed["drawings"][0]["drawing_id"]),
        (&json!(1), &json!(ids(4)))
    );
    assert_eq!(client.call(ASK, clear).await["deleted"], 1);
    // The person has all the others.
    let kept = finish(cli_of(&daemon, &["drawings"])).await.stdout;
    assert!(kept.contains(&ids(1)) && kept.contains(&ids(2)), "{kept}");
    daemon.stop().await;
}

#[tokio::test]
async fn drawings_are_deleted_by_their_session() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    kept(&mut extension, &drawing(1, &json!({"annot_session_name": "checkout"}))).await;
    kept(&mut extension, &drawing(2, &json!({}))).await;
    let clear = json!({"what": "annotations", "session": "checkout", "manage": "clear"});
    assert_eq!(client.call(ASK, clear.clone()).await["deleted"], 1);
    assert_eq!(client.call(ASK, clear).await["deleted"], 0);
    let list = client.call(ASK, json!({"what": "annotations", "manage": "list"})).await;
    assert_eq!((&list["count"], &list["drawings"][0]["drawing_id"]), (&json!(1), &json!(ids(2))));
    for (wrong, error) in [
        (json!({"what": "annotations", "session": " "}), "invalid_argument"),
        (json!({"what": "annotations", "manage": "burn"}), "invalid_argument"),
        (json!({"what": "annotations", "selector": "p"}), "unknown_argument"),
        (json!({"what": "dom", "selector": "p", "session": "x"}), "unknown_argument"),
    ] {
        assert_eq!(client.call_fails(ASK, wrong.clone()).await["error"], error, "{wrong}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_can_block_for_the_drawing_and_cancelling_the_wait_is_told() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let mut blocking = wait(None);
    blocking["wait_ms"] = 8_000.into();
    let drawing = async {
        let command = extension.command().await;
        extension.report(&command, "complete", json!({"result": {"success": true}})).await;
        kept(&mut extension, &drawing(1, &json!({}))).await;
    };
    let (answer, ()) = tokio::join!(client.call(ASK, blocking), drawing);
    assert_eq!(answer["annotations"][0]["text"], "too small 1");
    let (id, ..) = ask(&client, &mut extension, wait(None)).await;
    let cancelled = client.cancel(&id).await;
    assert_eq!(
        (&cancelled["status"], &cancelled["may_have_run"]),
        (&json!("cancelled"), &json!(false))
    );
    let over = async { while extension.next().await["correlation_ids"] != json!([id]) {} };
    soon("the browser hears of it", over).await;
    daemon.stop().await;
}

/// Asks for a drawing under an idempotency key.
async fn under_key(client: &McpClient, arguments: &Value) -> Value {
    let params = json!({"name": ASK, "arguments": arguments});
    let (headers, message) = client.message(&json!(1), "tools/call", params);
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("x-tabwire-idempotency-key", "the-same"));
    let answer = client.post(&headers, message.to_string().into_bytes()).await;
    body(&answer.json()["result"])
}

#[tokio::test]
async fn a_call_made_again_under_its_key_takes_nothing_that_was_drawn_since() {
    for call in [wait(None), json!({"what": "annotations"})] {
        let daemon = TestDaemon::start().await;
        let mut extension = connect(&daemon).await;
        let client = McpClient::legacy(&daemon);
        kept(&mut extension, &drawing(1, &json!({}))).await;
        let first = under_key(&client, &call).await;
        assert_eq!(first["annotations"][0]["text"], "too small 1", "{first}");
        kept(&mut extension, &drawing(2, &json!({}))).await;
        let again = under_key(&client, &call).await;
        assert_eq!(again["annotations"], first["annotations"], "the same call: {again}");
        let next = client.call(ASK, wait(None)).await;
        assert_eq!(next["annotations"][0]["text"], "too small 2", "{next}");
        daemon.stop().await;
    }
}

#[tokio::test]
async fn who_gives_up_on_one_page_ends_no_wait_for_another() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let (first, ..) = ask(&client, &mut extension, wait(None)).await;
    let (second, ..) = ask(&client, &mut extension, wait(None)).await;
    let given_up = json!({"annotations": [], "screenshot_data_url": "", "cancelled": "page_closed", "correlation_id": first});
    kept(&mut extension, &drawing(1, &given_up)).await;
    assert_eq!(client.status(&first).await["reason"], "page_closed");
    assert_eq!(client.status(&second).await["status"], "pending");
    daemon.stop().await;
}

#[tokio::test]
async fn what_was_just_read_is_said_to_be_read_and_not_told_again() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    for n in 1..=20 {
        kept(&mut extension, &drawing(n, &json!({}))).await;
        let told = client.call(ASK, wait(None)).await;
        assert_eq!(told["result"]["pages"].as_array().map(Vec::len), Some(1), "{n}: {told}");
        let list = client.call(ASK, json!({"what": "annotations", "manage": "list"})).await;
        let unread = list["drawings"].as_array().unwrap().iter().filter(|it| it["unread"] == true);
        assert_eq!(unread.count(), 0, "{list}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_call_that_the_disk_has_failed_leaves_no_wait_behind() {
    let daemon = TestDaemon::start().await;
    let client = McpClient::modern(&daemon);
    let folder = daemon.home().dir().join("drawings");
    std::fs::write(&folder, "in the way").unwrap();
    let failed = client.call_fails(ASK, wait(None)).await;
    assert_eq!(failed["error"], "storage_unavailable", "{failed}");
    let left = client.call("observe", json!({"what": "pending_commands"})).await;
    assert_eq!(left["pending"], json!([]), "{left}");
    daemon.stop().await;
}

#[tokio::test]
async fn what_was_read_after_a_restart_is_not_told_again() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let (id, ..) = ask(&client, &mut extension, wait(None)).await;
    kept(&mut extension, &drawing(1, &json!({"correlation_id": id}))).await;
    drop(extension);
    let daemon = daemon.restart().await;
    let mut extension = connect(&daemon).await;
    let client = McpClient::modern(&daemon);
    let read = client.call("observe", read(&id)).await;
    assert_eq!(read["annotations"][0]["text"], "too small 1", "{read}");
    ask(&client, &mut extension, wait(None)).await;
    daemon.stop().await;
}

#[tokio::test]
async fn of_many_drawings_at_once_those_that_are_too_many_are_to_be_sent_again() {
    let daemon = TestDaemon::start().await;
    let mut extension = connect(&daemon).await;
    let folder = daemon.home().dir().join("drawings");
    kept(&mut extension, &drawing(1, &json!({}))).await;
    // A disk that does not answer: whoever reads this file waits for somebody who writes it.
    let stuck = folder.join("user").join(format!("{}.json", ids(2)));
    let made = tokio::process::Command::new("mkfifo").arg(&stuck).status().await.unwrap();
    assert!(made.success(), "{made}");
    for n in 2..=5 {
        extension.send(&drawing(n, &json!({}))).await;
    }
    let refused = send(&mut extension, &drawing(6, &json!({}))).await;
    assert_eq!(refused["code"], "storage_unavailable", "{refused}");
    let written = tokio::task::spawn_blocking(move || std::fs::write(&stuck, "{}"));
    let mut answered = Vec::new();
    for _ in 2..=5 {
        let ack = extension.next().await;
        assert_eq!((&ack["type"], &ack["error"]), (&json!("annotations_ack"), &Value::Null));
        answered.push(ack["drawing_id"].as_str().unwrap().to_owned());
    }
    written.await.unwrap().unwrap();
    answered.sort();
    assert_eq!(answered, [2, 3, 4, 5].map(ids));
    kept(&mut extension, &drawing(6, &json!({}))).await;
    daemon.stop().await;
}
