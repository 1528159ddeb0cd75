//! Points in time as a person reads them: on the clock of their time zone, or as an age.

use rusqlite::Connection;

use crate::protocol::Timestamp;

/// The time zone of this computer, or the one that `TZ` names.
///
/// SQLite converts the times: it is in the program for the journal already, and asks the
/// system's C library.
#[derive(Debug)]
pub(crate) struct LocalTime(Option<Connection>);

impl LocalTime {
    /// The zone as it is now.
    pub(crate) fn new() -> Self {
        Self(Connection::open_in_memory().ok())
    }

    pub(crate) fn clock(&self, at: Timestamp) -> String {
        self.format("%H:%M:%S", at)
    }

    pub(crate) fn clock_with_millis(&self, at: Timestamp) -> String {
        self.format("%H:%M:%f", at)
    }

    /// `20261121-223841`, for the name of a file.
    pub(crate) fn file_stamp(&self, at: Timestamp) -> String {
        self.format("%Y%m%d-%H%M%S", at)
    }

    fn format(&self, pattern: &str, at: Timestamp) -> String {
        // Milliseconds are the finest that SQLite knows, and a double holds them exactly enough.
        #[expect(clippy::cast_precision_loss, reason = "ms since 1970 are far below 2^52")]
        let seconds = at.unix_millis() as f64 / 1_000.0;
        let query = "SELECT strftime(?1, ?2, 'unixepoch', 'localtime')";
        let asked = self
            .0
            .as_ref()
            .map(|zone| zone.query_row(query, (pattern, seconds), |row| row.get::<_, String>(0)));
        // A time that cannot be converted is shown as the daemon writes it, in UTC.
        asked.and_then(Result::ok).unwrap_or_else(|| at.to_string())
    }
}

impl Default for LocalTime {
    fn default() -> Self {
        Self::new()
    }
}

/// How long ago something was: `just now`, `12 s ago`, `2 min ago`, `3 h ago`, `4 d ago`.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    match now.since(at).as_secs() {
        0 => "just now".to_owned(),
        seconds @ 1..60 => format!("{seconds} s ago"),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let now = Timestamp::from_unix_micros(1_795_298_985_123_456);
        for (seconds, says) in [
            (0, "just now"),
            (1, "1 s ago"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (150, "2 min ago"),
            (3_599, "59 min ago"),
            (3_600, "1 h ago"),
            (86_399, "23 h ago"),
            (400_000, "4 d ago"),
        ] {
            assert_eq!(ago(now - Duration::from_secs(seconds), now), says);
        }
        assert_eq!(
            ago(now + Duration::from_secs(9), now),
            "just now",
            "another clock may be ahead"
        );
    }

    #[test]
    fn a_clock_shows_minutes_and_seconds_that_every_zone_shares() {
        // Which hour it is depends on the zone of the computer; `tests/it/cli/commands.rs` sets one.
        let at = Timestamp::from_unix_micros(1_795_298_985_123_456);
        let zone = LocalTime::new();
        assert!(zone.clock(at).ends_with(":45"), "{}", zone.clock(at));
        assert!(zone.clock_with_millis(at).ends_with(":45.123"), "{}", zone.clock_with_millis(at));
        assert_eq!(zone.file_stamp(at).len(), "20261121-223841".len());
    }
}
