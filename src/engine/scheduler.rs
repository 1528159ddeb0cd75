//! The lanes of commands, and their turns.

use std::collections::HashMap;

use crate::lifecycle::{
    CommandPhase, CommandQueue, CommandSpec, FreedLanes, Lane, Limits, SchedulingMode,
    TargetSelector,
};
use crate::protocol::{BrowserId, ClientId, CorrelationId, TabId};

/// The queue of all commands, the targets that their calls named, and their lanes.
#[derive(Debug, Default)]
pub(super) struct Scheduler {
    queue: CommandQueue,
    /// The targets that the calls of pending commands named.
    selectors: HashMap<CorrelationId, TargetSelector>,
    /// The lane of each command. The queue forgets lanes when commands end, but observers still ask
    /// for them.
    lanes: HashMap<CorrelationId, Lane>,
}

impl Scheduler {
    /// Lets a command wait for its turn in its lane, or for a browser.
    pub(super) fn join(&mut self, spec: &CommandSpec, lane: Option<Lane>) {
        let (client, id) = (spec.client.clone(), spec.id.clone());
        if let Some(lane) = &lane {
            self.note_lane(&id, lane.clone());
        }
        self.queue.join(client, id, SchedulingMode::of(&spec.work), lane);
    }

    /// Lets a command occupy its lane that began in an earlier run of the daemon.
    pub(super) fn occupy(&mut self, spec: &CommandSpec, lane: Lane) {
        let (client, id) = (spec.client.clone(), spec.id.clone());
        self.note_lane(&id, lane.clone());
        self.queue.occupy(client, id, SchedulingMode::of(&spec.work), lane);
    }

    /// Gives a lane to a command that waits for a browser.
    pub(super) fn place(&mut self, id: &CorrelationId, lane: Lane) {
        self.note_lane(id, lane.clone());
        self.queue.place(id, lane);
    }

    /// Moves a waiting command to the back of another lane. A command whose call named a tab is still
    /// shown with that tab.
    pub(super) fn send_elsewhere(&mut self, spec: &CommandSpec, lane: Lane, limits: &Limits) {
        // For the queue it ends and joins again. It has not run, so it frees no lane.
        let _ = self.queue.follow(&spec.id, CommandPhase::Ended, limits);
        if !self.has_named_tab(&spec.id) {
            self.note_lane(&spec.id, lane.clone());
        }
        let (client, id) = (spec.client.clone(), spec.id.clone());
        self.queue.join(client, id, SchedulingMode::of(&spec.work), Some(lane));
    }

    /// Moves a waiting command to the lane of its tab under another id.
    pub(super) fn rename_lane(&mut self, spec: &CommandSpec, lane: Lane, limits: &Limits) {
        let _ = self.queue.follow(&spec.id, CommandPhase::Ended, limits);
        self.join(spec, Some(lane));
    }

    /// The tab that a call named has another id now.
    pub(super) fn rename_tab(&mut self, browser: &BrowserId, former: TabId, now: TabId) {
        for (id, selector) in &mut self.selectors {
            let is_here = selector.browser.as_deref() == Some(browser.as_str())
                || self.lanes.get(id).is_some_and(|lane| lane.browser == *browser);
            if is_here && selector.tab == Some(former) {
                selector.tab = Some(now);
            }
        }
    }

    /// Follows a command into a new phase. Returns the lanes that this frees.
    pub(super) fn follow(
        &mut self,
        id: &CorrelationId,
        to: CommandPhase,
        limits: &Limits,
    ) -> FreedLanes {
        self.queue.follow(id, to, limits)
    }

    /// Takes the next command of a browser.
    pub(super) fn next(
        &mut self,
        browser: &BrowserId,
        limits: &Limits,
    ) -> Option<(CorrelationId, Lane)> {
        self.queue.next(browser, limits)
    }

    /// The browsers with lanes in use.
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

    /// Whether the client has reached its limit of queued commands (row 2).
    pub(super) fn is_full_for(&self, client: &ClientId, limits: &Limits) -> bool {
        self.queue.is_full_for(client, limits)
    }

    /// Keeps the target of a command's call until the command ends.
    pub(super) fn note_selector(&mut self, id: &CorrelationId, selector: TargetSelector) {
        self.selectors.insert(id.clone(), selector);
    }

    /// The target of a pending command's call.
    pub(super) fn selector(&self, id: &CorrelationId) -> Option<&TargetSelector> {
        self.selectors.get(id)
    }

    /// Whether the call of a pending command named a tab.
    pub(super) fn has_named_tab(&self, id: &CorrelationId) -> bool {
        self.selector(id).is_some_and(|selector| selector.tab.is_some())
    }

    /// The targets of all pending commands' calls.
    pub(super) fn selectors(&self) -> impl Iterator<Item = (&CorrelationId, &TargetSelector)> {
        self.selectors.iter()
    }

    /// Forgets the target of a command that has ended.
    pub(super) fn forget_selector(&mut self, id: &CorrelationId) {
        self.selectors.remove(id);
    }

    /// Keeps the lane of a command that has ended.
    pub(super) fn note_lane(&mut self, id: &CorrelationId, lane: Lane) {
        self.lanes.insert(id.clone(), lane);
    }

    /// The lane of a command, if it has one.
    pub(super) fn lane_of(&self, id: &CorrelationId) -> Option<&Lane> {
        self.lanes.get(id)
    }

    /// The commands that run or ran in this browser.
    pub(super) fn of_browser(&self, browser: &BrowserId) -> Vec<CorrelationId> {
        let of_it = self.lanes.iter().filter(|(_, lane)| lane.browser == *browser);
        of_it.map(|(id, _)| id.clone()).collect()
    }

    /// Forgets the lane of a command whose record is dropped, and returns it.
    pub(super) fn forget_lane(&mut self, id: &CorrelationId) -> Option<Lane> {
        self.lanes.remove(id)
    }
}
