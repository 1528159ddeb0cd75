//! Analyses of a page, which only read. MCP clients read the doc comments of this file as part of
//! the schema, so the comments speak to the model.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One analysis with its own parameters. Its name is the command's `type` on the wire and
/// its fields are the `params`. It only reads, so it is safe to run twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum PageAnalysis {
    /// Elements by selector: text, attributes, box.
    Dom {
        /// CSS; also in shadow roots, frames.
        selector: String,
        /// Default 20.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 200))]
        limit: Option<u32>,
    },
    /// Roles, names, states.
    Accessibility {
        /// Only what is below the first match.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        selector: Option<String>,
        /// Max levels.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 100))]
        depth: Option<u32>,
    },
    /// Headings, forms, buttons, links, text.
    PageSummary {},
    /// Load, paint, layout shifts, resources.
    Performance {},
}

impl PageAnalysis {
    /// The analysis' name, as MCP and the wire call it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Dom { .. } => "dom",
            Self::Accessibility { .. } => "accessibility",
            Self::PageSummary {} => "page_summary",
            Self::Performance {} => "performance",
        }
    }

    /// The first part of the correlation id.
    #[must_use]
    pub const fn id_kind(&self) -> &'static str {
        match self {
            Self::Dom { .. } => "dom",
            Self::Accessibility { .. } => "a11y",
            Self::PageSummary {} => "page",
            Self::Performance {} => "perf",
        }
    }

    /// The usual duration: the estimate until runs have been measured.
    #[must_use]
    pub const fn usual_length(&self) -> Duration {
        match self {
            Self::Dom { .. } | Self::PageSummary {} => Duration::from_millis(20),
            Self::Accessibility { .. } => Duration::from_millis(50),
            Self::Performance {} => Duration::from_millis(100),
        }
    }
}
