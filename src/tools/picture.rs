//! Pictures of answers, which go along as pictures or to a file, PDFs and traces.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::picture_size::picture_size;
use crate::home::AgentFiles;
use crate::protocol::{CommandReport, CommandStatus, WorkKind};

/// The largest picture of a drawing that goes along, in bytes; a larger one is only named, and so is
/// one with a longer side than [`LONGEST_SIDE`].
/// Model APIs take 5 MB of base64.
const LARGEST_SHOWN: u64 = 3 * 1024 * 1024;

/// The largest picture that a model is shown, in bytes of base64, and the longest side in px: model
/// APIs refuse the whole request for a larger one.
const LARGEST_INLINE: usize = 5_000_000;
const LONGEST_SIDE: u32 = 2_000;

/// The part of a picture in base64 that its size is looked for in: whole groups of four letters.
const HEAD: usize = 512 * 1024;

/// A picture, as MCP shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InlinePicture {
    /// Its bytes in base64.
    pub data: String,
    /// Its format.
    pub mime_type: String,
}

/// Takes the pictures out of the result of a screenshot or a batch; their descriptions stay.
pub(super) fn take_pictures(
    report: &mut CommandReport,
    files: Option<&AgentFiles>,
) -> Vec<InlinePicture> {
    if report.picture_steps.is_empty() {
        return take_picture(report, files).into_iter().collect();
    }
    let steps = std::mem::take(&mut report.picture_steps);
    let CommandStatus::Complete { result, .. } = &mut report.status else { return Vec::new() };
    let Ok(mut whole) = serde_json::from_str::<Value>(result.get()) else { return Vec::new() };
    let mut pictures = Vec::new();
    for step in steps {
        let Some(value) = whole.pointer_mut(&format!("/value/results/{step}")) else { continue };
        let Ok(picture) = serde_json::from_value::<InlinePicture>(value.clone()) else { continue };
        if !picture.is_shown() {
            value["data"] = NOT_SHOWN.into();
            continue;
        }
        pictures.push(picture);
        value["data"] = format!("(shown as image content {})", pictures.len()).into();
    }
    if let Ok(told) = to_raw_value(&whole) {
        *result = told.into();
    }
    pictures
}

/// The pictures in the result of a screenshot, a batch or a drawing, as a person sees them: of any size.
#[must_use]
pub fn pictures_of(report: &CommandReport) -> Vec<PictureFile> {
    let CommandStatus::Complete { result, .. } = &report.status else { return Vec::new() };
    if report.kind == WorkKind::Annotations {
        let Ok(drawn) = serde_json::from_str::<DrawnPages>(result.get()) else { return Vec::new() };
        let paths = drawn.pages.into_iter().filter_map(|page| page.screenshot);
        return paths.filter_map(|path| PictureFile::of(fs::read(path).ok()?)).collect();
    }
    let places: Vec<_> = match &report.picture_steps[..] {
        [] if report.command == "screenshot" => vec!["/value/data".to_owned()],
        steps => steps.iter().map(|step| format!("/value/results/{step}/data")).collect(),
    };
    if places.is_empty() {
        return Vec::new();
    }
    let Ok(whole) = serde_json::from_str::<Value>(result.get()) else { return Vec::new() };
    let data = places.iter().filter_map(|place| whole.pointer(place)?.as_str());
    data.filter_map(|data| PictureFile::of(STANDARD.decode(data).ok()?)).collect()
}

/// A picture as a file. Its own first bytes tell its type, and not the page or the extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureFile {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The media type: that of PNG, JPEG or WebP.
    pub mime_type: &'static str,
}

impl PictureFile {
    /// `None`: these bytes are no picture.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Option<Self> {
        picture_size(&bytes)?;
        let mime_type = match bytes.first()? {
            0x89 => "image/png",
            0xff => "image/jpeg",
            _ => "image/webp",
        };
        Some(Self { bytes, mime_type })
    }
}

/// Takes the picture out of a screenshot's result, or writes its file; its description stays.
fn take_picture(report: &mut CommandReport, files: Option<&AgentFiles>) -> Option<InlinePicture> {
    // A PDF is no picture for the model: it goes to a file, or its data is read in parts.
    let (is_picture, is_trace) = match report.command {
        "screenshot" => (true, false),
        "pdf" if report.saved_path.is_some() => (false, false),
        // No model reads the bytes of a trace: without a file its summary alone is told.
        "trace" => (false, true),
        _ => return None,
    };
    let CommandStatus::Complete { result, .. } = &mut report.status else { return None };
    let mut whole: Map<String, Value> = serde_json::from_str(result.get()).ok()?;
    let value = whole.get_mut("value")?;
    let picture: InlinePicture = serde_json::from_value(value.clone()).ok()?;
    let is_shown = is_picture && picture.is_shown();
    let saved = report.saved_path.as_deref().map(|name| picture.save(name, files));
    if is_picture {
        // It goes along as image content: base64 text would fill the model's context.
        value["data"] = if is_shown { "(shown as image content)" } else { NOT_SHOWN }.into();
    }
    match &saved {
        Some(Ok(path)) => {
            value["data"] = "(in the file)".into();
            value["path"] = json!(path);
        }
        Some(Err(why)) => value["save_error"] = why.as_str().into(),
        None if is_trace => {
            value.as_object_mut()?.retain(|name, _| name != "data" && name != "mime_type");
        }
        None => {}
    }
    let is_saved = matches!(saved, Some(Ok(_)));
    *result = to_raw_value(&whole).ok()?.into();
    (is_shown && !is_saved).then_some(picture)
}

/// Stands for the data of a picture that is too large.
const NOT_SHOWN: &str = "(not shown: a picture in an answer has at most 2000 px a side and 5 MB of \
                         base64. Call again with a smaller max_side, with format jpeg, or with \
                         path for a file)";

impl InlinePicture {
    /// Whether models take it. Its own header tells, and not its description: a picture of unknown
    /// size is not shown.
    fn is_shown(&self) -> bool {
        let head = &self.data.as_bytes()[..self.data.len().min(HEAD)];
        self.data.len() <= LARGEST_INLINE
            && STANDARD.decode(head).is_ok_and(|head| has_known_sides(&head))
    }

    /// Writes it to a new file below a folder that is open to agents; the file's path, or why it
    /// is not written, and the next step.
    fn save(&self, name: &str, files: Option<&AgentFiles>) -> Result<PathBuf, String> {
        let files = files.ok_or("this daemon writes no files")?;
        let bytes = STANDARD.decode(&self.data).map_err(|error| error.to_string())?;
        files.write(name, &bytes).map_err(|error| {
            let open = files.open_folders().unwrap_or_default();
            format!("cannot write {name}: {error}. {}", error.hint(&open))
        })
    }
}

/// Whether both sides of a picture are known, and not longer than models take.
fn has_known_sides(picture: &[u8]) -> bool {
    picture_size(picture).is_some_and(|(width, height)| width.max(height) <= LONGEST_SIDE)
}

/// The screenshot of the drawing that came last, unless it is too large to be shown.
pub(super) fn newest_drawing(report: &CommandReport) -> Option<InlinePicture> {
    let (WorkKind::Annotations, CommandStatus::Complete { result, .. }) =
        (report.kind, &report.status)
    else {
        return None;
    };
    let drawn: DrawnPages = serde_json::from_str(result.get()).ok()?;
    let path = PathBuf::from(drawn.pages.last()?.screenshot.as_ref()?);
    // Before it is read: a drawing may have 16 MiB.
    if fs::metadata(&path).ok()?.len() > LARGEST_SHOWN {
        return None;
    }
    let is_png = path.extension().is_some_and(|extension| extension == "png");
    let mime_type = if is_png { "image/png" } else { "image/jpeg" }.to_owned();
    let bytes = fs::read(&path).ok().filter(|bytes| has_known_sides(bytes))?;
    Some(InlinePicture { data: STANDARD.encode(bytes), mime_type })
}

/// The fields of a drawing's result that locate its screenshots.
#[derive(Deserialize)]
struct DrawnPages {
    pages: Vec<DrawnPage>,
}

#[derive(Deserialize)]
struct DrawnPage {
    screenshot: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::picture_size::tests::png_head;

    fn picture(bytes: Vec<u8>) -> InlinePicture {
        InlinePicture { data: STANDARD.encode(bytes), mime_type: "image/png".into() }
    }

    #[test]
    fn the_header_of_a_picture_decides_whether_models_are_shown_it() {
        assert!(picture(png_head(2_000, 2_000)).is_shown());
        assert!(!picture(png_head(2_001, 10)).is_shown());
        assert!(!picture(png_head(10, 2_001)).is_shown());
        for unknown in [&b"GIF89a"[..], b"", b"<svg/>"] {
            assert!(!picture(unknown.to_vec()).is_shown(), "{unknown:?}");
        }
        assert!(
            !InlinePicture { data: "no base64".into(), mime_type: "image/png".into() }.is_shown()
        );
    }

    #[test]
    fn the_first_bytes_of_a_picture_tell_its_type_and_nothing_else_is_one() {
        let png = PictureFile::of(png_head(9_000, 20)).unwrap();
        assert_eq!(png.mime_type, "image/png", "a person sees pictures of any size");
        let jpeg = [0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 5, 0, 7, 1, 1, 17, 0];
        assert_eq!(PictureFile::of(jpeg.to_vec()).unwrap().mime_type, "image/jpeg");
        for other in [&b"<svg onload='alert(1)'/>"[..], b"<html>", b"%PDF-1.7", b""] {
            assert_eq!(PictureFile::of(other.to_vec()), None);
        }
    }

    #[test]
    fn a_picture_is_shown_up_to_5_mb_of_base64() {
        let mut bytes = png_head(10, 10);
        bytes.resize(LARGEST_INLINE / 4 * 3, 0);
        let largest = picture(bytes.clone());
        assert_eq!(largest.data.len(), LARGEST_INLINE);
        assert!(largest.is_shown());
        bytes.push(0);
        assert!(!picture(bytes).is_shown());
    }
}
