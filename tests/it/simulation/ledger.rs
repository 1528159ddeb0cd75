//! What everybody was told and what was run: the promises are judged by it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::hub::Caller;

use super::shim::NO_SCRIPT;

/// How late the answer to a call that waits may be once it could be given: the hosts' own
/// clocks are in step, so hardly at all.
const AT_ONCE: Duration = Duration::from_millis(30);

/// How long after a command's end its result is kept.
const KEPT: Duration = Duration::from_secs(60);

/// A command whose acceptance its caller was told.
#[derive(Clone, Debug)]
pub(super) struct Acceptance {
    pub(super) caller: Caller,
    pub(super) name: String,
    pub(super) at: Duration,
}

/// What was told and what was run.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) accepted: BTreeMap<String, Acceptance>,
    /// How each command ended, as it was told first.
    told: HashMap<String, Value>,
    /// Under which id each name was accepted.
    ids: HashMap<String, String>,
    /// How often each command was run.
    runs: HashMap<String, u32>,
    runs_of_name: HashMap<String, u32>,
    /// Names of calls that were refused, and never anything else.
    refused: HashMap<String, String>,
    /// When the end of each command was recorded last.
    ended: HashMap<String, Duration>,
    pub(super) broken: Vec<String>,
    pub(super) log: Vec<String>,
}

/// How a command ended, as it is told: what must never change. `None`: it has not.
pub(super) fn outcome(said: &Value) -> Option<Value> {
    let word = said["status"].as_str()?;
    let is_end = ["complete", "error", "timeout", "expired", "cancelled"].contains(&word);
    is_end.then(|| {
        json!({"status": word, "reason": said["reason"], "may_have_run": said["may_have_run"],
               "value": said["result"]["value"]})
    })
}

impl Ledger {
    /// A promise is broken.
    pub(super) fn breaks(&mut self, at: Duration, what: String) {
        self.note(at, &format!("BROKEN: {what}"));
        self.broken.push(what);
    }

    /// Writes down what happens, for whoever looks into a failure.
    pub(super) fn note(&mut self, at: Duration, what: &str) {
        self.log.push(format!("{:>8.3} {what}", at.as_secs_f64()));
    }

    /// A caller was told that its command is accepted.
    pub(super) fn accepted(&mut self, at: Duration, id: &str, caller: &Caller, name: &str) {
        self.note(at, &format!("{name} accepted"));
        self.refused.remove(name);
        if let Some(before) = self.ids.insert(name.to_owned(), id.to_owned())
            && before != id
        {
            self.breaks(at, format!("{name}: the same key was another command"));
        }
        let acceptance = Acceptance { caller: caller.clone(), name: name.to_owned(), at };
        self.accepted.entry(id.to_owned()).or_insert(acceptance);
    }

    /// A caller was told that its call is refused, and has no reason to doubt it.
    pub(super) fn refused(&mut self, at: Duration, name: &str, why: &str) {
        self.note(at, &format!("{name} refused: {why}"));
        self.refused.insert(name.to_owned(), why.to_owned());
    }

    /// The caller has lost an answer, or calls again: what it was told before is not all.
    pub(super) fn in_doubt(&mut self, name: &str) {
        self.refused.remove(name);
    }

    /// The owner was told what is known of its command. Whether it is over.
    pub(super) fn tell(&mut self, at: Duration, id: &str, said: &Value) -> bool {
        let name = self.name(id);
        if said["status"] == "not_found" {
            self.breaks(at, format!("{name}: its owner was told that there is no such command"));
            return true;
        }
        let Some(now) = outcome(said) else { return false };
        if now["reason"] == "result_expired" {
            let accepted = self.accepted.get(id).map_or(at, |acceptance| acceptance.at);
            if at < accepted + KEPT {
                self.breaks(at, format!("{name}: its record went too early"));
            }
            if now["may_have_run"] == false && self.runs.contains_key(id) {
                self.breaks(at, format!("{name}: gone and `may_have_run: false`, and it was run"));
            }
            return true;
        }
        match self.told.get(id) {
            None => {
                self.note(at, &format!("{name} told: {now}"));
                self.check_end(at, id, &name, &now);
                self.told.insert(id.to_owned(), now);
            }
            Some(before) if *before != now => {
                let what = format!("{name}: told {before} first and then {now}");
                self.breaks(at, what);
            }
            Some(_) => {}
        }
        true
    }

    fn check_end(&mut self, at: Duration, id: &str, name: &str, end: &Value) {
        if end["status"] == "complete" && !self.runs.contains_key(id) {
            self.breaks(at, format!("{name}: complete, and was never run"));
        }
        let own = |value: &str| {
            [name, NO_SCRIPT]
                .iter()
                .any(|of| value.strip_prefix(of).is_some_and(|n| n.starts_with('#')))
        };
        if end["value"].as_str().is_some_and(|value| !own(value)) {
            self.breaks(at, format!("{name}: told the result of another: {end}"));
        }
    }

    /// Somebody who is not the owner asked, and this is what they were told.
    pub(super) fn tell_stranger(&mut self, at: Duration, id: &str, said: &Value) {
        if said["status"] != "not_found" {
            let name = self.name(id);
            self.breaks(at, format!("{name}: a stranger was told {said}"));
        }
    }

    /// A command begins to run; a script says which it is. How often it has.
    pub(super) fn run(&mut self, at: Duration, id: &str, script: Option<&str>, safe: bool) -> u32 {
        let runs = self.runs.entry(id.to_owned()).or_default();
        *runs += 1;
        let runs = *runs;
        let mut is_twice = runs > 1;
        if let Some(name) = script {
            self.note(at, &format!("{name} runs"));
            let of_name = self.runs_of_name.entry(name.to_owned()).or_default();
            *of_name += 1;
            is_twice |= *of_name > 1;
        }
        if is_twice && !safe {
            let name = script.map_or_else(|| self.name(id), str::to_owned);
            self.breaks(at, format!("{name}: run twice"));
        }
        runs
    }

    /// The end of a command was recorded.
    pub(super) fn end_recorded(&mut self, at: Duration, id: &str) {
        self.ended.insert(id.to_owned(), at);
    }

    /// A call that waited since `since` is answered with an end.
    pub(super) fn woke(&mut self, at: Duration, since: Duration, id: &str) {
        let ended = self.ended.get(id).copied().unwrap_or(since);
        let late = at.saturating_sub(ended.max(since));
        if late > AT_ONCE {
            let name = self.name(id);
            self.breaks(at, format!("{name}: a waiter slept for {late:?} through its end"));
        }
    }

    /// What holds at the end of a run, when nothing is left to happen.
    pub(super) fn close(&mut self, at: Duration) {
        for id in self.accepted.keys().cloned().collect::<Vec<_>>() {
            if !self.told.contains_key(&id) {
                let name = self.name(&id);
                self.breaks(at, format!("{name}: accepted, and its end was never told"));
            }
        }
        let not_run = self.told.iter().filter(|(_, end)| end["may_have_run"] == false);
        let not_run: Vec<_> = not_run.map(|(id, end)| (id.clone(), end.clone())).collect();
        for (id, end) in not_run {
            if self.runs.contains_key(&id) {
                let name = self.name(&id);
                self.breaks(at, format!("{name}: told {end}, and it was run"));
            }
        }
        for (name, why) in self.refused.clone() {
            if self.runs_of_name.contains_key(&name) {
                self.breaks(at, format!("{name}: refused ({why}), and it was run"));
            }
        }
    }

    /// What to call a command.
    pub(super) fn name(&self, id: &str) -> String {
        self.accepted.get(id).map_or_else(|| "?".to_owned(), |acceptance| acceptance.name.clone())
    }
}
