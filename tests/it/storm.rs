//! What storms share, in which processes are stopped and killed at random under calls: a browser that counts what it
//! runs, and whether an agent was told what is so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{DeliveredCommand, ExtensionBuilder, ProgramSandbox, SeededRandom, body};
use tokio::task::JoinHandle;

/// For how long a process stands still.
pub(crate) const STILL: Duration = Duration::from_millis(700);

/// How often each script was run.
pub(crate) type ScriptRuns = Arc<Mutex<HashMap<String, usize>>>;

/// A browser that connects again whenever it can, and runs all that comes.
pub(crate) fn browser(
    home: &ProgramSandbox,
    tabs: &'static [i64],
    runs: &ScriptRuns,
) -> JoinHandle<()> {
    let (state, runs, path) = (home.home(), runs.clone(), home.path().to_owned());
    tokio::spawn(async move {
        loop {
            let home = tabwire::home::StateDirectory::open(&path).unwrap();
            let record = home.running_daemon().ok().flatten();
            if let Some(record) = record
                && let Some(mut extension) =
                    ExtensionBuilder::at(record.port, &state).sharing(tabs).try_open().await
                && extension.try_hello().await.is_some()
                && extension.try_ready(&[]).await.is_some()
            {
                let count = |command: &DeliveredCommand| {
                    *runs.lock().unwrap().entry(command.script().to_owned()).or_default() += 1;
                    json!({"value": 1})
                };
                extension.run_all(count).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallFate {
    /// It ended: its command's state.
    Ended(String),
    /// It was refused, and has not run.
    NotRun(String),
    /// The agent was told that it may have run.
    MayHaveRun(String),
}

/// Panics if a script ran twice, or if that is not so which its agent was told; `None`: it was told nothing.
pub(crate) fn check_runs(script: &str, told: Option<&CallFate>, runs: &ScriptRuns) {
    let count = runs.lock().unwrap().get(script).copied().unwrap_or_default();
    assert!(count <= 1, "{script} ran {count} times, and was told {told:?}");
    match told {
        Some(CallFate::Ended(status)) if status == "complete" => assert_eq!(count, 1, "{script}"),
        Some(CallFate::NotRun(code)) => assert_eq!(count, 0, "{script} ran, and was told {code}"),
        Some(CallFate::Ended(_) | CallFate::MayHaveRun(_)) | None => {}
    }
}

/// The call of a script in a tab, which waits for 8 s.
pub(crate) fn script_call(script: &str, tab: i64) -> Value {
    let arguments = json!({"action": "execute_js", "script": script, "tab_id": tab, "wait_ms": 8_000, "trace": true});
    let params = json!({"name": "interact", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": script, "method": "tools/call", "params": params})
}

/// What an answer says of its call.
pub(crate) fn fate_of(answer: &Value) -> CallFate {
    let told = body(&answer["result"]);
    let text = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
    if answer["result"]["isError"] != true || !text("status").is_empty() {
        return CallFate::Ended(text("status"));
    }
    let code = text("error");
    assert!(!code.is_empty(), "no word: {answer}");
    let is_lost = ["daemon_lost", "daemon_timeout"].contains(&&*code);
    match told["may_have_run"].as_bool() {
        Some(true) => CallFate::MayHaveRun(code),
        None if is_lost => CallFate::MayHaveRun(code),
        Some(false) | None => CallFate::NotRun(code),
    }
}

/// Sends a signal to a process that may have ended by itself meanwhile.
pub(crate) fn hit(process: u32, how: Signal) {
    let pid = process.try_into().ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, how);
    }
}

/// The dice of a storm: the same again if `TABWIRE_CHAOS_SEED` has its seed.
#[expect(clippy::print_stderr, reason = "whoever runs the tests can repeat a storm")]
pub(crate) fn storm_dice() -> SeededRandom {
    let seed = std::env::var("TABWIRE_CHAOS_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(testkit::any_seed);
    eprintln!("seed {seed}: repeat with TABWIRE_CHAOS_SEED={seed}");
    SeededRandom::new(seed)
}
