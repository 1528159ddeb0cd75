//! The only task that sleeps until the next deadline. A wake-up is a hint: the state of the command
//! decides what happens.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Hub;

/// How often idle browsers and clients are looked for without a deadline.
const SWEEP_AT_LEAST: Duration = Duration::from_secs(60);

/// Sleeps and ticks until `closed`.
pub(super) async fn run(hub: Hub, closed: CancellationToken) {
    loop {
        let next = hub.transact(|tx| tx.next_tick());
        let sleep = async {
            match next {
                Some(at) => tokio::time::sleep_until(hub.0.clock.instant_of(at)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = closed.cancelled() => return,
            // Nothing is due yet; the next turn of the loop asks for the new deadline.
            () = hub.0.sooner.notified() => {}
            () = sleep => hub.transact(|tx| tx.tick()),
            () = tokio::time::sleep(SWEEP_AT_LEAST) => hub.transact(|tx| tx.tick()),
        }
    }
}
