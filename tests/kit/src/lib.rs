//! What tests, proofs and benchmarks drive Tabwire with: the daemon in a throw-away state directory,
//! the program, the extension's side of the protocol, MCP clients, relays, pages and real browsers.
//! A failure panics: the test that asked has failed.
#![expect(missing_docs, reason = "names say it; a doc comment stands where they do not")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod attempts;
mod contents;
mod cutter;
mod daemon;
mod dice;
mod disk;
mod display;
mod display_user;
mod event_stream;
mod every_call;
mod extension;
mod files;
mod first_tab;
mod hand;
mod handshake;
mod health;
pub mod load;
mod mcp_client;
mod other_user;
mod page_trace;
mod pages;
mod polling;
mod ports;
mod program;
mod pseudo_terminal;
mod published;
mod raw_http;
pub mod record;
mod relay;
mod row;
mod saved_groups;
mod scratch;
mod session;
mod slow_line;
mod stand_in;
mod terminal;
mod time;
mod worker;

pub use attempts::{AttemptStage, CommandAttempt, DeliveryReaction, ExtensionAttempts};
pub use contents::{body, png};
pub use cutter::CuttingRelay;
pub use daemon::{StateDir, TestDaemon, token_of};
pub use dice::{SeededRandom, any_seed};
pub use disk::SimulatedDisk;
pub use display::VirtualDisplay;
pub use display_user::DisplayUser;
pub use event_stream::EventStream;
pub use every_call::{OfferedCall, every_call, says, without_numbers};
pub use extension::{
    AutoExtension, DeliveredCommand, ExtensionBuilder, FakeExtension, active_tab, tab,
};
pub use files::files_with;
pub use first_tab::first_tab;
pub use hand::{BrowserUser, OTHER_SITE};
pub use handshake::ExtensionIdentity;
pub use health::past_health;
pub use mcp_client::{
    HttpAnswer, LEGACY, MODERN, McpClient, TOOLS, modern_meta, phases, split_tools, tasks_meta,
    views_extension,
};
pub use other_user::become_user;
pub use page_trace::{PageTrace, PageWork};
pub use pages::{LATE, TestPages, long_text};
pub use polling::{PollingExtension, SyncingExtension, result_of};
pub use ports::free_port;
pub use program::{
    ProgramOutput, ProgramSandbox, ServedDaemon, StdioClient, cli_of, finish, program, signal,
};
pub use pseudo_terminal::PseudoTerminal;
pub use published::check_answer;
pub use raw_http::{
    OWN_TOKEN, RawAnswer, RawConnection, answer_ask, authorization, authorized, bearer, raw,
};
pub use relay::FrameRelay;
pub use row::RowReport;
pub use saved_groups::saved_groups;
pub use scratch::scratch_folder;
pub use session::{ExtensionSession, HttpExtension, answering, commands};
pub use slow_line::SlowLine;
pub use stand_in::{FakeDaemon, HeldRequest};
pub use terminal::Terminal;
pub use time::{FrozenClock, LOOK, Stopwatch, passes, soon, until};
pub use worker::{kill_busy_page, kill_pages, kill_worker};
