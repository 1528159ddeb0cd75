//! How a program of this computer connects to the daemon: by its socket in the state directory, or by
//! its port where there is none; to one on another machine by the socket of a place, or in memory by a part of this
//! program that carries calls there.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::home::socket_in;
use crate::os::AsyncUnixStream;

/// Why there is no connection.
type ConnectError = Box<dyn std::error::Error + Send + Sync>;

/// A part of this program that carries calls to a daemon on another machine: each connection begins one in memory.
/// Cheap to clone.
#[derive(Clone)]
pub struct CallCarrier(Arc<dyn Fn() -> DuplexStream + Send + Sync>);

impl CallCarrier {
    /// A carrier at the other end of the connections that this makes. It is called on a runtime.
    pub fn new(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Self {
        Self(Arc::new(connect))
    }
}

impl fmt::Debug for CallCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallCarrier")
    }
}

/// Connects to the daemon of one state directory, or to one on another machine by its place's socket. Cheap
/// to clone.
#[derive(Clone, Debug)]
pub(crate) struct DaemonConnector {
    way: ConnectorWay,
    port: HttpConnector,
}

/// Where the socket is.
#[derive(Clone, Debug)]
enum ConnectorWay {
    /// In this state directory, and behind it the port.
    Home(Arc<Path>),
    /// Here, and there is no other way.
    Socket(Arc<Path>),
    /// In memory.
    Carrier(CallCarrier),
}

impl DaemonConnector {
    /// A connector for the daemon of this state directory.
    pub(crate) fn new(home: &Path) -> Self {
        let mut port = HttpConnector::new();
        // Small requests would wait for an acknowledgement otherwise.
        port.set_nodelay(true);
        Self { way: ConnectorWay::Home(home.into()), port }
    }

    /// A connector for this socket alone: nothing goes to any port.
    pub(crate) fn of_socket(path: &Path) -> Self {
        Self { way: ConnectorWay::Socket(path.into()), port: HttpConnector::new() }
    }

    /// A connector for this carrier alone.
    pub(crate) fn of_carrier(carrier: CallCarrier) -> Self {
        Self { way: ConnectorWay::Carrier(carrier), port: HttpConnector::new() }
    }
}

impl Service<Uri> for DaemonConnector {
    type Response = DaemonStream;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<DaemonStream, ConnectError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        self.port.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let home = match &self.way {
            ConnectorWay::Home(home) => home,
            ConnectorWay::Socket(path) => {
                let path = path.clone();
                return Box::pin(async move {
                    let stream = AsyncUnixStream::connect(&path).await?;
                    Ok(DaemonStream::Socket(TokioIo::new(stream)))
                });
            }
            ConnectorWay::Carrier(CallCarrier(connect)) => {
                let stream = DaemonStream::Memory(TokioIo::new(connect()));
                return Box::pin(std::future::ready(Ok(stream)));
            }
        };
        let socket = socket_in(home);
        let by_port = self.port.call(address);
        Box::pin(async move {
            if let Some(path) = socket
                // One that a killed daemon has left, or of a daemon that cannot take more, is passed over.
                && let Ok(stream) = AsyncUnixStream::connect(&path).await
            {
                return Ok(DaemonStream::Socket(TokioIo::new(stream)));
            }
            Ok(DaemonStream::Port(by_port.await?))
        })
    }
}

/// A connection to the daemon.
#[derive(Debug)]
pub(crate) enum DaemonStream {
    /// By the socket in the state directory.
    Socket(TokioIo<AsyncUnixStream>),
    /// By the port on the loopback.
    Port(TokioIo<TcpStream>),
    /// In memory.
    Memory(TokioIo<DuplexStream>),
}

impl Connection for DaemonStream {
    fn connected(&self) -> Connected {
        match self {
            Self::Socket(stream) => stream.connected(),
            Self::Port(stream) => stream.connected(),
            Self::Memory(_) => Connected::new(),
        }
    }
}

impl Read for DaemonStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Socket(stream) => Pin::new(stream).poll_read(context, into),
            Self::Port(stream) => Pin::new(stream).poll_read(context, into),
            Self::Memory(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl Write for DaemonStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Socket(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Port(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Memory(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Socket(stream) => Pin::new(stream).poll_flush(context),
            Self::Port(stream) => Pin::new(stream).poll_flush(context),
            Self::Memory(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Socket(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Port(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Memory(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Socket(stream) => stream.is_write_vectored(),
            Self::Port(stream) => stream.is_write_vectored(),
            Self::Memory(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Socket(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Self::Port(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Self::Memory(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }
}
