//! What browsers send on their own: the streams, and which of them to record.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TabId;

/// One kind of what a browser sends on its own.
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
    // What requests and their answers carried.
    Bodies,
    // Messages of the pages' WebSockets.
    Websocket,
    // What the person does in pages.
    Actions,
    // How fast pages were.
    Performance,
    // What the extension says of itself; always kept.
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

    /// Whether it is recorded only when somebody asks for it.
    #[must_use]
    pub const fn is_captured(self) -> bool {
        !matches!(self, Self::ExtensionLogs)
    }
}

/// What an extension should record on its own. A tab records the union of `all` and its own
/// entry; nothing unless somebody asked for it.
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

/// What to record in one tab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TabCapture {
    /// The tab.
    pub tab_id: TabId,
    /// What of it, at least one stream.
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
