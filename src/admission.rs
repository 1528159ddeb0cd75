//! Which extensions that only poll are let in: decided for every carrier here, kept in the state
//! directory, and told to paired extensions and agents.
//!
//! Such an extension holds no secret. It is known by its id, which a browser names for it, and by
//! the session that it names itself; a person lets it in.

use serde::Serialize;

use crate::home::{
    LegacyAnswer, LegacyApproval, LegacyApprover, LegacyFile, LegacyMode, PollingPolicy,
    StateDirectoryError,
};
use crate::hub::{Hub, KnockList};
use crate::protocol::{AdmissionChange, InstanceId, OlderExtensionChange};

/// Lets extensions that only poll in, or not. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PollerAdmission {
    hub: Hub,
    file: LegacyFile,
}

/// How `tabwire status` shows who is let in to poll, and who asks.
#[derive(Debug, Serialize)]
pub struct PollerStatus {
    /// Which are let in besides those below.
    pub mode: LegacyMode,
    /// Those that are let in.
    pub let_in: Vec<LegacyApproval>,
    /// Those whose approval by `auto` ended when the Tabwire extension connected.
    pub ended: Vec<String>,
    /// Whether the Tabwire extension has ever connected.
    pub paired: bool,
    /// Those that ask.
    #[serde(flatten)]
    pub knocks: KnockList,
}

impl PollerStatus {
    /// What stands in the state directory, and who asks.
    #[must_use]
    pub fn of(legacy: PollingPolicy, knocks: KnockList) -> Self {
        let PollingPolicy { mode, approvals: let_in, ended, was_paired: paired, told: _ } = legacy;
        Self { mode, let_in, ended, paired, knocks }
    }
}

/// Why a decision that a person made in the popup does not count.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The state directory cannot be read or written.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// It is let in only while it asks.
    #[error(
        "The extension {0} does not ask to be let in any more. Open its popup, or run `tabwire legacy allow {0}`"
    )]
    NotAsking(String),
}

impl PollerAdmission {
    /// Goes by this file; the hub's paired extensions are told of it from here on.
    #[must_use]
    pub fn new(hub: Hub, file: LegacyFile) -> Self {
        let admission = Self { hub, file };
        admission.tell();
        let rights = admission.hub.poller_rights();
        let auto = rights.approvals.iter().filter(|known| known.by == LegacyApprover::Auto);
        for LegacyApproval { id, .. } in auto {
            tracing::warn!(
                extension_id = id,
                "an older extension is let in although no person has let it in by name: \
                 `tabwire legacy remove {id}` takes that back"
            );
        }
        admission
    }

    /// Whether an extension may poll, as the person has said by now.
    #[must_use]
    pub fn answer(&self, extension_id: &str) -> LegacyAnswer {
        answered(self.file.answer(extension_id))
    }

    /// Notes that an extension asks while polling is switched off.
    pub fn note_switched_off(&self, extension_id: &str) {
        self.tell();
        self.hub.note_switched_off(extension_id);
    }

    /// An extension names a session: that is its own from here on, if the extension is let in.
    /// Else it asks to be. Whether it is let in.
    #[must_use]
    pub fn name_session(&self, extension_id: &str, session: &InstanceId, version: &str) -> bool {
        let is_let_in = self.admit(self.answer(extension_id), extension_id, session, version);
        if is_let_in {
            self.hub.name_session(extension_id, session);
        }
        is_let_in
    }

    /// An extension names a session and polls under it with one request. Whether it is let in; if
    /// not, it asks to be.
    #[must_use]
    pub fn admit_sync(&self, extension_id: &str, session: &InstanceId, version: &str) -> bool {
        self.admit(self.answer_poll(extension_id), extension_id, session, version)
    }

    fn admit(
        &self,
        answer: LegacyAnswer,
        extension_id: &str,
        session: &InstanceId,
        version: &str,
    ) -> bool {
        match answer {
            LegacyAnswer::Welcome => self.hub.forget_knock(extension_id),
            LegacyAnswer::WelcomeToPoll | LegacyAnswer::Unknown => {
                self.tell();
                self.hub.note_knock(extension_id, session, version);
            }
            LegacyAnswer::SwitchedOff => self.tell(),
        }
        answer == LegacyAnswer::Welcome
    }

    /// The extension that polls under this session and says it has this version, if it is let in.
    /// The one that is let in for being the first is so from here on.
    #[must_use]
    pub fn poller_of(&self, session: &InstanceId, version: &str) -> Option<String> {
        if let Some(id) = self.hub.extension_of(session) {
            if self.answer(&id) == LegacyAnswer::Welcome {
                return Some(id);
            }
            self.tell();
            return None;
        }
        let Some(id) = self.hub.knocking_under(session) else {
            // While polling is switched off, none is listened to that names itself.
            if self.hub.poller_rights().mode != LegacyMode::Deny {
                self.hub.note_nameless(version);
            }
            return None;
        };
        if self.answer_poll(&id) != LegacyAnswer::Welcome {
            return None;
        }
        self.hub.name_session(&id, session);
        self.hub.forget_knock(&id);
        Some(id)
    }

    /// Whether an extension that polls may. The one that is let in for being the first is so from
    /// here on.
    fn answer_poll(&self, extension_id: &str) -> LegacyAnswer {
        let answer = answered(self.file.answer_poll(extension_id));
        if self.hub.poller_rights().approver_of(extension_id).is_none() {
            self.tell();
        }
        answer
    }

    /// Our own extension has proved itself: approvals by `auto` end here.
    pub fn note_paired(&self) {
        match self.file.note_paired() {
            Ok(ended) if ended.is_empty() => {}
            Ok(ended) => {
                for id in &ended {
                    tracing::warn!(
                        extension_id = id,
                        "an older extension that nobody had let in by name is let in no longer, \
                         since the Tabwire extension is here: `tabwire legacy allow {id}` lets it in"
                    );
                }
                self.tell();
            }
            Err(error) => tracing::warn!(%error, "that an extension is paired could not be noted"),
        }
    }

    /// Does what a person has decided in the popup of a paired extension.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`]: nothing changed.
    pub fn change(&self, change: &OlderExtensionChange) -> Result<(), AdmissionError> {
        let OlderExtensionChange { change, extension_id } = change;
        match change {
            AdmissionChange::Allow => {
                let knocks = self.hub.knocks();
                if !knocks.asking.iter().any(|knock| knock.extension_id == *extension_id) {
                    return Err(AdmissionError::NotAsking(extension_id.clone()));
                }
                self.file.allow(extension_id)?;
                self.hub.forget_knock(extension_id);
            }
            AdmissionChange::Remove => {
                self.file.remove(extension_id)?;
            }
        }
        tracing::info!(extension_id, ?change, "a person has decided in the popup");
        self.tell();
        Ok(())
    }

    /// Who is let in, and who asks.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`].
    pub fn status(&self) -> Result<PollerStatus, StateDirectoryError> {
        self.tell();
        Ok(PollerStatus::of(self.file.read()?, self.hub.knocks()))
    }

    /// What an agent should hear now besides its answer: which command lets in an extension that
    /// asks, where that is what keeps the agent from its browser, and once each, that one is let
    /// in or no longer let in without anybody having said so.
    #[must_use]
    pub fn notice(&self, lacks_browser: bool) -> Option<String> {
        let (mut rights, mut knocks) = self.hub.poller_news(lacks_browser);
        if !knocks.is_empty() {
            // A person may just have let one in, whose next request is still to come.
            self.tell();
            (rights, knocks) = self.hub.poller_news(lacks_browser);
        }
        let untold = rights.untold();
        let mut said: Vec<_> = untold.iter().map(|id| untold_notice(id, &rights)).collect();
        if !untold.is_empty() && self.note_told(&untold).is_err() {
            // It would be told with every answer.
            said.clear();
        }
        said.extend(knocks.asking.first().map(|_| asking_notice(&knocks)));
        said.extend(knocks.switched_off.first().map(|knock| {
            let id = &knock.extension_id;
            format!(
                "The older extension {id} asks to control this computer's browser, and such \
                 extensions are switched off. If the person wants to use it, they run `tabwire \
                 legacy ask`."
            )
        }));
        said.extend(knocks.nameless.as_ref().map(|_| NAMELESS_NOTICE.to_owned()));
        (!said.is_empty()).then(|| said.join(" "))
    }

    fn note_told(&self, ids: &[String]) -> Result<(), StateDirectoryError> {
        self.file.note_told(ids)?;
        self.tell();
        Ok(())
    }

    /// Has the hub know what the state directory says. Extensions that poll and may not any more
    /// are away from here on, also one whose request is just held.
    fn tell(&self) {
        match self.file.read() {
            Ok(legacy) if legacy == *self.hub.poller_rights() => {}
            Ok(legacy) => {
                self.hub.set_poller_rights(legacy);
                let polling = self.hub.polling_extensions();
                let may_not = |id: &&String| self.answer(id) != LegacyAnswer::Welcome;
                polling.iter().filter(may_not).for_each(|id| self.hub.dismiss_poller(id));
            }
            Err(error) => tracing::warn!(%error, "no older extension is let in"),
        }
    }
}

/// What cannot be read lets nobody in.
fn answered(answer: Result<LegacyAnswer, StateDirectoryError>) -> LegacyAnswer {
    answer.unwrap_or_else(|error| {
        tracing::warn!(%error, "no older extension is let in");
        LegacyAnswer::Unknown
    })
}

/// What is said of an extension that polls and cannot be let in.
const NAMELESS_NOTICE: &str = "An extension asks for commands and does not say which one it is, so \
    it is too old to be let in. Ask the person to update it, or to run `tabwire install`, which sets \
    up the Tabwire extension.";

/// What is said once of an extension that nobody has let in by name.
fn untold_notice(id: &str, rights: &PollingPolicy) -> String {
    if rights.ended.iter().any(|known| known == id) {
        return format!(
            "The older extension {id} is let in no longer, since the Tabwire extension is \
             connected and nobody had let it in by name. If the person wants it, they run \
             `tabwire legacy allow {id}`."
        );
    }
    format!(
        "The older extension {id} is let in although no person has let it in by name. If the \
         person does not use it, they run `tabwire legacy remove {id}`."
    )
}

/// Which command lets in those who ask.
fn asking_notice(knocks: &KnockList) -> String {
    let ids: Vec<_> = knocks.asking.iter().map(|knock| knock.extension_id.as_str()).collect();
    match ids.as_slice() {
        [only] if knocks.not_shown == 0 => format!(
            "An older extension asks to control this computer's browser and is not let in. Ask the \
             person whether it is theirs; if so, they run `tabwire legacy allow {only}`."
        ),
        several => format!(
            "Older extensions ask to control this computer's browser and are not let in: {}. Ask \
             the person which is theirs (chrome://extensions shows its id); they run `tabwire \
             legacy allow ID` with it.",
            several.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::home::StateDirectory;
    use crate::lifecycle::Limits;

    #[tokio::test(start_paused = true)]
    async fn an_agent_hears_why_nobody_can_let_in_one_that_does_not_say_which_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        let admission = PollerAdmission::new(Hub::start(Limits::default()), home.legacy());
        let poll_for_eleven_seconds = async || {
            for _ in 0..12 {
                assert_eq!(admission.poller_of(&"ext_1".into(), "5.0.0"), None);
                tokio::time::advance(Duration::from_secs(1)).await;
            }
        };
        home.legacy().set_mode(LegacyMode::Deny).unwrap();
        assert!(!admission.name_session("an id", &"ext_1".into(), "5.0.0"));
        poll_for_eleven_seconds().await;
        assert_eq!(
            admission.notice(false),
            None,
            "it may well name itself, and is not listened to"
        );
        home.legacy().set_mode(LegacyMode::Ask).unwrap();
        assert!(admission.status().unwrap().knocks.is_empty());
        poll_for_eleven_seconds().await;
        let notice = admission.notice(false).unwrap();
        assert!(notice.contains("too old") && notice.contains("`tabwire install`"), "{notice}");
    }
}
