//! What is said while a sync runs, what two at once do, and how long one will take.

use std::sync::mpsc;
use std::sync::{Condvar, Mutex};
use std::thread;

use super::super::sync::REPORT_EVERY;
use super::*;

/// Counts up, and lets others wait for a count.
#[derive(Default)]
struct Counter {
    count: Mutex<u32>,
    grown: Condvar,
}

impl Counter {
    fn add(&self) {
        *self.count.lock().unwrap() += 1;
        self.grown.notify_all();
    }

    fn wait_for(&self, more: u32) {
        let count = self.count.lock().unwrap();
        let least = *count + more;
        drop(self.grown.wait_while(count, |count| *count < least).unwrap());
    }
}

#[test]
fn progress_comes_at_least_twice_a_second() {
    assert!(REPORT_EVERY * 2 <= Duration::from_secs(1));
}

#[test]
fn progress_goes_on_while_one_file_is_read_and_while_one_folder_is_listed() {
    let mut it = fixture();
    it.write("below/small", "content", 1);
    it.write("large", "content", 1);
    let counter = Arc::new(Counter::default());
    let real = std::mem::take(&mut it.monitor.disk);
    let (listing, reading) = (Arc::clone(&counter), Arc::clone(&counter));
    // Each ends only after three more reports.
    it.monitor.disk.list = Box::new(move |path| {
        if path.ends_with("below") {
            listing.wait_for(3);
        }
        (real.list)(path)
    });
    it.monitor.disk.read = Box::new(move |path, file, buffer| {
        if path.ends_with("large") {
            reading.wait_for(3);
        }
        (real.read)(path, file, &mut buffer[..4])
    });
    let mut seen = Vec::new();
    let mut watch = |progress: &SyncProgress| {
        seen.push(*progress);
        counter.add();
    };
    it.monitor.sync(&it.request(), &mut watch, &|| false).unwrap();
    assert!(seen.iter().filter(|progress| progress.phase == SyncPhase::Walking).count() >= 3);
    assert!(seen.iter().filter(|progress| progress.phase == SyncPhase::Reading).count() >= 3);
    assert!(seen.is_sorted_by(|a, b| a.fraction <= b.fraction), "{seen:?}");
    let last = seen.last().unwrap();
    assert_eq!((last.phase, last.done, last.total), (SyncPhase::Done, 2, Some(2)));
    assert!((last.fraction - 1.0).abs() < f64::EPSILON);
    assert_eq!(last.message(), "Processing 2 of 2 files");
    assert_eq!(seen[0].message(), "Found 0 files so far");
}

/// A monitor whose first sync does not end before it is told to.
fn held() -> (Fixture, mpsc::Sender<()>, mpsc::Receiver<()>) {
    let mut it = fixture();
    it.write("file", "content", 1);
    let (release, released) = mpsc::channel();
    let (reached, reaches) = mpsc::channel();
    let released = Mutex::new(released);
    let open = std::mem::take(&mut it.monitor.disk).open;
    it.monitor.disk.open = Box::new(move |path| {
        reached.send(()).unwrap();
        released.lock().unwrap().recv().unwrap();
        open(path)
    });
    (it, release, reaches)
}

#[test]
fn a_second_sync_waits_for_the_first_and_says_so() {
    let (it, release, reaches) = held();
    thread::scope(|scope| {
        let first = scope.spawn(|| it.sync());
        reaches.recv().unwrap();
        let second = it.monitor.sync(
            &it.request(),
            &mut |progress| {
                if progress.phase == SyncPhase::Waiting {
                    assert_eq!(progress.message(), "Waiting for another sync");
                    let _ = release.send(());
                }
            },
            &|| false,
        );
        assert_eq!(second.unwrap().files_skipped, 1);
        assert_eq!(first.join().unwrap().files_new, 1);
    });
}

#[test]
fn a_sync_that_waits_can_be_cancelled_and_an_estimate_does_not_wait() {
    let (it, release, reaches) = held();
    thread::scope(|scope| {
        let first = scope.spawn(|| it.sync());
        reaches.recv().unwrap();
        let second = it.monitor.sync(&it.request(), &mut |_| {}, &|| true);
        assert_eq!(second.unwrap_err().code(), "cancelled");
        assert_eq!(it.monitor.estimate(&it.request(), Duration::MAX).files, Some(1));
        release.send(()).unwrap();
        first.join().unwrap();
    });
}

#[test]
fn an_estimate_counts_files_until_there_is_no_time_left() {
    let it = fixture();
    for number in 0..300 {
        it.write(format!("{}/{number}", number % 7), "content", 1);
    }
    let all = it.monitor.estimate(&it.request(), Duration::from_secs(60));
    assert_eq!(all, SyncEstimate { seconds: 3.0, files: Some(300), at_least: false });
    let some = it.monitor.estimate(&it.request(), Duration::from_millis(50));
    assert!(some.at_least && some.seconds < 1.0, "{some:?}");
    let one = it.monitor.estimate(&SyncRequest::of(it.path("0/0")), Duration::from_secs(60));
    assert_eq!(one.files, Some(1));
    assert!(!it.database().exists());
}

#[test]
fn an_estimate_is_the_median_of_what_the_same_sync_took() {
    let mut it = fixture();
    it.write("file", "content", 1);
    for seconds in [9, 1, 4] {
        let mut readings = [0, seconds].into_iter().map(Duration::from_secs).cycle();
        let next = Mutex::new(move || readings.next().unwrap());
        it.monitor.clock = Arc::new(move || (next.lock().unwrap())());
        it.sync();
    }
    let estimate = it.monitor.estimate(&it.request(), Duration::ZERO);
    assert_eq!(estimate, SyncEstimate { seconds: 4.0, files: None, at_least: false });
    let other = it.monitor.estimate(&it.verify(), Duration::from_secs(60));
    assert_eq!(other.files, Some(1), "that is another sync");
}
