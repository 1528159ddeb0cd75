//! Servers of other configurations: with TLS, with small messages.

use std::process::Stdio;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tabwire::fleet::{AgentKey, NatsAddress, TenantServers};
use testkit::{ProgramOutput, ProgramSandbox, finish, free_port, soon};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::nats::{NatsServer, OperatorServer, nats_program};
use super::{AGENT, AgentMachine, PLACE, PlaceMachine, done};
use crate::cli::places::fleet;

/// The exit code of a command whose servers do not prove by TLS whose they are.
const NO_TLS: i32 = 78;

/// The name in the server's certificate.
const NAME: &str = "nats.acme.example";

/// An authority, which vouches for servers.
pub(super) fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut about = CertificateParams::new(Vec::new()).unwrap();
    about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(about, KeyPair::generate().unwrap()).unwrap()
}

/// A server that has a certificate of this authority.
async fn start_with_tls(by: &CertifiedIssuer<'static, KeyPair>) -> Option<NatsServer> {
    let own = KeyPair::generate().unwrap();
    let about = CertificateParams::new([NAME.to_owned()]).unwrap();
    let certificate = about.signed_by(&own, by).unwrap();
    let files = [("server.pem", certificate.pem()), ("server.key", own.serialize_pem())];
    let lines = "tls { cert_file: \"./server.pem\", key_file: \"./server.key\" }\n";
    NatsServer::start_as(lines, &files).await
}

async fn call(key: &AgentKey, script: &str) -> ProgramOutput {
    let agent = AgentMachine::new(key, PLACE);
    let script = format!("script={script}");
    let arguments = ["call", "interact", "action=execute_js", &script, "tab_id=7"];
    finish(agent.command(&arguments)).await
}

#[tokio::test]
async fn a_server_is_believed_by_the_authority_and_the_name_in_the_key_and_by_no_others() {
    let acme = authority();
    let Some(mut server) = start_with_tls(&acme).await else { return };
    let proved = |by: &CertifiedIssuer<'static, KeyPair>, name: Option<&str>| TenantServers {
        ca: Some(by.pem()),
        name: name.map(str::to_owned),
        addresses: vec![format!("127.0.0.1:{}", server.port).parse().unwrap()],
    };
    let right = proved(&acme, Some(NAME));
    let wrong = [
        ("another authority", proved(&authority(), Some(NAME))),
        ("another name", proved(&acme, Some("nats.other.example"))),
        ("the name of the address", proved(&acme, None)),
    ];
    let mut place = server.place(PLACE).await;
    place.servers = right.clone();
    let mut key = server.agent(AGENT, &[PLACE]).await;
    key.servers = right;
    let (_machine, browser) = PlaceMachine::start(&place, &[AGENT]).await;
    let browser = browser.auto(|_| json!({"value": 7}));
    let told = call(&key, "1").await;
    assert_eq!(told.code, Some(0), "{told:?}");
    for (what, servers) in wrong {
        key.servers = servers;
        let told = call(&key, "2").await;
        assert_eq!(told.code, Some(NO_TLS), "{what}: {told:?}");
        let words = told.stdout + &told.stderr;
        assert!(words.contains("no TLS with the NATS server"), "{what}: {words}");
        assert!(words.contains("ask the operator for its certificate"), "{what}: {words}");
    }
    assert_eq!(browser.runs().len(), 1, "nothing was sent to one that is not believed");
}

#[tokio::test]
async fn off_the_loopback_a_server_without_tls_is_refused_with_the_reason() {
    let Some(mut server) = NatsServer::start_as("", &[]).await else { return };
    let mut key = server.agent(AGENT, &[PLACE]).await;
    // By this address the same server counts as one of another machine.
    let address: NatsAddress = format!("[::ffff:127.0.0.1]:{}", server.port).parse().unwrap();
    assert!(!address.is_loopback());
    key.servers.addresses = vec![address];
    let told = call(&key, "1").await;
    says_that_there_is_none(&told);
    // A client's configuration names `mcp`: it ends by itself, before any call.
    let agent = AgentMachine::new(&key, PLACE);
    let mut bridge = agent.command(&["mcp"]);
    bridge.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut bridge = bridge.spawn().unwrap();
    let _open = bridge.stdin.take();
    let told = soon("the end of the bridge", bridge.wait_with_output()).await.unwrap();
    says_that_there_is_none(&ProgramOutput::of(told));
    // The place's end likewise: nobody joins by servers that prove nothing.
    let mut place = server.place(PLACE).await;
    place.servers = key.servers;
    let person = ProgramSandbox::new();
    place.write_new(&person.path().join("qa.join")).unwrap();
    let told = finish(fleet(&person, &["join", "qa.join", "--unattended"])).await;
    says_that_there_is_none(&told);
    assert!(!person.home().tenants().has("acme"), "nothing was joined");
}

fn says_that_there_is_none(told: &ProgramOutput) {
    assert_eq!(told.code, Some(NO_TLS), "{told:?}");
    let words = told.stdout.clone() + &told.stderr;
    assert!(words.contains("no TLS with the NATS server: it offers none"), "{words}");
    assert!(words.contains("Off this machine TLS is required"), "{words}");
}

#[tokio::test]
async fn a_place_is_joined_though_its_servers_do_not_answer_at_the_moment() {
    let Some(mut server) = NatsServer::start().await else { return };
    let mut place = server.place(PLACE).await;
    server.kill().await;
    place.servers.ca = Some(authority().pem());
    let person = ProgramSandbox::new();
    place.write_new(&person.path().join("qa.join")).unwrap();
    let told = finish(fleet(&person, &["join", "qa.join", "--unattended"])).await;
    assert_eq!(told.code, Some(0), "{told:?}");
}

/// What a server says to somebody without a key.
async fn told_without_a_key(port: u16) -> String {
    let mut stranger = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    stranger.write_all(b"CONNECT {\"verbose\":false}\r\nPING\r\n").await.unwrap();
    let mut told = String::new();
    while !told.contains("PONG") && !told.contains("-ERR") {
        let read = soon("the server's word", stranger.read_line(&mut told)).await.unwrap();
        assert_ne!(read, 0, "it says nothing more: {told}");
    }
    told
}

#[tokio::test]
async fn servers_of_a_team_without_places_and_agents_let_nobody_in() {
    let Some(program) = nats_program() else { return };
    let (operator, port) = (ProgramSandbox::new(), free_port());
    done(&operator, &["places", "init", "acme", "--server", &format!("127.0.0.1:{port}")]).await;
    let dir = operator.path().join("acme");
    let server = OperatorServer::start(&program, &dir, "nats.conf", port).await;
    let told = told_without_a_key(port).await;
    assert!(told.contains("Authorization Violation"), "a new team: {told}");
    done(&operator, &["places", "add", "qa", "--dir", "acme", "--out", "acme/qa.join"]).await;
    done(&operator, &["places", "remove", "qa", "--dir", "acme"]).await;
    server.kill().await;
    let _server = OperatorServer::start(&program, &dir, "nats.conf", port).await;
    let told = told_without_a_key(port).await;
    assert!(told.contains("Authorization Violation"), "the last place was removed: {told}");
}

#[tokio::test]
async fn where_a_server_takes_small_messages_larger_calls_are_refused_in_words_and_results_come_in_parts()
 {
    let Some(mut server) = NatsServer::start_as("max_payload: 65536\n", &[]).await else { return };
    let place = server.place(PLACE).await;
    let key = server.agent(AGENT, &[PLACE]).await;
    let (_machine, browser) = PlaceMachine::start(&place, &[AGENT]).await;
    let long = "0123456789abcde ".repeat(20 * 1024);
    let result = long.clone();
    let browser = browser.auto(move |_| json!({"value": result}));
    // 16 KiB are for the head of a message.
    let told = call(&key, &"1".repeat(49_152)).await;
    assert_ne!(told.code, Some(0), "{told:?}");
    let words = told.stdout + &told.stderr;
    assert!(words.contains("more than 49152 bytes"), "{words}");
    assert!(words.contains("Send less in one call"), "{words}");
    let told = call(&key, &"1".repeat(48_000)).await;
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(told.stdout.contains(&long), "the result is whole");
    assert_eq!(browser.runs().len(), 1);
}
