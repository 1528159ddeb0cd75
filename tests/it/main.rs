//! What Tabwire promises, tried from outside: over real sockets and with the real
//! program. One file a promise.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

mod analyze;
mod annotations;
mod bridge;
mod browser;
mod browser_cancel;
mod browser_first_command;
mod browser_hand_over;
mod browser_kills;
mod browser_pairing;
mod browser_popup;
mod browser_trouble;
mod cancel;
mod capture;
mod capture_observed;
mod chaos;
mod cli;
mod clients;
mod conformance;
mod connections;
mod docs;
mod doctor;
mod draw;
mod draw_observed;
mod frames;
mod guard;
mod hand_over;
mod handshakes;
mod hostile;
mod install;
mod jobs;
mod layers;
mod legacy;
mod legacy_hints;
mod legacy_sync;
mod links;
mod mcp;
mod notices;
mod one_lifecycle;
mod program;
mod progress;
mod push;
mod restart;
mod retry;
mod rmcp;
mod secrecy;
mod simulation;
mod sites;
mod streams;
mod tasks;
mod ws;
