//! The record of `make bench`: the figures of one run, each beside its yardstick, and the tables and charts
//! of docs/performance.md that are made of them.

mod charts;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

pub use charts::{CHARTS, Chart};
pub use tables::{in_brief, required, tables};

/// Where the record is kept, from the project's folder.
pub const RECORD: &str = "benches/figures/figures.json";

/// Fewer percent of the processors' time than this were taken by others: the machine was quiet.
pub const QUIET_PERCENT: f64 = 5.0;

/// All figures of one run.
#[derive(Debug, Serialize, Deserialize)]
pub struct BenchRecord {
    /// The day it began, `YYYY-MM-DD`.
    pub date: String,
    pub machine: MeasuredMachine,
    pub parts: Vec<RecordPart>,
}

/// Which program was measured, and where.
#[derive(Debug, Serialize, Deserialize)]
pub struct MeasuredMachine {
    pub version: String,
    /// The profile of the build.
    pub profile: String,
    pub processor: String,
    pub cores: usize,
    pub memory_gib: u64,
    pub system: String,
    /// The browser's name and version, if one was part of the run.
    pub browser: Option<String>,
}

/// Figures that were measured together.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordPart {
    pub name: String,
    /// How much of the processors' time others took right before it, in percent of all processors.
    pub busy_percent: f64,
    pub figures: Vec<Figure>,
}

/// One figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// The series that it is of, in tables with a column for each `what` and in charts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Its place on the axis of a chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// `ms`, `µs`, `MiB`, `KiB`, `a second`.
    pub unit: String,
    pub value: Spread,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yardstick: Option<Yardstick>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
}

/// Something known that was measured in the same run, and how many times it Tabwire's figure is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Yardstick {
    pub what: String,
    pub value: Spread,
    pub ratio: Spread,
}

/// The median of several blocks, and their least and greatest.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// A required bound.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The ratio to the yardstick, at most.
    Ratio(f64),
    /// The median, at most.
    Median(f64),
    /// The 99th percentile, at most.
    P99(f64),
    /// The median, at least.
    AtLeast(f64),
}

impl Spread {
    /// Of values that may be in any order; not a number without any.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        let last = sorted.len().saturating_sub(1);
        Self { median: at(last / 2), min: at(0), max: at(last) }
    }

    /// One measurement alone.
    pub const fn one(value: f64) -> Self {
        Self { median: value, min: value, max: value }
    }
}

impl Figure {
    pub fn new(what: impl Into<String>, unit: &str, value: Spread) -> Self {
        Self {
            what: what.into(),
            of: None,
            at: None,
            unit: unit.to_owned(),
            value,
            p99: None,
            yardstick: None,
            bound: None,
        }
    }

    /// What was measured, with its series where that is said by nothing else.
    pub fn name(&self) -> String {
        match &self.of {
            Some(of) if !self.what.contains(of) => format!("{of}: {}", self.what),
            Some(_) | None => self.what.clone(),
        }
    }

    /// In a series, at a place of a chart's axis.
    #[must_use]
    pub fn of(mut self, series: impl Into<String>, at: f64) -> Self {
        self.of = Some(series.into());
        self.at = Some(at);
        self
    }

    #[must_use]
    pub const fn p99(mut self, p99: f64) -> Self {
        self.p99 = Some(p99);
        self
    }

    #[must_use]
    pub const fn bound(mut self, bound: Bound) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Beside a yardstick, block by block: `own` and `others` are of the same blocks, in their order.
    #[must_use]
    pub fn beside(mut self, what: impl Into<String>, own: &[f64], others: &[f64]) -> Self {
        let ratios: Vec<_> = own.iter().zip(others).map(|(own, other)| own / other).collect();
        let (value, ratio) = (Spread::of(others), Spread::of(&ratios));
        self.yardstick = Some(Yardstick { what: what.into(), value, ratio });
        self
    }

    /// Whether it misses its bound. A figure that is not a number does.
    pub fn is_missed(&self) -> bool {
        let holds = match self.bound {
            None => true,
            Some(Bound::Ratio(most)) => {
                self.yardstick.as_ref().is_some_and(|beside| beside.ratio.median <= most)
            }
            Some(Bound::Median(most)) => self.value.median <= most,
            Some(Bound::P99(most)) => self.p99.is_some_and(|p99| p99 <= most),
            Some(Bound::AtLeast(least)) => self.value.median >= least,
        };
        !holds
    }
}

impl RecordPart {
    pub fn is_quiet(&self) -> bool {
        self.busy_percent < QUIET_PERCENT
    }
}

impl BenchRecord {
    /// The record that the project has.
    pub fn read(project: &Path) -> anyhow::Result<Self> {
        let path = project.join(RECORD);
        let text = std::fs::read(&path).with_context(|| format!("cannot read {RECORD}"))?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Makes it the project's, with the charts and the tables of its documentation.
    pub fn write(&self, project: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(project.join(RECORD), text)?;
        for (path, text) in self.documents(project)? {
            std::fs::write(path, text)?;
        }
        Ok(())
    }

    /// All files that are made of it, as they should be.
    pub fn documents(&self, project: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
        let mut documents = Vec::new();
        for chart in &CHARTS {
            if let Some(drawn) = chart.draw(self)? {
                documents.push((project.join(chart.path), drawn));
            }
        }
        let pages = [("docs/performance.md", tables(self)), ("README.md", in_brief(self))];
        for (name, places) in pages {
            let path = project.join(name);
            let mut page = std::fs::read_to_string(&path)?;
            for (place, text) in places {
                page = replaced(&page, &place, &text).with_context(|| format!("in {name}"))?;
            }
            documents.push((path, page));
        }
        Ok(documents)
    }
}

/// The page with another text between the two comments of a place.
fn replaced(page: &str, place: &str, text: &str) -> anyhow::Result<String> {
    let (begin, end) = (format!("<!-- bench: {place} -->\n"), format!("<!-- end of {place} -->"));
    let from = page.find(&begin).with_context(|| format!("no {begin:?}"))? + begin.len();
    let to = from + page[from..].find(&end).with_context(|| format!("no {end:?}"))?;
    Ok(format!("{}{text}{}", &page[..from], &page[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_values_in_any_order() {
        let Spread { median, min, max } = Spread::of(&[5.0, 1.0, 3.0, 9.0, 2.0]);
        assert_eq!([median, min, max].map(f64::to_bits), [3.0_f64, 1.0, 9.0].map(f64::to_bits));
    }

    #[test]
    fn a_figure_that_is_no_number_misses_its_bound() {
        let of = |value| Figure::new("x", "ms", Spread::one(value)).bound(Bound::Median(5.0));
        assert!(of(f64::NAN).is_missed());
        assert!(of(5.1).is_missed());
        assert!(!of(5.0).is_missed());
        let rate =
            |value| Figure::new("x", "a second", Spread::one(value)).bound(Bound::AtLeast(5.0));
        assert!(rate(4.9).is_missed());
        assert!(!rate(5.0).is_missed());
        assert!(of(1.0).bound(Bound::Ratio(9.0)).is_missed(), "it has no yardstick");
    }

    #[test]
    fn ratios_are_of_figures_of_the_same_block() {
        let figure = Figure::new("x", "ms", Spread::of(&[2.0, 30.0])).beside(
            "y",
            &[2.0, 30.0],
            &[1.0, 10.0],
        );
        let ratio = figure.yardstick.unwrap().ratio;
        assert_eq!([ratio.min, ratio.max].map(f64::to_bits), [2.0_f64, 3.0].map(f64::to_bits));
    }

    #[test]
    fn a_page_keeps_all_that_is_outside_the_place() {
        let page = "a\n<!-- bench: x -->\nold\n<!-- end of x -->\nb\n";
        let new = replaced(page, "x", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- bench: x -->\nnew\n<!-- end of x -->\nb\n");
        replaced(page, "y", "").unwrap_err();
    }
}
