//! A type's name says what the type is, wherever it is read: it stands for one type in the whole
//! crate, and it is no past participle alone, such as `Kept`.

use std::collections::BTreeMap;

use crate::layers::{Source, sources};

/// Names that may stand for more than one type, each with the reason.
const SHARED_NAMES: [(&str, &str); 0] = [];

/// Names of one past participle that may stay, each with the reason.
const PARTICIPLES: [(&str, &str); 0] = [];

/// Participles that do not end in `-ed`.
const IRREGULAR: [&str; 38] = [
    "begun", "bound", "broken", "brought", "built", "caught", "chosen", "done", "drawn", "driven",
    "fallen", "felt", "found", "frozen", "given", "gone", "grown", "heard", "held", "hidden",
    "kept", "known", "left", "lost", "made", "met", "paid", "said", "seen", "sent", "shown",
    "stuck", "taken", "thrown", "told", "torn", "woken", "written",
];

/// The types that a source defines. An associated type has no name of its own; tests may name
/// theirs as they like.
fn types_in(source: &Source) -> Vec<String> {
    source.code_before_tests().lines().filter_map(type_defined_in).collect()
}

fn type_defined_in(line: &str) -> Option<String> {
    let is_indented = line.starts_with(' ');
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    // `pub(in crate::cli)` is two words.
    let kind = words.find(|word| !word.ends_with(')'))?;
    let defines = match kind {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !is_indented,
        _ => false,
    };
    let name = words.next().filter(|_| defines)?;
    let end = name.find(|c: char| !c.is_alphanumeric()).unwrap_or(name.len());
    // The `$name` of a macro has no name yet.
    Some(name[..end].to_owned()).filter(|name| !name.is_empty())
}

/// Whether a name is one word, and that a past participle.
fn is_participle(name: &str) -> bool {
    let word = name.to_lowercase();
    let is_one_word = name.chars().filter(|c| c.is_uppercase()).count() == 1;
    let positive = word.strip_prefix("un").unwrap_or(&word);
    is_one_word && (word.ends_with("ed") || IRREGULAR.contains(&positive))
}

/// Every type of the crate: its name, and the files that define one of this name.
fn types() -> BTreeMap<String, Vec<String>> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        for name in types_in(&source) {
            types.entry(name).or_default().push(source.path.clone());
        }
    }
    // Each system has its own file for the same type.
    for files in
        types.values_mut().filter(|files| files.iter().any(|file| file.starts_with("os/unix")))
    {
        files.retain(|file| !file.starts_with("os/windows"));
    }
    assert!(types.len() > 300, "they are all found: {}", types.len());
    types
}

#[test]
fn no_name_stands_for_two_types() {
    let types = types();
    let is_allowed = |name: &str| SHARED_NAMES.iter().any(|(known, _)| *known == name);
    let shared: BTreeMap<_, _> = types.iter().filter(|(_, files)| files.len() > 1).collect();
    let wrong: Vec<_> = shared.iter().filter(|(name, _)| !is_allowed(name)).collect();
    assert!(wrong.is_empty(), "give each type a name of its own: {wrong:#?}");
    for (name, reason) in SHARED_NAMES {
        assert!(shared.contains_key(&name.to_owned()), "{name} is shared no more ({reason})");
    }
}

#[test]
fn no_type_is_named_by_a_participle_alone() {
    let types = types();
    let is_allowed = |name: &str| PARTICIPLES.iter().any(|(known, _)| *known == name);
    let wrong: Vec<_> =
        types.iter().filter(|(name, _)| is_participle(name) && !is_allowed(name)).collect();
    assert!(wrong.is_empty(), "name the thing, not what became of it: {wrong:#?}");
    for (name, reason) in PARTICIPLES {
        assert!(types.contains_key(name), "there is no type {name} any more ({reason})");
    }
}

#[test]
fn types_are_found_however_they_are_defined() {
    for (line, name) in [
        ("struct LinkId(u64);", Some("LinkId")),
        ("    pub(super) struct LinkId<'a> {", Some("LinkId")),
        ("pub(in crate::cli) enum SitesCommand {", Some("SitesCommand")),
        ("pub trait Handler: Send {", Some("Handler")),
        ("type Rows = Vec<u8>;", Some("Rows")),
        ("    type Output = u8;", None),
        ("fn struct_of(type_name: &str) {", None),
        ("", None),
    ] {
        assert_eq!(type_defined_in(line).as_deref(), name, "{line}");
    }
    let text = "struct One;\n// struct Two;\n#[cfg(test)]\nmod tests {\n    struct Three;\n}\n";
    assert_eq!(types_in(&Source::new("module.rs", text)), ["One"]);
    assert!(types_in(&Source::new("module/tests.rs", "struct One;\n")).is_empty());
}

#[test]
fn a_participle_is_told_from_other_words() {
    for name in ["Taken", "Kept", "Unheard", "Opened", "Unattended"] {
        assert!(is_participle(name), "{name}");
    }
    for name in ["OpenedTab", "Drawing", "Session", "Union", "KeptDrawing"] {
        assert!(!is_participle(name), "{name}");
    }
}
