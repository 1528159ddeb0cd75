//! `POST /sync`: the one request with which later polling extensions poll, report and log.
//!
//! The fields of a request show the generation of its extension. A malformed item of a list is left
//! out, and the rest counts.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::super::{InstanceId, Timestamp};
use super::{LegacyQuery, LegacyReport};

/// The longest name that a session may have, in bytes.
const SESSION_NAME_MAX: usize = 128;

/// The first generation with `/sync`. It sends results in its next request only, so a request that
/// the daemon holds would delay them.
const FIRST_GENERATION: u64 = 5;

/// The session of this name, if it has 1 to 128 visible ASCII characters.
#[must_use]
pub fn session_name(text: &str) -> Option<InstanceId> {
    let is_name = (1..=SESSION_NAME_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_name.then(|| InstanceId::from(text))
}

/// The body of a `POST /sync`.
#[derive(Debug, Deserialize)]
pub struct LegacySyncRequest {
    #[serde(default)]
    ext_session_id: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    extension_version: Option<String>,
    #[serde(default)]
    settings: Option<PilotSettings>,
    #[serde(default)]
    command_results: Option<Vec<Box<RawValue>>>,
    #[serde(default)]
    in_progress: Option<Vec<Box<RawValue>>>,
    #[serde(default)]
    extension_logs: Option<Box<RawValue>>,
    #[serde(default)]
    last_command_ack: Option<String>,
}

/// The person's settings in that extension.
#[derive(Debug, Deserialize)]
struct PilotSettings {
    #[serde(default)]
    pilot_enabled: Option<bool>,
}

/// A command that the extension runs.
#[derive(Deserialize)]
struct RunningCommand {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    correlation_id: Option<String>,
}

/// The answer to a `POST /sync`.
#[derive(Debug, Serialize)]
pub struct LegacySyncAnswer {
    /// Always true: the extension's body was accepted.
    pub ack: bool,
    /// At most one command.
    pub commands: Vec<LegacyQuery>,
    /// When to send the next one.
    pub next_poll_ms: u64,
    /// The time.
    pub server_time: Timestamp,
    /// The extension's own version, since it compares the two.
    pub server_version: String,
    /// Overrides of the person's capture settings: none.
    pub capture_overrides: CaptureOverrides,
}

/// Always empty.
#[derive(Debug, Default, Serialize)]
pub struct CaptureOverrides {}

/// When an extension that is not let in is to ask again, in milliseconds.
const ASK_AGAIN_MS: u64 = 1_000;

impl LegacySyncAnswer {
    /// The answer to an extension that is not let in.
    #[must_use]
    pub fn nothing(version: &str, now: Timestamp) -> Self {
        Self {
            ack: true,
            commands: Vec::new(),
            next_poll_ms: ASK_AGAIN_MS,
            server_time: now,
            server_version: version.to_owned(),
            capture_overrides: CaptureOverrides::default(),
        }
    }
}

impl LegacySyncRequest {
    /// Its session. `None` if it names none, or not by a [session name](session_name).
    #[must_use]
    pub fn session(&self) -> Option<InstanceId> {
        session_name(self.ext_session_id.as_ref().or(self.session_id.as_ref())?)
    }

    /// The extension's version.
    #[must_use]
    pub fn version(&self) -> &str {
        self.extension_version.as_deref().unwrap_or_default()
    }

    /// Whether the person lets it be controlled.
    #[must_use]
    pub fn is_pilot_on(&self) -> bool {
        self.settings.as_ref().and_then(|settings| settings.pilot_enabled) != Some(false)
    }

    /// The results that it brings.
    pub fn reports(&self) -> impl Iterator<Item = LegacyReport> {
        self.command_results.iter().flatten().filter_map(|json| read(json))
    }

    /// Whether it brings any.
    #[must_use]
    pub fn has_reports(&self) -> bool {
        self.command_results.as_ref().is_some_and(|results| !results.is_empty())
    }

    /// The names of the commands that it has received: those that run and the one that it
    /// acknowledges. Such a command need not be done.
    #[must_use]
    pub fn received(&self) -> Vec<String> {
        let running = self.in_progress.iter().flatten().filter_map(|json| read(json));
        let names = running.flat_map(|RunningCommand { id, correlation_id }| [id, correlation_id]);
        names.chain([self.last_command_ack.clone()]).flatten().collect()
    }

    /// Whether it lists the running commands: then a command that is not listed does not run.
    #[must_use]
    pub fn says_what_runs(&self) -> bool {
        self.in_progress.is_some()
    }

    /// Whether its answer may be held until there is a command. Not for the first generation, nor
    /// for an unknown one.
    #[must_use]
    pub fn can_be_held(&self) -> bool {
        let generation = self.version().split('.').next().and_then(|major| major.parse().ok());
        let is_later = |major: u64| major != FIRST_GENERATION;
        self.says_what_runs() || self.ext_session_id.is_some() || generation.is_some_and(is_later)
    }

    /// Whether it brings log lines.
    #[must_use]
    pub fn has_logs(&self) -> bool {
        self.extension_logs.as_ref().is_some_and(|lines| lines.get().len() > "[]".len())
    }

    /// Its log lines, as the body of `POST /extension-logs`.
    #[must_use]
    pub fn take_logs(&mut self) -> Option<String> {
        let has_logs = self.has_logs();
        let lines = self.extension_logs.take().filter(|_| has_logs)?;
        Some(format!("{{\"logs\":{}}}", lines.get()))
    }
}

fn read<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Option<T> {
    let read = serde_json::from_str(json.get());
    let malformed = |error: &serde_json::Error| {
        tracing::debug!(%error, "an entry of a /sync request that is not what it should be");
    };
    read.inspect_err(malformed).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(json: &str) -> LegacySyncRequest {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn generations_are_told_apart_by_what_they_send() {
        for (json, can_be_held) in [
            // As v0.8.2 and v6.0.3 were recorded.
            (r#"{"ext_session_id":"s","extension_version":"0.8.2","in_progress":[]}"#, true),
            (r#"{"session_id":"s","extension_version":"6.0.3"}"#, true),
            (r#"{"session_id":"s","extension_version":"5.7.0"}"#, false),
            (r#"{"session_id":"s","extension_version":"5.9.1"}"#, false),
            // What they send decides before what they call themselves.
            (r#"{"session_id":"s","extension_version":"5.7.0","in_progress":[]}"#, true),
            (r#"{"ext_session_id":"s","extension_version":"5.7.0"}"#, true),
            (r#"{"session_id":"s","extension_version":"beta"}"#, false),
            (r#"{"session_id":"s"}"#, false),
        ] {
            assert_eq!(request(json).can_be_held(), can_be_held, "{json}");
        }
    }

    #[test]
    fn one_malformed_entry_costs_no_other() {
        let request = request(
            r#"{"session_id":"s","command_results":[5,{"id":7},{"id":"q_1","result":1}],
                "in_progress":["x",{"id":"q_2","correlation_id":"c_2","status":"running"}],
                "last_command_ack":"q_1","settings":{"pilot_enabled":false}}"#,
        );
        let names: Vec<_> = request.reports().map(|report| report.id.unwrap()).collect();
        assert_eq!(names, ["q_1"]);
        assert_eq!(request.received(), ["q_2", "c_2", "q_1"]);
        assert!(request.has_reports() && !request.is_pilot_on());
    }

    #[test]
    fn a_session_has_a_name_of_at_most_128_bytes() {
        assert_eq!(
            request(r#"{"ext_session_id":"a","session_id":"b"}"#).session(),
            Some("a".into())
        );
        for none in ["{}".to_owned(), format!(r#"{{"session_id":"{}"}}"#, "s".repeat(129))] {
            assert_eq!(request(&none).session(), None, "{none}");
        }
    }

    #[test]
    fn log_lines_are_taken_once_and_an_empty_list_is_none() {
        let mut with = request(r#"{"extension_logs":[{"message":"a"}]}"#);
        assert_eq!(with.take_logs().unwrap(), r#"{"logs":[{"message":"a"}]}"#);
        assert_eq!(with.take_logs(), None);
        assert_eq!(request(r#"{"extension_logs":[]}"#).take_logs(), None);
        assert_eq!(request(r#"{"extension_logs":null}"#).take_logs(), None);
    }
}
