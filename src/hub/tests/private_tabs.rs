//! Tabs in private windows, which are their owner's alone.

use super::consents::{SHOP, code};
use super::*;
use crate::protocol::actions::TabOpenAction;
use crate::protocol::{ConsentAnswer, KeptWord};

fn private() -> Submission {
    let (url, private) = (Some("http://unseen.example/".to_owned()), Some(true));
    let action = TabOpenAction { url, focus: None, share: None, keep: None, private };
    Submission { action: Action::TabOpen(action), ..script() }
}

fn connect(hub: &Hub, keeps: Option<bool>) -> Extension {
    let extension = Extension::attach(hub, "b", "i");
    let mut ready = ready("Test", Vec::new());
    ready.actions.push("tab_open".to_owned());
    extension.link.receive(FromExtension::Ready(ReadyFrame { private_tabs: keeps, ..ready }));
    extension
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_does_not_keep_private_tabs_opens_none() {
    let hub = Hub::start(Limits::default());
    let _old = connect(&hub, None);
    let refused = hub.submit(&agent("a"), private()).await.unwrap_err();
    assert_eq!(refused.why.code(), "unsupported_action");
}

#[tokio::test(start_paused = true)]
async fn one_that_comes_only_after_the_call_opens_none_either() {
    let hub = Hub::start(Limits::default());
    let id = hub.submit(&agent("a"), private()).await.unwrap().id;
    let _old = connect(&hub, None);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(code(&hub, "a", &id).await, "unsupported_action");
}

#[tokio::test(start_paused = true)]
async fn a_word_on_a_private_window_is_on_one_command_alone() {
    for (said, ends) in [(ConsentAnswer::Always, ""), (ConsentAnswer::Never, "denied_by_user")] {
        let hub = Hub::start(Limits::default());
        let mut browser = connect(&hub, Some(true));
        let id = hub.submit(&agent("a"), private()).await.unwrap().id;
        assert_eq!(browser.holds_next(SHOP).await, id);
        browser.says(&id, said);
        tokio::time::sleep(Duration::from_millis(10)).await;
        let kept: (Vec<KeptWord>, usize) = browser.kept_words(None).await;
        assert_eq!(kept.1 + kept.0.len(), 0, "{said:?}");
        if !ends.is_empty() {
            assert_eq!(code(&hub, "a", &id).await, ends);
        }
    }
}
