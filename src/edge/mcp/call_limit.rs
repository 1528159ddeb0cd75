//! By when a call must have come: a call that lay in the buffers of a machine that slept does not run.

use axum::http::{HeaderMap, HeaderName};

use super::super::guard::single;
use super::{EdgeState, HttpError};
use crate::hub::{Caller, Hub, RequestContext};
use crate::protocol::{BEFORE_HEADER, RunClock};

/// By when a call must have come, if its client says so.
pub(super) struct CallLimit {
    hub: Hub,
    by: Option<RunClock>,
}

impl CallLimit {
    /// What the headers of a call say. A call of an owner on another machine has to say it: only there
    /// anything lies between a client and the daemon that can hold a call back.
    pub(super) fn of(
        edge: &EdgeState,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<Self, HttpError> {
        let given = single(headers, &HeaderName::from_static(BEFORE_HEADER));
        let given = given.map_err(|()| HttpError::BadBefore)?;
        let by: Option<RunClock> =
            given.map(str::parse).transpose().map_err(|_| HttpError::BadBefore)?;
        if by.is_none() && edge.guard.owners().is_far(&caller.owner) {
            return Err(HttpError::NoBefore);
        }
        let limit = Self { hub: edge.tools.hub().clone(), by };
        limit.check()?;
        Ok(limit)
    }

    /// Whether it is still in time.
    pub(super) fn check(&self) -> Result<(), HttpError> {
        let is_over = self.by.as_ref().is_some_and(|by| by.is_over_at(&self.hub.run_clock()));
        if is_over { Err(HttpError::TooLate) } else { Ok(()) }
    }

    /// The same for the moment at which a command of the call is recorded.
    pub(super) fn context(&self) -> RequestContext {
        let record_by = self.by.as_ref().map(|by| by.elapsed);
        RequestContext { record_by, ..RequestContext::default() }
    }
}
