//! `tabwire demo`
use std::process::ExitCode;
/// x
pub async fn run() -> anyhow::Result<ExitCode> { Ok(ExitCode::SUCCESS) }
