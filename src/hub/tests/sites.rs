//! What the person decides of browsers: which sites may be used, and that nothing may be done.

use super::*;
use crate::protocol::actions::{NavigateAction, TabOpenAction};
use crate::protocol::{
    LocalFileChange, LocalFileRules, SiteChange, SiteList, SitePattern, SiteRules,
};

fn deny(pattern: &str) -> SiteRules {
    let mut rules = SiteRules::default();
    let pattern = SitePattern::parse(pattern).unwrap();
    assert!(rules.apply(&SiteChange::Add { list: SiteList::Deny, pattern }).unwrap());
    rules
}

impl Extension {
    /// One that enforces which sites may be used, in a browser that the person has stopped or not.
    fn connect_enforcing(hub: &Hub, browser: &str, stopped: bool) -> Self {
        let extension = Self::attach(hub, browser, "i");
        extension.link.receive(FromExtension::Ready(ReadyFrame {
            label: browser.to_owned(),
            user_agent: "Test".to_owned(),
            actions: vec!["execute_js".to_owned()],
            session: None,
            tabs: tabs(1..=10, "http://127.0.0.1/"),
            in_flight: Vec::new(),
            draws_for: None,
            site_rules: Some(true),
            stopped: Some(stopped),
            older_extensions: None,
            act_rules: None,
            asks_first: None,
            names: None,
            shared_tabs: Vec::new(),
            private_tabs: Some(true),
            far_owners: None,
            tab_scopes: None,
            hands_over: None,
        }));
        extension
    }

    /// The rules for sites, and those for local files if the browser has just come.
    async fn rules_and_folders(&mut self) -> (Arc<SiteRules>, Arc<LocalFileRules>) {
        let sites = self.rules().await;
        match self.frame().await {
            ToExtension::LocalFiles { rules, .. } => (sites, rules),
            other => panic!("expected the open folders, got {other:?}"),
        }
    }

    async fn rules(&mut self) -> Arc<SiteRules> {
        match self.frame().await {
            ToExtension::SiteRules { rules, .. } => rules,
            other => panic!("expected the rules, got {other:?}"),
        }
    }

    fn says_stopped(&self, stopped: bool) {
        self.link.receive(FromExtension::Stopped { stopped });
    }
}

async fn assert_stopped(hub: &Hub, id: &CorrelationId, may_have_run: bool) {
    let CommandStatus::Cancelled { reason, hint, may_have_run: may, .. } = look(hub, "a", id).await
    else {
        panic!("{id} should be cancelled")
    };
    assert_eq!((reason, may), (Some("stopped_by_user"), may_have_run));
    assert!(hint.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_browser_knows_the_rules_before_its_first_command_and_hears_of_each_change() {
    let hub = Hub::start(Limits::default());
    hub.set_site_rules(deny("a.example"));
    hub.submit(&agent("a"), script()).await.unwrap();
    let mut browser = Extension::connect_enforcing(&hub, "b", false);
    assert_eq!(*browser.rules_and_folders().await.0, deny("a.example"));
    browser.begin().await;
    hub.set_site_rules(deny("b.example"));
    assert_eq!(*browser.rules().await, deny("b.example"));
    hub.set_site_rules(SiteRules::default());
    assert!(browser.rules().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_browser_knows_the_open_folders_before_its_first_command_and_hears_of_each_change() {
    let hub = Hub::start(Limits::default());
    let mut rules = LocalFileRules::default();
    rules.apply(&LocalFileChange::Add { folder: "/site".to_owned() }).unwrap();
    hub.set_local_files(rules.clone());
    hub.submit(&agent("a"), script()).await.unwrap();
    let mut browser = Extension::connect_enforcing(&hub, "b", false);
    assert_eq!(*browser.rules_and_folders().await.1, rules);
    browser.begin().await;
    hub.set_local_files(LocalFileRules::default());
    match browser.frame().await {
        ToExtension::LocalFiles { rules, problem: None } => assert!(rules.folders().is_empty()),
        other => panic!("expected the open folders, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_enforces_nothing_is_sent_to_no_local_file() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    for url in ["file:///etc/passwd", "FILE:/etc/passwd", "view-source:file:///etc/passwd"] {
        for action in [
            Action::Navigate(NavigateAction { url: url.into(), focus: None }),
            Action::TabOpen(TabOpenAction {
                url: Some(url.into()),
                focus: None,
                share: None,
                keep: None,
                private: None,
            }),
        ] {
            let asked = Submission { action, ..script() };
            let id = hub.submit(&agent("a"), asked).await.unwrap().id;
            let CommandStatus::Error { reason, may_have_run, hint, .. } =
                look(&hub, "a", &id).await
            else {
                panic!("refused: {url}")
            };
            assert_eq!((&*reason, may_have_run), ("blocked_by_policy", Some(false)));
            assert!(hint.contains("tabwire sites files allow"));
        }
    }
    assert!(browser.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_does_not_enforce_rules_gets_no_command_while_there_are_any() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.set_site_rules(deny("a.example"));
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    let CommandStatus::Error { reason, may_have_run, hint, .. } = look(&hub, "a", &id).await else {
        panic!("refused")
    };
    assert_eq!((&*reason, may_have_run), ("blocked_by_policy", Some(false)));
    assert!(hint.contains("tabwire install"));
    assert!(browser.is_quiet().await);
    hub.set_site_rules(SiteRules::default());
    hub.submit(&agent("a"), script()).await.unwrap();
    browser.begin().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_extension_refuses_before_it_began_is_an_error_that_did_not_run() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect_enforcing(&hub, "b", false);
    browser.rules_and_folders().await;
    hub.submit(&agent("a"), script()).await.unwrap();
    let (id, attempt, _) = browser.command().await;
    let error = |may_have_run| ReportedError {
        may_have_run,
        ..ReportedError::new("blocked_by_policy", "no")
    };
    // Whoever does not say that it has not run has run it without `go`.
    for may_have_run in [None, Some(true)] {
        browser.report(&id, attempt, ExtensionReport::Error { error: error(may_have_run) });
        assert!(matches!(browser.frame().await, ToExtension::Nack { .. }));
    }
    browser.report(&id, attempt, ExtensionReport::Error { error: error(Some(false)) });
    assert!(matches!(browser.frame().await, ToExtension::ResultAck { .. }));
    let CommandStatus::Error { may_have_run, .. } = look(&hub, "a", &id).await else { panic!() };
    assert_eq!(may_have_run, Some(false));
}

#[tokio::test(start_paused = true)]
async fn a_person_who_stops_all_ends_what_runs_and_waits_there_until_they_let_agents_go_on() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect_enforcing(&hub, "b", false);
    browser.rules_and_folders().await;
    let running = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    browser.begin().await;
    let queued = hub.submit(&agent("a"), script_in(1)).await.unwrap().id;
    let sent = hub.submit(&agent("a"), script_in(2)).await.unwrap().id;
    browser.command().await;
    browser.says_stopped(true);
    for (id, may_have_run) in [(&running, true), (&queued, false), (&sent, false)] {
        assert_stopped(&hub, id, may_have_run).await;
    }
    for _ in 0..2 {
        assert!(matches!(browser.frame().await, ToExtension::Cancel { .. }));
    }
    let refused = hub.submit(&agent("a"), script_in(3)).await.unwrap_err();
    assert_eq!(refused.why.code(), "stopped_by_user");
    // Whoever works in another browser goes on.
    let mut other = Extension::connect(&hub, "other", "i");
    let there = TargetSelector { browser: Some("Test".to_owned()), tab: None };
    hub.submit(&agent("a"), Submission { selector: there, ..script() }).await.unwrap();
    other.begin().await;
    browser.says_stopped(false);
    hub.submit(
        &agent("c"),
        Submission {
            selector: TargetSelector { browser: Some("b".to_owned()), tab: Some(TabId(5)) },
            ..script()
        },
    )
    .await
    .unwrap();
    browser.begin().await;
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_was_restarted_hears_from_the_browser_that_all_is_stopped() {
    let hub = Hub::start(Limits::default());
    let waiting = hub.submit(&agent("a"), script()).await.unwrap().id;
    let mut browser = Extension::connect_enforcing(&hub, "b", true);
    browser.rules_and_folders().await;
    assert_stopped(&hub, &waiting, false).await;
    assert!(browser.is_quiet().await);
    let refused = hub.submit(&agent("a"), script()).await.unwrap_err();
    assert_eq!(refused.why.code(), "stopped_by_user");
}

#[tokio::test(start_paused = true)]
async fn a_person_ends_one_command_of_their_browser_and_none_of_another() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect_enforcing(&hub, "b", false);
    browser.rules_and_folders().await;
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    browser.begin().await;
    let other = Extension::connect_enforcing(&hub, "other", false);
    other.link.receive(FromExtension::Stop { correlation_id: id.clone() });
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
    browser.link.receive(FromExtension::Stop { correlation_id: id.clone() });
    assert_stopped(&hub, &id, true).await;
}

#[tokio::test(start_paused = true)]
async fn a_command_names_the_agent_as_it_calls_itself() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("some client"), script()).await.unwrap();
    let ToExtension::Command { command, .. } = browser.frame().await else { panic!() };
    assert_eq!(&*command.client, "some client");
}
