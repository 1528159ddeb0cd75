//! Whose tokens count. When an owner was removed, all that was its own in memory and in the journal ends:
//! commands, words of the person, leases, tabs of its own, requests to record.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Engine, Transaction};
use crate::lifecycle::LifecycleEvent;
use crate::protocol::{ClientId, CorrelationId, FarOwner, Owner, OwnerEntry, OwnerList};

/// The hint of a result whose owner was removed.
const OWNER_REMOVED: &str = "Result dropped: its owner was removed (never retrieved)";

impl Engine {
    /// Whether an owner may call. Before a list came, every owner may.
    #[must_use]
    pub fn is_listed(&self, owner: &Owner) -> bool {
        self.owners.as_ref().is_none_or(|list| list.has(owner))
    }

    /// Whether the programs of an owner are on another machine.
    #[must_use]
    pub fn is_far(&self, owner: &Owner) -> bool {
        self.owners.as_ref().is_some_and(|list| list.is_far(owner))
    }

    /// The name by which the programs of an owner on another machine know the way here.
    #[must_use]
    pub fn place_of(&self, owner: &Owner) -> Option<&str> {
        self.owners.as_ref()?.place_of(owner)
    }

    /// The owners on other machines that have calls, were seen in this run, or are disconnected.
    #[must_use]
    pub fn far_owners(&self) -> Vec<FarOwner> {
        let entries = self.owners.iter().flat_map(|list| list.entries());
        let far = entries.filter(|entry| entry.kind.is_elsewhere()).map(|entry| {
            let owner = entry.owner();
            let calls = self.clients.active_of(&owner).count();
            let is_seen = self.clients.of(&owner).next().is_some();
            let OwnerEntry { label, suspended, .. } = entry.clone();
            (is_seen || suspended).then_some(FarOwner { owner, label, calls, suspended })
        });
        far.flatten().collect()
    }

    /// The owners of whom something is known and who may not call, in the order of their names.
    fn removed_owners(&self) -> BTreeSet<Owner> {
        let commands = self.commands.all().map(|command| &command.spec().owner);
        let known = commands
            .chain(self.clients.owners())
            .chain(self.consents.owners())
            .chain(self.leases.owners())
            .chain(self.owner_tabs.owners())
            .chain(self.capture.owners())
            .chain(self.quotas.owners());
        known.filter(|owner| !self.is_listed(owner)).cloned().collect()
    }
}

impl Transaction<'_> {
    /// Sets the owners whose tokens count. Of one that is not among them nothing goes on and nothing
    /// stays.
    pub fn set_owners(&mut self, list: Arc<OwnerList>) {
        if self.owners.as_ref() == Some(&list) {
            return;
        }
        self.owner_tabs.set_far(list.far().collect());
        self.owners = Some(list);
        for owner in self.removed_owners() {
            self.end_owner(&owner);
        }
    }

    fn end_owner(&mut self, owner: &Owner) {
        self.end_commands_of(owner);
        self.end_consents_of(owner);
        self.end_leases_of(owner);
        self.disown_all_of(owner);
        let before = self.captures();
        self.capture.forget_owner(owner);
        self.tell_captures(before);
        self.quotas.forget_owner(owner);
        let clients: Vec<ClientId> = self.clients.of(owner).map(|(id, _)| id.clone()).collect();
        for client in clients {
            self.end_page_states_of_client(&client);
            self.drop_client(&client);
        }
    }

    /// Stops the commands of an owner, and drops them with their results.
    fn end_commands_of(&mut self, owner: &Owner) {
        let own = self.commands.all().filter(|command| command.spec().owner == *owner);
        let mut own: Vec<_> = own.map(|c| (c.phase().holds_lane(), c.spec().id.clone())).collect();
        // Those that wait first: a lane that becomes free must not begin the next one.
        own.sort_unstable();
        let ids: Vec<CorrelationId> = own.into_iter().map(|(_, id)| id).collect();
        for id in &ids {
            self.apply(id, LifecycleEvent::Stop);
        }
        for id in &ids {
            self.forget(id, OWNER_REMOVED);
        }
    }
}
