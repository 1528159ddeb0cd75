//! The program with places over NATS besides. Everything is in the library.

use std::process::ExitCode;

/// As in the usual program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tabwire::cli::run()
}
