//! Browser profiles that the person names, and a program that is pinned to one.

use std::process::Stdio;

use serde_json::{Value, json};

use super::popup::{Profile, popup, shows};
use testkit::{BrowserUser, McpClient, StdioClient, TestDaemon, TestPages, soon, until};

/// The person opens the popup, and in it the field for the name.
async fn open_naming(hand: &mut BrowserUser) {
    hand.go(&popup()).await;
    shows(hand, "Connected").await;
    let open = "document.getElementById('rename').hidden \
        || (document.getElementById('rename').click(), false)";
    let shown = "document.getElementById('naming').hidden";
    soon("the field", async {
        while hand.read(shown).await != false {
            hand.read(open).await;
        }
    })
    .await;
}

/// The person types a name into the popup.
async fn name(hand: &mut BrowserUser, name: &str) {
    open_naming(hand).await;
    hand.read(&format!("document.getElementById('name').value = {}; 1", json!(name))).await;
    hand.read(SAVE).await;
}

const SAVE: &str = "document.getElementById('name-form').requestSubmit(); 1";

async fn labels(client: &McpClient) -> Vec<(String, bool)> {
    let listed = client.call("observe", json!({"what": "browsers"})).await;
    let of = |one: &Value| {
        (one["label"].as_str().unwrap().to_owned(), one["connected"].as_bool().unwrap())
    };
    let mut labels: Vec<_> = listed["browsers"].as_array().unwrap().iter().map(of).collect();
    labels.sort();
    labels
}

/// `tabwire mcp --browser NAME`, as the settings of a client start it.
async fn pinned(daemon: &TestDaemon, name: &str) -> StdioClient {
    let mut command = tokio::process::Command::new(testkit::program());
    command
        .args(["mcp", "--browser", name, "--port", &daemon.port().to_string()])
        .env("TABWIRE_HOME", daemon.home().dir())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut client = StdioClient::spawn(command);
    client.initialize("pinned").await;
    client
}

/// The addresses of all tabs of a browser, as it says itself.
async fn addresses(hand: &mut BrowserUser) -> Vec<String> {
    hand.go(&popup()).await;
    let tabs = hand.read("chrome.tabs.query({}).then((tabs) => tabs.map(({url}) => url))").await;
    serde_json::from_value(tabs).unwrap()
}

async fn open_tab(client: &mut StdioClient, more: Value) -> Value {
    let mut arguments = json!({"action": "tab_open", "url": "about:blank", "wait_ms": 20_000});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let call = json!({"name": "interact", "arguments": arguments});
    let answer = client.request("tools/call", call).await;
    let text = answer["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn names_outlive_browser_and_daemon_and_a_pinned_program_uses_its_browser_or_none() {
    let daemon = TestDaemon::start().await;
    let (one, two) =
        (Profile::new(&daemon.home(), daemon.port()), Profile::new(&daemon.home(), daemon.port()));
    let (work, mut hand) = one.open("about:blank").await;
    let client = McpClient::legacy(&daemon);
    soon("the first", until(async || labels(&client).await.len() == 1)).await;
    name(&mut hand, "work").await;
    let is_work = ("work".to_owned(), true);
    soon("its name", until(async || labels(&client).await == [is_work.clone()])).await;

    // A second profile: its person is asked, and a name that is in use is refused in words.
    let (home, mut other) = two.open("about:blank").await;
    other.go(&popup()).await;
    shows(&mut other, "Several browsers are connected").await;
    name(&mut other, "Work").await;
    shows(&mut other, "another browser is called Work").await;
    name(&mut other, "ho\u{200b}me").await;
    shows(&mut other, "characters that cannot be seen").await;
    name(&mut other, "home").await;
    let both = [("home".to_owned(), true), is_work.clone()];
    soon("both names", until(async || labels(&client).await == both)).await;

    let mut agent = pinned(&daemon, "work").await;
    let opened = open_tab(&mut agent, json!({})).await;
    assert!(opened["result"]["tab_id"].is_u64(), "{opened}");
    let refused = open_tab(&mut agent, json!({"browser": "home"})).await;
    assert_eq!(refused["error"], "browser_pinned", "{refused}");
    // The history names the browser of an act in the popup of each other one.
    for (hand, is_told) in [(&mut other, true), (&mut hand, false)] {
        hand.go(&popup()).await;
        hand.read("document.querySelector('#history').open = true").await;
        shows(hand, "tab_open").await;
        let lines = hand.read("document.querySelector('#past-acts').innerText").await;
        assert_eq!(lines.as_str().unwrap().contains("· work ·"), is_told, "{lines}");
    }

    // Its browser goes: no other is used.
    work.end().await;
    let away = until(async || labels(&client).await.contains(&("work".to_owned(), false)));
    soon("its end", away).await;
    // For a moment its commands wait; a call that waits with them takes its time.
    let mut refused = json!(null);
    for _ in 0..5 {
        refused = open_tab(&mut agent, json!({"wait_ms": 4_000})).await;
        if refused["error"] == "browser_away" {
            break;
        }
    }
    assert_eq!(refused["error"], "browser_away", "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("open that browser"), "{refused}");

    // Daemon and browsers come back in another order.
    let daemon = daemon.restart().await;
    let client = McpClient::legacy(&daemon);
    let (work, _hand) = one.open("about:blank").await;
    soon("both again", until(async || labels(&client).await == both)).await;
    let opened = open_tab(&mut agent, json!({})).await;
    assert!(opened["result"]["tab_id"].is_u64(), "{opened}");
    work.end().await;
    home.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn the_profiles_own_name_is_offered_and_a_kept_one_outlives_an_extension_loaded_anew() {
    let folder = Profile::folder();
    let profiles = folder.path().join("profile");
    let daemon = TestDaemon::with(|settings| settings.browser_folders.usual = vec![profiles]).await;
    let profile = Profile::within(folder, &daemon.home(), daemon.port());
    profile.is_called("Ann <b>work</b>");
    let (browser, mut hand) = profile.open("about:blank").await;
    let client = McpClient::legacy(&daemon);
    soon("the browser", until(async || labels(&client).await.len() == 1)).await;
    open_naming(&mut hand).await;
    let offered = "document.getElementById('name').value";
    soon("the offer", until(async || hand.read(offered).await != "")).await;
    assert_eq!(hand.read(offered).await, "Ann <b>work</b>");
    // It is no name before the person keeps it, and what they take away does not come back.
    let is_named = [("Ann <b>work</b>".to_owned(), true)];
    assert_ne!(labels(&client).await, is_named);
    hand.read("document.getElementById('name').value = ''; 1").await;
    hand.read("new Promise((done) => setTimeout(done, 1_500)).then(() => 1)").await;
    assert_eq!(hand.read(offered).await, "");
    open_naming(&mut hand).await;
    soon("the offer", until(async || hand.read(offered).await != "")).await;
    hand.read(SAVE).await;
    soon("its name", until(async || labels(&client).await == is_named)).await;
    shows(&mut hand, "Browser: Ann <b>work</b>").await;

    // Its storage goes, as when it is removed: the next run has another id.
    let storage = "chrome.storage.local.remove('browser_id').then(() => 1)";
    hand.read(storage).await;
    browser.end().await;
    let (browser, _hand) = profile.open("about:blank").await;
    let has_it_back = until(async || labels(&client).await.contains(&is_named[0]));
    soon("the name of the profile", has_it_back).await;
    browser.end().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_profile_in_a_folder_of_its_own_is_offered_its_name_while_its_browser_runs() {
    let daemon = TestDaemon::with(|settings| {
        settings.browser_folders.processes = Some("/proc".into());
    })
    .await;
    // Two browsers, each started with a folder that nobody has told the daemon of.
    let profiles = ["Ann", "Bob"].map(|name| {
        let profile = Profile::new(&daemon.home(), daemon.port());
        profile.is_called(name);
        (name, profile)
    });
    for (name, profile) in &profiles {
        let (browser, mut hand) = profile.open("about:blank").await;
        open_naming(&mut hand).await;
        let offered = "document.getElementById('name').value";
        soon("the offer", until(async || hand.read(offered).await == *name)).await;
        browser.end().await;
    }
    daemon.stop().await;
}

/// The pinned agents of three profiles each open a tab, which must be in the profile of its agent.
async fn each_works_in_its_own(
    agents: &mut [StdioClient],
    hands: &mut [BrowserUser],
    address: impl Fn(usize) -> String,
) {
    for (at, agent) in agents.iter_mut().enumerate() {
        let opened = open_tab(agent, json!({"url": address(at)})).await;
        assert!(opened["result"]["tab_id"].is_u64(), "{opened}");
    }
    for (of, hand) in hands.iter_mut().enumerate() {
        let own = addresses(hand).await;
        for at in 0..agents.len() {
            assert_eq!(own.contains(&address(at)), at == of, "the agent {at} in {of}: {own:?}");
        }
    }
}

#[tokio::test]
async fn three_profiles_that_come_back_in_changing_order_keep_their_names_and_their_agents() {
    const NAMES: [&str; 3] = ["work", "home", "tests"];
    let mut daemon = TestDaemon::start().await;
    let pages = TestPages::start().await;
    let profiles = NAMES.map(|_| Profile::new(&daemon.home(), daemon.port()));
    let mut all: Vec<_> = NAMES.iter().map(|name| ((*name).to_owned(), true)).collect();
    all.sort();
    let mut agents = Vec::new();
    for (round, order) in [[0, 1, 2], [2, 0, 1], [1, 2, 0]].into_iter().enumerate() {
        let client = McpClient::legacy(&daemon);
        let mut here: Vec<_> = NAMES.iter().map(|_| None).collect();
        for (before, at) in order.into_iter().enumerate() {
            let (browser, mut hand) = profiles[at].open("about:blank").await;
            let is_there =
                async || labels(&client).await.iter().filter(|(_, is_here)| *is_here).count();
            soon("it", until(async || is_there().await == before + 1)).await;
            if round == 0 {
                name(&mut hand, NAMES[at]).await;
                let has_name = (NAMES[at].to_owned(), true);
                soon("its name", until(async || labels(&client).await.contains(&has_name))).await;
                agents.push(pinned(&daemon, NAMES[at]).await);
            }
            here[at] = Some((browser, hand));
        }
        assert_eq!(labels(&client).await, all, "round {round}");
        let (browsers, mut hands): (Vec<_>, Vec<_>) = here.into_iter().flatten().unzip();
        let address = |at: usize| pages.url(&format!("/strict#{}-{round}", NAMES[at]));
        each_works_in_its_own(&mut agents, &mut hands, address).await;
        for browser in browsers {
            browser.end().await;
        }
        let is_away = async || labels(&client).await.iter().all(|(_, is_here)| !is_here);
        soon("the end of all", until(is_away)).await;
        // The last time, the daemon comes back as well.
        if round == 1 {
            daemon = daemon.restart().await;
        }
    }
    daemon.stop().await;
}
