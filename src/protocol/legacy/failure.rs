//! The failures of polling extensions, and sentences for failures that are one word.

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{Action, ReportedError};
use super::members::{ObjectMember, ObjectMembers};

/// The members of a result that only describe a failure. Any other member is content.
const OF_FAILURE: [&str; 6] = ["success", "error", "message", "code", "stack", "hint"];

/// The members with which later versions describe the page beside each result.
pub(super) const OF_PAGE: [&str; 6] = [
    "effective_tab_id",
    "effective_url",
    "effective_title",
    "resolved_tab_id",
    "resolved_url",
    "target_context",
];

/// A failure that is one word, with its meaning, the next step, and whether nothing can have run.
struct BareWord {
    word: &'static str,
    message: &'static str,
    hint: &'static str,
    has_not_run: bool,
}

static BARE_WORDS: [BareWord; 4] = [
    BareWord {
        word: "ai_web_pilot_disabled",
        message: "Control by agents is switched off in the extension of this browser",
        hint: "Ask the person to switch it on (AI Web Pilot) in the popup of that extension; then \
               call again.",
        has_not_run: true,
    },
    BareWord {
        word: "content_script_not_loaded",
        message: "The extension's script is not in the page: the page was open before the \
                  extension was, or extensions are kept out of it",
        hint: "Load the page anew with interact({action:\"refresh\"}) and call again. Pages of the \
               browser itself and of extension stores stay closed: navigate to another page.",
        has_not_run: true,
    },
    BareWord {
        word: "browser_action_failed",
        message: "The browser did not do this",
        hint: "Look at the tab with interact({action:\"page_info\"}): back and forward need a page \
               in the tab's history, and some URLs cannot be opened.",
        has_not_run: false,
    },
    BareWord {
        word: "csp_blocked_all_worlds",
        message: "The page's policy keeps scripts of this extension out",
        hint: "Read the page with analyze({what:\"dom\"}), which needs no script. The Tabwire \
               extension runs scripts on such pages (`tabwire install` says how to load it).",
        has_not_run: true,
    },
];

/// The failure in a report, if there is one: in its `error` or in its result.
pub(super) fn failure(
    error: Option<&Value>,
    message: Option<&str>,
    result: Option<&RawValue>,
    action: &Action,
) -> Option<ReportedError> {
    match error {
        Some(Value::Object(error)) => {
            let text = |name: &str| error.get(name).and_then(Value::as_str);
            Some(reported(text("error").or(text("code")), text("message"), text("stack")))
        }
        Some(Value::String(code)) if !code.is_empty() => Some(reported(Some(code), message, None)),
        None | Some(Value::Null | Value::String(_)) => of_result(result?, action),
        Some(other) => Some(reported(Some(&other.to_string()), message, None)),
    }
}

/// The failure of a report whose status alone says that the command failed.
pub(super) fn unexplained(message: Option<&str>, result: Option<&RawValue>) -> ReportedError {
    match result.and_then(ObjectMembers::of) {
        Some(members) => of_members(&members),
        None => reported(None, message, None),
    }
}

/// The failure in a result. A script may return an object that looks like a failure, so of a script
/// only `success: false` counts.
fn of_result(result: &RawValue, action: &Action) -> Option<ReportedError> {
    let members = ObjectMembers::of(result)?;
    let is_script = matches!(action, Action::ExecuteJs(_));
    let is_failure = members.truth("success") == Some(false)
        || !is_script && has_error(&members) && !members.iter().any(is_content);
    is_failure.then(|| of_members(&members))
}

fn has_error(members: &ObjectMembers<'_>) -> bool {
    members.text("error").is_some_and(|error| !error.is_empty())
}

fn is_content(member: &ObjectMember<'_>) -> bool {
    let name = member.name.as_str();
    !member.is_null() && !OF_FAILURE.contains(&name) && !OF_PAGE.contains(&name)
}

fn of_members(members: &ObjectMembers<'_>) -> ReportedError {
    let text = |name: &str| members.text(name);
    let code = text("error").or_else(|| text("code"));
    reported(code.as_deref(), text("message").as_deref(), text("stack").as_deref())
}

/// The failure with this code. A code that is a sentence is the message too; a bare word gets one.
fn reported(code: Option<&str>, message: Option<&str>, stack: Option<&str>) -> ReportedError {
    let code = code.filter(|code| !code.is_empty()).unwrap_or("error");
    let stack = stack.map(str::to_owned);
    // A message that repeats the code says nothing.
    let message = message.filter(|message| !message.is_empty() && *message != code);
    if let Some(known) = BARE_WORDS.iter().find(|known| known.word == code) {
        return ReportedError {
            stack,
            hint: Some(known.hint.to_owned()),
            may_have_run: known.has_not_run.then_some(false),
            ..ReportedError::new(code, message.unwrap_or(known.message))
        };
    }
    let is_bare = !code.contains(char::is_whitespace);
    let (message, hint) = match message {
        Some(message) => (message.to_owned(), None),
        None if is_bare => (
            format!("The extension in the browser reported `{code}` and nothing more"),
            Some(
                "Look at the page with interact({action:\"page_info\"}) and at \
                  observe({what:\"extension_logs\"}) before you call again.",
            ),
        ),
        None => (code.to_owned(), None),
    };
    ReportedError { stack, hint: hint.map(str::to_owned), ..ReportedError::new(code, message) }
}
