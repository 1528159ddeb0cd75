//! Lanes, caps and fairness.
//!
//! Each tab is a lane, and each browser as a whole is one more. A lane runs one command at a time.
//! In a lane, the commands of one client run first in, first out, and clients take turns. The number
//! of lanes that one client occupies is limited. Commands without a browser wait outside the lanes.
//!
//! Some commands pass the lanes: they run at once, beside any other command in their tab, and hold
//! up no other.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::{CommandPhase, CommandWork, Limits};
use crate::protocol::{Action, BrowserId, ClientId, CorrelationId, TabId};

/// Where a command runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The browser.
    pub browser: BrowserId,
    /// The tab; `None` for the browser as a whole.
    pub tab: Option<TabId>,
}

/// The browser and the tab that a call names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetSelector {
    /// A browser, by id or by label.
    pub browser: Option<String>,
    /// A tab.
    pub tab: Option<TabId>,
}

/// Whether a command takes its turn in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulingMode {
    /// It waits until its lane is free, and then occupies the lane.
    InTurn,
    /// It waits for no lane and occupies none.
    PassingLanes,
}

impl SchedulingMode {
    /// The mode for this work.
    #[must_use]
    pub fn of(work: &CommandWork) -> Self {
        let passes = work.action().is_some_and(Action::passes_lanes);
        if passes { Self::PassingLanes } else { Self::InTurn }
    }
}

/// The ids of all commands that wait for a lane or occupy one. [`CommandQueue::follow`] keeps them in
/// step with the commands.
#[derive(Debug, Default)]
pub struct CommandQueue {
    lanes_of: HashMap<BrowserId, BTreeMap<LaneKey, LaneState>>,
    unplaced: RunQueue,
    scheduled: HashMap<CorrelationId, ScheduledCommand>,
    loads: HashMap<ClientId, ClientLoad>,
    /// How many commands have joined. Each gets its number, which orders the commands of a client.
    joined: u64,
}

/// The order of the variants is the order in which lanes are searched for the next command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LaneKey {
    /// Commands that pass the lanes. No command ever occupies this one.
    Passing,
    Lane(Option<TabId>),
}

/// One lane: the command that occupies it, and the commands that wait for it.
#[derive(Debug, Default)]
struct LaneState {
    occupant: Option<CorrelationId>,
    waiting: RunQueue,
}

/// Waiting commands in the order of their turns.
#[derive(Debug, Default)]
struct RunQueue {
    turns: VecDeque<ClientId>,
    /// The commands of each client, by number.
    of: HashMap<ClientId, VecDeque<(u64, CorrelationId)>>,
}

#[derive(Debug)]
struct ScheduledCommand {
    number: u64,
    client: ClientId,
    mode: SchedulingMode,
    slot: Slot,
}

#[derive(Debug)]
enum Slot {
    Unplaced,
    Waiting(Lane),
    Running(Lane),
}

/// The lanes that have become free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FreedLanes {
    /// None.
    Nothing,
    /// Lanes of this browser.
    In(BrowserId),
    /// Lanes of any browser: the client had reached its limit of lanes, and now occupies one less.
    Everywhere,
}

/// How much one client has queued and running.
#[derive(Debug, Default)]
struct ClientLoad {
    queued: usize,
    lanes: usize,
}

impl CommandQueue {
    /// How many commands of this client are queued.
    #[must_use]
    pub fn queued(&self, client: &ClientId) -> usize {
        self.loads.get(client).map_or(0, |load| load.queued)
    }

    /// Whether the client has reached its limit of queued commands (row 2).
    #[must_use]
    pub fn is_full_for(&self, client: &ClientId, limits: &Limits) -> bool {
        self.queued(client) >= limits.queued
    }

    /// Puts a command at the back of its lane, or outside the lanes while there is no browser for it
    /// (row 1). The caller checks the limits first.
    pub fn join(
        &mut self,
        client: ClientId,
        id: CorrelationId,
        mode: SchedulingMode,
        lane: Option<Lane>,
    ) {
        self.loads.entry(client.clone()).or_default().queued += 1;
        let number = self.next_number();
        let slot = match lane {
            None => {
                self.unplaced.insert(&client, number, id.clone());
                Slot::Unplaced
            }
            Some(lane) => {
                self.lane_state(mode, &lane).waiting.insert(&client, number, id.clone());
                Slot::Waiting(lane)
            }
        };
        self.scheduled.insert(id, ScheduledCommand { number, client, mode, slot });
    }

    /// Lets a command occupy its lane that an earlier run of the daemon has started (row 17b). If the
    /// lane is occupied, the command passes it.
    pub fn occupy(
        &mut self,
        client: ClientId,
        id: CorrelationId,
        mut mode: SchedulingMode,
        lane: Lane,
    ) {
        if mode == SchedulingMode::InTurn {
            let lane_state = self.lane_state(mode, &lane);
            if lane_state.occupant.is_some() {
                // It may run in the page already, so it cannot be made to wait.
                mode = SchedulingMode::PassingLanes;
            } else {
                lane_state.occupant = Some(id.clone());
                self.loads.entry(client.clone()).or_default().lanes += 1;
            }
        }
        let number = self.next_number();
        self.scheduled
            .insert(id, ScheduledCommand { number, client, mode, slot: Slot::Running(lane) });
    }

    const fn next_number(&mut self) -> u64 {
        self.joined += 1;
        self.joined
    }

    /// The commands that wait outside the lanes, in the order of their turns.
    #[must_use]
    pub fn unplaced(&self) -> Vec<CorrelationId> {
        self.unplaced.in_order()
    }

    /// Gives a lane to a command that waits outside the lanes. In the lane it comes before later
    /// commands of its client.
    pub fn place(&mut self, id: &CorrelationId, lane: Lane) {
        let Some(place) = self.scheduled.get(id) else { return };
        if !matches!(place.slot, Slot::Unplaced) {
            return;
        }
        let (number, client, mode) = (place.number, place.client.clone(), place.mode);
        self.unplaced.remove(&client, id);
        self.lane_state(mode, &lane).waiting.insert(&client, number, id.clone());
        self.scheduled.insert(
            id.clone(),
            ScheduledCommand { number, client, mode, slot: Slot::Waiting(lane) },
        );
    }

    /// The commands that wait for this browser.
    #[must_use]
    pub fn waiting_for(&self, browser: &BrowserId) -> Vec<CorrelationId> {
        let lanes_of = self.lanes_of.get(browser).into_iter().flat_map(BTreeMap::values);
        lanes_of.flat_map(|lane_state| lane_state.waiting.in_order()).collect()
    }

    /// Takes the next command that may run in this browser. It occupies its lane, unless it passes
    /// the lanes (row 3).
    pub fn next(&mut self, browser: &BrowserId, limits: &Limits) -> Option<(CorrelationId, Lane)> {
        let id = self.take_turn(browser, limits)?;
        let place = self.scheduled.get_mut(&id)?;
        let Slot::Waiting(lane) = &place.slot else { return None };
        let (lane, mode) = (lane.clone(), place.mode);
        place.slot = Slot::Running(lane.clone());
        let load = self.loads.entry(place.client.clone()).or_default();
        load.queued = load.queued.saturating_sub(1);
        match mode {
            SchedulingMode::PassingLanes => self.drop_if_idle(mode, &lane),
            SchedulingMode::InTurn => {
                load.lanes += 1;
                self.lane_state(mode, &lane).occupant = Some(id.clone());
            }
        }
        Some((id, lane))
    }

    /// Takes the command whose turn it is out of its run queue.
    fn take_turn(&mut self, browser: &BrowserId, limits: &Limits) -> Option<CorrelationId> {
        let loads = &self.loads;
        let has_lanes =
            |client: &ClientId| loads.get(client).is_none_or(|l| l.lanes < limits.lanes);
        let lanes_of = self.lanes_of.get_mut(browser)?.iter_mut();
        let mut free = lanes_of.filter(|(_, lane_state)| lane_state.occupant.is_none());
        free.find_map(|(name, lane_state)| match name {
            // Commands that pass the lanes do not count towards the client's limit of lanes.
            LaneKey::Passing => lane_state.waiting.take_turn(|_| true),
            LaneKey::Lane(_) => lane_state.waiting.take_turn(has_lanes),
        })
    }

    /// The browsers with lanes in use.
    #[must_use]
    pub fn browsers(&self) -> Vec<BrowserId> {
        self.lanes_of.keys().cloned().collect()
    }

    /// Follows a command into a new phase: a command that ended leaves its lane, or the run queue in
    /// which it waited; a command that came back goes to the front of its lane (row 7). One that is held
    /// for the person leaves its lane, too.
    #[must_use]
    pub fn follow(&mut self, id: &CorrelationId, to: CommandPhase, limits: &Limits) -> FreedLanes {
        let Some(ScheduledCommand { number, client, mode, slot }) = self.scheduled.get(id) else {
            return FreedLanes::Nothing;
        };
        match (slot, to) {
            (
                Slot::Running(_),
                CommandPhase::Sent | CommandPhase::Started | CommandPhase::Leaving,
            )
            | (Slot::Unplaced | Slot::Waiting(_), CommandPhase::Queued) => FreedLanes::Nothing,
            (
                Slot::Running(lane),
                CommandPhase::Queued | CommandPhase::Held | CommandPhase::Ended,
            ) => {
                let (number, mode) = (*number, *mode);
                let (lane, client) = (lane.clone(), client.clone());
                // Other browsers matter only if the limit of lanes kept the client out of them.
                let was_held_up = self.loads.get(&client).is_some_and(|l| l.lanes >= limits.lanes);
                self.leave(id);
                if to == CommandPhase::Queued {
                    let slot = Slot::Waiting(lane.clone());
                    self.return_to_front(
                        id.clone(),
                        ScheduledCommand { number, client, mode, slot },
                    );
                }
                match mode {
                    SchedulingMode::InTurn if was_held_up => FreedLanes::Everywhere,
                    SchedulingMode::InTurn | SchedulingMode::PassingLanes => {
                        FreedLanes::In(lane.browser)
                    }
                }
            }
            // Host tasks never join a lane; a command that is given up while it waits leaves.
            (Slot::Running(_), CommandPhase::Waiting | CommandPhase::Working)
            | (Slot::Unplaced | Slot::Waiting(_), _) => {
                self.leave(id);
                FreedLanes::Nothing
            }
        }
    }

    fn return_to_front(&mut self, id: CorrelationId, place: ScheduledCommand) {
        let ScheduledCommand { number, client, mode, slot: Slot::Waiting(lane) } = &place else {
            return;
        };
        self.loads.entry(client.clone()).or_default().queued += 1;
        let waiting = &mut self.lane_state(*mode, lane).waiting;
        waiting.insert(client, *number, id.clone());
        // It has waited for this turn once (row 7).
        waiting.move_to_front(client);
        self.scheduled.insert(id, place);
    }

    /// Removes a command.
    fn leave(&mut self, id: &CorrelationId) {
        let Some(ScheduledCommand { client, mode, slot, .. }) = self.scheduled.remove(id) else {
            return;
        };
        let load = self.loads.entry(client.clone()).or_default();
        match slot {
            Slot::Unplaced => {
                load.queued = load.queued.saturating_sub(1);
                self.unplaced.remove(&client, id);
            }
            Slot::Waiting(lane) => {
                load.queued = load.queued.saturating_sub(1);
                self.lane_state(mode, &lane).waiting.remove(&client, id);
                self.drop_if_idle(mode, &lane);
            }
            // It occupied no lane, and no limit counted it.
            Slot::Running(_) if mode == SchedulingMode::PassingLanes => {}
            Slot::Running(lane) => {
                load.lanes = load.lanes.saturating_sub(1);
                self.lane_state(mode, &lane).occupant = None;
                self.drop_if_idle(mode, &lane);
            }
        }
        // Anyone can make up client names, so idle ones leave nothing behind.
        if self.loads.get(&client).is_some_and(|load| load.queued == 0 && load.lanes == 0) {
            self.loads.remove(&client);
        }
    }

    fn lane_state(&mut self, mode: SchedulingMode, lane: &Lane) -> &mut LaneState {
        let lanes_of = self.lanes_of.entry(lane.browser.clone()).or_default();
        lanes_of.entry(LaneKey::of(mode, lane)).or_default()
    }

    fn drop_if_idle(&mut self, mode: SchedulingMode, lane: &Lane) {
        let Some(lanes_of) = self.lanes_of.get_mut(&lane.browser) else { return };
        let name = LaneKey::of(mode, lane);
        // Tabs come and go, and their lanes must not stay for ever.
        if lanes_of.get(&name).is_some_and(|t| t.occupant.is_none() && t.waiting.is_empty()) {
            lanes_of.remove(&name);
        }
        if lanes_of.is_empty() {
            self.lanes_of.remove(&lane.browser);
        }
    }
}

impl LaneKey {
    const fn of(mode: SchedulingMode, lane: &Lane) -> Self {
        match mode {
            SchedulingMode::InTurn => Self::Lane(lane.tab),
            SchedulingMode::PassingLanes => Self::Passing,
        }
    }
}

impl RunQueue {
    fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Inserts a command after the earlier ones of its client and before the later ones.
    fn insert(&mut self, client: &ClientId, number: u64, id: CorrelationId) {
        if !self.of.contains_key(client) {
            self.turns.push_back(client.clone());
        }
        let own = self.of.entry(client.clone()).or_default();
        own.insert(own.partition_point(|(earlier, _)| *earlier < number), (number, id));
    }

    /// Gives the next turn to this client.
    fn move_to_front(&mut self, client: &ClientId) {
        self.turns.retain(|other| other != client);
        self.turns.push_front(client.clone());
    }

    /// Takes the first command of the first client that may run one. The client's next turn comes
    /// after the turns of all others.
    fn take_turn(&mut self, may_run: impl Fn(&ClientId) -> bool) -> Option<CorrelationId> {
        let turn = self.turns.iter().position(may_run)?;
        let client = self.turns.remove(turn)?;
        let own = self.of.get_mut(&client)?;
        let id = own.pop_front().map(|(_, id)| id);
        if own.is_empty() {
            self.of.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        id
    }

    fn remove(&mut self, client: &ClientId, id: &CorrelationId) {
        let Some(own) = self.of.get_mut(client) else { return };
        own.retain(|(_, other)| other != id);
        if own.is_empty() {
            self.of.remove(client);
            self.turns.retain(|other| other != client);
        }
    }

    /// All commands, in the order of their turns.
    fn in_order(&self) -> Vec<CorrelationId> {
        let longest = self.of.values().map(VecDeque::len).max().unwrap_or(0);
        let nth =
            |n: usize| self.turns.iter().filter_map(move |client| self.of.get(client)?.get(n));
        (0..longest).flat_map(nth).map(|(_, id)| id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(browser: &str, tab: i64) -> Lane {
        Lane { browser: browser.into(), tab: Some(TabId(tab)) }
    }

    fn join(queue: &mut CommandQueue, client: &str, id: &str, tab: i64) {
        queue.join(client.into(), id.into(), SchedulingMode::InTurn, Some(lane("b", tab)));
    }

    fn pass(queue: &mut CommandQueue, client: &str, id: &str, tab: i64) {
        queue.join(client.into(), id.into(), SchedulingMode::PassingLanes, Some(lane("b", tab)));
    }

    fn occupy(queue: &mut CommandQueue, client: &str, id: &str, manner: SchedulingMode) {
        queue.occupy(client.into(), id.into(), manner, lane("b", 7));
    }

    /// Takes whatever may run in browser `b` now.
    fn take(queue: &mut CommandQueue) -> Vec<String> {
        let limits = Limits::default();
        let browser = BrowserId::from("b");
        std::iter::from_fn(|| queue.next(&browser, &limits)).map(|(id, _)| id.to_string()).collect()
    }

    fn follow(queue: &mut CommandQueue, id: &str, to: CommandPhase) -> FreedLanes {
        queue.follow(&id.into(), to, &Limits::default())
    }

    fn end(queue: &mut CommandQueue, id: &str) -> FreedLanes {
        follow(queue, id, CommandPhase::Ended)
    }

    #[test]
    fn a_tab_runs_one_command_at_a_time_in_the_order_of_submission() {
        let mut queue = CommandQueue::default();
        for id in ["1", "2", "3"] {
            join(&mut queue, "ann", id, 7);
        }
        for id in ["1", "2", "3"] {
            assert_eq!(take(&mut queue), [id]);
            assert!(take(&mut queue).is_empty());
            assert_eq!(end(&mut queue, id), FreedLanes::In("b".into()));
        }
        assert!(take(&mut queue).is_empty());
    }

    #[test]
    fn tabs_run_side_by_side() {
        let mut queue = CommandQueue::default();
        join(&mut queue, "ann", "1", 7);
        join(&mut queue, "ann", "2", 8);
        assert_eq!(take(&mut queue), ["1", "2"]);
    }

    #[test]
    fn clients_take_turns_in_a_tab() {
        let mut queue = CommandQueue::default();
        for id in ["a1", "a2", "a3"] {
            join(&mut queue, "ann", id, 7);
        }
        join(&mut queue, "bob", "b1", 7);
        let mut order = Vec::new();
        while let [id] = &take(&mut queue)[..] {
            order.push(id.clone());
            let _ = end(&mut queue, id);
        }
        assert_eq!(order, ["a1", "b1", "a2", "a3"]);
    }

    #[test]
    fn a_client_runs_in_five_tabs_at_a_time_and_others_are_not_held_up_by_it() {
        let mut queue = CommandQueue::default();
        for tab in 1..=6 {
            join(&mut queue, "ann", &format!("a{tab}"), tab);
        }
        join(&mut queue, "bob", "b6", 6);
        assert_eq!(take(&mut queue), ["a1", "a2", "a3", "a4", "a5", "b6"]);
        assert_eq!(end(&mut queue, "b6"), FreedLanes::In("b".into()));
        assert!(take(&mut queue).is_empty());
        assert_eq!(end(&mut queue, "a3"), FreedLanes::Everywhere);
        assert_eq!(take(&mut queue), ["a6"]);
    }

    #[test]
    fn a_command_that_came_back_goes_first() {
        let mut queue = CommandQueue::default();
        join(&mut queue, "ann", "1", 7);
        join(&mut queue, "ann", "2", 7);
        join(&mut queue, "bob", "3", 7);
        assert_eq!(take(&mut queue), ["1"]);
        assert_eq!(follow(&mut queue, "1", CommandPhase::Queued), FreedLanes::In("b".into()));
        assert_eq!(queue.queued(&"ann".into()), 2, "it counts as queued again");
        assert_eq!(take(&mut queue), ["1"]);
        let _ = end(&mut queue, "1");
        assert_eq!(take(&mut queue), ["3"], "and it had no second turn");
        let _ = end(&mut queue, "3");
        assert_eq!(take(&mut queue), ["2"]);
    }

    #[test]
    fn the_browsers_where_something_waits_or_runs_are_known() {
        let mut queue = CommandQueue::default();
        assert!(queue.browsers().is_empty());
        join(&mut queue, "ann", "1", 7);
        assert_eq!(queue.browsers(), ["b".into()]);
        assert_eq!(take(&mut queue), ["1"]);
        let _ = end(&mut queue, "1");
        assert!(queue.browsers().is_empty());
    }

    #[test]
    fn a_lane_stays_taken_while_the_page_may_still_be_at_it() {
        let mut queue = CommandQueue::default();
        join(&mut queue, "ann", "1", 7);
        join(&mut queue, "ann", "2", 7);
        assert_eq!(take(&mut queue), ["1"]);
        assert_eq!(follow(&mut queue, "1", CommandPhase::Leaving), FreedLanes::Nothing);
        assert!(take(&mut queue).is_empty());
        assert_eq!(end(&mut queue, "1"), FreedLanes::In("b".into()));
        assert_eq!(take(&mut queue), ["2"]);
    }

    #[test]
    fn a_command_that_ends_while_it_waits_leaves_and_no_longer_counts() {
        let mut queue = CommandQueue::default();
        for id in ["1", "2"] {
            join(&mut queue, "ann", id, 7);
        }
        queue.join("ann".into(), "3".into(), SchedulingMode::InTurn, None);
        assert_eq!(queue.queued(&"ann".into()), 3);
        assert_eq!(end(&mut queue, "1"), FreedLanes::Nothing);
        assert_eq!(end(&mut queue, "3"), FreedLanes::Nothing);
        assert_eq!(queue.queued(&"ann".into()), 1);
        assert_eq!(take(&mut queue), ["2"]);
        assert!(queue.unplaced().is_empty());
    }

    #[test]
    fn the_sixth_queued_command_of_a_client_is_too_many_and_only_for_that_client() {
        let mut queue = CommandQueue::default();
        let limits = Limits::default();
        for id in 0..5 {
            assert!(!queue.is_full_for(&"ann".into(), &limits));
            queue.join("ann".into(), format!("{id}").into(), SchedulingMode::InTurn, None);
        }
        assert!(queue.is_full_for(&"ann".into(), &limits));
        assert!(!queue.is_full_for(&"bob".into(), &limits));
    }

    #[test]
    fn commands_without_a_browser_are_placed_in_the_order_of_their_turns() {
        let mut queue = CommandQueue::default();
        queue.join("ann".into(), "a1".into(), SchedulingMode::InTurn, None);
        queue.join("ann".into(), "a2".into(), SchedulingMode::InTurn, None);
        queue.join("bob".into(), "b1".into(), SchedulingMode::InTurn, None);
        let waiting = queue.unplaced();
        assert_eq!(waiting, ["a1".into(), "b1".into(), "a2".into()]);
        for id in &waiting {
            queue.place(id, lane("b", 7));
        }
        assert!(queue.unplaced().is_empty());
        assert_eq!(queue.waiting_for(&"b".into()).len(), 3);
        assert_eq!(take(&mut queue), ["a1"]);
    }

    #[test]
    fn what_waited_for_any_browser_comes_before_what_its_client_submitted_later() {
        let mut queue = CommandQueue::default();
        queue.join("ann".into(), "1".into(), SchedulingMode::InTurn, None);
        join(&mut queue, "ann", "2", 7);
        queue.place(&"1".into(), lane("b", 7));
        assert_eq!(take(&mut queue), ["1"]);
        let _ = end(&mut queue, "1");
        assert_eq!(take(&mut queue), ["2"]);
    }

    #[test]
    fn what_passes_the_lanes_runs_at_once_in_a_tab_where_something_runs() {
        let mut queue = CommandQueue::default();
        join(&mut queue, "ann", "1", 7);
        join(&mut queue, "ann", "2", 7);
        assert_eq!(take(&mut queue), ["1"]);
        pass(&mut queue, "ann", "close", 7);
        let taken = queue.next(&"b".into(), &Limits::default());
        assert_eq!(taken, Some(("close".into(), lane("b", 7))), "it knows its tab");
        assert!(take(&mut queue).is_empty());
    }

    #[test]
    fn what_passes_the_lanes_keeps_nothing_from_running_and_frees_nothing() {
        let mut queue = CommandQueue::default();
        pass(&mut queue, "ann", "close", 7);
        join(&mut queue, "ann", "1", 7);
        join(&mut queue, "ann", "2", 7);
        assert_eq!(take(&mut queue), ["close", "1"]);
        assert_eq!(end(&mut queue, "close"), FreedLanes::In("b".into()));
        assert!(take(&mut queue).is_empty(), "1 still has the lane");
        let _ = end(&mut queue, "1");
        assert_eq!(take(&mut queue), ["2"]);
    }

    #[test]
    fn what_passes_the_lanes_needs_no_place_among_a_clients_lanes_and_takes_none() {
        let mut queue = CommandQueue::default();
        for tab in 1..=4 {
            join(&mut queue, "ann", &format!("a{tab}"), tab);
            pass(&mut queue, "ann", &format!("p{tab}"), tab);
        }
        assert_eq!(take(&mut queue).len(), 8);
        for tab in 5..=6 {
            join(&mut queue, "ann", &format!("a{tab}"), tab);
        }
        assert_eq!(take(&mut queue), ["a5"]);
        pass(&mut queue, "ann", "p6", 6);
        assert_eq!(take(&mut queue), ["p6"]);
        assert_eq!(end(&mut queue, "p6"), FreedLanes::In("b".into()));
        assert!(take(&mut queue).is_empty());
    }

    #[test]
    fn what_passes_the_lanes_counts_as_queued_while_it_waits_and_passes_again_when_it_came_back() {
        let mut queue = CommandQueue::default();
        queue.join("ann".into(), "close".into(), SchedulingMode::PassingLanes, None);
        assert_eq!(queue.queued(&"ann".into()), 1);
        join(&mut queue, "ann", "1", 7);
        assert_eq!(take(&mut queue), ["1"]);
        queue.place(&"close".into(), lane("b", 7));
        assert_eq!(queue.waiting_for(&"b".into()), ["close".into()]);
        assert_eq!(take(&mut queue), ["close"]);
        assert_eq!(queue.queued(&"ann".into()), 0);
        assert_eq!(follow(&mut queue, "close", CommandPhase::Queued), FreedLanes::In("b".into()));
        assert_eq!(take(&mut queue), ["close"]);
    }

    #[test]
    fn what_ran_before_a_restart_has_its_lane_until_it_ends() {
        let mut queue = CommandQueue::default();
        occupy(&mut queue, "ann", "1", SchedulingMode::InTurn);
        join(&mut queue, "ann", "2", 7);
        assert!(take(&mut queue).is_empty());
        assert_eq!(queue.queued(&"ann".into()), 1);
        assert_eq!(end(&mut queue, "1"), FreedLanes::In("b".into()));
        assert_eq!(take(&mut queue), ["2"]);
    }

    #[test]
    fn what_ran_before_a_restart_counts_towards_its_clients_lanes() {
        let mut queue = CommandQueue::default();
        for tab in 1..=5 {
            let id = format!("a{tab}");
            queue.occupy("ann".into(), id.into(), SchedulingMode::InTurn, lane("b", tab));
        }
        join(&mut queue, "ann", "a6", 6);
        assert!(take(&mut queue).is_empty());
        assert_eq!(end(&mut queue, "a1"), FreedLanes::Everywhere);
        assert_eq!(take(&mut queue), ["a6"]);
    }

    #[test]
    fn what_passed_the_lanes_before_a_restart_holds_none_after_it() {
        let mut queue = CommandQueue::default();
        occupy(&mut queue, "ann", "close", SchedulingMode::PassingLanes);
        join(&mut queue, "ann", "1", 7);
        assert_eq!(take(&mut queue), ["1"]);
        let _ = end(&mut queue, "close");
        let _ = end(&mut queue, "1");
        assert!(queue.lanes_of.is_empty() && queue.scheduled.is_empty() && queue.loads.is_empty());
    }

    #[test]
    fn of_two_that_ran_in_one_lane_before_a_restart_the_first_keeps_it() {
        let mut queue = CommandQueue::default();
        occupy(&mut queue, "ann", "1", SchedulingMode::InTurn);
        occupy(&mut queue, "bob", "2", SchedulingMode::InTurn);
        join(&mut queue, "ann", "3", 7);
        let _ = end(&mut queue, "2");
        assert!(take(&mut queue).is_empty(), "1 still has it");
        let _ = end(&mut queue, "1");
        assert_eq!(take(&mut queue), ["3"]);
        let _ = end(&mut queue, "3");
        assert!(queue.lanes_of.is_empty() && queue.scheduled.is_empty() && queue.loads.is_empty());
    }

    #[test]
    fn nothing_is_left_behind_when_all_commands_have_ended() {
        let mut queue = CommandQueue::default();
        join(&mut queue, "ann", "1", 7);
        join(&mut queue, "bob", "2", 7);
        pass(&mut queue, "bob", "3", 7);
        take(&mut queue);
        let _ = end(&mut queue, "3");
        let _ = end(&mut queue, "2");
        let _ = end(&mut queue, "1");
        assert!(queue.lanes_of.is_empty() && queue.scheduled.is_empty() && queue.loads.is_empty());
    }
}
