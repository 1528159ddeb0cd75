//! The decisions of a seed.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

use testkit::SeededRandom;

/// One stream of random numbers of a seed.
#[derive(Debug)]
pub(super) struct Chance(RefCell<SeededRandom>);

impl Chance {
    /// The stream of this name: what one actor draws does not shift what another does.
    pub(super) fn of(seed: u64, stream: &str) -> Self {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let name = stream.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        let own = SeededRandom::new(name ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(RefCell::new(own))
    }

    /// A number less than `end`.
    pub(super) fn below(&self, end: u64) -> u64 {
        self.0.borrow_mut().below(end)
    }

    /// True once in `n` times.
    pub(super) fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A length.
    pub(super) fn millis(&self, range: RangeInclusive<u64>) -> Duration {
        Duration::from_millis(range.start() + self.below(range.end() - range.start() + 1))
    }

    /// One of these.
    pub(super) fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }
}
