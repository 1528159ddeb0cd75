//! The frames between daemon and extension, the same on every transport.
//!
//! Frames are JSON objects with a `type`. Unknown fields are ignored, and an unknown `type` is not
//! a malformed frame, so that an older peer keeps working. Golden examples stand in `tests/fixtures/wire/`.

mod bodies;
mod from_extension;
mod ready;
#[cfg(test)]
mod tests;
mod to_extension;

pub use from_extension::{
    ActMoment, ExtensionReport, FrameError, FromExtension, HeldDialog, HelloFrame, ReportedError,
};
pub use ready::{BrowserTab, InFlight, InFlightState, ReadyFrame};
pub use to_extension::{
    CancelReason, CommandBody, DrawingRefusal, DrawingRefusalCode, NackReason, ToExtension,
};
