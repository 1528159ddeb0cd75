//! OpenAI's Responses, as Codex speaks them. A model that Codex has a description of is to write
//! scripts that call tools; any other calls them itself.

use serde_json::{Value, json};

use super::super::shown::{ShownPicture, ShownResult, ToolCall};
use super::{ModelApi, shown_content};

/// The tools are called by the model itself.
pub(in super::super) struct CodexApi;

/// The tools are called by scripts that the model writes.
pub(in super::super) struct CodexScriptApi;

fn is_turn(path: &str) -> bool {
    path.ends_with("/responses")
}

/// The events of an answer that has one item.
fn answer(item: &Value) -> Vec<Value> {
    let used = json!({"input_tokens": 1, "input_tokens_details": null, "output_tokens": 1,
                      "output_tokens_details": null, "total_tokens": 2});
    vec![
        json!({"type": "response.created", "response": {"id": "resp"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "resp", "usage": used}}),
    ]
}

fn say(text: &str) -> Vec<Value> {
    let content = json!([{"type": "output_text", "text": text}]);
    answer(&json!({"type": "message", "id": "msg", "role": "assistant", "content": content}))
}

fn run_script(id: &str, script: &str) -> Vec<Value> {
    answer(&json!({"type": "custom_tool_call", "id": "ctc", "call_id": id, "name": "exec",
                  "namespace": "functions", "input": script}))
}

/// The output of the call with this id.
fn shown(id: &str, request: &Value) -> Option<ShownResult> {
    let is_it = |item: &&Value| item["call_id"] == id && item.get("output").is_some();
    let output = &request["input"].as_array()?.iter().find(is_it)?["output"];
    Some(shown_content(output, |shown, item| match item["type"].as_str() {
        Some("input_text") => shown.add_text(item["text"].as_str().unwrap()),
        Some("input_image") => {
            shown.pictures.push(ShownPicture::of_url(item["image_url"].as_str().unwrap()));
        }
        Some(_) | None => panic!("an unknown item is shown: {item}"),
    }))
}

impl ModelApi for CodexApi {
    fn is_turn(&self, path: &str, _request: &Value) -> bool {
        is_turn(path)
    }

    fn call(&self, id: &str, call: &ToolCall) -> Vec<Value> {
        answer(&json!({"type": "function_call", "id": "fc", "call_id": id, "name": call.tool,
                      "namespace": "mcp__tabwire", "arguments": call.arguments.to_string()}))
    }

    fn say(&self, text: &str) -> Vec<Value> {
        say(text)
    }

    fn shown(&self, id: &str, request: &Value) -> Option<ShownResult> {
        shown(id, request)
    }
}

impl ModelApi for CodexScriptApi {
    fn is_turn(&self, path: &str, _request: &Value) -> bool {
        is_turn(path)
    }

    /// The model is told of a server by the first words of its instructions, and looks the rest up.
    fn load_tools(&self, id: &str, _tools: &[&str]) -> Option<Vec<Value>> {
        let look = "text(ALL_TOOLS.filter(({name}) => name.startsWith('mcp__tabwire__')));";
        Some(run_script(id, look))
    }

    /// As Codex tells models to show what a tool gives.
    fn call(&self, id: &str, call: &ToolCall) -> Vec<Value> {
        let ToolCall { tool, arguments } = call;
        let script = format!(
            "const result = await tools.mcp__tabwire__{tool}({arguments});\n\
             for (const item of result.content)\n    \
             item.type === 'image' ? image(item) : text(item.text);"
        );
        run_script(id, &script)
    }

    fn say(&self, text: &str) -> Vec<Value> {
        say(text)
    }

    fn shown(&self, id: &str, request: &Value) -> Option<ShownResult> {
        shown(id, request)
    }
}
