//! A command, a wait for a drawing and a job are one thing: whichever way they are looked at
//! (by id, in lists, by a call that waits, by notifications, as a task), they say the same at
//! each step.

use serde_json::{Value, json};

use testkit::{
    EventStream, ExtensionBuilder, FakeExtension, McpClient, TestDaemon, active_tab, body, soon,
    until,
};

const EVENTS: &str = "application/json, text/event-stream";

/// Everything that one command is seen by.
struct Views {
    client: McpClient,
    id: String,
    /// A call that waits for it, with progress on its own answer.
    waiting: EventStream,
    /// What the client is told of its jobs.
    notices: EventStream,
}

impl Views {
    async fn of(client: McpClient, id: &str) -> Self {
        let listen = [("mcp-protocol-version", "2025-11-25"), ("x-tabwire-jobs", "1")];
        let notices = client.listen("text/event-stream", &listen).await;
        let wait = json!({"what": "command_result", "correlation_id": id, "wait_ms": 30_000});
        let token = json!({"progressToken": "t"});
        let waiting = client.stream(("observe", wait), token, EVENTS, &[]).await;
        Self { client, id: id.to_owned(), waiting, notices }
    }

    async fn by_id(&self) -> Value {
        let what = json!({"what": "command_result", "correlation_id": self.id, "wait_ms": 0});
        self.client.call("observe", what).await
    }

    async fn as_task(&self) -> Value {
        let client = self.client.as_one_with_tasks();
        let answer = client.rpc("tasks/get", json!({"taskId": self.id})).await.json();
        answer["result"].clone()
    }

    async fn listed(&self) -> Vec<&'static str> {
        let lists = self.client.call("observe", json!({"what": "pending_commands"})).await;
        let has = |list: &str| {
            lists[list].as_array().unwrap().iter().any(|one| one["correlation_id"] == self.id)
        };
        ["pending", "completed", "failed"].into_iter().filter(|list| has(list)).collect()
    }

    /// It is not over, by any view.
    async fn are_pending(&self) {
        assert_eq!(self.by_id().await["status"], "pending");
        assert_eq!(self.listed().await, ["pending"]);
        let status = json!({"action": "query_status", "correlation_id": self.id});
        assert_eq!(self.client.call("configure", status).await["status"], "pending");
        assert_eq!(self.as_task().await["status"], "working");
    }

    /// The next notification on the call that waits is what the command is said to be at.
    async fn agree_on_progress(&mut self) {
        let told = soon("progress", self.waiting.message()).await.unwrap();
        assert_eq!(told["method"], "notifications/progress", "{told}");
        assert_eq!(told["params"]["_meta"]["tabwire/jobId"], self.id);
        let now = self.by_id().await;
        assert_eq!(now["status"], "pending");
        let (before, after) = (&told["params"]["progress"], &now["progress"]["progress"]);
        assert!(before.as_f64() <= after.as_f64(), "{told}, then {now}");
    }

    /// It ended, and every view says how in the same words.
    async fn agree_on_the_end(mut self, status: &str, list: &[&str]) -> Value {
        let answer = loop {
            let message = soon("the end", self.waiting.message()).await.unwrap();
            if message["method"].is_null() {
                break body(&message["result"]);
            }
        };
        assert_eq!(answer["status"], status, "{answer}");
        assert_eq!(self.by_id().await, answer, "by id");
        let call = json!({"action": "query_status", "correlation_id": self.id});
        assert_eq!(self.client.call("configure", call).await, answer, "as configure has it");
        assert_eq!(self.listed().await, list);
        let task = self.as_task().await;
        let as_task = if status == "cancelled" { "cancelled" } else { "completed" };
        assert_eq!(task["status"], as_task, "as a task");
        if as_task == "completed" {
            let told = body(&task["result"]);
            if self.id.starts_with("exec_") {
                // The client knows its id, and when it was.
                for (field, said) in told.as_object().unwrap() {
                    let by_id = &answer[field];
                    assert!(said == by_id || *said == by_id["value"], "{told} as a task: {answer}");
                }
            } else {
                assert_eq!(told, answer, "as a task");
            }
            assert_eq!(task["result"]["isError"], status == "error");
        }
        if self.id.starts_with("job_") {
            let told = loop {
                let message = soon("its notice", self.notices.message()).await.unwrap();
                if message["method"] == "notifications/tool_result" {
                    break message["params"].clone();
                }
            };
            assert_eq!(told["job_id"], self.id);
            for field in ["success", "data", "messages"] {
                assert_eq!(told["result"][field], answer[field], "{field}");
            }
        }
        answer
    }
}

async fn connected() -> (TestDaemon, FakeExtension) {
    let roots = vec![std::env::temp_dir()];
    let daemon = TestDaemon::with(|settings| settings.monitor_roots = roots).await;
    let shim = ExtensionBuilder::of(&daemon)
        .tabs(vec![active_tab(7)])
        .actions(&["execute_js", "draw_mode"]);
    let extension = shim.connect().await;
    (daemon, extension)
}

#[tokio::test]
async fn a_command_is_the_same_by_every_view() {
    let (daemon, mut extension) = connected().await;
    for (kind, fields, status, list) in [
        ("complete", json!({"result": {"success": true, "value": 1}}), "complete", "completed"),
        ("error", json!({"error": {"code": "x", "message": "no"}}), "error", "failed"),
    ] {
        let client = McpClient::legacy(&daemon).named(kind);
        let id = client.script("1", 7).await;
        let mut views = Views::of(client, &id).await;
        views.are_pending().await;
        let command = extension.command().await;
        extension.claim(&command).await;
        for part in [0.25, 0.75] {
            extension.pending(&command, json!({"progress": part, "message": "on"})).await;
            views.agree_on_progress().await;
        }
        views.are_pending().await;
        extension.report(&command, kind, fields).await;
        views.agree_on_the_end(status, &[list]).await;
    }
}

#[tokio::test]
async fn a_wait_for_a_drawing_is_the_same_by_every_view() {
    let (daemon, mut extension) = connected().await;
    for (n, (cancelled, status, list)) in
        [(None, "complete", "completed"), (Some("user"), "error", "failed")].into_iter().enumerate()
    {
        let client = McpClient::legacy(&daemon).named(status);
        let open = async {
            let command = extension.command().await;
            extension.report(&command, "complete", json!({"result": {"success": true}})).await;
        };
        let ask = client.call("analyze", json!({"what": "annotations", "wait": true}));
        let (asked, ()) = tokio::join!(ask, open);
        let id = asked["correlation_id"].as_str().unwrap().to_owned();
        let views = Views::of(client, &id).await;
        views.are_pending_beside_the_tools().await;
        let mut drawing = json!({
            "type": "annotations", "drawing_id": format!("{n:032x}"), "page_url": "http://a/",
            "annotations": [], "correlation_id": id,
        });
        if let Some(why) = cancelled {
            drawing["cancelled"] = why.into();
        }
        extension.send(&drawing).await;
        assert_eq!(extension.next().await["type"], "annotations_ack");
        views.agree_on_the_end(status, &[list]).await;
    }
}

impl Views {
    /// The same while the command that has opened the tools is listed too.
    async fn are_pending_beside_the_tools(&self) {
        soon("the tools are open", until(async || self.listed().await == ["pending"])).await;
        self.are_pending().await;
    }
}

#[tokio::test]
async fn a_job_is_the_same_by_every_view() {
    let (daemon, _extension) = connected().await;
    let folder = tempfile::tempdir().unwrap();
    let client = McpClient::legacy(&daemon).named("agent");
    let first = client.call("wksm_monitor_sync", json!({"path": folder.path()})).await;
    let views = Views::of(client, first["data"]["job_id"].as_str().unwrap()).await;
    let answer = views.agree_on_the_job_that_may_be_over().await;
    assert_eq!(answer["success"], true, "{answer}");

    let long = folder.path().join("long");
    std::fs::File::create(&long).unwrap().set_len(1 << 36).unwrap();
    let client = McpClient::legacy(&daemon).named("agent");
    let first = client.call("wksm_monitor_sync", json!({"path": long})).await;
    let mut views = Views::of(client, first["data"]["job_id"].as_str().unwrap()).await;
    views.are_pending().await;
    for _ in 0..2 {
        views.agree_on_progress().await;
    }
    let told = soon("a notice", views.notices.message()).await.unwrap();
    assert_eq!(told["method"], "notifications/progress");
    assert_eq!(told["params"]["job_id"], views.id);
    views.client.cancel(&views.id).await;
    let answer = views.agree_on_the_end("cancelled", &[]).await;
    assert_eq!(answer["success"], false, "{answer}");
    daemon.stop().await;
}

impl Views {
    /// A small job may be over before anybody looks: then no notice comes any more.
    async fn agree_on_the_job_that_may_be_over(&self) -> Value {
        let over = async || self.by_id().await["status"] == "complete";
        soon("the end of a small job", until(over)).await;
        assert_eq!(self.listed().await, ["completed"]);
        self.by_id().await
    }
}
