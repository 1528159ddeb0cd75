//! `tabwire sites`: the rules for the sites that agents may use.

mod files;

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde_json::json;

use super::daemon_client::DaemonClient;
use super::person::{UnattendedFlag, require_consent, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::protocol::{
    ActionDenial, DeniedAction, SiteChange, SiteDefault, SiteList, SitePattern, SiteRules,
};
use crate::terminal::print_line;

#[derive(Subcommand, Debug)]
pub(super) enum SitesCommand {
    /// List the rules (default)
    #[command(after_help = "Example:\n  tabwire sites list --json")]
    List,
    /// Let agents use this site; with the first allow rule they lose all other sites
    #[command(
        after_help = "Examples:\n  tabwire sites allow example.com\n  tabwire sites allow '*.corp.example' --unattended\n  tabwire sites allow bank.example --read   agents read there and do not act"
    )]
    Allow {
        /// A site, for example example.com or *.example.com
        #[arg(value_parser = SitePattern::parse)]
        site: SitePattern,
        /// Let agents open and read the site, and not act on it; the rule closes no other site
        #[arg(long)]
        read: bool,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Block a site for agents, even if an allow rule covers it
    #[command(
        after_help = "Examples:\n  tabwire sites deny bank.example\n  tabwire sites deny '*.bank.example' --action execute_js"
    )]
    Deny {
        /// A site, for example example.com, *.example.com or file:
        #[arg(value_parser = SitePattern::parse)]
        site: SitePattern,
        /// Block this action only; execute_js stands for every way to run a script
        #[arg(long, value_name = "NAME", value_parser = DeniedAction::parse)]
        action: Option<DeniedAction>,
    },
    /// Ask you before an agent acts on this site for the first time
    #[command(after_help = "Example:\n  tabwire sites ask shop.example")]
    Ask {
        /// A site, for example example.com or *.example.com
        #[arg(value_parser = SitePattern::parse)]
        site: SitePattern,
    },
    /// Choose what holds on sites that no rule is about
    #[command(
        after_help = "Examples:\n  tabwire sites default ask     you are asked before an agent acts on a site for the first time\n  tabwire sites default allow --unattended"
    )]
    Default {
        /// ask, or allow
        #[arg(value_parser = SiteDefault::parse)]
        rule: SiteDefault,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Remove a rule
    #[command(after_help = "Example:\n  tabwire sites remove bank.example")]
    Remove {
        /// The site, as the list prints it
        #[arg(value_parser = SitePattern::parse)]
        site: SitePattern,
        /// Remove the rule for this action only
        #[arg(long, value_name = "NAME", value_parser = DeniedAction::parse)]
        action: Option<DeniedAction>,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Remove the deny rules that agents added
    #[command(after_help = "Example:\n  tabwire sites clear --agents")]
    Clear {
        /// Remove all rules of agents; your own rules stay
        #[arg(long, required = true)]
        agents: bool,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// List or change the folders whose files agents may open
    #[command(
        after_help = "Examples:\n  tabwire sites files                   list the open folders\n  tabwire sites files allow ~/site\n  tabwire sites files remove ~/site --json"
    )]
    Files {
        #[command(subcommand)]
        command: Option<files::LocalFilesCommand>,
    },
}

pub(super) async fn run(
    location: &DaemonLocation,
    command: Option<SitesCommand>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    if let Some(SitesCommand::Files { command }) = command {
        return files::run(location, command, json).await;
    }
    let dir = location.home()?;
    let (changes, consent) = changes(command.unwrap_or(SitesCommand::List));
    let home = match changes.as_slice() {
        // No state directory is made for the question.
        [] => StateDirectory::find(&dir)?,
        [..] => Some(StateDirectory::open(&dir)?),
    };
    let Some(home) = home else { return print_rules(&SiteRules::default(), json) };
    let mut rules = home.site_rules().read()?;
    // Consent to all changes comes before the first change, so that a no changes nothing at all.
    let widens = require_consent_to_changes(&home, &rules, &changes, consent)?;
    let mut is_changed = false;
    for (change, widens) in changes.iter().zip(widens) {
        let file = home.site_rules();
        // `narrow` fails if the file has changed so that the change would widen: nobody agreed to
        // that.
        let changed = if widens { Some(file.change(change)?) } else { file.narrow(change)? };
        let Some((now, changed)) = changed else {
            bail!("another command changed the rules at the same time; try again")
        };
        (rules, is_changed) = (now, is_changed || changed);
    }
    if !changes.is_empty() && !is_changed && !json {
        print_line("Nothing changed.")?;
    }
    if is_changed && home.has_daemon()? {
        let reloaded = DaemonClient::of(location)?.post("/api/sites").await?.ok();
        reloaded
            .context("the rules were changed, but the running daemon did not apply the change")?;
    }
    print_rules(&rules, json)
}

/// Which of these changes of the rules let agents use more; a person has agreed to each of those.
fn require_consent_to_changes(
    home: &StateDirectory,
    rules: &SiteRules,
    changes: &[SiteChange],
    consent: UnattendedFlag,
) -> anyhow::Result<Vec<bool>> {
    let mut rules = rules.clone();
    let mut require_consent_to_changes = Vec::new();
    for change in changes {
        let widens = rules.is_widened_by(change);
        if widens {
            let (what, take_back) = widening(change);
            match take_back {
                Some(command) => {
                    require_consent_to_reversible(home, &what, &command, consent.unattended)?;
                }
                None => require_consent(home, &what, consent.unattended)?,
            }
        }
        // The next change may widen only together with this one.
        rules.apply(change)?;
        require_consent_to_changes.push(widens);
    }
    Ok(require_consent_to_changes)
}

/// What a change that widens lets agents do, as it reads after "Let ", and the command that takes
/// it back, if one does.
fn widening(change: &SiteChange) -> (String, Option<String>) {
    match change {
        SiteChange::Add { pattern, .. } => {
            (format!("agents use {pattern}"), Some(format!("tabwire sites remove '{pattern}'")))
        }
        SiteChange::Remove { list: SiteList::Deny | SiteList::AgentDeny, pattern } => (
            format!("agents use {pattern} (the rule that denies it goes)"),
            Some(format!("tabwire sites deny '{pattern}'")),
        ),
        SiteChange::Remove { list: SiteList::Read, pattern } => (
            format!("agents act on {pattern} (the rule that lets them only read there goes)"),
            Some(format!("tabwire sites allow '{pattern}' --read")),
        ),
        SiteChange::AllowAction(ActionDenial { action, pattern }) => (
            format!("agents use {action} on {pattern}"),
            Some(format!("tabwire sites deny '{pattern}' --action {action}")),
        ),
        SiteChange::Remove { list: SiteList::Ask, pattern } => (
            format!("agents act on {pattern} without asking you"),
            Some(format!("tabwire sites ask '{pattern}'")),
        ),
        SiteChange::Default { default: SiteDefault::Allow } => (
            "agents act on sites without asking you".to_owned(),
            Some("tabwire sites default ask".to_owned()),
        ),
        SiteChange::Default { default: SiteDefault::Ask } => {
            ("agents ask you before they act on a site".to_owned(), None)
        }
        SiteChange::DenyAction(ActionDenial { action, pattern }) => {
            (format!("agents use no {action} on {pattern}"), None)
        }
        SiteChange::Remove { list: SiteList::Allow, pattern } => (
            format!(
                "agents use every site that is not denied ({pattern} was the last allowed one)"
            ),
            Some(format!("tabwire sites allow '{pattern}'")),
        ),
        SiteChange::ClearAgents => {
            ("agents use all sites that agents have denied".to_owned(), None)
        }
    }
}

/// The changes to the file.
fn changes(command: SitesCommand) -> (Vec<SiteChange>, UnattendedFlag) {
    let asked = UnattendedFlag { unattended: false };
    match command {
        SitesCommand::List | SitesCommand::Files { .. } => (Vec::new(), asked),
        SitesCommand::Allow { site, read, consent } => {
            let list = if read { SiteList::Read } else { SiteList::Allow };
            (vec![SiteChange::Add { list, pattern: site }], consent)
        }
        SitesCommand::Deny { site, action: Some(action) } => {
            (vec![SiteChange::DenyAction(ActionDenial { action, pattern: site })], asked)
        }
        SitesCommand::Deny { site, action: None } => {
            (vec![SiteChange::Add { list: SiteList::Deny, pattern: site }], asked)
        }
        SitesCommand::Ask { site } => {
            (vec![SiteChange::Add { list: SiteList::Ask, pattern: site }], asked)
        }
        SitesCommand::Default { rule, consent } => {
            (vec![SiteChange::Default { default: rule }], consent)
        }
        SitesCommand::Clear { agents: _, consent } => (vec![SiteChange::ClearAgents], consent),
        SitesCommand::Remove { site, action: Some(action), consent } => {
            (vec![SiteChange::AllowAction(ActionDenial { action, pattern: site })], consent)
        }
        SitesCommand::Remove { site, action: None, consent } => {
            let lists = [
                SiteList::Allow,
                SiteList::Deny,
                SiteList::AgentDeny,
                SiteList::Read,
                SiteList::Ask,
            ];
            let remove = |list| SiteChange::Remove { list, pattern: site.clone() };
            (lists.map(remove).to_vec(), consent)
        }
    }
}

fn print_rules(rules: &SiteRules, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        print_line(json!(rules))?;
        return Ok(ExitCode::SUCCESS);
    }
    let denied = [rules.deny(), rules.agent_deny()].concat();
    print_line(match (rules.allow(), &*denied) {
        ([], []) => "Agents may use every site.",
        ([], _) => "Agents may use every site but these:",
        (_, []) => "Agents may use these sites only:",
        (_, _) => "Agents may use the allowed sites only, without the denied ones:",
    })?;
    for (word, patterns, by) in [
        ("allow", rules.allow(), ""),
        ("deny ", rules.deny(), ""),
        ("deny ", rules.agent_deny(), "  (by an agent)"),
    ] {
        for pattern in patterns {
            print_line(format!("  {word}  {pattern}{by}"))?;
        }
    }
    for pattern in rules.read() {
        print_line(format!("  read   {pattern}  (agents do not act there)"))?;
    }
    for pattern in rules.ask() {
        print_line(format!("  ask    {pattern}  (you are asked before an agent acts there)"))?;
    }
    if rules.default_rule() == SiteDefault::Ask {
        print_line("You are asked before an agent acts on a site for the first time.")?;
    }
    for ActionDenial { action, pattern } in rules.deny_actions() {
        print_line(format!("  deny   {action} on {pattern}"))?;
    }
    let is_files = |pattern: &SitePattern| pattern.is_local_files();
    if rules.allow().iter().any(is_files) && !rules.deny().iter().any(is_files) {
        print_line(
            "The rule file: alone opens no local file. `tabwire sites files allow DIR` opens a folder.",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
