//! A throw-away Chromium with the extension in it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail};
use tokio::process::Command;

use super::process::Process;
use crate::os::{self, OperatingSystem};

/// How much of a browser's output is shown, in bytes.
const SAID: usize = 8 * 1024;

/// Programs that load an unpacked extension from the command line. Branded Chrome does
/// not.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "chrome-for-testing"];

/// The flags for a browser without a window only.
const WINDOWLESS: [&str; 2] = ["--headless=new", "--disable-gpu"];

/// The flags for a browser in unattended use.
const FLAGS: [&str; 8] = [
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    // The suggestions below the address are a page of the browser's own, loaded at each start: some 0.7 s of
    // a core, a third of the start, for a person who types there.
    "--disable-features=WebUIOmniboxPopup",
    "--window-size=1000,700",
];

/// Finds a browser: `TABWIRE_BROWSER`, else a Chromium on the path.
///
/// # Errors
///
/// There is none; the message says which package to install.
pub fn find_browser() -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os("TABWIRE_BROWSER") {
        let given = PathBuf::from(given);
        if given.is_file() {
            return Ok(given);
        }
        bail!("TABWIRE_BROWSER names {}, and there is no such file", given.display());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    PROGRAMS
        .iter()
        .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
        .find(|candidate| candidate.is_file())
        .context(
            "no Chromium found. Install one (Debian: apt-get install chromium), or name a \
             Chromium or Chrome for Testing in TABWIRE_BROWSER",
        )
}

/// A running browser of our own. Started again if it crashes as it starts, and ended when it is
/// dropped.
#[derive(Debug)]
pub struct Browser {
    process: Process,
    log: PathBuf,
}

impl Browser {
    /// Starts `program`, headless, with a new profile, an unpacked extension and a page.
    /// Its output goes into the profile's folder.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn launch(
        program: &Path,
        profile: &Path,
        extension: &Path,
        page: &str,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(WINDOWLESS);
        Self::start(command, program, profile, extension, page)
    }

    /// The same in a window.
    ///
    /// # Errors
    ///
    /// There is no display to put it on, or the system's.
    pub fn launch_in_window(
        program: &Path,
        profile: &Path,
        extension: &Path,
        page: &str,
    ) -> anyhow::Result<Self> {
        check_display()?;
        let mut command = Command::new(program);
        // Its home is the profile's folder, and the way to the display is in the old one.
        if let (None, Some(home)) = (std::env::var_os("XAUTHORITY"), std::env::var_os("HOME")) {
            let authority = PathBuf::from(home).join(".Xauthority");
            if authority.is_file() {
                command.env("XAUTHORITY", authority);
            }
        }
        Self::start(command, program, profile, extension, page)
    }

    fn start(
        mut command: Command,
        program: &Path,
        profile: &Path,
        extension: &Path,
        page: &str,
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(profile)?;
        let log = profile.join("browser.log");
        command.args(FLAGS).env("HOME", profile).env("XDG_CACHE_HOME", profile.join("cache"));
        command.env("XDG_CONFIG_HOME", profile.join("config")).env("TMPDIR", profile);
        if os::is_administrator() {
            // Chromium refuses to run as root with its sandbox.
            command.arg("--no-sandbox");
        }
        command
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--load-extension={}", extension.display()))
            .arg(page)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let process = Process::start(command, &log)
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { process, log })
    }

    /// The browser's process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id().unwrap_or_default()
    }

    /// The last that it has said of itself, for whoever looks for why something did not happen:
    /// at most 8 KiB.
    #[must_use]
    pub fn said(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let last = &log[log.len().saturating_sub(SAID)..];
        String::from_utf8_lossy(last).into_owned()
    }

    /// Waits until it has ended without having been asked to, and is not started again. How, as
    /// the rest of a sentence: "ended by itself …".
    pub async fn ended(&self) -> String {
        self.process.ended().await
    }

    /// Ends it, with everything that it has started.
    pub async fn end(self) {
        self.process.end().await;
    }
}

/// Whether there is a display for a window.
///
/// # Errors
///
/// There is none; the message names the next step.
pub(super) fn check_display() -> anyhow::Result<()> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if OperatingSystem::current() != OperatingSystem::Linux
        || is_set("DISPLAY")
        || is_set("WAYLAND_DISPLAY")
    {
        return Ok(());
    }
    bail!(
        "there is no display for a window (neither DISPLAY nor WAYLAND_DISPLAY is set): run it \
         on a desktop, or without --headed"
    )
}
