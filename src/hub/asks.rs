//! Questions of agents to a person.

use super::Hub;
use crate::engine::{AskReply, AskSummary};
use crate::protocol::{AnswerChannel, AskAnswer, CorrelationId, Owner};

impl Hub {
    /// The open questions of an owner's clients, oldest first.
    #[must_use]
    pub fn asks_of(&self, owner: &Owner) -> Vec<AskSummary> {
        self.view(|engine| engine.asks_of(owner))
    }

    /// Whether a browser is connected in which the person sees questions.
    #[must_use]
    pub fn shows_asks(&self) -> bool {
        self.view(|engine| engine.shows_asks())
    }

    /// A person has answered a question of this owner's clients. Returns once the journal has recorded
    /// that, or cannot be written.
    pub async fn answer_ask(
        &self,
        owner: &Owner,
        id: &CorrelationId,
        answer: AskAnswer,
        by: AnswerChannel,
    ) -> AskReply {
        if self.owner_of(id).as_ref() != Some(owner) {
            return AskReply::Over;
        }
        let reply = self.transact(|tx| tx.answer_ask(id, answer, by));
        self.flush_journal().await;
        reply
    }
}
