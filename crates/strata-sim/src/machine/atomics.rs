//! What atomic operations cost beyond their access: at L2 the atomic unit of a slice performs lanes one after another, in shared
//! memory the lanes of a bank.

use crate::coalesce::{CoalescedAccess, bank_conflicts};
use crate::config::{L2Config, SharedConfig};
use crate::view::MicroOp;
use strata_core::{Addr, AddressSet, LANES, LINE_BYTES, LaneMask, OpBatch};

/// Adds to each access of an atomic what its atomic unit has to do, in sixteenths of an L2 cycle.
///
/// A sector is read in a cycle; its words are operated on together, and several lanes of one word one after another. Integers that
/// a whole warp adds to one address are summed up before they leave the SM, as the assembler does it.
pub(super) fn count_atomic_work(
    batch: &OpBatch,
    set: &AddressSet,
    mask: LaneMask,
    floats: bool,
    l2: &L2Config,
    lines: &mut [CoalescedAccess],
) {
    let lanes = batch.lanes(set);
    let members = || (0..LANES).filter(|lane| mask >> lane & 1 == 1);
    let cycles = if floats { l2.atomic_float_cycles } else { l2.atomic_int_cycles };
    let first = lanes[mask.trailing_zeros() as usize % LANES];
    if !floats && members().all(|lane| lanes[lane] == first) {
        for access in lines {
            access.work = sixteenths(READ + cycles);
        }
        return;
    }
    for access in lines {
        let mut most = [0u32; 4];
        for lane in members().filter(|&lane| lanes[lane].line() == access.line) {
            let alike = members().filter(|&other| lanes[other] == lanes[lane]).count() as u32;
            let sector = &mut most[(lanes[lane].0 % LINE_BYTES / SECTOR) as usize];
            *sector = (*sector).max(alike);
        }
        let touched = most.iter().filter(|&&lanes| lanes > 0);
        access.work = sixteenths(touched.map(|&lanes| READ + f64::from(lanes) * cycles).sum());
    }
}

/// L2 cycles in which a sector is read.
const READ: f64 = 1.0;
/// Bytes of a sector.
const SECTOR: u64 = 32;

fn sixteenths(cycles: f64) -> u16 {
    (cycles * 16.0).round() as u16
}

/// Cycles of the banks for an access to shared memory: an atomic takes its bank once for every lane.
#[inline]
pub(super) fn shared_cycles_of(
    batch: &OpBatch,
    set: &AddressSet,
    mask: LaneMask,
    op: &MicroOp,
    shared: &SharedConfig,
) -> u32 {
    if op.atomic.is_some() && shared.atomic_cycles > 0 {
        return shared.atomic_cycles * most_lanes_of_a_bank(&batch.lanes(set), mask, shared.banks);
    }
    bank_conflicts(batch, set, mask, op.width, shared)
}

/// The most lanes whose words lie in one bank, alike or not.
fn most_lanes_of_a_bank(lanes: &[Addr; LANES], mask: LaneMask, banks: u32) -> u32 {
    let mut counts = [0; LANES];
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        counts[(lanes[lane].0 / 4 % u64::from(banks)) as usize % LANES] += 1;
    }
    counts.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::SectorMask;
    use crate::coalesce::coalesce;
    use crate::machine::testing::gpu;
    use strata_core::Space;

    /// What the lines of an atomic cost whose lanes go to these words, in cycles.
    fn work(word: impl Fn(u64) -> u64, floats: bool) -> Vec<f64> {
        let mut l2 = gpu("titan-v").l2;
        (l2.atomic_int_cycles, l2.atomic_float_cycles) = (1.0, 3.0);
        let mut batch = OpBatch::default();
        batch.scatter(LaneMask::MAX, Space::Global, &std::array::from_fn(|lane| 4 * word(lane as u64)));
        let set = batch.addresses[0];
        let mut lines = Vec::new();
        coalesce(&batch, &set, LaneMask::MAX, 4, LANES as u32, &mut lines);
        count_atomic_work(&batch, &set, LaneMask::MAX, floats, &l2, &mut lines);
        assert!(lines.iter().all(|line| line.sectors != SectorMask::NONE));
        lines.iter().map(|line| f64::from(line.work) / 16.0).collect()
    }

    #[test]
    fn words_of_a_sector_go_together_and_lanes_of_a_word_in_turn() {
        assert_eq!(work(|lane| lane, false), [8.0], "four sectors, each read and operated on");
        assert_eq!(work(|lane| lane, true), [16.0]);
        assert_eq!(work(|lane| 32 * (lane % 2), false), [17.0, 17.0], "sixteen lanes of one word each");
        assert_eq!(work(|lane| lane % 16, true), [14.0], "two sectors with two lanes of each word");
    }

    #[test]
    fn a_warp_adds_integers_to_one_address_at_once_and_floats_in_turn() {
        assert_eq!(work(|_| 5, false), [2.0]);
        assert_eq!(work(|_| 5, true), [97.0]);
    }

    #[test]
    fn atomics_of_a_bank_of_shared_memory_go_in_turn() {
        let lanes = |word: fn(u64) -> u64| std::array::from_fn(|lane| Addr(4 * word(lane as u64)));
        let most = |word| most_lanes_of_a_bank(&lanes(word), LaneMask::MAX, 32);
        assert_eq!([most(|lane| lane), most(|_| 7), most(|lane| 2 * lane), most(|lane| 33 * lane)], [1, 32, 2, 1]);
    }
}
