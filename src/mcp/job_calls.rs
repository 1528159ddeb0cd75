//! The calls that begin jobs and are not answered yet. A job is known to its client by the answer
//! that names it, so notices of the job wait for that answer.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use tokio_util::sync::CancellationToken;

use super::generation::name_in_header;
use super::message::RpcRequest;
use crate::tools;

/// How long an answer is waited for: longer than a bridge waits for it.
const LONGEST: Duration = Duration::from_secs(40);

/// The open calls that begin jobs, by who made them. Cheap to clone; all clones are the same book.
#[derive(Clone, Debug)]
pub struct JobCalls<W: Eq + Hash>(Arc<Mutex<OpenCalls<W>>>);

type OpenCalls<W> = HashMap<W, Vec<CallMark>>;

/// Is cancelled once its call is answered.
type CallMark = Arc<CancellationToken>;

/// A call that begins a job. It is answered when this is dropped.
#[derive(Debug)]
pub struct JobCall<W: Eq + Hash> {
    calls: JobCalls<W>,
    who: W,
    mark: CallMark,
}

impl<W: Eq + Hash> Default for JobCalls<W> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<W: Clone + Eq + Hash> JobCalls<W> {
    /// A request is about to be answered. `None`: it begins no job.
    #[must_use]
    pub fn begin(&self, who: &W, request: &RpcRequest) -> Option<JobCall<W>> {
        let tool = name_in_header(request).filter(|_| request.method == "tools/call");
        tool.filter(|tool| tools::begins_job(tool)).map(|_| self.open(who))
    }

    fn open(&self, who: &W) -> JobCall<W> {
        let mark = CallMark::default();
        self.book().entry(who.clone()).or_default().push(mark.clone());
        JobCall { calls: self.clone(), who: who.clone(), mark }
    }

    /// Returns once the calls that are open now are answered, or have been for too long. `None`:
    /// none is open.
    #[must_use]
    pub fn until_answered(&self, who: &W) -> Option<BoxFuture<'static, ()>> {
        // A copy: calls that begin later must not prolong the wait.
        let open = self.book().get(who)?.clone();
        let answered = join_all(open.into_iter().map(|mark| async move { mark.cancelled().await }));
        Some(tokio::time::timeout(LONGEST, answered).map(drop).boxed())
    }
}

impl<W: Eq + Hash> JobCalls<W> {
    fn book(&self) -> MutexGuard<'_, OpenCalls<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Eq + Hash> Drop for JobCall<W> {
    fn drop(&mut self) {
        // Waiters hold the mark, not the entry, so removing the entry alone would not wake them.
        self.mark.cancel();
        let mut book = self.calls.book();
        let Some(open) = book.get_mut(&self.who) else { return };
        open.retain(|mark| !Arc::ptr_eq(mark, &self.mark));
        if open.is_empty() {
            book.remove(&self.who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_calls_that_are_open_now_are_waited_for_and_no_later_ones_nor_those_of_others() {
        let calls = JobCalls::default();
        assert!(calls.until_answered(&"ann").is_none());
        let (first, second) = (calls.open(&"ann"), calls.open(&"ann"));
        assert!(calls.until_answered(&"bob").is_none());
        let mut answered = calls.until_answered(&"ann").unwrap();
        let _later = calls.open(&"ann");
        drop(first);
        assert!((&mut answered).now_or_never().is_none());
        drop(second);
        assert!((&mut answered).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_never_answered_holds_nothing_up_without_end_and_leaves_nothing_behind()
    {
        let calls = JobCalls::default();
        let call = calls.open(&"ann");
        let answered = calls.until_answered(&"ann").unwrap();
        let sooner = tokio::time::sleep(LONGEST - Duration::from_millis(1));
        tokio::pin!(answered, sooner);
        tokio::select! {
            biased;
            () = &mut answered => panic!("it was not answered"),
            () = sooner => {}
        }
        answered.await;
        drop(call);
        assert!(calls.book().is_empty());
    }
}
