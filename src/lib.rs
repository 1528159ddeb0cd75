//! Tabwire lets AI agents use the browser that a person already has open.
//!
//! The map, bottom up. A module names only modules above it.

/// What goes over the wire: ids, actions, frames, reports.
pub mod protocol;

/// The command lifecycle, pure: states, deadlines, lanes, retention.
pub mod lifecycle;
