//! The homes of joined tenants: a daemon of `tabwire-fleet serve` takes the calls of each, also of one that is joined
//! while it runs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::cli::mcp::target;
use crate::config::DaemonLocation;
use crate::fleet::{HomePassage, PlaceHomeState, PlaceId, PlaceKey, run_home};
use crate::home::{StateDirectory, StateDirectoryError, TenantCallState};
use crate::hub::ClockSample;
use crate::protocol::Owner;

/// How often is looked for tenants that were joined or left.
const LOOK: Duration = Duration::from_secs(1);

/// The pause after an end that a person has to mend: the operator may have the servers read the users anew.
const AGAIN: Duration = Duration::from_secs(30);

/// Takes the calls of all joined tenants until the daemon ends, or the handle is dropped.
pub(in crate::cli) fn start(
    location: &DaemonLocation,
    dir: PathBuf,
    shutdown: CancellationToken,
) -> AbortOnDropHandle<()> {
    let location = location.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        // A call that comes while the daemon ends must not start the next one.
        let homes = shutdown.run_until_cancelled(run(&location, dir));
        if let Some(Err(error)) = homes.await {
            tracing::error!(%error, "no calls of tenants are taken");
        }
    }))
}

async fn run(location: &DaemonLocation, dir: PathBuf) -> Result<(), StateDirectoryError> {
    let home = Arc::new(StateDirectory::open(&dir)?);
    let mut looks = tokio::time::interval(LOOK);
    let _lock = loop {
        looks.tick().await;
        if let Some(lock) = home.tenants().try_lock_homes()? {
            break lock;
        }
    };
    let mut homes: HashMap<String, RunningHome> = HashMap::new();
    loop {
        let names = home.tenants().names()?;
        homes.retain(|name, _| names.contains(name));
        for name in names {
            let key = PlaceKey::read(&home.tenants().path(&name)).map_err(|why| why.to_string());
            // One of the same name may have been left and joined again since the last look.
            if homes.get(&name).is_some_and(|known| known.key == key) {
                continue;
            }
            let (location, home) = (location.clone(), home.clone());
            let tenant = TenantHome { location, home, name: name.clone(), key: key.clone() };
            let task = AbortOnDropHandle::new(tokio::spawn(tenant.run()));
            homes.insert(name, RunningHome { key, _task: task });
        }
        looks.tick().await;
    }
}

/// A home that runs, and the key with which it does, or why that cannot be read.
struct RunningHome {
    key: Result<PlaceKey, String>,
    _task: AbortOnDropHandle<()>,
}

/// The home of one joined tenant.
#[derive(Clone)]
struct TenantHome {
    location: DaemonLocation,
    home: Arc<StateDirectory>,
    name: String,
    key: Result<PlaceKey, String>,
}

impl TenantHome {
    async fn run(self) {
        loop {
            let says = self.serve().await;
            let remedy = Some(self.remedy_of_end());
            self.tell(&TenantCallState { says, remedy });
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Takes calls until that is of no use any more; returns why, in words.
    async fn serve(&self) -> String {
        let key = match &self.key {
            Ok(key) => key,
            Err(why) => return why.clone(),
        };
        let passage = match self.passage(key) {
            Ok(passage) => passage,
            Err(error) => return error.to_string(),
        };
        let (state, mut changes) = watch::channel(PlaceHomeState::Connecting(None));
        let telling = async {
            loop {
                let state = changes.borrow_and_update().clone();
                self.tell(&self.told(&state, key));
                if changes.changed().await.is_err() {
                    return std::future::pending::<String>().await;
                }
            }
        };
        tokio::select! {
            why = run_home(key, passage, state) => why.to_string(),
            never = telling => never,
        }
    }

    fn passage(&self, key: &PlaceKey) -> anyhow::Result<HomePassage> {
        let target = target(&self.location, format!("place-{}", self.name))?;
        let TenantHome { home, name, .. } = self.clone();
        let (dir, place) = (home.dir().to_owned(), key.place.clone());
        let owner_of = move |agent: &str| owner_of(&home, &name, &place, agent);
        Ok(HomePassage { target, dir, owner_of: Box::new(owner_of) })
    }

    /// The next step once a home has ended. It begins anew by itself, in case that the operator has mended it.
    fn remedy_of_end(&self) -> String {
        format!(
            "ask the operator of {0}; with a new key, run `tabwire-fleet leave --tenant {0}` and `tabwire-fleet join`",
            self.name
        )
    }

    /// How it is with a home that runs.
    fn told(&self, state: &PlaceHomeState, key: &PlaceKey) -> TenantCallState {
        let place = &key.place;
        let (says, remedy) = match state {
            PlaceHomeState::Connecting(None) => (format!("connects as place {place}"), None),
            PlaceHomeState::Connecting(Some(why)) => (
                format!("takes no calls as place {place}: {why}"),
                Some(format!(
                    "look whether this machine has its network; if it has, tell the operator of {} that its servers do \
                     not answer. It connects again by itself",
                    self.name
                )),
            ),
            PlaceHomeState::Connected => (format!("takes calls as place {place}"), None),
            PlaceHomeState::TwoHomes { answers } => {
                let answers = if *answers { "takes its calls" } else { "takes no calls" };
                let says = format!(
                    "another machine has the key of place {place}, too; this one {answers}"
                );
                let remedy = format!(
                    "run `tabwire-fleet leave --tenant {0}` on the machine that should not have it; if you know of no \
                     other, somebody has taken the key: tell the operator of {0}, who removes the place and adds it anew",
                    self.name
                );
                (says, Some(remedy))
            }
        };
        TenantCallState { says, remedy }
    }

    /// Tells `doctor` and the popup how it is.
    fn tell(&self, state: &TenantCallState) {
        let tenants = self.home.tenants();
        // Of a tenant that was left in this second nothing is written any more.
        if tenants.has(&self.name)
            && let Err(error) = tenants.announce(&self.name, state)
        {
            tracing::warn!(%error, "`tabwire-fleet doctor` does not show how the calls of a tenant go");
        }
    }
}

/// The owner for an agent of a tenant: one that is not listed yet begins without any right.
fn owner_of(
    home: &StateDirectory,
    tenant: &str,
    place: &PlaceId,
    agent: &str,
) -> Result<Owner, String> {
    let name = Owner::name_of_agent(agent, tenant);
    let is_joined = || home.tenants().has(tenant);
    let (owners, now) = (home.owners(), ClockSample::now().system);
    let owner = owners.owner_of_agent(&name, place.as_str(), now, is_joined);
    match owner {
        Ok(Some(owner)) => Ok(owner),
        Ok(None) => Err("the person of this place has left the team".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_an_owner_as_long_as_its_team_is_joined_and_a_new_one_after_that() {
        let dir = tempfile::tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        let qa = "qa".parse().unwrap();
        let none = owner_of(&home, "acme", &qa, "ci").unwrap_err();
        assert!(none.contains("left the team"), "{none}");
        home.tenants().make_folder().unwrap();
        std::fs::write(home.tenants().path("acme"), "x").unwrap();
        let first = owner_of(&home, "acme", &qa, "ci").unwrap();
        assert_eq!(first.agent_of_tenant(), Some(("ci", "acme")));
        assert_eq!(owner_of(&home, "acme", &qa, "ci").unwrap(), first);
        let list = home.owners().read().unwrap().unwrap_or_default();
        assert_eq!(list.place_of(&first), Some("qa"), "it is told the name by which it calls");
        home.owners().set_suspended("ci@acme", true).unwrap();
        assert!(owner_of(&home, "acme", &qa, "ci").unwrap_err().contains("tabwire owner allow"));
        home.owners().remove("ci@acme").unwrap();
        assert_ne!(owner_of(&home, "acme", &qa, "ci").unwrap(), first);
        for wrong in ["", "Ci", "ci@acme", "a.b"] {
            assert!(owner_of(&home, "acme", &qa, wrong).is_err(), "{wrong}");
        }
    }
}
