//! Tabwire lets AI agents use the browser that a person already has open.
//!
//! The map, bottom up. A module names only modules above it.

/// What goes over the wire: ids, actions, frames, reports.
pub mod protocol;

/// The command lifecycle, pure: states, deadlines, lanes, retention.
pub mod lifecycle;

/// Keys and proofs, derived from one secret.
pub mod proof;

/// The state directory: the secret, the daemon's lock, where it is to be found.
pub mod home;

/// The only owner of commands: it wakes waiters, carries frames, keeps deadlines.
pub mod hub;
