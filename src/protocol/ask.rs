//! Questions of agents to a person, and the person's answers.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::prompt::in_one_line;
use super::{ConsentAnswer, ConsentNeed, CorrelationId, TabId, Timestamp};

/// How many options a question has at least and at most: nobody chooses well among more.
pub const ASK_OPTIONS: std::ops::RangeInclusive<usize> = 2..=10;

/// Words that one side writes for the other: one line of at most `MAX` characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AskWords<const MAX: usize>(Arc<str>);

/// An agent's question. The person sees it as the agent's words, never as Tabwire's.
pub type AskQuestion = AskWords<500>;

/// An option of a question, in the agent's words.
pub type AskOption = AskWords<100>;

/// A person's words.
pub type PersonWords = AskWords<2_000>;

impl<const MAX: usize> AskWords<MAX> {
    /// Brings the words into one line. Characters that end a line, have no width or turn the
    /// direction of the text become spaces.
    ///
    /// # Errors
    ///
    /// A sentence: no word is left, or too many are.
    pub fn parse(words: &str) -> Result<Self, String> {
        let line = in_one_line(words);
        match line.chars().count() {
            0 => Err("it has no words".to_owned()),
            count if count > MAX => {
                Err(format!("it has {count} characters; at most {MAX} are shown"))
            }
            _ => Ok(Self(line.into())),
        }
    }

    /// The words.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> JsonSchema for AskWords<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AskWords".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl<const MAX: usize> TryFrom<String> for AskWords<MAX> {
    type Error = String;

    fn try_from(words: String) -> Result<Self, String> {
        Self::parse(&words)
    }
}

impl<const MAX: usize> From<AskWords<MAX>> for String {
    fn from(words: AskWords<MAX>) -> Self {
        words.0.as_ref().to_owned()
    }
}

/// A question of an agent that only a person answers.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PersonAsk {
    /// May the agent do this?
    Approve {
        /// What it is about to do.
        question: AskQuestion,
    },
    /// Which of these?
    Choose {
        /// The question.
        question: AskQuestion,
        /// The options; no two are alike.
        options: Vec<AskOption>,
    },
    /// A line of text.
    Answer {
        /// The question.
        question: AskQuestion,
    },
    /// A step that the person does alone, such as a log-in.
    HandOver {
        /// The step.
        question: AskQuestion,
    },
    /// May a held command run? The daemon asks this, no agent.
    Consent {
        /// The command, in a few words.
        question: AskQuestion,
        /// What it needs the person's word for.
        need: ConsentNeed,
    },
}

/// An open question, as a browser shows it to the person.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenAsk {
    /// The wait for the answer.
    pub correlation_id: CorrelationId,
    /// The agent's name for itself: a label for the person, and no proof of anything.
    pub client: Arc<str>,
    /// The question.
    #[serde(flatten)]
    pub ask: PersonAsk,
    /// The tab of this browser that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab_id: Option<TabId>,
    /// What the person calls the browser of the tab that it is about, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser_label: Option<String>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Until when it can be answered.
    pub until: Timestamp,
}

/// A person's answer.
#[cfg_attr(test, derive(JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AskAnswer {
    /// The agent may do it.
    Allow {
        /// The person's words to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<PersonWords>,
    },
    /// The agent may not do it.
    Deny {
        /// The person's words to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<PersonWords>,
    },
    /// The person has done the step.
    Done {
        /// The person's words to the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<PersonWords>,
    },
    /// The person cannot do the step, or does not want to.
    Cannot {
        /// The person's words to the agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<PersonWords>,
    },
    /// One of the options.
    Option {
        /// Its number, from 0.
        index: usize,
    },
    /// A line of text.
    Text {
        /// The line.
        text: PersonWords,
    },
    /// The person does not answer.
    Decline {},
    /// The person's word on a held command.
    Consent {
        /// The word.
        consent: ConsentAnswer,
    },
}

/// How an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerChannel {
    /// A page of the extension, or its notification.
    Browser,
    /// `tabwire asks`.
    Terminal,
    /// The MCP client that asked.
    Client,
}

/// The reason why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskRefusal {
    /// The question has no such answer.
    #[error("the question has no such answer")]
    Unfit,
    /// Only a page of the extension proves that a person has clicked.
    #[error(
        "only the popup of the Tabwire extension or its notification can allow, deny or end a \
             step"
    )]
    NeedsBrowser,
}

/// The result of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AskResult {
    /// What the person decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<bool>,
    /// Whether the person has done the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<bool>,
    /// The option that the person chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<AskOption>,
    /// The person's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<PersonWords>,
    /// Where the person answered.
    by: AnswerChannel,
}

impl PersonAsk {
    /// The question.
    #[must_use]
    pub const fn question(&self) -> &AskQuestion {
        match self {
            Self::Approve { question }
            | Self::Choose { question, .. }
            | Self::Answer { question }
            | Self::HandOver { question }
            | Self::Consent { question, .. } => question,
        }
    }

    /// Whether a line at a terminal, or what a client passes on, can answer it.
    #[must_use]
    pub const fn is_answered_anywhere(&self) -> bool {
        match self {
            Self::Approve { .. } | Self::HandOver { .. } | Self::Consent { .. } => false,
            Self::Choose { .. } | Self::Answer { .. } => true,
        }
    }

    /// The result that this answer leads to. `None`: the person declined.
    ///
    /// # Errors
    ///
    /// [`AskRefusal`]: the question stays open.
    pub fn result(
        &self,
        answer: AskAnswer,
        by: AnswerChannel,
    ) -> Result<Option<AskResult>, AskRefusal> {
        let is_from_person = by == AnswerChannel::Browser;
        if !is_from_person && !self.is_answered_anywhere() {
            return Err(AskRefusal::NeedsBrowser);
        }
        let nothing = AskResult { approved: None, done: None, choice: None, text: None, by };
        Ok(Some(match (self, answer) {
            // A held command has no result yet: the engine takes the person's word on it.
            (Self::Consent { .. }, _) => return Err(AskRefusal::Unfit),
            (_, AskAnswer::Decline {}) => return Ok(None),
            (Self::Approve { .. }, AskAnswer::Allow { note }) => {
                AskResult { approved: Some(true), text: note, ..nothing }
            }
            (Self::Approve { .. }, AskAnswer::Deny { note }) => {
                AskResult { approved: Some(false), text: note, ..nothing }
            }
            (Self::HandOver { .. }, AskAnswer::Done { note }) => {
                AskResult { done: Some(true), text: note, ..nothing }
            }
            (Self::HandOver { .. }, AskAnswer::Cannot { note }) => {
                AskResult { done: Some(false), text: note, ..nothing }
            }
            (Self::Choose { options, .. }, AskAnswer::Option { index }) => {
                let choice = options.get(index).cloned().ok_or(AskRefusal::Unfit)?;
                AskResult { choice: Some(choice), ..nothing }
            }
            (Self::Answer { .. }, AskAnswer::Text { text }) => {
                AskResult { text: Some(text), ..nothing }
            }
            (
                Self::Approve { .. }
                | Self::Choose { .. }
                | Self::Answer { .. }
                | Self::HandOver { .. },
                AskAnswer::Allow { .. }
                | AskAnswer::Deny { .. }
                | AskAnswer::Done { .. }
                | AskAnswer::Cannot { .. }
                | AskAnswer::Option { .. }
                | AskAnswer::Text { .. }
                | AskAnswer::Consent { .. },
            ) => return Err(AskRefusal::Unfit),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<const MAX: usize>(text: &str) -> AskWords<MAX> {
        AskWords::parse(text).unwrap()
    }

    fn asks() -> [PersonAsk; 4] {
        [
            PersonAsk::Approve { question: words("Send it?") },
            PersonAsk::Choose {
                question: words("Which?"),
                options: vec![words("red"), words("blue")],
            },
            PersonAsk::Answer { question: words("Which name?") },
            PersonAsk::HandOver { question: words("Log in.") },
        ]
    }

    fn answers() -> [AskAnswer; 6] {
        [
            AskAnswer::Allow { note: Some(words("go")) },
            AskAnswer::Deny { note: None },
            AskAnswer::Option { index: 1 },
            AskAnswer::Text { text: words("Ada") },
            AskAnswer::Done { note: None },
            AskAnswer::Cannot { note: Some(words("no phone")) },
        ]
    }

    #[test]
    fn each_question_takes_its_own_answers_and_no_others() {
        let fits = [
            [true, true, false, false, false, false],
            [false, false, true, false, false, false],
            [false, false, false, true, false, false],
            [false, false, false, false, true, true],
        ];
        for (ask, fits) in asks().into_iter().zip(fits) {
            for (answer, fits) in answers().into_iter().zip(fits) {
                let result = ask.result(answer.clone(), AnswerChannel::Browser);
                assert_eq!(result.is_ok(), fits, "{ask:?} {answer:?}");
            }
            assert_eq!(ask.result(AskAnswer::Decline {}, AnswerChannel::Browser), Ok(None));
        }
        let [_, choose, ..] = asks();
        let third = choose.result(AskAnswer::Option { index: 2 }, AnswerChannel::Browser);
        assert_eq!(third, Err(AskRefusal::Unfit));
    }

    #[test]
    fn an_approval_counts_only_from_a_page_of_the_extension() {
        let [approve, choose, answer, hand_over] = asks();
        for by in [AnswerChannel::Terminal, AnswerChannel::Client] {
            for given in [
                AskAnswer::Allow { note: None },
                AskAnswer::Deny { note: None },
                AskAnswer::Decline {},
            ] {
                assert_eq!(approve.result(given, by), Err(AskRefusal::NeedsBrowser));
            }
            for given in [AskAnswer::Done { note: None }, AskAnswer::Cannot { note: None }] {
                assert_eq!(hand_over.result(given, by), Err(AskRefusal::NeedsBrowser));
            }
            assert!(choose.result(AskAnswer::Option { index: 0 }, by).is_ok());
            assert!(answer.result(AskAnswer::Text { text: words("x") }, by).is_ok());
        }
    }

    #[test]
    fn words_are_one_line_of_a_bounded_length() {
        assert_eq!(words::<9>(" a\u{202e}b\nc ").as_str(), "a b c");
        assert!(AskQuestion::parse("\u{200b}").is_err());
        assert!(AskQuestion::parse(&"é".repeat(501)).unwrap_err().contains("501"));
        let read = serde_json::from_str::<AskAnswer>(r#"{"kind":"text","text":"\n"}"#);
        assert!(read.is_err());
    }
}
