//! The client's `initialize`, which the bridge answers itself, said again to each daemon that
//! it finds: so the daemon knows the client's program and its capabilities.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;

use super::daemon_finder::{DaemonIdentity, FoundDaemon};
use super::request::{CallHeaders, ForwardError, HttpClient, request};
use crate::mcp::{self, LEGACY_VERSIONS, RpcRequest};

/// How long a daemon may take to hear it. Calls wait no longer for it.
const HEAR: Duration = Duration::from_secs(2);

/// The `initialize` of a legacy client.
#[derive(Default)]
pub(super) struct ClientHandshake {
    said: Mutex<Option<InitializeLine>>,
    /// The last repetition, and its daemon.
    repeated: tokio::sync::Mutex<Option<(InitializeLine, DaemonIdentity)>>,
}

/// An `initialize` as it was written, the version that was agreed on, and whether the client shows
/// views of commands.
#[derive(Clone, PartialEq, Eq)]
struct InitializeLine {
    line: Bytes,
    version: &'static str,
    shows_views: bool,
}

impl ClientHandshake {
    /// Notes an `initialize`. A later one replaces it.
    pub(super) fn note(&self, line: Vec<u8>, request: &RpcRequest) {
        *self.said() = Some(InitializeLine {
            line: line.into(),
            version: mcp::negotiate(request),
            shows_views: mcp::declares_views(request),
        });
    }

    /// Whether the client shows views of commands.
    pub(super) fn shows_views(&self) -> bool {
        self.said().as_ref().is_some_and(|said| said.shows_views)
    }

    /// The version that was agreed on; the newest, for a client that never asked.
    pub(super) fn version(&self) -> &'static str {
        self.said().as_ref().map_or(LEGACY_VERSIONS[0], |said| said.version)
    }

    fn said(&self) -> MutexGuard<'_, Option<InitializeLine>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says it to a daemon that has not heard it, before the first call there. A daemon that
    /// does not hear it takes calls all the same.
    pub(super) async fn repeat_to(&self, found: &FoundDaemon, http: &HttpClient) {
        let Some(said) = self.said().clone() else { return };
        // Calls that come together wait here, so that the daemon hears it once and first.
        let mut repeated = self.repeated.lock().await;
        let wanted = (said, found.identity.clone());
        if repeated.as_ref() == Some(&wanted) {
            return;
        }
        let heard = tokio::time::timeout(HEAR, wanted.0.send(found, http)).await;
        if !heard.is_ok_and(|status| status.is_ok_and(|status| status.is_success())) {
            tracing::debug!("the daemon could not be told who calls");
        }
        // Also after a failure: one daemon is not asked again with every call.
        *repeated = Some(wanted);
    }
}

impl InitializeLine {
    async fn send(
        &self,
        found: &FoundDaemon,
        http: &HttpClient,
    ) -> Result<StatusCode, ForwardError> {
        let headers = CallHeaders { version: self.version, ..CallHeaders::default() };
        let response = http.request(request(found, self.line.clone(), &headers)?).await;
        let lost = |detail: String| ForwardError::Lost { detail, was_sent: true };
        Ok(response.map_err(|error| lost(error.to_string()))?.status())
    }
}
