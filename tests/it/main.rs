//! What Tabwire promises, tried from outside: over real sockets and with the real program. One file
//! a promise, in folders by meaning. Whatever starts a real browser is below a module `browser`, by
//! which `.config/nextest.toml` knows it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod agents;
mod browser;
mod chaos;
mod cli;
mod clients;
mod collectors;
mod connection;
mod daemon;
mod docs;
#[cfg(feature = "fleet")]
mod fleet;
mod hostile;
mod layers;
mod lifecycle;
mod mcp;
mod polling;
mod reach;
mod simulation;
mod storm;
mod systems;
mod type_names;
