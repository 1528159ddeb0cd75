//! Request bodies: read whole, within a size and a time, and parsed so that nobody waits for it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::sync::Semaphore;

use super::http_error::HttpError;
use super::yield_budget::YieldBudget;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(15);

/// For how long nothing may come of a body that is too large: then nobody waits for the rest.
const PAUSE: Duration = Duration::from_secs(1);

/// How much of a body that is too large is read and dropped, so that the client gets to
/// read why it was refused rather than a broken connection.
const DRAIN: usize = 32 * 1024 * 1024;

/// How much of a body is read before others get a turn, in bytes.
const AT_ONCE: usize = 64 * 1024;

/// A body or frame of more bytes is parsed on another thread.
const LARGE: usize = AT_ONCE;

/// How many large bodies of a lane are parsed at the same time: one core at most is busy with them.
const PARSED_AT_ONCE: usize = 1;

/// Reads a whole body of at most `limit` bytes.
pub(super) async fn read_body(mut body: Body, limit: usize) -> Result<Bytes, HttpError> {
    let mut whole = BytesMut::new();
    let mut budget = YieldBudget::of(AT_ONCE);
    let reading = async {
        while let Some(frame) = body.frame().await {
            // A client that went away in the middle is not there to be told more.
            let frame = frame.map_err(|_broken| HttpError::SlowBody)?;
            let data = frame.into_data().unwrap_or_default();
            if whole.len() + data.len() > limit {
                return Err(HttpError::TooLarge { limit });
            }
            // Most bodies come in one piece, which needs no copy.
            if whole.is_empty() && body.is_end_stream() {
                return Ok(data);
            }
            whole.extend_from_slice(&data);
            budget.spend(data.len()).await;
        }
        Ok(whole.freeze())
    };
    let read = tokio::time::timeout(BODY, reading).await.unwrap_or(Err(HttpError::SlowBody));
    match read {
        Ok(whole) => Ok(whole),
        Err(error) => {
            // A slow body is not drained: its client has had its time.
            if matches!(error, HttpError::TooLarge { .. }) {
                drain(body).await;
            }
            Err(error)
        }
    }
}

/// Reads and drops the rest of a body that is too large, while more of it comes.
pub(super) async fn drain(mut body: Body) {
    let mut left = DRAIN;
    let mut budget = YieldBudget::of(AT_ONCE);
    let drained = async {
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(PAUSE, body.frame()).await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            left = left.saturating_sub(length);
            if left == 0 {
                return;
            }
            budget.spend(length).await;
        }
    };
    // Whether it was read to its end makes no difference to the answer.
    let _ = tokio::time::timeout(BODY, drained).await;
}

/// Parses bodies, and the frames of a socket. A large one takes milliseconds, in which nothing else
/// would happen: it is parsed on another thread.
#[derive(Debug, Default)]
pub(super) struct BodyParsers {
    /// For callers, and for extensions that are not let in.
    pub(super) calls: ParserLane,
    /// For extensions that are let in: their results do not wait for the bodies of callers.
    pub(super) extensions: ParserLane,
}

/// Large bodies that wait for each other, in the order in which they came.
#[derive(Debug)]
pub(super) struct ParserLane(Arc<Semaphore>);

impl Default for ParserLane {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(PARSED_AT_ONCE)))
    }
}

impl ParserLane {
    /// Parses a body. `Err`: the runtime ends.
    pub(super) async fn parse<B, T>(
        &self,
        body: B,
        parse: impl FnOnce(&B) -> T + Send + 'static,
    ) -> Result<T, HttpError>
    where
        B: AsRef<[u8]> + Send + 'static,
        T: Send + 'static,
    {
        match self.begin(body, parse) {
            BodyParse::Done(parsed) => Ok(parsed),
            BodyParse::Elsewhere(parsing) => parsing.await,
        }
    }

    /// Parses a body here, or begins to do so on another thread.
    pub(super) fn begin<B, T>(
        &self,
        body: B,
        parse: impl FnOnce(&B) -> T + Send + 'static,
    ) -> BodyParse<T>
    where
        B: AsRef<[u8]> + Send + 'static,
        T: Send + 'static,
    {
        if body.as_ref().len() <= LARGE {
            return BodyParse::Done(parse(&body));
        }
        let lane = self.0.clone();
        BodyParse::Elsewhere(Box::pin(async move {
            // The permit goes along: the other thread goes on if nobody waits for it any more.
            let permit = lane.acquire_owned().await;
            let parsing = tokio::task::spawn_blocking(move || {
                let parsed = parse(&body);
                drop((body, permit));
                parsed
            });
            // It is given up only with the runtime.
            parsing.await.map_err(|_ending| HttpError::SlowBody)
        }))
    }
}

/// The content of a body.
pub(super) enum BodyParse<T> {
    Done(T),
    /// It is large: another thread parses it.
    Elsewhere(BoxFuture<'static, Result<T, HttpError>>),
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A body of this many KiB that is there as a whole.
    fn body(kib: usize) -> Body {
        let chunks = (0..kib).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 1024])));
        Body::from_stream(futures_util::stream::iter(chunks))
    }

    /// How many turns somebody else gets meanwhile.
    async fn turns_of_another(reading: impl Future) -> usize {
        let turns = Arc::new(AtomicUsize::new(0));
        let count = turns.clone();
        let other = tokio::spawn(async move {
            loop {
                count.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        reading.await;
        other.abort();
        turns.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn others_get_their_turns_while_a_large_body_is_read_or_dropped() {
        assert!(turns_of_another(read_body(body(1024), 1 << 20)).await >= 15);
        assert!(turns_of_another(drain(body(1024))).await >= 15);
    }

    #[tokio::test]
    async fn a_large_body_is_parsed_on_another_thread_one_at_a_time_and_a_small_one_at_once() {
        let (lane, here) = (ParserLane::default(), std::thread::current().id());
        let now = Arc::new(AtomicUsize::new(0));
        let parse = |size: usize| {
            let now = now.clone();
            let body = Bytes::from(vec![b' '; size]);
            lane.parse(body, move |_| {
                let others = now.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
                (others, std::thread::current().id() == here)
            })
        };
        assert_eq!(parse(LARGE).await.unwrap(), (0, true));
        let large = futures_util::future::join_all((0..50).map(|_| parse(LARGE + 1))).await;
        assert!(large.into_iter().all(|parsed| parsed.unwrap() == (0, false)));
    }
}
