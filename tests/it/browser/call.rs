//! `tabwire call` with a real Chromium, as a script uses it.

use std::fs;

use serde_json::Value;

use crate::browser::Stage;
use testkit::{OTHER_SITE, ProgramOutput, cli_of, finish};

async fn run(stage: &Stage, arguments: &[&str]) -> ProgramOutput {
    finish(cli_of(&stage.daemon, arguments)).await
}

/// What a call prints that does what it was asked for.
async fn printed(stage: &Stage, arguments: &[&str]) -> String {
    let ran = run(stage, &[&["call"], arguments].concat()).await;
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{arguments:?}: {ran:?}");
    ran.stdout
}

#[tokio::test]
async fn a_script_goes_to_a_page_reads_long_values_whole_and_takes_a_picture() {
    let stage = Stage::set().await;
    let url = format!("url={}", stage.pages.url("/second"));
    printed(&stage, &["interact", "action=navigate", &url]).await;
    let title = ["interact", "action=execute_js", "script=document.title"];
    assert_eq!(printed(&stage, &title).await, "Second Page\n");

    let lines: Vec<_> = (0..30_000).map(|n| format!("line \"{n}\"")).collect();
    let script = "script=Array.from({length: 30000}, (_, n) => `line \"${n}\"`)";
    let list = printed(&stage, &["interact", "action=execute_js", script]).await;
    assert!(serde_json::from_str::<Vec<String>>(&list).unwrap() == lines, "the whole list");
    let script = format!("{script}.join('\\n')");
    let text = printed(&stage, &["interact", "action=execute_js", &script]).await;
    assert!(text == lines.join("\n") + "\n", "the whole text");
    let whole = printed(&stage, &["interact", "action=execute_js", &script, "--json"]).await;
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert!(whole["result"] == lines.join("\n"), "the whole text as JSON");
    assert!(whole.get("truncated").is_none() && whole.get("next_offset").is_none());

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.png");
    let out = file.to_str().unwrap();
    let shot = printed(&stage, &["interact", "action=screenshot", "--out", out]).await;
    assert_eq!(shot.trim_end(), out);
    assert!(fs::read(&file).unwrap().starts_with(b"\x89PNG\r\n"));

    assert_eq!(run(&stage, &["sites", "deny", OTHER_SITE]).await.code, Some(0));
    let denied = url.replace("127.0.0.1", OTHER_SITE);
    let refused = run(&stage, &["call", "interact", "action=navigate", &denied]).await;
    assert_eq!((refused.code, &*refused.stdout), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.contains(OTHER_SITE), "why: {refused:?}");
    assert!(refused.stderr.contains("tabwire sites"), "the next step: {refused:?}");
    stage.end().await;
}
