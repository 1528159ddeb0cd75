//! `tabwire uninstall --state`: removes the state directory, but for files of other programs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::person::{UnattendedFlag, require_consent};
use super::serve::end_daemon;
use crate::home::{DaemonRecord, StateDirectory, StateDirectoryRemoval};
use crate::install::{ChangePlan, Installation};
use crate::protocol::OwnerScopes;
use crate::terminal::{clean, print_line};

/// How many paths that stay a person is shown.
const SHOWN: usize = 20;

/// The fate of the state directory.
pub(super) enum StateRemoval {
    /// There is none.
    Absent,
    /// Without a secret nobody can tell that it is ours.
    NoKey,
    /// Tabwire's files are removed.
    Ours {
        /// The daemon that is ended for it.
        daemon: Option<DaemonRecord>,
        /// The paths that are removed and the paths that stay.
        removal: StateDirectoryRemoval,
    },
}

impl StateRemoval {
    /// Its state once this plan is carried out.
    pub(super) fn plan(installation: &Installation, plan: &ChangePlan) -> anyhow::Result<Self> {
        let gone: Vec<_> =
            plan.changes.iter().filter_map(|change| change.removes()).map(Path::to_owned).collect();
        Self::of(installation, |home| {
            let daemon = home.running_daemon()?;
            Ok(Self::Ours { daemon, removal: home.removal(&gone)? })
        })
    }

    /// Returns if a person agrees that the rules for sites and what nobody has confirmed go. Without
    /// them agents may use more, once Tabwire is installed again.
    pub(super) fn require_consent(
        installation: &Installation,
        consent: UnattendedFlag,
    ) -> anyhow::Result<()> {
        let Some(home) = Self::home(installation)? else { return Ok(()) };
        // Unreadable rules may deny a site, so they count as rules.
        let unconfirmed = home.unconfirmed();
        let has_rules = !home.site_rules().read().is_ok_and(|rules| rules.is_empty());
        let has_unconfirmed = !unconfirmed.as_ref().is_ok_and(Vec::is_empty);
        let is_bounded = |scopes: OwnerScopes| scopes.chosen().any(|(_, scope)| scope.is_bounded());
        let has_scopes = home.scopes().read().map_or(true, is_bounded);
        if !has_rules && !has_unconfirmed && !has_scopes {
            return Ok(());
        }
        let what = if has_scopes && !has_rules && !has_unconfirmed {
            "agents see every tab once Tabwire is installed again (the scopes of owners go)"
        } else {
            "agents use every site once Tabwire is installed again (the rules for sites go)"
        };
        require_consent(&home, what, consent.unattended)?;
        if !consent.unattended {
            // The removal undoes earlier changes too, and a person has just agreed to it.
            let ids: Vec<_> = unconfirmed?.into_iter().map(|widening| widening.id).collect();
            home.confirm_widenings(&ids)?;
        }
        Ok(())
    }

    /// Ends the daemon and removes Tabwire's files.
    pub(super) async fn make(installation: &Installation) -> anyhow::Result<Self> {
        let ended = match Self::home(installation)? {
            Some(home) => end_daemon(&home).await?,
            None => None,
        };
        Self::of(installation, |home| Ok(Self::Ours { daemon: ended, removal: home.remove()? }))
    }

    fn home(installation: &Installation) -> anyhow::Result<Option<StateDirectory>> {
        Ok(StateDirectory::find(&installation.state)?)
    }

    fn of(
        installation: &Installation,
        ours: impl FnOnce(StateDirectory) -> anyhow::Result<Self>,
    ) -> anyhow::Result<Self> {
        // `has_dir` rejects a directory that belongs to another user or is open to others.
        if !StateDirectory::has_dir(&installation.state)? {
            return Ok(Self::Absent);
        }
        Self::home(installation)?.map_or(Ok(Self::NoKey), ours)
    }

    /// Whether nothing is left.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self, Self::NoKey) && self.stays().is_empty()
    }

    /// The paths that stay: foreign ones, and widenings without a confirmation.
    pub(super) fn stays(&self) -> &[PathBuf] {
        match self {
            Self::Ours { removal, .. } => &removal.stays,
            Self::Absent | Self::NoKey => &[],
        }
    }

    /// The plan, for a program.
    pub(super) fn to_json(&self) -> Value {
        let (goes, daemon) = match self {
            Self::Ours { removal, daemon } => {
                (&*removal.goes, daemon.as_ref().map(|record| record.pid))
            }
            Self::Absent | Self::NoKey => (&[][..], None),
        };
        json!({"remove": goes, "stays": self.stays(), "ends_daemon": daemon})
    }

    /// Prints the plan.
    pub(super) fn print_plan(&self, state: &Path) -> anyhow::Result<()> {
        if let Self::Ours { daemon, removal } = self {
            print_line("\nOf the state directory this would:")?;
            if let Some(record) = daemon {
                print_line(format!("  end the daemon (process {})", record.pid))?;
            }
            for path in &removal.goes {
                print_line(format!("  remove {}", clean(&path.to_string_lossy())))?;
            }
        }
        self.print_rest(state)
    }

    /// Prints the result.
    pub(super) fn print_done(&self, state: &Path) -> anyhow::Result<()> {
        if self.is_whole() {
            print_line(format!("  remove {}", clean(&state.to_string_lossy())))?;
        }
        self.print_rest(state)
    }

    /// Prints the paths that stay, and why.
    fn print_rest(&self, state: &Path) -> anyhow::Result<()> {
        let state = state.to_string_lossy();
        let state = clean(&state);
        if matches!(self, Self::NoKey) {
            print_line(format!(
                "\n{state} stays: it has no auth.key, so Tabwire cannot know that the directory is its \
                 own. If it is, remove it by hand."
            ))?;
        }
        let stays = self.stays();
        if !stays.is_empty() {
            print_line(format!("\n{state} stays, because it contains:"))?;
        }
        for path in stays.iter().take(SHOWN) {
            print_line(format!("  {}", clean(&path.to_string_lossy())))?;
        }
        if stays.len() > SHOWN {
            print_line(format!("  and {} more (`--print --json` lists all)", stays.len() - SHOWN))?;
        }
        Ok(())
    }
}
