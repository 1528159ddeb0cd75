//! The daemon says why no browser is connected: in virtual time.

use super::*;

const DOCTOR: &str = "`tabwire doctor` names what is missing.";

#[tokio::test(start_paused = true)]
async fn the_absence_of_a_browser_is_explained_by_the_last_one_and_by_rejected_handshakes() {
    let hub = Hub::start(Limits::default());
    let said = || hub.browser_absence().unwrap();
    pass(seconds(30)).await;
    assert!(said().starts_with("No browser has connected since the daemon started 30 s ago. Ask"));
    assert!(said().ends_with(DOCTOR), "{}", said());

    hub.note_wrong_key();
    pass(seconds(5)).await;
    let key =
        "A Tabwire extension with a wrong key tried to connect 5 s ago: ask the person to run";
    assert!(said().contains(key) && !said().contains("open the browser"), "{}", said());
    hub.note_outdated_extension();
    assert!(said().contains("too old for this daemon tried to connect 0 s ago"), "{}", said());

    let extension = Extension::connect(&hub, "b", "i");
    assert_eq!(hub.browser_absence(), None);
    drop(extension);
    pass(seconds(180)).await;
    // What was wrong before it came is not any more.
    assert!(said().starts_with("The last browser, `Test`, left 3 min ago. Ask"), "{}", said());
    hub.note_knock(&"a".repeat(32), &"ext_1".into(), "5.6.0");
    let older = "An older extension asks to be let in: `tabwire legacy` shows it.";
    assert!(said().contains(older) && said().ends_with(DOCTOR), "{}", said());
}

#[tokio::test(start_paused = true)]
async fn a_command_that_waits_for_a_browser_one_that_waited_in_vain_and_a_refused_call_say_why() {
    let hub = Hub::start(Limits::default());
    let submitted = hub.submit(&agent("a"), script()).await.unwrap();
    let CommandStatus::Pending { hint, .. } = look(&hub, "a", &submitted.id).await else {
        panic!()
    };
    assert!(hint.starts_with("No browser has connected") && hint.ends_with(DOCTOR), "{hint}");
    pass(limits::EXECUTE + limits::QUEUE_ALLOWANCE).await;
    let CommandStatus::Expired { hint, reason, .. } = look(&hub, "a", &submitted.id).await else {
        panic!()
    };
    assert_eq!(reason, "no_extension");
    assert!(hint.starts_with("No browser has connected") && hint.ends_with(DOCTOR), "{hint}");

    let named = TargetSelector { browser: Some("Safari".to_owned()), tab: None };
    let refused = hub.submit(&agent("a"), Submission { selector: named, ..script() }).await;
    let hint = refused.unwrap_err().why.hint();
    assert!(hint.starts_with("No browser has connected") && hint.ends_with(DOCTOR), "{hint}");
    let failed = hub.failures(&agent("a"));
    assert!(failed.iter().all(|failure| failure.hint.ends_with('.')), "{failed:?}");
    assert!(failed.iter().all(|failure| failure.aim.command == Some("execute_js")), "{failed:?}");
}
