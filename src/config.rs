//! Settings from outside: flags, environment variables, defaults.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::daemon;
use crate::home::{PERSON_FOLDER, UsualFolder};
use crate::install::BrowserFolders;
use crate::lifecycle::{Limits, limits};
use crate::os;
use crate::protocol::DEFAULT_PORT;
use crate::span_export::OtlpEndpoint;

/// The daemon that a command works with: its state directory and its port.
#[derive(Args, Clone, Debug)]
pub(crate) struct DaemonLocation {
    /// State directory [default: the platform's directory for state]
    #[arg(long, env = "TABWIRE_HOME", value_name = "DIR", global = true)]
    pub(crate) home: Option<PathBuf>,
    /// Loopback port; 0 picks a free one
    #[arg(long, env = "TABWIRE_PORT", default_value_t = DEFAULT_PORT, global = true)]
    pub(crate) port: u16,
}

impl DaemonLocation {
    /// The state directory: as given, else the platform's.
    pub(crate) fn home(&self) -> Result<PathBuf, etcetera::HomeDirError> {
        if let Some(home) = &self.home {
            return Ok(home.clone());
        }
        os::state_directory()
    }

    /// The folder that agents may write files to without a person's doing: `Tabwire/files` in the
    /// home directory. With a state directory that was named by hand nothing outside of that is
    /// written, so there it is `files` in it.
    pub(crate) fn agent_files(&self) -> Result<UsualFolder, etcetera::HomeDirError> {
        Ok(match &self.home {
            Some(state) => UsualFolder { base: state.clone(), below: "files".into() },
            None => UsualFolder {
                base: etcetera::home_dir()?,
                below: Path::new(PERSON_FOLDER).join("files"),
            },
        })
    }
}

/// The options of `tabwire serve`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeOptions {
    /// Set a capacity (repeatable), for example --limit queued=10
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    pub(crate) limits: Vec<(String, usize)>,
    /// Default of `wait_ms`: block `interact` up to this many ms for its result (maximum 25000)
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=25_000))]
    pub(crate) wait_ms: u64,
    /// Exit after this many seconds without calls and commands; 0 runs forever
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) idle_exit: u64,
    /// Keep no journal: commands and results are lost when the daemon ends
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Let `wksm_monitor_sync` read this folder (repeatable) [default: the home directory]
    #[arg(
        long = "monitor-root",
        env = "TABWIRE_MONITOR_ROOTS",
        value_name = "DIR",
        value_delimiter = os::PATH_LIST_SEPARATOR
    )]
    pub(crate) monitor_roots: Vec<PathBuf>,
    /// Send a span of each command to this OpenTelemetry collector, for example http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<OtlpEndpoint>,
    /// Keep running after the terminal closes; exit after 30 minutes without work
    #[arg(long, hide = true)]
    pub(crate) detach: bool,
}

/// A daemon that a bridge started exits after this long without work.
const DETACHED_IDLE: Duration = Duration::from_secs(30 * 60);

impl ServeOptions {
    /// What the daemon runs with.
    pub(crate) fn settings(
        &self,
        location: &DaemonLocation,
    ) -> Result<daemon::DaemonSettings, etcetera::HomeDirError> {
        let mut capacities = Limits::default();
        for (name, value) in &self.limits {
            // `parse_limit` has checked each of them already.
            let _ = capacities.set(name, *value);
        }
        let idle_exit = match self.idle_exit {
            // A daemon that a bridge started has nobody to stop it.
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
            browser_folders: BrowserFolders::of_user(),
            otlp: self.otlp.clone(),
        })
    }

    /// The folders that agents may sync.
    fn monitor_roots(&self) -> Vec<PathBuf> {
        if self.monitor_roots.is_empty() {
            return Self::usual_monitor_roots();
        }
        self.monitor_roots.clone()
    }

    /// The folders that agents may sync if the command line names none.
    pub(crate) fn usual_monitor_roots() -> Vec<PathBuf> {
        etcetera::home_dir().into_iter().collect()
    }
}

fn parse_limit(text: &str) -> Result<(String, usize), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let value: usize = value.parse().map_err(|_| format!("invalid number `{value}`"))?;
    if Limits::default().set(name, value) {
        return Ok((name.to_owned(), value));
    }
    if Limits::NAMES.contains(&name) {
        return Err(format!("value {value} is below the minimum of `{name}`"));
    }
    let near = |known: &&str| strsim::jaro_winkler(name, known);
    let nearest = Limits::NAMES.into_iter().max_by(|a, b| near(a).total_cmp(&near(b)));
    let all = Limits::NAMES.join(", ");
    Err(format!(
        "unknown limit `{name}`; did you mean `{}`? Valid limits: {all}",
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
