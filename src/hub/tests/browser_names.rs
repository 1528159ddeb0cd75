//! Browsers that the person has named, and clients that are pinned to one.

use std::collections::HashSet;

use super::*;
use crate::protocol::BrowserName;
use crate::protocol::actions::TabListAction;

fn named(names: &[(&str, &str)]) -> HashMap<BrowserId, BrowserName> {
    let entry = |(id, name): &(&str, &str)| {
        (BrowserId::from(*id), BrowserName::parse(name).expect("a name"))
    };
    names.iter().map(entry).collect()
}

/// A client of a line with `--browser work`.
fn pinned(client: &str) -> Caller {
    let work = BrowserName::parse("work").expect("a name");
    Caller { client: agent(client).client.pinned_to(&work), ..agent(client) }
}

fn in_browser(name: &str) -> Submission {
    let selector = TargetSelector { browser: Some(name.to_owned()), tab: None };
    Submission { selector, ..script() }
}

fn labels(hub: &Hub) -> Vec<(String, String)> {
    let summaries = hub.browsers();
    let pair = |one: &BrowserSummary| (one.browser.as_str().to_owned(), one.label.clone());
    let mut labels: Vec<_> = summaries.iter().map(pair).collect();
    labels.sort();
    labels
}

#[tokio::test(start_paused = true)]
async fn three_profiles_keep_their_names_in_each_order_in_which_they_come_back() {
    let ids = ["b1", "b2", "b3"];
    let names = [("b1", "work"), ("b2", "home"), ("b3", "tests")];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let hub = Hub::start(Limits::default());
        hub.set_browser_names(named(&names));
        for round in 0..3 {
            let mut here = HashMap::new();
            for at in order {
                let at = (at + round) % 3;
                let instance = format!("i{round}");
                here.insert(ids[at], Extension::connect(&hub, ids[at], &instance));
                advance(seconds(1)).await;
            }
            let expected: Vec<_> =
                names.iter().map(|(id, name)| ((*id).to_owned(), (*name).to_owned())).collect();
            assert_eq!(labels(&hub), expected);
            for (id, name) in names {
                let id_of = hub.submit(&agent(name), in_browser(name)).await.unwrap().id;
                let browser = here.get_mut(id).unwrap();
                let (command, attempt) = browser.begin().await;
                assert_eq!(command, id_of, "{name}");
                browser.complete(&command, attempt, "done").await;
            }
            // The pinned one is never asked which, and never elsewhere.
            let own = hub.submit(&pinned("a"), script()).await.unwrap().id;
            let browser = here.get_mut("b1").unwrap();
            let (command, attempt) = browser.begin().await;
            assert_eq!(command, own);
            browser.complete(&command, attempt, "done").await;
            drop(here);
            advance(seconds(30)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_pinned_client_uses_no_other_browser_while_its_own_is_away() {
    let hub = Hub::start(Limits::default());
    let mut home = Extension::connect(&hub, "b2", "i1");
    let refused = hub.submit(&pinned("a"), script()).await.unwrap_err();
    assert_eq!(refused.why.code(), "browser_away");
    assert!(refused.why.message().contains("no browser is called so"));
    assert!(refused.why.hint().contains("popup"), "the next step");
    hub.set_browser_names(named(&[("b1", "work"), ("b2", "home")]));
    let refused = hub.submit(&pinned("a"), script()).await.unwrap_err();
    assert_eq!(refused.why.code(), "browser_away");
    assert!(refused.why.message().contains("not connected"));
    assert!(refused.why.hint().contains("open that browser profile"));
    // Neither by name, nor by id, nor by the number of a tab.
    for wanted in ["home", "b2", "no such"] {
        let refused = hub.submit(&pinned("a"), in_browser(wanted)).await.unwrap_err();
        assert_eq!(refused.why.code(), "browser_away", "{wanted}");
    }
    assert_eq!(
        hub.submit(&pinned("a"), script_in(3)).await.unwrap_err().why.code(),
        "browser_away"
    );
    assert!(hub.tabs(&pinned("a")).is_empty());
    assert_eq!(hub.tabs(&agent("a")).len(), 10);
    // One that is not pinned goes on.
    let id = hub.submit(&agent("b"), script()).await.unwrap().id;
    assert_eq!(home.command().await.0, id);
}

#[tokio::test(start_paused = true)]
async fn nobody_moves_a_pinned_client() {
    let hub = Hub::start(Limits::default());
    hub.set_browser_names(named(&[("b1", "work"), ("b2", "home")]));
    let mut work = Extension::connect(&hub, "b1", "i1");
    let mut home = Extension::connect(&hub, "b2", "i1");
    for wanted in ["home", "b2", "no such"] {
        let refused = hub.submit(&pinned("a"), in_browser(wanted)).await.unwrap_err();
        assert_eq!(refused.why.code(), "browser_pinned", "{wanted}");
        assert!(refused.why.hint().contains("--browser"));
    }
    // A client that takes the same name has a current tab in the other browser.
    let id = hub.submit(&agent("a"), in_browser("home")).await.unwrap().id;
    assert_eq!(home.command().await.0, id);
    for call in [script(), in_browser("work"), in_browser("b1"), script_in(2)] {
        let id = hub.submit(&pinned("a"), call).await.unwrap().id;
        let (command, attempt) = work.begin().await;
        assert_eq!(command, id);
        work.complete(&command, attempt, "done").await;
    }
    let list = Submission { action: Action::TabList(TabListAction {}), ..script() };
    let id = hub.submit(&pinned("a"), list).await.unwrap().id;
    assert_eq!(work.begin().await.0, id);
    let tabs = hub.tabs(&pinned("a"));
    assert!(tabs.iter().all(|tab| tab.browser.as_str() == "b1") && tabs.len() == 10);
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_is_reloaded_is_waited_for_and_one_that_stays_away_is_not() {
    let hub = Hub::start(Limits::default());
    hub.set_browser_names(named(&[("b1", "work")]));
    let work = Extension::connect(&hub, "b1", "i1");
    let _other = Extension::connect(&hub, "b2", "i1");
    drop(work);
    advance(seconds(3)).await;
    let id = hub.submit(&pinned("a"), script()).await.unwrap().id;
    let mut work = Extension::connect(&hub, "b1", "i2");
    assert_eq!(work.command().await.0, id);
    drop(work);
    advance(limits::PINNED_BROWSER_AWAY).await;
    let refused = hub.submit(&pinned("a"), script()).await.unwrap_err();
    assert_eq!(refused.why.code(), "browser_away");
}

#[tokio::test(start_paused = true)]
async fn a_name_takes_the_place_of_the_number_and_nobody_elses_label_is_one() {
    let hub = Hub::start(Limits::default());
    let _one = Extension::connect(&hub, "b1", "i1");
    let _two = Extension::connect(&hub, "b2", "i1");
    let label = |id: &str| labels(&hub).into_iter().find(|(known, _)| known == id).unwrap().1;
    assert_eq!((label("b1"), label("b2")), ("Test".to_owned(), "Test 2".to_owned()));
    hub.set_browser_names(named(&[("b2", "Test")]));
    assert_eq!((label("b1"), label("b2")), ("Test 2".to_owned(), "Test".to_owned()));
    hub.set_browser_names(named(&[("b2", "work")]));
    assert_eq!(label("b2"), "work");
    // Away, the name stays its own.
    let three = Extension::attach(&hub, "b3", "i1");
    three.ready_as("work");
    assert_eq!(label("b3"), "work 2");
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_takes_names_is_told_of_its_own_and_of_others() {
    let hub = Hub::start(Limits::default());
    let mut one = Extension::attach(&hub, "b1", "i1");
    one.link.receive(FromExtension::Ready(ReadyFrame {
        names: Some(true),
        ..ready("Test", Vec::new())
    }));
    let mut told = async || loop {
        if let ToExtension::BrowserName { name, label, others, problem, .. } = one.frame().await {
            return (name.map(String::from), label, others, problem.is_some());
        }
    };
    assert_eq!(told().await, (None, "Test".to_owned(), false, false));
    let _two = Extension::connect(&hub, "b2", "i1");
    assert_eq!(told().await, (None, "Test".to_owned(), true, false));
    hub.set_browser_names(named(&[("b1", "work")]));
    assert_eq!(told().await, (Some("work".to_owned()), "work".to_owned(), true, false));
}

#[tokio::test(start_paused = true)]
async fn of_many_browsers_each_that_comes_is_heard_of_by_none_of_the_others() {
    let hub = Hub::start(Limits::default());
    let mut here = vec![takes_name(&hub, "b0"), takes_name(&hub, "b1")];
    for browser in &mut here {
        while !browser.is_quiet().await {}
    }
    let newcomers: Vec<_> = (2..300).map(|at| takes_name(&hub, &format!("b{at}"))).collect();
    for browser in &mut here {
        assert!(browser.is_quiet().await);
    }
    for mut newcomer in newcomers {
        assert_eq!(told(&mut newcomer).await, (None, None));
    }
    let numbers: HashSet<_> = labels(&hub).into_iter().map(|(_, label)| label).collect();
    assert_eq!(numbers.len(), 300);
    assert!(numbers.contains("Test") && numbers.contains("Test 300"));
}

/// A browser whose extension lets the person name it.
fn takes_name(hub: &Hub, id: &str) -> Extension {
    let browser = Extension::attach(hub, id, "i1");
    let names = Some(true);
    browser.link.receive(FromExtension::Ready(ReadyFrame { names, ..ready("Test", Vec::new()) }));
    browser
}

/// The name that it has, and the one that is offered, as its extension was told last.
async fn told(browser: &mut Extension) -> (Option<String>, Option<String>) {
    loop {
        if let ToExtension::BrowserName { name, offered, .. } = browser.frame().await {
            return (name.map(String::from), offered.map(String::from));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_profiles_own_name_is_offered_and_is_no_name_until_the_person_keeps_it() {
    let hub = Hub::start(Limits::default());
    let mut one = takes_name(&hub, "b1");
    assert_eq!(told(&mut one).await, (None, None));
    let own = BrowserName::parse("Ann").expect("a name");
    hub.offer_browser_name(&BrowserId::from("b1"), Some(own.clone()));
    assert_eq!(told(&mut one).await, (None, Some("Ann".to_owned())));
    assert_eq!(labels(&hub), [("b1".to_owned(), "Test".to_owned())]);
    let refused = hub.submit(&agent("a"), in_browser("Ann")).await.unwrap_err();
    assert_eq!(refused.why.code(), "browser_gone");
    // The same again is no news.
    hub.offer_browser_name(&BrowserId::from("b1"), Some(own));
    hub.set_browser_names(named(&[("b1", "work")]));
    assert_eq!(told(&mut one).await, (Some("work".to_owned()), None));
}

#[tokio::test(start_paused = true)]
async fn of_two_profiles_of_the_same_name_the_second_is_not_offered_the_name_of_the_first() {
    let hub = Hub::start(Limits::default());
    let own = BrowserName::parse("Person 1").expect("a name");
    let mut one = takes_name(&hub, "b1");
    hub.offer_browser_name(&BrowserId::from("b1"), Some(own.clone()));
    assert_eq!(told(&mut one).await, (None, None));
    assert_eq!(told(&mut one).await.1.as_deref(), Some("Person 1"));
    // The person keeps it in the second, and neither its end nor a letter's case makes it free.
    hub.set_browser_names(named(&[("b2", "person 1")]));
    assert_eq!(told(&mut one).await, (None, None));
    let two = takes_name(&hub, "b2");
    assert_eq!(told(&mut one).await, (None, None));
    drop(two);
    advance(seconds(1)).await;
    hub.set_browser_names(named(&[("b2", "person 1"), ("b3", "tests")]));
    assert_eq!(told(&mut one).await, (None, None));
    hub.set_browser_names(named(&[("b2", "home")]));
    assert_eq!(told(&mut one).await.1.as_deref(), Some("Person 1"));
}

#[tokio::test(start_paused = true)]
async fn the_history_says_what_the_browser_of_an_act_was_called_then() {
    let hub = Hub::start(Limits::default());
    let (keeper, mut acts) = tokio::sync::mpsc::channel(8);
    hub.keep_past_acts(keeper);
    let mut act_in = async |browser: &mut Extension, id: &str| {
        hub.submit(&agent("a"), in_browser(id)).await.unwrap();
        let (command, attempt) = browser.begin().await;
        browser.complete(&command, attempt, "done").await;
        acts.recv().await.unwrap().browser.unwrap().to_string()
    };
    let mut one = Extension::connect(&hub, "b1", "i1");
    let mut two = Extension::attach(&hub, "b2", "i1");
    // An extension calls its browser as it likes.
    two.ready_as(&format!("\u{1b}[31m\n{}", "é".repeat(99)));
    assert_eq!(act_in(&mut one, "b1").await, "Test");
    assert_eq!(act_in(&mut two, "b2").await, format!("[31m{}", "é".repeat(30)));
    hub.set_browser_names(named(&[("b1", "work"), ("b2", "home")]));
    assert_eq!(act_in(&mut one, "b1").await, "work");
    assert_eq!(act_in(&mut two, "b2").await, "home");
}
