//! Whose process is at the other end of a connection of this computer.
//!
//! Linux keeps a table of its sockets and their users. A process that sends a request and closes
//! its socket at once is no longer in the table when the connection is accepted, and its request
//! can still be read. So where there is a table, a missing entry counts as another user's.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::os::{self, ConnectionOwner, ConnectionTable};
use crate::protocol::Timestamp;

/// How long a socket that is not in the table may take to be there.
const RETRY: Duration = Duration::from_millis(5);

/// How often at most the daemon checks again whether there is a table.
const RECHECK: Duration = Duration::from_secs(10);

/// Whose process is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerUser {
    /// This user's, or the administrator's, who could read our files anyway.
    Ours,
    /// Another user's: the connection is closed before a byte of it is read.
    Another,
    /// The system has no table of sockets: tokens and proofs decide.
    Unknown,
}

impl PeerUser {
    pub(super) const fn of(owner: ConnectionOwner) -> Self {
        match owner {
            ConnectionOwner::Own | ConnectionOwner::Administrator => Self::Ours,
            ConnectionOwner::Another => Self::Another,
            ConnectionOwner::Unknown => Self::Unknown,
        }
    }
}

/// Looks peers up in the system's table of sockets.
#[derive(Debug)]
pub(super) struct PeerLookup(Mutex<SocketTable>);

#[derive(Debug)]
struct SocketTable {
    exists: bool,
    checked_at: Timestamp,
    system: ConnectionTable,
}

impl PeerLookup {
    /// Finds out whether the system has a table, with a socket of our own.
    pub(super) fn new(now: Timestamp) -> Self {
        let mut table =
            SocketTable { exists: false, checked_at: now, system: ConnectionTable::default() };
        table.check(now);
        if !table.exists {
            tracing::warn!(
                "this system does not say which user a connection belongs to: tokens and proofs \
                 decide, and extensions that only poll are refused"
            );
        }
        Self(Mutex::new(table))
    }

    /// The user of the socket at `peer` that is connected to `own`. `None`: the table has no such
    /// socket, or a lookup takes long; look again after [`RETRY`], by [`PeerLookup::look_again`].
    pub(super) fn user_of(
        &self,
        peer: SocketAddr,
        own: SocketAddr,
        now: Timestamp,
    ) -> Option<PeerUser> {
        let mut table = self.lock();
        if !table.exists {
            table.recheck(now);
        }
        if table.exists && !ConnectionTable::IS_QUICK {
            return None;
        }
        table.user_of(peer, own)
    }

    /// The same for a socket that was missing once, after [`RETRY`].
    pub(super) async fn look_again(
        self: Arc<Self>,
        peer: SocketAddr,
        own: SocketAddr,
        now: impl FnOnce() -> Timestamp,
    ) -> PeerUser {
        tokio::time::sleep(RETRY).await;
        let now = now();
        let look = move || self.user_of_missing(peer, own, now);
        if ConnectionTable::IS_QUICK {
            return look();
        }
        tokio::task::spawn_blocking(look).await.unwrap_or(PeerUser::Another)
    }

    fn user_of_missing(&self, peer: SocketAddr, own: SocketAddr, now: Timestamp) -> PeerUser {
        let mut table = self.lock();
        if let Some(user) = table.user_of(peer, own) {
            return user;
        }
        table.recheck(now);
        if table.exists { PeerUser::Another } else { PeerUser::Unknown }
    }

    fn lock(&self) -> MutexGuard<'_, SocketTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SocketTable {
    fn user_of(&mut self, peer: SocketAddr, own: SocketAddr) -> Option<PeerUser> {
        if !self.exists {
            return Some(PeerUser::Unknown);
        }
        match self.system.owner_of(peer, own) {
            Ok(owner) => owner.map(PeerUser::of),
            Err(error) => {
                // It had answered before, so this is no system without a table.
                tracing::debug!(%peer, %error, "the user of a connection cannot be looked up");
                None
            }
        }
    }

    /// Checks again whether there is a table, unless that was done a moment ago.
    fn recheck(&mut self, now: Timestamp) {
        if now.since(self.checked_at) >= RECHECK {
            self.check(now);
        }
    }

    fn check(&mut self, now: Timestamp) {
        self.checked_at = now;
        match self.finds_own_socket() {
            Ok(found) => self.exists = found,
            // Such as no more files: that says nothing about the system.
            Err(error) => tracing::debug!(%error, "cannot check for a table of sockets"),
        }
    }

    fn finds_own_socket(&mut self) -> io::Result<bool> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let own = listener.local_addr()?;
        let client = TcpStream::connect(own)?;
        let peer = client.local_addr()?;
        match self.system.owner_of(peer, own) {
            // In some user namespaces all sockets have the same, foreign user.
            Ok(owner) => Ok(owner == Some(ConnectionOwner::Own)),
            Err(error) if os::is_passing(&error) => Err(error),
            Err(_no_table) => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::Shutdown;

    use super::*;
    use crate::os::OperatingSystem;

    const NOW: Timestamp = Timestamp::from_unix_micros(1_000_000_000);

    /// Whether the system's table is Linux's. Windows does not tell a closed socket from a foreign one, and
    /// macOS tells nothing.
    fn is_linux() -> bool {
        OperatingSystem::current() == OperatingSystem::Linux
    }

    /// A connection over the loopback: its two ends and their addresses.
    fn connection(listening: &str, connecting: &str) -> Option<(TcpStream, TcpStream)> {
        // Not every computer has IPv6.
        let listener = TcpListener::bind((listening, 0)).ok()?;
        let client = TcpStream::connect((connecting, listener.local_addr().unwrap().port()));
        Some((client.unwrap(), listener.accept().unwrap().0))
    }

    #[test]
    fn the_user_of_a_connection_is_known_on_either_version_of_ip() {
        if !is_linux() {
            return;
        }
        let lookup = PeerLookup::new(NOW);
        assert!(lookup.lock().exists, "these tests need a table of sockets");
        for (listening, connecting) in
            [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "::ffff:127.0.0.1"), ("::1", "::1")]
        {
            let Some((client, accepted)) = connection(listening, connecting) else { continue };
            let (peer, own) = (accepted.peer_addr().unwrap(), accepted.local_addr().unwrap());
            assert_eq!(lookup.user_of(peer, own, NOW), Some(PeerUser::Ours), "{connecting}");
            let nobody = SocketAddr::new(peer.ip(), peer.port() ^ 1);
            assert_eq!(lookup.user_of(nobody, own, NOW), None);
            assert_eq!(lookup.user_of_missing(nobody, own, NOW), PeerUser::Another);
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(lookup.user_of(peer, own, NOW), Some(PeerUser::Ours), "it still reads");
        }
    }

    #[test]
    fn a_socket_that_its_process_has_closed_has_no_user_any_more() {
        if !is_linux() {
            return;
        }
        let lookup = PeerLookup::new(NOW);
        for linger in [None, Some(Duration::ZERO)] {
            let (mut client, accepted) = connection("127.0.0.1", "127.0.0.1").unwrap();
            let (peer, own) = (accepted.peer_addr().unwrap(), accepted.local_addr().unwrap());
            client.write_all(b"GET / HTTP/1.1\r\n").unwrap();
            rustix::net::sockopt::set_socket_linger(&client, linger).unwrap();
            drop(client);
            // The kernel reports an orphan as the administrator's.
            assert_eq!(lookup.user_of(peer, own, NOW), None, "{linger:?}");
            assert_eq!(lookup.user_of_missing(peer, own, NOW), PeerUser::Another, "{linger:?}");
        }
    }

    #[test]
    fn whether_there_is_a_table_is_checked_again_after_a_while() {
        if !is_linux() {
            return;
        }
        let lookup = PeerLookup::new(NOW);
        lookup.lock().exists = false;
        let (_client, accepted) = connection("127.0.0.1", "127.0.0.1").unwrap();
        let (peer, own) = (accepted.peer_addr().unwrap(), accepted.local_addr().unwrap());
        assert_eq!(lookup.user_of(peer, own, NOW), Some(PeerUser::Unknown));
        assert_eq!(lookup.user_of(peer, own, NOW + RECHECK), Some(PeerUser::Ours));
    }
}
