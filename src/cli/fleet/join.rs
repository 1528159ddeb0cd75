//! `tabwire-fleet join` and `leave`: the person of a place lets the agents of a tenant in, and ends that.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;

use crate::cli::connect::exit_without_tls;
use crate::cli::owner::{list_of, tell_daemon};
use crate::cli::person::{UnattendedFlag, can_ask, nobody_to_ask, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::fleet::{KEY_BYTES_MAX, PlaceKey, TenantName, try_home};
use crate::home::{StateDirectory, StateDirectoryRemoval, TenantFiles};
use crate::protocol::Owner;
use crate::terminal::{ProgressNotice, clean, print_line};

pub(super) const JOIN_HELP: &str = "The operator of the team gives you a line or a file, which is a secret. It is read from the terminal or the\nfile, never from the arguments, which other programs see. What the agents may do here you decide: each\nsite needs your word in the popup.\n\nExamples:\n  tabwire-fleet join                    paste the line; `tabwire join` names this program\n  tabwire-fleet join qa-17.join --tenant acme";

pub(super) const LEAVE_HELP: &str = "Who joins again later has new agents: nothing of the old ones comes back.\n\nExamples:\n  tabwire-fleet leave                   `tabwire leave` names this program\n  tabwire-fleet leave --tenant acme --keep";

#[derive(Args, Debug)]
pub(in crate::cli) struct JoinArguments {
    /// The file with the key [default: the line is read from the terminal, as with -]
    file: Option<PathBuf>,
    /// Your name for the team: 1 to 40 letters a-z, digits and - [default: its own]
    #[arg(long, value_name = "NAME")]
    tenant: Option<TenantName>,
    #[command(flatten)]
    consent: UnattendedFlag,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct LeaveArguments {
    /// The team [default: the only one]
    #[arg(long, value_name = "NAME")]
    tenant: Option<TenantName>,
    /// Keep the stored values and drawings of its agents, which no program gets
    #[arg(long)]
    keep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn join(
    location: &DaemonLocation,
    JoinArguments { file, tenant, consent, json }: JoinArguments,
) -> anyhow::Result<ExitCode> {
    let mut key = read_key(file.as_deref(), consent)?;
    if let Some(name) = tenant {
        key.tenant = name;
    }
    let home = StateDirectory::open(&location.home()?)?;
    // Lists the owners, if there is no list yet: without one any name counts.
    list_of(&home)?;
    let (tenants, tenant) = (home.tenants(), key.tenant.clone());
    check_free(&tenants, &tenant)?;
    check_tls(&key).await?;
    let words = warning(&tenant, &key);
    writeln!(io::stderr(), "{words}")?;
    let what = format!("the agents of {tenant} use the browser as place {}", key.place);
    let take_back = format!("tabwire-fleet leave --tenant {tenant}");
    require_consent_to_reversible(&home, &what, &take_back, consent.unattended)?;
    tenants.make_folder()?;
    let path = tenants.path(tenant.as_str());
    if let Err(error) = key.write_new(&path) {
        // Another command may have joined a tenant of this name during the question.
        check_free(&tenants, &tenant)?;
        return Err(error.into());
    }
    let is_served = tenants.has_homes()?;
    if json {
        print_line(json!({"tenant": tenant, "place": key.place, "is_served": is_served}))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(format!("Joined {tenant} as place {}.", key.place))?;
    let next = match (is_served, home.has_daemon()?) {
        (true, _) => "The daemon that runs takes the calls from now on.",
        (false, true) => {
            "The daemon that runs was not started by tabwire-fleet: run `tabwire-fleet stop`, then `tabwire-fleet serve`."
        }
        (false, false) => "Start the daemon, which takes the calls: `tabwire-fleet serve`.",
    };
    print_line(next)?;
    print_line(format!("`tabwire-fleet leave --tenant {tenant}` ends it."))?;
    Ok(ExitCode::SUCCESS)
}

/// The sentences before the yes.
fn warning(tenant: &TenantName, key: &PlaceKey) -> String {
    let servers: Vec<_> = key.servers.addresses.iter().map(ToString::to_string).collect();
    format!(
        "Tenant {tenant}, place {}, servers {}.\nThe operator of {tenant} reads all calls and answers and can act as any agent of {tenant}. What you allow one, you allow {tenant}.",
        key.place,
        clean(&servers.join(", "))
    )
}

/// Servers that do not prove by TLS whose they are get no place. Of those that are not reached now the home tells later.
async fn check_tls(key: &PlaceKey) -> anyhow::Result<()> {
    if !key.servers.needs_tls() {
        return Ok(());
    }
    let _progress = ProgressNotice::start("asking the team's servers for their certificate");
    match try_home(key).await.map_err(|why| exit_without_tls(&why)) {
        Err(Some(failure)) => Err(failure.into()),
        Ok(()) | Err(None) => Ok(()),
    }
}

/// A tenant is bound to its servers at `join`: no other key takes its name.
fn check_free(tenants: &TenantFiles, tenant: &TenantName) -> anyhow::Result<()> {
    if tenants.has(tenant.as_str()) {
        bail!(
            "{tenant} is joined already, and nothing was changed. `tabwire-fleet leave --tenant {tenant}` leaves it; \
             --tenant NAME gives this one another name"
        );
    }
    Ok(())
}

fn read_key(file: Option<&Path>, consent: UnattendedFlag) -> anyhow::Result<PlaceKey> {
    let Some(path) = file.filter(|path| *path != Path::new("-")) else {
        return Ok(PlaceKey::parse(&read_line(consent)?)?);
    };
    if PlaceKey::is_line(&path.to_string_lossy()) {
        // Not with the words, which are a secret.
        bail!(
            "a key does not belong in the arguments: every program of this computer sees them. Ask the operator for a \
             new one, and give `tabwire-fleet join` a file, or the line when it asks"
        );
    }
    Ok(PlaceKey::read(path)?)
}

fn read_line(consent: UnattendedFlag) -> anyhow::Result<String> {
    if !can_ask() && !consent.unattended {
        return Err(nobody_to_ask("the agents of a team use the browser"));
    }
    if can_ask() {
        write!(io::stderr(), "Paste the line of the operator: ")?;
    }
    let mut line = String::new();
    io::stdin().lock().take(KEY_BYTES_MAX).read_line(&mut line).context("cannot read the line")?;
    Ok(line)
}

pub(super) async fn leave(
    location: &DaemonLocation,
    LeaveArguments { tenant, keep, json }: LeaveArguments,
) -> anyhow::Result<ExitCode> {
    // No state directory is made for the question.
    let home = StateDirectory::find(&location.home()?)?;
    let home = home.context("no team is joined, so there is nothing to leave")?;
    let tenant = tenant_to_leave(&home.tenants(), tenant)?;
    let name = tenant.as_str();
    list_of(&home)?;
    // First: from here on no agent of the tenant becomes an owner.
    let was_joined = home.tenants().forget(name)?;
    let is_its = |owner: &Owner| owner.agent_of_tenant().is_some_and(|(_, of)| of == name);
    let owners = home.owners().remove_agents_of(name)?;
    for owner in &owners {
        home.scopes().forget(owner)?;
    }
    let has_files = home.owners_with_files()?.iter().any(is_its);
    if !was_joined && owners.is_empty() && (keep || !has_files) {
        bail!("{tenant} is not joined. `tabwire-fleet doctor` names the teams that are");
    }
    // Before their files go: from here on the daemon writes none of them.
    tell_daemon(location, &home).await?;
    let removal =
        if keep { StateDirectoryRemoval::default() } else { home.remove_files_of(is_its)? };
    if json {
        let StateDirectoryRemoval { goes, stays } = removal;
        let agents: Vec<_> = owners.iter().map(Owner::name).collect();
        print_line(json!({"left": tenant, "agents": agents, "purged": goes, "stays": stays}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let files = match (keep, has_files) {
        (true, true) => {
            "the files that its agents stored stay, and no program gets them".to_owned()
        }
        (true, false) | (false, _) => {
            format!("{} files and folders of its agents are deleted", removal.goes.len())
        }
    };
    print_line(format!("You have left {tenant}: its key is forgotten, {files}."))?;
    for path in &removal.stays {
        print_line(format!("not Tabwire's, so it stays: {}", clean(&path.display().to_string())))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tenant_to_leave(
    tenants: &TenantFiles,
    tenant: Option<TenantName>,
) -> anyhow::Result<TenantName> {
    if let Some(tenant) = tenant {
        return Ok(tenant);
    }
    let names = tenants.names()?;
    match names.as_slice() {
        [] => bail!("no team is joined, so there is nothing to leave"),
        [only] => Ok(only.parse()?),
        several => {
            bail!("several teams are joined: name one of {} with --tenant", several.join(", "))
        }
    }
}
