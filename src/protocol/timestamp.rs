//! A point in time, for deadlines and for the wire.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, Sub};
use std::time::{Duration, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Microseconds since the Unix epoch, read from a *monotonic* clock that was set once, when the
/// process started. Timestamps can be compared and shown, and a changed system clock moves no
/// deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The time `micros` µs after the Unix epoch.
    #[must_use]
    pub const fn from_unix_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// The duration since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        // A deadline beyond the end of time is no overflow: it never comes.
        let micros = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, length: Duration) -> Self {
        let micros = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(micros))
    }
}

/// RFC 3339 with milliseconds, in UTC.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = UNIX_EPOCH + Duration::from_micros(self.0);
        humantime::format_rfc3339_millis(time).fmt(f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What `Serialize` writes, and any other RFC 3339 from 1970 on.
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let time = humantime::parse_rfc3339(&text).map_err(serde::de::Error::custom)?;
        let since = time.duration_since(UNIX_EPOCH).map_err(serde::de::Error::custom)?;
        let micros = u64::try_from(since.as_micros()).map_err(serde::de::Error::custom)?;
        Ok(Self(micros))
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A point in time: RFC 3339 in UTC, with milliseconds.",
            "type": "string",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_as_rfc_3339_with_milliseconds() {
        assert_eq!(
            Timestamp::from_unix_micros(1_795_298_985_123_456).to_string(),
            "2026-11-21T22:09:45.123Z"
        );
    }

    #[test]
    fn a_moment_is_read_as_it_was_written() {
        let moment = Timestamp::from_unix_micros(1_795_298_985_123_000);
        let text = serde_json::to_string(&moment).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&text).unwrap(), moment);
        for wrong in ["\"\"", "\"yesterday\"", "5", "\"1969-12-31T23:59:59Z\""] {
            assert!(serde_json::from_str::<Timestamp>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn time_never_runs_backwards_in_arithmetic() {
        let early = Timestamp::from_unix_micros(5);
        assert_eq!(early.since(early + Duration::from_secs(1)), Duration::ZERO);
        assert_eq!(early - Duration::from_secs(1), Timestamp::from_unix_micros(0));
    }
}
