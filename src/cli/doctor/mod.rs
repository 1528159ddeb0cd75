//! `tabwire doctor`: walks every hop from the state directory to the browser, in the order
//! in which a command needs them, and names the first one that is broken.

mod extensions;
mod far;
mod hops;
mod native_host;
mod other_users;
mod report;
mod tenants;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::connect::ConnectFlag;
use super::output_file::check_new;
use super::owner::name_old_owners;
use crate::config::DaemonLocation;
use crate::terminal::{ProgressNotice, TextStyle, clean, print_line, wrapped_behind};
pub(super) use extensions::{CHANGED, RESTORE, UPDATE, label};

/// The state of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum HopState {
    Fine,
    Broken,
    /// Not checked, or without a result.
    Unknown,
}

/// The finding at one hop.
#[derive(Debug, Serialize)]
struct HopFinding {
    hop: &'static str,
    state: HopState,
    /// The finding in a sentence.
    says: String,
    /// The fix, if the hop is broken.
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// Whether the first use of Tabwire brings it: until then its absence is no fault.
    #[serde(skip)]
    comes_with_use: bool,
}

impl HopFinding {
    /// A line, with the hop in a column of this width, and a line with what to do.
    fn show(&self, widest: usize) -> anyhow::Result<()> {
        let Self { hop, state, says, remedy, .. } = self;
        let sign = match state {
            HopState::Fine => TextStyle::Good.paint("✓"),
            HopState::Broken => TextStyle::Bad.paint("✗"),
            HopState::Unknown => TextStyle::Dim.paint("–"),
        };
        let indent = widest + 4;
        print_line(format!("{sign} {hop:widest$}  {}", wrapped_behind(&clean(says), indent)))?;
        if let Some(remedy) = remedy.as_ref().filter(|_| *state == HopState::Broken) {
            let indent = indent + 2;
            print_line(format!("{:>indent$}{}", "→ ", wrapped_behind(&clean(remedy), indent)))?;
        }
        Ok(())
    }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct HopFindings(Vec<HopFinding>);

impl HopFindings {
    fn fine(&mut self, hop: &'static str, says: impl Into<String>) {
        self.add(hop, HopState::Fine, says.into(), None);
    }

    fn broken(&mut self, hop: &'static str, says: impl Into<String>, remedy: impl Into<String>) {
        self.add(hop, HopState::Broken, says.into(), Some(remedy.into()));
    }

    /// Broken, but to be expected of what has only just been installed.
    fn not_used(&mut self, hop: &'static str, says: impl Into<String>, remedy: impl Into<String>) {
        self.broken(hop, says, remedy);
        if let Some(finding) = self.0.last_mut() {
            finding.comes_with_use = true;
        }
    }

    /// Nothing is wrong, though it does not run yet.
    fn later(&mut self, hop: &'static str, says: impl Into<String>) {
        self.unknown(hop, says);
        if let Some(finding) = self.0.last_mut() {
            finding.comes_with_use = true;
        }
    }

    fn unknown(&mut self, hop: &'static str, says: impl Into<String>) {
        self.add(hop, HopState::Unknown, says.into(), None);
    }

    fn add(&mut self, hop: &'static str, state: HopState, says: String, remedy: Option<String>) {
        self.0.push(HopFinding { hop, state, says, remedy, comes_with_use: false });
    }

    /// Whether a browser is connected.
    pub(super) fn has_browser(&self) -> bool {
        self.0
            .iter()
            .any(|found| found.hop == extensions::CONNECTED && found.state == HopState::Fine)
    }

    /// The same, as it is to be seen by somebody who has not used Tabwire yet: what comes with
    /// use is not broken.
    pub(super) fn before_use(mut self) -> Self {
        for finding in self.0.iter_mut().filter(|finding| finding.comes_with_use) {
            finding.state = HopState::Unknown;
        }
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let broken = self.first_broken();
        json!({
            "ok": broken.is_none(),
            "first_broken": broken.map(|finding| finding.hop),
            "do": broken.and_then(|finding| finding.remedy.as_ref()),
            "hops": self.0,
        })
    }

    pub(super) fn show(&self) -> anyhow::Result<()> {
        let widest = self.0.iter().map(|finding| finding.hop.len()).max().unwrap_or(0);
        for finding in &self.0 {
            finding.show(widest)?;
        }
        match self.first_broken() {
            None if self.0.iter().any(|finding| finding.comes_with_use) => {
                let text = "Nothing is broken so far. The first call of an MCP client starts the \
                            daemon, and the extension then connects. Run `tabwire doctor` again after \
                            that call.";
                print_line(format!("\n{}", wrapped_behind(text, 0)))?;
            }
            None => print_line("\nNothing is broken.")?,
            Some(HopFinding { hop, remedy, .. }) => {
                let broken = format!("Broken: {hop}.");
                let remedy = remedy.as_deref().unwrap_or_default();
                let text = wrapped_behind(&clean(&format!("{broken} Fix: {remedy}")), 0);
                print_line(format!(
                    "\n{}{}",
                    TextStyle::Bold.paint(&broken),
                    &text[broken.len()..]
                ))?;
            }
        }
        Ok(())
    }

    /// Shows the broken hop, and nothing if none is broken.
    pub(super) fn show_broken(&self) -> anyhow::Result<()> {
        let broken = || self.0.iter().filter(|finding| finding.state == HopState::Broken);
        let widest = broken().map(|finding| finding.hop.len()).max().unwrap_or(0);
        if broken().next().is_some() {
            print_line("\n`tabwire doctor` found a problem:")?;
        }
        broken().try_for_each(|finding| finding.show(widest))
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.0.len()
    }

    fn first_broken(&self) -> Option<&HopFinding> {
        self.0.iter().find(|finding| finding.state == HopState::Broken)
    }
}

/// The flags of `tabwire doctor`.
#[derive(Args, Debug)]
pub(super) struct DoctorArguments {
    #[command(flatten)]
    far: ConnectFlag,
    /// Write a file for a bug report, without secrets, page titles and URL paths [default: a new
    /// file in the current directory]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "connect")]
    report: Option<Option<PathBuf>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn doctor(
    location: &DaemonLocation,
    arguments: DoctorArguments,
) -> anyhow::Result<ExitCode> {
    let DoctorArguments { far, report, json } = arguments;
    if let Some(far) = far.chosen()? {
        let findings = far::walk(location, &far).await?;
        if json {
            print_line(serde_json::to_string_pretty(&findings.to_json())?)?;
        } else {
            findings.show()?;
        }
        let is_well = findings.first_broken().is_none();
        return Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if let Some(Some(file)) = &report {
        check_new(file)?;
    }
    let findings = check_every_hop(location).await;
    let is_well = findings.first_broken().is_none();
    let mut told = findings.to_json();
    if !json {
        findings.show()?;
    }
    let old_owners = name_old_owners(location)?;
    if json && !old_owners.is_empty() {
        told["old_owners"] = json!(old_owners);
    } else if !old_owners.is_empty() {
        let named = old_owners.join(", owner ");
        let text = format!(
            "Programs have used the browser as owner {named} before Tabwire listed owners. Their tokens are \
             valid as they were. `tabwire owner remove NAME` ends one that you do not know. This is said once."
        );
        print_line(format!("\n{}", wrapped_behind(&text, 0)))?;
    }
    if let Some(file) = report {
        let path = report::write(location, &told, file).await?;
        if json {
            told["report"] = json!(path);
        } else {
            print_line(report::contents(&path))?;
        }
    }
    if json {
        print_line(serde_json::to_string_pretty(&told)?)?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Looks at every hop, which takes a moment.
pub(super) async fn check_every_hop(location: &DaemonLocation) -> HopFindings {
    let _progress = ProgressNotice::start("checking every hop");
    hops::walk(location).await
}
