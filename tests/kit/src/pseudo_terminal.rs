//! A terminal, and a person at it.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{soon, until};

/// What a terminal shows until it is read; more holds its programs up.
const SHOWN: usize = 4_096;

/// Stands behind all that a terminal showed.
const LAST_SHOWN: &str = "(nothing more)";

/// A terminal of a given size.
pub struct PseudoTerminal {
    controller: File,
    name: CString,
    /// What was shown stays to be read for as long as somebody has the terminal open.
    held: File,
}

impl PseudoTerminal {
    pub fn new(columns: u16, rows: u16) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        rustix::fs::fcntl_setfl(&controller, OFlags::RDWR | OFlags::NONBLOCK).unwrap();
        let held = open(&name);
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&held, size).unwrap();
        Self { controller: controller.into(), name, held }
    }

    /// One of a program's standard streams at this terminal.
    pub fn stream(&self) -> Stdio {
        open(&self.name).into()
    }

    pub fn press(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).unwrap();
    }

    /// What it has shown since this was asked last, as far as the system has passed it on.
    pub fn shown_so_far(&mut self) -> Vec<u8> {
        let mut shown = Vec::new();
        let mut part = [0; SHOWN];
        while let Ok(length @ 1..) = self.controller.read(&mut part) {
            shown.extend_from_slice(&part[..length]);
        }
        shown
    }

    /// What it has shown since this was asked last, for programs that have ended.
    pub async fn shown(&mut self) -> String {
        String::from_utf8(self.shown_bytes().await).unwrap()
    }

    /// The same, which may begin in the middle of a character.
    pub async fn shown_bytes(&mut self) -> Vec<u8> {
        // The system passes on later what was shown, but in its order.
        self.held.write_all(LAST_SHOWN.as_bytes()).unwrap();
        let mut shown = Vec::new();
        let is_whole = async || {
            shown.extend(self.shown_so_far());
            shown.ends_with(LAST_SHOWN.as_bytes())
        };
        soon("what was shown", until(is_whole)).await;
        shown.truncate(shown.len() - LAST_SHOWN.len());
        shown
    }
}

fn open(name: &CString) -> File {
    rustix::fs::open(&**name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap().into()
}
