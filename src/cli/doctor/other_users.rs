//! Whether the daemon can keep other users of the computer out by their connections.

use serde_json::Value;

use super::HopFindings;
use crate::cli::commands::text;

pub(super) const HOP: &str = "other users";

/// Whether the daemon can tell other users' connections from this user's.
pub(super) fn other_users(findings: &mut HopFindings, status: Option<&Value>) {
    match status.map(|status| text(&status["peer_users"])) {
        Some("known") => findings.fine(HOP, "the daemon rejects their connections"),
        Some(_) => findings.unknown(
            HOP,
            "this system does not tell which user opened a connection, so the daemon relies on keys and \
             tokens and rejects extensions that only poll; use the Tabwire extension",
        ),
        None => findings.unknown(HOP, "only a running daemon knows"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::HopState;
    use super::*;

    #[test]
    fn where_the_system_does_not_tell_users_apart_the_doctor_says_what_that_means() {
        let mut findings = HopFindings::default();
        other_users(&mut findings, Some(&json!({"peer_users": "unknown"})));
        other_users(&mut findings, Some(&json!({"peer_users": "known"})));
        other_users(&mut findings, None);
        let [unknown, known, nobody] = &findings.0[..] else { panic!("{findings:?}") };
        assert_eq!((unknown.state, known.state), (HopState::Unknown, HopState::Fine));
        assert!(unknown.says.contains("rejects extensions that only poll"), "{}", unknown.says);
        assert_eq!(nobody.says, "only a running daemon knows");
    }
}
