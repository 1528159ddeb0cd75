//! What an agent is promised, in six scenarios, and what can go wrong, in three.

use super::*;

// What an agent is promised, in six scenarios.

#[tokio::test(start_paused = true)]
async fn fast_path_the_first_poll_has_the_result() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let accepted = hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    assert_eq!(id, accepted.id);
    advance(seconds(1)).await;
    browser.complete(&id, attempt, "Home Page").await;
    let CommandStatus::Complete { result, duration_ms, .. } = look(&hub, "a", &id).await else {
        panic!()
    };
    assert!(result.get().contains("Home Page"));
    assert!((1_000.0..1_100.0).contains(&duration_ms), "{duration_ms}");
}

#[tokio::test(start_paused = true)]
async fn slow_path_a_poll_says_pending_and_a_later_one_has_the_result() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    pass(seconds(2)).await;
    browser.report(&id, attempt, pending());
    let CommandStatus::Pending { started_at, progress, .. } = look(&hub, "a", &id).await else {
        panic!()
    };
    assert!(started_at.is_some() && progress.is_some());
    pass(seconds(6)).await;
    browser.complete(&id, attempt, "done").await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn timeout_the_extension_says_so_at_ten_seconds_and_the_agent_sees_the_failure() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    pass(seconds(10)).await;
    let error = ReportedError::new("execution_timeout", "execution exceeded 10 s");
    browser.report(&id, attempt, ExtensionReport::Timeout { error });
    let CommandStatus::Timeout { error, may_have_run, .. } = look(&hub, "a", &id).await else {
        panic!()
    };
    assert_eq!(&*error, "execution exceeded 10 s");
    assert!(may_have_run);
    assert_eq!(failures(&hub, "a")[&id], "execution_timeout");
}

#[tokio::test(start_paused = true)]
async fn extension_disconnect_the_command_expires_after_three_seconds_and_is_listed() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, _) = browser.begin().await;
    drop(browser);
    advance(Duration::from_millis(2_900)).await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
    pass(Duration::from_millis(100)).await;
    let status = look(&hub, "a", &id).await;
    assert_eq!(reason(&status), "extension_disconnected");
    assert!(matches!(status, CommandStatus::Expired { may_have_run: true, .. }));
    assert_eq!(failures(&hub, "a")[&id], "extension_disconnected");
}

#[tokio::test(start_paused = true)]
async fn result_expiration_an_unread_result_goes_after_sixty_seconds_and_is_listed() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    hub.submit(&agent("a"), script()).await.unwrap();
    let (unread, attempt) = browser.begin().await;
    browser.complete(&unread, attempt, "1").await;
    let log = LogLines::default();
    let _logging = log.listen();
    let (read, attempt) = browser.begin().await;
    browser.complete(&read, attempt, "2").await;
    hub.mark_read(&agent("a"), &read);
    advance(seconds(59)).await;
    assert!(matches!(look(&hub, "a", &unread).await, CommandStatus::Complete { .. }));
    pass(seconds(1)).await;
    assert!(matches!(
        hub.get(&agent("a"), &unread, false).await.unwrap(),
        CommandLookup::Evicted(_)
    ));
    assert!(matches!(hub.get(&agent("a"), &read, false).await.unwrap(), CommandLookup::Evicted(_)));
    assert_eq!(failures(&hub, "a"), HashMap::from([(unread.clone(), "expired".to_owned())]));
    let lines = log.lines();
    let of_unread =
        lines.iter().filter(|line| line.contains("nobody had read")).collect::<Vec<_>>();
    assert!(matches!(&of_unread[..], [line] if line.contains(unread.as_str())), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn concurrent_commands_keep_their_own_results_and_lists() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    let mut expected = Vec::new();
    for (n, client) in [(1, "a"), (2, "b"), (3, "a"), (4, "b")] {
        let id = hub.submit(&agent(client), script_in(n)).await.unwrap().id;
        expected.push((client, id, format!("value {n}")));
    }
    let mut running = Vec::new();
    for _ in 0..4 {
        let (id, attempt, _) = browser.command().await;
        running.push((id, attempt));
    }
    for (id, attempt) in &running {
        browser.claim(id, *attempt);
        assert!(matches!(browser.frame().await, ToExtension::Go { .. }));
    }
    for (id, attempt) in running.into_iter().rev() {
        let (_, _, value) = expected.iter().find(|(_, known, _)| *known == id).unwrap();
        browser.complete(&id, attempt, value).await;
    }
    for (client, id, value) in &expected {
        let CommandStatus::Complete { result, .. } = look(&hub, client, id).await else { panic!() };
        assert!(result.get().contains(value.as_str()));
        let own = hub.lists(&agent(client)).completed;
        assert_eq!(own.len(), 2);
        assert!(own.iter().any(|finished| finished.correlation_id == *id));
    }
}

// What can go wrong, in three scenarios.

#[tokio::test(start_paused = true)]
async fn scenario_1_nobody_answers_and_the_command_expires_after_thirty_seconds() {
    let hub = Hub::start(Limits::default());
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    advance(Duration::from_millis(29_900)).await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
    pass(Duration::from_millis(100)).await;
    assert_eq!(reason(&look(&hub, "a", &id).await), "no_extension");
    assert_eq!(failures(&hub, "a")[&id], "no_extension");
}

#[tokio::test(start_paused = true)]
async fn scenario_2_a_new_instance_takes_the_command_up_and_its_result_counts() {
    let hub = Hub::start(Limits::default());
    let mut first = Extension::connect(&hub, "b", "i1");
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let (delivered, attempt, redelivered) = first.command().await;
    assert_eq!((&delivered, attempt, redelivered), (&id, Attempt(1), false));
    drop(first);
    advance(seconds(1)).await;
    let mut second = Extension::connect(&hub, "b", "i2");
    let (again, attempt, redelivered) = second.command().await;
    assert_eq!((&again, attempt, redelivered), (&id, Attempt(2), true));
    second.claim(&id, attempt);
    assert!(matches!(second.frame().await, ToExtension::Go { .. }));
    second.complete(&id, attempt, "by the second").await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn scenario_3_a_poll_that_comes_too_late_is_told_expired_and_not_not_found() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i1");
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt) = browser.begin().await;
    browser.complete(&id, attempt, "1").await;
    pass(seconds(60)).await;
    assert!(matches!(hub.get(&agent("a"), &id, false).await.unwrap(), CommandLookup::Evicted(_)));
    let stranger = Caller { owner: "ci".into(), client: "ci/a".into() };
    assert!(matches!(hub.get(&stranger, &id, false).await.unwrap(), CommandLookup::NotFound));
}

/// What is logged at the level of a release.
#[derive(Clone, Default)]
struct LogLines(Arc<std::sync::Mutex<Vec<u8>>>);

impl LogLines {
    /// The lines of this thread, until both are dropped.
    fn listen(&self) -> (tracing::subscriber::DefaultGuard, tracing::Dispatch) {
        let to = self.clone();
        let log = tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_ansi(false);
        let guard = tracing::subscriber::set_default(log.with_writer(move || to.clone()).finish());
        // While there is one alone, a line that another test's thread comes to first counts as wanted by nobody.
        (guard, tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new()))
    }

    fn lines(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl std::io::Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
