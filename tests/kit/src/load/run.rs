//! What the `main` of every benchmark does.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;

/// Runs a benchmark, which says whether it missed a required bound. That is a failure if it
/// `is_checked`.
pub fn run<O: Parser>(
    name: &str,
    is_checked: fn(&O) -> bool,
    bench: impl AsyncFnOnce(&O) -> anyhow::Result<bool>,
) -> ExitCode {
    // `cargo test --benches` and its like run this too, without that flag: there is nothing
    // to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let options = O::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let measured =
        runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(bench(&options)));
    match measured {
        Ok(missed) if missed && is_checked(&options) => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
