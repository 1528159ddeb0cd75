//! How long the thread of a page works, as the browser's own trace has it.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::BrowserUser;

/// A time in which a page's thread works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageWork {
    /// Since some moment before the trace.
    pub begin: Duration,
    pub length: Duration,
}

/// The work of a page's thread, oldest first.
#[derive(Debug, Default)]
pub struct PageTrace {
    /// Its tasks: script, style, layout, paint and all else.
    pub tasks: Vec<PageWork>,
    /// Script, style and layout in them; no moment twice.
    pub script_and_layout: Vec<PageWork>,
}

/// The browser's names of a task, and of script, style and layout in it.
const TASK: [&str; 1] = ["RunTask"];
const SCRIPT_AND_LAYOUT: [&str; 6] =
    ["EvaluateScript", "FunctionCall", "RunMicrotasks", "TimerFire", "UpdateLayoutTree", "Layout"];

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

/// The events of these names, those within others left out.
fn outermost(events: &[&TraceEvent], names: &[&str]) -> Vec<PageWork> {
    let mut found: Vec<_> = events
        .iter()
        .filter(|event| names.contains(&event.name.as_str()))
        .map(|event| PageWork {
            begin: Duration::from_micros(event.ts),
            length: Duration::from_micros(event.dur),
        })
        .collect();
    found.sort_unstable_by_key(|work| (work.begin, std::cmp::Reverse(work.length)));
    let mut end = Duration::ZERO;
    found.retain(|work| {
        let is_outermost = work.begin >= end;
        if is_outermost {
            end = work.begin + work.length;
        }
        is_outermost
    });
    found
}

impl BrowserUser {
    /// The work of the thread that runs the scripts under `path`, while `meanwhile` goes on; none, if none
    /// of these scripts ran.
    pub async fn traced<T>(
        &mut self,
        path: &str,
        meanwhile: impl Future<Output = T>,
    ) -> (PageTrace, T) {
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
            return (PageTrace::default(), done);
        };
        let is_there = |event: &&TraceEvent| (event.pid, event.tid) == (pid, tid);
        let own: Vec<_> = events.iter().filter(is_there).collect();
        let trace = PageTrace {
            tasks: outermost(&own, &TASK),
            script_and_layout: outermost(&own, &SCRIPT_AND_LAYOUT),
        };
        (trace, done)
    }
}
