//! Request bodies: read whole, within a size and a time.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;

use super::problem::Problem;
use super::share::Share;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(15);

/// For how long nothing may come of a body that is too large: then nobody waits for the rest.
const PAUSE: Duration = Duration::from_secs(1);

/// How much of a body that is too large is read and dropped, so that the client gets to
/// read why it was refused rather than a broken connection.
const DRAIN: usize = 32 * 1024 * 1024;

/// How much of a body is read before others get a turn, in bytes.
const AT_ONCE: usize = 64 * 1024;

/// Reads a whole body of at most `limit` bytes.
pub(super) async fn read_body(mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    let mut whole = BytesMut::new();
    let mut share = Share::of(AT_ONCE);
    let reading = async {
        while let Some(frame) = body.frame().await {
            // A client that went away in the middle is not there to be told more.
            let frame = frame.map_err(|_broken| Problem::SlowBody)?;
            let data = frame.data_ref().map_or(&[][..], |data| data);
            whole.extend_from_slice(data);
            if whole.len() > limit {
                return Err(Problem::TooLarge { limit });
            }
            share.spend(data.len()).await;
        }
        Ok(())
    };
    let read = tokio::time::timeout(BODY, reading).await.unwrap_or(Err(Problem::SlowBody));
    match read {
        Ok(()) => Ok(whole.freeze()),
        Err(problem) => {
            if matches!(problem, Problem::TooLarge { .. }) {
                drain(body).await;
            }
            Err(problem)
        }
    }
}

/// Reads and drops what is left of a body that is too large, for as long as it keeps coming.
pub(super) async fn drain(mut body: Body) {
    let mut left = DRAIN;
    let mut share = Share::of(AT_ONCE);
    let drained = async {
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(PAUSE, body.frame()).await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            left = left.saturating_sub(length);
            if left == 0 {
                return;
            }
            share.spend(length).await;
        }
    };
    // Whether it was read to its end makes no difference to the answer.
    let _ = tokio::time::timeout(BODY, drained).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A body of so many KiB that is there as a whole.
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
}
