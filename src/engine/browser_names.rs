//! The names that a person gives to the profiles of their browsers, and clients that are pinned to one.

use std::collections::HashMap;

use super::browsers::BrowserState;
use super::refusal::RefusalReason;
use super::{Caller, Engine, Transaction, targets};
use crate::lifecycle::{TargetSelector, limits};
use crate::protocol::{BrowserId, BrowserName, ClientId, ToExtension};

/// The names of browsers, also of those that are not here.
#[derive(Debug, Default)]
pub(super) struct BrowserNames(HashMap<BrowserId, BrowserName>);

impl BrowserNames {
    /// The name of a browser, if the person has given it one.
    pub(super) fn of(&self, browser: &BrowserId) -> Option<&BrowserName> {
        self.0.get(browser)
    }

    /// All names.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(BrowserName::as_str)
    }

    /// Whether another browser has a name that people would take for this one.
    fn is_of_another(&self, name: &BrowserName, browser: &BrowserId) -> bool {
        self.0.iter().any(|(id, known)| id != browser && known.is_like(name.as_str()))
    }

    fn browser_of(&self, name: &str) -> Option<&BrowserId> {
        self.0.iter().find(|(_, known)| known.as_str() == name).map(|(id, _)| id)
    }
}

/// Why a call of a client that is pinned to a browser is refused.
#[derive(Clone, Debug)]
pub enum PinRefusal {
    /// The browser of this name is not here, and the client uses no other.
    Away {
        /// The name.
        name: String,
    },
    /// No browser has this name.
    Unknown {
        /// The name.
        name: String,
    },
    /// The call names another browser.
    Other {
        /// The name of the browser that the client is pinned to.
        name: String,
        /// The browser that the call names.
        wanted: String,
    },
}

impl PinRefusal {
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::Away { .. } | Self::Unknown { .. } => "browser_away",
            Self::Other { .. } => "browser_pinned",
        }
    }

    pub(super) fn message(&self) -> String {
        let (name, but) = match self {
            Self::Away { name } => (name, ", which is not connected".to_owned()),
            Self::Unknown { name } => (name, ", and no browser is called so".to_owned()),
            Self::Other { name, wanted } => (name, format!(", not `{wanted}`")),
        };
        format!("This program uses the browser `{name}` alone{but}")
    }

    pub(super) const fn hint(&self) -> &'static str {
        match self {
            Self::Away { .. } => {
                "Ask the person to open that browser profile; then call again. No other browser is used \
                 instead: `--browser` stands in this program's settings."
            }
            Self::Unknown { .. } => {
                "Ask the person to name the browser so in its Tabwire popup, or to correct `--browser` in \
                 this program's settings; `tabwire status` lists the names."
            }
            Self::Other { .. } => {
                "Leave `browser` out. Only the person can change it: `--browser` stands in this program's \
                 settings."
            }
        }
    }
}

impl Engine {
    /// The browser whose streams a client reads: that which it asks for, `None` for all, or only that
    /// which it is pinned to. If no browser is called so, the name of none.
    #[must_use]
    pub fn browser_within_pin(
        &self,
        client: &ClientId,
        asked: Option<BrowserId>,
    ) -> Option<BrowserId> {
        let Some(name) = client.pin() else { return asked };
        let pinned = self.browser_names.browser_of(name);
        let is_another = asked.as_ref().is_some_and(|asked| Some(asked) != pinned);
        let none = || BrowserId::from("");
        Some(pinned.filter(|_| !is_another).cloned().unwrap_or_else(none))
    }

    /// Whether a client may use a browser: each one, or only that which it is pinned to.
    pub(super) fn may_use_browser(&self, client: &ClientId, browser: &BrowserId) -> bool {
        client.pin().is_none_or(|name| self.browser_names.browser_of(name) == Some(browser))
    }
}

impl Transaction<'_> {
    /// The browser that a client is pinned to, if it is. A command of a browser that is away for a
    /// moment waits for it.
    ///
    /// # Errors
    ///
    /// [`PinRefusal::Away`], [`PinRefusal::Unknown`].
    fn pinned_browser(&self, client: &ClientId) -> Result<Option<BrowserId>, RefusalReason> {
        let Some(name) = client.pin() else { return Ok(None) };
        let id = self.browser_names.browser_of(name);
        let found = id.and_then(|id| self.browsers.get_key_value(id));
        let is_here = |browser: &BrowserState| {
            let away = self.now().since(browser.last_seen());
            browser.is_connected() || away < limits::PINNED_BROWSER_AWAY
        };
        match found {
            Some((id, browser)) if is_here(browser) => Ok(Some(id.clone())),
            Some(_) | None => {
                let name = name.to_owned();
                let away = if id.is_some() {
                    PinRefusal::Away { name }
                } else {
                    PinRefusal::Unknown { name }
                };
                Err(RefusalReason::Pinned(away))
            }
        }
    }

    /// The same selector, in the browser that the caller is pinned to.
    ///
    /// # Errors
    ///
    /// That browser is away, or the call names another one.
    pub(super) fn within_pin(
        &self,
        caller: &Caller,
        selector: &TargetSelector,
    ) -> Result<TargetSelector, RefusalReason> {
        let Some(pinned) = self.pinned_browser(&caller.client)? else {
            return Ok(selector.clone());
        };
        let name = caller.client.pin().unwrap_or_default();
        if let Some(wanted) = &selector.browser
            && wanted != name
            && wanted != pinned.as_str()
        {
            let (name, wanted) = (name.to_owned(), wanted.clone());
            return Err(RefusalReason::Pinned(PinRefusal::Other { name, wanted }));
        }
        Ok(TargetSelector { browser: Some(pinned.as_str().to_owned()), tab: selector.tab })
    }

    /// Sets the names of all browsers, and tells them.
    pub fn set_browser_names(&mut self, names: HashMap<BrowserId, BrowserName>) {
        self.browser_names = BrowserNames(names);
        let mut known: Vec<_> = self.browsers.keys().cloned().collect();
        // Those with a name first: the numbers of the others follow what is taken then.
        known.sort_unstable_by_key(|id| (self.browser_names.of(id).is_none(), id.clone()));
        for id in &known {
            let Some(browser) = self.browsers.get(id).filter(|known| !known.label().is_empty())
            else {
                continue;
            };
            let own = browser.own_label().to_owned();
            let label = targets::label_for(&self.browsers, &self.browser_names, id, &own);
            if let Some(browser) = self.browsers.get_mut(id) {
                browser.set_label(label, own);
            }
        }
        self.tell_browser_names();
    }

    /// Tells each browser whose person can name it what it is called, and whether it is the only one.
    pub(super) fn tell_browser_names(&mut self) {
        let mut here: Vec<_> = self.browsers.keys().cloned().collect();
        here.sort_unstable();
        for browser in here {
            self.tell_browser_name(&browser, None);
        }
    }

    /// Tells a browser that is ready the same. The only other one is told that it is not alone any more; where
    /// there are more, they know.
    pub(super) fn tell_browser_name_to_newcomer(&mut self, newcomer: &BrowserId) {
        let mut others =
            self.browsers.iter().filter(|(id, other)| *id != newcomer && other.is_ready());
        let first = others.next().map(|(id, _)| id.clone());
        let is_second = others.next().is_none();
        self.tell_browser_name(newcomer, None);
        if let Some(first) = first.filter(|_| is_second) {
            self.tell_browser_name(&first, None);
        }
    }

    /// The same for one, with the reason why the person's last name for it was rejected.
    pub fn tell_browser_name(&mut self, browser: &BrowserId, problem: Option<String>) {
        let Some(known) = self.browsers.get(browser).filter(|known| known.takes_name()) else {
            return;
        };
        let name = self.browser_names.of(browser).cloned();
        let label = known.label().to_owned();
        let others = self.browsers.iter().any(|(id, other)| id != browser && other.is_ready());
        // Browsers call many profiles the same. To keep a name that is taken would fail, or move it from
        // a browser that is away, with the agents that are pinned to it.
        let is_free = |offered: &&BrowserName| !self.browser_names.is_of_another(offered, browser);
        let offered = known.offered_name().filter(|_| name.is_none()).filter(is_free).cloned();
        self.send(browser, ToExtension::BrowserName { name, label, others, offered, problem });
    }

    /// Notes how the browser itself calls its profile, and offers that to the person.
    pub fn offer_browser_name(&mut self, browser: &BrowserId, name: Option<BrowserName>) {
        let Some(known) = self.browsers.get_mut(browser) else { return };
        if known.offered_name() != name.as_ref() {
            known.offer_name(name);
            self.tell_browser_name(browser, None);
        }
    }
}
