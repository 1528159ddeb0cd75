//! `tabwire owner`: whose tokens count. A name gets an owner here, or from a command that needs one.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use super::daemon_client::DaemonClient;
use super::person::{UnattendedFlag, can_ask, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::home::{OwnersError, StateDirectory, StateDirectoryRemoval};
use crate::hub::ClockSample;
use crate::owners;
use crate::protocol::{
    DEFAULT_OWNER, Owner, OwnerEntry, OwnerKind, OwnerList, OwnerListError, OwnerScopes,
};
use crate::terminal::{clean, print_line, wrapped_behind};

#[derive(Debug, Subcommand)]
pub(super) enum OwnerCommand {
    /// Add an owner, for programs that are to be apart from others
    #[command(
        after_help = "Examples:\n  tabwire owner add ci\n  tabwire owner add ci --label \"Nightly tests\"\n  tabwire token --owner ci     print its token"
    )]
    Add {
        /// The name: 1 to 64 letters, digits, - or _
        name: String,
        /// Your words for it
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// List the owners
    #[command(
        after_help = "Examples:\n  tabwire owner list\n  tabwire owner list --json | jq -r '.owners[].name'"
    )]
    List,
    /// Disconnect an owner: what it has running and waiting ends at once, and its token counts for nothing
    #[command(
        after_help = "Its rights end with it: let in again, it is asked about anew. Its stored values stay.\n\nExamples:\n  tabwire owner suspend box\n  tabwire owner allow box      let it in again"
    )]
    Suspend {
        /// The owner
        name: String,
    },
    /// Let an owner in again that you have disconnected
    #[command(after_help = "Examples:\n  tabwire owner allow box")]
    Allow {
        /// The owner
        name: String,
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Remove an owner: its token never counts again, and what it has waiting ends at once
    #[command(
        after_help = "An owner that is added under the same name later has nothing of this one. Its stored values and\ndrawings stay without --purge, and no program gets them.\n\nExamples:\n  tabwire owner remove ci\n  tabwire owner remove ci --purge   remove its stored values, noise rules and drawings, too"
    )]
    Remove {
        /// The owner
        name: String,
        /// Remove the files that it stored, too
        #[arg(long)]
        purge: bool,
    },
}

pub(super) async fn run(
    location: &DaemonLocation,
    command: OwnerCommand,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let dir = location.home()?;
    match command {
        OwnerCommand::Add { name, label, consent } => {
            let home = StateDirectory::open(&dir)?;
            let entry = add(&home, &name, label.as_deref(), consent)?;
            print_added(&home, &entry, json)?;
        }
        OwnerCommand::List => {
            // No state directory is made for the question.
            let home = StateDirectory::find(&dir)?;
            let list = home.as_ref().map(list_of).transpose()?.unwrap_or_default();
            let scopes = home.map(|home| home.scopes().read()).transpose()?.unwrap_or_default();
            print_list(&list, &scopes, json)?;
        }
        OwnerCommand::Suspend { name } => {
            let home = StateDirectory::open(&dir)?;
            suspend(location, &home, &name, json).await?;
        }
        OwnerCommand::Allow { name, consent } => {
            let home = StateDirectory::open(&dir)?;
            allow(location, &home, &name, consent, json).await?;
        }
        OwnerCommand::Remove { name, purge } => {
            let home = StateDirectory::open(&dir)?;
            remove(location, &home, &name, purge, json).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The list. An error: a daemon of an earlier version runs, which keeps none.
pub(super) fn list_of(home: &StateDirectory) -> anyhow::Result<OwnerList> {
    owners::read_beside_daemon(home)?.context(
        "the running daemon is of an earlier version, which takes the token of any name. End it with \
         `tabwire stop`; the next call starts one of this version, which lists the owners",
    )
}

fn add(
    home: &StateDirectory,
    name: &str,
    label: Option<&str>,
    consent: UnattendedFlag,
) -> anyhow::Result<OwnerEntry> {
    let list = list_of(home)?;
    // A person is not asked for what cannot be done.
    let tried = OwnerEntry { label: label.map(str::to_owned), ..OwnerEntry::tried(name) };
    list.clone().add(tried)?;
    require_consent_to_reversible(home, &widening(name), &take_back(name), consent.unattended)?;
    Ok(home.owners().add(name, label, OwnerKind::Local, ClockSample::now().system)?)
}

/// What an owner opens, after "Let ".
fn widening(name: &str) -> String {
    format!("programs use the browser as owner {name}")
}

fn take_back(name: &str) -> String {
    format!("tabwire owner remove {name}")
}

/// The owners from before there was a list, if no person was told of them yet. From now on one was.
pub(super) fn name_old_owners(location: &DaemonLocation) -> anyhow::Result<Vec<String>> {
    // `find` makes no state directory, and no list is made either: a daemon does that.
    let Some(home) = StateDirectory::find(&location.home()?).ok().flatten() else {
        return Ok(Vec::new());
    };
    let list = home.owners().read()?.unwrap_or_default();
    let old: Vec<_> = list.unnamed_old().map(|entry| entry.name.clone()).collect();
    if !old.is_empty() {
        home.owners().note_old_named()?;
    }
    Ok(old)
}

/// How a command came to need an owner that is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewOwnerConsent {
    /// A person has the owner made for a program: they are asked at a terminal; from a pipe the owner is
    /// noted for them to confirm.
    Implied,
    /// A person installs a program, which the owner can only narrow.
    Given,
}

/// The listed owner of this name. One that is not listed is added.
pub(super) fn owner_to_use(
    home: &StateDirectory,
    name: &str,
    consent: NewOwnerConsent,
) -> anyhow::Result<Owner> {
    if name == DEFAULT_OWNER {
        return Ok(name.into());
    }
    // A daemon of an earlier version takes the token of the name alone.
    let Some(list) = owners::read_beside_daemon(home)? else { return Ok(name.into()) };
    match list.owner(name) {
        Err(OwnerListError::Unknown(_)) => {}
        listed => return Ok(listed?),
    }
    list.clone().add(OwnerEntry::tried(name))?;
    if consent == NewOwnerConsent::Implied {
        let unattended = !can_ask();
        require_consent_to_reversible(home, &widening(name), &take_back(name), unattended)?;
    }
    match home.owners().add(name, None, OwnerKind::Local, ClockSample::now().system) {
        Ok(entry) => Ok(entry.owner()),
        // Another command has added it since.
        Err(OwnersError::List(OwnerListError::Known(_))) => Ok(home.owners().owner(name)?),
        Err(error) => Err(error.into()),
    }
}

/// The owner for the programs of a place on another machine. A new one is added once a person agrees.
pub(super) fn far_owner_to_use(
    home: &StateDirectory,
    name: &str,
    consent: UnattendedFlag,
) -> anyhow::Result<Owner> {
    let list = list_of(home)?;
    if let Some(entry) = list.entry(name) {
        match entry.kind {
            OwnerKind::Far => return Ok(list.owner(name)?),
            OwnerKind::Local | OwnerKind::Tenant => bail!(
                "{name} is the name of an owner of this machine's own programs. Choose another name with --name"
            ),
        }
    }
    list.clone().add(OwnerEntry::tried(name))?;
    let what = format!("programs on another machine use the browser as owner {name}");
    require_consent_to_reversible(home, &what, &take_back(name), consent.unattended)?;
    Ok(home.owners().add(name, None, OwnerKind::Far, ClockSample::now().system)?.owner())
}

/// The listed owner of this name. None is added: it would have nothing to show.
pub(super) fn listed_owner(home: &StateDirectory, name: &str) -> anyhow::Result<Owner> {
    if name == DEFAULT_OWNER {
        return Ok(name.into());
    }
    let Some(list) = owners::read_beside_daemon(home)? else { return Ok(name.into()) };
    Ok(list.owner(name)?)
}

/// The owner of this name whose files a person looks at: the listed one, else one that was removed.
pub(super) fn owner_with_files(home: &StateDirectory, name: &str) -> anyhow::Result<Owner> {
    match home.owners().owner(name) {
        Ok(owner) => return Ok(owner),
        Err(OwnersError::List(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let mut removed = home.owners_with_files()?;
    removed.retain(|owner| owner.name() == name || owner.as_str() == name);
    removed.sort_unstable();
    removed.dedup();
    match removed.as_slice() {
        [] => Ok(name.into()),
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<_> = several.iter().map(Owner::as_str).collect();
            bail!("several removed owners were called {name}: name one of {}", names.join(", "))
        }
    }
}

async fn suspend(
    location: &DaemonLocation,
    home: &StateDirectory,
    name: &str,
    json: bool,
) -> anyhow::Result<()> {
    list_of(home)?;
    let (entry, _) = home.owners().set_suspended(name, true)?;
    tell_daemon(location, home).await?;
    print_changed(home, &entry, json, "is suspended: its programs may not use the browser")
}

async fn allow(
    location: &DaemonLocation,
    home: &StateDirectory,
    name: &str,
    consent: UnattendedFlag,
    json: bool,
) -> anyhow::Result<()> {
    let list = list_of(home)?;
    let (_, is_change) = list.clone().set_suspended(name, false)?;
    if is_change {
        let take_back = format!("tabwire owner suspend {name}");
        require_consent_to_reversible(home, &widening(name), &take_back, consent.unattended)?;
    }
    let (entry, _) = home.owners().set_suspended(name, false)?;
    tell_daemon(location, home).await?;
    print_changed(home, &entry, json, "may use the browser")
}

fn print_changed(
    home: &StateDirectory,
    entry: &OwnerEntry,
    json: bool,
    is: &str,
) -> anyhow::Result<()> {
    if json {
        print_line(to_json(entry, &home.scopes().read()?))?;
    } else {
        print_line(format!("Owner {} {is}.", entry.name))?;
    }
    Ok(())
}

async fn remove(
    location: &DaemonLocation,
    home: &StateDirectory,
    name: &str,
    purge: bool,
    json: bool,
) -> anyhow::Result<()> {
    list_of(home)?;
    let is_left = |owner: &Owner| owner.name() == name && *owner != DEFAULT_OWNER.into();
    let has_left = || Ok::<_, anyhow::Error>(home.owners_with_files()?.iter().any(is_left));
    match home.owners().remove(name) {
        Ok(entry) => {
            home.scopes().forget(&entry.owner())?;
            tell_daemon(location, home).await?;
        }
        // The files of one that was removed before.
        Err(OwnersError::List(OwnerListError::Unknown(_))) if purge && has_left()? => {}
        Err(error) => return Err(error.into()),
    }
    // After the daemon knows: from here on it writes none of these files.
    let removal =
        if purge { home.remove_files_of(is_left)? } else { StateDirectoryRemoval::default() };
    let keeps_files = !purge && has_left()?;
    if json {
        let StateDirectoryRemoval { goes, stays } = removal;
        print_line(json!({
            "removed": name, "purged": goes, "stays": stays, "keeps_files": keeps_files,
        }))?;
        return Ok(());
    }
    let purged = if purge {
        format!(", and so are {} files and folders", removal.goes.len())
    } else {
        String::new()
    };
    print_line(format!("Owner {name} is removed{purged}. Its token never counts again."))?;
    for path in &removal.stays {
        print_line(format!("not Tabwire's, so it stays: {}", clean(&path.display().to_string())))?;
    }
    if keeps_files {
        print_line(format!(
            "The files that it stored stay in {}. `tabwire owner remove {name} --purge` removes them.",
            home.dir().display()
        ))?;
    }
    Ok(())
}

/// Has a running daemon end what belongs to removed owners, at once.
pub(super) async fn tell_daemon(
    location: &DaemonLocation,
    home: &StateDirectory,
) -> anyhow::Result<()> {
    if home.has_daemon()? {
        let reloaded = DaemonClient::of(location)?.post("/api/sites").await?.ok();
        reloaded.context(
            "the list of owners was changed, but the running daemon did not say that it applied the change",
        )?;
    }
    Ok(())
}

fn print_added(home: &StateDirectory, entry: &OwnerEntry, json: bool) -> anyhow::Result<()> {
    let name = &entry.name;
    if json {
        print_line(to_json(entry, &home.scopes().read()?))?;
        return Ok(());
    }
    print_line(format!("Owner {name} is added."))?;
    print_line(wrapped_behind(
        &format!(
            "`tabwire token --owner {name}` prints its token, `tabwire mcp --owner {name}` is the MCP server \
             of its programs, and `tabwire scope {name} own` has them see the tabs that they open."
        ),
        0,
    ))?;
    Ok(())
}

fn to_json(entry: &OwnerEntry, scopes: &OwnerScopes) -> Value {
    let mut told = json!(entry);
    told["scope"] = json!(scopes.of_listed(entry));
    told
}

fn print_list(list: &OwnerList, scopes: &OwnerScopes, json: bool) -> anyhow::Result<()> {
    let of_user = scopes.of(&DEFAULT_OWNER.into());
    if json {
        let user = json!({"name": DEFAULT_OWNER, "kind": OwnerKind::Local, "suspended": false, "scope": of_user});
        let others = list.entries().iter().map(|entry| to_json(entry, scopes));
        let owners: Vec<_> = std::iter::once(user).chain(others).collect();
        print_line(json!({"owners": owners}))?;
        return Ok(());
    }
    print_line(format!(
        "{DEFAULT_OWNER}  the programs that were given no owner; sees {}",
        of_user.tabs_in_words()
    ))?;
    for entry in list.entries() {
        print_line(line_of(entry, scopes))?;
    }
    print_line("`tabwire owner add NAME` adds an owner, `tabwire owner remove NAME` ends one.")?;
    Ok(())
}

fn line_of(entry: &OwnerEntry, scopes: &OwnerScopes) -> String {
    let OwnerEntry { name, since, label, kind, suspended, .. } = entry;
    let label = label.as_deref().map(|label| format!("  {}", clean(label))).unwrap_or_default();
    let sees = scopes.of_listed(entry).tabs_in_words();
    let old = if entry.is_old() { ", from before there was a list" } else { "" };
    let suspended = if *suspended { ", suspended" } else { "" };
    format!("{name}{label}  {kind}, since {since}{old}{suspended}; sees {sees}")
}
