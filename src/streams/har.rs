//! Recorded requests as an HTTP archive (HAR 1.2), the form in which tools exchange them.
//!
//! It is made of entries as callers see them, so it holds no secret that those do not hold.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::record::{CapturedHeaders, NetworkRequest, RequestBodies};
use crate::protocol::{SERVER_VERSION, Timestamp};

/// A size that is not known.
const UNKNOWN: i64 = -1;

/// A request as callers see it.
#[derive(Deserialize)]
struct ShownRequest {
    at: Timestamp,
    #[serde(flatten)]
    request: NetworkRequest,
}

/// The archive of these entries of `network`, with the texts of these entries of `bodies`. Entries
/// that cannot be read are left out.
#[must_use]
pub fn http_archive(requests: &[Box<RawValue>], bodies: &[Box<RawValue>]) -> Value {
    let read = bodies.iter().filter_map(|entry| serde_json::from_str(entry.get()).ok());
    let bodies: HashMap<Box<str>, RequestBodies> =
        read.map(|bodies: RequestBodies| (bodies.request_id.clone(), bodies)).collect();
    let read = requests.iter().filter_map(|entry| serde_json::from_str(entry.get()).ok());
    let entries: Vec<_> = read.map(|shown: ShownRequest| entry_of(&shown, &bodies)).collect();
    // Its version comes first: by that a file is recognised.
    json!({"log": {
        "version": "1.2",
        "creator": {"name": "Tabwire", "version": SERVER_VERSION},
        "entries": entries,
    }})
}

fn entry_of(shown: &ShownRequest, bodies: &HashMap<Box<str>, RequestBodies>) -> Value {
    let ShownRequest { at, request } = shown;
    let bodies = request.request_id.as_ref().and_then(|id| bodies.get(id));
    // A redirect has the id of its request, and the bodies are those of its end.
    let bodies = bodies.filter(|bodies| bodies.url == request.url);
    let number = |number: &Option<serde_json::Number>| number.as_ref().and_then(|n| n.as_f64());
    let time = number(&request.duration_ms).unwrap_or(0.0).max(0.0);
    let wait = number(&request.ttfb_ms).unwrap_or(time).clamp(0.0, time);
    let mut entry = json!({
        "startedDateTime": at,
        "time": time,
        "request": request_of(request, bodies),
        "response": response_of(request, bodies),
        "cache": {},
        "timings": {"send": 0, "wait": wait, "receive": time - wait},
    });
    // Fields of one's own begin with `_`.
    let own = [
        ("_resourceType", request.resource_type.as_deref().map(Value::from)),
        ("_fromCache", request.from_cache.map(Value::from)),
        ("_error", request.error.as_deref().map(Value::from)),
        ("_pageUrl", request.page_url.as_deref().map(Value::from)),
    ];
    if let Some(entry) = entry.as_object_mut() {
        entry.extend(own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    entry
}

fn request_of(request: &NetworkRequest, bodies: Option<&RequestBodies>) -> Value {
    let sent = bodies.and_then(|bodies| bodies.request_body.as_deref());
    let mut told = json!({
        "method": request.method.as_deref().unwrap_or("GET"),
        "url": request.url,
        // The recording does not have it.
        "httpVersion": "",
        "cookies": [],
        "headers": headers_of(request.request_headers.as_ref()),
        "queryString": query_of(&request.url),
        "headersSize": UNKNOWN,
        "bodySize": sent.map_or(UNKNOWN, |sent| i64::try_from(sent.len()).unwrap_or(UNKNOWN)),
    });
    if let Some(sent) = sent {
        let kind = header(request.request_headers.as_ref(), "content-type").unwrap_or_default();
        told["postData"] = json!({"mimeType": kind, "params": [], "text": sent});
    }
    told
}

fn response_of(request: &NetworkRequest, bodies: Option<&RequestBodies>) -> Value {
    let mut content = Map::new();
    let size = request.bytes.clone().map_or_else(|| json!(0), Value::from);
    content.insert("size".to_owned(), size.clone());
    content.insert("mimeType".to_owned(), request.mime_type.as_deref().unwrap_or_default().into());
    if let Some(bodies) = bodies
        && let Some(text) = bodies.response_body.as_deref()
    {
        content.insert("text".to_owned(), text.into());
        if bodies.base64 {
            content.insert("encoding".to_owned(), "base64".into());
        }
        if bodies.truncated {
            content.insert("comment".to_owned(), "truncated".into());
        }
    }
    json!({
        // As other tools write it for a request without an answer.
        "status": request.status.unwrap_or(0),
        "statusText": request.status_text.as_deref().unwrap_or_default(),
        "httpVersion": "",
        "cookies": [],
        "headers": headers_of(request.response_headers.as_ref()),
        "content": content,
        "redirectURL":
            header(request.response_headers.as_ref(), "location").unwrap_or_default(),
        "headersSize": UNKNOWN,
        "bodySize": request.bytes.clone().map_or_else(|| json!(UNKNOWN), Value::from),
    })
}

fn headers_of(headers: Option<&CapturedHeaders>) -> Vec<Value> {
    let headers = headers.into_iter().flatten();
    headers.map(|(name, value)| json!({"name": name, "value": value})).collect()
}

fn header<'a>(headers: Option<&'a CapturedHeaders>, wanted: &str) -> Option<&'a str> {
    let mut headers = headers?.iter();
    headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| &**value)
}

/// The parameters of a URL's query, as they stand there.
fn query_of(url: &str) -> Vec<Value> {
    let whole = url.split('#').next().unwrap_or_default();
    let Some((_, query)) = whole.split_once('?') else { return Vec::new() };
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pairs = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
    pairs.map(|(name, value)| json!({"name": name, "value": value})).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::*;

    #[test]
    fn an_archive_has_each_request_with_its_bodies_and_says_what_is_not_known() {
        let raw = |value: Value| to_raw_value(&value).unwrap();
        let requests = [
            raw(json!({
                "at": "2026-11-24T05:00:00.000Z", "browser": "b", "request_id": "1", "method": "POST",
                "url": "https://shop.example/buy?item=7&gift#top", "status": 201, "duration_ms": 40,
                "ttfb_ms": 30.5, "bytes": 12, "mime_type": "application/json",
                "request_headers": {"Content-Type": "application/json", "Cookie": "[redacted]"},
                "response_headers": {"Location": "/order/1"},
            })),
            raw(json!({
                "at": "2026-11-24T05:00:01.000Z", "browser": "b",
                "url": "https://shop.example/lost", "error": "net::ERR_FAILED",
            })),
            raw(json!("no entry")),
        ];
        let bodies = [raw(json!({
            "at": "2026-11-24T05:00:00.000Z", "browser": "b", "request_id": "1", "method": "POST",
            "url": "https://shop.example/buy?item=7&gift#top", "request_body": "{}",
            "response_body": "eyJ9", "base64": true, "truncated": false,
        }))];
        let archive = http_archive(&requests, &bodies);
        assert!(archive.to_string().starts_with("{\"log\":{\"version\":\"1.2\""));
        let [bought, lost] = &archive["log"]["entries"].as_array().unwrap()[..] else { panic!() };
        assert_eq!(bought["startedDateTime"], "2026-11-24T05:00:00.000Z");
        assert_eq!(bought["timings"], json!({"send": 0, "wait": 30.5, "receive": 9.5}));
        let query = json!([{"name": "item", "value": "7"}, {"name": "gift", "value": ""}]);
        assert_eq!(bought["request"]["queryString"], query);
        assert_eq!(bought["request"]["postData"]["mimeType"], "application/json");
        assert_eq!(bought["response"]["status"], 201);
        assert_eq!(bought["response"]["redirectURL"], "/order/1");
        assert_eq!(bought["response"]["content"]["encoding"], "base64");
        assert!(bought.to_string().contains("[redacted]"));
        assert_eq!((&lost["response"]["status"], &lost["time"]), (&json!(0), &json!(0.0)));
        assert_eq!(lost["_error"], "net::ERR_FAILED");
    }
}
