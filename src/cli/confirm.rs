//! `tabwire confirm`: a person keeps what was widened without one.

use std::process::ExitCode;

use serde_json::json;

use super::person::{agrees, has_person, refused};
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::protocol::UnconfirmedWidening;
use crate::terminal::{clean, say};

pub(super) fn run(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let Some(home) = StateDirectory::find(&location.home()?)? else { return tell(&[], &[], json) };
    let unconfirmed = home.unconfirmed()?;
    if unconfirmed.is_empty() {
        return tell(&[], &[], json);
    }
    if !has_person() {
        return Err(refused(
            "nothing was confirmed: a person confirms at a terminal, or in the popup of the Tabwire \
             extension. `tabwire status` lists what waits",
        ));
    }
    let (mut kept, mut left) = (Vec::new(), Vec::new());
    for widening in unconfirmed {
        let line = line(&widening);
        if agrees(&format!("{line}\nKeep that?"))? {
            home.confirm_widenings(std::slice::from_ref(&widening.id))?;
            kept.push(widening);
        } else {
            left.push(widening);
        }
    }
    tell(&kept, &left, json)
}

/// What a person is told of a widening, and how it is taken back.
pub(super) fn line(
    UnconfirmedWidening { at, what, take_back, .. }: &UnconfirmedWidening,
) -> String {
    let back = take_back
        .as_ref()
        .map_or_else(String::new, |command| format!("; `{}` takes it back", clean(command)));
    format!("{at}: let {}{back}", clean(what))
}

fn tell(
    kept: &[UnconfirmedWidening],
    left: &[UnconfirmedWidening],
    json: bool,
) -> anyhow::Result<ExitCode> {
    if json {
        say(json!({"confirmed": kept, "unconfirmed": left}))?;
    } else if kept.is_empty() && left.is_empty() {
        say("Nothing waits to be confirmed.")?;
    } else {
        say(format!("{} confirmed, {} not.", kept.len(), left.len()))?;
    }
    Ok(ExitCode::SUCCESS)
}
