//! Redaction of JSON, value by value, so that it stays JSON.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::pairs::PairTracker;
use super::redact::{REDACTED, redact};
use super::secret_names::is_secret_name;

/// JSON without its secrets; `None` if there are none.
#[must_use]
pub fn redact_json(json: &RawValue) -> Option<Box<RawValue>> {
    let mut value = serde_json::from_str(json.get()).ok()?;
    // Without a secret the text stays as it came, byte for byte (decision 297).
    if !redact_value(&mut value) {
        return None;
    }
    RawValue::from_string(value.to_string()).ok()
}

/// Whether there was a secret.
fn redact_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let Cow::Owned(clean) = redact(text) else { return false };
            *text = clean;
            true
        }
        Value::Array(items) => {
            // `|` and not `||`: every item must be redacted.
            items.iter_mut().fold(false, |found, item| redact_value(item) | found)
        }
        Value::Object(fields) => redact_fields(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn redact_fields(fields: &mut Map<String, Value>) -> bool {
    // `{"name":"password","value":"…"}`: the name stands in a field of its own.
    let names_a_secret = fields.iter().any(|(field, value)| {
        PairTracker::is_name(field) && value.as_str().is_some_and(is_secret_name)
    });
    let mut found = false;
    for (field, value) in fields {
        let is_secret = is_secret_name(field) || (names_a_secret && PairTracker::is_value(field));
        found |= if is_secret { redact_whole(value) } else { redact_value(value) };
    }
    found
}

/// Redacts all that stands under a secret's name. Returns whether there was anything. Null and
/// booleans stay: they only say whether there is a secret.
fn redact_whole(value: &mut Value) -> bool {
    match value {
        Value::Array(items) => {
            items.iter_mut().fold(false, |found, item| redact_whole(item) | found)
        }
        Value::Object(fields) => {
            fields.values_mut().fold(false, |found, field| redact_whole(field) | found)
        }
        Value::String(text) if text.is_empty() => false,
        Value::Null | Value::Bool(_) => false,
        Value::String(_) | Value::Number(_) => {
            *value = REDACTED.into();
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(value: &Value) -> Option<Value> {
        let json = RawValue::from_string(value.to_string()).unwrap();
        redact_json(&json).map(|clean| serde_json::from_str(clean.get()).unwrap())
    }

    #[test]
    fn secrets_in_an_analysis_are_taken_out_and_it_stays_what_it_was() {
        let found = json!({"success": true, "value": {
            "url": "http://h/?sid=1", "count": 1, "matches": [{
                "text": "paid with 4111 1111 1111 1111", "visible": true, "box": {"x": 1.5},
                "attributes": {"name": "pin", "value": "1234", "data-token": "abc", "href": "/a?otp=7"},
            }],
        }});
        let clean = json!({"success": true, "value": {
            "url": "http://h/?sid=[redacted]", "count": 1, "matches": [{
                "text": "paid with [redacted]", "visible": true, "box": {"x": 1.5},
                "attributes": {
                    "name": "pin", "value": "[redacted]", "data-token": "[redacted]",
                    "href": "/a?otp=[redacted]",
                },
            }],
        }});
        assert_eq!(redacted(&found), Some(clean));
    }

    #[test]
    fn lists_and_objects_under_a_secrets_name_are_taken_out_to_the_last_value() {
        let found = json!({"password": ["a", ["b"]], "token": {"v": "c", "at": 7, "is": true}});
        let clean = json!({
            "password": ["[redacted]", ["[redacted]"]],
            "token": {"v": "[redacted]", "at": "[redacted]", "is": true},
        });
        assert_eq!(redacted(&found), Some(clean));
    }

    #[test]
    fn what_has_no_secret_is_left_as_it_was_written() {
        for value in [
            json!({"value": {"name": "q", "value": "shoes", "n": 1}}),
            json!({"pin": [null, "", true]}),
        ] {
            assert_eq!(redacted(&value), None);
        }
    }
}
