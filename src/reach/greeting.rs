//! The first line of the far end. All that comes before it is of the way there: banners, a message of the day.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::place::PlaceName;
use crate::protocol::SERVER_VERSION;
use crate::terminal::clean_lines;

/// How the line begins.
const WORDS: &str = "tabwire carries";

/// The version of what is spoken after the line.
const FORMAT: &str = "1";

/// How many bytes before the line are skipped at most.
const SKIPPED_MAX: usize = 64 * 1024;

/// How much of what was skipped is shown, in bytes.
const SHOWN: usize = 400;

/// What the far end says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarrierGreeting {
    /// The version of the program there.
    pub version: String,
    /// The place that it carries for.
    pub place: PlaceName,
}

/// Why the far end does not carry.
#[derive(Debug, thiserror::Error)]
pub enum GreetingError {
    /// It ended without the line.
    #[error("the command ended before `tabwire carry` answered{}", after(.said))]
    Ended {
        /// The end of what it said.
        said: String,
    },
    /// It says other things, without end.
    #[error("the command said more than {} KiB, and `tabwire carry` did not answer{}", SKIPPED_MAX / 1024, after(.said))]
    NoGreeting {
        /// The end of what it said.
        said: String,
    },
    /// The line is of a version that speaks otherwise.
    #[error(
        "`tabwire carry` there says {line:?}, which version {SERVER_VERSION} here does not know. Update the older of the two"
    )]
    Unknown {
        /// The line.
        line: String,
    },
    /// The system's error.
    #[error("what `tabwire carry` says cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// What was said before, in words for an error.
fn after(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(". It said: {said}") }
}

impl CarrierGreeting {
    /// The greeting of this program.
    #[must_use]
    pub fn of(place: PlaceName) -> Self {
        Self { version: SERVER_VERSION.to_owned(), place }
    }

    /// The line, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{WORDS} {FORMAT} {} {}\n", self.version, self.place)
    }

    /// `None`: the line is no greeting.
    fn parse(line: &[u8]) -> Option<Result<Self, GreetingError>> {
        let line = String::from_utf8_lossy(line);
        let rest = line.trim_end_matches('\r').strip_prefix(WORDS)?.strip_prefix(' ')?;
        let mut words = rest.split(' ');
        let parsed = match (words.next(), words.next(), words.next(), words.next()) {
            (Some(FORMAT), Some(version), Some(place), None) => {
                place.parse().ok().map(|place| Self { version: version.to_owned(), place })
            }
            _ => None,
        };
        Some(parsed.ok_or_else(|| GreetingError::Unknown { line: shown(line.as_bytes()) }))
    }
}

/// Reads up to the far end's greeting, and not a byte more.
///
/// # Errors
///
/// [`GreetingError`].
pub async fn read_greeting(
    input: &mut (impl AsyncRead + Unpin),
) -> Result<CarrierGreeting, GreetingError> {
    let mut said = Vec::new();
    let mut line_start = 0;
    loop {
        // Byte by byte: what follows the line belongs to the connection. It is a line or two.
        match input.read_u8().await {
            Ok(b'\n') => {
                if let Some(greeting) = CarrierGreeting::parse(&said[line_start..]) {
                    return greeting;
                }
                said.push(b'\n');
                line_start = said.len();
            }
            Ok(byte) => said.push(byte),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(GreetingError::Ended { said: shown(&said) });
            }
            Err(error) => return Err(error.into()),
        }
        if said.len() > SKIPPED_MAX {
            return Err(GreetingError::NoGreeting { said: shown(&said) });
        }
    }
}

/// The end of what was said, as it can be shown.
fn shown(said: &[u8]) -> String {
    let end = String::from_utf8_lossy(&said[said.len().saturating_sub(SHOWN)..]);
    clean_lines(&end)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(said: &[u8]) -> (Result<CarrierGreeting, GreetingError>, usize) {
        let mut rest = said;
        let greeting = read_greeting(&mut rest).await;
        (greeting, rest.len())
    }

    #[tokio::test]
    async fn banners_before_the_greeting_are_skipped_and_what_follows_is_left() {
        let place: PlaceName = "box".parse().unwrap();
        let greeting = CarrierGreeting::of(place);
        let said = format!("Welcome to box\r\n\n* 3 updates\n{}PRI *", greeting.line());
        let (read, left) = read(said.as_bytes()).await;
        assert_eq!((read.unwrap(), left), (greeting, "PRI *".len()));
    }

    #[tokio::test]
    async fn a_far_end_that_does_not_carry_is_told_with_the_end_of_its_words() {
        let (ended, _) = read(b"sh: 1: tabwire: not found\n").await;
        let told = ended.unwrap_err().to_string();
        assert!(told.contains("tabwire: not found"), "{told}");
        let (silent, _) = read(b"").await;
        assert!(!silent.unwrap_err().to_string().contains("It said"));
        let (endless, left) = read(&vec![b'x'; 2 * SKIPPED_MAX]).await;
        assert!(matches!(endless, Err(GreetingError::NoGreeting { .. })), "{endless:?}");
        assert!(left > SKIPPED_MAX / 2, "no more is read than is skipped");
        for line in
            ["tabwire carries 2 9.9.9 box\n", "tabwire carries 1 1.0 A\n", "tabwire carries 1\n"]
        {
            let (newer, _) = read(line.as_bytes()).await;
            assert!(matches!(newer, Err(GreetingError::Unknown { .. })), "{newer:?}");
        }
        let (hostile, _) = read(b"\x1b]0;x\x07tabwire\n").await;
        assert!(!hostile.unwrap_err().to_string().contains('\x1b'));
    }
}
