//! The daemon as a process: how it starts and ends, what it leaves behind, and what the next one finds.

mod metrics;
mod program;
mod restart;
mod secrecy;
mod sleep;
mod spans;
