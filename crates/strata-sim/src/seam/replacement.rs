//! The seam of replacement policies: which line of a set leaves a cache.

use super::SideCount;

/// A set of ways, of a cache set of at most 256.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ways([u64; 4]);

impl Ways {
    /// Adds a way, below 256.
    pub fn insert(&mut self, way: u32) {
        self.0[way as usize / 64 % 4] |= 1 << (way % 64);
    }

    /// True if a way is among them.
    pub fn contains(&self, way: u32) -> bool {
        way < 256 && self.0[way as usize / 64] >> (way % 64) & 1 != 0
    }

    /// True if no way is in the set.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// The ways, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..256).filter(|&way| self.contains(way))
    }
}

/// Chooses the line that is evicted; one instance serves the L1 of one SM, or one L2 slice. Without one, replacement is LRU.
pub trait Replacement: Send {
    /// The cache has so many sets of so many ways; told once, before anything else.
    fn attach(&mut self, sets: u32, ways: u32);

    /// A lookup hit the line in a way.
    fn hit(&mut self, set: u32, way: u32);

    /// A way, free or chosen as victim, is allocated to a line, whose data may still be pending.
    fn filled(&mut self, set: u32, way: u32);

    /// No way of a set is free: chooses the victim among these, of which there is at least one. Ways with pending sectors are
    /// not among them. If the answer is none of them, the least recently used is evicted.
    fn victim(&mut self, set: u32, ways: &Ways) -> u32;

    /// The line in a way was invalidated.
    fn invalidated(&mut self, _set: u32, _way: u32) {}

    /// Its own counters.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
