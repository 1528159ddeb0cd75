//! Chance that can be repeated.

/// SplitMix64: small, and good enough to choose victims by. A generator of our own, so that a seed
/// stays the same run for any version of a crate.
#[derive(Clone, Debug)]
pub struct SeededRandom(u64);

impl SeededRandom {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub const fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

pub fn any_seed() -> u64 {
    u64::from_str_radix(&tabwire::proof::random_hex::<4>(), 16).unwrap()
}
