//! Whether agents act on sites at once, or the person is asked first: decided once, by a person where
//! one is at a terminal.

use std::io::{self, BufRead as _};

use anyhow::bail;

use super::steps::print_paragraph;
use crate::home::StateDirectory;
use crate::protocol::{SiteChange, SiteDefault};
use crate::terminal::{print, print_line};

/// Settles what holds on sites that no rule is about, unless that was settled before. `asks`: a person
/// is there, and the state directory is new, so nothing is in use that would change. Returns whether
/// agents act without a question from now on and nobody was asked: that is to be told once.
pub(super) fn settle(home: &StateDirectory, asks: bool) -> anyhow::Result<bool> {
    let rules = home.site_rules();
    if rules.read()?.chosen_default().is_some() {
        return Ok(false);
    }
    let default = if asks { ask()? } else { SiteDefault::Allow };
    rules.change(&SiteChange::Default { default })?;
    Ok(!asks)
}

/// Tells how it is settled where nobody was asked.
pub(super) fn print_unasked() -> anyhow::Result<()> {
    print_paragraph(
        "Agents act on sites without asking you. `tabwire sites default ask` changes that: you are \
         then asked before an agent acts on a site for the first time.",
    )
}

/// Asks until the answer is one.
fn ask() -> anyhow::Result<SiteDefault> {
    print_line("Before an agent acts on a site for the first time:")?;
    print_line("  1  ask me in the browser (reading needs no word)")?;
    print_line("  2  let it act")?;
    loop {
        print(format_args!("Which? Enter for 1: "))?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            print_line("")?;
            bail!("standard input ended before an answer; run `tabwire install` again");
        }
        match answer.trim() {
            "" | "1" | "ask" => return Ok(SiteDefault::Ask),
            "2" | "allow" => return Ok(SiteDefault::Allow),
            _ => print_line("Give 1 or 2.")?,
        }
    }
}
