//! `tabwire scope`: which tabs the programs of an owner see.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Map, Value, json};

use super::daemon_client::DaemonClient;
use super::owner::{NewOwnerConsent, listed_owner, owner_to_use};
use super::person::{UnattendedFlag, require_consent_to_reversible};
use super::read_owner;
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::proof::DEFAULT_OWNER;
use crate::protocol::{Owner, OwnerList, OwnerScopes, TabScope};
use crate::terminal::print_line;

#[derive(Args, Debug)]
pub(super) struct ScopeArguments {
    /// The owner: `user`, or the name in `tabwire mcp --owner NAME`
    #[arg(requires = "scope")]
    owner: Option<String>,
    /// own: the tabs that its programs open; shared: these, and the tabs that you share; all: every tab
    #[arg(value_parser = TabScope::parse)]
    scope: Option<TabScope>,
    #[command(flatten)]
    consent: UnattendedFlag,
    /// Print the scopes as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    location: &DaemonLocation,
    given: ScopeArguments,
) -> anyhow::Result<ExitCode> {
    let ScopeArguments { owner, scope, consent, json } = given;
    let dir = location.home()?;
    let Some((owner, scope)) = owner.zip(scope) else {
        // No state directory is made for the question.
        let home = StateDirectory::find(&dir)?;
        let scopes = home.as_ref().map(|home| home.scopes().read()).transpose()?;
        let list = home.map(|home| home.owners().read()).transpose()?.flatten();
        return print_scopes(&scopes.unwrap_or_default(), &list.unwrap_or_default(), json);
    };
    let name = owner.as_str();
    let is_agent = Owner::is_agent_name(name);
    if !is_agent {
        read_owner(name)?;
    }
    let home = StateDirectory::open(&dir)?;
    // First: with a damaged file of scopes no owner is added.
    home.scopes().read()?;
    // An agent of a tenant is listed once it has called.
    let owner = match is_agent {
        true => listed_owner(&home, name)?,
        false => owner_to_use(&home, name, NewOwnerConsent::Implied)?,
    };
    let list = home.owners().read()?.unwrap_or_default();
    let scopes = home.scopes().read()?;
    let before = list.entry(name).map_or_else(|| scopes.of(&owner), |it| scopes.of_listed(it));
    if scope > TabScope::WIDEST_FAR && list.is_far(&owner) {
        bail!(
            "the programs of owner {name} are on another machine, and such programs never see every tab. \
             `tabwire scope {name} shared` has them see {}",
            TabScope::WIDEST_FAR.tabs_in_words()
        );
    }
    if scope > before {
        require_consent_to_reversible(
            &home,
            &format!("the programs of owner {name} see {}", scope.tabs_in_words()),
            &format!("tabwire scope {name} {before}"),
            consent.unattended,
        )?;
    }
    let (scopes, is_changed) = home.scopes().choose(&owner, scope)?;
    if is_changed && home.has_daemon()? {
        let reloaded = DaemonClient::of(location)?.post("/api/sites").await?.ok();
        reloaded
            .context("the scope was changed, but the running daemon did not apply the change")?;
    }
    print_scopes(&scopes, &list, json)
}

fn print_scopes(scopes: &OwnerScopes, list: &OwnerList, json: bool) -> anyhow::Result<ExitCode> {
    let default = DEFAULT_OWNER.into();
    let far: Vec<_> = list.far().map(|owner| (owner.clone(), scopes.of_far(&owner))).collect();
    let near = scopes.chosen().filter(|(owner, _)| **owner != default && !list.is_far(owner));
    let user = std::iter::once((&default, scopes.of(&default)));
    let all: Vec<_> =
        user.chain(near).chain(far.iter().map(|(owner, scope)| (owner, *scope))).collect();
    if json {
        let owners: Map<_, _> =
            all.iter().map(|(owner, scope)| (owner.name().to_owned(), json!(scope))).collect();
        print_line(json!({"owners": Value::Object(owners)}))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (owner, scope) in all {
        print_line(format!("{}  {scope}  ({})", owner.name(), scope.tabs_in_words()))?;
    }
    print_line(
        "All other owners: all. Programs on another machine: own or shared. A scope hides tabs and no accounts: a tab that a program opens has your log-ins.",
    )?;
    Ok(ExitCode::SUCCESS)
}
