//! The clipboard of the desktop, where there is one.

use std::env;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// The programs that put their standard input on the clipboard, and the variables that they need.
const PROGRAMS: [(&str, &[&str], Option<&str>); 4] = [
    ("pbcopy", &[], None),
    ("wl-copy", &[], Some("WAYLAND_DISPLAY")),
    ("xclip", &["-selection", "clipboard"], Some("DISPLAY")),
    ("xsel", &["--clipboard", "--input"], Some("DISPLAY")),
];

/// How long a program may take: one that cannot reach its desktop waits for minutes.
const LONGEST: Duration = Duration::from_secs(2);

/// Puts a text on the clipboard. Whether a program says that it is there; a terminal's own way
/// (OSC 52) is not used, since no terminal answers whether it did so.
pub(super) async fn copy(text: &str) -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    for (program, arguments, needs) in PROGRAMS {
        if needs.is_none_or(is_set)
            && timeout(LONGEST, copy_by(program, arguments, text)).await == Ok(true)
        {
            return true;
        }
    }
    false
}

async fn copy_by(program: &str, arguments: &[&str], text: &str) -> bool {
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        // The process that stays to hand the text over must hold no pipe of ours open.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let Ok(mut child) = started else { return false };
    let Some(mut stdin) = child.stdin.take() else { return false };
    // A program that fails closes its input early; its exit status decides.
    let is_written = stdin.write_all(text.as_bytes()).await.is_ok();
    // The programs read to the end of their input.
    drop(stdin);
    child.wait().await.is_ok_and(|status| status.success()) && is_written
}
