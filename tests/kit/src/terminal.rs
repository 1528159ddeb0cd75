//! A person's terminal of 80 × 24: a program runs in it, what it shows is read as it stands on the
//! screen, and keys are typed.

use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{PseudoTerminal, soon, until};

/// How long something may take to be shown: a browser may have to start and to connect first.
const LONGEST: Duration = Duration::from_secs(60);

/// How many characters a line has.
const COLUMNS: usize = 80;

/// How many lines a screen has.
const ROWS: usize = 24;

/// A program in a terminal.
pub struct Terminal {
    pty: PseudoTerminal,
    child: Child,
    screen: Screen,
}

impl Terminal {
    /// Runs the command with all its standard streams at a new terminal.
    pub fn run(mut command: Command) -> Self {
        let pty = PseudoTerminal::new(COLUMNS.try_into().unwrap(), ROWS.try_into().unwrap());
        command.stdin(pty.stream()).stdout(pty.stream()).stderr(pty.stream());
        command.env("TERM", "xterm-256color");
        let child = command.kill_on_drop(true).spawn().unwrap();
        Self { pty, child, screen: Screen::default() }
    }

    /// The program's process.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    /// Presses these keys.
    pub fn press(&mut self, keys: &str) {
        self.pty.press(keys);
    }

    /// Waits until this stands on the screen; the screen then.
    pub async fn until_shows(&mut self, text: &str) -> Vec<String> {
        let is_shown = async || {
            self.screen.take(&self.pty.shown_so_far());
            self.screen.shown().iter().any(|line| line.contains(text))
        };
        if timeout(LONGEST, until(is_shown)).await.is_err() {
            panic!("`{text}` is not shown:\n{}", self.screen.shown().join("\n"));
        }
        self.screen.shown()
    }

    /// Waits for the program's end: its exit code and its last screen.
    pub async fn ended(mut self) -> (Option<i32>, Vec<String>) {
        let ended = soon("the end of the program", self.child.wait()).await.unwrap();
        self.screen.take(&self.pty.shown_bytes().await);
        // A path of a temporary directory is one word.
        let too_long = self.screen.too_long.iter().filter(|line| !line.contains("/tmp"));
        assert_eq!(too_long.collect::<Vec<_>>(), Vec::<&String>::new());
        (ended.code(), self.screen.shown())
    }
}

/// What stands on the screen: text that wraps at its right edge and rolls at its lower one.
struct Screen {
    lines: Vec<Vec<char>>,
    column: usize,
    /// Of a character or a control sequence, if only its beginning has come.
    rest: Vec<u8>,
    /// The beginnings of the lines that were longer than the screen is wide.
    too_long: Vec<String>,
}

impl Default for Screen {
    fn default() -> Self {
        Self { lines: vec![Vec::new()], column: 0, rest: Vec::new(), too_long: Vec::new() }
    }
}

impl Screen {
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend(bytes);
        let bytes = std::mem::take(&mut self.rest);
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                let (whole, rest) = bytes.split_at(error.valid_up_to());
                self.rest = rest.to_vec();
                std::str::from_utf8(whole).unwrap()
            }
        };
        let mut left = text;
        while let Some(c) = left.chars().next() {
            if c != '\u{1b}' {
                self.put(c);
                left = &left[c.len_utf8()..];
                continue;
            }
            let Some(end) = left.find(|c: char| c.is_ascii_alphabetic()) else {
                self.rest.splice(0..0, left.bytes());
                return;
            };
            match &left[..=end] {
                "\u{1b}[K" => self.lines.last_mut().unwrap().truncate(self.column),
                style if style.ends_with('m') => {}
                other => panic!("not a control sequence that is known here: {other:?}"),
            }
            left = &left[end + 1..];
        }
    }

    fn put(&mut self, c: char) {
        match c {
            '\r' => self.column = 0,
            '\n' => {
                self.lines.push(Vec::new());
                self.column = 0;
            }
            c => {
                if self.column == COLUMNS {
                    let line = self.lines.last().into_iter().flatten().collect();
                    self.too_long.push(line);
                    self.put('\n');
                }
                let column = self.column;
                let line = self.lines.last_mut().unwrap();
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                self.column += 1;
            }
        }
    }

    fn shown(&self) -> Vec<String> {
        let first = self.lines.len().saturating_sub(ROWS);
        let text = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
        self.lines[first..].iter().map(text).collect()
    }
}
