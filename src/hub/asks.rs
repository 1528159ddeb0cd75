//! Questions of agents to a person.

use super::Hub;
use crate::engine::{AskReply, AskSummary, ConsentSummary};
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

    /// The kept words about an owner's clients.
    #[must_use]
    pub fn consents_of(&self, owner: &Owner) -> Vec<ConsentSummary> {
        self.view(|engine| engine.consent_list(owner))
    }

    /// The person takes all words about a client back, on one site or on all. Returns how many there
    /// were, once the journal has recorded that or cannot be written.
    pub async fn forget_consents(&self, owner: &Owner, client: &str, site: Option<&str>) -> usize {
        let count = self.transact(|tx| tx.forget_consents(owner, client, site));
        self.flush_journal().await;
        count
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
