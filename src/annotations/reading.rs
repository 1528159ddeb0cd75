//! The record of which drawings were read. The disk keeps it; until it is written, the waits that a
//! drawing has ended answer the question.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{MutexGuard, PoisonError};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde::Deserialize;

use super::AnnotationService;
use crate::home::{DrawingStore, DrawingsError, KeptDrawing};
use crate::protocol::{CorrelationId, DrawingId, Owner, SessionName};

/// The waits that each drawing has ended.
pub(super) type EndedWaits = HashMap<DrawingId, Vec<CorrelationId>>;

/// The part of a wait's result that names its drawings.
#[derive(Default, Deserialize)]
struct DeliveredReport {
    pages: Vec<DeliveredPage>,
}

#[derive(Deserialize)]
struct DeliveredPage {
    drawing_id: DrawingId,
}

impl AnnotationService {
    /// Marks drawings as read as soon as the result of one of their waits is read.
    pub(super) fn note_when_read(
        &self,
        owner: Owner,
        drawings: Vec<DrawingId>,
        waits: Vec<CorrelationId>,
    ) {
        let this = self.clone();
        for id in &drawings {
            self.ended().entry(id.clone()).or_default().extend_from_slice(&waits);
        }
        self.0.tasks.spawn(async move {
            let hub = &this.0.hub;
            let reads = waits.iter().map(|id| hub.until_read(id));
            let is_read = reads.collect::<FuturesUnordered<_>>().any(ready).await;
            if is_read {
                this.mark_read(owner, drawings.clone()).await;
            }
            for id in &drawings {
                this.forget_waits(id, &waits);
            }
        });
    }

    /// Continues the work of [`note_when_read`](Self::note_when_read) from an earlier run of the
    /// daemon.
    pub(super) fn follow_earlier_waits(&self) {
        for (owner, id, result) in self.0.hub.drawn_waits() {
            let told: DeliveredReport = serde_json::from_str(result.get()).unwrap_or_default();
            let drawings = told.pages.into_iter().map(|page| page.drawing_id).collect();
            self.note_when_read(owner, drawings, vec![id]);
        }
    }

    fn ended(&self) -> MutexGuard<'_, EndedWaits> {
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget_waits(&self, drawing: &DrawingId, waits: &[CorrelationId]) {
        let mut ended = self.ended();
        let Some(of_drawing) = ended.get_mut(drawing) else { return };
        of_drawing.retain(|id| !waits.contains(id));
        if of_drawing.is_empty() {
            ended.remove(drawing);
        }
    }

    /// A copy of the waits that drawings have ended. Take it before reading the disk: a wait leaves
    /// the list only after the disk has its mark.
    pub(super) fn ended_waits(&self) -> EndedWaits {
        self.ended().clone()
    }

    /// Corrects a drawing whose mark the disk does not have yet.
    pub(super) fn note_if_read(&self, kept: &mut KeptDrawing, ended: &EndedWaits) {
        let waits = ended.get(&kept.drawing_id);
        kept.is_unread &= !waits.into_iter().flatten().any(|id| self.0.hub.is_read(id));
    }

    async fn mark_read(&self, owner: Owner, ids: Vec<DrawingId>) {
        let mark = move |drawings: &DrawingStore| {
            ids.iter().try_for_each(|id| match drawings.mark_read(&owner, id) {
                // The drawing was deleted meanwhile, so nobody needs its mark.
                Err(DrawingsError::NotFound { .. }) => Ok(()),
                marked => marked,
            })
        };
        if let Err(error) = self.on_disk(mark).await {
            tracing::warn!(%error, "cannot mark a drawing as read; a later wait returns it again");
        }
    }

    pub(super) async fn unread(
        &self,
        owner: &Owner,
        session: Option<SessionName>,
    ) -> Result<Vec<DrawingId>, DrawingsError> {
        let mut kept = self.list(owner).await?.drawings;
        kept.retain(|kept| kept.session == session && kept.is_unread);
        Ok(kept.into_iter().map(|kept| kept.drawing_id).collect())
    }
}
