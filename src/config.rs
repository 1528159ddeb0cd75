//! What can be set from outside: flags, environment, defaults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use etcetera::AppStrategy as _;

use crate::daemon;
use crate::home::{PERSON_FOLDER, UsualFolder};
use crate::lifecycle::{Limits, limits};
use crate::protocol::DEFAULT_PORT;

/// Which daemon a command is about.
#[derive(Args, Clone, Debug)]
pub struct DaemonLocation {
    /// State directory [default: the platform's]
    #[arg(long, env = "TABWIRE_HOME", value_name = "DIR", global = true)]
    pub home: Option<PathBuf>,
    /// Port on the loopback; 0 for any that is free
    #[arg(long, env = "TABWIRE_PORT", default_value_t = DEFAULT_PORT, global = true)]
    pub port: u16,
}

impl DaemonLocation {
    /// The state directory: as given, else the platform's.
    ///
    /// # Errors
    ///
    /// There is no home directory to put it in.
    pub fn home(&self) -> Result<PathBuf, etcetera::HomeDirError> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        let app = etcetera::AppStrategyArgs {
            top_level_domain: "dev".to_owned(),
            author: "tabwire".to_owned(),
            app_name: "tabwire".to_owned(),
        };
        let dirs = etcetera::choose_app_strategy(app)?;
        Ok(dirs.state_dir().unwrap_or_else(|| dirs.data_dir()))
    }

    /// The folder that agents may write files to without a person's doing: `Tabwire/files` in the
    /// home directory. With a state directory that was named by hand nothing outside of that is
    /// written, so there it is `files` in it.
    ///
    /// # Errors
    ///
    /// There is no home directory to put it in.
    pub fn agent_files(&self) -> Result<UsualFolder, etcetera::HomeDirError> {
        Ok(match &self.home {
            Some(state) => UsualFolder { base: state.clone(), below: "files".into() },
            None => UsualFolder {
                base: etcetera::home_dir()?,
                below: Path::new(PERSON_FOLDER).join("files"),
            },
        })
    }
}

/// How a daemon is to run.
#[derive(Args, Clone, Debug)]
pub struct ServeOptions {
    /// Set a capacity (repeatable), for example --limit queued=10
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    pub limits: Vec<(String, usize)>,
    /// How long `interact` blocks for its result unless the call says otherwise, in ms; at most
    /// 25000, since the bridge gives such a call 35 s
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=25_000))]
    pub wait_ms: u64,
    /// End after this many seconds without a call and without a command; 0: never
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub idle_exit: u64,
    /// Keep no journal: commands and results do not outlive the daemon
    #[arg(long)]
    pub ephemeral: bool,
    /// A folder that `wksm_monitor_sync` may look into (repeatable) [default: the home directory]
    #[arg(
        long = "monitor-root",
        env = "TABWIRE_MONITOR_ROOTS",
        value_name = "DIR",
        value_delimiter = ':'
    )]
    pub monitor_roots: Vec<PathBuf>,
    /// Run on when the terminal is closed, and end after 30 minutes without work
    #[arg(long, hide = true)]
    pub detach: bool,
}

/// How long a daemon that a bridge has started stays without work.
const DETACHED_IDLE: Duration = Duration::from_secs(30 * 60);

impl ServeOptions {
    /// What the daemon runs with.
    ///
    /// # Errors
    ///
    /// See [`DaemonLocation::home`].
    pub fn settings(
        &self,
        location: &DaemonLocation,
    ) -> Result<daemon::DaemonSettings, etcetera::HomeDirError> {
        let mut capacities = Limits::default();
        for (name, value) in &self.limits {
            // They were checked one by one when they were read.
            let _ = capacities.set(name, *value);
        }
        let idle_exit = match self.idle_exit {
            0 => self.detach.then_some(DETACHED_IDLE),
            seconds => Some(Duration::from_secs(seconds)),
        };
        Ok(daemon::DaemonSettings {
            home: location.home()?,
            port: location.port,
            limits: capacities,
            default_wait: Duration::from_millis(self.wait_ms).min(limits::WAIT_MAX),
            idle_exit,
            ephemeral: self.ephemeral,
            monitor_roots: self.monitor_roots(),
            agent_files: location.agent_files()?,
        })
    }

    /// The folders that may be synced.
    fn monitor_roots(&self) -> Vec<PathBuf> {
        if self.monitor_roots.is_empty() {
            return Self::usual_monitor_roots();
        }
        self.monitor_roots.clone()
    }

    /// The folders that may be synced if none is named.
    #[must_use]
    pub fn usual_monitor_roots() -> Vec<PathBuf> {
        etcetera::home_dir().into_iter().collect()
    }
}

fn parse_limit(text: &str) -> Result<(String, usize), String> {
    let (name, value) = text.split_once('=').ok_or("say it as NAME=VALUE")?;
    let value: usize = value.parse().map_err(|_| format!("`{value}` is not a whole number"))?;
    if Limits::default().set(name, value) {
        return Ok((name.to_owned(), value));
    }
    if Limits::NAMES.contains(&name) {
        return Err(format!("{value} is too small for `{name}`"));
    }
    let near = |known: &&str| strsim::jaro_winkler(name, known);
    let nearest = Limits::NAMES.into_iter().max_by(|a, b| near(a).total_cmp(&near(b)));
    let all = Limits::NAMES.join(", ");
    Err(format!(
        "no limit `{name}`; did you mean `{}`? There are: {all}",
        nearest.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::protocol::garbled;

    #[test]
    fn a_limit_is_set_as_it_is_said_or_refused_with_a_reason() {
        let samples = ["queued=10", "calls_per_minute=0", "outbound=8", "lanes=1", "=", "clients="];
        proptest!(garbled::cases(4_000), |(text in garbled::nearly_text(&samples))| {
            match parse_limit(&text) {
                Ok((name, value)) => {
                    let (said, digits) = text.split_once('=').unwrap();
                    prop_assert_eq!(said, &name);
                    prop_assert_eq!(digits.parse::<u128>().unwrap(), value as u128);
                    prop_assert!(Limits::default().set(&name, value));
                }
                Err(why) => prop_assert!(!why.is_empty()),
            }
        });
    }
}
