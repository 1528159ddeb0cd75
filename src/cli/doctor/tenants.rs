//! The teams that the person has joined, and how their calls go.

use super::HopFindings;
use crate::home::{StateDirectory, StateDirectoryError, TenantCallState};

pub(super) const HOP: &str = "teams";

/// Names the joined teams; nothing if there is none.
pub(super) fn tenants(findings: &mut HopFindings, home: &StateDirectory) {
    let (teams, untaken) = match teams(home) {
        Ok(teams) => teams,
        Err(error) => {
            let remedy = "make the folder readable for you; if it is, run `tabwire-fleet stop`, then `tabwire-fleet serve`";
            return findings.broken(HOP, error.to_string(), remedy);
        }
    };
    let says: Vec<_> =
        teams.iter().map(|(name, state)| format!("{name}: {}", state.says)).collect();
    let remedies: Vec<_> = teams
        .iter()
        .filter_map(|(name, state)| Some((name, state.remedy.as_ref()?)))
        .map(
            |(name, remedy)| {
                if teams.len() > 1 { format!("{name}: {remedy}") } else { remedy.clone() }
            },
        )
        .collect();
    match (says.is_empty(), remedies.is_empty()) {
        (true, _) => {}
        (false, false) => findings.broken(HOP, says.join("; "), remedies.join("; ")),
        // As for the daemon itself: that none runs is no fault.
        (false, true) if untaken => findings.later(HOP, says.join("; ")),
        (false, true) => findings.fine(HOP, says.join("; ")),
    }
}

/// All joined teams by their names, and whether no daemon runs that could take their calls.
fn teams(
    home: &StateDirectory,
) -> Result<(Vec<(String, TenantCallState)>, bool), StateDirectoryError> {
    let tenants = home.tenants();
    let (has_homes, has_daemon) = (tenants.has_homes()?, home.has_daemon()?);
    let of = |name: String| {
        let (says, remedy) = match (tenants.state(&name)?, has_homes, has_daemon) {
            (Some(state), _, _) => return Ok((name, state)),
            (None, true, _) => ("joined; its calls are taken in a moment", None),
            (None, false, true) => (
                "joined; the daemon that runs was not started by tabwire-fleet, so nobody takes its calls",
                Some("run `tabwire-fleet stop`, then `tabwire-fleet serve`".to_owned()),
            ),
            (None, false, false) => {
                ("joined; nobody takes its calls until `tabwire-fleet serve` runs", None)
            }
        };
        Ok((name, TenantCallState { says: says.to_owned(), remedy }))
    };
    let teams = tenants.names()?.into_iter().map(of).collect::<Result<_, _>>()?;
    Ok((teams, !has_homes && !has_daemon))
}

#[cfg(test)]
mod tests {
    use super::super::HopState;
    use super::*;

    fn joined(names: &[&str]) -> (tempfile::TempDir, StateDirectory) {
        let dir = tempfile::tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        home.tenants().make_folder().unwrap();
        for name in names {
            std::fs::write(home.tenants().path(name), "x").unwrap();
        }
        (dir, home)
    }

    /// The state, the finding and the next step.
    fn found(home: &StateDirectory) -> Option<(HopState, String, String)> {
        let mut findings = HopFindings::default();
        tenants(&mut findings, home);
        let found = findings.0.pop()?;
        Some((found.state, found.says, found.remedy.unwrap_or_default()))
    }

    fn state(says: &str, remedy: Option<&str>) -> TenantCallState {
        TenantCallState { says: says.to_owned(), remedy: remedy.map(str::to_owned) }
    }

    #[test]
    fn a_joined_team_is_named_with_how_its_calls_go_and_nothing_is_said_without_one() {
        let (_dir, home) = joined(&[]);
        assert_eq!(found(&home), None);
        let (_dir, home) = joined(&["acme"]);
        let (known, says, _) = found(&home).unwrap();
        assert_eq!(known, HopState::Unknown, "as of the daemon that does not run: {says}");
        assert!(says.starts_with("acme: joined; nobody takes its calls"), "{says}");
        let lock = home.tenants().try_lock_homes().unwrap();
        let (known, says, _) = found(&home).unwrap();
        assert_eq!(
            (known, &*says),
            (HopState::Fine, "acme: joined; its calls are taken in a moment")
        );
        home.tenants().announce("acme", &state("takes calls as place qa-17", None)).unwrap();
        let (known, says, _) = found(&home).unwrap();
        assert_eq!((known, &*says), (HopState::Fine, "acme: takes calls as place qa-17"));
        drop(lock);
        assert!(
            found(&home).unwrap().1.contains("nobody takes"),
            "the words of one that has ended"
        );
    }

    #[test]
    fn a_team_in_trouble_is_broken_and_its_next_step_is_named() {
        let (_dir, home) = joined(&["acme", "beta"]);
        let _lock = home.tenants().try_lock_homes().unwrap();
        home.tenants().announce("acme", &state("takes calls", None)).unwrap();
        home.tenants().announce("beta", &state("two homes", Some("leave one"))).unwrap();
        let (known, says, remedy) = found(&home).unwrap();
        assert_eq!(known, HopState::Broken);
        assert_eq!((&*says, &*remedy), ("acme: takes calls; beta: two homes", "beta: leave one"));
    }

    #[test]
    fn a_daemon_that_takes_no_calls_of_teams_is_broken_once_one_is_joined() {
        let (_dir, home) = joined(&["acme"]);
        let _daemon = home.try_lock_daemon().unwrap().unwrap();
        let (known, says, remedy) = found(&home).unwrap();
        assert_eq!(known, HopState::Broken, "{says}");
        assert!(remedy.contains("`tabwire-fleet stop`, then `tabwire-fleet serve`"), "{remedy}");
    }
}
