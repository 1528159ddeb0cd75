//! How long the usual answers are: at most as long as those of the leanest other MCP server for browsers to
//! the same question about the same page. `make bench-peers` has measured the others, and does the same
//! with all of them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::Stage;
use testkit::{TestPages, body, soon, until};

const STEPS: &str = include_str!("../../../benches/peers/steps.json");
const FIGURES: &str = include_str!("../../../benches/peers/figures.json");

/// A question that every server is asked.
#[derive(Deserialize)]
struct Step {
    id: String,
    /// `answer`: its length is compared.
    kind: String,
    what: String,
    page: String,
    /// What the answer has to hold, whoever gives it.
    #[serde(default)]
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
    /// That its users have to choose.
    options: Vec<String>,
    steps: BTreeMap<String, Measured>,
}

#[derive(Deserialize)]
struct Measured {
    bytes: usize,
}

fn steps() -> Vec<Step> {
    let steps: Vec<Step> = serde_json::from_str(STEPS).unwrap();
    steps.into_iter().filter(|step| step.kind == "answer").collect()
}

/// The others, started as their own instructions say.
fn peers() -> Vec<Peer> {
    let Figures { servers } = serde_json::from_str(FIGURES).unwrap();
    let is_plain_peer = |peer: &Peer| peer.options.is_empty() && peer.name != "tabwire";
    servers.into_iter().filter(is_plain_peer).collect()
}

impl Step {
    /// The bytes of the shortest answer of the others.
    fn leanest(&self, peers: &[Peer]) -> usize {
        peers
            .iter()
            .filter_map(|peer| peer.steps.get(&self.id))
            .map(|step| step.bytes)
            .min()
            .unwrap()
    }

    /// The text that a model is shown in answer to it, once it holds all that it has to.
    async fn answer(&self, stage: &Stage) -> Value {
        let (tool, arguments) = &self.calls["tabwire"];
        let arguments =
            arguments.to_string().replace("{url}", &stage.pages.url(&format!("/{}", self.page)));
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/page");
    let stage = Stage::with_user(TestPages::with_folders(&[&folder]).await, &[]).await;
    stage.client.call("configure", json!({"action": "capture"})).await;
    let peers = peers();
    let mut too_long = Vec::new();
    let mut page = String::from("cart");
    for step in steps() {
        if step.page != page {
            page.clone_from(&step.page);
            let url = stage.pages.url(&format!("/{page}"));
            stage.interact(json!({"action": "navigate", "url": url})).await;
        }
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
