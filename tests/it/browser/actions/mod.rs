//! What agents do to pages and read of them: each action in a real Chromium, on pages of `pages/`
//! that make it hard.

mod aftermath;
mod analyses;
mod asleep;
mod clipboard;
mod dialogs;
mod downloads;
mod eyes;
mod files;
mod flow;
mod foreign_frames;
mod forms;
mod keyboard;
mod page_tools;
mod pictures;
mod pointer;
mod record;
pub(crate) mod scripted;
mod scripted_looks;
mod states;
mod tabs;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire::tools;

use super::Stage;
use testkit::{BrowserUser, McpClient, TestPages, body};

/// A page of `pages/` in a tab in the background, as agents work, and the ways to act in it.
///
/// A page says with which headers it is served in comments at its very beginning, such as
/// `<!-- header Content-Security-Policy: default-src 'none' -->`. In it `{{here}}` stands for the
/// origin that it was asked for at and `{{there}}` for another site with the same pages.
pub(super) struct ActionStage {
    pub(super) stage: Stage,
    /// The tab of the page.
    pub(super) tab: Value,
}

impl ActionStage {
    /// Opens a page, such as `form.html`.
    pub(super) async fn open(page: &str) -> Self {
        Self::open_with(page, &[]).await
    }

    /// The same with further flags of the browser.
    pub(super) async fn open_with(page: &str, flags: &[&str]) -> Self {
        let pages = TestPages::with_folders(&[&folder(), &bundles()]).await;
        let stage = Stage::with_user(pages, flags).await;
        let mut opened = Self { stage, tab: Value::Null };
        opened.turn_to(page).await;
        opened
    }

    /// Opens a page in a further tab in the background, and works in that from now on.
    pub(super) async fn turn_to(&mut self, page: &str) {
        let open = json!({"action": "tab_open", "url": self.url(page)});
        let answer = self.stage.interact(open).await;
        assert_eq!(answer["status"], "complete", "{page}: {answer}");
        self.tab = answer["result"]["value"]["tab_id"].clone();
    }

    /// Sends the tab to a page.
    pub(super) async fn go(&self, page: &str) {
        self.act("navigate", json!({"url": self.url(page)})).await;
    }

    /// The address of a page, or of a path that [`TestPages`] serves.
    pub(super) fn url(&self, page: &str) -> String {
        self.stage.pages.url(&format!("/{}", page.trim_start_matches('/')))
    }

    /// The address of the same page at another site, whose pages have a process of their own.
    pub(super) fn url_elsewhere(&self, page: &str) -> String {
        self.url(page).replace("127.0.0.1", "localhost")
    }

    pub(super) fn client(&self) -> &McpClient {
        &self.stage.client
    }

    pub(super) fn pages(&self) -> &TestPages {
        &self.stage.pages
    }

    /// Does something that must succeed; the value of its result.
    pub(super) async fn act(&self, action: &str, params: Value) -> Value {
        let answer = self.answer(action, params.clone()).await;
        assert_eq!(answer["status"], "complete", "{action} {params}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Does something that must fail; the whole answer, with `reason`, `error` and a next step in
    /// `hint`.
    pub(super) async fn fails(&self, action: &str, params: Value) -> Value {
        let answer = self.answer(action, params.clone()).await;
        let failed = answer["status"] == "error" || !answer["message"].is_null();
        assert!(failed, "{action} {params} should fail: {answer}");
        let hint = answer["hint"].as_str().unwrap_or_default();
        assert!(!hint.is_empty(), "{action} {params} names no next step: {answer}");
        answer
    }

    /// Does something; the body of the answer, with its trace.
    pub(super) async fn answer(&self, action: &str, params: Value) -> Value {
        body(&self.raw(action, params, true).await)
    }

    /// Does something that must succeed; how many bytes an agent is told, by default settings.
    pub(super) async fn bytes_of(&self, action: &str, params: Value) -> usize {
        let answer = self.raw(action, params, false).await;
        assert_eq!(answer["isError"], false, "{action}: {answer}");
        answer["content"][0]["text"].as_str().unwrap().len()
    }

    pub(super) async fn raw(&self, action: &str, mut params: Value, trace: bool) -> Value {
        let (tool, selector) = tool_of(action);
        params[selector] = action.into();
        params["trace"] = trace.into();
        for (name, usual) in [("tab_id", self.tab.clone()), ("wait_ms", 30_000.into())] {
            if params[name].is_null() {
                params[name] = usual;
            }
        }
        self.stage.client.call_raw(tool, params).await
    }

    /// The value of a script in the page.
    pub(super) async fn read(&self, script: &str) -> Value {
        self.act("execute_js", json!({"script": script})).await
    }

    /// Waits until a script in the page gives a true value.
    pub(super) async fn until(&self, script: &str) {
        let waits = format!(
            "const holds = () => {{ try {{ return ({script}) }} catch {{ return false }} }}; \
             while (!holds()) await new Promise((done) => setTimeout(done, 10)); return true"
        );
        self.act("execute_js", json!({"script": waits, "timeout_ms": 10_000})).await;
    }

    /// The person at this browser, and the browser's own protocol. They begin in the page of the
    /// first tab.
    pub(super) async fn user(&self) -> BrowserUser {
        BrowserUser::reach(&self.stage.profile()).await
    }

    pub(super) async fn end(self) {
        self.stage.end().await;
    }
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/browser/actions/pages")
}

/// Where `make browsers` puts the bundles of `tests/editors/`.
fn bundles() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/editors")
}

/// The tool of the five that offers an action, and the parameter that selects it.
fn tool_of(action: &str) -> (&'static str, &'static str) {
    let tools = tools::list().as_array().unwrap();
    let offers = |tool: &Value, selector: &str| {
        let choices = tool["inputSchema"]["properties"][selector]["enum"].as_array();
        choices.is_some_and(|choices| choices.iter().any(|choice| choice == action))
    };
    let found =
        [("interact", "action"), ("analyze", "what")].into_iter().find(|(name, selector)| {
            tools.iter().any(|tool| tool["name"] == *name && offers(tool, selector))
        });
    found.unwrap_or_else(|| panic!("no tool offers `{action}`: is it among the supported ones?"))
}
