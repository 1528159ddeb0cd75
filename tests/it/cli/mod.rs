//! The command line: what people and scripts type, and what they see.

mod bug_report;
mod call;
mod commands;
mod doctor;
mod files;
mod install;
mod lasting;
mod open;
mod owner;
mod person;
pub(crate) mod places;
mod service;
mod subcommands;
