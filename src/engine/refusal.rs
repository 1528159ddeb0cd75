//! Why a call is refused. A refused call has changed nothing, so it is safe to make it again.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::browser_names::PinRefusal;
use super::leases::LeaseKind;
use crate::lifecycle::{CommandOutcome, limits, next_step_of_code};
use crate::protocol::{BrowserId, BrowserTab, CorrelationId, TabId, WorkKind};

/// A refused call, under an id of its own.
#[derive(Clone, Debug)]
pub struct CallRefusal {
    /// The id of its entry among the client's failures.
    pub id: CorrelationId,
    /// Why.
    pub why: RefusalReason,
}

/// Why a call is refused.
#[derive(Clone, Debug)]
pub enum RefusalReason {
    /// The client has reached its limit of queued commands (row 2).
    QueueFull {
        /// How many are queued.
        queued: usize,
        /// When it is worth trying again.
        retry_after: Duration,
    },
    /// The client, or all clients of its owner together, used up the calls of this minute.
    RateLimited {
        /// When the next call is accepted.
        retry_after: Duration,
    },
    /// The client has reached its limit of waiting calls.
    TooManyWaiters {
        /// How many wait.
        waiters: usize,
    },
    /// The client has reached its limit of waits for drawings, or of jobs.
    TooMany {
        /// Which of the two.
        kind: WorkKind,
        /// How many there are.
        count: usize,
    },
    /// Another client holds the tab.
    TabInUse {
        /// The tab.
        tab: TabId,
        /// The name of the client; `None`: it belongs to another owner.
        holder: Option<Arc<str>>,
        /// For how long it has held the tab.
        held: Duration,
        /// How long after its last act there it holds the tab at most.
        idle_limit: Duration,
        /// How it came by the tab.
        kind: LeaseKind,
    },
    /// Several browsers are connected and none was named.
    AmbiguousBrowser {
        /// The connected browsers.
        browsers: Vec<BrowserChoice>,
    },
    /// The browser that was named, or was the client's current one, is not there.
    BrowserGone {
        /// The browser that was asked for.
        wanted: String,
        /// The connected browsers.
        browsers: Vec<BrowserChoice>,
        /// Why none is there, if that is so.
        absence: Option<String>,
    },
    /// The client is pinned to a browser, which it cannot use, or which the call does not name.
    Pinned(PinRefusal),
    /// The tab that was named, or was the client's current one, is not there.
    TabGone {
        /// The tab that was asked for.
        wanted: TabId,
        /// The label of the browser; `None`: no browser is connected.
        browser: Option<String>,
        /// The tabs of the browser.
        tabs: Vec<BrowserTab>,
    },
    /// The client uses several tabs, and the call names none.
    WhichTab {
        /// The tabs that it has used of late.
        tabs: Vec<TabChoice>,
    },
    /// The browser's extension does not know the action.
    UnsupportedAction {
        /// The action's name.
        action: &'static str,
        /// The label of the browser.
        browser: String,
        /// The extension's version.
        extension_version: String,
        /// Whether the extension is an old one, which polls.
        polls: bool,
    },
    /// The person does not let the browser's extension, one that polls, be controlled.
    ControlSwitchedOff {
        /// The label of the browser.
        browser: String,
    },
    /// The browser's extension, one that polls, cannot be told in which tab to act.
    NoChoiceOfTab {
        /// The tab that was asked for.
        wanted: TabId,
        /// The label of the browser.
        browser: String,
    },
    /// The owner's clients do not see every tab, the call names none, and its client uses none.
    NoTab {
        /// The label of the browser; `None`: no browser is connected.
        browser: Option<String>,
    },
    /// The owner's clients do not see every tab, and the browser's extension, an old one, does not
    /// keep commands to the tabs that they may see.
    ScopeNotKept {
        /// The label of the browser.
        browser: String,
    },
    /// The program is on another machine, and the browser's extension, an old one, does not ask the person
    /// about each site.
    FarWordsNotKept {
        /// The label of the browser.
        browser: String,
    },
    /// No tab of the browser is known.
    NoTabKnown {
        /// The label of the browser.
        browser: String,
        /// Whether its extension, one that polls, tells of none.
        polls: bool,
    },
    /// The tab is in a private window, and what was called for leaves a trace of its page.
    NotInPrivate {
        /// The tab.
        tab: TabId,
    },
    /// The tab shows nothing that the person could do a step on.
    NoPageToHandOver {
        /// The tab.
        tab: TabId,
    },
    /// The call opens one of Tabwire's own pages.
    TabwirePage,
    /// The person has stopped everything in the browser.
    StoppedByUser {
        /// The label of the browser.
        browser: String,
    },
    /// The extension's files on disk differ from the files that Tabwire wrote.
    ExtensionChanged {
        /// The label of the browser.
        browser: String,
    },
    /// The idempotency key belongs to a different call.
    KeyReused {
        /// That command.
        id: CorrelationId,
    },
    /// The journal cannot be written. The daemon accepts no command that it could lose in a crash.
    StorageUnavailable {
        /// Why.
        why: Arc<str>,
    },
    /// The owner was removed, or suspended, since the call came.
    OwnerRemoved,
    /// The call came later than its client waits for it, which the machine or the way to it slept through.
    TooLate,
    /// The daemon is about to end.
    ShuttingDown,
}

/// A browser to choose.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct BrowserChoice {
    /// What to name it by.
    pub browser: BrowserId,
    /// What a person would call it; can be named too.
    pub label: String,
}

/// A tab to choose.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct TabChoice {
    /// The browser that it is in, where the tabs are in several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<BrowserId>,
    /// What a person calls that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_label: Option<String>,
    /// The tab.
    #[serde(flatten)]
    pub tab: BrowserTab,
}

impl RefusalReason {
    /// The word for a browser whose extension was changed.
    pub(super) const EXTENSION_CHANGED: &str = "extension_changed";

    /// The word for a page of Tabwire's own.
    const TABWIRE_PAGE: &str = "tabwire_page";

    /// The word for an extension that does not keep commands to the tabs inside.
    pub(super) const SCOPE_NOT_KEPT: &str = "scope_not_kept";

    /// The next step where a tab shows no page for the person's step.
    const OPEN_PAGE_FIRST: &str = "Open the page with interact({action:\"navigate\", url}) first, or \
                                   name another tab in `tab_id`.";

    /// The next step where an old extension may not be controlled.
    const SWITCH_CONTROL_ON: &str =
        "Ask the person to switch AI control on in the extension's popup.";

    /// The cause where the calls of a minute are used up.
    const TOO_MANY_CALLS: &str = "This client, or all clients of its owner together, made more calls than \
                                  the limit for a minute";

    /// The word for a call that came later than its client waits for it.
    const TOO_LATE: &str = "too_late";

    /// The cause there.
    pub const CAME_TOO_LATE: &str = "The call reached the daemon too late, after a sleep of one of the \
                                     computers or a broken connection, and was not carried out";

    /// The next step there.
    pub const CALL_AGAIN: &str = "Nothing has run. Call again if it is still wanted.";

    /// The cause where a program's owner is listed no more.
    const OWNER_REMOVED: &str = "The user has removed or disconnected the owner of this program, so it may not use the browser";

    /// The next step there.
    const ASK_FOR_OWNER: &str = "Ask the person: in the Tabwire popup, or with `tabwire owner allow NAME`, \
         they let in one that they disconnected; `tabwire owner add NAME` adds one.";

    /// How the person renews it.
    const RENEW_EXTENSION: &str = "Ask the person to install this version's extension with \
         `tabwire install` and to reload it in the browser.";

    /// How the person restores it.
    pub(super) const RESTORE_EXTENSION: &str = "Ask the person to run `tabwire install`, which writes \
         the extension again, and to reload Tabwire at chrome://extensions.";

    /// The same in a sentence.
    pub(super) fn extension_changed(browser: &str) -> String {
        format!(
            "The files of the Tabwire extension of `{browser}` were changed since Tabwire wrote them, \
             so the extension gets no commands"
        )
    }

    /// The next step where the browser's extension is an old one.
    pub(super) const NEEDS_OWN_EXTENSION: &str = "Ask the person to run `tabwire install` and to load \
         and pair the Tabwire extension, which knows every action; observe({what:\"browsers\"}) lists \
         the actions that the old extension knows.";

    /// What an old extension of this version cannot do, in a sentence.
    pub(super) fn too_old_for(action: &str, extension_version: &str) -> String {
        format!(
            "The extension in this browser is an old one (version {extension_version}) that does not \
             know `{action}`"
        )
    }

    /// The code that programs branch on.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::QueueFull { .. } => "queue_full",
            Self::RateLimited { .. } => "rate_limited",
            Self::TooManyWaiters { .. } => "too_many_waiters",
            Self::TooMany { kind: WorkKind::Job, .. } => "too_many_jobs",
            Self::TooMany { kind: WorkKind::Ask, .. } => "too_many_asks",
            Self::TooMany { .. } => "too_many_annotations",
            Self::TabInUse { .. } => "tab_in_use",
            Self::AmbiguousBrowser { .. } => "ambiguous_browser",
            Self::BrowserGone { .. } => "browser_gone",
            Self::Pinned(why) => why.code(),
            Self::TabGone { .. } => "tab_gone",
            Self::WhichTab { .. } => "which_tab",
            Self::UnsupportedAction { .. } => "unsupported_action",
            Self::ControlSwitchedOff { .. } => "control_switched_off",
            Self::NoChoiceOfTab { .. } => "no_choice_of_tab",
            Self::NoTab { .. } => "no_tab",
            Self::ScopeNotKept { .. } => Self::SCOPE_NOT_KEPT,
            Self::FarWordsNotKept { .. } => "far_words_not_kept",
            Self::NoTabKnown { .. } => "no_tab_known",
            Self::NotInPrivate { .. } => CommandOutcome::NOT_IN_PRIVATE,
            Self::NoPageToHandOver { .. } => "no_page_to_hand_over",
            Self::TabwirePage => Self::TABWIRE_PAGE,
            Self::StoppedByUser { .. } => CommandOutcome::STOPPED_BY_USER,
            Self::ExtensionChanged { .. } => Self::EXTENSION_CHANGED,
            Self::KeyReused { .. } => "idempotency_key_reused",
            Self::StorageUnavailable { .. } => "storage_unavailable",
            Self::OwnerRemoved => "not_allowed",
            Self::TooLate => Self::TOO_LATE,
            Self::ShuttingDown => "shutting_down",
        }
    }

    /// The cause, in a sentence.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::QueueFull { queued, .. } => {
                format!(
                    "This client has {queued} queued commands already, so this one was rejected"
                )
            }
            Self::RateLimited { .. } => Self::TOO_MANY_CALLS.to_owned(),
            Self::TooManyWaiters { waiters } => {
                format!("This client has {waiters} waiting calls already")
            }
            Self::TooMany { kind: WorkKind::Job, count } => {
                format!("This client has {count} unfinished jobs already, so this one was rejected")
            }
            Self::TooMany { kind: WorkKind::Ask, count } => {
                format!("The person has {count} open questions of agents already")
            }
            Self::TooMany { count, .. } => {
                format!("This client has {count} waits for drawings already")
            }
            Self::TabInUse { tab, holder, held, kind, .. } => {
                let holder = holder.as_deref().unwrap_or("another owner's program");
                let (how, ago) = (held_by(*kind), held.as_secs());
                format!("Tab {tab} is in use: {holder} {how} and has held it for {ago} s")
            }
            Self::AmbiguousBrowser { browsers } => {
                format!("{} browsers are connected and none was named", browsers.len())
            }
            Self::BrowserGone { wanted, .. } => format!("There is no browser `{wanted}`"),
            Self::Pinned(why) => why.message(),
            Self::TabGone { wanted, browser, .. } => no_such_tab(*wanted, browser.as_deref()),
            Self::WhichTab { tabs } => too_many_used(tabs.len()),
            Self::UnsupportedAction { action, extension_version, polls: true, .. } => {
                Self::too_old_for(action, extension_version)
            }
            Self::UnsupportedAction { action, browser, extension_version, polls: false } => {
                format!(
                    "The extension in `{browser}` (version {extension_version}) does not know `{action}`"
                )
            }
            Self::ControlSwitchedOff { browser } => {
                format!("Control is switched off in the extension of `{browser}`")
            }
            Self::NoChoiceOfTab { wanted, browser } => format!(
                "The extension of `{browser}` is an old one: it acts in the tab that it follows and \
                 cannot be sent to tab {wanted}"
            ),
            Self::NoTab { browser } => no_tab_of_its_own(browser.as_deref()),
            Self::ScopeNotKept { browser } => hides_no_tabs(browser),
            Self::FarWordsNotKept { browser } => asks_about_no_site(browser),
            Self::NoTabKnown { browser, polls: true } => {
                format!("The extension of `{browser}` is an old one that does not report its tabs")
            }
            Self::NoTabKnown { browser, .. } => format!("No tab of `{browser}` is known"),
            Self::NotInPrivate { tab } => no_question_of_private(*tab),
            Self::NoPageToHandOver { tab } => format!("Tab {tab} shows no page of the web"),
            Self::TabwirePage => "Agents may not use Tabwire's own pages".to_owned(),
            Self::StoppedByUser { browser } => {
                format!("The person has stopped everything that agents do in `{browser}`")
            }
            Self::ExtensionChanged { browser } => Self::extension_changed(browser),
            Self::KeyReused { id } => {
                format!("This idempotency_key belongs to a different call already, command {id}")
            }
            Self::StorageUnavailable { why } => {
                format!("The journal cannot be written, so new commands are rejected: {why}")
            }
            Self::OwnerRemoved => Self::OWNER_REMOVED.to_owned(),
            Self::TooLate => Self::CAME_TOO_LATE.to_owned(),
            Self::ShuttingDown => "The daemon is shutting down".to_owned(),
        }
    }

    /// The next step, in a sentence.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        let fixed = match self {
            Self::QueueFull { .. } => {
                "Wait for results with observe({what:\"command_result\", wait_ms}), or cancel \
                 a command that you do not need; then call again."
            }
            Self::RateLimited { .. } => {
                "Use wait_ms instead of polling; call again after retry_after_ms."
            }
            Self::TooManyWaiters { .. } => {
                "Wait until one of the waiting calls returns, or call without wait_ms."
            }
            Self::TooMany { .. } => {
                "Wait until one of the commands in observe({what:\"pending_commands\"}) ends, or \
                 cancel one; then call again."
            }
            Self::TabInUse { idle_limit, .. } => {
                return format!(
                    "Open a tab of your own with interact({{action:\"tab_open\", url}}). This one is \
                     free at the latest {} s after that program's last act in it; the person can \
                     free it in the Tabwire popup. Looking at it needs no lease.",
                    idle_limit.as_secs(),
                )
                .into();
            }
            Self::AmbiguousBrowser { .. } => "Name one of `browsers` in the parameter `browser`.",
            Self::BrowserGone { absence: Some(absence), .. } => return absence.clone().into(),
            Self::BrowserGone { .. } => "Name one of `browsers` in the parameter `browser`.",
            Self::Pinned(why) => why.hint(),
            Self::TabGone { .. } => "Name one of `tabs` in the parameter `tab_id`.",
            Self::WhichTab { .. } => {
                "Name your own one of `tabs` in the parameter `tab_id`; a ref as the target names its \
                 tab, too."
            }
            Self::UnsupportedAction { polls: true, .. } => Self::NEEDS_OWN_EXTENSION,
            Self::UnsupportedAction { polls: false, .. } => {
                "Install this version's extension with `tabwire install` and reload it in the browser."
            }
            Self::ControlSwitchedOff { .. } => Self::SWITCH_CONTROL_ON,
            Self::NoChoiceOfTab { .. } => {
                "Leave `tab_id` out to act in the tab that it follows, or install the Tabwire extension \
                 (`tabwire install` says how)."
            }
            Self::NoTab { .. } => {
                "Open a tab with interact({action:\"tab_open\", url}), or name one of \
                 observe({what:\"tabs\"}) in the parameter `tab_id`."
            }
            Self::ScopeNotKept { .. } | Self::FarWordsNotKept { .. } => Self::RENEW_EXTENSION,
            Self::NoTabKnown { polls: true, .. } => {
                "Ask the page with interact({action:\"page_info\"}), and the browser with \
                 interact({action:\"tab_list\"})."
            }
            Self::NoTabKnown { polls: false, .. } => {
                "Open a tab with interact({action:\"tab_open\", url}); observe({what:\"tabs\"}) lists \
                 the tabs of all browsers."
            }
            Self::NoPageToHandOver { .. } => Self::OPEN_PAGE_FIRST,
            Self::TabwirePage | Self::StoppedByUser { .. } | Self::NotInPrivate { .. } => {
                next_step_of_code(self.code()).unwrap_or_default()
            }
            Self::ExtensionChanged { .. } => Self::RESTORE_EXTENSION,
            Self::KeyReused { .. } => "Use a new key for a new call, or leave the key out.",
            Self::StorageUnavailable { .. } => {
                "Free space on the disk of the state directory, or make it writable; then call \
                 again. `tabwire doctor` says where it is."
            }
            Self::OwnerRemoved => Self::ASK_FOR_OWNER,
            Self::TooLate => Self::CALL_AGAIN,
            Self::ShuttingDown => "Call again in a moment.",
        };
        fixed.into()
    }

    /// When it is worth trying again, if time is all it takes.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::QueueFull { retry_after, .. } | Self::RateLimited { retry_after } => {
                Some(*retry_after)
            }
            Self::TooManyWaiters { .. }
            | Self::TooMany { .. }
            | Self::TabInUse { .. }
            | Self::AmbiguousBrowser { .. }
            | Self::BrowserGone { .. }
            | Self::Pinned(_)
            | Self::TabGone { .. }
            | Self::WhichTab { .. }
            | Self::UnsupportedAction { .. }
            | Self::ControlSwitchedOff { .. }
            | Self::NoChoiceOfTab { .. }
            | Self::NoTab { .. }
            | Self::ScopeNotKept { .. }
            | Self::FarWordsNotKept { .. }
            | Self::NoTabKnown { .. }
            | Self::NotInPrivate { .. }
            | Self::NoPageToHandOver { .. }
            | Self::TabwirePage
            | Self::StoppedByUser { .. }
            | Self::ExtensionChanged { .. }
            | Self::KeyReused { .. }
            | Self::StorageUnavailable { .. }
            | Self::OwnerRemoved
            | Self::TooLate
            | Self::ShuttingDown => None,
        }
    }
}

/// How the holder of a tab came to hold it.
const fn held_by(kind: LeaseKind) -> &'static str {
    match kind {
        LeaseKind::Opened => "opened it",
        LeaseKind::Borrowed => "acts in it",
    }
}

/// The owner's clients see their own tabs, and the call is for none.
fn no_tab_of_its_own(browser: Option<&str>) -> String {
    let where_to = browser.map_or_else(
        || "no browser is connected".to_owned(),
        |browser| format!("has none in use in `{browser}`"),
    );
    format!("This program does not see every tab, and {where_to}")
}

/// The owner's clients see their own tabs, and an old extension would show all.
fn no_question_of_private(tab: TabId) -> String {
    format!("Tab {tab} is in a private window, of which nothing may stay: no question shows it")
}

fn asks_about_no_site(browser: &str) -> String {
    format!(
        "This program is on another machine, and the extension of `{browser}` is an old one that cannot ask \
         the user about each site"
    )
}

fn hides_no_tabs(browser: &str) -> String {
    format!(
        "This program does not see every tab, and the extension of `{browser}` is an old one that \
         cannot hide the others"
    )
}

fn no_such_tab(wanted: TabId, browser: Option<&str>) -> String {
    match browser {
        Some(browser) => format!("There is no tab {wanted} in `{browser}`"),
        None => format!("There is no tab {wanted}"),
    }
}

/// A client that uses several tabs has to name one.
fn too_many_used(tabs: usize) -> String {
    let minutes = limits::TABS_TOLD_APART.as_secs() / 60;
    format!(
        "This client has used {tabs} tabs in the last {minutes} minutes, and this call names none"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::protocol::code_literals::codes_named_in;

    /// One of each.
    fn all() -> Vec<RefusalReason> {
        let (browsers, browser, tabs) = (Vec::new(), "Test".to_owned(), Vec::new());
        let (retry_after, wanted) = (Duration::from_secs(1), TabId(7));
        let gone = |absence| RefusalReason::BrowserGone {
            wanted: "any".to_owned(),
            browsers: Vec::new(),
            absence,
        };
        let tab_known = |polls| RefusalReason::NoTabKnown { browser: "Test".to_owned(), polls };
        let in_use = |kind, holder: Option<&str>| RefusalReason::TabInUse {
            tab: wanted,
            holder: holder.map(Into::into),
            held: Duration::from_secs(9),
            idle_limit: Duration::from_secs(600),
            kind,
        };
        vec![
            RefusalReason::QueueFull { queued: 5, retry_after },
            RefusalReason::RateLimited { retry_after },
            RefusalReason::TooManyWaiters { waiters: 64 },
            RefusalReason::TooMany { kind: WorkKind::Job, count: 20 },
            RefusalReason::TooMany { kind: WorkKind::Ask, count: 20 },
            RefusalReason::TooMany { kind: WorkKind::Annotations, count: 20 },
            in_use(LeaseKind::Opened, Some("Claude Code")),
            in_use(LeaseKind::Borrowed, None),
            RefusalReason::AmbiguousBrowser { browsers },
            gone(None),
            gone(Some("No browser has connected.".to_owned())),
            RefusalReason::Pinned(PinRefusal::Away { name: browser.clone() }),
            RefusalReason::Pinned(PinRefusal::Unknown { name: browser.clone() }),
            RefusalReason::Pinned(PinRefusal::Other {
                name: browser.clone(),
                wanted: "home".to_owned(),
            }),
            RefusalReason::TabGone { wanted, browser: Some(browser.clone()), tabs },
            RefusalReason::TabGone { wanted, browser: None, tabs: Vec::new() },
            RefusalReason::WhichTab { tabs: Vec::new() },
            RefusalReason::UnsupportedAction {
                action: "dom",
                browser: browser.clone(),
                extension_version: "0.1.0".to_owned(),
                polls: false,
            },
            RefusalReason::UnsupportedAction {
                action: "click",
                browser: browser.clone(),
                extension_version: "5.6.0".to_owned(),
                polls: true,
            },
            RefusalReason::ControlSwitchedOff { browser: browser.clone() },
            RefusalReason::NoChoiceOfTab { wanted, browser: browser.clone() },
            RefusalReason::NoTab { browser: Some(browser.clone()) },
            RefusalReason::NoTab { browser: None },
            RefusalReason::ScopeNotKept { browser: browser.clone() },
            RefusalReason::FarWordsNotKept { browser: browser.clone() },
            tab_known(true),
            tab_known(false),
            RefusalReason::NotInPrivate { tab: TabId(7) },
            RefusalReason::NoPageToHandOver { tab: TabId(7) },
            RefusalReason::TabwirePage,
            RefusalReason::StoppedByUser { browser: browser.clone() },
            RefusalReason::ExtensionChanged { browser },
            RefusalReason::KeyReused { id: "exec_1".into() },
            RefusalReason::StorageUnavailable { why: "full".into() },
            RefusalReason::OwnerRemoved,
            RefusalReason::TooLate,
            RefusalReason::ShuttingDown,
        ]
    }

    #[test]
    fn every_refusal_has_a_next_step() {
        let walked: BTreeSet<_> = all().iter().map(RefusalReason::code).collect();
        let unwalked = &codes_named_in(include_str!("refusal.rs")) - &walked;
        assert!(unwalked.is_empty(), "{unwalked:?}");
        for refusal in all() {
            let (hint, message) = (refusal.hint(), refusal.message());
            assert!(hint.len() > 10 && hint.ends_with('.'), "{refusal:?}: {hint}");
            assert!(!message.is_empty() && !message.ends_with('.'), "{refusal:?}: {message}");
        }
    }
}
