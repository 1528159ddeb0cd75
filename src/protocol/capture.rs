//! The streams that browsers send without a command, and the settings for recording them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TabId;

/// The streams that a browser sends without a command.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "doc comments would bloat the schema")]
pub enum StreamKind {
    // The console's lines, and exceptions.
    Logs,
    // Requests that are over.
    Network,
    // Bodies of requests and of their answers.
    Bodies,
    // Messages of the pages' WebSockets.
    Websocket,
    // Clicks and input of the person in pages.
    Actions,
    // How fast pages were.
    Performance,
    // The extension's own log; always recorded.
    ExtensionLogs,
}

impl StreamKind {
    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::Logs,
        Self::Network,
        Self::Bodies,
        Self::Websocket,
        Self::Actions,
        Self::Performance,
        Self::ExtensionLogs,
    ];

    /// Its name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Logs => "logs",
            Self::Network => "network",
            Self::Bodies => "bodies",
            Self::Websocket => "websocket",
            Self::Actions => "actions",
            Self::Performance => "performance",
            Self::ExtensionLogs => "extension_logs",
        }
    }

    /// The stream of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.name() == name)
    }

    /// Whether it is recorded only when a client asks for it.
    #[must_use]
    pub const fn is_captured(self) -> bool {
        !matches!(self, Self::ExtensionLogs)
    }
}

/// The streams that an extension should record. A tab records the union of `all` and its own
/// entry. Nothing is recorded unless a client asked for it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CaptureSettings {
    /// In every tab.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub all: BTreeSet<StreamKind>,
    /// In single tabs besides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tabs: Vec<TabCapture>,
}

/// The streams to record in one tab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabCapture {
    /// The tab.
    pub tab_id: TabId,
    /// Its streams, at least one.
    pub streams: BTreeSet<StreamKind>,
}

impl CaptureSettings {
    /// Settings with these streams in every tab, and these in single ones.
    #[must_use]
    pub fn new(all: BTreeSet<StreamKind>, tabs: &BTreeMap<TabId, BTreeSet<StreamKind>>) -> Self {
        let of_tab = |(tab_id, streams): (&TabId, &BTreeSet<StreamKind>)| TabCapture {
            tab_id: *tab_id,
            streams: streams.clone(),
        };
        Self { all, tabs: tabs.iter().map(of_tab).collect() }
    }

    /// Whether a stream is recorded: in this tab, or in any if none is named.
    #[must_use]
    pub fn has(&self, stream: StreamKind, tab: Option<TabId>) -> bool {
        let mut tabs = self.tabs.iter().filter(|of| tab.is_none_or(|tab| of.tab_id == tab));
        self.all.contains(&stream) || tabs.any(|of| of.streams.contains(&stream))
    }
}
