//! The ways on which frames and queries reach an extension.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The transport of commands to an extension and of its reports back. Only the trace of a command
/// shows it: answers are the same on every transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Frames on its WebSocket.
    WebSocket,
    /// The same frames over HTTP.
    Http,
    /// Answers to the polls of an extension that knows no frames. Such an extension runs every
    /// query at once and cannot be stopped.
    Poll,
    /// The same in the answers to `POST /sync`, with which later extensions poll and report in one
    /// request.
    Sync,
}

impl Transport {
    /// The word of the wire and of the journal.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::WebSocket => "web_socket",
            Self::Http => "http",
            Self::Poll => "poll",
            Self::Sync => "sync",
        }
    }

    /// The transport of this [word](Self::word).
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::WebSocket, Self::Http, Self::Poll, Self::Sync];
        all.into_iter().find(|one| one.word() == word)
    }

    /// Whether a delivered command may already run although the extension has reported nothing:
    /// there is no claim, and no `go` that the daemon could hold back.
    #[must_use]
    pub const fn runs_at_once(self) -> bool {
        matches!(self, Self::Poll | Self::Sync)
    }
}
