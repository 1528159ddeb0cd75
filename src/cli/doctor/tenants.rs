//! The teams that the person has joined, and how their calls go.

use super::HopFindings;
use crate::home::{StateDirectory, StateDirectoryError};

pub(super) const HOP: &str = "teams";

/// Names the joined teams; nothing if there is none.
pub(super) fn tenants(findings: &mut HopFindings, home: &StateDirectory) {
    match told(home) {
        Ok(told) if told.is_empty() => {}
        Ok(told) => findings.fine(HOP, told.join("; ")),
        Err(error) => findings.broken(HOP, error.to_string(), "make the folder readable for you"),
    }
}

fn told(home: &StateDirectory) -> Result<Vec<String>, StateDirectoryError> {
    let tenants = home.tenants();
    let of = |name: String| {
        let state = tenants.state(&name)?;
        let untaken = "joined; no daemon of tabwire-fleet runs, so nobody takes its calls";
        Ok(format!("{name}: {}", state.as_deref().unwrap_or(untaken)))
    };
    tenants.names()?.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::HopState;
    use super::*;

    #[test]
    fn a_joined_team_is_named_with_how_its_calls_go_and_nothing_is_said_without_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        let says = |home: &StateDirectory| {
            let mut findings = HopFindings::default();
            tenants(&mut findings, home);
            findings.0.first().map(|found| (found.state, found.says.clone()))
        };
        assert_eq!(says(&home), None);
        home.tenants().make_folder().unwrap();
        std::fs::write(home.tenants().path("acme"), "x").unwrap();
        let (state, words) = says(&home).unwrap();
        assert_eq!(state, HopState::Fine);
        assert!(words.starts_with("acme: joined; no daemon of tabwire-fleet"), "{words}");
        let lock = home.tenants().try_lock_homes().unwrap();
        home.tenants().announce("acme", "takes calls as place qa-17").unwrap();
        assert_eq!(says(&home).unwrap().1, "acme: takes calls as place qa-17");
        drop(lock);
        assert!(says(&home).unwrap().1.contains("nobody takes"), "the words of one that has ended");
    }
}
