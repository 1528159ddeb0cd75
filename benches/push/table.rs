//! What was measured, as a table and as JSON, and whether the bounds hold.

use std::io::{self, Write as _};

use serde_json::json;
use testkit::load::{CallSamples, SampleSeries};

use crate::Extent;

/// The required bounds. Ratios are of medians; a time in µs is of the 99th percentile.
const FRAME_RATIO: f64 = 1.5;
const RESULT_RATIO: f64 = 2.5;
const ANSWER: f64 = 10_000.0;
const HANDLING: f64 = 1_000.0;
/// What the journal may cost, in µs at the median.
const JOURNAL: f64 = 100.0;

/// Everything that is measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// At the daemon: calls that do not wait.
    pub(crate) submit: CallSamples,
    /// Calls that wait for their result.
    pub(crate) wait: CallSamples,
    /// The same at a daemon that keeps no journal.
    pub(crate) ephemeral: CallSamples,
    /// The same as `wait` with a command that needs no claim.
    pub(crate) safe: CallSamples,
    /// At the relay: posts that are handed on and answered at once.
    pub(crate) relay_submit: CallSamples,
    /// Posts that are answered with what comes back.
    pub(crate) relay_wait: CallSamples,
    /// Posts of which nothing follows.
    pub(crate) relay_empty: SampleSeries,
    /// In this process: `Hub::submit`.
    pub(crate) hub_submit: SampleSeries,
    /// In this process: a message from its bytes to the text of its answer.
    pub(crate) message: SampleSeries,
}

/// One line of the table.
struct Line<'a> {
    name: &'static str,
    /// Its name in JSON.
    key: &'static str,
    daemon: &'a SampleSeries,
    relay: Option<&'a SampleSeries>,
    required: Option<Required>,
}

#[derive(Clone, Copy)]
enum Required {
    Ratio(f64),
    P99(f64),
}

impl Measured {
    fn lines(&self) -> [Line<'_>; 9] {
        use Required::{P99, Ratio};
        let beside = |name, key, daemon, relay, required| Line {
            name,
            key,
            daemon,
            relay: Some(relay),
            required,
        };
        let alone = |name, key, daemon| {
            let required = Some(P99(HANDLING));
            Line { name, key, daemon, relay: None, required }
        };
        let (submit, wait, safe) = (&self.submit, &self.wait, &self.safe);
        let (relay_submit, relay_wait) = (&self.relay_submit, &self.relay_wait);
        [
            beside(
                "submit → command frame",
                "submit_frame",
                &submit.frame,
                &relay_submit.frame,
                Some(Ratio(FRAME_RATIO)),
            ),
            beside(
                "submit that waits → command frame",
                "wait_frame",
                &wait.frame,
                &relay_wait.frame,
                None,
            ),
            beside(
                "submit that waits → result",
                "wait_result",
                &wait.answer,
                &relay_wait.answer,
                Some(Ratio(RESULT_RATIO)),
            ),
            beside("  safe → command frame", "safe_frame", &safe.frame, &relay_wait.frame, None),
            beside("  safe → result", "safe_result", &safe.answer, &relay_wait.answer, None),
            beside(
                "submit → answer",
                "submit_answer",
                &submit.answer,
                &relay_submit.answer,
                Some(P99(ANSWER)),
            ),
            beside(
                "submit → answer, beside an empty POST",
                "submit_empty",
                &submit.answer,
                &self.relay_empty,
                None,
            ),
            alone("inside: message → answer", "inside_message", &self.message),
            alone("inside: Hub::submit", "inside_hub_submit", &self.hub_submit),
        ]
    }
}

impl Line<'_> {
    fn ratio(&self) -> Option<f64> {
        self.relay.map(|relay| self.daemon.p50() / relay.p50())
    }

    fn is_missed(&self) -> bool {
        match self.required {
            None => false,
            // Negated, so that a figure that is none is missed as well.
            Some(Required::Ratio(most)) => !self.ratio().is_some_and(|ratio| ratio <= most),
            Some(Required::P99(most)) => {
                self.daemon.p99().partial_cmp(&most) != Some(std::cmp::Ordering::Less)
            }
        }
    }
}

/// Prints everything. Whether a required bound is missed.
pub(crate) fn show(measured: &Measured, extent: Extent, as_json: bool) -> io::Result<bool> {
    let lines = measured.lines();
    let mut out = io::stdout().lock();
    let Extent { blocks, calls, .. } = extent;
    writeln!(out, "{blocks} blocks of {calls} calls of each kind, times in µs")?;
    if cfg!(debug_assertions) {
        writeln!(out, "NOT A RELEASE BUILD: these figures say nothing")?;
    }
    writeln!(
        out,
        "{:38} {:>9} {:>9} {:>9} {:>9} {:>6}  required",
        "", "daemon", "p99", "relay", "p99", "ratio"
    )?;
    for line in &lines {
        writeln!(out, "{}", row(line))?;
    }
    let handling = measured.submit.answer.p50() - measured.relay_empty.p50();
    let journal = measured.wait.answer.p50() - measured.ephemeral.answer.p50();
    writeln!(
        out,
        "The journal costs a call that waits {journal:.0} µs: {:.0} µs without it (p50; at most \
         {JOURNAL:.0} are required).",
        measured.ephemeral.answer.p50()
    )?;
    writeln!(
        out,
        "A submit is answered {handling:.0} µs later than an empty POST at the relay (p50)."
    )?;
    let missed: Vec<_> = lines.iter().filter(|line| line.is_missed()).collect();
    for line in &missed {
        writeln!(out, "MISSED: {}: {}", line.name.trim(), complaint(line))?;
    }
    let is_slow = journal.partial_cmp(&JOURNAL) != Some(std::cmp::Ordering::Less);
    if is_slow {
        writeln!(out, "MISSED: the journal costs {journal:.0} µs")?;
    }
    if as_json {
        let mut all = json_line(&lines, extent);
        all["journal"] = json!({"p50": journal, "ok": !is_slow});
        writeln!(out, "{all}")?;
    }
    Ok(is_slow || !missed.is_empty())
}

fn row(line: &Line<'_>) -> String {
    let (daemon, daemon_p99) = (line.daemon.p50(), line.daemon.p99());
    let beside = match (line.relay, line.ratio()) {
        (Some(relay), Some(ratio)) => {
            format!("{:9.1} {:9.1} {ratio:6.2}", relay.p50(), relay.p99())
        }
        (None, _) | (_, None) => " ".repeat(26),
    };
    let required = match line.required {
        None => String::new(),
        Some(Required::Ratio(most)) => format!("ratio ≤ {most}"),
        Some(Required::P99(most)) => format!("p99 < {most}"),
    };
    let row = format!("{:38} {daemon:9.1} {daemon_p99:9.1} {beside}  {required}", line.name);
    row.trim_end().to_owned()
}

fn complaint(line: &Line<'_>) -> String {
    match line.required {
        None => String::new(),
        Some(Required::Ratio(most)) => {
            let ratio = line.ratio().unwrap_or(f64::NAN);
            format!("{ratio:.2} × the bare relay, {most} × is required")
        }
        Some(Required::P99(most)) => {
            format!("p99 is {:.0} µs, less than {most} µs is required", line.daemon.p99())
        }
    }
}

fn json_line(lines: &[Line<'_>], extent: Extent) -> serde_json::Value {
    let figures = |series: &SampleSeries| json!({"p50": series.p50(), "p99": series.p99()});
    let mut all = json!({"unit": "us", "calls": extent.blocks * extent.calls});
    for line in lines {
        let ok = line.required.map(|_| !line.is_missed());
        all[line.key] = json!({
            "daemon": figures(line.daemon),
            "relay": line.relay.map(figures),
            "ratio": line.ratio(),
            "ok": ok,
        });
    }
    all
}

/// Says something on standard error, which may be closed.
pub(crate) fn say_to_stderr(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
