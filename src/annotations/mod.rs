//! Drawings: browsers send them, the disk keeps them, and they end the waits for them.
//!
//! A drawing is on the disk before a wait ends with it and before its sender gets an
//! acknowledgement, so none is lost. It is unread until its owner has read the result of a wait with
//! it. A wait is a command in the hub, which keeps its outcome.

mod reading;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::value::to_raw_value;
use tokio_util::task::TaskTracker;

use crate::home::{DrawingList, DrawingStore, DrawingsError, FileError, KeptDrawing};
use crate::hub::{
    CallRefusal, Caller, CommandLookup, HostTask, Hub, RequestContext, Submission,
    SubmittedCommand, TargetSelector,
};
use crate::lifecycle::{AwaitedDrawings, CommandOutcome, CommandWork, limits};
use crate::proof::DEFAULT_OWNER;
use crate::protocol::actions::DrawModeAction;
use crate::protocol::{
    Action, BrowserId, CorrelationId, Drawing, DrawingCancel, DrawingId, DrawingPrompt,
    DrawingsReport, Owner, ReportedError, SessionName, TabId, TabScope, TraceContext,
};

/// The usual time that people take.
const USUAL: Duration = Duration::from_secs(60);

/// How long a call waits for the browser to open the drawing tools, so that the answer can report a
/// failure.
const OPEN: Duration = Duration::from_secs(1);

/// The drawings of all owners, and the waits for them. Clones are cheap and share their state. Needs
/// a tokio runtime.
#[derive(Clone, Debug)]
pub struct AnnotationService(Arc<AnnotationState>);

#[derive(Debug)]
struct AnnotationState {
    hub: Hub,
    drawings: DrawingStore,
    /// The waits that each drawing has ended, until the disk says whether the drawing was read.
    ended: Mutex<reading::EndedWaits>,
    tasks: TaskTracker,
}

/// A call's request for a drawing.
#[derive(Clone, Debug, Default)]
pub struct DrawingRequest {
    /// The session of the drawings; `None` for drawings without a session.
    pub session: Option<SessionName>,
    /// The tab in which the drawing tools open.
    pub selector: TargetSelector,
    /// Whether elements are described with their computed styles.
    pub styles: bool,
    /// The words that the person sees.
    pub prompt: Option<DrawingPrompt>,
    /// The rest of the call's request.
    pub request: RequestContext,
    /// See [`HostTask::must_name_tab`].
    pub must_name_tab: bool,
}

/// An accepted wait for a drawing.
#[derive(Debug)]
pub struct DrawingWait {
    /// The wait. An unread drawing ends it at once.
    pub submitted: SubmittedCommand,
    /// The state of the drawing tools, if they had to be opened.
    pub opening: Option<ToolsOpening>,
}

/// The result of opening the drawing tools.
#[derive(Debug)]
pub enum ToolsOpening {
    /// The browser was asked to open them; this is the state of that command.
    Asked(CommandLookup),
    /// The browser could not be asked. The person can open them.
    Refused(CallRefusal),
}

/// The reason why a call fails.
#[derive(Debug)]
pub enum AnnotationError {
    /// The daemon rejects the command now.
    Refused(CallRefusal),
    /// The drawings cannot be read or written.
    Disk(DrawingsError),
}

impl From<DrawingsError> for AnnotationError {
    fn from(error: DrawingsError) -> Self {
        Self::Disk(error)
    }
}

impl AnnotationService {
    /// The drawings of this store, for the waits of this hub. Goes on with waits of an earlier run of
    /// the daemon whose results nobody has read. Needs a tokio runtime.
    #[must_use]
    pub fn new(hub: Hub, drawings: DrawingStore) -> Self {
        let (ended, tasks) = (Mutex::default(), TaskTracker::new());
        let annotations = Self(Arc::new(AnnotationState { hub, drawings, ended, tasks }));
        annotations.follow_earlier_waits();
        annotations
    }

    /// Accepts a drawing. When this returns, the disk has it and its waits are over. A repetition is
    /// accepted too and remains one drawing.
    ///
    /// # Errors
    ///
    /// [`DrawingsError`]: it is not kept.
    pub async fn take(&self, browser: &BrowserId, drawing: Drawing) -> Result<(), DrawingsError> {
        let named = drawing.correlation_id.clone();
        let owner = named.as_ref().and_then(|id| self.0.hub.owner_of(id));
        // A drawing that no known wait asked for is the user's own (decision 197).
        let owner = owner.unwrap_or_else(|| DEFAULT_OWNER.into());
        let session = drawing.session.clone();
        let session = session.as_ref();
        let scope = self.scope_of_tab(&owner, browser, drawing.tab_id);
        if let Some(why) = drawing.cancelled {
            match &named {
                // Other waits of the session may have drawing tools open on other pages.
                Some(id) => self.0.hub.end_wait(id, given_up(why)).await,
                None if scope > self.0.hub.scope_of(&owner) => {}
                None => drop(self.0.hub.end_waits(&owner, session, None, &given_up(why)).await),
            }
            return Ok(());
        }
        // Before any wait ends, because the results name its files.
        let (kept, is_new) = self.keep(&owner, drawing, scope).await?;
        if !self.may_see(&owner, &kept) {
            return Ok(());
        }
        // A repetition of a drawing that was read must not end a newer wait.
        if is_new || kept.is_unread {
            let id = std::slice::from_ref(&kept.drawing_id);
            let outcome = self.report(&owner, session.cloned(), id).await?;
            let ended = self.0.hub.end_waits(&owner, session, named.as_ref(), &outcome).await;
            self.note_when_read(owner, vec![kept.drawing_id], ended);
        }
        Ok(())
    }

    /// Accepts a drawing from an extension that only polls, for the waits of its session that the
    /// extension holds, and for no others. False: it holds none, and the drawing is not kept.
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
        // The extension may hold waits of several owners. A drawing belongs to one: the first wait's.
        let waits = held.into_iter().filter(|(whose, _)| *whose == owner).map(|(_, id)| id);
        let waits: Vec<_> = waits.collect();
        if let Some(why) = drawing.cancelled {
            for id in &waits {
                hub.end_wait(id, given_up(why)).await;
            }
            return Ok(true);
        }
        // Such an extension does not say in which tabs its programs act.
        let (kept, is_new) = self.keep(&owner, drawing, TabScope::All).await?;
        if !self.may_see(&owner, &kept) {
            return Ok(true);
        }
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

    /// Begins a wait for a drawing, a command with an id of its own. An unread drawing ends the wait
    /// at once; otherwise the drawing tools open. Returns when the wait is recorded.
    ///
    /// # Errors
    ///
    /// [`AnnotationError`].
    pub async fn ask(
        &self,
        caller: &Caller,
        request: DrawingRequest,
    ) -> Result<DrawingWait, AnnotationError> {
        let DrawingRequest { session, selector, styles, prompt, request, must_name_tab } = request;
        let submitted = self.begin(
            caller,
            HostTask {
                idempotency_key: request.key,
                must_name_tab,
                trace_context: request.trace_context.clone(),
                record_by: request.record_by,
                ..wait_for(session.clone(), selector.clone())
            },
        )?;
        let (hub, id) = (&self.0.hub, submitted.accepted.id.clone());
        hub.confirm(caller, &submitted).await.map_err(AnnotationError::Refused)?;
        // The wait exists before the search: a drawing that arrives from here on ends it.
        let unread = self.unread(&caller.owner, session.clone()).await;
        // No caller knows of the wait yet, so it can go without a trace.
        let unread = unread.inspect_err(|_| hub.withdraw(caller, &submitted))?;
        if !unread.is_empty() {
            self.hand_over(caller, &submitted, session, &unread).await?;
            return Ok(DrawingWait { submitted, opening: None });
        }
        // A repeated call finds its first wait, whose tools are open already.
        if !submitted.is_new() {
            return Ok(DrawingWait { submitted, opening: None });
        }
        let styles = styles.then_some(true);
        let action =
            Action::DrawMode(DrawModeAction { correlation_id: id, session, styles, prompt });
        let opening = self.open(caller, action, selector, request.trace_context).await;
        Ok(DrawingWait { submitted, opening: Some(opening) })
    }

    /// The drawings of a session. Without a session: the unread drawings, or else the last one. They
    /// are the result of a new wait, which is over at once. `None`: there are no drawings.
    ///
    /// # Errors
    ///
    /// [`AnnotationError`].
    pub async fn read(
        &self,
        caller: &Caller,
        session: Option<SessionName>,
        request: RequestContext,
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
        let wait = wait_for(session.clone(), TargetSelector::default());
        let submitted = self.begin(
            caller,
            HostTask {
                idempotency_key: request.key,
                trace_context: request.trace_context,
                record_by: request.record_by,
                ..wait
            },
        )?;
        self.hand_over(caller, &submitted, session, &ids).await?;
        self.0.hub.confirm(caller, &submitted).await.map_err(AnnotationError::Refused)?;
        Ok(Some(submitted))
    }

    /// An owner's drawings, as far as its clients may see the tabs that they were made in.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Io`].
    pub async fn list(&self, owner: &Owner) -> Result<DrawingList, DrawingsError> {
        let of = owner.clone();
        let ended = self.ended_waits();
        let mut list = self.on_disk(move |drawings| drawings.list(&of)).await?;
        list.drawings.retain(|kept| self.may_see(owner, kept));
        if self.is_bounded(owner) {
            // Of a damaged one nobody knows in which tab it was made.
            list.damaged.clear();
        }
        for kept in &mut list.drawings {
            self.note_if_read(kept, &ended);
        }
        Ok(list)
    }

    /// The drawings of all owners, for the person: also those that the owner's clients may not see.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Io`].
    pub async fn list_all(&self) -> Result<Vec<(Owner, DrawingList)>, DrawingsError> {
        let ended = self.ended_waits();
        let read = |drawings: &DrawingStore| -> Result<Vec<_>, DrawingsError> {
            let mut all = Vec::new();
            for owner in drawings.owners()? {
                let list = drawings.list(&owner)?;
                all.push((owner, list));
            }
            Ok(all)
        };
        let mut all = self.on_disk(read).await?;
        for kept in all.iter_mut().flat_map(|(_, list)| &mut list.drawings) {
            self.note_if_read(kept, &ended);
        }
        Ok(all)
    }

    /// The bytes of the screenshot of a drawing of any owner, for the person. `None`: there is no such
    /// drawing, or it has none that can be read.
    pub async fn screenshot(&self, id: DrawingId) -> Option<Vec<u8>> {
        let read = self.on_disk(move |drawings| {
            let owners = drawings.owners()?.into_iter();
            let mut reports = owners.filter_map(|owner| drawings.load(&owner, &id).ok());
            Ok(reports.find_map(|report| fs::read(report.screenshot?).ok()))
        });
        read.await.ok()?
    }

    fn is_bounded(&self, owner: &Owner) -> bool {
        self.0.hub.scope_of(owner).is_bounded()
    }

    /// Whether the clients of an owner may see a drawing.
    fn may_see(&self, owner: &Owner, kept: &KeptDrawing) -> bool {
        kept.scope <= self.0.hub.scope_of(owner)
    }

    /// The narrowest scope in which an owner's clients see a tab.
    fn scope_of_tab(&self, owner: &Owner, browser: &BrowserId, tab: Option<TabId>) -> TabScope {
        let hub = &self.0.hub;
        match tab {
            Some(tab) if hub.is_own(owner, browser, tab) => TabScope::Own,
            Some(tab) if hub.is_shared(browser, tab) => TabScope::Shared,
            Some(_) | None => TabScope::All,
        }
    }

    /// Deletes the drawings of a session, or those without one, that the owner's clients may see.
    /// Returns their number.
    ///
    /// # Errors
    ///
    /// [`DrawingsError::Io`].
    pub async fn clear(
        &self,
        owner: &Owner,
        session: Option<SessionName>,
    ) -> Result<usize, DrawingsError> {
        let (owner, within) = (owner.clone(), self.0.hub.scope_of(owner));
        self.on_disk(move |drawings| drawings.clear_session(&owner, session.as_ref(), within)).await
    }

    fn begin(&self, caller: &Caller, asked: HostTask) -> Result<SubmittedCommand, AnnotationError> {
        self.0.hub.start_host_task(caller, asked).map_err(AnnotationError::Refused)
    }

    /// Opens the drawing tools, and waits a moment for the result.
    async fn open(
        &self,
        caller: &Caller,
        action: Action,
        selector: TargetSelector,
        trace_context: Option<TraceContext>,
    ) -> ToolsOpening {
        let hub = &self.0.hub;
        let call = Submission { selector, trace_context, ..Submission::of(action) };
        let accepted = match hub.submit(caller, call).await {
            Ok(accepted) => accepted,
            Err(refused) => return ToolsOpening::Refused(refused),
        };
        // Without a browser there is no answer to wait for.
        let for_now = if accepted.reachable { OPEN } else { Duration::ZERO };
        let seen = hub.wait(caller, &accepted.id, for_now, false).await;
        self.note_opened(caller.clone(), accepted.id);
        match seen {
            Ok(seen) => ToolsOpening::Asked(seen),
            Err(refused) => ToolsOpening::Refused(refused),
        }
    }

    /// Marks the result of opening the tools as read. No agent reads it, and it must not be listed as
    /// never retrieved.
    fn note_opened(&self, caller: Caller, id: CorrelationId) {
        let hub = self.0.hub.clone();
        self.0.tasks.spawn(async move {
            hub.until_over(&id).await;
            hub.mark_read(&caller, &id);
        });
    }

    /// Ends a wait with drawings that exist already. A wait that is already over ended with other
    /// drawings, so these stay unread.
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
        scope: TabScope,
    ) -> Result<(KeptDrawing, bool), DrawingsError> {
        let (owner, at) = (owner.clone(), self.0.hub.now());
        let ended = self.ended_waits();
        let keep = move |drawings: &DrawingStore| drawings.keep(&owner, &drawing, at, scope);
        let kept = self.on_disk(keep).await;
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

    /// Runs work on a thread that may block. The work is finished even if its caller goes away.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&DrawingStore) -> Result<T, DrawingsError> + Send + 'static,
    ) -> Result<T, DrawingsError> {
        let drawings = self.0.drawings.clone();
        let path = PathBuf::from("drawings");
        tokio::task::spawn_blocking(move || work(&drawings)).await.unwrap_or_else(|broken| {
            Err(FileError { path, source: io::Error::other(broken) }.into())
        })
    }
}

/// A wait for drawings of this session.
fn wait_for(session: Option<SessionName>, target: TargetSelector) -> HostTask {
    HostTask {
        work: CommandWork::Annotations { annotations: AwaitedDrawings { session } },
        target,
        deadline: limits::PERSON,
        estimate: USUAL,
        idempotency_key: None,
        must_name_tab: false,
        trace_context: None,
        record_by: None,
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
