//! The catalogue that clients see, and the seam at which another build adds tools of its own.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::command_view;
use super::generation::ProtocolGeneration;
use super::message::{RpcError, RpcRequest};
use crate::hub::{Caller, Hub};
use crate::tools::{ResponseMode, ToolReply, ToolSurface};

/// The part of the server that clients can list.
#[derive(Clone, Debug)]
pub struct ToolCatalogue {
    /// The list that `tools/list` answers with.
    pub tools: Value,
    /// The capabilities in `initialize` and `server/discover`, without extensions.
    pub capabilities: Value,
    /// How the tools are to be used, for the model.
    pub instructions: String,
}

/// A tool call, as its request has it.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// The other parameters of the request.
    pub params: &'a Map<String, Value>,
    /// The idempotency key of a call whose arguments have none.
    pub key: Option<Arc<str>>,
    /// How the call hears of the command that it submits.
    pub mode: ResponseMode,
}

/// Tools and methods beside the program's own. The program has none: the conformance suite
/// expects tools of its own on a server, and they must run through the dispatcher that ships.
#[derive(Debug)]
pub struct ExtraTools {
    /// The catalogue that clients see: the program's own tools, and these.
    pub catalogue: ToolCatalogue,
    /// Answers a request that needs no command. `None`: the request is the program's.
    pub answer: fn(&RpcRequest, ProtocolGeneration) -> Option<Result<Value, RpcError>>,
    /// Whether one of these tools has this name.
    pub has: fn(&str) -> bool,
    /// Calls one of these tools. On return its command is accepted, recorded and on its way.
    pub call: for<'a> fn(&'a Hub, &'a Caller, ToolCall<'a>) -> ExtraReply<'a>,
}

/// The reply of an extra tool.
pub type ExtraReply<'a> = BoxFuture<'a, Result<ToolReply, RpcError>>;

impl ToolCatalogue {
    /// The catalogue of the program's own tools, on this surface.
    #[must_use]
    pub fn own(surface: &ToolSurface) -> Self {
        let own = CatalogueSource::Own { surface, shows_views: false };
        Self {
            tools: own.tools(),
            capabilities: own.capabilities(),
            instructions: own.instructions(),
        }
    }
}

/// Where the parts of a catalogue come from. Each is made when it is asked for: the list of tools takes
/// milliseconds, and a client that only says hello should not wait for it.
#[derive(Clone, Copy, Debug)]
pub(super) enum CatalogueSource<'a> {
    /// The program's own tools, on this surface. They name the view of commands if their client shows
    /// views.
    Own { surface: &'a ToolSurface, shows_views: bool },
    /// A catalogue that is there.
    Ready(&'a ToolCatalogue),
}

impl CatalogueSource<'_> {
    pub(super) fn tools(self) -> Value {
        match self {
            Self::Ready(catalogue) => catalogue.tools.clone(),
            Self::Own { surface, shows_views } => {
                let mut tools = surface.list().into_owned();
                if shows_views {
                    command_view::name_in(&mut tools);
                }
                tools
            }
        }
    }

    pub(super) fn capabilities(self) -> Value {
        match self {
            Self::Ready(catalogue) => catalogue.capabilities.clone(),
            Self::Own { shows_views, .. } => {
                let mut capabilities = json!({"tools": {"listChanged": false}});
                if shows_views {
                    capabilities["resources"] = json!({});
                }
                capabilities
            }
        }
    }

    pub(super) fn instructions(self) -> String {
        match self {
            Self::Ready(catalogue) => catalogue.instructions.clone(),
            Self::Own { surface, .. } => surface.instructions(),
        }
    }
}
