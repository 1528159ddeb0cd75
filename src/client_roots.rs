//! The folders in which the programs of agents say that they work: asked for when the person is about to
//! be asked about files, and never believed.
//!
//! A question goes out on a stream that the client holds open, under an id that nobody can guess. It ends
//! with an answer, with the stream, or after a second. The form of the messages is not known here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::hub::Caller;
use crate::proof::random_hex;

/// How long a question waits for its answer. An extension has 3 s for the person's question to come.
pub const ANSWER_WAIT: Duration = Duration::from_secs(1);

/// How many folders of an answer are looked at. The others do not count.
pub const ROOTS_MAX: usize = 50;

/// Messages that wait for a stream whose reader is slow.
const WAITING: usize = 4;

/// Asks clients in which folders they work. Cheap to clone; all clones are the same book.
#[derive(Clone, Debug, Default)]
pub struct ClientRoots(Arc<Mutex<RootsBook>>);

#[derive(Debug, Default)]
struct RootsBook {
    /// The streams that can carry questions, the newest last.
    streams: HashMap<Caller, Vec<mpsc::Sender<RootsMessage>>>,
    questions: HashMap<RootsQuestionId, OpenQuestion>,
}

#[derive(Debug)]
struct OpenQuestion {
    caller: Caller,
    answer: oneshot::Sender<Vec<String>>,
}

/// Names one question. Its client learns it with the question, and nobody else does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RootsQuestionId(Arc<str>);

/// A message for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootsMessage {
    /// In which folders do you work?
    Ask(RootsQuestionId),
    /// Nobody waits for the answer any more.
    Withdraw(RootsQuestionId),
}

/// The messages for one open stream of a client. It gets none any more when this is dropped.
#[derive(Debug)]
pub struct RootsMessages {
    messages: mpsc::Receiver<RootsMessage>,
    roots: ClientRoots,
    caller: Caller,
}

/// A question that waits for its answer. It is withdrawn when this is dropped.
struct AwaitedQuestion {
    roots: ClientRoots,
    id: RootsQuestionId,
    stream: mpsc::Sender<RootsMessage>,
    answer: oneshot::Receiver<Vec<String>>,
}

impl RootsQuestionId {
    fn random() -> Self {
        Self(format!("roots-{}", random_hex::<16>()).into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ClientRoots {
    /// A client has opened a stream that can carry questions.
    #[must_use]
    pub fn open(&self, caller: &Caller) -> RootsMessages {
        let (stream, messages) = mpsc::channel(WAITING);
        self.book().streams.entry(caller.clone()).or_default().push(stream);
        RootsMessages { messages, roots: self.clone(), caller: caller.clone() }
    }

    /// Asks a client, on its newest stream. Returns the URIs of the folders that it names; none if it has
    /// no stream, says nothing in time, or has not answered an earlier question yet.
    pub async fn ask(&self, caller: &Caller) -> Vec<String> {
        let Some(mut question) = self.begin(caller) else { return Vec::new() };
        let AwaitedQuestion { stream, answer, .. } = &mut question;
        tokio::select! {
            biased;
            said = answer => said.unwrap_or_default(),
            () = stream.closed() => Vec::new(),
            () = tokio::time::sleep(ANSWER_WAIT) => Vec::new(),
        }
    }

    /// A client says in which folders it works, in the answer to this question. False: it was not asked
    /// that, or the question is over.
    pub fn answer(&self, caller: &Caller, id: &str, mut said: Vec<String>) -> bool {
        let id = RootsQuestionId(id.into());
        let mut book = self.book();
        // An id is no secret of the daemon's: another client that has learnt it answers nothing.
        if book.questions.get(&id).is_none_or(|question| question.caller != *caller) {
            return false;
        }
        let question = book.questions.remove(&id);
        drop(book);
        said.truncate(ROOTS_MAX);
        question.is_some_and(|question| question.answer.send(said).is_ok())
    }

    fn begin(&self, caller: &Caller) -> Option<AwaitedQuestion> {
        let mut book = self.book();
        // One at a time: a client that is silent holds up one of its commands, and no others.
        if book.questions.values().any(|open| open.caller == *caller) {
            return None;
        }
        let stream = book.streams.get(caller)?.last()?.clone();
        let id = RootsQuestionId::random();
        stream.try_send(RootsMessage::Ask(id.clone())).ok()?;
        let (said, answer) = oneshot::channel();
        let question = OpenQuestion { caller: caller.clone(), answer: said };
        book.questions.insert(id.clone(), question);
        drop(book);
        Some(AwaitedQuestion { roots: self.clone(), id, stream, answer })
    }

    fn book(&self) -> MutexGuard<'_, RootsBook> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RootsMessages {
    /// The next message, without end. Cancel safe.
    pub async fn next(&mut self) -> RootsMessage {
        match self.messages.recv().await {
            Some(message) => message,
            // The book holds the sender for as long as this lives.
            None => std::future::pending().await,
        }
    }
}

impl Drop for RootsMessages {
    fn drop(&mut self) {
        self.messages.close();
        let mut book = self.roots.book();
        let Some(own) = book.streams.get_mut(&self.caller) else { return };
        own.retain(|stream| !stream.is_closed());
        if own.is_empty() {
            book.streams.remove(&self.caller);
        }
    }
}

impl Drop for AwaitedQuestion {
    fn drop(&mut self) {
        if self.roots.book().questions.remove(&self.id).is_some() {
            // A stream that takes no more, or is gone, needs no withdrawal.
            let _ = self.stream.try_send(RootsMessage::Withdraw(self.id.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(client: &str) -> Caller {
        Caller { owner: "ann".into(), client: client.into() }
    }

    fn asked(message: RootsMessage) -> RootsQuestionId {
        let RootsMessage::Ask(id) = message else { panic!("{message:?}") };
        id
    }

    fn is_empty(roots: &ClientRoots) -> bool {
        let book = roots.book();
        book.streams.is_empty() && book.questions.is_empty()
    }

    /// Asks `a` and has it answer with this many folders.
    async fn ask_and_answer(roots: &ClientRoots, stream: &mut RootsMessages, n: usize) -> usize {
        let a = caller("a");
        let answering = async {
            let id = asked(stream.next().await);
            let said = (0..n).map(|n| format!("file:///{n}")).collect();
            assert!(roots.answer(&a, id.as_str(), said));
        };
        tokio::join!(roots.ask(&a), answering).0.len()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_asked_on_its_newest_stream_and_its_answer_is_bounded() {
        let roots = ClientRoots::default();
        let mut older = roots.open(&caller("a"));
        let other = roots.open(&caller("b"));
        let mut newer = roots.open(&caller("a"));
        assert_eq!(ask_and_answer(&roots, &mut newer, 2).await, 2);
        assert_eq!(ask_and_answer(&roots, &mut newer, 10_000).await, ROOTS_MAX);
        drop(newer);
        assert_eq!(ask_and_answer(&roots, &mut older, 1).await, 1, "now it is the newest");
        drop((older, other));
        assert!(is_empty(&roots));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_stream_nobody_is_waited_for() {
        let roots = ClientRoots::default();
        let _other = roots.open(&caller("b"));
        let at_once = tokio::time::timeout(Duration::from_millis(1), roots.ask(&caller("a"))).await;
        assert_eq!(at_once, Ok(Vec::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_answers_is_waited_for_once_and_for_a_second_and_is_told() {
        let roots = ClientRoots::default();
        let a = caller("a");
        let mut stream = roots.open(&a);
        let silent = async {
            let sooner = ANSWER_WAIT - Duration::from_millis(1);
            assert!(tokio::time::timeout(sooner, roots.ask(&a)).await.is_err(), "it is waited for");
            let later = ANSWER_WAIT + Duration::from_millis(1);
            assert_eq!(tokio::time::timeout(later, roots.ask(&a)).await, Ok(Vec::new()));
        };
        let beside = async {
            let first = asked(stream.next().await);
            let at_once = tokio::time::timeout(Duration::from_millis(1), roots.ask(&a)).await;
            assert_eq!(at_once, Ok(Vec::new()), "a second question does not wait for the first");
            assert_eq!(stream.next().await, RootsMessage::Withdraw(first.clone()));
            let second = asked(stream.next().await);
            assert_eq!(stream.next().await, RootsMessage::Withdraw(second.clone()));
            for late in [first, second] {
                assert!(!roots.answer(&a, late.as_str(), vec!["file:///a".to_owned()]));
            }
        };
        tokio::join!(silent, beside);
        drop(stream);
        assert!(is_empty(&roots));
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_client_that_was_asked_answers_and_once_and_to_its_question() {
        let roots = ClientRoots::default();
        let (a, b) = (caller("a"), caller("b"));
        let (mut stream, mut of_b) = (roots.open(&a), roots.open(&b));
        let said = |text: &str| vec![text.to_owned()];
        let answering = async {
            let (id, id_of_b) = (asked(stream.next().await), asked(of_b.next().await));
            assert!(!roots.answer(&b, id.as_str(), said("file:///b")), "another's id");
            assert!(!roots.answer(&a, "roots-1", said("file:///guessed")));
            assert!(roots.answer(&a, id.as_str(), said("file:///a")));
            assert!(!roots.answer(&a, id.as_str(), said("file:///twice")));
            assert!(roots.answer(&b, id_of_b.as_str(), Vec::new()));
        };
        let (of_a, of_b, ()) = tokio::join!(roots.ask(&a), roots.ask(&b), answering);
        assert_eq!((of_a, of_b), (said("file:///a"), Vec::new()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_ends_with_its_stream_and_leaves_nothing_behind() {
        let roots = ClientRoots::default();
        let a = caller("a");
        let mut stream = roots.open(&a);
        let ending = async {
            let id = asked(stream.next().await);
            drop(stream);
            id
        };
        let (said, id) =
            tokio::join!(tokio::time::timeout(Duration::from_millis(1), roots.ask(&a)), ending);
        assert_eq!(said, Ok(Vec::new()), "nobody waits any longer");
        assert!(!roots.answer(&a, id.as_str(), Vec::new()));
        assert!(is_empty(&roots));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_whose_stream_takes_nothing_is_not_asked() {
        let roots = ClientRoots::default();
        let a = caller("a");
        let _full = roots.open(&a);
        // Each question and its withdrawal stay unread.
        for _ in 0..WAITING / 2 {
            assert!(roots.ask(&a).await.is_empty());
        }
        let at_once = tokio::time::timeout(Duration::from_millis(1), roots.ask(&a)).await;
        assert_eq!(at_once, Ok(Vec::new()));
    }
}
