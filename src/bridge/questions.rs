//! The daemon's questions to the client that are not answered yet: an answer to anything else stays here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::mcp;

/// How many questions are remembered. The daemon has one open at a time.
const OPEN: usize = 8;

/// The ids of the open questions, the newest last. Cheap to clone; all clones are the same list.
#[derive(Clone, Default)]
pub(super) struct DaemonQuestions(Arc<Mutex<VecDeque<String>>>);

impl DaemonQuestions {
    /// Notes a message of the daemon. True: it is about a question, and so waits for no other message.
    pub(super) fn note(&self, message: &str) -> bool {
        if let Some(id) = mcp::asked_id(message) {
            let mut open = self.open();
            if open.len() >= OPEN {
                open.pop_front();
            }
            open.push_back(id);
            return true;
        }
        let withdrawn = mcp::withdrawn_id(message);
        if let Some(id) = &withdrawn {
            self.take(id);
        }
        withdrawn.is_some()
    }

    /// Whether this question was open. It is no more.
    pub(super) fn take(&self, id: &str) -> bool {
        let mut open = self.open();
        let before = open.len();
        open.retain(|known| known != id);
        open.len() < before
    }

    fn open(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(n: usize) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":"roots-{n}","method":"roots/list"}}"#)
    }

    #[test]
    fn a_question_has_one_answer_and_none_once_it_is_taken_back() {
        let questions = DaemonQuestions::default();
        assert!(questions.note(&ask(1)) && questions.note(&ask(2)));
        assert!(!questions.take("roots-3"));
        assert!(questions.take("roots-1"));
        assert!(!questions.take("roots-1"), "twice");
        let taken_back = r#"{"method":"notifications/cancelled","params":{"requestId":"roots-2"}}"#;
        assert!(questions.note(taken_back));
        assert!(!questions.take("roots-2"));
        assert!(!questions.note(r#"{"method":"notifications/progress","params":{}}"#));
    }

    #[test]
    fn the_list_does_not_grow_with_questions_that_nobody_answers() {
        let questions = DaemonQuestions::default();
        for n in 0..1_000 {
            questions.note(&ask(n));
        }
        assert_eq!(questions.open().len(), OPEN);
        assert!(questions.take("roots-999") && !questions.take("roots-0"));
    }
}
