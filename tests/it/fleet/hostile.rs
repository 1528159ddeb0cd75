//! What an agent of a tenant could try on the wire, with a client of NATS of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, HeaderMap, Message};
use serde_json::{Value, json};
use tabwire::fleet::{AgentKey, AgentName};
use testkit::{AutoExtension, RowReport, soon, until};

use super::nats::NatsServer;
use super::{AGENT, PLACE, PlaceMachine, script};

/// An agent that speaks to the server by itself.
pub(super) struct HostileAgent {
    pub(super) client: Client,
    refusals: Arc<Mutex<Vec<String>>>,
    owner: String,
    life: String,
}

impl HostileAgent {
    pub(super) async fn connect(key: &AgentKey) -> Self {
        let refusals = Arc::new(Mutex::new(Vec::new()));
        let heard = refusals.clone();
        let options = ConnectOptions::with_nkey(key.seed.expose().to_owned())
            .custom_inbox_prefix(format!("_INBOX.{}", key.owner))
            .event_callback(move |event| {
                if let Event::ServerError(error) = event {
                    heard.lock().unwrap().push(error.to_string());
                }
                std::future::ready(())
            });
        let client = options.connect(key.servers.addresses[0].to_string()).await.unwrap();
        let owner = key.owner.to_string();
        Self { client, refusals, owner, life: String::new() }
    }

    /// Finds the life of the place.
    pub(super) async fn look(&mut self) {
        let subject = format!("tw.call.{PLACE}.{}", self.owner);
        let told = soon("a hello", self.client.request(subject, "".into())).await.unwrap();
        let told: Value = serde_json::from_slice(&told.payload).unwrap();
        assert_eq!(told["you_are"], self.owner);
        self.life = told["life"].as_str().unwrap().to_owned();
    }

    pub(super) fn subject(&self) -> String {
        format!("tw.at.{PLACE}.{}.{}", self.life, self.owner)
    }

    async fn ask(&self, headers: HeaderMap, body: String) -> Message {
        let asked = self.client.request_with_headers(self.subject(), headers, body.into());
        soon("a reply", asked).await.unwrap()
    }

    /// Whether the server refuses to let it publish there.
    async fn is_refused(&self, subject: &str) -> bool {
        self.client.publish(subject.to_owned(), "x".into()).await.unwrap();
        self.was_told(subject).await
    }

    async fn was_told(&self, subject: &str) -> bool {
        let told = async || {
            self.refusals
                .lock()
                .unwrap()
                .iter()
                .any(|words| words.contains(&format!("\"{subject}\"")))
        };
        tokio::time::timeout(Duration::from_secs(3), until(told)).await.is_ok()
    }
}

/// A server, a place with a browser, the agent that attacks, and the key of another one that works.
pub(super) struct HostileStage {
    pub(super) server: NatsServer,
    pub(super) machine: PlaceMachine,
    pub(super) browser: AutoExtension,
    pub(super) key: AgentKey,
    /// It knows the place's life.
    pub(super) agent: HostileAgent,
    pub(super) other_key: AgentKey,
}

impl HostileStage {
    /// `None`: there is no server for this computer, which is said.
    pub(super) async fn start() -> Option<Self> {
        let mut server = NatsServer::start().await?;
        let place = server.place(PLACE).await;
        let other_key = server.agent("ann", &[PLACE]).await;
        let key = server.agent(AGENT, &[PLACE]).await;
        let (machine, browser) = PlaceMachine::start(&place, &[AGENT, "ann"]).await;
        let browser = browser.auto(|_| json!({"value": 1}));
        let mut agent = HostileAgent::connect(&key).await;
        agent.look().await;
        Some(Self { server, machine, browser, key, agent, other_key })
    }
}

fn head(request: &str, id: &str, lines: &[(&str, &str)]) -> HeaderMap {
    let mut head = HeaderMap::new();
    for (name, value) in [("Tw-Version", "1"), ("Tw-Request", request), ("Tw-Call", id)] {
        head.insert(name, value);
    }
    for (name, value) in lines {
        head.insert(*name, *value);
    }
    head
}

pub(super) fn opening(id: &str, lines: &[(&str, &str)]) -> HeaderMap {
    let usual = [("Tw-Method", "POST"), ("Tw-Path", "/mcp"), ("content-type", "application/json")];
    head("open", id, &[&usual, lines].concat())
}

pub(super) fn header(reply: &Message, name: &str) -> String {
    let value = reply.headers.as_ref().and_then(|headers| headers.get(name));
    value.map(ToString::to_string).unwrap_or_default()
}

pub(super) fn id(number: u32) -> String {
    format!("{number:032x}")
}

fn message(arguments: &Value) -> String {
    let params = json!({"name": "interact", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

#[tokio::test]
async fn an_agent_gets_to_no_place_owner_or_inbox_but_its_own() {
    let Some(stage) = HostileStage::start().await else { return };
    let HostileStage { server: _server, machine: _machine, browser, mut agent, other_key, .. } =
        stage;
    let mut other = HostileAgent::connect(&other_key).await;
    let mut row = RowReport::new(58);
    other.look().await;
    let life = agent.life.clone();
    for subject in [
        "tw.call.qa-18.ci".to_owned(),
        format!("tw.call.{PLACE}.ann"),
        format!("tw.call.{PLACE}.home"),
        format!("tw.at.{PLACE}.{life}.ann"),
        format!("tw.at.{PLACE}.{life}.home"),
        "_INBOX.ann.x".to_owned(),
        format!("_INBOX.home.{PLACE}.x"),
    ] {
        row.tried("publishing as another", agent.is_refused(&subject).await, &subject);
    }
    for subject in ["_INBOX.ann.>", "_INBOX.>", "tw.>", ">"] {
        let _subscribed = agent.client.subscribe(subject).await.unwrap();
        row.tried("hearing others", agent.was_told(subject).await, subject);
    }
    let home = "home".parse::<AgentName>().is_err();
    row.tried("an owner called home", home, "");
    // A reply that would go to another's inbox.
    let mut inbox = other.client.subscribe("_INBOX.ann.victim").await.unwrap();
    other.client.flush().await.unwrap();
    let subject = format!("tw.call.{PLACE}.ci");
    for subject in [subject, agent.subject()] {
        let asked = agent.client.publish_with_reply(subject, "_INBOX.ann.victim", "x".into());
        asked.await.unwrap();
    }
    agent.client.flush().await.unwrap();
    agent.look().await;
    let heard = futures_util::StreamExt::next(&mut inbox);
    let silent = tokio::time::timeout(Duration::from_millis(200), heard).await.is_err();
    row.tried("a reply into another's inbox", silent, "it came");
    // A call of one owner is none of another's, and one that was closed does not run again.
    let refused = agent.ask(opening(&id(1), &[]), "{}".to_owned()).await;
    let clock = header(&refused, "x-tabwire-clock");
    let (run, at) = clock.rsplit_once('.').unwrap();
    let before = format!("{run}.{}", at.parse::<u64>().unwrap() + 10_000);
    let lines = [("x-tabwire-before", &*before), ("x-tabwire-client", "c")];
    let body = message(&script("once()"));
    let told = agent.ask(opening(&id(2), &lines), body.clone()).await;
    assert_eq!(header(&told, "Tw-Status"), "200", "{told:?}");
    let next = head("next", &id(2), &[("Tw-From", "0"), ("Tw-Most", "1024")]);
    let told = other.ask(next, String::new()).await;
    row.tried(
        "another owner's call",
        header(&told, "Tw-Reason") == "unknown_call",
        format!("{told:?}"),
    );
    agent.ask(head("close", &id(2), &[]), String::new()).await;
    let told = agent.ask(opening(&id(2), &lines), body).await;
    row.tried("a replayed open", header(&told, "Tw-Reason") == "closed", format!("{told:?}"));
    row.tried("a second run", browser.runs().len() == 1, browser.runs().len());
    row.report();
}

#[tokio::test]
async fn garbage_and_calls_that_are_never_read_on_are_refused() {
    let Some(HostileStage { server: _server, machine: _machine, browser: _browser, agent, .. }) =
        HostileStage::start().await
    else {
        return;
    };
    let mut row = RowReport::new(58);
    let bad = [
        ("no head", HeaderMap::new()),
        ("no id", head("open", "x", &[])),
        ("an unknown request", head("run", &id(1), &[])),
        ("a part without a number", head("next", &id(1), &[("Tw-From", "-1"), ("Tw-Most", "1")])),
        (
            "a part that is too large",
            head("next", &id(1), &[("Tw-From", "0"), ("Tw-Most", "262145")]),
        ),
        ("headers without end", head("open", &id(1), &[("x", &"x".repeat(20_000))])),
    ];
    for (what, headers) in bad {
        let told = agent.ask(headers, String::new()).await;
        row.tried(what, header(&told, "Tw-Reason") == "malformed", format!("{told:?}"));
    }
    let told = agent.ask(opening(&id(3), &[("Tw-Path", "/api/status")]), String::new()).await;
    row.tried("another route", header(&told, "Tw-Status") == "404", format!("{told:?}"));
    let most = "x".repeat(1024 * 1024 - 1024);
    let told = agent.ask(opening(&id(4), &[]), most).await;
    row.tried("the largest body", header(&told, "Tw-Status") != "200", format!("{told:?}"));
    // Calls that it never reads on.
    let mut n_busy = 0;
    for number in 100..200 {
        let told = agent.ask(opening(&id(number), &[]), "{}".to_owned()).await;
        n_busy += usize::from(header(&told, "Tw-Reason") == "busy");
    }
    row.tried("more than 64 calls", n_busy >= 30, n_busy);
    row.report();
}
