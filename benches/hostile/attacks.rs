//! Which attacks there are.

use clap::ValueEnum;

use crate::attacker::Target;
use crate::{requests, sockets};

/// An attack that can be kept up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// What pages, rebound names and tunnels ask, and what nobody declared
    Refused,
    /// Tokens that are guessed
    Guesses,
    /// Results of commands that nobody has
    Forged,
    /// A client that floods
    Flood,
    /// Bodies that are too large, declared and chunked
    Bodies,
    /// Requests of 1 MB that are taken, on three connections
    Large,
    /// Malformed frames, on a new socket after each close
    Malformed,
    /// Connections that send nothing, half a head, or a byte of one now and then
    HalfOpen,
    /// Sockets that never say hello
    Silent,
    /// Extensions that never read
    Unread,
}

impl Attack {
    /// As it is called on the command line and in JSON.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Which rows of the table it is, and what there is much of.
    pub(crate) const fn title(self) -> (&'static str, &'static str) {
        match self {
            Self::Refused => ("1–5, 20, 21", "refused requests"),
            Self::Guesses => ("10", "wrong tokens"),
            Self::Forged => ("11", "forged results"),
            Self::Flood => ("12", "calls of a client that floods"),
            Self::Bodies => ("13", "bodies that are too large"),
            Self::Large => ("34", "requests of 1 MB"),
            Self::Malformed => ("14", "malformed frames"),
            Self::HalfOpen => ("15", "half-open connections"),
            Self::Silent => ("15", "sockets without hello"),
            Self::Unread => ("16", "frames of extensions that never read"),
        }
    }

    /// Goes on until it is dropped.
    ///
    /// # Errors
    ///
    /// If it cannot, or gets what it should not.
    pub(crate) async fn go_on(self, target: &Target) -> anyhow::Result<()> {
        match self {
            Self::Refused => requests::refused(target).await,
            Self::Guesses => requests::guesses(target).await,
            Self::Forged => sockets::forged(target).await,
            Self::Flood => requests::flood(target).await,
            Self::Bodies => requests::bodies(target).await,
            Self::Large => requests::large(target).await,
            Self::Malformed => sockets::malformed(target).await,
            Self::HalfOpen => requests::half_open(target).await,
            Self::Silent => sockets::silent(target).await,
            Self::Unread => sockets::unread(target).await,
        }
    }
}
