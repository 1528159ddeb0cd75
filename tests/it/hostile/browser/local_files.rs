//! Local files, from inside a real Chromium: keys of the person, of the daemon and of the
//! extension, by every name that they have.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire::demo::Browser;
use tabwire::home::StateDirectory;
use tabwire::protocol::{EXTENSION_ID, LocalFileChange};

use testkit::PollingExtension;
use testkit::SyncingExtension;
use testkit::{
    BrowserUser, McpClient, RowReport, TestDaemon, TestPages, body, first_tab, soon, until,
};

/// What stands in every file that agents must not see.
const SECRET: &str = "TOP-SECRET-LINE";

/// A person with a key, a site on disk and a browser, and an agent.
struct Victim {
    daemon: TestDaemon,
    client: McpClient,
    pages: TestPages,
    browser: Browser,
    hand: BrowserUser,
    folder: tempfile::TempDir,
    /// With the extension and the profile.
    unpacked: tempfile::TempDir,
    tab: Value,
}

impl Victim {
    /// `open`: the folder that they have opened, below their own or absolute.
    async fn set(open: Option<&str>) -> Self {
        let root = tempfile::Builder::new().prefix("tabwire-it-files-").tempdir().unwrap();
        lay_out(&root.path().canonicalize().unwrap());
        let daemon = TestDaemon::with(|settings| {
            let Some(open) = open else { return };
            let folder = root.path().canonicalize().unwrap().join(open);
            let folder = folder.to_str().unwrap().to_owned();
            let home = StateDirectory::open(&settings.home).unwrap();
            home.local_files().change(&LocalFileChange::Add { folder }).unwrap();
        })
        .await;
        let client = McpClient::legacy(&daemon);
        let pages = TestPages::start().await;
        // A second name of a file is on the file's own disk.
        let (browser, unpacked) = BrowserUser::open_browser_on_disk(&daemon, &pages.url("/"));
        daemon.home().note_unpacked(&unpacked.path().join("extension")).unwrap();
        let tab = first_tab(&client, &browser).await;
        let hand = BrowserUser::reach(&unpacked.path().join("profile")).await;
        let victim = Self { daemon, client, pages, browser, hand, folder: root, unpacked, tab };
        victim.link();
        victim
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Other names of keys, in the folder that is opened.
    fn link(&self) {
        let unpacked = self.unpacked.path();
        let (root, state) = (self.root(), self.daemon.home().dir().to_owned());
        fs::hard_link(state.join("auth.key"), root.join("site/auth.txt")).unwrap();
        fs::hard_link(unpacked.join("extension/manifest.json"), root.join("site/own.txt")).unwrap();
        symlink(&state, root.join("site/state")).unwrap();
        symlink(unpacked.join("extension"), root.join("site/extension")).unwrap();
        symlink(unpacked.join("profile"), root.join("site/profile")).unwrap();
    }

    fn url(&self, path: &str) -> String {
        format!("file://{}/{path}", self.root().display())
    }

    /// Each file that stays closed while `site` is open, as an agent can name it.
    fn closed(&self) -> Vec<String> {
        let root = self.root().display().to_string();
        let mut urls: Vec<_> = [
            ".ssh/id_rsa",
            ".ssh/",
            "site/../.ssh/id_rsa",
            "site/%2e%2e/.ssh/id_rsa",
            ".ssh/%69d_rsa",
            ".ssh//id_rsa",
            "site/link.txt",
            "site/dir/id_rsa",
            "site/dir",
            "site/auth.txt",
            "site/own.txt",
            "site/state/auth.key",
            "site/state/",
            "site/extension/config.json",
            "site/extension/",
            "site/profile/Local%20State",
            "site/..",
        ]
        .map(|path| self.url(path))
        .into();
        let state = self.daemon.home().dir().canonicalize().unwrap();
        urls.extend([
            format!("file://localhost{root}/.ssh/id_rsa"),
            format!("FILE:{root}/.ssh/id_rsa"),
            format!("fi\tle://{root}/.ssh/id_rsa"),
            format!("view-source:file://{root}/.ssh/id_rsa"),
            format!("file://{}/auth.key", state.display()),
            format!("file://{}/", state.display()),
            "file:///etc/passwd".to_owned(),
            "file:///".to_owned(),
        ]);
        urls
    }

    async fn answer(&self, tool: &str, mut arguments: Value) -> Value {
        arguments["wait_ms"] = 20_000.into();
        body(&self.client.call_raw(tool, arguments).await)
    }

    /// Everything that an agent can do in a tab.
    async fn touch_all(&self, row: &mut RowReport, what: &str, tab: &Value) {
        let acts = [
            json!({"action": "execute_js", "script": "document.body.innerText"}),
            json!({"action": "execute_js", "script": "const a = 1; return document.title + a"}),
            json!({"action": "screenshot"}),
            json!({"action": "screenshot", "full_page": true}),
            json!({"action": "page_info"}),
            json!({"action": "refresh"}),
            json!({"action": "tab_activate"}),
            json!({"action": "tab_close"}),
        ];
        for mut act in acts {
            act["tab_id"] = tab.clone();
            let name = format!("{} in {what}", act["action"]);
            refused(row, &name, &self.answer("interact", act).await);
        }
        for look in [
            json!({"what": "dom", "selector": "body"}),
            json!({"what": "page_summary"}),
            json!({"what": "accessibility"}),
            json!({"what": "performance"}),
        ] {
            let mut look = look;
            look["tab_id"] = tab.clone();
            let name = format!("{} in {what}", look["what"]);
            refused(row, &name, &self.answer("analyze", look).await);
        }
    }

    async fn tabs(&self) -> Value {
        let listed = self.answer("interact", json!({"action": "tab_list"})).await;
        listed["result"]["value"].clone()
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

/// A person's files.
fn lay_out(root: &Path) {
    for folder in ["site", ".ssh"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    let write = |path: &str, text: String| fs::write(root.join(path), text).unwrap();
    write(".ssh/id_rsa", SECRET.to_owned());
    write(
        ".ssh/page.html",
        format!("<title>{SECRET}</title><script>console.log('{SECRET}')</script>"),
    );
    write(".ssh/keys.js", format!("found = '{SECRET}'"));
    write("site/index.html", "<title>Opened Site</title><h1>Opened</h1>".to_owned());
    write("site/second.html", "<title>Second</title>".to_owned());
    write(
        "site/frame.html",
        "<title>Framed</title><iframe src='../.ssh/id_rsa'></iframe>".to_owned(),
    );
    write(
        "site/object.html",
        "<object data='../.ssh/id_rsa' type='text/plain'></object>".to_owned(),
    );
    write(
        "site/nested.html",
        "<iframe srcdoc=\"<iframe src='link.txt'></iframe>\"></iframe>".to_owned(),
    );
    write(
        "site/away.html",
        "<script>setTimeout(() => { location.href = '../.ssh/page.html' }, 300)</script>"
            .to_owned(),
    );
    write(
        ".ssh/opens.html",
        format!(
            "<title>{SECRET}</title><button id=open onclick=\"const w = window.open('about:blank'); \
             w.document.body.textContent = '{SECRET}'; w.document.title = '{SECRET}'\">o</button>"
        ),
    );
    write(
        ".ssh/blob.html",
        format!(
            "<script>location.href = URL.createObjectURL(new Blob(['<title>{SECRET}</title>'], \
             {{type: 'text/html'}}))</script>"
        ),
    );
    symlink("../.ssh/id_rsa", root.join("site/link.txt")).unwrap();
    symlink("../.ssh", root.join("site/dir")).unwrap();
}

fn refused(row: &mut RowReport, what: &str, answer: &Value) {
    let told = answer.to_string();
    let word = if answer["reason"].is_null() { &answer["error"] } else { &answer["reason"] };
    // A scheme that no action takes, and a page that the browser keeps extensions out of, are
    // refused before anybody looks at rules.
    let words = ["blocked_by_policy", "invalid_params", "restricted_page"];
    let is_refused = words.iter().any(|known| word == known);
    row.tried(what, is_refused && !told.contains(SECRET), &told);
}

#[tokio::test]
async fn row_22_local_files_are_neither_opened_nor_seen_in_a_tab_that_shows_one() {
    let mut victim = Victim::set(None).await;
    let mut row = RowReport::new(22);
    let before = victim.tabs().await;
    let mut urls = victim.closed();
    urls.extend(["site/index.html", "site/"].map(|path| victim.url(path)));
    for url in &urls {
        let navigate = json!({"action": "navigate", "url": url, "tab_id": victim.tab});
        refused(&mut row, &format!("navigate {url:?}"), &victim.answer("interact", navigate).await);
        let open = json!({"action": "tab_open", "url": url});
        refused(&mut row, &format!("tab_open {url:?}"), &victim.answer("interact", open).await);
    }
    let after = victim.tabs().await;
    row.tried("no tab was opened", after == before, &after);

    // One that the person has open already.
    let capture = json!({"action": "capture", "streams": ["logs", "network", "actions"]});
    victim.client.call("configure", capture).await;
    for path in [".ssh/page.html", ".ssh/id_rsa", ".ssh/"] {
        let url = victim.url(path);
        victim.hand.go(&url).await;
        victim.touch_all(&mut row, path, &victim.tab.clone()).await;
        let listed = victim.tabs().await.to_string();
        row.tried("tab_list", !listed.contains(SECRET) && !listed.contains(".ssh"), &listed);
    }
    // What an allowed page says afterwards comes after what the file has said.
    victim.hand.go(&victim.pages.url("/")).await;
    let say = json!({"action": "execute_js", "script": "console.log('a line of the web')",
                     "tab_id": victim.tab});
    let logs = async || victim.client.call("observe", json!({"what": "logs"})).await.to_string();
    let is_recorded = async || {
        victim.answer("interact", say.clone()).await;
        logs().await.contains("a line of the web")
    };
    soon("what was recorded", until(is_recorded)).await;
    for what in ["logs", "network", "actions"] {
        let seen = victim.client.call("observe", json!({"what": what})).await.to_string();
        let is_clean = !seen.contains(SECRET) && !seen.contains(".ssh");
        row.tried(&format!("observe {what}"), is_clean, &seen);
    }
    row.report();
    victim.end().await;
}

#[tokio::test]
async fn row_22_what_a_local_file_has_made_is_closed_like_the_file() {
    let mut victim = Victim::set(None).await;
    let mut row = RowReport::new(22);
    let url = victim.url(".ssh/opens.html");
    victim.hand.go(&url).await;
    victim.hand.click("#open").await;
    soon("the empty page", until(async || victim.tabs().await[1]["url"] == "about:blank")).await;
    let opened = victim.tabs().await[1]["tab_id"].clone();
    let listed = victim.tabs().await.to_string();
    row.tried("tab_list", !listed.contains(SECRET), &listed);
    victim.touch_all(&mut row, "an empty page", &opened).await;
    let blob = victim.url(".ssh/blob.html");
    victim.hand.leave_for(&blob).await;
    let has_left = async || victim.tabs().await[0]["url"].as_str().unwrap().starts_with("blob:");
    soon("the blob", until(has_left)).await;
    for act in ["execute_js", "screenshot"] {
        let act = json!({"action": act, "script": "document.title", "tab_id": victim.tab});
        let mut act = act;
        if act["action"] == "screenshot" {
            act.as_object_mut().unwrap().remove("script");
        }
        refused(&mut row, "a blob", &victim.answer("interact", act).await);
    }
    row.report();
    victim.end().await;
}

#[tokio::test]
async fn row_22_an_opened_folder_opens_nothing_that_is_elsewhere() {
    let victim = Victim::set(Some("site")).await;
    let mut row = RowReport::new(22);
    for path in ["site/index.html", "site/", "site/second.html?x#y"] {
        let there = json!({"action": "navigate", "url": victim.url(path), "tab_id": victim.tab});
        let came = victim.answer("interact", there).await;
        assert_eq!(came["status"], "complete", "{path}: {came}");
    }
    let title = json!({"action": "execute_js", "script": "document.title", "tab_id": victim.tab});
    assert_eq!(victim.answer("interact", title.clone()).await["result"]["value"], "Second");
    let picture = json!({"action": "screenshot", "tab_id": victim.tab});
    assert_eq!(victim.answer("interact", picture.clone()).await["status"], "complete");
    assert_eq!(victim.tabs().await[0]["title"], "Second");
    for url in victim.closed() {
        let navigate = json!({"action": "navigate", "url": url, "tab_id": victim.tab});
        refused(&mut row, &format!("navigate {url:?}"), &victim.answer("interact", navigate).await);
    }
    // The file itself is open, and shows one that is not.
    for path in ["site/frame.html", "site/object.html", "site/nested.html"] {
        let there = json!({"action": "navigate", "url": victim.url(path), "tab_id": victim.tab});
        victim.answer("interact", there).await;
        refused(&mut row, path, &victim.answer("interact", picture.clone()).await);
        let tree = json!({"what": "accessibility", "tab_id": victim.tab});
        refused(&mut row, path, &victim.answer("analyze", tree).await);
    }
    // A script puts it there, and takes it away again at once.
    let there =
        json!({"action": "navigate", "url": victim.url("site/index.html"), "tab_id": victim.tab});
    victim.answer("interact", there).await;
    let script = "const frame = document.createElement('iframe'); frame.src = '../.ssh/id_rsa'; \
                  document.body.append(frame); await new Promise((done) => { frame.onload = done }); \
                  frame.remove(); return document.title";
    let flash = json!({"action": "execute_js", "script": script, "tab_id": victim.tab});
    refused(&mut row, "a script with such a frame", &victim.answer("interact", flash).await);
    refused(&mut row, "a frame that is gone", &victim.answer("interact", picture.clone()).await);
    // A script has the page load a file as a script, which the browser lets it do.
    let there =
        json!({"action": "navigate", "url": victim.url("site/second.html"), "tab_id": victim.tab});
    victim.answer("interact", there).await;
    let script = "const loaded = document.createElement('script'); loaded.src = '../.ssh/keys.js'; \
                  document.head.append(loaded); \
                  await new Promise((done) => { loaded.onload = done }); return found";
    let load = json!({"action": "execute_js", "script": script, "tab_id": victim.tab});
    refused(&mut row, "a file as a script", &victim.answer("interact", load).await);
    // It leaves by itself for a file that is closed.
    let there =
        json!({"action": "navigate", "url": victim.url("site/away.html"), "tab_id": victim.tab});
    victim.answer("interact", there).await;
    let is_gone = async || victim.tabs().await[0]["url"] == "file://";
    soon("the page to leave", until(is_gone)).await;
    victim.touch_all(&mut row, "a page that left", &victim.tab).await;
    row.report();
    victim.end().await;
}

#[tokio::test]
async fn row_22_whatever_folder_is_opened_keys_and_profiles_stay_closed_and_the_key_leaves_its_folder()
 {
    let victim = Victim::set(Some("/")).await;
    let mut row = RowReport::new(22);
    let there =
        json!({"action": "navigate", "url": victim.url(".ssh/id_rsa"), "tab_id": victim.tab});
    assert_eq!(victim.answer("interact", there).await["status"], "complete", "all of it is opened");
    let unpacked = victim.unpacked.path().canonicalize().unwrap();
    let config = unpacked.join("extension/config.json");
    let state = victim.daemon.home().dir().canonicalize().unwrap();
    for path in [
        config.clone(),
        unpacked.join("extension"),
        unpacked.join("profile/Local State"),
        unpacked.join("profile/Default/Local Extension Settings").join(EXTENSION_ID),
        state.join("auth.key"),
        state.clone(),
        victim.root().join("site/auth.txt"),
        victim.root().join("site/own.txt"),
        victim.root().join("site/state/auth.key"),
    ] {
        let url = format!("file://{}", path.display()).replace(' ', "%20");
        let open = json!({"action": "tab_open", "url": url});
        refused(&mut row, &url, &victim.answer("interact", open).await);
    }
    let is_emptied = async || !fs::read_to_string(&config).unwrap().contains("ext_key");
    soon("the key to leave the folder", until(is_emptied)).await;
    let left: Value = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
    row.tried("config.json", left == json!({"port": victim.daemon.port()}), &left);
    row.report();
    // A worker that begins anew finds its key.
    testkit::kill_worker(&victim.browser);
    let title = json!({"action": "execute_js", "script": "1 + 1", "tab_id": victim.tab});
    assert_eq!(victim.answer("interact", title).await["result"]["value"], 2);
    victim.end().await;
}

#[tokio::test]
async fn row_22_a_folder_that_the_person_closes_in_the_popup_is_closed_at_once() {
    let mut victim = Victim::set(Some("site")).await;
    let mut row = RowReport::new(22);
    let open = json!({"action": "tab_open", "url": victim.url("site/index.html")});
    let opened = victim.answer("interact", open).await["result"]["value"]["tab_id"].clone();
    let script = "await new Promise(() => {})";
    let run = json!({"action": "execute_js", "script": script, "tab_id": opened});
    let running = victim.client.submit(run).await;
    victim.hand.go(&format!("chrome-extension://{EXTENSION_ID}/popup/popup.html")).await;
    victim.hand.click("#sites-text").await;
    let shown = "document.querySelector('#files-on').checked";
    victim.hand.becomes(shown, true).await;
    victim.hand.click("#files-on").await;
    victim.hand.becomes(shown, false).await;
    refused(&mut row, "what ran", &victim.client.outcome(&running).await);
    for act in ["page_info", "screenshot"] {
        let act = json!({"action": act, "tab_id": opened});
        refused(&mut row, "what comes", &victim.answer("interact", act).await);
    }
    row.tried("the rules", !victim.daemon.home().local_files().read().unwrap().is_enabled(), "on");
    row.report();
    victim.end().await;
}

/// What an agent gets for a call while an extension asks for commands, and which it was given.
async fn called(
    client: &McpClient,
    asked: &Value,
    given: impl AsyncFn() -> Vec<Value>,
) -> (Value, Vec<Value>) {
    let mut taken = Vec::new();
    let mut call = asked.clone();
    call["wait_ms"] = 20_000.into();
    let mut answer = std::pin::pin!(client.call_raw("interact", call));
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return (body(&answer), taken),
            commands = given() => {
                let is_given = !commands.is_empty();
                taken.extend(commands);
                // It does not answer: what is known of it is that it has the command.
                if is_given {
                    return (Value::Null, taken);
                }
            }
        }
    }
}

/// Local files, and any page while there are rules, are refused by the daemon: an extension that
/// only polls asks nobody.
async fn nothing_is_given(
    daemon: &TestDaemon,
    row: &mut RowReport,
    given: impl AsyncFn() -> Vec<Value>,
) {
    let client = McpClient::legacy(daemon);
    for url in [
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "file://localhost/etc/passwd",
        "fi\tle:///etc/passwd",
        "\u{1}file:///etc/passwd",
        "view-source:file:///etc/passwd",
        "view-\nsource:file:///etc/passwd",
        "filesystem:file:///temporary/x",
        "blob:file:///0b-1",
    ] {
        let asked = json!({"action": "navigate", "url": url});
        let (answer, taken) = called(&client, &asked, &given).await;
        let is_refused = answer["reason"] == "blocked_by_policy"
            && answer["hint"].as_str().is_some_and(|hint| hint.contains("sites files allow"))
            && taken.is_empty();
        row.tried(&format!("navigate {url:?}"), is_refused, format!("{answer} {taken:?}"));
    }
    let web = json!({"action": "navigate", "url": "https://denied.example/"});
    let (_, taken) = called(&client, &web, &given).await;
    assert_eq!(taken.len(), 1, "without rules a page of the web is no secret");
    let deny = json!({"action": "site_rules", "pattern": "denied.example"});
    client.call("configure", deny).await;
    for asked in
        [web, json!({"action": "execute_js", "script": "location = 'https://denied.example/'"})]
    {
        let (answer, taken) = called(&client, &asked, &given).await;
        let is_refused = answer["reason"] == "blocked_by_policy" && taken.is_empty();
        row.tried(&asked.to_string(), is_refused, format!("{answer} {taken:?}"));
    }
}

#[tokio::test]
async fn row_22_an_extension_that_only_polls_is_sent_to_no_local_file() {
    let mut row = RowReport::new(22);
    let daemon = TestDaemon::start().await;
    let old = PollingExtension::connect(&daemon).await;
    nothing_is_given(&daemon, &mut row, async || old.poll().await).await;
    daemon.stop().await;
    let daemon = TestDaemon::start().await;
    let newer = SyncingExtension::connect(&daemon).await;
    let given = async || newer.sync(json!({})).await["commands"].as_array().unwrap().clone();
    nothing_is_given(&daemon, &mut row, given).await;
    daemon.stop().await;
    row.report();
}
