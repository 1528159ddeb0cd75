//! `--connect`: the browser on another machine, by `tabwire reach` there, or over NATS.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::bail;
use clap::Args;

#[cfg(feature = "fleet")]
use super::{ExitFailure, NO_TLS};
use crate::bridge::{DaemonTarget, FarTarget, FarWay, TargetDaemon};
use crate::config::DaemonLocation;
#[cfg(feature = "fleet")]
use crate::fleet::{
    AgentKey, FleetAgent, FleetConnectError, FleetNameError, NatsAddress, NatsAddressError, PlaceId,
};
use crate::install::{CONNECT_FLAG, CREDS_FLAG};
use crate::reach::{FarAddress, FarAddressError, far_socket};

/// How the address of a place begins that is reached over NATS.
const NATS_SCHEME: &str = "nats://";

/// The flags of every command that can use a browser on another machine. No variable of the environment does
/// the same: without the flag no call leaves this computer.
#[derive(Args, Clone, Debug)]
pub(super) struct ConnectFlag {
    /// Use the browser on another machine: the name of `tabwire reach` there, unix:/PATH of its socket, or
    /// nats://HOST:PORT/PLACE
    #[arg(long, value_name = "PLACE")]
    connect: Option<ConnectAddress>,
    /// The file with the agent's key for nats:// (from `tabwire-fleet places grant`)
    #[arg(long, value_name = "FILE", requires = "connect")]
    creds: Option<PathBuf>,
}

/// Where an agent finds the browser's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConnectAddress {
    /// By `tabwire reach`.
    Reach(FarAddress),
    /// Over NATS.
    #[cfg(feature = "fleet")]
    Fleet(FleetAddress),
}

/// A place, and a NATS server by which it is reached.
#[cfg(feature = "fleet")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FleetAddress {
    server: NatsAddress,
    place: PlaceId,
}

/// A text that is no address of a browser's machine. Not with the text: it may have a password in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ConnectAddressError {
    #[error(transparent)]
    Reach(#[from] FarAddressError),
    #[cfg(feature = "fleet")]
    #[error(transparent)]
    Server(#[from] NatsAddressError),
    #[cfg(feature = "fleet")]
    #[error(transparent)]
    Place(#[from] FleetNameError),
    #[cfg(feature = "fleet")]
    #[error("name the place behind the server: nats://HOST:PORT/PLACE")]
    NoPlace,
    #[cfg(not(feature = "fleet"))]
    #[error("this program connects to no server: use `tabwire-fleet` for nats://")]
    NoFleet,
}

impl FromStr for ConnectAddress {
    type Err = ConnectAddressError;

    #[cfg(feature = "fleet")]
    fn from_str(text: &str) -> Result<Self, ConnectAddressError> {
        let Some(rest) = text.strip_prefix(NATS_SCHEME) else {
            return Ok(Self::Reach(text.parse()?));
        };
        if rest.contains('@') {
            return Err(NatsAddressError::Password.into());
        }
        let (server, place) = rest.split_once('/').ok_or(ConnectAddressError::NoPlace)?;
        Ok(Self::Fleet(FleetAddress { server: server.parse()?, place: place.parse()? }))
    }

    #[cfg(not(feature = "fleet"))]
    fn from_str(text: &str) -> Result<Self, ConnectAddressError> {
        if text.starts_with(NATS_SCHEME) {
            return Err(ConnectAddressError::NoFleet);
        }
        Ok(Self::Reach(text.parse()?))
    }
}

impl fmt::Display for ConnectAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reach(address) => address.fmt(f),
            #[cfg(feature = "fleet")]
            Self::Fleet(FleetAddress { server, place }) => write!(f, "{server}/{place}"),
        }
    }
}

/// The browser's machine that the flags name.
#[derive(Clone, Debug)]
pub(super) struct FarChoice {
    pub(super) address: ConnectAddress,
    creds: Option<PathBuf>,
    /// The way over NATS.
    #[cfg(feature = "fleet")]
    pub(super) agent: Option<FleetAgent>,
}

impl ConnectFlag {
    /// Whether another machine is meant.
    pub(super) const fn is_given(&self) -> bool {
        self.connect.is_some()
    }

    /// The machine, once the file with the key was read. `None`: this one.
    pub(super) fn chosen(self) -> anyhow::Result<Option<FarChoice>> {
        let Some(address) = self.connect else { return Ok(None) };
        #[cfg(feature = "fleet")]
        if let ConnectAddress::Fleet(fleet) = &address {
            let Some(creds) = self.creds else {
                bail!(
                    "nats:// needs the file with the agent's key: name it with {CREDS_FLAG} FILE"
                );
            };
            let creds = std::path::absolute(creds)?;
            let mut key = AgentKey::read(&creds)?;
            // The named server first; the key's others stand in for it.
            key.servers.addresses.retain(|known| *known != fleet.server);
            key.servers.addresses.insert(0, fleet.server.clone());
            let agent = Some(FleetAgent::new(key, fleet.place.clone()));
            return Ok(Some(FarChoice { address, creds: Some(creds), agent }));
        }
        if self.creds.is_some() {
            bail!("{CREDS_FLAG} goes with an address nats://HOST:PORT/PLACE");
        }
        Ok(Some(FarChoice {
            address,
            creds: None,
            #[cfg(feature = "fleet")]
            agent: None,
        }))
    }
}

/// Does work by this way, and ends it with the reason and an exit code of its own once the servers there do not prove
/// by TLS whose they are: a person has to mend that, and no other try does.
pub(super) async fn unless_without_tls<T>(
    far: Option<FarChoice>,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    #[cfg(feature = "fleet")]
    if let Some(agent) = far.and_then(|far| far.agent) {
        let refused = async {
            let refused = agent.connect().await.map_err(|why| exit_without_tls(&why));
            match refused {
                Err(Some(failure)) => failure,
                // Calls tell of any other error themselves.
                Ok(()) | Err(None) => std::future::pending().await,
            }
        };
        return tokio::select! {
            // First: else the call connects, too, and its own error comes before this one.
            biased;
            failure = refused => Err(failure.into()),
            done = work => done,
        };
    }
    #[cfg(not(feature = "fleet"))]
    drop(far);
    work.await
}

/// The failure of a command whose servers do not prove by TLS whose they are. `None`: it is another error.
#[cfg(feature = "fleet")]
pub(super) fn exit_without_tls(why: &FleetConnectError) -> Option<ExitFailure> {
    why.is_of_tls().then(|| ExitFailure { code: NO_TLS, message: why.to_string() })
}

impl FarChoice {
    /// The flags that name it, for a client's configuration.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![CONNECT_FLAG.to_owned(), self.address.to_string()];
        if let Some(creds) = &self.creds {
            arguments.extend([CREDS_FLAG.to_owned(), creds.display().to_string()]);
        }
        arguments
    }

    /// The way there.
    pub(super) fn place(&self, location: &DaemonLocation) -> anyhow::Result<FarTarget> {
        let way = match &self.address {
            ConnectAddress::Reach(FarAddress::Place(place)) => {
                FarWay::Socket { path: far_socket(&location.home()?, place), is_own: true }
            }
            ConnectAddress::Reach(FarAddress::Socket(path)) => {
                FarWay::Socket { path: path.clone(), is_own: false }
            }
            #[cfg(feature = "fleet")]
            ConnectAddress::Fleet(_) => {
                let Some(agent) = self.agent.clone() else { bail!("the agent's key was not read") };
                let connect = move || agent.connection_in_memory();
                FarWay::Carrier(crate::bridge::CallCarrier::new(connect))
            }
        };
        Ok(FarTarget { place: self.address.to_string(), way })
    }

    /// The daemon there, for a client of this name. Nothing is started.
    pub(super) fn target(
        &self,
        location: &DaemonLocation,
        client: String,
    ) -> anyhow::Result<DaemonTarget> {
        Ok(DaemonTarget::new(TargetDaemon::Far(self.place(location)?), client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "fleet")]
    #[test]
    fn an_address_over_nats_names_a_server_and_a_place_and_has_no_password() {
        let parsed = |text: &str| text.parse::<ConnectAddress>();
        assert_eq!(
            parsed("nats://a.lan:4222/qa-17").unwrap().to_string(),
            "nats://a.lan:4222/qa-17"
        );
        assert_eq!(parsed("nats://a.lan/qa-17").unwrap().to_string(), "nats://a.lan:4222/qa-17");
        assert_eq!(parsed("nats://a.lan:4222"), Err(ConnectAddressError::NoPlace));
        let secret = parsed("nats://ci:secret@a.lan:4222/qa-17").unwrap_err();
        assert_eq!(secret, ConnectAddressError::Server(NatsAddressError::Password));
        assert!(!secret.to_string().contains("secret"), "{secret}");
        for wrong in [
            "nats://a.lan:4222/",
            "nats://a.lan/a/b",
            "nats://a.lan/home",
            "nats:///qa",
            "nats://a.lan:x/qa",
        ] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[cfg(not(feature = "fleet"))]
    #[test]
    fn the_usual_program_takes_no_address_of_a_server_and_names_the_one_that_does() {
        let refused = "nats://a.lan:4222/qa-17".parse::<ConnectAddress>().unwrap_err();
        assert!(refused.to_string().contains("`tabwire-fleet`"), "{refused}");
    }
}
