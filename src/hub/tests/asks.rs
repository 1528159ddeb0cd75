//! Questions of agents to a person: shown in every browser, answered once, ended honestly.

use super::recorded::{history, next_life, write};
use super::*;
use crate::lifecycle::CommandWork;
use crate::protocol::{
    AnswerChannel, AskAnswer, AskOption, AskQuestion, OpenAsk, PersonAsk, PersonWords,
};

pub(super) fn asking(ask: PersonAsk) -> HostTask {
    HostTask {
        work: CommandWork::Ask { ask },
        target: TargetSelector::default(),
        deadline: limits::PERSON,
        estimate: seconds(60),
        idempotency_key: None,
        must_name_tab: false,
        trace_context: None,
        record_by: None,
    }
}

fn question() -> AskQuestion {
    AskQuestion::parse("Send it?").unwrap()
}

pub(super) fn approve() -> HostTask {
    asking(PersonAsk::Approve { question: question() })
}

fn choose() -> HostTask {
    let options = ["red", "blue"].map(|option| AskOption::parse(option).unwrap()).into();
    asking(PersonAsk::Choose { question: question(), options })
}

pub(super) fn about(tab: i64, asked: HostTask) -> HostTask {
    HostTask { target: TargetSelector { browser: None, tab: Some(TabId(tab)) }, ..asked }
}

pub(super) fn start(hub: &Hub, client: &str, asked: HostTask) -> CorrelationId {
    hub.start_host_task(&agent(client), asked).unwrap().accepted.id
}

pub(super) fn allow() -> AskAnswer {
    AskAnswer::Allow { note: Some(PersonWords::parse("once").unwrap()) }
}

impl Extension {
    pub(super) fn answer(&self, id: &CorrelationId, answer: AskAnswer) {
        self.link.receive(FromExtension::AskAnswer { correlation_id: id.clone(), answer });
    }

    /// The questions of its last frame about them, after all that it was told. `None`: there was no
    /// such frame.
    async fn asks(&mut self) -> Option<Vec<OpenAsk>> {
        let mut told = None;
        while let Ok(Ok(frame)) =
            tokio::time::timeout(Duration::from_millis(1), self.outbox.next()).await
        {
            if let ToExtension::Asks { asks } = frame {
                told = Some(asks);
            }
        }
        told
    }

    async fn open_asks(&mut self) -> Vec<CorrelationId> {
        let asks = self.asks().await.expect("a list of questions");
        asks.into_iter().map(|ask| ask.correlation_id).collect()
    }
}

async fn result_of(hub: &Hub, client: &str, id: &CorrelationId) -> serde_json::Value {
    match look(hub, client, id).await {
        CommandStatus::Complete { result, .. } => serde_json::from_str(result.get()).unwrap(),
        other => panic!("expected an answer, got {other:?}"),
    }
}

async fn code(hub: &Hub, client: &str, id: &CorrelationId) -> String {
    match look(hub, client, id).await {
        CommandStatus::Error { reason, .. } => reason.to_string(),
        CommandStatus::Expired { reason, .. } => reason.to_owned(),
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_browser_shows_a_question_and_only_its_own_names_the_tab() {
    let hub = Hub::start(Limits::default());
    let mut one = Extension::connect(&hub, "one", "i");
    let id = start(&hub, "a", about(7, approve()));
    let mut other = Extension::connect(&hub, "other", "i");
    let shown = one.asks().await.unwrap().remove(0);
    assert_eq!((&shown.correlation_id, shown.tab_id, &*shown.client), (&id, Some(TabId(7)), "a"));
    let shown = other.asks().await.unwrap().remove(0);
    assert_eq!((&shown.correlation_id, shown.tab_id), (&id, None));
    assert_eq!(shown.until, shown.asked_at + limits::PERSON);
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_that_fits_ends_a_question_and_later_ones_change_nothing() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let mut other = Extension::connect(&hub, "other", "i");
    let id = start(&hub, "a", approve());
    assert_eq!(other.open_asks().await.len(), 1);
    browser.answer(&id, AskAnswer::Option { index: 0 });
    assert_eq!(browser.open_asks().await.len(), 1, "an answer that does not fit leaves it open");
    browser.answer(&id, allow());
    browser.answer(&id, AskAnswer::Deny { note: None });
    let result = result_of(&hub, "a", &id).await;
    assert_eq!(result, serde_json::json!({"approved": true, "text": "once", "by": "browser"}));
    assert!(browser.open_asks().await.is_empty() && other.open_asks().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_approval_does_not_come_from_a_terminal_or_a_client_and_a_choice_does() {
    let hub = Hub::start(Limits::default());
    let (approval, choice) = (start(&hub, "a", approve()), start(&hub, "a", choose()));
    let owner = "user".into();
    for by in [AnswerChannel::Terminal, AnswerChannel::Client] {
        let reply = hub.answer_ask(&owner, &approval, allow(), by).await;
        assert_eq!(reply, AskReply::Refused(crate::protocol::AskRefusal::NeedsBrowser));
    }
    assert!(matches!(look(&hub, "a", &approval).await, CommandStatus::Pending { .. }));
    let blue = AskAnswer::Option { index: 1 };
    let (other, terminal) = ("other".into(), AnswerChannel::Terminal);
    let reply = hub.answer_ask(&other, &choice, blue.clone(), terminal).await;
    assert_eq!(reply, AskReply::Over, "a question of another owner is none");
    let reply = hub.answer_ask(&owner, &choice, blue.clone(), AnswerChannel::Terminal).await;
    assert_eq!(reply, AskReply::Taken);
    let result = result_of(&hub, "a", &choice).await;
    assert_eq!(result, serde_json::json!({"choice": "blue", "by": "terminal"}));
    let again = hub.answer_ask(&owner, &choice, blue, AnswerChannel::Terminal).await;
    assert_eq!(again, AskReply::Over);
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_after_ten_minutes_and_an_answer_of_that_moment_is_too_late() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = start(&hub, "a", approve());
    pass(limits::PERSON - seconds(1)).await;
    assert!(matches!(look(&hub, "a", &id).await, CommandStatus::Pending { .. }));
    advance(seconds(1)).await;
    browser.answer(&id, allow());
    pass(Duration::ZERO).await;
    assert_eq!(code(&hub, "a", &id).await, "nobody_answered");
    assert!(browser.open_asks().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_about_a_tab_ends_with_the_tab_and_others_stay() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let lost = start(&hub, "a", about(7, choose()));
    pass(seconds(1)).await;
    let kept = start(&hub, "a", about(1, choose()));
    pass(seconds(1)).await;
    let nowhere = start(&hub, "a", choose());
    browser.link.receive(FromExtension::Tabs { tabs: tabs(1..=3, "http://127.0.0.1/") });
    assert_eq!(code(&hub, "a", &lost).await, "tab_closed");
    assert_eq!(browser.open_asks().await, [kept.clone(), nowhere.clone()]);
    // Another run of the browser: its numbers of tabs mean other tabs.
    drop(browser);
    let mut browser = Extension::attach(&hub, "b", "i2");
    browser.ready_with(Some("new"), tabs(11..=12, "http://127.0.0.1/"), Vec::new());
    assert_eq!(code(&hub, "a", &kept).await, "tab_closed");
    assert_eq!(browser.open_asks().await, [nowhere]);
    let refused = hub.start_host_task(&agent("a"), about(99, choose())).unwrap_err();
    assert_eq!(refused.why.code(), "tab_gone");
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_connection_of_browser_and_the_run_of_the_daemon() {
    let hub = Hub::start(Limits::default());
    let browser = Extension::connect(&hub, "b", "i");
    let id = start(&hub, "a", approve());
    drop(browser);
    pass(seconds(300)).await;
    let mut back = Extension::connect(&hub, "b", "i2");
    assert_eq!(back.open_asks().await, std::slice::from_ref(&id));
    let command = hub.tracked(&agent("a"), &id).unwrap().borrow().clone();
    let (next, mut pages) = next_life(history(vec![(command, None)]));
    let _ = write(&mut pages);
    let mut browser = Extension::connect(&next, "b", "i3");
    assert_eq!(browser.open_asks().await, std::slice::from_ref(&id));
    browser.answer(&id, allow());
    let _ = write(&mut pages);
    assert!(browser.open_asks().await.is_empty());
    assert_eq!(result_of(&next, "a", &id).await["approved"], true);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_told_only_after_it_is_recorded() {
    let (hub, mut pages) = super::recorded::recording();
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = start(&hub, "a", approve());
    assert!(browser.asks().await.is_none(), "the question is not recorded yet");
    let _ = write(&mut pages);
    assert_eq!(browser.open_asks().await, std::slice::from_ref(&id));
    browser.answer(&id, allow());
    assert!(browser.asks().await.is_none(), "the answer is not recorded yet");
    let _ = write(&mut pages);
    assert!(browser.open_asks().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn all_clients_of_an_owner_together_ask_twenty_questions_and_a_cancelled_one_leaves_room() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let first = start(&hub, "a", choose());
    for n in 1..20 {
        start(&hub, &format!("client {n}"), choose());
    }
    let refused = hub.start_host_task(&agent("one more"), choose()).unwrap_err();
    assert_eq!(refused.why.code(), "too_many_asks");
    hub.cancel(&agent("a"), &first).await.unwrap();
    assert_eq!(browser.open_asks().await.len(), 19);
    start(&hub, "one more", choose());
    assert_eq!(browser.open_asks().await.len(), 20);
}
