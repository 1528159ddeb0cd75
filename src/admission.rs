//! The admission of extensions that only poll: decided here for both transports, kept in the state
//! directory, and shown to paired extensions and agents.
//!
//! Such an extension holds no secret. The daemon knows it by its id, which the browser sends, and by
//! a session, which it names itself. A person lets it in.

use serde::Serialize;

use crate::home::{
    LegacyAnswer, LegacyApproval, LegacyApprover, LegacyFile, LegacyMode, PollingPolicy,
    StateDirectoryError,
};
use crate::hub::{Hub, KnockList};
use crate::protocol::{AdmissionChange, InstanceId, OlderExtensionChange};

/// Decides whether extensions that only poll are let in. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PollerAdmission {
    hub: Hub,
    file: LegacyFile,
}

/// The extensions that are let in to poll and those that ask, for `tabwire status`.
#[derive(Debug, Serialize)]
pub struct PollerStatus {
    /// Which are let in besides those below.
    pub mode: LegacyMode,
    /// The extensions that are let in.
    pub let_in: Vec<LegacyApproval>,
    /// Those whose approval by `auto` ended when the Tabwire extension connected.
    pub ended: Vec<String>,
    /// Whether the Tabwire extension has ever connected.
    pub paired: bool,
    /// The extensions that ask.
    #[serde(flatten)]
    pub knocks: KnockList,
}

impl PollerStatus {
    /// The status from the state directory and the list of those that ask.
    #[must_use]
    pub fn of(legacy: PollingPolicy, knocks: KnockList) -> Self {
        let PollingPolicy { mode, approvals: let_in, ended, was_paired: paired, told: _ } = legacy;
        Self { mode, let_in, ended, paired, knocks }
    }
}

/// The reason why a person's decision in the popup does not count.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// The state directory cannot be read or written.
    #[error(transparent)]
    Home(#[from] StateDirectoryError),
    /// The extension does not ask any more, and only one that asks can be let in.
    #[error(
        "The extension {0} no longer asks to be let in. Open its popup, or run `tabwire legacy allow {0}`"
    )]
    NotAsking(String),
}

impl PollerAdmission {
    /// Uses this file, and sends its contents to the hub's paired extensions.
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

    /// Whether an extension may poll, according to the file as it is now.
    #[must_use]
    pub fn answer(&self, extension_id: &str) -> LegacyAnswer {
        answered(self.file.answer(extension_id))
    }

    /// Notes that an extension asks while polling is switched off.
    pub fn note_switched_off(&self, extension_id: &str) {
        self.tell();
        self.hub.note_switched_off(extension_id);
    }

    /// Binds a session to an extension if the extension is let in; otherwise notes that it asks.
    /// Returns whether it is let in.
    #[must_use]
    pub fn name_session(&self, extension_id: &str, session: &InstanceId, version: &str) -> bool {
        let is_let_in = self.admit(self.answer(extension_id), extension_id, session, version);
        if is_let_in {
            self.hub.name_session(extension_id, session);
        }
        is_let_in
    }

    /// The same for a request that names a session and polls under it at once.
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

    /// The extension that polls under this session, if it is let in. In mode `auto` the first one is
    /// let in here.
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
            // While polling is switched off, an update of the extension would not help the person.
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

    /// Whether an extension that polls may do so. In mode `auto` the first one is let in here.
    fn answer_poll(&self, extension_id: &str) -> LegacyAnswer {
        let answer = answered(self.file.answer_poll(extension_id));
        if self.hub.poller_rights().approver_of(extension_id).is_none() {
            self.tell();
        }
        answer
    }

    /// Ends approvals by `auto`, since the Tabwire extension has proved itself.
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
            Err(error) => {
                tracing::warn!(%error, "cannot note that the Tabwire extension is paired")
            }
        }
    }

    /// Carries out a person's decision in the popup of a paired extension.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`]: nothing changed.
    pub fn change(&self, change: &OlderExtensionChange) -> Result<(), AdmissionError> {
        let OlderExtensionChange { change, extension_id } = change;
        match change {
            AdmissionChange::Allow => {
                // The person decided on what the popup showed, which may be over.
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

    /// The extensions that are let in, and those that ask.
    ///
    /// # Errors
    ///
    /// [`StateDirectoryError`].
    pub fn status(&self) -> Result<PollerStatus, StateDirectoryError> {
        self.tell();
        Ok(PollerStatus::of(self.file.read()?, self.hub.knocks()))
    }

    /// The notice that an agent gets beside its answer, if there is one: the command that lets in an
    /// extension, while the agent lacks a browser and the extension asks; and once for each extension
    /// that it was let in, or shut out, without a person's decision.
    #[must_use]
    pub fn notice(&self, lacks_browser: bool) -> Option<String> {
        let (mut rights, mut knocks) = self.hub.poller_news(lacks_browser);
        if !knocks.is_empty() {
            // A person may just have let one in whose next request is still to come: read the file again.
            self.tell();
            (rights, knocks) = self.hub.poller_news(lacks_browser);
        }
        let untold = rights.untold();
        let mut said: Vec<_> = untold.iter().map(|id| untold_notice(id, &rights)).collect();
        if !untold.is_empty() && self.note_told(&untold).is_err() {
            // Without this record every answer would repeat the notice.
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

    /// Sends the file's contents to the hub. Extensions that poll and no longer may are disconnected,
    /// even if the daemon holds their request at this moment.
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

/// A file that cannot be read lets nobody in.
fn answered(answer: Result<LegacyAnswer, StateDirectoryError>) -> LegacyAnswer {
    answer.unwrap_or_else(|error| {
        tracing::warn!(%error, "no older extension is let in");
        LegacyAnswer::Unknown
    })
}

/// The notice on an extension that polls without a name and cannot be let in.
const NAMELESS_NOTICE: &str = "An extension asks for commands and does not say which one it is, so \
    it is too old to be let in. Ask the person to update it, or to run `tabwire install`, which sets \
    up the Tabwire extension.";

/// The notice on an extension that no person has let in by name.
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

/// The notice on extensions that ask, with the command that lets them in.
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
