//! A drawing's own file: all but the picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::folder::picture_path;
use super::{DamagedDrawing, KeptDrawing};
use crate::home::files::moment;
use crate::protocol::{
    CorrelationId, Drawing, DrawingId, DrawingReport, ImageFormat, SessionName, TabId, TabScope,
    Timestamp,
};

/// The content of a drawing's own file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DrawingRecord {
    drawing_id: DrawingId,
    /// When it was kept, in microseconds since the Unix epoch.
    at_micros: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<CorrelationId>,
    page_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tab_id: Option<TabId>,
    /// The narrowest scope in which the owner's clients see it.
    #[serde(default, skip_serializing_if = "TabScope::is_all")]
    scope: TabScope,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<ScreenshotFile>,
    annotations: Vec<Arc<RawValue>>,
    element_details: Arc<RawValue>,
}

/// The screenshot's file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ScreenshotFile {
    format: ImageFormat,
    bytes: usize,
}

impl DrawingRecord {
    pub(super) fn new(drawing: &Drawing, at: Timestamp, scope: TabScope) -> Self {
        let picture = drawing.screenshot.as_ref();
        Self {
            drawing_id: drawing.drawing_id.clone(),
            at_micros: at.unix_micros(),
            session: drawing.session.clone(),
            correlation_id: drawing.correlation_id.clone(),
            page_url: drawing.page_url.clone(),
            page_title: drawing.page_title.clone(),
            tab_id: drawing.tab_id,
            scope,
            picture: picture.map(|it| ScreenshotFile { format: it.format, bytes: it.bytes.len() }),
            annotations: drawing.annotations.clone(),
            element_details: drawing.element_details.clone(),
        }
    }

    /// Reads the file of a drawing; `Err` holds the error in it.
    pub(super) fn parse(text: &str, id: &DrawingId) -> Result<Self, String> {
        let record: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if record.drawing_id != *id {
            return Err(format!("it is the drawing `{}`", record.drawing_id));
        }
        Ok(record)
    }

    /// The file's text.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn at(&self) -> Timestamp {
        moment(self.at_micros)
    }

    pub(super) const fn scope(&self) -> TabScope {
        self.scope
    }

    pub(super) const fn session(&self) -> Option<&SessionName> {
        self.session.as_ref()
    }

    /// How many bytes the screenshot has.
    pub(super) fn picture_size(&self) -> usize {
        self.picture.map_or(0, |picture| picture.bytes)
    }

    /// Where the screenshot is to be found, if there is one.
    pub(super) fn picture_path(&self, folder: &Path) -> Option<PathBuf> {
        Some(picture_path(folder, &self.drawing_id, self.picture?.format))
    }

    /// The screenshot, if the record names one and it is not whole.
    pub(super) fn damaged_picture(&self, folder: &Path) -> Option<DamagedDrawing> {
        let path = self.picture_path(folder)?;
        let wanted = self.picture_size() as u64;
        let why = match fs::metadata(&path) {
            Ok(found) if found.len() == wanted => return None,
            Ok(found) => format!("it has {} bytes, and was kept with {wanted}", found.len()),
            Err(error) => error.to_string(),
        };
        Some(DamagedDrawing { drawing_id: self.drawing_id.clone(), path, why })
    }

    /// The description without the size and the mark, which the folder knows.
    pub(super) fn describe(&self) -> KeptDrawing {
        KeptDrawing {
            drawing_id: self.drawing_id.clone(),
            session: self.session.clone(),
            correlation_id: self.correlation_id.clone(),
            at: self.at(),
            page_url: self.page_url.clone(),
            scope: self.scope,
            annotations: self.annotations.len(),
            bytes: 0,
            is_unread: true,
        }
    }

    pub(super) fn into_report(self, screenshot: Option<PathBuf>) -> DrawingReport {
        DrawingReport {
            at: self.at(),
            session: self.session,
            drawing_id: self.drawing_id,
            page_url: self.page_url,
            page_title: self.page_title,
            tab_id: self.tab_id,
            screenshot: screenshot.map(|path| path.to_string_lossy().into_owned()),
            annotations: self.annotations,
            element_details: self.element_details,
        }
    }
}
