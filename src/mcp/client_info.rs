//! The program that a client says it is.

use serde_json::Value;

use super::message::RpcRequest;
use crate::protocol::ClientProgram;

/// Where a request of the modern generation says it; of the legacy generation, `initialize` does.
const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// The program that a request says it comes from. Its title is shown rather than its name,
/// if it has one.
pub(super) fn program(request: &RpcRequest) -> Option<ClientProgram> {
    let in_meta = request.params.get("_meta").and_then(|meta| meta.get(META_CLIENT_INFO));
    let info = match request.method.as_str() {
        "initialize" => request.params.get("clientInfo").or(in_meta)?,
        _ => in_meta?,
    };
    let text = |name: &str| info.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    ClientProgram::of(text("title").or(text("name"))?, text("version").unwrap_or_default())
}
