//! The address of a collector.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// The path at which collectors take spans.
const TRACES: &str = "/v1/traces";

/// The address to which spans go: `http`, because the program has no TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint(Uri);

/// Why a text is no address of a collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// It is not a URL.
    #[error("not a URL: write it as http://HOST:PORT, for example http://127.0.0.1:4318")]
    NoUrl,
    /// TLS would be needed.
    #[error(
        "Tabwire speaks no TLS: run an OpenTelemetry Collector on this computer that forwards to \
         the https address, and name the collector: http://127.0.0.1:4318"
    )]
    NeedsTls,
    /// The port is that of gRPC.
    #[error(
        "port 4317 is for OTLP over gRPC, and Tabwire sends OTLP over HTTP: name the collector's \
         HTTP port, usually 4318"
    )]
    Grpc,
    /// It has a user name or a password.
    #[error(
        "Tabwire sends no credentials: run an OpenTelemetry Collector on this computer that adds \
         them, and name the collector: http://127.0.0.1:4318"
    )]
    HasCredentials,
    /// It has a query or a fragment.
    #[error("leave out `?` and `#` with what follows")]
    HasQuery,
}

impl OtlpEndpoint {
    /// The address of the requests.
    #[must_use]
    pub const fn uri(&self) -> &Uri {
        &self.0
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for OtlpEndpoint {
    type Err = EndpointError;

    /// Reads an address. Without a path, spans go to `/v1/traces`.
    fn from_str(text: &str) -> Result<Self, EndpointError> {
        if text.contains(['?', '#']) {
            return Err(EndpointError::HasQuery);
        }
        let uri: Uri = text.parse().map_err(|_| EndpointError::NoUrl)?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(EndpointError::NeedsTls),
            Some(_) | None => return Err(EndpointError::NoUrl),
        }
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or(EndpointError::NoUrl)?;
        if authority.as_str().contains('@') {
            return Err(EndpointError::HasCredentials);
        }
        if authority.port_u16() == Some(4317) {
            return Err(EndpointError::Grpc);
        }
        let path = if uri.path() == "/" { TRACES } else { uri.path() };
        let whole = format!("http://{authority}{path}");
        whole.parse().map(Self).map_err(|_| EndpointError::NoUrl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_to_the_usual_path_unless_the_address_has_one() {
        for (text, expected) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
            ("http://collector/otlp/v1/traces", "http://collector/otlp/v1/traces"),
        ] {
            assert_eq!(text.parse::<OtlpEndpoint>().unwrap().to_string(), expected);
        }
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_with_the_next_step() {
        for (text, expected) in [
            ("", EndpointError::NoUrl),
            ("127.0.0.1:4318", EndpointError::NoUrl),
            ("/v1/traces", EndpointError::NoUrl),
            ("ftp://127.0.0.1", EndpointError::NoUrl),
            ("http://", EndpointError::NoUrl),
            ("http:// a", EndpointError::NoUrl),
            ("https://api.vendor.test", EndpointError::NeedsTls),
            ("http://127.0.0.1:4317", EndpointError::Grpc),
            ("http://user:password@127.0.0.1:4318", EndpointError::HasCredentials),
            ("http://127.0.0.1:4318/?key=1", EndpointError::HasQuery),
            ("http://127.0.0.1:4318/#a", EndpointError::HasQuery),
        ] {
            assert_eq!(text.parse::<OtlpEndpoint>(), Err(expected), "{text}");
        }
    }
}
