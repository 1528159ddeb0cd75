//! `emulate`: another screen, place or network for the pages of a tab.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};

/// Emulates a device, place or network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmulateAction {
    /// Size in CSS px, 390x844, and with @2 the ratio of pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub viewport: Option<String>,
    /// Size, touch and user agent of a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub device: Option<EmulatedDevice>,
    /// Whether the screen can be touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub touch: Option<bool>,
    /// Colors that the page is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub color_scheme: Option<ColorScheme>,
    /// Whether the page is asked to move little.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub reduced_motion: Option<bool>,
    /// Language and country, such as de-DE.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub locale: Option<String>,
    /// Time zone, such as Europe/Berlin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub timezone: Option<String>,
    /// Latitude and longitude, such as 52.52,13.40.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub geolocation: Option<String>,
    /// Speed of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub network: Option<NetworkSpeed>,
    /// How many times slower scripts run, 1 to 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub cpu_slowdown: Option<f64>,
    /// Puts all back first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("x-split" = true))]
    pub reset: bool,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum EmulatedDevice {
    Iphone,
    Ipad,
    AndroidPhone,
    AndroidTablet,
}

/// Colors that pages are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum ColorScheme {
    Light,
    Dark,
}

/// The speed of an emulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum NetworkSpeed {
    Offline,
    #[serde(rename = "slow_3g")]
    Slow3g,
    #[serde(rename = "fast_3g")]
    Fast3g,
    #[serde(rename = "slow_4g")]
    Slow4g,
    #[serde(rename = "fast_4g")]
    Fast4g,
    Full,
}

impl BrowserAction for EmulateAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::State,
        id_kind: "emul",
        effect: ActionEffect::HARMLESS,
        example: r#"{"viewport": "390x844@3", "color_scheme": "dark", "timezone": "Europe/Berlin"}"#,
        ..ActionSpec::acting("emulate", "Emulate a device")
    };
}
