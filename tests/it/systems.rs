//! Operating systems: one module knows them, and its calls of Windows are the only unsafe code.

use crate::layers::sources;

/// The module that knows operating systems.
const MODULE: &str = "os/";

/// The only file with unsafe code.
const CALLS: &str = "os/windows/calls.rs";

/// What code asks of the system by, or takes from one system alone.
const QUESTIONS: [&str; 11] = [
    "std::os::",
    "target_os",
    "target_family",
    "cfg(unix",
    "cfg!(unix",
    "cfg(windows",
    "cfg!(windows",
    "cfg(not(unix",
    "cfg(not(windows",
    "windows_sys::",
    "nix::unistd",
];

/// Modules of `rustix` that are there on each system.
const COMMON: [&str; 3] = ["net", "io", "event"];

/// Files that may ask, each with the reason.
const EXCEPTIONS: [(&str, &str); 0] = [];

/// The questions in a source's code.
fn questions_in(code: &str) -> Vec<String> {
    let asked = QUESTIONS.iter().filter(|question| code.contains(**question));
    let of_unix = code.match_indices("rustix::").filter_map(|(at, prefix)| {
        let rest = &code[at + prefix.len()..];
        let is_common = COMMON.iter().any(|module| rest.starts_with(&format!("{module}::")));
        (!is_common).then(|| rest.chars().take(20).collect())
    });
    asked.map(|question| (*question).to_owned()).chain(of_unix).collect()
}

#[test]
fn no_module_but_one_asks_which_system_it_runs_on() {
    let mut wrong = Vec::new();
    for source in sources() {
        let is_excepted = EXCEPTIONS.iter().any(|(file, _)| *file == source.path);
        if source.path.starts_with(MODULE) || is_excepted {
            continue;
        }
        let found = questions_in(source.code());
        wrong.extend(found.into_iter().map(|question| format!("{}: {question}", source.path)));
    }
    assert!(wrong.is_empty(), "say it with a word of `os`:\n{}", wrong.join("\n"));
}

#[test]
fn what_asks_is_found_however_it_is_written() {
    for bad in [
        "use std::os::unix::fs::PermissionsExt as _;",
        "#[cfg(target_os = \"\")]",
        "#[cfg(all(test, unix))] use std::os::fd::AsFd;",
        "if cfg!(windows) {}",
        "#[cfg(not(windows))]",
        "let a = rustix::process::getuid();",
        "use rustix::{fs, net};",
        "use nix::unistd::Pid;",
    ] {
        assert!(!questions_in(bad).is_empty(), "{bad}");
    }
    for good in ["use crate::os;", "rustix::net::sockopt::set_socket_linger(a, b)", "cfg(test)"] {
        assert!(questions_in(good).is_empty(), "{good}");
    }
}

#[test]
fn unsafe_code_stands_in_one_file() {
    let is_unsafe = |code: &str| {
        code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe")
    };
    let found: Vec<_> = sources().into_iter().filter(|source| is_unsafe(source.code())).collect();
    let paths: Vec<_> = found.iter().map(|source| source.path.as_str()).collect();
    assert_eq!(paths, [CALLS]);
}
