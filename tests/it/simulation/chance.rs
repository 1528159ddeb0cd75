//! What a seed decides. A generator of our own: a seed means the same whatever becomes of
//! the crates.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::time::Duration;

/// One stream of random numbers of a seed.
#[derive(Debug)]
pub(super) struct Chance(Cell<u64>);

impl Chance {
    /// The stream of this name: what one actor draws does not shift what another does.
    pub(super) fn of(seed: u64, stream: &str) -> Self {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let name = stream.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        Self(Cell::new(name ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// `SplitMix64`.
    fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `end`.
    pub(super) fn below(&self, end: u64) -> u64 {
        self.next() % end
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
