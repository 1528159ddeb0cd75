//! Homes, agents and one of three servers are stopped and killed at random, and users are read anew, while agents make
//! 50 calls a second: nothing runs twice, nothing is lost without a word, and nobody else waits.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use testkit::{ProgramSandbox, SeededRandom, StdioClient, Stopwatch, until};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::cluster::TeamCluster;
use crate::cli::places::fleet;
use crate::storm::{
    CallFate, STILL, ScriptRuns, browser, check_runs, fate_of, hit, script_call, storm_dice,
};

/// For how long things break, in seconds, unless `TABWIRE_STORM_SECONDS` says otherwise.
const SECONDS: u64 = 20;

/// The number of places, of agents of each place, and of servers.
const PLACES: usize = 3;
const AGENTS: usize = 2;
const SERVERS: usize = 3;

/// The tabs that the agents of a place use: each has its own.
const TABS: [i64; AGENTS] = [7, 8];

/// How far apart the calls of an agent are: together they are 50 a second.
const APART: Duration = Duration::from_millis(120);

/// How many calls of an agent wait for their answers at most.
const OPEN_MAX: usize = 8;

/// Required: within this time a call is answered, whatever breaks, in ms.
const ANSWERED: u128 = 15_000;

/// A call that is not answered by then never is, in ms.
const LOST: u128 = 2 * ANSWERED;

/// Required: within this time the others go on, in ms.
const OTHERS: u128 = 1_000;

/// An agent had an answer within this time before a blow, in ms, if it goes well for it.
const GOES_WELL: u128 = 500;

/// How long things go well for all after a blow, at least: the others are looked at meanwhile.
const CALM: u64 = 1_200;

/// What breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StormBlow {
    KillHome,
    StopHome,
    KillAgent,
    StopAgent,
    KillServer,
    StopServer,
    ReloadSame,
    ReloadChanged,
}

const BLOWS: [StormBlow; 8] = [
    StormBlow::KillHome,
    StormBlow::StopHome,
    StormBlow::KillAgent,
    StormBlow::StopAgent,
    StormBlow::KillServer,
    StormBlow::StopServer,
    StormBlow::ReloadSame,
    StormBlow::ReloadChanged,
];

/// A blow that was struck; times are in ms since the storm began.
#[derive(Debug)]
struct StruckBlow {
    what: StormBlow,
    at: u128,
    /// The agents whose way it breaks.
    touches: Vec<usize>,
}

/// A call that has ended for its agent.
#[derive(Debug)]
struct StormCall {
    agent: usize,
    script: String,
    asked: u128,
    answered: u128,
    /// `None`: the agent was killed.
    fate: Option<CallFate>,
}

/// What the storm and the agents share.
struct StormWatch {
    since: Stopwatch,
    is_over: AtomicBool,
    /// The processes of the agents.
    agents: Mutex<Vec<Option<u32>>>,
}

/// An agent of a place, which is started again when it was killed.
struct StormAgent<'a> {
    number: usize,
    address: String,
    creds: String,
    sandbox: ProgramSandbox,
    watch: &'a StormWatch,
}

const fn place_of(agent: usize) -> usize {
    agent % PLACES
}

impl StormAgent<'_> {
    fn start(&self) -> StdioClient {
        let words = ["mcp", "--connect", &self.address, "--creds", &self.creds];
        let bridge = StdioClient::spawn(fleet(&self.sandbox, &words)).without_checks();
        self.watch.agents.lock().unwrap()[self.number] = bridge.pid();
        bridge
    }

    fn request(&self, script: &str) -> Value {
        script_call(script, TABS[self.number / PLACES])
    }

    /// Calls until the storm is over and all is answered.
    async fn run(&self) -> (StdioClient, Vec<StormCall>) {
        let mut bridge = self.start();
        let (mut calls, mut n_asked) = (Vec::new(), 0);
        let mut open: HashMap<String, u128> = HashMap::new();
        let mut ticks = interval(APART);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = |script: String, asked, fate| {
            let (agent, answered) = (self.number, self.watch.since.millis());
            StormCall { agent, script, asked, answered, fate }
        };
        loop {
            let is_over = self.watch.is_over.load(Ordering::Relaxed);
            if is_over && open.is_empty() {
                return (bridge, calls);
            }
            tokio::select! {
                _ = ticks.tick() => {
                    let now = self.watch.since.millis();
                    let lost = open.iter().find(|(_, asked)| now - **asked > LOST);
                    assert!(lost.is_none(), "{lost:?} ms has no answer at {now} ms");
                    if is_over || open.len() >= OPEN_MAX {
                        continue;
                    }
                    n_asked += 1;
                    let script = format!("call_{}_{n_asked}()", self.number);
                    // One that is killed is noticed below.
                    let _ = bridge.try_send(&self.request(&script)).await;
                    open.insert(script, self.watch.since.millis());
                },
                answer = bridge.try_read() => match answer {
                    Some(answer) => {
                        let script = answer["id"].as_str().unwrap_or_default().to_owned();
                        let asked = open.remove(&script).expect("one answer for each call");
                        calls.push(ended(script, asked, Some(fate_of(&answer))));
                    }
                    None => {
                        calls.extend(open.drain().map(|(script, asked)| ended(script, asked, None)));
                        bridge = self.start();
                    }
                },
            }
        }
    }
}

/// The agents with this server on their way.
fn agents_by(team: &TeamCluster, watch: &StormWatch, server: usize) -> Vec<usize> {
    let agents = watch.agents.lock().unwrap().clone();
    let is_on_way = |agent: &usize| {
        let home = team.places[place_of(*agent)].daemon.as_ref().unwrap().pid();
        // One that connects just now may come by any.
        [agents[*agent], Some(home)].into_iter().any(|process| {
            process.and_then(|process| team.server_of(process)).is_none_or(|by| by == server)
        })
    };
    (0..agents.len()).filter(is_on_way).collect()
}

async fn stop_for_a_moment(process: u32) {
    hit(process, Signal::STOP);
    sleep(STILL).await;
    hit(process, Signal::CONT);
}

/// Strikes one blow to its end: what is killed runs again, what is stopped goes on.
async fn strike(
    team: &mut TeamCluster,
    watch: &StormWatch,
    dice: &mut SeededRandom,
    what: StormBlow,
    number: usize,
) -> StruckBlow {
    let any = |dice: &mut SeededRandom, end: usize| usize::try_from(dice.next()).unwrap() % end;
    let place = any(dice, PLACES);
    let server = any(dice, SERVERS);
    let agent = any(dice, PLACES * AGENTS);
    let touches = match what {
        StormBlow::KillHome | StormBlow::StopHome => {
            (0..PLACES * AGENTS).filter(|agent| place_of(*agent) == place).collect()
        }
        StormBlow::KillAgent | StormBlow::StopAgent => vec![agent],
        StormBlow::KillServer | StormBlow::StopServer => agents_by(team, watch, server),
        StormBlow::ReloadSame | StormBlow::ReloadChanged => Vec::new(),
    };
    if what == StormBlow::ReloadChanged {
        team.grant(&format!("other-{number}"), place).await;
    }
    let at = watch.since.millis();
    match what {
        StormBlow::KillHome => {
            team.places[place].kill().await;
            sleep(Duration::from_millis(dice.below(1_000))).await;
            team.places[place].serve().await;
        }
        StormBlow::StopHome => {
            stop_for_a_moment(team.places[place].daemon.as_ref().unwrap().pid()).await;
        }
        StormBlow::KillAgent | StormBlow::StopAgent => {
            let process = watch.agents.lock().unwrap()[agent];
            match process {
                Some(process) if what == StormBlow::KillAgent => hit(process, Signal::KILL),
                Some(process) => stop_for_a_moment(process).await,
                None => {}
            }
        }
        StormBlow::KillServer => {
            team.kill_server(server).await;
            sleep(Duration::from_millis(dice.below(1_000))).await;
            team.start_server(server).await;
        }
        StormBlow::StopServer => {
            stop_for_a_moment(team.servers[server].as_ref().unwrap().pid()).await;
        }
        StormBlow::ReloadSame | StormBlow::ReloadChanged => team.reload(),
    }
    StruckBlow { what, at, touches }
}

/// Strikes until the time is over, and no blow half-way; each kind comes as often as the others.
async fn storm(
    team: &mut TeamCluster,
    watch: &StormWatch,
    mut dice: SeededRandom,
    length: Duration,
) -> Vec<StruckBlow> {
    let (mut struck, mut left) = (Vec::new(), Vec::new());
    while watch.since.millis() < length.as_millis() || struck.len() < BLOWS.len() {
        sleep(Duration::from_millis(CALM + dice.below(600))).await;
        if left.is_empty() {
            left = BLOWS.to_vec();
        }
        let what = left.swap_remove(usize::try_from(dice.next()).unwrap() % left.len());
        let number = struck.len();
        struck.push(strike(team, watch, &mut dice, what, number).await);
    }
    sleep(Duration::from_millis(CALM)).await;
    watch.is_over.store(true, Ordering::Relaxed);
    struck
}

fn is_complete(call: &StormCall) -> bool {
    call.fate == Some(CallFate::Ended("complete".to_owned()))
}

/// How long each agent took to go on whose way a blow does not break, in ms: until the first answer to a call of
/// after the blow.
fn others_of(blow: &StruckBlow, calls: &[StormCall]) -> Vec<u128> {
    let others = (0..PLACES * AGENTS).filter(|agent| !blow.touches.contains(agent));
    let own = |agent: usize| calls.iter().filter(move |call| call.agent == agent);
    let went_well = |agent: &usize| {
        own(*agent).any(|call| {
            is_complete(call)
                && (blow.at.saturating_sub(GOES_WELL)..=blow.at).contains(&call.answered)
        })
    };
    let goes_on = |agent: usize| {
        let after = own(agent).filter(|call| is_complete(call) && call.asked >= blow.at);
        after.map(|call| call.answered - blow.at).min().unwrap_or(u128::MAX)
    };
    others.filter(went_well).map(goes_on).collect()
}

/// Panics if a call ran twice, or was told what is not so.
fn check_fates(calls: &[StormCall], runs: &ScriptRuns) {
    for StormCall { script, fate, asked, answered, .. } in calls {
        check_runs(script, fate.as_ref(), runs);
        let took = answered - asked;
        assert!(took <= ANSWERED, "{script} at {asked} ms took {took} ms: {fate:?}");
    }
}

#[expect(clippy::print_stdout, reason = "the figures are told to whoever runs the tests")]
fn print_figures(blows: &[StruckBlow], calls: &[StormCall], length: u128) {
    let mut fates: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        *fates.entry(format!("{:?}", call.fate)).or_default() += 1;
    }
    let slowest = calls.iter().map(|call| call.answered - call.asked).max();
    let rate = calls.len() as u128 * 1_000 / length.max(1);
    println!("{} calls, {rate} a second, the slowest {slowest:?} ms: {fates:?}", calls.len());
    for what in BLOWS {
        let of_it: Vec<_> = blows.iter().filter(|blow| blow.what == what).collect();
        let waits: Vec<_> = of_it.iter().flat_map(|blow| others_of(blow, calls)).collect();
        let (n, longest) = (waits.len(), waits.iter().max());
        println!(
            "{} × {what:?}: {n} others, the slowest went on after {longest:?} ms",
            of_it.len()
        );
    }
}

/// Waits until an agent's calls run again.
async fn goes_on(agent: &StormAgent<'_>, bridge: &mut StdioClient) {
    let mut last = None;
    let complete = until(async || {
        let request = agent.request(&format!("afterwards_{}()", agent.number));
        let answer = bridge.try_rpc(&request).await.expect("the bridge has ended");
        let fate = last.insert(fate_of(&answer));
        *fate == CallFate::Ended("complete".to_owned())
    });
    let waited = timeout(Duration::from_secs(45), complete).await;
    waited.unwrap_or_else(|_| panic!("agent {} does not go on: {last:?}", agent.number));
}

#[tokio::test]
async fn in_a_storm_of_kills_and_stops_no_call_of_a_team_runs_twice_or_is_lost_silently_and_others_go_on()
 {
    let Some(mut team) = TeamCluster::start().await else { return };
    let dice = storm_dice();
    let seconds = std::env::var("TABWIRE_STORM_SECONDS").ok().map(|text| text.parse().unwrap());
    let length = Duration::from_secs(seconds.unwrap_or(SECONDS));
    let runs = ScriptRuns::default();
    let places = team.places.iter();
    let browsers = places.map(|place| browser(&place.sandbox, &TABS, &runs));
    let _browsers: Vec<_> = browsers.map(AbortOnDropHandle::new).collect();
    let watch = StormWatch {
        since: Stopwatch::start(),
        is_over: AtomicBool::new(false),
        agents: Mutex::new(vec![None; PLACES * AGENTS]),
    };
    let agents: Vec<_> = (0..PLACES * AGENTS)
        .map(|number| {
            let (address, creds) = team.way(place_of(number), number % SERVERS);
            StormAgent { number, address, creds, sandbox: ProgramSandbox::new(), watch: &watch }
        })
        .collect();
    let all_calls = futures_util::future::join_all(agents.iter().map(StormAgent::run));
    let (ended, blows) = tokio::join!(all_calls, storm(&mut team, &watch, dice, length));
    let (mut bridges, calls): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
    let calls: Vec<_> = calls.into_iter().flatten().collect();
    print_figures(&blows, &calls, watch.since.millis());
    check_fates(&calls, &runs);
    for blow in &blows {
        let waits = others_of(blow, &calls);
        assert!(waits.iter().all(|wait| *wait <= OTHERS), "{blow:?}: {waits:?} ms");
    }
    let complete = calls.iter().filter(|call| is_complete(call)).count();
    assert!(complete > calls.len() / 2, "{complete} of {}", calls.len());
    for (agent, bridge) in agents.iter().zip(&mut bridges) {
        goes_on(agent, bridge).await;
    }
    team.end().await;
}
