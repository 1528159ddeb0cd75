//! A slow line: 1 Mbit/s and 200 ms there and back, for all connections by it together.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Sleep, sleep};
use tokio_util::task::AbortOnDropHandle;

/// How many bytes pass in a second: 1 Mbit.
const RATE: f64 = 125_000.0;

/// How long a byte is on its way.
const ONE_WAY: Duration = Duration::from_millis(100);

/// How many bytes are taken at a time, and how many of these wait on the way: 64 KiB, as in a router.
const PART: usize = 1024;
const PARTS: usize = 64;

/// A port behind which a slow line leads to another. It ends when it is dropped.
pub struct SlowLine {
    port: u16,
    _serving: AbortOnDropHandle<()>,
}

impl SlowLine {
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let [there, back] = [(); 2].map(|()| Arc::new(Mutex::new(())));
        let serving = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(("127.0.0.1", port)).await else { continue };
                let (near_from, near_to) = near.into_split();
                let (far_from, far_to) = far.into_split();
                tokio::spawn(pass(near_from, far_to, there.clone()));
                tokio::spawn(pass(far_from, near_to, back.clone()));
            }
        });
        Self { port: own, _serving: AbortOnDropHandle::new(serving) }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }
}

/// One direction of a connection. `line`: held while bytes of any connection pass.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    line: Arc<Mutex<()>>,
) {
    let (queue, mut waiting) = mpsc::channel::<(Pin<Box<Sleep>>, Vec<u8>)>(PARTS);
    let taking = async move {
        loop {
            let mut part = vec![0; PART];
            let Ok(read @ 1..) = from.read(&mut part).await else { return };
            part.truncate(read);
            if queue.send((Box::pin(sleep(ONE_WAY)), part)).await.is_err() {
                return;
            }
        }
    };
    let giving = async move {
        while let Some((arrives, part)) = waiting.recv().await {
            arrives.await;
            #[expect(clippy::cast_precision_loss, reason = "at most a part")]
            let takes = Duration::from_secs_f64(part.len() as f64 / RATE);
            let _line = line.lock().await;
            if to.write_all(&part).await.is_err() {
                return;
            }
            sleep(takes).await;
        }
    };
    tokio::join!(taking, giving);
}
