//! Which tabs the programs see that `install` configures. A program for which the person chose a scope
//! gets an owner of its own.

use std::io::{self, BufRead as _};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

use super::{InstallArguments, is_asked};
use crate::cli::daemon_client::DaemonClient;
use crate::cli::owner::{NewOwnerConsent, owner_to_use};
use crate::cli::person::{nobody_to_ask, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::install::{Installation, McpClient, OWNER_FLAG, PlannedChange, ServerEntry};
use crate::proof::{DEFAULT_OWNER, valid_owner};
use crate::protocol::{Owner, OwnerScopes, TabScope};
use crate::terminal::{print, print_line, wrapped_behind};

/// The owners of the programs that are configured.
#[derive(Debug, Default)]
pub(super) struct ProgramOwners(Vec<ProgramOwner>);

/// The owner of one program.
#[derive(Debug)]
struct ProgramOwner {
    client: McpClient,
    owner: Owner,
    /// Whether the entry names it already.
    is_in_entry: bool,
    /// What its programs see afterwards.
    scope: TabScope,
    /// What its programs see now.
    scope_now: TabScope,
    /// What the program sees now, by the owner that it has.
    program_now: TabScope,
}

/// What the person has chosen for the programs.
struct ProgramChoice<'a> {
    scopes: &'a ScopesByName,
    /// The owner of the command line.
    owner: Option<&'a Owner>,
    /// The scope of the command line, or of the question.
    scope: Option<TabScope>,
}

/// The scopes of owners by their names.
struct ScopesByName {
    home: Option<StateDirectory>,
    scopes: OwnerScopes,
}

impl ScopesByName {
    fn read(installation: &Installation) -> anyhow::Result<Self> {
        let home = StateDirectory::find(&installation.state)?;
        let scopes = home.as_ref().map(|home| home.scopes().read()).transpose()?;
        // An error in the list of owners is told before anything is changed.
        home.as_ref().map(|home| home.owners().read()).transpose()?;
        Ok(Self { home, scopes: scopes.unwrap_or_default() })
    }

    /// The scope of the owner of this name: every tab, if none is listed.
    fn of(&self, name: &Owner) -> TabScope {
        let listed = self.home.as_ref().and_then(|it| it.owners().owner(name.as_str()).ok());
        listed.map_or(TabScope::All, |owner| self.scopes.of(&owner))
    }
}

impl ProgramOwners {
    /// Finds the owner of each program. `picked`: the person names them now; `had`: they are renewed.
    /// The person is asked where they are asked for the programs, too.
    pub(super) fn settle(
        installation: &Installation,
        arguments: &InstallArguments,
        picked: &[McpClient],
        had: &[McpClient],
    ) -> anyhow::Result<Self> {
        let scopes = &ScopesByName::read(installation)?;
        let of_line =
            ProgramChoice { scopes, owner: arguments.owner.as_ref(), scope: arguments.scope };
        let of_none = ProgramChoice { scopes, owner: None, scope: None };
        let with_server = installation.clients_with_server();
        let is_new = |client: &McpClient| !with_server.contains(client);
        // An owner that is bounded itself has been chosen for already.
        let asks = is_asked(arguments)
            && arguments.scope.is_none()
            && arguments.owner.is_none()
            && scopes.of(&DEFAULT_OWNER.into()).is_all()
            && picked.iter().any(is_new);
        let asked: Vec<_> = picked.iter().copied().filter(|one| asks && is_new(one)).collect();
        let answers = if asked.is_empty() { Vec::new() } else { ask(&asked)? };
        let mut owners = Self::default();
        for client in picked {
            let at = asked.iter().position(|asked| asked == client);
            match at.and_then(|at| answers.get(at)) {
                Some(scope) => {
                    let of_question = ProgramChoice { scope: *scope, ..of_none };
                    owners.add(installation, *client, &of_question);
                }
                None => owners.add(installation, *client, &of_line),
            }
        }
        for client in had {
            owners.add(installation, *client, &of_none);
        }
        Ok(owners)
    }

    fn add(&mut self, installation: &Installation, client: McpClient, choice: &ProgramChoice<'_>) {
        if self.0.iter().any(|known| known.client == client) {
            return;
        }
        let ProgramChoice { scopes, owner, scope } = choice;
        let entry = installation.owner_in_entry(client).and_then(|name| valid_owner(&name));
        let program_now = scopes.of(entry.as_ref().unwrap_or(&DEFAULT_OWNER.into()));
        let own: Owner = client.id().into();
        // `tabwire scope cursor own` is a choice for Cursor; a wider one than it has would be a surprise.
        let is_chosen = scopes.of(&own).is_bounded() && scopes.of(&own) <= program_now;
        let own = (scope.is_some() || is_chosen).then_some(own);
        let Some(owner) = owner.cloned().or(entry.clone()).or(own) else { return };
        let is_in_entry = entry.as_ref() == Some(&owner);
        let scope_now = scopes.of(&owner);
        let scope = scope.unwrap_or(scope_now);
        self.0.push(ProgramOwner { client, owner, is_in_entry, scope, scope_now, program_now });
    }

    /// The entry for a client, with its owner. An entry that is renewed keeps the owner that it names.
    pub(super) fn entry_of(&self, client: McpClient, server: &ServerEntry) -> ServerEntry {
        let mut entry = server.clone();
        let known = self.0.iter().find(|known| known.client == client && !known.is_in_entry);
        if let Some(known) = known {
            entry.args.extend([OWNER_FLAG.to_owned(), known.owner.as_str().to_owned()]);
        }
        entry
    }

    /// The scopes to set. They come before the entries: a program is not to see more tabs for a moment.
    pub(super) fn changes(&self) -> Vec<PlannedChange> {
        let mut changes: Vec<PlannedChange> = Vec::new();
        let mut set: Vec<&Owner> = Vec::new();
        for ProgramOwner { owner, scope, scope_now, .. } in &self.0 {
            if scope != scope_now && !set.contains(&owner) {
                set.push(owner);
                changes.push(PlannedChange::Scope { owner: owner.clone(), scope: *scope });
            }
        }
        changes
    }

    /// Returns if no program sees more tabs than now, or a person agrees.
    pub(super) fn require_consent(
        &self,
        installation: &Installation,
        arguments: &InstallArguments,
    ) -> anyhow::Result<()> {
        let mut asked: Vec<&Owner> = Vec::new();
        for ProgramOwner { owner, scope, scope_now, program_now, .. } in &self.0 {
            let now = scope_now.min(program_now);
            if scope <= now || asked.contains(&owner) {
                continue;
            }
            asked.push(owner);
            let name = owner.as_str();
            let what = format!("the programs of owner {name} see {}", scope.tabs_in_words());
            // `--json` asks no questions.
            if arguments.json && !arguments.consent.unattended {
                return Err(nobody_to_ask(&what));
            }
            let home = StateDirectory::open(&installation.state)?;
            let take_back = format!("tabwire scope {name} {now}");
            require_consent_to_reversible(&home, &what, &take_back, arguments.consent.unattended)?;
        }
        Ok(())
    }

    /// Adds the owners that are not listed.
    pub(super) fn add_missing(&self, installation: &Installation) -> anyhow::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let home = StateDirectory::open(&installation.state)?;
        for ProgramOwner { owner, .. } in &self.0 {
            owner_to_use(&home, owner.as_str(), NewOwnerConsent::Given)?;
        }
        Ok(())
    }

    /// Tells a running daemon of scopes that were set.
    pub(super) async fn tell_daemon(&self, location: &DaemonLocation) -> anyhow::Result<()> {
        let home = StateDirectory::find(&location.home()?)?;
        if self.changes().is_empty() || !home.is_some_and(|home| home.has_daemon().unwrap_or(false))
        {
            return Ok(());
        }
        let reloaded = DaemonClient::of(location)?.post("/api/sites").await?.ok();
        reloaded.context("the scope was set, but the running daemon did not apply it")?;
        Ok(())
    }

    /// The same for a program that installs.
    pub(super) fn to_json(&self) -> Value {
        let owners = self.0.iter().map(|ProgramOwner { client, owner, scope, .. }| {
            (client.id().to_owned(), json!({"owner": owner, "scope": scope}))
        });
        Value::Object(owners.collect::<Map<_, _>>())
    }
}

/// Asks which tabs each of the new programs sees. `None`: every tab, as programs without an owner of
/// their own. Enter takes the answer for the program before.
fn ask(programs: &[McpClient]) -> anyhow::Result<Vec<Option<TabScope>>> {
    print_line(if programs.len() == 1 {
        "Which tabs does it see?"
    } else {
        "Which tabs do they see?"
    })?;
    print_line("  1  every tab")?;
    print_line("  2  the tabs that it opens")?;
    print_line("  3  these, and the tabs that you share in the popup")?;
    let note = "This hides tabs and no accounts: a tab that a program opens has your log-ins.";
    print_line(wrapped_behind(note, 0))?;
    let mut answers = Vec::new();
    for program in programs {
        let usual = answers.last().copied().flatten();
        answers.push(ask_about(*program, usual)?);
    }
    Ok(answers)
}

fn ask_about(program: McpClient, usual: Option<TabScope>) -> anyhow::Result<Option<TabScope>> {
    let number = match usual {
        None | Some(TabScope::All) => 1,
        Some(TabScope::Own) => 2,
        Some(TabScope::Shared) => 3,
    };
    loop {
        print(format_args!("{}: which tabs? Enter for {number}: ", program.name()))?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            print_line("")?;
            bail!("standard input ended before an answer; nothing was changed");
        }
        match answer.trim() {
            "" => return Ok(usual),
            "1" | "all" => return Ok(None),
            "2" | "own" => return Ok(Some(TabScope::Own)),
            "3" | "shared" => return Ok(Some(TabScope::Shared)),
            _ => print_line("Give 1, 2 or 3.")?,
        }
    }
}
