//! Linux and macOS.

mod listening;
mod no_follow;
mod ports;
mod processes;
#[cfg(target_os = "linux")]
mod sock_diag;
mod standard_streams;
#[cfg(test)]
pub(crate) mod testing;

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
    PermissionsExt as _, symlink,
};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use etcetera::AppStrategy as _;
use rustix::fs::OFlags;
use rustix::process::{geteuid, getuid};
use rustix::time::{ClockId, clock_gettime};

use super::{FileAccess, FileEntry, FileTimes};

pub(crate) use listening::listening_program;
pub(crate) use no_follow::FolderHandle;
pub(crate) use ports::{
    ConnectionTable, has_unread_bytes, is_passing, may_be_taken, may_connect, owner_of_stream,
    prepare_listener,
};
pub(crate) use processes::{
    ParentProcess, StopSignals, ask_process_to_end, is_administrator, is_crash, is_group_running,
    kill_group, lasting_caller, lead_new_session, spawn_detached, start_new_group,
};
pub(crate) use standard_streams::{standard_input, standard_output};
pub(crate) use std::os::fd::AsFd as AsSocketHandle;
pub(crate) use std::os::unix::net::{UnixListener, UnixStream};
pub(crate) use tokio::net::{UnixListener as AsyncUnixListener, UnixStream as AsyncUnixStream};

/// Whether programs of this computer can connect by a socket in a directory.
pub(crate) const HAS_UNIX_SOCKETS: bool = true;

/// What stands between the paths of a list.
pub(crate) const PATH_LIST_SEPARATOR: char = ':';

/// The folders of the system whose entries are no files that a person has.
pub(crate) const SYSTEM_FOLDERS: &[&str] = &["/dev", "/proc", "/sys"];

/// The program, with its first arguments, that opens a file as the person's desktop does.
pub(crate) const FILE_OPENER: &[&str] =
    if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open"] };

/// Opens files that only their owner can read.
pub(crate) trait OpenOwnerOnly {
    /// Opens the file as the options say. One that is made is closed to others from the beginning.
    fn open_owner_only(&self, path: &Path) -> io::Result<File>;
}

impl OpenOwnerOnly for OpenOptions {
    fn open_owner_only(&self, path: &Path) -> io::Result<File> {
        self.clone().mode(0o600).open(path)
    }
}

/// Makes a new file for writing that only its owner can read.
pub(crate) fn create_owner_only(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    // Before the first byte: the umask may have left other bits, and the content may be the secret.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Writes a new read-only file, so that no editor changes it by accident.
pub(crate) fn write_read_only(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(path)?;
    file.write_all(contents)?;
    // The umask may have taken bits away, and the browser must be able to read the file.
    file.set_permissions(Permissions::from_mode(0o444))
}

/// Makes a folder that only its owner can open.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// The same, and the folders above it that are missing. One that is there stays as it is.
pub(crate) fn create_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Closes a file or folder to others. A folder can be entered by its owner.
pub(crate) fn close_to_others(path: &Path) -> io::Result<()> {
    let mode = if fs::metadata(path)?.is_dir() { 0o700 } else { 0o600 };
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Makes a file a program that only its owner can start.
pub(crate) fn make_program(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// Who may use a file or folder.
pub(crate) fn access(path: &Path) -> io::Result<FileAccess> {
    let found = fs::metadata(path)?;
    if !is_owner(path, &found) {
        return Ok(FileAccess::Foreign { owner: format!("uid {}", found.uid()) });
    }
    let mode = found.mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(FileAccess::OwnerOnly);
    }
    let want = if found.is_dir() { 0o700 } else { 0o600 };
    let remedy = format!("chmod {want:o} {}", path.display());
    Ok(FileAccess::Open { found: format!("mode {mode:03o}"), remedy })
}

/// Whether nobody but the owner and the administrators may use a file or folder.
pub(crate) fn is_closed_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.mode() & 0o077 == 0)
}

/// Whether a file or folder is this user's. `found`: what `path` leads to.
pub(crate) fn is_owner(_path: &Path, found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

/// The permissions of a file, for [`set_mode`].
pub(crate) fn mode_of(path: &Path) -> Option<u32> {
    fs::metadata(path).ok().map(|found| found.mode())
}

/// Gives a file the permissions of another one.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o777))
}

/// The entry of what a path leads to. `found`: its metadata.
pub(crate) fn entry(_path: &Path, found: &Metadata) -> io::Result<FileEntry> {
    Ok(FileEntry { identity: (found.dev(), found.ino()), names: found.nlink() })
}

/// The entry of an open file. `found`: its metadata.
pub(crate) fn entry_of(_file: &File, found: &Metadata) -> io::Result<FileEntry> {
    Ok(FileEntry { identity: (found.dev(), found.ino()), names: found.nlink() })
}

/// The times of a file.
pub(crate) fn times(found: &Metadata) -> FileTimes {
    FileTimes {
        written: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    }
}

/// Whether this is the kind of a socket.
pub(crate) fn is_socket(kind: FileType) -> bool {
    kind.is_socket()
}

/// Brings a file to the disk.
pub(crate) fn sync_file(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Brings the names in a folder to the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Renames a file, in place of one that may be there.
pub(crate) fn replace_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// The same for a program that may be running: it goes on with its old file.
pub(crate) fn replace_program(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes a file, also a read-only one.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Removes a program that may be running: it goes on with its file.
pub(crate) fn remove_program(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Removes a folder with all that is in it, read-only files among it.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path)
}

/// Makes a link to a folder.
pub(crate) fn link_folder(to: &Path, link: &Path) -> io::Result<()> {
    symlink(to, link)
}

/// The path without links and `..`, as a person writes it.
pub(crate) fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Opens a file that was a regular one a moment ago. It neither follows a link nor waits for a pipe
/// that has taken the file's place.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Whether a part of an absolute path means the same to every program.
pub(crate) fn is_plain_part(part: &Component<'_>) -> bool {
    matches!(part, Component::RootDir | Component::Normal(_))
}

/// Whether a file of this name, with any ending, is a device in each folder.
pub(crate) const fn is_device_name(_name: &str) -> bool {
    false
}

/// The name with these bytes.
pub(crate) fn name_of_bytes(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// The path that the path of a `file` URL names, once it is decoded.
pub(crate) fn path_of_url_path(bytes: Vec<u8>) -> Option<PathBuf> {
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// The directory for the state of this program.
pub(crate) fn state_directory() -> Result<PathBuf, etcetera::HomeDirError> {
    let app = etcetera::AppStrategyArgs {
        top_level_domain: "dev".to_owned(),
        author: "tabwire".to_owned(),
        app_name: "tabwire".to_owned(),
    };
    let dirs = etcetera::choose_app_strategy(app)?;
    // macOS has no directory for state.
    Ok(dirs.state_dir().unwrap_or_else(|| dirs.data_dir()))
}

/// The number of this user.
pub(crate) fn user_number() -> u32 {
    getuid().as_raw()
}

/// The name of this start of the machine; `None`: the system has none.
#[cfg(target_os = "linux")]
pub(crate) fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}

/// The name of this start of the machine; `None`: the system has none.
#[cfg(target_os = "macos")]
pub(crate) fn boot_id() -> Option<String> {
    let asked = std::process::Command::new("/usr/sbin/sysctl")
        .args(["-n", "kern.bootsessionuuid"])
        .output();
    String::from_utf8(asked.ok()?.stdout).ok()
}

/// The name of this start of the machine; `None`: the system has none.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn boot_id() -> Option<String> {
    None
}

/// The time on the clock that no setting moves.
pub(crate) fn monotonic_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// The time on the machine's clock that goes on while it sleeps.
#[cfg(target_os = "linux")]
pub(crate) fn time_with_sleep() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

/// The same: here it is the monotonic clock that goes on, and the one of the runtime stands still.
#[cfg(not(target_os = "linux"))]
pub(crate) fn time_with_sleep() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// The memory that this process takes, in bytes, where the system tells it.
pub(crate) fn resident_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The processor time that this process has taken.
pub(crate) fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// The name of the distribution and the version of the kernel, where the system tells them.
pub(crate) fn system_versions() -> (Option<String>, Option<String>) {
    let line = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let release = line("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    (name.map(|name| name.trim_matches('"').to_owned()), line("/proc/sys/kernel/osrelease"))
}

/// Whether this is a Linux inside of Windows (WSL), which says so to each of its processes.
pub(crate) fn is_wsl() -> bool {
    cfg!(target_os = "linux") && std::env::var_os("WSL_DISTRO_NAME").is_some()
}

/// The name of this computer.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The columns and rows of the terminal on standard output.
pub(crate) fn terminal_size() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some((size.ws_col, size.ws_row))
}

/// Prepares a terminal for control sequences. Whether it acts on them.
pub(crate) const fn takes_control_sequences() -> bool {
    true
}

/// The path that a key of the user's registry names: there is no registry.
pub(crate) const fn registered_path(_key: &str) -> Option<PathBuf> {
    None
}

/// Has a key of the user's registry name a path; `None` removes the key.
pub(crate) fn register_path(_key: &str, _path: Option<&Path>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
