//! `tabwire-fleet`: places over NATS. The usual program connects to nowhere, and names the other one.

#[cfg(feature = "fleet")]
pub(super) mod homes;
#[cfg(feature = "fleet")]
mod join;
#[cfg(feature = "fleet")]
mod places;

use std::process::ExitCode;

use clap::Subcommand;

use crate::config::DaemonLocation;

/// The commands of places.
#[derive(Debug, Subcommand)]
pub(super) enum FleetCommand {
    /// Set up NATS servers for a team's places, and give keys to places and agents
    #[cfg_attr(
        feature = "fleet",
        command(after_help = places::AFTER_HELP)
    )]
    #[cfg_attr(not(feature = "fleet"), command(after_help = ELSEWHERE))]
    Places(PlacesArguments),
    /// Let a team's agents use this browser by NATS, each site with your word
    #[cfg_attr(
        feature = "fleet",
        command(after_help = join::JOIN_HELP)
    )]
    #[cfg_attr(not(feature = "fleet"), command(after_help = ELSEWHERE))]
    Join(JoinArguments),
    /// Leave a team: end its calls, forget its key, and delete its agents' stored values and drawings
    #[cfg_attr(
        feature = "fleet",
        command(after_help = join::LEAVE_HELP)
    )]
    #[cfg_attr(not(feature = "fleet"), command(after_help = ELSEWHERE))]
    Leave(LeaveArguments),
}

#[cfg(feature = "fleet")]
use join::{JoinArguments, LeaveArguments};
#[cfg(feature = "fleet")]
use places::PlacesArguments;

#[cfg(not(feature = "fleet"))]
use elsewhere::{
    OtherArguments as PlacesArguments, OtherArguments as JoinArguments,
    OtherArguments as LeaveArguments,
};

/// The sentence of the usual program.
#[cfg(not(feature = "fleet"))]
pub(super) const NEEDS_FLEET: &str = "places over NATS are in the program tabwire-fleet, which does all that tabwire does besides: `make dist-host` in Tabwire's source builds it";

#[cfg(not(feature = "fleet"))]
const ELSEWHERE: &str = "This program connects to nowhere: `tabwire-fleet` has the command. docs/places.md has the set-up.\n\nExamples:\n  tabwire-fleet places init acme\n  tabwire-fleet join acme.join    `tabwire join`, `tabwire leave` and `tabwire places` name that program";

#[cfg(not(feature = "fleet"))]
mod elsewhere {
    use std::ffi::OsString;

    /// The arguments of a command that is in the other program.
    #[derive(Debug, clap::Args)]
    pub(in crate::cli) struct OtherArguments {
        /// The arguments of the command
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        _given: Vec<OsString>,
    }
}

#[cfg(not(feature = "fleet"))]
pub(super) fn run(_: &DaemonLocation, _: FleetCommand) -> anyhow::Result<ExitCode> {
    anyhow::bail!(NEEDS_FLEET)
}

#[cfg(feature = "fleet")]
pub(super) async fn run(
    location: &DaemonLocation,
    command: FleetCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        FleetCommand::Places(given) => places::run(given),
        FleetCommand::Join(given) => join::join(location, given).await,
        FleetCommand::Leave(given) => join::leave(location, given).await,
    }
}
