//! Drawings: they come from browsers, are kept as files, and end whoever waits for them.
//!
//! A drawing is on the disk before anybody is told of it, and before whoever sent it is: so
//! none is lost. It is unread until its owner has had it: by the wait that it ended, or by a
//! later one. What a wait has come to stands with the command that it is, in the hub.

mod reading;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::to_raw_value;
use tokio_util::task::TaskTracker;

use crate::home::{DrawingList, DrawingStore, DrawingsError, KeptDrawing};
use crate::hub::{
    CallRefusal, Caller, CommandLookup, HostTask, Hub, Submission, SubmittedCommand, TargetSelector,
};
use crate::lifecycle::{AwaitedDrawings, CommandOutcome, CommandWork, limits};
use crate::proof::DEFAULT_OWNER;
use crate::protocol::{
    Action, CorrelationId, Drawing, DrawingCancel, DrawingId, DrawingPrompt, DrawingsReport, Owner,
    ReportedError, SessionName,
};

/// How long people take, as a rule.
const USUAL: Duration = Duration::from_secs(60);

/// How long is waited for the browser to say whether the drawing tools are open: the answer
/// should say what keeps them from it.
const OPEN: Duration = Duration::from_secs(1);

/// The drawings of all owners, and who waits for them. Cheap to clone; all clones are the
/// same. Must be used in a tokio runtime.
#[derive(Clone, Debug)]
pub struct AnnotationService(Arc<AnnotationState>);

#[derive(Debug)]
struct AnnotationState {
    hub: Hub,
    drawings: DrawingStore,
    /// The waits that a drawing has ended, until it stands on the disk whether it was read.
    ended: Mutex<reading::EndedWaits>,
    tasks: TaskTracker,
}

/// What a call asks a person for.
#[derive(Clone, Debug, Default)]
pub struct DrawingRequest {
    /// Which drawings; none: those of no session.
    pub session: Option<SessionName>,
    /// Where the drawing tools are to be opened.
    pub selector: TargetSelector,
    /// Whether elements are described with their computed styles.
    pub styles: bool,
    /// What the person is asked to draw.
    pub prompt: Option<DrawingPrompt>,
    /// See [`Submission::idempotency_key`].
    pub idempotency_key: Option<Arc<str>>,
}

/// A wait that was taken.
#[derive(Debug)]
pub struct DrawingWait {
    /// The wait. It is over at once if there was a drawing that nobody had read.
    pub submitted: SubmittedCommand,
    /// What became of the drawing tools, if they had to be opened.
    pub opening: Option<ToolsOpening>,
}

/// What became of the drawing tools.
#[derive(Debug)]
pub enum ToolsOpening {
    /// The browser was asked to open them: what is known of that.
    Asked(CommandLookup),
    /// It could not be asked. The person can open them.
    Refused(CallRefusal),
}

/// Why there is no answer.
#[derive(Debug)]
pub enum AnnotationError {
    /// The daemon does not take it now.
    Refused(CallRefusal),
    /// The disk did not do what was asked.
    Disk(DrawingsError),
}

impl From<DrawingsError> for AnnotationError {
    fn from(error: DrawingsError) -> Self {
        Self::Disk(error)
    }
}

impl AnnotationService {
    /// Drawings that are kept here, for whoever waits in this hub. What an earlier life of the
    /// daemon has told is noted as read when it is. Must be called in a tokio runtime.
    #[must_use]
    pub fn new(hub: Hub, drawings: DrawingStore) -> Self {
        let (ended, tasks) = (Mutex::default(), TaskTracker::new());
        let annotations = Self(Arc::new(AnnotationState { hub, drawings, ended, tasks }));
        annotations.follow_earlier_waits();
        annotations
    }

    /// Takes a drawing: when this returns it is kept, and whoever waits for it has it. The same
    /// again is taken again, and is still one drawing.
    ///
    /// # Errors
    ///
    /// [`DrawingsError`]: it is not kept.
    pub async fn take(&self, drawing: Drawing) -> Result<(), DrawingsError> {
        let named = drawing.correlation_id.clone();
        let owner = named.as_ref().and_then(|id| self.0.hub.owner_of(id));
        let owner = owner.unwrap_or_else(|| DEFAULT_OWNER.into());
        let session = drawing.session.clone();
        let session = session.as_ref();
        if let Some(why) = drawing.cancelled {
            match &named {
                // The others of its session may have drawing tools open on other pages.
                Some(id) => self.0.hub.end_wait(id, given_up(why)).await,
                None => drop(self.0.hub.end_waits(&owner, session, None, &given_up(why)).await),
            }
            return Ok(());
        }
        let (kept, is_new) = self.keep(&owner, drawing).await?;
        if is_new || kept.is_unread {
            let id = std::slice::from_ref(&kept.drawing_id);
            let outcome = self.report(&owner, session.cloned(), id).await?;
            let ended = self.0.hub.end_waits(&owner, session, named.as_ref(), &outcome).await;
            self.note_when_read(owner, vec![kept.drawing_id], ended);
        }
        Ok(())
    }

    /// Takes a drawing from an extension that only polls: for the waits of its session that the
    /// extension holds, and for no other. False: it holds none, and nothing is kept.
    ///
    /// # Errors
    ///
    /// [`DrawingsError`]: it is not kept.
    pub async fn take_polled(
        &self,
        extension_id: &str,
        drawing: Drawing,
    ) -> Result<bool, DrawingsError> {
        let (hub, session) = (&self.0.hub, drawing.session.clone());
        let held = hub.held_waits(extension_id, session.as_ref(), drawing.correlation_id.as_ref());
        let Some((owner, _)) = held.first().cloned() else { return Ok(false) };
        let waits = held.into_iter().filter(|(whose, _)| *whose == owner).map(|(_, id)| id);
        let waits: Vec<_> = waits.collect();
        if let Some(why) = drawing.cancelled {
            for id in &waits {
                hub.end_wait(id, given_up(why)).await;
            }
            return Ok(true);
        }
        let (kept, is_new) = self.keep(&owner, drawing).await?;
        if is_new || kept.is_unread {
            let id = std::slice::from_ref(&kept.drawing_id);
            let outcome = self.report(&owner, session, id).await?;
            for id in &waits {
                hub.end_wait(id, outcome.clone()).await;
            }
            self.note_when_read(owner, vec![kept.drawing_id], waits);
        }
        Ok(true)
    }

    /// Waits for a drawing, under an id of its own. One that nobody has read ends the wait at
    /// once; else the drawing tools are opened. Returns when the wait is recorded.
    ///
    /// # Errors
    ///
    /// [`AnnotationError`].
    pub async fn ask(
        &self,
        caller: &Caller,
        request: DrawingRequest,
    ) -> Result<DrawingWait, AnnotationError> {
        let DrawingRequest { session, selector, styles, prompt, idempotency_key } = request;
        let submitted = self.begin(caller, session.clone(), selector.clone(), idempotency_key)?;
        let (hub, id) = (&self.0.hub, submitted.accepted.id.clone());
        hub.confirm(caller, &submitted).await.map_err(AnnotationError::Refused)?;
        // The wait is there already: a drawing that comes from here on ends it.
        let unread = self.unread(&caller.owner, session.clone()).await;
        let unread = unread.inspect_err(|_| hub.withdraw(caller, &submitted))?;
        if !unread.is_empty() {
            self.hand_over(caller, &submitted, session, &unread).await?;
            return Ok(DrawingWait { submitted, opening: None });
        }
        if !submitted.is_new() {
            return Ok(DrawingWait { submitted, opening: None });
        }
        let styles = styles.then_some(true);
        let action = Action::DrawMode { correlation_id: id, session, styles, prompt };
        Ok(DrawingWait { submitted, opening: Some(self.open(caller, action, selector).await) })
    }

    /// The drawings of a session; of none: those that nobody has read, else the last one. They
    /// are read by the wait that this makes, which is over at once. `None`: there are none.
    ///
    /// # Errors
    ///
    /// [`AnnotationError`].
    pub async fn read(
        &self,
        caller: &Caller,
        session: Option<SessionName>,
        key: Option<Arc<str>>,
    ) -> Result<Option<SubmittedCommand>, AnnotationError> {
        let owner = &caller.owner;
        let wanted = session.clone();
        let of_session = self.list(owner).await?.drawings.into_iter();
        let of_session: Vec<_> = of_session.filter(|kept| kept.session == wanted).collect();
        let unread = || of_session.iter().filter(|kept| kept.is_unread);
        let chosen: Vec<_> = match (&session, of_session.last()) {
            (_, None) => return Ok(None),
            (None, Some(_)) if unread().next().is_some() => unread().collect(),
            (None, Some(last)) => vec![last],
            (Some(_), Some(_)) => of_session.iter().collect(),
        };
        let ids: Vec<_> = chosen.into_iter().map(|kept| kept.drawing_id.clone()).collect();
        let submitted = self.begin(caller, session.clone(), TargetSelector::default(), key)?;
        self.hand_over(caller, &submitted, session, &ids).await?;
        self.0.hub.confirm(caller, &submitted).await.map_err(AnnotationError::Refused)?;
        Ok(Some(submitted))
    }

    /// What is kept for an owner.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Io`].
    pub async fn list(&self, owner: &Owner) -> Result<DrawingList, DrawingsError> {
        let owner = owner.clone();
        let ended = self.ended_waits();
        let mut list = self.on_disk(move |drawings| drawings.list(&owner)).await?;
        for kept in &mut list.drawings {
            self.note_if_read(kept, &ended);
        }
        Ok(list)
    }

    /// Deletes the drawings of a session; of none: those of no session. How many there were.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Io`].
    pub async fn clear(
        &self,
        owner: &Owner,
        session: Option<SessionName>,
    ) -> Result<usize, DrawingsError> {
        let owner = owner.clone();
        self.on_disk(move |drawings| drawings.clear_session(&owner, session.as_ref())).await
    }

    fn begin(
        &self,
        caller: &Caller,
        session: Option<SessionName>,
        target: TargetSelector,
        key: Option<Arc<str>>,
    ) -> Result<SubmittedCommand, AnnotationError> {
        let asked = HostTask {
            work: CommandWork::Annotations { annotations: AwaitedDrawings { session } },
            target,
            deadline: limits::PERSON,
            estimate: USUAL,
            idempotency_key: key,
        };
        self.0.hub.start_host_task(caller, asked).map_err(AnnotationError::Refused)
    }

    /// Has the drawing tools opened, and waits a moment for what becomes of that.
    async fn open(
        &self,
        caller: &Caller,
        action: Action,
        selector: TargetSelector,
    ) -> ToolsOpening {
        let hub = &self.0.hub;
        let call = Submission { action, selector, timeout: limits::EXECUTE, idempotency_key: None };
        let accepted = match hub.submit(caller, call).await {
            Ok(accepted) => accepted,
            Err(refused) => return ToolsOpening::Refused(refused),
        };
        let for_now = if accepted.reachable { OPEN } else { Duration::ZERO };
        let seen = hub.wait(caller, &accepted.id, for_now, false).await;
        self.note_opened(caller.clone(), accepted.id);
        match seen {
            Ok(seen) => ToolsOpening::Asked(seen),
            Err(refused) => ToolsOpening::Refused(refused),
        }
    }

    /// That the tools are open is nobody's to read: it must not be listed as never retrieved.
    fn note_opened(&self, caller: Caller, id: CorrelationId) {
        let hub = self.0.hub.clone();
        self.0.tasks.spawn(async move {
            hub.until_over(&id).await;
            hub.mark_read(&caller, &id);
        });
    }

    /// Ends a wait with drawings that are there already. One that is over has other ones, and
    /// who reads it has not read these.
    async fn hand_over(
        &self,
        caller: &Caller,
        submitted: &SubmittedCommand,
        session: Option<SessionName>,
        drawings: &[DrawingId],
    ) -> Result<(), DrawingsError> {
        let (owner, id) = (&caller.owner, &submitted.accepted.id);
        let outcome = self.report(owner, session, drawings).await;
        let outcome = outcome.inspect_err(|_| self.0.hub.withdraw(caller, submitted))?;
        if self.0.hub.finish(id, outcome) {
            self.note_when_read(owner.clone(), drawings.to_vec(), vec![id.clone()]);
        }
        Ok(())
    }

    async fn keep(
        &self,
        owner: &Owner,
        drawing: Drawing,
    ) -> Result<(KeptDrawing, bool), DrawingsError> {
        let (owner, at) = (owner.clone(), self.0.hub.now());
        let ended = self.ended_waits();
        let kept = self.on_disk(move |drawings| drawings.keep(&owner, &drawing, at)).await;
        kept.map(|(mut kept, is_new)| {
            self.note_if_read(&mut kept, &ended);
            (kept, is_new)
        })
    }

    /// The outcome of a wait that these drawings end.
    async fn report(
        &self,
        owner: &Owner,
        session: Option<SessionName>,
        ids: &[DrawingId],
    ) -> Result<CommandOutcome, DrawingsError> {
        let (owner, ids) = (owner.clone(), ids.to_vec());
        let load = move |drawings: &DrawingStore| {
            let pages = ids.iter().map(|id| drawings.load(&owner, id));
            let pages = pages.collect::<Result<Vec<_>, _>>()?;
            Ok(DrawingsReport::new(pages, session))
        };
        let result = to_raw_value(&self.on_disk(load).await?).unwrap_or_default().into();
        Ok(CommandOutcome::Complete { result, origin: None })
    }

    /// Does this where the disk may take its time. It is done even if nobody waits any more.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&DrawingStore) -> Result<T, DrawingsError> + Send + 'static,
    ) -> Result<T, DrawingsError> {
        let drawings = self.0.drawings.clone();
        let path = PathBuf::from("drawings");
        tokio::task::spawn_blocking(move || work(&drawings)).await.unwrap_or_else(|broken| {
            Err(DrawingsError::Io { path, source: io::Error::other(broken) })
        })
    }
}

fn given_up(why: DrawingCancel) -> CommandOutcome {
    let (code, message) = match why {
        DrawingCancel::User => {
            ("cancelled_by_user", "The user closed the drawing tools without sending anything")
        }
        DrawingCancel::PageClosed => {
            ("page_closed", "The page was closed, or went elsewhere, before the drawing was sent")
        }
    };
    let (code, message) = (code.to_owned(), message.to_owned());
    CommandOutcome::Error { error: ReportedError::new(code, message).into() }
}
