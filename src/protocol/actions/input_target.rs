//! Parameters that several actions have in common: the place where they act, and the way.

use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::protocol::in_short;

/// The element at which an action acts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ElementTarget {
    /// Element: a ref (b12), CSS selector, text=, role= or label=.
    pub target: String,
    /// Element in human words; only for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub element: Option<String>,
}

/// The element or point at which an action acts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointTarget {
    /// Element: a ref (b12), CSS selector, text=, role= or label=.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Element in human words; only for the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub element: Option<String>,
    /// Point: px from the left; with `in`, of that picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub x: Option<f64>,
    /// Point in place of target: px from the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub y: Option<f64>,
    /// Picture whose pixels the point is in: `in` of its answer.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-silent" = true))]
    pub picture: Option<String>,
}

impl ElementTarget {
    pub(super) fn in_short(&self) -> Option<Arc<str>> {
        Some(in_short(&self.target))
    }
}

impl PointTarget {
    pub(super) fn in_short(&self) -> Option<Arc<str>> {
        match (&self.target, self.x, self.y) {
            (Some(target), ..) => Some(in_short(target)),
            (None, Some(x), Some(y)) => Some(format!("{x},{y}").into()),
            (None, ..) => None,
        }
    }
}

/// What an answer tells of the page after the act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PageAfterAct {
    /// Add the page after it: true or "diff".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotAfterAct>,
}

impl PageAfterAct {
    /// Whether an answer tells anything of the page.
    pub(super) fn is_told(self) -> bool {
        self.snapshot.is_some_and(|snapshot| snapshot != SnapshotAfterAct::None)
    }
}

/// How the page after an act is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotAfterAct {
    /// `true`: as a snapshot.
    Whole,
    /// `"diff"`: the lines that changed since the last one.
    Changes,
    /// `false`: not at all.
    None,
}

impl SnapshotAfterAct {
    const CHANGES: &str = "diff";
}

impl Serialize for SnapshotAfterAct {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Whole => serializer.serialize_bool(true),
            Self::Changes => serializer.serialize_str(Self::CHANGES),
            Self::None => serializer.serialize_bool(false),
        }
    }
}

impl<'de> Deserialize<'de> for SnapshotAfterAct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(deserializer)?;
        match (given.as_bool(), given.as_str()) {
            (Some(true), _) => Ok(Self::Whole),
            (Some(false), _) => Ok(Self::None),
            (None, Some(Self::CHANGES)) => Ok(Self::Changes),
            (None, _) => Err(D::Error::custom("`snapshot` is true, false or \"diff\"")),
        }
    }
}

impl JsonSchema for SnapshotAfterAct {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SnapshotAfterAct".into()
    }

    // No `enum`: some model APIs take lists of texts only.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-values": [true, false, Self::CHANGES]})
    }
}

/// A button of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum MouseButton {
    Left,
    Right,
    Middle,
}

/// A key that is held while another thing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum KeyModifier {
    Alt,
    Control,
    ControlOrMeta,
    Meta,
    Shift,
}

/// How long an action waits for its element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum TargetWait {
    Ready,
    None,
}
