//! `tabwire asks`: the questions of agents that wait for the person, and answers to those that a
//! terminal can answer. What an agent may do, only a page of the extension can say: any program can
//! run this command.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use super::commands::{text, timestamp};
use super::daemon_client::DaemonClient;
use crate::config::DaemonLocation;
use crate::hub::ClockSample;
use crate::protocol::{AskAnswer, ConsentNeed, CorrelationId, Owner, PersonWords};
use crate::terminal::{ago, clean, print_line};

const NO_QUESTIONS: &str = "no agent asks anything";

#[derive(Subcommand, Debug)]
pub(super) enum AsksCommand {
    /// List the open questions (default)
    #[command(after_help = "Example:\n  tabwire asks list --json")]
    List,
    /// Choose one of a question's options
    #[command(
        after_help = "Examples:\n  tabwire asks choose 4f2a 2\n  tabwire asks choose 4f2a 'the blue one' --json"
    )]
    Choose {
        /// The question's id, or its first characters
        id: String,
        /// The option's number or its words
        option: String,
    },
    /// Answer a question with a line of text
    #[command(after_help = "Example:\n  tabwire asks answer 4f2a 'Order it to the office'")]
    Answer {
        /// The question's id, or its first characters
        id: String,
        /// The answer
        #[arg(value_parser = PersonWords::parse)]
        text: PersonWords,
    },
    /// Take back your lasting words about a client: you are asked again
    #[command(
        after_help = "Examples:\n  tabwire asks forget 'Claude Code'\n  tabwire asks forget 'Claude Code' https://shop.example"
    )]
    Forget {
        /// The client, as the list prints it
        client: String,
        /// The site, as the list prints it; without it all sites
        site: Option<String>,
    },
    /// Tell the agent that you do not answer
    #[command(after_help = "Example:\n  tabwire asks decline 4f2a")]
    Decline {
        /// The question's id, or its first characters
        id: String,
    },
}

pub(super) async fn run(
    location: &DaemonLocation,
    command: Option<AsksCommand>,
    owner: &Owner,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let daemon = DaemonClient::of_owner(location, owner)?;
    let open = daemon.get("/api/asks").await?.ok()?;
    let asks = open["asks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (id, answer) = match command.unwrap_or(AsksCommand::List) {
        AsksCommand::List => return list(&open, asks, json),
        AsksCommand::Forget { client, site } => {
            return forget(&daemon, &client, site.as_deref(), json).await;
        }
        AsksCommand::Choose { id, option } => {
            let ask = ask_beginning_with(asks, &id)?;
            let index = option_index(ask, &option)?;
            (whole_id(ask), AskAnswer::Option { index })
        }
        AsksCommand::Answer { id, text } => {
            (whole_id(ask_beginning_with(asks, &id)?), AskAnswer::Text { text })
        }
        AsksCommand::Decline { id } => {
            (whole_id(ask_beginning_with(asks, &id)?), AskAnswer::Decline {})
        }
    };
    let body = json!({"correlation_id": id, "answer": answer});
    daemon.post_json("/api/asks", &body).await?.ok()?;
    if json {
        print_line(json!({"answered": id}))?;
    } else {
        print_line("The agent has your answer.")?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn forget(
    daemon: &DaemonClient,
    client: &str,
    site: Option<&str>,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let body = json!({"client": client, "site": site});
    let told = daemon.post_json("/api/asks/forget", &body).await?.ok()?;
    if json {
        print_line(&told)?;
    } else if told["forgotten"] == 0 {
        bail!("there is no such word; `tabwire asks` lists them");
    } else {
        print_line("You are asked again.")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn whole_id(ask: &Value) -> String {
    text(&ask["correlation_id"]).to_owned()
}

/// The one open question whose id begins so.
fn ask_beginning_with<'a>(asks: &'a [Value], beginning: &str) -> anyhow::Result<&'a Value> {
    let is_it = |ask: &&Value| CorrelationId::begins(text(&ask["correlation_id"]), beginning);
    let mut alike = asks.iter().filter(is_it);
    match (alike.next(), alike.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => bail!("there is no open question `{beginning}`; `tabwire asks` lists them"),
        (Some(_), Some(_)) => {
            bail!("several questions begin with {beginning}: give more characters")
        }
    }
}

/// The number, from 0, of the option that has this number, from 1, or these words.
fn option_index(ask: &Value, option: &str) -> anyhow::Result<usize> {
    let options = ask["options"].as_array().context("this question has no options")?;
    let by_words = options.iter().position(|known| text(known) == option);
    let by_number =
        || option.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < options.len());
    by_words.or_else(by_number).with_context(|| {
        format!("there is no option `{option}`: give a number from 1 to {}", options.len())
    })
}

fn list(open: &Value, asks: &[Value], json: bool) -> anyhow::Result<ExitCode> {
    if json {
        print_line(serde_json::to_string_pretty(open)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if asks.is_empty() {
        print_line(NO_QUESTIONS)?;
    }
    for ask in asks {
        for line in lines(ask) {
            print_line(line)?;
        }
    }
    for kept in open["consents"].as_array().into_iter().flatten() {
        let word = |field: &str| clean(text(&kept[field])).to_string();
        print_line(format!(
            "{}: {} may {} {}  (tabwire asks forget)",
            word("word"),
            word("client"),
            word("kind"),
            word("site")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A question as a person reads it.
fn lines(ask: &Value) -> Vec<String> {
    let id = CorrelationId::shown(text(&ask["correlation_id"]));
    let since = timestamp(&ask["asked_at"]).map(|at| ago(at, ClockSample::now().system));
    let mut lines = vec![
        format!("{}  {}, {}", id, clean(text(&ask["client"])), since.unwrap_or_default()),
        format!("  {}", clean(text(&ask["question"]))),
    ];
    if let Some(site) = ask["need"]["site"].as_str() {
        lines.push(format!("  on {}", clean(site)));
    }
    let need = serde_json::from_value::<ConsentNeed>(ask["need"].clone()).ok();
    for root in need.iter().flat_map(ConsentNeed::roots) {
        lines.push(format!("  its program says that it works in {}", clean(root.as_str())));
    }
    if let Some(page) = ask["page"].as_str() {
        let browser = ask["browser_label"].as_str();
        let within = browser.map_or_else(String::new, |name| format!(" (in {})", clean(name)));
        lines.push(format!("  page: {}{within}", clean(page)));
    }
    for (number, option) in (1..).zip(ask["options"].as_array().into_iter().flatten()) {
        lines.push(format!("  {number}. {}", clean(text(option))));
    }
    lines.push(match text(&ask["kind"]) {
        "choose" => format!("  tabwire asks choose {id} NUMBER"),
        "answer" => format!("  tabwire asks answer {id} TEXT"),
        "hand_over" => "  Begin and end it in the popup of the Tabwire extension.".to_owned(),
        _ => "  Allow or deny it in the popup of the Tabwire extension.".to_owned(),
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_about_files_names_the_folders_that_the_agents_program_says_once_each() {
        let file = |name: &str, root: Option<&str>| json!({"path": format!("/a/b/c/{name}"), "size": 3, "mark": "1", "may_open_folder": true, "root": root});
        let shown = |files: Value| {
            let need = json!({"kind": "file", "site": "https://shop.example", "files": files});
            let ask = json!({"correlation_id": "file_1_0", "kind": "consent", "client": "Bot",
                             "question": "upload_file: cat.png", "need": need});
            lines(&ask).into_iter().filter(|line| line.contains("works in")).collect::<Vec<_>>()
        };
        let twice = json!([file("1", Some("/a")), file("2", Some("/a")), file("3", Some("/a/b"))]);
        let says =
            ["  its program says that it works in /a", "  its program says that it works in /a/b"];
        assert_eq!(shown(twice), says);
        assert!(shown(json!([file("1", Some("/a")), file("2", None)])).is_empty());
        assert!(shown(json!([file("1", Some("/a\u{202e}b"))])).is_empty(), "it cannot be shown");
    }

    #[test]
    fn an_option_is_named_by_its_words_or_its_number_from_1() {
        let ask = json!({"options": ["blue", "2", "red"]});
        assert_eq!(option_index(&ask, "red").unwrap(), 2);
        assert_eq!(option_index(&ask, "3").unwrap(), 2);
        assert_eq!(option_index(&ask, "2").unwrap(), 1, "words come before numbers");
        for wrong in ["0", "4", "green", "", "-1"] {
            assert!(option_index(&ask, wrong).is_err(), "{wrong}");
        }
        assert!(option_index(&json!({}), "1").is_err());
    }
}
