//! Waiting without sleeping: for what happens soon, and for deadlines in frozen time.

use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

/// How long anything that should happen at once may take on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// Waits for what should happen at once.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(SOON, future).await {
        Ok(done) => done,
        Err(_elapsed) => panic!("{what}: did not happen"),
    }
}

/// Keeps a paused clock from moving on by itself, which it would do whenever the runtime
/// waits for a socket. While this lives, time passes by [`Frozen::pass`] alone.
///
/// It works by keeping a blocking task busy: tokio moves a paused clock only while there
/// is none. After [`Frozen::REAL`] the task ends, and with it a test that hangs.
pub(crate) struct Frozen {
    /// Dropping it ends the blocking task.
    _release: mpsc::Sender<()>,
}

impl Frozen {
    const REAL: Duration = Duration::from_secs(20);

    /// Freezes time. The test must be `#[tokio::test(start_paused = true)]`.
    pub(crate) async fn time() -> Self {
        let (release, released) = mpsc::channel::<()>();
        let (began, begun) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let _ = began.send(());
            // Either way it is over: the test has ended, or it hangs.
            let _ = released.recv_timeout(Self::REAL);
        });
        begun.await.unwrap();
        Self { _release: release }
    }

    /// Lets this much time pass.
    pub(crate) async fn pass(&self, length: Duration) {
        tokio::time::advance(length).await;
    }

    /// Lets this many milliseconds pass.
    pub(crate) async fn pass_ms(&self, millis: u64) {
        self.pass(Duration::from_millis(millis)).await;
    }
}

/// Measures real time.
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a bound on real time is what is tested")]
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Panics unless less than this has passed.
    pub(crate) fn assert_under(&self, millis: u64, what: &str) {
        let took = self.0.elapsed();
        assert!(took < Duration::from_millis(millis), "{what} took {took:?}, over {millis} ms");
    }
}
