//! A model of an extension. It does as it is told and trusts the daemon: what keeps a
//! command from running twice is not its doing, but for this: it runs on `go` only, and
//! on one `go` for each attempt.

use std::collections::BTreeMap;

use tabwire::lifecycle::Peer;
use tabwire::protocol::{Attempt, CorrelationId, ExtensionReport, InFlightState};
use testkit::{AttemptStage, CommandAttempt, DeliveryReaction, ExtensionAttempts};

/// What the daemon tells it.
#[derive(Clone, Debug)]
pub(super) enum Told {
    Command {
        id: CorrelationId,
        attempt: Attempt,
        safe: bool,
    },
    Go {
        id: CorrelationId,
        attempt: Attempt,
    },
    Cancel {
        id: CorrelationId,
    },
    /// `result_ack` or `nack`: it need not say that again.
    Settled {
        id: CorrelationId,
        attempt: Attempt,
    },
}

/// What it says.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Ready(Vec<(CorrelationId, Attempt, InFlightState)>),
    Claim(CorrelationId, Attempt),
    Report(CorrelationId, Attempt, ExtensionReport),
}

/// One installation, through all the lives of its worker.
#[derive(Debug)]
pub(super) struct Extension {
    peer: Peer,
    life: u32,
    attempts: ExtensionAttempts<(), ExtensionReport>,
    /// How often each command began in the page. Nothing ever lowers it.
    pub(super) runs: BTreeMap<CorrelationId, u32>,
}

impl Extension {
    pub(super) fn new(browser: &str) -> Self {
        let peer = Peer { browser: browser.into(), instance: "0".into() };
        Self { peer, life: 0, attempts: ExtensionAttempts::default(), runs: BTreeMap::new() }
    }

    pub(super) fn peer(&self) -> Peer {
        self.peer.clone()
    }

    /// It is connected to a proven daemon. It says first which attempts it has; then comes its
    /// outbox.
    pub(super) fn connects(&mut self, epoch: u32) -> Vec<Said> {
        self.attempts.welcome(&epoch.to_string());
        let has =
            self.attempts.iter().map(|(id, known)| (id.into(), number_of(known), known.state()));
        let mut says = vec![Said::Ready(has.collect())];
        for (id, known) in self.attempts.iter() {
            if let AttemptStage::Reported(report) = &known.stage {
                says.push(Said::Report(id.into(), number_of(known), report.clone()));
            }
        }
        says
    }

    /// Its worker is killed, and the pages' runs with it.
    pub(super) fn dies(&mut self) {
        self.life += 1;
        self.peer.instance = self.life.to_string().into();
        self.attempts.end_worker();
    }

    pub(super) fn hears(&mut self, told: Told) -> Option<Said> {
        match told {
            Told::Command { id, attempt, safe } => {
                match self.attempts.accept(id.as_str(), u64::from(attempt.0), safe, ()) {
                    DeliveryReaction::Run => self.runs(id),
                    DeliveryReaction::Claim
                    | DeliveryReaction::SayPending
                    | DeliveryReaction::ReportAgain
                    | DeliveryReaction::Ignore => return Some(Said::Claim(id, attempt)),
                }
                None
            }
            Told::Go { id, attempt } => {
                self.attempts.begin(id.as_str(), u64::from(attempt.0))?;
                self.runs(id);
                None
            }
            Told::Cancel { id } => {
                let cancelled = |may_have_run| ExtensionReport::Cancelled { may_have_run };
                self.reports(id.as_str(), cancelled)
            }
            Told::Settled { id, attempt } => {
                self.attempts.settle(id.as_str(), u64::from(attempt.0));
                None
            }
        }
    }

    fn runs(&mut self, id: CorrelationId) {
        *self.runs.entry(id).or_default() += 1;
    }

    fn reports(&mut self, id: &str, report: impl FnOnce(bool) -> ExtensionReport) -> Option<Said> {
        self.attempts.report(id, |known| report(known.is_running()))?;
        let known = self.attempts.get(id)?;
        let AttemptStage::Reported(report) = &known.stage else { return None };
        Some(Said::Report(id.into(), number_of(known), report.clone()))
    }

    /// A run is over.
    pub(super) fn finishes(&mut self, nth: usize, report: ExtensionReport) -> Option<Said> {
        let (id, _) = self.nth_at(nth, InFlightState::Running)?;
        self.reports(&id, |_| report)
    }

    /// A run goes on.
    pub(super) fn goes_on(&mut self, nth: usize) -> Option<Said> {
        let (id, attempt) = self.nth_at(nth, InFlightState::Running)?;
        let report = ExtensionReport::Pending { message: None, progress: Some(0.5), dialog: None };
        Some(Said::Report(id.into(), attempt, report))
    }

    /// It has had no answer to a claim and says it again.
    pub(super) fn claims_again(&mut self, nth: usize) -> Option<Said> {
        let (id, attempt) = self.nth_at(nth, InFlightState::Claimed)?;
        Some(Said::Claim(id.into(), attempt))
    }

    fn nth_at(&self, nth: usize, state: InFlightState) -> Option<(String, Attempt)> {
        let known: Vec<_> =
            self.attempts.iter().filter(|(_, known)| known.state() == state).collect();
        let (id, known) = known.get(nth.checked_rem(known.len())?)?;
        Some(((*id).to_owned(), number_of(known)))
    }
}

fn number_of(known: &CommandAttempt<(), ExtensionReport>) -> Attempt {
    Attempt(u32::try_from(known.attempt).expect("it was one"))
}
