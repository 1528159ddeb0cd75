//! The programs that people have agents in, as they are installed from npm, against the program and
//! a real Chromium: what the model is shown. A test plays the model. `make full` runs this.

mod agent;
mod model_api;
mod model_server;
mod program;
mod shown;
mod workplace;

use serde_json::{Value, json};

use crate::browser::draw::{INK, near};
use agent::RunningAgent;
use program::AgentProgram;
use shown::ShownResult;
use tabwire::tools::ToolSurface;
use testkit::long_text;

/// The page's colour, which its picture has.
const GREEN: [u64; 3] = [0, 120, 60];

/// How many bytes of text an answer with `document.title` may have.
const TITLE_MAX_BYTES: usize = 60;

/// Tells how much text a model is shown, to whoever runs the tests.
#[expect(clippy::print_stdout, reason = "what was shown is told to whoever runs the tests")]
fn tell(program: AgentProgram, what: &str, shown: &ShownResult) {
    println!("{program:?} is shown {} bytes: {what}", shown.text.len());
}

/// The model knows the tools and is told how they are meant, in full.
async fn knows_the_tools(program: AgentProgram) {
    let mut agent = RunningAgent::start(program, "/").await;
    let instructions = agent.place.instructions().await;
    // Some programs put it into JSON of their own, once more.
    let plain = |text: &str| text.replace('\\', "");
    let texts: Vec<_> = agent.texts().into_iter().map(plain).collect();
    let is_told = |wanted: &str| texts.iter().any(|text| text.contains(wanted));
    assert!(is_told(&plain(&instructions)), "{instructions}");
    let surface = ToolSurface::parse("split").unwrap();
    for tool in surface.list().as_array().unwrap() {
        let described = tool["description"].as_str().unwrap();
        assert!(is_told(&plain(described)), "{}: {described}", tool["name"]);
    }
    agent.end().await;
}

/// A screenshot is shown as a picture, of the page and in the size that the answer tells.
async fn is_shown_a_picture(program: AgentProgram) {
    let mut agent = RunningAgent::start(program, "/").await;
    let [red, green, blue] = GREEN;
    let paint = format!("document.body.style.background = 'rgb({red}, {green}, {blue})'");
    agent.place.hand.read(&paint).await;
    let shown = agent.call("screenshot", json!({})).await;
    tell(program, "a screenshot, besides its picture", &shown);
    let told = &shown.answer()["result"];
    let told = told.get("value").unwrap_or(told);
    let seen = agent.place.hand.look_at(&shown.picture().url(), &[(600, 400)]).await;
    assert_eq!(json!(seen.size), json!([told["width"], told["height"]]), "{told}");
    assert!(near(seen.colours[0], GREEN), "{seen:?}");
    agent.end().await;
}

/// A person draws, and the model is shown the picture with the marks.
async fn is_shown_a_drawing(program: AgentProgram) {
    let mut agent = RunningAgent::start(program, "/").await;
    let asked = agent.call("annotations", json!({"wait": true, "wait_ms": 0})).await.answer();
    let hand = &mut agent.place.hand;
    hand.turn_to_drawing().await;
    hand.drag(&[(100, 100), (200, 150), (300, 200)]).await;
    hand.press("Enter", 1).await;
    let shown = agent.call("result", json!({"correlation_id": asked["correlation_id"]})).await;
    tell(program, "a drawing, besides its picture", &shown);
    let marks = shown.answer()["annotations"].clone();
    assert_eq!(marks[0]["box"], json!({"x": 100, "y": 100, "width": 200, "height": 100}));
    let hand = &mut agent.place.hand;
    hand.turn_to_page();
    let seen = hand.look_at(&shown.picture().url(), &[(200, 100), (200, 150)]).await;
    assert!(near(seen.colours[0], INK), "the mark: {seen:?}");
    assert!(near(seen.colours[1], [255, 255, 255]), "the page within it: {seen:?}");
    agent.end().await;
}

/// A long result comes in parts, and each says where the next is. The model follows what it is
/// shown, and has the exact whole at the end.
async fn follows_a_long_result_to_its_end(program: AgentProgram) {
    let mut agent = RunningAgent::start(program, "/long").await;
    let whole = long_text();
    assert!(whole.len() > 200_000, "{}", whole.len());
    let mut shown = agent.run_script("document.querySelector('pre').textContent").await;
    let mut read = String::new();
    loop {
        let answer = shown.answer();
        assert_eq!(answer["total_bytes"], whole.len(), "{answer}");
        read.push_str(answer["result"].as_str().expect("a part of the text"));
        let part = format!("{} of {} bytes", read.len(), whole.len());
        tell(program, &part, &shown);
        let Some(next) = shown.call_to_read_on() else { break };
        shown = agent.make(&next).await;
    }
    assert!(read == whole, "{} bytes were read, other than were there", read.len());
    agent.end().await;
}

/// An error is shown with its code, its sentence and its next step.
async fn is_shown_an_error_with_its_next_step(program: AgentProgram) {
    let mut agent = RunningAgent::start(program, "/").await;
    let call = json!({"script": "1", "tab_id": 999_999});
    let told = agent.place.ask("execute_js", call.clone()).await;
    assert_eq!(told["isError"], true, "{told}");
    let told: Value = serde_json::from_str(told["content"][0]["text"].as_str().unwrap()).unwrap();
    let shown = agent.call("execute_js", call).await;
    tell(program, "an error", &shown);
    // Some programs put the answer into JSON of their own, once more.
    let text = shown.text.replace('\\', "");
    for field in ["error", "hint"] {
        let told = told[field].as_str().unwrap_or_else(|| panic!("no {field}: {told}"));
        assert!(!told.is_empty() && text.contains(&told.replace('\\', "")), "{field}: {text}");
    }
    agent.end().await;
}

/// What is usual takes few bytes: a title.
async fn is_shown_a_short_result(program: AgentProgram) {
    let mut agent = RunningAgent::start(program, "/").await;
    let shown = agent.run_script("document.title").await;
    tell(program, &format!("document.title, {}", shown.written()), &shown);
    assert_eq!(shown.answer()["result"], "Home Page");
    assert!(shown.written().len() <= TITLE_MAX_BYTES, "{}", shown.written());
    agent.end().await;
}

/// Each promise, with one program.
macro_rules! agents {
    ($($name:ident: $program:expr;)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test]
            async fn knows_the_tools() {
                super::knows_the_tools($program).await;
            }

            #[tokio::test]
            async fn is_shown_a_picture() {
                super::is_shown_a_picture($program).await;
            }

            #[tokio::test]
            async fn is_shown_a_drawing() {
                super::is_shown_a_drawing($program).await;
            }

            #[tokio::test]
            async fn follows_a_long_result_to_its_end() {
                super::follows_a_long_result_to_its_end($program).await;
            }

            #[tokio::test]
            async fn is_shown_an_error_with_its_next_step() {
                super::is_shown_an_error_with_its_next_step($program).await;
            }

            #[tokio::test]
            async fn is_shown_a_short_result() {
                super::is_shown_a_short_result($program).await;
            }
        }
    )*};
}

agents! {
    claude_code: AgentProgram::ClaudeCode;
    codex: AgentProgram::Codex;
    codex_scripts: AgentProgram::CodexScripts;
    gemini_cli: AgentProgram::GeminiCli;
}
