//! The generation of MCP that a request belongs to, decided for each request by itself.
//!
//! Up to 2025-11-25 a client says once, with `initialize`, which version it speaks. From
//! 2026-07-28 on every request says so in its `_meta`, and over HTTP in headers, which
//! must agree with the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::message::{RpcError, RpcErrorKind, RpcRequest};

/// The version in which every request stands alone.
pub const MODERN_VERSION: &str = "2026-07-28";

/// The versions that begin with `initialize`, newest first. 2024-11-05 is for stdio.
pub const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The legacy version to go on with: the one that the client asked for if it is known, else
/// the newest. A client that cannot go on with that says so itself.
#[must_use]
pub fn negotiate(initialize: &RpcRequest) -> &'static str {
    let asked = initialize.params.get("protocolVersion").and_then(Value::as_str);
    // The static text is returned, never the client's.
    let known = LEGACY_VERSIONS.into_iter().find(|version| Some(*version) == asked);
    known.unwrap_or(LEGACY_VERSIONS[0])
}

/// The field of `_meta` with a request's version.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

pub(super) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The generations of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolGeneration {
    /// Up to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

/// The headers in which an HTTP request repeats its body. A header that came
/// twice is joined with a comma, and so equals nothing.
#[derive(Clone, Debug, Default)]
pub struct McpHeaders {
    /// `MCP-Protocol-Version`.
    pub version: Option<String>,
    /// `Mcp-Method`.
    pub method: Option<String>,
    /// `Mcp-Name`.
    pub name: Option<String>,
}

impl McpHeaders {
    /// Whether a message that needs no answer is of a version that is spoken here, if it
    /// says which.
    ///
    /// # Errors
    ///
    /// [`RpcErrorKind::Version`].
    pub fn check_version(&self) -> Result<(), RpcError> {
        match self.version.as_deref() {
            None | Some(MODERN_VERSION) => Ok(()),
            Some(version) if LEGACY_VERSIONS.contains(&version) => Ok(()),
            Some(unknown) => Err(unsupported(unknown, &all_versions())),
        }
    }
}

impl ProtocolGeneration {
    /// The generation of a request. `headers` is `None` on transports that have none.
    ///
    /// # Errors
    ///
    /// In the order in which the specification has them checked: what a request of the
    /// modern generation must say in `_meta`, headers against body, the version itself.
    pub fn of(request: &RpcRequest, headers: Option<&McpHeaders>) -> Result<Self, RpcError> {
        let meta = request.params.get("_meta");
        let says = meta.and_then(|meta| meta.get(META_VERSION));
        let header = headers.and_then(|headers| headers.version.as_deref());
        let is_initialize = request.method == "initialize";
        let header_is_legacy = header.is_none_or(|version| LEGACY_VERSIONS.contains(&version));
        // A legacy request has no `_meta` of this kind, and its header came with 2025-06-18 only.
        if says.is_none() && (is_initialize || header_is_legacy) {
            return Ok(Self::Legacy);
        }
        if says.is_none() && header.is_some_and(|version| version != MODERN_VERSION) {
            return Err(unsupported(header.unwrap_or_default(), &all_versions()));
        }
        // The body decides; headers only have to agree with it.
        let version = check_meta(meta)?;
        if let Some(headers) = headers {
            check_headers(request, headers, version)?;
        }
        if version != MODERN_VERSION {
            return Err(unsupported(version, &json!([MODERN_VERSION])));
        }
        Ok(Self::Modern)
    }
}

fn all_versions() -> Value {
    let mut versions = vec![MODERN_VERSION];
    versions.extend(LEGACY_VERSIONS);
    json!(versions)
}

fn unsupported(requested: &str, supported: &Value) -> RpcError {
    RpcError {
        kind: RpcErrorKind::Version,
        message: "Unsupported protocol version".to_owned(),
        data: Some(json!({"supported": supported, "requested": requested}).into()),
    }
}

/// Checks the required fields of `_meta`, and returns the version.
fn check_meta(meta: Option<&Value>) -> Result<&str, RpcError> {
    let version = meta.and_then(|meta| meta.get(META_VERSION)).and_then(Value::as_str);
    let capabilities = meta.and_then(|meta| meta.get(META_CAPABILITIES)).and_then(Value::as_object);
    match (version, capabilities) {
        (Some(version), Some(_)) => Ok(version),
        (version, capabilities) => {
            let missing: Vec<_> = [
                version.is_none().then_some(META_VERSION),
                capabilities.is_none().then_some(META_CAPABILITIES),
            ]
            .into_iter()
            .flatten()
            .collect();
            let message = format!("params._meta must have {}", missing.join(" and "));
            let data = Some(json!({"missing": missing}).into());
            Err(RpcError { kind: RpcErrorKind::Envelope, message, data })
        }
    }
}

fn check_headers(
    request: &RpcRequest,
    headers: &McpHeaders,
    version: &str,
) -> Result<(), RpcError> {
    let mismatch = |header: &str, body: &str| {
        Err(RpcError::new(
            RpcErrorKind::HeaderMismatch,
            format!("{header} must be there once and say what the body says: {body}"),
        ))
    };
    if headers.version.as_deref() != Some(version) {
        return mismatch("MCP-Protocol-Version", version);
    }
    if headers.method.as_deref() != Some(request.method.as_str()) {
        return mismatch("Mcp-Method", &request.method);
    }
    // A name that is missing in the body is for the method to complain of.
    let Some(name) = name_in_header(request) else { return Ok(()) };
    // Decoded before it is compared: a name may be any Unicode text.
    if headers.name.as_deref().and_then(decode_name).as_deref() != Some(name) {
        return mismatch("Mcp-Name", name);
    }
    Ok(())
}

/// The value that the header `Mcp-Name` of a request must have, if it needs one.
#[must_use]
pub fn name_in_header(request: &RpcRequest) -> Option<&str> {
    let named_by = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    request.params.get(named_by)?.as_str()
}

/// A name as a header value, as the server decodes it.
#[must_use]
pub fn encode_name(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && name.trim() == name
        && !name.starts_with("=?base64?");
    if is_plain { name.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(name)) }
}

/// A header value as text: plain, or base64 between `=?base64?` and `?=` where a header
/// could not carry it plainly.
fn decode_name(value: &str) -> Option<String> {
    let value = value.trim_matches([' ', '\t']);
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
