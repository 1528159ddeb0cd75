//! The machine that is measured on, and how much others use it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tabwire::demo::find_browser;
use testkit::record::MeasuredMachine;

/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(1);

/// Lets this process and its children open as many files as the system allows.
pub(crate) fn raise_open_files() -> anyhow::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    Ok(())
}

/// The share of all processors' time that is used now, while nothing of this run works.
pub(crate) async fn busy_percent() -> anyhow::Result<f64> {
    let before = ticks()?;
    tokio::time::sleep(WATCHED).await;
    let after = ticks()?;
    #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
    let share = |idle: u64, all: u64| 100.0 * (1.0 - idle as f64 / all.max(1) as f64);
    Ok(share(after.idle - before.idle, after.all - before.all))
}

struct Ticks {
    idle: u64,
    all: u64,
}

/// Of all processors since the start, from the first line of `/proc/stat`: user, nice, system, idle, iowait,
/// irq, softirq, steal.
fn ticks() -> anyhow::Result<Ticks> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let line = text.lines().next().context("/proc/stat is empty")?;
    let fields = line.split_whitespace().skip(1).take(8).map(str::parse);
    let fields = fields.collect::<Result<Vec<u64>, _>>()?;
    let idle = fields.iter().skip(3).take(2).sum();
    Ok(Ticks { idle, all: fields.iter().sum() })
}

/// The day, `YYYY-MM-DD`.
#[expect(clippy::disallowed_methods, reason = "a measurement reads clocks")]
pub(crate) fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.split('T').next().unwrap_or_default().to_owned()
}

pub(crate) fn described(program: &Path, profile: &str) -> anyhow::Result<MeasuredMachine> {
    let version = first_line(Command::new(program).arg("--version"))?;
    let processors = std::fs::read_to_string("/proc/cpuinfo")?;
    let processor = field(&processors, "model name").unwrap_or("unknown processor").to_owned();
    let memory = std::fs::read_to_string("/proc/meminfo")?;
    let kib =
        field(&memory, "MemTotal").and_then(|size| size.split(' ').next()?.parse::<u64>().ok());
    Ok(MeasuredMachine {
        version: version.trim_start_matches("tabwire ").to_owned(),
        profile: profile.to_owned(),
        processor,
        cores: std::thread::available_parallelism()?.get(),
        memory_gib: kib.unwrap_or_default().div_ceil(1 << 20),
        system: first_line(Command::new("uname").arg("-sr"))?,
        browser: find_browser()
            .ok()
            .and_then(|browser| first_line(Command::new(browser).arg("--version")).ok()),
    })
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

fn first_line(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}
