//! `tabwire confirm`: a person confirms changes that scripts made.

use std::process::ExitCode;

use serde_json::json;

use super::person::{ask_yes_or_no, can_ask, consent_failure};
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::protocol::UnconfirmedWidening;
use crate::terminal::{clean, print_line};

pub(super) fn run(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let Some(home) = StateDirectory::find(&location.home()?)? else {
        return print_outcome(&[], &[], json);
    };
    let unconfirmed = home.unconfirmed()?;
    if unconfirmed.is_empty() {
        return print_outcome(&[], &[], json);
    }
    if !can_ask() {
        return Err(consent_failure(
            "nothing was confirmed: only a person can confirm, at a terminal or in the popup of the \
             Tabwire extension. `tabwire status` lists the changes",
        ));
    }
    let (mut kept, mut left) = (Vec::new(), Vec::new());
    for widening in unconfirmed {
        let widening_line = widening_line(&widening);
        if ask_yes_or_no(&format!("{widening_line}\nKeep that?"))? {
            home.confirm_widenings(std::slice::from_ref(&widening.id))?;
            kept.push(widening);
        } else {
            left.push(widening);
        }
    }
    print_outcome(&kept, &left, json)
}

/// A widening as a person sees it, and the command that takes it back.
pub(super) fn widening_line(
    UnconfirmedWidening { at, what, take_back, .. }: &UnconfirmedWidening,
) -> String {
    let back = take_back
        .as_ref()
        .map_or_else(String::new, |command| format!("; undo with `{}`", clean(command)));
    format!("{at}: let {}{back}", clean(what))
}

fn print_outcome(
    kept: &[UnconfirmedWidening],
    left: &[UnconfirmedWidening],
    json: bool,
) -> anyhow::Result<ExitCode> {
    if json {
        print_line(json!({"confirmed": kept, "unconfirmed": left}))?;
    } else if kept.is_empty() && left.is_empty() {
        print_line("There is nothing to confirm.")?;
    } else {
        print_line(format!("{} confirmed, {} not.", kept.len(), left.len()))?;
    }
    Ok(ExitCode::SUCCESS)
}
