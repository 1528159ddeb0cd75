//! Logs to standard error; the daemon also logs to a file.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::print_error;
use crate::daemon::LogFile;
use crate::home::StateDirectory;

/// The environment variable with the log filter.
const VARIABLE: &str = "TABWIRE_LOG";

/// Logs to standard error.
pub(super) fn to_stderr(default: &str) {
    // An error means that the process has a log already.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter(default))
        .with_writer(io::stderr)
        .with_ansi(false)
        .try_init();
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
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter("tabwire=info,warn"))
        .with_writer(both)
        .with_ansi(false)
        .try_init();
}

/// The filter from the environment. An invalid one is reported, and the default applies.
fn filter(default: &str) -> EnvFilter {
    let Some(asked) = std::env::var_os(VARIABLE).filter(|asked| !asked.is_empty()) else {
        return EnvFilter::new(default);
    };
    let parsed = asked.to_str().map(EnvFilter::try_new);
    if let Some(Ok(filter)) = parsed {
        return filter;
    }
    print_error(format_args!(
        "invalid filter in {VARIABLE} (example: tabwire=debug); using {default}"
    ));
    EnvFilter::new(default)
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
