//! Every duration and capacity of the lifecycle, each with its reason.

use std::time::Duration;

use crate::protocol::StreamKind;

/// How long an extension may take to claim a command once it has it (for a safe
/// command: to report). From each delivery.
pub const RESPOND: Duration = Duration::from_secs(3);

/// The same for an extension that polls and says `pending` after 3 s of work. From the answer
/// to its poll.
pub const RESPOND_POLL: Duration = Duration::from_secs(5);

/// How long an extension that polls counts as connected after its last request, on top of
/// the time between its polls.
pub const POLLER_GRACE: Duration = Duration::from_millis(2_500);

/// The longest time between two polls that is waited for.
pub const POLL_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// How long a request of an extension that polls is held for a command. A recorded version
/// breaks off its requests after 3 s, and then says that it is not connected.
pub const SYNC_HOLD: Duration = Duration::from_secs(2);

/// When an extension whose request was answered asks again if it was held: at once.
pub const SYNC_AGAIN: Duration = Duration::from_millis(1);

/// The same while it works at a command: its result comes with the next request.
pub const SYNC_AT_WORK: Duration = Duration::from_millis(30);

/// The same of one whose requests are not held.
pub const SYNC_UNHELD: Duration = Duration::from_millis(200);

/// The same while the daemon ends.
pub const SYNC_ENDING: Duration = Duration::from_secs(1);

/// The time after which an extension that names its running commands should name an assigned one:
/// by then no request is on its way that was made before.
pub const SYNC_UNMENTIONED: Duration = Duration::from_secs(1);

/// In how many requests in a row it must not be named for that.
pub const SYNC_UNMENTIONED_TIMES: u8 = 3;

/// How long a command may run in the page unless the call asks for more. From `go`.
pub const EXECUTE: Duration = Duration::from_secs(10);

/// The same for a command that leaves dialogs open: an agent needs this long to read one and answer.
pub const EXECUTE_HOLDING: Duration = Duration::from_secs(60);

/// The most that a call may ask for.
pub const EXECUTE_MAX: Duration = Duration::from_secs(300);

/// How much longer than the extension's own clock the daemon waits for its report:
/// the report of a timeout should win against the timeout.
pub const REPORT_GRACE: Duration = Duration::from_secs(2);

/// The time of a command on top of its running time, from creation: for the queue, for a browser
/// that has yet to connect, for redelivery.
pub const QUEUE_ALLOWANCE: Duration = Duration::from_secs(20);

/// How long a command of a client that is pinned to a browser waits for that to come back before calls
/// are refused: an extension that is reloaded or updated is back within seconds.
pub const PINNED_BROWSER_AWAY: Duration = Duration::from_secs(10);

/// How long a browser may be away in mid-command before the command is given up: a
/// dropped socket is back within a second, a killed worker is not.
pub const AWAY: Duration = Duration::from_secs(3);

/// How long a tab stays taken after a command that the page may still be at.
pub const LANE_HOLD: Duration = Duration::from_secs(2);

/// How often a command that provably never began is delivered before it is given up.
pub const ATTEMPTS: u32 = 3;

/// How long a result is kept. From the command's end.
pub const RETAIN: Duration = Duration::from_secs(60);

/// How long a result is kept that is read part by part: each part that is read keeps it for [`RETAIN`] more,
/// until this long after the command's end.
pub const RETAIN_READ: Duration = Duration::from_secs(600);

/// How long a person may take to draw or to answer. From the creation of the wait (seed 000). The
/// drawing or the answer can be read for the same time.
pub const PERSON: Duration = Duration::from_secs(600);

/// How often one command waits for the person's word: a page that becomes another one after each
/// answer must not ask for ever.
pub const HOLDS: u32 = 4;

/// How long a person's word “for this session” holds at most: a browser may stay open for weeks.
pub const CONSENT_SESSION: Duration = Duration::from_secs(12 * 3_600);

/// How many kept words there are at most; beyond it the oldest goes, and the person is asked again.
pub const CONSENTS: usize = 1_000;

/// The same for one client: each of its commands carries them.
pub const CONSENTS_OF_CLIENT: usize = 100;

/// How long the result of a job is kept. From its end: its caller looks for it less often than for
/// a command's result.
pub const RETAIN_JOB: Duration = Duration::from_secs(600);

/// How long a key that a call brings stands for its command: the same key is the same
/// command. From its acceptance.
pub const IDEMPOTENT: Duration = Duration::from_secs(600);

/// How long a daemon that was asked to end lets running commands finish.
pub const DRAIN: Duration = Duration::from_secs(2);

/// The longest that one call may block; MCP clients commonly give up after 60 s.
pub const WAIT_MAX: Duration = Duration::from_secs(55);

/// How long the refusal of a call is held back whose client has made too many: it is what
/// slows down a client that heeds no refusal.
pub const TOO_SOON: Duration = Duration::from_secs(1);

/// How long a browser that went away is remembered, so that commands for it wait
/// rather than fail.
pub const BROWSER_REMEMBERED: Duration = Duration::from_secs(600);

/// How long a client that has nothing to wait for stays in lists after its last call. Most are
/// dead by then: a client does not say that it ends, and a short-lived one may have a new name each
/// time.
pub const CLIENT_LISTED: Duration = Duration::from_secs(600);

/// How long a tab that a client has used counts as one that it uses: several agents may share the
/// client, and each may think for minutes.
pub const TABS_TOLD_APART: Duration = Duration::from_secs(600);

/// How many tabs a client is known to use.
pub const USED_TABS: usize = 32;

/// How long a client holds a tab that it opened and does not use: an agent thinks for minutes, and one
/// that has forgotten its tab must not hold it for ever.
pub const LEASE_IDLE: Duration = Duration::from_secs(600);

/// How long a client that has left, or has fallen silent without a stream, holds the tabs that it
/// opened: a program that is started anew is back by then.
pub const LEASE_ABSENT: Duration = Duration::from_secs(60);

/// How many tabs with changed states one browser may report: nobody has more tabs.
pub const PAGE_STATES: usize = 10_000;

/// How long after a client's last act in it a tab of the person is held for that client: the person
/// did not give it away.
pub const LEASE_BORROWED: Duration = Duration::from_secs(30);

/// How often a browser is asked to close a tab whose time has come, while it leaves it open.
pub const LEFTOVER_TAB_AGAIN: Duration = Duration::from_secs(60);

/// A tab that a page opens this long after an act of an owner in that page's tab is the owner's, too:
/// pages open tabs after an answer of their server.
pub const OPENED_AFTER_ACT: Duration = Duration::from_secs(5);

/// How long it is remembered that a client opened a tab in a browser that does not come back.
pub const OPENED_TAB_REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3_600);

/// How long a client with nothing of its own left is remembered, above all its current tab.
pub const CLIENT_REMEMBERED: Duration = Duration::from_secs(3_600);

/// The rate of all clients of an owner together, as a multiple of one client's rate: anyone can make
/// up a client's name, but not an owner's.
pub const OWNER_CLIENTS: usize = 20;

/// Declares each capacity once: its field, its default, and the least value that works.
macro_rules! capacities {
    ($($(#[$doc:meta])* $name:ident: $default:literal, at least $least:literal;)*) => {
        /// The capacities that a person can set. See [`Limits::set`] for their names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $name: usize,)*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            /// The names that [`set`](Self::set) takes, in the order of the fields.
            pub const NAMES: [&'static str; [$(stringify!($name)),*].len()] = [$(stringify!($name)),*];

            /// Sets one capacity by its name. Returns false, and changes nothing, if there is none
            /// of that name or the value is too small to work with.
            #[must_use]
            pub fn set(&mut self, name: &str, value: usize) -> bool {
                let (slot, least): (&mut usize, usize) = match name {
                    $(stringify!($name) => (&mut self.$name, $least),)*
                    _ => return false,
                };
                let is_enough = value >= least;
                if is_enough {
                    *slot = value;
                }
                is_enough
            }
        }
    };
}

capacities! {
    /// Commands of one client that wait for their tab; one more is refused.
    queued: 5, at least 1;
    /// Tabs in which one client's commands run side by side.
    lanes: 5, at least 1;
    /// Ended commands kept for one client; the oldest read one leaves first.
    retained: 100, at least 1;
    /// Failures listed for one client; the oldest leaves first.
    failures: 100, at least 1;
    /// Ids remembered for one client after their result is gone.
    tombstones: 1_000, at least 1;
    /// Waits for a person to draw that one client has; one more is refused.
    annotations: 20, at least 1;
    /// Questions of one owner's clients that wait for a person's answer; one more is refused.
    asks: 20, at least 1;
    /// Jobs of one client that are not over; one more is refused.
    jobs: 20, at least 1;
    /// Calls of one client that block at the same time; one more is refused.
    waiters: 64, at least 1;
    /// Tool calls of one client in a minute, and a twentieth of what its owner's clients may make
    /// together; 0 for no limit.
    calls_per_minute: 1_000, at least 0;
    /// MiB that one owner's clients may send in a minute, small requests apart; one request more is
    /// refused. 0 for no limit.
    // A request of 1 MiB, the largest there is, keeps a core busy for some 20 ms: together
    // that is a second or two in each minute.
    mib_per_minute: 64, at least 0;
    /// Frames that wait for one extension to read them; one more closes its link.
    // At least room for one command and for the answers to the extension's frames.
    outbound: 64, at least 8;
    /// Clients known at the same time; the one idle the longest leaves first.
    clients: 1_000, at least 1;
    /// Connections that are open at the same time; the oldest of the holder with the most leaves for a new one.
    // Above those that have proved nothing and one holder's share.
    connections: 1_024, at least 128;
    /// Seconds after a client has ended until the tabs that it opened are closed. 0: they stay open.
    leftover_tabs_s: 600, at least 0;
    /// Idempotency keys remembered for one client; the oldest leaves first.
    // The calls of ten minutes at the default rate (decision 96).
    idempotency_keys: 10_000, at least 1;
    /// MiB of commands and results that are kept, of all clients; with more, nothing new is taken,
    /// nor from an owner who has three quarters of it.
    // Three quarters of the journal's size: the rest is for entries that are on their way.
    kept_mib: 192, at least 1;
    /// Log lines of pages that are kept, of all browsers; the oldest leaves first. The same
    /// goes for the streams below.
    logs: 1_000, at least 1;
    /// Requests that are over.
    network: 1_000, at least 1;
    /// Requests whose bodies are kept.
    bodies: 100, at least 1;
    /// Messages of pages' WebSockets.
    websocket: 500, at least 1;
    /// Actions of the person in pages.
    actions: 1_000, at least 1;
    /// Measurements of pages.
    performance: 20, at least 1;
    /// Lines of the extensions' own logs.
    extension_logs: 500, at least 1;
    /// MiB of all streams together; the oldest entry of all leaves first.
    // Rings full of usual entries take 3 MiB.
    streams_mib: 16, at least 1;
}

impl Limits {
    /// How long after a client has ended the tabs that it opened are closed. `None`: never.
    #[must_use]
    pub fn leftover_tabs_delay(&self) -> Option<Duration> {
        let seconds = u64::try_from(self.leftover_tabs_s).unwrap_or(u64::MAX);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }
}

impl Limits {
    /// How many entries of a stream are kept.
    #[must_use]
    pub const fn entries_of(&self, stream: StreamKind) -> usize {
        match stream {
            StreamKind::Logs => self.logs,
            StreamKind::Network => self.network,
            StreamKind::Bodies => self.bodies,
            StreamKind::Websocket => self.websocket,
            StreamKind::Actions => self.actions,
            StreamKind::Performance => self.performance,
            StreamKind::ExtensionLogs => self.extension_logs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_limit_can_be_set_and_nothing_else() {
        for name in Limits::NAMES {
            let mut limits = Limits::default();
            assert!(limits.set(name, 177), "{name}");
            assert_ne!(limits, Limits::default(), "{name}");
        }
        let mut limits = Limits::default();
        assert!(!limits.set("queue", 1));
        assert!(!limits.set("queued", 0));
        assert_eq!(limits, Limits::default());
    }

    #[test]
    fn the_smallest_that_works_can_be_set_and_nothing_below() {
        for name in Limits::NAMES {
            let least = match name {
                "calls_per_minute" | "mib_per_minute" | "leftover_tabs_s" => 0,
                "outbound" => 8,
                "connections" => 128,
                _ => 1,
            };
            assert!(Limits::default().set(name, least), "{name}");
            assert!(least == 0 || !Limits::default().set(name, least - 1), "{name}");
        }
    }
}
