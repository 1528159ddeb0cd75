//! The view of a command in the chat of its client (MCP Apps): who is told of it, and the phases that it shows.

use serde_json::{Value, json};

use testkit::{
    ExtensionBuilder, McpClient, ProgramSandbox, RowReport, StdioClient, TestDaemon, active_tab,
    body, soon, views_extension,
};

const PAGE: &str = "ui://tabwire/command";
const TIMELINE: &str = "tabwire/command";

/// The longest list of the five tools, and of the core of the split ones. The name of the view is in `_meta`,
/// which costs a model nothing, so that may take the reserve.
const LISTS: [(&str, usize); 2] = [("compact", 12 * 1024), ("split", 20 * 1024)];

fn handshake(extension: &Value) -> Value {
    json!({
        "protocolVersion": "2025-11-25", "clientInfo": {"name": "it", "version": "1"},
        "capabilities": {"extensions": {"io.modelcontextprotocol/ui": extension}},
    })
}

/// A legacy client that shows views.
async fn legacy_viewer(daemon: &TestDaemon) -> McpClient {
    let client = McpClient::legacy(daemon).named("viewer");
    let answer = client.rpc("initialize", handshake(&views_extension())).await.json();
    assert_eq!(answer["result"]["capabilities"]["resources"], json!({}), "{answer}");
    client
}

async fn tools_of(client: &McpClient, surface: &str) -> Value {
    let (headers, message) = client.message(&json!(1), "tools/list", json!({}));
    let own = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<_> = own.chain([("x-tabwire-tools", surface)]).collect();
    let answer = client.post(&headers, message.to_string().into_bytes()).await;
    answer.json()["result"]["tools"].clone()
}

/// The same tools without a view; how many had one.
fn without_views(mut tools: Value) -> (Value, usize) {
    let mut count = 0;
    for tool in tools.as_array_mut().unwrap() {
        let Some(meta) = tool["_meta"].as_object_mut() else {
            tool.as_object_mut().unwrap().remove("_meta");
            continue;
        };
        if let Some(view) = meta.remove("ui") {
            assert_eq!(view, json!({"resourceUri": PAGE, "visibility": ["model"]}));
            count += 1;
        }
        if meta.is_empty() {
            tool.as_object_mut().unwrap().remove("_meta");
        }
    }
    (tools, count)
}

#[tokio::test]
async fn tools_name_the_view_to_clients_that_show_views_and_are_the_same_bytes_to_others() {
    let daemon = TestDaemon::start().await;
    let legacy = legacy_viewer(&daemon).await;
    for (surface, longest) in LISTS {
        let plain = tools_of(&McpClient::modern(&daemon), surface).await;
        assert!(!plain.to_string().contains("ui://"), "{surface}");
        assert_eq!(tools_of(&McpClient::legacy(&daemon), surface).await, plain, "{surface}");
        let named = tools_of(&McpClient::modern(&daemon).with_views(), surface).await;
        assert_eq!(tools_of(&legacy, surface).await, named, "{surface}");
        let length = named.to_string().len();
        assert!(length <= longest, "{surface}: {length} bytes");
        let (rest, count) = without_views(named.clone());
        assert_eq!(rest.to_string(), plain.to_string(), "{surface}");
        let all = named.as_array().unwrap().len();
        assert!(0 < count && count < all, "{surface}: {count} of {all}");
    }
    let compact = tools_of(&legacy, "compact").await;
    let viewed = compact.as_array().unwrap().iter().filter(|tool| tool["_meta"]["ui"].is_object());
    let viewed: Vec<_> = viewed.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(viewed, ["interact", "observe", "analyze", "wksm_monitor_sync"]);
}

#[tokio::test]
async fn what_a_legacy_client_declared_last_counts() {
    let daemon = TestDaemon::start().await;
    let client = legacy_viewer(&daemon).await;
    let other = McpClient::legacy(&daemon).named("other");
    assert!(!tools_of(&other, "compact").await.to_string().contains("ui://"));
    let answer = client.rpc("initialize", handshake(&json!({"mimeTypes": []}))).await.json();
    assert_eq!(answer["result"]["capabilities"], json!({"tools": {"listChanged": false}}));
    assert!(!tools_of(&client, "compact").await.to_string().contains("ui://"));
}

#[tokio::test]
async fn the_page_is_read_by_its_address_in_both_eras_and_lists_are_for_clients_that_show_it() {
    let daemon = TestDaemon::start().await;
    let modern = McpClient::modern(&daemon).with_views();
    let discovered = modern.rpc("server/discover", json!({})).await.json();
    let capabilities = &discovered["result"]["capabilities"];
    assert_eq!(capabilities["resources"], json!({}));
    assert_eq!(capabilities["extensions"]["io.modelcontextprotocol/ui"], json!({}));
    let legacy = legacy_viewer(&daemon).await;
    let mut pages = Vec::new();
    for (client, missing) in [(&modern, -32602), (&legacy, -32002)] {
        let listed = client.rpc("resources/list", json!({})).await.json();
        let resource = listed["result"]["resources"][0].clone();
        assert_eq!(resource["uri"], PAGE, "{listed}");
        assert_eq!(resource["mimeType"], "text/html;profile=mcp-app");
        assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1);
        let templates = client.rpc("resources/templates/list", json!({})).await.json();
        assert_eq!(templates["result"]["resourceTemplates"], json!([]));
        let cursor = client.rpc("resources/list", json!({"cursor": "2"})).await;
        assert_eq!(cursor.error_code(), Some(-32602));
        let read = client.rpc("resources/read", json!({"uri": PAGE})).await.json();
        let content = &read["result"]["contents"][0];
        assert_eq!(
            (&content["uri"], &content["mimeType"]),
            (&resource["uri"], &resource["mimeType"])
        );
        assert_eq!(content["_meta"], resource["_meta"]);
        let csp = &content["_meta"]["ui"]["csp"];
        for kind in ["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"] {
            assert_eq!(csp[kind], json!([]), "no network");
        }
        assert!(content["_meta"]["ui"].get("permissions").is_none());
        pages.push(content["text"].as_str().unwrap().to_owned());
        for uri in ["ui://tabwire/other", "ui://tabwire/command/", "file:///etc/passwd", ""] {
            let answer = client.rpc("resources/read", json!({"uri": uri})).await;
            assert_eq!(answer.status.as_u16(), 200);
            assert_eq!(answer.error_code(), Some(missing), "{uri}");
        }
        let wrong = client.rpc("resources/read", json!({})).await;
        assert_eq!(wrong.error_code(), Some(-32602));
        assert_eq!(
            client.rpc("resources/subscribe", json!({"uri": PAGE})).await.error_code(),
            Some(-32601)
        );
    }
    let read = modern.rpc("resources/read", json!({"uri": PAGE})).await.json();
    assert!(read["result"]["ttlMs"].is_u64() && read["result"]["cacheScope"] == "private");
    // One who has the list from before a restart, or declares nothing, gets the page and no list.
    for client in [McpClient::modern(&daemon), McpClient::legacy(&daemon)] {
        let read = client.rpc("resources/read", json!({"uri": PAGE})).await.json();
        pages.push(read["result"]["contents"][0]["text"].as_str().unwrap().to_owned());
        assert_eq!(client.rpc("resources/list", json!({})).await.error_code(), Some(-32601));
        assert_eq!(
            client.rpc("resources/templates/list", json!({})).await.error_code(),
            Some(-32601)
        );
    }
    assert!(pages.iter().all(|page| *page == pages[0] && page.starts_with("<!doctype html>")));
}

/// Calls a tool; the whole result.
async fn call(client: &McpClient, tool: &str, arguments: Value) -> Value {
    let call = client.rpc("tools/call", json!({"name": tool, "arguments": arguments}));
    soon("an answer", call).await.json()["result"].clone()
}

fn script(wait_ms: u64) -> Value {
    json!({"action": "execute_js", "script": "document.title", "tab_id": 7, "wait_ms": wait_ms})
}

/// The phases that stand beside an answer, in their order.
fn phases_beside(result: &Value) -> Vec<&str> {
    let trace = result["_meta"][TIMELINE]["trace"].as_array();
    trace.into_iter().flatten().map(|mark| mark["phase"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn answers_about_a_command_have_its_phases_beside_them_for_clients_that_show_views() {
    let daemon = TestDaemon::start().await;
    let extension = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await;
    let _runs = extension.auto(|_| json!({"success": true, "value": "Home", "type": "string"}));
    let modern = McpClient::modern(&daemon).with_views().named("modern");
    for client in [modern, legacy_viewer(&daemon).await] {
        let told = call(&client, "interact", script(20_000)).await;
        let story = &told["_meta"][TIMELINE];
        assert_eq!(
            (&story["command"], &story["status"]),
            (&json!("execute_js"), &json!("complete"))
        );
        assert_eq!(story["tab_id"], 7, "{story}");
        assert!(story["duration_ms"].as_f64().is_some_and(|took| took > 0.0), "{story}");
        let phases = phases_beside(&told);
        assert_eq!((phases.first(), phases.last()), (Some(&"queued"), Some(&"done")), "{story}");
        assert!(!body(&told).to_string().contains("trace"), "the model gets no more than before");

        let queued = call(&client, "interact", script(0)).await;
        assert_eq!(body(&queued)["status"], "queued");
        assert_eq!(queued["_meta"][TIMELINE]["correlation_id"], body(&queued)["correlation_id"]);
        assert_eq!(phases_beside(&queued).first(), Some(&"queued"));
        let what = json!({"what": "command_result", "correlation_id": body(&queued)["correlation_id"], "wait_ms": 20_000});
        let read = call(&client, "observe", what).await;
        assert_eq!(phases_beside(&read).last(), Some(&"done"), "{read}");

        for (tool, arguments) in [
            ("observe", json!({"what": "tabs"})),
            ("interact", json!({"action": "no_such_action"})),
            ("observe", json!({"what": "command_result", "correlation_id": "exec_none"})),
        ] {
            let told = call(&client, tool, arguments.clone()).await;
            assert!(told["_meta"].get(TIMELINE).is_none(), "{arguments}: {told}");
        }
    }
}

#[tokio::test]
async fn no_other_client_gets_the_phases_of_a_command_nor_one_that_shows_no_views() {
    let daemon = TestDaemon::start().await;
    let extension = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await;
    let _runs = extension.auto(|_| json!({"success": true, "value": "Home", "type": "string"}));
    let own = McpClient::modern(&daemon).with_views().named("own");
    let told = call(&own, "interact", script(20_000)).await;
    let id = told["_meta"][TIMELINE]["correlation_id"].clone();
    let read = json!({"what": "command_result", "correlation_id": id});
    // Clients of one owner may read each other's results; the view is of the client's own commands.
    let beside = McpClient::modern(&daemon).with_views().named("beside");
    let read_beside = call(&beside, "observe", read.clone()).await;
    assert_eq!(body(&read_beside)["result"]["value"], "Home", "{read_beside}");
    let plain = McpClient::modern(&daemon).named("own");
    assert!(call(&plain, "observe", read).await["_meta"].get(TIMELINE).is_none());
    let mut row = RowReport::new(55);
    let is_kept = |told: &Value| told["_meta"].get(TIMELINE).is_none();
    row.tried("another client's phases", is_kept(&read_beside), &read_beside);
    let other = daemon.token_of("other");
    let stranger = McpClient::modern(&daemon).with_token(other).with_views().named("own");
    let refused = json!({"what": "command_result", "correlation_id": id});
    let told = call(&stranger, "observe", refused).await;
    row.tried("another owner's phases", is_kept(&told), &told);
    row.report();
}

#[tokio::test]
async fn a_task_of_a_client_that_shows_views_has_the_phases_with_its_result() {
    let daemon = TestDaemon::start().await;
    let mut extension = ExtensionBuilder::of(&daemon).tabs(vec![active_tab(7)]).connect().await;
    for has_views in [true, false] {
        let client = McpClient::modern(&daemon).with_tasks();
        let client = if has_views { client.with_views() } else { client };
        let task = call(&client, "interact", script(0)).await;
        assert_eq!(task["resultType"], "task", "{task}");
        let id = task["taskId"].as_str().unwrap();
        let mut told = client.subscribe(&json!("s"), json!({"taskIds": [id]})).await;
        soon("the acknowledgement", told.message()).await.unwrap();
        extension.run(&json!({"success": true, "value": 1, "type": "number"})).await;
        let ended = soon("the end", told.message()).await.unwrap()["params"].clone();
        let got = client.rpc("tasks/get", json!({"taskId": id})).await.json()["result"].clone();
        for task in [ended, got] {
            assert_eq!(task["status"], "completed", "{task}");
            let phases = phases_beside(&task["result"]);
            assert_eq!(phases.contains(&"done"), has_views, "{task}");
        }
    }
}

#[tokio::test]
async fn over_stdio_the_view_is_there_without_a_daemon_and_the_daemon_hears_of_it() {
    let place = ProgramSandbox::new();
    let mut client = StdioClient::start(&place);
    let initialize = async |client: &mut StdioClient, extension: &Value| {
        let answer = client.rpc(json!(0), "initialize", handshake(extension)).await;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer["result"]["capabilities"].clone()
    };
    let capabilities = initialize(&mut client, &json!({})).await;
    assert!(capabilities.get("resources").is_none(), "{capabilities}");
    let plain = client.rpc(json!(1), "tools/list", json!({})).await["result"]["tools"].clone();
    let capabilities = initialize(&mut client, &views_extension()).await;
    assert_eq!(capabilities["resources"], json!({}));
    let named = client.rpc(json!(2), "tools/list", json!({})).await["result"]["tools"].clone();
    let (rest, count) = without_views(named);
    assert_eq!((rest, count), (plain, 4));
    let read = client.rpc(json!(3), "resources/read", json!({"uri": PAGE})).await;
    assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "no daemon was started");
    let call = json!({"name": "interact", "arguments": {"action": "page_info", "wait_ms": 1}});
    let told = client.rpc(json!(4), "tools/call", call).await["result"].clone();
    assert_eq!(told["_meta"][TIMELINE]["command"], "page_info", "{told}");
    assert_eq!(phases_beside(&told), ["queued"], "{told}");
    client.end_input();
    assert!(client.ended().await);
}
