//! Clients that others wrote, against the program: what they see, and what the extension
//! sees. `make clients` installs them.

mod driver;
mod har;
mod inspector;

use serde_json::json;

use driver::{Client, Driver, Scenario, Transport};
pub(crate) use driver::{installed, node};
use testkit::{ExtensionBuilder, LEGACY, MODERN, ProgramSandbox, TOOLS, soon, until};

async fn sees_a_quarter(client: &mut Driver, of: &str) {
    let seen = client.event("progress").await;
    assert_eq!(seen["of"], of, "{seen}");
    assert_eq!(seen["progress"]["progress"], 0.25, "{seen}");
    assert_eq!(seen["progress"]["total"].as_f64(), Some(1.0), "{seen}");
    assert_eq!(seen["progress"]["message"], "a quarter", "{seen}");
}

/// Submits, waits with progress, and gives a call up.
async fn submits_waits_and_cancels(client: Client, scenario: Scenario<'_>, version: &str) {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut extension =
        ExtensionBuilder::at(daemon.port, &place.home()).connect().await.with_heartbeat();
    let scenario = Scenario { steps: &["tools", "submit", "cancel"], ..scenario };
    let mut client = client.start(&place, daemon.port, &scenario).await;
    assert_eq!(client.event("connected").await["version"], version);
    assert_eq!(client.event("tools").await["names"], json!(TOOLS));

    let submitted = client.event("submitted").await["result"].clone();
    assert_eq!(submitted["status"], "queued", "{submitted}");
    let command = extension.start_script("submitted").await;
    assert_eq!(submitted["correlation_id"], command.id);
    sees_a_quarter(&mut client, "wait").await;
    extension.complete(&command, &json!({"title": "Shop"})).await;
    let waited = client.event("waited").await["result"].clone();
    assert_eq!(waited["status"], "complete", "{waited}");
    assert_eq!(waited["result"], json!({"title": "Shop"}), "{waited}");

    let command = extension.start_script("given up").await;
    sees_a_quarter(&mut client, "cancel").await;
    extension.expect(&command.cancel("cancelled")).await;
    assert_eq!(client.event("gave_up").await["aborted"], true);
    client.event("nothing_pending").await;
    client.ends_well().await;
    extension.expect_nothing().await;
}

/// Has one call finished as a task, and cancels another.
async fn speaks_tasks(client: Client, transport: Transport) {
    let place = ProgramSandbox::new();
    let daemon = place.serve(&[]).await;
    let mut extension =
        ExtensionBuilder::at(daemon.port, &place.home()).connect().await.with_heartbeat();
    let scenario = Scenario { steps: &["tasks"], ..Scenario::new(transport, "modern") };
    let mut client = client.start(&place, daemon.port, &scenario).await;
    client.event("connected").await;

    let created = client.event("task").await;
    let command = extension.start_script("as a task").await;
    assert_eq!(created["task_id"], command.id, "{created}");
    assert_eq!(created["status"], "working", "{created}");
    extension.complete(&command, &json!(42)).await;
    assert_eq!(client.event("task_ended").await["status"], "completed");
    assert_eq!(client.event("finished").await["result"]["result"], 42);

    let created = client.event("task").await;
    let command = extension.start_script("cancelled as a task").await;
    assert_eq!(created["task_id"], command.id, "{created}");
    extension.expect(&command.cancel("cancelled")).await;
    assert_eq!(client.event("task_ended").await["status"], "cancelled");
    client.ends_well().await;
    extension.expect_nothing().await;
}

#[tokio::test]
async fn the_typescript_client_submits_waits_and_cancels_over_stdio() {
    let over_stdio = |era| Scenario::new(Transport::Stdio, era);
    submits_waits_and_cancels(Client::TypeScript, over_stdio("legacy"), LEGACY).await;
    submits_waits_and_cancels(Client::TypeScript, over_stdio("modern"), MODERN).await;
}

#[tokio::test]
async fn the_typescript_client_submits_waits_and_cancels_over_http() {
    let over_http = |era| Scenario::new(Transport::Http, era);
    submits_waits_and_cancels(Client::TypeScript, over_http("legacy"), LEGACY).await;
    submits_waits_and_cancels(Client::TypeScript, over_http("auto"), MODERN).await;
}

#[tokio::test]
async fn the_python_client_submits_waits_and_cancels_over_stdio() {
    let over_stdio = |era| Scenario::new(Transport::Stdio, era);
    submits_waits_and_cancels(Client::Python, over_stdio("legacy"), LEGACY).await;
    submits_waits_and_cancels(Client::Python, over_stdio("auto"), MODERN).await;
}

#[tokio::test]
async fn the_python_client_submits_waits_and_cancels_over_http() {
    let over_http = |era| Scenario::new(Transport::Http, era);
    submits_waits_and_cancels(Client::Python, over_http("legacy"), LEGACY).await;
    submits_waits_and_cancels(Client::Python, over_http("auto"), MODERN).await;
}

#[tokio::test]
async fn the_python_client_speaks_tasks() {
    speaks_tasks(Client::Python, Transport::Stdio).await;
    speaks_tasks(Client::Python, Transport::Http).await;
}

#[tokio::test]
async fn a_client_that_never_sends_the_version_header_is_served_all_the_same() {
    let scenario = Scenario::new(Transport::Http, "legacy");
    let scenario = Scenario { without_version_header: true, ..scenario };
    submits_waits_and_cancels(Client::TypeScript, scenario, LEGACY).await;
}

#[tokio::test]
async fn a_client_that_probes_in_a_throw_away_process_leaves_nothing_behind() {
    let place = ProgramSandbox::new();
    let scenario = Scenario { steps: &["tools"], ..Scenario::new(Transport::Stdio, "auto") };
    let mut client = Client::TypeScript.start(&place, 0, &scenario).await;
    assert_eq!(client.event("connected").await["version"], MODERN);
    assert_eq!(client.event("tools").await["names"], json!(TOOLS));
    client.ends_well().await;
    soon("the end of all bridges", until(async || place.processes().is_empty())).await;
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "no daemon ever ran");
}

#[tokio::test]
async fn a_client_may_initialize_after_it_has_discovered() {
    for transport in [Transport::Stdio, Transport::Http] {
        let place = ProgramSandbox::new();
        let daemon = place.serve(&[]).await;
        let steps = &["initialize_after_discover"];
        let scenario = Scenario { steps, ..Scenario::new(transport, "legacy") };
        let mut client = Client::Python.start(&place, daemon.port, &scenario).await;
        assert_eq!(client.event("discovered").await["versions"], json!([MODERN]));
        assert_eq!(client.event("connected").await["version"], LEGACY);
        assert_eq!(client.event("tools").await["names"], json!(TOOLS));
        assert_eq!(client.event("called").await["is_error"], false);
        client.ends_well().await;
    }
}
