//! What the tests drive the daemon with: the daemon itself in a throw-away state
//! directory, an extension and MCP clients that speak over real sockets, pages for
//! real browsers, and the program.

mod contents;
mod cutter;
mod daemon;
mod event_stream;
mod extension;
mod first_tab;
mod hand;
mod health;
mod mcp_client;
mod pages;
mod program;
mod pseudo_terminal;
mod published;
mod raw_http;
mod relay;
mod row;
mod session;
mod stand_in;
mod terminal;
mod time;
mod worker;

pub(crate) use contents::body;
pub(crate) use cutter::Cutter;
pub(crate) use daemon::{Daemon, StateDir};
pub(crate) use event_stream::EventStream;
pub(crate) use extension::{Auto, Delivered, FakeExtension, Shim, active_tab, tab};
pub(crate) use first_tab::first_tab;
pub(crate) use hand::{Hand, OTHER_SITE};
pub(crate) use health::past_health;
pub(crate) use mcp_client::{HttpAnswer, McpClient, modern_meta, phases, tasks_meta};
pub(crate) use pages::{LATE, Pages, long_text};
pub(crate) use program::{Place, Ran, Served, StdioClient, cli_of, finish, program, signal};
pub(crate) use pseudo_terminal::PseudoTerminal;
pub(crate) use published::check_answer;
pub(crate) use raw_http::{RawAnswer, RawConnection, raw};
pub(crate) use relay::Relay;
pub(crate) use row::Row;
pub(crate) use session::{HttpLink, Session, answering, commands};
pub(crate) use stand_in::{StandIn, TakenRequest};
pub(crate) use terminal::Terminal;
pub(crate) use time::{Frozen, LOOK, Stopwatch, soon, until};
pub(crate) use worker::{kill_pages, kill_worker};
