//! The native messaging host, which a browser starts when our extension asks for its key.
//!
//! A message is its length in bytes (4 bytes, as this computer orders them) and then JSON, in both
//! directions. The secret itself, `auth.key`, is never told.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::browsers::origin;

/// The longest message that is read, in bytes. Ours are some dozens.
pub(crate) const MESSAGE_MAX: usize = 1024 * 1024;

/// Why no key is told: a word for programs, and a sentence with the next step for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PairingRefusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// Why the host ends before the browser ends it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    /// The pipe cannot be read or written.
    #[error("cannot talk to the browser: {0}")]
    Io(#[from] io::Error),
    /// A message is longer than any that is meant for us.
    #[error("a message of {0} bytes came; at most {MESSAGE_MAX} are read")]
    TooLong(usize),
}

/// Answers messages until the browser closes the pipe. `caller` is what the browser says who asks;
/// `pairing` finds out what an extension of ours is told.
pub(crate) fn serve(
    caller: Option<&str>,
    mut input: impl Read,
    mut output: impl Write,
    pairing: impl Fn() -> Result<Value, PairingRefusal>,
) -> Result<(), HostError> {
    loop {
        let message = match read(&mut input) {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(()),
            Err(error) => {
                // The extension gets an answer, but never learns why a host ended.
                if let HostError::TooLong(_) = error {
                    write(&mut output, &answer_json(Err(bad_message("too long"))))?;
                }
                return Err(error);
            }
        };
        let answer = answer(caller, &message, &pairing);
        write(&mut output, &answer_json(answer))?;
    }
}

fn answer(
    caller: Option<&str>,
    message: &[u8],
    pairing: impl Fn() -> Result<Value, PairingRefusal>,
) -> Result<Value, PairingRefusal> {
    if caller != Some(origin().as_str()) {
        let message = "only the Tabwire extension gets the key".to_owned();
        return Err(PairingRefusal { code: "foreign_origin", message });
    }
    let message: Value = serde_json::from_slice(message).map_err(|_| bad_message("not JSON"))?;
    match message["type"].as_str() {
        Some("pair") => pairing(),
        Some(_) | None => Err(bad_message("not of a type that this version knows")),
    }
}

fn bad_message(what: &str) -> PairingRefusal {
    let message = format!("the message is {what}; update Tabwire and its extension");
    PairingRefusal { code: "bad_message", message }
}

fn answer_json(answer: Result<Value, PairingRefusal>) -> Value {
    answer.unwrap_or_else(
        |PairingRefusal { code, message }| json!({"error": code, "message": message}),
    )
}

/// The next message; `None` at the end.
fn read(input: &mut impl Read) -> Result<Option<Vec<u8>>, HostError> {
    let mut first = [0; 1];
    // The end before a message is how browsers close; the end within one is an error.
    if input.read(&mut first)? == 0 {
        return Ok(None);
    }
    let mut rest = [0; 3];
    input.read_exact(&mut rest)?;
    let length = u32::from_ne_bytes([first[0], rest[0], rest[1], rest[2]]);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > MESSAGE_MAX {
        return Err(HostError::TooLong(length));
    }
    let mut message = vec![0; length];
    input.read_exact(&mut message)?;
    Ok(Some(message))
}

fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    output.write_all(&length.to_ne_bytes())?;
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// The script that a browser starts. A host manifest carries no arguments, and a browser not the
/// environment of a shell: so everything stands here.
pub(crate) fn wrapper(program: &Path, state: &Path, port: u16) -> String {
    let (program, state) = (program.display().to_string(), state.display().to_string());
    format!(
        "#!/bin/sh\nTABWIRE_HOME={} TABWIRE_PORT={port} exec {} native-host \"$@\"\n",
        shell_quoted(&state),
        shell_quoted(&program)
    )
}

/// What stands in the wrapper's place on Windows, where a browser starts the program itself: the port, which the
/// wrapper says elsewhere. A batch file would read a path in the old code page of the computer.
pub(crate) fn port_file(port: u16) -> String {
    format!("{}\n", json!({"port": port}))
}

/// The port in the [port file](port_file) of this state directory, if there is one.
pub(crate) fn installed_port(state: &Path) -> Option<u16> {
    let text = fs::read(state.join(WRAPPER_NAME)).ok()?;
    let file: Value = serde_json::from_slice(&text).ok()?;
    file["port"].as_u64().and_then(|port| u16::try_from(port).ok())
}

/// Whether a browser has started this program as the host: by the name of an extension in place of a command.
pub(crate) fn is_call_of_browser(first: &OsStr) -> bool {
    first.as_encoded_bytes().starts_with(b"chrome-extension://")
}

/// A word as a shell takes it literally.
pub(crate) fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The wrapper's file name in the state directory.
pub(super) const WRAPPER_NAME: &str = "native-host";

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, proptest};

    use super::*;
    use crate::protocol::garbled;

    fn framed(message: &[u8]) -> Vec<u8> {
        let length = u32::try_from(message.len()).unwrap().to_ne_bytes();
        [length.as_slice(), message].concat()
    }

    /// The answers to the input, and the end of the host.
    fn answers(caller: Option<&str>, input: &[u8]) -> (Vec<Value>, Result<(), HostError>) {
        let mut output = Vec::new();
        let ended = serve(caller, input, &mut output, || Ok(json!({"port": 1, "ext_key": "k"})));
        let mut output = output.as_slice();
        let next = || read(&mut output).unwrap();
        let read: Vec<_> = std::iter::from_fn(next).collect();
        (read.iter().map(|bytes| serde_json::from_slice(bytes).unwrap()).collect(), ended)
    }

    #[test]
    fn our_extension_is_told_the_key_as_often_as_it_asks() {
        let asks = framed(br#"{"type":"pair"}"#);
        let (answers, ended) = answers(Some(&origin()), &[asks.clone(), asks].concat());
        let key = json!({"port": 1, "ext_key": "k"});
        assert_eq!(answers, [key.clone(), key]);
        ended.unwrap();
    }

    #[test]
    fn nobody_else_is() {
        let own = origin();
        let upper = own.to_uppercase();
        let other = format!("chrome-extension://{}/", "a".repeat(32));
        let longer = format!("{own}x");
        for caller in [None, Some(""), Some(&*upper), Some(&*other), Some(&*longer)] {
            let (answers, _) = answers(caller, &framed(br#"{"type":"pair"}"#));
            assert_eq!(answers[0]["error"], "foreign_origin", "{caller:?}");
            assert_eq!(answers.len(), 1);
        }
    }

    #[test]
    fn what_is_no_message_of_ours_is_answered_and_the_next_one_heard() {
        for bad in [&b"{"[..], b"", b"1", br#"{"type":"auth"}"#, b"\xff", br#"{"pair":1}"#] {
            let input = [framed(bad), framed(br#"{"type":"pair","more":1}"#)].concat();
            let (answers, ended) = answers(Some(&origin()), &input);
            assert_eq!(answers[0]["error"], "bad_message");
            assert_eq!(answers[1]["port"], 1);
            ended.unwrap();
        }
    }

    #[test]
    fn a_message_that_is_too_long_or_cut_short_ends_it() {
        let length = u32::try_from(MESSAGE_MAX + 1).unwrap().to_ne_bytes();
        let (refused, ended) = answers(Some(&origin()), &length);
        assert_eq!(refused[0]["error"], "bad_message");
        assert!(matches!(ended, Err(HostError::TooLong(_))), "{ended:?}");
        for cut in [&framed(b"{}")[..5], &framed(b"{}")[..2]] {
            let (none, ended) = answers(Some(&origin()), cut);
            assert!(none.is_empty() && matches!(ended, Err(HostError::Io(_))), "{ended:?}");
        }
        assert!(answers(Some(&origin()), b"").1.is_ok(), "the end is the end");
    }

    #[test]
    fn whatever_comes_the_key_is_told_for_the_one_message_only() {
        let samples = [r#"{"type":"pair"}"#, r#"{"type": "pairs"}"#];
        proptest!(garbled::cases(2_000), |(message in garbled::nearly(&samples))| {
            let (answers, _) = answers(Some(&origin()), &framed(&message));
            let asks = serde_json::from_slice::<Value>(&message)
                .is_ok_and(|message| message["type"] == "pair");
            prop_assert!(answers.len() == 1);
            prop_assert!((answers[0]["ext_key"] == "k") == asks);
        });
    }

    #[test]
    fn the_wrapper_says_everything_and_no_path_can_say_more() {
        let of = |program: &str, state: &str| wrapper(Path::new(program), Path::new(state), 7891);
        assert_eq!(
            of("/o'b $(x)/tabwire", "/s p"),
            "#!/bin/sh\nTABWIRE_HOME='/s p' TABWIRE_PORT=7891 exec '/o'\\''b $(x)/tabwire' native-host \"$@\"\n"
        );
    }
}
