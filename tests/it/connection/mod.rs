//! Who may connect, over which carrier, and what becomes of commands when links change or break.

mod extension_changed;
mod guard;
mod hand_over;
mod http_frames;
mod limits;
mod links;
mod reload;
pub(crate) mod socket;
pub(crate) mod websocket;
