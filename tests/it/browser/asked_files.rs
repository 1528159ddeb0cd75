//! Files that no folder rule opens, about which the person is asked, in a real browser.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabwire::demo::Browser;
use tokio::task::JoinHandle;

use super::popup::{Profile, popup, shows};
use testkit::{
    BrowserUser, LEGACY, McpClient, TestDaemon, TestPages, body, cli_of, finish, first_tab,
    kill_worker, soon, until,
};

/// The buttons on a held upload, in their order.
const NO: usize = 1;
const ONCE: usize = 2;
const FOLDER: usize = 3;
const ROOT: usize = 4;

/// A page with fields for files, and a person's files, none of which a rule opens.
struct AskedFilesStage {
    daemon: TestDaemon,
    client: McpClient,
    _pages: TestPages,
    browser: Browser,
    hand: BrowserUser,
    tab: Value,
    _profile: Profile,
    _dir: tempfile::TempDir,
    shop: PathBuf,
}

impl AskedFilesStage {
    async fn set() -> Self {
        let daemon = TestDaemon::start().await;
        let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let folder = manifest.join("tests/it/browser/actions/pages");
        let pages = TestPages::with_folders(&[&folder]).await;
        let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
        let shop = dir.path().canonicalize().unwrap().join("shop");
        fs::create_dir(&shop).unwrap();
        for (name, text) in [("cat.png", "meow"), ("dog.png", "woof")] {
            fs::write(shop.join(name), text).unwrap();
        }
        let profile = Profile::new(&daemon.home(), daemon.port());
        let (browser, mut hand) = profile.open(&pages.url("/files.html")).await;
        let client = McpClient::legacy(&daemon).named("Shop bot");
        let tab = first_tab(&client, &browser).await;
        hand.open_beside(&popup()).await;
        shows(&mut hand, "Connected").await;
        Self {
            daemon,
            client,
            _pages: pages,
            browser,
            hand,
            tab,
            _profile: profile,
            _dir: dir,
            shop,
        }
    }

    fn upload(&self, target: &str, names: &[&str]) -> Value {
        let paths: Vec<_> = names.iter().map(|name| self.shop.join(name)).collect();
        json!({"action": "upload_file", "target": target, "paths": paths, "tab_id": self.tab,
               "wait_ms": 20_000})
    }

    /// A call that has to wait for the person. Returns the command.
    async fn held(&self, call: Value) -> String {
        let answer = self.client.call("interact", call).await;
        assert_eq!(answer["status"], "waiting_for_user", "{answer}");
        let says = answer["message"].as_str().unwrap();
        assert!(says.contains("give files to http://127.0.0.1"), "{answer}");
        answer["correlation_id"].as_str().unwrap().to_owned()
    }

    /// What the popup shows of the question about this command.
    async fn shown(&mut self, id: &str) -> String {
        let row = format!("document.getElementById('{id}')");
        let asks = format!("{row}?.innerText.includes('wants to give files to')");
        soon("the question", until(async || self.hand.read(&asks).await == true)).await;
        let text = self.hand.read(&format!("{row}.innerText")).await;
        text.as_str().unwrap().to_owned()
    }

    /// The person presses a button of that question.
    async fn press(&mut self, id: &str, button: usize) {
        self.shown(id).await;
        let picture = format!("document.getElementById('{id}')?.querySelector('.picture') != null");
        soon("the picture", until(async || self.hand.read(&picture).await == true)).await;
        let still = "document.querySelector('#ask-list').dataset.settling";
        soon("a still popup", until(async || self.hand.read(still).await == "false")).await;
        // The popup scrolls.
        let show =
            format!("document.getElementById('{id}').querySelector('.buttons').scrollIntoView()");
        self.hand.read(&show).await;
        self.hand.click(&format!("#{id} .buttons button:nth-child({button})")).await;
    }

    /// What the page has got so far.
    async fn got(&self) -> Value {
        let read = json!({"action": "execute_js", "script": "got", "tab_id": self.tab,
                          "wait_ms": 20_000});
        self.client.call("interact", read).await["result"]["value"].clone()
    }

    async fn gets(&self, what: &str) {
        soon(
            "the file",
            until(async || {
                self.got().await.as_array().is_some_and(|got| got.contains(&json!(what)))
            }),
        )
        .await;
    }

    async fn end(self) {
        self.browser.end().await;
        self.daemon.stop().await;
    }
}

#[tokio::test]
async fn the_person_sees_file_size_folder_and_site_and_gives_it_once_its_folder_or_not_at_all() {
    let mut stage = AskedFilesStage::set().await;
    let id = stage.held(stage.upload("#plain", &["cat.png"])).await;
    let shown = stage.shown(&id).await;
    let folder = stage.shop.to_str().unwrap().to_owned();
    for part in ["Shop bot", "cat.png", "4 bytes", &folder, "No", "Once", "This folder"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let listed = finish(cli_of(&stage.daemon, &["asks"])).await.stdout;
    assert!(listed.contains("cat.png (4 bytes)") && listed.contains(&folder), "{listed}");
    stage.press(&id, NO).await;
    let denied = stage.client.outcome(&id).await;
    assert_eq!(
        (&denied["reason"], &denied["may_have_run"]),
        (&json!("denied_by_user"), &json!(false)),
        "{denied}"
    );
    assert_eq!(stage.got().await, json!([]), "no file has come");

    let id = stage.held(stage.upload("#plain", &["cat.png"])).await;
    stage.press(&id, ONCE).await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["result"]["value"]["files"][0]["name"], "cat.png", "{done}");
    stage.gets("plain true cat.png:meow").await;
    // Once is once.
    let id = stage.held(stage.upload("#plain", &["cat.png", "dog.png"])).await;
    stage.press(&id, FOLDER).await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["status"], "complete", "{done}");
    stage.gets("plain true cat.png:meow dog.png:woof").await;
    let listed = finish(cli_of(&stage.daemon, &["files"])).await.stdout;
    assert!(listed.contains(&folder), "as if it had been opened at a terminal: {listed}");
    let done = stage.client.call("interact", stage.upload("#plain", &["dog.png"])).await;
    assert_eq!(done["status"], "complete", "the rule opens it: {done}");
    stage.end().await;
}

#[tokio::test]
async fn a_file_that_was_changed_after_the_question_is_not_given_nor_one_for_a_page_that_came_since()
 {
    let mut stage = AskedFilesStage::set().await;
    let id = stage.held(stage.upload("#plain", &["cat.png"])).await;
    fs::write(stage.shop.join("cat.png"), "purr").unwrap();
    stage.press(&id, ONCE).await;
    let changed = stage.client.outcome(&id).await;
    assert_eq!(
        (&changed["reason"], &changed["may_have_run"]),
        (&json!("file_changed"), &json!(false)),
        "{changed}"
    );
    assert!(changed["hint"].as_str().unwrap().contains("Call again"), "{changed}");

    let id = stage.held(stage.upload("#plain", &["dog.png"])).await;
    let again = json!({"action": "refresh", "tab_id": stage.tab, "wait_ms": 20_000});
    assert_eq!(stage.client.call("interact", again).await["status"], "complete");
    stage.press(&id, ONCE).await;
    let stale = stage.client.outcome(&id).await;
    assert_eq!(stale["reason"], "consent_stale", "{stale}");
    assert_eq!(stage.got().await, json!([]), "no file has come");

    let closed = json!({"action": "upload_file", "target": "#plain", "tab_id": stage.tab,
                        "paths": ["/proc/self/environ"], "wait_ms": 20_000});
    let closed = body(&stage.client.call_raw("interact", closed).await);
    assert_eq!(closed["reason"], "file_not_allowed", "the person is not asked: {closed}");
    stage.end().await;
}

#[tokio::test]
async fn a_batch_is_asked_about_before_its_first_step_and_outlives_its_worker() {
    let mut stage = AskedFilesStage::set().await;
    let upload = |name: &str| json!({"action": "upload_file", "target": "#plain", "paths": [stage.shop.join(name)]});
    let steps = json!([{"action": "execute_js", "script": "globalThis.begun = 1"}, upload("cat.png"), upload("dog.png")]);
    let batch = json!({"action": "batch", "tab_id": stage.tab, "steps": steps, "wait_ms": 20_000});
    let id = stage.held(batch).await;
    let begun = json!({"action": "execute_js", "script": "globalThis.begun ?? 0", "tab_id": stage.tab, "wait_ms": 20_000});
    assert_eq!(stage.client.call("interact", begun).await["result"]["value"], 0);
    let shown = stage.shown(&id).await;
    assert!(shown.contains("cat.png") && shown.contains("dog.png"), "{shown}");
    kill_worker(&stage.browser);
    stage.hand.open_beside(&popup()).await;
    shows(&mut stage.hand, "Connected").await;
    stage.press(&id, ONCE).await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["status"], "complete", "{done}");
    assert!(done["result"]["value"]["failed"].is_null(), "{done}");
    stage.gets("plain true dog.png:woof").await;
    stage.end().await;
}

#[tokio::test]
async fn the_question_names_the_site_of_the_frame_that_gets_the_file_and_no_other_site_gets_it() {
    let mut stage = AskedFilesStage::set().await;
    let here = stage._pages.url("/files_frame.html");
    let there = here.replace("127.0.0.1", "localhost");
    let show = async |stage: &AskedFilesStage, url: &str| {
        let script = format!(
            "new Promise((done) => {{ document.querySelectorAll('iframe').forEach((one) => one.remove()); \
             document.body.append(Object.assign(document.createElement('iframe'), \
             {{src: '{url}', onload: () => done(1)}})); }})"
        );
        let call = json!({"action": "execute_js", "script": script, "tab_id": stage.tab, "wait_ms": 20_000});
        let shown = stage.client.call("interact", call).await;
        assert_eq!(shown["status"], "complete", "{shown}");
    };
    let held = async |stage: &AskedFilesStage| {
        let answer = stage.client.call("interact", stage.upload("#framed", &["cat.png"])).await;
        assert_eq!(answer["status"], "waiting_for_user", "{answer}");
        let says = answer["message"].as_str().unwrap();
        assert!(says.contains("give files to http://localhost"), "{answer}");
        answer["correlation_id"].as_str().unwrap().to_owned()
    };
    show(&stage, &there).await;
    let id = held(&stage).await;
    let shown = stage.shown(&id).await;
    assert!(shown.contains("localhost") && !shown.contains("127.0.0.1"), "{shown}");
    stage.press(&id, ONCE).await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["status"], "complete", "{done}");
    stage.gets("framed true cat.png:meow").await;

    let id = held(&stage).await;
    show(&stage, &here).await;
    stage.press(&id, ONCE).await;
    let refused = stage.client.outcome(&id).await;
    // The person is asked anew about the site that is there now, and nothing was given meanwhile.
    assert_ne!(refused["status"], "complete", "{refused}");
    let got = stage.got().await;
    let times = got.as_array().unwrap().iter().filter(|one| **one == "framed true cat.png:meow");
    assert_eq!(times.count(), 1, "{got}");
    stage.end().await;
}

/// Has the client say, whenever the daemon asks, that it works in this folder.
async fn works_in(stage: &AskedFilesStage, folder: &Path) -> JoinHandle<()> {
    let params = json!({"protocolVersion": LEGACY, "capabilities": {"roots": {}},
                        "clientInfo": {"name": "Shop bot", "version": "1"}});
    stage.client.rpc("initialize", params).await;
    let speaker = McpClient::legacy(&stage.daemon).named("Shop bot");
    let version = [("mcp-protocol-version", LEGACY)];
    let mut questions = speaker.listen("text/event-stream", &version).await;
    let roots = json!({"roots": [{"uri": format!("file://{}", folder.display()).replace('<', "%3C").replace('>', "%3E")}]});
    tokio::spawn(async move {
        loop {
            // A stream that nobody asked anything of is kept alive.
            let Some(block) = questions.later_block().await else { return };
            let Some(data) = block.strip_prefix("event: message\ndata: ") else { continue };
            let question: Value = serde_json::from_str(data).unwrap();
            assert_eq!(question["method"], "roots/list", "{question}");
            let said = json!({"jsonrpc": "2.0", "id": question["id"], "result": roots});
            speaker.post(&version, said.to_string().into_bytes()).await;
        }
    })
}

#[tokio::test]
async fn the_person_opens_the_folder_in_which_the_agents_program_works_and_sees_its_name_as_text() {
    let mut stage = AskedFilesStage::set().await;
    let project = stage.shop.join("my <i>project<i>");
    for folder in ["photos", "papers"] {
        fs::create_dir_all(project.join(folder)).unwrap();
    }
    fs::write(project.join("photos/bird.png"), "tweet").unwrap();
    fs::write(project.join("papers/cow.png"), "moo").unwrap();
    let answering = works_in(&stage, &project).await;
    let of_project = |name: &str| format!("my <i>project<i>/{name}");

    let id = stage.held(stage.upload("#plain", &[&of_project("photos/bird.png")])).await;
    let shown = stage.shown(&id).await;
    let named = project.to_str().unwrap();
    assert!(shown.contains("This project folder") && shown.contains("This folder"), "{shown}");
    assert!(shown.contains("program says that it works in") && shown.contains(named), "{shown}");
    let markup = format!("document.getElementById('{id}').querySelectorAll('i').length");
    assert_eq!(stage.hand.read(&markup).await, 0, "it is text");
    let listed = finish(cli_of(&stage.daemon, &["asks"])).await.stdout;
    assert!(listed.contains(&format!("its program says that it works in {named}")), "{listed}");
    let listed = finish(cli_of(&stage.daemon, &["files"])).await.stdout;
    assert!(!listed.contains("project"), "to say so opens nothing: {listed}");
    stage.press(&id, ROOT).await;
    let done = stage.client.outcome(&id).await;
    assert_eq!(done["status"], "complete", "{done}");
    stage.gets("plain true bird.png:tweet").await;

    let listed = finish(cli_of(&stage.daemon, &["files"])).await.stdout;
    assert!(listed.contains(named), "{listed}");
    let call = stage.upload("#plain", &[&of_project("papers/cow.png")]);
    let done = stage.client.call("interact", call).await;
    assert_eq!(done["status"], "complete", "another file in it needs no word: {done}");
    let id = stage.held(stage.upload("#plain", &["cat.png"])).await;
    let shown = stage.shown(&id).await;
    assert!(!shown.contains("project"), "a file beside it: {shown}");
    stage.press(&id, NO).await;
    assert_eq!(stage.client.outcome(&id).await["reason"], "denied_by_user");
    answering.abort();
    stage.end().await;
}
