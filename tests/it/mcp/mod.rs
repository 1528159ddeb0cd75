//! The Model Context Protocol over HTTP and stdio, as clients see it.

mod answers;
mod bridge;
mod command_view;
mod conformance;
mod golden_answers;
mod handshakes;
mod next_steps;
mod notices;
mod pictures;
mod progress;
mod protocol;
mod roots;
mod split;
mod tasks;
mod traces;
