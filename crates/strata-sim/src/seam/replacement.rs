//! The seam of replacement policies: which line of a set leaves a cache.

use super::SideCount;

/// Ways of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ways([u64; 4]);

impl Ways {
    /// Adds one of 256.
    pub fn insert(&mut self, way: u32) {
        self.0[way as usize / 64 % 4] |= 1 << (way % 64);
    }

    /// True if a way is among them.
    pub fn contains(&self, way: u32) -> bool {
        way < 256 && self.0[way as usize / 64] >> (way % 64) & 1 != 0
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// All of them, from the lowest.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..256).filter(|&way| self.contains(way))
    }
}

/// Decides which line leaves; one instance serves the L1 of one SM, or one L2 slice. Without one, the line that was used least
/// recently leaves.
pub trait Replacement: Send {
    /// The cache has so many sets of so many ways; told once, before anything else.
    fn attach(&mut self, sets: u32, ways: u32);

    /// The line in a way was used.
    fn hit(&mut self, set: u32, way: u32);

    /// A line gets a way, which was free or chosen; its data may still be on their way.
    fn filled(&mut self, set: u32, way: u32);

    /// No way of a set is free: one of these, of which there is at least one, has to go. Ways that wait for data are not among
    /// them. If the answer is none of them, the one that was used least recently goes.
    fn victim(&mut self, set: u32, ways: &Ways) -> u32;

    /// What a way held is worth nothing any more.
    fn invalidated(&mut self, _set: u32, _way: u32) {}

    /// What it counts.
    fn counts(&self) -> Vec<SideCount> {
        Vec::new()
    }
}
