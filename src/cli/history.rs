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

/// The most characters of each column of a terminal; with the ages and the gaps they are 80.
const CLIENT: usize = 13;
const ACTION: usize = 18;
const SITE: usize = 18;
const ENDED: usize = 13;

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
    let mut table = TextTable::new(&["WHEN", "CLIENT", "ACTION", "SITE", "ENDED"]);
    for act in &list.acts {
        table.row([
            (&*ago(act.at, now), TextStyle::Dim),
            (&shortened(&clean(&client_words(act)), CLIENT), TextStyle::Plain),
            (&shortened(&clean(&act.action), ACTION), TextStyle::Plain),
            (&shortened(act.site.as_deref().unwrap_or("-"), SITE), TextStyle::Plain),
            (&shortened(end_words(act), ENDED), TextStyle::Plain),
        ]);
    }
    for line in table.lines() {
        print_line(line)?;
    }
    Ok(())
}

/// With tabs between the fields: time (UTC), end, ms, action, site, client.
fn plain_line(act: &PastAct) -> String {
    let site = act.site.as_deref().unwrap_or("-");
    let client = client_words(act);
    let (action, client) = (clean(&act.action), clean(&client));
    format!("{}\t{}\t{}\t{action}\t{site}\t{client}", act.at, end_words(act), act.took_ms)
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
