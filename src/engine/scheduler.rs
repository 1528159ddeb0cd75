//! Where each command is to run, and whose turn it is.

use std::collections::HashMap;

use crate::lifecycle::{
    CommandPhase, CommandQueue, CommandSpec, FreedLanes, Lane, Limits, SchedulingMode,
    TargetSelector,
};
use crate::protocol::{BrowserId, ClientId, CorrelationId};

/// The turns of all commands, what each asked for and where it went.
#[derive(Debug, Default)]
pub(super) struct Scheduler {
    queue: CommandQueue,
    /// What the commands that are not over asked for.
    selectors: HashMap<CorrelationId, TargetSelector>,
    /// Where each command went that was given a lane: the queue forgets it with the
    /// command's end, and observers ask for longer.
    lanes: HashMap<CorrelationId, Lane>,
}

impl Scheduler {
    /// A command waits for its turn in its lane, or for a browser if it has none.
    pub(super) fn join(&mut self, spec: &CommandSpec, lane: Option<Lane>) {
        let (client, id) = (spec.client.clone(), spec.id.clone());
        if let Some(lane) = &lane {
            self.note_lane(&id, lane.clone());
        }
        self.queue.join(client, id, SchedulingMode::of(&spec.work), lane);
    }

    /// A command runs in its lane already: it began in an earlier life of the daemon.
    pub(super) fn occupy(&mut self, spec: &CommandSpec, lane: Lane) {
        let (client, id) = (spec.client.clone(), spec.id.clone());
        self.note_lane(&id, lane.clone());
        self.queue.occupy(client, id, SchedulingMode::of(&spec.work), lane);
    }

    /// A command that waits for a browser gets its lane.
    pub(super) fn place(&mut self, id: &CorrelationId, lane: Lane) {
        self.note_lane(id, lane.clone());
        self.queue.place(id, lane);
    }

    /// A command that waits does so in another lane from now on, behind all others. One that
    /// named its tab is still shown with the lane that it named.
    pub(super) fn send_elsewhere(&mut self, spec: &CommandSpec, lane: Lane, limits: &Limits) {
        let _ = self.queue.follow(&spec.id, CommandPhase::Ended, limits);
        if !self.has_named_tab(&spec.id) {
            self.note_lane(&spec.id, lane.clone());
        }
        let (client, id) = (spec.client.clone(), spec.id.clone());
        self.queue.join(client, id, SchedulingMode::of(&spec.work), Some(lane));
    }

    /// A command is in this phase from now on. Where something may run that could not before.
    pub(super) fn follow(
        &mut self,
        id: &CorrelationId,
        to: CommandPhase,
        limits: &Limits,
    ) -> FreedLanes {
        self.queue.follow(id, to, limits)
    }

    /// The command whose turn it is in a browser.
    pub(super) fn next(
        &mut self,
        browser: &BrowserId,
        limits: &Limits,
    ) -> Option<(CorrelationId, Lane)> {
        self.queue.next(browser, limits)
    }

    /// All browsers that commands wait for.
    pub(super) fn browsers(&self) -> Vec<BrowserId> {
        self.queue.browsers()
    }

    /// The commands that wait for any browser, in the order of their turns.
    pub(super) fn unplaced(&self) -> Vec<CorrelationId> {
        self.queue.unplaced()
    }

    /// The commands that wait for this browser.
    pub(super) fn waiting_for(&self, browser: &BrowserId) -> Vec<CorrelationId> {
        self.queue.waiting_for(browser)
    }

    /// How many commands of a client wait.
    pub(super) fn queued(&self, client: &ClientId) -> usize {
        self.queue.queued(client)
    }

    /// Whether one more command of this client would be too many (row 2).
    pub(super) fn is_full_for(&self, client: &ClientId, limits: &Limits) -> bool {
        self.queue.is_full_for(client, limits)
    }

    /// Keeps what a command asked for until it is over.
    pub(super) fn note_selector(&mut self, id: &CorrelationId, selector: TargetSelector) {
        self.selectors.insert(id.clone(), selector);
    }

    /// What a command that is not over asked for.
    pub(super) fn selector(&self, id: &CorrelationId) -> Option<&TargetSelector> {
        self.selectors.get(id)
    }

    /// Whether a command that is not over named its tab.
    pub(super) fn has_named_tab(&self, id: &CorrelationId) -> bool {
        self.selector(id).is_some_and(|selector| selector.tab.is_some())
    }

    /// What the commands that are not over asked for.
    pub(super) fn selectors(&self) -> impl Iterator<Item = (&CorrelationId, &TargetSelector)> {
        self.selectors.iter()
    }

    /// A command is over.
    pub(super) fn forget_selector(&mut self, id: &CorrelationId) {
        self.selectors.remove(id);
    }

    /// Keeps where a command that is over has run.
    pub(super) fn note_lane(&mut self, id: &CorrelationId, lane: Lane) {
        self.lanes.insert(id.clone(), lane);
    }

    /// Where a command runs or ran, if that is known.
    pub(super) fn lane_of(&self, id: &CorrelationId) -> Option<&Lane> {
        self.lanes.get(id)
    }

    /// The commands that run or ran in this browser.
    pub(super) fn of_browser(&self, browser: &BrowserId) -> Vec<CorrelationId> {
        let of_it = self.lanes.iter().filter(|(_, lane)| lane.browser == *browser);
        of_it.map(|(id, _)| id.clone()).collect()
    }

    /// The record of a command is gone. Where it ran, if that was known.
    pub(super) fn forget_lane(&mut self, id: &CorrelationId) -> Option<Lane> {
        self.lanes.remove(id)
    }
}
