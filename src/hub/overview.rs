//! The commands and browsers of all owners, as the person sees them. No client of any owner gets this.

use serde::Serialize;
use std::sync::Arc;

use super::Hub;
use crate::engine::{Overview, OverviewCommand};
use crate::lifecycle::{Command, Lane};
use crate::protocol::{
    BrowserId, CommandProgress, CommandStatus, CommandStory, CorrelationId, TabId, Timestamp,
    WorkKind,
};
use crate::streams::redact;

/// A command of any owner, without its parameters and its result.
#[derive(Debug, Serialize)]
pub struct CommandRow {
    #[serde(flatten)]
    story: CommandStory,
    /// The name of its owner.
    owner: Arc<str>,
    /// The name of its client.
    agent: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    browser_label: Option<String>,
    /// A URL without its query, a selector, the beginning of a script, or a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_job: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<CommandProgress>,
}

impl CommandRow {
    fn of(known: &OverviewCommand) -> Self {
        let OverviewCommand { command, lane, agent, browser_label } = known;
        let spec = command.spec();
        let mut story = command.story(lane.as_ref());
        // The browser's message may have a part of the page in it.
        story.error = story.error.map(|error| redact(&error).into_owned().into());
        if spec.is_private {
            story =
                CommandStory { files: Vec::new(), message: None, error: None, hint: None, ..story };
        }
        let target = spec.work.target().filter(|_| !spec.is_private);
        Self {
            story,
            owner: spec.owner.name().into(),
            agent: agent.clone(),
            browser_label: browser_label.clone(),
            target: target.map(|target| redact(&target).into_owned()),
            is_job: spec.work.kind() == WorkKind::Job,
            progress: progress_of(command).filter(|_| !spec.is_private),
        }
    }

    /// The command.
    #[must_use]
    pub const fn id(&self) -> &CorrelationId {
        &self.story.summary.correlation_id
    }

    /// The last progress of a command that tells of it. `None`: it does not, or is over.
    #[must_use]
    pub fn told_progress(&self) -> Option<Option<&CommandProgress>> {
        let is_open = self.story.summary.status.is_open();
        (is_open && (self.is_job || self.progress.is_some())).then_some(self.progress.as_ref())
    }
}

/// The last progress of a command that is not over. A dialog's text stays with the agent.
fn progress_of(command: &Command) -> Option<CommandProgress> {
    let CommandStatus::Pending { progress, .. } = command.report(false).status else { return None };
    progress.map(|progress| CommandProgress { dialog: None, ..progress })
}

impl Hub {
    /// The browsers of this daemon, and the open questions of all owners.
    #[must_use]
    pub fn overview(&self) -> Overview {
        self.view(|engine| engine.overview())
    }

    /// The ids of the commands of all owners that are kept, oldest first; with `since` those that
    /// changed from then on.
    #[must_use]
    pub fn commands_since(&self, since: Option<Timestamp>) -> Vec<CorrelationId> {
        let has_changed =
            |command: &&Command| since.is_none_or(|since| command.changed_at() >= since);
        let mut found: Vec<_> = self.view(|engine| {
            let commands = engine.commands().filter(has_changed);
            commands.map(|command| (command.spec().created, command.spec().id.clone())).collect()
        });
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// These commands, as far as they are kept.
    #[must_use]
    pub fn rows(&self, ids: &[CorrelationId]) -> Vec<CommandRow> {
        // Copied under the lock, and put into words without it.
        let known: Vec<_> =
            self.view(|engine| ids.iter().filter_map(|id| engine.overview_command(id)).collect());
        known.iter().map(CommandRow::of).collect()
    }

    /// Stops a command of any owner by the person's word (rows 15, 16). `false`: no command of this
    /// id is open.
    pub fn stop_by_person(&self, id: &CorrelationId) -> bool {
        self.transact(|tx| tx.stop_open(id))
    }

    /// Stops all commands of all owners that have not ended, by the person's word. Returns their
    /// number.
    pub fn stop_all_by_person(&self) -> usize {
        self.transact(|tx| tx.stop_all_open())
    }

    /// Takes a tab back from the client that holds it, by the person's word. `false`: none holds it.
    pub fn take_tab_by_person(&self, browser: &BrowserId, tab: TabId) -> bool {
        self.transact(|tx| tx.take_held_tab(browser, tab))
    }

    /// A command of any owner, for the person.
    #[must_use]
    pub fn inspected(&self, id: &CorrelationId) -> Option<Command> {
        self.view(|engine| engine.command(id).cloned())
    }

    /// The same with the browser and the tab that it ran in.
    #[must_use]
    pub fn inspected_with_lane(&self, id: &CorrelationId) -> Option<(Command, Option<Lane>)> {
        self.view(|engine| Some((engine.command(id)?.clone(), engine.lane_of(id).cloned())))
    }
}
