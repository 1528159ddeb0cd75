//! Asks a person which MCP clients to configure.

use std::io::{self, BufRead as _};

use anyhow::bail;

use crate::install::{Installation, McpClient};
use crate::terminal::{clean, print, print_line, wrapped_behind};

/// Asks which of the clients on this computer to configure, until the answer names some.
pub(super) fn ask(
    installation: &Installation,
    here: &[McpClient],
) -> anyhow::Result<Vec<McpClient>> {
    print_line("These MCP clients are on this computer:")?;
    let with_server = installation.clients_with_server();
    for (number, client) in here.iter().enumerate() {
        let user_folders = installation.user_folders.as_ref();
        let file = user_folders
            .map(|user_folders| user_folders.shown(&client.file(user_folders)))
            .unwrap_or_default();
        let has = if with_server.contains(client) { ", has Tabwire already" } else { "" };
        let line = format!("{} ({file}{has})", client.name());
        print_line(format!("  {}  {}", number + 1, wrapped_behind(&clean(&line), 5)))?;
    }
    let examples = match here {
        [first, .., _] => format!("1-{}, {}, none", here.len(), first.id()),
        [_] | [] => "none".to_owned(),
    };
    loop {
        print(format_args!("Add Tabwire to which? Enter for all; or {examples}: "))?;
        let mut answer = String::new();
        if io::stdin().lock().read_line(&mut answer)? == 0 {
            // The question ends without a line feed, and the next output needs a line of its own.
            print_line("")?;
            bail!("standard input ended before an answer; nothing was changed");
        }
        match parse_answer(&answer, here) {
            Some(clients) => return Ok(clients),
            None => print_line(format!("Give numbers from 1 to {}, ranges or names.", here.len()))?,
        }
    }
}

/// The clients that an answer names, each once; `None` if a word of it names no client.
fn parse_answer(answer: &str, here: &[McpClient]) -> Option<Vec<McpClient>> {
    let answer = answer.trim().to_lowercase();
    match answer.as_str() {
        "" | "all" => return Some(here.to_vec()),
        "none" => return Some(Vec::new()),
        _ => {}
    }
    let mut clients = Vec::new();
    for part in answer.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let clients_named = match clients_named(part, here) {
            // "claude code": words are tried one by one only if the whole part is no name.
            Some(clients_named) => clients_named,
            None => {
                let words: Option<Vec<_>> =
                    part.split_whitespace().map(|word| clients_of_word(word, here)).collect();
                words?.concat()
            }
        };
        clients.extend(clients_named);
    }
    let mut seen = Vec::new();
    clients.retain(|client| {
        let is_new = !seen.contains(client);
        seen.push(*client);
        is_new
    });
    (!clients.is_empty()).then_some(clients)
}

/// The clients of a number, a range such as `1-3`, or a name.
fn clients_of_word(word: &str, here: &[McpClient]) -> Option<Vec<McpClient>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
        // `get` rejects ranges beyond the list, and ranges that end before they begin.
        return Some(here.get(first.checked_sub(1)?..last)?.to_vec()).filter(|all| !all.is_empty());
    }
    clients_named(word, here)
}

/// The client of this name, else all whose names begin so.
fn clients_named(name: &str, here: &[McpClient]) -> Option<Vec<McpClient>> {
    let names = |client: &McpClient| [client.id().to_owned(), client.name().to_lowercase()];
    let is_exact = |client: &&McpClient| names(client).iter().any(|known| known == name);
    if let Some(client) = here.iter().find(is_exact) {
        return Some(vec![*client]);
    }
    let begins = |client: &&McpClient| names(client).iter().any(|known| known.starts_with(name));
    let found: Vec<_> = here.iter().filter(begins).copied().collect();
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_picks_the_clients_that_it_names_or_is_asked_for_again() {
        use McpClient::{ClaudeCode, ClaudeDesktop, CodexCli, Cursor};
        let here = [ClaudeCode, ClaudeDesktop, Cursor, CodexCli];
        for (answer, picks) in [
            ("\n", Some(here.to_vec())),
            ("all\n", Some(here.to_vec())),
            (" ALL ", Some(here.to_vec())),
            ("none\n", Some(vec![])),
            ("1\n", Some(vec![ClaudeCode])),
            ("4, 1\r\n", Some(vec![CodexCli, ClaudeCode])),
            ("1-3", Some(vec![ClaudeCode, ClaudeDesktop, Cursor])),
            ("2-2 4", Some(vec![ClaudeDesktop, CodexCli])),
            ("1-2 claude", Some(vec![ClaudeCode, ClaudeDesktop])),
            ("claude", Some(vec![ClaudeCode, ClaudeDesktop])),
            ("claude-code", Some(vec![ClaudeCode])),
            ("Claude Code, cursor", Some(vec![ClaudeCode, Cursor])),
            ("codex 3", Some(vec![CodexCli, Cursor])),
            ("0\n", None),
            ("5", None),
            ("3-5", None),
            ("3-2", None),
            ("0-1", None),
            ("1 x", None),
            ("-1", None),
            (",", None),
            ("yes", None),
        ] {
            assert_eq!(parse_answer(answer, &here), picks, "{answer:?}");
        }
    }
}
