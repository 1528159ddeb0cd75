//! Between an extension and its daemon: refuses sockets, and cuts whatever it passes on, at
//! random.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::SeededRandom;

/// A relay that cuts, on a port of its own.
pub struct CuttingRelay {
    port: u16,
    seen: Arc<Seen>,
}

/// What has passed, or has not.
#[derive(Debug, Default)]
pub struct Seen {
    pub sockets: AtomicUsize,
    pub refused: AtomicUsize,
    pub sessions: AtomicUsize,
    /// Whether sockets are refused now, and how many more.
    spell: Mutex<(bool, u64)>,
}

/// What becomes of a connection.
enum ConnectionFate {
    Refused,
    Lives(Duration),
}

impl CuttingRelay {
    /// The first sockets are refused, as many as it takes for HTTP to be tried.
    pub async fn start(daemon: u16, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, dice) =
            (Arc::new(Seen::default()), Arc::new(Mutex::new(SeededRandom::new(seed))));
        let its = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass_on(stream, daemon, its.clone(), dice.clone()));
            }
        });
        Self { port, seen }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub fn seen(&self) -> &Seen {
        &self.seen
    }
}

impl Seen {
    /// Three in a row, so that HTTP is tried, then one or two in a row are not.
    fn is_refused(&self, dice: &mut SeededRandom) -> bool {
        let mut spell = self.spell.lock().unwrap();
        let (is_refusing, left) = *spell;
        let next = if is_refusing { 1 + dice.below(2) } else { 3 };
        *spell = if left == 0 { (!is_refusing, next - 1) } else { (is_refusing, left - 1) };
        spell.0
    }

    fn fate(&self, head: &[u8], dice: &Mutex<SeededRandom>) -> ConnectionFate {
        let mut dice = dice.lock().unwrap();
        if head.starts_with(b"GET /ws ") {
            if self.is_refused(&mut dice) {
                self.refused.fetch_add(1, Ordering::Relaxed);
                return ConnectionFate::Refused;
            }
            self.sockets.fetch_add(1, Ordering::Relaxed);
            return ConnectionFate::Lives(Duration::from_millis(200 + dice.below(800)));
        }
        let is_cut = dice.below(4) == 0;
        ConnectionFate::Lives(Duration::from_millis(if is_cut {
            dice.below(1_500)
        } else {
            600_000
        }))
    }
}

async fn pass_on(
    mut stream: TcpStream,
    daemon: u16,
    seen: Arc<Seen>,
    dice: Arc<Mutex<SeededRandom>>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut head = vec![0; 64 * 1024];
    let length = stream.read(&mut head).await.ok()?;
    head.truncate(length);
    let ConnectionFate::Lives(length) = seen.fate(&head, &dice) else { return None };
    let behind = TcpStream::connect(("127.0.0.1", daemon)).await.ok()?;
    behind.set_nodelay(true).ok()?;
    let (from_extension, to_extension) = stream.into_split();
    let (from_daemon, to_daemon) = behind.into_split();
    let both = async {
        tokio::select! {
            _ = copy(head, from_extension, to_daemon, Some(&seen)) => {}
            _ = copy(Vec::new(), from_daemon, to_extension, None) => {}
        }
    };
    timeout(length, both).await.ok()
}

/// Copies bytes, and counts the sessions among them.
async fn copy(
    mut bytes: Vec<u8>,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    requests: Option<&Seen>,
) -> Option<()> {
    loop {
        if let Some(seen) = requests {
            let is_hello = bytes.starts_with(b"POST /session ")
                && bytes.windows(7).any(|part| part == b"\"hello\"");
            seen.sessions.fetch_add(usize::from(is_hello), Ordering::Relaxed);
        }
        to.write_all(&bytes).await.ok()?;
        bytes.resize(64 * 1024, 0);
        let length = from.read(&mut bytes).await.ok()?;
        bytes.truncate(length);
        if length == 0 {
            return None;
        }
    }
}
