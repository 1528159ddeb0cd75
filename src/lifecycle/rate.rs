//! Limits on how often something may happen.

use std::time::Duration;

use crate::protocol::Timestamp;

const MINUTE: Duration = Duration::from_secs(60);

/// A token bucket: `per_minute` at once, refilled evenly over a minute.
#[derive(Debug)]
pub struct TokenBucket {
    per_minute: usize,
    /// When the bucket will be full again. Every call moves this by the time that one token takes, so
    /// no timer has to refill the bucket.
    full_at: Timestamp,
}

impl TokenBucket {
    /// A full bucket. `per_minute` 0 means no limit.
    #[must_use]
    pub const fn new(per_minute: usize, now: Timestamp) -> Self {
        Self { per_minute, full_at: now }
    }

    /// Takes one token.
    ///
    /// # Errors
    ///
    /// How long to wait until there is one again.
    pub fn take(&mut self, now: Timestamp) -> Result<(), Duration> {
        self.take_many(1, now)
    }

    /// Takes this many tokens, or none.
    ///
    /// # Errors
    ///
    /// How long to wait until there are as many again.
    pub fn take_many(&mut self, count: usize, now: Timestamp) -> Result<(), Duration> {
        let Ok(per_minute @ 1..) = u32::try_from(self.per_minute) else { return Ok(()) };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let next = self.full_at.max(now) + MINUTE * count / per_minute;
        let debt = next.since(now);
        // A full bucket has a debt of nothing, and an empty one of a minute.
        if debt > MINUTE {
            return Err(debt - MINUTE);
        }
        self.full_at = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_a_minutes_worth_passes_and_the_next_call_is_told_when_to_come_back() {
        let now = Timestamp::from_unix_micros(1_000_000_000);
        let mut rate = TokenBucket::new(60, now);
        for _ in 0..60 {
            assert_eq!(rate.take(now), Ok(()));
        }
        assert_eq!(rate.take(now), Err(Duration::from_secs(1)));
        assert_eq!(rate.take(now + Duration::from_secs(1)), Ok(()));
    }

    #[test]
    fn of_many_at_once_all_are_taken_or_none() {
        let now = Timestamp::from_unix_micros(1_000_000_000);
        let mut rate = TokenBucket::new(6_000_000, now);
        assert_eq!(rate.take_many(4_000_000, now), Ok(()));
        assert_eq!(rate.take_many(3_000_000, now), Err(Duration::from_secs(10)));
        assert_eq!(rate.take_many(2_000_000, now), Ok(()));
        assert_eq!(rate.take_many(7_000_000, now + MINUTE), Err(Duration::from_secs(10)));
    }

    #[test]
    fn zero_means_no_limit() {
        let now = Timestamp::from_unix_micros(0);
        let mut rate = TokenBucket::new(0, now);
        assert!((0..10_000).all(|_| rate.take(now).is_ok()));
    }
}
