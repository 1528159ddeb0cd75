//! `wksm_monitor_sync`: a job of the daemon's own. The call returns at once, with an estimate.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::{Call, Outcome, ToolResult, Tools, read};
use crate::hub::{Caller, Hub, Seen, Submitted};
use crate::jobs::{NotTaken, SyncError};
use crate::protocol::{Job, MonitorSync, Status};

pub(super) const NAME: &str = "wksm_monitor_sync";

pub(super) const DESCRIPTION: &str = "Brings the monitor database (path, size, time, hash) up to date with a file or folder. Returns \
     a job_id and an estimate at once; observe command_result reads progress and result.";

pub(super) static ARGUMENTS: LazyLock<Arguments> =
    LazyLock::new(|| Arguments::plain::<MonitorSync>(NAME));

pub(super) async fn call(
    tools: &Tools,
    caller: &Caller,
    given: &Map<String, Value>,
    key: Option<Arc<str>>,
) -> Call {
    let sync: MonitorSync = match read(given) {
        Ok(sync) => sync,
        Err(wrong) => return Call::done(wrong),
    };
    let Some(jobs) = &tools.jobs else { return Call::done(super::stored::no_disk()) };
    match jobs.submit(caller, Job::MonitorSync(sync), key).await {
        Ok(submitted) => {
            let result = ToolResult::of(&queued(&tools.hub, caller, &submitted).await);
            let submitted = Some(submitted.accepted.id);
            Call { submitted, waits_for: None, outcome: Outcome::Now(result) }
        }
        Err(NotTaken::Wrong(error)) => Call::done(wrong(&error)),
        Err(NotTaken::Refused(refused)) => Call::done(ToolResult::refused(&refused)),
    }
}

/// The first answer of the two, as its seed (002) has it, beside what every submission says.
async fn queued(hub: &Hub, caller: &Caller, submitted: &Submitted) -> Value {
    let accepted = &submitted.accepted;
    let (id, seconds) = (&accepted.id, accepted.estimate.as_secs_f64());
    let has_begun = match hub.look(caller, id, false).await {
        Ok(Seen::Command(report)) => {
            !matches!(report.status, Status::Pending { started_at: None, .. })
        }
        Ok(Seen::Gone(_) | Seen::NotFound) | Err(_) => false,
    };
    let status = if has_begun { "running" } else { "queued" };
    let text = format!("Operation {status}. Estimated runtime: {}s", seconds.ceil());
    json!({
        "success": true,
        "data": {"job_id": id, "estimated_runtime_seconds": seconds, "status": status},
        "messages": [{"type": "info", "text": text}],
        "status": status,
        "correlation_id": id,
        "query_id": accepted.query_id,
        "job_id": id,
        "estimated_runtime_seconds": seconds,
        "message": format!(
            "{text}. Get its result with observe({{what:\"command_result\", \
             correlation_id:\"{id}\", wait_ms:55000}})."
        ),
    })
}

/// A job that cannot be done as it is asked for: nothing was begun.
fn wrong(error: &SyncError) -> ToolResult {
    let text = error.to_string();
    let mut body = json!({
        "error": error.code(),
        "message": text,
        "param": "path",
        "success": false,
        "data": {},
        "messages": [{"type": "error", "text": text, "details": error.details().to_string()}],
    });
    // Each message ends in what to do; a path can have such an end of a sentence too.
    if let Some((_, hint)) = text.rsplit_once(". ") {
        body["hint"] = format!("{hint}.").into();
    }
    ToolResult::failed(&body)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_refused_path_is_named_and_its_hint_is_what_to_do_whatever_the_path() {
        let hint = |error: &SyncError| {
            let body: Value = serde_json::from_str(wrong(error).body.get()).unwrap();
            body["hint"].as_str().unwrap().to_owned()
        };
        let (path, roots) = (PathBuf::from("/a. b/../.. c"), vec![PathBuf::from("/d. e")]);
        let outside = SyncError::OutsideRoots { path: path.clone(), roots };
        assert!(hint(&outside).starts_with("Choose a path"), "{}", hint(&outside));
        let why = "gone. really".to_owned();
        let not_found = SyncError::NotFound { path, why };
        assert!(hint(&not_found).starts_with("Check the path"), "{}", hint(&not_found));
        let empty = SyncError::NotAbsolute { path: PathBuf::new() };
        assert!(empty.to_string().starts_with("`` is not"), "{empty}");
    }
}
