//! Output for people: colours, tables and progress on a terminal, plain lines elsewhere.
//!
//! Text from browsers and pages loses its control characters: it must not command the terminal.

mod local_time;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use crate::os;
pub(crate) use local_time::{LocalTime, ago};

/// The width in characters of a terminal that does not tell its size.
const WIDTH: u16 = 100;

/// How many characters a wrapped line has at least, on a terminal that is narrower than its indent.
const NARROWEST: usize = 20;

/// The height in lines of a terminal that does not tell its size.
const HEIGHT: u16 = 24;

/// Why standard output cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    /// The reader has closed it, as `| head` does: no error.
    #[error("standard output is closed")]
    Closed,
    #[error("cannot write to standard output: {0}")]
    Broken(io::Error),
}

/// Writes a line to standard output.
pub(crate) fn print_line(line: impl fmt::Display) -> Result<(), OutputError> {
    print(format_args!("{line}\n"))
}

/// Writes to standard output as it is.
pub(crate) fn print(text: fmt::Arguments<'_>) -> Result<(), OutputError> {
    let mut output = io::stdout().lock();
    output.write_fmt(text).and_then(|()| output.flush()).map_err(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            OutputError::Closed
        } else {
            OutputError::Broken(error)
        }
    })
}

/// Whether a person reads standard output.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Its width and height in characters.
pub(crate) fn size() -> (usize, usize) {
    let (columns, rows) = os::terminal_size().unwrap_or_default();
    // A serial line or a recorder may report a size of 0.
    let or = |given: u16, usual| usize::from(if given == 0 { usual } else { given });
    (or(columns, WIDTH), or(rows, HEIGHT))
}

/// A colour, or another way to stand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Notable,
}

impl TextStyle {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Notable => "33",
        }
    }

    /// The text in this style, if standard output shows styles.
    pub(crate) fn paint(self, text: &str) -> Cow<'_, str> {
        if self == Self::Plain || !has_colours() {
            return Cow::Borrowed(text);
        }
        format!("\x1b[{}m{text}\x1b[0m", self.code()).into()
    }
}

/// Whether standard output is a terminal with colours, and `NO_COLOR` (no-color.org) is not set.
fn has_colours() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    is_terminal() && !is_set("NO_COLOR") && !is_dumb()
}

/// Whether the terminal acts on no control sequence.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|kind| kind == "dumb") || !os::takes_control_sequences()
}

/// The text without characters that a terminal would act on.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unprintable) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if is_unprintable(c) { '\u{fffd}' } else { c }).collect::<String>().into()
}

/// The same for a text of several lines: they stay lines, and a tab stays a tab.
pub(crate) fn clean_lines(text: &str) -> String {
    let cleaned =
        text.split('\n').map(|line| line.split('\t').map(clean).collect::<Vec<_>>().join("\t"));
    cleaned.collect::<Vec<_>>().join("\n")
}

/// The beginning of a text that is too long for its column, with an ellipsis.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…").into()
}

/// A text as lines of at most `width` characters, broken between words. A word that is longer
/// stands on a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Control characters, and those that turn the direction of what follows.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text in lines of the terminal, broken between words. It is to stand behind `indent` other
/// characters, and its further lines behind as many spaces. Elsewhere it stays one line.
pub(crate) fn wrapped_behind(text: &str, indent: usize) -> String {
    if !is_terminal() {
        return text.to_owned();
    }
    let width = size().0.saturating_sub(indent).max(NARROWEST);
    wrapped(text, width).join(&format!("\n{}", " ".repeat(indent)))
}

/// The line, cut where the terminal ends. Elsewhere it stays whole.
pub(crate) fn cut_to_width(line: &str) -> Cow<'_, str> {
    if is_terminal() { shortened(line, size().0) } else { Cow::Borrowed(line) }
}

/// Rows under headings. On a terminal its columns stand under each other; elsewhere a
/// tab is between them and headings are left out, for `cut` and `awk`.
#[derive(Debug)]
pub(crate) struct TextTable {
    headings: Vec<&'static str>,
    rows: Vec<Vec<(String, TextStyle)>>,
    wraps: bool,
}

impl TextTable {
    /// One with these headings; they may be empty.
    pub(crate) fn new(headings: &[&'static str]) -> Self {
        Self { headings: headings.to_vec(), rows: Vec::new(), wraps: false }
    }

    /// The same, whose last column is wrapped on a terminal that is too narrow for it, not cut.
    pub(crate) fn wrapping(self) -> Self {
        Self { wraps: true, ..self }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [(&str, TextStyle); N]) {
        let clean = |(text, style): (&str, TextStyle)| (clean(text).into_owned(), style);
        self.rows.push(cells.into_iter().map(clean).collect());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        if is_terminal() { self.aligned(size().0) } else { self.plain() }
    }

    fn plain(&self) -> Vec<String> {
        let line = |row: &Vec<(String, TextStyle)>| {
            row.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("\t")
        };
        self.rows.iter().map(line).collect()
    }

    /// Lines of at most `width` characters: a longer one would wrap and break the rows.
    fn aligned(&self, width: usize) -> Vec<String> {
        let headings = self.headings.iter().map(|text| ((*text).to_owned(), TextStyle::Bold));
        let head: Vec<_> = headings.collect();
        let has_head = head.iter().any(|(text, _)| !text.is_empty());
        let all: Vec<_> = has_head.then_some(&head).into_iter().chain(&self.rows).collect();
        let widest = |column: usize| {
            let cells = all.iter().filter_map(|row| row.get(column));
            cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.headings.len()).map(widest).collect();
        if !self.wraps {
            return all.iter().map(|row| aligned_row(row, &widths, width)).collect();
        }
        let indent = widths.iter().rev().skip(1).map(|column| column + GAP).sum();
        let mut lines = Vec::new();
        for row in all {
            let Some(((text, style), before)) = row.split_last() else { continue };
            let mut before = before.to_vec();
            let mut texts = wrapped(text, width.saturating_sub(indent).max(NARROWEST));
            if texts.is_empty() {
                texts.push(String::new());
            }
            for text in texts {
                let row = [&*before, &[(text, *style)]].concat();
                lines.push(aligned_row(&row, &widths, width));
                before.fill((String::new(), TextStyle::Plain));
            }
        }
        lines
    }
}

/// How many spaces are between two columns.
const GAP: usize = 2;

fn aligned_row(row: &[(String, TextStyle)], widths: &[usize], width: usize) -> String {
    let mut left = width;
    let mut line = String::new();
    // Blanks behind the last text could wrap on a narrow terminal.
    let last = row.iter().rposition(|(text, _)| !text.is_empty()).unwrap_or(0);
    for ((text, style), column) in row.iter().zip(widths).take(last + 1) {
        let shown: String = text.chars().take(left).collect();
        let padding = column.saturating_sub(text.chars().count()) + GAP;
        left = left.saturating_sub(column + GAP);
        line.push_str(&style.paint(&shown));
        line.extend(std::iter::repeat_n(' ', padding));
        if left == 0 {
            break;
        }
    }
    line.truncate(line.trim_end_matches(' ').len());
    line
}

/// Names the work in progress on a terminal, until it is dropped.
#[derive(Debug)]
pub(crate) struct ProgressNotice {
    is_shown: bool,
}

impl ProgressNotice {
    /// Says that `what` has begun.
    pub(crate) fn start(what: &str) -> Self {
        let is_shown = io::stderr().is_terminal() && !is_dumb();
        if is_shown {
            // Progress is no result: a closed standard error must not fail the command.
            let _ = write!(io::stderr(), "{what} …");
        }
        Self { is_shown }
    }
}

impl Drop for ProgressNotice {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// A turning sign on standard output during a wait, until it is dropped. On a terminal only.
#[derive(Debug)]
pub(crate) struct Spinner {
    what: Option<String>,
    turns: usize,
}

impl Spinner {
    const SIGNS: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

    /// One that says what is waited for, in less than a line.
    pub(crate) fn start(what: &str) -> Self {
        // A text that wraps would leave its first line on the screen at every turn.
        let turns = 0;
        if is_terminal() && is_dumb() {
            // A turn that cannot be shown must not end the wait.
            let _ = print_line(what);
            return Self { what: None, turns };
        }
        let cut = || what.chars().take(size().0.saturating_sub(3)).collect();
        Self { what: is_terminal().then(cut), turns }
    }

    pub(crate) fn turn(&mut self) {
        let Some(what) = &self.what else { return };
        let sign = Self::SIGNS[self.turns % Self::SIGNS.len()];
        self.turns += 1;
        // A turn that cannot be shown must not end the wait.
        let _ = print(format_args!("\r{sign} {what}\x1b[K"));
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if self.what.is_some() {
            let _ = print(format_args!("\r\x1b[K"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_elsewhere_cannot_command_the_terminal() {
        assert_eq!(clean("plain – ✓"), "plain – ✓");
        assert_eq!(clean("\x1b[2Jgone\r\n\u{202e}"), "\u{fffd}[2Jgone\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(clean_lines("a\tb\n\x1b[2Jc\r\n"), "a\tb\n\u{fffd}[2Jc\u{fffd}\n");
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_with_a_sign_or_broken_between_words() {
        assert_eq!(shortened("exactly", 7), "exactly");
        assert_eq!(shortened("too long", 7), "too lo…");
        assert_eq!(wrapped("one two  three\nfour", 8), ["one two", "three", "four"]);
        assert_eq!(wrapped("immeasurable", 4), ["immeasurable"]);
        assert!(wrapped("", 4).is_empty());
    }

    #[test]
    fn columns_stand_under_each_other_and_no_line_is_wider_than_the_terminal() {
        let mut table = TextTable::new(&["NAME", "WHAT"]);
        table.row([("a", TextStyle::Plain), ("first", TextStyle::Plain)]);
        table.row([("longer", TextStyle::Plain), ("second, of many words", TextStyle::Plain)]);
        assert_eq!(table.aligned(20), ["NAME    WHAT", "a       first", "longer  second, of m"],);
        assert_eq!(table.plain(), ["a\tfirst", "longer\tsecond, of many words"]);
        assert!(table.aligned(3).iter().all(|line| line.len() <= 3));
    }

    #[test]
    fn a_last_column_that_is_wrapped_goes_on_below_itself() {
        let mut table = TextTable::new(&["", ""]).wrapping();
        table.row([("a", TextStyle::Plain), ("first", TextStyle::Plain)]);
        table
            .row([("longer", TextStyle::Plain), ("a second one, of more words", TextStyle::Plain)]);
        let lines = ["a       first", "longer  a second one, of more", "        words"];
        assert_eq!(table.aligned(30), lines);
        assert_eq!(table.plain()[1], "longer\ta second one, of more words");
    }
}
