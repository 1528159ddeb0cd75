//! What a tool's result holds, whichever way it is told.

use serde_json::{Value, json};
use tabwire::mcp::body_of;

/// The body of a tool's result.
pub fn body(result: &Value) -> Value {
    body_of(result).unwrap_or_else(|| panic!("no body: {result}"))
}

/// A PNG whose header says this size. It has no pixels.
#[must_use]
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    [head, width.to_be_bytes().to_vec(), height.to_be_bytes().to_vec(), vec![8, 6, 0, 0, 0]]
        .concat()
}

/// The most characters of an answer that every known MCP client shows its model: Codex cuts there.
const SHOWN_WHOLE: usize = 12_000;

/// Checks that the data is the same as the text, and absent beside a picture: Codex shows its
/// model no picture that stands beside data. And that clients show all of it, unless the call
/// asked for more.
pub(crate) fn check_contents(arguments: &Value, result: &Value) {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    if arguments.get("limit").is_none() {
        let length = text.chars().count();
        assert!(length <= SHOWN_WHOLE, "{length} characters for {arguments}: {text:.500}");
    }
    let contents = result["content"].as_array().unwrap_or_else(|| panic!("no content: {result}"));
    let has_picture = contents.iter().any(|content| content["type"] == "image");
    let data = result.get("structuredContent");
    assert_eq!(data.is_none(), has_picture, "{result}");
    assert!(data.is_none_or(|data| *data == body(result)), "the text is not the data: {result}");
}

/// The same call, asking for ids, times and details, unless it says whether it wants them: most
/// tests are about those.
pub(crate) fn in_full(tool: &str, mut arguments: Value) -> Value {
    const LISTS: [&str; 8] = [
        "tabs",
        "logs",
        "errors",
        "network",
        "websocket",
        "actions",
        "performance",
        "extension_logs",
    ];
    let is_list = arguments["what"].as_str().is_some_and(|what| LISTS.contains(&what));
    if (matches!(tool, "interact" | "analyze") || tool == "observe" && is_list)
        && arguments.is_object()
        && arguments.get("trace").is_none()
    {
        arguments["trace"] = json!(true);
    }
    arguments
}
