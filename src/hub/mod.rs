//! The shell around the lifecycle: it holds the commands, wakes whoever waits, carries
//! frames to and from extensions and sleeps until the next deadline. It is the only
//! owner of commands.
//!
//! Each command lives in a watch channel under its correlation id. It changes in one
//! place (`desk`), under one lock that is held for microseconds and never across an
//! await. Whoever waits subscribes first, then looks, then waits: no wake-up is lost.
//! One task, the reaper, sleeps until the next deadline; it ends with the hub.

mod clients;
mod clock;
mod desk;
mod events;
mod links;
mod reaper;
mod refusal;
mod submit;
mod targets;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use crate::lifecycle::Wish;
use crate::lifecycle::{Command, Event, Gone, Limits, limits};
use crate::proof;
use crate::protocol::{
    ClientId, CommandReport, CorrelationId, FailedCommand, FinishedCommand, Moment, Owner,
    PendingCommand,
};
pub use clients::ClientSummary;
use clock::Clock;
use desk::Books;
use events::Change;
pub use events::{Events, News, Told};
pub use links::{BrowserSummary, Farewell, Link, Outbox, TabSummary};
pub use refusal::{BrowserChoice, Refusal, Refused};
pub use submit::{Accepted, Submission};

/// The owner of all commands. Cheap to clone; all clones are the same hub.
#[derive(Clone, Debug)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    limits: Limits,
    epoch: Arc<str>,
    commands: DashMap<CorrelationId, Arc<watch::Sender<Command>>>,
    books: Mutex<Books>,
    /// Tells the reaper that a deadline has become the first of all.
    sooner: Notify,
    /// Every change of a command, for whoever looks on. Sending never blocks.
    changes: broadcast::Sender<Change>,
    closed: CancellationToken,
    tasks: TaskTracker,
}

/// Who calls: the owner decides what may be seen, the client whose lists and caps
/// count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who the token belongs to.
    pub owner: Owner,
    /// Which of its clients.
    pub client: ClientId,
}

/// What is known of an id.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A command.
    Command(Box<CommandReport>),
    /// A command whose record is gone.
    Gone(Gone),
    /// Nothing, or nothing that this owner may know of.
    NotFound,
}

/// A client's commands.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Those that are not over, oldest first.
    pub pending: Vec<PendingCommand>,
    /// Those with a result that is still kept, oldest first.
    pub completed: Vec<FinishedCommand>,
    /// Those without one that are still kept, oldest first.
    pub failed: Vec<FailedCommand>,
}

/// How the daemon is.
#[derive(Clone, Debug)]
pub struct Health {
    /// How long it has been running.
    pub uptime: Duration,
    /// Commands that are not over, of all clients.
    pub pending: usize,
    /// Commands whose record is kept, of all clients.
    pub kept: usize,
    /// How many browsers are connected.
    pub browsers: usize,
    /// How many clients are known.
    pub clients: usize,
}

impl Hub {
    /// A hub with its reaper. Must be called in a tokio runtime.
    #[must_use]
    pub fn start(limits: Limits) -> Self {
        let clock = Clock::start();
        let started = clock.now();
        let epoch = format!("{}-{}", started.unix_millis(), proof::random_hex::<4>());
        let hub = Self(Arc::new(Inner {
            clock,
            limits,
            epoch: epoch.into(),
            commands: DashMap::new(),
            books: Mutex::new(Books::new(started)),
            sooner: Notify::new(),
            changes: events::channel(),
            closed: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }));
        hub.0.tasks.spawn(reaper::run(hub.clone(), hub.0.closed.clone()));
        hub
    }

    /// Names this life of the daemon.
    #[must_use]
    pub fn epoch(&self) -> Arc<str> {
        self.0.epoch.clone()
    }

    /// Counts a tool call of this client.
    ///
    /// # Errors
    ///
    /// [`Refusal::RateLimited`].
    pub fn admit(&self, caller: &Caller) -> Result<(), Refused> {
        self.with_desk(|desk| {
            let now = desk.now();
            let taken = desk.client(caller).calls.take(now);
            taken.map_err(|retry_after| desk.refuse(caller, Refusal::RateLimited { retry_after }))
        })
    }

    /// Takes a command, and sends it on at once if its tab is free.
    ///
    /// # Errors
    ///
    /// [`Refused`]: it was not taken, and nothing that was is touched.
    pub fn submit(&self, caller: &Caller, call: Submission) -> Result<Accepted, Refused> {
        self.with_desk(|desk| desk.submit(caller, call))
    }

    /// What is known of a command now.
    #[must_use]
    pub fn look(&self, caller: &Caller, id: &CorrelationId, with_trace: bool) -> Seen {
        match self.watched(caller, id) {
            Some(watched) => Seen::Command(Box::new(watched.borrow().report(with_trace))),
            None => self.remembered(caller, id),
        }
    }

    /// Waits until a command is over, but no longer than `at_most`; then what is known
    /// of it.
    ///
    /// # Errors
    ///
    /// [`Refusal::TooManyWaiters`].
    pub async fn wait(
        &self,
        caller: &Caller,
        id: &CorrelationId,
        at_most: Duration,
        with_trace: bool,
    ) -> Result<Seen, Refused> {
        let Some(watched) = self.watched(caller, id) else {
            return Ok(self.remembered(caller, id));
        };
        let mut receiver = watched.subscribe();
        drop(watched);
        let _seat = self.take_seat(caller)?;
        let over = receiver.wait_for(|command| command.phase().is_terminal());
        tokio::select! {
            biased;
            // An error says that the record is gone; the look below says the rest.
            _ = over => {}
            () = self.0.closed.cancelled() => {}
            () = tokio::time::sleep(at_most.min(limits::WAIT_MAX)) => {}
        }
        Ok(self.look(caller, id, with_trace))
    }

    /// Cancels a command, if it is not over; then what is known of it (rows 15, 16).
    #[must_use]
    pub fn cancel(&self, caller: &Caller, id: &CorrelationId) -> Seen {
        if self.watched(caller, id).is_some() {
            self.with_desk(|desk| desk.apply(id, Event::Cancel));
        }
        self.look(caller, id, false)
    }

    /// Notes that a command's outcome was handed to its owner.
    pub fn note_read(&self, caller: &Caller, id: &CorrelationId) {
        let Some(watched) = self.watched(caller, id) else { return };
        let client = watched.borrow().facts().client.clone();
        self.with_desk(|desk| {
            desk.apply(id, Event::Read);
            desk.retention.note_read(&client, id);
        });
    }

    /// The client's own commands.
    #[must_use]
    pub fn lists(&self, caller: &Caller) -> Lists {
        let (active, kept) = self.with_desk(|desk| {
            let active = desk.client(caller).active.clone();
            (active, desk.retention.kept(&caller.client).cloned().collect::<Vec<_>>())
        });
        let each = |ids: Vec<CorrelationId>| {
            ids.into_iter().filter_map(|id| Some(self.watched(caller, &id)?.borrow().clone()))
        };
        let kept: Vec<_> = each(kept).collect();
        Lists {
            pending: each(active).filter_map(|command| command.as_pending()).collect(),
            completed: kept.iter().filter_map(Command::as_finished).collect(),
            failed: kept.iter().filter_map(Command::as_failed).collect(),
        }
    }

    /// The client's failures and refused calls, oldest first.
    #[must_use]
    pub fn failures(&self, caller: &Caller) -> Vec<FailedCommand> {
        self.with_desk(|desk| desk.retention.failures(&caller.client).cloned().collect())
    }

    /// The browsers that are known, connected ones first.
    #[must_use]
    pub fn browsers(&self) -> Vec<BrowserSummary> {
        let mut browsers: Vec<_> = self.with_desk(|desk| {
            desk.browsers.iter().map(|(id, browser)| browser.summary(id)).collect()
        });
        browsers.sort_by(|a, b| (!a.connected, &a.browser).cmp(&(!b.connected, &b.browser)));
        browsers
    }

    /// The tabs of the connected browsers.
    #[must_use]
    pub fn tabs(&self, caller: &Caller) -> Vec<TabSummary> {
        let mut tabs: Vec<_> = self.with_desk(|desk| {
            let current = desk.client(caller).current.clone();
            let is_current = |browser: &crate::protocol::BrowserId, tab| {
                current.as_ref().is_some_and(|c| c.browser == *browser && c.tab == Some(tab))
            };
            desk.tabs()
                .map(|(browser, tab)| TabSummary {
                    browser: browser.clone(),
                    current: is_current(browser, tab.tab_id),
                    tab: tab.clone(),
                })
                .collect()
        });
        tabs.sort_by(|a, b| {
            (&a.browser, a.tab.window_id, a.tab.tab_id).cmp(&(
                &b.browser,
                b.tab.window_id,
                b.tab.tab_id,
            ))
        });
        tabs
    }

    /// The owner's clients that are known, the one heard of last first.
    #[must_use]
    pub fn clients(&self, owner: &Owner) -> Vec<ClientSummary> {
        let mut clients: Vec<_> = self.with_desk(|desk| {
            let own = desk.clients.iter().filter(|(_, client)| client.owner == *owner);
            own.map(|(id, client)| client.summary(id)).collect()
        });
        clients.sort_by(|a, b| (b.last_seen, &a.client).cmp(&(a.last_seen, &b.client)));
        clients
    }

    /// How the daemon is.
    #[must_use]
    pub fn health(&self) -> Health {
        let kept = self.0.commands.len();
        self.with_desk(|desk| Health {
            uptime: desk.now().since(self.0.clock.started_at()),
            pending: desk.clients.values().map(|client| client.active.len()).sum(),
            kept,
            browsers: desk.browsers.values().filter(|browser| browser.is_connected()).count(),
            clients: desk.clients.len(),
        })
    }

    /// Ends all links and every wait, and stops the reaper.
    pub async fn shut_down(&self) {
        self.0.closed.cancel();
        self.with_desk(|desk| {
            for id in desk.browsers.keys().cloned().collect::<Vec<_>>() {
                desk.end_link(&id, Farewell::Shutdown);
            }
        });
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// For how long no client has called and no command was pending, counted from
    /// `since` at the earliest.
    #[must_use]
    pub fn idle_for(&self, since: Moment) -> Duration {
        self.with_desk(|desk| {
            let busy = desk.clients.values().any(|client| !client.is_idle());
            let heard = desk.clients.values().map(|client| client.last_seen).max();
            let last = if busy { desk.now() } else { heard.unwrap_or(since).max(since) };
            desk.now().since(last)
        })
    }

    /// The time, as the lifecycle reckons it.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.0.clock.now()
    }

    /// Lets every deadline that has come take effect, and drops what is past keeping.
    fn reap(&self) {
        self.with_desk(|desk| {
            let now = desk.now();
            while let Some(id) = desk.deadlines.due(now) {
                desk.apply(&id, Event::Tick);
                let retained = |watched: &Arc<watch::Sender<Command>>| {
                    watched.borrow().retain_until().is_none_or(|until| now < until)
                };
                if !self.0.commands.get(&id).is_some_and(|entry| retained(entry.value())) {
                    desk.forget(&id, "Result expired after 60s (never retrieved)");
                    desk.deadlines.remove(&id);
                }
            }
            desk.sweep();
        });
    }

    /// The command, if this owner may know of it.
    fn watched(&self, caller: &Caller, id: &CorrelationId) -> Option<Arc<watch::Sender<Command>>> {
        let watched = self.0.commands.get(id)?.clone();
        let is_own = watched.borrow().facts().owner == caller.owner;
        is_own.then_some(watched)
    }

    /// What is known of an id that is no command's any more.
    fn remembered(&self, caller: &Caller, id: &CorrelationId) -> Seen {
        self.with_desk(|desk| match desk.retention.tombstone(id) {
            Some(gone) if gone.owner == caller.owner => Seen::Gone(gone.clone()),
            Some(_) | None => Seen::NotFound,
        })
    }

    fn take_seat(&self, caller: &Caller) -> Result<Seat<'_>, Refused> {
        let most = self.0.limits.waiters;
        self.with_desk(|desk| {
            let client = desk.client(caller);
            let waiters = client.waiters;
            if waiters >= most {
                return Err(desk.refuse(caller, Refusal::TooManyWaiters { waiters }));
            }
            client.waiters += 1;
            Ok(())
        })?;
        Ok(Seat { hub: self, caller: caller.clone() })
    }
}

/// A blocked call's place among its client's waiters.
struct Seat<'a> {
    hub: &'a Hub,
    caller: Caller,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.hub.with_desk(|desk| {
            let client = desk.client(&self.caller);
            client.waiters = client.waiters.saturating_sub(1);
        });
    }
}
