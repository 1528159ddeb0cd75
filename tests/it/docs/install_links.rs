//! The links of the README that add Tabwire to a client: made of the entry that `tabwire mcp-config` prints.

use std::fmt::Write as _;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{REMEDY, root};

/// Begins the line of the README that has the links.
const LINE: &str = "[Add to Cursor](";

/// The entry of `tabwire mcp-config`, with the program by its name: a link holds no path of a reader's computer.
fn entry_by_name() -> Value {
    let home = tempfile::tempdir().unwrap();
    let ran = Command::new(testkit::program())
        .arg("mcp-config")
        .env_clear()
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let printed: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let mut entry = printed["mcpServers"]["tabwire"].clone();
    entry["command"] = json!("tabwire");
    entry
}

/// A text as a part of an address (RFC 3986, 2.1).
fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => write!(encoded, "%{byte:02X}").unwrap(),
        }
        encoded
    })
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&others[..2]).unwrap(), 16).unwrap());
            rest = &others[2..];
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// The line with the links. Pages of repositories show links of https only, so each goes by the page with which
/// the client's maker opens the client.
fn line(entry: &Value) -> String {
    let cursor = percent_encoded(&STANDARD.encode(entry.to_string()));
    let mut named = json!({"name": "tabwire"});
    named.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
    let code = format!("vscode:mcp/install?{}", percent_encoded(&named.to_string()));
    format!(
        "{LINE}https://cursor.com/en/install-mcp?name=tabwire&config={cursor}) · \
         [Add to VS Code](https://insiders.vscode.dev/redirect?url={})",
        percent_encoded(&code)
    )
}

/// The line in a page; none if it has no links, or several lines with them.
fn line_in(page: &str) -> Option<&str> {
    let mut lines = page.lines().filter(|line| line.starts_with(LINE));
    lines.next().filter(|_| lines.next().is_none())
}

/// The part of a text between two others.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap();
    rest.split_once(end).unwrap().0
}

#[test]
fn the_links_in_the_readme_are_those_of_the_printed_entry() {
    let path = root().join("README.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let written = line_in(&page).expect("one line of the README begins with the link for Cursor");
    let generated = line(&entry_by_name());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page.replace(written, &generated)).unwrap();
        return;
    }
    assert_eq!(written, generated, "{REMEDY}");
}

#[test]
fn a_client_reads_from_its_link_how_to_start_tabwire() {
    let page = std::fs::read_to_string(root().join("README.md")).unwrap();
    let line = line_in(&page).unwrap();
    let entry = entry_by_name();
    let config = percent_decoded(between(line, "name=tabwire&config=", ")"));
    let cursor: Value = serde_json::from_slice(&STANDARD.decode(config).unwrap()).unwrap();
    assert_eq!(cursor, entry);
    let link = percent_decoded(between(line, "redirect?url=", ")"));
    let config = percent_decoded(link.strip_prefix("vscode:mcp/install?").unwrap());
    let code: Value = serde_json::from_str(&config).unwrap();
    assert_eq!(code["name"], "tabwire");
    assert_eq!((&code["command"], &code["args"]), (&entry["command"], &entry["args"]));
}
