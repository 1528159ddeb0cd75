//! Many machines, each a place with a name, reached over NATS.

mod keys;
mod subjects;

pub use keys::{
    AgentKey, AgentName, FleetKeyError, FleetNameError, NatsAddress, NatsAddressError, NkeySeed,
    PlaceId, PlaceKey, TenantName, TenantServers,
};
pub use subjects::{
    HOME_WORD, REPLY_SECONDS, SubjectPermissions, agent_permissions, home_permissions,
};
