//! Whether a person agrees: what widens the rights of agents is asked at a terminal, and is noted
//! for a person to confirm where `--unattended` stands instead.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::Args;

use super::{ExitFailure, NEEDS_PERSON};
use crate::home::StateDirectory;
use crate::hub::ClockSample;
use crate::terminal::clean;

/// The flag of every command that can widen what agents may do.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct UnattendedFlag {
    /// Make the change without a question; Tabwire asks a person to confirm it later
    #[arg(long)]
    pub(super) unattended: bool,
}

/// Returns if `what` may be allowed: a person at the terminal agrees, or the command line says
/// `--unattended` and the widening is noted for a person to confirm. Called before the change is
/// made, and only for a change that widens; narrowing needs nobody.
///
/// `what` reads after "Let ", for example `agents use example.com`.
///
/// # Errors
///
/// Nobody agrees, or it cannot be noted: the change must not be made.
pub(super) fn require_consent(
    home: &StateDirectory,
    what: &str,
    unattended: bool,
) -> anyhow::Result<()> {
    widen(home, what, None, unattended)
}

/// The same for a change that the command `take_back` takes back: a person is told of it.
///
/// # Errors
///
/// See [`require_consent`].
pub(super) fn require_consent_to_reversible(
    home: &StateDirectory,
    what: &str,
    take_back: &str,
    unattended: bool,
) -> anyhow::Result<()> {
    widen(home, what, Some(take_back), unattended)
}

fn widen(
    home: &StateDirectory,
    what: &str,
    take_back: Option<&str>,
    unattended: bool,
) -> anyhow::Result<()> {
    if unattended {
        // The note precedes the change: a change without a note would never be shown to a person.
        home.note_widening(what, take_back, ClockSample::now().system)?;
        return Ok(());
    }
    if !can_ask() {
        return Err(nobody_to_ask(what));
    }
    if ask_yes_or_no(&format!("Let {}?", clean(what)))? {
        return Ok(());
    }
    Err(consent_failure("you did not agree, so nothing was changed"))
}

/// Whether there is a terminal to ask at. The question goes to standard error, since standard output
/// may go to a file or to `jq`.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks at the terminal; anything but a yes is a no.
pub(super) fn ask_yes_or_no(question: &str) -> io::Result<bool> {
    write!(io::stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

/// The error where nobody can be asked whether `what` may be allowed.
pub(super) fn nobody_to_ask(what: &str) -> anyhow::Error {
    consent_failure(&format!(
        "nothing was changed: this would let {}, and a person has to agree. Run the command in a \
         terminal, or make the change in the popup of the Tabwire extension if the popup offers \
         it. A script can add --unattended: the change then takes effect, and the extension's icon, \
         its popup and `tabwire status` show it until a person confirms it",
        clean(what)
    ))
}

pub(super) fn consent_failure(message: &str) -> anyhow::Error {
    ExitFailure { code: NEEDS_PERSON, message: message.to_owned() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        for yes in ["y\n", "Y\n", " yes \r\n"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "yess\n", "yes please\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
