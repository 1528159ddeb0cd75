//! The only task that sleeps until the next deadline. A wake-up is a hint: the state of the command
//! decides what happens.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Hub;

/// How often idle browsers and clients are looked for without a deadline.
const SWEEP_AT_LEAST: Duration = Duration::from_secs(60);

/// How often, while a command has not begun, the machine may have slept: the runtime's timer stands still
/// meanwhile, and whoever waits for the command is to hear of its end.
const SLEEP_AT_MOST: Duration = Duration::from_secs(1);

/// Sleeps and ticks until `closed`.
pub(super) async fn run(hub: Hub, closed: CancellationToken) {
    loop {
        let (next, loses_time) = hub.transact(|tx| (tx.next_tick(), tx.loses_time_asleep()));
        let sweep = if loses_time { SLEEP_AT_MOST } else { SWEEP_AT_LEAST };
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
            () = tokio::time::sleep(sweep) => hub.transact(|tx| tx.tick()),
        }
    }
}
