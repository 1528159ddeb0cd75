//! Google's generateContent, as Gemini CLI speaks it.

use serde_json::{Value, json};

use super::super::shown::{ShownPicture, ShownResult, ToolCall};
use super::ModelApi;

pub(in super::super) struct GeminiApi;

fn answer(part: &Value) -> Value {
    let used = json!({"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2});
    let content = json!({"role": "model", "parts": [part]});
    json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
           "usageMetadata": used})
}

impl ModelApi for GeminiApi {
    fn is_turn(&self, path: &str, request: &Value) -> bool {
        path.ends_with(":streamGenerateContent") && request["tools"].is_array()
    }

    /// How hard the task is, and whether the model goes round in circles.
    fn answer_aside(&self, path: &str) -> Option<Value> {
        let judged = json!({"complexity_reasoning": "", "complexity_score": 50,
                            "unproductive_state_analysis": "",
                            "unproductive_state_confidence": 0.0});
        path.ends_with(":generateContent").then(|| answer(&json!({"text": judged.to_string()})))
    }

    fn call(&self, id: &str, call: &ToolCall) -> Vec<Value> {
        let name = format!("mcp_tabwire_{}", call.tool);
        vec![answer(&json!({"functionCall": {"id": id, "name": name, "args": call.arguments}}))]
    }

    fn say(&self, text: &str) -> Vec<Value> {
        vec![answer(&json!({"text": text}))]
    }

    fn shown(&self, id: &str, request: &Value) -> Option<ShownResult> {
        let contents = request["contents"].as_array()?.iter();
        let mut turns = contents.filter_map(|content| content["parts"].as_array());
        let parts =
            turns.find(|parts| parts.iter().any(|part| part["functionResponse"]["id"] == id))?;
        let mut shown = ShownResult::default();
        for part in parts {
            let response = &part["functionResponse"]["response"];
            for text in [&response["output"], &response["error"], &part["text"]] {
                text.as_str().into_iter().for_each(|text| shown.add_text(text));
            }
            if let Some(picture) = part.get("inlineData") {
                let text = |name: &str| picture[name].as_str().unwrap().to_owned();
                let picture = ShownPicture { mime_type: text("mimeType"), data: text("data") };
                shown.pictures.push(picture);
            }
        }
        Some(shown)
    }
}
