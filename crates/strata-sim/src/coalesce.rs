//! From 32 addresses to line requests: one per 128 B line, with the sectors it needs.

use crate::cache::SectorMask;
use strata_core::{Addr, LANES, LINE_BYTES, LaneMask, LineAddr};

/// What a warp instruction wants of one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRequest {
    /// The line.
    pub line: LineAddr,
    /// Sectors touched.
    pub sectors: SectorMask,
    /// Sectors all of whose bytes are touched; a store to the others merges with what is there.
    pub full: SectorMask,
}

/// Appends the line requests of one memory instruction to `out`, in the order in which lanes first touch the lines.
///
/// `width` is the bytes of each lane.
pub fn coalesce(addresses: &[Addr; LANES], mask: LaneMask, width: u8, out: &mut Vec<LineRequest>) {
    let first = out.len();
    // One bit per byte of the line that lane groups are filling; a lane's bytes never cross a line (they are aligned).
    let mut bytes = [0u128; LANES];
    let ones = if width >= 16 { 0xffff } else { (1u128 << width) - 1 };
    let mut rest = mask;
    let mut last = usize::MAX;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let address = addresses[lane];
        let line = address.line();
        let at = if last != usize::MAX && out[last].line == line {
            last
        } else {
            let known = out[first..].iter().position(|r| r.line == line);
            if known.is_none() {
                out.push(LineRequest { line, sectors: SectorMask::NONE, full: SectorMask::NONE });
            }
            known.map_or(out.len() - 1, |k| first + k)
        };
        last = at;
        bytes[at - first] |= ones << (address.0 % LINE_BYTES);
    }
    for (request, touched) in out[first..].iter_mut().zip(bytes) {
        for sector in 0..4 {
            let part = (touched >> (32 * sector)) as u32;
            request.sectors.0 |= u8::from(part != 0) << sector;
            request.full.0 |= u8::from(part == u32::MAX) << sector;
        }
    }
}

/// Cycles that 32 banks of 4 bytes need for a shared-memory access: the most different words in one bank.
pub fn bank_conflicts(addresses: &[Addr; LANES], mask: LaneMask, width: u8, banks: u32) -> u32 {
    // Wide accesses are served in parts of the warp: 8 bytes in halves, 16 bytes in quarters.
    let parts = u32::from(width / 4).clamp(1, 4);
    let lanes_per_part = LANES as u32 / parts;
    let mut cycles = 0;
    for part in 0..parts {
        let mut words: [[u64; 4]; 32] = [[u64::MAX; 4]; 32];
        let mut counts = [0u32; 32];
        let mut most = 0;
        for lane in part * lanes_per_part..(part + 1) * lanes_per_part {
            if mask >> lane & 1 == 0 {
                continue;
            }
            for k in 0..u64::from(parts) {
                let word = addresses[lane as usize].0 / 4 + k;
                let bank = (word % u64::from(banks.min(32))) as usize;
                let seen = counts[bank].min(4) as usize;
                if words[bank][..seen].contains(&word) {
                    continue;
                }
                if seen < 4 {
                    words[bank][seen] = word;
                }
                counts[bank] += 1;
                most = most.max(counts[bank]);
            }
        }
        cycles += most;
    }
    cycles.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: impl Fn(u64) -> u64, mask: LaneMask, width: u8, expected: &[(u64, u8, u8)]) {
        let addresses = std::array::from_fn(|l| Addr(address(l as u64)));
        let mut out = Vec::new();
        coalesce(&addresses, mask, width, &mut out);
        let got: Vec<_> = out.iter().map(|r| (r.line.0, r.sectors.0, r.full.0)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn neighbours_share_a_line() {
        check(|l| 4 * l, u32::MAX, 4, &[(0, 0b1111, 0b1111)]);
        check(|l| 64 + 4 * l, u32::MAX, 4, &[(0, 0b1100, 0b1100), (1, 0b0011, 0b0011)]);
        check(|l| 8 * l, u32::MAX, 8, &[(0, 0b1111, 0b1111), (1, 0b1111, 0b1111)]);
        check(|l| 4 * l, 0x1ff, 4, &[(0, 0b0011, 0b0001)]);
        check(|_| 300, u32::MAX, 4, &[(2, 0b0010, 0)]);
        check(|l| 128 * (l % 2), 0b1111, 4, &[(0, 1, 0), (1, 1, 0)]);
        check(|l| 16 * l, u32::MAX, 16, &[(0, 15, 15), (1, 15, 15), (2, 15, 15), (3, 15, 15)]);
    }

    #[track_caller]
    fn conflicts(address: impl Fn(u64) -> u64, mask: LaneMask, width: u8, expected: u32) {
        let addresses = std::array::from_fn(|l| Addr(address(l as u64)));
        assert_eq!(bank_conflicts(&addresses, mask, width, 32), expected);
    }

    #[test]
    fn banks_conflict_on_different_words() {
        conflicts(|l| 4 * l, u32::MAX, 4, 1);
        conflicts(|_| 64, u32::MAX, 4, 1);
        conflicts(|l| 8 * l, u32::MAX, 4, 2);
        conflicts(|l| 128 * l, u32::MAX, 4, 32);
        conflicts(|l| 128 * l, 0b11, 4, 2);
        conflicts(|l| 8 * l, u32::MAX, 8, 2);
        conflicts(|l| 16 * l, u32::MAX, 16, 4);
    }
}
