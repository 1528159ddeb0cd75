//! An agent on another machine, the browser on this one. At the far end the carrier takes calls on a
//! socket and carries them over its standard output; at home the server passes them on to the daemon
//! with the owner's token. Between them is any command that connects both, `ssh` above all: nobody opens a
//! port, and no secret leaves home.
//!
//! Both ends speak HTTP/2 over the two pipes, each call a stream of its own. Both ping, since a broken
//! line says nothing by itself.

mod answers;
mod carry;
mod command;
mod greeting;
mod headers;
mod home_daemon;
mod line;
mod place;
mod serve;

use std::time::Duration;

#[cfg(feature = "fleet")]
pub(crate) use answers::{failure, json_response};
pub use carry::{CarryError, carry};
pub use command::{FarCommand, FarProgram, FarProgramError};
pub use greeting::{CarrierGreeting, GreetingError, read_greeting};
#[cfg(feature = "fleet")]
pub(crate) use headers::{of_answer as carried_answer_headers, of_call as carried_call_headers};
#[cfg(feature = "fleet")]
pub(crate) use home_daemon::CallBody;
pub use home_daemon::HomeDaemon;
pub use line::{FarLine, FarLineError, LineGuard, LinePipes};
pub use place::{
    FarAddress, FarAddressError, FarSocketError, PlaceName, PlaceNameError, far_socket, listen_far,
};
pub use serve::{ServeError, serve, serve_folder};

/// The path of MCP, the only one that is passed on to the daemon.
const MCP_PATH: &str = "/mcp";

/// The path at which home tells of itself.
const HOME_PATH: &str = "/home";

/// The path at which the carrier tells of itself, and asks nobody.
pub(crate) const CARRIER_PATH: &str = "/carrier";

/// How often each end asks the other for a sign of life.
const PING: Duration = Duration::from_secs(2);

/// How many bytes may be on their way at once: pings do not wait for long behind them.
const WINDOW: u32 = 256 * 1024;

/// How large the headers of a call are at most, in bytes.
pub(crate) const HEADERS_MAX: u16 = 16 * 1024;

/// How large the body of a call is at most, in bytes.
pub(crate) const BODY_MAX: usize = 1024 * 1024;

/// How many calls are carried at the same time.
const STREAMS: u32 = 256;

/// How many of them are kept for calls that do not wait.
const STREAMS_AT_ONCE: u32 = 32;

/// How long an end may be silent after a ping until the line counts as broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// On the loopback, or into a container: 2 s.
    SameMachine,
    /// Over a network: 6 s.
    Network,
}

impl LineKind {
    /// The kind of a line of which a person says whether both ends are near.
    #[must_use]
    pub const fn of(near: bool) -> Self {
        if near { Self::SameMachine } else { Self::Network }
    }

    const fn silence(self) -> Duration {
        match self {
            Self::SameMachine => Duration::from_secs(2),
            Self::Network => Duration::from_secs(6),
        }
    }
}
