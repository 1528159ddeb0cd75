//! `tabwire sites`: which sites agents may use.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Subcommand;
use serde_json::json;

use super::ask::Daemon;
use crate::config::Place;
use crate::home::Home;
use crate::protocol::{SiteChange, SiteList, SitePattern, SiteRules};
use crate::terminal::say;

#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// List them; what is done if nothing else is said
    List,
    /// Let agents use a site, and from the first one on no other
    Allow {
        /// Such as example.com, *.example.com or file:
        #[arg(value_parser = SitePattern::parse)]
        site: SitePattern,
    },
    /// Keep agents out of a site, whatever is allowed
    Deny {
        /// Such as example.com, *.example.com or file:
        #[arg(value_parser = SitePattern::parse)]
        site: SitePattern,
    },
    /// Take a rule back
    Remove {
        /// As the list names it
        #[arg(value_parser = SitePattern::parse)]
        site: SitePattern,
    },
}

pub(super) async fn run(
    place: &Place,
    command: Option<Command>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let dir = place.home()?;
    let changes = changes(command.unwrap_or(Command::List));
    let home = match changes.as_slice() {
        // No state directory is made for the question.
        [] => Home::find(&dir)?,
        [..] => Some(Home::open(&dir)?),
    };
    let Some(home) = home else { return told(&SiteRules::default(), json) };
    let mut rules = home.site_rules().read()?;
    let mut is_changed = false;
    for change in &changes {
        let (now, changed) = home.site_rules().change(change)?;
        (rules, is_changed) = (now, is_changed || changed);
    }
    if !changes.is_empty() && !is_changed && !json {
        say("No rule was changed by that.")?;
    }
    if is_changed && home.has_daemon()? {
        let reloaded = Daemon::of(place)?.post("/api/sites").await?.ok();
        reloaded.context("the rules are changed, but the daemon that runs does not follow")?;
    }
    told(&rules, json)
}

/// What is to be changed in the file.
fn changes(command: Command) -> Vec<SiteChange> {
    match command {
        Command::List => Vec::new(),
        Command::Allow { site } => {
            vec![SiteChange::Add { list: SiteList::Allow, pattern: site }]
        }
        Command::Deny { site } => vec![SiteChange::Add { list: SiteList::Deny, pattern: site }],
        Command::Remove { site } => [SiteList::Allow, SiteList::Deny]
            .map(|list| SiteChange::Remove { list, pattern: site.clone() })
            .to_vec(),
    }
}

fn told(rules: &SiteRules, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        say(json!(rules))?;
        return Ok(ExitCode::SUCCESS);
    }
    say(match (rules.allow(), rules.deny()) {
        ([], []) => "Agents may use every site.",
        ([], _) => "Agents may use every site but these:",
        (_, []) => "Agents may use these sites only:",
        (_, _) => "Agents may use the allowed sites only, without the denied ones:",
    })?;
    for (word, patterns) in [("allow", rules.allow()), ("deny ", rules.deny())] {
        for pattern in patterns {
            say(format!("  {word}  {pattern}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
