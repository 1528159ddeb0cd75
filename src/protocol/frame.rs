//! The frames between daemon and extension, the same on every carrier.
//!
//! Frames are JSON objects told apart by `type`. Unknown fields are ignored; an
//! unknown `type` is told apart from a malformed frame, so that an older peer
//! keeps working. Golden examples stand in `tests/fixtures/wire/`.

mod from_extension;
mod ready;
#[cfg(test)]
mod tests;
mod to_extension;

pub use from_extension::{ExtensionReport, FrameError, FromExtension, HelloFrame, ReportedError};
pub use ready::{BrowserTab, InFlight, InFlightState, ReadyFrame};
pub use to_extension::{
    CancelReason, CommandBody, DrawingRefusal, DrawingRefusalCode, NackReason, ToExtension,
};
