//! Answers that an end of a line gives itself.

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

/// This value.
pub(crate) fn json_response<E>(status: StatusCode, told: &Value) -> Response<BoxBody<Bytes, E>> {
    let body = Full::new(Bytes::from(told.to_string())).map_err(|never| match never {});
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Why a call has no other answer, the next step, and whether the call may have been carried out.
pub(crate) fn failure<E>(
    status: StatusCode,
    code: &str,
    (message, hint): (&str, &str),
    may_have_run: bool,
) -> Response<BoxBody<Bytes, E>> {
    let told =
        json!({"error": code, "message": message, "hint": hint, "may_have_run": may_have_run});
    json_response(status, &told)
}
