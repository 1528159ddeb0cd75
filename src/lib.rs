//! Tabwire lets AI agents use the browser that a person already has open.
//!
//! The map, bottom up. A module names only modules above it.

/// Bugs put in on purpose, to see that a test notices.
mod seeded_bug;

/// Files that tests make of the Rust types.
#[cfg(test)]
mod generated;

/// The differences between operating systems. No other module asks which system it runs on.
mod os;

/// The words on the wire: ids, actions, frames, reports.
pub mod protocol;

/// The command lifecycle, pure: states, deadlines, lanes, retention.
pub mod lifecycle;

/// The recorded streams of browsers, pure: bounded rings, without secrets.
pub mod streams;

/// Counts and times for operators, as OpenMetrics text.
pub mod metrics;

/// Commands as spans of OpenTelemetry, pure.
pub mod spans;

/// Keys and proofs, derived from one secret.
pub mod proof;

/// The state directory: the secret, the daemon's lock, where it is to be found.
pub mod home;

/// The engine: the whole of every command's fate, pure. The daemon and the proofs drive it.
pub mod engine;

/// The journal: the state that must outlive the process, in SQLite.
pub mod journal;

/// The browser extension that this build carries.
pub mod extension;

/// Tabwire's entries on a computer beside its state: host manifests for browsers, and itself in
/// the settings of MCP clients.
pub mod install;

/// The only owner of commands: it wakes waiters, carries frames, keeps deadlines.
pub mod hub;

/// The person's history of agents' acts: kept for 30 days, off the way of commands.
pub mod past_acts;

/// Whose tokens count: listed at the update, and kept up to date in a running daemon.
pub mod owners;

/// Spans on their way to a collector: in the background, bounded, only if one was named.
pub mod span_export;

/// Which local files agents may open: kept, told to every browser, decided by where a file is.
pub mod local_files;

/// The folders in which the programs of agents say that they work: asked for, and never believed.
pub mod client_roots;

/// Files that agents give to pages: checked and copied for the browser.
pub mod uploads;

/// Which sites agents may use: kept, and told to every browser.
pub mod sites;

/// Which extensions that only poll are let in: decided, kept and told.
pub mod admission;

/// Widenings that no person has confirmed yet: shown in every browser.
pub mod widenings;

/// The unpacked extension: compared with this program's files, and loaded anew once it was renewed.
pub mod renewals;

/// Drawings of people on pages: stored, and handed to the calls that wait for them.
pub mod annotations;

/// Long-running jobs of the daemon itself, their estimates and their progress.
pub mod jobs;

/// The MCP tools: their names, schemas and effects. No HTTP, no JSON-RPC.
pub mod tools;

/// The Model Context Protocol over the tools: JSON-RPC and both eras of versions.
pub mod mcp;

/// Inbound adapters: the guard, HTTP for MCP clients, the WebSocket of extensions.
pub mod edge;

/// The daemon: one for each state directory, on one port of the loopback.
pub mod daemon;

/// How a program of this computer connects to the daemon: by its socket, or else by its port.
mod daemon_connector;

/// `tabwire mcp`: MCP over stdio, forwarded to the daemon.
pub mod bridge;

/// Settings from outside: flags, environment, defaults.
mod config;

/// Output for people: colours, tables, progress. On a terminal only.
mod terminal;

/// An agent on another machine: its calls on their way over any two pipes.
pub mod reach;

/// Many machines, each a place with a name: their calls on their way over NATS.
#[cfg(feature = "fleet")]
pub mod fleet;

/// A throw-away daemon and browser, driven as an MCP client would.
pub mod demo;

/// The command line.
pub mod cli;
