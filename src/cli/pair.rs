//! `tabwire pair`, `tabwire unpair` and `tabwire native-host`.

use std::io;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::extension::port_for_extension;
use super::serve::end_daemon;
use crate::config::DaemonLocation;
use crate::extension::{pairing, pairing_line};
use crate::home::StateDirectory;
use crate::install::native_host::{self, PairingRefusal};
use crate::protocol::EXTENSION_ID;
use crate::terminal::{is_terminal, print_line};

pub(super) fn pair(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let home = StateDirectory::open(&location.home()?)?;
    let port = port_for_extension(location, Some(&home))?;
    let key = home.auth().extension_key(EXTENSION_ID);
    let line = pairing_line(port, &key);
    if json {
        let mut pairing_answer = pairing(port, &key);
        pairing_answer["line"] = line.into();
        print_line(pairing_answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line(line)?;
    // A pipe gets the line alone, ready to paste.
    if is_terminal() {
        print_line(
            "\nPaste this line into the popup on the extension's icon. It holds the key to your \
             browser: keep it to yourself.",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn unpair(location: &DaemonLocation, json: bool) -> anyhow::Result<ExitCode> {
    let home = StateDirectory::open(&location.home()?)?;
    // Without this lock a bridge could start a daemon with the old secret in between.
    let _nobody_starts_one = home.lock_start()?;
    // The key goes first: a daemon that ended first could start again with the old key.
    home.replace_key()?;
    let ended = end_daemon(&home).await.context(
        "the secret was replaced, but a daemon may still run with the old one; run `tabwire stop`",
    )?;
    if json {
        print_line(json!({"unpaired": true, "daemon_ended": ended.map(|record| record.pid)}))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_line("All keys and tokens are revoked.")?;
    if let Some(record) = ended {
        print_line(format!(
            "Tabwire ended the daemon (process {}). The next call of an MCP client or `tabwire serve` \
             starts a new one.",
            record.pid
        ))?;
    }
    print_line(
        "In browsers that `tabwire install` has set up, the extension pairs itself again. For any \
         other extension, run `tabwire install` and reload the extension, or paste the line of \
         `tabwire pair`. `tabwire token` prints a new token.",
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a browser over standard input and output.
pub(super) fn native_host(
    location: &DaemonLocation,
    caller: &[String],
) -> anyhow::Result<ExitCode> {
    // Chromium names the extension that asks in the first argument.
    let caller = caller.first().map(String::as_str);
    native_host::serve(caller, io::stdin().lock(), io::stdout().lock(), || {
        pairing_answer(location)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Port and key for our extension, read anew for each message: the daemon may have moved since.
fn pairing_answer(location: &DaemonLocation) -> Result<Value, PairingRefusal> {
    let refused =
        |code| move |error: anyhow::Error| PairingRefusal { code, message: format!("{error:#}") };
    let home =
        || -> anyhow::Result<StateDirectory> { Ok(StateDirectory::open(&location.home()?)?) };
    let home = home().map_err(refused("state_directory"))?;
    let port = native_host::installed_port(home.dir()).unwrap_or(location.port);
    let location = DaemonLocation { port, ..location.clone() };
    let port = port_for_extension(&location, Some(&home)).map_err(refused("no_port"))?;
    Ok(pairing(port, &home.auth().extension_key(EXTENSION_ID)))
}
