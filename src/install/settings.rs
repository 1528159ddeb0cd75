//! Adds our MCP server to the text of other programs' settings, and removes it. Every other byte,
//! comments included, stays. Pure.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// The name that our server has in every client.
const NAME: &str = "tabwire";

/// Begins some files that were edited on Windows, and is no part of JSON or TOML.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// How a client writes down its MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingsFormat {
    /// JSON, with comments and trailing commas where there are any.
    Json {
        /// The object that has the servers by name.
        section: &'static str,
        entry: JsonEntry,
    },
    Toml {
        /// The table that has the servers by name.
        section: &'static str,
    },
}

/// How a server is written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonEntry {
    /// `command` is the program, `args` are its arguments.
    Plain,
    /// `type` says that it speaks over standard input and output.
    WithType,
    /// `tools` names those that may be used, too. A client that wants the list has none without it.
    WithTools,
    /// `command` is the whole command line, of a server on this computer.
    CommandLine,
}

impl JsonEntry {
    /// The value of `type`, where there is one.
    const fn kind(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::WithType | Self::WithTools => Some("stdio"),
            Self::CommandLine => Some("local"),
        }
    }

    /// The arguments that an entry has.
    fn args_in(self, entry: &CstObject) -> Option<Vec<String>> {
        let words = |name| -> Option<Vec<String>> {
            serde_json::from_value(entry.get(name)?.to_serde_value()?).ok()
        };
        match self {
            Self::Plain | Self::WithType | Self::WithTools => words("args"),
            Self::CommandLine => words("command")?.get(1..).map(<[String]>::to_vec),
        }
    }

    /// Writes the program to start, and leaves everything else as it is.
    fn write(self, entry: &CstObject, command: &str, args: &[String]) {
        if let Some(kind) = self.kind() {
            set_property(entry, "type", &json!(kind));
        }
        match self {
            Self::Plain | Self::WithType | Self::WithTools => {
                set_property(entry, "command", &json!(command));
                set_property(entry, "args", &json!(args));
            }
            Self::CommandLine => {
                let line: Vec<_> =
                    [command].into_iter().chain(args.iter().map(String::as_str)).collect();
                set_property(entry, "command", &json!(line));
            }
        }
        // A person may have chosen some of the tools.
        if self == Self::WithTools && entry.get("tools").is_none() {
            set_property(entry, "tools", &json!(["*"]));
        }
    }
}

/// The program that a client is to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// Why a file's settings are left alone.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsError {
    /// It is not in its format.
    #[error("it is not valid: {0}")]
    Unparsable(String),
    /// A place where the servers should be holds something else.
    #[error("`{0}` has another type than MCP clients expect")]
    Misshapen(String),
    /// The entry to edit stands there more than once. Programs do not agree on which counts.
    #[error("it has `{0}` more than once")]
    Repeated(String),
}

/// The flag of `tabwire mcp` that pins a client to a browser.
pub(crate) const BROWSER_FLAG: &str = "--browser";

/// The flag of `tabwire mcp` that gives a program an owner of its own.
pub(crate) const OWNER_FLAG: &str = "--owner";

/// The flag of `tabwire mcp` for a browser on another machine.
pub(crate) const CONNECT_FLAG: &str = "--connect";

/// The flag of `tabwire mcp` for the file with the key by which that machine is reached.
pub(crate) const CREDS_FLAG: &str = "--creds";

/// The arguments to write, with the browser, the owner and the other machine that the entry had before: a
/// renewed entry must not let a program use more browsers, or see more tabs.
fn with_former_bounds(args: &[String], before: &[String]) -> Vec<String> {
    let mut args = args.to_vec();
    // The key before its address: it goes with the former address alone.
    for flag in [BROWSER_FLAG, CREDS_FLAG, CONNECT_FLAG, OWNER_FLAG] {
        // The owner of a program that uses another machine's browser is chosen there.
        let is_excluded = match flag {
            OWNER_FLAG => value_of(&args, CONNECT_FLAG).is_some(),
            CREDS_FLAG => {
                [CONNECT_FLAG, OWNER_FLAG].iter().any(|flag| value_of(&args, flag).is_some())
            }
            CONNECT_FLAG => value_of(&args, OWNER_FLAG).is_some(),
            _ => false,
        };
        if !is_excluded
            && value_of(&args, flag).is_none()
            && let Some(former) = value_of(before, flag)
        {
            args.extend([flag.to_owned(), former.to_owned()]);
        }
    }
    args
}

/// The value of a flag, as an argument after it or in one with it.
fn value_of<'a>(args: &'a [String], flag: &str) -> Option<&'a str> {
    args.iter().enumerate().find_map(|(at, arg)| match arg.strip_prefix(flag)? {
        "" => args.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

/// The owner that our entry in a text names. None if it names none, or if the text cannot be read.
pub(super) fn owner_in(text: &str, format: SettingsFormat) -> Option<String> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let args = match format {
        SettingsFormat::Json { section, entry } => args_in_json(text, section, entry),
        SettingsFormat::Toml { section } => args_in_toml(text, section),
    };
    value_of(&args?, OWNER_FLAG).map(str::to_owned)
}

fn args_in_json(text: &str, section: &str, entry: JsonEntry) -> Option<Vec<String>> {
    let root = parse_json(text).ok()?;
    entry.args_in(&root.object_value()?.object_value(section)?.object_value(NAME)?)
}

fn args_in_toml(text: &str, section: &str) -> Option<Vec<String>> {
    let document = parse_toml(text).ok()?;
    let servers = document.get(section)?.as_table_like()?;
    let args = servers.get(NAME)?.as_table_like()?.get("args")?.as_array()?;
    Some(args.iter().filter_map(|arg| arg.as_str().map(str::to_owned)).collect())
}

/// The text with our server in it. Settings of that server beyond what to start stay, too; a
/// text that has it already comes back as it is.
pub(super) fn with_server(
    text: &str,
    format: SettingsFormat,
    server: &ServerEntry,
) -> Result<String, SettingsError> {
    edit(text, |text| match format {
        SettingsFormat::Json { section, entry } => with_json(text, section, entry, server),
        SettingsFormat::Toml { section } => with_toml(text, section, server),
    })
}

/// The text without our server; one that has none comes back as it is.
pub(super) fn without_server(text: &str, format: SettingsFormat) -> Result<String, SettingsError> {
    edit(text, |text| match format {
        SettingsFormat::Json { section, .. } => without_json(text, section),
        SettingsFormat::Toml { section } => without_toml(text, section),
    })
}

/// Whether the text has our server. One that cannot be read has none.
pub(super) fn has_server(text: &str, format: SettingsFormat) -> bool {
    without_server(text, format).is_ok_and(|without| without != text)
}

/// Edits the text behind a byte order mark, if there is one.
fn edit(
    text: &str,
    edit: impl FnOnce(&str) -> Result<String, SettingsError>,
) -> Result<String, SettingsError> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => Ok(format!("{BYTE_ORDER_MARK}{}", edit(rest)?)),
        None => edit(text),
    }
}

fn parse_json(text: &str) -> Result<CstRootNode, SettingsError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| SettingsError::Unparsable(error.to_string()))
}

fn with_json(
    text: &str,
    section: &str,
    entry: JsonEntry,
    server: &ServerEntry,
) -> Result<String, SettingsError> {
    let misshapen = |what: &str| SettingsError::Misshapen(what.to_owned());
    let root = parse_json(text)?;
    let had_value = root.value().is_some();
    let all = root.object_value_or_create().ok_or_else(|| misshapen("the outermost value"))?;
    check_once(&all, section)?;
    let servers = all.object_value_or_create(section).ok_or_else(|| misshapen(section))?;
    check_once(&servers, NAME)?;
    let ours = servers.object_value_or_create(NAME).ok_or_else(|| misshapen(NAME))?;
    let before = entry.args_in(&ours).unwrap_or_default();
    entry.write(&ours, &server.command, &with_former_bounds(&server.args, &before));
    // A file without a value had no line feed of its own to keep.
    let text = root.to_string();
    Ok(if had_value { text } else { format!("{}\n", text.trim_end()) })
}

fn check_once(object: &CstObject, name: &str) -> Result<(), SettingsError> {
    let is_it = |property: &CstObjectProp| {
        property.name().is_some_and(|known| known.decoded_value().is_ok_and(|known| known == name))
    };
    match object.properties().iter().filter(|property| is_it(property)).count() {
        0 | 1 => Ok(()),
        _ => Err(SettingsError::Repeated(name.to_owned())),
    }
}

/// Sets a property, unless it is so already: then it stays as it was written.
fn set_property(object: &CstObject, name: &str, value: &Value) {
    match object.get(name) {
        Some(property) if property.to_serde_value().as_ref() == Some(value) => {}
        Some(property) => property.set_value(input(value)),
        None => {
            object.append(name, input(value));
        }
    }
}

/// Strings and lists of them, which is all that a server has.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::String(text) => CstInputValue::String(text.clone()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            CstInputValue::String(other.to_string())
        }
    }
}

fn without_json(text: &str, section: &str) -> Result<String, SettingsError> {
    let root = parse_json(text)?;
    let servers = root.object_value().and_then(|all| all.object_value(section));
    let Some(ours) = servers.and_then(|servers| servers.get(NAME)) else {
        return Ok(text.to_owned());
    };
    ours.remove();
    Ok(root.to_string())
}

fn parse_toml(text: &str) -> Result<DocumentMut, SettingsError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        SettingsError::Unparsable(error.to_string().trim_end().to_owned())
    })
}

fn with_toml(text: &str, section: &str, server: &ServerEntry) -> Result<String, SettingsError> {
    let misshapen = |what: &str| SettingsError::Misshapen(what.to_owned());
    let mut document = parse_toml(text)?;
    if !document.contains_key(section) {
        let mut servers = Table::new();
        // No bare `[mcp_servers]` header above `[mcp_servers.tabwire]`.
        servers.set_implicit(true);
        document.insert(section, Item::Table(servers));
    }
    let is_inline = document[section].is_inline_table();
    let is_new = document[section].get(NAME).is_none();
    // A comment that ends the file belongs to the lines before it.
    let before = (is_new && !is_inline).then(|| take_trailing(&mut document)).flatten();
    let servers = document[section].as_table_like_mut().ok_or_else(|| misshapen(section))?;
    if is_new {
        let ours =
            if is_inline { Item::Value(inline_table()) } else { Item::Table(last_table(before)) };
        servers.insert(NAME, ours);
    }
    let ours = servers.get_mut(NAME).and_then(Item::as_table_like_mut);
    let ours = ours.ok_or_else(|| misshapen(NAME))?;
    set_toml(ours, "command", toml_edit::Value::from(&server.command));
    let before = ours.get("args").and_then(Item::as_array);
    let before = before.into_iter().flatten().filter_map(|arg| arg.as_str().map(str::to_owned));
    let args = with_former_bounds(&server.args, &before.collect::<Vec<_>>());
    set_toml(ours, "args", toml_edit::Value::from_iter(&args));
    Ok(with_line_ends_of(text, &document))
}

/// The document as a text; its lines end as those of `text`, if those all end alike. The
/// document has them all end as on Unix.
fn with_line_ends_of(text: &str, document: &DocumentMut) -> String {
    let edited = document.to_string();
    let (all, windows) = (text.matches('\n').count(), text.matches("\r\n").count());
    if all == 0 || all > windows {
        return edited;
    }
    edited.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn inline_table() -> toml_edit::Value {
    toml_edit::Value::InlineTable(toml_edit::InlineTable::new())
}

/// A table at the end of the file, after `before` and an empty line.
fn last_table(before: Option<String>) -> Table {
    let mut table = Table::new();
    // toml_edit orders tables by position, and ours goes to the end.
    table.set_position(Some(isize::MAX));
    table.decor_mut().set_prefix(format!("{}\n", before.unwrap_or_default()));
    table
}

/// The text after the last table, taken from there.
fn take_trailing(document: &mut DocumentMut) -> Option<String> {
    let trailing = document.trailing().as_str().map(str::to_owned);
    document.set_trailing("");
    trailing
}

fn set_toml(table: &mut dyn TableLike, name: &str, value: toml_edit::Value) {
    let plain = |value: &toml_edit::Value| -> Option<Vec<String>> {
        match value.as_array() {
            Some(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            None => value.as_str().map(|text| vec![text.to_owned()]),
        }
    };
    let is_set = table
        .get(name)
        .and_then(Item::as_value)
        .is_some_and(|set| set.is_array() == value.is_array() && plain(set) == plain(&value));
    if !is_set {
        table.insert(name, Item::Value(value));
    }
}

fn without_toml(text: &str, section: &str) -> Result<String, SettingsError> {
    let mut document = parse_toml(text)?;
    let servers = document.get_mut(section).and_then(Item::as_table_like_mut);
    let Some(ours) = servers.and_then(|servers| servers.remove(NAME)) else {
        return Ok(text.to_owned());
    };
    // toml_edit keeps the comments above a table with the table; they belong to the person.
    let before = ours.as_table().and_then(|table| table.decor().prefix()?.as_str());
    let comments = before.unwrap_or_default().trim_end().to_owned();
    if !comments.is_empty() {
        let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
        document.set_trailing(format!("{comments}\n{trailing}"));
    }
    Ok(with_line_ends_of(text, &document))
}

#[cfg(test)]
mod tests;
