//! Files for pages: an extension that runs `upload_file` asks the daemon for copies of the files.

use serde::{Deserialize, Serialize};

use super::{AskedFile, Attempt, CorrelationId};

/// The most files that one request can name.
pub const UPLOAD_FILES_MAX: usize = 10;

/// An extension's request for copies of the files that its running command gives to a page.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadRequest {
    /// Comes back in `upload_copies`.
    pub request: u64,
    /// The command.
    pub correlation_id: CorrelationId,
    /// The attempt.
    pub attempt: Attempt,
    /// The files, as the command names them.
    pub paths: Vec<String>,
    /// The site of the page that gets the files, as consents name it.
    pub site: String,
    /// Only look which of them the person is to be asked about. The command need not run yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub look: bool,
}

/// A private copy of a file, for one page.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UploadCopy {
    /// The copy's path on the computer of browser and daemon.
    pub path: String,
    /// The file's name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The answer to an extension's request for files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadAnswer {
    /// The copies of all the files, in the order of the paths.
    pub files: Vec<UploadCopy>,
    /// After a look: the files that the person is to be asked about.
    pub asks: Vec<AskedFile>,
}

/// The reason why a page gets no files.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UploadRefusal {
    /// A word for programs.
    pub code: UploadRefusalCode,
    /// A sentence for people.
    pub message: String,
    /// The next step.
    pub hint: String,
}

/// A word for the reason why a page gets no files. Each is a code of a command's failure.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UploadRefusalCode {
    /// The person has not opened the file's folder for reading, or the file is closed in any folder.
    FileNotAllowed,
    /// There is no file of that name.
    FileNotFound,
    /// The file is too large, or there are too many.
    FileTooLarge,
    /// The file was written to while it was copied, or since the person has allowed it.
    FileChanged,
    /// The file cannot be read, or its copy cannot be written.
    FileUnreadable,
    /// The command does not run, or names other files.
    Internal,
}

/// A file that a page got, as the command's timeline shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GivenFile {
    /// The file's name.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The site of the page.
    pub site: String,
}
