//! `set_permissions`: what the page's site may use without the browser's question.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionEffect, ActionSpec, BrowserAction, ToolGroup};

/// Sets site permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetPermissionsAction {
    /// geolocation, notifications, camera, microphone, clipboard, automatic_downloads: each allow,
    /// deny or ask. The user is asked first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-split" = true))]
    pub permissions: Option<BTreeMap<SitePermission, PermissionSetting>>,
    /// Puts all back first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("x-split" = true))]
    pub reset: bool,
}

/// A permission of a site in the browser.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum SitePermission {
    Geolocation,
    Notifications,
    Camera,
    Microphone,
    Clipboard,
    AutomaticDownloads,
}

/// What the browser does when a site wants to use a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum PermissionSetting {
    Allow,
    Deny,
    Ask,
}

impl BrowserAction for SetPermissionsAction {
    const SPEC: ActionSpec = ActionSpec {
        group: ToolGroup::State,
        id_kind: "perm",
        effect: ActionEffect::HARMLESS,
        example: r#"{"permissions": {"geolocation": "allow", "camera": "deny"}}"#,
        ..ActionSpec::acting("set_permissions", "Site permissions")
    };
}
