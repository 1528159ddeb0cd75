//! Makes `arguments.json` from the Rust types of the tools' arguments.

use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::arguments::{ArgumentVariant, ToolArguments};
use super::{analyze, configure, interact, jobs, observe};
use crate::generated::assert_generated;
use crate::protocol::actions::{ActionTool, RegisteredAction};

const FILE: &str = "src/tools/arguments.json";

impl ToolArguments {
    /// The arguments of a tool whose own parameters are `T`, an enum tagged with
    /// `selector`, and which takes those of `C` with any of its variants.
    pub(super) fn of<T: JsonSchema, C: JsonSchema>(selector: &str) -> Self {
        let own = plain_schema::<T>();
        let variants = own["oneOf"].as_array().into_iter().flatten();
        Self {
            selector: Some(selector.into()),
            variants: variants.map(|variant| ArgumentVariant::read(variant, selector)).collect(),
            common: properties(&plain_schema::<C>()),
        }
    }

    /// The arguments of a tool that offers these actions, and which takes those of `C` with any of
    /// them.
    pub(super) fn of_actions<C: JsonSchema>(tool: ActionTool) -> Self {
        Self {
            selector: Some(tool.selector().into()),
            variants: RegisteredAction::of_tool(tool).map(ArgumentVariant::of_action).collect(),
            common: properties(&plain_schema::<C>()),
        }
    }

    /// The same with the variants of one more enum, tagged alike.
    pub(super) fn and<T: JsonSchema>(mut self) -> Self {
        let more = Self::of::<T, ()>(self.selector().unwrap_or_default());
        self.variants.extend(more.variants);
        self
    }

    /// The arguments of the tool `name`, which does one thing and takes `T`.
    pub(super) fn plain<T: JsonSchema>(name: &str) -> Self {
        let variant = ArgumentVariant {
            name: name.to_owned(),
            ..ArgumentVariant::read(&plain_schema::<T>(), "")
        };
        Self { selector: None, variants: vec![variant], common: Map::new() }
    }
}

impl ArgumentVariant {
    fn of_action(action: &RegisteredAction) -> Self {
        let schema = plain(action.schema);
        let name = action.spec.name.to_owned();
        Self { name, ..Self::read(&schema, "") }
    }

    fn read(schema: &Value, selector: &str) -> Self {
        let mut properties = properties(schema);
        let name = properties
            .shift_remove(selector)
            .and_then(|tag| tag["const"].as_str().map(str::to_owned))
            .unwrap_or_default();
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str).filter(|name| *name != selector);
        Self {
            name,
            description: schema["description"].as_str().unwrap_or_default().to_owned(),
            required: required.map(str::to_owned).collect(),
            properties,
        }
    }
}

/// The schema of a type without references, and without parts that clients cannot read.
fn plain_schema<T: JsonSchema>() -> Value {
    plain(SchemaGenerator::into_root_schema_for::<T>)
}

fn plain(make: impl FnOnce(SchemaGenerator) -> Schema) -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = make(SchemaGenerator::new(settings)).to_value();
    simplify(&mut schema);
    schema
}

/// Drops formats that only Rust knows, and says "may be absent" by absence alone.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for noise in ["format", "default", "title", "$schema", "writeOnly"] {
                if object.get(noise).is_some_and(|value| !value.is_object()) {
                    object.shift_remove(noise);
                }
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                // Some model APIs refuse a list of types.
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Object(items)) = object.get_mut("items") {
                items.shift_remove("description");
            }
            if let Some(Value::Array(values)) = object.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            object.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn properties(schema: &Value) -> Map<String, Value> {
    schema["properties"].as_object().cloned().unwrap_or_default()
}

/// The tables with a line for each choice, so that a change shows as one.
fn text_of_tables() -> String {
    let tables = [
        (interact::NAME, interact::arguments()),
        (observe::NAME, observe::arguments()),
        (analyze::NAME, analyze::arguments()),
        (configure::NAME, configure::arguments()),
        (jobs::NAME, jobs::arguments()),
    ];
    let mut text = String::new();
    for (name, ToolArguments { selector, common, variants }) in tables {
        let between = if text.is_empty() { "{" } else { ",\n" };
        let (selector, common) = (json!(selector), json!(common));
        let lines: Vec<_> = variants.iter().map(|variant| json!(variant).to_string()).collect();
        let lines = lines.join(",\n");
        write!(
            text,
            "{between}\"{name}\": {{\"selector\": {selector}, \"common\":\n{common},\n\"variants\": [\n{lines}]}}"
        )
        .unwrap();
    }
    text + "}\n"
}

#[test]
fn the_generated_arguments_of_the_tools_are_those_of_the_rust_types() {
    assert_generated(FILE, &text_of_tables());
}
