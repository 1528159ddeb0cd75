//! Waiting without sleeping: for what happens soon, and for deadlines in frozen time.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long anything that should happen at once may take on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// Waits for what should happen at once.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(SOON, future).await {
        Ok(done) => done,
        Err(_elapsed) => panic!("{what}: did not happen"),
    }
}

/// How often it is looked whether something has happened that nobody tells of.
pub const LOOK: Duration = Duration::from_millis(5);

/// Looks until it is so. To be given a time by [`soon`] or the like.
pub async fn until(mut is_it: impl AsyncFnMut() -> bool) {
    while !is_it().await {
        tokio::time::sleep(LOOK).await;
    }
}

/// Keeps a paused clock from moving on by itself, which it would do whenever the runtime
/// waits for a socket. While this lives, time passes by [`FrozenClock::pass`] alone.
///
/// It works by keeping a blocking task busy: tokio moves a paused clock only while there
/// is none. What does not happen in frozen time would be waited for without end, so after
/// twenty real seconds time is let go, and the test fails.
pub struct FrozenClock {
    /// Dropping it ends the blocking task.
    release: Option<mpsc::Sender<()>>,
    ran_away: Arc<AtomicBool>,
}

impl FrozenClock {
    const REAL: Duration = Duration::from_secs(20);

    /// Freezes time. The test must be `#[tokio::test(start_paused = true)]`.
    pub async fn time() -> Self {
        let (release, released) = mpsc::channel::<()>();
        let (began, begun) = tokio::sync::oneshot::channel();
        let ran_away = Arc::new(AtomicBool::new(false));
        let runs_away = ran_away.clone();
        tokio::task::spawn_blocking(move || {
            let _ = began.send(());
            if released.recv_timeout(Self::REAL) == Err(RecvTimeoutError::Timeout) {
                runs_away.store(true, Ordering::SeqCst);
            }
        });
        begun.await.unwrap();
        Self { release: Some(release), ran_away }
    }

    /// Lets this much time pass.
    pub async fn pass(&self, length: Duration) {
        self.assert_frozen();
        tokio::time::advance(length).await;
    }

    /// Lets this many milliseconds pass.
    pub async fn pass_ms(&self, millis: u64) {
        self.pass(Duration::from_millis(millis)).await;
    }

    fn assert_frozen(&self) {
        let ran_away = self.ran_away.load(Ordering::SeqCst);
        assert!(!ran_away, "something was waited for that did not happen in frozen time");
    }
}

impl Drop for FrozenClock {
    fn drop(&mut self) {
        drop(self.release.take());
        if !std::thread::panicking() {
            self.assert_frozen();
        }
    }
}

/// Measures real time.
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a bound on real time is what is tested")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Whether less than this has passed.
    pub fn is_under(&self, millis: u64) -> bool {
        self.0.elapsed() < Duration::from_millis(millis)
    }

    /// How many milliseconds have passed.
    pub fn millis(&self) -> u128 {
        self.0.elapsed().as_millis()
    }

    /// How many microseconds have passed.
    pub fn micros(&self) -> u128 {
        self.0.elapsed().as_micros()
    }

    /// Panics unless less than this has passed.
    pub fn assert_under(&self, millis: u64, what: &str) {
        let took = self.0.elapsed();
        assert!(took < Duration::from_millis(millis), "{what} took {took:?}, over {millis} ms");
    }
}

/// The clock that goes on while the machine sleeps.
#[cfg(target_os = "linux")]
const WITH_SLEEP: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const WITH_SLEEP: ClockId = ClockId::Monotonic;

/// Until so much time has passed by the clock that counts sleep.
pub async fn passes(length: Duration) {
    let read = || Duration::try_from(clock_gettime(WITH_SLEEP)).unwrap();
    let began = read();
    until(async || read() - began > length).await;
}
