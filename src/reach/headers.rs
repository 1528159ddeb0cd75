//! The headers that are carried: those of the bridge's own calls and of the daemon's answers, and no others. A
//! token, above all, comes from home alone.

use hyper::HeaderMap;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderName, RETRY_AFTER};

use crate::protocol::{
    AFTER_HEADER, BEFORE_HEADER, BRIDGE_HEADER, BROWSER_HEADER, CLIENT_HEADER, CLOCK_HEADER,
    COMMAND_HEADER, EARLY_HEADER, IDEMPOTENCY_HEADER, JOBS_HEADER, TOOLS_HEADER, WAIT_HEADER,
};

/// Those of a call.
const OF_CALLS: [HeaderName; 15] = [
    ACCEPT,
    CONTENT_TYPE,
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
    HeaderName::from_static(AFTER_HEADER),
    HeaderName::from_static(BEFORE_HEADER),
    HeaderName::from_static(BRIDGE_HEADER),
    HeaderName::from_static(BROWSER_HEADER),
    HeaderName::from_static(CLIENT_HEADER),
    HeaderName::from_static(EARLY_HEADER),
    HeaderName::from_static(IDEMPOTENCY_HEADER),
    HeaderName::from_static(JOBS_HEADER),
    HeaderName::from_static(TOOLS_HEADER),
    HeaderName::from_static(WAIT_HEADER),
];

/// Those of an answer.
const OF_ANSWERS: [HeaderName; 5] = [
    ALLOW,
    CONTENT_TYPE,
    RETRY_AFTER,
    HeaderName::from_static(CLOCK_HEADER),
    HeaderName::from_static(COMMAND_HEADER),
];

/// The headers of a call that are carried.
pub(crate) fn of_call(given: &HeaderMap) -> HeaderMap {
    only(given, &OF_CALLS)
}

/// The headers of an answer that are carried.
pub(crate) fn of_answer(given: &HeaderMap) -> HeaderMap {
    only(given, &OF_ANSWERS)
}

fn only(given: &HeaderMap, carried: &[HeaderName]) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in carried {
        // All of one name: that it comes twice is for the daemon to refuse.
        for value in given.get_all(name) {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use hyper::header::{AUTHORIZATION, HOST, HeaderValue, ORIGIN};

    use super::*;

    #[test]
    fn no_token_no_origin_and_no_host_of_the_far_end_is_carried() {
        let mut given = HeaderMap::new();
        for name in [AUTHORIZATION, ORIGIN, HOST, HeaderName::from_static("forwarded")] {
            given.insert(name, HeaderValue::from_static("x"));
        }
        assert!(of_call(&given).is_empty() && of_answer(&given).is_empty());
        let client = HeaderName::from_static(CLIENT_HEADER);
        given.append(client.clone(), HeaderValue::from_static("a"));
        given.append(client.clone(), HeaderValue::from_static("b"));
        assert_eq!(of_call(&given).get_all(client).iter().count(), 2);
    }
}
