//! Lines of bounded length from a stream.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// The longest line, in bytes. The daemon rejects a call above 1 MiB, with a reason; this limit
/// only bounds memory.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// The next item of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// A line, without its end.
    Text(Vec<u8>),
    /// A line that was too long; it was skipped.
    TooLong,
    /// The end.
    End,
}

/// Reads the next line. A last line without an end counts too.
pub(super) async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<InputLine> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => InputLine::TooLong,
                (false, true) => InputLine::End,
                (false, false) => InputLine::Text(line),
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = end.unwrap_or(available.len());
        if line.len() + part > LONGEST {
            too_long = true;
            // The memory is given back; the rest of the line is only skipped.
            line = Vec::new();
        } else if !too_long {
            line.extend_from_slice(&available[..part]);
        }
        input.consume(end.map_or(part, |end| end + 1));
        if end.is_some() {
            return Ok(if too_long { InputLine::TooLong } else { InputLine::Text(line) });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};
    use tokio::io::BufReader;

    use super::*;
    use crate::protocol::garbled;

    #[tokio::test]
    async fn lines_come_whole_and_a_last_one_without_an_end_counts() {
        let mut input = BufReader::with_capacity(3, &b"first\n\nlast"[..]);
        for expected in ["first", "", "last"] {
            assert_eq!(next_line(&mut input).await.unwrap(), InputLine::Text(expected.into()));
        }
        assert_eq!(next_line(&mut input).await.unwrap(), InputLine::End);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let mut text = vec![b'x'; LONGEST + 1];
        text.extend_from_slice(b"\nnext\n");
        let mut input = BufReader::new(&text[..]);
        assert_eq!(next_line(&mut input).await.unwrap(), InputLine::TooLong);
        assert_eq!(next_line(&mut input).await.unwrap(), InputLine::Text(b"next".to_vec()));
    }

    #[test]
    fn any_bytes_come_as_the_lines_that_they_are_however_they_are_cut_up() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let samples = ["{\"a\":1}\n{\"b\":2}\n", "\n\n", "one\r\ntwo", ""];
        proptest!(garbled::cases(1_000), |(bytes in garbled::nearly(&samples), size in 1..9_usize)| {
            let mut expected: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
            // Nothing after the last end of a line is no line.
            if expected.last().is_some_and(|last| last.is_empty()) {
                expected.pop();
            }
            let mut input = BufReader::with_capacity(size, &bytes[..]);
            for line in expected {
                let read = runtime.block_on(next_line(&mut input)).unwrap();
                prop_assert_eq!(read, InputLine::Text(line.to_vec()));
            }
            prop_assert_eq!(runtime.block_on(next_line(&mut input)).unwrap(), InputLine::End);
        });
    }
}
