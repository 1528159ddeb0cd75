//! The program. Everything is in the library.

use std::process::ExitCode;

/// Half of a command's time in the daemon goes into small values that live for one call.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tabwire::cli::run()
}
