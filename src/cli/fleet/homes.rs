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
use crate::fleet::{HomePassage, PlaceHomeState, PlaceKey, run_home};
use crate::home::{StateDirectory, StateDirectoryError};
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
            let why = self.serve().await;
            self.tell(&why);
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Takes calls until that is of no use any more; returns why, in words.
    async fn serve(&self) -> String {
        let key = match &self.key {
            Ok(key) => key,
            Err(why) => return why.clone(),
        };
        let passage = match self.passage() {
            Ok(passage) => passage,
            Err(error) => return error.to_string(),
        };
        let (state, mut changes) = watch::channel(PlaceHomeState::Connecting(None));
        let telling = async {
            loop {
                let words = words_of(&changes.borrow_and_update().clone(), key);
                self.tell(&words);
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

    fn passage(&self) -> anyhow::Result<HomePassage> {
        let target = target(&self.location, format!("place-{}", self.name))?;
        let TenantHome { home, name, .. } = self.clone();
        let dir = home.dir().to_owned();
        let owner_of = move |agent: &str| owner_of(&home, &name, agent);
        Ok(HomePassage { target, dir, owner_of: Box::new(owner_of) })
    }

    /// Tells `doctor` how it is.
    fn tell(&self, words: &str) {
        let tenants = self.home.tenants();
        // Of a tenant that was left in this second nothing is written any more.
        if tenants.has(&self.name)
            && let Err(error) = tenants.announce(&self.name, words)
        {
            tracing::warn!(%error, "`tabwire-fleet doctor` does not show how the calls of a tenant go");
        }
    }
}

/// The owner for an agent of a tenant: one that is not listed yet begins without any right.
fn owner_of(home: &StateDirectory, tenant: &str, agent: &str) -> Result<Owner, String> {
    let name = Owner::name_of_agent(agent, tenant);
    let is_joined = || home.tenants().has(tenant);
    let owner = home.owners().owner_of_agent(&name, ClockSample::now().system, is_joined);
    match owner {
        Ok(Some(owner)) => Ok(owner),
        Ok(None) => Err("the person of this place has left the team".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn words_of(state: &PlaceHomeState, key: &PlaceKey) -> String {
    let place = &key.place;
    match state {
        PlaceHomeState::Connecting(None) => format!("connects as place {place}"),
        PlaceHomeState::Connecting(Some(why)) => format!("connects as place {place}: {why}"),
        PlaceHomeState::Connected => format!("takes calls as place {place}"),
        PlaceHomeState::TwoHomes { answers } => {
            let answers = if *answers { "takes its calls" } else { "takes no calls" };
            format!(
                "another machine has the key of place {place}, too; this one {answers}. Run `tabwire-fleet leave` on the one that should not have it"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_an_owner_as_long_as_its_team_is_joined_and_a_new_one_after_that() {
        let dir = tempfile::tempdir().unwrap();
        let home = StateDirectory::open(&dir.path().join("state")).unwrap();
        let none = owner_of(&home, "acme", "ci").unwrap_err();
        assert!(none.contains("left the team"), "{none}");
        home.tenants().make_folder().unwrap();
        std::fs::write(home.tenants().path("acme"), "x").unwrap();
        let first = owner_of(&home, "acme", "ci").unwrap();
        assert_eq!(first.agent_of_tenant(), Some(("ci", "acme")));
        assert_eq!(owner_of(&home, "acme", "ci").unwrap(), first);
        assert!(home.owners().read().unwrap().unwrap_or_default().is_far(&first));
        home.owners().set_suspended("ci@acme", true).unwrap();
        assert!(owner_of(&home, "acme", "ci").unwrap_err().contains("tabwire owner allow"));
        home.owners().remove("ci@acme").unwrap();
        assert_ne!(owner_of(&home, "acme", "ci").unwrap(), first);
        for wrong in ["", "Ci", "ci@acme", "a.b"] {
            assert!(owner_of(&home, "acme", wrong).is_err(), "{wrong}");
        }
    }
}
