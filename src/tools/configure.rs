//! `configure`: looks after commands, the daemon and what agents store.

use std::sync::LazyLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::observe::{Nothing, command_result};
use super::result::Part;
use super::{Call, ToolResult, Tools, read, stored, streams};
use crate::hub::{Caller, CaptureChange, Wish};
use crate::protocol::{SERVER_VERSION, Stream, TabId};

pub(super) const NAME: &str = "configure";

pub(super) const DESCRIPTION: &str =
    "Manages commands, stored JSON, the daemon, and what is recorded of pages.";

pub(super) static ARGUMENTS: LazyLock<Arguments> =
    LazyLock::new(|| Arguments::of::<Configure, Nothing>("action"));

/// What can be done.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Configure {
    /// As observe command_result.
    QueryStatus {
        /// As it was returned.
        correlation_id: String,
    },
    Cancel {
        /// As it was returned.
        correlation_id: String,
    },
    Health {},
    Clients {},
    /// Records what pages do, or stops it.
    Capture {
        /// Default: true.
        on: Option<bool>,
        /// Default: all; to capture, all but bodies.
        streams: Option<Vec<Stream>>,
        /// Default: every tab.
        tab_id: Option<TabId>,
        /// Default: every browser.
        browser: Option<String>,
    },
    /// Hides logs and requests; lists the rules.
    NoiseRule {
        /// Part of a text or URL; * is anything.
        pattern: Option<String>,
        /// Id of the rule to remove.
        remove: Option<String>,
    },
    /// Drops what was recorded.
    Clear {
        /// Which; default all.
        streams: Option<Vec<Stream>>,
    },
    /// Keeps JSON under a name.
    Store {
        /// Default `default`.
        name: Option<String>,
        /// Any JSON.
        data: Value,
    },
    Load {
        /// Default `default`.
        name: Option<String>,
        /// Read on from this byte.
        #[schemars(range(min = 0))]
        offset: Option<usize>,
        /// Bytes at most.
        #[schemars(range(min = 1, max = 65_536))]
        limit: Option<usize>,
    },
    List {},
    Delete {
        /// Which.
        name: String,
    },
}

pub(super) async fn call(tools: &Tools, caller: &Caller, given: &Map<String, Value>) -> Call {
    let hub = &tools.hub;
    let action = match read(given) {
        Ok(action) => action,
        Err(wrong) => return Call::done(wrong),
    };
    Call::done(match action {
        Configure::QueryStatus { correlation_id } => {
            let now = Duration::ZERO;
            return command_result(tools, caller, correlation_id, now, false, None).await;
        }
        Configure::Cancel { correlation_id } => {
            ToolResult::of_seen(hub.cancel(caller, &correlation_id.into()).await, None)
        }
        Configure::Health {} => {
            let health = hub.health();
            ToolResult::of(&json!({
                "status": "ok",
                "version": SERVER_VERSION,
                "uptime_seconds": health.uptime.as_secs_f64(),
                "pending": health.pending,
                "kept": health.kept,
                "browsers": health.browsers,
                "clients": health.clients,
                "requests": health.requests,
                "storage": hub.storage(),
            }))
        }
        Configure::Clients {} => {
            let clients = hub.clients(&caller.owner);
            ToolResult::of(
                &json!({"you": caller.client, "count": clients.len(), "clients": clients}),
            )
        }
        Configure::Capture { on, streams, tab_id, browser } => {
            let streams = streams.map(|streams| streams.into_iter().collect());
            let of = Wish { browser, tab: tab_id };
            streams::capture(hub, caller, &CaptureChange { on: on != Some(false), streams, of })
        }
        Configure::NoiseRule { pattern, remove } => {
            streams::noise_rule(hub, caller, pattern.as_deref(), remove.as_deref())
        }
        Configure::Clear { streams } => streams::clear(hub, streams),
        Configure::Store { name, data } => stored::store(tools, caller, name, data).await,
        Configure::Load { name, offset, limit } => {
            stored::load(tools, caller, name, Part::asked_for(offset, limit)).await
        }
        Configure::List {} => stored::list(tools, caller).await,
        Configure::Delete { name } => stored::delete(tools, caller, name).await,
    })
}
