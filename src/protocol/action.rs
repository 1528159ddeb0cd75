//! The actions of agents in the browser. MCP clients read the doc comments of this file as part of
//! the schema, so the comments speak to the model.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{CorrelationId, DrawingPrompt, PageAnalysis, SessionName, is_local_file_url};

/// One browser action with its own parameters. Its name is the command's `type`
/// on the wire and its fields are the `params`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Runs JavaScript; returns its value.
    ExecuteJs {
        /// Expression or statements; return, await, tabwireSignal work.
        script: String,
        /// As if clicked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_gesture: Option<bool>,
    },
    /// Opens a URL and waits for it to load.
    Navigate {
        /// http, https, file or about:blank.
        url: String,
        /// Bring it to the foreground.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        focus: Option<bool>,
    },
    /// Loads the page again.
    #[schemars(description = "")]
    Refresh {},
    /// Goes back.
    #[schemars(description = "")]
    Back {},
    /// Goes forward.
    #[schemars(description = "")]
    Forward {},
    /// URL, title; with trace viewport.
    PageInfo {},
    /// Lists the tabs.
    #[schemars(description = "")]
    TabList {},
    /// Opens a tab, which becomes current.
    TabOpen {
        /// What to open in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// In front.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        focus: Option<bool>,
    },
    /// Closes the tab, even mid-command.
    TabClose {},
    /// Shows the tab in its window.
    #[schemars(description = "")]
    TabActivate {
        /// Its window too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        focus: Option<bool>,
    },
    /// A picture of the page.
    #[schemars(description = "")]
    Screenshot {
        /// The whole page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full_page: Option<bool>,
        /// Default png.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<ImageFormat>,
        /// Longest side in px; default 1568.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 64, max = 8_192))]
        max_side: Option<u32>,
        /// New .png or .jpg in an opened folder; a bare name: in the default one.
        #[serde(default, skip_serializing)]
        path: Option<String>,
    },
    /// Opens the drawing tools in the page. The daemon asks for it when an agent waits for
    /// drawings, so it is no part of the schema.
    #[schemars(skip)]
    DrawMode {
        /// The wait that is to be answered.
        correlation_id: CorrelationId,
        /// The session that the drawing belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionName>,
        /// Whether elements are described with their computed styles.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        styles: Option<bool>,
        /// What the person is asked to draw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<DrawingPrompt>,
    },
    /// Reads the page. `analyze` offers this, so it is no part of the schema.
    #[serde(untagged)]
    #[schemars(skip, !untagged)]
    Analyze(PageAnalysis),
}

/// The longest part of a command's target that lists show, in bytes.
const SHORT: usize = 80;

/// A text in one line, cut after 80 bytes.
#[must_use]
pub fn in_short(text: &str) -> Arc<str> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > SHORT {
            // Here and not at the end: a script of megabytes is not copied for 80 bytes.
            line.truncate(line.floor_char_boundary(SHORT));
            line.push('…');
            break;
        }
    }
    line.into()
}

/// A URL without query, fragment, user name and password: lists and logs show the rest.
fn without_secrets(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = plain.split_once("://") else { return plain.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// A picture's file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names say it, and doc comments would bloat the schema")]
pub enum ImageFormat {
    Png,
    Jpeg,
}

impl ImageFormat {
    /// Its media type.
    #[must_use]
    pub const fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }

    /// How the names of its files end.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
        }
    }

    /// All endings that the name of such a file can have, in small letters.
    #[must_use]
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Png => &["png"],
            Self::Jpeg => &["jpg", "jpeg"],
        }
    }

    /// The format according to a file's first bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let begins: [(&[u8], Self); 2] =
            [(b"\x89PNG\r\n\x1a\n", Self::Png), (b"\xff\xd8\xff", Self::Jpeg)];
        begins.into_iter().find_map(|(begin, format)| bytes.starts_with(begin).then_some(format))
    }
}

impl Action {
    /// The action's target in short: a URL without its query, a selector, or the beginning of a
    /// script.
    #[must_use]
    pub fn target(&self) -> Option<Arc<str>> {
        match self {
            Self::ExecuteJs { script, .. } => Some(in_short(script)),
            Self::Navigate { url, .. } | Self::TabOpen { url: Some(url), .. } => {
                Some(in_short(&without_secrets(url)))
            }
            Self::Analyze(
                PageAnalysis::Dom { selector, .. }
                | PageAnalysis::Accessibility { selector: Some(selector), .. },
            ) => Some(in_short(selector)),
            Self::Analyze(
                PageAnalysis::Accessibility { selector: None, .. }
                | PageAnalysis::PageSummary {}
                | PageAnalysis::Performance {},
            )
            | Self::TabOpen { url: None, .. }
            | Self::Refresh {}
            | Self::Back {}
            | Self::Forward {}
            | Self::PageInfo {}
            | Self::TabList {}
            | Self::TabClose {}
            | Self::TabActivate { .. }
            | Self::Screenshot { .. }
            | Self::DrawMode { .. } => None,
        }
    }

    /// Whether it opens a local file in a tab.
    #[must_use]
    pub fn opens_local_file(&self) -> bool {
        let url = match self {
            Self::Navigate { url, .. } => Some(url),
            Self::TabOpen { url, .. } => url.as_ref(),
            Self::ExecuteJs { .. }
            | Self::Refresh {}
            | Self::Back {}
            | Self::Forward {}
            | Self::PageInfo {}
            | Self::TabList {}
            | Self::TabClose {}
            | Self::TabActivate { .. }
            | Self::Screenshot { .. }
            | Self::DrawMode { .. }
            | Self::Analyze(_) => None,
        };
        url.is_some_and(|url| is_local_file_url(url))
    }

    /// The action's name, as MCP and the wire call it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ExecuteJs { .. } => "execute_js",
            Self::Navigate { .. } => "navigate",
            Self::Refresh {} => "refresh",
            Self::Back {} => "back",
            Self::Forward {} => "forward",
            Self::PageInfo {} => "page_info",
            Self::TabList {} => "tab_list",
            Self::TabOpen { .. } => "tab_open",
            Self::TabClose {} => "tab_close",
            Self::TabActivate { .. } => "tab_activate",
            Self::Screenshot { .. } => "screenshot",
            Self::DrawMode { .. } => "draw_mode",
            Self::Analyze(analysis) => analysis.name(),
        }
    }

    /// The first part of the correlation id.
    #[must_use]
    pub const fn id_kind(&self) -> &'static str {
        match self {
            Self::ExecuteJs { .. } => "exec",
            Self::Navigate { .. } | Self::Refresh {} | Self::Back {} | Self::Forward {} => "nav",
            Self::PageInfo {} => "info",
            Self::TabList {} => "tabs",
            Self::TabOpen { .. } | Self::TabClose {} | Self::TabActivate { .. } => "tab",
            Self::Screenshot { .. } => "shot",
            Self::DrawMode { .. } => "draw",
            Self::Analyze(analysis) => analysis.id_kind(),
        }
    }

    /// Whether running it twice does no harm. Such a command skips the claim.
    #[must_use]
    pub const fn is_safe(&self) -> bool {
        match self {
            Self::ExecuteJs { .. }
            | Self::Navigate { .. }
            | Self::Refresh {}
            | Self::Back {}
            | Self::Forward {}
            | Self::TabOpen { .. }
            | Self::TabClose {}
            | Self::TabActivate { .. } => false,
            // Drawing tools that are open already stay open.
            Self::DrawMode { .. }
            | Self::PageInfo {}
            | Self::TabList {}
            | Self::Screenshot { .. }
            | Self::Analyze(_) => true,
        }
    }

    /// Whether it concerns the browser as a whole and so needs no tab.
    #[must_use]
    pub const fn is_browser_wide(&self) -> bool {
        match self {
            Self::TabList {} | Self::TabOpen { .. } => true,
            Self::ExecuteJs { .. }
            | Self::Navigate { .. }
            | Self::Refresh {}
            | Self::Back {}
            | Self::Forward {}
            | Self::PageInfo {}
            | Self::TabClose {}
            | Self::TabActivate { .. }
            | Self::Screenshot { .. }
            | Self::DrawMode { .. }
            | Self::Analyze(_) => false,
        }
    }

    /// Whether it is delivered at once although another command runs in its tab: a stuck tab can
    /// be closed.
    #[must_use]
    pub const fn passes_lanes(&self) -> bool {
        matches!(self, Self::TabClose {})
    }

    /// The usual duration: the estimate until runs have been measured.
    #[must_use]
    pub const fn usual_length(&self) -> Duration {
        match self {
            Self::ExecuteJs { .. } | Self::PageInfo {} | Self::TabList {} => {
                Duration::from_millis(10)
            }
            Self::TabClose {} | Self::TabActivate { .. } | Self::DrawMode { .. } => {
                Duration::from_millis(50)
            }
            Self::Navigate { .. }
            | Self::Refresh {}
            | Self::Back {}
            | Self::Forward {}
            | Self::TabOpen { .. } => Duration::from_millis(1_000),
            Self::Screenshot { .. } => Duration::from_millis(150),
            Self::Analyze(analysis) => analysis.usual_length(),
        }
    }

    /// The name of the file for its picture, if one is named, and the format. The extension does not
    /// get the name: it cannot write files.
    #[must_use]
    pub fn picture_file(&self) -> Option<(&str, ImageFormat)> {
        match self {
            Self::Screenshot { path, format, .. } => {
                Some((path.as_deref()?, format.unwrap_or(ImageFormat::Png)))
            }
            Self::ExecuteJs { .. }
            | Self::Navigate { .. }
            | Self::Refresh {}
            | Self::Back {}
            | Self::Forward {}
            | Self::PageInfo {}
            | Self::TabList {}
            | Self::TabOpen { .. }
            | Self::TabClose {}
            | Self::TabActivate { .. }
            | Self::DrawMode { .. }
            | Self::Analyze(_) => None,
        }
    }

    /// The parameter that selects it, in its tool and in its record.
    const fn selector(&self) -> &'static str {
        if matches!(self, Self::Analyze(_)) { "what" } else { "action" }
    }

    /// The action's own parameters as the JSON object that goes over the wire.
    #[must_use]
    pub fn params(&self) -> Box<RawValue> {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            // Keeps the order of the other parameters, as the golden frames have it.
            object.shift_remove(self.selector());
        }
        serde_json::value::to_raw_value(&value).unwrap_or_default()
    }

    /// The whole action as JSON, for the journal, which reads it again.
    #[must_use]
    pub fn to_record(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        // Serde leaves `path` out of what goes to the extension; the record needs it.
        if let (Some((path, _)), Some(object)) = (self.picture_file(), value.as_object_mut()) {
            object.insert("path".to_owned(), path.into());
        }
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_told_in_short_and_without_what_could_be_secret_in_a_url() {
        let navigate = |url: &str| Action::Navigate { url: url.to_owned(), focus: None };
        for (url, told) in [
            ("https://ann:pw@a.test/x?token=1#f", "https://a.test/x"),
            ("https://ann@a.test?k=1", "https://a.test"),
            ("https://a.test/x@y", "https://a.test/x@y"),
            ("about:blank", "about:blank"),
        ] {
            assert_eq!(navigate(url).target().as_deref(), Some(told));
        }
        let script = |script: &str| Action::ExecuteJs { script: script.into(), user_gesture: None };
        assert_eq!(script("a\n  b").target().as_deref(), Some("a b"));
        let long = script(&"é".repeat(100)).target().unwrap();
        assert_eq!(*long, *format!("{}…", "é".repeat(40)));
    }
}
