//! How fast an agent's call goes through to a page and back: `tabwire mcp` over stdio, the
//! daemon, the extension and a headless Chromium, all real.
//!
//! `cargo bench --bench browser` measures, with the release binary:
//!
//! - `interact execute_js document.title` with `wait_ms`, one after another;
//! - an action of 250 ms: how much later than that its answer comes;
//! - `click` by ref on a button of a page that does nothing, in a tab in front and in the background;
//! - snapshots of pages of 5,000 and 50,000 nodes, their bytes an element, and the share of the bytes
//!   that `interactive_only` leaves;
//! - `type` of 20 characters into a field, and `fill_form` of 10 text fields, in the background;
//! - the bridge: from its start to the answers of `initialize` and `tools/list`, its
//!   memory, and its first tool answer when no daemon runs yet;
//! - the daemon's memory when it has nothing to do.
//!
//! Times are in ms, memory in MB (resident). After `--`: `--quick` for fewer calls, `--json`
//! for one line of JSON after the table, `--check` to exit with 1 if a bound is missed, `--window`
//! for a browser with a window (`xvfb-run -a` gives it a display).
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on panics")]

#[path = "browser/real.rs"]
mod real;

use serde_json::{Value, json};
use tabwire::demo::find_browser;

use real::{MeasuredCall, measure_bridge, measure_browser};

#[expect(clippy::print_stdout, reason = "this is what it is for")]
fn show(figures: &[MeasuredCall], as_json: bool) -> bool {
    println!("{:<34}{:>9}{:>9}{:>9}  bound", "", "p50", "p99", "max");
    let mut holds = true;
    for figure in figures {
        let (p50, p99, max) = (figure.at(0.5), figure.at(0.99), figure.at(1.0));
        let missed = p50 > figure.p50 || figure.p99.is_some_and(|most| p99 > most);
        holds &= !missed;
        let bound = figure.p99.map_or_else(String::new, |most| format!(", p99 ≤ {most}"));
        let note = if missed { "  MISSED" } else { "" };
        println!(
            "{:<34}{p50:>9.2}{p99:>9.2}{max:>9.2}  p50 ≤ {}{bound}{note}",
            figure.what, figure.p50
        );
    }
    if as_json {
        let figure =
            |f: &MeasuredCall| json!({"what": f.what, "p50": f.at(0.5), "p99": f.at(0.99)});
        println!("{}", Value::from_iter(figures.iter().map(figure)));
    }
    holds
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if !has("--bench") {
        // `cargo test --benches` runs this too: there is nothing to test here.
        return;
    }
    let (calls, starts) = if has("--quick") { (50, 5) } else { (200, 20) };
    let chromium = find_browser().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let figures = runtime.block_on(async {
        let mut figures = measure_browser(folder.path(), &chromium, calls, has("--window")).await;
        figures.extend(measure_bridge(folder.path(), starts).await);
        figures
    });
    if !show(&figures, has("--json")) && has("--check") {
        std::process::exit(1);
    }
}
