//! Texts that are nearly right, for tests of parsers of foreign input.
//!
//! A sample is cut, doubled, swapped and overwritten, or replaced by JSON of any shape or by random
//! bytes. `PROPTEST_CASES` sets the number of cases; the default takes a second or two.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::{Number, Value};

/// Punctuation of JSON, and values at which parsers stumble.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "-0",
    "1e999",
    "0.5",
    "5.0",
    "9007199254740993",
    "18446744073709551616",
    "\"\"",
    "{}",
    "[]",
    " ",
    "\n",
    "\u{feff}",
    "é",
    "=",
    "+",
];

/// `PROPTEST_CASES` random cases, or else this many, the same in each run. A case that fails becomes
/// a test with a name.
pub(crate) fn cases(usually: u32) -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: usually, rng_seed: RngSeed::Fixed(1), ..config },
    }
}

/// Bytes that are nearly one of these texts, or nothing like them.
pub(crate) fn nearly(samples: &[&str]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let samples: Vec<_> = samples.iter().map(|sample| sample.as_bytes().to_vec()).collect();
    let others = samples.clone();
    let garbled = (select(samples), select(others), vec(slip(), 0..4)).prop_map(
        |(mut text, other, slips)| {
            slips.iter().for_each(|slip| slip.befall(&mut text, &other));
            text
        },
    );
    prop_oneof![
        8 => garbled,
        2 => json().prop_map(|value| value.to_string().into_bytes()),
        1 => vec(select(TOKENS), 0..20).prop_map(|tokens| tokens.concat().into_bytes()),
        1 => vec(any::<u8>(), 0..64),
    ]
}

/// Texts that are nearly one of these, or nothing like them.
pub(crate) fn nearly_text(samples: &[&str]) -> impl Strategy<Value = String> + use<> {
    nearly(samples).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// JSON of any shape.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| Number::from_f64(n).map_or(Value::Null, Value::Number)),
        select(&[0_i64, 1, -1, 300_000, 55_001][..]).prop_map(Value::from),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(any::<String>(), inner, 0..4)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

/// A change of a text.
#[derive(Clone, Debug)]
enum TextMutation {
    Cut(Index, Index),
    Double(Index, Index),
    Insert(Index, &'static str),
    Overwrite(Index, u8),
    Splice(Index, Index),
}

fn slip() -> impl Strategy<Value = TextMutation> {
    let at = any::<Index>;
    prop_oneof![
        (at(), at()).prop_map(|(from, to)| TextMutation::Cut(from, to)),
        (at(), at()).prop_map(|(from, to)| TextMutation::Double(from, to)),
        (at(), select(TOKENS)).prop_map(|(at, token)| TextMutation::Insert(at, token)),
        (at(), any::<u8>()).prop_map(|(at, byte)| TextMutation::Overwrite(at, byte)),
        (at(), at()).prop_map(|(here, there)| TextMutation::Splice(here, there)),
    ]
}

impl TextMutation {
    fn befall(&self, text: &mut Vec<u8>, other: &[u8]) {
        let range = |a: &Index, b: &Index, length: usize| {
            let (a, b) = (a.index(length + 1), b.index(length + 1));
            a.min(b)..a.max(b).min(a.min(b) + 40)
        };
        match self {
            Self::Cut(from, to) => {
                text.drain(range(from, to, text.len()));
            }
            Self::Double(from, to) => {
                let range = range(from, to, text.len());
                let again = text[range.clone()].to_vec();
                text.splice(range.end..range.end, again);
            }
            Self::Insert(at, token) => {
                let at = at.index(text.len() + 1);
                text.splice(at..at, token.bytes());
            }
            Self::Overwrite(at, byte) => {
                if !text.is_empty() {
                    let at = at.index(text.len());
                    text[at] = *byte;
                }
            }
            Self::Splice(here, there) => {
                text.truncate(here.index(text.len() + 1));
                text.extend_from_slice(&other[there.index(other.len() + 1)..]);
            }
        }
    }
}
