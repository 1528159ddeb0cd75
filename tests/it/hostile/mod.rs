//! Whoever should not get in tries to, while those who may go on working.
//!
//! A test is named after the row of the table in `docs/security.md` that it tries. Rows that are
//! tried in another file report there as well: `make hostile` runs and counts them all.

mod accepting_client;
mod agent_files;
mod browser;
mod consent;
mod dashboard;
mod dashboard_acts;
mod dashboard_drawings;
mod dashboard_recordings;
mod far_owners;
mod keys;
mod load;
mod other_users;
mod project_folders;
mod relays;
mod removal;
mod requests;
mod scene;
mod scopes;
mod squatter;
mod surrogates;
mod tenants;
mod uploads;
