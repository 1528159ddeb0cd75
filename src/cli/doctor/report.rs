//! `tabwire doctor --report`: one file for a bug report, without what is nobody's business.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::ask::Daemon;
use crate::cli::output_file::{write_named, write_new};
use crate::config::Place;
use crate::home::Home;
use crate::hub::Reading;
use crate::proof::DEFAULT_OWNER;
use crate::protocol::{EXTENSION_ID, PROTOCOL_VERSION, SERVER_VERSION};
use crate::streams::{REDACTED, redact};

/// How many of the log's last lines go along, and how many bytes at most.
const LOG_LINES: usize = 200;
const LOG_BYTES: usize = 64 * 1024;

/// Fields whose texts come from pages or name sites. The report has none of them.
const LEFT_OUT: [&str; 4] = ["title", "url", "unconfirmed", "home"];

/// Writes the report to this new file, or to one that it names.
pub(super) async fn write(
    place: &Place,
    doctor: &Value,
    file: Option<PathBuf>,
) -> anyhow::Result<PathBuf> {
    let home = place.home().ok().and_then(|dir| Home::find(&dir).ok().flatten());
    let cleaner = Cleaner::new(home.as_ref());
    let report = cleaner.value(&json!({
        "written_at": Reading::now().system,
        "versions": versions(),
        "system": system(),
        "doctor": doctor,
        "status": status(place).await,
        "log": home.as_ref().map(|home| last_lines(&home.log_path())),
    }));
    let text = format!("{}\n", serde_json::to_string_pretty(&report)?);
    match file {
        Some(path) => write_new(&path, text.as_bytes()).map(|()| path),
        None => write_named("tabwire-report", "json", text.as_bytes()),
    }
}

/// What a person is told of the report before they send it.
pub(super) fn contents(path: &Path) -> String {
    format!(
        "\nThe report is in {}. It has the versions, the system, the findings above, what `tabwire \
         status` shows (with the names of browsers and clients), and the last {LOG_LINES} lines of the \
         log. It has no key or token, no title of a page, no URL beyond its host, and `~` for your \
         home directory. Read it before you send it.",
        path.display()
    )
}

fn versions() -> Value {
    json!({"tabwire": SERVER_VERSION, "extension_protocol": PROTOCOL_VERSION})
}

/// The system, as far as files say it.
fn system() -> Value {
    let line = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let release = line("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    json!({
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "distribution": name.map(|name| name.trim_matches('"')),
        "kernel": line("/proc/sys/kernel/osrelease"),
    })
}

/// What the daemon says of itself; why it says nothing.
async fn status(place: &Place) -> Value {
    let asked = async { Daemon::of(place)?.get("/api/status").await?.ok() };
    asked.await.unwrap_or_else(|error| json!({"error": error.to_string()}))
}

/// The last lines of a log, whole ones.
fn last_lines(path: &Path) -> Vec<String> {
    let log = fs::read(path).unwrap_or_default();
    let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_BYTES)..]).into_owned();
    let is_cut = log.len() > LOG_BYTES;
    let lines: Vec<_> = tail.lines().skip(usize::from(is_cut)).map(str::to_owned).collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].to_vec()
}

/// Takes out of texts what a report must not have.
struct Cleaner {
    /// This daemon's own secrets. They are of no form that tells them from other texts.
    secrets: Vec<String>,
    /// The person's home directory.
    folder: Option<String>,
}

impl Cleaner {
    fn new(home: Option<&Home>) -> Self {
        let secrets = home.map(|home| {
            let auth = home.auth();
            let key = auth.extension_key(EXTENSION_ID).encoded();
            vec![auth.token(&DEFAULT_OWNER.into()), key]
        });
        let folder = etcetera::home_dir().ok().map(|folder| folder.display().to_string());
        let folder = folder.filter(|folder| folder.len() > 1);
        Self { secrets: secrets.unwrap_or_default(), folder }
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let kept = fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
                kept.map(|(name, value)| (name.clone(), self.value(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), REDACTED);
        }
        if let Some(folder) = &self.folder {
            text = text.replace(folder.as_str(), "~");
        }
        // URLs first: a secret that is taken out of one would hide where it ends.
        redact(&without_paths(&text)).into_owned()
    }
}

/// The text with nothing of its URLs beyond their hosts and ports.
fn without_paths(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + "://".len());
        cleaned.push_str(before);
        let end = after.find(ends_url).unwrap_or(after.len());
        let (url, behind) = after.split_at(end);
        let authority = url.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        cleaned.push_str(host);
        if authority.len() < url.len() {
            cleaned.push_str("/…");
        }
        rest = behind;
    }
    cleaned.push_str(rest);
    cleaned
}

/// Whether a URL ends before this character. Brackets and commas may stand in its path.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '<' | '>' | '`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_url_is_left_but_where_it_leads() {
        for (text, cleaned) in [
            ("at https://bank.example/account?id=7#x now", "at https://bank.example/… now"),
            ("(http://127.0.0.1:7890/mcp)", "(http://127.0.0.1:7890/…"),
            ("https://x.example/a,(b)/secret", "https://x.example/…"),
            ("http://[::1]:80/secret", "http://[::1]:80/…"),
            ("ws://ann:pw@host.example:81", "ws://host.example:81"),
            (
                "\"https://a.example?q=secret\", \"https://b.example\"",
                "\"https://a.example/…\", \"https://b.example\"",
            ),
            ("file:///home/ann/letter.txt", "file:///…"),
            ("no URL", "no URL"),
        ] {
            assert_eq!(without_paths(text), cleaned);
        }
    }

    #[test]
    fn titles_urls_secrets_and_the_persons_folder_are_in_no_report() {
        let cleaner =
            Cleaner { secrets: vec!["tok-1".to_owned()], folder: Some("/home/ann".to_owned()) };
        let report = json!({
            "tabs": [{"title": "My letters", "url": "https://x.example/", "tab_id": 7}],
            "log": ["start /home/ann/.local", "Authorization: Bearer tok-1", "api_key=abcdef0123456789"],
            "unconfirmed": ["sites: bank.example"],
        });
        let text = cleaner.value(&report).to_string();
        for gone in
            ["letters", "x.example", "/home/ann", "tok-1", "abcdef0123456789", "bank.example"]
        {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert!(text.contains("\"tab_id\":7") && text.contains("start ~/.local"), "{text}");
    }

    #[test]
    fn of_a_long_log_the_last_whole_lines_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.log");
        let lines: Vec<_> = (0..300).map(|n| format!("line {n}")).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        assert_eq!(last_lines(&path), lines[100..]);
        let long = format!("{}\nlast", "x".repeat(2 * LOG_BYTES));
        fs::write(&path, long).unwrap();
        assert_eq!(last_lines(&path), ["last"]);
        assert!(last_lines(&folder.path().join("none")).is_empty());
    }
}
