//! `tabwire doctor --report`: one file for a bug report, without private data.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::daemon_client::DaemonClient;
use crate::cli::output_file::{write_named, write_new};
use crate::config::DaemonLocation;
use crate::home::StateDirectory;
use crate::hub::ClockSample;
use crate::os;
use crate::proof::{DEFAULT_OWNER, KEY_LENGTH};
use crate::protocol::{EXTENSION_ID, PROTOCOL_VERSION, SERVER_VERSION};
use crate::streams::{REDACTED, redact};
use crate::terminal::{self, wrapped};

/// How many of the log's last lines go along, and how many bytes at most.
const LOG_LINES: usize = 200;
const LOG_BYTES: usize = 64 * 1024;

/// Fields whose texts come from pages or name sites. The report has none of them.
const LEFT_OUT: [&str; 4] = ["title", "url", "unconfirmed", "home"];

/// Levels of log lines that can quote pages and frames. The report has none of them.
const QUOTING_LEVELS: [&str; 2] = ["DEBUG", "TRACE"];

/// The length of keys and tokens, in base64url.
const KEY_LETTERS: usize = (KEY_LENGTH * 4).div_ceil(3);

/// The width of a paragraph on a wide terminal.
const WIDEST: usize = 100;

/// The stand-in for the person's name.
const PERSON: &str = "[user]";

/// Writes the report to this new file, or to one that it names.
pub(super) async fn write(
    location: &DaemonLocation,
    doctor: &Value,
    file: Option<PathBuf>,
) -> anyhow::Result<PathBuf> {
    let home = location.home().ok().and_then(|dir| StateDirectory::find(&dir).ok().flatten());
    let cleaner = TextCleaner::new(home.as_ref());
    let report = cleaner.value(&json!({
        "written_at": ClockSample::now().system,
        "versions": versions(),
        "system": system(),
        "doctor": doctor,
        "status": status(location).await,
        "log": home.as_ref().map(|home| last_lines(&home.log_path())),
    }));
    let text = format!("{}\n", serde_json::to_string_pretty(&report)?);
    match file {
        Some(path) => write_new(&path, text.as_bytes()).map(|()| path),
        None => write_named("tabwire-report", "json", text.as_bytes()),
    }
}

/// Tells a person of the report before they send it.
pub(super) fn contents(path: &Path) -> String {
    let told = format!(
        "The report is in {}. It has the versions, the system, the findings above, what `tabwire \
         status` shows (with the names of browsers and clients), and the last {LOG_LINES} lines of the \
         log without those of the levels debug and trace. It has no key or token, no title of a page, \
         no URL beyond its host, `~` for your home directory and `{PERSON}` for your user name. Read \
         it before you send it.",
        path.display()
    );
    format!("\n{}", wrapped(&told, terminal::size().0.min(WIDEST)).join("\n"))
}

fn versions() -> Value {
    json!({"tabwire": SERVER_VERSION, "extension_protocol": PROTOCOL_VERSION})
}

/// The system, as far as files say it.
fn system() -> Value {
    let (distribution, kernel) = os::system_versions();
    json!({
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "distribution": distribution,
        "kernel": kernel,
    })
}

/// The status of the daemon, or why there is none.
async fn status(location: &DaemonLocation) -> Value {
    let asked = async { DaemonClient::of(location)?.get("/api/status").await?.ok() };
    asked.await.unwrap_or_else(|error| json!({"error": error.to_string()}))
}

/// The last lines of a log: whole ones, of levels that quote nobody.
fn last_lines(path: &Path) -> Vec<String> {
    let log = fs::read(path).unwrap_or_default();
    let tail = String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_BYTES)..]).into_owned();
    // The first line of a cut log may lack its level, which decides whether it may go along.
    let is_cut = log.len() > LOG_BYTES;
    let mut is_kept = true;
    let mut lines = Vec::new();
    for line in tail.lines().skip(usize::from(is_cut)) {
        // A line without a level belongs to the one before it, or to a panic.
        if let Some(level) = level_of(line) {
            is_kept = !QUOTING_LEVELS.contains(&level);
        }
        if is_kept {
            lines.push(line.to_owned());
        }
    }
    lines.split_off(lines.len().saturating_sub(LOG_LINES))
}

/// The level of a line that begins with a time.
fn level_of(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    let is_time = time.ends_with('Z') && time.starts_with(|first: char| first.is_ascii_digit());
    is_time.then(|| rest.split_whitespace().next()).flatten()
}

/// Takes private data out of texts.
struct TextCleaner {
    /// This daemon's own secrets.
    secrets: Vec<String>,
    /// The person's home directory, by each of its names.
    folders: Vec<String>,
    /// The person, by each name.
    people: Vec<String>,
}

impl TextCleaner {
    fn new(home: Option<&StateDirectory>) -> Self {
        let folder = etcetera::home_dir().ok();
        let real = folder.as_ref().and_then(|folder| os::canonicalize(folder).ok());
        let named = folder.as_ref().and_then(|folder| folder.file_name());
        let named = named.map(|name| name.to_string_lossy().into_owned());
        let said = ["USER", "LOGNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
        let text = |folder: PathBuf| folder.display().to_string();
        Self {
            secrets: home.map(secrets).unwrap_or_default(),
            folders: folder.into_iter().chain(real).map(text).filter(|f| f.len() > 1).collect(),
            // One letter is a word of its own too often.
            people: said.chain(named).filter(|name| name.len() > 1).collect(),
        }
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
        // URLs first: a secret that is taken out of one would hide where it ends.
        let mut text = without_paths(text);
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), REDACTED);
        }
        let mut text = without_keys(&redact(&text));
        for folder in &self.folders {
            text = with_word_replaced(&text, folder, "~");
        }
        for person in &self.people {
            text = with_word_replaced(&text, person, PERSON);
        }
        text
    }
}

/// The daemon's token, and the keys of all extensions that may connect.
fn secrets(home: &StateDirectory) -> Vec<String> {
    let allowed = home.allowed_extensions().unwrap_or_default();
    let extensions = allowed.iter().map(String::as_str).chain([EXTENSION_ID]);
    let auth = home.auth();
    let keys = extensions.map(|id| auth.extension_key(id).encoded());
    keys.chain([auth.token(&DEFAULT_OWNER.into())]).collect()
}

/// The text without words that have the form of a key: those of other owners and of earlier
/// daemons cannot be named.
fn without_keys(text: &str) -> String {
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_of_key) {
        let (before, from_word) = rest.split_at(at);
        let end = from_word.find(|c| !is_of_key(c)).unwrap_or(from_word.len());
        let (word, behind) = from_word.split_at(end);
        cleaned.push_str(before);
        cleaned.push_str(if word.len() == KEY_LETTERS { REDACTED } else { word });
        rest = behind;
    }
    cleaned.push_str(rest);
    cleaned
}

/// The text with another in place of a word, in any case, where it is not part of a longer one.
fn with_word_replaced(text: &str, word: &str, other: &str) -> String {
    let (lower, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let mut replaced = String::with_capacity(text.len());
    let mut done = 0;
    for (at, _) in lower.match_indices(&word) {
        let end = at + word.len();
        let is_longer = text[..at].ends_with(char::is_alphanumeric)
            || text[end..].starts_with(char::is_alphanumeric);
        if !is_longer {
            replaced.push_str(&text[done..at]);
            replaced.push_str(other);
            done = end;
        }
    }
    replaced.push_str(&text[done..]);
    replaced
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
    fn titles_urls_secrets_and_the_person_are_in_no_report() {
        let cleaner = TextCleaner {
            secrets: vec!["tok-1".to_owned()],
            folders: vec!["/home/ann".to_owned()],
            people: vec!["ann".to_owned()],
        };
        let other = "q".repeat(KEY_LETTERS);
        let report = json!({
            "tabs": [{"title": "My letters", "url": "https://x.example/", "tab_id": 7}],
            "log": ["start /home/ann/.local", "Authorization: Bearer tok-1", "api_key=abcdef0123456789"],
            "other": format!("bob.{other}, Ann's laptop, /mnt/ann, /home/ann-old, anna in banns"),
            "unconfirmed": ["sites: bank.example"],
        });
        let text = cleaner.value(&report).to_string();
        for gone in [
            "letters",
            "x.example",
            "/home/ann",
            "tok-1",
            "abcdef0123456789",
            "bank.example",
            &other,
            "Ann's",
            "/mnt/ann",
        ] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        assert!(text.contains("\"tab_id\":7") && text.contains("start ~/.local"), "{text}");
        assert!(text.contains("[user]'s laptop") && text.contains("anna in banns"), "{text}");
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
        let detailed = "2026-11-23T15:00:00.1Z  INFO tabwire::daemon: listening\n\
                        2026-11-23T15:00:00.2Z DEBUG hyper: frame {\"title\":\n\
                        \"My letters\"}\n\
                        2026-11-23T15:00:00.3Z  WARN tabwire: slow\nthread 'main' panicked";
        fs::write(&path, detailed).unwrap();
        let kept = last_lines(&path);
        assert_eq!(kept.len(), 3, "{kept:?}");
        assert!(kept[2].contains("panicked") && !kept.join("\n").contains("letters"), "{kept:?}");
    }
}
