//! Notices for clients of the modern generation: the status of the tasks that they name, on each
//! change.
//!
//! No notice is kept. A slow reader reads the task by its id.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::answer;
use super::command_view::declares_views;
use super::followed::FollowedCommands;
use super::message::{RequestId, RpcError, RpcErrorKind, RpcRequest};
use super::progress::notification;
use super::tasks::{self, TaskView};
use super::trace_meta;
use crate::hub::{Caller, Hub};

/// The method that opens a subscription.
pub const LISTEN: &str = "subscriptions/listen";

/// How many tasks a subscription may name.
const TASKS: usize = 100;

/// A subscription, from its opening until the hub is shut down.
pub struct TaskSubscription {
    id: RequestId,
    hub: Hub,
    /// Whose it is, if that shows views of commands.
    viewer: Option<Caller>,
    /// The first message.
    acknowledgement: Option<String>,
    tasks: FollowedCommands,
    is_over: bool,
}

/// A task, as it is told of on a subscription.
#[derive(Serialize)]
struct TaskChange {
    #[serde(flatten)]
    task: TaskView,
    #[serde(rename = "_meta")]
    meta: Value,
}

/// The tasks that a request wants to be told of, each once; `None` if of none at all.
///
/// # Errors
///
/// [`RpcErrorKind::Params`], also if there are too many, and [`RpcErrorKind::Capability`].
pub(super) fn task_ids(request: &RpcRequest) -> Result<Option<BTreeSet<&str>>, RpcError> {
    let wrong = |message: String| RpcError::new(RpcErrorKind::Params, message);
    let wanted = request.params.get("notifications").and_then(Value::as_object);
    let wanted = wanted.ok_or_else(|| wrong("params.notifications must be an object".into()))?;
    let Some(ids) = wanted.get("taskIds") else { return Ok(None) };
    tasks::check_declared(request)?;
    let name = "params.notifications.taskIds";
    let ids = ids.as_array().ok_or_else(|| wrong(format!("{name} must be a list of strings")))?;
    if ids.len() > TASKS {
        let n_ids = ids.len();
        return Err(wrong(format!("{name} may have {TASKS} ids, and has {n_ids}")));
    }
    // A set: a task that is named twice is followed once.
    let ids: Option<_> = ids.iter().map(Value::as_str).collect();
    ids.map(Some).ok_or_else(|| wrong(format!("{name} must be a list of strings")))
}

impl TaskSubscription {
    /// Opens what a request asks for. Of the tasks that it names those are left out that
    /// nobody knows, or that its caller may not know of.
    ///
    /// # Errors
    ///
    /// [`RpcErrorKind::Params`], [`RpcErrorKind::Capability`] and [`RpcErrorKind::Refused`].
    pub async fn open(hub: &Hub, caller: &Caller, request: &RpcRequest) -> Result<Self, RpcError> {
        let wanted = task_ids(request)?;
        // Following costs memory, so it counts against the caller's rate.
        hub.admit(caller).await.map_err(|why| tasks::refused(&why))?;
        let tasks = FollowedCommands::default();
        let mut agreed = json!({});
        if let Some(ids) = wanted {
            // An id of another owner is left out like one that never was.
            let follow = |id: &str| hub.follow(caller, &id.into());
            let known: Vec<_> = ids.into_iter().filter_map(follow).collect();
            agreed["taskIds"] = known.iter().map(|task| json!(task.id())).collect();
            known.into_iter().for_each(|task| tasks.add(task));
        }
        let id = request.id.clone();
        let params = json!({"notifications": agreed, "_meta": answer::of_subscription(&id)});
        let text = notification("notifications/subscriptions/acknowledged", &params);
        let viewer = declares_views(request).then(|| caller.clone());
        let (hub, acknowledgement) = (hub.clone(), Some(text));
        Ok(Self { id, hub, viewer, acknowledgement, tasks, is_over: false })
    }

    /// The next message, as it goes out: that the subscription is open; then how a task stands,
    /// on each change; and once the hub is shut down the answer to the request. `None` after
    /// that.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        if let Some(text) = self.acknowledgement.take() {
            return Some(text);
        }
        if self.is_over {
            return None;
        }
        tokio::select! {
            biased;
            Some((report, term)) = self.tasks.next() => {
                let viewer = self.viewer.as_ref().filter(|_| !report.is_pending());
                let timeline =
                    viewer.and_then(|caller| self.hub.timeline(caller, &report.correlation_id));
                let task = TaskView::of(report, term, self.hub.agent_files(), timeline);
                let mut meta = answer::of_subscription(&self.id);
                trace_meta::add_to(&mut meta, task.trace_context.as_ref());
                let changed = TaskChange { task, meta };
                Some(notification("notifications/tasks", &changed))
            }
            () = self.hub.ended() => {
                self.is_over = true;
                Some(answer::end_of_subscription(&self.id))
            }
        }
    }
}
