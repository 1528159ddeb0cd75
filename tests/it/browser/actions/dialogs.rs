//! Dialogs that commands leave open, and their answers.

use std::fs;

use serde_json::{Value, json};
use tabwire::home::FolderAccess;
use testkit::{McpClient, OTHER_SITE};

use super::ActionStage;

/// A command that waits for the answer to a dialog.
struct Held<'a> {
    acts: &'a ActionStage,
    id: String,
    /// The answer of its call.
    told: Value,
}

impl<'a> Held<'a> {
    /// Does something that must open a dialog of this type.
    async fn by(acts: &'a ActionStage, action: &str, mut params: Value, kind: &str) -> Self {
        params["dialogs"] = "hold".into();
        let told = acts.answer(action, params).await;
        let dialog = &told["progress"]["dialog"];
        assert_eq!(
            (&told["status"], &told["blocked_by"]),
            (&json!("pending"), &json!("dialog")),
            "{told}"
        );
        assert_eq!(dialog["type"], kind, "{told}");
        assert!(told["hint"].as_str().unwrap().contains("action:\"dialog\""), "{told}");
        Self { acts, id: told["correlation_id"].as_str().unwrap().to_owned(), told }
    }

    fn message(&self) -> &str {
        self.told["progress"]["dialog"]["message"].as_str().unwrap()
    }

    /// Answers it; the outcome of the command.
    async fn answer(self, params: Value) -> Value {
        self.acts.act("dialog", params).await;
        self.outcome().await
    }

    async fn outcome(&self) -> Value {
        self.acts.client().outcome(&self.id).await
    }
}

async fn out(acts: &ActionStage) -> Value {
    acts.read("out.textContent").await
}

/// The answers to dialogs that an outcome tells of.
fn answers(outcome: &Value) -> Vec<&str> {
    let dialogs = outcome["result"]["dialogs"].as_array().map_or(&[][..], Vec::as_slice);
    dialogs.iter().map(|dialog| dialog["answer"].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn a_held_dialog_waits_for_its_answer_and_the_command_goes_on_with_it() {
    let acts = ActionStage::open("dialogs.html").await;
    // The usual: dismissed and told of.
    let told = acts.answer("click", json!({"target": "#remove"})).await;
    assert_eq!(
        told["result"]["dialogs"],
        json!([{"type": "confirm", "message": "Remove the order?"}])
    );
    assert_eq!(out(&acts).await, "kept");

    let held = Held::by(&acts, "click", json!({"target": "#remove"}), "confirm").await;
    assert_eq!(held.message(), "Remove the order?");
    let done = held.answer(json!({"operation": "accept"})).await;
    assert_eq!((&done["status"], answers(&done)), (&json!("complete"), vec!["accepted"]), "{done}");
    assert_eq!(out(&acts).await, "removed");
    let held = Held::by(&acts, "click", json!({"target": "#remove"}), "confirm").await;
    assert_eq!(answers(&held.answer(json!({"operation": "dismiss"})).await), ["dismissed"]);
    assert_eq!(out(&acts).await, "kept");

    let held = Held::by(&acts, "click", json!({"target": "#rename"}), "prompt").await;
    assert_eq!(held.told["progress"]["dialog"]["default_text"], "Ann");
    held.answer(json!({"operation": "accept", "text": "Bea"})).await;
    assert_eq!(out(&acts).await, "named Bea");

    // One after the other, of a script as well, and in a frame of another process.
    let held =
        Held::by(&acts, "execute_js", json!({"script": "twice.click(); return 7"}), "confirm")
            .await;
    acts.act("dialog", json!({"operation": "accept"})).await;
    let wait = json!({"what": "command_result", "correlation_id": held.id, "wait_ms": 10_000});
    let second = acts.client().call("observe", wait).await;
    assert_eq!(second["progress"]["dialog"]["message"], "Second?", "{second}");
    let done = held.answer(json!({"operation": "dismiss"})).await;
    assert_eq!(
        (&done["result"]["value"], answers(&done)),
        (&json!(7), vec!["accepted", "dismissed"])
    );
    assert_eq!(out(&acts).await, "true,false");

    let none = acts.fails("dialog", json!({"operation": "accept"})).await;
    assert_eq!(none["reason"], "no_dialog", "{none}");
    acts.end().await;
}

#[tokio::test]
async fn a_dialog_that_comes_while_a_command_waits_is_dismissed_and_told_of_or_held() {
    let acts = ActionStage::open("dialogs.html").await;
    let later =
        "setTimeout(() => { out.textContent = confirm('Stay?') ? 'it stays' : 'it goes' }, 300); 1";
    acts.read(later).await;
    let told = acts.answer("wait_for", json!({"text": "it goes"})).await;
    assert_eq!(told["result"]["dialogs"], json!([{"type": "confirm", "message": "Stay?"}]));

    acts.read(later).await;
    let held = Held::by(&acts, "wait_for", json!({"text": "it stays"}), "confirm").await;
    let outcome = held.answer(json!({"operation": "accept"})).await;
    assert_eq!((&outcome["status"], answers(&outcome)), (&json!("complete"), vec!["accepted"]));

    // Between the runs of a script that is waited for, and those of the script: each is told once.
    acts.read(later).await;
    let asks = json!({"function": "out.textContent === 'it goes' && confirm('Sure?') === false"});
    let told = acts.answer("wait_for", asks).await;
    let dialogs = told["result"]["dialogs"].as_array().unwrap();
    let messages: Vec<_> = dialogs.iter().map(|dialog| &dialog["message"]).collect();
    assert_eq!(messages, ["Stay?", "Sure?"], "{told}");

    // Also one that comes between them is held.
    acts.read("out.textContent = ''; 1").await;
    acts.read(later).await;
    let asks = json!({"function": "out.textContent === 'it stays'"});
    let outcome = Held::by(&acts, "wait_for", asks, "confirm").await;
    let outcome = outcome.answer(json!({"operation": "accept"})).await;
    assert_eq!((&outcome["status"], answers(&outcome)), (&json!("complete"), vec!["accepted"]));
    acts.end().await;
}

#[tokio::test]
async fn a_page_that_asks_before_it_is_left_is_left_or_stays_as_the_answer_says() {
    let mut acts = ActionStage::open("dialogs.html").await;
    for (operation, is_left) in [("dismiss", false), ("accept", true)] {
        for by in ["click", "navigate"] {
            acts.turn_to("dialogs.html").await;
            acts.act("type", json!({"target": "#draft", "text": "unsaved"})).await;
            let params = match by {
                "click" => json!({"target": "#leave"}),
                _ => json!({"url": acts.url("plain.html")}),
            };
            let held = Held::by(&acts, by, params, "beforeunload").await;
            let done = held.answer(json!({"operation": operation})).await;
            if is_left {
                assert_eq!(done["status"], "complete", "{done}");
                acts.until("location.pathname === '/plain.html'").await;
            } else {
                let told = done.to_string();
                assert!(told.contains("navigation_failed"), "{done}");
                assert_eq!(acts.read("draft.value").await, "unsaved");
            }
        }
    }
    acts.end().await;
}

#[tokio::test]
async fn a_server_that_asks_for_a_password_gets_the_one_of_the_answer_which_no_file_keeps() {
    let acts = ActionStage::open("dialogs.html").await;
    let members = json!({"url": acts.url("members")});
    let held = Held::by(&acts, "navigate", members.clone(), "authentication").await;
    assert!(held.message().contains("Members only"), "{}", held.told);
    let wrong = acts.fails("dialog", json!({"operation": "accept"})).await;
    assert!(wrong["error"].as_str().unwrap().contains("username and password"), "{wrong}");
    let refused = held.answer(json!({"operation": "dismiss"})).await;
    assert_eq!(refused["result"]["value"]["http_status"], 401, "{refused}");

    let held = Held::by(&acts, "navigate", members, "authentication").await;
    let given = json!({"operation": "accept", "username": "ann", "password": "sesame-4711"});
    let done = held.answer(given).await;
    assert_eq!(done["result"]["value"]["title"], "Members", "{done}");
    for file in
        fs::read_dir(acts.stage.daemon.home().log_path().parent().unwrap()).unwrap().flatten()
    {
        let bytes = fs::read(file.path()).unwrap_or_default();
        let is_there = bytes.windows(11).any(|part| part == b"sesame-4711");
        assert!(!is_there, "{}", file.path().display());
    }

    // Where nothing holds the question, the error says so, and its next step leads there.
    let elsewhere = json!({"url": acts.url("members").replace("127.0.0.1", OTHER_SITE)});
    for action in ["tab_open", "navigate"] {
        let failed = acts.fails(action, elsewhere.clone()).await;
        assert_eq!(failed["reason"], "navigation_failed", "{failed}");
        let error = failed["error"].as_str().unwrap();
        assert!(error.ends_with("the server asks for a user name and a password"), "{failed}");
        let hint = failed["hint"].as_str().unwrap();
        assert!(hint.contains("dialogs:\"hold\"") && hint.contains("hand_over"), "{failed}");
    }
    let held = Held::by(&acts, "navigate", elsewhere, "authentication").await;
    let given = json!({"operation": "accept", "username": "ann", "password": "sesame-4711"});
    assert_eq!(held.answer(given).await["result"]["value"]["title"], "Members");
    acts.end().await;
}

#[tokio::test]
async fn a_file_chooser_that_is_held_gets_files_of_opened_folders_and_waits_while_others_are_asked_about()
 {
    let acts = ActionStage::open("dialogs.html").await;
    let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
    let shop = dir.path().canonicalize().unwrap().join("shop");
    fs::create_dir(&shop).unwrap();
    fs::write(shop.join("cat.txt"), "meow").unwrap();
    fs::write(shop.join("../secret.txt"), "secret").unwrap();
    acts.stage.daemon.home().open_agent_folder(&shop, &[FolderAccess::Read]).unwrap();

    let held = Held::by(&acts, "click", json!({"target": "#choose"}), "file_chooser").await;
    let person = shop.parent().unwrap();
    let absent = json!({"operation": "accept", "paths": [person.join("absent.txt")]});
    let refused = acts.fails("dialog", absent).await;
    assert_eq!(refused["reason"], "file_not_allowed", "{refused}");
    let secret = json!({"action": "dialog", "operation": "accept", "tab_id": acts.tab,
                        "paths": [person.join("secret.txt")], "wait_ms": 20_000});
    let asked = acts.client().call("interact", secret).await;
    assert_eq!(asked["status"], "waiting_for_user", "{asked}");
    let id = asked["correlation_id"].as_str().unwrap();
    assert_eq!(acts.client().cancel(id).await["status"], "cancelled");
    held.answer(json!({"operation": "accept", "paths": [shop.join("cat.txt")]})).await;
    acts.until("out.textContent === 'meow'").await;
    acts.end().await;
}

#[tokio::test]
async fn a_dialog_that_nobody_answers_is_dismissed_before_its_commands_time_ends() {
    let acts = ActionStage::open("dialogs.html").await;
    let params = json!({"target": "#remove", "timeout_ms": 2_500});
    let held = Held::by(&acts, "click", params, "confirm").await;
    // Others in the lane wait, and then have their turn.
    let next = acts
        .client()
        .submit(json!({"action": "execute_js", "script": "out.textContent", "tab_id": acts.tab}))
        .await;
    assert_eq!(acts.client().outcome(&next).await["result"]["value"], "kept");
    let done = held.outcome().await;
    assert_eq!(answers(&done), ["dismissed since nobody answered in time"], "{done}");

    // A cancel dismisses it, too, and leaves the page as it is.
    acts.read("window.stays = 1").await;
    let held = Held::by(&acts, "click", json!({"target": "#remove"}), "confirm").await;
    acts.client().cancel(&held.id).await;
    assert_eq!(acts.read("window.stays").await, 1);
    acts.end().await;
}

#[tokio::test]
async fn any_client_of_the_owner_answers_and_no_other_owner_and_a_client_may_hold_all_its_dialogs()
{
    let acts = ActionStage::open("dialogs.html").await;
    let daemon = &acts.stage.daemon;
    let held = Held::by(&acts, "click", json!({"target": "#remove"}), "confirm").await;
    let accept =
        json!({"action": "dialog", "operation": "accept", "tab_id": acts.tab, "wait_ms": 10_000});
    let stranger = McpClient::legacy(daemon).named("stranger").with_token(daemon.token_of("guest"));
    let refused = stranger.call_fails("interact", accept.clone()).await;
    assert_eq!(refused["error"], "tab_in_use", "{refused}");
    let other = McpClient::legacy(daemon).named("other");
    assert_eq!(other.call("interact", accept.clone()).await["status"], "complete");
    assert_eq!(answers(&held.outcome().await), ["accepted"]);

    acts.client().call("configure", json!({"action": "dialogs", "dialogs": "hold"})).await;
    let told = acts.answer("click", json!({"target": "#remove"})).await;
    assert_eq!(told["blocked_by"], "dialog", "{told}");
    acts.act("dialog", json!({"operation": "accept"})).await;
    let told = acts.answer("click", json!({"target": "#remove", "dialogs": "dismiss"})).await;
    assert_eq!(told["status"], "complete", "{told}");
    acts.end().await;
}

#[tokio::test]
async fn the_words_of_a_frame_on_a_denied_site_are_told_to_nobody() {
    let acts = ActionStage::open("dialogs.html").await;
    let frame = acts.url("dialogs_frame.html").replace("127.0.0.1", OTHER_SITE);
    let script = format!(
        "const asked = new Promise((done) => addEventListener('message', done, {{once: true}})); \
         document.body.append(Object.assign(document.createElement('iframe'), {{src: {frame:?}}})); \
         await asked; return 7"
    );
    let held = Held::by(&acts, "execute_js", json!({"script": script}), "confirm").await;
    assert!(held.message().contains("The words of the frame"), "{}", held.told);
    held.answer(json!({"operation": "accept"})).await;

    let rule = json!({"action": "site_rules", "pattern": OTHER_SITE});
    acts.client().call("configure", rule).await;
    for dialogs in ["hold", "dismiss"] {
        let told = acts.answer("execute_js", json!({"script": script, "dialogs": dialogs})).await;
        assert_eq!(told["result"]["value"], 7, "{told}");
        assert!(!told.to_string().contains("words"), "{told}");
    }
    acts.end().await;
}
