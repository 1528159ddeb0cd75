//! The subjects of places, and who may publish and subscribe to which.
//!
//! The owner of a call is the last word of its subject, and the NATS server holds each key to its own
//! words: a home need not ask who a call is from.

/// The name in the place of an owner under which homes of a place look for each other. No owner has it.
pub const HOME_WORD: &str = "home";

/// What a key may do at the NATS servers, in their words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubjectPermissions {
    /// The subjects to which it may publish.
    pub publish: Vec<String>,
    /// The subjects to which it may subscribe.
    pub subscribe: Vec<String>,
    /// Whether it may answer each request once, within [`REPLY_SECONDS`].
    pub replies: bool,
}

/// How long a home may take for a reply, in seconds. A larger permit or a longer one stays in the server's
/// memory.
pub const REPLY_SECONDS: u64 = 30;

/// The permissions of the agents of an owner, for the places that it is granted.
#[must_use]
pub fn agent_permissions<'a>(
    owner: &str,
    places: impl IntoIterator<Item = &'a str>,
) -> SubjectPermissions {
    let mut may = SubjectPermissions::default();
    for place in places {
        may.publish.extend([hello(place, owner), call(place, "*", owner)]);
        may.subscribe.push(again(place));
    }
    may.subscribe.push(format!("{}.>", inbox(owner)));
    may
}

/// The permissions of the home of a place.
#[must_use]
pub fn home_permissions(place: &str) -> SubjectPermissions {
    SubjectPermissions {
        publish: vec![hello(place, HOME_WORD), again(place)],
        subscribe: vec![
            hello(place, "*"),
            format!("tw.at.{place}.>"),
            format!("{}.>", home_inbox(place)),
        ],
        replies: true,
    }
}

/// Where an owner finds the lives of a place.
pub(super) fn hello(place: &str, owner: &str) -> String {
    format!("tw.call.{place}.{owner}")
}

/// Where an owner's calls for one life of a place go.
pub(super) fn call(place: &str, life: &str, owner: &str) -> String {
    format!("tw.at.{place}.{life}.{owner}")
}

/// Where the home of a place asks all agents to ask again for what they wait for.
pub(super) fn again(place: &str) -> String {
    format!("tw.again.{place}")
}

/// The beginning of the subjects of replies for an owner.
pub(super) fn inbox(owner: &str) -> String {
    format!("_INBOX.{owner}")
}

/// The same for the home of a place.
pub(super) fn home_inbox(place: &str) -> String {
    format!("_INBOX.{HOME_WORD}.{place}")
}

/// The owner of a subject that [`hello`] or [`call`] has made.
pub(super) fn owner_of(subject: &str) -> Option<&str> {
    subject.rsplit_once('.').map(|(_, owner)| owner)
}

/// Whether a reply to this subject goes to this owner's agents and to nobody else. A home that answered elsewhere
/// would publish for a caller what the caller may not publish.
pub(super) fn is_inbox_of(owner: &str, subject: &str) -> bool {
    is_below(&inbox(owner), subject)
}

/// The same for the home of a place.
pub(super) fn is_home_inbox(place: &str, subject: &str) -> bool {
    is_below(&home_inbox(place), subject)
}

fn is_below(inbox: &str, subject: &str) -> bool {
    let rest = subject.strip_prefix(inbox).and_then(|rest| rest.strip_prefix('.'));
    rest.is_some_and(|rest| !rest.is_empty())
}

/// Whether the server's words refuse a message to this subject.
pub(super) fn is_refused(words: &str, subject: &str) -> bool {
    is_violation(words) && words.split('"').any(|word| word == subject)
}

/// Whether the server's words refuse a reply.
pub(super) fn is_refused_reply(words: &str) -> bool {
    is_violation(words) && words.split('"').any(|word| word.starts_with("_INBOX."))
}

fn is_violation(words: &str) -> bool {
    words.to_ascii_lowercase().contains("permissions violation")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_publishes_as_its_owner_to_the_granted_places_and_hears_its_own_inbox() {
        let may = agent_permissions("ci", ["qa-17", "qa-18"]);
        let publish =
            ["tw.call.qa-17.ci", "tw.at.qa-17.*.ci", "tw.call.qa-18.ci", "tw.at.qa-18.*.ci"];
        assert_eq!(may.publish, publish);
        let subscribe = ["tw.again.qa-17", "tw.again.qa-18", "_INBOX.ci.>"];
        assert_eq!((may.subscribe, may.replies), (subscribe.map(str::to_owned).into(), false));
    }

    #[test]
    fn a_home_hears_its_place_and_publishes_nothing_but_replies_and_the_words_of_a_home() {
        let may = home_permissions("qa-17");
        assert_eq!(may.publish, ["tw.call.qa-17.home", "tw.again.qa-17"]);
        let subscribe = ["tw.call.qa-17.*", "tw.at.qa-17.>", "_INBOX.home.qa-17.>"];
        assert_eq!((may.subscribe, may.replies), (subscribe.map(str::to_owned).into(), true));
    }

    #[test]
    fn a_reply_goes_to_the_caller_s_own_inbox_and_nowhere_else() {
        assert!(is_inbox_of("ci", "_INBOX.ci.a.b"));
        for elsewhere in
            ["_INBOX.ci", "_INBOX.ci.", "_INBOX.ci2.a", "_INBOX.ann.a", "tw.call.qa-17.home", ""]
        {
            assert!(!is_inbox_of("ci", elsewhere), "{elsewhere}");
        }
        assert!(is_home_inbox("qa-17", "_INBOX.home.qa-17.x"));
        assert!(!is_home_inbox("qa-17", "_INBOX.home.qa-1.x"), "another place's");
    }

    #[test]
    fn a_refusal_of_the_server_is_matched_by_its_subject() {
        let said = "Permissions Violation for Publish to \"tw.call.qa-1.ci\"";
        assert!(is_refused(said, "tw.call.qa-1.ci"));
        assert!(
            !is_refused(said, "tw.call.qa-17.ci")
                && !is_refused("tw.call.qa-1.ci", "tw.call.qa-1.ci")
        );
        let reply = "Permissions Violation for Publish to \"_INBOX.ci.a.b\"";
        assert!(is_refused_reply(reply) && !is_refused_reply(said));
        assert_eq!(owner_of("tw.at.qa-1.f0.ci"), Some("ci"));
    }
}
