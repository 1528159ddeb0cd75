//! The drawing tools that are open in browsers. They close with the last wait for their session. The
//! extension lists its open tools with each `ready`, so a restart of the daemon leaves none behind.

use std::collections::HashMap;

use super::{Engine, Transaction};
use crate::lifecycle::{
    AwaitedDrawings, Command, CommandPhase, CommandSpec, CommandWork, LifecycleEvent,
};
use crate::protocol::actions::DrawModeAction;
use crate::protocol::{
    Action, BrowserId, ClientId, CorrelationId, Owner, SessionName, ToExtension,
};

/// The waits for which browsers have drawing tools open, or may have.
#[derive(Debug, Default)]
pub(super) struct DrawingTools(HashMap<BrowserId, HashMap<CorrelationId, DrawingKey>>);

impl DrawingTools {
    fn note(&mut self, browser: &BrowserId, wait: CorrelationId, awaited: DrawingKey) {
        self.0.entry(browser.clone()).or_default().insert(wait, awaited);
    }

    /// The extension has closed the tools for this wait.
    fn forget_wait(&mut self, wait: &CorrelationId) {
        for open in self.0.values_mut() {
            open.remove(wait);
        }
        self.0.retain(|_, open| !open.is_empty());
    }

    /// Forgets a browser.
    pub(super) fn forget_browser(&mut self, browser: &BrowserId) {
        self.0.remove(browser);
    }

    /// Removes all tools for these drawings; returns their browsers and waits.
    fn take(&mut self, awaited: &DrawingKey) -> Vec<(BrowserId, Vec<CorrelationId>)> {
        let over = self.0.iter_mut().map(|(browser, open)| {
            let waits = open.extract_if(|_, of| of == awaited).map(|(wait, _)| wait);
            (browser.clone(), waits.collect())
        });
        let over = over.collect();
        self.0.retain(|_, open| !open.is_empty());
        over
    }
}

/// The drawings that a wait is for. One drawing of a session ends every wait for that session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DrawingKey {
    owner: Owner,
    session: Option<SessionName>,
}

impl DrawingKey {
    fn by(spec: &CommandSpec) -> Option<Self> {
        let CommandWork::Annotations { annotations: AwaitedDrawings { session } } = &spec.work
        else {
            return None;
        };
        Some(Self { owner: spec.owner.clone(), session: session.clone() })
    }
}

impl Transaction<'_> {
    /// Notes a command that opens drawing tools in a browser.
    pub(super) fn note_draw_mode(&mut self, browser: &BrowserId, command: &Command) {
        let Some(wait) = opens_for(command.spec()) else { return };
        if let Some(awaited) = self.awaited_by(wait) {
            self.drawing_tools.note(browser, wait.clone(), awaited);
        }
    }

    /// A drawing, or its cancellation by the person, names this wait: the extension has closed the
    /// tools.
    pub(super) fn forget_tools(&mut self, wait: &CorrelationId) {
        self.drawing_tools.forget_wait(wait);
    }

    /// A wait has ended: closes its tools, and keeps more from opening.
    pub(super) fn follow_wait(&mut self, spec: &CommandSpec) {
        let Some(awaited) = DrawingKey::by(spec) else { return };
        self.cancel_stale_draw_modes(&spec.client);
        if !self.is_awaited(&awaited) {
            self.close_tools(&awaited);
        }
    }

    /// Cancels commands that would open drawing tools for a wait that has ended.
    pub(super) fn cancel_stale_draw_modes(&mut self, client: &ClientId) {
        let active = self.clients.active(client);
        let vain: Vec<_> =
            active.iter().filter(|id| self.is_stale_draw_mode(id)).cloned().collect();
        for id in vain {
            self.apply(&id, LifecycleEvent::Cancel);
        }
    }

    /// Compares the tools that a browser has open with the waits, and closes those without a wait.
    pub(super) fn reconcile_drawing_tools(
        &mut self,
        browser: &BrowserId,
        draws_for: Vec<CorrelationId>,
    ) {
        let mut over = Vec::new();
        for wait in draws_for {
            let awaited = self.awaited_by(&wait).filter(|awaited| self.is_awaited(awaited));
            match awaited {
                Some(awaited) => self.drawing_tools.note(browser, wait, awaited),
                None => over.push(wait),
            }
        }
        self.send_waits_over(browser, over);
    }

    fn close_tools(&mut self, awaited: &DrawingKey) {
        for (browser, waits) in self.drawing_tools.take(awaited) {
            self.send_waits_over(&browser, waits);
        }
    }

    fn send_waits_over(&mut self, browser: &BrowserId, mut waits: Vec<CorrelationId>) {
        if !waits.is_empty() {
            // They come from a hash map, and the same inputs must have the same effects.
            waits.sort_unstable();
            self.send(browser, ToExtension::AnnotationsOver { correlation_ids: waits });
        }
    }
}

impl Engine {
    fn is_stale_draw_mode(&self, id: &CorrelationId) -> bool {
        let Some(command) = self.commands.get(id) else { return false };
        let wait = opens_for(command.spec());
        wait.and_then(|wait| self.commands.phase_of(wait)).is_some_and(CommandPhase::is_terminal)
    }

    fn awaited_by(&self, wait: &CorrelationId) -> Option<DrawingKey> {
        DrawingKey::by(self.commands.get(wait)?.spec())
    }

    fn is_awaited(&self, awaited: &DrawingKey) -> bool {
        let mut active = self.clients.active_of(&awaited.owner);
        active.any(|id| self.waits_for(id, awaited.session.as_ref(), None))
    }
}

/// The wait for which a command opens drawing tools.
const fn opens_for(spec: &CommandSpec) -> Option<&CorrelationId> {
    match &spec.work {
        CommandWork::Browser(Action::DrawMode(DrawModeAction { correlation_id, .. })) => {
            Some(correlation_id)
        }
        CommandWork::Browser(_)
        | CommandWork::Unnamed { .. }
        | CommandWork::Annotations { .. }
        | CommandWork::Ask { .. }
        | CommandWork::Job { .. } => None,
    }
}
