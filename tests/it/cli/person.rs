//! A person's home directory, in which the program runs as it does without a state directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::Command;

use testkit::{ProgramOutput, ProgramSandbox, finish};

/// A port for what is written down; nobody listens there.
pub(super) const PORT: u16 = 47_890;

/// A person's home directory, and no state directory of its own.
pub(super) struct Person {
    pub(super) home: tempfile::TempDir,
    pub(super) place: ProgramSandbox,
}

impl Person {
    pub(super) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), place: ProgramSandbox::with_port(PORT) }
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        self.at_home(self.place.command(arguments))
    }

    pub(super) fn at_home(&self, mut command: Command) -> Command {
        command.env("HOME", self.at("")).env_remove("TABWIRE_HOME");
        for elsewhere in
            ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"]
        {
            command.env_remove(elsewhere);
        }
        command
    }

    pub(super) async fn run(&self, arguments: &[&str]) -> ProgramOutput {
        finish(self.command(arguments)).await
    }

    /// Every file below the home directory.
    pub(super) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.at("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        files
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // A test that failed may have left a daemon; without one this does nothing.
        let mut stop = std::process::Command::new(testkit::program());
        stop.arg("stop").env_clear().env("HOME", self.home.path());
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
