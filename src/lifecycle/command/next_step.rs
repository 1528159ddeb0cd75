//! The next step after a command failed, by the code of its failure, and while it is pending.

use std::sync::Arc;

use super::{CommandOutcome, ExpiryReason};
use crate::lifecycle::limits;
use crate::protocol::{CorrelationId, HeldDialog, ReportedError, WorkKind};

/// The next step for each code that extensions report. A hint in the report takes precedence,
/// because the extension has seen the page.
static OF_CODES: [(&str, &str); 49] = [
    (
        "script_threw",
        "Correct the script and call again. What the script did before it threw stays done.",
    ),
    ("syntax_error", "Nothing of the script has run: correct it and call again."),
    ("no_such_tab", OTHER_TAB),
    ("tab_closed", OTHER_TAB),
    (
        "tab_crashed",
        "Reload the page with interact({action:\"refresh\"}) and the same tab_id, then call again. \
         The command may have run in part; unsaved input in the page is lost.",
    ),
    (
        "tab_discarded",
        "The command may have run in part, and input that was not saved is lost. Look at the page \
         (page_info, snapshot) before you call again: the next command loads it anew.",
    ),
    (
        "needs_resubmit",
        "Go to the page with the form (navigate, or back), and send it again only if that does no \
         harm; or ask the person to reload the tab.",
    ),
    (
        "foreign_extension_frame",
        "Unless may_have_run is false, look at the page before you call again. What needs no debugger works: \
         snapshot, find, get_text, wait_for, navigate, click, type, fill_form, scroll, and screenshot of a tab in front. \
         Close the other extension's box \
         if the page has a button for that, or ask the person to.",
    ),
    ("restricted_page", "Navigate to a web page, or name another tab in `tab_id`."),
    (
        "navigation_failed",
        "Check the URL, and see where the tab is now with interact({action:\"page_info\"}); \
         then call again.",
    ),
    (
        "navigation_interrupted",
        "The command may have run in part: see where the page is now with \
         interact({action:\"page_info\"}) before you call again.",
    ),
    (
        "debugger_unavailable",
        "Unless may_have_run is false, look at the page before you call again, or use another tab. \
         If the error stays, ask the person to click \"Give control back\" in the Tabwire popup.",
    ),
    (
        "result_too_large",
        "The command has run. Ask for less: a part of the page, fewer fields, or a smaller picture.",
    ),
    (
        "unknown_action",
        "observe({what:\"browsers\"}) lists the actions that the extension knows. To get all of them, \
         the person runs `tabwire install` and reloads the extension.",
    ),
    ("invalid_params", "Correct the parameter that `error` names, and call again."),
    (
        "internal",
        "Look at the page before you call again. If the error stays, ask the person to reload the \
         Tabwire extension at chrome://extensions.",
    ),
    (
        "blocked_by_policy",
        "Use another site. Only the person can change the rules: with `tabwire sites`, or in the \
         popup of the Tabwire extension.",
    ),
    (
        "tabwire_page",
        "Name another tab in `tab_id`, or open one with interact({action:\"tab_open\", url}): Tabwire's \
         own pages are the person's alone, and no rule opens them to agents.",
    ),
    (
        "private_not_allowed",
        "Ask the person to allow it: chrome://extensions, Details of Tabwire, \"Allow in Incognito\". Or \
         open the tab without `private`.",
    ),
    (
        "private_in_use",
        "Call again once the person, or the other program, has closed its private windows; or open the \
         tab without `private`.",
    ),
    (CommandOutcome::NOT_IN_PRIVATE, "Use a tab that is not private, or another action."),
    (
        "denied_by_user",
        "Do not try it another way: tell the user what you wanted to do there, and ask how to go on.",
    ),
    (
        "consent_needed",
        "Look at the page. If the act is still wanted, call again: the user is asked first.",
    ),
    (
        "permission_needed",
        "Go on without it, or tell the user why it is wanted, and call the action by itself: the \
         Tabwire popup then asks them for it.",
    ),
    (
        "consent_stale",
        "What the user allowed is not there any more, so nothing has run. Look at the page, then call \
         again: the user is asked anew.",
    ),
    (
        CommandOutcome::STOPPED_BY_USER,
        "Ask the person before you continue: only they can let agents act again, in the popup of the \
         Tabwire extension.",
    ),
    (
        CommandOutcome::EXECUTION_TIMEOUT,
        "The command may have run in part: look at the page (page_info, screenshot) before you call \
         again, with a larger timeout_ms if the command needs more time.",
    ),
    (
        "target_not_found",
        "Take a fresh analyze({what:\"snapshot\"}) and use a ref from it. If the element comes later, \
         wait for it with interact({action:\"wait_for\", target}).",
    ),
    (
        "ambiguous_target",
        "Use one of the refs that `error` names, or a target that fits one element only.",
    ),
    ("stale_ref", "Use the ref that `error` names, or take a fresh analyze({what:\"snapshot\"})."),
    ("not_visible", "Open the part of the page that holds the element, or use another target."),
    ("not_stable", "The element keeps moving: call again with wait:\"none\" to act at once."),
    ("covered", "Close or move the element that `error` names, then call again."),
    (
        "disabled",
        "Fill in what the page still asks for, wait until the element is enabled, then call again.",
    ),
    ("not_editable", "Use a text field as target, or click the element instead."),
    ("wrong_kind", "Use the action for this kind of element, which `error` names."),
    ("option_not_found", "Use one of the options that `error` lists."),
    (
        "file_not_allowed",
        "Ask the person to open the file's folder with `tabwire files allow DIR --read`.",
    ),
    ("file_not_found", "Check the path."),
    ("file_too_large", "Give fewer or smaller files: at most 10 of 100 MiB in one call."),
    ("file_changed", "Wait until the file is written, then call again."),
    ("file_unreadable", "Ask the person to let browser and daemon read the file."),
    (
        "unsupported",
        "This browser cannot do it; use another action, or ask the person to update the browser.",
    ),
    (
        "download_failed",
        "Begin it again by the act that began it, or ask the person whether they cancelled it.",
    ),
    (
        "no_dialog",
        "Look at the page. A command leaves a dialog open if its call has dialogs:\"hold\".",
    ),
    (
        "picture_stale",
        "Take a new interact({action:\"screenshot\"}), and give its `in` and points of it.",
    ),
    (
        "tab_in_use",
        "Open a tab of your own with interact({action:\"tab_open\"}), or wait until the other agent has \
         put back its changes.",
    ),
    (
        "handed_over",
        "Wait for the user with observe({what:\"command_result\", correlation_id}) of the ask_user call, \
         work on another site, or cancel that call.",
    ),
    (
        "page_tool_changed",
        "List the tools again with analyze({what:\"page_tools\"}), read the new definition, then call \
         with its document and hash.",
    ),
];

/// The codes that the Tabwire extension reports, for its types.
#[cfg(test)]
pub(crate) fn codes_of_extension() -> impl Iterator<Item = &'static str> {
    OF_CODES.iter().map(|(code, _)| *code)
}

const OTHER_TAB: &str = "Name one of the tabs that observe({what:\"tabs\"}) lists in `tab_id`, or \
                         open one with interact({action:\"tab_open\", url}).";

/// The next step for any other code.
const OF_OTHER_CODES: &str =
    "Look at the page with interact({action:\"page_info\"}) before you call again.";

/// The next step after the person at the browser stopped the command.
pub(super) const STOPPED_HINT: &str =
    "The person at the browser stopped the command: ask them before you try again.";

/// The next step after the owner cancelled a command that may have begun.
pub(super) const HALF_DONE_HINT: &str =
    "The command may have run in part: look at the page before you continue.";

/// The next step while the command waits for a browser.
pub(super) const BROWSER_AWAY_HINT: &str = "Ask the person to open the browser: the command then continues by itself. `tabwire doctor` \
     names what is missing.";

/// The next step for a code that extensions report; `None` for any other code.
#[must_use]
pub fn next_step_of_code(code: &str) -> Option<&'static str> {
    OF_CODES.iter().find(|(known, _)| *known == code).map(|(_, step)| *step)
}

/// The next step after this failure of this kind of work.
pub(super) fn next_step_of(error: &ReportedError, kind: WorkKind) -> Arc<str> {
    if let Some(own) = error.hint.as_deref().filter(|hint| !hint.is_empty()) {
        return own.into();
    }
    match kind {
        WorkKind::Browser => next_step_of_code(&error.code).unwrap_or(OF_OTHER_CODES),
        WorkKind::Annotations => ExpiryReason::NobodyDrew.hint(),
        WorkKind::Ask => ExpiryReason::OF_ASKS,
        WorkKind::Job => ExpiryReason::OF_JOBS,
    }
    .into()
}

/// The next step while this command waits for a dialog.
pub(super) fn answer_of_dialog(dialog: &HeldDialog, id: &CorrelationId) -> String {
    let more = match &*dialog.kind {
        "prompt" => " (with text, to fill it in)",
        "authentication" => ", username and password",
        "file_chooser" => " and paths",
        _ => "",
    };
    format!(
        "Answer it with interact({{action:\"dialog\", operation:\"accept\"}}){more}, or \
         operation:\"dismiss\"; then observe({{what:\"command_result\", correlation_id:\"{id}\", \
         wait_ms:10000}}). Unanswered, it is dismissed when the command's time ends."
    )
}

/// The next step while this command is pending.
pub(super) fn next_step_of_pending(id: &CorrelationId, kind: WorkKind) -> String {
    // A person or a job takes minutes, so a short wait would only make the caller poll.
    let wait_ms = match kind {
        WorkKind::Browser => 10_000,
        WorkKind::Annotations | WorkKind::Ask | WorkKind::Job => limits::WAIT_MAX.as_millis(),
    };
    format!(
        "observe({{what:\"command_result\", correlation_id:\"{id}\", wait_ms:{wait_ms}}}) waits for it."
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::protocol::code_literals::codes_named_in;

    #[test]
    fn every_code_of_the_extension_has_one_next_step() {
        let known: BTreeSet<_> = codes_of_extension().collect();
        assert_eq!(known.len(), OF_CODES.len());
    }

    #[test]
    fn every_way_to_expire_and_every_wait_has_a_next_step() {
        let walked: BTreeSet<_> = ExpiryReason::ALL.into_iter().map(ExpiryReason::code).collect();
        assert_eq!(walked, codes_named_in(include_str!("outcome.rs")));
        for kind in [WorkKind::Browser, WorkKind::Annotations, WorkKind::Ask, WorkKind::Job] {
            let step = next_step_of_pending(&"exec_1".into(), kind);
            assert!(step.contains("correlation_id:\"exec_1\"") && step.ends_with('.'), "{step}");
            for reason in ExpiryReason::ALL {
                assert!(reason.hint_for(kind).ends_with('.'), "{reason:?}");
            }
        }
    }

    #[test]
    fn a_failure_of_any_code_and_work_has_a_next_step_and_one_that_was_told_comes_first() {
        for code in codes_of_extension().chain(["made_up", ""]) {
            for kind in [WorkKind::Browser, WorkKind::Annotations, WorkKind::Ask, WorkKind::Job] {
                let plain = ReportedError::new(code, "why");
                let step = next_step_of(&plain, kind);
                assert!(step.ends_with('.'), "{code}: {step}");
                let empty = ReportedError { hint: Some(String::new()), ..plain.clone() };
                assert_eq!(next_step_of(&empty, kind), step);
                let told = ReportedError { hint: Some("Do this.".to_owned()), ..plain };
                assert_eq!(&*next_step_of(&told, kind), "Do this.");
            }
        }
    }
}
