//! The public suffixes that the daemon knows.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::{assert_generated, root};

const HEAD: &str = "\
// The Public Suffix List (https://publicsuffix.org), which is subject to the terms of the Mozilla Public License 2.0
// (https://mozilla.org/MPL/2.0/): its rules in ASCII, sorted. `UPDATE_DOCS=1 cargo test --test it docs` writes this
// file anew of the crate `psl`.

";

/// The rules as the crate has them. Cargo is asked for this computer's packages alone: those of other systems were
/// never downloaded where nothing but these tests was built.
fn rules_of_crate() -> String {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "metadata",
        "--format-version",
        "1",
        "--offline",
        "--locked",
        "--filter-platform",
        "host-tuple",
    ]);
    let told = command.current_dir(root()).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let mut packages = told["packages"].as_array().unwrap().iter();
    let found = packages.find(|package| package["name"] == "psl").unwrap();
    let manifest = PathBuf::from(found["manifest_path"].as_str().unwrap());
    std::fs::read_to_string(manifest.with_file_name("data").join("rules.txt")).unwrap()
}

/// A rule in ASCII.
fn in_ascii(rule: &str) -> String {
    let signs = ["*.", "!"].into_iter();
    let (sign, name) = signs
        .filter_map(|sign| rule.strip_prefix(sign).map(|name| (sign, name)))
        .next()
        .unwrap_or(("", rule));
    format!("{sign}{}", idna::domain_to_ascii(name).unwrap())
}

#[test]
fn the_public_suffixes_are_those_of_the_crate() {
    let rules: BTreeSet<_> = rules_of_crate().lines().map(in_ascii).collect();
    let rules: Vec<_> = rules.into_iter().collect();
    assert_generated("src/protocol/public_suffixes.txt", &format!("{HEAD}{}\n", rules.join("\n")));
}
