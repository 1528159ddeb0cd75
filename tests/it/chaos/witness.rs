//! What the agents were told, what the browsers ran, what the journal says; and whether the
//! three agree.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::journal;
use tabwire::lifecycle::SavedStage;

use super::extension::runs_of;
use testkit::SeededRandom;
use testkit::{ProgramSandbox, StdioClient, Stopwatch};

/// How long a command may take to its end, once nothing is killed any more: its whole time
/// from creation, and something for the machine.
const REST: Duration = Duration::from_secs(40);

/// What the agents were told.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<BTreeMap<String, Told>>>);

/// What was told of one command.
struct Told {
    script: String,
    /// Its end; what may differ between two answers is left out.
    end: Option<Value>,
}

/// What a round came to. `status` words with their counts.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) commands: u64,
    ran: u64,
    ends: BTreeMap<String, u64>,
}

impl Ledger {
    /// An agent was told that its command is accepted, and perhaps how it ended.
    pub(super) fn note_accepted(&self, script: &str, answer: &Value) {
        let id = answer["correlation_id"].as_str().unwrap_or_else(|| panic!("{answer}"));
        {
            let mut ledger = self.0.lock().unwrap();
            let of_script = ledger.iter().find(|(_, told)| told.script == script);
            if let Some((known, _)) = of_script {
                assert_eq!(known, id, "one key, one command");
            }
            let told = || Told { script: script.to_owned(), end: None };
            ledger.entry(id.to_owned()).or_insert_with(told);
        }
        self.note_told(id, answer);
    }

    /// An agent was told how a command is.
    pub(super) fn note_told(&self, id: &str, answer: &Value) {
        let status = answer["status"].as_str().unwrap_or_else(|| panic!("{answer}"));
        if matches!(status, "queued" | "pending") {
            assert!(self.0.lock().unwrap()[id].end.is_none(), "{id} had ended, and now {answer}");
            return;
        }
        assert_ne!(status, "not_found", "{id} was accepted, and is not known");
        // Told with the first answer only.
        let mut answer = answer.clone();
        answer.as_object_mut().unwrap().remove("trace");
        let mut ledger = self.0.lock().unwrap();
        let told = ledger.get_mut(id).unwrap();
        match &told.end {
            Some(end) => assert_eq!(*end, answer, "{id} has ended in two ways"),
            None => told.end = Some(answer),
        }
    }

    /// Any command that was accepted.
    pub(super) fn any_id(&self, dice: &mut SeededRandom) -> Option<String> {
        let ledger = self.0.lock().unwrap();
        let n = dice.below(ledger.len().max(1) as u64) as usize;
        ledger.keys().nth(n).cloned()
    }

    /// Waits until every command has ended, and asks how those did that somebody was told of.
    pub(super) async fn let_everything_end(&self, place: &ProgramSandbox) {
        let ids: Vec<_> = self.0.lock().unwrap().keys().cloned().collect();
        let mut client = StdioClient::start(place);
        let watch = Stopwatch::start();
        for id in ids {
            loop {
                let call =
                    json!({"what": "command_result", "correlation_id": id, "wait_ms": 5_000});
                let answer = client.call_raw("observe", call).await["structuredContent"].clone();
                self.note_told(&id, &answer);
                if answer["status"] != "pending" {
                    break;
                }
                watch.assert_under(REST.as_millis().try_into().unwrap(), &format!("{id} is stuck"));
            }
        }
        // Nobody was told of what was accepted as its bridge was killed.
        loop {
            let health = client.call_raw("configure", json!({"action": "health"})).await;
            if health["structuredContent"]["pending"] == 0 {
                return;
            }
            watch.assert_under(REST.as_millis().try_into().unwrap(), &health.to_string());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether the three agree. Panics where they do not.
    pub(super) fn judge(&self, place: &ProgramSandbox) -> Verdict {
        let mut runs: HashMap<String, u64> = HashMap::new();
        let written = fs::read_to_string(runs_of(place.path())).unwrap_or_default();
        for line in written.lines() {
            let id = line.split(' ').next().unwrap_or_default();
            *runs.entry(id.to_owned()).or_default() += 1;
        }
        for (id, times) in &runs {
            assert_eq!(*times, 1, "{id} ran more than once");
        }
        let journal = journal::open(&place.home().journal_path(), "chaos").unwrap().history;
        assert_eq!(journal.moved_aside, None);
        let recorded: HashMap<_, _> = journal
            .commands
            .iter()
            .map(|kept| (kept.saved.spec.id.as_str(), &kept.saved.stage))
            .collect();
        let mut verdict = Verdict::default();
        for (id, told) in &*self.0.lock().unwrap() {
            let ran = runs.get(id).copied().unwrap_or_default();
            let end = told.end.as_ref().unwrap_or_else(|| panic!("{id} has no end"));
            judge_one(id, &told.script, end, ran);
            // What was told is recorded: in whole, or, if too many newer ones were, as gone.
            let is_gone = journal.gone.iter().any(|(gone, ..)| gone.as_str() == id);
            let has_ended = matches!(recorded.get(id.as_str()), Some(SavedStage::Ended { .. }));
            assert!(has_ended || is_gone, "{id} has ended, which is not recorded");
            verdict.commands += 1;
            verdict.ran += ran;
            let status = end["status"].as_str().unwrap_or_default();
            let word = end["reason"]
                .as_str()
                .map_or_else(|| status.to_owned(), |reason| format!("{status} ({reason})"));
            *verdict.ends.entry(word).or_default() += 1;
        }
        let open =
            recorded.values().filter(|stage| !matches!(stage, SavedStage::Ended { .. })).count();
        assert_eq!(open, 0, "commands that nobody was told of have ended as well");
        verdict
    }
}

fn judge_one(id: &str, script: &str, end: &Value, ran: u64) {
    if end["status"] == "complete" {
        assert_eq!(ran, 1, "{id} is complete and never ran");
        assert_eq!(end["result"]["value"], script, "{id} has another's result");
    }
    if end["may_have_run"] == false {
        assert_eq!(ran, 0, "{id} ran, and it was told that it had not: {end}");
    }
}

impl AddAssign for Verdict {
    fn add_assign(&mut self, other: Self) {
        self.commands += other.commands;
        self.ran += other.ran;
        for (end, count) in other.ends {
            *self.ends.entry(end).or_default() += count;
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends: Vec<_> = self.ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
        write!(
            f,
            "{} commands, {} ran; {}; 0 lost, 0 doubled, 0 stuck",
            self.commands,
            self.ran,
            ends.join(", ")
        )
    }
}
