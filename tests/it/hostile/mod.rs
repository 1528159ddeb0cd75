//! Whoever should not get in tries to, while those who may go on working.
//!
//! A test is named after the row of `docs/security.md` that it tries. Each says how much it
//! tried and that all of it was refused; `make hostile` adds up what they say and wants every
//! row.

mod browsers;

/// What was tried of one row, and refused.
pub(crate) struct Row {
    row: u8,
    tried: usize,
    wrong: Vec<String>,
}

impl Row {
    pub(crate) const fn new(row: u8) -> Self {
        Self { row, tried: 0, wrong: Vec::new() }
    }

    /// One try.
    pub(crate) fn tried(&mut self, what: &str, is_refused: bool, came: impl std::fmt::Display) {
        self.tried += 1;
        if !is_refused {
            self.wrong.push(format!("{what}: {came}"));
        }
    }

    /// Says what was tried, and that nothing of it worked.
    pub(crate) fn report(self) {
        let Self { row, tried, wrong } = self;
        let refused = tried - wrong.len();
        println!("hostile row {row}: {tried} tried, {refused} refused");
        assert!(wrong.is_empty(), "row {row}:\n{}", wrong.join("\n"));
        assert!(tried > 0, "row {row}: nothing was tried");
    }
}
