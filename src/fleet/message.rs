//! Requests and replies as messages of NATS: the head as headers, the body as bytes.

use std::str::FromStr;
use std::time::Duration;

use async_nats::HeaderMap as MessageHeaders;
use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Request};

use super::call::{AnswerHead, CallReply, FleetRefusal, HomeRequest, PART_MAX};
use crate::reach::{BODY_MAX, HEADERS_MAX};

/// The version of what is spoken between agents and homes.
pub(super) const VERSION: &str = "1";

/// How much of the server's largest message is kept for its headers, in bytes.
pub(super) const HEADERS_ROOM: usize = HEADERS_MAX as usize;

const VERSION_NAME: &str = "Tw-Version";
const REQUEST: &str = "Tw-Request";
const CALL: &str = "Tw-Call";
const METHOD: &str = "Tw-Method";
const PATH: &str = "Tw-Path";
const FROM: &str = "Tw-From";
const MOST: &str = "Tw-Most";
const REPLY: &str = "Tw-Reply";
const STATUS: &str = "Tw-Status";
const TOTAL: &str = "Tw-Total";
const REASON: &str = "Tw-Reason";
const AFTER: &str = "Tw-After-Ms";
const LIFE: &str = "Tw-Life";
const SINCE: &str = "Tw-Since-Ms";

/// How the names of our own headers begin: no header of a call has one.
const OWN: &str = "tw-";

/// The id of a call, which its agent has drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FleetCallId(u128);

impl FleetCallId {
    /// An id that nobody guesses.
    pub(super) fn random() -> Self {
        // 128 random bits in hexadecimal digits are such a number.
        Self(u128::from_str_radix(&crate::proof::random_hex::<16>(), 16).unwrap_or_default())
    }
}

impl std::fmt::Display for FleetCallId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FleetCallIdError;

impl FromStr for FleetCallId {
    type Err = FleetCallIdError;

    fn from_str(text: &str) -> Result<Self, FleetCallIdError> {
        let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_id);
        number.map(Self).ok_or(FleetCallIdError)
    }
}

/// A request as home reads it.
#[derive(Debug)]
pub(super) enum ReceivedRequest {
    Open(Box<Request<Bytes>>),
    Next { from: u64, most: usize },
    Close,
}

/// A request that home does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadRequest(pub(super) FleetRefusal);

const MALFORMED: BadRequest = BadRequest(FleetRefusal::Malformed);

/// The call that is opened, as it stands in a message. `None`: a header has bytes that no message can carry.
pub(super) fn opening(
    id: FleetCallId,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<MessageHeaders> {
    let mut told = of_request(id, "open");
    told.insert(METHOD, method.as_str());
    told.insert(PATH, path.parse::<async_nats::HeaderValue>().ok()?);
    copy_in(headers, &mut told)?;
    Some(told)
}

/// The headers of a later request.
pub(super) fn request(id: FleetCallId, request: &HomeRequest) -> MessageHeaders {
    match request {
        HomeRequest::Open => of_request(id, "open"),
        HomeRequest::Next { from, most } => {
            let mut told = of_request(id, "next");
            told.insert(FROM, from.to_string());
            told.insert(MOST, most.to_string());
            told
        }
    }
}

/// The headers that end a call.
pub(super) fn closing(id: FleetCallId) -> MessageHeaders {
    of_request(id, "close")
}

fn of_request(id: FleetCallId, kind: &str) -> MessageHeaders {
    let mut told = MessageHeaders::new();
    told.insert(VERSION_NAME, VERSION);
    told.insert(REQUEST, kind);
    told.insert(CALL, id.to_string());
    told
}

/// Reads a request.
pub(super) fn read_request(
    headers: Option<&MessageHeaders>,
    body: &Bytes,
) -> Result<(FleetCallId, ReceivedRequest), BadRequest> {
    let headers = headers.ok_or(MALFORMED)?;
    check_size(headers)?;
    if word(headers, VERSION_NAME) != Some(VERSION) {
        return Err(MALFORMED);
    }
    let id = word(headers, CALL).and_then(|id| id.parse().ok()).ok_or(MALFORMED)?;
    let request = match word(headers, REQUEST) {
        Some("open") => {
            if body.len() > BODY_MAX {
                return Err(BadRequest(FleetRefusal::TooLarge));
            }
            ReceivedRequest::Open(Box::new(read_opening(headers, body).ok_or(MALFORMED)?))
        }
        Some("next") => {
            let most = number(headers, MOST).and_then(|most| usize::try_from(most).ok());
            let from = number(headers, FROM).ok_or(MALFORMED)?;
            let most = most.filter(|most| (1..=PART_MAX).contains(most)).ok_or(MALFORMED)?;
            ReceivedRequest::Next { from, most }
        }
        Some("close") => ReceivedRequest::Close,
        Some(_) | None => return Err(MALFORMED),
    };
    Ok((id, request))
}

fn read_opening(headers: &MessageHeaders, body: &Bytes) -> Option<Request<Bytes>> {
    let mut call = Request::new(body.clone());
    *call.method_mut() = word(headers, METHOD)?.parse().ok()?;
    *call.uri_mut() = word(headers, PATH)?.parse().ok()?;
    *call.headers_mut() = copy_out(headers)?;
    Some(call)
}

/// A reply, as headers and body.
pub(super) fn reply(reply: CallReply) -> (MessageHeaders, Bytes) {
    let mut told = MessageHeaders::new();
    told.insert(VERSION_NAME, VERSION);
    match reply {
        CallReply::More => told.insert(REPLY, "more"),
        CallReply::Broken => told.insert(REPLY, "broken"),
        CallReply::Refused(why) => {
            told.insert(REPLY, "refused");
            told.insert(REASON, reason(why));
            if let FleetRefusal::Busy(after) = why {
                told.insert(AFTER, after.as_millis().to_string());
            }
        }
        CallReply::Part { head, from, data, total } => {
            told.insert(REPLY, "part");
            told.insert(FROM, from.to_string());
            if let Some(total) = total {
                told.insert(TOTAL, total.to_string());
            }
            if let Some(head) = head {
                told.insert(STATUS, head.status.to_string());
                // The daemon's own headers are plain words.
                let _ = copy_in(&head.headers, &mut told);
            }
            return (told, data);
        }
    }
    (told, Bytes::new())
}

const fn reason(why: FleetRefusal) -> &'static str {
    match why {
        FleetRefusal::UnknownCall => "unknown_call",
        FleetRefusal::Closed => "closed",
        FleetRefusal::Busy(_) => "busy",
        FleetRefusal::Malformed => "malformed",
        FleetRefusal::TooLarge => "too_large",
    }
}

/// Reads a reply. `None`: it is none.
pub(super) fn read_reply(headers: Option<&MessageHeaders>, body: Bytes) -> Option<CallReply> {
    let headers = headers?;
    check_size(headers).ok()?;
    if word(headers, VERSION_NAME) != Some(VERSION) {
        return None;
    }
    match word(headers, REPLY)? {
        "more" => Some(CallReply::More),
        "broken" => Some(CallReply::Broken),
        "refused" => {
            let why = match word(headers, REASON)? {
                "unknown_call" => FleetRefusal::UnknownCall,
                "closed" => FleetRefusal::Closed,
                "busy" => FleetRefusal::Busy(Duration::from_millis(number(headers, AFTER)?)),
                "malformed" => FleetRefusal::Malformed,
                "too_large" => FleetRefusal::TooLarge,
                _ => return None,
            };
            Some(CallReply::Refused(why))
        }
        "part" => {
            let head = match word(headers, STATUS) {
                Some(status) => {
                    let status =
                        status.parse().ok().filter(|status| (200..600).contains(status))?;
                    Some(AnswerHead { status, headers: copy_out(headers)? })
                }
                None => None,
            };
            let total = match word(headers, TOTAL) {
                Some(_) => Some(number(headers, TOTAL)?),
                None => None,
            };
            Some(CallReply::Part { head, from: number(headers, FROM)?, data: body, total })
        }
        _ => None,
    }
}

/// The word of a home that asks for others of its place.
pub(super) fn own_hello(life: &str, since_ms: u64) -> MessageHeaders {
    let mut told = MessageHeaders::new();
    told.insert(LIFE, life);
    told.insert(SINCE, since_ms.to_string());
    told
}

/// The life of the home that asks, and since when it runs, in ms of Unix time.
pub(super) fn read_own_hello(headers: Option<&MessageHeaders>) -> Option<(&str, u64)> {
    let headers = headers?;
    check_size(headers).ok()?;
    Some((word(headers, LIFE)?, number(headers, SINCE)?))
}

fn check_size(headers: &MessageHeaders) -> Result<(), BadRequest> {
    let length = |(name, values): (&async_nats::HeaderName, &Vec<async_nats::HeaderValue>)| {
        let name: &str = name.as_ref();
        values.iter().map(|value| name.len() + value.as_str().len()).sum::<usize>()
    };
    let size: usize = headers.iter().map(length).sum();
    if size > HEADERS_ROOM { Err(MALFORMED) } else { Ok(()) }
}

/// The value of a header that comes once.
fn word<'a>(headers: &'a MessageHeaders, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name);
    let first = values.next()?;
    values.next().is_none().then(|| first.as_str())
}

fn number(headers: &MessageHeaders, name: &str) -> Option<u64> {
    let text = word(headers, name)?;
    text.parse().ok().filter(|_| text.bytes().all(|digit| digit.is_ascii_digit()))
}

/// `None`: a value cannot be carried.
fn copy_in(headers: &HeaderMap, told: &mut MessageHeaders) -> Option<()> {
    for (name, value) in headers {
        told.append(name.as_str(), value.to_str().ok()?.parse::<async_nats::HeaderValue>().ok()?);
    }
    Some(())
}

fn copy_out(headers: &MessageHeaders) -> Option<HeaderMap> {
    let mut given = HeaderMap::new();
    for (name, values) in headers.iter() {
        let name: &str = name.as_ref();
        if name.len() >= OWN.len()
            && name.as_bytes()[..OWN.len()].eq_ignore_ascii_case(OWN.as_bytes())
        {
            continue;
        }
        let name: HeaderName = name.parse().ok()?;
        for value in values {
            given.append(name.clone(), HeaderValue::from_str(value.as_str()).ok()?);
        }
    }
    Some(given)
}
