//! The person's word on commands: those that are held for it, and the words that are kept.
//!
//! The extension finds out that a command needs a word, because only it knows which page the
//! command is for. It gets the kept words of the client with each command, and says `hold` if none
//! of them fits. A held command is shown among the questions of agents ([`super::asks`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::asks::AskReply;
use super::entry::JournalEntry;
use super::refusal::RefusalReason;
use super::{Caller, Engine, Transaction};
use crate::lifecycle::{Command, CommandOutcome, CommandPhase, LifecycleEvent, Peer, limits};
use crate::protocol::actions::ActionEffect;
use crate::protocol::{
    Action, AnswerChannel, AskAnswer, AskQuestion, AskRefusal, Attempt, BrowserId, BrowserSession,
    ClientId, ConsentAnswer, ConsentKind, ConsentNeed, ConsentSite, CorrelationId,
    KEPT_WORDS_SHOWN, KeptWord, KnownConsent, Owner, POLLED_PAGES, PersonAsk, ReportedError,
    Timestamp, ToExtension, UPLOAD_FILES_MAX, WordTakenBack, WordTerm,
};
use crate::seeded_bug;

/// What a kept word is about: a client of an owner, on a site. The owner is an identity; the
/// client's name is only as good as the programs that use the owner's token. Of an owner on another
/// machine it is about all clients together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConsentSubject {
    /// Whose client.
    pub owner: Owner,
    /// The client; of an owner on another machine the owner's name, which no client has.
    pub client: ClientId,
    /// What for.
    pub kind: ConsentKind,
    /// The site.
    pub site: Arc<str>,
}

/// A person's word that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptConsent {
    /// What it is about.
    pub subject: ConsentSubject,
    /// How long it holds, and what it says.
    pub term: ConsentTerm,
    /// When it was given.
    pub at: Timestamp,
}

/// How long a kept word holds, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "term", rename_all = "snake_case")]
pub enum ConsentTerm {
    /// Yes, until this browser starts anew, and for [`limits::CONSENT_SESSION`] at most.
    Session {
        /// The browser in which the person said so.
        browser: BrowserId,
        /// Its run.
        session: Option<BrowserSession>,
    },
    /// Yes, until the person takes it back.
    Always,
    /// No, until the person takes it back.
    Never,
}

/// A kept word, as the command line lists it.
#[derive(Clone, Debug, Serialize)]
pub struct ConsentSummary {
    /// The client's name.
    pub client: Arc<str>,
    /// What for.
    pub kind: ConsentKind,
    /// The site.
    pub site: Arc<str>,
    /// What it says.
    pub word: WordTerm,
    /// When it was given.
    pub at: Timestamp,
}

/// The kept words.
#[derive(Debug, Default)]
pub(super) struct KeptConsents(BTreeMap<ConsentSubject, (ConsentTerm, Timestamp)>);

impl ConsentTerm {
    const fn word(&self) -> WordTerm {
        match self {
            Self::Session { .. } => WordTerm::Session,
            Self::Always => WordTerm::Always,
            Self::Never => WordTerm::Never,
        }
    }

    const fn allows(&self) -> bool {
        !matches!(self, Self::Never)
    }
}

impl KeptConsents {
    /// The owners whose clients they are about.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.0.keys().map(|subject| &subject.owner)
    }

    /// The sites on which the person lets a client do this.
    pub(super) fn allowed_sites<'a>(
        &'a self,
        owner: &'a Owner,
        client: &'a ClientId,
        kind: ConsentKind,
    ) -> impl Iterator<Item = &'a Arc<str>> + 'a {
        let own = self.of_client(owner, client);
        let allowed = own.filter(move |(of, term)| of.kind == kind && term.allows());
        allowed.map(|(subject, _)| &subject.site)
    }

    fn of_client<'a>(
        &'a self,
        owner: &'a Owner,
        client: &'a ClientId,
    ) -> impl Iterator<Item = (&'a ConsentSubject, &'a ConsentTerm)> + 'a {
        let is_its =
            move |subject: &&ConsentSubject| subject.owner == *owner && subject.client == *client;
        let own = self.0.iter().filter(move |(subject, _)| is_its(subject));
        own.map(|(subject, (term, _))| (subject, term))
    }

    /// The word to drop for one more of this client: its oldest, which the person is then asked for
    /// again.
    fn oldest_of(&self, subject: &ConsentSubject) -> Option<ConsentSubject> {
        let is_its = |known: &&ConsentSubject| {
            known.owner == subject.owner && known.client == subject.client
        };
        let own = || self.0.iter().filter(|(known, _)| is_its(known));
        if self.0.contains_key(subject) {
            return None;
        }
        let all = self.0.len() >= limits::CONSENTS;
        let of = if own().count() >= limits::CONSENTS_OF_CLIENT {
            own().min_by_key(|(_, (_, at))| *at)
        } else {
            self.0.iter().filter(|_| all).min_by_key(|(_, (_, at))| *at)
        };
        of.map(|(known, _)| known.clone())
    }
}

impl Engine {
    /// The kept words about a client, as its commands carry them.
    pub(super) fn consents_of(&self, command: &Command) -> Vec<KnownConsent> {
        let holder = self.word_holder(command.spec());
        let known = self.consents.of_client(&holder.owner, &holder.client);
        let known = known.filter_map(|(subject, term)| {
            let site = ConsentSite::parse(&subject.site).ok()?;
            Some(KnownConsent { kind: subject.kind, site, allowed: term.allows() })
        });
        known.collect()
    }

    /// The kept words about an owner's clients.
    #[must_use]
    pub fn consent_list(&self, owner: &Owner) -> Vec<ConsentSummary> {
        let own = self.consents.0.iter().filter(|(subject, _)| subject.owner == *owner);
        own.map(|(subject, (term, at))| ConsentSummary {
            client: subject.client.as_str().into(),
            kind: subject.kind,
            site: subject.site.clone(),
            word: term.word(),
            at: *at,
        })
        .collect()
    }

    /// The kept words of all owners, the newest first.
    fn kept_words(&self) -> Vec<KeptWord> {
        let words = self.consents.0.iter().map(|(subject, (term, at))| {
            let client = self.subject_of_word(subject);
            let (owner, client_id) = (subject.owner.clone(), subject.client.clone());
            let (kind, site, word) = (subject.kind, subject.site.clone(), term.word());
            KeptWord { owner, client_id, client, kind, site, word, at: *at }
        });
        let mut words: Vec<_> = words.collect();
        // The sort is stable, and the map has an order: the same words are always in the same one.
        words.sort_by_key(|word| std::cmp::Reverse(word.at));
        words
    }
}

/// Whether an action changes a page or runs code in it; opening one is no act (decision 432).
fn acts_on_page(action: &Action) -> bool {
    let opens = matches!(
        action,
        Action::Navigate(_)
            | Action::Refresh(_)
            | Action::Back(_)
            | Action::Forward(_)
            | Action::TabOpen(_)
            | Action::TabClose(_)
            | Action::TabActivate(_)
    );
    !opens && matches!(action.spec().effect, ActionEffect::Acts { .. })
}

/// The question about a held command.
pub(super) fn question_about(command: &Command) -> Option<PersonAsk> {
    let hold = command.hold()?;
    let work = &command.spec().work;
    let act = match (&hold.need.detail, work.target()) {
        _ if !hold.need.files.is_empty() => {
            let files = hold.need.files.iter();
            let files: Vec<_> =
                files.map(|file| format!("{} ({} bytes)", file.path.as_str(), file.size)).collect();
            format!("{}: {}", work.name(), files.join(", "))
        }
        (Some(detail), _) => format!("{}: {}", work.name(), detail.as_str()),
        (None, Some(target)) => format!("{}: {target}", work.name()),
        (None, None) => work.name().to_owned(),
    };
    let question = AskQuestion::parse(&act).or_else(|_| AskQuestion::parse(work.name())).ok()?;
    Some(PersonAsk::Consent { question, need: hold.need.clone() })
}

/// A word on a private window says where an agent was there, so it is on one command alone.
const fn for_once(word: ConsentAnswer) -> ConsentAnswer {
    match word {
        ConsentAnswer::Session | ConsentAnswer::Always => ConsentAnswer::Once,
        ConsentAnswer::Never => ConsentAnswer::Deny,
        ConsentAnswer::Once | ConsentAnswer::Deny | ConsentAnswer::Folder | ConsentAnswer::Root => {
            word
        }
    }
}

/// Held commands.
impl Transaction<'_> {
    /// An extension says that a command needs the person's word (row 29).
    pub(super) fn hold(
        &mut self,
        peer: &Peer,
        id: &CorrelationId,
        attempt: Attempt,
        mut need: ConsentNeed,
    ) {
        // Those that are left out are not allowed.
        need.files.truncate(UPLOAD_FILES_MAX);
        let owner = self.commands.get(id).map(|command| command.spec().owner.clone());
        let count = owner.map_or(0, |owner| self.count_asks_of(&owner));
        self.answer(peer, id, attempt, LifecycleEvent::Hold(peer.clone(), attempt, need));
        if self.commands.phase_of(id) != Some(CommandPhase::Held) {
            return;
        }
        if count >= self.limits.asks {
            self.apply(id, LifecycleEvent::Finish(too_many_asks(count)));
        } else {
            self.show_asks();
        }
    }

    /// Holds an act that is about to go to an extension that only polls, where the person wants to be
    /// asked: it asks nobody and says nothing of its pages, so the word is on all of them (row 29b).
    /// True: it is held, or refused.
    pub(super) fn hold_for_poller(&mut self, id: &CorrelationId) -> bool {
        if !self.site_rules().only_asks_first() {
            return false;
        }
        let Some(command) = self.commands.get(id) else { return false };
        let spec = command.spec();
        let Ok(site) = ConsentSite::parse(POLLED_PAGES) else { return false };
        let need = ConsentNeed {
            kind: ConsentKind::Act,
            site,
            document: None,
            detail: None,
            files: Vec::new(),
        };
        if !spec.work.action().is_some_and(acts_on_page) || command.holds().allowed.contains(&need)
        {
            return false;
        }
        let Caller { owner, client } = self.word_holder(spec);
        let kind = need.kind;
        let subject = ConsentSubject { owner, client, kind, site: POLLED_PAGES.into() };
        match self.consents.0.get(&subject).map(|(term, _)| term.allows()) {
            Some(true) => return false,
            Some(false) => {
                self.apply(id, LifecycleEvent::HoldUndelivered(need));
                self.apply(id, LifecycleEvent::Finish(denied(&subject, true)));
            }
            None => {
                let count = self.count_asks_of(&subject.owner);
                self.apply(id, LifecycleEvent::HoldUndelivered(need));
                if count >= self.limits.asks {
                    self.apply(id, LifecycleEvent::Finish(too_many_asks(count)));
                } else {
                    self.show_asks();
                }
            }
        }
        true
    }

    /// The person's word on a held command.
    pub(super) fn answer_consent(
        &mut self,
        id: &CorrelationId,
        answer: &AskAnswer,
        by: AnswerChannel,
        browser: Option<&BrowserId>,
    ) -> AskReply {
        if by != AnswerChannel::Browser {
            return AskReply::Refused(AskRefusal::NeedsBrowser);
        }
        let word = match answer {
            AskAnswer::Consent { consent } => *consent,
            AskAnswer::Decline {} => ConsentAnswer::Deny,
            AskAnswer::Allow { .. }
            | AskAnswer::Deny { .. }
            | AskAnswer::Done { .. }
            | AskAnswer::Cannot { .. }
            | AskAnswer::Option { .. }
            | AskAnswer::Text { .. } => return AskReply::Refused(AskRefusal::Unfit),
        };
        let Some(subject) = self.subject_of(id) else { return AskReply::Over };
        if !subject.kind.takes(word) && !seeded_bug::is_on("any-word-for-files") {
            return AskReply::Refused(AskRefusal::Unfit);
        }
        let is_private = self.commands.get(id).is_some_and(|command| command.spec().is_private);
        let is_for_once = is_private && !seeded_bug::is_on("kept-word-for-private-windows");
        let word = if is_for_once { for_once(word) } else { word };
        match self.term_of(word, browser) {
            // The browser has given it to the extension as a whole, which looks at each anew.
            None if word == ConsentAnswer::Once && subject.kind == ConsentKind::Permission => {
                self.release_for_permission(&subject.site);
            }
            None if word == ConsentAnswer::Once => {
                self.release(id, true);
            }
            // The rule opens the files by now, if it could be written.
            None if matches!(word, ConsentAnswer::Folder | ConsentAnswer::Root) => {
                self.release(id, false);
            }
            None => {
                self.apply(id, LifecycleEvent::Finish(denied(&subject, false)));
            }
            Some(term) => {
                let allows = term.allows();
                self.keep_consent(KeptConsent { subject: subject.clone(), term, at: self.now() });
                for alike in self.held_alike(&subject) {
                    if allows {
                        self.release(&alike, false);
                    } else {
                        self.apply(&alike, LifecycleEvent::Finish(denied(&subject, true)));
                    }
                }
            }
        }
        AskReply::Taken
    }

    /// How long a word is kept. `None`: it is on one command alone.
    fn term_of(&self, word: ConsentAnswer, browser: Option<&BrowserId>) -> Option<ConsentTerm> {
        match word {
            ConsentAnswer::Once
            | ConsentAnswer::Deny
            | ConsentAnswer::Folder
            | ConsentAnswer::Root => None,
            ConsentAnswer::Always => Some(ConsentTerm::Always),
            ConsentAnswer::Never => Some(ConsentTerm::Never),
            ConsentAnswer::Session => {
                let browser = browser?.clone();
                let session = self.browsers.get(&browser).and_then(|known| known.session());
                Some(ConsentTerm::Session { session: session.cloned(), browser })
            }
        }
    }

    fn subject_of(&self, id: &CorrelationId) -> Option<ConsentSubject> {
        let command = self.commands.get(id)?;
        let need = &command.hold()?.need;
        let Caller { owner, client } = self.word_holder(command.spec());
        Some(ConsentSubject { owner, client, kind: need.kind, site: need.site.as_str().into() })
    }

    /// The held commands that wait for the same word, in the order in which they were held.
    fn held_alike(&self, subject: &ConsentSubject) -> Vec<CorrelationId> {
        let held = self.held_commands();
        held.into_iter().filter(|id| self.subject_of(id).as_ref() == Some(subject)).collect()
    }

    /// Lets all commands go on that wait for a permission of the extension.
    fn release_for_permission(&mut self, name: &str) {
        for id in self.held_commands() {
            let subject = self.subject_of(&id);
            if subject.is_some_and(|of| of.kind == ConsentKind::Permission && *of.site == *name) {
                self.release(&id, false);
            }
        }
    }

    fn held_commands(&self) -> Vec<CorrelationId> {
        let held = self.commands.all().filter_map(|command| {
            Some((command.hold()?.since, command.spec().created, command.spec().id.clone()))
        });
        let mut held: Vec<_> = held.collect();
        // The map has no order, and the same inputs must have the same effects.
        held.sort_unstable();
        held.into_iter().map(|(_, _, id)| id).collect()
    }

    /// Lets a held command go on (row 30), unless another client has taken its tab meanwhile.
    fn release(&mut self, id: &CorrelationId, is_once: bool) {
        let Some(spec) = self.commands.get(id).map(|command| command.spec().clone()) else {
            return;
        };
        let Some(action) = spec.work.action() else { return };
        let lane = self.scheduler.lane_of(id).cloned();
        let caller = Caller { owner: spec.owner.clone(), client: spec.client.clone() };
        let event = match self.check_lease(&caller, lane.as_ref(), action) {
            Ok(()) => LifecycleEvent::Release { is_once },
            Err(why) => LifecycleEvent::Finish(refused(&why)),
        };
        self.apply(id, event);
    }

    /// A hold is over: the command waits for its turn again, behind the others of its client, or has
    /// ended.
    pub(super) fn follow_hold(&mut self, command: &Command) {
        self.show_asks();
        if command.phase() != CommandPhase::Queued {
            return;
        }
        let spec = command.spec();
        let lane = self.scheduler.lane_of(&spec.id).cloned();
        self.scheduler.join(spec, lane.clone());
        if let Some(lane) = lane {
            self.may_deliver_to(&lane.browser);
        }
    }

    /// The rules are others now: the extension looks at held commands anew.
    pub(super) fn review_held(&mut self) {
        for id in self.held_commands() {
            self.release(&id, false);
        }
    }
}

/// Kept words.
impl Transaction<'_> {
    fn keep_consent(&mut self, kept: KeptConsent) {
        if let Some(oldest) = self.consents.oldest_of(&kept.subject) {
            self.drop_consent(&oldest);
        }
        self.record(JournalEntry::ConsentKept(kept.clone()));
        self.consents.0.insert(kept.subject, (kept.term, kept.at));
    }

    fn drop_consent(&mut self, subject: &ConsentSubject) -> bool {
        let is_known = self.consents.0.remove(subject).is_some();
        if is_known {
            self.record(JournalEntry::ConsentDropped(subject.clone()));
        }
        is_known
    }

    fn drop_consents(&mut self, is_it: impl Fn(&ConsentSubject, &ConsentTerm, Timestamp) -> bool) {
        let over = self.consents.0.iter().filter(|(subject, (term, at))| is_it(subject, term, *at));
        for subject in over.map(|(subject, _)| subject.clone()).collect::<Vec<_>>() {
            self.drop_consent(&subject);
        }
    }

    /// The person takes all words about a client back, on one site or on all: the next command asks
    /// again. Returns how many there were.
    pub fn forget_consents(&mut self, owner: &Owner, client: &str, site: Option<&str>) -> usize {
        let before = self.consents.0.len();
        self.drop_consents(|subject, _, _| {
            subject.owner == *owner
                && subject.client.as_str() == client
                && site.is_none_or(|site| *subject.site == *site)
        });
        before - self.consents.0.len()
    }

    /// An owner was removed, which ends the words about all of its clients.
    pub(super) fn end_consents_of(&mut self, owner: &Owner) {
        self.drop_consents(|subject, _, _| subject.owner == *owner);
    }

    /// The person looks at the kept words in a page of the extension, or takes one back there.
    pub(super) fn answer_kept_words(
        &mut self,
        browser: &BrowserId,
        take_back: Option<WordTakenBack>,
    ) {
        if let Some(WordTakenBack { owner, client_id, kind, site, at }) = take_back {
            self.drop_consents(|subject, _, given| {
                subject.owner == owner
                    && subject.client == client_id
                    && subject.kind == kind
                    && subject.site == site
                    // The extension has it in milliseconds.
                    && given.unix_millis() == at.unix_millis()
            });
        }
        let mut words = self.kept_words();
        let more = words.len().saturating_sub(KEPT_WORDS_SHOWN);
        words.truncate(KEPT_WORDS_SHOWN);
        self.send(browser, ToExtension::KeptWords { words, more });
    }

    /// A browser has started anew, which ends the words for its former session.
    pub(super) fn end_consents_of_session(&mut self, browser: &BrowserId) {
        let now = self.browsers.get(browser).and_then(|known| known.session()).cloned();
        self.drop_consents(|_, term, _| {
            matches!(term, ConsentTerm::Session { browser: of, session }
                if of == browser && *session != now)
        });
    }

    /// Ends the words whose time is over.
    pub(super) fn sweep_consents(&mut self) {
        let now = self.now();
        self.drop_consents(|_, term, at| {
            let is_short = matches!(term, ConsentTerm::Session { .. });
            is_short && now.since(at) >= limits::CONSENT_SESSION
        });
    }

    /// Continues with a word of an earlier run of the daemon.
    pub(super) fn recover_consent(&mut self, kept: KeptConsent) {
        let at = kept.at.min(self.now());
        self.consents.0.insert(kept.subject, (kept.term, at));
    }
}

/// The end of a command that the person does not allow.
fn denied(subject: &ConsentSubject, is_kept: bool) -> CommandOutcome {
    let purpose = subject.kind.told(&subject.site);
    let until = if is_kept { " from now on" } else { "" };
    let message = format!("The user does not let you {purpose}{until}");
    let is_permission = subject.kind == ConsentKind::Permission;
    let code = if is_permission { "permission_needed" } else { "denied_by_user" };
    let error = ReportedError { may_have_run: Some(false), ..ReportedError::new(code, message) };
    CommandOutcome::Error { error: error.into() }
}

/// The end of a command that the person allows, and that may not run all the same.
fn refused(why: &RefusalReason) -> CommandOutcome {
    let error = ReportedError {
        hint: Some(why.hint().into_owned()),
        may_have_run: Some(false),
        ..ReportedError::new(why.code(), why.message())
    };
    CommandOutcome::Error { error: error.into() }
}

fn too_many_asks(count: usize) -> CommandOutcome {
    let message = format!("{count} questions wait for the user already");
    let hint = "Wait until the user has answered some of them (observe pending_commands), then call \
                again.";
    let error = ReportedError {
        may_have_run: Some(false),
        hint: Some(hint.to_owned()),
        ..ReportedError::new("too_many_asks", message)
    };
    CommandOutcome::Error { error: error.into() }
}
