//! What a model is shown of a tool's answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// A call of a tool, as a model makes it.
#[derive(Clone, Debug)]
pub(super) struct ToolCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// What a model is shown of the answer to one call.
#[derive(Debug, Default)]
pub(super) struct ShownResult {
    /// All the text, with what the program has put around the answer.
    pub(super) text: String,
    pub(super) pictures: Vec<ShownPicture>,
}

/// A picture, as it is given to a model.
#[derive(Debug)]
pub(super) struct ShownPicture {
    pub(super) mime_type: String,
    /// Its bytes in base64.
    pub(super) data: String,
}

impl ShownPicture {
    /// Reads `data:image/png;base64,…`.
    pub(super) fn of_url(url: &str) -> Self {
        let (mime_type, data) =
            url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")).expect(url);
        Self { mime_type: mime_type.to_owned(), data: data.to_owned() }
    }

    /// Its address for a browser, once it is sure that its bytes are what its type says.
    pub(super) fn url(&self) -> String {
        let bytes = STANDARD.decode(&self.data).unwrap();
        let starts: &[u8] = match self.mime_type.as_str() {
            "image/png" => b"\x89PNG",
            "image/jpeg" => b"\xff\xd8\xff",
            other => panic!("a picture of type {other}"),
        };
        assert!(bytes.starts_with(starts), "it is no {}", self.mime_type);
        format!("data:{};base64,{}", self.mime_type, self.data)
    }
}

impl ShownResult {
    pub(super) fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// The answer that the text holds: the first JSON object in it, which must be whole.
    pub(super) fn answer(&self) -> Value {
        self.json().0
    }

    /// The same as it is written there.
    pub(super) fn written(&self) -> &str {
        self.json().1
    }

    fn json(&self) -> (Value, &str) {
        let begins = self.text.match_indices('{').map(|(at, _)| at);
        let read = |at: usize| {
            let mut values = serde_json::Deserializer::from_str(&self.text[at..]).into_iter();
            let value: Value = values.next()?.ok()?;
            Some((value, &self.text[at..at + values.byte_offset()]))
        };
        begins.filter_map(read).next().unwrap_or_else(|| {
            panic!("no whole answer is shown in {} bytes: {}", self.text.len(), self.text)
        })
    }

    /// The only picture.
    pub(super) fn picture(&self) -> &ShownPicture {
        let [picture] = &self.pictures[..] else {
            panic!("{} pictures are shown: {}", self.pictures.len(), self.text)
        };
        picture
    }

    /// The call that the answer's hint tells to go on with, if there is more.
    pub(super) fn call_to_read_on(&self) -> Option<ToolCall> {
        let answer = self.answer();
        let next = answer.get("next_offset")?;
        let hint = answer["hint"].as_str().expect("a hint where to read on");
        let call = written_call(hint).unwrap_or_else(|| panic!("no call in the hint: {hint}"));
        assert_eq!(call.arguments["offset"], *next, "{hint}");
        Some(call)
    }
}

/// Reads `Read on with tool({name:value, …})`.
fn written_call(hint: &str) -> Option<ToolCall> {
    let (_, call) = hint.split_once("Read on with ")?;
    let (tool, rest) = call.split_once("({")?;
    let (written, _) = rest.split_once("})")?;
    let mut arguments = Map::new();
    for argument in written.split(", ") {
        let (name, value) = argument.split_once(':')?;
        arguments.insert(name.to_owned(), serde_json::from_str(value).ok()?);
    }
    Some(ToolCall { tool: tool.to_owned(), arguments: arguments.into() })
}

/// Every text in a JSON value, however deep.
pub(super) fn texts_in(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts_in).collect(),
        Value::Object(fields) => fields.values().flat_map(texts_in).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
