//! Private windows: an agent's own, where the person has let the extension in, and the person's, which
//! are the person's alone.

use serde_json::{Value, json};
use tabwire::demo::Browser;
use testkit::{
    BrowserUser, McpClient, StdioClient, TestDaemon, TestPages, body, cli_of, files_with, finish,
    first_tab, soon, until,
};

use super::popup::popup;

/// A word in the addresses of private pages that must be in no file.
const WORD: &str = "unseenplace";

pub(crate) struct PrivateStage {
    pub(crate) daemon: TestDaemon,
    pub(crate) pages: TestPages,
    pub(crate) browser: Browser,
    pub(crate) hand: BrowserUser,
    pub(crate) client: McpClient,
    _folder: tempfile::TempDir,
}

impl PrivateStage {
    /// The browser of a person who lets the extension into private windows, or does not.
    pub(crate) async fn set(is_allowed: bool) -> Self {
        Self::at(TestDaemon::start().await, is_allowed).await
    }

    async fn at(daemon: TestDaemon, is_allowed: bool) -> Self {
        let pages = TestPages::start().await;
        let (browser, folder) = BrowserUser::open_browser(&daemon, daemon.port(), &pages.url("/"));
        let client = McpClient::legacy(&daemon);
        first_tab(&client, &browser).await;
        let mut hand = BrowserUser::reach(&folder.path().join("profile")).await;
        if is_allowed {
            hand.let_into_private_windows().await;
        }
        // The popup's page, from which the person's windows are opened and counted.
        hand.open_beside(&popup()).await;
        let look = "chrome.extension.isAllowedIncognitoAccess()";
        assert_eq!(hand.read(look).await, is_allowed);
        let stage = Self { daemon, pages, browser, hand, client, _folder: folder };
        let connected = async || {
            let listed =
                stage.client.call_raw("interact", json!({"action": "tab_list", "wait_ms": 2_000}));
            listed.await["isError"] != true
        };
        soon("the extension", until(connected)).await;
        stage
    }

    pub(crate) fn of_owner(&self, owner: &str) -> McpClient {
        McpClient::legacy(&self.daemon).with_token(self.daemon.token_of(owner))
    }

    pub(crate) fn private_url(&self) -> String {
        self.pages.url(&format!("/strict?{WORD}"))
    }

    pub(crate) async fn opens(&self, client: &McpClient, url: &str) -> Value {
        let open = json!({"action": "tab_open", "private": true, "url": url, "wait_ms": 20_000});
        body(&client.call_raw("interact", open).await)
    }

    /// The ids of all private tabs, as the browser has them.
    pub(crate) async fn private_tabs(&mut self) -> Vec<Value> {
        let all = "chrome.tabs.query({}).then((all) => \
                   all.filter((tab) => tab.incognito).map((tab) => tab.id))";
        self.hand.read(all).await.as_array().unwrap().clone()
    }

    /// The person opens a private window.
    pub(crate) async fn person_opens(&mut self, url: &str) -> Value {
        let open = format!(
            "chrome.windows.create({{incognito: true, url: '{url}'}}).then((w) => w.tabs[0].id)"
        );
        self.hand.read(&open).await
    }

    pub(crate) async fn person_closes(&mut self, tab: &Value) {
        self.hand.read(&format!("chrome.tabs.remove({tab}).then(() => 1)")).await;
    }

    pub(crate) async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

fn tab_of(opened: &Value) -> Value {
    let tab = opened["result"]["value"]["tab_id"].clone();
    assert!(tab.is_number(), "{opened}");
    tab
}

async fn act(client: &McpClient, tab: &Value, action: Value) -> Value {
    let mut call = json!({"tab_id": tab, "wait_ms": 20_000});
    call.as_object_mut().unwrap().extend(action.as_object().unwrap().clone());
    body(&client.call_raw("interact", call).await)
}

#[tokio::test]
async fn a_private_tab_has_none_of_the_persons_log_ins_and_its_window_ends_with_it() {
    let mut stage = PrivateStage::set(true).await;
    let set = json!({"action": "execute_js", "script": "document.cookie = 'who=person; path=/'"});
    let first = stage.client.call("observe", json!({"what": "tabs"})).await["tabs"][0].clone();
    act(&stage.client, &first["tab_id"], set).await;

    let opened = stage.opens(&stage.client, &stage.private_url()).await;
    let tab = tab_of(&opened);
    assert_eq!(stage.private_tabs().await, std::slice::from_ref(&tab));
    let look = json!({"action": "execute_js", "script": "[document.cookie, location.search]"});
    let looked = act(&stage.client, &tab, look).await;
    assert_eq!(looked["result"]["value"], json!(["", format!("?{WORD}")]), "{looked}");
    let listed = stage.client.call("observe", json!({"what": "tabs"})).await;
    let entry = listed["tabs"].as_array().unwrap().iter().find(|one| one["tab_id"] == tab);
    assert_eq!(entry.unwrap()["private"], true, "{listed}");
    // A second one goes beside it.
    let second = tab_of(&stage.opens(&stage.client, &stage.pages.url("/form")).await);
    let windows = "chrome.windows.getAll().then((all) => all.filter((w) => w.incognito).length)";
    assert_eq!(stage.hand.read(windows).await, 1);
    let typed = json!({"action": "type", "target": "#name", "text": "Ada"});
    assert_eq!(act(&stage.client, &second, typed).await["status"], "complete");

    for one in [&tab, &second] {
        act(&stage.client, one, json!({"action": "tab_close"})).await;
    }
    assert_eq!(stage.hand.read(windows).await, 0);
    stage.end().await;
}

#[tokio::test]
async fn without_the_persons_leave_a_private_tab_names_the_step_to_allow_it() {
    let mut stage = PrivateStage::set(false).await;
    let refused = stage.opens(&stage.client, &stage.private_url()).await;
    assert_eq!(refused["reason"], "private_not_allowed", "{refused}");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.contains("chrome://extensions") && hint.contains("Allow in Incognito"), "{hint}");
    assert_eq!(refused["may_have_run"], false);
    assert_eq!(stage.private_tabs().await, [] as [Value; 0]);
    stage.end().await;
}

#[tokio::test]
async fn the_private_session_is_one_owners_and_nobodys_while_the_person_has_a_window_there() {
    let mut stage = PrivateStage::set(true).await;
    let boss = stage.of_owner("boss");
    let tab = tab_of(&stage.opens(&stage.client, &stage.private_url()).await);
    let refused = stage.opens(&boss, &stage.pages.url("/")).await;
    assert_eq!(refused["reason"], "private_in_use", "{refused}");
    let guessed = act(&boss, &tab, json!({"action": "page_info"})).await;
    assert_eq!(guessed["error"], "tab_gone", "{guessed}");

    // A command that runs ends, too.
    let script = "document.title = 'begun'; await new Promise(() => {})";
    let long =
        json!({"action": "execute_js", "script": script, "timeout_ms": 60_000, "tab_id": tab});
    let id = stage.client.submit(long).await;
    let title = format!("chrome.tabs.get({tab}).then((tab) => tab.title)");
    soon("its begin", until(async || stage.hand.read(&title).await == "begun")).await;
    let url = stage.pages.url("/strict?persons");
    let persons = stage.person_opens(&url).await;
    let ended = stage.client.outcome(&id).await;
    assert_eq!(ended["reason"], "private_in_use", "{ended}");
    let refused = act(&stage.client, &tab, json!({"action": "page_info"})).await;
    assert_eq!(refused["reason"], "private_in_use", "{refused}");
    let refused = stage.opens(&stage.client, &stage.pages.url("/")).await;
    assert_eq!(refused["reason"], "private_in_use", "{refused}");
    stage.person_closes(&persons).await;
    let again = act(&stage.client, &tab, json!({"action": "page_info"})).await;
    assert_eq!(again["status"], "complete", "{again}");

    act(&stage.client, &tab, json!({"action": "tab_close"})).await;
    tab_of(&stage.opens(&boss, &stage.pages.url("/")).await);
    stage.end().await;
}

#[tokio::test]
async fn no_file_keeps_more_of_a_private_command_than_its_name_and_its_end() {
    let mut stage = PrivateStage::set(true).await;
    stage.client.call("configure", json!({"action": "capture"})).await;
    let tab = tab_of(&stage.opens(&stage.client, &stage.private_url()).await);
    let script = format!("document.title = '{WORD}'; console.log('{WORD}'); '{WORD} result'");
    let ran = act(&stage.client, &tab, json!({"action": "execute_js", "script": script})).await;
    assert!(ran.to_string().contains("result"), "its owner gets it: {ran}");
    let click = json!({"action": "click", "target": format!("#{WORD}")});
    assert_eq!(act(&stage.client, &tab, click).await["status"], "error");
    for what in ["logs", "network", "actions"] {
        let read = stage.client.call("observe", json!({"what": what, "cursor": "oldest"})).await;
        assert!(!read.to_string().contains(WORD), "{what}: {read}");
    }
    let shown = async || {
        let ran = finish(cli_of(&stage.daemon, &["history", "--json"])).await;
        ran.stdout.contains("\"click\"").then_some(ran.stdout)
    };
    let told = soon("the history", async {
        loop {
            if let Some(told) = shown().await {
                return told;
            }
        }
    })
    .await;
    assert!(told.contains("tab_open") && told.contains("execute_js"), "{told}");
    let printed = finish(cli_of(&stage.daemon, &["open", "--print"])).await.stdout;
    stage.hand.leave_for(&format!("file://{}", printed.trim())).await;
    let shown = "document.body?.innerText ?? ''";
    let mut dashboard = String::new();
    let lists = async {
        while !dashboard.contains("execute_js") {
            dashboard = stage.hand.read(shown).await.as_str().unwrap_or_default().to_owned();
        }
    };
    soon("the dashboard", lists).await;
    assert!(!dashboard.contains(WORD), "{dashboard}");
    stage.hand.click("[data-view=recordings]").await;
    // A line of another tab is there, so those of the private one would be.
    let open = json!({"action": "tab_open", "url": stage.pages.url("/second"), "wait_ms": 20_000});
    let other = tab_of(&body(&stage.client.call_raw("interact", open).await));
    let line = json!({"action": "execute_js", "script": "console.log('another tab')"});
    let ran = act(&stage.client, &other, line).await;
    assert_eq!(ran["status"], "complete", "{ran}");
    let lists = async {
        while !dashboard.contains("another tab") {
            dashboard = stage.hand.read(shown).await.as_str().unwrap_or_default().to_owned();
        }
    };
    soon("the recordings", lists).await;
    assert!(!dashboard.contains(WORD), "{dashboard}");
    let home = stage.daemon.home().dir().to_owned();
    stage.browser.end().await;
    assert!(files_with(&home, "").len() > 3);
    assert_eq!(files_with(&home, WORD), Vec::<std::path::PathBuf>::new());
    stage.daemon.stop().await;
}

#[tokio::test]
async fn the_private_window_of_an_agent_that_has_ended_is_closed() {
    let daemon = TestDaemon::with(|settings| settings.limits.leftover_tabs_s = 1).await;
    let mut stage = PrivateStage::at(daemon, true).await;
    let mut agent = StdioClient::spawn(cli_of(&stage.daemon, &["mcp"]));
    agent.initialize("Otter").await;
    let open = json!({"action": "tab_open", "private": true, "url": stage.private_url(), "wait_ms": 20_000});
    let opened = agent.call("interact", open).await;
    assert!(opened["result"]["value"]["tab_id"].is_number(), "{opened}");
    assert_eq!(stage.private_tabs().await.len(), 1);
    agent.kill().await;
    let closed = until(async || stage.private_tabs().await.is_empty());
    soon("the end of the window", closed).await;
    stage.end().await;
}
