//! Processes on the way are stopped and killed at random: nothing runs twice, nothing is lost without a word.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{
    DeliveredCommand, ExtensionBuilder, ProgramSandbox, SeededRandom, StdioClient, body, until,
};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use super::place_run::{PlaceRun, TwoMachines};
use super::ssh::{SshServer, ssh_of};

/// How many calls there are.
const CALLS: usize = 200;

/// How many agents make them at the same time.
const AGENTS: usize = 4;

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

async fn call(agent: &mut StdioClient, script: &str) -> CallFate {
    fate_of(&agent.try_rpc(&script_call(script, 7)).await.expect("the bridge has ended"))
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

/// Another `tabwire reach` in the place of one that was killed. What that has left may take a moment to end.
async fn reach_again(server: &SshServer, machines: &TwoMachines) -> PlaceRun {
    loop {
        if let Some(run) = PlaceRun::try_start(server.reach_with_program(machines)).await {
            return run;
        }
    }
}

/// Stops and kills until it is over, and ends no blow half-way: what it has stopped goes on, and another `tabwire
/// reach` runs in the place of one that it has killed. The run that goes on, and how many blows there were.
async fn storm(
    (server, machines): (&SshServer, &TwoMachines),
    mut run: PlaceRun,
    mut dice: SeededRandom,
    is_over: &AtomicBool,
) -> (PlaceRun, usize) {
    let mut blows = 0;
    while !is_over.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(100 + dice.below(500))).await;
        let victim = match dice.below(4) {
            0 => machines.carrier(),
            1 => machines.home.daemon().map(|daemon| daemon.pid),
            2 => Some(run.pid()),
            _ => ssh_of(&run),
        };
        let Some(victim) = victim else { continue };
        blows += 1;
        if dice.below(2) == 0 {
            hit(victim, Signal::KILL);
            if victim == run.pid() {
                run = reach_again(server, machines).await;
            }
        } else {
            hit(victim, Signal::STOP);
            tokio::time::sleep(STILL).await;
            hit(victim, Signal::CONT);
        }
    }
    (run, blows)
}

/// The calls of one agent, one after the other.
async fn calls_of(agent: usize, mut client: StdioClient) -> Vec<(String, CallFate)> {
    let mut fates = Vec::new();
    for n in 0..CALLS / AGENTS {
        let script = format!("call_{agent}_{n}()");
        let fate = call(&mut client, &script).await;
        let is_offline = matches!(&fate, CallFate::NotRun(code) if code == "place_offline");
        fates.push((script, fate));
        // As an agent that was told to ask its person; the others think for a moment.
        let pause = if is_offline { 500 } else { 250 };
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    fates
}

/// The dice of a storm: the same again if `TABWIRE_CHAOS_SEED` has its seed.
#[expect(clippy::print_stderr, reason = "whoever runs the tests can repeat a storm")]
pub(crate) fn storm_dice() -> SeededRandom {
    let seed = std::env::var("TABWIRE_CHAOS_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(testkit::any_seed);
    eprintln!("seed {seed}: repeat with TABWIRE_CHAOS_SEED={seed}");
    SeededRandom::new(seed)
}

#[tokio::test]
async fn whatever_is_stopped_and_killed_on_the_way_no_call_runs_twice_and_none_is_lost_silently() {
    let dice = storm_dice();
    let machines = TwoMachines::new();
    machines.add_owner();
    let server = SshServer::start(&machines).await;
    let run = PlaceRun::start(server.reach_with_program(&machines)).await;
    let runs = ScriptRuns::default();
    let browser = AbortOnDropHandle::new(browser(&machines.home, &[7], &runs));
    let agent =
        || StdioClient::spawn(machines.far.command(&["mcp", "--connect", "box"])).without_checks();
    let agents = (0..AGENTS).map(|number| calls_of(number, agent()));
    let is_over = AtomicBool::new(false);
    let all_calls = async {
        let fates = futures_util::future::join_all(agents).await.concat();
        is_over.store(true, Ordering::Relaxed);
        fates
    };
    let blows = storm((&server, &machines), run, dice, &is_over);
    let (fates, (run, blows)) = tokio::join!(all_calls, blows);
    assert_eq!(fates.len(), CALLS);
    let mut words: HashMap<String, usize> = HashMap::new();
    for (script, fate) in &fates {
        check_runs(script, Some(fate), &runs);
        *words.entry(format!("{fate:?}")).or_default() += 1;
    }
    eprintln!("{blows} blows: {words:?}");
    let complete = words.get("Ended(\"complete\")").copied().unwrap_or_default();
    assert!(blows > 5 && complete > CALLS / 4, "{words:?}");
    let mut client = agent();
    let mut last = None;
    let goes_on = until(async || {
        let fate = call(&mut client, "afterwards()").await;
        last.insert(fate) == &CallFate::Ended("complete".to_owned())
    });
    let within = Duration::from_secs(45);
    let waited = tokio::time::timeout(within, goes_on).await;
    waited.unwrap_or_else(|_| panic!("it does not go on by itself: {last:?}"));
    drop((browser, run));
}
