//! The registry of browser actions: everything that is true of an action stands in its file.
//!
//! The doc comments of the actions and their parameters become the schemas that MCP clients read:
//! they speak to the model, and each has to be understood alone. From the registry come the
//! variants of [`Action`], the tools' schemas, the pages of the documentation, the golden command
//! frames and the types of the extension.

mod action_spec;
mod input_target;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
#[cfg(test)]
use schemars::SchemaGenerator;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::{LegacyAction, SavedFormat, is_local_file_url};
pub use action_spec::{ActionEffect, ActionSpec, ActionTool, RegisteredAction, ToolGroup};
pub use input_target::{
    ElementTarget, KeyModifier, MouseButton, PageAfterAct, PointTarget, SnapshotAfterAct,
    TargetWait,
};

/// Makes of the index the enum of all actions, the way from a variant to its file, and the registry.
macro_rules! actions {
    ($($file:ident: $variant:ident $params:ident,)*) => {
        $(mod $file;)*
        $(pub use $file::*;)*

        /// One browser action with its own parameters. Its name is the command's `type` on the wire
        /// and its parameters are the `params`.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Action {
            $(#[expect(missing_docs, reason = "its parameters say it")] $variant($params),)*
        }

        $(impl From<$params> for Action {
            fn from(params: $params) -> Self {
                Self::$variant(params)
            }
        })*

        impl Serialize for Action {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(params) => TaggedAction::of(params).serialize(serializer),)*
                }
            }
        }

        impl Action {
            /// Everything that is true of it whatever its parameters are.
            #[must_use]
            pub const fn spec(&self) -> &'static ActionSpec {
                match self {
                    $(Self::$variant(_) => &<$params as BrowserAction>::SPEC,)*
                }
            }

            /// See [`BrowserAction::is_safe`].
            #[must_use]
            pub fn is_safe(&self) -> bool {
                match self {
                    $(Self::$variant(params) => params.is_safe(),)*
                }
            }

            /// See [`BrowserAction::is_analysis`].
            #[must_use]
            pub fn is_analysis(&self) -> bool {
                match self {
                    $(Self::$variant(params) => params.is_analysis(),)*
                }
            }

            /// See [`BrowserAction::target`].
            #[must_use]
            pub fn target(&self) -> Option<Arc<str>> {
                match self {
                    $(Self::$variant(params) => params.target(),)*
                }
            }

            /// See [`BrowserAction::opens_local_file`].
            #[must_use]
            pub fn opens_local_file(&self) -> bool {
                match self {
                    $(Self::$variant(params) => params.opens_local_file(),)*
                }
            }

            /// See [`BrowserAction::opened_urls`].
            #[must_use]
            pub fn opened_urls(&self) -> Vec<&str> {
                match self {
                    $(Self::$variant(params) => params.opened_urls(),)*
                }
            }

            /// See [`BrowserAction::opens_private_tab`].
            #[must_use]
            pub fn opens_private_tab(&self) -> bool {
                match self {
                    $(Self::$variant(params) => params.opens_private_tab(),)*
                }
            }

            /// See [`BrowserAction::saved_file`].
            #[must_use]
            pub fn saved_file(&self) -> Option<(&str, SavedFormat)> {
                match self {
                    $(Self::$variant(params) => params.saved_file(),)*
                }
            }

            /// See [`BrowserAction::gives_files`].
            #[must_use]
            pub fn gives_files(&self, paths: &[String]) -> bool {
                match self {
                    $(Self::$variant(params) => params.gives_files(paths),)*
                }
            }

            fn file_name(&self) -> Option<&str> {
                match self {
                    $(Self::$variant(params) => params.file_name(),)*
                }
            }

            /// See [`BrowserAction::in_legacy_words`].
            #[must_use]
            pub fn in_legacy_words(&self, timeout_ms: u64) -> Option<LegacyAction> {
                match self {
                    $(Self::$variant(params) => params.in_legacy_words(timeout_ms),)*
                }
            }

            /// The action's own parameters as the JSON object that goes over the wire.
            #[must_use]
            pub fn params(&self) -> Box<RawValue> {
                let params = match self {
                    $(Self::$variant(params) => to_raw_value(params),)*
                };
                params.unwrap_or_default()
            }
        }

        /// The actions in the order of the index, which is the order of the tools' choices.
        static ACTIONS: &[RegisteredAction] = &[
            $(RegisteredAction {
                spec: &<$params as BrowserAction>::SPEC,
                #[cfg(test)]
                schema: SchemaGenerator::into_root_schema_for::<$params>,
                read: read::<$params>,
            },)*
        ];
    };
}

// The index: a line for each action.
actions! {
    execute_js: ExecuteJs ExecuteJsAction,
    navigate: Navigate NavigateAction,
    refresh: Refresh RefreshAction,
    back: Back BackAction,
    forward: Forward ForwardAction,
    page_info: PageInfo PageInfoAction,
    tab_list: TabList TabListAction,
    tab_open: TabOpen TabOpenAction,
    tab_close: TabClose TabCloseAction,
    tab_activate: TabActivate TabActivateAction,
    screenshot: Screenshot ScreenshotAction,
    pdf: Pdf PdfAction,
    draw_mode: DrawMode DrawModeAction,
    dom: Dom DomAction,
    accessibility: Accessibility AccessibilityAction,
    page_summary: PageSummary PageSummaryAction,
    performance: Performance PerformanceAction,
    trace: Trace TraceAction,
    record: Record RecordAction,
    audit: Audit AuditAction,
    forms: Forms FormsAction,
    snapshot: Snapshot SnapshotAction,
    find: Find FindAction,
    get_text: GetText GetTextAction,
    get_markdown: GetMarkdown GetMarkdownAction,
    get_html: GetHtml GetHtmlAction,
    get_value: GetValue GetValueAction,
    get_attributes: GetAttributes GetAttributesAction,
    click: Click ClickAction,
    hover: Hover HoverAction,
    scroll: Scroll ScrollAction,
    drag: Drag DragAction,
    draw: Draw DrawAction,
    upload_file: UploadFile UploadFileAction,
    type_text: TypeText TypeTextAction,
    press_key: PressKey PressKeyAction,
    select_option: SelectOption SelectOptionAction,
    check: Check CheckAction,
    uncheck: Uncheck UncheckAction,
    fill_form: FillForm FillFormAction,
    clipboard: Clipboard ClipboardAction,
    wait_for: WaitFor WaitForAction,
    batch: Batch BatchAction,
    page_tools: PageTools PageToolsAction,
    call_page_tool: CallPageTool CallPageToolAction,
    dialog: Dialog DialogAction,
    downloads: Downloads DownloadsAction,
    emulate: Emulate EmulateAction,
    highlight: Highlight HighlightAction,
    network_rules: NetworkRules NetworkRulesAction,
    cookies: Cookies CookiesAction,
    storage: Storage StorageAction,
    set_permissions: SetPermissions SetPermissionsAction,
}

/// One browser action: its parameters, and the rules that depend on them.
pub trait BrowserAction: Serialize + DeserializeOwned + JsonSchema {
    /// Everything that is true of the action whatever its parameters are.
    const SPEC: ActionSpec;

    /// Whether running it twice does no harm. A command for it skips the claim.
    fn is_safe(&self) -> bool {
        Self::SPEC.is_safe
    }

    /// Whether it tells what a page holds: its results go through the same removal of secrets as
    /// recorded entries.
    fn is_analysis(&self) -> bool {
        Self::SPEC.tool == ActionTool::Analyze || self.page_after().is_told()
    }

    /// What its answer tells of the page after it.
    fn page_after(&self) -> PageAfterAct {
        PageAfterAct::default()
    }

    /// The subject in short, for lists: a URL without its query, a selector, or the beginning of a
    /// script.
    fn target(&self) -> Option<Arc<str>> {
        None
    }

    /// Whether it sends a tab to a local file.
    fn opens_local_file(&self) -> bool {
        self.opened_urls().into_iter().any(is_local_file_url)
    }

    /// The URLs to which it sends tabs. A URL that is made of an earlier result of a batch is known
    /// only to the extension, which asks the daemon about each local file.
    fn opened_urls(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Whether it, or one of its steps, opens a tab in a private window.
    fn opens_private_tab(&self) -> bool {
        false
    }

    /// The name of the file for its picture or its PDF, and the format, if that goes to a file. The
    /// extension does not get the name: it cannot write files.
    fn saved_file(&self) -> Option<(&str, SavedFormat)> {
        None
    }

    /// Whether it, or one of its steps, gives exactly these files to the page: no others are opened
    /// for it.
    fn gives_files(&self, paths: &[String]) -> bool {
        let _ = paths;
        false
    }

    /// The name of the file for its result. The record has it, and the extension is not told it.
    fn file_name(&self) -> Option<&str> {
        None
    }

    /// The action in the words of an extension that only polls, for a command that may run for
    /// `timeout_ms`. `None`: such an extension does not know it, and would never answer.
    fn in_legacy_words(&self, timeout_ms: u64) -> Option<LegacyAction> {
        let _ = timeout_ms;
        None
    }
}

impl Action {
    /// The action of this name with these parameters. Other members of the map are ignored.
    /// `None`: no action has this name.
    ///
    /// # Errors
    ///
    /// The parameters are not those of the action.
    pub fn of_params(name: &str, params: &Map<String, Value>) -> Option<serde_json::Result<Self>> {
        let registered = RegisteredAction::named(name)?;
        Some((registered.read)(params))
    }

    /// The action's name, as MCP and the wire call it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.spec().name
    }

    /// The first part of the correlation id.
    #[must_use]
    pub const fn id_kind(&self) -> &'static str {
        self.spec().id_kind
    }

    /// Those of its steps whose results are pictures, if it is a batch.
    #[must_use]
    pub fn picture_steps(&self) -> Vec<usize> {
        let Self::Batch(BatchAction { steps }) = self else { return Vec::new() };
        let is_picture = |step: &BatchStep| step.action == ScreenshotAction::SPEC.name;
        steps.iter().enumerate().filter(|(_, step)| is_picture(step)).map(|(at, _)| at).collect()
    }

    /// The letters of the first ref by which its parameters name an element: those of a tab.
    #[must_use]
    pub fn letters_of_ref(&self) -> Option<String> {
        // A script can be long, and names no element.
        if matches!(self, Self::ExecuteJs(_)) {
            return None;
        }
        letters_of_first_ref(&serde_json::to_value(self).ok()?)
    }

    /// Whether it concerns the browser as a whole and so needs no tab.
    #[must_use]
    pub const fn is_browser_wide(&self) -> bool {
        self.spec().is_browser_wide
    }

    /// Whether it is delivered at once, even while another command runs in its tab: a stuck tab can
    /// be closed.
    #[must_use]
    pub const fn passes_lanes(&self) -> bool {
        self.spec().passes_lanes
    }

    /// How long it takes as a rule: the estimate until there are runs to go by.
    #[must_use]
    pub const fn usual_length(&self) -> Duration {
        self.spec().usual_length
    }

    /// The action as JSON, from which it can be read again, without its secrets: the form that is
    /// recorded.
    #[must_use]
    pub fn to_record(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let (Some(path), Some(object)) = (self.file_name(), value.as_object_mut()) {
            object.insert("path".to_owned(), path.into());
        }
        if let Some(object) = value.as_object_mut() {
            object.retain(|name, _| !self.spec().unrecorded.contains(&name.as_str()));
        }
        value.to_string()
    }
}

/// The parameters that name elements.
const ELEMENT_PARAMETERS: [&str; 4] = ["target", "startTarget", "endTarget", "gone"];

/// The letters of the first ref in parameters, or in their fields or steps.
fn letters_of_first_ref(params: &Value) -> Option<String> {
    match params {
        Value::Object(members) => members.iter().find_map(|(name, value)| match value {
            Value::String(text) if ELEMENT_PARAMETERS.contains(&name.as_str()) => letters_of(text),
            Value::Array(_) if ["fields", "steps"].contains(&name.as_str()) => {
                letters_of_first_ref(value)
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        }),
        Value::Array(items) => items.iter().find_map(letters_of_first_ref),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The letters of a ref: one to three, before a number.
fn letters_of(text: &str) -> Option<String> {
    let (letters, digits) = text.split_at(text.find(|c: char| !c.is_ascii_lowercase())?);
    let is_number = digits.len() < 10
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    ((1..=3).contains(&letters.len()) && is_number).then(|| letters.to_owned())
}

/// An action as it is recorded: its name under the parameter of the tool that offers it, then its
/// own parameters.
#[derive(Serialize)]
#[serde(untagged)]
enum TaggedAction<'a, A> {
    Acting {
        action: &'static str,
        #[serde(flatten)]
        params: &'a A,
    },
    Analysis {
        what: &'static str,
        #[serde(flatten)]
        params: &'a A,
    },
}

impl<'a, A: BrowserAction> TaggedAction<'a, A> {
    const fn of(params: &'a A) -> Self {
        match A::SPEC.tool {
            ActionTool::Interact | ActionTool::Daemon => {
                Self::Acting { action: A::SPEC.name, params }
            }
            ActionTool::Analyze => Self::Analysis { what: A::SPEC.name, params },
        }
    }
}

impl<'de> Deserialize<'de> for Action {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let record = Map::<String, Value>::deserialize(deserializer)?;
        let selected = ["action", "what"].into_iter().find_map(|selector| {
            let name = record.get(selector)?.as_str()?;
            RegisteredAction::named(name).filter(|known| known.spec.tool.selector() == selector)
        });
        let registered = selected.ok_or_else(|| D::Error::custom("it names no action"))?;
        (registered.read)(&record).map_err(D::Error::custom)
    }
}

/// Reads an action's own parameters.
fn read<A: BrowserAction + Into<Action>>(
    params: &Map<String, Value>,
) -> serde_json::Result<Action> {
    A::deserialize(params).map(Into::into)
}

#[cfg(test)]
mod tests;
