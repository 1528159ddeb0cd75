//! The calls of Windows for which there is no safe library: the only unsafe code of the crate. Each function
//! is safe to call, and owns what it opens.
#![expect(unsafe_code, reason = "calls of the system; each block says why it is sound")]

use std::ffi::{OsStr, OsString, c_void};
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::io::{
    AsHandle, AsRawHandle as _, AsRawSocket, FromRawHandle as _, OwnedHandle,
};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_INSUFFICIENT_BUFFER, ERROR_SUCCESS, FILETIME, GENERIC_READ, GENERIC_WRITE, HANDLE,
    HANDLE_FLAG_INHERIT, HLOCAL, INVALID_HANDLE_VALUE, LocalFree, SetHandleInformation,
    WAIT_OBJECT_0,
};
use windows_sys::Win32::NetworkManagement::IpHelper::{
    GetExtendedTcpTable, MIB_TCP6ROW_OWNER_PID, MIB_TCPROW_OWNER_PID, TCP_TABLE_CLASS,
    TCP_TABLE_OWNER_PID_CONNECTIONS, TCP_TABLE_OWNER_PID_LISTENER,
};
use windows_sys::Win32::Networking::WinSock::{
    AF_INET, AF_INET6, SO_EXCLUSIVEADDRUSE, SOCKET_ERROR, SOL_SOCKET, setsockopt,
};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW,
    GetNamedSecurityInfoW, SDDL_REVISION_1, SE_FILE_OBJECT, SetNamedSecurityInfoW,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, EqualSid, GetAce,
    GetSecurityDescriptorDacl, GetTokenInformation, IsWellKnownSid, OWNER_SECURITY_INFORMATION,
    PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, SECURITY_ATTRIBUTES,
    TOKEN_QUERY, TOKEN_USER, TokenUser, WinBuiltinAdministratorsSid, WinCreatorOwnerRightsSid,
    WinCreatorOwnerSid, WinLocalSystemSid,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, CREATE_NEW, CreateDirectoryW, CreateFileW, FILE_ATTRIBUTE_NORMAL,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, GetFileInformationByHandle,
};
use windows_sys::Win32::System::Console::{
    CONSOLE_SCREEN_BUFFER_INFO, ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode,
    GetConsoleScreenBufferInfo, GetStdHandle, STD_ERROR_HANDLE, STD_INPUT_HANDLE,
    STD_OUTPUT_HANDLE, SetConsoleMode,
};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::SystemInformation::GetTickCount64;
use windows_sys::Win32::System::Threading::{
    CreateEventW, EVENT_MODIFY_STATE, GetCurrentProcess, GetProcessTimes, INFINITE, OpenEventW,
    OpenProcess, OpenProcessToken, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    QueryFullProcessImageNameW, SetEvent, WaitForSingleObject,
};
use windows_sys::Win32::System::WindowsProgramming::QueryUnbiasedInterruptTime;

use crate::os::{ConnectionOwner, FileEntry};

/// Text for the system: UTF-16 that ends with a zero.
fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

/// The same for a path, in the form that has no bound on its length.
fn wide_path(path: &Path) -> io::Result<Vec<u16>> {
    const LONG: usize = 240;
    let absolute = std::path::absolute(path)?;
    let text = absolute.as_os_str();
    if text.len() < LONG || text.as_encoded_bytes().starts_with(br"\\") {
        return Ok(wide(text));
    }
    let mut long = OsString::from(r"\\?\");
    long.push(text);
    Ok(wide(&long))
}

fn size_of_32<T>() -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or_default()
}

/// The result of a call that reports an error by 0.
fn checked(returned: i32) -> io::Result<()> {
    if returned == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The result of a call that returns the number of an error.
fn checked_code(code: u32) -> io::Result<()> {
    if code == ERROR_SUCCESS {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(code.cast_signed()))
    }
}

/// A handle that a call has opened.
fn opened(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just opened it, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Memory that the system has allocated for the caller.
struct LocalMemory(HLOCAL);

impl Drop for LocalMemory {
    fn drop(&mut self) {
        // SAFETY: the call that filled it gave it to us, and it is freed once.
        unsafe { LocalFree(self.0) };
    }
}

/// The user of a process: its `TOKEN_USER`, which holds a security id.
pub(super) struct ProcessUser(Vec<u64>);

impl ProcessUser {
    /// The user of this process.
    pub(super) fn own() -> io::Result<Self> {
        // SAFETY: it is no real handle, and is not closed.
        Self::of_handle(unsafe { GetCurrentProcess() })
    }

    fn of_handle(process: HANDLE) -> io::Result<Self> {
        let mut token = null_mut();
        // SAFETY: `process` is an open process, and `token` has room for a handle.
        checked(unsafe { OpenProcessToken(process, TOKEN_QUERY, &raw mut token) })?;
        let token = opened(token)?;
        // A `TOKEN_USER` and a security id of at most 68 bytes, aligned for the pointer in it.
        let mut room = vec![0_u64; 32];
        let (size, mut length) = (u32::try_from(room.len() * 8).unwrap_or_default(), 0);
        // SAFETY: the buffer has `size` bytes.
        checked(unsafe {
            let into = room.as_mut_ptr().cast();
            GetTokenInformation(token.as_raw_handle(), TokenUser, into, size, &raw mut length)
        })?;
        Ok(Self(room))
    }

    fn sid(&self) -> PSID {
        // SAFETY: the buffer holds a `TOKEN_USER`, whose id lies in the same buffer.
        unsafe { (*self.0.as_ptr().cast::<TOKEN_USER>()).User.Sid }
    }

    /// Its security id as text.
    pub(super) fn text(&self) -> io::Result<String> {
        sid_text(self.sid())
    }
}

/// `sid` points to a security id.
fn sid_text(sid: PSID) -> io::Result<String> {
    let mut text = null_mut();
    // SAFETY: both pointers are valid for the call.
    checked(unsafe { ConvertSidToStringSidW(sid, &raw mut text) })?;
    let _memory = LocalMemory(text.cast());
    // SAFETY: the call has written a text that ends with a zero.
    let length = (0..).take_while(|at| unsafe { *text.add(*at) } != 0).count();
    // SAFETY: the text has this many characters.
    Ok(String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(text, length) }))
}

fn is_well_known(sid: PSID, kinds: &[i32]) -> bool {
    // SAFETY: `sid` points to a security id.
    kinds.iter().any(|kind| unsafe { IsWellKnownSid(sid, *kind) } != 0)
}

fn is_same_user(one: PSID, other: PSID) -> bool {
    // SAFETY: both point to security ids.
    unsafe { EqualSid(one, other) != 0 }
}

/// A security descriptor.
struct SecurityDescriptor(LocalMemory);

impl SecurityDescriptor {
    /// One in the text form of the system (SDDL).
    fn of_text(text: &str) -> io::Result<Self> {
        let text = wide(OsStr::new(text));
        let mut made: PSECURITY_DESCRIPTOR = null_mut();
        // SAFETY: the text ends with a zero, and `made` has room for a pointer.
        checked(unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut made,
                null_mut(),
            )
        })?;
        Ok(Self(LocalMemory(made)))
    }

    fn attributes(&self) -> SECURITY_ATTRIBUTES {
        SECURITY_ATTRIBUTES {
            nLength: size_of_32::<SECURITY_ATTRIBUTES>(),
            lpSecurityDescriptor: self.0.0,
            bInheritHandle: 0,
        }
    }
}

/// Makes a folder with these rights (SDDL).
pub(super) fn create_folder(path: &Path, rights: &str) -> io::Result<()> {
    let (path, rights) = (wide_path(path)?, SecurityDescriptor::of_text(rights)?);
    let attributes = rights.attributes();
    // SAFETY: path and attributes live until the call returns.
    checked(unsafe { CreateDirectoryW(path.as_ptr(), &raw const attributes) })
}

/// Makes a new file with these rights (SDDL), for reading and writing.
pub(super) fn create_file(path: &Path, rights: &str) -> io::Result<File> {
    let (path, rights) = (wide_path(path)?, SecurityDescriptor::of_text(rights)?);
    let attributes = rights.attributes();
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    // SAFETY: path and attributes live until the call returns.
    let handle = unsafe {
        CreateFileW(
            path.as_ptr(),
            GENERIC_READ | GENERIC_WRITE,
            share,
            &raw const attributes,
            CREATE_NEW,
            FILE_ATTRIBUTE_NORMAL,
            null_mut(),
        )
    };
    Ok(File::from(opened(handle)?))
}

/// Replaces the rights of a file or folder (SDDL). It inherits none from the folder that it is in.
pub(super) fn set_rights(path: &Path, rights: &str) -> io::Result<()> {
    let (path, rights) = (wide_path(path)?, SecurityDescriptor::of_text(rights)?);
    let (mut is_there, mut is_default, mut list) = (0, 0, null_mut());
    // SAFETY: the list lies in `rights`, which lives to the end of this function.
    checked(unsafe {
        let (is_there, is_default) = (&raw mut is_there, &raw mut is_default);
        GetSecurityDescriptorDacl(rights.0.0, is_there, &raw mut list, is_default)
    })?;
    let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    // SAFETY: path and list live until the call returns.
    checked_code(unsafe {
        let (none, path) = (null_mut(), path.as_ptr());
        SetNamedSecurityInfoW(path, SE_FILE_OBJECT, what, none, none, list, null())
    })
}

/// Whose a file or folder is, and who may use it.
pub(super) struct FileRights {
    /// The user's, or the administrators', who own what a program makes that runs as one of them.
    pub(super) is_own: bool,
    /// Nobody but this user, the system and the administrators may use it.
    pub(super) is_closed: bool,
    /// The owner's security id.
    pub(super) owner: String,
}

/// Reads the rights of a file or folder. A link is followed.
pub(super) fn rights(path: &Path) -> io::Result<FileRights> {
    let path = wide_path(path)?;
    let (mut owner, mut list): (PSID, *mut ACL) = (null_mut(), null_mut());
    let mut all: PSECURITY_DESCRIPTOR = null_mut();
    let what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    // SAFETY: the path ends with a zero, and each pointer has room for what is written there.
    checked_code(unsafe {
        GetNamedSecurityInfoW(
            path.as_ptr(),
            SE_FILE_OBJECT,
            what,
            &raw mut owner,
            null_mut(),
            &raw mut list,
            null_mut(),
            &raw mut all,
        )
    })?;
    // Owner and list lie in it.
    let _memory = LocalMemory(all);
    let own = ProcessUser::own()?;
    let administrators = [WinLocalSystemSid, WinBuiltinAdministratorsSid];
    let may = |sid| is_same_user(sid, own.sid()) || is_well_known(sid, &administrators);
    let owners = [WinCreatorOwnerRightsSid, WinCreatorOwnerSid];
    let may_use = |sid| may(sid) || is_well_known(sid, &owners);
    Ok(FileRights {
        is_own: may(owner),
        is_closed: allows_only(list, may_use),
        owner: sid_text(owner)?,
    })
}

/// Whether each entry of a list that allows something allows it to users of these. No list allows all.
fn allows_only(list: *const ACL, may: impl Fn(PSID) -> bool) -> bool {
    const ALLOWED: u8 = 0;
    const DENIED: u8 = 1;
    if list.is_null() {
        return false;
    }
    // SAFETY: the system has written the list.
    let count = u32::from(unsafe { (*list).AceCount });
    (0..count).all(|number| {
        let mut entry: *mut c_void = null_mut();
        // SAFETY: the list has this entry.
        if unsafe { GetAce(list, number, &raw mut entry) } == 0 {
            return false;
        }
        // SAFETY: each entry begins with a header.
        let header = unsafe { *entry.cast::<ACE_HEADER>() };
        let allowed = entry.cast::<ACCESS_ALLOWED_ACE>();
        match header.AceType {
            // SAFETY: an entry of this type ends with a security id.
            ALLOWED => may(unsafe { (&raw mut (*allowed).SidStart).cast() }),
            DENIED => true,
            // Of another type, which is not read here: somebody else may be meant.
            _ => false,
        }
    })
}

/// The entry of an open file or folder.
pub(super) fn entry_of_handle(file: &impl AsHandle) -> io::Result<FileEntry> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    let handle = file.as_handle().as_raw_handle();
    // SAFETY: the handle is open, and `found` has room.
    checked(unsafe { GetFileInformationByHandle(handle, &raw mut found) })?;
    let number = u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow);
    let identity = (u64::from(found.dwVolumeSerialNumber), number);
    Ok(FileEntry { identity, names: u64::from(found.nNumberOfLinks) })
}

/// Keeps the programs that this one starts from getting its standard input and outputs unasked: the
/// programs at their other ends would wait for those programs, too.
pub(super) fn keep_standard_handles() {
    for which in [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE] {
        // SAFETY: a handle that is missing is refused.
        unsafe { SetHandleInformation(GetStdHandle(which), HANDLE_FLAG_INHERIT, 0) };
    }
}

/// An event by which other processes of this session can ask for something.
pub(super) struct NamedEvent(OwnedHandle);

impl NamedEvent {
    pub(super) fn create(name: &str) -> io::Result<Self> {
        let name = wide(OsStr::new(name));
        // SAFETY: the name ends with a zero.
        opened(unsafe { CreateEventW(null(), 1, 0, name.as_ptr()) }).map(Self)
    }

    /// Sets the event of this name.
    pub(super) fn set(name: &str) -> io::Result<()> {
        let name = wide(OsStr::new(name));
        // SAFETY: the name ends with a zero.
        let event = opened(unsafe { OpenEventW(EVENT_MODIFY_STATE, 0, name.as_ptr()) })?;
        // SAFETY: the event is open.
        checked(unsafe { SetEvent(event.as_raw_handle()) })
    }

    /// Blocks until it is set. False: the system does not let us wait.
    pub(super) fn wait(&self) -> bool {
        // SAFETY: the event is open.
        unsafe { WaitForSingleObject(self.0.as_raw_handle(), INFINITE) == WAIT_OBJECT_0 }
    }
}

/// A process that is open, so that its number is not given to another one.
pub(super) struct OpenedProcess(OwnedHandle);

impl OpenedProcess {
    pub(super) fn open(process: u32) -> io::Result<Self> {
        let rights = PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE;
        // SAFETY: the arguments are numbers.
        let handle = unsafe { OpenProcess(rights, 0, process) };
        opened(handle).map(Self)
    }

    /// Blocks until it has ended, or for `most` milliseconds. Whether it has.
    pub(super) fn wait(&self, most: Option<u32>) -> bool {
        let most = most.unwrap_or(INFINITE);
        // SAFETY: the process is open.
        unsafe { WaitForSingleObject(self.0.as_raw_handle(), most) == WAIT_OBJECT_0 }
    }

    /// When it was started, in 100 ns since 1601.
    pub(super) fn started(&self) -> io::Result<u64> {
        Ok(process_times(self.0.as_raw_handle())?.0)
    }

    /// The path of its program.
    pub(super) fn program(&self) -> io::Result<OsString> {
        let mut path = vec![0_u16; 1024];
        let mut length = u32::try_from(path.len()).unwrap_or_default();
        // SAFETY: the buffer has this many characters.
        checked(unsafe {
            let into = path.as_mut_ptr();
            QueryFullProcessImageNameW(self.0.as_raw_handle(), 0, into, &raw mut length)
        })?;
        let length = usize::try_from(length).unwrap_or_default();
        Ok(OsString::from_wide(path.get(..length).unwrap_or_default()))
    }

    /// Its user.
    pub(super) fn owner(&self) -> io::Result<ConnectionOwner> {
        let (theirs, own) = (ProcessUser::of_handle(self.0.as_raw_handle())?, ProcessUser::own()?);
        Ok(if is_same_user(theirs.sid(), own.sid()) {
            ConnectionOwner::Own
        } else if is_well_known(theirs.sid(), &[WinLocalSystemSid]) {
            ConnectionOwner::Administrator
        } else {
            ConnectionOwner::Another
        })
    }
}

/// Start, and processor time in the kernel and in the program, in 100 ns.
fn process_times(process: HANDLE) -> io::Result<(u64, u64)> {
    let none = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut started, mut ended, mut kernel, mut user) = (none, none, none, none);
    // SAFETY: the process is open, and each pointer has room for a time.
    checked(unsafe {
        let (started, ended) = (&raw mut started, &raw mut ended);
        GetProcessTimes(process, started, ended, &raw mut kernel, &raw mut user)
    })?;
    let number =
        |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    Ok((number(started), number(kernel) + number(user)))
}

/// The processor time that this process has taken.
pub(super) fn own_processor_time() -> io::Result<Duration> {
    // SAFETY: it is no real handle, and is not closed.
    let (_, taken) = process_times(unsafe { GetCurrentProcess() })?;
    Ok(Duration::from_nanos(taken.saturating_mul(100)))
}

/// The memory that this process takes, in bytes.
pub(super) fn own_memory() -> io::Result<u64> {
    let mut found = PROCESS_MEMORY_COUNTERS::default();
    let size = size_of_32::<PROCESS_MEMORY_COUNTERS>();
    // SAFETY: `found` has `size` bytes, and the handle is no real one.
    checked(unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut found, size) })?;
    Ok(found.WorkingSetSize as u64)
}

/// The time since the machine was started without the time that it slept.
pub(super) fn unbiased_time() -> Duration {
    let mut time = 0;
    // SAFETY: the pointer has room for the number.
    unsafe { QueryUnbiasedInterruptTime(&raw mut time) };
    Duration::from_nanos(time.saturating_mul(100))
}

/// The time since the machine was started with the time that it slept, in steps of some 16 ms.
pub(super) fn time_with_sleep() -> Duration {
    // SAFETY: there are no arguments.
    Duration::from_millis(unsafe { GetTickCount64() })
}

/// The number of the process that has started this process. It may have ended since.
pub(super) fn parent_of(process: u32) -> io::Result<Option<u32>> {
    // SAFETY: the arguments are numbers.
    let all = opened(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) })?;
    let mut entry =
        PROCESSENTRY32W { dwSize: size_of_32::<PROCESSENTRY32W>(), ..Default::default() };
    // SAFETY: the snapshot is open, and the entry says how long it is.
    let mut is_there = unsafe { Process32FirstW(all.as_raw_handle(), &raw mut entry) };
    while is_there != 0 {
        if entry.th32ProcessID == process {
            return Ok(Some(entry.th32ParentProcessID));
        }
        // SAFETY: as above.
        is_there = unsafe { Process32NextW(all.as_raw_handle(), &raw mut entry) };
    }
    Ok(None)
}

/// The columns and rows of the console on standard output.
pub(super) fn console_size() -> Option<(u16, u16)> {
    let mut found = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: `found` has room, and a handle of no console is refused.
    let is_console =
        unsafe { GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &raw mut found) };
    let window = found.srWindow;
    let size = |from: i16, to: i16| u16::try_from(i32::from(to) - i32::from(from) + 1).ok();
    (is_console != 0).then_some(())?;
    Some((size(window.Left, window.Right)?, size(window.Top, window.Bottom)?))
}

/// Has the console on standard output act on control sequences. Whether it does.
pub(super) fn enable_control_sequences() -> bool {
    let mut mode = 0;
    // SAFETY: the pointer has room for the mode, and a handle of no console is refused.
    unsafe {
        let console = GetStdHandle(STD_OUTPUT_HANDLE);
        GetConsoleMode(console, &raw mut mode) != 0
            && SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0
    }
}

/// A row of the system's table of connections or listeners.
pub(super) struct TcpRow {
    pub(super) local: (IpAddr, u16),
    pub(super) remote_port: u16,
    pub(super) process: u32,
}

/// Keeps the address that a socket will have from all other programs.
pub(super) fn keep_address(socket: &impl AsRawSocket) -> io::Result<()> {
    let on = 1_i32;
    let socket = usize::try_from(socket.as_raw_socket()).map_err(io::Error::other)?;
    // SAFETY: the value has the length that goes with it, and the socket is open.
    let set = unsafe {
        setsockopt(
            socket,
            SOL_SOCKET,
            SO_EXCLUSIVEADDRUSE,
            (&raw const on).cast(),
            size_of::<i32>() as i32,
        )
    };
    if set == SOCKET_ERROR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The connections over IPv4 or IPv6, as the address says.
pub(super) fn connections_like(address: SocketAddr) -> io::Result<Vec<TcpRow>> {
    tcp_rows(address.is_ipv4(), TCP_TABLE_OWNER_PID_CONNECTIONS)
}

/// The listeners on either version of IP.
pub(super) fn listeners() -> io::Result<Vec<TcpRow>> {
    let mut rows = tcp_rows(true, TCP_TABLE_OWNER_PID_LISTENER)?;
    rows.extend(tcp_rows(false, TCP_TABLE_OWNER_PID_LISTENER)?);
    Ok(rows)
}

fn tcp_rows(is_v4: bool, class: TCP_TABLE_CLASS) -> io::Result<Vec<TcpRow>> {
    let family = u32::from(if is_v4 { AF_INET } else { AF_INET6 });
    let table = tcp_table(family, class)?;
    // Ports stand in the first two bytes, as the network orders them.
    let port = |raw: u32| u16::from_be_bytes([raw.to_ne_bytes()[0], raw.to_ne_bytes()[1]]);
    let v4 = |row: MIB_TCPROW_OWNER_PID| TcpRow {
        local: (IpAddr::from(row.dwLocalAddr.to_ne_bytes()), port(row.dwLocalPort)),
        remote_port: port(row.dwRemotePort),
        process: row.dwOwningPid,
    };
    let v6 = |row: MIB_TCP6ROW_OWNER_PID| TcpRow {
        local: (IpAddr::from(row.ucLocalAddr), port(row.dwLocalPort)),
        remote_port: port(row.dwRemotePort),
        process: row.dwOwningPid,
    };
    Ok(if is_v4 { rows_in(&table, v4) } else { rows_in(&table, v6) })
}

/// A type of which every pattern of bytes is a value.
trait PlainRow: Copy {}
impl PlainRow for MIB_TCPROW_OWNER_PID {}
impl PlainRow for MIB_TCP6ROW_OWNER_PID {}

/// The rows of a table, which begins with their number.
fn rows_in<R: PlainRow>(table: &[u8], read: impl Fn(R) -> TcpRow) -> Vec<TcpRow> {
    let Some((count, rows)) = table.split_first_chunk() else { return Vec::new() };
    let count = usize::try_from(u32::from_ne_bytes(*count)).unwrap_or_default();
    let rows = rows.chunks_exact(size_of::<R>()).take(count);
    // SAFETY: the chunk is as long as a row, of which all bytes are numbers.
    rows.map(|row| read(unsafe { row.as_ptr().cast::<R>().read_unaligned() })).collect()
}

fn tcp_table(family: u32, class: TCP_TABLE_CLASS) -> io::Result<Vec<u8>> {
    // The table may grow between two calls.
    const TRIES: u32 = 8;
    let mut table = vec![0_u8; 16 * 1024];
    for _ in 0..TRIES {
        let mut size = u32::try_from(table.len()).unwrap_or(u32::MAX);
        // SAFETY: the buffer has `size` bytes.
        let code = unsafe {
            let into = table.as_mut_ptr().cast();
            GetExtendedTcpTable(into, &raw mut size, 0, family, class, 0)
        };
        if code != ERROR_INSUFFICIENT_BUFFER {
            checked_code(code)?;
            return Ok(table);
        }
        table.resize(usize::try_from(size).unwrap_or_default() + 4096, 0);
    }
    Err(io::ErrorKind::Interrupted.into())
}
