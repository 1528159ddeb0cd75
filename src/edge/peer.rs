//! Whose process is at the other end of a connection of this computer.

use std::net::SocketAddr;

use rustix::process::{Uid, geteuid};

/// Whether a connection from `peer` to `own` is another user's. Not if nobody knows: then
/// the token decides. The administrator could read our files anyway.
pub(super) fn is_anothers(peer: SocketAddr, own: SocketAddr) -> bool {
    user_at(peer, own).is_some_and(|user| is_kept_out(user, geteuid()))
}

fn is_kept_out(user: Uid, own: Uid) -> bool {
    user != own && !user.is_root()
}

/// The user of the socket at `peer` that is connected to `own`.
#[cfg(target_os = "linux")]
fn user_at(peer: SocketAddr, own: SocketAddr) -> Option<Uid> {
    sock_diag::user_at(peer, own)
        .inspect_err(|error| tracing::debug!(%peer, %error, "its user is not known"))
        .ok()
}

#[cfg(not(target_os = "linux"))]
const fn user_at(_peer: SocketAddr, _own: SocketAddr) -> Option<Uid> {
    None
}

/// The kernel's answer to a question about one socket (`man 7 sock_diag`). It looks it up;
/// `/proc/net/tcp` goes through the whole table, which takes a thousand times as long.
#[cfg(target_os = "linux")]
mod sock_diag {
    use std::io;
    use std::net::{IpAddr, SocketAddr};

    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    };
    use rustix::process::Uid;

    /// `nlmsghdr`: length, type, flags, sequence number, port.
    const HEADER: usize = 16;

    /// `inet_diag_req_v2`: family, protocol, extensions, padding, states, socket.
    const REQUEST: usize = 56;

    /// `SOCK_DIAG_BY_FAMILY`, of the question and of its answer.
    const BY_FAMILY: u16 = 20;

    /// `NLM_F_REQUEST`.
    const IS_REQUEST: u16 = 1;

    /// Where `inet_diag_msg` has the user, behind family, state, timer, retransmissions,
    /// socket (48), expiry and two queues.
    const USER: usize = HEADER + 4 + 48 + 12;

    /// Room for an answer without extensions, and more.
    const ANSWER: usize = 512;

    /// # Errors
    ///
    /// The system's; `NotFound` if it knows no such socket.
    pub(super) fn user_at(peer: SocketAddr, own: SocketAddr) -> io::Result<Uid> {
        let kernel = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        send(&kernel, &question(peer, own), SendFlags::empty())?;
        let mut answer = [0; ANSWER];
        // It has been answered by the time `send` returns.
        let (_, length) = recv(&kernel, &mut answer, RecvFlags::DONTWAIT)?;
        user_in(answer.get(..length).unwrap_or_default()).ok_or_else(not_found)
    }

    fn not_found() -> io::Error {
        io::ErrorKind::NotFound.into()
    }

    /// What is asked: the one socket at `peer` that is connected to `own`.
    fn question(peer: SocketAddr, own: SocketAddr) -> Vec<u8> {
        const TCP: u8 = 6;
        let family = if peer.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let family = u8::try_from(family.as_raw()).unwrap_or_default();
        let length = u32::try_from(HEADER + REQUEST).unwrap_or_default();
        let mut asked = Vec::with_capacity(HEADER + REQUEST);
        asked.extend(length.to_ne_bytes());
        asked.extend(BY_FAMILY.to_ne_bytes());
        asked.extend(IS_REQUEST.to_ne_bytes());
        asked.extend([0; 8]);
        asked.extend([family, TCP, 0, 0]);
        // Whatever state it is in.
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

    /// The user that an answer names, if it is one and no error.
    fn user_in(answer: &[u8]) -> Option<Uid> {
        let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
        let user = u32::from_ne_bytes(answer.get(USER..USER + 4)?.try_into().ok()?);
        (kind == BY_FAMILY).then(|| Uid::from_raw(user))
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn only_this_user_and_the_administrator_get_in() {
        let user = Uid::from_raw;
        assert!(!is_kept_out(user(1000), user(1000)));
        assert!(!is_kept_out(user(0), user(1000)));
        assert!(is_kept_out(user(1001), user(1000)));
        assert!(is_kept_out(user(1000), user(0)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_user_of_a_connection_is_known_on_either_version_of_ip() {
        for (listening, connecting) in
            [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "::ffff:127.0.0.1"), ("::1", "::1")]
        {
            // Not every computer has IPv6.
            let Ok(listener) = TcpListener::bind((listening, 0)) else { continue };
            let own = listener.local_addr().unwrap();
            let client = TcpStream::connect((connecting, own.port())).unwrap();
            let (_stream, peer) = listener.accept().unwrap();
            assert_eq!(user_at(peer, own), Some(geteuid()), "{connecting}");
            assert!(!is_anothers(peer, own));
            let nobody = SocketAddr::new(peer.ip(), peer.port() ^ 1);
            assert_eq!(user_at(nobody, own), None);
            assert!(!is_anothers(nobody, own), "then the token decides");
            drop(client);
        }
    }
}
