//! The figures as tables, in Markdown.

use super::{BenchRecord, Bound, Figure, RecordPart, Spread};

/// The part whose table has a line a series, without yardsticks: its series are each other's.
const BY_SERIES: &str = "carriers";

/// The tables of docs/performance.md, by the name of their place there.
pub fn tables(record: &BenchRecord) -> Vec<(String, String)> {
    let mut places = vec![("machine".to_owned(), machine(record))];
    for part in &record.parts {
        let table = if part.name == BY_SERIES { by_series(part) } else { by_ratio(part) };
        places.push((part.name.clone(), format!("{}\n{table}", state_of(part))));
    }
    places
}

/// The few lines of README, by the name of their place there.
pub fn in_brief(record: &BenchRecord) -> Vec<(String, String)> {
    let figure = |part: &str, what: &str| {
        let part = record.parts.iter().find(|known| known.name == part);
        part.and_then(|part| part.figures.iter().find(|figure| figure.what == what))
    };
    let mut lines = String::new();
    for (part, what, told) in [
        (
            "browser",
            "document.title, over stdio",
            "A script in a real tab, from an agent's call to its answer",
        ),
        ("path", "1 client: submit → frame", "A command at the extension after the call"),
        ("start", "bridge: start → initialize", "An MCP client's server is there after its start"),
        ("rate", "100 browsers, with the journal", "Commands through one daemon with 100 browsers"),
        ("memory", "the daemon, idle", "Memory of the daemon when it is idle"),
    ] {
        if let Some(figure) = figure(part, what) {
            lines += &format!("| {told} | {} {} |\n", number(figure.value.median), figure.unit);
        }
    }
    let date = &record.date;
    let text = format!(
        "| Median of a run on {} cores, {date} | |\n|---|---:|\n{lines}",
        record.machine.cores
    );
    vec![("brief".to_owned(), text)]
}

fn machine(record: &BenchRecord) -> String {
    let machine = &record.machine;
    let browser =
        machine.browser.as_deref().map(|browser| format!("; {browser}")).unwrap_or_default();
    format!(
        "`make bench` on {}: tabwire {} (profile `{}`); {}, {} cores, {} GiB; {}{browser}.\n",
        record.date,
        machine.version,
        machine.profile,
        machine.processor,
        machine.cores,
        machine.memory_gib,
        machine.system,
    )
}

fn state_of(part: &RecordPart) -> String {
    let state = if part.is_quiet() { "quiet" } else { "loaded" };
    format!("The machine was {state}: others took {:.0} % of the processors.\n", part.busy_percent)
}

/// A line a figure, ratios first.
fn by_ratio(part: &RecordPart) -> String {
    let mut table = String::from(
        "| What | ratio (least–greatest) | Tabwire | p99 | yardstick | required |\n|---|---:|---:|---:|---|---|\n",
    );
    for figure in &part.figures {
        table += &line(figure);
    }
    table
}

fn line(figure: &Figure) -> String {
    let Figure { unit, value, p99, yardstick, .. } = figure;
    let what = figure.name();
    let (ratio, beside) = yardstick.as_ref().map_or_else(Default::default, |yardstick| {
        let ratio = format!("{} ×", spread(yardstick.ratio));
        (ratio, format!("{}: {} {unit}", yardstick.what, spread(yardstick.value)))
    });
    let p99 = p99.map(|p99| format!("{} {unit}", number(p99))).unwrap_or_default();
    let required = figure.bound.map(|bound| required(bound, unit)).unwrap_or_default();
    let missed = if figure.is_missed() { " **missed**" } else { "" };
    format!(
        "| {what} | {ratio} | {} {unit} | {p99} | {beside} | {required}{missed} |\n",
        spread(*value)
    )
}

/// A line a series and a column for each thing that was measured of it: median / p99.
fn by_series(part: &RecordPart) -> String {
    let mut columns: Vec<&str> = Vec::new();
    let mut series: Vec<&str> = Vec::new();
    for figure in &part.figures {
        if !columns.contains(&figure.what.as_str()) {
            columns.push(&figure.what);
        }
        if let Some(of) = figure.of.as_deref().filter(|of| !series.contains(of)) {
            series.push(of);
        }
    }
    let unit = part.figures.first().map(|figure| figure.unit.as_str()).unwrap_or_default();
    let mut table = format!(
        "| {unit}, median / p99 | {} |\n|---|{}\n",
        columns.join(" | "),
        "---:|".repeat(columns.len())
    );
    for of in series {
        let cells = columns.iter().map(|what| {
            let figure = part
                .figures
                .iter()
                .find(|figure| figure.what == *what && figure.of.as_deref() == Some(of));
            figure.map(cell).unwrap_or_default()
        });
        table += &format!("| {of} | {} |\n", cells.collect::<Vec<_>>().join(" | "));
    }
    let missed: Vec<_> =
        part.figures.iter().filter(|figure| figure.is_missed()).map(line).collect();
    if missed.is_empty() {
        table
    } else {
        format!("{table}\nMissed bounds:\n\n{}", by_lines(&missed))
    }
}

fn by_lines(lines: &[String]) -> String {
    format!(
        "| What | ratio (least–greatest) | Tabwire | p99 | yardstick | required |\n|---|---:|---:|---:|---|---|\n{}",
        lines.concat()
    )
}

fn cell(figure: &Figure) -> String {
    let median = number(figure.value.median);
    figure.p99.map_or_else(|| median.clone(), |p99| format!("{median} / {}", number(p99)))
}

/// A bound in words, its figure in this unit.
pub fn required(bound: Bound, unit: &str) -> String {
    match bound {
        Bound::Ratio(most) => format!("≤ {most} ×"),
        Bound::Median(most) => format!("≤ {} {unit}", number(most)),
        Bound::P99(most) => format!("p99 ≤ {} {unit}", number(most)),
        Bound::AtLeast(least) => format!("≥ {} {unit}", number(least)),
    }
}

fn spread(Spread { median, min, max }: Spread) -> String {
    let (median, min, max) = (number(median), number(min), number(max));
    if min == max { median } else { format!("{median} ({min}–{max})") }
}

/// Three digits that count, and thousands apart.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let digits = match value.abs() {
        0.0..1.0 => 3,
        1.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    let (whole, rest) = text
        .split_once('.')
        .map_or((text, String::new()), |(whole, rest)| (whole, format!(".{rest}")));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        let told = [0.034_56, 1.0, 1.254, 12.34, 99.96, 123.4, 12_345.6, f64::NAN].map(number);
        assert_eq!(told, ["0.035", "1", "1.25", "12.3", "100", "123", "12,346", "–"]);
    }

    #[test]
    fn a_missed_bound_is_said() {
        let figure = Figure::new("call", "ms", Spread::one(7.0)).bound(Bound::Median(5.0));
        assert!(line(&figure).contains("≤ 5 ms **missed**"), "{}", line(&figure));
    }
}
