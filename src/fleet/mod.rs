//! Many machines, each a place with a name, reached over NATS.

mod agent;
mod agent_call;
mod call;
mod connect;
mod flood;
mod home;
mod home_call;
mod home_owner;
mod keys;
mod message;
mod nats_conf;
mod open_calls;
mod operator;
mod subjects;
mod subscription;
mod users_file;

pub use agent::FleetAgent;
pub use connect::FleetConnectError;
pub use home::{HomePassage, OwnerLookup, PlaceHomeState, run_home, try_home};
pub use keys::{
    AgentKey, AgentName, FleetKeyError, FleetNameError, KEY_BYTES_MAX, NatsAddress,
    NatsAddressError, NkeySeed, PlaceId, PlaceKey, TenantName, TenantServers,
};
pub use operator::{OperatorFolder, OperatorFolderError, ServerCertificate, TenantSettings};
pub use subjects::{
    HOME_WORD, REPLY_SECONDS, SubjectPermissions, agent_permissions, home_permissions,
};
pub use users_file::{FleetUser, FleetUsers, FleetUsersError, USERS_MAX};
