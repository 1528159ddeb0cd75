//! Request bodies: read whole, within a size and a time.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;

use super::problem::Problem;

/// How long a body may take.
const BODY: Duration = Duration::from_secs(15);

/// For how long nothing may come of a body that is too large: then nobody waits for the rest.
const PAUSE: Duration = Duration::from_secs(1);

/// How much of a body that is too large is read and dropped, so that the client gets to
/// read why it was refused rather than a broken connection.
const DRAIN: usize = 32 * 1024 * 1024;

/// Reads a whole body of at most `limit` bytes.
pub(super) async fn read_body(mut body: Body, limit: usize) -> Result<Bytes, Problem> {
    let mut whole = BytesMut::new();
    let reading = async {
        while let Some(frame) = body.frame().await {
            // A client that went away in the middle is not there to be told more.
            let frame = frame.map_err(|_broken| Problem::SlowBody)?;
            whole.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
            if whole.len() > limit {
                return Err(Problem::TooLarge { limit });
            }
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
    let drained = async {
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(PAUSE, body.frame()).await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    // Whether it was read to its end makes no difference to the answer.
    let _ = tokio::time::timeout(BODY, drained).await;
}
