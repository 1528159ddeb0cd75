//! Steps that a person does alone: nothing is sent to their site meanwhile, and only the browser
//! with the tab says that they are done.

use super::asks::{about, asking, start};
use super::*;
use crate::protocol::{AnswerChannel, AskAnswer, AskQuestion, AskRefusal, PersonAsk};

fn hand_over(tab: i64) -> HostTask {
    let question = AskQuestion::parse("Log in.").unwrap();
    about(tab, asking(PersonAsk::HandOver { question }))
}

async fn assert_handed_over(hub: &Hub, id: &CorrelationId) {
    let CommandStatus::Error { reason, may_have_run, hint, .. } = look(hub, "b", id).await else {
        panic!("{id} should be refused")
    };
    assert_eq!((&*reason, may_have_run), ("handed_over", Some(false)));
    assert!(hint.contains("ask_user"), "{hint}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_to_the_site_of_a_step_until_the_person_has_done_it() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = start(&hub, "a", hand_over(7));
    assert!(matches!(browser.frame().await, ToExtension::Asks { .. }));
    for tab in [7, 8] {
        let refused = hub.submit(&agent("b"), script_in(tab)).await.unwrap().id;
        assert_handed_over(&hub, &refused).await;
    }
    assert!(browser.is_quiet().await);
    browser.answer(&id, AskAnswer::Done { note: None });
    assert!(matches!(browser.frame().await, ToExtension::Asks { .. }));
    hub.submit(&agent("b"), script_in(7)).await.unwrap();
    browser.begin().await;
    let CommandStatus::Complete { result, .. } = look(&hub, "a", &id).await else {
        panic!("the step is done")
    };
    assert_eq!(result.get(), r#"{"done":true,"by":"browser"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_was_sent_before_the_step_is_refused_at_its_claim() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let sent = hub.submit(&agent("b"), script_in(7)).await.unwrap().id;
    let (id, attempt, _) = browser.command().await;
    start(&hub, "a", hand_over(7));
    assert!(matches!(browser.frame().await, ToExtension::Asks { .. }));
    browser.claim(&id, attempt);
    assert!(matches!(browser.frame().await, ToExtension::Nack { .. }));
    assert_handed_over(&hub, &sent).await;
}

#[tokio::test(start_paused = true)]
async fn a_step_ends_only_in_the_browser_that_has_its_tab() {
    let hub = Hub::start(Limits::default());
    let browser = Extension::connect(&hub, "b", "i");
    let id = start(&hub, "a", hand_over(7));
    let other = Extension::connect(&hub, "other", "i");
    let done = AskAnswer::Done { note: None };
    for by in [AnswerChannel::Terminal, AnswerChannel::Client] {
        let reply = hub.answer_ask(&"user".into(), &id, done.clone(), by).await;
        assert_eq!(reply, AskReply::Refused(AskRefusal::NeedsBrowser));
    }
    other.answer(&id, done);
    browser.answer(&id, AskAnswer::Allow { note: None });
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
    browser.answer(&id, AskAnswer::Cannot { note: None });
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Complete { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_step_needs_a_web_page_in_a_browser_that_can_and_no_other_client_s_tab() {
    let hub = Hub::start(Limits::default());
    let refusal =
        |client: &str, tab| hub.start_host_task(&agent(client), hand_over(tab)).unwrap_err().why;
    assert!(matches!(refusal("a", 7), RefusalReason::BrowserGone { .. }));
    let browser = Extension::attach(&hub, "b", "i");
    browser.ready_with(None, tabs(1..=2, "about:blank"), Vec::new());
    assert!(matches!(refusal("a", 1), RefusalReason::NoPageToHandOver { tab: TabId(1) }));
    assert!(matches!(refusal("a", 9), RefusalReason::TabGone { .. }));
    let mut browser = Extension::connect(&hub, "b", "i");
    let taking = Submission { takes_tab: true, ..script_in(7) };
    hub.submit(&agent("c"), taking).await.unwrap();
    browser.starts().await;
    assert!(matches!(refusal("a", 7), RefusalReason::TabInUse { .. }));
    let old = ReadyFrame { hands_over: None, ..ready("Test", Vec::new()) };
    browser.link.receive(FromExtension::Ready(old));
    assert!(matches!(refusal("a", 8), RefusalReason::UnsupportedAction { .. }));
}
