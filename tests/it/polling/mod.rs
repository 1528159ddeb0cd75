//! Extensions that only poll, over real sockets.

mod hints;
pub(crate) mod pending_queries;
pub(crate) mod sync;
