//! Windows. Where there is no safe library for a call of the system, `calls` has it.

mod calls;
mod no_follow;
mod ports;
mod processes;
#[cfg(test)]
pub(crate) mod testing;
mod unix_sockets;

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _, symlink_dir};
use std::path::{Component, Path, PathBuf, Prefix};
use std::time::Duration;

use windows_registry::{CURRENT_USER, LOCAL_MACHINE};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
};

use super::{FileAccess, FileEntry, FileTimes};
use calls::ProcessUser;

pub(crate) use no_follow::FolderHandle;
pub(crate) use ports::{
    ConnectionTable, has_unread_bytes, is_passing, listening_program, may_be_taken, may_connect,
    owner_of_stream, prepare_listener,
};
pub(crate) use processes::{
    ParentProcess, StopSignals, ask_process_to_end, is_administrator, is_crash, is_group_running,
    kill_group, lasting_caller, lead_new_session, spawn_detached, start_new_group,
};
pub(crate) use std::os::windows::io::AsSocket as AsSocketHandle;
pub(crate) use tokio::io::{stdin as standard_input, stdout as standard_output};
pub(crate) use unix_sockets::{AsyncUnixListener, AsyncUnixStream, UnixListener, UnixStream};

/// Whether programs of this computer can connect by a socket in a directory.
pub(crate) const HAS_UNIX_SOCKETS: bool = false;

/// What stands between the paths of a list.
pub(crate) const PATH_LIST_SEPARATOR: char = ';';

/// The folders of the system whose entries are no files that a person has. Devices have names that
/// [`is_plain_part`] refuses.
pub(crate) const SYSTEM_FOLDERS: &[&str] = &[];

/// The program, with its first arguments, that opens a file as the person's desktop does.
pub(crate) const FILE_OPENER: &[&str] = &["rundll32.exe", "url.dll,FileProtocolHandler"];

/// How often, and how far apart, a file is renamed that another program holds for a moment.
const RENAMES: u32 = 5;
const RENAME_PAUSE: Duration = Duration::from_millis(20);

/// Opens files that only their owner can read.
pub(crate) trait OpenOwnerOnly {
    /// Opens the file as the options say. One that is made is closed to others from the beginning.
    fn open_owner_only(&self, path: &Path) -> io::Result<File>;
}

impl OpenOwnerOnly for OpenOptions {
    fn open_owner_only(&self, path: &Path) -> io::Result<File> {
        // Made first: the options of the standard library have no place for rights.
        match create_owner_only(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(_) | Err(_) => self.open(path),
        }
    }
}

/// The rights of this user, the system and the administrators, and of nobody else (SDDL). `inheritance`: the
/// flags by which files in a folder get them.
fn own_rights(inheritance: &str) -> io::Result<String> {
    let user = ProcessUser::own()?.text()?;
    let entry = |who: &str| format!("(A;{inheritance};FA;;;{who})");
    Ok(format!("D:P{}{}{}", entry(&user), entry("SY"), entry("BA")))
}

fn folder_rights() -> io::Result<String> {
    own_rights("OICI")
}

/// Makes a new file for writing that only its owner can read.
pub(crate) fn create_owner_only(path: &Path) -> io::Result<File> {
    calls::create_file(path, &own_rights("")?)
}

/// Writes a new read-only file, so that no editor changes it by accident.
pub(crate) fn write_read_only(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = create_owner_only(path)?;
    file.write_all(contents)?;
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(path, permissions)
}

/// Makes a folder that only its owner can open.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    calls::create_folder(path, &folder_rights()?)
}

/// The same, and the folders above it that are missing. One that is there stays as it is.
pub(crate) fn create_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_folders(parent)?;
    }
    match create_folder(path) {
        // Another process may have made it meanwhile.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made,
    }
}

/// Closes a file or folder to others. A folder can be entered by its owner.
pub(crate) fn close_to_others(path: &Path) -> io::Result<()> {
    let is_folder = fs::metadata(path)?.is_dir();
    calls::set_rights(path, &if is_folder { folder_rights()? } else { own_rights("")? })
}

/// Makes a file a program that only its owner can start.
pub(crate) fn make_program(path: &Path) -> io::Result<()> {
    close_to_others(path)
}

/// Who may use a file or folder.
pub(crate) fn access(path: &Path) -> io::Result<FileAccess> {
    let is_folder = fs::metadata(path)?.is_dir();
    let rights = calls::rights(path)?;
    if !rights.is_own {
        return Ok(FileAccess::Foreign { owner: rights.owner });
    }
    if rights.is_closed {
        return Ok(FileAccess::OwnerOnly);
    }
    let (user, path) = (ProcessUser::own()?.text()?, path.display());
    let inherited = if is_folder { "(OI)(CI)" } else { "" };
    let remedy = format!(
        "icacls \"{path}\" /reset, and then icacls \"{path}\" /inheritance:r /grant:r \"*{user}:{inherited}F\""
    );
    Ok(FileAccess::Open { found: "by its access control list".to_owned(), remedy })
}

/// Whether nobody but the owner and the administrators may use a file or folder.
pub(crate) fn is_closed_to_others(path: &Path) -> bool {
    calls::rights(path).is_ok_and(|rights| rights.is_closed)
}

/// Whether a file or folder is this user's. `found`: what `path` leads to.
pub(crate) fn is_owner(path: &Path, _found: &Metadata) -> bool {
    calls::rights(path).is_ok_and(|rights| rights.is_own)
}

/// The permissions of a file, for [`set_mode`]. Windows has rights in their place, which a new file gets
/// as it is made.
pub(crate) const fn mode_of(_path: &Path) -> Option<u32> {
    None
}

/// Gives a file the permissions of another one.
pub(crate) const fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// The entry of what a path leads to. `found`: its metadata.
pub(crate) fn entry(path: &Path, found: &Metadata) -> io::Result<FileEntry> {
    let link = if found.is_symlink() { FILE_FLAG_OPEN_REPARSE_POINT } else { 0 };
    // Without any right: a file that another program has for itself can be looked at all the same.
    let opened = OpenOptions::new()
        .access_mode(0)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | link)
        .open(path)?;
    calls::entry_of_handle(&opened)
}

/// The entry of an open file. `found`: its metadata.
pub(crate) fn entry_of(file: &File, _found: &Metadata) -> io::Result<FileEntry> {
    calls::entry_of_handle(file)
}

/// The times of a file.
pub(crate) fn times(found: &Metadata) -> FileTimes {
    /// The Unix epoch, in 100 ns since 1601.
    const EPOCH: i64 = 116_444_736_000_000_000;
    const IN_SECOND: i64 = 10_000_000;
    let parts = |time: u64| {
        let time = i64::try_from(time).unwrap_or(i64::MAX) - EPOCH;
        (time.div_euclid(IN_SECOND), time.rem_euclid(IN_SECOND) * 100)
    };
    // The standard library does not show when anything else of a file was changed.
    FileTimes { written: parts(found.last_write_time()), changed: parts(found.last_write_time()) }
}

/// Whether this is the kind of a socket.
pub(crate) const fn is_socket(_kind: FileType) -> bool {
    false
}

/// Brings a file to the disk.
pub(crate) fn sync_file(path: &Path) -> io::Result<()> {
    // Only a file that may be written can be brought there.
    OpenOptions::new().write(true).open(path)?.sync_all()
}

/// Brings the names in a folder to the disk. NTFS records them in its own journal.
pub(crate) const fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Renames a file, in place of one that may be there.
pub(crate) fn replace_file(from: &Path, to: &Path) -> io::Result<()> {
    for _ in 1..RENAMES {
        match fs::rename(from, to) {
            // A virus scanner or an indexer may have opened it.
            Err(error) if is_held(&error) => std::thread::sleep(RENAME_PAUSE),
            renamed => return renamed,
        }
    }
    fs::rename(from, to)
}

fn is_held(error: &io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    let code = error.raw_os_error();
    error.kind() == io::ErrorKind::PermissionDenied
        || [Some(SHARING_VIOLATION), Some(LOCK_VIOLATION)].contains(&code)
}

/// The same for a program that may be running: it goes on with its old file, which is renamed and
/// removed by the next replacement.
pub(crate) fn replace_program(from: &Path, to: &Path) -> io::Result<()> {
    let aside = replaced(to);
    // It is still there if that program still runs.
    let _ = fs::remove_file(&aside);
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    fs::rename(to, &aside)?;
    replace_file(from, to).inspect_err(|_| {
        // Better the old program than none.
        let _ = fs::rename(&aside, to);
    })
}

/// Removes a file, also a read-only one.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(path)?;
            fs::remove_file(path)
        }
        removed => removed,
    }
}

/// Removes a program that may be running: its file then goes to the folder for temporary files.
pub(crate) fn remove_program(path: &Path) -> io::Result<()> {
    // What a replacement has left. It is still there if that program still runs.
    let _ = fs::remove_file(replaced(path));
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let aside = format!("tabwire-removed-{}.exe", std::process::id());
            fs::rename(path, env::temp_dir().join(aside))
        }
        removed => removed,
    }
}

/// Where the old program goes when it is replaced.
fn replaced(program: &Path) -> PathBuf {
    program.with_extension("exe.old")
}

/// Removes a folder with all that is in it, read-only files among it.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_all_writable(path)?;
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

fn make_writable(path: &Path) -> io::Result<()> {
    let mut permissions = fs::symlink_metadata(path)?.permissions();
    // Who may write is said by the rights of the file.
    #[expect(clippy::permissions_set_readonly_false, reason = "it changes an attribute alone")]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions)
}

/// Makes the files in a folder and below writable. Links are not followed.
fn make_all_writable(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            make_all_writable(&entry.path())?;
        } else if kind.is_file() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// Makes a link to a folder.
pub(crate) fn link_folder(to: &Path, link: &Path) -> io::Result<()> {
    symlink_dir(to, link)
}

/// The path without links and `..`, as a person writes it.
pub(crate) fn canonicalize(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// Opens a file that was a regular one a moment ago. It neither follows a link nor waits for a pipe
/// that has taken the file's place.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)
}

/// Whether a part of an absolute path means the same to every program. Windows drops a dot or a blank at the end
/// of a name, takes what follows a colon for a stream of the file, and has devices in every folder.
pub(crate) fn is_plain_part(part: &Component<'_>) -> bool {
    match part {
        Component::Prefix(prefix) => {
            matches!(prefix.kind(), Prefix::Disk(_) | Prefix::VerbatimDisk(_))
        }
        Component::RootDir => true,
        Component::Normal(name) => {
            let name = name.to_string_lossy();
            !name.contains(':') && !name.ends_with(['.', ' ']) && !is_device_name(&name)
        }
        Component::CurDir | Component::ParentDir => false,
    }
}

/// Whether a file of this name, with any ending, is a device in each folder.
pub(crate) fn is_device_name(name: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    let name = name.to_lowercase();
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let is_port = ["com", "lpt"].iter().any(|port| {
        let number = stem.strip_prefix(port).unwrap_or_default();
        number.chars().count() == 1 && number.chars().all(char::is_numeric)
    });
    DEVICES.contains(&stem) || is_port
}

/// The name with these bytes.
pub(crate) fn name_of_bytes(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// The path that the path of a `file` URL names, once it is decoded.
pub(crate) fn path_of_url_path(bytes: Vec<u8>) -> Option<PathBuf> {
    let text = String::from_utf8(bytes).ok()?;
    let path = text.strip_prefix('/')?;
    let is_drive = |path: &str| {
        let [letter, b':', b'/', ..] = path.as_bytes() else { return false };
        letter.is_ascii_alphabetic()
    };
    is_drive(path).then(|| PathBuf::from(path.replace('/', "\\")))
}

/// The directory for the state of this program.
pub(crate) fn state_directory() -> Result<PathBuf, etcetera::HomeDirError> {
    let named = env::var_os("LOCALAPPDATA").map(PathBuf::from).filter(|path| path.is_absolute());
    let local = match named {
        Some(local) => local,
        None => etcetera::home_dir()?.join(r"AppData\Local"),
    };
    Ok(local.join("Tabwire"))
}

/// Whether this is a Linux inside of Windows.
pub(crate) const fn is_wsl() -> bool {
    false
}

/// The name of this computer.
pub(crate) fn host_name() -> String {
    env::var("COMPUTERNAME").unwrap_or_default()
}

/// The number of this user: Windows has none.
pub(crate) const fn user_number() -> u32 {
    0
}

/// The name of this start of the machine: a key that the system forgets as it shuts down. `None`: the system
/// does not keep one.
pub(crate) fn boot_id() -> Option<String> {
    const NAME: &str = "Boot";
    let key = CURRENT_USER
        .options()
        .read()
        .write()
        .create()
        .volatile()
        .open(r"Software\Tabwire\Volatile")
        .ok()?;
    if let Ok(known) = key.get_string(NAME) {
        return Some(known);
    }
    let mut drawn = [0; 16];
    getrandom::fill(&mut drawn).ok()?;
    key.set_string(NAME, format!("{:032x}", u128::from_ne_bytes(drawn))).ok()?;
    // Another process may have written its own meanwhile.
    key.get_string(NAME).ok()
}

/// The time on the clock that no setting moves.
pub(crate) fn monotonic_time() -> Duration {
    calls::unbiased_time()
}

/// The time on the machine's clock that goes on while it sleeps.
pub(crate) fn time_with_sleep() -> Duration {
    calls::time_with_sleep()
}

/// The memory that this process takes, in bytes, where the system tells it.
pub(crate) fn resident_memory() -> Option<u64> {
    calls::own_memory().ok()
}

/// The processor time that this process has taken.
pub(crate) fn processor_time() -> Duration {
    calls::own_processor_time().unwrap_or_default()
}

/// The name of the distribution and the version of the kernel, where the system tells them.
pub(crate) fn system_versions() -> (Option<String>, Option<String>) {
    let key = LOCAL_MACHINE.open(r"SOFTWARE\Microsoft\Windows NT\CurrentVersion").ok();
    let value = |name: &str| key.as_ref()?.get_string(name).ok();
    (value("ProductName"), value("CurrentBuild"))
}

/// The columns and rows of the terminal on standard output.
pub(crate) fn terminal_size() -> Option<(u16, u16)> {
    calls::console_size()
}

/// Prepares a terminal for control sequences. Whether it acts on them.
pub(crate) fn takes_control_sequences() -> bool {
    calls::enable_control_sequences()
}

/// The path that a key of the user's registry names.
pub(crate) fn registered_path(key: &str) -> Option<PathBuf> {
    let key = CURRENT_USER.open(key).ok()?;
    Some(key.get_string("").ok()?.into())
}

/// Has a key of the user's registry name a path; `None` removes the key.
pub(crate) fn register_path(key: &str, path: Option<&Path>) -> io::Result<()> {
    let done = match path {
        Some(path) => {
            CURRENT_USER.create(key).and_then(|key| key.set_hstring("", &path.as_os_str().into()))
        }
        None => CURRENT_USER.remove_tree(key),
    };
    done.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_that_means_the_same_to_every_program_is_plain() {
        let is_plain = |path: &str| Path::new(path).components().all(|part| is_plain_part(&part));
        for path in
            [r"C:\Users\ann\cat.png", r"C:\console\com\lpt10", r"\\?\C:\a", r"C:\nullable.txt"]
        {
            assert!(is_plain(path), "{path}");
        }
        for path in [
            r"C:\a\..\b",
            r"C:\a\b:secret",
            r"C:\a.\b",
            r"C:\a \b",
            r"C:\nul",
            r"C:\a\CON.png",
            r"C:\a\com1.txt",
            r"\\server\share\a",
            r"\\.\C:",
            r"\\?\pipe\a",
            "C:\\a\\lpt\u{b9}",
        ] {
            assert!(!is_plain(path), "{path}");
        }
    }

    #[test]
    fn a_file_url_names_a_file_on_a_drive_and_nothing_else() {
        let path = |text: &str| path_of_url_path(text.as_bytes().to_vec());
        assert_eq!(path("/C:/Users/ann/a b.html"), Some(r"C:\Users\ann\a b.html".into()));
        for other in ["/", "/C:", "C:/a", "//server/share", "/etc/passwd", "/CC:/a"] {
            assert_eq!(path(other), None, "{other}");
        }
    }

    #[test]
    fn a_start_of_the_machine_has_one_name() {
        let name = boot_id().unwrap();
        assert_eq!(name.len(), 32);
        assert_eq!(boot_id(), Some(name));
    }

    #[test]
    fn a_path_in_the_registry_is_read_as_it_was_written_and_is_gone_afterwards() {
        let key = r"Software\TabwireTests\Registered";
        let path = PathBuf::from("C:\\Zo\u{eb}\\host.json");
        register_path(key, Some(&path)).unwrap();
        assert_eq!(registered_path(key), Some(path));
        register_path(key, None).unwrap();
        assert_eq!(registered_path(key), None);
    }

    #[test]
    fn a_program_is_replaced_and_removed_while_its_file_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let (new, program) = (folder.path().join("new"), folder.path().join("tabwire.exe"));
        fs::write(&program, "old").unwrap();
        fs::write(&new, "new").unwrap();
        // As a program that runs: it can be renamed, and neither replaced nor removed.
        let held = OpenOptions::new().read(true).share_mode(5).open(&program).unwrap();
        replace_program(&new, &program).unwrap();
        assert_eq!(fs::read_to_string(&program).unwrap(), "new");
        drop(held);
        remove_program(&program).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
