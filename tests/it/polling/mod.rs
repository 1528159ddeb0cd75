//! Extensions that only poll, over real sockets.

mod hints;
pub(crate) mod pending_queries;
mod sync;
