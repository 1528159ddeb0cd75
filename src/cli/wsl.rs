//! `tabwire mcp` in WSL: browser and daemon are on Windows, so the program there speaks for this one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use tokio::process::Command;

use crate::os;

/// The program on the side of Windows.
const WINDOWS_PROGRAM: &str = "tabwire.exe";

/// The program of Windows that `tabwire mcp` becomes; `None`: this is no WSL, there is none, or a daemon of
/// this system was used here before, as its state directory shows.
pub(super) fn windows_program(state: &Path) -> Option<PathBuf> {
    if !os::is_wsl() || state.exists() {
        return None;
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(WINDOWS_PROGRAM))
        .find(|file| file.is_file())
}

/// Runs it with these words. It has the standard input and output of this one, and its end is this one's.
pub(super) async fn become_program(
    program: &Path,
    words: impl Iterator<Item = std::ffi::OsString>,
) -> anyhow::Result<ExitCode> {
    let status = Command::new(program).args(words).kill_on_drop(true).status().await;
    let status = status.with_context(|| format!("cannot start {}", program.display()))?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
