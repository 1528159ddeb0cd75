//! A team's place from the operator's folder to the agent's call, and the end of it.

use serde_json::{Value, json};
use testkit::{ProgramSandbox, finish, free_port, soon, until};

use super::done;
use super::nats::{OperatorServer, nats_program};
use crate::cli::places::fleet;

/// The agent's machine.
struct Agent {
    sandbox: ProgramSandbox,
    creds: String,
    address: String,
}

impl Agent {
    async fn call(&self, words: &[&str]) -> Value {
        let way = ["--connect", &self.address, "--creds", &self.creds, "--json"];
        let ran = finish(fleet(&self.sandbox, &[&["call"], words, &way].concat())).await;
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"))
    }
}

/// What `doctor` finds of the teams.
async fn teams(place: &ProgramSandbox) -> Value {
    let ran = finish(fleet(place, &["doctor", "--json"])).await;
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let hops = told["hops"].as_array().unwrap();
    let found = hops.iter().find(|hop| hop["hop"] == "teams").unwrap().clone();
    if found["state"] == "broken" {
        assert_eq!((ran.code, &told["ok"]), (Some(1), &json!(false)), "{told}");
    }
    found
}

/// Waits until `doctor` finds the teams in this state, and says this.
async fn finds_teams(place: &ProgramSandbox, state: &str, words: &str) -> Value {
    let is_so = async || {
        let found = teams(place).await;
        found["state"] == state && found["says"].as_str().unwrap().contains(words)
    };
    soon(words, until(is_so)).await;
    teams(place).await
}

async fn says_of_teams(place: &ProgramSandbox, words: &str) {
    let is_so = async || finish(fleet(place, &["doctor"])).await.stdout.contains(words);
    soon(words, until(is_so)).await;
}

#[tokio::test]
async fn a_team_s_agent_calls_a_place_that_has_joined_and_one_that_left_and_joined_again_has_nothing_of_before()
 {
    let Some(program) = nats_program() else { return };
    let place = ProgramSandbox::new();
    let port = free_port();
    done(&place, &["places", "init", "acme", "--server", &format!("127.0.0.1:{port}")]).await;
    done(&place, &["places", "add", "qa", "--dir", "acme", "--out", "acme/qa.join"]).await;
    let server =
        OperatorServer::start(&program, &place.path().join("acme"), "nats.conf", port).await;
    let daemon = place.serve_by(fleet(&place, &["serve", "--json"])).await;
    // The daemon runs: it takes a new team up by itself.
    done(&place, &["join", "acme/qa.join", "--unattended"]).await;
    says_of_teams(&place, "acme: takes calls as place qa").await;

    // The agent comes last, and its server has read the users anew by then.
    done(&place, &["places", "grant", "ci", "qa", "--dir", "acme", "--out", "acme/ci.nk"]).await;
    server.reload();
    let agent = Agent {
        sandbox: ProgramSandbox::new(),
        creds: place.path().join("acme/ci.nk").display().to_string(),
        address: format!("nats://127.0.0.1:{port}/qa"),
    };
    let health = ["configure", "action=health"];
    let is_let_in = async || agent.call(&health).await["status"] == "ok";
    soon("the agent's first call", until(is_let_in)).await;
    assert_eq!(agent.call(&health).await["place"], "qa", "by the name that the agent calls");
    let owners: Value =
        serde_json::from_str(&done(&place, &["owner", "list", "--json"]).await).unwrap();
    let ci = &owners["owners"][1];
    assert_eq!((&ci["name"], &ci["kind"]), (&json!("ci@acme"), &json!("tenant")), "{owners}");
    agent.call(&["configure", "action=store", "name=note", "data=1"]).await;
    let load = ["configure", "action=load", "name=note"];
    assert_eq!(agent.call(&load).await["data"], 1);

    done(&place, &["owner", "suspend", "ci@acme"]).await;
    assert_eq!(agent.call(&health).await["error"], "not_allowed");
    done(&place, &["owner", "allow", "ci@acme", "--unattended"]).await;
    assert_eq!(agent.call(&load).await["data"], 1, "its values stay");

    done(&place, &["leave", "--keep"]).await;
    let is_gone = async || agent.call(&health).await["error"] == "place_offline";
    soon("the end of the home", until(is_gone)).await;
    let owners = done(&place, &["owner", "list", "--json"]).await;
    assert!(!owners.contains("acme"), "{owners}");
    done(&place, &["join", "acme/qa.join", "--unattended"]).await;
    soon("the next home", until(is_let_in)).await;
    let loaded = agent.call(&load).await;
    assert_eq!(loaded["data"], Value::Null, "nothing of the former agent: {loaded}");
    daemon.stop().await;
}

#[tokio::test]
async fn doctor_fails_while_no_server_answers_and_while_another_machine_has_the_place_and_names_the_next_step()
 {
    let Some(program) = nats_program() else { return };
    let (place, other) = (ProgramSandbox::new(), ProgramSandbox::new());
    let port = free_port();
    done(&place, &["places", "init", "acme", "--server", &format!("127.0.0.1:{port}")]).await;
    done(&place, &["places", "add", "qa", "--dir", "acme", "--out", "acme/qa.join"]).await;
    done(&place, &["join", "acme/qa.join", "--unattended"]).await;
    let none = teams(&place).await;
    assert_eq!(none["state"], "unknown", "as of a daemon that does not run: {none}");
    let daemon = place.serve_by(fleet(&place, &["serve", "--json"])).await;
    let away = finds_teams(&place, "broken", "no NATS server answers").await;
    assert!(away["do"].as_str().unwrap().contains("tell the operator of acme"), "{away}");
    let dir = place.path().join("acme");
    let server = OperatorServer::start(&program, &dir, "nats.conf", port).await;
    finds_teams(&place, "fine", "acme: takes calls as place qa").await;
    // The connection that is there breaks: that is no news by itself.
    server.kill().await;
    finds_teams(&place, "broken", "no NATS server answers").await;
    let _server = OperatorServer::start(&program, &dir, "nats.conf", port).await;
    finds_teams(&place, "fine", "acme: takes calls as place qa").await;

    let key = dir.join("qa.join").display().to_string();
    done(&other, &["join", &key, "--unattended"]).await;
    let twin = other.serve_by(fleet(&other, &["serve", "--json"])).await;
    let younger = finds_teams(&other, "broken", "another machine has the key of place qa").await;
    assert!(younger["says"].as_str().unwrap().contains("this one takes no calls"), "{younger}");
    let older = finds_teams(&place, "broken", "this one takes its calls").await;
    assert!(
        older["do"].as_str().unwrap().contains("`tabwire-fleet leave --tenant acme`"),
        "{older}"
    );
    twin.stop().await;
    daemon.stop().await;
}

#[tokio::test]
async fn a_team_that_is_left_and_joined_again_between_two_looks_is_served_by_its_new_key() {
    let Some(program) = nats_program() else { return };
    let place = ProgramSandbox::new();
    let port = free_port();
    done(&place, &["places", "init", "acme", "--server", &format!("127.0.0.1:{port}")]).await;
    for name in ["qa", "dev"] {
        let out = format!("acme/{name}.join");
        done(&place, &["places", "add", name, "--dir", "acme", "--out", &out]).await;
    }
    let dir = place.path().join("acme");
    let _server = OperatorServer::start(&program, &dir, "nats.conf", port).await;
    let daemon = place.serve_by(fleet(&place, &["serve", "--json"])).await;
    done(&place, &["join", "acme/qa.join", "--unattended"]).await;
    says_of_teams(&place, "acme: takes calls as place qa").await;
    // In one step, so that no look comes between `leave` and `join`.
    std::fs::rename(dir.join("dev.join"), place.home().tenants().path("acme")).unwrap();
    says_of_teams(&place, "acme: takes calls as place dev").await;
    daemon.stop().await;
}
