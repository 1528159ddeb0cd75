//! `tabwire carry`: the far end of a line.

use std::process::ExitCode;

use clap::Args;

use super::logs;
use crate::config::DaemonLocation;
use crate::os::{self, StopSignals};
use crate::reach::{self, LineKind, PlaceName, far_socket, listen_far};

/// The flags of `tabwire carry`.
#[derive(Args, Debug)]
pub(super) struct CarryArguments {
    /// The name of this place, as `tabwire reach` has it
    #[arg(value_name = "NAME")]
    place: PlaceName,
    /// End after 2 s of silence, not 6: both ends are on one machine
    #[arg(long)]
    near: bool,
}

pub(super) async fn run(
    location: &DaemonLocation,
    arguments: CarryArguments,
) -> anyhow::Result<ExitCode> {
    let CarryArguments { place, near } = arguments;
    logs::to_stderr("warn");
    let mut signals = StopSignals::listen_with_terminal()?;
    let socket = listen_far(&far_socket(&location.home()?, &place))?;
    let (input, output) = (os::standard_input(), os::standard_output());
    tokio::select! {
        carried = reach::carry(place, socket, input, output, LineKind::of(near)) => carried?,
        _stopped = signals.next() => {}
    }
    Ok(ExitCode::SUCCESS)
}
