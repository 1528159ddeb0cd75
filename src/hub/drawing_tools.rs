//! The drawing tools that are open in browsers, and for which waits: they close with the last
//! wait for their session. Which are open the extension says with each `ready`, so no restart
//! leaves any behind.

use std::collections::HashMap;

use super::desk::Desk;
use super::links::Browser;
use crate::lifecycle::{Asked, Command, Event, Facts, Phase, Work};
use crate::protocol::{
    Action, BrowserId, ClientId, CorrelationId, Owner, SessionName, ToExtension,
};

/// The waits that a browser has drawing tools open for, or may have, and what they are for.
pub(super) type OpenTools = HashMap<CorrelationId, Awaited>;

/// What is waited for: any drawing of this session ends every wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Awaited {
    owner: Owner,
    session: Option<SessionName>,
}

impl Awaited {
    fn by(facts: &Facts) -> Option<Self> {
        let Work::Annotations { annotations: Asked { session } } = &facts.work else {
            return None;
        };
        Some(Self { owner: facts.owner.clone(), session: session.clone() })
    }
}

impl Desk<'_> {
    /// Notes that a browser gets a command that opens drawing tools, if it is one.
    pub(super) fn note_opening(&mut self, browser: &BrowserId, command: &Command) {
        let Some(wait) = opens_for(command.facts()) else { return };
        let awaited = self.awaited_by(wait);
        if let (Some(awaited), Some(known)) = (awaited, self.browsers.get_mut(browser)) {
            known.open_tools.insert(wait.clone(), awaited);
        }
    }

    /// A drawing, or the word that there will be none, names this wait: its tools are done.
    pub(super) fn forget_tools(&mut self, wait: &CorrelationId) {
        for known in self.browsers.values_mut() {
            known.open_tools.remove(wait);
        }
    }

    /// What follows from a wait's end, for tools that are open or about to be.
    pub(super) fn follow_wait(&mut self, facts: &Facts) {
        let Some(awaited) = Awaited::by(facts) else { return };
        self.cancel_vain_openings(&facts.client);
        if !self.is_awaited(&awaited) {
            self.close_tools(&awaited);
        }
    }

    /// Cancels what is to open drawing tools for a wait that is over.
    pub(super) fn cancel_vain_openings(&mut self, client: &ClientId) {
        let active = self.clients.get(client).map_or(&[][..], |client| &client.active);
        let vain: Vec<_> = active.iter().filter(|id| self.is_vain_opening(id)).cloned().collect();
        for id in vain {
            self.apply(&id, Event::Cancel);
        }
    }

    /// Settles what a browser says that it has tools open for: those that nobody waits for any
    /// more are to close.
    pub(super) fn settle_tools(&mut self, browser: &BrowserId, draws_for: Vec<CorrelationId>) {
        let mut over = Vec::new();
        for wait in draws_for {
            let awaited = self.awaited_by(&wait).filter(|awaited| self.is_awaited(awaited));
            match (awaited, self.browsers.get_mut(browser)) {
                (Some(awaited), Some(known)) => drop(known.open_tools.insert(wait, awaited)),
                (None, _) | (_, None) => over.push(wait),
            }
        }
        self.say_over(browser, over);
    }

    fn close_tools(&mut self, awaited: &Awaited) {
        let take = |known: &mut Browser| {
            known.open_tools.extract_if(|_, of| of == awaited).map(|(wait, _)| wait).collect()
        };
        let browsers = self.books.browsers.iter_mut();
        let over: Vec<_> = browsers.map(|(id, known)| (id.clone(), take(known))).collect();
        for (browser, waits) in over {
            self.say_over(&browser, waits);
        }
    }

    fn say_over(&mut self, browser: &BrowserId, mut waits: Vec<CorrelationId>) {
        if !waits.is_empty() {
            waits.sort();
            self.send(browser, ToExtension::AnnotationsOver { correlation_ids: waits });
        }
    }

    fn is_vain_opening(&self, id: &CorrelationId) -> bool {
        let Some(tracked) = self.inner.commands.get(id).map(|entry| entry.clone()) else {
            return false;
        };
        let command = tracked.borrow();
        let wait = opens_for(command.facts());
        wait.and_then(|wait| self.phase_of(wait)).is_some_and(Phase::is_terminal)
    }

    fn awaited_by(&self, wait: &CorrelationId) -> Option<Awaited> {
        Awaited::by(self.inner.commands.get(wait)?.borrow().facts())
    }

    fn is_awaited(&self, awaited: &Awaited) -> bool {
        let own = self.clients.values().filter(|client| client.owner == awaited.owner);
        let mut active = own.flat_map(|client| &client.active);
        active.any(|id| self.waits_for(id, awaited.session.as_ref(), None))
    }
}

/// The wait that a command opens drawing tools for.
const fn opens_for(facts: &Facts) -> Option<&CorrelationId> {
    match &facts.work {
        Work::Browser(Action::DrawMode { correlation_id, .. }) => Some(correlation_id),
        Work::Browser(_) | Work::Annotations { .. } | Work::Job { .. } => None,
    }
}
