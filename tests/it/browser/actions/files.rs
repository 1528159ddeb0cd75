//! Files of folders that a person opened, given to pages: to fields, through choosers, by drops.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tabwire::home::FolderAccess;

use super::ActionStage;

/// A page with fields for files, and a person's files, of which `shop` is open to agents.
struct Shop {
    acts: ActionStage,
    _dir: tempfile::TempDir,
    shop: PathBuf,
}

impl Shop {
    async fn open() -> Self {
        let acts = ActionStage::open("files.html").await;
        let dir = tempfile::Builder::new().prefix("tabwire-it-").tempdir().unwrap();
        let shop = dir.path().canonicalize().unwrap().join("shop");
        fs::create_dir(&shop).unwrap();
        for (name, text) in [("cat.png", "meow"), ("dog.png", "woof"), ("notes.txt", "buy milk")] {
            fs::write(shop.join(name), text).unwrap();
        }
        fs::write(shop.join("../secret.txt"), "secret").unwrap();
        acts.stage.daemon.home().open_agent_folder(&shop, &[FolderAccess::Read]).unwrap();
        Self { acts, _dir: dir, shop }
    }

    fn paths(&self, names: &[&str]) -> Value {
        names.iter().map(|name| json!(self.shop.join(name))).collect()
    }

    /// Gives files that the page must get; the value of the answer.
    async fn give(&self, target: &str, names: &[&str]) -> Value {
        let params = json!({"target": target, "paths": self.paths(names)});
        self.acts.act("upload_file", params).await
    }

    /// Waits until the page has read a file's text.
    async fn got(&self, what: &str) {
        self.acts.until(&format!("got.includes({})", json!(what))).await;
    }

    async fn refused(&self, params: Value) -> Value {
        self.acts.fails("upload_file", params).await
    }
}

fn names(given: &Value) -> Vec<&str> {
    given["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_field_gets_files_seen_or_hidden_in_shadow_trees_and_in_frames_and_its_page_reads_them() {
    let shop = Shop::open().await;
    let plain = shop.give("#plain", &["cat.png", "dog.png"]).await;
    assert!(plain["attached_to"].as_str().unwrap().starts_with("file \"Papers\""), "{plain}");
    let cat = json!({"name": "cat.png", "size": 4, "type": "image/png"});
    assert_eq!((names(&plain), &plain["files"][0]), (vec!["cat.png", "dog.png"], &cat), "{plain}");
    shop.got("plain true cat.png:meow dog.png:woof").await;
    shop.give("#labelled", &["dog.png"]).await;
    shop.got("labelled true dog.png:woof").await;
    shop.give("text=Photo", &["cat.png"]).await;
    shop.got("labelled true cat.png:meow").await;
    shop.give("#widget", &["cat.png"]).await;
    shop.got("inner true cat.png:meow").await;
    let hasty = shop.give("#hasty", &["cat.png"]).await;
    assert_eq!(hasty["files"][0], cat, "as the page saw them: {hasty}");
    shop.give("role=button[name=\"Closed tree\"]", &["dog.png"]).await;
    shop.got("closed true dog.png:woof").await;
    for frame in ["#same", "#other"] {
        shop.give(&format!("{frame} #framed"), &["cat.png"]).await;
        shop.got("framed true cat.png:meow").await;
        shop.acts.read("got.length = 0").await;
    }
    let other = shop.give("#one", &["notes.txt"]).await;
    assert_eq!(
        (&other["not_accepted"], &other["accept"]),
        (&json!(["notes.txt"]), &json!("image/*,.pdf")),
        "{other}"
    );
    let right = shop.give("#one", &["cat.png"]).await;
    assert!(right["not_accepted"].is_null(), "{right}");
    shop.acts.end().await;
}

#[tokio::test]
async fn a_click_that_opens_a_chooser_and_a_drop_give_files_too_and_no_chooser_is_shown() {
    let shop = Shop::open().await;
    for button in ["#choose", "#slow"] {
        let chosen = shop.give(button, &["cat.png"]).await;
        assert!(chosen["chosen_by"].as_str().unwrap().starts_with("button \"Choose"), "{chosen}");
        assert_eq!(names(&chosen), ["cat.png"]);
        shop.got("chooser true cat.png:meow").await;
        shop.acts.read("got.length = 0").await;
    }
    let drop =
        json!({"target": "#zone", "drop": true, "paths": shop.paths(&["cat.png", "dog.png"])});
    let dropped = shop.acts.act("upload_file", drop).await;
    assert_eq!(names(&dropped), ["cat.png", "dog.png"], "{dropped}");
    shop.got("zone true cat.png:meow dog.png:woof").await;
    let field = json!({"target": "#plain", "drop": true, "paths": shop.paths(&["dog.png"])});
    shop.acts.act("upload_file", field).await;
    shop.got("plain true dog.png:woof").await;
    // A copy serves until its tab is closed.
    let uploads = shop.acts.stage.daemon.home().dir().join("uploads");
    assert!(fs::read_dir(&uploads).unwrap().count() > 0);
    shop.acts.act("tab_close", json!({})).await;
    testkit::until(async || fs::read_dir(&uploads).unwrap().count() == 0).await;
    shop.acts.end().await;
}

#[tokio::test]
async fn files_that_are_not_given_leave_the_page_alone_and_the_next_step_is_named() {
    let shop = Shop::open().await;
    let cat = shop.paths(&["cat.png"]);
    let closed = shop.refused(json!({"target": "#plain", "paths": shop.paths(&["../secret.txt"])}));
    assert_eq!(closed.await["reason"], "file_not_allowed");
    let absent = shop.shop.parent().unwrap().join("absent.txt");
    let closed = shop.refused(json!({"target": "#plain", "paths": [absent]})).await;
    assert_eq!(closed["reason"], "file_not_allowed", "{closed}");
    let hint = closed["hint"].as_str().unwrap();
    assert!(hint.contains("tabwire files allow") && hint.contains("--read"), "{closed}");
    for (params, reason, part) in [
        (json!({"target": "#plain", "paths": shop.paths(&["none.png"])}), "file_not_found", "path"),
        (json!({"target": "#plain", "paths": []}), "invalid_params", "absolute"),
        (
            json!({"target": "#plain", "paths": vec![shop.shop.join("cat.png"); 11]}),
            "file_too_large",
            "10",
        ),
        (
            json!({"target": "#one", "paths": shop.paths(&["cat.png", "dog.png"])}),
            "wrong_kind",
            "one file",
        ),
        (json!({"target": "#folders", "paths": cat}), "wrong_kind", "folders"),
        (json!({"target": "#disabled", "paths": cat, "timeout_ms": 1_500}), "disabled", "disabled"),
        (json!({"target": "#mute", "paths": cat}), "wrong_kind", "opens no file chooser"),
        (
            json!({"target": "#deaf", "paths": cat, "drop": true}),
            "wrong_kind",
            "takes no dropped files",
        ),
        (
            json!({"target": "#none", "paths": cat, "timeout_ms": 1_500}),
            "target_not_found",
            "#none",
        ),
    ] {
        let refused = shop.refused(params.clone()).await;
        assert_eq!(refused["reason"], reason, "{params}: {refused}");
        assert!(refused.to_string().contains(part), "{params}: {refused}");
    }
    let page = shop.acts.read("return [location.pathname, got, plain.files.length]").await;
    assert_eq!(page, json!(["/files.html", [], 0]), "no file came, and the page is still there");
    shop.acts.end().await;
}

#[tokio::test]
async fn a_cancelled_upload_gives_nothing_and_the_next_one_goes_on() {
    let shop = Shop::open().await;
    let client = shop.acts.client();
    let submit = async |target: &str| {
        let paths = shop.paths(&["cat.png"]);
        let call = json!({"action": "upload_file", "target": target, "paths": paths,
                          "tab_id": shop.acts.tab});
        client.submit(call).await
    };
    let waits_for_chooser = submit("#mute").await;
    shop.acts.pages().asked_for("/muted").await;
    assert_eq!(client.cancel(&waits_for_chooser).await["status"], "cancelled");
    let waits_for_field = submit("#late").await;
    assert_eq!(client.cancel(&waits_for_field).await["status"], "cancelled");
    let late = "const late = document.createElement('input'); late.id = 'late'; late.type = 'file'; \
                document.body.append(late)";
    shop.acts.read(late).await;
    shop.give("#plain", &["dog.png"]).await;
    shop.got("plain true dog.png:woof").await;
    let late = shop.acts.read("return document.querySelector('#late').files.length").await;
    assert_eq!(late, 0, "nothing of it");
    shop.acts.end().await;
}

#[tokio::test]
async fn a_batch_gives_files_that_a_step_names_and_none_whose_name_a_result_makes() {
    let shop = Shop::open().await;
    let upload = |paths: Value| json!({"action": "upload_file", "target": "#plain", "paths": paths, "as": "given"});
    let steps = json!([
        upload(shop.paths(&["cat.png"])),
        {"action": "wait_for", "function": "() => got.length > 0"},
        {"action": "execute_js", "script": "[got.join(), {{given.files.0.name}}]"},
    ]);
    let done = shop.acts.act("batch", json!({ "steps": steps })).await;
    assert_eq!(done["results"][2], json!(["plain true cat.png:meow", "cat.png"]), "{done}");
    let name = json!(shop.shop.join("dog.png")).to_string();
    let made = json!([
        {"action": "execute_js", "script": name, "as": "name"},
        upload(json!(["{{name}}"])),
    ]);
    let made = shop.acts.fails("batch", json!({ "steps": made })).await;
    assert!(made["message"].as_str().unwrap().contains("steps[1]: the `paths`"), "{made}");
    let closed = json!([upload(shop.paths(&["../secret.txt"]))]);
    let closed = shop.acts.act("batch", json!({ "steps": closed })).await;
    assert_eq!(closed["failed"]["reason"], "file_not_allowed", "{closed}");
    assert_eq!(shop.acts.read("got.length").await, 1);
    shop.acts.end().await;
}
