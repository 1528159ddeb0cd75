//! `tabwire legacy`.

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;

use super::person::{Unattended, person_widens};
use crate::config::Place;
use crate::home::{Home, Legacy, LegacyMode};
use crate::terminal::say;

/// Which polling extensions are let in.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Mode {
    /// The first one that asks, unless the Tabwire extension was ever connected
    Auto,
    /// Every one that asks
    Allow,
    /// None
    Deny,
}

impl From<Mode> for LegacyMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Auto => Self::Auto,
            Mode::Allow => Self::Allow,
            Mode::Deny => Self::Deny,
        }
    }
}

pub(super) fn run(
    place: &Place,
    mode: Option<Mode>,
    consent: Unattended,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let home = Home::open(&place.home()?)?;
    if let Some(mode) = mode.map(LegacyMode::from) {
        let what = match (home.legacy()?.mode, mode) {
            (LegacyMode::Auto | LegacyMode::Deny, LegacyMode::Allow) => {
                Some("every extension that polls come in")
            }
            (LegacyMode::Deny, LegacyMode::Auto) => Some("extensions that poll come in again"),
            (_, LegacyMode::Deny)
            | (LegacyMode::Auto | LegacyMode::Allow, LegacyMode::Auto)
            | (LegacyMode::Allow, LegacyMode::Allow) => None,
        };
        if let Some(what) = what {
            person_widens(&home, what, consent.unattended)?;
        }
        home.set_legacy_mode(mode)?;
    }
    let Legacy { mode, approved, was_paired } = home.legacy()?;
    let mut known = home.allowed_extensions()?;
    known.extend(approved);
    known.dedup();
    if json {
        say(json!({"mode": mode, "allowed": known, "paired": was_paired}))?;
        return Ok(ExitCode::SUCCESS);
    }
    say(match mode {
        LegacyMode::Auto if known.is_empty() && !was_paired => {
            "auto: the first extension that polls is let in."
        }
        LegacyMode::Auto => "auto: extensions that poll are let in if they are known.",
        LegacyMode::Allow => "allow: every extension that polls is let in.",
        LegacyMode::Deny => "deny: no extension that polls is let in.",
    })?;
    for id in known {
        say(format!("  {id}"))?;
    }
    say("\nPolling extensions hold no key: another extension that forges its headers could take \
         their place. The Tabwire extension proves itself.")?;
    Ok(ExitCode::SUCCESS)
}
