//! Extensions that only poll, in virtual time.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::protocol::actions::{PageInfoAction, RegisteredAction, ScreenshotAction};
use crate::protocol::{LEGACY_ACTIONS, LegacyReport};

const EXTENSION: &str = "pknkjmecjogdphnahbagadepchhknbfe";

/// One life of an extension that polls, as it behaves: it runs whatever it is given unless
/// it is at it just then, and reports under the correlation id alone.
#[derive(Clone)]
struct Old {
    hub: Hub,
    session: InstanceId,
    /// How often each script was run, by its text.
    runs: Arc<Mutex<BTreeMap<String, u32>>>,
    /// How many commands polls were answered with.
    deliveries: Arc<AtomicUsize>,
}

impl Old {
    fn new(hub: &Hub, session: &str) -> Self {
        let session = InstanceId::from(session);
        hub.name_session(EXTENSION, &session);
        Self { hub: hub.clone(), session, runs: Arc::default(), deliveries: Arc::default() }
    }

    async fn poll(&self) -> Option<crate::protocol::LegacyQuery> {
        self.poll_with(true).await
    }

    async fn poll_with(&self, is_pilot_on: bool) -> Option<crate::protocol::LegacyQuery> {
        let poll = PollRequest {
            session: self.session.clone(),
            extension_version: "5.6.0".to_owned(),
            is_pilot_on,
            transport: Transport::Poll,
        };
        self.hub.poll(poll).await
    }

    /// Posts a body, as any route takes it.
    async fn post(&self, body: &str) -> ReportDisposition {
        let report: LegacyReport = serde_json::from_str(body).unwrap();
        self.hub.take_report(EXTENSION, report).await.unwrap()
    }

    async fn post_result(&self, id: &str, value: &str) -> ReportDisposition {
        let result = format!("{{\"success\":true,\"result\":{value:?}}}");
        let body = format!(
            "{{\"correlation_id\":{id:?},\"status\":\"complete\",\"result\":{result},\"error\":null}}"
        );
        self.post(&body).await
    }

    /// Runs a script that takes so many milliseconds.
    async fn run(self, id: String, script: String) {
        *self.runs.lock().unwrap().entry(script.clone()).or_default() += 1;
        let millis: u64 = script.rsplit(' ').next().unwrap().parse().unwrap();
        let says_pending = millis > 3_000;
        tokio::time::sleep(Duration::from_millis(millis.min(3_000))).await;
        if says_pending {
            self.post(&format!("{{\"correlation_id\":{id:?},\"status\":\"pending\"}}")).await;
            tokio::time::sleep(Duration::from_millis(millis - 3_000)).await;
        }
        self.post_result(&id, &script).await;
    }

    /// Polls every 1 to 2 s, and runs what it gets, without end.
    async fn live(self) {
        let mut at_work: HashSet<String> = HashSet::new();
        let (done, mut finished) = tokio::sync::mpsc::unbounded_channel();
        for turn in 0_u64.. {
            if turn % 2 == 0 {
                self.hub.name_session(EXTENSION, &self.session);
            }
            while let Ok(id) = finished.try_recv() {
                at_work.remove(&id);
            }
            if let Some(query) = self.poll().await {
                self.deliveries.fetch_add(1, Ordering::Relaxed);
                let id = query.correlation_id.unwrap().as_str().to_owned();
                if at_work.insert(id.clone()) {
                    let script = query.params["script"].as_str().unwrap().to_owned();
                    let (one, done) = (self.clone(), done.clone());
                    tokio::spawn(async move {
                        one.run(id.clone(), script).await;
                        let _ = done.send(id);
                    });
                }
            }
            tokio::time::sleep(Duration::from_millis(if turn % 5 == 4 { 2_000 } else { 1_000 }))
                .await;
        }
    }
}

async fn taken(old: &Old) -> String {
    let query = old.poll().await.expect("a command is delivered");
    query.correlation_id.expect("it is asked under its name").as_str().to_owned()
}

#[tokio::test(start_paused = true)]
async fn two_hundred_commands_run_exactly_once_each_and_all_complete() {
    let hub = Hub::start(Limits { calls_per_minute: 0, ..Limits::default() });
    let old = Old::new(&hub, "ext_1");
    let living = tokio::spawn(old.clone().live());
    let mut at_work = tokio::task::JoinSet::new();
    for agent_number in 0..4 {
        let hub = hub.clone();
        at_work.spawn(async move {
            let agent = agent(&format!("agent {agent_number}"));
            for number in 0..50 {
                let millis = [5, 700, 3_500, 30, 4_500][number % 5];
                let text = format!("{agent_number} {number} {millis}");
                let id = hub.submit(&agent, script_of(&text)).await.unwrap().id;
                let seen = hub.wait(&agent, &id, limits::WAIT_MAX, false).await.unwrap();
                let CommandLookup::Command(report) = seen else { panic!("{text}: {seen:?}") };
                let CommandStatus::Complete { result, .. } = report.status else {
                    panic!("{text}: {:?}", report.status)
                };
                assert_eq!(
                    result.get(),
                    format!("{{\"success\":true,\"value\":{text:?},\"type\":\"string\"}}")
                );
            }
        });
    }
    while let Some(done) = at_work.join_next().await {
        done.unwrap();
    }
    living.abort();
    let runs = old.runs.lock().unwrap();
    assert_eq!(runs.len(), 200);
    assert!(runs.values().all(|times| *times == 1), "{runs:?}");
    // It would have run again what it saw again, had it not been at it just then.
    assert_eq!(old.deliveries.load(Ordering::Relaxed), 200);
}

#[tokio::test(start_paused = true)]
async fn a_polled_command_is_not_offered_again_to_the_same_life() {
    let hub = Hub::start(Limits::default());
    let old = Old::new(&hub, "ext_1");
    assert!(old.poll().await.is_none());
    let id = hub.submit(&agent("ann"), script()).await.unwrap().id;
    hub.submit(&agent("ann"), script()).await.unwrap();
    assert_eq!(taken(&old).await, id.as_str());
    // A hundred polls in a second get nothing: it is one command at a time.
    for _ in 0..100 {
        assert!(old.poll().await.is_none());
        pass(Duration::from_millis(10)).await;
    }
    assert_eq!(old.post_result(id.as_str(), "x").await, ReportDisposition::Accepted);
    assert!(old.poll().await.is_some(), "the lane is free");
}

#[tokio::test(start_paused = true)]
async fn another_life_gets_it_again_under_the_same_names_and_any_life_may_report() {
    let hub = Hub::start(Limits::default());
    let first = Old::new(&hub, "ext_1");
    let _ = first.poll().await;
    let id = hub.submit(&agent("ann"), script()).await.unwrap().id;
    assert_eq!(taken(&first).await, id.as_str());
    let second = Old::new(&hub, "ext_2");
    assert_eq!(taken(&second).await, id.as_str());
    assert!(second.poll().await.is_none());
    assert_eq!(
        second.post(&format!("{{\"correlation_id\":\"{id}\",\"status\":\"pending\"}}")).await,
        ReportDisposition::Accepted
    );
    let third = Old::new(&hub, "ext_3");
    assert!(third.poll().await.is_none(), "something was heard of it");
    assert_eq!(third.post_result(id.as_str(), "x").await, ReportDisposition::Accepted);
    assert!(matches!(look(&hub, "ann", &id).await, CommandStatus::Complete { .. }));
    assert_eq!(hub.browsers().len(), 1, "they are one browser");
}

#[tokio::test(start_paused = true)]
async fn two_profiles_with_the_same_extension_are_two_browsers() {
    let hub = Hub::start(Limits::default());
    let (one, other) = (Old::new(&hub, "ext_1"), Old::new(&hub, "ext_2"));
    for _ in 0..3 {
        let _ = one.poll().await;
        let _ = other.poll().await;
        pass(seconds(1)).await;
    }
    let browsers = hub.browsers();
    assert_eq!(browsers.iter().filter(|browser| browser.connected).count(), 2, "{browsers:?}");
    let selector = TargetSelector { browser: Some(browsers[0].label.clone()), tab: None };
    hub.submit(&agent("ann"), Submission { selector, ..script() }).await.unwrap();
    let deliveries = [one.poll().await.is_some(), other.poll().await.is_some()];
    assert_eq!(deliveries.iter().filter(|delivered| **delivered).count(), 1);
    assert!(one.poll().await.is_none() && other.poll().await.is_none(), "it does not go round");
}

#[tokio::test(start_paused = true)]
async fn one_that_polls_no_more_after_it_took_a_command_leaves_it_expired() {
    let hub = Hub::start(Limits::default());
    let old = Old::new(&hub, "ext_1");
    let _ = old.poll().await;
    let id = hub.submit(&agent("ann"), script()).await.unwrap().id;
    let _ = taken(&old).await;
    pass(limits::RESPOND_POLL).await;
    let status = look(&hub, "ann", &id).await;
    assert_eq!(reason(&status), "extension_no_response");
    assert!(matches!(status, CommandStatus::Expired { may_have_run: true, .. }));
    assert!(!hub.browsers()[0].connected);
    assert_eq!(
        old.post_result(id.as_str(), "x").await,
        ReportDisposition::Refused(NackReason::AlreadyTerminal)
    );
    let CommandLookup::Command(report) = hub.get(&agent("ann"), &id, true).await.unwrap() else {
        panic!()
    };
    let phases: Vec<_> = report.trace.unwrap().iter().map(|entry| entry.phase).collect();
    assert!(phases.contains(&TracePhase::LateResult), "{phases:?}");
}

#[tokio::test(start_paused = true)]
async fn it_counts_as_connected_while_it_polls() {
    let hub = Hub::start(Limits::default());
    let old = Old::new(&hub, "ext_1");
    let _ = old.poll().await;
    pass(seconds(1)).await;
    let _ = old.poll().await;
    pass(Duration::from_millis(3_490)).await;
    assert!(hub.browsers()[0].connected);
    pass(Duration::from_millis(20)).await;
    assert!(!hub.browsers()[0].connected);
    // However long it was away: that is not how often it polls.
    pass(seconds(60)).await;
    let _ = old.poll().await;
    assert!(hub.browsers()[0].connected);
    pass(Duration::from_millis(3_490)).await;
    assert!(hub.browsers()[0].connected);
    pass(Duration::from_millis(20)).await;
    assert!(!hub.browsers()[0].connected);
}

#[tokio::test(start_paused = true)]
async fn one_that_has_polled_once_has_as_long_for_its_next_poll() {
    let hub = Hub::start(Limits::default());
    let _ = Old::new(&hub, "ext_1").poll().await;
    pass(Duration::from_millis(3_490)).await;
    assert!(hub.browsers()[0].connected);
    pass(Duration::from_millis(20)).await;
    assert!(!hub.browsers()[0].connected);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_not_delivered_and_a_result_is_posted_again() {
    let (journal, mut pages) = Journal::channel();
    let reading = ClockSample {
        asleep: Duration::ZERO,
        boot: "boot".into(),
        monotonic: seconds(100),
        system: Timestamp::from_unix_micros(1_795_298_985_000_000),
    };
    let hub = Hub::open(Limits::default(), journal, RecordedHistory::default(), &reading);
    let old = Old::new(&hub, "ext_1");
    let _ = old.poll().await;
    let submitting = {
        let hub = hub.clone();
        tokio::spawn(async move { hub.submit(&agent("ann"), script()).await.unwrap().id })
    };
    tokio::task::yield_now().await;
    pages.take_batch();
    pages.recorded();
    let id = submitting.await.unwrap();
    let polling = tokio::spawn({
        let old = old.clone();
        async move { old.poll().await }
    });
    tokio::task::yield_now().await;
    pages.take_batch();
    pages.failed("the disk is full");
    assert!(polling.await.unwrap().is_none(), "it would run what nobody knows to have begun");
    pages.recorded();
    let polling = tokio::spawn({
        let old = old.clone();
        async move { old.poll().await }
    });
    tokio::task::yield_now().await;
    pages.take_batch();
    pages.recorded();
    let query = polling.await.unwrap().expect("it is delivered once it can be");
    assert_eq!(query.correlation_id.as_ref(), Some(&id));
    let body = format!("{{\"correlation_id\":\"{id}\",\"result\":1}}");
    let report = || serde_json::from_str::<LegacyReport>(&body).unwrap();
    let posting = tokio::spawn({
        let (hub, report) = (hub.clone(), report());
        async move { hub.take_report(EXTENSION, report).await }
    });
    tokio::task::yield_now().await;
    pages.take_batch();
    pages.failed("the disk is full");
    assert!(posting.await.unwrap().is_err());
    pages.recorded();
    assert_eq!(hub.take_report(EXTENSION, report()).await.unwrap(), ReportDisposition::Accepted);
}

#[tokio::test(start_paused = true)]
async fn a_further_profile_never_gets_the_name_of_one_that_is_known() {
    let hub = Hub::start(Limits::default());
    let old: Vec<_> = ["ext_1", "ext_2", "ext_3"].map(|name| Old::new(&hub, name)).into();
    for _ in 0..4 {
        for one in &old {
            let _ = one.poll().await;
        }
        pass(seconds(1)).await;
    }
    let browsers = hub.browsers();
    assert_eq!(browsers.iter().filter(|browser| browser.connected).count(), 3, "{browsers:?}");
    // Two go and are forgotten; the one that is not the first stays, and a fourth comes.
    for _ in 0..700 {
        let _ = old[0].poll().await;
        pass(seconds(1)).await;
    }
    let fourth = Old::new(&hub, "ext_4");
    for _ in 0..3 {
        let _ = fourth.poll().await;
        let _ = old[0].poll().await;
        pass(seconds(1)).await;
    }
    let connected: Vec<_> = hub.browsers().into_iter().filter(|b| b.connected).collect();
    assert_eq!(connected.len(), 2, "{connected:?}");
}

#[tokio::test(start_paused = true)]
async fn what_it_cannot_do_is_refused_at_the_call() {
    let hub = Hub::start(Limits::default());
    let old = Old::new(&hub, "ext_1");
    let _ = old.poll().await;
    let shot = Action::Screenshot(ScreenshotAction::default());
    let refused = hub.submit(&agent("ann"), Submission { action: shot, ..script() }).await;
    assert_eq!(refused.unwrap_err().why.code(), "unsupported_action");
    for action in RegisteredAction::all().iter().map(RegisteredAction::example) {
        let name = action.name();
        let told = hub.submit(&agent(name), Submission { action, ..script() }).await;
        if LEGACY_ACTIONS.contains(&name) {
            told.unwrap();
            continue;
        }
        let why = told.unwrap_err().why;
        assert_eq!(why.code(), "unsupported_action", "{name}");
        let message = why.message();
        assert!(message.contains(&format!("`{name}`")) && message.contains("5.6.0"), "{message}");
        assert!(why.hint().contains("pair the Tabwire extension"), "{}", why.hint());
    }
    let refused = hub.submit(&agent("ann"), script_in(7)).await;
    assert_eq!(refused.unwrap_err().why.code(), "no_choice_of_tab");
    let _ = old.poll_with(false).await;
    let refused = hub.submit(&agent("ann"), script()).await;
    assert_eq!(refused.unwrap_err().why.code(), "control_switched_off");
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_any_browser_goes_to_it_only_if_it_knows_it_and_no_tab_was_named() {
    let hub = Hub::start(Limits::default());
    let shot = Action::Screenshot(ScreenshotAction::default());
    let shot = hub.submit(&agent("ann"), Submission { action: shot, ..script() }).await.unwrap().id;
    let in_tab = hub.submit(&agent("ann"), script_in(7)).await.unwrap().id;
    let plain = hub.submit(&agent("ann"), script()).await.unwrap().id;
    let old = Old::new(&hub, "ext_1");
    assert_eq!(taken(&old).await, plain.as_str());
    assert_eq!(old.post_result(plain.as_str(), "x").await, ReportDisposition::Accepted);
    assert!(old.poll().await.is_none());
    let waits = serde_json::to_value(look(&hub, "ann", &shot).await).unwrap();
    let hint = waits["hint"].as_str().unwrap();
    assert!(hint.contains("(version 5.6.0) that does not know `screenshot`"), "{waits}");
    pass(seconds(31)).await;
    for id in [shot, in_tab] {
        assert_eq!(reason(&look(&hub, "ann", &id).await), "no_extension");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_named_gets_nothing() {
    let hub = Hub::start(Limits::default());
    let _ = Old::new(&hub, "ext_1").poll().await;
    hub.submit(&agent("ann"), script()).await.unwrap();
    let stranger = Old { session: "ext_2".into(), ..Old::new(&hub, "ext_1") };
    assert!(stranger.poll().await.is_none());
    assert_eq!(hub.browsers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn reports_count_once_and_only_from_the_extension_that_has_the_command() {
    let hub = Hub::start(Limits::default());
    let old = Old::new(&hub, "ext_1");
    let _ = old.poll().await;
    let id = hub.submit(&agent("ann"), script()).await.unwrap().id;
    let _ = taken(&old).await;
    let body = format!("{{\"correlation_id\":\"{id}\",\"result\":1}}");
    let foreign: LegacyReport = serde_json::from_str(&body).unwrap();
    let taken = hub.take_report("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", foreign).await.unwrap();
    assert_eq!(taken, ReportDisposition::Refused(NackReason::StaleAttempt));
    assert_eq!(
        old.post(r#"{"correlation_id":"exec_0"}"#).await,
        ReportDisposition::Refused(NackReason::UnknownCommand)
    );
    assert_eq!(old.post(&body).await, ReportDisposition::Accepted);
    assert_eq!(old.post(&body).await, ReportDisposition::Accepted, "the same again is no news");
    let other = format!("{{\"correlation_id\":\"{id}\",\"result\":2}}");
    assert_eq!(old.post(&other).await, ReportDisposition::Refused(NackReason::AlreadyTerminal));
}

#[tokio::test(start_paused = true)]
async fn a_query_without_a_name_is_answered_under_its_second_one() {
    let hub = Hub::start(Limits::default());
    let old = Old::new(&hub, "ext_1");
    let _ = old.poll().await;
    let call = Submission { action: Action::PageInfo(PageInfoAction {}), ..script() };
    let id = hub.submit(&agent("ann"), call).await.unwrap().id;
    let query = old.poll().await.unwrap();
    assert_eq!((query.kind, query.correlation_id), ("page_info", None));
    pass(seconds(20)).await;
    let body = format!("{{\"id\":\"{}\",\"result\":{{\"url\":\"http://a/\"}}}}", query.id);
    assert_eq!(old.post(&body).await, ReportDisposition::Accepted);
    assert!(matches!(look(&hub, "ann", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_look_from_outside_takes_nothing_and_tells_little() {
    let hub = Hub::start(Limits::default());
    let old = Old::new(&hub, "ext_1");
    let _ = old.poll().await;
    let id = hub.submit(&agent("ann"), script()).await.unwrap().id;
    pass(seconds(1)).await;
    let pending_queries = serde_json::to_string(&hub.pending_queries()).unwrap();
    assert!(
        pending_queries.contains("execute_js") && pending_queries.contains("100"),
        "{pending_queries}"
    );
    assert!(
        !pending_queries.contains("document.title") && !pending_queries.contains(id.as_str()),
        "{pending_queries}"
    );
    assert_eq!(taken(&old).await, id.as_str());
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_polls_gets_no_command_while_there_are_rules_for_sites() {
    let hub = Hub::start(Limits::default());
    let old = Old::new(&hub, "s1");
    assert!(old.poll().await.is_none());
    let rules = serde_json::from_str(r#"{"deny": ["a.example"]}"#).unwrap();
    hub.set_site_rules(rules);
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    assert!(old.poll().await.is_none());
    let CommandStatus::Error { reason, may_have_run, .. } = look(&hub, "a", &id).await else {
        panic!("refused")
    };
    assert_eq!((&*reason, may_have_run), ("blocked_by_policy", Some(false)));
    hub.set_site_rules(crate::protocol::SiteRules::default());
    hub.submit(&agent("a"), script()).await.unwrap();
    assert!(old.poll().await.is_some());
}
