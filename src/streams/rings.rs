//! The stored entries: a ring for each stream, and one bound on the bytes of all.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{StreamEntry, TabsInside};
use crate::lifecycle::Limits;
use crate::protocol::{BrowserId, StreamKind, Timestamp};

/// An entry with its place.
#[derive(Debug)]
pub struct StoredEntry {
    /// Its place in its stream. Places count up by one.
    pub seq: u64,
    /// Its place in all streams.
    pub(super) order: u64,
    /// When it came.
    pub(super) came: Timestamp,
    /// The browser that sent it.
    pub browser: BrowserId,
    /// The entry.
    pub entry: StreamEntry,
}

/// One stream's last entries.
#[derive(Debug, Default)]
struct EntryRing {
    kept: VecDeque<Arc<StoredEntry>>,
    /// The place of the next entry.
    next: u64,
    /// The number of items that were malformed.
    rejected: u64,
}

/// The last entries of all streams.
#[derive(Debug)]
pub struct StreamRings {
    rings: [EntryRing; StreamKind::ALL.len()],
    limits: Limits,
    order: u64,
    bytes: usize,
}

/// The place up to which one owner has cleared each stream. Earlier entries are hidden from this
/// owner, and stay for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClearedPlaces([u64; StreamKind::ALL.len()]);

impl ClearedPlaces {
    /// Whether this owner may still see it.
    #[must_use]
    pub fn show(&self, kept: &StoredEntry) -> bool {
        kept.seq >= self.0[kept.entry.stream() as usize]
    }
}

/// The entries of a stream from one place on.
pub(super) struct RingSlice {
    pub(super) kept: Vec<Arc<StoredEntry>>,
    /// The place that was asked for, or the first one that the owner has not cleared.
    pub(super) from: u64,
    /// The place of the next entry to come.
    pub(super) next: u64,
    /// How many were rejected so far.
    pub(super) rejected: u64,
}

impl StreamRings {
    /// Empty rings of these sizes.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { rings: Default::default(), limits: *limits, order: 0, bytes: 0 }
    }

    /// Stores an entry, and drops the oldest ones if there is no room.
    pub fn push(&mut self, browser: &BrowserId, entry: StreamEntry, now: Timestamp) {
        let stream = entry.stream();
        self.order += 1;
        self.bytes += entry.weight;
        let ring = &mut self.rings[stream as usize];
        let kept = StoredEntry {
            seq: ring.next,
            order: self.order,
            came: now,
            browser: browser.clone(),
            entry,
        };
        ring.next += 1;
        // Readers copy the reference under the lock and read without it.
        ring.kept.push_back(Arc::new(kept));
        if ring.kept.len() > self.limits.entries_of(stream) {
            self.drop_oldest(stream);
        }
        let most = self.limits.streams_mib.saturating_mul(1 << 20);
        // The oldest entry of all streams goes first: a busy stream must not drive out a quiet one
        // that has newer entries.
        while self.bytes > most {
            let Some(stream) = self.stream_of_oldest() else { return };
            self.drop_oldest(stream);
        }
    }

    /// Counts entries that were lost before they could be stored. Their places stay empty, so that a
    /// cursor reports them as dropped.
    pub fn skip(&mut self, stream: StreamKind, entries: usize) {
        self.rings[stream as usize].next += entries as u64;
    }

    /// Counts malformed items.
    pub fn reject(&mut self, stream: StreamKind, entries: usize) {
        self.rings[stream as usize].rejected += entries as u64;
    }

    /// Clears a stream for one owner, up to its last entry. Returns how many entries this owner saw, of
    /// the tabs inside; `None`: of all tabs.
    pub fn clear_for(
        &self,
        cleared: &mut ClearedPlaces,
        inside: Option<&TabsInside>,
        stream: StreamKind,
    ) -> usize {
        let may_see = |kept: &StoredEntry| inside.is_none_or(|inside| inside.show(kept));
        let shown = self.all(stream).filter(|kept| cleared.show(kept) && may_see(kept)).count();
        // A position and no deletion: other owners keep the entries (decision 321).
        cleared.0[stream as usize] = self.rings[stream as usize].next;
        shown
    }

    /// Drops the entries of one browser from a stream. Returns their number. A cursor reports them as
    /// dropped.
    pub fn clear_of(&mut self, stream: StreamKind, browser: &BrowserId) -> usize {
        let ring = &mut self.rings[stream as usize];
        let before = ring.kept.len();
        let bytes = &mut self.bytes;
        ring.kept.retain(|kept| {
            let stays = kept.browser != *browser;
            *bytes -= if stays { 0 } else { kept.entry.weight };
            stays
        });
        before - ring.kept.len()
    }

    /// How many entries are kept of a stream.
    #[must_use]
    pub fn count(&self, stream: StreamKind) -> usize {
        self.rings[stream as usize].kept.len()
    }

    /// About how many bytes all entries take.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// All entries of a stream that are kept, oldest first.
    pub fn all(&self, stream: StreamKind) -> impl DoubleEndedIterator<Item = &Arc<StoredEntry>> {
        self.rings[stream as usize].kept.iter()
    }

    /// The entry at a place of a stream, if it is kept.
    #[must_use]
    pub fn find(&self, stream: StreamKind, seq: u64) -> Option<&Arc<StoredEntry>> {
        let kept = &self.rings[stream as usize].kept;
        let at = kept.binary_search_by_key(&seq, |kept| kept.seq).ok()?;
        kept.get(at)
    }

    /// The entries of a stream that an owner may see, from a place on or from the oldest on.
    pub(super) fn since(
        &self,
        stream: StreamKind,
        from: Option<u64>,
        cleared: &ClearedPlaces,
    ) -> RingSlice {
        let ring = &self.rings[stream as usize];
        let oldest = ring.kept.front().map_or(ring.next, |kept| kept.seq);
        // A forged or stale cursor may name a place that does not exist yet.
        let from = from.unwrap_or(oldest).max(cleared.0[stream as usize]).min(ring.next);
        let first = ring.kept.partition_point(|kept| kept.seq < from);
        let kept = ring.kept.range(first..).cloned().collect();
        RingSlice { kept, from, next: ring.next, rejected: ring.rejected }
    }

    fn stream_of_oldest(&self) -> Option<StreamKind> {
        let fronts = StreamKind::ALL.into_iter().filter_map(|stream| {
            let front = self.rings[stream as usize].kept.front()?;
            Some((front.order, stream))
        });
        fronts.min_by_key(|(order, _)| *order).map(|(_, stream)| stream)
    }

    fn drop_oldest(&mut self, stream: StreamKind) {
        if let Some(oldest) = self.rings[stream as usize].kept.pop_front() {
            self.bytes -= oldest.entry.weight;
        }
    }
}
