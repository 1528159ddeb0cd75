//! The drawings that people made for agents of any owner, as the person sees them.

use serde_json::{Value, json};

use crate::annotations::AnnotationService;
use crate::home::{DrawingList, KeptDrawing};
use crate::protocol::{DrawingId, Owner};
use crate::streams::{redact, without_query};
use crate::tools::PictureFile;

/// The newest ones are told; the command line lists all.
const TOLD: usize = 50;

/// The newest drawings of all owners, newest first, and how many there are. `None`: they cannot be read.
pub(super) async fn told(drawings: &AnnotationService) -> Option<Value> {
    let owners = drawings.list_all().await.ok()?;
    let kept = owners.iter().flat_map(|(owner, list)| rows_of(owner, list));
    let mut rows: Vec<_> = kept.collect();
    rows.sort_by_key(|(kept, _)| std::cmp::Reverse(kept.at));
    let damaged: usize = owners.iter().map(|(_, list)| list.damaged.len()).sum();
    let count = rows.len();
    rows.truncate(TOLD);
    let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
    Some(json!({"drawings": rows, "count": count, "damaged": damaged}))
}

fn rows_of<'a>(
    owner: &'a Owner,
    list: &'a DrawingList,
) -> impl Iterator<Item = (&'a KeptDrawing, Value)> {
    list.drawings.iter().map(move |kept| {
        let page = redact(&without_query(&kept.page_url)).into_owned();
        let row = json!({
            "drawing_id": kept.drawing_id, "owner": owner.name(), "at": kept.at, "page": page,
            "session": kept.session, "annotations": kept.annotations, "unread": kept.is_unread,
        });
        (kept, row)
    })
}

/// The picture of a drawing of any owner.
pub(super) async fn picture(drawings: &AnnotationService, id: &str) -> Option<PictureFile> {
    PictureFile::of(drawings.screenshot(DrawingId::parse(id)?).await?)
}
