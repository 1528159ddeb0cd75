//! A command's way from the call that submits it to the answer with its end.

mod annotations;
mod asks;
mod browser_labels;
pub(crate) mod cancel;
mod jobs;
mod one_lifecycle;
mod push;
mod retry;
mod streams;
