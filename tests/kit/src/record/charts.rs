//! Charts of the record, as SVG.

use std::ops::Range;

use anyhow::Context as _;
use plotters::prelude::*;

use super::{BenchRecord, Figure};

/// A chart of one part of the record: a line a series, both axes logarithmic.
pub struct Chart {
    /// Its file, from the project's folder.
    pub path: &'static str,
    title: &'static str,
    part: &'static str,
    /// Which figures: those whose `what` begins so.
    what: &'static str,
    across: &'static str,
    up: &'static str,
}

/// All charts of docs/performance.md.
pub const CHARTS: [Chart; 4] = [
    Chart {
        path: "docs/images/late.svg",
        title: "How late an answer is, by transport",
        part: "carriers",
        what: "late",
        across: "length of the action, ms",
        up: "ms, median",
    },
    Chart {
        path: "docs/images/rate.svg",
        title: "Commands a second",
        part: "rate",
        what: "",
        across: "browsers",
        up: "commands a second",
    },
    Chart {
        path: "docs/images/browsers.svg",
        title: "A call beside idle browsers",
        part: "browsers",
        what: "call",
        across: "connected browsers",
        up: "µs",
    },
    Chart {
        path: "docs/images/kept.svg",
        title: "A call beside kept commands",
        part: "kept",
        what: "call",
        across: "kept commands",
        up: "µs",
    },
];

const SIZE: (u32, u32) = (720, 360);

/// Told apart also by those who do not see red and green as others do.
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 86, 86),
];

/// How much of the chart's width, as a share of the lines', is for their names.
const NAMES: f64 = 0.35;

struct Series<'a> {
    name: &'a str,
    points: Vec<(f64, f64)>,
}

impl Chart {
    /// The picture, if its part was measured.
    pub fn draw(&self, record: &BenchRecord) -> anyhow::Result<Option<String>> {
        let Some(part) = record.parts.iter().find(|part| part.name == self.part) else {
            return Ok(None);
        };
        let shown = |figure: &&Figure| figure.what.starts_with(self.what);
        let series = series_of(part.figures.iter().filter(shown));
        let mut drawn = String::new();
        self.paint(&series, &mut drawn)?;
        drawn.push('\n');
        Ok(Some(drawn))
    }

    fn paint(&self, series: &[Series<'_>], drawn: &mut String) -> anyhow::Result<()> {
        let points = || series.iter().flat_map(|series| &series.points);
        let Range { start, end } = span(points().map(|point| point.0))?;
        // The names of the lines stand at the right of them.
        let across = start..end * (end / start).powf(NAMES);
        let up = span(points().map(|point| point.1))?;
        let area = SVGBackend::with_string(drawn, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(across.log_scale(), up.log_scale())?;
        let label = |value: &f64| plain(*value);
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(self.across)
            .y_desc(self.up)
            .x_label_formatter(&label)
            .y_label_formatter(&label);
        mesh.y_labels(5).light_line_style(WHITE).label_style(("sans-serif", 13)).draw()?;
        for (series, colour) in series.iter().zip(COLOURS.iter().cycle()) {
            let line = LineSeries::new(series.points.iter().copied(), colour.stroke_width(2));
            let drawn = chart.draw_series(line.point_size(3))?;
            drawn.label(series.name.replace('`', "")).legend(move |(x, y)| {
                PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2))
            });
        }
        let mut legend = chart.configure_series_labels();
        legend
            .position(SeriesLabelPosition::MiddleRight)
            .background_style(WHITE.mix(0.8))
            .border_style(COLOURS[4])
            .label_font(("sans-serif", 13));
        legend.draw()?;
        area.present().context("cannot draw a chart")
    }
}

fn series_of<'a>(figures: impl Iterator<Item = &'a Figure>) -> Vec<Series<'a>> {
    let mut all: Vec<Series<'a>> = Vec::new();
    for figure in figures {
        let (Some(of), Some(at)) = (figure.of.as_deref(), figure.at) else { continue };
        let point = (at, figure.value.median);
        match all.iter_mut().find(|series| series.name == of) {
            Some(series) => series.points.push(point),
            None => all.push(Series { name: of, points: vec![point] }),
        }
    }
    all
}

/// What an axis shows: all values, and a little more.
fn span(values: impl Iterator<Item = f64>) -> anyhow::Result<Range<f64>> {
    let (least, greatest) = values.fold((f64::INFINITY, 0.0_f64), |(least, greatest), value| {
        (least.min(value), greatest.max(value))
    });
    anyhow::ensure!(
        least > 0.0 && greatest.is_finite(),
        "a chart has no values, or one that is not positive"
    );
    Ok(least / 1.5..greatest * 1.5)
}

fn plain(value: f64) -> String {
    if value < 1.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}
