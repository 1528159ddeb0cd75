//! The outline of answers for clients that validate them, which the list of tools has as text.

use serde_json::{Map, Value, json};

use super::{answers, jobs, list};

/// The types of these fields in a tool's answers and failures: one flat object without required
/// fields, for clients that validate answers.
fn outline(document: &Value, tool: &str, fields: &[&str]) -> Value {
    let definitions = document["$defs"].as_object().into_iter().flatten();
    let of_tool = definitions.filter(|(name, _)| name.split('.').next() == Some(tool));
    let shapes: Vec<_> = of_tool.map(|(_, shape)| shape).collect();
    let properties = fields.iter().map(|field| {
        let mut found = FieldTypes::default();
        shapes.iter().for_each(|shape| found.look(document, shape, Some(field)));
        ((*field).to_owned(), found.into_schema())
    });
    json!({"type": "object", "properties": properties.collect::<Map<_, _>>()})
}

/// The types that a field can have.
#[derive(Default)]
struct FieldTypes(Vec<Value>);

impl FieldTypes {
    /// Notes the types that a schema gives a field; without `field`, the schema's own type.
    fn look(&mut self, document: &Value, schema: &Value, field: Option<&str>) {
        if let Some(Value::String(to)) = schema.get("$ref") {
            let target = document.pointer(to.trim_start_matches('#')).unwrap_or(&Value::Null);
            return self.look(document, target, field);
        }
        for word in ["allOf", "anyOf", "oneOf"] {
            let parts = schema[word].as_array().into_iter().flatten();
            parts.for_each(|part| self.look(document, part, field));
        }
        match field {
            Some(field) => {
                if let Some(of_field) = schema["properties"].get(field) {
                    self.look(document, of_field, None);
                }
            }
            None => self.note(schema),
        }
    }

    /// Of a schema in parts, the parts say it.
    fn note(&mut self, schema: &Value) {
        let in_parts = ["allOf", "anyOf", "oneOf"].iter().any(|word| !schema[word].is_null());
        if !in_parts && !self.0.contains(&schema["type"]) {
            self.0.push(schema["type"].clone());
        }
    }

    fn into_schema(self) -> Value {
        match &self.0[..] {
            [kind @ Value::String(_)] => json!({"type": kind}),
            _ => json!({}),
        }
    }
}

#[test]
fn the_output_schema_of_a_job_is_the_outline_of_its_answers() {
    let outlined = outline(answers(), jobs::NAME, &["success", "data", "messages"]);
    let tools = list().as_array().unwrap();
    let listed: Vec<_> = tools.iter().filter_map(|tool| tool.get("outputSchema")).collect();
    assert_eq!(listed, [&outlined]);
}
