//! Pictures of tabs before and after acts, for the person.

use super::*;
use crate::protocol::actions::SnapshotAction;
use crate::protocol::{ActMoment, Action};

const JPEG: &str = "/9j/2Q==";

fn picture(id: &CorrelationId, moment: ActMoment, jpeg: &str) -> FromExtension {
    FromExtension::ActPicture { correlation_id: id.clone(), moment, jpeg: jpeg.to_owned() }
}

/// The next command, and whether it is pictured.
async fn sent(browser: &mut Extension) -> (CorrelationId, bool) {
    loop {
        if let ToExtension::Command { command, .. } = browser.frame().await {
            return (command.correlation_id, command.pictured);
        }
    }
}

fn in_tab(tab: i64, call: Submission) -> Submission {
    Submission {
        selector: TargetSelector { browser: Some("b1".to_owned()), tab: Some(TabId(tab)) },
        ..call
    }
}

#[tokio::test(start_paused = true)]
async fn acts_are_pictured_while_the_person_wants_it_and_reads_never() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b1", "i1");
    hub.submit(&agent("a"), in_tab(1, script())).await.unwrap();
    assert!(!sent(&mut browser).await.1, "by itself");
    hub.picture_acts(true);
    hub.submit(&agent("b"), in_tab(2, script())).await.unwrap();
    assert!(sent(&mut browser).await.1);
    let read =
        Submission::of(Action::Snapshot(serde_json::from_str::<SnapshotAction>("{}").unwrap()));
    hub.submit(&agent("c"), in_tab(3, read)).await.unwrap();
    assert!(!sent(&mut browser).await.1, "a read");
    hub.picture_acts(false);
    hub.submit(&agent("d"), in_tab(4, script())).await.unwrap();
    assert!(!sent(&mut browser).await.1, "switched off");
}

#[tokio::test(start_paused = true)]
async fn only_the_browser_that_runs_a_pictured_act_has_its_pictures_kept() {
    let hub = Hub::start(Limits::default());
    let mut browser = Extension::connect(&hub, "b1", "i1");
    let other = Extension::connect(&hub, "b2", "i1");
    hub.picture_acts(true);
    hub.submit(&agent("a"), in_tab(1, script())).await.unwrap();
    let (id, _) = sent(&mut browser).await;
    other.link.receive(picture(&id, ActMoment::Before, JPEG));
    browser.link.receive(picture(&"click_unknown".into(), ActMoment::Before, JPEG));
    browser.link.receive(picture(&id, ActMoment::Before, "no base64"));
    browser.link.receive(picture(&id, ActMoment::Before, "iVBORw0KGgo="));
    browser.link.receive(picture(&id, ActMoment::Before, &"/9j/".repeat(200_000)));
    assert_eq!(hub.pictured_moments(&id), []);
    browser.link.receive(picture(&id, ActMoment::Before, JPEG));
    browser.link.receive(picture(&id, ActMoment::After, JPEG));
    assert_eq!(hub.pictured_moments(&id), [ActMoment::Before, ActMoment::After]);
    assert_eq!(hub.act_picture(&id, ActMoment::After).unwrap()[..], [0xff, 0xd8, 0xff, 0xd9]);
    hub.picture_acts(false);
    assert_eq!(hub.pictured_moments(&id), [], "dropped");
    browser.link.receive(picture(&id, ActMoment::After, JPEG));
    assert_eq!(hub.pictured_moments(&id), [], "on its way while it was switched off");
}
