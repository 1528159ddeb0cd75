//! How long the thread of a page works, as the browser's own trace has it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::BrowserUser;

/// A task of a page's thread: script, style, layout and paint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTask {
    /// Since some moment before the trace.
    pub begin: Duration,
    pub length: Duration,
}

/// The browser's name of a task.
const TASK: &str = "RunTask";

#[derive(Deserialize)]
struct TraceEvent {
    name: String,
    pid: i64,
    tid: i64,
    /// Both in µs.
    #[serde(default)]
    ts: u64,
    #[serde(default)]
    dur: u64,
    #[serde(default)]
    args: Value,
}

impl TraceEvent {
    /// Whether it is a call of a script that is at this path.
    fn is_script_of(&self, path: &str) -> bool {
        let url = self.args["data"]["url"].as_str();
        self.name == "FunctionCall" && url.is_some_and(|url| url.contains(path))
    }
}

impl BrowserUser {
    /// The tasks of the thread that runs the scripts under `path`, while `meanwhile` goes on; none, if
    /// none of these scripts ran.
    pub async fn traced<T>(
        &mut self,
        path: &str,
        meanwhile: impl Future<Output = T>,
    ) -> (Vec<PageTask>, T) {
        let wanted = ["devtools.timeline", "disabled-by-default-devtools.timeline"];
        let so = json!({"traceConfig": {"includedCategories": wanted}});
        self.ask("Tracing.start", so).await;
        let done = meanwhile.await;
        self.send("Tracing.end", json!({})).await;
        let mut events: Vec<TraceEvent> = Vec::new();
        loop {
            let mut message = self.message("the trace").await;
            if message["method"] == "Tracing.tracingComplete" {
                break;
            }
            if message["method"] == "Tracing.dataCollected" {
                let more: Vec<TraceEvent> =
                    serde_json::from_value(message["params"]["value"].take()).unwrap();
                events.extend(more);
            }
        }
        let ran = events.iter().find(|event| event.is_script_of(path));
        let Some((pid, tid)) = ran.map(|event| (event.pid, event.tid)) else {
            return (Vec::new(), done);
        };
        let mut tasks: Vec<_> = events
            .iter()
            .filter(|event| event.name == TASK && (event.pid, event.tid) == (pid, tid))
            .map(|event| PageTask {
                begin: Duration::from_micros(event.ts),
                length: Duration::from_micros(event.dur),
            })
            .collect();
        tasks.sort_unstable_by_key(|task| task.begin);
        (tasks, done)
    }
}
