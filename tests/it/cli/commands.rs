//! What `tabwire commands`, `tabwire trace` and `tabwire status` show a person at a terminal.

use serde_json::{Value, json};
use tokio::process::Command;

use testkit::{
    AutoExtension, ExtensionBuilder, ProgramSandbox, PseudoTerminal, ServedDaemon, StdioClient,
    soon,
};

/// A zone that is 5 h 30 min ahead of UTC, in the form that needs no table of zones.
const ZONE: &str = "HERE-5:30";

/// A daemon with one command that is over, and the whole of what is known of it.
async fn one_command(place: &ProgramSandbox) -> (ServedDaemon, AutoExtension, Value) {
    let served = place.serve(&[]).await;
    let extension = ExtensionBuilder::at(served.port, &place.home()).connect().await;
    let extension = extension.auto(|_| json!({"value": 1}));
    let client = ["mcp", "--client", "an-agent-with-a-long-name"];
    let mut client = StdioClient::spawn(place.command(&client));
    let arguments = json!({"action": "execute_js", "script": "1", "wait_ms": 5_000});
    client.call("interact", arguments).await;
    let known = place.run(&["commands", "--json"]).await.stdout;
    let known: Value = serde_json::from_str(&known).unwrap();
    (served, extension, known["commands"][0].clone())
}

/// The lines that a command shows on a terminal of 80 columns.
async fn at_a_terminal(mut command: Command) -> Vec<String> {
    let mut terminal = PseudoTerminal::new(80, 24);
    command.stdout(terminal.stream()).env("NO_COLOR", "1").env("TZ", ZONE);
    let ended = command.spawn().unwrap().wait_with_output();
    let output = soon("the command's end", ended).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    terminal.shown().await.lines().map(str::to_owned).collect()
}

/// Hours, minutes and seconds of a time in UTC, on the clock of the zone.
fn in_zone(utc: &str) -> String {
    let number = |range: std::ops::Range<usize>| utc[range].parse::<u32>().unwrap();
    let minutes = number(11..13) * 60 + number(14..16) + 5 * 60 + 30;
    format!("{:02}:{:02}:{}", minutes / 60 % 24, minutes % 60, &utc[17..19])
}

#[tokio::test]
async fn the_list_of_commands_fits_80_columns_and_its_ids_are_enough_for_a_trace() {
    let place = ProgramSandbox::new();
    let (_served, _extension, command) = one_command(&place).await;
    let id = command["correlation_id"].as_str().unwrap();
    let lines = at_a_terminal(place.command(&["commands"])).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
    let headings: Vec<_> = lines[0].split_whitespace().collect();
    assert_eq!(headings, ["ACTION", "CLIENT", "STATUS", "TOOK", "WHEN", "ID"]);
    assert!(lines[1].starts_with("execute_js  an-agent-with…  complete  "), "{lines:?}");
    assert!(lines[1].contains(" ago  ") || lines[1].contains("just now  "), "{lines:?}");
    let shown = lines[1].split_whitespace().next_back().unwrap();
    assert_eq!((shown.len(), id.rsplit_once('_').unwrap().1.starts_with(shown)), (12, true));

    let trace = at_a_terminal(place.command(&["trace", shown])).await;
    assert!(trace[0].starts_with(id), "{trace:?}");
    let queued = trace.iter().find(|line| line.starts_with("queued")).unwrap();
    let local = in_zone(command["created_at"].as_str().unwrap());
    assert!(queued.contains(&format!("  {local}.")), "{local}: {queued}");
}

#[tokio::test]
async fn status_tells_how_long_ago_a_client_has_called() {
    let place = ProgramSandbox::new();
    let _one = one_command(&place).await;
    let lines = at_a_terminal(place.command(&["status"])).await;
    let client = lines.iter().find(|line| line.contains("an-agent-with-a-long-name")).unwrap();
    assert!(client.contains(" ago") || client.contains("just now"), "{client}");
}
