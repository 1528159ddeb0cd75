//! A fair share of a runtime thread: a task with much to read or say leaves others their turns.
//!
//! The runtime looks for what has come in only when no task is ready or after many polls, and
//! in one poll a socket may have a whole buffer's worth to give. Without this, a client that
//! never falls silent is heard for milliseconds at a time. Nothing is ordered by these turns.

/// The work that one task may do before it yields.
#[derive(Debug)]
pub(super) struct YieldBudget {
    size: usize,
    left: usize,
}

impl YieldBudget {
    /// A budget of `size` units, of any kind.
    pub(super) const fn of(size: usize) -> Self {
        Self { size, left: size }
    }

    /// Counts work that was done. When the share is used up, everybody else who has something
    /// to do goes first.
    pub(super) async fn spend(&mut self, work: usize) {
        // One piece of work may be larger than the whole budget.
        self.left = self.left.saturating_sub(work);
        if self.left == 0 {
            self.left = self.size;
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn others_get_a_turn_each_time_that_the_share_is_used_up_and_only_then() {
        let mut budget = YieldBudget::of(10);
        let mut waits = |work| budget.spend(work).now_or_never().is_none();
        let waited = [9, 1, 9, 5, 9, 30, 1].map(&mut waits);
        assert_eq!(waited, [false, true, false, true, false, true, false]);
    }
}
