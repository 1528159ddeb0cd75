//! The kernel's answer to a question about one socket (`man 7 sock_diag`). It looks the socket up;
//! `/proc/net/tcp` goes through the whole table, which takes a thousand times as long.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use rustix::process::Uid;

/// `nlmsghdr`: length, type, flags, sequence number, port.
const HEADER: usize = 16;

/// `inet_diag_req_v2`: family, protocol, extensions, padding, states, socket.
const REQUEST: usize = 56;

/// `SOCK_DIAG_BY_FAMILY`, of the question and of its answer.
const BY_FAMILY: u16 = 20;

/// `NLMSG_ERROR`: behind the header there is a negative error number.
const ERROR: u16 = 2;

/// `NLM_F_REQUEST`.
const IS_REQUEST: u16 = 1;

/// Where an answer has its sequence number.
const SEQUENCE: usize = 8;

/// Where `inet_diag_msg` has the user, behind family, state, timer, retransmissions,
/// socket (48), expiry and two queues; the inode is the next field.
const USER: usize = HEADER + 4 + 48 + 12;
const INODE: usize = USER + 4;

/// Room for an answer without extensions, and more.
const ANSWER: usize = 512;

/// The connection to the kernel. It stays open, so that a lookup needs no file of its own.
#[derive(Debug, Default)]
pub(super) struct SockDiagClient {
    socket: Option<OwnedFd>,
    sequence: u32,
}

impl SockDiagClient {
    /// The user who owns the socket at `peer` that is connected to `own`. `None`: there is no
    /// such socket, or no process has it open any more.
    ///
    /// # Errors
    ///
    /// The system's, if it does not answer.
    pub(super) fn user_at(&mut self, peer: SocketAddr, own: SocketAddr) -> io::Result<Option<Uid>> {
        let answer = self.ask(peer, own);
        if answer.is_err() {
            // The next question gets a new connection.
            self.socket = None;
        }
        owner_in(&answer?)
    }

    fn ask(&mut self, peer: SocketAddr, own: SocketAddr) -> io::Result<[u8; ANSWER]> {
        self.sequence = self.sequence.wrapping_add(1);
        let socket = match &self.socket {
            Some(socket) => socket,
            None => self.socket.insert(open()?),
        };
        send(socket, &question(self.sequence, peer, own), SendFlags::empty())?;
        let mut answer = [0; ANSWER];
        loop {
            // The kernel has answered by the time that `send` returns.
            recv(socket, &mut answer, RecvFlags::DONTWAIT)?;
            if u32_at(&answer, SEQUENCE) == self.sequence {
                return Ok(answer);
            }
        }
    }
}

fn open() -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?)
}

/// Asks for the one socket at `peer` that is connected to `own`.
fn question(sequence: u32, peer: SocketAddr, own: SocketAddr) -> Vec<u8> {
    const TCP: u8 = 6;
    let family = if peer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let family = u8::try_from(family.as_raw()).unwrap_or_default();
    let length = u32::try_from(HEADER + REQUEST).unwrap_or_default();
    let mut asked = Vec::with_capacity(HEADER + REQUEST);
    asked.extend(length.to_ne_bytes());
    asked.extend(BY_FAMILY.to_ne_bytes());
    asked.extend(IS_REQUEST.to_ne_bytes());
    asked.extend(sequence.to_ne_bytes());
    asked.extend([0; 4]);
    asked.extend([family, TCP, 0, 0]);
    // In any state.
    asked.extend(u32::MAX.to_ne_bytes());
    asked.extend(peer.port().to_be_bytes());
    asked.extend(own.port().to_be_bytes());
    asked.extend(address(peer.ip()));
    asked.extend(address(own.ip()));
    // On any interface; the last is no cookie.
    asked.extend(0_u32.to_ne_bytes());
    asked.extend([u8::MAX; 8]);
    asked
}

/// An address in 16 bytes, an IPv4 one in the first four.
fn address(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(v4) => {
            let mut padded = [0; 16];
            padded[..4].copy_from_slice(&v4.octets());
            padded
        }
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// The user who owns the socket that an answer describes.
fn owner_in(answer: &[u8; ANSWER]) -> io::Result<Option<Uid>> {
    /// `TCP_LISTEN`, the state in the second byte.
    const LISTENING: u8 = 10;
    match u16::from_ne_bytes([answer[4], answer[5]]) {
        BY_FAMILY => {
            // Where there is no connection, the kernel names whoever listens at `peer`. A socket
            // without an inode has been closed, and its user is told as 0: the administrator.
            let is_owned = answer[HEADER + 1] != LISTENING && u32_at(answer, INODE) != 0;
            Ok(is_owned.then(|| Uid::from_raw(u32_at(answer, USER))))
        }
        ERROR => match u32_at(answer, HEADER).wrapping_neg().cast_signed() {
            code if code == Errno::NOENT.raw_os_error() => Ok(None),
            code => Err(io::Error::from_raw_os_error(code)),
        },
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn u32_at(answer: &[u8; ANSWER], at: usize) -> u32 {
    let bytes = answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_ne_bytes)
}
