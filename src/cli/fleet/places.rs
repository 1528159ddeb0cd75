//! `tabwire-fleet places`: the operator's commands. They change files of their folder and reach no server.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::output_file::check_new;
use crate::fleet::{
    AgentKey, AgentName, FleetKeyError, FleetUser, FleetUsers, NatsAddress, NkeySeed,
    OperatorFolder, OperatorFolderError, PlaceId, PlaceKey, ServerCertificate, TenantName,
    TenantServers, TenantSettings,
};
use crate::terminal::{TextStyle, TextTable, clean, print_line};

pub(super) const AFTER_HELP: &str = "The folder has the configuration of the NATS servers and the public keys of their users. A secret key is\nwritten once, where you say, and kept nowhere else. No command reaches a server: bring users.conf to each\nand have it read the file anew.\n\nExamples:\n  tabwire-fleet places init acme --server nats.acme.example:4222 --ca ca.pem   `tabwire places init` names this program\n  tabwire-fleet places add qa-17 --out qa-17.join\n  tabwire-fleet places grant ci qa-17 qa-18\n  tabwire-fleet places list --json";

/// The largest certificate file of authorities, in bytes.
const CA_BYTES_MAX: u64 = 32 * 1024;

/// The longest line that a terminal takes at once.
const TERMINAL_LINE_MAX: usize = 4_000;

#[derive(Args, Debug)]
pub(in crate::cli) struct PlacesArguments {
    #[command(subcommand)]
    command: PlacesCommand,
    /// The folder of `places init`
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    dir: PathBuf,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum PlacesCommand {
    /// Make a folder with the configuration of NATS servers
    #[command(
        after_help = "Without --server the configuration is for a server on this machine, for a try. Each --server of a cluster\ngets a file of its own, and all speak to each other at their ports + 2000.\n\nExamples:\n  tabwire places init acme\n  tabwire places init acme --server nats.acme.example:4222 --ca ca.pem --cert /etc/nats/cert.pem --key /etc/nats/key.pem\n  tabwire places init acme --server nats1.acme.example --server nats2.acme.example --ca ca.pem"
    )]
    Init(InitArguments),
    /// Add a place, and print the line with its key
    #[command(
        after_help = "The key is printed or written once, and kept nowhere.\n\nExamples:\n  tabwire places add qa-17\n  tabwire places add qa-17 --out qa-17.join"
    )]
    Add {
        /// The name: 1 to 40 letters a-z, digits and -
        name: PlaceId,
        /// Write the line to this new file, for its reader alone
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Let an agent use places; a new agent gets a file with its key
    #[command(
        after_help = "An agent that is known keeps its key, and may use these places, too.\n\nExamples:\n  tabwire places grant ci qa-17 qa-18 --out ci.nk\n  tabwire mcp --connect nats://nats.acme.example:4222/qa-17 --creds ci.nk"
    )]
    Grant {
        /// The name of the agent: 1 to 40 letters a-z, digits and -
        agent: AgentName,
        /// The places
        #[arg(required = true)]
        places: Vec<PlaceId>,
        /// The new file with the key of a new agent [default: AGENT.nk]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Remove a place or an agent: its key counts no more once the servers have read the users anew
    #[command(after_help = "Examples:\n  tabwire places remove qa-17")]
    Remove {
        /// The name
        name: String,
    },
    /// List places and agents
    #[command(
        after_help = "Examples:\n  tabwire places list\n  tabwire places list --json | jq -r '.places[]'"
    )]
    List,
}

#[derive(Args, Debug)]
struct InitArguments {
    /// The folder: a new one, or one of your own that is closed to others
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The address of a server, as places and agents reach it; given again, the servers are one cluster
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4222")]
    server: Vec<NatsAddress>,
    /// The name of the team, as its people know it [default: the name of the folder]
    #[arg(long, value_name = "NAME")]
    tenant: Option<TenantName>,
    /// The certificates of the authorities that vouch for the servers, as PEM [default: those of each machine]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The name in the certificates of all servers [default: the host of each address]
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// Where a server has its certificate
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Where a server has the key of its certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

pub(super) fn run(
    PlacesArguments { command, dir, json }: PlacesArguments,
) -> anyhow::Result<ExitCode> {
    match command {
        PlacesCommand::Init(given) => init(given, json)?,
        PlacesCommand::Add { name, out } => {
            add(&OperatorFolder::open(&dir)?, &name, out.as_deref(), json)?
        }
        PlacesCommand::Grant { agent, places, out } => {
            grant(&OperatorFolder::open(&dir)?, &agent, &places, out, json)?;
        }
        PlacesCommand::Remove { name } => remove(&OperatorFolder::open(&dir)?, &name, json)?,
        PlacesCommand::List => list(&OperatorFolder::open(&dir)?, json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn init(given: InitArguments, json: bool) -> anyhow::Result<()> {
    let InitArguments { folder: dir, server, tenant, ca, server_name, cert, key } = given;
    let named = || {
        let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.parse().context("the folder's name is none of a team; name it with --tenant NAME")
    };
    let tenant = tenant.map_or_else(named, Ok)?;
    let ca = ca.map(|path| read_ca(&path)).transpose()?;
    let servers = TenantServers { addresses: server, ca, name: server_name };
    let settings = TenantSettings { tenant, servers };
    let certificate =
        cert.zip(key).map(|(certificate, key)| ServerCertificate { certificate, key });
    let has_certificate = certificate.is_some();
    let folder = OperatorFolder::init(&dir, &settings, certificate.as_ref())?;
    let TenantSettings { tenant, servers } = settings;
    let paths = folder.server_paths(&servers);
    if json {
        let of = |(address, path)| json!({"address": address, "nats_conf": path});
        let all: Vec<_> = servers.addresses.iter().zip(&paths).map(of).collect();
        let only = Some(&paths).filter(|paths| paths.len() == 1).map(|paths| &paths[0]);
        let users = folder.users_path();
        print_line(
            json!({"tenant": tenant, "nats_conf": only, "servers": all, "users_conf": users}),
        )?;
        return Ok(());
    }
    print_line(format!("{} is set up for the tenant {tenant}.", dir.display()))?;
    if servers.require_tls() && !has_certificate {
        print_line(
            "Servers on other machines need TLS: put each server's certificate and its key where its configuration \
             names them, server-cert.pem and server-key.pem.",
        )?;
    }
    let shown = clean(&dir.display().to_string()).into_owned();
    for (address, path) in servers.addresses.iter().zip(&paths) {
        print_line(format!("Start {address}:  nats-server -c {}", path.display()))?;
    }
    print_line(format!("Add a place:     tabwire-fleet places add NAME --dir {shown}"))?;
    print_line(format!("Let an agent in: tabwire-fleet places grant AGENT PLACE --dir {shown}"))?;
    Ok(())
}

fn read_ca(path: &Path) -> anyhow::Result<String> {
    let size =
        std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if size > CA_BYTES_MAX || !text.contains("-----BEGIN CERTIFICATE-----") {
        bail!(
            "{} is no file of certificates as PEM with {CA_BYTES_MAX} bytes at most. Name the file of the authority",
            path.display()
        );
    }
    if text.contains("PRIVATE KEY") {
        bail!("{} has a private key in it. Name a file with certificates alone", path.display());
    }
    Ok(text)
}

fn add(
    folder: &OperatorFolder,
    place: &PlaceId,
    out: Option<&Path>,
    json: bool,
) -> anyhow::Result<()> {
    let TenantSettings { tenant, servers } = folder.settings()?;
    let seed = NkeySeed::generate().map_err(anyhow::Error::msg)?;
    let mut users = folder.users()?;
    users.add_place(place.clone(), seed.public())?;
    let key = PlaceKey { tenant, place: place.clone(), servers, seed };
    let line = key.line();
    // The file comes first: a key that no server knows is worth nothing to anybody.
    store_with(folder, &users, out, |path| key.write_new(path))?;
    if json {
        print_line(json!({"place": place, "file": out, "line": out.is_none().then_some(&line)}))?;
        return Ok(());
    }
    match out {
        Some(path) => print_line(format!("The key of place {place} is in {}.", path.display()))?,
        None => print_line(&line)?,
    }
    if out.is_none() && line.len() > TERMINAL_LINE_MAX {
        note(
            "The line is longer than a terminal takes: put it into a file, and give that to `tabwire-fleet join`.",
        )?;
    }
    note(
        "The person of the place gives it to `tabwire-fleet join`. It is a secret: send it to nobody else.",
    )?;
    note_reload(folder)
}

fn grant(
    folder: &OperatorFolder,
    agent: &AgentName,
    places: &[PlaceId],
    out: Option<PathBuf>,
    json: bool,
) -> anyhow::Result<()> {
    let TenantSettings { tenant, servers } = folder.settings()?;
    let mut users = folder.users()?;
    let is_out_named = out.is_some();
    let path = out.unwrap_or_else(|| PathBuf::from(format!("{agent}.nk")));
    let seed = NkeySeed::generate().map_err(anyhow::Error::msg)?;
    let public = seed.public();
    let is_new = users.grant(agent, places, || Ok::<_, OperatorFolderError>(public))?;
    if !is_new && is_out_named {
        bail!(
            "agent {agent} has a key, which is kept nowhere else, so none was written and nothing changed. Leave --out \
             out to let it use these places, too; or remove {agent} first, and it gets a new key"
        );
    }
    let file = is_new.then_some(path.as_path());
    let key = AgentKey { tenant, owner: agent.clone(), servers, seed };
    store_with(folder, &users, file, |path| key.write_new(path))?;
    if json {
        print_line(json!({"agent": agent, "file": file, "is_new": is_new}))?;
        return Ok(());
    }
    let names: Vec<_> = places.iter().map(PlaceId::as_str).collect();
    print_line(format!("Agent {agent} may use {}.", names.join(", ")))?;
    if let (Some(file), Some(server), Some(place)) =
        (file, key.servers.addresses.first(), names.first())
    {
        let file = file.display();
        print_line(format!(
            "Its key is in {file}: tabwire-fleet mcp --connect {server}/{place} --creds {file}"
        ))?;
    }
    note_reload(folder)
}

/// Puts the users in place, and the file of a key before them: if either cannot be written, neither is.
fn store_with(
    folder: &OperatorFolder,
    users: &FleetUsers,
    file: Option<&Path>,
    write: impl FnOnce(&Path) -> Result<(), FleetKeyError>,
) -> anyhow::Result<()> {
    if let Some(file) = file {
        check_new(file)?;
        write(file)?;
    }
    let stored = folder.set_users(users);
    if let (Err(_), Some(file)) = (&stored, file) {
        // The error that counts is the other one.
        let _ = std::fs::remove_file(file);
    }
    Ok(stored?)
}

fn remove(folder: &OperatorFolder, name: &str, json: bool) -> anyhow::Result<()> {
    let mut users = folder.users()?;
    let removed = users.remove(name)?;
    folder.set_users(&users)?;
    if json {
        print_line(json!({"removed": name}))?;
        return Ok(());
    }
    let kind = match removed {
        FleetUser::Place { .. } => "Place",
        FleetUser::Agent { .. } => "Agent",
    };
    print_line(format!(
        "{kind} {name} is removed. Its key counts until the servers read the users anew."
    ))?;
    note_reload(folder)
}

fn list(folder: &OperatorFolder, json: bool) -> anyhow::Result<()> {
    let TenantSettings { tenant, servers } = folder.settings()?;
    let users = folder.users()?;
    if json {
        let (mut places, mut agents) = (Vec::new(), Vec::new());
        for user in users.all() {
            match user {
                FleetUser::Place { name, .. } => places.push(json!(name)),
                FleetUser::Agent { name, places, .. } => {
                    agents.push(json!({"name": name, "places": places}));
                }
            }
        }
        let servers = servers.addresses;
        print_line(
            json!({"tenant": tenant, "servers": servers, "places": places, "agents": agents}),
        )?;
        return Ok(());
    }
    if users.all().is_empty() {
        print_line("There is no place yet. `tabwire-fleet places add NAME` adds one.")?;
        return Ok(());
    }
    let mut table = TextTable::new(&["NAME", "KIND", "PLACES"]);
    for user in users.all() {
        let (kind, places) = match user {
            FleetUser::Place { .. } => ("place", String::new()),
            FleetUser::Agent { places, .. } => {
                ("agent", places.iter().map(PlaceId::as_str).collect::<Vec<_>>().join(" "))
            }
        };
        table.row([
            (user.name(), TextStyle::Bold),
            (kind, TextStyle::Plain),
            (&places, TextStyle::Plain),
        ]);
    }
    for line in table.lines() {
        print_line(line)?;
    }
    Ok(())
}

/// The servers learn nothing by themselves.
fn note_reload(folder: &OperatorFolder) -> anyhow::Result<()> {
    let users = folder.users_path();
    note(&format!(
        "Bring {} to each server, and have it read the file: `nats-server --signal reload`, or `kill -HUP` with its process.",
        users.display()
    ))
}

/// A remark beside the answer, which may go to a file or to another program.
fn note(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    writeln!(std::io::stderr(), "{text}").context("cannot write to standard error")
}
