//! The view of a command in the chat of its client: an MCP App, the extension [`EXTENSION`] of
//! [SEP-1865], version 2026-01-26.
//!
//! It is one page, the same for every command and without any data; a client gives it the call's
//! result, of which `_meta` has the command's phases ([`META_TIMELINE`]). The page can do nothing: the
//! tools are for the model alone ("Visibility"), and its policy has no network.
//!
//! Only clients that declare the extension with the page's type hear of it ("Client<>Server Capability
//! Negotiation"). The page itself is given to anybody who asks for it: a client may have the list of
//! tools from before a restart of the daemon.
//!
//! [SEP-1865]: https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::generation::{META_CAPABILITIES, ProtocolGeneration};
use super::message::{RpcError, RpcErrorKind, RpcRequest};
use crate::proof;
use crate::protocol::{CommandStory, SERVER_VERSION};
use crate::tools;

/// The extension's name ("Extension Identifier").
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The type of a page that a host can show ("UI Resource Format").
const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The page's address.
const URI: &str = "ui://tabwire/command";

/// The page's methods.
const LIST: &str = "resources/list";
const TEMPLATES: &str = "resources/templates/list";
const READ: &str = "resources/read";

/// Where `_meta` of a result has the command's phases. A host does not show `_meta` to the model
/// ("Data Passing").
const META_TIMELINE: &str = "tabwire/command";

/// The page, complete. Its script and its style are let in by their hashes, and the picture of a
/// result by its scheme; a host can narrow that further and not widen it.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let style = [include_str!("../../edge/dashboard/page/palette.css"), include_str!("view.css")];
    let style = format!("\n{}", style.concat());
    let script = [
        include_str!("../../edge/dashboard/page/parts.js"),
        include_str!("../../edge/dashboard/page/phases.js"),
        include_str!("view.js"),
    ];
    let script = format!("\n{}", script.map(without_modules).concat());
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        source_of(&script),
        source_of(&style),
    );
    include_str!("view.html")
        .replacen("{{policy}}", &policy, 1)
        .replacen("{{version}}", SERVER_VERSION, 1)
        .replacen("{{style}}", &style, 1)
        .replacen("{{script}}", &script, 1)
});

/// A file of the dashboard's page as a part of one script.
fn without_modules(file: &str) -> String {
    let lines = file.lines().filter(|line| !line.starts_with("import "));
    let lines = lines.map(|line| line.strip_prefix("export ").unwrap_or(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The source by which a policy lets this text in.
fn source_of(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(proof::hash(text)))
}

/// Whether these capabilities of a client declare that it shows pages of this type.
fn is_declared_in(capabilities: Option<&Value>) -> bool {
    let extension = capabilities.and_then(|all| all.get("extensions")?.get(EXTENSION));
    let types = extension.and_then(|extension| extension.get("mimeTypes")?.as_array());
    types.is_some_and(|types| types.iter().any(|one| one == MIME_TYPE))
}

/// Whether a request declares that its client shows views: an `initialize`, or any request of the
/// modern generation. Other requests declare nothing.
#[must_use]
pub fn declares_views(request: &RpcRequest) -> bool {
    let meta = request.params.get("_meta").and_then(|meta| meta.get(META_CAPABILITIES));
    let said = (request.method == "initialize").then(|| request.params.get("capabilities"));
    is_declared_in(said.flatten().or(meta))
}

/// Names the page in the definitions of the tools that tell of commands ("Resource Discovery").
pub(super) fn name_in(tools: &mut Value) {
    for tool in tools.as_array_mut().into_iter().flatten() {
        if tool["name"].as_str().is_some_and(tools::tells_of_commands) {
            tool["_meta"]["ui"] = json!({"resourceUri": URI, "visibility": ["model"]});
        }
    }
}

/// Adds a command's phases to `_meta` of a result.
pub(super) fn add_to(meta: &mut Value, story: &CommandStory) {
    meta[META_TIMELINE] = serde_json::to_value(story).unwrap_or_default();
}

/// Answers a request about resources, of which the page is the only one. `None`: it is about
/// something else, or its client shows no views and asks for a list.
pub(super) fn answer(
    method: &str,
    params: &Map<String, Value>,
    generation: ProtocolGeneration,
    shows_views: bool,
) -> Option<Result<Value, RpcError>> {
    match method {
        LIST if shows_views => Some(Ok(json!({"resources": [resource()]}))),
        TEMPLATES if shows_views => Some(Ok(json!({"resourceTemplates": []}))),
        READ if shows_views || params.get("uri").is_some_and(|uri| uri == URI) => {
            Some(read(params, generation))
        }
        _ => None,
    }
}

fn resource() -> Value {
    json!({
        "uri": URI,
        "name": "command",
        "title": "A command of Tabwire",
        "description": "The phases, the end and the pictures of a command in the browser",
        "mimeType": MIME_TYPE,
        "_meta": meta(),
    })
}

/// What a host needs to show the page: no origin of any kind, and no permission.
fn meta() -> Value {
    let none: [&str; 0] = [];
    json!({"ui": {
        "csp": {
            "connectDomains": none, "resourceDomains": none, "frameDomains": none,
            "baseUriDomains": none,
        },
        "prefersBorder": true,
    }})
}

fn read(params: &Map<String, Value>, generation: ProtocolGeneration) -> Result<Value, RpcError> {
    match params.get("uri").and_then(Value::as_str) {
        Some(URI) => Ok(json!({"contents": [{
            "uri": URI, "mimeType": MIME_TYPE, "text": *PAGE, "_meta": meta(),
        }]})),
        Some(_) => {
            // The generations have different codes for it (SEP-2164).
            let kind = match generation {
                ProtocolGeneration::Legacy => RpcErrorKind::Resource,
                ProtocolGeneration::Modern => RpcErrorKind::Params,
            };
            Err(RpcError::new(kind, format!("Unknown resource: there is {URI} alone")))
        }
        None => Err(RpcError::new(RpcErrorKind::Params, "params.uri must be a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, params: &Value) -> RpcRequest {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let bytes = message.to_string().into_bytes();
        match super::super::IncomingMessage::parse(&bytes) {
            Ok(super::super::IncomingMessage::Request(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_page_is_one_small_file_that_names_nothing_outside_and_makes_no_markup_of_text() {
        let page = PAGE.as_str();
        assert!(page.len() < 24 * 1024, "{} bytes", page.len());
        for absent in [
            "{{policy",
            "{{style",
            "{{script",
            "{{version",
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "fetch(",
            "XMLHttpRequest",
            "WebSocket",
            "http://",
            "https://",
            " src=\"",
            " href=",
            "style=",
            " onclick",
            "\nimport ",
            "\nexport ",
            "tools/call",
            "ui/message",
            "ui/open-link",
            "ui/update-model-context",
        ] {
            assert!(!page.contains(absent), "{absent}");
        }
        assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (1, 1));
        assert_eq!((page.matches("<style").count(), page.matches("</style").count()), (1, 1));
        assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    }

    #[test]
    fn the_policy_lets_in_the_pages_own_script_and_style_and_no_network() {
        let page = PAGE.as_str();
        let between = |from: &str, to: &str| {
            let (_, rest) = page.split_once(from).unwrap();
            rest.split_once(to).unwrap().0.to_owned()
        };
        let policy = between("Content-Security-Policy\" content=\"", "\"");
        let script = source_of(&between("<script type=\"module\">", "</script>"));
        let style = source_of(&between("<style>", "</style>"));
        assert!(policy.contains(&format!("script-src '{script}';")), "{policy}");
        assert!(policy.contains(&format!("style-src '{style}';")), "{policy}");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("connect-src"));
    }

    #[test]
    fn only_a_client_that_shows_pages_of_this_type_declares_views() {
        let extension = |value: Value| json!({"extensions": {EXTENSION: value}});
        let right = extension(json!({"mimeTypes": ["text/plain", MIME_TYPE]}));
        assert!(declares_views(&request("initialize", &json!({"capabilities": right}))));
        let meta = json!({"_meta": {META_CAPABILITIES: right}});
        assert!(declares_views(&request("tools/list", &meta)));
        assert!(!declares_views(&request("tools/list", &json!({"capabilities": right}))));
        for wrong in [
            json!({}),
            json!(null),
            json!([EXTENSION]),
            extension(json!({})),
            extension(json!(true)),
            extension(json!({"mimeTypes": []})),
            extension(json!({"mimeTypes": MIME_TYPE})),
            extension(json!({"mimeTypes": ["text/html"]})),
            extension(json!({"mimeTypes": [MIME_TYPE.to_uppercase()]})),
            json!({"experimental": {EXTENSION: {"mimeTypes": [MIME_TYPE]}}}),
        ] {
            let initialize = request("initialize", &json!({"capabilities": wrong}));
            assert!(!declares_views(&initialize), "{wrong}");
            let meta = json!({"_meta": {META_CAPABILITIES: wrong}});
            assert!(!declares_views(&request("tools/list", &meta)), "{wrong}");
        }
    }
}
