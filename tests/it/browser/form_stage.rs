//! An agent, and a person at a browser that shows a form to it.

use serde_json::{Value, json};
use tabwire::demo::Browser;
use testkit::{BrowserUser, McpClient, TestDaemon, TestPages, first_tab, soon, until};

use super::popup::Profile;

pub(crate) struct FormStage {
    pub(crate) daemon: TestDaemon,
    pub(crate) client: McpClient,
    pub(crate) pages: TestPages,
    pub(crate) browser: Browser,
    pub(crate) hand: BrowserUser,
    /// The tab of the form.
    pub(crate) tab: Value,
    /// Its folder goes with it.
    pub(super) _profile: Profile,
}

impl FormStage {
    pub(crate) async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let pages = TestPages::start().await;
        let profile = Profile::new(&daemon.home(), daemon.port());
        let (browser, hand) = profile.open(&pages.url("/form")).await;
        let client = McpClient::legacy(&daemon).named("Order bot");
        let tab = first_tab(&client, &browser).await;
        Self { daemon, client, pages, browser, hand, tab, _profile: profile }
    }

    /// The agent asks the person. The id of its question.
    pub(crate) async fn ask(&self, kind: &str, more: Value) -> String {
        let mut call = json!({"action": "ask_user", "kind": kind, "question": "Send the order?"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self.client.call("interact", call).await;
        assert_eq!(answer["status"], "waiting_for_user", "{answer}");
        answer["correlation_id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// Waits until the popup has stood still: a click counts from then on.
pub(crate) async fn settled(hand: &mut BrowserUser) {
    let still = "document.querySelector('#ask-list').dataset.settling";
    soon("a still popup", until(async || hand.read(still).await == "false")).await;
}
