//! What there is to call. The dispatcher knows versions, headers, tasks, progress and cancels,
//! and asks a [`Toolbox`] for everything that has a name of its own.

use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::generation::ProtocolGeneration;
use super::message::{RpcError, RpcErrorKind, RpcRequest};
use crate::hub::{Caller, Hub};
use crate::tools::{self, ResponseMode, ToolReply, ToolSet};

/// What clients are shown of a toolbox.
#[derive(Clone, Debug)]
pub struct ToolCatalogue {
    /// The list that `tools/list` answers with.
    pub tools: Value,
    /// What is said of it in `initialize` and `server/discover`, but for extensions.
    pub capabilities: Value,
}

/// A tool call, as its request has it.
#[derive(Debug)]
pub struct ToolCall<'a> {
    /// The tool's name.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// What else the request says.
    pub params: &'a Map<String, Value>,
    /// The idempotency key of a call whose arguments have none.
    pub key: Option<Arc<str>>,
    /// How it is to hear of the command that it submits.
    pub mode: ResponseMode,
}

/// What is served over MCP.
pub trait Toolbox: Debug + Send + Sync {
    /// The hub that has the commands of its calls.
    fn hub(&self) -> &Hub;

    /// What clients are shown.
    fn catalogue(&self) -> &ToolCatalogue;

    /// Answers a request that the dispatcher does not answer by itself, and that needs no
    /// command: the result, but for what every result carries. `None`: it is not for this.
    ///
    /// # Errors
    ///
    /// What the client is answered instead.
    fn answer(
        &self,
        request: &RpcRequest,
        generation: ProtocolGeneration,
    ) -> Option<Result<Value, RpcError>>;

    /// Calls a tool. When this returns, a command that was submitted is accepted, recorded and
    /// on its way.
    ///
    /// # Errors
    ///
    /// [`RpcErrorKind::Params`]: there is no such tool.
    fn call<'a>(
        &'a self,
        caller: &'a Caller,
        call: ToolCall<'a>,
    ) -> BoxFuture<'a, Result<ToolReply, RpcError>>;
}

impl ToolCatalogue {
    /// That of the program's own tools.
    #[must_use]
    pub fn own() -> &'static Self {
        static OWN: LazyLock<ToolCatalogue> = LazyLock::new(|| ToolCatalogue {
            tools: tools::list().clone(),
            capabilities: json!({"tools": {"listChanged": false}}),
        });
        &OWN
    }
}

impl Toolbox for ToolSet {
    fn hub(&self) -> &Hub {
        self.hub()
    }

    fn catalogue(&self) -> &ToolCatalogue {
        ToolCatalogue::own()
    }

    fn answer(&self, _: &RpcRequest, _: ProtocolGeneration) -> Option<Result<Value, RpcError>> {
        None
    }

    fn call<'a>(
        &'a self,
        caller: &'a Caller,
        call: ToolCall<'a>,
    ) -> BoxFuture<'a, Result<ToolReply, RpcError>> {
        let ToolCall { name, arguments, params: _, key, mode } = call;
        let called = self.call(caller, name, arguments, key, mode);
        let unknown = move || RpcError::new(RpcErrorKind::Params, format!("Unknown tool: {name}"));
        called.map(move |called| called.ok_or_else(unknown)).boxed()
    }
}
