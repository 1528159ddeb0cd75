//! Extensions that poll with `POST /sync`, in virtual time: a client of each generation, as the
//! recorded ones behave.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::*;
use crate::protocol::{LegacyQuery, LegacySyncAnswer, LegacySyncRequest};

const EXTENSION: &str = "dpadlilgmpioiddafgmbfmolmfeadnph";

/// After how long v6.0.3 breaks off a request, and how long it waits then.
const BREAKS_OFF: Duration = Duration::from_secs(3);
const RETRIES: Duration = Duration::from_secs(1);

/// What tells the generations apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Generation {
    /// Runs a command beside its requests, says nothing of it, and has no other way for the
    /// result than its next request.
    V5,
    /// Makes no further request in the same loop before a command is done.
    V6,
    /// Runs a command beside its requests and says so in each. A result wakes the loop.
    V8,
}

/// One life of an extension's worker.
#[derive(Clone)]
struct Newer {
    hub: Hub,
    extension: &'static str,
    session: String,
    generation: Generation,
    state: Arc<Mutex<CommandState>>,
    /// Wakes a loop that waits for its next request.
    flush: Arc<Notify>,
    /// How often each script was run, by its text, in all lives.
    runs: Arc<Mutex<BTreeMap<String, u32>>>,
    /// How many commands were in answers, in all lives.
    deliveries: Arc<AtomicUsize>,
}

#[derive(Default)]
struct CommandState {
    results: Vec<serde_json::Value>,
    running: Vec<serde_json::Value>,
    last_ack: Option<String>,
}

impl Newer {
    fn new(hub: &Hub, session: &str, generation: Generation) -> Self {
        Self {
            hub: hub.clone(),
            extension: EXTENSION,
            session: session.to_owned(),
            generation,
            state: Arc::default(),
            flush: Arc::default(),
            runs: Arc::default(),
            deliveries: Arc::default(),
        }
    }

    /// The next life, after this one was killed.
    fn reborn(&self, session: &str) -> Self {
        Self {
            session: session.to_owned(),
            state: Arc::default(),
            flush: Arc::default(),
            ..self.clone()
        }
    }

    /// What it sends next, in the fields of its generation.
    fn request(&self) -> serde_json::Value {
        let state = self.state.lock().unwrap();
        let (field, version) = match self.generation {
            Generation::V5 => ("session_id", "5.7.0"),
            Generation::V6 => ("session_id", "6.0.3"),
            Generation::V8 => ("ext_session_id", "0.8.2"),
        };
        let mut request = json!({
            field: self.session,
            "extension_version": version,
            "settings": {"pilot_enabled": true},
        });
        if self.generation == Generation::V8 {
            request["in_progress"] = state.running.clone().into();
        }
        if !state.results.is_empty() {
            request["command_results"] = state.results.clone().into();
        }
        if let Some(id) = &state.last_ack {
            request["last_command_ack"] = id.as_str().into();
        }
        request
    }

    async fn send(&self, body: &serde_json::Value) -> LegacySyncAnswer {
        let request: LegacySyncRequest = serde_json::from_str(&body.to_string()).unwrap();
        let poll = PollRequest {
            session: request.session().unwrap(),
            extension_version: request.version().to_owned(),
            is_pilot_on: request.is_pilot_on(),
            transport: Transport::Sync,
        };
        let open = self.hub.begin_sync(self.extension, poll, &request).await.unwrap();
        open.unwrap().answer().await
    }

    /// One request as it stands, and what it was answered with.
    async fn sync(&self) -> LegacySyncAnswer {
        let body = self.request();
        let answer = self.send(&body).await;
        let sent = body["command_results"].as_array().map_or(0, Vec::len);
        self.state.lock().unwrap().results.drain(..sent);
        self.deliveries.fetch_add(answer.commands.len(), Ordering::Relaxed);
        answer
    }

    /// The one command of the next answer.
    async fn taken(&self) -> LegacyQuery {
        let mut answer = self.sync().await;
        assert_eq!(answer.commands.len(), 1, "{answer:?}");
        answer.commands.remove(0)
    }

    /// Runs a script that takes as many milliseconds as its last word says.
    async fn run(&self, query: &LegacyQuery) {
        let script = query.params["script"].as_str().unwrap().to_owned();
        let id = query.id.as_str();
        let correlation_id = query.correlation_id.as_ref().unwrap().as_str();
        *self.runs.lock().unwrap().entry(script.clone()).or_default() += 1;
        let running = json!({"id": id, "correlation_id": correlation_id, "status": "running"});
        self.state.lock().unwrap().running.push(running.clone());
        let millis: u64 = script.rsplit(' ').next().unwrap().parse().unwrap();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        let mut state = self.state.lock().unwrap();
        state.running.retain(|known| *known != running);
        state.last_ack = Some(id.to_owned());
        state.results.push(json!({
            "id": id, "correlation_id": correlation_id, "status": "complete",
            "result": {"success": true, "result": script},
        }));
    }

    /// One of its loops, without end.
    async fn live(self) {
        loop {
            let Ok(answer) = timeout(BREAKS_OFF, self.sync()).await else {
                tokio::time::sleep(RETRIES).await;
                continue;
            };
            for query in answer.commands {
                if self.generation == Generation::V6 {
                    self.run(&query).await;
                    continue;
                }
                let one = self.clone();
                tokio::spawn(async move {
                    one.run(&query).await;
                    if one.generation == Generation::V8 {
                        one.flush.notify_one();
                    }
                });
            }
            // Timers of a worker are no more exact than that.
            let pause = Duration::from_millis(answer.next_poll_ms.max(8));
            let _ = timeout(pause, self.flush.notified()).await;
        }
    }
}

/// A hub that takes as many calls as there are.
fn hub() -> Hub {
    Hub::start(Limits { calls_per_minute: 0, ..Limits::default() })
}

/// Returns once whatever else can go on without time passing has gone on.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Two hundred commands of four agents, over this many loops of one browser at once.
async fn two_hundred_commands(generation: Generation, loops: usize) {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", generation);
    let living: Vec<_> = (0..loops).map(|_| tokio::spawn(newer.clone().live())).collect();
    let mut at_work = tokio::task::JoinSet::new();
    for agent_number in 0..4 {
        let hub = hub.clone();
        at_work.spawn(async move {
            let agent = agent(&format!("agent {agent_number}"));
            for number in 0..50 {
                let millis = [5, 700, 3_500, 30, 7_500][number % 5];
                let text = format!("{agent_number} {number} {millis}");
                let call = Submission { timeout: seconds(60), ..script_of(&text) };
                let id = hub.submit(&agent, call).await.unwrap().id;
                let seen = hub.wait(&agent, &id, limits::WAIT_MAX, true).await.unwrap();
                let CommandLookup::Command(report) = seen else { panic!("{text}: {seen:?}") };
                let CommandStatus::Complete { result, .. } = report.status else {
                    panic!("{generation:?} {text}: {:?}", report.status)
                };
                let expected =
                    format!("{{\"success\":true,\"value\":{text:?},\"type\":\"string\"}}");
                assert_eq!(result.get(), expected);
            }
        });
    }
    while let Some(done) = at_work.join_next().await {
        done.unwrap();
    }
    living.iter().for_each(tokio::task::JoinHandle::abort);
    let runs = newer.runs.lock().unwrap();
    assert_eq!(runs.len(), 200);
    assert!(runs.values().all(|times| *times == 1), "{generation:?}: {runs:?}");
    assert_eq!(newer.deliveries.load(Ordering::Relaxed), 200, "{generation:?}");
}

#[tokio::test(start_paused = true)]
async fn two_hundred_commands_run_exactly_once_each_in_generation_5() {
    two_hundred_commands(Generation::V5, 1).await;
}

#[tokio::test(start_paused = true)]
async fn two_hundred_commands_run_exactly_once_each_in_generation_6() {
    two_hundred_commands(Generation::V6, 1).await;
}

#[tokio::test(start_paused = true)]
async fn two_hundred_commands_run_exactly_once_each_in_generation_8() {
    two_hundred_commands(Generation::V8, 1).await;
}

// Two loops at once: that is what the recorded ones have once their connection was reset.
#[tokio::test(start_paused = true)]
async fn two_hundred_commands_run_exactly_once_each_over_two_loops_of_generation_6() {
    two_hundred_commands(Generation::V6, 2).await;
}

#[tokio::test(start_paused = true)]
async fn two_hundred_commands_run_exactly_once_each_over_two_loops_of_generation_8() {
    two_hundred_commands(Generation::V8, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_command_ends_the_hold_the_moment_it_is_submitted() {
    for generation in [Generation::V6, Generation::V8] {
        let hub = hub();
        let newer = Newer::new(&hub, "ext_1", generation);
        tokio::spawn(newer.clone().live());
        let mut delays = Vec::new();
        for number in 0..20 {
            // Wherever in a hold that is.
            pass(Duration::from_millis(777)).await;
            let text = format!("{number} 1");
            let id = hub.submit(&agent("ann"), script_of(&text)).await.unwrap().id;
            let seen = hub.wait(&agent("ann"), &id, seconds(5), true).await.unwrap();
            let CommandLookup::Command(report) = seen else { panic!("{seen:?}") };
            let trace = report.trace.unwrap();
            let delivered = trace.iter().find(|e| e.phase == TracePhase::Delivered).unwrap();
            assert_eq!(delivered.carrier, Some(Transport::Sync));
            delays.push(delivered.after_ms);
        }
        delays.sort_unstable();
        assert!(delays[10] <= Duration::from_millis(1), "{generation:?}: {delays:?}");
        assert!(delays[19] <= Duration::from_millis(40), "{generation:?}: {delays:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_held_for_two_seconds_at_most() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V6);
    let began = hub.now();
    let answer = newer.sync().await;
    assert_eq!((answer.commands.len(), hub.now().since(began)), (0, limits::SYNC_HOLD));
    assert_eq!((answer.ack, answer.next_poll_ms), (true, 1));
    assert!(limits::SYNC_HOLD < BREAKS_OFF, "it would break off and say that it is disconnected");
    assert!(hub.browsers()[0].connected);
}

#[tokio::test(start_paused = true)]
async fn the_first_generation_is_never_held() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V5);
    for _ in 0..5 {
        let began = hub.now();
        let answer = newer.sync().await;
        assert_eq!((answer.commands.len(), hub.now().since(began)), (0, Duration::ZERO));
        assert_eq!(answer.next_poll_ms, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_held_while_something_that_was_given_is_unanswered() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V6);
    let holds: Vec<_> = (0..3)
        .map(|_| {
            let one = newer.clone();
            tokio::spawn(async move { one.sync().await })
        })
        .collect();
    settle().await;
    let id = hub.submit(&agent("ann"), script()).await.unwrap().id;
    hub.submit(&agent("ann"), script()).await.unwrap();
    let began = hub.now();
    let mut given = Vec::new();
    for hold in holds {
        let answer = hold.await.unwrap();
        assert_eq!(answer.next_poll_ms, 30);
        given.extend(answer.commands);
    }
    // One gets it, and the others have nothing to wait for any more.
    assert_eq!(given.len(), 1);
    assert_eq!(given[0].correlation_id.as_ref(), Some(&id));
    assert_eq!(newer.sync().await.commands.len(), 0);
    assert_eq!(hub.now().since(began), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_brings_results_or_log_lines_is_answered_at_once() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V8);
    let with = |field: &str| {
        let mut body = newer.request();
        body[field] = json!([{"message": "x"}]);
        body
    };
    let held_for = async |body: &serde_json::Value| {
        let began = hub.now();
        newer.send(body).await;
        hub.now().since(began)
    };
    assert_eq!(held_for(&with("command_results")).await, Duration::ZERO);
    assert_eq!(held_for(&with("extension_logs")).await, Duration::ZERO);
    // One that has something to say each time is held all the same: it would ask without end.
    assert_eq!(held_for(&with("extension_logs")).await, limits::SYNC_HOLD);
    assert_eq!(held_for(&with("extension_logs")).await, Duration::ZERO);
    assert_eq!(held_for(&newer.request()).await, limits::SYNC_HOLD);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_goes_away_takes_no_command_along() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V6);
    let gone = tokio::spawn({
        let newer = newer.clone();
        async move { newer.sync().await }
    });
    settle().await;
    gone.abort();
    let _ = gone.await;
    let id = hub.submit(&agent("ann"), script_of("1 1")).await.unwrap().id;
    // It goes away between the moment at which it is given the command and the answer.
    let request: LegacySyncRequest = serde_json::from_str(&newer.request().to_string()).unwrap();
    let poll = PollRequest {
        session: request.session().unwrap(),
        extension_version: request.version().to_owned(),
        is_pilot_on: true,
        transport: Transport::Sync,
    };
    drop(hub.begin_sync(EXTENSION, poll, &request).await.unwrap());
    let query = newer.taken().await;
    assert_eq!(query.correlation_id.as_ref(), Some(&id));
    newer.run(&query).await;
    newer.sync().await;
    assert!(matches!(look(&hub, "ann", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_given_again_to_one_that_says_what_runs() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V8);
    let id = hub.submit(&agent("ann"), script_of("1 5")).await.unwrap().id;
    let lost = newer.taken().await;
    let mut again = None;
    let began = hub.now();
    while again.is_none() {
        pass(Duration::from_millis(40)).await;
        again = newer.sync().await.commands.pop();
    }
    // Not before requests that were made before the answer have surely come.
    assert!(
        hub.now().since(began) > limits::SYNC_UNMENTIONED && hub.now().since(began) < seconds(2)
    );
    let again = again.unwrap();
    assert_eq!((&again.id, again.correlation_id.as_ref()), (&lost.id, Some(&id)));
    newer.run(&again).await;
    newer.sync().await;
    assert!(matches!(look(&hub, "ann", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_not_given_again_to_one_that_does_not_say_what_runs() {
    for generation in [Generation::V5, Generation::V6] {
        let hub = hub();
        let newer = Newer::new(&hub, "ext_1", generation);
        let id = hub.submit(&agent("ann"), script_of("1 5")).await.unwrap().id;
        let _lost = newer.taken().await;
        while matches!(look(&hub, "ann", &id).await, CommandStatus::Pending { .. }) {
            assert!(newer.sync().await.commands.is_empty(), "it may be running");
            pass(Duration::from_millis(100)).await;
        }
        let status = look(&hub, "ann", &id).await;
        assert_eq!(reason(&status), "extension_no_response");
        let CommandStatus::Expired { error, may_have_run: true, .. } = status else {
            panic!("{status:?}")
        };
        assert!(error.contains("within 12s"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_named_as_running_or_acknowledged_is_received_and_not_done() {
    for acknowledged in [false, true] {
        let hub = hub();
        let newer = Newer::new(&hub, "ext_1", Generation::V8);
        let call = Submission { timeout: seconds(60), ..script_of("1 1") };
        let id = hub.submit(&agent("ann"), call).await.unwrap().id;
        let query = newer.taken().await;
        {
            let mut state = newer.state.lock().unwrap();
            match acknowledged {
                true => state.last_ack = Some(query.id.as_str().to_owned()),
                false => state.running.push(json!({"correlation_id": id})),
            }
        }
        for _ in 0..100 {
            assert!(newer.sync().await.commands.is_empty());
            pass(Duration::from_millis(100)).await;
        }
        assert!(matches!(
            look(&hub, "ann", &id).await,
            CommandStatus::Pending { started_at: Some(_), .. }
        ));
        let next = newer.reborn("ext_2");
        for _ in 0..5 {
            assert!(next.sync().await.commands.is_empty(), "it is never given again");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_killed_costs_no_command_and_none_runs_twice() {
    for generation in [Generation::V5, Generation::V6, Generation::V8] {
        let hub = hub();
        let mut newer = Newer::new(&hub, "ext_0", generation);
        let mut ids = Vec::new();
        for number in 0..20 {
            // Killed while it waits for a command.
            let _ = timeout(Duration::from_millis(500), newer.sync()).await;
            newer = newer.reborn(&format!("ext_{number}_a"));
            let text = format!("{number} 5");
            ids.push(hub.submit(&agent("ann"), script_of(&text)).await.unwrap().id);
            // Killed when it has received it and not begun.
            newer.taken().await;
            newer = newer.reborn(&format!("ext_{number}_b"));
            let query = newer.taken().await;
            newer.run(&query).await;
            newer.sync().await;
        }
        for id in ids {
            assert!(matches!(look(&hub, "ann", &id).await, CommandStatus::Complete { .. }));
        }
        let runs = newer.runs.lock().unwrap();
        assert!(runs.len() == 20 && runs.values().all(|times| *times == 1), "{runs:?}");
        assert_eq!(hub.browsers().len(), 1, "they are one browser");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_silent_while_it_works_has_its_whole_time_and_counts_as_connected() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V6);
    tokio::spawn(newer.clone().live());
    settle().await;
    let id = hub.submit(&agent("ann"), script_of("1 9000")).await.unwrap().id;
    for _ in 0..8 {
        tokio::time::sleep(seconds(1)).await;
        assert!(hub.browsers()[0].connected);
    }
    tokio::time::sleep(seconds(2)).await;
    assert!(matches!(look(&hub, "ann", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_gone_in_the_middle_of_a_command_is_given_up_with_it() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V6);
    hub.submit(&agent("ann"), script_of("1 1")).await.unwrap();
    newer.taken().await;
    pass(seconds(11)).await;
    assert!(hub.browsers()[0].connected);
    pass(Duration::from_millis(1_001)).await;
    assert!(!hub.browsers()[0].connected);
}

#[tokio::test(start_paused = true)]
async fn another_extension_reports_nothing_of_what_it_does_not_have() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V8);
    let id = hub.submit(&agent("ann"), script_of("1 5")).await.unwrap().id;
    let query = newer.taken().await;
    let thief = Newer {
        extension: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ..Newer::new(&hub, "ext_1", Generation::V8)
    };
    let name = query.id.as_str();
    for body in [
        json!({"command_results": [{"id": name, "status": "complete", "result": 666}]}),
        json!({"command_results": [{"correlation_id": id, "error": "gone"}]}),
        json!({"in_progress": [{"id": name}]}),
        json!({"last_command_ack": name}),
    ] {
        let mut forged = thief.request();
        forged.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let answer = thief.send(&forged).await;
        assert!(answer.commands.is_empty());
        let status = look(&hub, "ann", &id).await;
        assert!(matches!(status, CommandStatus::Pending { started_at: None, .. }), "{status:?}");
    }
    newer.run(&query).await;
    newer.sync().await;
    assert!(matches!(look(&hub, "ann", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_ends_answers_what_waits() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V8);
    let waiting = tokio::spawn({
        let newer = newer.clone();
        async move { newer.sync().await }
    });
    settle().await;
    let began = hub.now();
    hub.drain(seconds(2)).await;
    let answer = waiting.await.unwrap();
    assert_eq!((answer.commands.len(), answer.next_poll_ms), (0, 1_000));
    assert_eq!(newer.sync().await.next_poll_ms, 1_000);
    assert_eq!(hub.now().since(began), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn control_that_is_switched_off_is_told_at_the_call() {
    let hub = hub();
    let newer = Newer::new(&hub, "ext_1", Generation::V8);
    let mut body = newer.request();
    body["settings"]["pilot_enabled"] = false.into();
    newer.send(&body).await;
    let refused = hub.submit(&agent("ann"), script()).await.unwrap_err();
    assert_eq!(refused.why.code(), "control_switched_off");
    assert!(refused.why.hint().contains("popup"));
    body["settings"]["pilot_enabled"] = true.into();
    newer.send(&body).await;
    assert!(hub.submit(&agent("ann"), script()).await.is_ok());
}
