//! What a person draws is read by the agent that has asked for it: real Chromium, the real
//! extension and the real daemon.

use serde_json::{Value, json};
use tabwire::demo::Browser;

use testkit::{
    BrowserUser, McpClient, TestDaemon, TestPages, body, first_tab, kill_worker, soon, until,
};

/// A person at a browser, and an agent.
struct Stage {
    daemon: TestDaemon,
    pages: TestPages,
    browser: Browser,
    hand: BrowserUser,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let pages = TestPages::start().await;
        let page = pages.url("/strict");
        let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &page);
        let client = McpClient::modern(&daemon);
        first_tab(&client, &browser).await;
        let hand = BrowserUser::reach(&folder.path().join("profile")).await;
        Self { daemon, pages, browser, hand, _folder: folder }
    }

    /// Asks the person, who turns to it; the id to wait for.
    async fn ask(&mut self, client: &McpClient) -> String {
        let asked = client.call("analyze", json!({"what": "annotations", "wait": true})).await;
        assert_eq!(asked["status"], "waiting_for_user", "{asked}");
        assert_eq!(asked["draw_mode"]["status"], "complete", "{asked}");
        self.hand.turn_to_drawing().await;
        asked["correlation_id"].as_str().unwrap().to_owned()
    }

    async fn is_closed(&mut self) {
        let closed = until(async || !self.hand.sees_drawing().await);
        soon("the end of the drawing tools", closed).await;
        self.hand.turn_to_page();
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

async fn read(client: &McpClient, id: &str) -> Value {
    let what = json!({"what": "command_result", "correlation_id": id});
    let result = soon("the drawing", client.call_raw("observe", what)).await;
    assert_eq!(result["isError"], false, "{result}");
    result
}

#[tokio::test]
async fn an_agent_that_waits_has_the_drawing_when_the_person_is_done() {
    let mut stage = Stage::set().await;
    let client = McpClient::modern(&stage.daemon);
    let id = stage.ask(&client).await;
    let drawing = async {
        stage.hand.drag(&[(100, 100), (300, 200)]).await;
        stage.hand.press("4", 1).await;
        stage.hand.drag(&[(40, 40)]).await;
        stage.hand.type_text("Too large").await;
        stage.hand.press("Enter", 2).await;
    };
    let (result, ()) = tokio::join!(read(&client, &id), drawing);
    let body = &body(&result);
    assert_eq!(body["status"], "complete", "{body}");
    let kinds = [&body["annotations"][0]["kind"], &body["annotations"][1]["kind"]];
    assert_eq!(kinds, ["rectangle", "note"]);
    assert_eq!(body["annotations"][1]["text"], "Too large");
    let page = &body["result"]["pages"][0];
    assert_eq!(page["page_url"], stage.pages.url("/strict"));
    let heading = body["annotations"][1]["element"].as_str().unwrap();
    assert_eq!(page["element_details"][heading]["selector"], "h1");
    let file = std::fs::read(page["screenshot"].as_str().unwrap()).unwrap();
    assert!(file.starts_with(b"\x89PNG"));
    assert_eq!(result["content"][1]["mimeType"], "image/png", "the agent sees it");
    stage.is_closed().await;
    let list = json!({"what": "annotations", "manage": "list"});
    let is_read =
        async || client.call("analyze", list.clone()).await["drawings"][0]["unread"] == false;
    soon("it is marked as read", until(is_read)).await;
    stage.end().await;
}

#[tokio::test]
async fn a_drawing_is_there_though_daemon_and_agent_were_restarted_while_it_was_made() {
    let mut stage = Stage::set().await;
    let id = stage.ask(&McpClient::modern(&stage.daemon)).await;
    stage.hand.drag(&[(100, 100), (300, 200)]).await;
    stage.daemon = stage.daemon.restart().await;
    stage.hand.press("Enter", 1).await;
    let reborn = McpClient::modern(&stage.daemon).named("another");
    let result = read(&reborn, &id).await;
    let body = &body(&result);
    assert_eq!(body["annotations"][0]["kind"], "rectangle", "{body}");
    stage.is_closed().await;
    stage.end().await;
}

#[tokio::test]
async fn a_person_who_does_not_want_to_draw_says_so_with_escape() {
    let mut stage = Stage::set().await;
    let client = McpClient::modern(&stage.daemon);
    let id = stage.ask(&client).await;
    stage.hand.press("Escape", 1).await;
    let result = read(&client, &id).await;
    let body = &body(&result);
    assert_eq!((&body["status"], &body["reason"]), (&json!("error"), &json!("cancelled_by_user")));
    stage.is_closed().await;
    stage.end().await;
}

#[tokio::test]
async fn tools_that_nobody_waits_for_close_unless_something_is_drawn_which_is_kept() {
    let mut stage = Stage::set().await;
    let client = McpClient::modern(&stage.daemon);
    let keys = "window.heard = 0; addEventListener('keydown', () => heard += 1)";
    stage.hand.read(keys).await;
    let id = stage.ask(&client).await;
    stage.hand.press("x", 1).await;
    client.cancel(&id).await;
    stage.is_closed().await;
    stage.hand.press("x", 1).await;
    assert_eq!(
        stage.hand.read("heard").await,
        1,
        "the page has its keys again, and had none before"
    );

    let id = stage.ask(&client).await;
    stage.hand.drag(&[(100, 100), (300, 200)]).await;
    client.cancel(&id).await;
    let why = "document.querySelector('#why').textContent";
    let told = "The agent does not wait for this drawing any more";
    stage.hand.becomes(why, told).await;
    stage.hand.press("Enter", 1).await;
    stage.is_closed().await;
    let list = client.call("analyze", json!({"what": "annotations", "manage": "list"})).await;
    assert_eq!(list["drawings"][0]["unread"], true, "{list}");
    let next = client.call("analyze", json!({"what": "annotations", "wait": true})).await;
    assert_eq!(next["annotations"][0]["kind"], "rectangle", "{next}");
    stage.end().await;
}

#[tokio::test]
async fn tools_close_though_their_wait_ended_while_worker_or_daemon_were_away() {
    let mut stage = Stage::set().await;
    let client = McpClient::modern(&stage.daemon);
    let id = stage.ask(&client).await;
    kill_worker(&stage.browser);
    client.cancel(&id).await;
    stage.is_closed().await;

    let id = stage.ask(&client).await;
    stage.daemon = stage.daemon.restart().await;
    McpClient::modern(&stage.daemon).cancel(&id).await;
    stage.is_closed().await;
    stage.end().await;
}
