//! The words in which an agent asks a person for a drawing.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::is_shown;

/// An agent's request for a drawing, in its own words: one line of at most
/// [`DrawingPrompt::MAX_CHARS`] characters. The person sees it as the agent's words, never as
/// Tabwire's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct DrawingPrompt(Arc<str>);

impl DrawingPrompt {
    /// The longest prompt: nobody reads more beside a picture.
    pub const MAX_CHARS: usize = 200;

    /// Brings the words into one line. Characters that end a line, have no width or turn the
    /// direction of the text become spaces.
    ///
    /// # Errors
    ///
    /// A sentence for the agent: no word is left, or too many are.
    pub fn parse(words: &str) -> Result<Self, String> {
        let line = in_one_line(words);
        match line.chars().count() {
            0 => Err("it has no words".to_owned()),
            count if count > Self::MAX_CHARS => {
                Err(format!("it has {count} characters; at most {} are shown", Self::MAX_CHARS))
            }
            _ => Ok(Self(line.into())),
        }
    }
}

/// The words in one line. Characters that end a line, have no width or turn the direction of the text
/// become spaces.
pub(super) fn in_one_line(words: &str) -> String {
    let shown = |char: char| if is_shown(char) { char } else { ' ' };
    let line: String = words.chars().map(shown).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl TryFrom<String> for DrawingPrompt {
    type Error = String;

    fn try_from(words: String) -> Result<Self, String> {
        Self::parse(&words)
    }
}

impl From<DrawingPrompt> for String {
    fn from(prompt: DrawingPrompt) -> Self {
        prompt.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_one_line_in_the_order_in_which_it_is_written() {
        let line = |words: &str| String::from(DrawingPrompt::parse(words).unwrap());
        assert_eq!(line("  Circle the\n\tbutton  "), "Circle the button");
        assert_eq!(line("a\u{202e}b\u{2066}c\u{200f}d\u{1b}[31me\u{feff}"), "a b c d [31me");
        assert_eq!(line("\u{e0041}x\u{ad}y\u{2028}z"), "x y z");
        assert_eq!(line("دایره بکشید 🖊️ é"), "دایره بکشید 🖊️ é", "other scripts stay as they are");
    }

    #[test]
    fn a_prompt_without_words_or_with_too_many_is_refused_with_what_is_wrong() {
        for (wrong, says) in [
            ("", "no words"),
            ("\u{200b}\n\u{202e}", "no words"),
            (&"é".repeat(201), "201 characters"),
        ] {
            let why = DrawingPrompt::parse(wrong).unwrap_err();
            assert!(why.contains(says), "{wrong:?}: {why}");
            let read = serde_json::from_value::<DrawingPrompt>(wrong.into()).unwrap_err();
            assert!(read.to_string().contains(says), "{read}");
        }
        assert!(DrawingPrompt::parse(&"é".repeat(200)).is_ok());
    }
}
