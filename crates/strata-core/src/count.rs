//! How much was executed.

use crate::op::OpClass;

/// Executed instructions and touched bytes of a launch; additive over launches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Warp instructions by class, indexed by `OpClass as usize`.
    pub warp_by_class: [u64; OpClass::ALL.len()],
    /// Thread instructions by class: each warp instruction times its active lanes, before the guard predicate.
    pub thread_by_class: [u64; OpClass::ALL.len()],
    /// Bytes that lanes read from global and local memory.
    pub bytes_read: u64,
    /// Bytes that lanes wrote to global and local memory (atomics included).
    pub bytes_written: u64,
    /// Integer divisions and remainders by zero; each gave all ones.
    pub divisions_by_zero: u64,
}

impl Counts {
    /// All warp instructions.
    pub fn warp_instructions(&self) -> u64 {
        self.warp_by_class.iter().sum()
    }

    /// All thread instructions.
    pub fn thread_instructions(&self) -> u64 {
        self.thread_by_class.iter().sum()
    }

    /// Adds another launch's counts.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.warp_by_class.iter_mut().zip(other.warp_by_class) {
            *mine += theirs;
        }
        for (mine, theirs) in self.thread_by_class.iter_mut().zip(other.thread_by_class) {
            *mine += theirs;
        }
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.divisions_by_zero += other.divisions_by_zero;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up() {
        let mut a = Counts::default();
        a.warp_by_class[OpClass::Int as usize] = 2;
        a.thread_by_class[OpClass::Int as usize] = 64;
        let mut total = a.clone();
        total.add(&a);
        assert_eq!((total.warp_instructions(), total.thread_instructions()), (4, 128));
    }

    #[test]
    fn classes_are_numbered_in_order() {
        for (i, c) in OpClass::ALL.into_iter().enumerate() {
            assert_eq!(c as usize, i);
        }
    }
}
