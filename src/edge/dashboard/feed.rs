//! The stream of a viewer: a snapshot, then changes, one line of JSON each.
//!
//! A viewer that shows the recorded entries asks for them, and gets those from its place on, too.
//! Nothing is made of entries for others.
//!
//! A task of its own makes the lines and has room for a few. Several changes of a command within a
//! moment are one row, so that a viewer costs the same at any rate. A viewer that does not read is
//! dropped after a while; it goes on from the place of its last line.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::EdgeState;
use crate::hub::{CommandObserver, CommandRow, ObserverEvent, StorageStatus};
use crate::protocol::{CommandProgress, CorrelationId, SERVER_VERSION, Timestamp};
use crate::streams::{PageCursor, PageStart, StreamView};

/// How many lines wait for a viewer.
const LINES: usize = 8;

/// How long a viewer may not read.
const STUCK: Duration = Duration::from_secs(15);

/// How long changes are gathered.
const GATHER: Duration = Duration::from_millis(100);

/// How often the state beside the commands is sent. It also shows that the daemon is there.
const STATE: Duration = Duration::from_secs(1);

/// The most rows of one line, and the most that are read under one lock.
const ROWS: usize = 100;

/// Commands that changed this shortly before a viewer's place are sent again.
const OVERLAP: Duration = Duration::from_secs(1);

/// How often it is looked whether there are new entries.
const ENTRIES: Duration = Duration::from_millis(100);

/// How many pages of entries are sent at a time: a flood of them must not hold up the commands.
const PAGES: usize = 5;

/// The stream of a viewer. In the query: the places where it was before, if it was anywhere.
pub(super) fn open(
    edge: &Arc<EdgeState>,
    query: &str,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
    let (lines, receiver) = mpsc::channel(LINES);
    let epoch = edge.tools.hub().epoch();
    let since = part_of(query, "after").and_then(|after| read_place(&epoch, after));
    let feed = ViewerFeed {
        events: edge.tools.hub().all_events(),
        edge: edge.clone(),
        lines,
        changed: HashSet::new(),
        advancing: HashMap::new(),
        entries: part_of(query, "entries").map(|place| read_entries_place(&epoch, place)),
    };
    edge.tasks.spawn(async move {
        // It ends with the daemon, with its viewer, or when that is stuck.
        let _ = feed.run(since).await;
        drop(place);
    });
    futures_util::stream::unfold(receiver, |mut receiver| async move {
        let line: Bytes = receiver.recv().await?;
        Some((Ok(line), receiver))
    })
}

/// The time in a place of this run of the daemon.
fn read_place(epoch: &str, after: &str) -> Option<Timestamp> {
    let millis: u64 = after.strip_prefix(epoch)?.strip_prefix('.')?.parse().ok()?;
    let overlap = u64::try_from(OVERLAP.as_millis()).unwrap_or_default();
    Some(Timestamp::from_unix_micros(millis.saturating_sub(overlap).checked_mul(1_000)?))
}

/// A part of a query; none of its values has anything to decode.
fn part_of<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// A place among the entries of this run of the daemon, or their beginning.
fn read_entries_place(epoch: &str, place: &str) -> PageStart {
    let cursor = PageCursor::parse(place, StreamView::Recordings, epoch, None);
    cursor.map_or(PageStart::Oldest, PageStart::Cursor)
}

struct ViewerFeed {
    edge: Arc<EdgeState>,
    events: CommandObserver,
    lines: mpsc::Sender<Bytes>,
    /// The commands that have changed since the last line.
    changed: HashSet<CorrelationId>,
    /// Commands that tell how far they are, with the progress that the viewer knows: no event tells of it.
    advancing: HashMap<CorrelationId, Option<CommandProgress>>,
    /// From where on it gets the recorded entries; `None`: it does not show them.
    entries: Option<PageStart>,
}

impl ViewerFeed {
    /// `None`: it is over.
    async fn run(mut self, since: Option<Timestamp>) -> Option<()> {
        self.send_all(since).await?;
        let mut state = interval(STATE);
        state.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first change after a pause goes out at once, the next ones together.
        let mut gather = interval(GATHER);
        gather.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut entries = interval(ENTRIES);
        entries.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.lines.closed() => return None,
                _ = state.tick() => {
                    let state = self.state();
                    self.send(json!({"state": state})).await?;
                    self.send_progress().await?;
                }
                _ = gather.tick(), if !self.changed.is_empty() => {
                    let changed: Vec<_> = std::mem::take(&mut self.changed).into_iter().collect();
                    self.send_rows(&changed).await?;
                }
                _ = entries.tick(), if self.entries.is_some() => self.send_entries().await?,
                event = self.events.next() => match event? {
                    ObserverEvent::Changed(command) => {
                        self.changed.insert(command.correlation_id.clone());
                    }
                    // The changes that are lost are in the commands as they are now.
                    ObserverEvent::Skipped(_) => {
                        self.changed.clear();
                        self.send_all(since).await?;
                    }
                },
            }
        }
    }

    /// Sends the commands that are kept, or those that changed since a time.
    async fn send_all(&mut self, since: Option<Timestamp>) -> Option<()> {
        let ids = self.edge.tools.hub().commands_since(since);
        // A viewer without commands must still see that it is connected.
        self.send(json!({"commands": []})).await?;
        self.send_rows(&ids).await
    }

    async fn send_rows(&mut self, ids: &[CorrelationId]) -> Option<()> {
        for part in ids.chunks(ROWS) {
            let rows: Vec<CommandRow> = self.edge.tools.hub().rows(part);
            for row in &rows {
                let id = row.id();
                match row.told_progress() {
                    Some(progress) => self.advancing.insert(id.clone(), progress.cloned()),
                    None => self.advancing.remove(id),
                };
            }
            self.send(json!({"commands": rows})).await?;
        }
        Some(())
    }

    /// Sends the commands that have come further.
    async fn send_progress(&mut self) -> Option<()> {
        let ids: Vec<_> = self.advancing.keys().cloned().collect();
        // What is kept no longer has no row.
        let mut known = HashMap::new();
        let mut further = Vec::new();
        for row in ids.chunks(ROWS).flat_map(|part| self.edge.tools.hub().rows(part)) {
            let Some((id, told)) = self.advancing.remove_entry(row.id()) else { continue };
            if row.told_progress() != Some(told.as_ref()) {
                further.push(id.clone());
            }
            known.insert(id, told);
        }
        self.advancing = known;
        self.send_rows(&further).await
    }

    /// Sends the entries that have come, if there are any.
    async fn send_entries(&mut self) -> Option<()> {
        let hub = self.edge.tools.hub().clone();
        for _ in 0..PAGES {
            let Some(from) = self.entries.clone() else { return Some(()) };
            let page = hub.recordings(from).await;
            let next = page.next.text(StreamView::Recordings, &hub.epoch(), None);
            self.entries = Some(PageStart::Cursor(page.next));
            if page.entries.is_empty() && page.dropped == 0 {
                return Some(());
            }
            let (entries, dropped) = (page.entries, page.dropped);
            let line = json!({"entries": entries, "dropped": dropped, "entries_place": next});
            self.send(line).await?;
            if !page.has_more {
                return Some(());
            }
        }
        Some(())
    }

    /// Sends a line with its place. `None`: the viewer is gone, or does not read.
    async fn send(&self, mut line: Value) -> Option<()> {
        let hub = self.edge.tools.hub();
        line["place"] = format!("{}.{}", hub.epoch(), hub.now().unix_millis()).into();
        let sent = timeout(STUCK, self.lines.send(format!("{line}\n").into())).await;
        sent.ok()?.ok()
    }

    /// The daemon, the browsers with their tabs, and the open questions.
    fn state(&self) -> Value {
        let hub = self.edge.tools.hub();
        let (uptime, overview) = (hub.health().uptime, hub.overview());
        let storage = match hub.storage() {
            StorageStatus::Journal { .. } => "journal",
            StorageStatus::Ephemeral => "off",
            StorageStatus::Unavailable { .. } => "unavailable",
        };
        let daemon = json!({
            "version": SERVER_VERSION, "port": self.edge.guard.port(),
            "uptime_seconds": uptime.as_secs(), "storage": storage,
            "pictures_acts": hub.pictures_acts(),
            "measures": hub.measures(self.edge.guard.home().journal_bytes()),
        });
        json!({
            "daemon": daemon, "browsers": overview.browsers, "asks": overview.asks,
            // A page asks for the drawings when this changes.
            "drawings_changed_at": self.edge.guard.home().drawings().changed_at(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_in_the_run_that_named_it_alone() {
        let at = read_place("1-a", "1-a.5000").unwrap();
        assert_eq!(at.unix_millis(), 4_000);
        for other in ["2-b.5000", "1-a", "1-a.", "1-a.x", "", "1-a.18446744073709551615"] {
            assert_eq!(read_place("1-a", other), None, "{other}");
        }
    }
}
