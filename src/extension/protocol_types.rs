//! Makes `extension-shim/types/protocol.d.ts` of the types that the daemon itself sends and reads.
//!
//! The way leads over the JSON Schemas that these types have already for MCP: serde's attributes
//! mean the same there, and no second set of derives has to be kept in step.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::generated::assert_generated;
use crate::lifecycle::codes_of_extension;
use crate::protocol::actions::RegisteredAction;
use crate::protocol::{FromExtension, StreamKind, ToExtension};
use crate::streams::wire_schemas;

const PAGE: &str = "extension-shim/types/protocol.d.ts";

const HEAD: &str = "\
// The words on the wire. Generated from the Rust types of src/protocol/ and src/streams/:
// `UPDATE_DOCS=1 cargo test --lib generated` writes this file anew.

export * from './extension.js';
";

/// The page, as it is written.
struct TypesPage {
    text: String,
    definitions: Map<String, Value>,
}

impl TypesPage {
    fn generate() -> String {
        let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let to = variants::<ToExtension>(&mut generator);
        let from = variants::<FromExtension>(&mut generator);
        let (stamp, records) = wire_schemas(&mut generator);
        let actions = RegisteredAction::all().iter().map(|known| {
            let own = SchemaSettings::draft2020_12().for_serialize();
            let own = own.with(|settings| settings.inline_subschemas = true).into_generator();
            (known.spec.name, (known.schema)(own).to_value())
        });
        let definitions = generator.take_definitions(true);
        let mut page = Self { text: HEAD.to_owned(), definitions };
        page.frames("ToExtension", "The daemon sends these frames.", &to, "");
        page.frames("FromExtension", "The extension sends these frames.", &from, "Extension");
        let body = page.ts(stamp.as_value());
        page.export("EntryStamp", description(stamp.as_value()), &body);
        let mut entries = Vec::new();
        for (stream, record) in &records {
            let name = entry_name(*stream);
            let record = page.ts(record.as_value());
            page.export(name, "", &format!("EntryStamp & {record}"));
            entries.push(name);
        }
        page.export("StreamEntry", "An entry of any stream.", &entries.join(" | "));
        page.actions(actions);
        let codes = codes_of_extension().map(|code| format!("'{code}'"));
        let codes = codes.collect::<Vec<_>>().join(" | ");
        page.export("ErrorCode", "The codes of failures, each with a next step.", &codes);
        let streams = union(StreamKind::ALL.iter().map(|stream| format!("'{}'", stream.name())));
        page.named_types();
        page.text = page.text.replace(&format!("({streams})"), "StreamKind");
        page.export("StreamKind", "A kind of recorded entries.", &streams);
        page.text
    }

    /// A type for each frame, and one for all frames of a direction. `prefix` is for names that the
    /// other direction has taken.
    fn frames(&mut self, all: &str, about: &str, variants: &[Value], prefix: &str) {
        let mut names = Vec::new();
        for variant in variants {
            let tag = variant["properties"]["type"]["const"].as_str().expect("a tag");
            let mut name = format!("{}Frame", pascal(tag));
            // A type of that name is the frame without its tag.
            let is_same = variant["$ref"].as_str().is_some_and(|to| name_of(to) == name);
            let variant = if is_same { self.resolved(variant) } else { variant.clone() };
            if self.text.contains(&format!("export type {name} =")) {
                name.insert_str(0, prefix);
            }
            let body = self.ts(&variant);
            self.export(&name, description(&variant), &body);
            names.push(name);
        }
        self.export(all, about, &names.join(" | "));
    }

    fn actions(&mut self, actions: impl Iterator<Item = (&'static str, Value)>) {
        let mut body = String::from("{\n");
        for (name, schema) in actions {
            let params = self.ts(&schema).replace('\n', "\n  ");
            body.push_str(&doc(description(&schema), "  "));
            writeln!(body, "  {name}: {params};").unwrap();
        }
        body.push('}');
        self.export("ActionParams", "The parameters of each action.", &body);
    }

    /// The types that the others name, in the order of their names.
    fn named_types(&mut self) {
        let mut written = BTreeMap::new();
        loop {
            let missing = self.definitions.iter().find(|(name, _)| {
                let is_written = self.text.contains(&format!("export type {name} ="));
                !is_written && !written.contains_key(*name) && is_named(name, &self.text, &written)
            });
            let Some((name, schema)) = missing.map(|(name, schema)| (name.clone(), schema.clone()))
            else {
                break;
            };
            let body = self.ts(&schema);
            written.insert(name, (description(&schema).to_owned(), body));
        }
        for (name, (about, body)) in written {
            self.export(&name, &about, &body);
        }
    }

    fn export(&mut self, name: &str, about: &str, body: &str) {
        let about = doc(about, "");
        let is_long = body.len() > 100 && !body.contains('\n');
        let body = if is_long {
            format!("\n  | {}", body.replace(" | ", "\n  | "))
        } else {
            body.to_owned()
        };
        write!(self.text, "\n{about}export type {name} = {body};\n").unwrap();
    }

    /// A schema that only points to another one, with the content of that one.
    fn resolved(&self, schema: &Value) -> Value {
        let Some(to) = schema["$ref"].as_str() else { return schema.clone() };
        let mut whole = self.definitions[name_of(to)].clone();
        let own = schema["properties"].as_object().cloned().unwrap_or_default();
        let mut properties = own;
        properties.extend(whole["properties"].as_object().cloned().unwrap_or_default());
        let mut required = schema["required"].as_array().cloned().unwrap_or_default();
        required.extend(whole["required"].as_array().cloned().unwrap_or_default());
        if let Some(about) = schema.get("description") {
            whole["description"] = about.clone();
        }
        whole["properties"] = properties.into();
        whole["required"] = required.into();
        whole
    }

    /// The type that a schema describes.
    fn ts(&self, schema: &Value) -> String {
        let mut parts = Vec::new();
        if let Some(to) = schema["$ref"].as_str() {
            parts.push(name_of(to).to_owned());
        }
        if schema["properties"].is_object() {
            parts.push(self.object(schema));
        }
        for word in ["oneOf", "anyOf"] {
            if let Some(choices) = schema[word].as_array() {
                parts.push(union(choices.iter().map(|choice| self.ts(choice))));
            }
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            parts.push(self.ts(part));
        }
        if parts.is_empty() {
            parts.push(self.plain(schema));
        }
        let several = parts.len() > 1;
        let wrapped = parts.into_iter().map(|part| match several && part.contains(" | ") {
            true => format!("({part})"),
            false => part,
        });
        wrapped.collect::<Vec<_>>().join(" & ")
    }

    fn object(&self, schema: &Value) -> String {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut body = String::from("{\n");
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.iter().any(|one| one == name);
            let kind = self.ts(property);
            // A field that may be absent is never null.
            let kind = if is_required { &kind } else { kind.trim_end_matches(" | null") };
            body.push_str(&doc(description(property), "  "));
            let mark = if is_required { "" } else { "?" };
            writeln!(body, "  {name}{mark}: {};", kind.replace('\n', "\n  ")).unwrap();
        }
        body.push('}');
        if schema["additionalProperties"].as_bool() == Some(true) {
            body.push_str(" & Record<string, unknown>");
        }
        body
    }

    /// The type of a schema without parts.
    fn plain(&self, schema: &Value) -> String {
        if let Some(only) = schema.get("const") {
            return literal(only);
        }
        if let Some(choices) = schema["enum"].as_array().or(schema["x-values"].as_array()) {
            return union(choices.iter().map(literal));
        }
        match &schema["type"] {
            Value::Array(kinds) => {
                let one = |kind: &Value| {
                    let mut schema = schema.clone();
                    schema["type"] = kind.clone();
                    self.plain(&schema)
                };
                union(kinds.iter().map(one))
            }
            Value::String(kind) => match kind.as_str() {
                "integer" | "number" => "number".to_owned(),
                "array" => self.list(schema),
                "object" => match schema.get("additionalProperties") {
                    Some(inner) if inner.is_object() => {
                        format!("Record<string, {}>", self.ts(inner))
                    }
                    Some(Value::Bool(true)) => "Record<string, unknown>".to_owned(),
                    Some(_) | None => "Record<string, never>".to_owned(),
                },
                kind => kind.to_owned(),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                "unknown".to_owned()
            }
        }
    }

    fn list(&self, schema: &Value) -> String {
        let items = &schema["items"];
        let item = if items.is_object() { self.ts(items) } else { "unknown".to_owned() };
        match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
            (Some(least), Some(most)) if least == most && most <= 4 => {
                let all = (0..most).map(|_| item.clone()).collect::<Vec<_>>();
                format!("[{}]", all.join(", "))
            }
            _ if item.contains([' ', '\n']) => format!("({item})[]"),
            _ => format!("{item}[]"),
        }
    }
}

/// The variants of a tagged enum.
fn variants<T: JsonSchema>(generator: &mut SchemaGenerator) -> Vec<Value> {
    let schema = T::json_schema(generator).to_value();
    let mut variants = Vec::new();
    for word in ["oneOf", "anyOf"] {
        for variant in schema[word].as_array().into_iter().flatten() {
            match variant["oneOf"].as_array().or(variant["anyOf"].as_array()) {
                // A variant with the variants of another enum in it.
                Some(inner) => variants.extend(inner.iter().map(|inner| joined(variant, inner))),
                None => variants.push(variant.clone()),
            }
        }
    }
    variants
}

/// An object with the properties of two: those of the second first, since they have the tag.
fn joined(outer: &Value, inner: &Value) -> Value {
    let mut whole = inner.clone();
    for (name, property) in outer["properties"].as_object().into_iter().flatten() {
        whole["properties"][name] = property.clone();
    }
    let mut required = inner["required"].as_array().cloned().unwrap_or_default();
    required.extend(outer["required"].as_array().cloned().unwrap_or_default());
    whole["required"] = required.into();
    whole
}

/// Whether a type is named by what is written already.
fn is_named(name: &str, text: &str, written: &BTreeMap<String, (String, String)>) -> bool {
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
    let has = |text: &str| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("/**"));
        let text = &code.collect::<Vec<_>>().join("\n");
        text.match_indices(name).any(|(at, _)| {
            !text[..at].ends_with(is_in_word) && !text[at + name.len()..].starts_with(is_in_word)
        })
    };
    has(text) || written.values().any(|(_, body)| has(body))
}

fn name_of(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

const fn entry_name(stream: StreamKind) -> &'static str {
    match stream {
        StreamKind::Logs => "LogEntry",
        StreamKind::Network => "NetworkEntry",
        StreamKind::Bodies => "BodyEntry",
        StreamKind::Websocket => "SocketEntry",
        StreamKind::Actions => "ActionEntry",
        StreamKind::Performance => "PerformanceEntry",
        StreamKind::ExtensionLogs => "ExtensionLogEntry",
    }
}

/// `site_rule` as `SiteRule`.
fn pascal(name: &str) -> String {
    let words = name.split('_');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

fn literal(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("'{text}'"))
}

fn union(parts: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for part in parts {
        if !all.contains(&part) {
            all.push(part);
        }
    }
    all.join(" | ")
}

fn description(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// A description as a comment.
fn doc(about: &str, indent: &str) -> String {
    // Of a link, its text.
    let mut parts = about.split("](");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    parts.for_each(|part| plain.push_str(part.split_once(')').map_or(part, |(_, rest)| rest)));
    let about = plain.replace("[`", "`").replace("`]", "`").replace('\n', " ");
    if about.is_empty() { String::new() } else { format!("{indent}/** {about} */\n") }
}

#[test]
fn the_generated_types_of_the_extension_are_those_of_the_daemon() {
    assert_generated(PAGE, &TypesPage::generate());
}
