//! What was measured, as lines and as JSON, and whether the bounds hold.

use std::io::{self, Write as _};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::load::{SampleSeries, verdict};

use crate::attacks::Attack;
use crate::victims::Waits;

/// Required: what a command takes under every attack at p99, and a new connection while others
/// are held open, in ms.
const LONGEST: f64 = 100.0;

/// Required: how many times as long as alone a command takes at p99 while a client floods.
const FLOODED: f64 = 2.0;

/// What one attack did.
#[derive(Debug)]
pub(crate) struct Measured {
    attack: Attack,
    pub(crate) alone: Waits,
    pub(crate) attacked: Waits,
    /// How much was tried in each block, and how long that was.
    pub(crate) tries: Vec<(u64, Duration)>,
}

impl Measured {
    pub(crate) fn of(attack: Attack) -> Self {
        Self { attack, alone: Waits::default(), attacked: Waits::default(), tries: Vec::new() }
    }

    /// Prints its line. Whether a bound is missed.
    pub(crate) fn show(&self) -> anyhow::Result<bool> {
        let (alone, attacked) = (&self.alone, &self.attacked);
        let (row, what) = self.attack.title();
        let what = format!(
            "row {row}: {:.0} {what} a second: {} commands p50 {:.2} p99 {:.2} ms, alone {:.2} and \
             {:.2}; {} new connections at most {:.2} ms, alone {:.2}, {} lost",
            self.a_second(),
            attacked.commands.count(),
            ms(&attacked.commands, 50),
            ms(&attacked.commands, 99),
            ms(&alone.commands, 50),
            ms(&alone.commands, 99),
            attacked.newcomers.count(),
            ms(&attacked.newcomers, 100),
            ms(&alone.newcomers, 100),
            attacked.lost,
        );
        verdict(self.holds(), &what)
    }

    fn a_second(&self) -> f64 {
        let (tried, took) = self
            .tries
            .iter()
            .fold((0, Duration::ZERO), |sum, block| (sum.0 + block.0, sum.1 + block.1));
        #[expect(clippy::cast_precision_loss, reason = "a count of tries")]
        let tried = tried as f64;
        tried / took.as_secs_f64()
    }

    /// A figure that is none holds nothing.
    fn holds(&self) -> bool {
        let (alone, attacked) = (&self.alone, &self.attacked);
        let p99 = ms(&attacked.commands, 99);
        let more = match self.attack {
            Attack::Flood => p99 < FLOODED * ms(&alone.commands, 99),
            Attack::HalfOpen | Attack::Silent => {
                attacked.lost == 0 && ms(&attacked.newcomers, 100) < LONGEST
            }
            Attack::Refused
            | Attack::Guesses
            | Attack::Forged
            | Attack::Bodies
            | Attack::Large
            | Attack::Malformed
            | Attack::Unread => true,
        };
        p99 < LONGEST && more
    }

    fn json(&self) -> Value {
        let figures = |waits: &Waits| {
            json!({
                "commands": {
                    "count": waits.commands.count(),
                    "p50": ms(&waits.commands, 50),
                    "p99": ms(&waits.commands, 99),
                },
                "newcomers": {
                    "count": waits.newcomers.count(),
                    "most": ms(&waits.newcomers, 100),
                    "lost": waits.lost,
                },
            })
        };
        json!({
            "tries_per_second": self.a_second(),
            "attacked": figures(&self.attacked),
            "alone": figures(&self.alone),
            "ok": self.holds(),
        })
    }
}

/// Prints all of it in one line.
pub(crate) fn show_json(all: &[Measured]) -> io::Result<()> {
    let mut line = json!({"unit": "ms"});
    for measured in all {
        line[measured.attack.name()] = measured.json();
    }
    writeln!(io::stdout(), "{line}")
}

fn ms(series: &SampleSeries, percent: usize) -> f64 {
    series.percentile(percent) / 1_000.0
}
