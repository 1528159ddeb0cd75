//! The members of a JSON object as they stand in its text.
//!
//! Results are read and relabelled here. To parse and print them would change `5.0`, `1e400`, the
//! order of keys and repeated keys.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in their order.
#[derive(Debug)]
pub(super) struct ObjectMembers<'a>(Vec<ObjectMember<'a>>);

/// One member: its name, and name and value byte for byte.
#[derive(Debug)]
pub(super) struct ObjectMember<'a> {
    pub(super) name: String,
    key: &'a RawValue,
    pub(super) value: &'a RawValue,
}

impl<'a> ObjectMembers<'a> {
    /// The members of this text. `None`: it is no object, or has a name that is no text.
    pub(super) fn of(json: &'a RawValue) -> Option<Self> {
        serde_json::from_str(json.get()).ok()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ObjectMember<'a>> {
        self.0.iter()
    }

    /// The value of a name. Of several the last one counts, as it does in JavaScript.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rfind(|member| member.name == name).map(|member| member.value)
    }

    /// The same, if it is a text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The same, if it is true or false.
    pub(super) fn truth(&self, name: &str) -> Option<bool> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The object with members of these names under others.
    pub(super) fn renamed(&self, names: &[(&str, &str)]) -> String {
        let members = self.0.iter().map(|member| {
            let new_name = names.iter().find(|(old, _)| *old == member.name).map(|(_, new)| *new);
            match new_name {
                Some(name) => format!("\"{name}\":{}", member.value.get()),
                None => member.json(),
            }
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

impl ObjectMember<'_> {
    /// The member as it stands in the text.
    pub(super) fn json(&self) -> String {
        format!("{}:{}", self.key.get(), self.value.get())
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.get() == "null"
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Vec<ObjectMember<'de>>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    let name = serde_json::from_str(key.get()).map_err(serde::de::Error::custom)?;
                    members.push(ObjectMember { name, key, value });
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn members_keep_their_order_their_bytes_and_their_repetitions() {
        let json = raw(r#"{"b":5.0,"a":1e400,"b":[ 1 ],"\u0063":"\ud800"}"#);
        let members = ObjectMembers::of(&json).unwrap();
        assert_eq!(members.get("b").unwrap().get(), "[ 1 ]");
        assert_eq!(members.get("c").unwrap().get(), r#""\ud800""#);
        assert_eq!(members.get("d").map(RawValue::get), None);
        assert_eq!(
            members.renamed(&[("b", "x")]),
            r#"{"x":5.0,"a":1e400,"x":[ 1 ],"\u0063":"\ud800"}"#
        );
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for json in ["5", "null", r#"["a"]"#, r#""{}""#, r#"{"\ud800":1}"#] {
            assert!(ObjectMembers::of(&raw(json)).is_none(), "{json}");
        }
    }
}
