//! `tabwire history`: the acts of agents that are over, and the switch that keeps them.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::person::{UnattendedFlag, require_consent, require_consent_to_reversible};
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::hub::ClockSample;
use crate::past_acts::{PastActFile, PastActFilter, PastActList};
use crate::proof::DEFAULT_OWNER;
use crate::protocol::{PastAct, Timestamp, site_of_address};
use crate::terminal::{self, TextStyle, TextTable, ago, clean, print_line, shortened};

const NO_ACTS: &str = "no acts";
const OFF_NOW: &str =
    "The history is off: no acts are kept. `tabwire history on` keeps them again.";

static HEADINGS: [&str; 6] = ["WHEN", "CLIENT", "ACTION", "SITE", "ENDED", "BROWSER"];

/// The most characters of each column behind the age on a terminal; with the ages and the gaps they are
/// 80. Acts of one browser leave its column out.
const OF_ONE: [usize; 5] = [13, 18, 18, 13, 0];
const OF_SEVERAL: [usize; 5] = [11, 13, 14, 11, 11];

/// How many acts are shown unless the call says otherwise.
const SHOWN: usize = 50;

#[derive(Subcommand, Debug)]
pub(super) enum HistoryCommand {
    /// Keep no more acts; kept ones stay
    #[command(after_help = "Example:\n  tabwire history off")]
    Off {
        #[command(flatten)]
        consent: UnattendedFlag,
    },
    /// Keep acts from now on (default of a new set-up)
    #[command(after_help = "Example:\n  tabwire history on")]
    On,
    /// Remove all kept acts
    #[command(after_help = "Example:\n  tabwire history clear")]
    Clear {
        #[command(flatten)]
        consent: UnattendedFlag,
    },
}

/// The choice of acts.
#[derive(Args, Debug)]
pub(super) struct HistoryArguments {
    #[command(subcommand)]
    command: Option<HistoryCommand>,
    /// Show acts on this site and its subdomains only
    #[arg(long, value_parser = site)]
    site: Option<String>,
    /// Show acts of clients whose name contains this text
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Show acts of this owner's clients only
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// Show acts since then: an age such as 90m, 12h or 7d, or a time such as 2026-11-24T08:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = Since::parse)]
    since: Option<Since>,
    /// Show this many acts at most, the newest
    #[arg(long, value_name = "COUNT", default_value_t = SHOWN)]
    limit: usize,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

/// From which time on acts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    Age(Duration),
    Time(Timestamp),
}

impl Since {
    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(time) = humantime::parse_rfc3339_weak(text) {
            let micros = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_micros();
            return Ok(Self::Time(Timestamp::from_unix_micros(
                u64::try_from(micros).unwrap_or(u64::MAX),
            )));
        }
        humantime::parse_duration(text).map(Self::Age).map_err(|_| {
            "give an age such as 90m, 12h or 7d, or a time such as 2026-11-24T08:00:00Z".to_owned()
        })
    }

    fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Age(age) => now - age,
            Self::Time(time) => time,
        }
    }
}

/// A host, or an address of which the host counts.
fn site(text: &str) -> Result<String, String> {
    let found = site_of_address(text).or_else(|| site_of_address(&format!("https://{text}")));
    found.map(|site| site.to_string()).ok_or_else(|| "give a site such as example.com".to_owned())
}

pub(super) fn run(location: &DaemonLocation, given: HistoryArguments) -> anyhow::Result<ExitCode> {
    let (dir, now) = (location.home()?, ClockSample::now().system);
    let json = given.json;
    match &given.command {
        None => {
            // No state directory is made for the question.
            let list = match StateDirectory::find(&dir)? {
                Some(home) => PastActFile::at(&home.history_path()).read(&filter(given, now))?,
                None => PastActList { is_on: true, acts: Vec::new() },
            };
            show(&list, now, json)?;
        }
        Some(HistoryCommand::On) => {
            let home = StateDirectory::open(&dir)?;
            PastActFile::at(&home.history_path()).set_on(true, now)?;
            told(json, true, 0, "The history is on.")?;
        }
        Some(HistoryCommand::Off { consent }) => {
            let home = StateDirectory::open(&dir)?;
            let file = PastActFile::at(&home.history_path());
            let what = "agents act without a record in the history";
            require_consent_to_reversible(&home, what, "tabwire history on", consent.unattended)?;
            file.set_on(false, now)?;
            told(
                json,
                false,
                0,
                "The history is off. Kept acts stay; `tabwire history clear` removes them.",
            )?;
        }
        Some(HistoryCommand::Clear { consent }) => {
            let home = StateDirectory::open(&dir)?;
            let file = PastActFile::at(&home.history_path());
            let what = "all acts of agents leave the history";
            require_consent(&home, what, consent.unattended)?;
            // Later than the question: acts of meanwhile leave too.
            let cleared = file.clear(ClockSample::now().system)?;
            let is_on = file.read(&PastActFilter::default())?.is_on;
            told(json, is_on, cleared, &format!("{cleared} acts removed"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn filter(given: HistoryArguments, now: Timestamp) -> PastActFilter {
    let HistoryArguments { site, client, owner, since, limit, .. } = given;
    PastActFilter { site, client, owner, since: since.map(|since| since.time(now)), limit }
}

fn told(json: bool, is_on: bool, cleared: usize, words: &str) -> anyhow::Result<()> {
    if json {
        print_line(json!({"on": is_on, "cleared": cleared}))?;
    } else {
        print_line(words)?;
    }
    Ok(())
}

fn show(list: &PastActList, now: Timestamp, json: bool) -> anyhow::Result<()> {
    if json {
        let body = json!({"on": list.is_on, "count": list.acts.len(), "acts": list.acts});
        print_line(serde_json::to_string_pretty(&body)?)?;
        return Ok(());
    }
    if !list.is_on {
        print_line(OFF_NOW)?;
    }
    if list.acts.is_empty() && terminal::is_terminal() {
        print_line(NO_ACTS)?;
    }
    if !terminal::is_terminal() {
        for act in &list.acts {
            print_line(plain_line(act))?;
        }
        return Ok(());
    }
    for line in table(&list.acts, now).lines() {
        print_line(line)?;
    }
    Ok(())
}

/// The acts for a terminal. Where they are of several browsers, each one's is told.
fn table(acts: &[PastAct], now: Timestamp) -> TextTable {
    let mut browsers = acts.iter().filter_map(|act| act.browser.as_deref());
    let first = browsers.next();
    let is_of_several = browsers.any(|other| Some(other) != first);
    let (headings, widths) =
        if is_of_several { (&HEADINGS[..], OF_SEVERAL) } else { (&HEADINGS[..5], OF_ONE) };
    let mut table = TextTable::new(headings);
    for act in acts {
        let cut = |text: &str, column: usize| shortened(&clean(text), widths[column]).into_owned();
        let browser = if is_of_several { cut(browser_words(act), 4) } else { String::new() };
        table.row([
            (&*ago(act.at, now), TextStyle::Dim),
            (&cut(&client_words(act), 0), TextStyle::Plain),
            (&cut(&act.action, 1), TextStyle::Plain),
            (&cut(act.site.as_deref().unwrap_or("-"), 2), TextStyle::Plain),
            (&cut(end_words(act), 3), TextStyle::Plain),
            (&browser, TextStyle::Plain),
        ]);
    }
    table
}

/// With tabs between the fields: time (UTC), end, ms, action, site, client, browser.
fn plain_line(act: &PastAct) -> String {
    let site = act.site.as_deref().unwrap_or("-");
    let client = client_words(act);
    let (action, client) = (clean(&act.action), clean(&client));
    let (end, took, browser) = (end_words(act), act.took_ms, clean(browser_words(act)));
    format!("{}\t{end}\t{took}\t{action}\t{site}\t{client}\t{browser}", act.at)
}

/// What the browser was called.
fn browser_words(act: &PastAct) -> &str {
    act.browser.as_deref().unwrap_or("-")
}

/// The client, and its owner unless that is the default one.
fn client_words(act: &PastAct) -> String {
    if &*act.owner == DEFAULT_OWNER {
        act.client.to_string()
    } else {
        format!("{} ({})", act.client, act.owner)
    }
}

/// The code of the end, which says more than its word.
fn end_words(act: &PastAct) -> &str {
    act.reason.as_deref().unwrap_or(&act.ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(browser: Option<&str>) -> PastAct {
        PastAct {
            at: Timestamp::from_unix_micros(1_795_298_985_123_000),
            owner: DEFAULT_OWNER.into(),
            client: "Claude Code".into(),
            browser: browser.map(Into::into),
            action: "click".into(),
            site: None,
            ended: "complete".into(),
            reason: None,
            took_ms: 4,
        }
    }

    #[test]
    fn the_browser_stands_in_a_table_where_there_are_several_and_in_each_plain_line() {
        let (work, home, none) = (act(Some("work")), act(Some("home")), act(None));
        let lines = |acts: &[PastAct]| table(acts, acts[0].at).lines().join("\n");
        assert!(!lines(&[none.clone(), work.clone(), work.clone()]).contains("work"));
        let several = lines(&[work.clone(), home, none.clone()]);
        assert!(several.contains("work") && several.contains("home"), "{several}");
        assert!(plain_line(&work).ends_with("\tclick\t-\tClaude Code\twork"));
        assert!(plain_line(&none).ends_with("\tClaude Code\t-"));
        let hostile = act(Some("a\u{1b}[31m\tb"));
        for shown in [plain_line(&hostile), lines(&[hostile, work, none])] {
            assert!(!shown.contains("\u{1b}[31m") && !shown.contains("m\tb"), "{shown}");
        }
    }

    #[test]
    fn since_is_an_age_or_a_time() {
        assert_eq!(Since::parse("90m"), Ok(Since::Age(Duration::from_secs(5_400))));
        assert_eq!(Since::parse("7d"), Ok(Since::Age(Duration::from_secs(7 * 86_400))));
        let time = Since::parse("2026-11-24T08:00:00Z").unwrap();
        assert_eq!(time, Since::Time(Timestamp::from_unix_micros(1_795_507_200_000_000)));
        for wrong in ["yesterday", "", "-1h", "2026-13-01T00:00:00Z"] {
            assert!(Since::parse(wrong).unwrap_err().contains("12h"), "{wrong}");
        }
    }

    #[test]
    fn a_site_is_a_host_or_an_address() {
        for given in ["Shop.example", "https://shop.example/cart?x=1", "shop.example:8443"] {
            assert_eq!(site(given).as_deref(), Ok("shop.example"), "{given}");
        }
        assert!(site("a b").is_err());
    }
}
