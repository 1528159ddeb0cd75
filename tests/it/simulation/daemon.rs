//! The daemon's host: the shipped hub and edge. Its sockets are the simulation's, and its
//! journal is written to the [disk](testkit::Disk) outside of it.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tabwire::edge::{EdgeServer, PeerUser};
use tabwire::engine::JournalEntry;
use tabwire::home::StateDirectoryError;
use tabwire::hub::{CallRefusal, Caller, CommandLookup, Hub, Submission};
use tabwire::install::BrowserFolders;
use tabwire::journal::{Journal, JournalReader};
use tabwire::lifecycle::{Command, CommandState, Limits, Tombstone, limits};
use tabwire::protocol::{CorrelationId, Timestamp};
use tabwire::tools::ToolSet;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;
use tokio_util::sync::CancellationToken;
use turmoil::net::TcpListener;

use super::plan::{Kind, Step};
use super::world::{Life, PORT, World};

/// How often the disk looks for entries.
const POLL: Duration = Duration::from_millis(10);

/// How much later than it should a deadline may take effect: the disk's look, and a timer's
/// own.
const TICK: Duration = Duration::from_millis(15);

/// How long a journal is still written when the daemon was asked to end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A call to the hub from another host.
pub(super) struct Request {
    pub(super) caller: Caller,
    pub(super) call: Call,
    /// Dropped if the daemon dies first.
    pub(super) answer: oneshot::Sender<Value>,
}

/// What is called.
#[derive(Clone)]
pub(super) enum Call {
    Submit(Box<Submission>),
    Look(CorrelationId),
    Wait(CorrelationId, Duration),
    Cancel(CorrelationId),
}

/// One life of the daemon.
pub(super) async fn live(world: Rc<World>) -> turmoil::Result {
    world.note("the daemon starts");
    let history = world.disk.borrow().history();
    let (journal, pages) = Journal::channel();
    let hub = Hub::open(Limits::default(), journal, history, &world.reading());
    let (door, requests) = mpsc::unbounded_channel();
    let stop = CancellationToken::new();
    *world.life.borrow_mut() = Some(Life { hub: hub.clone(), door, stop: stop.clone() });
    spawn_local(write(Scribe::new(world.clone(), hub.clone(), pages), stop.clone()));
    spawn_local(take_calls(world.clone(), hub.clone(), requests));
    // The agents' owners, so that their tokens count.
    let known = || Ok::<_, StateDirectoryError>(vec!["ci".into(), "stranger".into()]);
    world.home().owners().read_or_seed(Timestamp::from_unix_micros(0), known)?;
    let tools = ToolSet::new(hub, Duration::ZERO);
    let server = EdgeServer::new(PORT, world.home(), tools, None, BrowserFolders::default());
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => {
                let (stream, peer) = accepted?;
                server.handle_connection(stream, peer, PeerUser::Ours);
            }
        }
    }
    drop(listener);
    server.end().await;
    Ok(())
}

/// Writes the journal.
struct Scribe {
    world: Rc<World>,
    hub: Hub,
    began: Timestamp,
    pages: JournalReader,
    /// How many of the entries that were taken have been looked at.
    seen: usize,
    /// When they are recorded.
    due: Option<Duration>,
}

async fn write(mut scribe: Scribe, stop: CancellationToken) {
    let mut stopped = None;
    loop {
        tokio::time::sleep(POLL).await;
        let world = scribe.world.clone();
        if stop.is_cancelled() && *stopped.get_or_insert(world.now()) + LAST_WORDS < world.now() {
            return;
        }
        scribe.take();
        if scribe.is_due() && world.now() < world.disk_full_until.get() {
            scribe.pages.failed("the disk is full");
        } else if scribe.is_due() {
            scribe.commit().await;
        }
    }
}

impl Scribe {
    fn new(world: Rc<World>, hub: Hub, pages: JournalReader) -> Self {
        let began = hub.now();
        Self { world, hub, began, pages, seen: 0, due: None }
    }

    /// Takes what there is, and looks at what is new.
    fn take(&mut self) {
        self.pages.take_all();
        for entry in self.pages.batch().skip(self.seen) {
            if let JournalEntry::Changed(command) = entry {
                self.check(command);
            }
        }
        self.seen = self.pages.batch().count();
    }

    /// An end comes at its deadline at the latest, and its deadline takes effect when it
    /// is due.
    fn check(&self, command: &Command) {
        let CommandState::Ended { at, .. } = command.state() else { return };
        let name = self.world.ledger.borrow().name(command.spec().id.as_str());
        let by = command.total_by().max(self.began + limits::AWAY);
        if *at > by {
            let late = at.since(by);
            self.world.breaks(format!("{name}: ended {late:?} after its deadline"));
        }
        let late = self.hub.now().since(*at);
        if late > TICK {
            self.world.breaks(format!("{name}: its end took effect {late:?} late"));
        }
    }

    fn is_due(&mut self) -> bool {
        if self.pages.is_empty() {
            return false;
        }
        let now = self.world.now();
        let takes = || now + self.world.chance.millis(0..=self.world.plan.commit);
        now >= *self.due.get_or_insert_with(takes)
    }

    /// Records what was taken. A host that dies in it has recorded all of it or nothing.
    async fn commit(&mut self) {
        let world = self.world.clone();
        let kinds: Vec<_> = self.pages.batch().filter_map(kind).collect();
        for kind in &kinds {
            world.reach(Step::Writing(*kind));
        }
        self.survive().await;
        for entry in self.pages.batch() {
            world.disk.borrow_mut().record(entry);
            if let JournalEntry::Changed(command) = entry
                && matches!(command.state(), CommandState::Ended { .. })
            {
                let id = command.spec().id.as_str();
                world.ledger.borrow_mut().end_recorded(world.now(), id);
            }
        }
        for kind in &kinds {
            world.reach(Step::Written(*kind));
        }
        self.survive().await;
        self.pages.recorded();
        (self.seen, self.due) = (0, None);
    }

    /// Does not return if the host is about to die.
    async fn survive(&self) {
        if self.world.is_doomed() {
            std::future::pending::<()>().await;
        }
    }
}

fn kind(entry: &JournalEntry) -> Option<Kind> {
    if let JournalEntry::Accepted(_) = entry {
        return Some(Kind::Acceptance);
    }
    let JournalEntry::Changed(command) = entry else { return None };
    let is_end = matches!(command.state(), CommandState::Ended { .. });
    Some(if is_end { Kind::End } else { Kind::Start })
}

/// Answers calls, each in a task of its own.
async fn take_calls(world: Rc<World>, hub: Hub, mut requests: mpsc::UnboundedReceiver<Request>) {
    while let Some(Request { caller, call, answer }) = requests.recv().await {
        let (world, hub) = (world.clone(), hub.clone());
        spawn_local(async move {
            let said = take_call(&world, &hub, &caller, call).await;
            // A caller that has gone does not hear it.
            let _ = answer.send(said);
        });
    }
}

async fn take_call(world: &World, hub: &Hub, caller: &Caller, call: Call) -> Value {
    match call {
        Call::Submit(submission) => match hub.submit(caller, *submission).await {
            Ok(accepted) => json!({"status": "queued", "correlation_id": accepted.id}),
            Err(refused) => refusal(&refused),
        },
        Call::Look(id) => seen(hub.get(caller, &id, false).await),
        Call::Cancel(id) => seen(hub.cancel(caller, &id).await),
        Call::Wait(id, at_most) => {
            let since = world.now();
            let said = seen(hub.wait(caller, &id, at_most, false).await);
            let now = world.now();
            if super::ledger::outcome(&said).is_some() {
                world.ledger.borrow_mut().woke(now, since, id.as_str());
            } else if said["status"] == "pending" && now < since + at_most && !world.is_ending() {
                world.breaks(format!("a call that may wait {at_most:?} gave up at once"));
            }
            said
        }
    }
}

/// What is known of a command, as the tools tell it.
fn seen(seen: Result<CommandLookup, CallRefusal>) -> Value {
    match seen {
        Ok(CommandLookup::Command(report)) => serde_json::to_value(&*report).unwrap(),
        Ok(CommandLookup::Evicted(gone)) => json!({
            "status": "expired", "reason": Tombstone::REASON.code(), "may_have_run": gone.may_have_run,
        }),
        Ok(CommandLookup::NotFound) => json!({"status": "not_found"}),
        Err(refused) => refusal(&refused),
    }
}

fn refusal(refused: &CallRefusal) -> Value {
    json!({"error": refused.why.code()})
}
