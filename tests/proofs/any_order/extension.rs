//! A model of an extension. It does as it is told and trusts the daemon: what keeps a
//! command from running twice is not its doing, but for this: it runs on `go` only, and
//! on one `go` for each attempt.

use std::collections::BTreeMap;

use tabwire::lifecycle::Peer;
use tabwire::protocol::{Attempt, CorrelationId, ExtensionReport, InFlightState};

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
    epoch: u32,
    jobs: BTreeMap<CorrelationId, Job>,
    /// How often each command began in the page. Nothing ever lowers it.
    pub(super) runs: BTreeMap<CorrelationId, u32>,
}

#[derive(Debug)]
struct Job {
    attempt: Attempt,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Claimed,
    Running,
    /// In the outbox, which outlives the worker.
    Done(ExtensionReport),
}

impl Extension {
    pub(super) fn new(browser: &str) -> Self {
        let peer = Peer { browser: browser.into(), instance: "0".into() };
        Self { peer, life: 0, epoch: 0, jobs: BTreeMap::new(), runs: BTreeMap::new() }
    }

    pub(super) fn peer(&self) -> Peer {
        self.peer.clone()
    }

    /// It is connected to a daemon that was proven: at a new epoch it forgets what it has
    /// not started. What it says first is what it has; then comes its outbox.
    pub(super) fn connects(&mut self, epoch: u32) -> Vec<Said> {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.jobs.retain(|_, job| !matches!(job.stage, Stage::Claimed));
        }
        let has = self.jobs.iter().map(|(id, job)| (id.clone(), job.attempt, job.stage.word()));
        let mut says = vec![Said::Ready(has.collect())];
        for (id, job) in &self.jobs {
            if let Stage::Done(report) = &job.stage {
                says.push(Said::Report(id.clone(), job.attempt, report.clone()));
            }
        }
        says
    }

    /// Its worker is killed, and what ran in it.
    pub(super) fn dies(&mut self) {
        self.life += 1;
        self.peer.instance = self.life.to_string().into();
        self.jobs.retain(|_, job| matches!(job.stage, Stage::Done(_)));
    }

    pub(super) fn hears(&mut self, told: Told) -> Option<Said> {
        match told {
            Told::Command { id, attempt, safe } => self.gets(id, attempt, safe),
            Told::Go { id, attempt } => {
                let job = self.jobs.get_mut(&id).filter(|job| job.attempt == attempt)?;
                if matches!(job.stage, Stage::Claimed) {
                    job.stage = Stage::Running;
                    *self.runs.entry(id).or_default() += 1;
                }
                None
            }
            Told::Cancel { id } => self.stops(id),
            Told::Settled { id, attempt } => {
                let job = self.jobs.get(&id).filter(|job| job.attempt == attempt)?;
                if !matches!(job.stage, Stage::Running) {
                    self.jobs.remove(&id);
                }
                None
            }
        }
    }

    fn gets(&mut self, id: CorrelationId, attempt: Attempt, safe: bool) -> Option<Said> {
        let stage = if safe { Stage::Running } else { Stage::Claimed };
        self.jobs.insert(id.clone(), Job { attempt, stage });
        if safe {
            *self.runs.entry(id).or_default() += 1;
            return None;
        }
        Some(Said::Claim(id, attempt))
    }

    fn stops(&mut self, id: CorrelationId) -> Option<Said> {
        let job = self.jobs.get_mut(&id)?;
        let may_have_run = match job.stage {
            Stage::Done(_) => return None,
            Stage::Claimed => false,
            Stage::Running => true,
        };
        let report = ExtensionReport::Cancelled { may_have_run };
        job.stage = Stage::Done(report.clone());
        Some(Said::Report(id, job.attempt, report))
    }

    /// Something that runs is over.
    pub(super) fn finishes(&mut self, nth: usize, report: ExtensionReport) -> Option<Said> {
        let (id, job) = self.nth_at(nth, |stage| matches!(stage, Stage::Running))?;
        job.stage = Stage::Done(report.clone());
        Some(Said::Report(id, job.attempt, report))
    }

    /// Something that runs is still at it.
    pub(super) fn goes_on(&mut self, nth: usize) -> Option<Said> {
        let (id, job) = self.nth_at(nth, |stage| matches!(stage, Stage::Running))?;
        let report = ExtensionReport::Pending { message: None, progress: Some(0.5) };
        Some(Said::Report(id, job.attempt, report))
    }

    /// It has had no answer to a claim and says it again.
    pub(super) fn claims_again(&mut self, nth: usize) -> Option<Said> {
        let (id, job) = self.nth_at(nth, |stage| matches!(stage, Stage::Claimed))?;
        Some(Said::Claim(id, job.attempt))
    }

    fn nth_at(
        &mut self,
        nth: usize,
        is_at: impl Fn(&Stage) -> bool,
    ) -> Option<(CorrelationId, &mut Job)> {
        let mut jobs: Vec<_> = self.jobs.iter_mut().filter(|(_, job)| is_at(&job.stage)).collect();
        let count = jobs.len();
        (count > 0).then(|| jobs.swap_remove(nth % count)).map(|(id, job)| (id.clone(), job))
    }
}

impl Stage {
    fn word(&self) -> InFlightState {
        match self {
            Self::Claimed => InFlightState::Claimed,
            Self::Running => InFlightState::Running,
            Self::Done(_) => InFlightState::Done,
        }
    }
}
