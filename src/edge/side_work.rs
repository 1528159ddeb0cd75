//! Requests of an extension beside its commands: to keep drawings, to check and to copy files, to
//! change the person's rules. None of them holds up the conversation.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use super::EdgeState;
use crate::hub::ExtensionLink;
use crate::install::{BrowserProfile, find_profile};
use crate::past_acts::{self, PastActError, PastActFile, PastActList};
use crate::protocol::{
    AdmissionChange, AskAnswer, BrowserId, BrowserName, BrowserTab, ConsentAnswer, CorrelationId,
    Drawing, DrawingId, DrawingRefusal, DrawingRefusalCode, EXTENSION_ID, FILE_CHECK_MAX,
    FarOwnerWish, FromExtension, HistoryWish, LocalFileChange, NackReason, OlderExtensionChange,
    SiteChange, UploadAnswer, UploadRefusal, UploadRefusalCode, UploadRequest,
};
use crate::uploads::AskedFolder;

/// How many drawings of one link are written at the same time, of 8 MiB each. One more is to be
/// sent again.
const DRAWINGS_AT_ONCE: usize = 4;

/// How many questions about local files of one link are looked up at the same time. One more is
/// answered with a refusal: the extension asks again when it needs to.
const FILE_CHECKS_AT_ONCE: usize = 16;

/// How many requests of one link for copies of files are worked on at the same time, each with up to
/// 1,000 MiB to copy. One more is refused.
const UPLOADS_AT_ONCE: usize = 4;

/// How many looks into the history of one link are under way at the same time.
const LOOKS_AT_ONCE: usize = 4;

/// How long after the extension is there, and after the first search, its profile is looked for.
const PROFILE_WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// The refusal for another extension that would widen the rights of agents: only the Tabwire
/// extension proves that a person has clicked.
const ONLY_OURS_WIDENS: &str = "Only the popup of the Tabwire extension can widen the rights of agents. In a terminal, run `tabwire sites` or `tabwire legacy`";

/// The side work of one link.
pub(super) struct SideWork<'a> {
    edge: &'a EdgeState,
    extension_id: &'a str,
    link: &'a ExtensionLink,
    /// All kinds in one set: an idle link pays for an empty set.
    under_way: FuturesUnordered<BoxFuture<'static, (SideKind, SideOutcome)>>,
    /// How many of each kind are under way.
    counts: [usize; SideKind::ALL],
    /// The folder of the browser's profile, once it is found.
    profile: Option<PathBuf>,
}

/// A kind of side work.
#[derive(Clone, Copy)]
enum SideKind {
    /// A drawing is written.
    Drawing,
    /// Local files are looked up.
    FileCheck,
    /// A look into the history.
    HistoryLook,
    /// Files are copied.
    Upload,
    /// A look for the profile of the browser.
    ProfileSearch,
}

impl SideKind {
    /// How many there are.
    const ALL: usize = Self::ProfileSearch as usize + 1;
}

/// Side work that is done.
enum SideOutcome {
    Drawing(DrawingOutcome),
    /// The number of the check, and whether each file may be seen.
    FileCheck(u64, Vec<bool>),
    HistoryLook(Result<PastActList, PastActError>),
    /// The number of the request, and the copies.
    Upload(u64, Result<UploadAnswer, UploadRefusal>),
    ProfileSearch(Option<BrowserProfile>),
}

impl<'a> SideWork<'a> {
    pub(super) fn new(edge: &'a EdgeState, extension_id: &'a str, link: &'a ExtensionLink) -> Self {
        let (under_way, counts) = (FuturesUnordered::new(), [0; SideKind::ALL]);
        Self { edge, extension_id, link, under_way, counts, profile: None }
    }

    /// Answers the next work that is done. Pending while there is none.
    pub(super) async fn next_done(&mut self) {
        let Some((kind, outcome)) = self.under_way.next().await else {
            return std::future::pending().await;
        };
        self.counts[kind as usize] -= 1;
        match outcome {
            SideOutcome::Drawing(DrawingOutcome { drawing_id, error }) => {
                self.link.acknowledge_drawing(drawing_id, error);
            }
            // Verdicts go out as they come: the extension tells them apart by number.
            SideOutcome::FileCheck(check, admitted) => self.link.tell_file_verdict(check, admitted),
            SideOutcome::HistoryLook(looked) => self.tell_history(looked),
            SideOutcome::Upload(request, copied) => self.link.answer_upload(request, copied),
            SideOutcome::ProfileSearch(None) => {}
            SideOutcome::ProfileSearch(Some(profile)) => {
                self.edge.note_profile(self.link, &profile);
                self.profile = Some(profile.folder);
            }
        }
    }

    /// How much work of a kind is under way.
    const fn count(&self, kind: SideKind) -> usize {
        self.counts[kind as usize]
    }

    fn begin(&mut self, kind: SideKind, work: impl Future<Output = SideOutcome> + Send + 'static) {
        self.counts[kind as usize] += 1;
        self.under_way.push(Box::pin(async move { (kind, work.await) }));
    }

    /// Begins the side work that a frame asks for; a frame without any is returned.
    pub(super) fn take(&mut self, frame: FromExtension) -> Option<FromExtension> {
        let (edge, link) = (self.edge, self.link);
        match frame {
            // Refused, not queued: waiting drawings of 8 MiB each would fill the memory.
            FromExtension::Annotations(drawing)
                if self.count(SideKind::Drawing) >= DRAWINGS_AT_ONCE =>
            {
                let why = "the daemon is still writing other drawings; send it again";
                let code = DrawingRefusalCode::StorageUnavailable;
                self.refuse_drawing(drawing.drawing_id, code, why.to_owned());
            }
            FromExtension::Annotations(drawing) => {
                let taken = edge.take_drawing(&link.peer().browser, *drawing);
                self.begin(SideKind::Drawing, async { SideOutcome::Drawing(taken.await) });
            }
            FromExtension::SiteRule(change) => {
                if let Err(problem) = edge.change_sites(&change, self.is_ours()) {
                    link.refuse_site_change(problem);
                }
            }
            FromExtension::LocalFileRule(change) => {
                if let Err(problem) = edge.change_local_files(&change, self.is_ours()) {
                    link.refuse_local_file_change(problem);
                }
            }
            FromExtension::OlderExtension(change) => {
                if let Err(problem) = edge.change_admission(&change, self.is_ours()) {
                    link.refuse_older_extension(problem);
                }
            }
            FromExtension::NameBrowser { name } => self.name_browser(&name),
            FromExtension::FileCheck { check, urls } => self.check_files(check, urls),
            FromExtension::UploadRequest(request) => self.copy_files(request),
            FromExtension::Tabs { tabs } => return Some(self.note_tabs(tabs)),
            FromExtension::AskAnswer { correlation_id, answer } => {
                return self.answer_ask(correlation_id, answer);
            }
            // Another extension is not the person, whose words and history these are.
            FromExtension::KeptWords { .. } if !self.is_ours() => self.refuse("asks for the words"),
            FromExtension::FarOwners(wish) => self.look_at_far_owners(&wish),
            FromExtension::History { .. } if !self.is_ours() => self.refuse("asks for the history"),
            FromExtension::History { wish } => self.look_into_history(wish),
            // The key of another extension is in no folder that we have written.
            FromExtension::KeyStored {} if self.is_ours() => edge.forget_unpacked_key(),
            FromExtension::ConfirmWidening { id } => {
                edge.confirm_widening(link, self.is_ours(), &id);
            }
            FromExtension::Ready(ready) => {
                self.look_for_profile(ready.names == Some(true));
                return Some(FromExtension::Ready(ready));
            }
            other @ (FromExtension::Hello(_)
            | FromExtension::Claim { .. }
            | FromExtension::Hold { .. }
            | FromExtension::ActPicture { .. }
            | FromExtension::Events { .. }
            | FromExtension::Stop { .. }
            | FromExtension::Stopped { .. }
            | FromExtension::TakeTab { .. }
            | FromExtension::KeepTab { .. }
            | FromExtension::SharedTabs { .. }
            | FromExtension::TabOpened { .. }
            | FromExtension::TabCreated { .. }
            | FromExtension::RestoredTabs { .. }
            | FromExtension::PageStates { .. }
            | FromExtension::KeptWords { .. }
            | FromExtension::KeyStored {}
            | FromExtension::Nack { .. }
            | FromExtension::Pong { .. }
            | FromExtension::Report { .. }) => return Some(other),
        }
        None
    }

    /// Copies for the pages of closed tabs are of no use any more.
    fn note_tabs(&self, tabs: Vec<BrowserTab>) -> FromExtension {
        if let Some(uploads) = self.edge.tools.uploads() {
            uploads.forget_closed(&self.link.peer().browser, &tabs);
        }
        FromExtension::Tabs { tabs }
    }

    /// The person answers a question. The word that opens folders goes on when the rule is written.
    fn answer_ask(
        &self,
        correlation_id: CorrelationId,
        answer: AskAnswer,
    ) -> Option<FromExtension> {
        // Only our own pages prove that a person has clicked.
        if !self.is_ours() {
            self.refuse("answers a question");
            return None;
        }
        let words = [
            (ConsentAnswer::Folder, AskedFolder::OfFile),
            (ConsentAnswer::Root, AskedFolder::Root),
        ];
        let opens = words
            .into_iter()
            .find(|(consent, _)| answer == AskAnswer::Consent { consent: *consent });
        if let Some((uploads, (_, which))) = self.edge.tools.uploads().zip(opens)
            && let Err(problem) = uploads.open_asked_folders(&correlation_id, which)
        {
            self.link.refuse_local_file_change(problem);
            return None;
        }
        Some(FromExtension::AskAnswer { correlation_id, answer })
    }

    /// Whether the Tabwire extension speaks.
    pub(super) fn is_ours(&self) -> bool {
        self.extension_id == EXTENSION_ID
    }

    /// Refuses what only the Tabwire extension may do.
    fn refuse(&self, does: &str) {
        tracing::warn!("an extension other than the Tabwire extension {does}");
        self.link.refuse(NackReason::UnknownType);
    }

    /// Names the browser, as a person has said in the extension's popup.
    fn name_browser(&self, name: &str) {
        // Another extension is not the person, whose word a name is.
        if !self.is_ours() {
            return self.refuse("names a browser");
        }
        if let Err(problem) = self.edge.name_browser(self.link, name, self.profile.as_deref()) {
            self.link.refuse_name(problem);
        }
    }

    /// Looks for the browser's profile among those on this computer, on a thread that may wait for the
    /// disk: only of one that the person can name.
    fn look_for_profile(&mut self, takes_name: bool) {
        let folders = self.edge.browser_folders.clone();
        let is_looked_for = self.profile.is_some() || self.count(SideKind::ProfileSearch) > 0;
        if !takes_name || !self.is_ours() || is_looked_for || folders.is_empty() {
            return;
        }
        let id = self.link.peer().browser.clone();
        self.begin(SideKind::ProfileSearch, async move {
            for wait in PROFILE_WAITS {
                // The browser writes a new id to the disk a moment after the extension has drawn it.
                tokio::time::sleep(wait).await;
                let (folders, id) = (folders.clone(), id.clone());
                let search = move || find_profile(&folders, &id);
                // A search that panics is told of in the log.
                if let Some(found) = tokio::task::spawn_blocking(search).await.unwrap_or_default() {
                    return SideOutcome::ProfileSearch(Some(found));
                }
            }
            SideOutcome::ProfileSearch(None)
        });
    }

    /// Tells the person of the owners on other machines and of teams in trouble, once their change is made.
    fn look_at_far_owners(&self, wish: &FarOwnerWish) {
        // Another extension is not the person.
        if !self.is_ours() {
            return self.refuse("asks for the owners on other machines");
        }
        let owners = self.edge.guard.owners();
        let changed = wish.change.as_ref().map(|change| owners.change_far(change));
        let problem = changed.and_then(|changed| Some(changed.err()?.to_string()));
        let troubles = self.edge.guard.home().tenants().troubles();
        self.link.tell_far_owners(
            troubles.unwrap_or_else(|error| {
                tracing::warn!(%error, "the person is not told how it is with their teams");
                Vec::new()
            }),
            problem,
        );
    }

    /// Carries out a wish of the person, on a thread that may wait for the disk.
    fn look_into_history(&mut self, wish: HistoryWish) {
        // The popup asks again in two seconds; a change is never left out.
        if wish == HistoryWish::Look && self.count(SideKind::HistoryLook) >= LOOKS_AT_ONCE {
            return;
        }
        let file = PastActFile::at(&self.edge.guard.home().history_path());
        let now = self.link.now();
        let look = move || past_acts::carry_out(&file, wish, now);
        self.begin(SideKind::HistoryLook, async move {
            let looked = tokio::task::spawn_blocking(look).await;
            // A look that panics is told of in the log.
            SideOutcome::HistoryLook(looked.unwrap_or_else(|_| Ok(PastActList::default())))
        });
    }

    fn tell_history(&self, looked: Result<PastActList, PastActError>) {
        match looked {
            Ok(PastActList { is_on, acts }) => self.link.tell_history(is_on, acts, None),
            Err(error) => self.link.tell_history(false, Vec::new(), Some(error.to_string())),
        }
    }

    fn check_files(&mut self, check: u64, urls: Vec<String>) {
        if self.count(SideKind::FileCheck) >= FILE_CHECKS_AT_ONCE || urls.len() > FILE_CHECK_MAX {
            // A refusal is the safe answer: the page stays closed.
            self.link.tell_file_verdict(check, vec![false; urls.len().min(FILE_CHECK_MAX)]);
        } else {
            let checked = self.edge.check_files(urls);
            let verdict = async move { SideOutcome::FileCheck(check, checked.await) };
            self.begin(SideKind::FileCheck, verdict);
        }
    }

    fn copy_files(&mut self, request: UploadRequest) {
        let number = request.request;
        let refused = |message: &str| UploadRefusal {
            code: UploadRefusalCode::Internal,
            message: message.to_owned(),
            hint: "Call again.".to_owned(),
        };
        let Some(uploads) = self.edge.tools.uploads().cloned() else {
            let refused = refused("this daemon gives no files to pages");
            return self.link.answer_upload(number, Err(refused));
        };
        if self.count(SideKind::Upload) >= UPLOADS_AT_ONCE {
            let refused = refused("the daemon is still copying other files");
            return self.link.answer_upload(number, Err(refused));
        }
        let peer = self.link.peer().clone();
        self.begin(SideKind::Upload, async move {
            SideOutcome::Upload(number, uploads.answer(&peer, request).await)
        });
    }

    pub(super) fn refuse_drawing(&self, id: DrawingId, code: DrawingRefusalCode, message: String) {
        tracing::debug!(drawing = %id, ?code, message, "a drawing is refused");
        self.link.acknowledge_drawing(id, Some(DrawingRefusal { code, message }));
    }
}

/// A drawing that was written, or could not be.
pub(super) struct DrawingOutcome {
    drawing_id: DrawingId,
    pub(super) error: Option<DrawingRefusal>,
}

impl EdgeState {
    /// Changes which sites may be used, as a person has said in the extension's popup.
    fn change_sites(&self, change: &SiteChange, is_ours: bool) -> Result<(), String> {
        let sites = self.tools.sites().ok_or("this daemon keeps no rules for sites")?;
        let changed =
            if is_ours { sites.change(change).map(|_| true) } else { sites.narrow(change) };
        match changed {
            Ok(true) => Ok(()),
            Ok(false) => Err(ONLY_OURS_WIDENS.to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Changes which local files agents may open, as a person has said in the extension's popup.
    fn change_local_files(&self, change: &LocalFileChange, is_ours: bool) -> Result<(), String> {
        let widens = match change {
            LocalFileChange::Add { .. } | LocalFileChange::Switch { enabled: true } => true,
            LocalFileChange::Remove { .. } | LocalFileChange::Switch { enabled: false } => false,
        };
        // Any allowed extension may take rights away, and only ours may give some.
        if widens && !is_ours {
            return Err(ONLY_OURS_WIDENS.to_owned());
        }
        let sites = self.tools.sites().ok_or("this daemon keeps no rules for local files")?;
        sites.local_files().change(change).map_err(|error| error.to_string())
    }

    /// Names a browser, as a person has said in the extension's popup.
    fn name_browser(
        &self,
        link: &ExtensionLink,
        name: &str,
        profile: Option<&Path>,
    ) -> Result<(), String> {
        let file = self.guard.home().browser_names();
        let names = file.name(&link.peer().browser, name, profile, self.is_connected());
        self.tools.hub().set_browser_names(names.map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Notes the profile of a browser: its name there is offered to the person, and a browser that was
    /// named in this profile before, with the extension loaded anew since, has its name back.
    fn note_profile(&self, link: &ExtensionLink, profile: &BrowserProfile) {
        let hub = self.tools.hub();
        let browser = &link.peer().browser;
        let own = profile.name.as_deref().and_then(|name| BrowserName::parse(name.trim()).ok());
        hub.offer_browser_name(browser, own);
        let file = self.guard.home().browser_names();
        match file.note_profile(browser, &profile.folder, self.is_connected()) {
            Ok(Some(names)) => hub.set_browser_names(names),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the name of a browser's profile was not looked up")
            }
        }
    }

    fn is_connected(&self) -> impl Fn(&BrowserId) -> bool + use<> {
        let browsers = self.tools.hub().browsers();
        move |id: &BrowserId| browsers.iter().any(|known| known.browser == *id && known.connected)
    }

    /// Lets an older extension in or no more, as a person has said in the extension's popup.
    fn change_admission(&self, change: &OlderExtensionChange, is_ours: bool) -> Result<(), String> {
        // A polling extension could otherwise let itself in through an allowed accomplice.
        if change.change == AdmissionChange::Allow && !is_ours {
            return Err(ONLY_OURS_WIDENS.to_owned());
        }
        self.guard.admission().change(change).map(drop).map_err(|error| error.to_string())
    }

    /// Confirms a widening, as a person has said in the popup. Another extension, even one that
    /// was allowed, could have been let in by what it confirms.
    fn confirm_widening(&self, link: &ExtensionLink, is_ours: bool, id: &str) {
        if !is_ours {
            tracing::warn!(
                "an extension other than the Tabwire extension would confirm a widening"
            );
            return link.refuse(NackReason::UnknownType);
        }
        let home = self.guard.home();
        let confirmed = home.confirm_widenings(&[id.to_owned()]);
        match confirmed.and_then(|count| Ok((count, home.unconfirmed()?))) {
            Ok((count, left)) => {
                tracing::info!(id, count, "a person has confirmed a widening in the popup");
                self.tools.hub().set_unconfirmed(left);
            }
            Err(error) => tracing::warn!(%error, "a widening cannot be confirmed"),
        }
    }

    /// Looks up whether agents may see files, on a thread that may wait for the disk.
    fn check_files(&self, urls: Vec<String>) -> impl Future<Output = Vec<bool>> + use<> {
        let sites = self.tools.sites().cloned();
        async move {
            let refused = vec![false; urls.len()];
            let Some(sites) = sites else { return refused };
            let checked =
                tokio::task::spawn_blocking(move || sites.local_files().check(&urls)).await;
            checked.unwrap_or(refused)
        }
    }

    /// The extension has its key in its own storage: no folder need hold it any more.
    fn forget_unpacked_key(&self) {
        let Some(sites) = self.tools.sites().cloned() else { return };
        let key = self.guard.home().auth().extension_key(EXTENSION_ID);
        let forget = move || sites.local_files().forget_unpacked_key(&key);
        // Nobody waits for it: the extension has its key.
        self.tasks.spawn_blocking(forget);
    }

    /// Takes a drawing. That goes on to its end, also if nobody waits for it any more.
    pub(super) fn take_drawing(
        &self,
        browser: &BrowserId,
        drawing: Drawing,
    ) -> impl Future<Output = DrawingOutcome> + use<> {
        let browser = browser.clone();
        let drawing_id = drawing.drawing_id.clone();
        let tools = self.tools.clone();
        // A task of its own survives the link: a drawing that was sent is kept.
        let taking = self.tasks.spawn(async move {
            match tools.annotations() {
                Some(annotations) => {
                    annotations.take(&browser, drawing).await.map_err(|error| error.to_string())
                }
                None => Err("this daemon has no state directory".to_owned()),
            }
        });
        async move {
            let taken = taking.await.unwrap_or_else(|broken| Err(broken.to_string()));
            let error = taken.err().map(|message| {
                tracing::warn!(drawing = %drawing_id, message, "a drawing cannot be kept");
                DrawingRefusal { code: DrawingRefusalCode::StorageUnavailable, message }
            });
            DrawingOutcome { drawing_id, error }
        }
    }
}
