//! JSON Schema of the tools' answers, generated from the types of the answers.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::parts::AnswerPart;
use super::{jobs, notice};

/// Stands for a choice: the answers of calls that failed.
pub(super) const FAILED: &str = "failed";

/// Says where schemas stand.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The answers of each tool.
pub(super) struct AnswerSchemas {
    generator: SchemaGenerator,
    /// By the tool's name and the choice, with a point between them.
    shapes: Map<String, Value>,
}

/// The answers to one kind of call.
pub(super) struct AnswerShapes<'a> {
    generator: &'a mut SchemaGenerator,
    shapes: &'a mut Vec<Value>,
}

impl AnswerSchemas {
    pub(super) fn new() -> Self {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        Self { generator, shapes: Map::new() }
    }

    /// The answers of a tool that was asked for this; for anything that has none of its own,
    /// if it is empty.
    pub(super) fn of(&mut self, tool: &str, choice: &str) -> AnswerShapes<'_> {
        let name = if choice.is_empty() { tool.to_owned() } else { format!("{tool}.{choice}") };
        let shape = self.shapes.entry(name).or_insert_with(|| json!({"anyOf": []}));
        let Value::Array(shapes) = &mut shape["anyOf"] else { unreachable!("made above") };
        AnswerShapes { generator: &mut self.generator, shapes }
    }

    /// The schema of a type itself, not where it is to be found.
    pub(super) fn inline<T: JsonSchema>(&mut self) -> Value {
        T::json_schema(&mut self.generator).to_value()
    }

    pub(super) const fn generator(&mut self) -> &mut SchemaGenerator {
        &mut self.generator
    }

    /// All of them in one document. Fields without a description are forbidden.
    pub(super) fn document(mut self) -> Value {
        let mut definitions = self.generator.take_definitions(true);
        for (name, shape) in &mut self.shapes {
            // No job is for a browser.
            if !name.starts_with(jobs::NAME) {
                notice::allow_notice(&mut definitions, shape);
            }
        }
        definitions.extend(self.shapes);
        for schema in definitions.values_mut() {
            tidy(schema);
            close(schema, false);
        }
        // The published file must not depend on the order of the calls above.
        definitions.sort_keys();
        json!({
            "$schema": DIALECT,
            "title": "Answers of Tabwire's tools",
            "description": "The JSON of an answer, its first text, is valid against the definition \
                named TOOL.CHOICE, the choice being its `what` or `action`, or TOOL if there is \
                no such definition; against TOOL.failed if isError is true.",
            "$defs": definitions,
        })
    }
}

impl AnswerShapes<'_> {
    /// They can be of this type.
    pub(super) fn are<T: JsonSchema>(self) -> Self {
        let shape = self.generator.subschema_for::<T>().to_value();
        self.is(shape)
    }

    /// They can be this object, or parts of it.
    pub(super) fn are_in_parts(self, whole: Value) -> Self {
        let part = AnswerPart::shape_of(&whole, self.generator);
        self.is(whole).is(part)
    }

    /// They can be this.
    pub(super) fn is(self, shape: Value) -> Self {
        self.shapes.push(shape);
        self
    }
}

/// Drops words that mean nothing outside of Rust.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // `uint64` and the like are words of schemars, which validators refuse or ignore.
            object.retain(|word, value| word != "format" || value.is_object());
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Forbids fields that are not described. The parts of an object `in_parts` describe some of
/// its fields each, so only the whole can.
fn close(schema: &mut Value, in_parts: bool) {
    let Some(object) = schema.as_object_mut() else { return };
    let is_described = object.contains_key("properties");
    for word in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(parts)) = object.get_mut(word) {
            parts.iter_mut().for_each(|part| close(part, in_parts || is_described));
        }
    }
    for inside in ["items", "additionalProperties"] {
        object.get_mut(inside).into_iter().for_each(|schema| close(schema, false));
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(|schema| close(schema, false));
    }
    let is_open = object.contains_key("additionalProperties");
    if is_described && !in_parts && !is_open {
        object.insert("unevaluatedProperties".to_owned(), false.into());
    }
}
