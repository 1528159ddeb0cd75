//! Logs to standard error; the daemon also logs to a file.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::print_error;
use crate::daemon::LogFile;
use crate::home::StateDirectory;

/// The environment variable with the log filter.
const VARIABLE: &str = "TABWIRE_LOG";

/// Logs to standard error.
pub(super) fn to_stderr(default: &str) {
    start(default, io::stderr);
}

/// Logs to the file in the state directory, and to standard error unless the daemon is detached. The
/// standard error of a detached daemon is that same file, so that a panic is recorded too.
pub(super) fn of_daemon(home: &StateDirectory, detached: bool) {
    let file = match LogFile::open(&home.log_path()) {
        Ok(file) => Some(Mutex::new(file)),
        Err(error) => {
            let path = home.log_path();
            print_error(format_args!(
                "cannot write {}: {error}; logging to standard error only",
                path.display()
            ));
            None
        }
    };
    // Without its file a detached daemon has standard error only.
    let both = DaemonLogWriter { to_stderr: !detached || file.is_none(), file };
    start("tabwire=info,warn", both);
}

fn start<W>(default: &str, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_ansi(false);
    // An error means that the process has a log already.
    let _ = tracing_subscriber::registry().with(filter(default)).with(lines).try_init();
}

/// The filter from the environment: levels by target. An invalid one is reported, and the default applies.
fn filter(default: &str) -> Targets {
    let asked = std::env::var_os(VARIABLE).filter(|asked| !asked.is_empty());
    let usual = || default.parse().unwrap_or_default();
    let Some(asked) = asked else { return usual() };
    asked.to_str().and_then(|asked| asked.parse().ok()).unwrap_or_else(|| {
        print_error(format_args!(
            "invalid filter in {VARIABLE} (example: tabwire=debug); using {default}"
        ));
        usual()
    })
}

struct DaemonLogWriter {
    to_stderr: bool,
    file: Option<Mutex<LogFile>>,
}

impl<'a> MakeWriter<'a> for DaemonLogWriter {
    type Writer = &'a DaemonLogWriter;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

/// One line at a time. A log that cannot be written is no reason to stop.
impl Write for &DaemonLogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(file) = &self.file {
            let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line);
        }
        if self.to_stderr {
            let _ = io::stderr().write_all(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
