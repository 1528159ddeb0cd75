//! Which connections are open, and which of them have proved nothing yet: of those there
//! are only so many, and the oldest has to go for a new one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// How many connections may be open that have proved nothing.
pub(super) const UNPROVEN: usize = 64;

/// How many connections may be open.
pub(super) const ALL: usize = 1_024;

/// How many are closed at a time where the system has no room for more.
const ROOM: usize = 8;

/// All open connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    all: usize,
    /// In the order in which they were opened.
    unproven: BTreeMap<u64, Connection>,
}

/// An open connection, as those know it who serve its requests.
#[derive(Clone, Debug)]
pub(super) struct Connection(Arc<Known>);

#[derive(Debug)]
struct Known {
    number: u64,
    is_proven: AtomicBool,
    closing: CancellationToken,
    open: Connections,
}

/// The place of a connection among those that are open, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat(Connection);

impl Connections {
    /// A place for a new connection. Where there is none, the oldest one that has proved
    /// nothing is closed for it. `None`: all have proved who they are.
    pub(super) fn seat(&self) -> Option<Seat> {
        let mut open = self.lock();
        if open.unproven.len() >= UNPROVEN || open.all >= ALL {
            open.close_oldest();
        }
        if open.all >= ALL {
            return None;
        }
        let number = open.next;
        open.next += 1;
        open.all += 1;
        let (is_proven, closing) = (AtomicBool::new(false), CancellationToken::new());
        let known = Known { number, is_proven, closing, open: self.clone() };
        let connection = Connection(Arc::new(known));
        open.unproven.insert(number, connection.clone());
        Some(Seat(connection))
    }

    /// Whether the next one might cost another its place.
    pub(super) fn is_crowded(&self) -> bool {
        self.lock().unproven.len() >= UNPROVEN / 2
    }

    /// Closes the oldest of those that have proved nothing. False: there are none.
    pub(super) fn make_room(&self) -> bool {
        let mut open = self.lock();
        let before = open.unproven.len();
        for _ in 0..ROOM {
            open.close_oldest();
        }
        before > 0
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn close_oldest(&mut self) {
        if let Some((_, oldest)) = self.unproven.pop_first() {
            // It counts no more, also if it takes a moment to go.
            self.all -= 1;
            oldest.0.closing.cancel();
        }
    }
}

impl Connection {
    /// Notes that whoever calls has proved who they are: the connection keeps its place.
    pub(super) fn prove(&self) {
        if !self.0.is_proven.swap(true, Ordering::Relaxed) {
            self.0.open.lock().unproven.remove(&self.0.number);
        }
    }

    /// Whether somebody has proved who they are on it.
    pub(super) fn is_proven(&self) -> bool {
        self.0.is_proven.load(Ordering::Relaxed)
    }

    /// Returns when the connection has to go.
    pub(super) async fn closing(&self) {
        self.0.closing.cancelled().await;
    }
}

impl Seat {
    /// The connection that has this place.
    pub(super) const fn connection(&self) -> &Connection {
        &self.0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Known { number, closing, open, .. } = &*self.0.0;
        let mut open = open.lock();
        open.unproven.remove(number);
        if !closing.is_cancelled() {
            open.all -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_closing(seat: &Seat) -> bool {
        seat.0.0.closing.is_cancelled()
    }

    #[test]
    fn the_oldest_of_64_that_have_proved_nothing_goes_for_a_new_one() {
        let open = Connections::default();
        let mut seats: Vec<_> = (0..UNPROVEN).map(|_| open.seat().unwrap()).collect();
        assert!(!seats.iter().any(is_closing));
        seats[0].connection().prove();
        seats.push(open.seat().unwrap());
        assert!(!seats.iter().any(is_closing), "one that has proved itself does not count");
        seats.push(open.seat().unwrap());
        let closing: Vec<_> = seats.iter().map(is_closing).collect();
        assert_eq!(closing.iter().position(|closing| *closing), Some(1), "the oldest");
        assert_eq!(closing.iter().filter(|closing| **closing).count(), 1);
    }

    #[test]
    fn a_connection_that_ends_makes_room() {
        let open = Connections::default();
        for _ in 0..3 {
            let seats: Vec<_> = (0..UNPROVEN).map(|_| open.seat().unwrap()).collect();
            assert!(!seats.iter().any(is_closing));
        }
        let lock = open.lock();
        assert_eq!((lock.all, lock.unproven.len()), (0, 0));
    }

    #[test]
    fn where_all_have_proved_themselves_a_new_one_is_turned_away_at_1024() {
        let open = Connections::default();
        let proven = |_| {
            let seat = open.seat().unwrap();
            seat.connection().prove();
            seat
        };
        let mut seats: Vec<_> = (1..ALL).map(proven).collect();
        let last = open.seat().unwrap();
        let newer = open.seat().unwrap();
        assert!(is_closing(&last), "one that has proved nothing goes first");
        newer.connection().prove();
        assert!(open.seat().is_none());
        assert!(!seats.iter().any(is_closing));
        seats.pop();
        assert!(open.seat().is_some());
    }
}
