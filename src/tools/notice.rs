//! A notice beside an answer: an extension that only polls asks to be let in, or is let in
//! although no person has allowed it.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{ToolReply, ToolResult, ToolSet};
use crate::hub::Caller;
use crate::protocol::DOCTOR_CLIENT;

/// The field that it stands in, of any answer.
const FIELD: &str = "notice";

impl ToolSet {
    /// The same call, whose answer has the notice that there is when it is given.
    pub(super) fn with_notice(&self, caller: &Caller, call: ToolReply) -> ToolReply {
        // A notice that is given once is for an agent.
        if caller.client.as_str() == DOCTOR_CLIENT {
            return call;
        }
        let Some(admission) = self.admission.clone() else { return call };
        let noticed = move |result: ToolResult| match admission.notice(result.lacks_browser) {
            Some(notice) => ToolResult { body: with_field(&result.body, &notice), ..result },
            None => result,
        };
        call.map(noticed)
    }
}

/// The same JSON object with the notice behind all else: the rest stays byte for byte.
fn with_field(body: &RawValue, notice: &str) -> Box<RawValue> {
    // Spliced as text: a large answer need not be parsed and written again.
    let before = body.get().trim_end().strip_suffix('}').unwrap_or_default();
    let comma = if before.trim_end().ends_with('{') { "" } else { "," };
    let field = format!("{before}{comma}{}:{}}}", json!(FIELD), json!(notice));
    RawValue::from_string(field).unwrap_or_else(|_no_object| body.to_owned())
}

/// Lets answers have a notice: every object that a schema describes an answer as, through
/// references too.
pub(super) fn allow_notice(definitions: &mut serde_json::Map<String, Value>, shape: &mut Value) {
    if let Some(name) = shape["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/")) {
        let Some(mut target) = definitions.get(name).cloned() else { return };
        allow_notice_in(&mut target, definitions);
        definitions.insert(name.to_owned(), target);
    } else {
        allow_notice_in(shape, definitions);
    }
}

fn allow_notice_in(schema: &mut Value, definitions: &mut serde_json::Map<String, Value>) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let described = json!({
            "description": "What the person should hear of an older extension.",
            "type": "string",
        });
        properties.insert(FIELD.to_owned(), described);
        return;
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(parts)) = schema.get_mut(word) else { continue };
        for part in parts {
            allow_notice(definitions, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_stands_behind_all_else() {
        let of = |body: &str| {
            let body = RawValue::from_string(body.to_owned()).unwrap();
            with_field(&body, "say \"hi\"").get().to_owned()
        };
        assert_eq!(of("{}"), r#"{"notice":"say \"hi\""}"#);
        assert_eq!(of(r#"{"a":1e2,"b":{}}"#), r#"{"a":1e2,"b":{},"notice":"say \"hi\""}"#);
        assert_eq!(of("[1]"), "[1]");
    }
}
