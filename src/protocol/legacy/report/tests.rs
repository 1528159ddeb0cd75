//! What becomes of each way in which polling extensions have ever reported.

use super::*;
use crate::protocol::actions::{
    AccessibilityAction, DomAction, ExecuteJsAction, PageInfoAction, RefreshAction, TabListAction,
};

fn script() -> Action {
    Action::ExecuteJs(ExecuteJsAction { script: "1".to_owned(), user_gesture: None })
}

fn dom() -> Action {
    Action::Dom(DomAction { selector: "a".to_owned(), limit: Some(5) })
}

fn accessibility() -> Action {
    Action::Accessibility(AccessibilityAction { selector: None, depth: None })
}

fn report(action: &Action, body: &str) -> ExtensionReport {
    serde_json::from_str::<LegacyReport>(body).unwrap().into_report(action)
}

/// The result that the owner gets, byte for byte.
fn result(action: &Action, body: &str) -> String {
    let ExtensionReport::Complete { result, .. } = report(action, body) else {
        panic!("{body} is no result")
    };
    result.get().to_owned()
}

fn error(action: &Action, body: &str) -> ReportedError {
    let ExtensionReport::Error { error } = report(action, body) else {
        panic!("{body} is no failure")
    };
    error
}

#[test]
fn the_value_of_a_script_is_kept_byte_for_byte_whichever_way_it_is_sent() {
    let table = [
        // In an envelope, as each generation writes it.
        (r#"{"success":true,"result":"Home"}"#, r#""Home""#, "string"),
        (r#"{"success":true,"data":"result value"}"#, r#""result value""#, "string"),
        (r#"{"success":true,"value":{"a":1}}"#, r#"{"a":1}"#, "object"),
        (r#"{"data":[1],"success":true}"#, "[1]", "array"),
        (r#"{"success":true,"result":null}"#, "null", "null"),
        (r#"{"success":true,"result":false}"#, "false", "boolean"),
        (r#"{"success":true}"#, "null", "null"),
        (r#"{"success":true,"result":1,"result":2}"#, "2", "number"),
        // Numbers, orders and repetitions that a parser would change.
        (r#"{"success":true,"data":5.0}"#, "5.0", "number"),
        (r#"{"success":true,"result":1e400}"#, "1e400", "number"),
        (r#"{"success":true,"result":-0.0}"#, "-0.0", "number"),
        (
            r#"{"success":true,"result":123456789012345678901234567890}"#,
            "123456789012345678901234567890",
            "number",
        ),
        (r#"{"success":true,"result":{"z":1,"a":2,"z":3}}"#, r#"{"z":1,"a":2,"z":3}"#, "object"),
        (r#"{"success":true,"result":[ 1,  2 ]}"#, "[ 1,  2 ]", "array"),
        (r#"{"success":true,"result":"\u0041\/\ud800"}"#, r#""\u0041\/\ud800""#, "string"),
        // The value itself, also one that looks like a failure.
        ("5", "5", "number"),
        (r#"{"error":"x"}"#, r#"{"error":"x"}"#, "object"),
        (r#"{"error":null}"#, r#"{"error":null}"#, "object"),
        (r#"{"success":true,"error":"x"}"#, r#"{"success":true,"error":"x"}"#, "object"),
        (r#"{"success":true,"error":5.0}"#, r#"{"success":true,"error":5.0}"#, "object"),
        (r#"{"success":"no"}"#, r#"{"success":"no"}"#, "object"),
        (r#"{"data":1,"value":2}"#, r#"{"data":1,"value":2}"#, "object"),
        (
            r#"{"success":true,"result":{"success":false,"error":"x"}}"#,
            r#"{"success":false,"error":"x"}"#,
            "object",
        ),
        (r#"{"success":true,"result":{"error":"x"}}"#, r#"{"error":"x"}"#, "object"),
    ];
    for (sent, value, kind) in table {
        let expected = format!(r#"{{"success":true,"value":{value},"type":"{kind}"}}"#);
        for error in ["", r#","error":null"#, r#","error":"""#] {
            let body =
                format!(r#"{{"correlation_id":"c","status":"complete","result":{sent}{error}}}"#);
            assert_eq!(result(&script(), &body), expected, "{body}");
        }
    }
}

#[test]
fn what_an_extension_says_besides_stands_beside_the_value() {
    let sent =
        r#"{"success":true,"result":1.0,"effective_tab_id":7,"target_context":{"b":1,"a":2}}"#;
    assert_eq!(
        result(&script(), &format!(r#"{{"id":"q","result":{sent}}}"#)),
        r#"{"success":true,"value":1.0,"type":"number","details":{"effective_tab_id":7,"target_context":{"b":1,"a":2}}}"#
    );
    let both = result(&script(), r#"{"id":"q","result":{"success":true,"result":null,"value":5}}"#);
    assert_eq!(both, r#"{"success":true,"value":null,"type":"null","details":{"value":5}}"#);
    let undefined = r#"{"id":"q","result":{"success":true,"effective_tab_id":7}}"#;
    assert_eq!(
        result(&script(), undefined),
        r#"{"success":true,"value":null,"type":"null","details":{"effective_tab_id":7}}"#
    );
}

#[test]
fn what_is_not_a_script_has_the_names_that_it_has_from_every_extension() {
    let table = [
        (
            Action::TabList(TabListAction {}),
            r#"{"tabs":[{"id":7,"url":"http://a/","windowId":1.0},5]}"#,
            r#"{"success":true,"value":[{"tab_id":7,"url":"http://a/","window_id":1.0},5],"type":"array"}"#,
        ),
        (
            Action::TabList(TabListAction {}),
            r#"{"tabs":5}"#,
            r#"{"success":true,"value":{"tabs":5},"type":"object"}"#,
        ),
        (
            dom(),
            r#"{"matchCount":3,"z":1e400,"returnedCount":1}"#,
            r#"{"success":true,"value":{"count":3,"z":1e400,"shown":1},"type":"object"}"#,
        ),
        (
            Action::PageInfo(PageInfoAction {}),
            r#"{"url":"http://a/","title":""}"#,
            r#"{"success":true,"value":{"url":"http://a/","title":""},"type":"object"}"#,
        ),
    ];
    for (action, sent, expected) in table {
        let body = format!(r#"{{"id":"q","result":{sent}}}"#);
        assert_eq!(result(&action, &body), expected);
    }
    let nothing = result(&Action::Refresh(RefreshAction {}), r#"{"id":"q"}"#);
    assert_eq!(nothing, r#"{"success":true,"value":null,"type":"null"}"#);
}

#[test]
fn a_failure_of_a_script_is_one_only_by_success_false_or_by_the_reports_own_error() {
    let table = [
        (r#"{"status":"complete","error":"ai_web_pilot_disabled"}"#, "ai_web_pilot_disabled"),
        (r#"{"status":"complete","result":null,"error":"gone"}"#, "gone"),
        (
            r#"{"status":"complete","result":{"success":false,"error":"execution_error","message":"bad"}}"#,
            "execution_error",
        ),
        (r#"{"status":"complete","result":{"error":"csp","success":false}}"#, "csp"),
        (r#"{"status":"complete","result":{"success":true,"result":1},"error":"late"}"#, "late"),
        (r#"{"status":"error","error":{"code":"gone","message":"away"}}"#, "gone"),
        (r#"{"status":"error"}"#, "error"),
        (r#"{"status":"error","result":{"error":"x"}}"#, "x"),
        (r#"{"result":{"success":false}}"#, "error"),
        (r#"{"error":17}"#, "17"),
        (r#"{"error":{}}"#, "error"),
    ];
    for (body, code) in table {
        assert_eq!(error(&script(), body).code, code, "{body}");
    }
    let told = error(
        &script(),
        r#"{"result":{"success":false,"error":"e","message":"bad","stack":"at x"}}"#,
    );
    assert_eq!((told.message.as_str(), told.stack.as_deref()), ("bad", Some("at x")));
}

#[test]
fn another_query_has_failed_if_it_has_an_error_and_no_content() {
    let actions = [
        dom(),
        accessibility(),
        Action::TabList(TabListAction {}),
        Action::PageInfo(PageInfoAction {}),
        Action::Refresh(RefreshAction {}),
    ];
    let failed = [
        r#"{"error":"x"}"#,
        r#"{"error":"x","message":"why"}"#,
        r#"{"success":true,"error":"x"}"#,
        r#"{"error":"x","matches":null,"resolved_tab_id":7}"#,
        r#"{"success":false,"error":"x","url":"http://a/"}"#,
    ];
    let complete = [
        r#"{"error":""}"#,
        r#"{"error":null}"#,
        r#"{"error":5}"#,
        r#"{"error":"x","url":"http://a/"}"#,
        r#"{"error":"x","violations":[]}"#,
        "[]",
        "null",
    ];
    for action in actions {
        for sent in failed {
            let body = format!(r#"{{"id":"q","result":{sent}}}"#);
            assert_eq!(error(&action, &body).code, "x", "{} {body}", action.name());
        }
        for sent in complete {
            let body = format!(r#"{{"id":"q","result":{sent}}}"#);
            let expected = format!(r#"{{"success":true,"value":{sent},"#);
            let told = result(&action, &body);
            assert!(told.starts_with(&expected), "{} {body}: {told}", action.name());
        }
    }
}

#[test]
fn a_bare_word_gets_a_sentence_and_a_next_step() {
    for word in
        ["ai_web_pilot_disabled", "content_script_not_loaded", "browser_action_failed", "odd_word"]
    {
        for body in [
            format!(r#"{{"status":"complete","result":null,"error":"{word}"}}"#),
            format!(r#"{{"result":{{"success":false,"error":"{word}"}}}}"#),
            format!(r#"{{"result":{{"success":false,"error":"{word}","message":"{word}"}}}}"#),
        ] {
            let error = error(&script(), &body);
            assert_eq!(error.code, word);
            assert!(error.message.contains(' '), "{body}: {}", error.message);
            assert!(
                error.hint.is_some_and(|hint| hint.contains("interact(") || hint.contains("popup"))
            );
        }
    }
    let own = error(&script(), r#"{"error":"browser_action_failed","message":"No page there"}"#);
    assert_eq!(own.message, "No page there", "what the extension says stays");
    assert!(own.hint.is_some());
    let off = error(&script(), r#"{"error":"ai_web_pilot_disabled"}"#);
    assert_eq!(off.may_have_run, Some(false));
    let sentence = error(&script(), r#"{"error":"It broke in two"}"#);
    assert_eq!((sentence.message.as_str(), sentence.hint), ("It broke in two", None));
}

#[test]
fn still_at_work_and_out_of_time_are_told_apart_from_a_result() {
    let pending = report(&script(), r#"{"correlation_id":"c","status":"pending"}"#);
    assert!(matches!(pending, ExtensionReport::Pending { .. }));
    let late = report(&script(), r#"{"correlation_id":"c","status":"timeout","error":"timeout"}"#);
    assert!(matches!(late, ExtensionReport::Timeout { .. }));
}
