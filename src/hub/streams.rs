//! The recorded streams: entries that browsers send on their own.
//!
//! Entries from a link wait in a queue. A task parses and redacts them, and yields after a few, so
//! that a flood of log lines holds up no command (decision 121). The queue is bounded: its oldest
//! batches are dropped, and readers learn how many entries those were. The lock around the rings is
//! held only to put entries in, or to copy references out.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Caller, Hub};
use crate::lifecycle::Limits;
use crate::proof;
use crate::protocol::{BrowserId, Owner, StreamKind, TabId, is_own_page};
use crate::streams::{
    ClearedPlaces, CursorSeal, EntryFilter, EntryForm, EntryPage, LONGEST_PAGE, LegacyBatch,
    LegacyBodyError, LegacyStream, LogLevel, NoiseRules, PageQuery, PageReader, PageStart,
    StoredEntry, StreamEntry, StreamRings, StreamView, TabsInside, WaterfallHistory, WebVitals,
    parse_entry_id,
};

/// After this many entries other tasks have their turn: about 0.1 ms.
const TURN: usize = 32;

/// How many entries of a ring are looked at in one turn: with the longest texts and a hundred
/// noise rules each takes its time.
const LOOKS: usize = 16;

/// The most rows of a page for the person.
const VIEWER_ROWS: usize = 200;

/// How many bytes may wait to be read; the oldest batch leaves first.
const WAITING: usize = 4 << 20;

/// All that is kept of the streams.
#[derive(Debug)]
pub(super) struct StreamStore {
    shelf: Mutex<StreamState>,
    line: Mutex<BatchQueue>,
    /// Tells the task that something waits.
    more: Notify,
    /// Closes cursors. Of this run, as the cursors are.
    secret: String,
}

#[derive(Debug)]
struct StreamState {
    rings: StreamRings,
    /// The noise rules of each owner.
    noise: HashMap<Owner, NoiseRules>,
    /// The places up to which each owner has cleared the streams.
    cleared: HashMap<Owner, ClearedPlaces>,
    waterfall: WaterfallHistory,
}

impl StreamState {
    /// The places up to which an owner has cleared the streams.
    fn cleared_by(&self, owner: &Owner) -> ClearedPlaces {
        self.cleared.get(owner).copied().unwrap_or_default()
    }
}

/// Batches that are not parsed yet.
#[derive(Debug, Default)]
struct BatchQueue {
    batches: VecDeque<EntryBatch>,
    bytes: usize,
}

#[derive(Debug)]
struct EntryBatch {
    browser: BrowserId,
    stream: StreamKind,
    entries: Vec<Box<RawValue>>,
}

/// The counts of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct IngestCounts {
    /// How many entries were.
    pub received: usize,
    /// How many were malformed, and are not kept.
    pub rejected: usize,
}

/// The errors and measurements of a page, from the stored entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRecord {
    /// Errors and exceptions in its console.
    pub errors: usize,
    /// Requests that failed.
    pub failed_requests: usize,
    /// How many of both are noise.
    pub hidden: usize,
    /// The last measurements.
    pub vitals: Option<WebVitals>,
}

impl PageRecord {
    /// The count that an error goes into.
    fn count_of(&mut self, error: &StreamEntry, noise: &NoiseRules) -> &mut usize {
        if noise.hide(error) {
            &mut self.hidden
        } else if error.stream() == StreamKind::Network {
            &mut self.failed_requests
        } else {
            &mut self.errors
        }
    }
}

impl StreamStore {
    pub(super) fn new(limits: &Limits) -> Self {
        let shelf = StreamState {
            rings: StreamRings::new(limits),
            noise: HashMap::new(),
            cleared: HashMap::new(),
            waterfall: WaterfallHistory::default(),
        };
        let secret = proof::random_hex::<32>();
        Self { shelf: Mutex::new(shelf), line: Mutex::default(), more: Notify::new(), secret }
    }

    fn shelf(&self) -> MutexGuard<'_, StreamState> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self) -> MutexGuard<'_, BatchQueue> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a batch wait for its turn.
    pub(super) fn enqueue(&self, browser: &BrowserId, stream: &str, entries: Vec<Box<RawValue>>) {
        let Some(stream) = StreamKind::named(stream) else {
            tracing::debug!(browser = %browser, stream, "entries of a stream that is not known");
            return;
        };
        let mut line = self.line();
        line.join(EntryBatch { browser: browser.clone(), stream, entries });
        while line.bytes > WAITING && line.batches.len() > 1 {
            if let Some(lost) = line.next() {
                self.shelf().rings.skip(lost.stream, lost.entries.len());
            }
        }
        drop(line);
        self.more.notify_one();
    }

    /// Parses entries, and stores the well-formed ones.
    pub(super) fn take(
        &self,
        hub: &Hub,
        browser: &BrowserId,
        stream: StreamKind,
        json: &[Box<RawValue>],
    ) -> IngestCounts {
        // Before the lock is taken, because parsing and redaction take most of the time.
        let read = json.iter().filter_map(|json| StreamEntry::read(stream, json.get()).ok());
        let entries: Vec<_> = read.collect();
        let taken = IngestCounts { received: entries.len(), rejected: json.len() - entries.len() };
        let now = hub.now();
        let entries = hub.without_own_pages(entries);
        let mut shelf = self.shelf();
        for entry in entries {
            shelf.rings.push(browser, entry, now);
        }
        shelf.rings.reject(stream, taken.rejected);
        taken
    }
}

impl BatchQueue {
    fn join(&mut self, batch: EntryBatch) {
        self.bytes += batch.bytes();
        self.batches.push_back(batch);
    }

    fn next(&mut self) -> Option<EntryBatch> {
        let batch = self.batches.pop_front()?;
        self.bytes -= batch.bytes();
        Some(batch)
    }
}

impl EntryBatch {
    fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.get().len()).sum()
    }
}

/// Looks at all that a page may need, and lets others have their turn meanwhile.
async fn read_page(reader: &mut PageReader) {
    while reader.look_at(LOOKS) {
        tokio::task::yield_now().await;
    }
}

/// Parses the waiting batches until the hub closes.
pub(super) async fn keep_events(hub: Hub, closed: CancellationToken) {
    let streams = &hub.0.streams;
    let kept = async {
        loop {
            let next = streams.line().next();
            let Some(EntryBatch { browser, stream, entries }) = next else {
                streams.more.notified().await;
                continue;
            };
            for part in entries.chunks(TURN) {
                let taken = streams.take(&hub, &browser, stream, part);
                if taken.rejected > 0 {
                    let rejected = taken.rejected;
                    tracing::debug!(browser = %browser, ?stream, rejected, "malformed entries");
                }
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::select! {
        biased;
        () = closed.cancelled() => {}
        () = kept => {}
    }
}

impl Hub {
    /// Stores the entries of an extension that only polls. Another thread parses and redacts them,
    /// because a large body takes a while.
    ///
    /// # Errors
    ///
    /// [`LegacyBodyError`]: the body is none of this route's, and nothing of it is kept.
    pub async fn take_legacy_events(
        &self,
        browser: &BrowserId,
        kind: LegacyStream,
        body: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<IngestCounts, LegacyBodyError> {
        let now = self.now();
        let reading = tokio::task::spawn_blocking(move || kind.read(body.as_ref(), now));
        // It is given up only with the runtime.
        let mut batch = reading.await.unwrap_or_else(|_ending| Ok(LegacyBatch::default()))?;
        batch.entries = self.without_own_pages(batch.entries);
        let mut shelf = self.0.streams.shelf();
        if kind == LegacyStream::NetworkWaterfall {
            shelf.waterfall.drop_repeated(browser, &mut batch);
        }
        for entry in batch.entries {
            shelf.rings.push(browser, entry, now);
        }
        shelf.rings.reject(kind.stream(), batch.rejected);
        Ok(IngestCounts { received: batch.received, rejected: batch.rejected })
    }

    /// The entries that are of no page of Tabwire's own.
    fn without_own_pages(&self, mut entries: Vec<StreamEntry>) -> Vec<StreamEntry> {
        let Some(port) = self.view(|engine| engine.own_port()) else { return entries };
        entries.retain(|entry| !entry.addresses().any(|url| is_own_page(url, port)));
        entries
    }

    /// Drops the console lines of one browser, as its person asked. Returns their number.
    pub fn clear_logs(&self, browser: &BrowserId) -> usize {
        self.0.streams.shelf().rings.clear_of(StreamKind::Logs, browser)
    }

    /// Hides all entries of these streams from this owner; other owners keep them. Returns how many
    /// entries of each stream the owner could see.
    pub fn clear_streams(
        &self,
        owner: &Owner,
        streams: impl IntoIterator<Item = StreamKind>,
    ) -> Vec<(StreamKind, usize)> {
        let inside = self.readable_tabs(owner);
        let mut shelf = self.0.streams.shelf();
        let StreamState { rings, cleared, .. } = &mut *shelf;
        let places = cleared.entry(owner.clone()).or_default();
        let clear = |stream| (stream, rings.clear_for(&mut *places, inside.as_ref(), stream));
        streams.into_iter().map(clear).collect()
    }

    /// How many entries are kept of a stream.
    #[must_use]
    pub fn stream_entries(&self, stream: StreamKind) -> usize {
        self.0.streams.shelf().rings.count(stream)
    }

    /// Reads a page of the stored entries.
    pub async fn read_streams(&self, caller: &Caller, mut query: PageQuery) -> EntryPage {
        let now = self.now();
        // A pinned client reads of its own browser alone.
        let asked = query.filter.browser.take();
        query.filter.browser = self.view(|engine| engine.browser_within_pin(&caller.client, asked));
        let inside = self.readable_tabs(&caller.owner);
        let mut reader = {
            let shelf = self.0.streams.shelf();
            let noise = shelf.noise.get(&caller.owner).cloned().unwrap_or_default();
            let cleared = shelf.cleared_by(&caller.owner);
            PageReader::new(&shelf.rings, query, noise, &cleared, inside.as_ref(), now)
        };
        read_page(&mut reader).await;
        reader.page()
    }

    /// The recorded entries of all tabs from a place on, for the person. No client of any owner gets
    /// this.
    pub async fn recordings(&self, from: PageStart) -> EntryPage {
        let query = PageQuery {
            view: StreamView::Recordings,
            filter: EntryFilter::default(),
            from,
            limit: VIEWER_ROWS,
            room: LONGEST_PAGE,
            form: EntryForm::ViewerRow,
        };
        let (noise, cleared) = (NoiseRules::default(), ClearedPlaces::default());
        let mut reader = {
            let shelf = self.0.streams.shelf();
            PageReader::new(&shelf.rings, query, noise, &cleared, None, self.now())
        };
        read_page(&mut reader).await;
        reader.page()
    }

    /// One recorded entry, for the person, by the id that its row has; `None`: it is not kept.
    #[must_use]
    pub fn recorded_entry(&self, id: &str) -> Option<Box<RawValue>> {
        let (stream, seq) = parse_entry_id(id)?;
        let kept = self.0.streams.shelf().rings.find(stream, seq).cloned();
        kept?.for_viewer()
    }

    /// The errors and measurements of a page, from the stored entries of its tab.
    pub async fn page_record(
        &self,
        caller: &Caller,
        browser: &BrowserId,
        tab: TabId,
    ) -> PageRecord {
        let inside = self.readable_tabs(&caller.owner);
        let (errors, noise, vitals) = {
            let shelf = self.0.streams.shelf();
            let cleared = shelf.cleared_by(&caller.owner);
            let of_tab = |kept: &&Arc<StoredEntry>| {
                let is_its = kept.entry.tab() == Some(tab) && kept.browser == *browser;
                let may_see = inside.as_ref().is_none_or(|inside| inside.show(kept));
                is_its && may_see && cleared.show(kept)
            };
            let kept =
                StreamView::Errors.streams().iter().flat_map(|stream| shelf.rings.all(*stream));
            let is_error = |kept: &&Arc<StoredEntry>| kept.entry.level() == LogLevel::Error;
            // References only. The noise rules are applied after the lock is released.
            let errors: Vec<_> = kept.filter(of_tab).filter(is_error).cloned().collect();
            let mut measured = shelf.rings.all(StreamKind::Performance).filter(of_tab);
            let vitals = measured.next_back().and_then(|kept| kept.entry.vitals().cloned());
            (errors, shelf.noise.get(&caller.owner).cloned().unwrap_or_default(), vitals)
        };
        let mut record = PageRecord { vitals, ..PageRecord::default() };
        for part in errors.chunks(LOOKS) {
            for kept in part {
                *record.count_of(&kept.entry, &noise) += 1;
            }
            tokio::task::yield_now().await;
        }
        record
    }

    /// The key of the cursors of an owner whose clients do not see every tab.
    #[must_use]
    pub fn cursor_seal(&self, owner: &Owner) -> Option<CursorSeal> {
        let is_bounded = self.scope_of(owner).is_bounded();
        is_bounded.then(|| CursorSeal::new(self.0.streams.secret.as_bytes(), owner.as_str()))
    }

    /// The tabs whose entries an owner may read; `None`: those of all tabs.
    fn readable_tabs(&self, owner: &Owner) -> Option<TabsInside> {
        self.view(|engine| engine.readable_tabs(owner))
    }

    /// Sets the noise rules of an owner.
    pub fn set_noise(&self, owner: &Owner, rules: NoiseRules) {
        self.0.streams.shelf().noise.insert(owner.clone(), rules);
    }

    /// The owner's patterns.
    #[must_use]
    pub fn noise(&self, owner: &Owner) -> NoiseRules {
        self.0.streams.shelf().noise.get(owner).cloned().unwrap_or_default()
    }
}
