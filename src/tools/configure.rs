//! `configure`: manages commands, the daemon and the values that agents store.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answers::{AnswerSchemas, FAILED};
use super::brief::DetailLevel;
use super::failure::{CallFailure, NotFound, RefusedCall, UnknownRule};
use super::har::{HarAnswer, HarArguments, answer_of, save_har};
use super::observe::command_result;
use super::parts::RequestedPart;
use super::result::{CommandAnswer, status};
use super::{ToolReply, ToolResult, ToolSet, noise, read, sites, stored, streams};
use crate::hub::{
    Caller, CaptureChange, ClientSummary, DialogHandling, RequestCounts, StorageStatus,
    TargetSelector,
};
use crate::protocol::{ClientId, SERVER_VERSION, StreamKind, TabId};

pub(super) const NAME: &str = "configure";

pub(super) const DESCRIPTION: &str = "Manages commands, stored JSON, recording and sites.";

/// Its arguments, of their types.
#[cfg(test)]
pub(super) fn arguments() -> super::arguments::ToolArguments {
    super::arguments::ToolArguments::of::<ConfigureAction, ()>("action")
}

/// The actions.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
enum ConfigureAction {
    /// Status of a command, at once.
    QueryStatus {
        /// Id of the command.
        correlation_id: String,
    },
    /// Cancels a command.
    Cancel {
        /// Id of the command.
        correlation_id: String,
    },
    /// State of the daemon.
    Health {},
    /// Known clients.
    Clients {},
    /// Starts or stops recording.
    Capture {
        /// false stops; default true.
        on: Option<bool>,
        /// Streams; default all, for capture all but bodies.
        streams: Option<Vec<StreamKind>>,
        /// Tab to record; default every tab.
        tab_id: Option<TabId>,
        /// Browser to record; default every one.
        browser: Option<String>,
    },
    /// Gives a tab back that you hold.
    TabRelease {
        /// Tab; default: last used.
        tab_id: Option<TabId>,
        /// Browser: id or label.
        browser: Option<String>,
    },
    /// Holds dialogs, or not.
    Dialogs {
        /// hold: until the dialog action answers.
        #[schemars(extend("x-rare" = true))]
        dialogs: DialogHandling,
    },
    /// Hides logs and requests; lists the rules.
    NoiseRule {
        /// Part of a text or URL (* is any); a host.
        pattern: Option<String>,
        /// Id of the rule to remove.
        remove: Option<String>,
    },
    /// Blocks a site for agents; lists the rules.
    SiteRules {
        /// Host to deny, with its subdomains.
        pattern: Option<String>,
    },
    /// Saves requests as HAR.
    SaveHar(HarArguments),
    /// Empties your recordings.
    Clear {
        /// Streams to empty; default all.
        streams: Option<Vec<StreamKind>>,
    },
    /// Stores JSON under a name.
    Store {
        /// Name of the value; default `default`.
        name: Option<String>,
        /// JSON to keep.
        data: Value,
    },
    /// Reads stored JSON.
    Load {
        /// Name of the value; default `default`.
        name: Option<String>,
        /// Start of a part, in bytes.
        #[schemars(range(min = 0))]
        offset: Option<usize>,
        /// Max bytes of a part; default 10000.
        #[schemars(range(min = 1, max = 65_536))]
        limit: Option<usize>,
    },
    /// Lists stored JSON.
    List {},
    /// Deletes stored JSON.
    Delete {
        /// Name of the value.
        name: String,
    },
}

/// How the daemon is.
#[derive(Serialize, JsonSchema)]
struct HealthAnswer {
    status: status::Ok,
    version: &'static str,
    uptime_seconds: f64,
    /// Commands that are not over, of all clients.
    pending: usize,
    /// Commands whose record is kept, of all clients.
    kept: usize,
    /// How many are connected.
    browsers: usize,
    /// How many are known.
    clients: usize,
    requests: RequestCounts,
    storage: StorageStatus,
    /// The place as the caller's machine knows it, if the daemon is on another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// A tab that was given back.
#[derive(Serialize, JsonSchema)]
struct ReleaseAnswer {
    status: status::Ok,
    tab_id: TabId,
    /// Whether the caller held it.
    was_yours: bool,
}

/// What becomes of the dialogs of the caller's commands.
#[derive(Serialize, JsonSchema)]
struct DialogsAnswer {
    status: status::Ok,
    dialogs: DialogHandling,
}

/// This owner's clients, the one heard of last first.
#[derive(Serialize, JsonSchema)]
struct ClientsAnswer {
    /// The one that asks.
    you: ClientId,
    count: usize,
    clients: Vec<ClientSummary>,
}

/// The schemas of its answers.
pub(super) fn answers(answers: &mut AnswerSchemas) {
    answers.of(NAME, "query_status").are::<CommandAnswer>();
    answers.of(NAME, "cancel").are::<CommandAnswer>();
    answers.of(NAME, "health").are::<HealthAnswer>();
    answers.of(NAME, "clients").are::<ClientsAnswer>();
    answers.of(NAME, "capture").are::<streams::CaptureAnswer>();
    answers.of(NAME, "tab_release").are::<ReleaseAnswer>();
    answers.of(NAME, "dialogs").are::<DialogsAnswer>();
    answers.of(NAME, "noise_rule").are::<noise::NoiseAnswer>();
    answers.of(NAME, "site_rules").are::<sites::SitesAnswer<'_>>();
    answers.of(NAME, "save_har").are::<HarAnswer>();
    answers.of(NAME, "clear").are::<streams::ClearAnswer>();
    answers.of(NAME, "store").are::<stored::StoredAnswer>();
    answers.of(NAME, "load").are::<stored::LoadedAnswer>();
    answers.of(NAME, "list").are::<stored::ListOfValues>();
    answers.of(NAME, "delete").are::<stored::DeletedAnswer>();
    let failed = answers.of(NAME, FAILED);
    failed.are::<CallFailure>().are::<RefusedCall>().are::<NotFound>().are::<UnknownRule>();
}

pub(super) async fn call(
    tools: &ToolSet,
    caller: &Caller,
    given: &Map<String, Value>,
    must_name_tab: bool,
) -> ToolReply {
    let hub = &tools.hub;
    let action = match read(given) {
        Ok(action) => action,
        Err(wrong) => return ToolReply::done(wrong),
    };
    ToolReply::done(match action {
        ConfigureAction::QueryStatus { correlation_id } => {
            let now = Duration::ZERO;
            return command_result(tools, caller, correlation_id, now, None, None).await;
        }
        ConfigureAction::Cancel { correlation_id } => {
            let seen = hub.cancel(caller, &correlation_id.into()).await;
            ToolResult::of_seen(seen, None, DetailLevel::Full, hub.agent_files())
        }
        ConfigureAction::Health {} => {
            let health = hub.health();
            ToolResult::of(&HealthAnswer {
                status: status::Ok::Ok,
                version: SERVER_VERSION,
                uptime_seconds: health.uptime.as_secs_f64(),
                pending: health.pending,
                kept: health.kept,
                browsers: health.browsers,
                clients: health.clients,
                requests: health.requests,
                storage: hub.storage(),
                place: hub.place_of(&caller.owner),
            })
        }
        ConfigureAction::Clients {} => {
            let clients = hub.clients(&caller.owner);
            let you = caller.client.clone();
            ToolResult::of(&ClientsAnswer { you, count: clients.len(), clients })
        }
        ConfigureAction::Capture { on, streams, tab_id, browser } => {
            let streams = streams.map(|streams| streams.into_iter().collect());
            let of = TargetSelector { browser, tab: tab_id };
            streams::capture(hub, caller, &CaptureChange { on: on != Some(false), streams, of })
        }
        ConfigureAction::TabRelease { tab_id, browser } => {
            let selector = TargetSelector { browser, tab: tab_id };
            match hub.release_tab(caller, &selector, must_name_tab) {
                Ok((tab_id, was_yours)) => {
                    ToolResult::of(&ReleaseAnswer { status: status::Ok::Ok, tab_id, was_yours })
                }
                Err(refused) => ToolResult::refused(&refused),
            }
        }
        ConfigureAction::Dialogs { dialogs } => {
            hub.handle_dialogs(caller, dialogs);
            ToolResult::of(&DialogsAnswer { status: status::Ok::Ok, dialogs })
        }
        ConfigureAction::NoiseRule { pattern, remove } => {
            noise::noise_rule(tools, caller, pattern, remove).await
        }
        ConfigureAction::SiteRules { pattern } => sites::site_rules(tools, pattern.as_deref()),
        ConfigureAction::SaveHar(wanted) => answer_of(save_har(tools, caller, wanted).await),
        ConfigureAction::Clear { streams } => streams::clear(hub, caller, streams),
        ConfigureAction::Store { name, data } => stored::store(tools, caller, name, data).await,
        ConfigureAction::Load { name, offset, limit } => {
            stored::load(tools, caller, name, RequestedPart::asked_for(offset, limit)).await
        }
        ConfigureAction::List {} => stored::list(tools, caller).await,
        ConfigureAction::Delete { name } => stored::delete(tools, caller, name).await,
    })
}
