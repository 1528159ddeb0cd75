//! Extensions that poll with `POST /sync`, over real sockets: the traffic of two real ones is
//! replayed, and requests that are forged, cut off or too large get what they should.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::home::{LegacyApprover, LegacyMode};

use crate::polling::pending_queries::call_for;
use testkit::{
    ExtensionBuilder, McpClient, OWN_TOKEN, RawConnection, SyncingExtension, TestDaemon, cli_of,
    finish, raw, result_of, soon, until,
};

const EXTENSION: &str = SyncingExtension::ID;

/// How much of a body was recorded: what is left of a longer one is no JSON.
const RECORDED_CHARS: usize = 3_000;

/// From this time on an answer was held for want of a command.
const HELD_SECS: f64 = 0.4;

/// Replays the recorded requests in the order in which they were answered.
struct Replay<'a> {
    daemon: &'a TestDaemon,
    agent: McpClient,
    /// The live names for the recorded ones.
    names: BTreeMap<String, String>,
    /// The commands that were delivered: as recorded, and their live id.
    delivered: Vec<(Value, String)>,
    /// The second names of the recorded commands that a result was recorded for.
    answered: Vec<String>,
}

impl Replay<'_> {
    async fn send(&mut self, recorded: &Value) {
        let path = recorded["path"].as_str().unwrap();
        let mut body = recorded["body"].as_str().unwrap().to_owned();
        for (before, now) in &self.names {
            body = body.replace(&format!("\"{before}\""), &format!("\"{now}\""));
        }
        let given = self.given(recorded);
        if let Some(query) = &given {
            let (tool, mut call) = call_for(query);
            call["timeout_ms"] =
                query["params"].get("timeout_ms").unwrap_or(&json!(10_000)).clone();
            if tool == "analyze" {
                call.as_object_mut().unwrap().remove("timeout_ms");
            }
            let id =
                self.agent.call(tool, call).await["correlation_id"].as_str().unwrap().to_owned();
            self.delivered.push((query.clone(), id));
        }
        let mut connection = self.begin(recorded, &body).await;
        let was_held = recorded["held_s"].as_f64().unwrap() >= HELD_SECS;
        if path == "/sync" && given.is_none() && was_held {
            // It would be held now too; a recorded one breaks off just so.
            return;
        }
        let answer = connection.answer().await.expect("an answer");
        if recorded.get("body_cut_from").is_some() {
            assert_eq!(answer.status, 400, "half a body is none");
            let answer = self.make_good(recorded).await;
            self.take(&given, &answer);
            return;
        }
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let answer = answer.json();
        match path {
            "/sync" => self.take(&given, &answer),
            "/health" => assert_eq!(answer["status"], "ok"),
            "/api/extension-status" => {}
            _ => assert!(
                answer["received"].as_u64() > Some(0) && answer["rejected"] == 0,
                "{answer}"
            ),
        }
    }

    async fn begin(&self, recorded: &Value, body: &str) -> RawConnection {
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n",
            recorded["m"].as_str().unwrap(),
            recorded["path"].as_str().unwrap(),
            self.daemon.port()
        );
        let headers = recorded["headers"].as_object().unwrap().iter();
        for (name, value) in headers.filter(|(name, _)| *name != "Content-Length") {
            head += &format!("{name}: {}\r\n", value.as_str().unwrap());
        }
        if recorded["m"] == "POST" {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut connection = RawConnection::open(self.daemon).await;
        connection.send(head + "\r\n").await;
        connection.send(body).await;
        connection
    }

    /// The recorded command that this request was answered with, if it arrived.
    fn given(&self, recorded: &Value) -> Option<Value> {
        let answer: Value = serde_json::from_str(recorded["answer"].as_str().unwrap()).unwrap();
        let query = answer["commands"].get(0)?;
        self.answered.contains(&query["id"].as_str().unwrap().to_owned()).then(|| query.clone())
    }

    fn take(&mut self, given: &Option<Value>, answer: &Value) {
        assert_eq!((&answer["ack"], &answer["capture_overrides"]), (&json!(true), &json!({})));
        for field in ["server_time", "server_version"] {
            assert!(answer[field].is_string(), "{answer}");
        }
        let Some(query) = given else {
            assert_eq!(answer["commands"], json!([]));
            return;
        };
        let live = &answer["commands"][0];
        assert_eq!((&live["type"], &live["params"]), (&query["type"], &query["params"]));
        for name in ["id", "correlation_id"] {
            assert_eq!(live.get(name).is_some(), query.get(name).is_some(), "{live}");
            if let (Some(before), Some(now)) = (query[name].as_str(), live[name].as_str()) {
                self.names.insert(before.to_owned(), now.to_owned());
            }
        }
    }

    /// Brings the result that was in the part of a body that was not recorded: of the command
    /// that was given last.
    async fn make_good(&self, recorded: &Value) -> Value {
        let named = |(query, _): &(Value, String)| self.names.get(query["id"].as_str()?);
        let id = self.delivered.iter().rev().find_map(named).unwrap();
        let part = recorded["body"].as_str().unwrap();
        let (session, _) = part.split_once(",\"settings\"").unwrap();
        let result = json!({"id": id, "status": "complete", "result": {"success": true}});
        let body = format!("{session},\"command_results\":[{result}]}}");
        let answer = self.begin(recorded, &body).await.answer().await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

/// The second names of the commands whose results were recorded, also in a body that was cut:
/// there the command that ran is the one that was delivered last.
fn answered(requests: &[Value]) -> Vec<String> {
    let mut answered = Vec::new();
    let mut last_given = None;
    for request in requests {
        let body = request["body"].as_str().unwrap();
        if request.get("body_cut_from").is_some() {
            assert_eq!(body.chars().count(), RECORDED_CHARS);
            answered.extend(last_given.clone());
        } else if let Ok(body) = serde_json::from_str::<Value>(body) {
            let results = body["command_results"].as_array().cloned().unwrap_or_default();
            answered.extend(results.iter().map(|r| r["id"].as_str().unwrap().to_owned()));
        }
        if let Ok(answer) = serde_json::from_str::<Value>(request["answer"].as_str().unwrap())
            && let Some(id) = answer["commands"][0]["id"].as_str()
        {
            last_given = Some(id.to_owned());
        }
    }
    answered
}

async fn replay(recorded: &str, commands: usize) {
    let daemon = TestDaemon::start().await;
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let mut requests = recorded["requests"].as_array().unwrap().clone();
    let origins = requests.iter().filter_map(|request| request["headers"]["Origin"].as_str());
    for id in origins.filter_map(|origin| origin.strip_prefix("chrome-extension://")) {
        daemon.home().legacy().allow(id).unwrap();
    }
    let end =
        |request: &Value| request["t"].as_f64().unwrap() + request["held_s"].as_f64().unwrap();
    requests.sort_by(|a, b| end(a).total_cmp(&end(b)));
    let mut replay = Replay {
        daemon: &daemon,
        agent: McpClient::modern(&daemon).named("agent"),
        names: BTreeMap::new(),
        delivered: Vec::new(),
        answered: answered(&requests),
    };
    for request in &requests {
        replay.send(request).await;
    }
    assert_eq!(replay.delivered.len(), commands);
    for (query, id) in &replay.delivered {
        let outcome = replay.agent.outcome(id).await;
        let carriers: Vec<_> = outcome["trace"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|entry| entry["carrier"].as_str())
            .collect();
        assert_eq!(carriers, ["sync"], "once each: {outcome}");
        let script = query["params"]["script"].as_str().unwrap_or_default();
        if let Some(key) = script.strip_prefix("return (window.__c") {
            // A counter in the page: it would be 2 if it had run twice.
            assert_eq!(outcome["result"]["value"], 1, "{key}: {outcome}");
        }
        if outcome["status"] != "complete" {
            let is_back = query["params"]["action"] == "back";
            assert_eq!(is_back, outcome["reason"] == "browser_action_failed", "{outcome}");
            assert!(outcome["error"].as_str().unwrap().contains(' '), "no bare word: {outcome}");
        }
    }
    let count = async |what: &str| {
        let (mut count, mut cursor) = (0, json!("oldest"));
        loop {
            let asked = json!({"what": what, "cursor": cursor});
            let answer = replay.agent.call("observe", asked).await;
            let entries = answer["entries"].as_array().unwrap().len();
            if entries == 0 {
                return count;
            }
            (count, cursor) = (count + entries, answer["next_cursor"].clone());
        }
    };
    assert!(count("extension_logs").await >= 40 && count("logs").await >= 3);
}

#[tokio::test]
async fn every_request_of_a_recorded_session_of_v6_is_accepted_and_every_command_given_once() {
    replay(include_str!("../../fixtures/sync-6.0.3.json"), 33).await;
}

#[tokio::test]
async fn every_request_of_a_recorded_session_of_v8_is_accepted_and_every_command_given_once() {
    replay(include_str!("../../fixtures/sync-0.8.2.json"), 36).await;
}

#[tokio::test]
async fn a_held_request_is_answered_as_soon_as_there_is_a_command() {
    let daemon = TestDaemon::start().await;
    let newer = SyncingExtension::connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    let mut delays = Vec::new();
    for number in 0..20 {
        let mut held = newer.begin(newer.body(&json!({}))).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let script = format!("return {number}");
        let id = agent.submit(json!({"action": "execute_js", "script": script})).await;
        let answer = held.answer().await.unwrap().json();
        let query = &answer["commands"][0];
        assert_eq!(
            (&query["correlation_id"], &query["params"]["script"]),
            (&json!(id), &json!(script))
        );
        newer.sync(result_of(query, number)).await;
        let outcome = agent.outcome(&id).await;
        assert_eq!(outcome["result"]["value"], number);
        let trace = outcome["trace"].as_array().unwrap();
        let delivered = trace.iter().find(|entry| entry["phase"] == "delivered").unwrap();
        delays.push(delivered["after_ms"].as_f64().unwrap());
    }
    delays.sort_by(f64::total_cmp);
    // 40 ms are asked for; tests have ten times as long.
    assert!(delays[10] < 400.0, "{delays:?}");
}

#[tokio::test]
async fn a_connection_that_breaks_while_its_request_is_held_takes_no_command_along() {
    let daemon = TestDaemon::start().await;
    let newer = SyncingExtension::connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    for number in 0..5 {
        drop(newer.begin(newer.body(&json!({}))).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let id = agent.submit(json!({"action": "execute_js", "script": "1"})).await;
        let query = newer.taken().await;
        assert_eq!(query["correlation_id"], id);
        newer.sync(result_of(&query, number)).await;
        assert_eq!(agent.outcome(&id).await["result"]["value"], number);
    }
}

#[tokio::test]
async fn a_result_counts_after_a_restart_of_the_daemon_and_what_runs_is_not_given_again() {
    let daemon = TestDaemon::start().await;
    let newer = SyncingExtension::connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    let id = agent.submit(json!({"action": "execute_js", "script": "1"})).await;
    let query = newer.taken().await;
    let daemon = daemon.restart().await;
    let (newer, agent) =
        (SyncingExtension::new(&daemon), McpClient::modern(&daemon).named("agent"));
    for _ in 0..3 {
        let running = json!({"in_progress": [{"id": query["id"]}]});
        assert_eq!(newer.sync(running).await["commands"], json!([]), "it may be running");
    }
    assert_eq!(agent.status(&id).await["status"], "pending");
    newer.sync(result_of(&query, "kept")).await;
    let outcome = agent.outcome(&id).await;
    assert_eq!(outcome["result"]["value"], "kept", "{outcome}");
}

#[tokio::test]
async fn bad_bodies_lose_nothing_and_unknown_ids_are_answered() {
    let daemon = TestDaemon::start().await;
    let newer = SyncingExtension::connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    let id = agent.submit(json!({"action": "execute_js", "script": "1"})).await;
    let query = newer.taken().await;
    for body in ["", "{", "[]", r#"{"command_results":[]}"#, r#"{"session_id":""}"#] {
        let answer = newer.post(body).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]),
            (400, &json!("malformed_json")),
            "{body}"
        );
    }
    let answer = newer.post(vec![b' '; 8 * 1024 * 1024 + 1]).await;
    assert_eq!((answer.status, &answer.json()["error"]), (413, &json!("too_large")));
    // What cannot be read of a list costs nothing else of it.
    let result = &result_of(&query, 5.0)["command_results"][0];
    let fields = json!({
        "command_results": [{"id": "q_0"}, {"id": 7}, "x", result],
        "in_progress": [3], "extension_logs": {"no": "list"}, "last_command_ack": "q_0",
    });
    assert_eq!(newer.sync(fields).await["ack"], true);
    assert_eq!(agent.outcome(&id).await["result"]["value"], json!(5.0));
}

#[tokio::test]
async fn only_an_extension_that_may_poll_gets_a_command_or_reports_one() {
    let daemon = TestDaemon::start().await;
    let newer = SyncingExtension::connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    let id = agent.submit(json!({"action": "execute_js", "script": "secret()"})).await;
    let forged = result_of(&json!({"correlation_id": id}), "forged");
    let body = newer.body(&forged);
    let length = format!("Content-Length: {}", body.len());
    let ours = format!("Origin: chrome-extension://{EXTENSION}");
    for headers in [
        vec![],
        vec!["Origin: http://evil.example"],
        vec!["Origin: null"],
        vec![OWN_TOKEN],
        vec![ours.as_str(), "Sec-Fetch-Site: cross-site"],
    ] {
        let mut lines =
            vec!["POST /sync HTTP/1.1", "Host: HOST", "Content-Type: application/json", &length];
        lines.extend(&headers);
        let answer = raw(&daemon, &lines, body.as_bytes()).await;
        assert_eq!(answer.status, 403, "{headers:?}");
        assert!(!answer.body.contains("secret"), "{answer:?}");
    }
    // Another one that the person has let in, too.
    let other = SyncingExtension { extension: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ..newer };
    daemon.home().allow_extension(other.extension).unwrap();
    let query = newer.taken().await;
    assert_eq!(query["correlation_id"], id);
    assert_eq!(other.sync(forged).await["commands"], json!([]));
    assert_eq!(agent.status(&id).await["status"], "pending");
    newer.sync(result_of(&query, "own")).await;
    assert_eq!(agent.outcome(&id).await["result"]["value"], "own");
}

#[tokio::test]
async fn one_that_nobody_let_in_gets_empty_answers_and_goes_on_once_a_person_lets_it_in() {
    let daemon = TestDaemon::start().await;
    let newer = SyncingExtension::new(&daemon);
    let agent = McpClient::modern(&daemon).named("agent");
    let nothing = newer.sync(json!({})).await;
    assert_eq!((&nothing["ack"], &nothing["commands"]), (&json!(true), &json!([])));
    assert_eq!(nothing["next_poll_ms"], 1_000);
    let told = agent.call("interact", json!({"action": "execute_js", "script": "1"})).await;
    let id = told["correlation_id"].as_str().unwrap().to_owned();
    let notice = told["notice"].as_str().unwrap();
    assert!(notice.contains(&format!("`tabwire legacy allow {EXTENSION}`")), "{notice}");
    let forged = newer.sync(result_of(&json!({"correlation_id": id}), "forged")).await;
    assert_eq!(forged["commands"], json!([]));
    assert_eq!(agent.status(&id).await["status"], "pending");
    let large = newer.post(newer.body(&json!({"x": "x".repeat(300 * 1024)}))).await;
    assert_eq!(large.status, 413, "little of one that is not let in is read");
    daemon.home().legacy().allow(newer.extension).unwrap();
    let query = newer.taken().await;
    assert_eq!(query["correlation_id"], id);
    newer.sync(result_of(&query, "own")).await;
    assert_eq!(agent.outcome(&id).await["result"]["value"], "own");
    // What is held when a person takes it back gets no command any more.
    let mut held = newer.begin(newer.body(&json!({}))).await;
    let removed = finish(cli_of(&daemon, &["legacy", "remove", newer.extension])).await;
    assert_eq!(removed.code, Some(0), "{removed:?}");
    let named = format!("legacy-{EXTENSION}");
    let call = json!({"action": "execute_js", "script": "1", "browser": named});
    agent.call_raw("interact", call).await;
    assert_eq!(held.answer().await.unwrap().json()["commands"], json!([]));
    assert_eq!(newer.sync(json!({})).await["commands"], json!([]));
    let browsers = agent.call("observe", json!({"what": "browsers"})).await;
    assert_eq!(browsers["browsers"][0]["connected"], false, "{browsers}");
}

#[tokio::test]
async fn by_auto_one_that_syncs_first_is_let_in_until_our_own_connects_and_its_held_request_ends() {
    let daemon = TestDaemon::start().await;
    daemon.home().legacy().set_mode(LegacyMode::Auto).unwrap();
    let newer = SyncingExtension::new(&daemon);
    newer.sync(json!({"command_results": [{"id": "q_0", "result": 1}]})).await;
    let legacy = daemon.home().legacy().read().unwrap();
    assert_eq!(legacy.approver_of(EXTENSION), Some(LegacyApprover::Auto));
    let agent = McpClient::modern(&daemon).named("agent");
    let mut held = newer.begin(newer.body(&json!({}))).await;
    let browsers = async || {
        let browsers = agent.call("observe", json!({"what": "browsers"})).await;
        browsers["browsers"].as_array().unwrap().iter().any(|b| b["connected"] == true)
    };
    soon("the extension that polls", until(browsers)).await;
    let shim = ExtensionBuilder::of(&daemon).connect().await;
    let named = format!("legacy-{EXTENSION}");
    agent
        .call_raw("interact", json!({"action": "execute_js", "script": "1", "browser": named}))
        .await;
    let answer = held.answer().await.unwrap().json();
    assert_eq!(answer["commands"], json!([]), "it has lost its place");
    drop(shim);
}

#[tokio::test]
async fn one_that_is_switched_off_is_named_with_cause_and_next_step() {
    let daemon = TestDaemon::start().await;
    let newer = SyncingExtension::connect(&daemon).await;
    let agent = McpClient::modern(&daemon).named("agent");
    let off = json!({"settings": {"pilot_enabled": false}, "command_results": [{"id": "q_0"}]});
    newer.sync(off).await;
    let refused = agent.call_fails("interact", json!({"action": "page_info"})).await;
    assert_eq!(refused["error"], "control_switched_off");
    assert!(refused["hint"].as_str().unwrap().contains("popup"), "{refused}");
}
