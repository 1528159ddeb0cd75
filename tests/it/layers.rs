//! The layers: a module names only modules above it in `src/lib.rs`, and what may be
//! named by whom.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The longest that a file may be before its tests.
const LONGEST_FILE: usize = 600;

/// A source file.
pub(crate) struct Source {
    /// Below `src`, with `/`.
    pub(crate) path: String,
    /// Without comments and literals.
    code: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), code: code_only(text) }
    }

    /// Its code without its tests; nothing of a file that has tests only.
    pub(crate) fn code_before_tests(&self) -> String {
        if self.path.ends_with("/tests.rs") || self.path.contains("/tests/") {
            return String::new();
        }
        let lines = lines_before_tests(&self.code);
        self.code.lines().take(lines).collect::<Vec<_>>().join("\n")
    }

    /// Its code, tests among it, without comments and literals.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// The module of the crate's root that it belongs to.
    fn module(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap_or_default()
    }
}

/// All source files of the library.
pub(crate) fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        Source::new(&name, &fs::read_to_string(&path).unwrap())
    };
    let sources: Vec<_> = files.into_iter().map(read).collect();
    assert!(sources.len() > 20, "they are all found");
    sources
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The text without comments, and with empty string literals.
fn code_only(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_string(rest) {
            code.push_str("\"\"");
            length
        } else if next == '"' {
            code.push_str("\"\"");
            quoted(rest)
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
            // A character that could be taken for the beginning of a string.
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else {
            code.push(next);
            next.len_utf8()
        };
        rest = &rest[skipped..];
    }
    code
}

/// The length of the raw string literal that begins here.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix('r')?.chars().take_while(|c| *c == '#').count();
    let body = text[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end)?;
    Some(1 + hashes + 1 + length + end.len())
}

/// The length of the string literal that begins here.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// The first names of paths below `prefix`, such as `crate::`, also where they stand in
/// braces.
fn named_below(code: &str, prefix: &str) -> BTreeSet<String> {
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let starts = code
        .match_indices(prefix)
        .filter(|(at, _)| !code[..*at].chars().next_back().is_some_and(is_in_word));
    let mut names = BTreeSet::new();
    for (at, _) in starts {
        let rest = code[at + prefix.len()..].trim_start();
        match rest.strip_prefix('{') {
            Some(list) => names.extend(first_names(list)),
            None => names.extend(word(rest)),
        }
    }
    names
}

fn word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// The first name of each path in a list in braces.
fn first_names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut at_start = true;
    for (at, c) in list.char_indices() {
        match c {
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            '{' => depth += 1,
            ',' if depth == 0 => at_start = true,
            c if at_start && !c.is_whitespace() => {
                names.extend(word(&list[at..]));
                at_start = false;
            }
            _ => {}
        }
    }
    names
}

/// The modules of the crate's root in their order.
fn order(lib: &str) -> Vec<String> {
    code_only(lib)
        .lines()
        .filter_map(|line| {
            let line = line.trim();
            let module = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?;
            module.strip_suffix(';').map(str::to_owned)
        })
        .collect()
}

/// Where a file names a module that does not stand above its own.
fn upward(order: &[String], source: &Source) -> Vec<String> {
    let above: Vec<_> = order.iter().take_while(|known| *known != source.module()).collect();
    named_below(&source.code, "crate::")
        .into_iter()
        .filter(|name| order.contains(name) && name != source.module() && !above.contains(&name))
        .map(|name| format!("{} names {name}", source.path))
        .collect()
}

#[test]
fn a_module_names_only_modules_above_it() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let order = order(&lib);
    assert_eq!(order.first().map(String::as_str), Some("seeded_bug"), "{order:?}");
    assert_eq!(order.last().map(String::as_str), Some("cli"), "{order:?}");
    let sources = sources();
    for source in &sources {
        let known = order.iter().any(|name| name == source.module());
        assert!(
            known || ["fleet_main", "lib", "main"].contains(&source.module()),
            "{} has no layer",
            source.path
        );
    }
    let wrong: Vec<_> = sources.iter().flat_map(|source| upward(&order, source)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_names_a_module_below_is_found_however_it_is_written() {
    let lib = "/// x\npub mod low;\n\npub mod middle;\n// pub mod gone;\npub mod high;\n";
    let order = order(lib);
    assert_eq!(order, ["low", "middle", "high"]);
    let violations = |text: &str| upward(&order, &Source::new("middle/part.rs", text)).len();
    for bad in [
        "use crate::high::Thing;",
        "use crate::{low::A, high};",
        "use crate::{\n    low::{A, B},\n    high::{C, D},\n};",
        "use crate::{low, middle::{self, x}, high as h};",
        "fn f() { crate::high::f() }",
        "fn f(x: &crate :: high :: T) {}",
        "pub(in crate::high) fn f() {}",
        "let a = \"//\"; crate::high::f();",
        "let a = '\"'; crate::high::f(); let b = '\"';",
    ] {
        let bad = bad.replace(" :: ", "::");
        assert_eq!(violations(&bad), 1, "{bad}");
    }
    for good in [
        "use crate::low::Thing;",
        "use crate::{low::high, middle};",
        "use crate::middle::high;",
        "// crate::high::f()",
        "/* crate::high */ fn f() {}",
        "let a = \"crate::high\";",
        "let a = r#\"crate::high \" \"#;",
        "let a = \"\\\" crate::high\";",
        "use other_crate::high;",
        "fn highest() { crate::higher() }",
    ] {
        assert_eq!(violations(good), 0, "{good}");
    }
}

/// Files that name something outside of where it may be named.
fn named_outside(sources: &[Source], what: &str, allowed: impl Fn(&str) -> bool) -> Vec<String> {
    let names = |source: &Source| match what.strip_suffix("::") {
        // A package: its name as the beginning of a path, or in a `use`.
        Some(package) => {
            !named_below(&source.code, what).is_empty()
                || named_below(&source.code, "use ").contains(package)
        }
        None => source.code.contains(what),
    };
    let outside = sources.iter().filter(|source| names(source) && !allowed(&source.path));
    outside.map(|source| format!("{} names {what}", source.path)).collect()
}

#[test]
fn packages_are_named_only_where_they_belong() {
    let sources = sources();
    let in_core =
        |path: &str| ["protocol/", "lifecycle/", "streams/"].iter().any(|m| path.starts_with(m));
    type Allowed = fn(&str) -> bool;
    let rules: [(&str, Allowed); 7] = [
        ("axum::", |path| path.starts_with("edge/")),
        // Its table says of each route who may call it.
        ("axum::handler", |path| path == "edge/routes.rs"),
        ("clap::", |path| path == "config.rs" || path.starts_with("cli/")),
        ("rusqlite::", |path| {
            ["journal/", "jobs/", "past_acts/", "terminal/local_time.rs"]
                .iter()
                .any(|m| path.starts_with(m))
        }),
        ("anyhow::", |path| path.starts_with("cli/") || path.starts_with("demo/")),
        ("jsonc_parser::", |path| path == "install/settings.rs"),
        ("toml_edit::", |path| path == "install/settings.rs"),
    ];
    let mut wrong = Vec::new();
    for (what, allowed) in rules {
        wrong.extend(named_outside(&sources, what, allowed));
    }
    let shell = ["tokio::", "tokio_util::", "tokio_tungstenite::", "hyper::", "dashmap::"];
    for package in shell {
        wrong.extend(named_outside(&sources, package, |path| !in_core(path)));
    }
    // Their tests may read fixtures, and how long to go on.
    let is_test = |path: &str| path.contains("/tests") || path == "protocol/garbled.rs";
    let tested = |path: &str| !in_core(path) || is_test(path);
    for io in ["std::fs", "std::net", "std::io", "std::process", "std::thread", "std::env"] {
        wrong.extend(named_outside(&sources, io, tested));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    // The rules are about something that is there.
    for (what, at_least) in [("axum::", 3), ("axum::handler", 1), ("clap::", 2), ("tokio::", 5)] {
        assert!(named_outside(&sources, what, |_| false).len() >= at_least, "{what}");
    }
}

#[test]
fn clocks_are_read_in_one_place() {
    let sources = sources();
    // The journal's writer only measures how long the disk takes.
    let in_clock = |path: &str| matches!(path, "hub/clock.rs" | "journal/writer.rs");
    let reads = ["Instant::now", "SystemTime::now", ".elapsed()"];
    let wrong: Vec<_> =
        reads.iter().flat_map(|read| named_outside(&sources, read, in_clock)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(reads.iter().any(|read| !named_outside(&sources, read, |_| false).is_empty()));
}

#[test]
fn what_ships_serves_its_own_tools_and_no_others() {
    // The type has no other constructor than its literal.
    let built = named_outside(&sources(), "ExtraTools {", |path| path == "mcp/extra_tools.rs");
    assert!(built.is_empty(), "\n{}", built.join("\n"));
    assert!(!named_outside(&sources(), "ExtraTools", |_| false).is_empty());
}

/// Adapters that name each other.
fn adapters_naming_adapters(sources: &[Source]) -> Vec<String> {
    const SHARED: [&str; 11] = [
        "edge/mod.rs",
        "edge/accept.rs",
        "edge/body.rs",
        "edge/connection.rs",
        "edge/connections.rs",
        "edge/conversation.rs",
        "edge/guard.rs",
        "edge/peer.rs",
        "edge/http_error.rs",
        "edge/routes.rs",
        "edge/yield_budget.rs",
    ];
    let is_adapter =
        |source: &&Source| source.module() == "edge" && !SHARED.contains(&source.path.as_str());
    let adapters: Vec<_> = sources.iter().filter(is_adapter).collect();
    let name = |source: &Source| {
        let below = source.path.strip_prefix("edge/").unwrap_or_default();
        below.split(['/', '.']).next().unwrap_or_default().to_owned()
    };
    let names: BTreeSet<_> = adapters.iter().map(|source| name(source)).collect();
    let mut wrong = Vec::new();
    for source in adapters {
        let mut named = named_below(&source.code, "super::");
        named.extend(named_below(&source.code, "crate::edge::"));
        let others =
            named.into_iter().filter(|other| names.contains(other) && *other != name(source));
        wrong.extend(others.map(|other| format!("{} names {other}", source.path)));
    }
    wrong
}

#[test]
fn adapters_do_not_know_each_other() {
    let wrong = adapters_naming_adapters(&sources());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let sample = [
        Source::new("edge/mod.rs", "mod ws; mod mcp;"),
        Source::new(
            "edge/ws.rs",
            "use super::guard::Principal; use super::{EdgeState, mcp::post};",
        ),
        Source::new(
            "edge/mcp.rs",
            "use super::http_error::HttpError; use crate::mcp::ProtocolGeneration;",
        ),
    ];
    assert_eq!(adapters_naming_adapters(&sample), ["edge/ws.rs names mcp"]);
}

/// The lines of a file before its tests.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<_> = text.lines().collect();
    let begins_tests = |at: usize| {
        lines[at].trim() == "#[cfg(test)]"
            && lines.get(at + 1).is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
    };
    (0..lines.len()).find(|at| begins_tests(*at)).unwrap_or(lines.len())
}

#[test]
fn files_are_short_enough_to_be_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for source in sources() {
        let is_tests = source.path.ends_with("/tests.rs") || source.path.contains("/tests/");
        let lines = lines_before_tests(&fs::read_to_string(root.join(&source.path)).unwrap());
        if lines > LONGEST_FILE && !is_tests {
            wrong.push(format!("{} has {lines} lines before its tests", source.path));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(lines_before_tests("a\nb\n\n#[cfg(test)]\nmod tests {\n}\n"), 3);
    assert_eq!(
        lines_before_tests("#[cfg(test)]\nmod tests;\n\na\n"),
        4,
        "tests elsewhere end nothing"
    );
}
