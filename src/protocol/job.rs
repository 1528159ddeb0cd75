//! Long-running jobs of the daemon itself. MCP clients read the doc comments of this file as part
//! of the schema, so the comments speak to the model.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A long-running job with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name")]
pub enum Job {
    /// See [`MonitorSync`].
    #[serde(rename = "wksm_monitor_sync")]
    MonitorSync(MonitorSync),
}

/// Brings the monitor database up to date with a file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorSync {
    /// File or folder: an absolute path.
    pub path: String,
    /// Include subfolders; default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recursive: Option<bool>,
    /// Read unchanged files, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<bool>,
}

impl Job {
    /// The name of its tool.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::MonitorSync(_) => "wksm_monitor_sync",
        }
    }

    /// The longest time from its acceptance to its end. Only a job that hangs reaches it.
    #[must_use]
    pub const fn deadline(&self) -> Duration {
        match self {
            Self::MonitorSync(_) => Duration::from_secs(24 * 3_600),
        }
    }
}
