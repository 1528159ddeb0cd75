//! One call of each choice that the tools offer, as their own schemas describe it: a new action is
//! among them from its first day.

use serde_json::{Map, Value, json};
use tabwire::protocol::actions::ToolGroup;
use tabwire::tools::{self, ToolSurface};

/// One call, with the parameters that it cannot do without.
#[derive(Clone, Debug)]
pub struct OfferedCall {
    /// The tool of the five.
    pub tool: String,
    /// Its choice.
    pub choice: String,
    /// All but the tab.
    pub arguments: Map<String, Value>,
    /// Whether it can name a tab.
    pub takes_tab: bool,
}

impl OfferedCall {
    /// The arguments, for this tab.
    pub fn of_tab(&self, tab: Option<i64>) -> Value {
        let mut arguments = self.arguments.clone();
        if let Some(tab) = tab {
            arguments.insert("tab_id".to_owned(), tab.into());
        }
        arguments.into()
    }
}

/// A call of each choice of each tool. `url`: a page that may be opened.
pub fn every_call(url: &str) -> Vec<OfferedCall> {
    let groups = ToolGroup::ALL.map(ToolGroup::name).join(",");
    let surface = ToolSurface::parse(&format!("split,{groups}"));
    let split = surface.expect("the groups are those that there are").list().into_owned();
    let split: Vec<_> = split.as_array().into_iter().flatten().collect();
    let chosen_by = |listed: &Value| listed["name"].as_str().and_then(tools::choice_of);
    let mut choices: Vec<(String, String)> = Vec::new();
    for tool in tools::list().as_array().into_iter().flatten() {
        let name = tool["name"].as_str().unwrap_or_default();
        let properties = &tool["inputSchema"]["properties"];
        let offered = selector_of(name).map(|selector| &properties[selector]["enum"]);
        let offered = offered.and_then(Value::as_array).into_iter().flatten();
        choices.extend(offered.filter_map(|one| Some((name.to_owned(), one.as_str()?.to_owned()))));
    }
    // Of choices that the five tools take and do not list.
    let apart = split.iter().filter_map(|listed| chosen_by(listed));
    choices.extend(apart.filter_map(|(tool, one)| Some((tool.to_owned(), one?.to_owned()))));
    choices.sort();
    choices.dedup();
    let call = |(tool, choice): (String, String)| {
        let is_it = |listed: &&&Value| chosen_by(listed) == Some((&*tool, Some(&*choice)));
        let schema = split.iter().find(is_it).map(|listed| listed["inputSchema"].clone());
        let schema = schema.unwrap_or_default();
        let mut arguments = needed(&schema, url);
        let selector = selector_of(&tool).unwrap_or_default();
        arguments.insert(selector.to_owned(), choice.as_str().into());
        let submits = matches!(&*tool, "interact" | "analyze");
        if submits {
            arguments.insert("wait_ms".to_owned(), 2_500.into());
            arguments.insert("timeout_ms".to_owned(), 1_500.into());
        }
        let takes_tab = submits || !schema["properties"]["tab_id"].is_null();
        OfferedCall { tool, choice, arguments, takes_tab }
    };
    choices.into_iter().map(call).collect()
}

/// The parameter by which a tool's choice is named.
fn selector_of(tool: &str) -> Option<&'static str> {
    match tool {
        "interact" | "configure" => Some("action"),
        "observe" | "analyze" => Some("what"),
        _ => None,
    }
}

/// What a schema requires, each in a value that its description allows.
fn needed(schema: &Value, url: &str) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let of = |name: &str| (name.to_owned(), value_of(name, &schema["properties"][name], url));
    required.filter(|name| *name != "tab_id").map(of).collect()
}

fn value_of(name: &str, schema: &Value, url: &str) -> Value {
    let words = match name {
        "url" => Some(url),
        "target" | "selector" | "from" => Some("body"),
        "script" | "function" => Some("1"),
        "key" => Some("Escape"),
        "pattern" => Some("noise"),
        _ => None,
    };
    if let Some(words) = words {
        return words.into();
    }
    match name {
        "steps" => return json!([{"action": "page_info"}]),
        "points" => return json!([[1, 1], [2, 2]]),
        "fields" => return json!([{"target": "body", "value": "x"}]),
        _ => {}
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("boolean") => true.into(),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("array") => json!([value_of("", &schema["items"], url)]),
        Some("object") => json!({}),
        _ => "word".into(),
    }
}

/// Whether a text has this word, with no letter or digit on either side: an id is no part of a
/// longer number.
pub fn says(text: &str, word: &str) -> bool {
    let is_part = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

/// The same text without what is another in every answer: ids, numbers and times.
pub fn without_numbers(text: &str) -> String {
    let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut told = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|sign| !is_word(sign)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (part, after) = rest.split_at(length);
        let has_digit = part.bytes().any(|byte| byte.is_ascii_digit());
        told.push_str(if has_digit { "#" } else { part });
        rest = after;
    }
    told
}
