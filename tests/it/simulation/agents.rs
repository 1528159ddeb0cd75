//! The agents' host: clients that submit, lose answers and ask again, wait, poll, cancel,
//! and one who asks for what is not theirs.

use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use tabwire::hub::{Caller, StorageStatus, Submission, TargetSelector};
use tabwire::lifecycle::limits;
use tabwire::protocol::actions::{ExecuteJsAction, PageInfoAction, TabCloseAction, TabListAction};
use tabwire::protocol::{Action, CorrelationId, TabId};
use tokio::sync::oneshot;
use tokio::task::{JoinSet, spawn_local};
use tokio::time::sleep;

use super::browser::TABS;
use super::chance::Chance;
use super::daemon::{Call, Request};
use super::http::Http;
use super::world::World;

/// The longest that a command may run here.
const LONGEST: u64 = 4_000;

/// How long a command takes that nothing is in the way of.
const PROMPT: Duration = Duration::from_secs(10);

/// An answer that did not come.
pub(super) struct Lost;

/// How calls reach the daemon.
enum Way {
    /// To the hub itself.
    Hub,
    /// Over HTTP.
    Edge(Http),
}

/// A client.
struct Agent {
    world: Rc<World>,
    name: String,
    caller: Caller,
    way: Way,
    chance: Chance,
}

/// What an agent submits.
struct Order {
    name: String,
    /// What is decided on its way: whatever becomes of others, they do not shift it.
    chance: Chance,
    action: Action,
    browser: Option<String>,
    tab: Option<i64>,
    timeout: Duration,
}

/// The agents' host.
pub(super) async fn live(world: Rc<World>) -> turmoil::Result {
    let mut agents = JoinSet::new();
    for number in 0..world.plan.agents {
        agents.spawn_local(Rc::new(Agent::new(&world, number)).work());
    }
    let stranger = Agent::stranger(&world);
    let stranger = spawn_local(async move { stranger.pry().await });
    while agents.join_next().await.is_some() {}
    sleep(world.plan.calm.saturating_sub(world.now())).await;
    until_all_is_over(&world).await;
    stranger.abort();
    let auditor = Agent::auditor(&world);
    auditor.try_every_tab().await;
    auditor.ask_for_everything().await;
    check_outboxes(&world).await;
    if world.plan.waits_for_retention {
        sleep(limits::RETAIN + Duration::from_secs(1)).await;
        auditor.ask_for_everything().await;
    }
    let now = world.now();
    world.ledger.borrow_mut().close(now);
    world.is_over.set(true);
    Ok(())
}

/// Returns once no command is pending: at the last deadline of all, at the latest.
async fn until_all_is_over(world: &World) {
    let longest = Duration::from_millis(LONGEST) + limits::QUEUE_ALLOWANCE + limits::AWAY;
    let at_last = world.plan.calm + longest + Duration::from_secs(1);
    let pending = || world.hub().map(|hub| hub.health().pending);
    let is_recorded =
        || world.hub().is_some_and(|hub| matches!(hub.storage(), StorageStatus::Journal { .. }));
    let connected = || world.hub().map_or(0, |hub| hub.health().browsers);
    while pending() != Some(0) || connected() != world.plan.browsers || !is_recorded() {
        if world.now() > at_last {
            let (pending, connected) = (pending(), connected());
            let what = format!("{pending:?} commands are pending, {connected} browsers connected");
            return world.breaks(format!("after all deadlines {what}"));
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Every report is acknowledged, or refused for good.
async fn check_outboxes(world: &World) {
    let given_up = world.now() + PROMPT;
    for browser in &world.browsers {
        while browser.n_unacknowledged() > 0 {
            if world.now() > given_up {
                return world.breaks(format!("{}: its outbox was not emptied", browser.host()));
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Agent {
    fn new(world: &Rc<World>, number: usize) -> Self {
        let name = format!("agent-{number}");
        let chance = Chance::of(world.plan.seed, &name);
        let owner = if chance.one_in(3) { "ci" } else { "user" };
        let caller = Caller { owner: owner.into(), client: name.as_str().into() };
        let way = if chance.one_in(3) { Way::Edge(Http::new(world, &caller)) } else { Way::Hub };
        Self { world: world.clone(), name, caller, way, chance }
    }

    /// One whose commands none are.
    fn stranger(world: &Rc<World>) -> Self {
        let chance = Chance::of(world.plan.seed, "stranger");
        let caller = Caller { owner: "stranger".into(), client: "stranger".into() };
        let way = if chance.one_in(2) { Way::Edge(Http::new(world, &caller)) } else { Way::Hub };
        Self { world: world.clone(), name: "stranger".to_owned(), caller, way, chance }
    }

    /// One who looks how all has ended.
    fn auditor(world: &Rc<World>) -> Self {
        let chance = Chance::of(world.plan.seed, "auditor");
        let caller = Caller { owner: "user".into(), client: "auditor".into() };
        let name = "auditor".to_owned();
        Self { world: world.clone(), name, caller, way: Way::Hub, chance }
    }

    async fn work(self: Rc<Self>) {
        let mut commands = JoinSet::new();
        // Some call faster than their commands are run.
        let slowest = self.chance.pick(&[40, 1_500, 1_500]);
        for number in 0..self.world.plan.commands {
            sleep(self.chance.millis(0..=slowest)).await;
            let order = self.order(number);
            let of_it = self.clone().see_through(order);
            if self.chance.one_in(3) {
                of_it.await;
            } else {
                commands.spawn_local(of_it);
            }
        }
        while commands.join_next().await.is_some() {}
    }

    fn order(&self, number: u64) -> Order {
        let name = format!("{}-{number}", self.name);
        let chance = Chance::of(self.world.plan.seed, &name);
        let action = match chance.below(12) {
            0 => Action::PageInfo(PageInfoAction {}),
            1 => Action::TabList(TabListAction {}),
            2 => Action::TabClose(TabCloseAction {}),
            _ => Action::ExecuteJs(ExecuteJsAction { script: name.clone(), user_gesture: None }),
        };
        let browser = chance.below(self.world.plan.browsers as u64);
        // With several browsers, one has to be named.
        let is_named = self.world.plan.browsers > 1 || chance.one_in(3);
        Order {
            name,
            action,
            browser: is_named.then(|| format!("browser-{browser}")),
            tab: chance.one_in(2).then(|| chance.pick(&TABS)),
            timeout: chance.millis(400..=LONGEST),
            chance,
        }
    }

    /// Submits a command and does with it what agents do.
    async fn see_through(self: Rc<Self>, order: Order) {
        let Some(id) = self.submit(&order).await else { return };
        match order.chance.below(8) {
            0 => {}
            1 => {
                sleep(order.chance.millis(0..=3_000)).await;
                self.ask(&id, Call::Cancel(id.clone())).await;
            }
            2 => {
                sleep(order.chance.millis(0..=2_000)).await;
                // The answer is the same command, whatever has become of it.
                self.submit(&order).await;
            }
            3 | 4 => self.poll(&id, &order.chance).await,
            _ => self.wait(&id, &order.chance).await,
        }
    }

    /// The id of the command, once the agent knows that it is accepted.
    async fn submit(&self, order: &Order) -> Option<CorrelationId> {
        let (world, name) = (&self.world, &order.name);
        for _ in 0..10 {
            world.ledger.borrow_mut().in_doubt(name);
            let answer = self.call(Call::Submit(Box::new(order.submission()))).await;
            match answer {
                Ok(said) if order.chance.one_in(8) && said["error"].is_null() => {
                    world.note(&format!("{name}: the answer is lost"));
                }
                Ok(said) if said["status"] == "queued" => {
                    let id = said["correlation_id"].as_str().unwrap();
                    world.ledger.borrow_mut().accepted(world.now(), id, &self.caller, name);
                    return Some(id.into());
                }
                Ok(said) => {
                    let why = said["error"].to_string();
                    world.ledger.borrow_mut().refused(world.now(), name, &why);
                    if order.chance.one_in(2) {
                        return None;
                    }
                }
                Err(Lost) => world.note(&format!("{name}: no answer")),
            }
            sleep(order.chance.millis(50..=1_000)).await;
        }
        world.ledger.borrow_mut().in_doubt(name);
        None
    }

    async fn poll(&self, id: &CorrelationId, chance: &Chance) {
        while !self.ask(id, Call::Look(id.clone())).await && !self.has_waited_enough() {
            sleep(chance.millis(20..=1_000)).await;
        }
    }

    async fn wait(&self, id: &CorrelationId, chance: &Chance) {
        loop {
            let at_most = chance.millis(300..=20_000);
            if self.ask(id, Call::Wait(id.clone(), at_most)).await || self.has_waited_enough() {
                return;
            }
            sleep(chance.millis(0..=300)).await;
        }
    }

    fn has_waited_enough(&self) -> bool {
        self.world.now() > self.world.plan.calm + Duration::from_secs(30)
    }

    /// Asks for a command of its own. Whether it is over.
    async fn ask(&self, id: &CorrelationId, call: Call) -> bool {
        let Ok(said) = self.call(call).await else { return false };
        let now = self.world.now();
        self.world.ledger.borrow_mut().tell(now, id.as_str(), &said)
    }

    /// Asks for what is not theirs, again and again.
    async fn pry(self) {
        loop {
            sleep(self.chance.millis(50..=1_500)).await;
            let ids: Vec<_> = self.world.ledger.borrow().accepted.keys().cloned().collect();
            if ids.is_empty() {
                continue;
            }
            let id = ids[usize::try_from(self.chance.below(ids.len() as u64)).unwrap()].clone();
            let of = CorrelationId::from(id.as_str());
            let call = match self.chance.below(3) {
                0 => Call::Cancel(of),
                1 => Call::Wait(of, Duration::from_millis(200)),
                _ => Call::Look(of),
            };
            if let Ok(said) = self.call(call).await {
                self.world.ledger.borrow_mut().tell_stranger(self.world.now(), &id, &said);
            }
        }
    }

    /// Now that nothing goes wrong any more, a command in any tab is done.
    async fn try_every_tab(&self) {
        for browser in 0..self.world.plan.browsers {
            for tab in TABS {
                let name = format!("last-{browser}-{tab}");
                let order = Order {
                    action: Action::ExecuteJs(ExecuteJsAction {
                        script: name.clone(),
                        user_gesture: None,
                    }),
                    name,
                    browser: Some(format!("browser-{browser}")),
                    tab: Some(tab),
                    timeout: Duration::from_millis(LONGEST),
                    chance: Chance::of(self.world.plan.seed, "last"),
                };
                let began = self.world.now();
                let Some(id) = self.submit(&order).await else {
                    return self.world.breaks(format!("{} was not taken", order.name));
                };
                while !self.ask(&id, Call::Wait(id.clone(), PROMPT)).await {
                    if self.world.now() > began + PROMPT + PROMPT {
                        return self.world.breaks(format!("{} was not done", order.name));
                    }
                }
            }
        }
    }

    /// What every owner is told of every command in the end.
    async fn ask_for_everything(&self) {
        let accepted = self.world.ledger.borrow().accepted.clone();
        for (id, of) in accepted {
            let call = Call::Look(id.as_str().into());
            let said = call_hub(&self.world, &of.caller, call).await;
            let now = self.world.now();
            match said {
                Ok(said) => _ = self.world.ledger.borrow_mut().tell(now, &id, &said),
                Err(Lost) => self.world.breaks("the daemon does not answer".to_owned()),
            }
        }
    }

    async fn call(&self, call: Call) -> Result<Value, Lost> {
        match &self.way {
            Way::Hub => call_hub(&self.world, &self.caller, call).await,
            Way::Edge(http) => http.call(call).await,
        }
    }
}

impl Order {
    fn submission(&self) -> Submission {
        Submission {
            action: self.action.clone(),
            selector: TargetSelector { browser: self.browser.clone(), tab: self.tab.map(TabId) },
            timeout: self.timeout,
            idempotency_key: Some(self.name.as_str().into()),
            takes_tab: false,
            dialogs: None,
            trace_context: None,
            record_by: None,
        }
    }
}

/// Calls the hub, and loses the answer if the daemon dies over it.
async fn call_hub(world: &World, caller: &Caller, call: Call) -> Result<Value, Lost> {
    let (answer, answered) = oneshot::channel();
    let request = Request { caller: caller.clone(), call, answer };
    let door = world.life.borrow().as_ref().map(|life| life.door.clone());
    door.ok_or(Lost)?.send(request).map_err(|_closed| Lost)?;
    answered.await.map_err(|_died| Lost)
}
