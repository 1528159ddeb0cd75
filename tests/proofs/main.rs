//! What the pure core promises, searched for rather than tried: a model of everything
//! around it, and every order of events or very many of them. `docs/reliability.md` says
//! which promise is held by what.

mod any_order;
mod claim_and_go;
