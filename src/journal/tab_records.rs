//! The records of tabs: which client used one last, holds one, or opened one, and which owner's own one is.

use serde::{Deserialize, Serialize};

use super::record::RecordVersion;
use crate::engine::{Caller, ClientTab, CurrentTabRecord, LeaseKind, OwnerTab, TabLease, UsedTab};
use crate::protocol::{BrowserId, ClientId, Owner, TabId, Timestamp};

/// The client that holds a tab.
#[derive(Serialize, Deserialize)]
pub(super) struct LeaseRecord {
    v: RecordVersion,
    owner: Owner,
    client: ClientId,
    kind: LeaseKind,
    is_shared: bool,
    since_us: u64,
}

/// The client that opened a tab.
#[derive(Serialize, Deserialize)]
pub(super) struct OpenedTabRecord {
    v: RecordVersion,
    owner: Owner,
    client: ClientId,
    since_us: u64,
}

/// The owner whose own a tab is.
#[derive(Serialize, Deserialize)]
pub(super) struct OwnerTabRecord {
    v: RecordVersion,
    owner: Owner,
    since_us: u64,
    /// Files of earlier builds have no private tabs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_private: bool,
}

/// The tab that a client used last.
#[derive(Serialize, Deserialize)]
pub(super) struct ClientRecord {
    v: RecordVersion,
    owner: Owner,
    browser: BrowserId,
    tab: Option<TabId>,
    at_us: u64,
    /// Files of earlier builds do not have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    used: Vec<UsedTabRecord>,
}

/// A tab that a client has used: the browser, the tab, and when.
#[derive(Serialize, Deserialize)]
struct UsedTabRecord(BrowserId, TabId, u64);

impl ClientRecord {
    pub(super) fn of(current: &CurrentTabRecord) -> Self {
        let CurrentTabRecord { client: _, owner, browser, tab, at, used } = current.clone();
        let of = |used: UsedTab| UsedTabRecord(used.browser, used.tab, used.at.unix_micros());
        let used = used.into_iter().map(of).collect();
        Self { v: RecordVersion, owner, browser, tab, at_us: at.unix_micros(), used }
    }

    pub(super) fn current_tab(self, client: ClientId) -> CurrentTabRecord {
        let Self { owner, browser, tab, at_us, used, .. } = self;
        let at = Timestamp::from_unix_micros(at_us);
        let used = used.into_iter().map(|UsedTabRecord(browser, tab, at_us)| UsedTab {
            browser,
            tab,
            at: Timestamp::from_unix_micros(at_us),
        });
        CurrentTabRecord { client, owner, browser, tab, at, used: used.collect() }
    }
}

impl OwnerTabRecord {
    pub(super) fn of(owned: &OwnerTab) -> Self {
        let OwnerTab { browser: _, tab: _, owner, since, is_private } = owned.clone();
        Self { v: RecordVersion, owner, since_us: since.unix_micros(), is_private }
    }

    pub(super) fn owner_tab(self, browser: BrowserId, tab: TabId) -> OwnerTab {
        let Self { owner, since_us, is_private, .. } = self;
        let since = Timestamp::from_unix_micros(since_us);
        OwnerTab { browser, tab, owner, since, is_private }
    }
}

impl LeaseRecord {
    pub(super) fn of(lease: &TabLease) -> Self {
        let TabLease { browser: _, tab: _, holder, kind, is_shared, since, used: _ } =
            lease.clone();
        let Caller { owner, client } = holder;
        Self { v: RecordVersion, owner, client, kind, is_shared, since_us: since.unix_micros() }
    }

    pub(super) fn lease(self, browser: BrowserId, tab: TabId) -> TabLease {
        let Self { owner, client, kind, is_shared, since_us, .. } = self;
        let since = Timestamp::from_unix_micros(since_us);
        let holder = Caller { owner, client };
        TabLease { browser, tab, holder, kind, is_shared, since, used: since }
    }
}

impl OpenedTabRecord {
    pub(super) fn of(opened: &ClientTab) -> Self {
        let ClientTab { browser: _, tab: _, opener, since, used: _ } = opened.clone();
        let Caller { owner, client } = opener;
        Self { v: RecordVersion, owner, client, since_us: since.unix_micros() }
    }

    pub(super) fn opened_tab(self, browser: BrowserId, tab: TabId) -> ClientTab {
        let Self { owner, client, since_us, .. } = self;
        let since = Timestamp::from_unix_micros(since_us);
        ClientTab { browser, tab, opener: Caller { owner, client }, since, used: since }
    }
}
