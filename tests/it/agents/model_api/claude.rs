//! Anthropic's Messages, as Claude Code speaks them.

use serde_json::{Value, json};

use super::super::shown::{ShownPicture, ShownResult, ToolCall};
use super::{ModelApi, shown_content};

pub(in super::super) struct ClaudeApi;

/// The events of an answer with one block, of which more comes in a delta.
fn answer(block: &Value, delta: &Value, stops: &str) -> Vec<Value> {
    let used = json!({"input_tokens": 1, "output_tokens": 1});
    let message = json!({"id": "msg", "type": "message", "role": "assistant", "model": "scripted",
                         "content": [], "stop_reason": null, "stop_sequence": null, "usage": used});
    vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stops, "stop_sequence": null},
               "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

fn call(id: &str, name: &str, arguments: &Value) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
    answer(&block, &delta, "tool_use")
}

fn name_of(tool: &str) -> String {
    format!("mcp__tabwire__{tool}")
}

impl ModelApi for ClaudeApi {
    fn is_turn(&self, path: &str, request: &Value) -> bool {
        path == "/v1/messages" && request["tools"].as_array().is_some_and(|all| !all.is_empty())
    }

    /// Tools of servers are only named at first.
    fn load_tools(&self, id: &str, tools: &[&str]) -> Option<Vec<Value>> {
        let names: Vec<_> = tools.iter().map(|tool| name_of(tool)).collect();
        let query = format!("select:{}", names.join(","));
        Some(call(id, "ToolSearch", &json!({"query": query, "max_results": tools.len()})))
    }

    fn call(&self, id: &str, wanted: &ToolCall) -> Vec<Value> {
        call(id, &name_of(&wanted.tool), &wanted.arguments)
    }

    fn say(&self, text: &str) -> Vec<Value> {
        let block = json!({"type": "text", "text": ""});
        answer(&block, &json!({"type": "text_delta", "text": text}), "end_turn")
    }

    fn shown(&self, id: &str, request: &Value) -> Option<ShownResult> {
        let messages = request["messages"].as_array()?.iter();
        let mut blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
        let result = blocks.find(|block| block["tool_use_id"] == id)?;
        Some(shown_content(&result["content"], |shown, item| match item["type"].as_str() {
            Some("text") => shown.add_text(item["text"].as_str().unwrap()),
            Some("image") => {
                let text = |name: &str| item["source"][name].as_str().unwrap().to_owned();
                let picture = ShownPicture { mime_type: text("media_type"), data: text("data") };
                shown.pictures.push(picture);
            }
            Some("tool_reference") => shown.add_text(item["tool_name"].as_str().unwrap()),
            Some(_) | None => panic!("an unknown item is shown: {item}"),
        }))
    }
}
