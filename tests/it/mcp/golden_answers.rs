//! The answers whose fields Tabwire keeps for agents that were written for its predecessors:
//! `tests/fixtures/answers.json` has those fields. Answers can have more.

use serde_json::{Value, json};

use testkit::{ExtensionBuilder, FrozenClock, McpClient, TestDaemon, active_tab};

fn golden(name: &str) -> Value {
    let text = include_str!("../../fixtures/answers.json");
    let all: Value = serde_json::from_str(text).unwrap();
    assert!(all[name].is_object(), "there is no golden answer {name}");
    all[name].clone()
}

/// Whether an answer has all that the golden one has.
fn holds(answer: &Value, golden: &Value) -> bool {
    match golden {
        Value::Object(fields) => fields.iter().all(|(name, field)| holds(&answer[name], field)),
        Value::Array(list) => answer.as_array().is_some_and(|answers| {
            answers.len() == list.len()
                && answers.iter().zip(list).all(|(answer, golden)| holds(answer, golden))
        }),
        Value::String(kind) => match kind.as_str() {
            "<number>" => answer.is_number(),
            "<text>" => answer.as_str().is_some_and(|text| !text.is_empty()),
            "<id>" => answer.as_str().is_some_and(|id| id.contains('_') && !id.contains(' ')),
            "<time>" => {
                answer.as_str().is_some_and(|time| time.contains('T') && time.ends_with('Z'))
            }
            _ => answer == golden,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => answer == golden,
    }
}

#[track_caller]
fn assert_golden(name: &str, answer: &Value) {
    let golden = golden(name);
    assert!(holds(answer, &golden), "{name}: {answer} has not all of {golden}");
}

#[tokio::test(start_paused = true)]
async fn answers_about_commands_have_the_fields_that_agents_rely_on() {
    let time = FrozenClock::time().await;
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await;
    let client = McpClient::legacy(&daemon);
    let script = json!({"action": "execute_js", "script": "1", "trace": false});

    let submitted = client.call("interact", script.clone()).await;
    assert_golden("submitted", &submitted);
    let late = submitted["correlation_id"].as_str().unwrap().to_owned();
    let command = extension.command().await;
    extension.claim(&command).await;
    assert_golden("pending", &client.status(&late).await);
    let error =
        json!({"code": "execution_timeout", "message": "JavaScript execution exceeded 10s"});
    extension.report(&command, "timeout", json!({"error": error})).await;
    assert_golden("timeout", &client.status(&late).await);
    time.pass_ms(5_000).await;

    let unheard = client.submit(script.clone()).await;
    extension.command().await;
    time.pass_ms(3_001).await;
    assert_golden("expired", &client.status(&unheard).await);

    let complete = client.submit(script.clone()).await;
    extension.run(&json!({"success": true, "data": "result value"})).await;
    assert_golden("complete", &client.status(&complete).await);

    client.submit(script).await;
    let lists = client.call("observe", json!({"what": "pending_commands"})).await;
    assert_golden("pending_commands", &lists);
    let failed = client.call("observe", json!({"what": "failed_commands"})).await;
    assert_golden("failed_commands", &failed);

    let log = |n: usize| {
        json!({"t": 1_795_298_985_123_u64, "tab_id": 7, "level": "log", "source": "console",
               "text": format!("line {n}"), "url": "http://127.0.0.1/"})
    };
    let entries = [log(0), log(1)];
    extension.send(&json!({"type": "events", "stream": "logs", "entries": entries})).await;
    extension.so_far().await;
    let logs = json!({"what": "logs", "cursor": "oldest", "limit": 1, "trace": false});
    assert_golden("logs", &client.call("observe", logs).await);
}

#[tokio::test]
async fn answers_about_jobs_have_the_fields_that_agents_rely_on() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "a").unwrap();
    let roots = vec![folder.path().to_owned()];
    let daemon = TestDaemon::with(|settings| settings.monitor_roots = roots).await;
    let client = McpClient::modern(&daemon);
    let first = client.call("wksm_monitor_sync", json!({"path": folder.path()})).await;
    assert_golden("sync", &first);
    let text = first["messages"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Operation ") && text.contains(". Estimated runtime: "), "{text}");
    assert_eq!(first.as_object().unwrap().len(), 3, "each thing once: {first}");
    assert_golden("synced", &client.outcome(first["data"]["job_id"].as_str().unwrap()).await);
}

#[test]
fn an_answer_that_lacks_a_field_is_found() {
    let golden = golden("submitted");
    let answer = json!({"status": "queued", "correlation_id": "exec_1", "query_id": "q_1", "message": "x", "more": 1});
    assert!(holds(&answer, &golden));
    for field in ["status", "correlation_id", "query_id", "message"] {
        let mut less = answer.clone();
        less[field].take();
        assert!(!holds(&less, &golden), "{field}");
    }
}
