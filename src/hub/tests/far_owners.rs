//! Owners whose programs are on another machine: each site needs the person's word, which is the owner's.

use super::*;
use crate::protocol::actions::PageInfoAction;
use crate::protocol::{
    AskAnswer, ConsentAnswer, ConsentKind, ConsentNeed, ConsentSite, Owner, OwnerEntry,
    OwnerGeneration, OwnerKind, OwnerList, OwnerScopes, StreamKind, TabScope,
};
use crate::streams::{EntryFilter, EntryForm, LONGEST_PAGE, PageQuery, PageStart, StreamView};

const SHOP: &str = "https://shop.example";
const BANK: &str = "https://bank.example";

/// The tab that the person has given these owners. It shows a page of the shop.
const GIVEN: i64 = 5;

/// Lists two owners on other machines, and an agent of a tenant.
fn list() -> Arc<OwnerList> {
    let mut list = OwnerList::default();
    for (name, digit) in [("box", '1'), ("pod", '2')] {
        let digits: String = std::iter::repeat_n(digit, 32).collect();
        let generation = OwnerGeneration::Added(digits.into());
        let entry = OwnerEntry { generation, kind: OwnerKind::Far, ..OwnerEntry::tried(name) };
        list.add(entry).unwrap();
    }
    let digits: String = std::iter::repeat_n('3', 32).collect();
    let generation = OwnerGeneration::Added(digits.into());
    let kind = OwnerKind::Tenant;
    list.add(OwnerEntry { generation, kind, ..OwnerEntry::tried("box@acme") }).unwrap();
    Arc::new(list)
}

fn owner(name: &str) -> Owner {
    list().owner(name).unwrap()
}

fn far(name: &str, client: &str) -> Caller {
    Caller { owner: owner(name), client: format!("{name}·{client}").as_str().into() }
}

fn reading(tab: i64) -> Submission {
    let selector = TargetSelector { browser: None, tab: Some(TabId(tab)) };
    Submission { action: PageInfoAction {}.into(), selector, ..script() }
}

/// The tabs of the browser: the shop's page in all of them.
fn shop_tabs() -> Vec<BrowserTab> {
    let mut all = tabs(1..=10, &format!("{SHOP}/cart"));
    for tab in &mut all {
        tab.title = "Cart".to_owned();
    }
    all
}

fn connect(hub: &Hub, far_owners: Option<bool>) -> Extension {
    let extension = Extension::attach(hub, "b", "i");
    let mut ready = ready("Test", Vec::new());
    ready.actions.push("page_info".to_owned());
    let shared_tabs = vec![TabId(GIVEN)];
    let ready =
        ReadyFrame { tabs: shop_tabs(), tab_scopes: Some(true), shared_tabs, far_owners, ..ready };
    extension.link.receive(FromExtension::Ready(ready));
    extension
}

/// The owners see the tabs that the person shares.
fn begin() -> (Hub, Extension) {
    let hub = Hub::start(Limits::default());
    hub.set_owners(list());
    let mut scopes = OwnerScopes::default();
    for name in ["box", "pod", "box@acme"] {
        scopes.choose(owner(name), TabScope::Shared);
    }
    hub.set_scopes(scopes);
    let browser = connect(&hub, Some(true));
    (hub, browser)
}

fn need(site: &str) -> ConsentNeed {
    let site = ConsentSite::parse(site).unwrap();
    let (document, detail, files) = (Some("d1".into()), None, Vec::new());
    ConsentNeed { kind: ConsentKind::Use, site, document, detail, files }
}

impl Extension {
    /// The next command is held for a word on this site.
    async fn asks_about(&mut self, site: &str) -> CorrelationId {
        let (attempt, command) = self.heard().await.commands.remove(0);
        let (correlation_id, need) = (command.correlation_id.clone(), need(site));
        self.link.receive(FromExtension::Hold { correlation_id, attempt, need });
        command.correlation_id
    }

    fn answers(&self, id: &CorrelationId, consent: ConsentAnswer) {
        let (correlation_id, answer) = (id.clone(), AskAnswer::Consent { consent });
        self.link.receive(FromExtension::AskAnswer { correlation_id, answer });
    }

    /// The words that the next command carries, and whether it is marked. It leaves its tab to others.
    async fn words_of_next(&mut self) -> (bool, Vec<(String, bool)>) {
        let (attempt, command) = self.heard().await.commands.remove(0);
        let (correlation_id, need) = (command.correlation_id.clone(), need(BANK));
        self.link.receive(FromExtension::Hold { correlation_id, attempt, need });
        let words = command.consents.iter();
        (command.far, words.map(|word| (word.site.as_str().to_owned(), word.allowed)).collect())
    }
}

async fn status(hub: &Hub, caller: &Caller, id: &CorrelationId) -> CommandStatus {
    match hub.get(caller, id, false).await.unwrap() {
        CommandLookup::Command(report) => report.status,
        other => panic!("{other:?}"),
    }
}

async fn code(hub: &Hub, caller: &Caller, id: &CorrelationId) -> String {
    match status(hub, caller, id).await {
        CommandStatus::Error { reason, .. } => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn each_command_is_marked_and_one_that_only_reads_waits_for_the_person_too() {
    let (hub, mut browser) = begin();
    let id = hub.submit(&far("box", "agent"), reading(GIVEN)).await.unwrap().id;
    let (attempt, command) = browser.heard().await.commands.remove(0);
    assert!(command.far && command.safe);
    let (correlation_id, need) = (id.clone(), need(SHOP));
    browser.link.receive(FromExtension::Hold { correlation_id, attempt, need });
    let waits = status(&hub, &far("box", "agent"), &id).await;
    let CommandStatus::WaitingForUser { message, .. } = waits else { panic!("{waits:?}") };
    // A page may have sent the tab there: the agent is not told where.
    assert!(!message.contains("shop") && message.contains("read"), "{message}");
    // Whatever the agent calls itself, the person reads which machine it is on.
    let asked = browser.heard().await.asks.unwrap().remove(0);
    assert!(asked.client.ends_with(" on box"), "{asked:?}");
    browser.answers(&id, ConsentAnswer::Once);
    let (_, again) = browser.heard().await.commands.remove(0);
    assert_eq!((again.far, again.allowed.len()), (true, 1));
    hub.submit(&agent("a"), script_in(1)).await.unwrap();
    assert!(!browser.heard().await.commands.remove(0).1.far, "a program of this machine");
}

#[tokio::test(start_paused = true)]
async fn an_agent_of_a_tenant_is_asked_about_as_a_far_one_and_shares_nothing_with_its_name_s_others()
 {
    let (hub, mut browser) = begin();
    let id = hub.submit(&far("box@acme", "me"), reading(GIVEN)).await.unwrap().id;
    let (attempt, command) = browser.heard().await.commands.remove(0);
    assert!(command.far && command.allowed.is_empty(), "{command:?}");
    assert!(command.client.starts_with("acme: box (calls itself "), "{}", command.client);
    let need = need(SHOP);
    browser.link.receive(FromExtension::Hold { correlation_id: id.clone(), attempt, need });
    let asked = browser.heard().await.asks.unwrap().remove(0);
    assert!(asked.client.starts_with("acme: box (calls itself "), "{asked:?}");
    browser.answers(&id, ConsentAnswer::Never);
    assert_eq!(code(&hub, &far("box@acme", "me"), &id).await, "denied_by_user");
    let (words, _) = browser.kept_words(None).await;
    assert_eq!(words.iter().map(|word| &*word.client).collect::<Vec<_>>(), ["acme: box"]);
    // An owner of another machine with the agent's name has none of its words.
    hub.submit(&far("box", "me"), reading(GIVEN)).await.unwrap();
    assert_eq!(browser.words_of_next().await, (true, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_word_holds_for_each_client_of_its_owner_and_for_no_other_owner() {
    let (hub, mut browser) = begin();
    hub.submit(&far("box", "agent"), reading(GIVEN)).await.unwrap();
    let id = browser.asks_about(SHOP).await;
    browser.answers(&id, ConsentAnswer::Never);
    assert_eq!(code(&hub, &far("box", "agent"), &id).await, "denied_by_user");
    // Another name gets no new question, and does not escape the no.
    hub.submit(&far("box", "other"), reading(GIVEN)).await.unwrap();
    assert_eq!(browser.words_of_next().await, (true, vec![(SHOP.to_owned(), false)]));
    hub.submit(&far("pod", "agent"), script_in(GIVEN)).await.unwrap();
    assert_eq!(browser.words_of_next().await, (true, Vec::new()));
    // A client of this machine whose name is that of the owner has none of its words.
    hub.submit(&agent("box"), script_in(1)).await.unwrap();
    assert_eq!(browser.words_of_next().await, (false, Vec::new()));
    let (words, _) = browser.kept_words(None).await;
    assert_eq!(words.iter().map(|word| &*word.client).collect::<Vec<_>>(), ["agents on box"]);
}

#[tokio::test(start_paused = true)]
async fn one_word_lets_all_clients_of_its_owner_go_on_that_wait_for_it() {
    let (hub, mut browser) = begin();
    let mut waiting = Vec::new();
    for client in ["one", "two"] {
        hub.submit(&far("box", client), reading(GIVEN)).await.unwrap();
        waiting.push(browser.asks_about(SHOP).await);
    }
    browser.answers(&waiting[0], ConsentAnswer::Always);
    let sent: Vec<_> = browser.heard().await.commands;
    let first = &sent[0].1;
    assert_eq!((first.correlation_id.clone(), first.consents.len()), (waiting[0].clone(), 1));
    assert!(sent.iter().all(|(_, command)| waiting.contains(&command.correlation_id)));
}

#[tokio::test(start_paused = true)]
async fn lists_tell_no_address_and_no_title_of_a_site_without_a_word() {
    let (hub, mut browser) = begin();
    let me = far("box", "agent");
    let told = |hub: &Hub| {
        let [tab] = &hub.tabs(&me)[..] else { panic!() };
        assert_eq!(tab.tab.tab_id, TabId(GIVEN));
        (tab.tab.url.clone(), tab.tab.title.clone())
    };
    let selector = TargetSelector { browser: None, tab: Some(TabId(GIVEN)) };
    let found = |hub: &Hub| hub.find_tab(&me, &selector, false).unwrap().1.url;
    let refused = async |hub: &Hub| {
        let refused = hub.submit(&me, reading(99)).await.unwrap_err().why;
        let RefusalReason::TabGone { tabs, .. } = refused else { panic!("{refused:?}") };
        format!("{tabs:?}")
    };
    assert_eq!((told(&hub), found(&hub)), ((String::new(), String::new()), String::new()));
    assert!(!refused(&hub).await.contains("shop"));
    hub.submit(&me, reading(GIVEN)).await.unwrap();
    let id = browser.asks_about(SHOP).await;
    let page = hub.asks_of(&me.owner)[0].page.clone();
    assert_eq!(page.as_deref(), Some(""), "the page of an open question");
    browser.answers(&id, ConsentAnswer::Always);
    assert_eq!(told(&hub), (format!("{SHOP}/cart"), "Cart".to_owned()));
    assert!(refused(&hub).await.contains("shop"));
    // A word is for its site.
    let mut moved = shop_tabs();
    moved[GIVEN as usize - 1].url = format!("{BANK}/");
    browser.link.receive(FromExtension::Tabs { tabs: moved });
    assert_eq!(told(&hub).0, "");
}

/// An entry of each stream, of a page and about an address.
fn entries(page: &str, about: &str) -> Vec<(&'static str, String)> {
    let stamp = format!(r#""t":1,"tab_id":{GIVEN}"#);
    let entry = |rest: String| format!("{{{stamp},{rest}}}");
    vec![
        (
            "logs",
            entry(format!(r#""level":"error","source":"console","text":"said","url":"{page}""#)),
        ),
        ("network", entry(format!(r#""url":"{about}","page_url":"{page}","status":500"#))),
        (
            "bodies",
            entry(format!(
                r#""request_id":"1","method":"GET","url":"{about}","page_url":"{page}""#
            )),
        ),
        ("websocket", entry(format!(r#""url":"{about}","page_url":"{page}","event":"open""#))),
        ("actions", entry(format!(r#""kind":"click","url":"{page}""#))),
        ("performance", entry(format!(r#""url":"{page}","metrics":{{}}"#))),
    ]
}

/// How many entries of each stream a caller is told, of all that are kept.
async fn counts(hub: &Hub, caller: &Caller) -> Vec<(StreamKind, usize)> {
    let mut counts = Vec::new();
    for stream in StreamKind::ALL {
        let query = PageQuery {
            view: StreamView::Of(stream),
            filter: EntryFilter::default(),
            from: PageStart::Oldest,
            limit: 50,
            room: LONGEST_PAGE,
            form: EntryForm::Whole,
        };
        counts.push((stream, hub.read_streams(caller, query).await.entries.len()));
    }
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

#[tokio::test(start_paused = true)]
async fn recorded_streams_tell_nothing_of_a_page_or_a_request_of_a_site_without_a_word() {
    let (hub, mut browser) = begin();
    let me = far("box", "agent");
    let send = async |page: &str, about: &str| {
        for (stream, entry) in entries(page, about) {
            let entries = vec![RawValue::from_string(entry).unwrap()];
            browser.link.receive(FromExtension::Events { stream: stream.to_owned(), entries });
        }
        pass(Duration::from_millis(50)).await;
    };
    // Of the shop; of the bank; of the shop about the bank; of no named page.
    send(&format!("{SHOP}/"), &format!("{SHOP}/api")).await;
    send(&format!("{BANK}/"), &format!("{BANK}/api")).await;
    send(&format!("{SHOP}/"), &format!("{BANK}/api")).await;
    send("", &format!("{SHOP}/api")).await;
    assert_eq!(counts(&hub, &agent("a")).await.iter().map(|(_, count)| count).sum::<usize>(), 24);
    assert_eq!(counts(&hub, &me).await, []);
    assert_eq!(hub.page_record(&me, &"b".into(), TabId(GIVEN)).await.errors, 0);
    hub.submit(&me, reading(GIVEN)).await.unwrap();
    let id = browser.asks_about(SHOP).await;
    browser.answers(&id, ConsentAnswer::Always);
    browser.heard().await;
    let of_page = [StreamKind::Logs, StreamKind::Actions, StreamKind::Performance];
    let told = counts(&hub, &me).await;
    assert_eq!(told.len(), 6);
    for (stream, count) in told {
        assert_eq!(count, if of_page.contains(&stream) { 2 } else { 1 }, "{stream:?}");
    }
    assert_eq!(hub.page_record(&me, &"b".into(), TabId(GIVEN)).await.errors, 2);
}

#[tokio::test(start_paused = true)]
async fn an_old_extension_that_would_ask_about_no_site_gets_none_of_its_commands() {
    let (hub, browser) = begin();
    drop(browser);
    let waits = hub.submit(&far("box", "agent"), reading(GIVEN)).await.unwrap().id;
    let mut old = connect(&hub, None);
    assert!(old.heard().await.commands.is_empty());
    assert_eq!(code(&hub, &far("box", "agent"), &waits).await, "far_words_not_kept");
    let refused = hub.submit(&far("box", "agent"), reading(GIVEN)).await.unwrap_err().why;
    assert_eq!(refused.code(), "far_words_not_kept");
    assert!(refused.hint().contains("tabwire install"), "{}", refused.hint());
    hub.submit(&agent("a"), script_in(1)).await.unwrap();
    assert_eq!(old.heard().await.commands.len(), 1, "programs of this machine go on");
}

#[tokio::test(start_paused = true)]
async fn an_owner_sees_its_own_tabs_unless_shared_ones_were_chosen_and_never_all() {
    let (hub, _browser) = begin();
    let seen = |name: &str| {
        let tabs = hub.tabs(&far(name, "agent"));
        tabs.into_iter().map(|tab| tab.tab.tab_id.0).collect::<Vec<_>>()
    };
    assert_eq!(seen("box"), [GIVEN]);
    hub.set_scopes(OwnerScopes::default());
    assert_eq!((hub.scope_of(&owner("box")), seen("box")), (TabScope::Own, Vec::new()));
    let mut widest = OwnerScopes::default();
    widest.choose(owner("box"), TabScope::All);
    hub.set_scopes(widest);
    assert_eq!((hub.scope_of(&owner("box")), seen("box")), (TabScope::Shared, vec![GIVEN]));
    assert_eq!(hub.scope_of(&"user".into()), TabScope::All);
}
