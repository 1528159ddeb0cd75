//! How frames and queries get to an extension.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What carries commands to an extension and its reports back. Callers see it in the trace
/// of a command only: what they are told is the same on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Frames on its WebSocket.
    WebSocket,
    /// The same frames over HTTP.
    Http,
    /// Answers to the polls of an extension that knows no frames. It runs what it is given
    /// at once, and cannot be told to stop.
    Poll,
    /// The same in the answers to `POST /sync`, with which later ones poll and report at once.
    Sync,
}

impl Transport {
    /// The word for it, as the wire and the journal have it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::WebSocket => "web_socket",
            Self::Http => "http",
            Self::Poll => "poll",
            Self::Sync => "sync",
        }
    }

    /// The one of this [word](Self::word).
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let all = [Self::WebSocket, Self::Http, Self::Poll, Self::Sync];
        all.into_iter().find(|one| one.word() == word)
    }

    /// Whether what it has delivered may be running before anything was heard of it: there
    /// is no claim, and no `go` that could be kept back.
    #[must_use]
    pub const fn runs_at_once(self) -> bool {
        matches!(self, Self::Poll | Self::Sync)
    }
}
