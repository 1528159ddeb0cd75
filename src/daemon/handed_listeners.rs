//! The sockets that a service manager has opened for the daemon: systemd's socket activation.
//!
//! Source: sd_listen_fds(3). The variables that name the sockets are removed once they are read, so
//! that no program which the daemon starts takes them for its own.

use std::io;
use std::net::SocketAddr;

use listenfd::ListenFd;
use tokio::net::TcpListener;

/// Listeners on one port of the loopback.
#[derive(Debug)]
pub struct HandedListeners {
    pub(super) listeners: Vec<TcpListener>,
    pub(super) port: u16,
}

/// Why the sockets of a service manager are not used.
#[derive(Debug, thiserror::Error)]
pub enum HandedSocketError {
    /// One of them is open to other machines.
    #[error(
        "the service manager listens on {0}, which other machines can reach; Tabwire listens on the loopback only. Write 127.0.0.1 and [::1] in the socket unit, or run `tabwire service install`"
    )]
    NotLoopback(SocketAddr),
    /// They have different ports, and clients know one.
    #[error(
        "the service manager listens on ports {0} and {1}; Tabwire uses one port. Run `tabwire service install`"
    )]
    Ports(u16, u16),
    /// One of them is no listening TCP socket.
    #[error("the service manager handed over a socket that does not listen for TCP: {0}")]
    Unusable(#[from] io::Error),
}

impl HandedListeners {
    /// The sockets that were handed to this process; `None`: it was started without any.
    ///
    /// # Errors
    ///
    /// [`HandedSocketError`], where the daemon could not do with them.
    pub fn take() -> Result<Option<Self>, HandedSocketError> {
        let mut handed = ListenFd::from_env();
        let mut listeners = Vec::new();
        for number in 0..handed.len() {
            listeners.extend(handed.take_tcp_listener(number)?);
        }
        Self::of(listeners)
    }

    fn of(handed: Vec<std::net::TcpListener>) -> Result<Option<Self>, HandedSocketError> {
        let mut port = None;
        let mut listeners = Vec::new();
        for listener in handed {
            let address = listener.local_addr()?;
            if !address.ip().is_loopback() {
                return Err(HandedSocketError::NotLoopback(address));
            }
            let first = *port.get_or_insert(address.port());
            if first != address.port() {
                return Err(HandedSocketError::Ports(first, address.port()));
            }
            listener.set_nonblocking(true)?;
            listeners.push(TcpListener::from_std(listener)?);
        }
        Ok(port.map(|port| Self { listeners, port }))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn listening(address: &str) -> TcpListener {
        TcpListener::bind((address, 0)).unwrap()
    }

    #[tokio::test]
    async fn only_sockets_of_one_port_of_the_loopback_are_taken() {
        assert!(HandedListeners::of(Vec::new()).unwrap().is_none());
        let one = listening("127.0.0.1");
        let port = one.local_addr().unwrap().port();
        let taken = HandedListeners::of(vec![one]).unwrap().unwrap();
        assert_eq!((taken.port, taken.listeners.len()), (port, 1));

        let open = HandedListeners::of(vec![listening("127.0.0.1"), listening("0.0.0.0")]);
        let error = open.unwrap_err().to_string();
        assert!(error.contains("0.0.0.0:") && error.contains("tabwire service install"), "{error}");
        let two = HandedListeners::of(vec![listening("127.0.0.1"), listening("127.0.0.1")]);
        assert!(matches!(two.unwrap_err(), HandedSocketError::Ports(..)));
    }
}
