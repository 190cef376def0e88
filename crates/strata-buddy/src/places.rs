//! Where in an allocation compressible data are: the mean size of its entries, place by place.

use crate::counts::entries;
use strata_core::Bytes;

/// More cells than this a map does not have: they become larger.
const MOST_CELLS: u64 = 1 << 11;

/// Sizes of the entries of one allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// What the program calls it.
    pub name: String,
    /// Entries of a cell; the last may have fewer.
    pub entries_per_cell: u64,
    entries: u64,
    /// Bytes that the entries of each cell take.
    sums: Vec<u64>,
}

impl Places {
    /// Of an allocation whose entries were not seen yet.
    pub fn new(name: &str, bytes: Bytes) -> Self {
        let entries = entries(bytes.0);
        let entries_per_cell = entries.div_ceil(MOST_CELLS).max(1).next_power_of_two();
        let sums = vec![0; entries.div_ceil(entries_per_cell) as usize];
        Self { name: name.to_owned(), entries_per_cell, entries, sums }
    }

    /// The entry with this index takes so many bytes.
    pub fn add(&mut self, entry: u64, bytes: u16) {
        if let Some(sum) = self.sums.get_mut((entry / self.entries_per_cell) as usize) {
            *sum += u64::from(bytes);
        }
    }

    /// The mean size of the entries of each cell, rounded to bytes.
    pub fn means(&self) -> impl Iterator<Item = u64> {
        (0..).zip(&self.sums).map(|(cell, sum)| {
            let count = self.entries_per_cell.min(self.entries - cell * self.entries_per_cell).max(1);
            (sum + count / 2) / count
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_the_mean_of_their_entries() {
        let mut small = Places::new("a", Bytes(3 * 128 - 1));
        [128, 0, 32].into_iter().zip(0..).for_each(|(bytes, entry)| small.add(entry, bytes));
        assert_eq!(small.means().collect::<Vec<_>>(), [128, 0, 32]);
        let mut large = Places::new("b", Bytes((MOST_CELLS + 1) * 128));
        (0..=MOST_CELLS).for_each(|entry| large.add(entry, if entry % 2 == 0 { 64 } else { 32 }));
        assert_eq!(large.entries_per_cell, 2);
        let means: Vec<_> = large.means().collect();
        assert_eq!((means.len(), means[0], means[1024]), (1025, 48, 64), "the last cell has one entry");
    }
}
