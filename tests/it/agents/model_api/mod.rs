//! The protocols in which programs talk to their models: what a request shows the model, and how
//! the model's next step is written.

mod claude;
mod codex;
mod gemini;

pub(super) use claude::ClaudeApi;
pub(super) use codex::{CodexApi, CodexScriptApi};
pub(super) use gemini::GeminiApi;

use serde_json::Value;

use super::shown::{ShownResult, ToolCall};

/// A model's protocol. Answers are lists of server-sent events.
pub(super) trait ModelApi: Send + Sync {
    /// Whether a request asks the model for its next step, and is not one of the program's own
    /// questions beside the conversation.
    fn is_turn(&self, path: &str, request: &Value) -> bool;

    /// The answer to such a question; `None` if it goes without one.
    fn answer_aside(&self, _path: &str) -> Option<Value> {
        None
    }

    /// What the model must say first to get at the tools, if they are not given to it at once.
    fn load_tools(&self, _id: &str, _tools: &[&str]) -> Option<Vec<Value>> {
        None
    }

    /// The model calls a tool.
    fn call(&self, id: &str, call: &ToolCall) -> Vec<Value>;

    /// The model says a text, and is done.
    fn say(&self, text: &str) -> Vec<Value>;

    /// What a request shows of the answer to this call.
    fn shown(&self, id: &str, request: &Value) -> Option<ShownResult>;
}

/// Joins the parts of a text that an answer can be: one text, or a list of items.
fn shown_content(content: &Value, add: impl Fn(&mut ShownResult, &Value)) -> ShownResult {
    let mut shown = ShownResult::default();
    match content {
        Value::String(text) => shown.add_text(text),
        Value::Array(items) => items.iter().for_each(|item| add(&mut shown, item)),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            panic!("what is shown is neither text nor a list: {other}")
        }
    }
    shown
}
