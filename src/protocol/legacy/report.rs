//! A polling extension's report on a command, translated into an [`ExtensionReport`].

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{Action, ExtensionReport, ReportedError};
use super::failure::{OF_PAGE, failure, unexplained};
use super::members::{ObjectMember, ObjectMembers};

/// The members that may hold a script's value, the surest first: one for each generation of
/// extensions.
const OF_VALUE: [&str; 3] = ["result", "value", "data"];

/// A polling extension's report on a command, the same on all its routes.
#[derive(Clone, Debug, Deserialize)]
pub struct LegacyReport {
    /// The command's name, if it was asked under one.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// The query's.
    #[serde(default)]
    pub id: Option<String>,
    /// The same, as older ones call it.
    #[serde(default)]
    pub query_id: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    message: Option<String>,
}

impl LegacyReport {
    /// The names under which the command is looked for, the surest first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = [&self.correlation_id, &self.id, &self.query_id];
        names.into_iter().filter_map(|name| name.as_deref()).filter(|name| !name.is_empty())
    }

    /// Translates the report. A failure may stand in `error`, in the status or in the result.
    #[must_use]
    pub fn into_report(self, action: &Action) -> ExtensionReport {
        let Self { status, result, error, message, .. } = self;
        let (result, said) = (result.as_deref(), message.as_deref());
        match (status.as_deref(), failure(error.as_ref(), said, result, action)) {
            (Some("pending"), None) => {
                ExtensionReport::Pending { message, progress: None, dialog: None }
            }
            (Some("timeout"), error) => {
                ExtensionReport::Timeout { error: error.unwrap_or_else(|| timed_out(message)) }
            }
            (_, Some(error)) => ExtensionReport::Error { error },
            (Some("error" | "failed" | "expired" | "cancelled"), None) => {
                ExtensionReport::Error { error: unexplained(said, result) }
            }
            (_, None) => ExtensionReport::Complete { result: shaped(result, action), origin: None },
        }
    }
}

fn timed_out(message: Option<String>) -> ReportedError {
    let message = message.unwrap_or_else(|| "The extension's own time was over".to_owned());
    ReportedError::new("execution_timeout", message)
}

/// The result in the shape of all extensions: `{success, value, type}`. The value stays byte for
/// byte.
fn shaped(result: Option<&RawValue>, action: &Action) -> Arc<RawValue> {
    let sent = result.map_or("null", RawValue::get);
    let members = result.and_then(ObjectMembers::of);
    match (action, &members) {
        (Action::ExecuteJs(_), Some(members)) => of_script(sent, members),
        (Action::TabList(_), Some(members)) => match members.get("tabs").and_then(tabs) {
            Some(tabs) => enveloped(&tabs, None),
            None => enveloped(sent, None),
        },
        (Action::Dom(_), Some(members)) => enveloped(
            &members.renamed(&[("matchCount", "count"), ("returnedCount", "shown")]),
            None,
        ),
        (_, _) => enveloped(sent, None),
    }
}

/// A script's value. An object with `success` and the value in one of its members is an envelope;
/// any other object is the value itself.
fn of_script(sent: &str, members: &ObjectMembers<'_>) -> Arc<RawValue> {
    if members.truth("success").is_none() {
        return enveloped(sent, None);
    }
    let holder = OF_VALUE.into_iter().find(|name| members.get(name).is_some());
    let is_beside =
        |member: &&ObjectMember<'_>| member.name != "success" && Some(&*member.name) != holder;
    let is_of_page = |member: &ObjectMember<'_>| OF_PAGE.contains(&member.name.as_str());
    let value = match holder.and_then(|name| members.get(name)) {
        Some(value) => value.get(),
        // A script without a value: JSON has no `undefined`, so the envelope has no such member.
        None if members.iter().filter(is_beside).all(is_of_page) => "null",
        None => return enveloped(sent, None),
    };
    let details: Vec<_> = members.iter().filter(is_beside).map(ObjectMember::json).collect();
    let details = (!details.is_empty()).then(|| format!("{{{}}}", details.join(",")));
    enveloped(value, details.as_deref())
}

/// The tabs with the field names of all extensions. `None`: it is not a list.
fn tabs(tabs: &RawValue) -> Option<String> {
    let tabs: Vec<&RawValue> = serde_json::from_str(tabs.get()).ok()?;
    let renamed = tabs.into_iter().map(|tab| match ObjectMembers::of(tab) {
        Some(members) => members.renamed(&[("id", "tab_id"), ("windowId", "window_id")]),
        None => tab.get().to_owned(),
    });
    Some(format!("[{}]", renamed.collect::<Vec<_>>().join(",")))
}

/// The envelope of a value, with its type and the other members that came with it.
fn enveloped(value: &str, details: Option<&str>) -> Arc<RawValue> {
    let kind = kind(value);
    let details = details.map(|details| format!(",\"details\":{details}")).unwrap_or_default();
    let json = format!("{{\"success\":true,\"value\":{value},\"type\":\"{kind}\"{details}}}");
    // All its parts are whole JSON texts, so it parses.
    RawValue::from_string(json).unwrap_or_default().into()
}

/// The type of a JSON value, as JavaScript calls it.
fn kind(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') | None => "null",
        Some(_) => "number",
    }
}

#[cfg(test)]
mod tests;
