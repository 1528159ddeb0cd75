//! `configure`: looks after commands and the daemon.

use std::sync::LazyLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::observe::{Nothing, command_result};
use super::{Call, ToolResult, Tools, read};
use crate::hub::Caller;
use crate::protocol::SERVER_VERSION;

pub(super) const NAME: &str = "configure";

pub(super) const DESCRIPTION: &str =
    "Cancels a command, asks for its status, shows the daemon's health and its clients.";

pub(super) static ARGUMENTS: LazyLock<Arguments> =
    LazyLock::new(|| Arguments::of::<Configure, Nothing>("action"));

/// What can be done.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Configure {
    /// The same as observe command_result.
    QueryStatus {
        /// The command's id, as interact returned it.
        correlation_id: String,
        /// Add the time of every phase.
        trace: Option<bool>,
    },
    /// Cancels a command; the page is told to stop.
    Cancel {
        /// The command's id, as interact returned it.
        correlation_id: String,
    },
    /// The daemon's version, uptime and load.
    Health {},
    /// The clients that the daemon knows.
    Clients {},
}

pub(super) async fn call(tools: &Tools, caller: &Caller, given: &Map<String, Value>) -> Call {
    let hub = &tools.hub;
    let action = match read(given) {
        Ok(action) => action,
        Err(wrong) => return Call::done(wrong),
    };
    Call::done(match action {
        Configure::QueryStatus { correlation_id, trace } => {
            let with_trace = trace == Some(true);
            let now = Duration::ZERO;
            return command_result(tools, caller, correlation_id, now, with_trace, None).await;
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
                "storage": hub.storage(),
            }))
        }
        Configure::Clients {} => {
            let clients = hub.clients(&caller.owner);
            ToolResult::of(
                &json!({"you": caller.client, "count": clients.len(), "clients": clients}),
            )
        }
    })
}
