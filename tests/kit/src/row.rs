//! Counts what was tried of a row of the table in `docs/security.md`.

use std::fmt::Display;

/// What was tried of one row, and refused. `make hostile` adds up what these say, and wants
/// every row.
pub struct RowReport {
    row: u8,
    tried: usize,
    wrong: Vec<String>,
}

impl RowReport {
    pub const fn new(row: u8) -> Self {
        Self { row, tried: 0, wrong: Vec::new() }
    }

    /// One try, and what came of it.
    pub fn tried(&mut self, what: &str, is_refused: bool, came: impl Display) {
        self.tried += 1;
        if !is_refused {
            self.wrong.push(format!("{what}: {came}"));
        }
    }

    /// Says what was tried, and sees to it that nothing of it worked.
    #[expect(clippy::print_stdout, reason = "what was tried is told to whoever runs the tests")]
    pub fn report(self) {
        let Self { row, tried, wrong } = self;
        println!("hostile row {row}: {tried} tried, {} refused", tried - wrong.len());
        assert!(wrong.is_empty(), "row {row}:\n{}", wrong.join("\n"));
        assert!(tried > 0, "row {row}: nothing was tried");
    }
}
