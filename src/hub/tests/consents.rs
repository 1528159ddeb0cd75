//! Commands that wait for the person's word, and the words that are kept.

use super::recorded::{history, next_life, write};
use super::*;
use crate::protocol::{
    AnswerChannel, AskAnswer, AskRefusal, AskedFile, CommandBody, ConsentAnswer, ConsentKind,
    ConsentNeed, ConsentSite, FileMark, KEPT_WORDS_SHOWN, KeptWord, OpenAsk, PersonAsk, ShownPath,
    WordTakenBack, WordTerm,
};

pub(super) const SHOP: &str = "https://shop.example";
const BANK: &str = "https://bank.example";

fn need(site: &str) -> ConsentNeed {
    let site = ConsentSite::parse(site).unwrap();
    ConsentNeed {
        kind: ConsentKind::Act,
        site,
        document: Some("d1".into()),
        detail: None,
        files: Vec::new(),
    }
}

fn word(consent: ConsentAnswer) -> AskAnswer {
    AskAnswer::Consent { consent }
}

/// What an extension has heard of commands and questions.
#[derive(Default)]
pub(super) struct HeardFrames {
    pub(super) commands: Vec<(Attempt, CommandBody)>,
    pub(super) asks: Option<Vec<OpenAsk>>,
    words: Option<(Vec<KeptWord>, usize)>,
}

impl Extension {
    pub(super) async fn heard(&mut self) -> HeardFrames {
        let mut heard = HeardFrames::default();
        while let Ok(Ok(frame)) =
            tokio::time::timeout(Duration::from_millis(1), self.outbox.next()).await
        {
            match frame {
                ToExtension::Command { attempt, command } => {
                    heard.commands.push((attempt, command))
                }
                ToExtension::Asks { asks } => heard.asks = Some(asks),
                ToExtension::KeptWords { words, more } => heard.words = Some((words, more)),
                _ => {}
            }
        }
        heard
    }

    fn hold(&self, id: &CorrelationId, attempt: Attempt, site: &str) {
        let (correlation_id, need) = (id.clone(), need(site));
        self.link.receive(FromExtension::Hold { correlation_id, attempt, need });
    }

    pub(super) fn says(&self, id: &CorrelationId, consent: ConsentAnswer) {
        let answer = word(consent);
        self.link.receive(FromExtension::AskAnswer { correlation_id: id.clone(), answer });
    }

    /// The person looks at their words in the popup, and may take one back.
    pub(super) async fn kept_words(
        &mut self,
        take_back: Option<WordTakenBack>,
    ) -> (Vec<KeptWord>, usize) {
        self.link.receive(FromExtension::KeptWords { take_back });
        self.heard().await.words.expect("the words")
    }

    /// The next command is held.
    pub(super) async fn holds_next(&mut self, site: &str) -> CorrelationId {
        let (id, attempt, _) = self.command().await;
        self.hold(&id, attempt, site);
        id
    }
}

async fn held(hub: &Hub, browser: &mut Extension, client: &str) -> CorrelationId {
    hub.submit(&agent(client), script_in(3)).await.unwrap();
    browser.holds_next(SHOP).await
}

pub(super) async fn code(hub: &Hub, client: &str, id: &CorrelationId) -> String {
    match look(hub, client, id).await {
        CommandStatus::Error { reason, .. } => reason.to_string(),
        CommandStatus::Expired { reason, .. } => reason.to_owned(),
        CommandStatus::Cancelled { .. } => "cancelled".to_owned(),
        CommandStatus::WaitingForUser { .. } => "waiting_for_user".to_owned(),
        CommandStatus::Pending { .. } => "pending".to_owned(),
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_held_command_answers_its_call_at_once_and_leaves_its_tab_to_others() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let submitted = hub.submit(&agent("a"), script_in(3)).await.unwrap();
    let (waiting, began) = (hub.clone(), hub.now());
    let id = submitted.id.clone();
    let call = tokio::spawn(async move {
        waiting.wait_for_submitted(&agent("a"), &id, seconds(55), false).await
    });
    let id = browser.holds_next(SHOP).await;
    let seen = call.await.unwrap().unwrap();
    assert!(matches!(seen, CommandLookup::Command(report) if report.is_pending()));
    assert!(hub.now().since(began) < seconds(1));
    assert_eq!(code(&hub, "a", &id).await, "waiting_for_user");
    let other = hub.submit(&agent("b"), script_in(3)).await.unwrap().id;
    let (begun, attempt) = browser.begin_next().await;
    assert_eq!(begun, other, "the tab is free");
    browser.complete(&begun, attempt, "x").await;
    // A call that knows of the wait waits for its end.
    let (waiting, later) = (hub.clone(), id.clone());
    let call =
        tokio::spawn(async move { waiting.wait(&agent("a"), &later, seconds(55), false).await });
    pass(seconds(5)).await;
    assert!(!call.is_finished());
    browser.says(&id, ConsentAnswer::Deny);
    call.await.unwrap().unwrap();
    assert_eq!(code(&hub, "a", &id).await, "denied_by_user");
}

impl Extension {
    /// As `begin`, past frames about questions.
    async fn begin_next(&mut self) -> (CorrelationId, Attempt) {
        let mut commands = self.heard().await.commands;
        let (attempt, command) = commands.remove(0);
        self.claim(&command.correlation_id, attempt);
        assert!(matches!(self.frame().await, ToExtension::Go { .. }));
        (command.correlation_id, attempt)
    }
}

#[tokio::test(start_paused = true)]
async fn the_person_is_asked_in_every_browser_and_once_lets_this_command_alone_go_on() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let mut other = Extension::connect(&hub, "other", "i");
    let selector = TargetSelector { browser: Some("b".to_owned()), tab: Some(TabId(3)) };
    hub.submit(&agent("a"), Submission { selector, ..script() }).await.unwrap();
    let id = browser.holds_next(SHOP).await;
    let shown = other.heard().await.asks.unwrap().remove(0);
    let PersonAsk::Consent { question, need: shown_need } = &shown.ask else { panic!("{shown:?}") };
    assert_eq!((shown_need, shown.tab_id), (&need(SHOP), None));
    assert!(question.as_str().contains("execute_js"), "{question:?}");
    assert_eq!(browser.heard().await.asks.unwrap()[0].tab_id, Some(TabId(3)));
    other.says(&id, ConsentAnswer::Once);
    let heard = browser.heard().await;
    let (attempt, command) = &heard.commands[0];
    assert_eq!((attempt.0, &command.allowed), (2, &vec![need(SHOP)]));
    assert!(command.consents.is_empty() && heard.asks.unwrap().is_empty());
    browser.says(&id, ConsentAnswer::Deny);
    assert_eq!(code(&hub, "a", &id).await, "pending", "it is answered once");
    hub.submit(&agent("a"), script_in(4)).await.unwrap();
    assert!(browser.heard().await.commands[0].1.allowed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_word_that_is_kept_is_on_owner_client_and_site_and_answers_all_that_wait_for_it() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let mut ids = Vec::new();
    for (client, tab, site) in [("a", 1, SHOP), ("a", 2, SHOP), ("a", 3, BANK), ("b", 4, SHOP)] {
        hub.submit(&agent(client), script_in(tab)).await.unwrap();
        let mut commands = browser.heard().await.commands;
        let (attempt, command) = commands.remove(0);
        browser.hold(&command.correlation_id, attempt, site);
        ids.push(command.correlation_id);
    }
    browser.says(&ids[0], ConsentAnswer::Always);
    let heard = browser.heard().await;
    let sent: Vec<_> = heard.commands.iter().map(|(_, sent)| sent.correlation_id.clone()).collect();
    assert_eq!(sent, ids[..2]);
    let known = &heard.commands[0].1.consents;
    assert_eq!((known.len(), known[0].site.as_str(), known[0].allowed), (1, SHOP, true));
    let open: Vec<_> = heard.asks.unwrap().into_iter().map(|ask| ask.correlation_id).collect();
    assert_eq!(open, ids[2..]);
    browser.says(&ids[3], ConsentAnswer::Never);
    assert_eq!(code(&hub, "b", &ids[3]).await, "denied_by_user");
    hub.submit(&agent("b"), script_in(5)).await.unwrap();
    assert!(!browser.heard().await.commands[0].1.consents[0].allowed);
    // The owner is the identity: another owner's client of this name has no word.
    let stranger = Caller { owner: "stranger".into(), client: "stranger·a".into() };
    hub.submit(&stranger, script_in(6)).await.unwrap();
    assert!(browser.heard().await.commands[0].1.consents.is_empty());
    let list = hub.consents_of(&"user".into());
    let words: Vec<_> = list.iter().map(|kept| (&*kept.client, kept.word)).collect();
    assert_eq!(words, [("a", WordTerm::Always), ("b", WordTerm::Never)]);
    assert_eq!(hub.forget_consents(&"user".into(), "a", None).await, 1);
    assert_eq!(hub.forget_consents(&"user".into(), "a", None).await, 0);
    hub.submit(&agent("a"), script_in(7)).await.unwrap();
    assert!(browser.heard().await.commands[0].1.consents.is_empty());
}

fn taken_back(word: &KeptWord) -> WordTakenBack {
    let KeptWord { owner, client_id, kind, site, at, .. } = word.clone();
    WordTakenBack { owner, client_id, kind, site, at }
}

#[tokio::test(start_paused = true)]
async fn the_popup_lists_the_words_and_takes_back_the_one_that_the_person_saw() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    assert_eq!(browser.kept_words(None).await, (Vec::new(), 0));
    for (client, answer) in [("a", ConsentAnswer::Never), ("b", ConsentAnswer::Never)] {
        let id = held(&hub, &mut browser, client).await;
        browser.says(&id, answer);
        pass(seconds(1)).await;
        browser.heard().await;
    }
    let (words, more) = browser.kept_words(None).await;
    let seen: Vec<_> =
        words.iter().map(|word| (word.client_id.as_str(), word.word, &*word.site)).collect();
    assert_eq!(seen, [("b", WordTerm::Never, SHOP), ("a", WordTerm::Never, SHOP)]);
    assert_eq!(more, 0);
    let known = taken_back(&words[1]);
    let wrong = [
        WordTakenBack { owner: "other".into(), ..known.clone() },
        WordTakenBack { client_id: "c".into(), ..known.clone() },
        WordTakenBack { kind: ConsentKind::Close, ..known.clone() },
        WordTakenBack { site: BANK.into(), ..known.clone() },
        WordTakenBack { at: known.at + seconds(1), ..known.clone() },
    ];
    for other in wrong {
        assert_eq!(browser.kept_words(Some(other)).await.0, words);
    }
    // The extension has the time in milliseconds, as the frame has it.
    let told: WordTakenBack =
        serde_json::from_value(serde_json::to_value(&known).unwrap()).unwrap();
    assert_eq!(browser.kept_words(Some(told)).await.0, words[..1]);
    hub.submit(&agent("a"), script_in(3)).await.unwrap();
    assert!(browser.heard().await.commands[0].1.consents.is_empty(), "the person is asked again");
    hub.submit(&agent("b"), script_in(4)).await.unwrap();
    assert_eq!(browser.heard().await.commands[0].1.consents.len(), 1, "the other word stays");
}

#[tokio::test(start_paused = true)]
async fn the_popup_gets_the_newest_hundred_words_and_the_number_of_the_others() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    for number in 0..=KEPT_WORDS_SHOWN {
        let id = held(&hub, &mut browser, &format!("c{number}")).await;
        browser.says(&id, ConsentAnswer::Never);
        pass(seconds(1)).await;
        browser.heard().await;
    }
    let (words, more) = browser.kept_words(None).await;
    assert_eq!((words.len(), more), (KEPT_WORDS_SHOWN, 1));
    assert_eq!(words[0].client_id.as_str(), format!("c{KEPT_WORDS_SHOWN}"));
    assert!(words.iter().all(|word| word.client_id.as_str() != "c0"));
}

#[tokio::test(start_paused = true)]
async fn a_word_for_the_session_ends_with_the_browser_s_run_and_after_twelve_hours() {
    for ends_by_time in [false, true] {
        let hub = Hub::start(Limits::default());
        let mut browser = Extension::attach(&hub, "b", "i");
        browser.ready_with(Some("one"), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
        let id = held(&hub, &mut browser, "a").await;
        browser.says(&id, ConsentAnswer::Session);
        assert_eq!(hub.consents_of(&"user".into())[0].word, WordTerm::Session);
        drop(browser);
        let again = Extension::attach(&hub, "b", "i2");
        again.ready_with(Some("one"), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
        assert_eq!(hub.consents_of(&"user".into()).len(), 1, "another run of the worker only");
        if ends_by_time {
            pass(limits::CONSENT_SESSION).await;
            hub.submit(&agent("a"), script_in(3)).await.unwrap();
            pass(seconds(60)).await;
        } else {
            drop(again);
            let new = Extension::attach(&hub, "b", "i3");
            new.ready_with(Some("two"), tabs(1..=10, "http://127.0.0.1/"), Vec::new());
        }
        assert!(hub.consents_of(&"user".into()).is_empty(), "by time: {ends_by_time}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_client_terminal_or_other_answer_lets_a_held_command_go_on() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = held(&hub, &mut browser, "a").await;
    for by in [AnswerChannel::Client, AnswerChannel::Terminal] {
        for answer in
            [word(ConsentAnswer::Once), word(ConsentAnswer::Always), AskAnswer::Decline {}]
        {
            let reply = hub.answer_ask(&"user".into(), &id, answer, by).await;
            assert_eq!(reply, AskReply::Refused(AskRefusal::NeedsBrowser));
        }
    }
    let allow = AskAnswer::Allow { note: None };
    browser.link.receive(FromExtension::AskAnswer { correlation_id: id.clone(), answer: allow });
    assert_eq!(code(&hub, "a", &id).await, "waiting_for_user");
    assert!(browser.heard().await.commands.is_empty());
    // Another browser's extension has no say in when it is held.
    let mut other = Extension::connect(&hub, "other", "i");
    browser.says(&id, ConsentAnswer::Once);
    let (attempt, _) = browser.heard().await.commands.remove(0);
    other.hold(&id, attempt, SHOP);
    assert_eq!(code(&hub, "a", &id).await, "pending");
    assert!(other.heard().await.commands.is_empty());
}

#[tokio::test(start_paused = true)]
async fn held_commands_do_not_count_among_the_five_and_end_after_ten_minutes() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let mut ids = Vec::new();
    for n in 0..7 {
        hub.submit(&agent("a"), script_in(n % 5 + 1)).await.unwrap();
        let (attempt, command) = browser.heard().await.commands.remove(0);
        browser.hold(&command.correlation_id, attempt, SHOP);
        ids.push(command.correlation_id);
    }
    assert_eq!(browser.heard().await.asks.unwrap().len(), 7);
    pass(seconds(599)).await;
    assert_eq!(code(&hub, "a", &ids[0]).await, "waiting_for_user");
    pass(seconds(1)).await;
    for id in &ids {
        assert_eq!(code(&hub, "a", id).await, "nobody_answered");
    }
    browser.says(&ids[0], ConsentAnswer::Once);
    assert!(browser.heard().await.commands.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_twenty_first_question_of_an_owner_is_refused_with_the_next_step() {
    let hub = Hub::start(Limits { asks: 2, ..Limits::default() });
    let mut browser = Extension::connect(&hub, "b", "i");
    let mut ids = Vec::new();
    for tab in 1..=3 {
        hub.submit(&agent(&format!("client {tab}")), script_in(tab)).await.unwrap();
        let (attempt, command) = browser.heard().await.commands.remove(0);
        browser.hold(&command.correlation_id, attempt, SHOP);
        ids.push(command.correlation_id);
    }
    assert_eq!(code(&hub, "client 3", &ids[2]).await, "too_many_asks");
    assert_eq!(browser.heard().await.asks.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn stop_cancel_and_the_end_of_the_tab_end_a_held_command() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = held(&hub, &mut browser, "a").await;
    hub.cancel(&agent("a"), &id).await.unwrap();
    assert_eq!(code(&hub, "a", &id).await, "cancelled");
    browser.heard().await;
    let id = held(&hub, &mut browser, "a").await;
    browser.link.receive(FromExtension::Tabs { tabs: tabs(5..=9, "http://127.0.0.1/") });
    assert_eq!(code(&hub, "a", &id).await, "tab_closed");
    browser.link.receive(FromExtension::Tabs { tabs: tabs(1..=9, "http://127.0.0.1/") });
    browser.heard().await;
    let id = held(&hub, &mut browser, "a").await;
    browser.link.receive(FromExtension::Stopped { stopped: true });
    assert_eq!(code(&hub, "a", &id).await, "cancelled");
    browser.says(&id, ConsentAnswer::Once);
    assert!(browser.heard().await.commands.is_empty());
}

#[tokio::test(start_paused = true)]
async fn new_rules_let_the_extension_look_at_held_commands_anew() {
    let hub = Hub::start(Limits::default());
    hub.set_site_rules(crate::protocol::SiteRules::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = held(&hub, &mut browser, "a").await;
    hub.set_site_rules(crate::protocol::SiteRules::default());
    let heard = browser.heard().await;
    assert_eq!(heard.commands[0].1.correlation_id, id);
    assert!(heard.commands[0].1.allowed.is_empty() && heard.asks.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_held_command_and_the_word_on_it_outlive_the_daemon() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = held(&hub, &mut browser, "a").await;
    let command = hub.tracked(&agent("a"), &id).unwrap().borrow().clone();
    let (next, mut pages) = next_life(history(vec![(command, Some(3))]));
    // The daemon reads the person's rules as it starts.
    next.set_site_rules(crate::protocol::SiteRules::default());
    let _ = write(&mut pages);
    let mut browser = Extension::connect(&next, "b", "i2");
    let asks = browser.heard().await.asks.unwrap();
    assert_eq!((asks.len(), &asks[0].correlation_id), (1, &id));
    browser.says(&id, ConsentAnswer::Once);
    let _ = write(&mut pages);
    assert_eq!(browser.heard().await.commands[0].1.allowed, [need(SHOP)]);
    let command = next.tracked(&agent("a"), &id).unwrap().borrow().clone();
    let (third, mut pages) = next_life(history(vec![(command, Some(3))]));
    let _ = write(&mut pages);
    let mut browser = Extension::connect(&third, "b", "i3");
    let heard = browser.heard().await;
    assert_eq!(heard.commands[0].1.allowed, [need(SHOP)], "the person is not asked again");
    assert!(heard.asks.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_another_client_has_taken_meanwhile_is_not_acted_in() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let id = held(&hub, &mut browser, "a").await;
    let taken = Submission { takes_tab: true, ..script_in(3) };
    hub.submit(&agent("other"), taken).await.unwrap();
    browser.says(&id, ConsentAnswer::Once);
    assert_eq!(code(&hub, "a", &id).await, "tab_in_use");
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_only_polls_gets_an_act_once_the_person_has_allowed_it_elsewhere() {
    const POLLS: &str = "pknkjmecjogdphnahbagadepchhknbfe";
    let hub = Hub::start(Limits::default());
    hub.set_site_rules(serde_json::from_str(r#"{"default":"ask"}"#).unwrap());
    let session = InstanceId::from("s");
    hub.name_session(POLLS, &session);
    let poll = || PollRequest {
        session: session.clone(),
        extension_version: "5.6.0".to_owned(),
        is_pilot_on: true,
        transport: Transport::Poll,
    };
    assert!(hub.poll(poll()).await.is_none());
    let id = hub.submit(&agent("a"), script()).await.unwrap().id;
    assert!(hub.poll(poll()).await.is_none(), "nobody was asked yet");
    assert_eq!(code(&hub, "a", &id).await, "waiting_for_user");
    let CommandLookup::Command(report) = hub.get(&agent("a"), &id, false).await.unwrap() else {
        panic!("it is kept")
    };
    let CommandStatus::WaitingForUser { message, .. } = &report.status else {
        panic!("{report:?}")
    };
    assert!(message.contains("`tabwire asks`") && message.contains("another browser"), "{message}");
    let told = hub.asks_of(&"user".into());
    assert_eq!(told[0].correlation_id, id);
    let mut browser = Extension::connect(&hub, "b", "i");
    assert_eq!(browser.heard().await.asks.unwrap().len(), 1);
    browser.says(&id, ConsentAnswer::Once);
    let query = hub.poll(poll()).await.expect("the command");
    assert_eq!(query.correlation_id.as_ref(), Some(&id));
}

#[tokio::test(start_paused = true)]
async fn a_question_about_files_shows_them_takes_its_own_words_alone_and_ends_after_ten_minutes() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let file = AskedFile {
        path: ShownPath::new("/home/ann/cat.png").unwrap(),
        size: 3,
        mark: FileMark::parse("1:2:3").unwrap(),
        may_open_folder: true,
        root: ShownPath::new("/home/ann"),
    };
    let about_files =
        ConsentNeed { kind: ConsentKind::File, files: vec![file.clone(); 11], ..need(SHOP) };
    let hold = |browser: &Extension, id: &CorrelationId, attempt| {
        let (correlation_id, need) = (id.clone(), about_files.clone());
        browser.link.receive(FromExtension::Hold { correlation_id, attempt, need });
    };
    hub.submit(&agent("a"), script_in(3)).await.unwrap();
    let (id, attempt, _) = browser.command().await;
    hold(&browser, &id, attempt);
    let shown = browser.heard().await.asks.unwrap().remove(0);
    let PersonAsk::Consent { question, need: shown } = &shown.ask else { panic!("{shown:?}") };
    assert!(question.as_str().contains("/home/ann/cat.png (3 bytes)"), "{question:?}");
    assert_eq!(shown.files.len(), 10, "no more are allowed than are shown");
    for kept in [ConsentAnswer::Session, ConsentAnswer::Always, ConsentAnswer::Never] {
        browser.says(&id, kept);
        assert_eq!(code(&hub, "a", &id).await, "waiting_for_user");
    }
    assert!(hub.consents_of(&"user".into()).is_empty());
    for opens in [ConsentAnswer::Folder, ConsentAnswer::Root] {
        browser.says(&id, opens);
        let (attempt, command) = browser.heard().await.commands.remove(0);
        assert!(command.allowed.is_empty(), "the rule allows it, and no word");
        hold(&browser, &id, attempt);
    }
    browser.says(&id, ConsentAnswer::Once);
    let (_, command) = browser.heard().await.commands.remove(0);
    assert_eq!(command.allowed[0].files, vec![file; 10]);

    hub.submit(&agent("b"), script_in(4)).await.unwrap();
    let other = browser.holds_next(SHOP).await;
    browser.says(&other, ConsentAnswer::Folder);
    assert_eq!(code(&hub, "b", &other).await, "waiting_for_user", "an act opens no folder");
    hub.submit(&agent("c"), script_in(5)).await.unwrap();
    let (attempt, command) = browser.heard().await.commands.remove(0);
    hold(&browser, &command.correlation_id, attempt);
    pass(seconds(600)).await;
    assert_eq!(code(&hub, "c", &command.correlation_id).await, "nobody_answered");
}

impl Extension {
    /// The next command lacks an optional permission of the extension.
    async fn lacks_permission(&mut self, name: &str) -> CorrelationId {
        let (attempt, command) = self.heard().await.commands.remove(0);
        let correlation_id = command.correlation_id;
        let site = ConsentSite::parse(name).unwrap();
        let need =
            ConsentNeed { kind: ConsentKind::Permission, site, document: None, ..need(SHOP) };
        let id = correlation_id.clone();
        self.link.receive(FromExtension::Hold { correlation_id, attempt, need });
        id
    }
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_the_browser_has_given_lets_all_commands_go_on_that_wait_for_it_and_no_word_is_kept()
 {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    let mut ids = Vec::new();
    for (client, tab, permission) in
        [("a", 3, "contentSettings"), ("b", 4, "contentSettings"), ("a", 5, "other")]
    {
        hub.submit(&agent(client), script_in(tab)).await.unwrap();
        ids.push(browser.lacks_permission(permission).await);
    }
    let CommandStatus::WaitingForUser { message, .. } = look(&hub, "a", &ids[0]).await else {
        panic!("it waits")
    };
    assert!(message.starts_with("permission_needed: ") && message.contains("contentSettings"));
    browser.heard().await;
    // Neither a term nor a program's word counts.
    for kept in [ConsentAnswer::Session, ConsentAnswer::Always, ConsentAnswer::Never] {
        browser.says(&ids[0], kept);
    }
    let once = word(ConsentAnswer::Once);
    let by_program = hub.answer_ask(&"user".into(), &ids[0], once, AnswerChannel::Terminal).await;
    assert_eq!(by_program, AskReply::Refused(AskRefusal::NeedsBrowser));
    assert!(browser.heard().await.commands.is_empty());
    browser.says(&ids[0], ConsentAnswer::Once);
    let heard = browser.heard().await.commands;
    let sent: Vec<_> = heard.iter().map(|(_, command)| command.correlation_id.clone()).collect();
    assert_eq!(sent, ids[..2], "the other permission is another question");
    assert!(heard.iter().all(|(_, command)| command.allowed.is_empty()), "the browser decides");
    browser.says(&ids[2], ConsentAnswer::Deny);
    assert_eq!(code(&hub, "a", &ids[2]).await, "permission_needed");
}

#[tokio::test(start_paused = true)]
async fn a_question_for_a_permission_ends_after_ten_minutes() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b", "i");
    hub.submit(&agent("a"), script_in(3)).await.unwrap();
    let id = browser.lacks_permission("contentSettings").await;
    pass(seconds(599)).await;
    assert_eq!(code(&hub, "a", &id).await, "waiting_for_user");
    pass(seconds(2)).await;
    assert_eq!(code(&hub, "a", &id).await, "nobody_answered");
}
