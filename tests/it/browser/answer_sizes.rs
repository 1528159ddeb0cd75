//! How long the usual answers are: at most as long as those of the leanest other MCP server for browsers to
//! the same question about the same page. `make bench-peers` has measured the others, and does the same
//! with all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::browser::Stage;
use testkit::{body, soon, until};

const STEPS: &str = include_str!("../../../benches/peers/steps.json");
const FIGURES: &str = include_str!("../../../benches/peers/figures.json");
const PINNED: &str = include_str!("../../../benches/peers/package.json");
const PAGE_OF_FIGURES: &str = include_str!("../../../docs/performance.md");

/// A question that every server is asked.
#[derive(Deserialize)]
struct Step {
    id: String,
    what: String,
    /// What the answer has to hold, whoever gives it.
    holds: Vec<String>,
    /// The tool and the arguments, by server.
    calls: BTreeMap<String, (String, Value)>,
}

#[derive(Deserialize)]
struct Figures {
    servers: Vec<Peer>,
}

/// Another server, as it was measured.
#[derive(Deserialize)]
struct Peer {
    name: String,
    version: String,
    /// That its users have to choose.
    options: Vec<String>,
    steps: BTreeMap<String, Measured>,
}

#[derive(Deserialize)]
struct Measured {
    bytes: usize,
}

fn steps() -> Vec<Step> {
    serde_json::from_str(STEPS).unwrap()
}

/// The others, started as their own instructions say.
fn peers() -> Vec<Peer> {
    let Figures { servers } = serde_json::from_str(FIGURES).unwrap();
    servers.into_iter().filter(|peer| peer.options.is_empty()).collect()
}

impl Step {
    /// The bytes of the shortest answer of the others.
    fn leanest(&self, peers: &[Peer]) -> usize {
        peers.iter().map(|peer| peer.steps[&self.id].bytes).min().unwrap()
    }

    /// The text that a model is shown in answer to it, once it holds all that it has to.
    async fn answer(&self, stage: &Stage) -> Value {
        let (tool, arguments) = &self.calls["tabwire"];
        let arguments = arguments.to_string().replace("{url}", &stage.pages.url("/cart"));
        let mut arguments: Value = serde_json::from_str(&arguments).unwrap();
        arguments["trace"] = false.into();
        let mut answer = Value::Null;
        let whole = until(async || {
            answer = stage.client.call_raw(tool, arguments.clone()).await;
            let said = text(&answer);
            // To ask for a page again would be another navigation.
            self.id == "navigation" || self.holds.iter().all(|held| said.contains(held))
        });
        soon(&self.what, whole).await;
        for held in &self.holds {
            assert!(text(&answer).contains(held), "{}: without {held}: {answer}", self.id);
        }
        answer
    }
}

fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn usual_answers_are_no_longer_than_those_of_the_leanest_peer() {
    let stage = Stage::set().await;
    stage.client.call("configure", json!({"action": "capture"})).await;
    let peers = peers();
    let mut too_long = Vec::new();
    for step in steps() {
        let answer = step.answer(&stage).await;
        let origin = stage.pages.url("");
        assert_eq!(body(&answer)["page"], origin, "whose words these are: {answer}");
        let (bytes, most) = (text(&answer).len(), step.leanest(&peers));
        if bytes > most {
            too_long.push(format!("{}: {bytes} bytes, not {most}: {}", step.id, text(&answer)));
        }
    }
    assert!(too_long.is_empty(), "{}", too_long.join("\n"));
    stage.end().await;
}

#[test]
fn the_figures_are_of_the_versions_that_are_pinned_and_stand_in_the_docs() {
    let pinned: Map<String, Value> = serde_json::from_value(
        serde_json::from_str::<Value>(PINNED).unwrap()["dependencies"].take(),
    )
    .unwrap();
    let peers = peers();
    // Of a program that is pinned for its acts alone there are no answers here.
    let asked: BTreeSet<_> = steps().into_iter().flat_map(|step| step.calls.into_keys()).collect();
    let measured: BTreeSet<_> = peers.iter().map(|peer| peer.name.clone()).collect();
    let asked = asked.into_iter().filter(|name| pinned.contains_key(name)).collect();
    assert_eq!(measured, asked);
    let remedy = "run `make bench-peers WRITE=1`, and copy its table to docs/performance.md";
    let mut head = String::from("| Bytes | Tabwire |");
    for Peer { name, version, .. } in &peers {
        assert_eq!(pinned[name], *version, "{name}: {remedy}");
        head.push_str(&format!(" {name} {version} |"));
    }
    assert!(PAGE_OF_FIGURES.contains(&head), "{head}: {remedy}");
    for step in steps() {
        let figures = peers.iter().map(|peer| format!(" {} |", peer.steps[&step.id].bytes));
        let figures: String = figures.collect();
        let mut rows = PAGE_OF_FIGURES.lines().filter(|line| line.contains(&step.what));
        assert!(rows.any(|row| row.contains(&figures)), "{}:{figures}: {remedy}", step.what);
    }
}
