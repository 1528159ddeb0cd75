//! A screen that nobody sees, for browsers with windows.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::{DisplayUser, soon};

/// A running X server without a monitor. It ends when this is dropped.
pub struct VirtualDisplay {
    _server: Child,
    name: String,
}

impl VirtualDisplay {
    pub async fn start() -> Self {
        let mut command = Command::new("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut server = command.spawn().expect("Xvfb; `sh scripts/need-xvfb.sh` installs it");
        // It says its number once it can be used.
        let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
        let number = soon("the display", said.next_line()).await.unwrap().expect("its number");
        Self { _server: server, name: format!(":{}", number.trim()) }
    }

    /// A person at it.
    pub fn user(&self) -> DisplayUser {
        DisplayUser::at(&self.name)
    }

    /// A program in this folder that starts a browser in a window on this display, although it is
    /// told to have none.
    pub fn program(&self, folder: &Path, chromium: &Path, flags: &[&str]) -> PathBuf {
        let program = folder.join("browser-in-window");
        let script = format!(
            "#!/bin/sh\nfor given do shift; [ \"$given\" = --headless=new ] || set -- \"$@\" \
             \"$given\"; done\nDISPLAY={} exec '{}' {} \"$@\"\n",
            self.name,
            chromium.display(),
            flags.join(" "),
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
        program
    }
}
