//! Many machines, each a place with a name, reached over NATS.

mod subjects;

pub use subjects::{
    HOME_WORD, REPLY_SECONDS, SubjectPermissions, agent_permissions, home_permissions,
};
