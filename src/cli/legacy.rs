//! `tabwire legacy`: the older, polling extensions that may connect.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::commands::text;
use super::daemon_client::DaemonClient;
use super::person::{UnattendedFlag, require_consent, require_consent_to_reversible};
use crate::admission::PollerStatus;
use crate::config::DaemonLocation;
use crate::home::{LegacyApprover, LegacyMode, StateDirectory};
use crate::hub::KnockList;
use crate::protocol::is_extension_id;
use crate::terminal::{print, print_line};

#[derive(Subcommand, Debug)]
pub(super) enum LegacyCommand {
    /// List allowed and asking extensions (default)
    #[command(after_help = "Example:\n  tabwire legacy list --json")]
    List,
    /// Allow an extension, from its next request on
    #[command(
        after_help = "Examples:\n  tabwire legacy allow\n  tabwire legacy allow abcdefghijklmnopabcdefghijklmnop --unattended"
    )]
    Allow {
        /// The extension's id, 32 letters from a to p [default: choose an asking extension]
        #[arg(value_parser = extension_id)]
        id: Option<String>,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Block an extension
    #[command(after_help = "Example:\n  tabwire legacy remove abcdefghijklmnopabcdefghijklmnop")]
    Remove {
        /// Its id, 32 letters from a to p
        #[arg(value_parser = extension_id)]
        id: String,
    },
    /// Allow only the extensions that a person allows (initial mode)
    #[command(after_help = "Example:\n  tabwire legacy ask")]
    Ask(UnattendedFlag),
    /// Allow the first one that polls, until the Tabwire extension connects or you remove one
    #[command(after_help = "Example:\n  tabwire legacy auto --unattended")]
    Auto(UnattendedFlag),
    /// Allow every extension that polls
    #[command(after_help = "Example:\n  tabwire legacy any --unattended")]
    Any(UnattendedFlag),
    /// Block all of them, even those allowed before
    #[command(after_help = "Example:\n  tabwire legacy deny")]
    Deny,
}

/// What `tabwire serve` takes of this.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct LegacyFlag {
    /// Allow older, polling extensions by this mode, same as `tabwire legacy MODE`
    #[arg(long, value_name = "MODE")]
    legacy: Option<LegacyModeName>,
}

impl LegacyFlag {
    /// Sets which are let in, if the command line says so.
    pub(super) fn set(
        self,
        location: &DaemonLocation,
        consent: UnattendedFlag,
    ) -> anyhow::Result<()> {
        let Some(mode) = self.legacy else { return Ok(()) };
        set_mode(&StateDirectory::open(&location.home()?)?, mode.into(), consent)
    }
}

/// The modes, as `tabwire serve --legacy` takes them.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum LegacyModeName {
    /// The extensions that a person allows
    Ask,
    /// The first one that polls, until the Tabwire extension connects
    Auto,
    /// Every extension that polls
    Any,
    /// None
    Deny,
}

impl From<LegacyModeName> for LegacyMode {
    fn from(mode: LegacyModeName) -> Self {
        match mode {
            LegacyModeName::Ask => Self::Ask,
            LegacyModeName::Auto => Self::Auto,
            LegacyModeName::Any => Self::Any,
            LegacyModeName::Deny => Self::Deny,
        }
    }
}

fn extension_id(text: &str) -> Result<String, String> {
    if is_extension_id(text) {
        return Ok(text.to_owned());
    }
    Err("invalid extension id: use the 32 letters from a to p that chrome://extensions shows"
        .to_owned())
}

pub(super) async fn run(
    location: &DaemonLocation,
    command: Option<LegacyCommand>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let home = StateDirectory::open(&location.home()?)?;
    match command.unwrap_or(LegacyCommand::List) {
        LegacyCommand::List => {}
        LegacyCommand::Allow { id: Some(id), consent } => allow(&home, &id, consent)?,
        LegacyCommand::Allow { id: None, consent } => {
            let id = choose(&status(&home, location).await?)?;
            allow(&home, &id, consent)?;
        }
        LegacyCommand::Remove { id } => {
            if !home.legacy().remove(&id)? && !json {
                print_line(format!("No rule named {id}, so nothing changed."))?;
            }
        }
        LegacyCommand::Ask(consent) => set_mode(&home, LegacyMode::Ask, consent)?,
        LegacyCommand::Auto(consent) => set_mode(&home, LegacyMode::Auto, consent)?,
        LegacyCommand::Any(consent) => set_mode(&home, LegacyMode::Any, consent)?,
        LegacyCommand::Deny => home.legacy().set_mode(LegacyMode::Deny)?,
    }
    let status = status(&home, location).await?;
    if json {
        print_line(serde_json::to_string_pretty(&status)?)?;
    } else {
        lines(&status).into_iter().try_for_each(print_line)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lets an extension in, if a person agrees.
fn allow(home: &StateDirectory, id: &str, consent: UnattendedFlag) -> anyhow::Result<()> {
    let known = home.legacy().read()?.approver_of(id);
    // The consent of a person replaces the admission by `auto`, which ends with that mode.
    if known != Some(LegacyApprover::Person) {
        let what = format!("the older extension {id} run what agents ask for in its browser");
        let take_back = format!("tabwire legacy remove {id}");
        require_consent_to_reversible(home, &what, &take_back, consent.unattended)?;
        home.legacy().allow(id)?;
    }
    Ok(())
}

/// Sets which are let in, if a person agrees to what lets in more than before.
fn set_mode(
    home: &StateDirectory,
    mode: LegacyMode,
    consent: UnattendedFlag,
) -> anyhow::Result<()> {
    let before = home.legacy().read()?.mode;
    if let Some(what) = widening(before, mode) {
        require_consent(home, what, consent.unattended)?;
    }
    // The person agreed to the step from `before`, so the mode must still be `before`.
    if !home.legacy().replace_mode(before, mode)? {
        bail!("another command changed the mode at the same time; try again");
    }
    Ok(())
}

/// The extensions that a change of the mode lets in, as it reads after "Let ".
const fn widening(before: LegacyMode, after: LegacyMode) -> Option<&'static str> {
    match (before, after) {
        (LegacyMode::Any, _) | (_, LegacyMode::Deny) => None,
        (_, LegacyMode::Any) => Some("every extension that polls run what agents ask for"),
        (LegacyMode::Ask | LegacyMode::Deny, LegacyMode::Auto) => {
            Some("the first extension that polls run what agents ask for")
        }
        (LegacyMode::Deny, LegacyMode::Ask) => {
            Some("the older extensions in again that were let in before")
        }
        (LegacyMode::Ask | LegacyMode::Auto, LegacyMode::Ask)
        | (LegacyMode::Auto, LegacyMode::Auto) => None,
    }
}

/// Who is let in and who asks: the running daemon knows both, the state directory the first.
async fn status(home: &StateDirectory, location: &DaemonLocation) -> anyhow::Result<Value> {
    if home.has_daemon()?
        && let Ok(daemon) = DaemonClient::of(location)
        && let Ok(answer) = daemon.get("/api/status").await
    {
        let status = answer.ok()?["older_extensions"].take();
        if status.is_object() {
            return Ok(status);
        }
    }
    Ok(serde_json::to_value(PollerStatus::of(home.legacy().read()?, KnockList::default()))?)
}

/// One of those that ask, by the number that a person gives.
fn choose(status: &Value) -> anyhow::Result<String> {
    let asking_ids = asking_ids(status);
    if asking_ids.is_empty() {
        bail!(
            "no older extension asks to connect. Open its browser while the daemon runs (`tabwire \
             serve`), or name the id that chrome://extensions shows"
        );
    }
    let list: Vec<_> = asking_ids.iter().map(|id| format!("tabwire legacy allow {id}")).collect();
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        bail!("name the older extension to allow:\n  {}", list.join("\n  "));
    }
    for line in lines(status) {
        print_line(line)?;
    }
    if let [only] = asking_ids.as_slice() {
        return Ok(only.clone());
    }
    for (number, id) in asking_ids.iter().enumerate() {
        print_line(format!("  {}  {id}", number + 1))?;
    }
    print(format_args!("Allow which one? Type a number, or press Enter for none: "))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    match picked(&answer, &asking_ids) {
        Some(id) => Ok(id.clone()),
        None => bail!("you chose none; nothing was changed"),
    }
}

fn picked<'a>(answer: &str, asking_ids: &'a [String]) -> Option<&'a String> {
    asking_ids.get(answer.trim().parse::<usize>().ok()?.checked_sub(1)?)
}

/// The ids of those that ask, oldest first.
pub(super) fn asking_ids(status: &Value) -> Vec<String> {
    ids(&status["asking"], "extension_id")
}

/// The ids of those that ask while all are switched off.
pub(super) fn switched_off_ids(status: &Value) -> Vec<String> {
    ids(&status["switched_off"], "extension_id")
}

fn ids(list: &Value, field: &str) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.map(|one| text(&one[field]).to_owned()).collect()
}

fn lines(status: &Value) -> Vec<String> {
    let mut lines = vec![
        match text(&status["mode"]) {
            "auto" => "auto: the first extension that polls is let in, until the Tabwire extension connects.",
            "any" => "any: every extension that polls is let in; `tabwire legacy ask` ends that.",
            "deny" => "deny: no extension that polls is let in; `tabwire legacy ask` lets in those that a person allows.",
            _ => "ask: extensions that poll are let in if a person allows them.",
        }
        .to_owned(),
    ];
    lines.extend(rows(status));
    if lines.len() > 1 {
        lines.push(
            "\nSuch an extension holds no key: another one that forges its headers could take its \
             place. The Tabwire extension (`tabwire install`) proves itself."
                .to_owned(),
        );
    }
    lines
}

/// A line for each that is let in, was, or asks.
pub(super) fn rows(status: &Value) -> Vec<String> {
    let array = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    let is_off = text(&status["mode"]) == "deny";
    let let_in = array("let_in").into_iter().map(|approval| {
        let id = text(&approval["id"]).to_owned();
        match text(&approval["by"]) {
            _ if is_off => {
                format!("  off     {id}  allowed, and all are switched off: `tabwire legacy ask` lets it in")
            }
            "auto" => format!(
                "  let in  {id}  by no person; `tabwire legacy remove {id}` takes that back"
            ),
            _ => format!("  let in  {id}  by a person"),
        }
    });
    let ended = array("ended").into_iter().map(|id| {
        let id = text(&id).to_owned();
        format!(
            "  ended   {id}  when the Tabwire extension connected; `tabwire legacy allow {id}` lets \
             it in"
        )
    });
    let asks = array("asking").into_iter().map(|knock| {
        let id = text(&knock["extension_id"]).to_owned();
        let version = text(&knock["extension_version"]).to_owned();
        format!(
            "  asks    {id}  version {version}, last at {}; if it is yours: `tabwire legacy allow {id}`",
            text(&knock["last_seen"])
        )
    });
    let known = ids(&status["let_in"], "id");
    let off = switched_off_ids(status).into_iter().filter(|id| !known.contains(id)).map(|id| {
        format!("  off     {id}  asks, and all are switched off: `tabwire legacy ask` ends that")
    });
    let nameless = status["nameless"].as_object().map(|poller| {
        format!(
            "  too old {}  polls and does not say which extension it is, last at {}: update it, or \
             run `tabwire install`",
            poller.get("extension_version").map_or("", text),
            poller.get("last_seen").map_or("", text)
        )
    });
    let mut rows: Vec<_> = let_in.chain(ended).chain(asks).chain(off).chain(nameless).collect();
    if let Some(more) = status["not_shown"].as_u64().filter(|more| *more > 0) {
        rows.push(format!("  asks    others, {more} times: too many ask at once to list them"));
    }
    rows
}

/// The ids of those that ask the running daemon, if one runs.
pub(super) async fn asking_now(location: &DaemonLocation) -> anyhow::Result<Vec<String>> {
    let Some(home) = StateDirectory::find(&location.home()?)? else { return Ok(Vec::new()) };
    Ok(asking_ids(&status(&home, location).await?))
}

/// Asks a person at the terminal about each older extension that asks to be let in. Those that
/// still ask then: nobody is at a terminal, or does not want them.
pub(super) async fn offer_admission(location: &DaemonLocation) -> anyhow::Result<Vec<String>> {
    let asking_ids = asking_now(location).await?;
    let home = StateDirectory::open(&location.home()?)?;
    let consent = UnattendedFlag { unattended: false };
    Ok(asking_ids.into_iter().filter(|id| allow(&home, id, consent).is_err()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_lets_in_more_needs_a_person() {
        use LegacyMode::{Any, Ask, Auto, Deny};
        for (before, after) in [(Ask, Auto), (Ask, Any), (Auto, Any), (Deny, Ask), (Deny, Any)] {
            assert!(widening(before, after).is_some(), "{before:?} {after:?}");
        }
        for (before, after) in [(Ask, Ask), (Auto, Ask), (Any, Auto), (Any, Ask), (Auto, Deny)] {
            assert!(widening(before, after).is_none(), "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_number_picks_one_of_those_that_ask_and_nothing_else_does() {
        let asking_ids = ["a".to_owned(), "b".to_owned()];
        assert_eq!(picked("2\n", &asking_ids), Some(&asking_ids[1]));
        for answer in ["", "\n", "0", "3", "b", "1 2", "-1"] {
            assert_eq!(picked(answer, &asking_ids), None, "{answer:?}");
        }
    }

    #[test]
    fn who_asks_and_who_was_let_in_by_nobody_stands_with_the_command_for_it() {
        let status = json!({
            "mode": "ask", "let_in": [{"id": "aa", "by": "auto"}, {"id": "bb", "by": "person"}],
            "ended": ["cc"], "asking": [{"extension_id": "dd", "extension_version": "5.6.0"}],
            "not_shown": 3,
        });
        let all = lines(&status).join("\n");
        for part in [
            "legacy remove aa",
            "bb  by a person",
            "legacy allow cc",
            "legacy allow dd",
            "others, 3 times",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(rows(&json!({"mode": "ask"})).is_empty());
    }

    #[test]
    fn of_one_that_is_switched_off_or_too_old_the_next_step_stands_with_it() {
        let off = json!({
            "mode": "deny", "let_in": [{"id": "aa", "by": "person"}], "asking": [],
            "switched_off": [{"extension_id": "aa"}, {"extension_id": "bb"}],
            "nameless": {"extension_version": "5.0.0", "last_seen": "now"},
        });
        let [let_in, asks, too_old] = &*rows(&off) else { panic!("{:?}", rows(&off)) };
        assert!(
            let_in.contains("aa  allowed, and all are switched off: `tabwire legacy ask`"),
            "{let_in}"
        );
        assert!(asks.contains("bb") && asks.contains("`tabwire legacy ask`"), "{asks}");
        assert!(too_old.contains("5.0.0") && too_old.contains("`tabwire install`"), "{too_old}");
        assert!(!rows(&off).join("").contains("legacy allow"), "that would not help");
    }
}
