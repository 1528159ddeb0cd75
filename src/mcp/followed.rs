//! Commands that are followed side by side.

use std::future;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use crate::hub::{CommandFollower, CommandLifetime};
use crate::protocol::CommandReport;

/// Commands that are followed side by side, each until its end was told.
#[derive(Default)]
pub(super) struct FollowedCommands(FuturesUnordered<BoxFuture<'static, FollowedReport>>);

type FollowedReport = (CommandFollower, Option<CommandReport>);

impl FollowedCommands {
    pub(super) fn add(&self, following: CommandFollower) {
        self.add_after(future::ready(()), following);
    }

    /// The same, but nothing is told before something else has happened.
    pub(super) fn add_after(
        &self,
        before: impl Future<Output = ()> + Send + 'static,
        mut following: CommandFollower,
    ) {
        self.0.push(Box::pin(async move {
            // Inside the future, so that one job's answer does not hold up the others.
            before.await;
            let report = following.next().await;
            (following, report)
        }));
    }

    /// The next report on any of them; `None` while there are none.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Option<(CommandReport, CommandLifetime)> {
        loop {
            let (following, report) = self.0.next().await?;
            if let Some(report) = report {
                let term = following.lifetime();
                // After its end there is nothing to follow.
                if report.is_pending() {
                    self.add(following);
                }
                return Some((report, term));
            }
        }
    }
}
