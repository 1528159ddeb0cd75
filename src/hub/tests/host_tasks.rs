//! Waits for a person and jobs, under the same lifecycle as everything else.

use futures_util::FutureExt as _;

use super::recorded::{history, next_life, settle};
use super::*;
use crate::lifecycle::{AwaitedDrawings, CommandOutcome, CommandWork};
use crate::protocol::actions::DrawModeAction;
use crate::protocol::{Job, MonitorSync, SessionName};

fn drawing_of(session: Option<&str>) -> HostTask {
    let annotations = AwaitedDrawings { session: session.map(named) };
    HostTask {
        work: CommandWork::Annotations { annotations },
        target: TargetSelector::default(),
        deadline: limits::PERSON,
        estimate: seconds(30),
        idempotency_key: None,
        must_name_tab: false,
        trace_context: None,
        record_by: None,
    }
}

fn sync() -> HostTask {
    let sync = MonitorSync { path: "/srv".to_owned(), recursive: None, verify: None };
    HostTask {
        work: CommandWork::Job { job: Job::MonitorSync(sync) },
        target: TargetSelector::default(),
        deadline: seconds(3_600),
        estimate: seconds(1),
        idempotency_key: None,
        must_name_tab: false,
        trace_context: None,
        record_by: None,
    }
}

fn start_host_task(hub: &Hub, client: &str, asked: HostTask) -> CorrelationId {
    hub.start_host_task(&agent(client), asked).unwrap().accepted.id
}

fn done(json: &str) -> CommandOutcome {
    let result = RawValue::from_string(json.to_owned()).unwrap().into();
    CommandOutcome::Complete { result, origin: None }
}

fn named(session: &str) -> SessionName {
    SessionName::parse(session).unwrap()
}

async fn draw(hub: &Hub, session: Option<&str>) -> Vec<CorrelationId> {
    let session = session.map(named);
    hub.end_waits(&"user".into(), session.as_ref(), None, &done(r#"{"annotations":[]}"#)).await
}

/// A call that waits for a command, in a task of its own.
fn read(
    hub: &Hub,
    client: &str,
    id: &CorrelationId,
) -> tokio::task::JoinHandle<(Duration, CommandLookup)> {
    let (hub, caller, id) = (hub.clone(), agent(client), id.clone());
    tokio::spawn(async move {
        let began = hub.now();
        let seen = hub.wait(&caller, &id, seconds(55), false).await.unwrap();
        (hub.now().since(began), seen)
    })
}

fn word(seen: &CommandLookup) -> &'static str {
    let CommandLookup::Command(report) = seen else { return "gone" };
    match report.status {
        CommandStatus::Pending { .. } => "pending",
        CommandStatus::WaitingForUser { .. } => "waiting_for_user",
        CommandStatus::Complete { .. } => "complete",
        CommandStatus::Error { .. } => "error",
        CommandStatus::Timeout { .. } => "timeout",
        CommandStatus::Expired { .. } => "expired",
        CommandStatus::Cancelled { .. } => "cancelled",
    }
}

#[tokio::test(start_paused = true)]
async fn a_drawing_wakes_everybody_who_waits_for_its_session_and_nobody_else() {
    let hub = Hub::start(Limits::default());
    let mine = start_host_task(&hub, "a", drawing_of(Some("checkout")));
    let too = start_host_task(&hub, "b", drawing_of(Some("checkout")));
    let other = start_host_task(&hub, "a", drawing_of(Some("search")));
    let none = start_host_task(&hub, "a", drawing_of(None));
    let reads = [read(&hub, "a", &mine), read(&hub, "b", &mine), read(&hub, "b", &too)];
    let others = [read(&hub, "a", &other), read(&hub, "a", &none)];
    settle().await;
    advance(seconds(20)).await;
    let mut ended = draw(&hub, Some("checkout")).await;
    ended.sort();
    let mut expected = vec![mine, too];
    expected.sort();
    assert_eq!(ended, expected);
    for read in reads {
        let (took, seen) = read.await.unwrap();
        assert_eq!((word(&seen), took.as_secs()), ("complete", 20));
    }
    for read in others {
        let (took, seen) = read.await.unwrap();
        assert_eq!((word(&seen), took.as_secs()), ("pending", 55));
    }
}

#[tokio::test(start_paused = true)]
async fn a_drawing_ends_the_wait_that_it_names_whatever_its_session() {
    let hub = Hub::start(Limits::default());
    let named = start_host_task(&hub, "a", drawing_of(Some("checkout")));
    let other = start_host_task(&hub, "a", drawing_of(Some("checkout")));
    let ended = hub.end_waits(&"user".into(), None, Some(&named), &done("{}")).await;
    assert_eq!(ended, [named]);
    assert!(matches!(look(&hub, "a", &other).await, CommandStatus::Pending { .. }));
}

#[tokio::test(start_paused = true)]
async fn another_owners_wait_is_not_ended() {
    let hub = Hub::start(Limits::default());
    let id = start_host_task(&hub, "a", drawing_of(None));
    assert!(hub.end_waits(&"other".into(), None, Some(&id), &done("{}")).await.is_empty());
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_person_has_ten_minutes_and_each_read_of_the_wait_at_most_fifty_five_seconds() {
    let hub = Hub::start(Limits::default());
    let id = start_host_task(&hub, "a", drawing_of(None));
    let mut waited = Duration::ZERO;
    loop {
        let (took, seen) = read(&hub, "a", &id).await.unwrap();
        waited += took;
        if word(&seen) != "pending" {
            assert_eq!(word(&seen), "expired");
            break;
        }
        assert!(took >= seconds(55) && took < seconds(56), "{took:?}");
    }
    assert_eq!(waited.as_secs(), limits::PERSON.as_secs());
    assert_eq!(reason(&look(&hub, "a", &id).await), "nobody_drew");
}

#[tokio::test(start_paused = true)]
async fn waits_and_jobs_are_twenty_each_and_not_among_the_queued() {
    let hub = Hub::start(Limits::default());
    for _ in 0..20 {
        start_host_task(&hub, "a", drawing_of(None));
        start_host_task(&hub, "a", sync());
    }
    for (asked, code) in [(drawing_of(None), "too_many_annotations"), (sync(), "too_many_jobs")] {
        let refused = hub.start_host_task(&agent("a"), asked.clone()).unwrap_err();
        assert_eq!(refused.why.code(), code);
        assert_eq!(failures(&hub, "a").get(&refused.id).map(String::as_str), Some(code));
        assert!(hub.start_host_task(&agent("b"), asked).is_ok());
    }
    for _ in 0..5 {
        hub.submit(&agent("a"), script()).await.unwrap();
    }
    hub.cancel(&agent("a"), &hub.lists(&agent("a")).pending[0].correlation_id).await.unwrap();
    start_host_task(&hub, "a", drawing_of(None));
}

#[tokio::test(start_paused = true)]
async fn the_same_key_is_the_same_wait() {
    let hub = Hub::start(Limits::default());
    let keyed = || HostTask { idempotency_key: Some("k".into()), ..drawing_of(None) };
    let first = hub.start_host_task(&agent("a"), keyed()).unwrap();
    let again = hub.start_host_task(&agent("a"), keyed()).unwrap();
    assert!(first.is_new() && !again.is_new());
    assert_eq!(first.accepted.id, again.accepted.id);
    let other = HostTask { idempotency_key: Some("k".into()), ..sync() };
    let refused = hub.start_host_task(&agent("a"), other).unwrap_err();
    assert_eq!(refused.why.code(), "idempotency_key_reused");
}

#[tokio::test(start_paused = true)]
async fn a_job_goes_on_without_its_client_and_is_read_by_whoever_has_its_id() {
    let hub = Hub::start(Limits::default());
    let id = start_host_task(&hub, "a", sync());
    drop(read(&hub, "a", &id));
    assert!(hub.begin_job(&id));
    assert!(!hub.begin_job(&"job_1_0".into()));
    assert!(hub.advance_job(&id, 0.5, "Processing 1 of 2 files"));
    let CommandStatus::Pending { progress: Some(said), .. } = look(&hub, "b", &id).await else {
        panic!()
    };
    assert_eq!(
        (said.progress, said.message.as_deref()),
        (Some(0.5), Some("Processing 1 of 2 files"))
    );
    hub.finish(&id, done(r#"{"success":true}"#));
    assert!(!hub.advance_job(&id, 0.6, "late"));
    assert!(matches!(look(&hub, "b", &id).await, CommandStatus::Complete { page: None, .. }));
    advance(limits::RETAIN_JOB - seconds(1)).await;
    assert!(matches!(look(&hub, "b", &id).await, CommandStatus::Complete { .. }));
    pass(seconds(2)).await;
    assert!(matches!(hub.get(&agent("b"), &id, false).await, Ok(CommandLookup::Evicted(_))));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_at_a_job_learns_that_it_is_cancelled() {
    let hub = Hub::start(Limits::default());
    let id = start_host_task(&hub, "a", sync());
    assert!(hub.begin_job(&id));
    let mut over = Box::pin(hub.until_over(&id));
    assert!((&mut over).now_or_never().is_none());
    hub.ask_to_cancel(&agent("a"), &id);
    over.await;
    assert!(!hub.advance_job(&id, 0.5, "still at it"));
    let CommandStatus::Cancelled { may_have_run, .. } = look(&hub, "a", &id).await else {
        panic!()
    };
    assert!(may_have_run);
}

#[tokio::test(start_paused = true)]
async fn that_an_outcome_was_handed_over_is_told_to_whoever_asks_for_it() {
    let hub = Hub::start(Limits::default());
    let (read, unread) = (
        start_host_task(&hub, "a", drawing_of(None)),
        start_host_task(&hub, "a", drawing_of(None)),
    );
    draw(&hub, None).await;
    let waiting = |id: &CorrelationId| {
        let (hub, id) = (hub.clone(), id.clone());
        tokio::spawn(async move { hub.until_read(&id).await })
    };
    let (was_read, was_not) = (waiting(&read), waiting(&unread));
    settle().await;
    hub.mark_read(&agent("a"), &read);
    assert!(was_read.await.unwrap());
    pass(limits::PERSON).await;
    assert!(!was_not.await.unwrap(), "its record went before anybody had read it");
    assert!(!hub.until_read(&"ann_1_0".into()).await);
}

#[tokio::test(start_paused = true)]
async fn the_next_life_of_the_daemon_goes_on_with_what_had_not_begun() {
    let hub = Hub::start(Limits::default());
    let wait = start_host_task(&hub, "a", drawing_of(Some("checkout")));
    let (waiting, working) =
        (start_host_task(&hub, "a", sync()), start_host_task(&hub, "a", sync()));
    assert!(hub.begin_job(&working));
    let left = [&wait, &waiting, &working]
        .map(|id| (hub.0.commands.get(id).unwrap().borrow().clone(), None));
    let (next, _pages) = next_life(history(left.into()));
    let jobs: Vec<_> = next.waiting_jobs().into_iter().map(|(id, _)| id).collect();
    assert_eq!(jobs, [waiting]);
    assert_eq!(draw(&next, Some("checkout")).now_or_never(), None, "it waits for the journal");
    let status = next.0.commands.get(&working).unwrap().borrow().report(false).status;
    assert_eq!(reason(&status), "daemon_restarted");
}

/// How much memory the process has in use, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

#[tokio::test(start_paused = true)]
async fn a_thousand_blocked_reads_cost_little_wake_for_their_own_only_and_leave_nothing() {
    let hub = Hub::start(Limits::default());
    let clients: Vec<_> = (0..50).map(|n| format!("client {n}")).collect();
    let ids: Vec<_> = clients
        .iter()
        .flat_map(|client| {
            let session = |n| format!("{client}, {n}");
            (0..20)
                .map(|n| start_host_task(&hub, client, drawing_of(Some(&session(n)))))
                .collect::<Vec<_>>()
        })
        .collect();
    let polls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let before = resident();
    let blocked: Vec<_> = ids
        .iter()
        .zip(0..)
        .map(|(id, n)| {
            let (hub, caller, id) = (hub.clone(), agent(&clients[n / 20]), id.clone());
            let polls = polls.clone();
            tokio::spawn(async move {
                let mut wait = std::pin::pin!(hub.wait(&caller, &id, seconds(55), false));
                std::future::poll_fn(|context| {
                    polls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    wait.as_mut().poll(context)
                })
                .await
            })
        })
        .collect();
    settle().await;
    let count = || polls.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(count(), 1_000);
    let took = resident().saturating_sub(before);
    assert!(took < 10 << 20, "{took} bytes");
    assert_eq!(draw(&hub, Some("client 7, 3")).await, [ids[143].clone()]);
    settle().await;
    assert_eq!(count(), 1_001, "one drawing wakes its own reader");
    let waiters = || hub.view(crate::engine::Engine::waiting_calls);
    assert_eq!(waiters(), 999);
    for task in &blocked {
        task.abort();
    }
    settle().await;
    assert_eq!(waiters(), 0);
    let receivers = |id| hub.0.commands.get(id).unwrap().receiver_count();
    assert_eq!(ids.iter().map(receivers).sum::<usize>(), 0);
}

// ── Drawing tools in browsers ──

fn opening_for(wait: &CorrelationId) -> Submission {
    let action = Action::DrawMode(DrawModeAction {
        correlation_id: wait.clone(),
        session: None,
        styles: None,
        prompt: None,
    });
    Submission::of(action)
}

/// A wait whose drawing tools this browser has opened.
async fn open_tools(hub: &Hub, extension: &mut Extension, session: Option<&str>) -> CorrelationId {
    let wait = start_host_task(hub, "a", drawing_of(session));
    let opening = hub.submit(&agent("a"), opening_for(&wait)).await.unwrap().id;
    let (id, attempt, _) = extension.command().await;
    assert_eq!(id, opening);
    extension.complete(&id, attempt, "open").await;
    wait
}

async fn told_over(extension: &mut Extension) -> Vec<CorrelationId> {
    match extension.frame().await {
        ToExtension::AnnotationsOver { correlation_ids } => correlation_ids,
        other => panic!("expected the end of waits, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_browser_with_the_tools_hears_that_their_wait_was_cancelled_and_no_other_does() {
    let hub = Hub::start(Limits::default());
    let mut extension = Extension::connect(&hub, "browser", "1");
    let wait = open_tools(&hub, &mut extension, None).await;
    let mut other = Extension::connect(&hub, "other", "2");
    hub.cancel(&agent("a"), &wait).await.unwrap();
    assert_eq!(told_over(&mut extension).await, [wait]);
    assert!(extension.is_quiet().await && other.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn tools_stay_as_long_as_anybody_waits_for_their_session() {
    let hub = Hub::start(Limits::default());
    let mut extension = Extension::connect(&hub, "browser", "1");
    let first = open_tools(&hub, &mut extension, Some("cart")).await;
    let elsewhere = open_tools(&hub, &mut extension, None).await;
    let second = start_host_task(&hub, "b", drawing_of(Some("cart")));
    hub.cancel(&agent("a"), &first).await.unwrap();
    assert!(extension.is_quiet().await);
    pass(limits::PERSON).await;
    let told = [told_over(&mut extension).await, told_over(&mut extension).await].concat();
    assert!(told.contains(&first) && told.contains(&elsewhere), "{told:?}");
    assert_eq!(reason(&look(&hub, "b", &second).await), "nobody_drew");
}

#[tokio::test(start_paused = true)]
async fn the_browser_that_says_what_became_of_a_drawing_is_not_told_of_its_end() {
    let hub = Hub::start(Limits::default());
    let mut extension = Extension::connect(&hub, "browser", "1");
    let drawn = open_tools(&hub, &mut extension, None).await;
    let beside = open_tools(&hub, &mut extension, None).await;
    hub.end_waits(&"user".into(), None, Some(&drawn), &done("{}")).await;
    assert_eq!(told_over(&mut extension).await, [beside]);
    let given_up = open_tools(&hub, &mut extension, None).await;
    hub.end_wait(&given_up, done("{}")).await;
    assert!(extension.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn what_is_to_open_tools_is_cancelled_with_its_wait() {
    let hub = Hub::start(Limits::default());
    let mut extension = Extension::connect(&hub, "browser", "1");
    let (running, queued) = (
        start_host_task(&hub, "a", drawing_of(None)),
        start_host_task(&hub, "a", drawing_of(Some("s"))),
    );
    let sent = hub.submit(&agent("a"), opening_for(&running)).await.unwrap().id;
    extension.command().await;
    let waiting = hub.submit(&agent("a"), opening_for(&queued)).await.unwrap().id;
    hub.cancel(&agent("a"), &queued).await.unwrap();
    hub.cancel(&agent("a"), &running).await.unwrap();
    assert!(matches!(look(&hub, "a", &waiting).await, CommandStatus::Cancelled { .. }));
    let cancelled = extension.frame().await;
    assert!(
        matches!(&cancelled, ToExtension::Cancel { correlation_id, .. } if *correlation_id == sent),
        "{cancelled:?}"
    );
    assert_eq!(told_over(&mut extension).await, std::slice::from_ref(&running));
    let late = hub.submit(&agent("a"), opening_for(&running)).await.unwrap().id;
    assert!(matches!(look(&hub, "a", &late).await, CommandStatus::Cancelled { .. }));
    assert!(extension.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_comes_back_hears_which_of_its_waits_are_over() {
    let hub = Hub::start(Limits::default());
    let mut extension = Extension::connect(&hub, "browser", "1");
    let over = open_tools(&hub, &mut extension, None).await;
    let open = open_tools(&hub, &mut extension, Some("cart")).await;
    drop(extension);
    hub.cancel(&agent("a"), &over).await.unwrap();
    let mut extension = Extension::attach(&hub, "browser", "2");
    let unknown = CorrelationId::from("ann_of_another_life");
    extension.ready_to_draw(vec![over.clone(), open.clone(), unknown.clone()]);
    assert_eq!(told_over(&mut extension).await, [over, unknown]);
    hub.cancel(&agent("a"), &open).await.unwrap();
    assert_eq!(told_over(&mut extension).await, [open]);
}
