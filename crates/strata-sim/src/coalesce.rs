//! The coalescer: 32 addresses become one access per 128 B line, with the sectors it needs.

use crate::cache::SectorMask;
use crate::config::SharedConfig;
use arrayvec::ArrayVec;
use strata_core::{Addr, AddressSet, LANES, LINE_BYTES, LaneMask, LineAddr, OpBatch, Pattern};

/// What a warp instruction wants of one line: a memory transaction with a sector mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoalescedAccess {
    /// The 128 B line that lanes touch.
    pub line: LineAddr,
    /// Sectors touched.
    pub sectors: SectorMask,
    /// Sectors that lanes touch, whatever becomes of `sectors` in a cache that fetches lines whole.
    pub asked: SectorMask,
    /// Sectors all of whose bytes are touched; a store to the others merges with what is there.
    pub full: SectorMask,
    /// The bytes of the line that are touched.
    pub bytes: u128,
    /// What an atomic unit has to do for it, in sixteenths of an L2 cycle; 0 where that is not counted.
    pub work: u16,
}

impl CoalescedAccess {
    /// These bytes are the ones touched.
    fn touch(&mut self, bytes: u128) {
        (self.sectors, self.full, self.bytes) = (SectorMask::NONE, SectorMask::NONE, bytes);
        for sector in 0..4 {
            let part = (bytes >> (32 * sector)) as u32;
            self.sectors.0 |= u8::from(part != 0) << sector;
            self.full.0 |= u8::from(part == u32::MAX) << sector;
        }
        self.asked = self.sectors;
    }
}

/// Appends the coalesced accesses of one memory instruction to `out`, in the order in which lanes first touch the lines.
///
/// `width` is the bytes of each lane. Lanes are merged within groups of `group` lanes; a later group joins the request of an
/// earlier one to the same line only if it needs other sectors.
pub fn coalesce(
    batch: &OpBatch,
    set: &AddressSet,
    mask: LaneMask,
    width: u8,
    group: u32,
    out: &mut Vec<CoalescedAccess>,
) {
    let width = u32::from(width);
    match set.pattern {
        Pattern::Same(address) if group as usize >= LANES => out.push(part_of_line(address, width)),
        Pattern::Sequence { first, step }
            if mask == LaneMask::MAX
                && step == width
                && (group as usize >= LANES
                    || (step * group).is_multiple_of(SECTOR) && first.0.is_multiple_of(u64::from(SECTOR))) =>
        {
            range(first, u64::from(step) * LANES as u64, out);
        }
        Pattern::HalfWarps { first, apart, step }
            if mask == LaneMask::MAX && group as usize >= HALF && (step == 0 || u32::from(step) == width) =>
        {
            half_warps([first, second_half(first, apart)], width, step, group as usize >= LANES, out);
        }
        _ => {
            let mut room = [Addr(0); LANES];
            let lanes = batch.lanes_in(set, &mut room);
            let start = out.len();
            for first in (0..LANES as u32).step_by(group as usize) {
                let members = mask & (u32::MAX >> (LANES as u32 - group)) << first;
                if members != 0 {
                    group_lines(lanes, members, width, start, out);
                }
            }
        }
    }
}

/// Lanes of half a warp.
const HALF: usize = LANES / 2;

/// Where the second half of a warp begins, so many bytes from the first.
fn second_half(first: Addr, apart: i32) -> Addr {
    Addr(first.0.wrapping_add_signed(apart.into()))
}

/// The requests of two halves of a warp, each in sequence from its start or all at it, merged as one group or as two.
fn half_warps(starts: [Addr; 2], width: u32, step: u16, one_group: bool, out: &mut Vec<CoalescedAccess>) {
    let begin = out.len();
    half_warp(starts[0], width, step, out);
    let behind = out.len();
    half_warp(starts[1], width, step, out);
    if one_group {
        join_group(begin, behind, out);
    } else {
        join_other_sectors(begin, behind, out);
    }
}

/// The requests of half a warp.
fn half_warp(start: Addr, width: u32, step: u16, out: &mut Vec<CoalescedAccess>) {
    if step == 0 {
        out.push(part_of_line(start, width));
    } else {
        range(start, u64::from(step) * HALF as u64, out);
    }
}

/// Joins the requests from `behind` on with those before them for the same line, which lanes of the same group made.
fn join_group(begin: usize, behind: usize, out: &mut Vec<CoalescedAccess>) {
    keep_behind(behind, out, |before, request| {
        let Some(same) = before[begin..].iter_mut().find(|r| r.line == request.line) else { return true };
        same.touch(same.bytes | request.bytes);
        false
    });
}

/// Joins the requests of a group, from `behind` on, with those of earlier groups for other sectors of the same line.
fn join_other_sectors(begin: usize, behind: usize, out: &mut Vec<CoalescedAccess>) {
    keep_behind(behind, out, |before, request| {
        let other = |r: &&mut CoalescedAccess| r.line == request.line && r.sectors.and(request.sectors).is_empty();
        let Some(earlier) = before[begin..].iter_mut().find(other) else { return true };
        earlier.sectors = earlier.sectors.or(request.sectors);
        earlier.asked = earlier.sectors;
        earlier.full = earlier.full.or(request.full);
        earlier.bytes |= request.bytes;
        false
    });
}

/// Keeps those requests from `behind` on of which `keeps` says so, given those before `behind`.
fn keep_behind(
    behind: usize,
    out: &mut Vec<CoalescedAccess>,
    mut keeps: impl FnMut(&mut [CoalescedAccess], &CoalescedAccess) -> bool,
) {
    let mut kept = behind;
    for at in behind..out.len() {
        let request = out[at];
        if keeps(&mut out[..behind], &request) {
            out[kept] = request;
            kept += 1;
        }
    }
    out.truncate(kept);
}

/// Joins requests for the same line: of an instruction whose lanes each read several places.
pub fn merge_lines(lines: &mut Vec<CoalescedAccess>) {
    let mut kept = 0;
    for at in 0..lines.len() {
        let request = lines[at];
        if let Some(same) = lines[..kept].iter().position(|r| r.line == request.line) {
            let CoalescedAccess { sectors, asked, full, bytes, work, .. } = &mut lines[same];
            *sectors = sectors.or(request.sectors);
            *asked = asked.or(request.asked);
            *full = full.or(request.full);
            *bytes |= request.bytes;
            *work += request.work;
        } else {
            lines[kept] = request;
            kept += 1;
        }
    }
    lines.truncate(kept);
}

/// Bytes of a sector.
const SECTOR: u32 = 32;

/// The request of a few bytes that lie within one line.
fn part_of_line(address: Addr, width: u32) -> CoalescedAccess {
    let (first, last) =
        (address.0 % LINE_BYTES / u64::from(SECTOR), (address.0 + u64::from(width) - 1) % LINE_BYTES / 32);
    let sectors = SectorMask(((1u8 << (last - first + 1)) - 1) << first);
    let bytes = bytes_between(address.0 % LINE_BYTES, (address.0 % LINE_BYTES + u64::from(width)).min(LINE_BYTES));
    CoalescedAccess { line: address.line(), sectors, asked: sectors, full: SectorMask::NONE, bytes, work: 0 }
}

/// The bytes `from..to` of a line, as a set.
fn bytes_between(from: u64, to: u64) -> u128 {
    (u128::MAX >> (LINE_BYTES - (to - from).max(1))) << from
}

/// Requests for all bytes from `first` on.
fn range(first: Addr, bytes: u64, out: &mut Vec<CoalescedAccess>) {
    let end = first.0 + bytes;
    let mut at = first.0;
    while at < end {
        let line = Addr(at).line();
        let start = line.0 * LINE_BYTES;
        let stop = end.min(start + LINE_BYTES);
        let sectors = (at - start) / 32..(stop - start).div_ceil(32);
        let full = (at - start).div_ceil(32)..(stop - start) / 32;
        let bits =
            |r: std::ops::Range<u64>| SectorMask(if r.start < r.end { (1u8 << r.end) - (1 << r.start) } else { 0 });
        let sectors = bits(sectors);
        let bytes = bytes_between(at - start, stop - start);
        out.push(CoalescedAccess { line, sectors, asked: sectors, full: bits(full), bytes, work: 0 });
        at = stop;
    }
}

/// Places of the table in which the lines of a group are found again, more than there are lanes.
const PLACES: usize = 2 * LANES;
/// No request is in a place.
const NOWHERE: u8 = u8::MAX;

/// The lines of one group of lanes.
fn group_lines(lanes: &[Addr; LANES], members: LaneMask, width: u32, start: usize, out: &mut Vec<CoalescedAccess>) {
    let first = out.len();
    // A lane's bytes never cross a line (they are aligned).
    let ones = if width >= 16 { 0xffff } else { (1u128 << width) - 1 };
    // Where the request of a line is, counted from the first, by a hash of the line: few lanes share a place by chance, and those
    // look at the next.
    let mut places = [NOWHERE; PLACES];
    let mut rest = members;
    while rest != 0 {
        let address = lanes[rest.trailing_zeros() as usize % LANES];
        rest &= rest - 1;
        let (line, bytes) = (address.line(), ones << (address.0 % LINE_BYTES));
        let mut place = (line.0 ^ line.0 >> 6 ^ line.0 >> 12) as usize % PLACES;
        loop {
            match out[first..].get_mut(usize::from(places[place])) {
                Some(request) if request.line == line => request.bytes |= bytes,
                Some(_) => {
                    place = (place + 1) % PLACES;
                    continue;
                }
                None => {
                    places[place] = (out.len() - first) as u8;
                    let none = SectorMask::NONE;
                    out.push(CoalescedAccess { line, sectors: none, asked: none, full: none, bytes, work: 0 });
                }
            }
            break;
        }
    }
    for request in &mut out[first..] {
        request.touch(request.bytes);
    }
    if start < first {
        join_other_sectors(start, first, out);
    }
}

/// Cycles that banks of 4 bytes (at most 32) need for a shared-memory access: the most different words in one bank.
#[inline]
pub fn bank_conflicts(batch: &OpBatch, set: &AddressSet, mask: LaneMask, width: u8, shared: &SharedConfig) -> u32 {
    // Wide accesses are served in parts of the warp: 8 bytes in halves, 16 bytes in quarters.
    let words = u32::from(width / 4).clamp(1, 4);
    let banks = u64::from(shared.banks.min(32));
    // Two parts are served together where neighbours want the same bytes.
    let joined = |pairs: bool| if shared.pairs && pairs { (words / 2).max(1) } else { words };
    match set.pattern {
        Pattern::Same(_) if banks == 32 && mask == LaneMask::MAX => return joined(true),
        Pattern::Sequence { .. } if banks == 32 && mask == LaneMask::MAX => return words,
        Pattern::HalfWarps { apart, step, .. } if banks == 32 && mask == LaneMask::MAX && width == 4 => {
            return conflicts_of_halves(apart / 4, u32::from(step / 4));
        }
        _ => {}
    }
    let mut room = [Addr(0); LANES];
    let lanes = batch.lanes_in(set, &mut room);
    let pairs = shared.pairs && words > 1 && (in_pairs(lanes, mask, 1) || in_pairs(lanes, mask, 2));
    let parts = joined(pairs);
    // Every GPU of today has 32 banks: a division that is none.
    match banks {
        32 => served_in(lanes, mask, parts, words, |word| word as usize % 32),
        _ => served_in(lanes, mask, parts, words, |word| (word % banks) as usize % LANES),
    }
}

/// Cycles for a warp whose halves each want 16 words in a row (`step` 1) or one (`step` 0), and begin so many words apart.
fn conflicts_of_halves(apart: i32, step: u32) -> u32 {
    let last = step * (HALF as u32 - 1);
    // Beyond that distance no word is wanted by both halves; within it in banks, some bank is.
    let (words, banks) = (apart.unsigned_abs(), apart.rem_euclid(LANES as i32) as u32);
    let in_common = banks <= last || banks >= LANES as u32 - last;
    1 + u32::from(words > last && in_common)
}

/// Cycles for a warp whose accesses of so many words are served in so many parts, where a word lies in the bank that `bank_of`
/// says.
#[inline]
fn served_in(
    lanes: &[Addr; LANES],
    mask: LaneMask,
    parts: u32,
    words: u32,
    bank_of: impl Fn(u64) -> usize + Copy,
) -> u32 {
    let lanes_per_part = LANES as u32 / parts;
    let mut cycles = 0;
    for part in 0..parts {
        let members = mask & (u32::MAX >> (LANES as u32 - lanes_per_part)) << (part * lanes_per_part);
        cycles += most_words_in_a_bank(lanes, members, words, bank_of);
    }
    cycles.max(1)
}

/// True if every lane wants what its neighbour at this distance wants, or has none that wants anything.
fn in_pairs(lanes: &[Addr; LANES], mask: LaneMask, distance: usize) -> bool {
    let wants = |lane: usize| mask >> lane & 1 == 1;
    (0..LANES).all(|lane| !wants(lane) || !wants(lane ^ distance) || lanes[lane] == lanes[lane ^ distance])
}

/// How many different addresses lanes read: the constant cache answers one after another.
pub fn distinct_addresses(batch: &OpBatch, set: &AddressSet, mask: LaneMask) -> u32 {
    if let Pattern::Same(_) = set.pattern {
        return u32::from(mask != 0);
    }
    let mut room = [Addr(0); LANES];
    let lanes = batch.lanes_in(set, &mut room);
    let first = |lane: &usize| !(0..*lane).any(|before| mask >> before & 1 == 1 && lanes[before] == lanes[*lane]);
    (0..LANES).filter(|lane| mask >> lane & 1 == 1).filter(first).count() as u32
}

/// The most different words that lanes want of one bank, each lane `words` in a row.
fn most_words_in_a_bank(lanes: &[Addr; LANES], members: LaneMask, words: u32, bank_of: impl Fn(u64) -> usize) -> u32 {
    let mut first_of_bank = [0u64; LANES];
    let (mut rest, mut used) = (members, 0u32);
    // Mostly a bank is asked for one word: by one lane, or by several that share it.
    while rest != 0 {
        let word = lanes[rest.trailing_zeros() as usize % LANES].0 / 4;
        rest &= rest - 1;
        for word in word..word + u64::from(words) {
            let bank = bank_of(word);
            if used >> bank & 1 == 0 {
                used |= 1 << bank;
                first_of_bank[bank] = word;
            } else if first_of_bank[bank] != word {
                return most_words_of_many(lanes, members, words, bank_of);
            }
        }
    }
    u32::from(members != 0)
}

/// The same where banks do conflict: the different words are kept in a list for each bank.
#[cold]
fn most_words_of_many(lanes: &[Addr; LANES], members: LaneMask, words: u32, bank_of: impl Fn(u64) -> usize) -> u32 {
    const END: u8 = u8::MAX;
    let (mut heads, mut counts) = ([END; LANES], [0u32; LANES]);
    let mut known: ArrayVec<(u64, u8), { 4 * LANES }> = ArrayVec::new();
    let mut rest = members;
    while rest != 0 {
        let word = lanes[rest.trailing_zeros() as usize % LANES].0 / 4;
        rest &= rest - 1;
        for word in word..word + u64::from(words) {
            let bank = bank_of(word);
            let mut at = heads[bank];
            while at != END && known[usize::from(at)].0 != word {
                at = known[usize::from(at)].1;
            }
            if at == END {
                let entry = (word, heads[bank]);
                heads[bank] = known.len() as u8;
                known.push(entry);
                counts[bank] += 1;
            }
        }
    }
    counts.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::Space;

    fn scattered(address: impl Fn(u64) -> u64, mask: LaneMask) -> OpBatch {
        let mut batch = OpBatch::default();
        batch.scatter(mask, Space::Global, &std::array::from_fn(|l| address(l as u64)));
        batch
    }

    #[test]
    fn requests_for_one_line_are_joined() {
        let request = |line, mask| {
            let (sectors, full) = (SectorMask(mask), SectorMask::NONE);
            CoalescedAccess { line: LineAddr(line), sectors, asked: sectors, full, bytes: u128::from(mask), work: 0 }
        };
        let mut lines = vec![request(7, 1), request(9, 2), request(7, 4), request(8, 1), request(9, 2)];
        merge_lines(&mut lines);
        assert_eq!(lines, [request(7, 5), request(9, 2), request(8, 1)]);
    }

    /// A batch with the pattern that the addresses have, if they have one.
    fn patterned(address: impl Fn(u64) -> u64, width: u8) -> Option<OpBatch> {
        let mut batch = OpBatch::default();
        let (first, step) = (Addr(address(0)), u32::from(width));
        let all = |f: &dyn Fn(u64) -> u64| (0..32).all(|l| address(l) == f(l));
        let pattern = if all(&|_| first.0) {
            Pattern::Same(first)
        } else if all(&|l| first.0 + l * u64::from(step)) {
            Pattern::Sequence { first, step }
        } else {
            return None;
        };
        batch.addresses.push(AddressSet { mask: u32::MAX, space: Space::Global, pattern });
        Some(batch)
    }

    fn requests(batch: &OpBatch, mask: LaneMask, width: u8, group: u32) -> Vec<(u64, u8, u8)> {
        let mut out = Vec::new();
        coalesce(batch, &batch.addresses[0], mask, width, group, &mut out);
        out.iter().map(|r| (r.line.0, r.sectors.0, r.full.0)).collect()
    }

    /// The requests of whole warps and of half warps.
    #[track_caller]
    fn check(address: impl Fn(u64) -> u64, mask: LaneMask, width: u8, warp: &[(u64, u8, u8)], half: &[(u64, u8, u8)]) {
        let batch = scattered(&address, mask);
        assert_eq!(requests(&batch, mask, width, 32), warp);
        assert_eq!(requests(&batch, mask, width, 16), half);
        if let Some(batch) = patterned(&address, width).filter(|_| mask == u32::MAX) {
            assert_eq!(requests(&batch, mask, width, 32), warp, "by pattern");
            assert_eq!(requests(&batch, mask, width, 16), half, "by pattern");
        }
    }

    #[test]
    fn neighbours_share_a_line() {
        let same =
            |a: fn(u64) -> u64, mask, width, expected: &[(u64, u8, u8)]| check(a, mask, width, expected, expected);
        same(|l| 4 * l, u32::MAX, 4, &[(0, 0b1111, 0b1111)]);
        same(|l| 64 + 4 * l, u32::MAX, 4, &[(0, 0b1100, 0b1100), (1, 0b0011, 0b0011)]);
        same(|l| 8 * l, u32::MAX, 8, &[(0, 0b1111, 0b1111), (1, 0b1111, 0b1111)]);
        same(|l| 4 * l, 0x1ff, 4, &[(0, 0b0011, 0b0001)]);
        same(|l| 128 * (l % 2), 0b1111, 4, &[(0, 1, 0), (1, 1, 0)]);
        same(|l| 16 * l, u32::MAX, 16, &[(0, 15, 15), (1, 15, 15), (2, 15, 15), (3, 15, 15)]);
        check(
            |l| 36 + 4 * l,
            u32::MAX,
            4,
            &[(0, 0b1110, 0b1100), (1, 0b0011, 0b0001)],
            &[(0, 0b1110, 0b0100), (0, 0b1000, 0), (1, 0b0011, 0b0001)],
        );
    }

    #[test]
    fn groups_merge_only_other_sectors() {
        check(|_| 300, u32::MAX, 4, &[(2, 0b0010, 0)], &[(2, 0b0010, 0), (2, 0b0010, 0)]);
        // A column of a matrix, two rows at a time: each half of the warp touches the same sectors.
        check(
            |l| 1024 * (l % 16) + 4 * (l / 16),
            0x0003_0003,
            4,
            &[(0, 1, 0), (8, 1, 0)],
            &[(0, 1, 0), (8, 1, 0), (0, 1, 0), (8, 1, 0)],
        );
    }

    /// Cycles of an access, and those with pairs of neighbours served together.
    #[track_caller]
    fn conflicts(address: impl Fn(u64) -> u64, mask: LaneMask, width: u8, expected: u32, in_pairs: u32) {
        let mut shared = crate::config::load("titan-v", &[""; 0]).expect("a preset").config.shared;
        for (pairs, expected) in [(false, expected), (true, in_pairs)] {
            shared.pairs = pairs;
            let batch = scattered(&address, mask);
            assert_eq!(bank_conflicts(&batch, &batch.addresses[0], mask, width, &shared), expected, "{pairs}");
            if let Some(batch) = patterned(&address, width).filter(|_| mask == u32::MAX) {
                assert_eq!(bank_conflicts(&batch, &batch.addresses[0], mask, width, &shared), expected, "by pattern");
            }
        }
    }

    /// Rows of 16 threads: what their pattern says is what their addresses say, wherever the second row lies.
    #[test]
    fn half_warps_are_what_their_lanes_are() {
        let shared = crate::config::load("titan-v", &[""; 0]).expect("a preset").config.shared;
        for (apart, step, width) in
            (-700..700i32).flat_map(|at| [(4 * at, 4, 4), (4 * at, 0, 4), (8 * at, 8, 8), (at, 1, 1)])
        {
            let first = Addr(0x1_0000 + 24);
            let pattern = Pattern::HalfWarps { first, apart, step };
            let set = AddressSet { mask: u32::MAX, space: Space::Global, pattern };
            let mut batch = OpBatch::default();
            let lanes = batch.lanes(&set).map(|a| a.0);
            let half = |l: u64| l % 16 * u64::from(step);
            let second = |l: u64| if l < 16 { 0 } else { i64::from(apart) };
            assert_eq!(lanes, std::array::from_fn(|l| first.0.wrapping_add_signed(second(l as u64)) + half(l as u64)));
            batch.addresses.push(set);
            let by_lane = scattered(|l| lanes[l as usize], u32::MAX);
            for group in [8, 16, 32] {
                let mut out = [Vec::new(), Vec::new()];
                coalesce(&batch, &set, u32::MAX, width, group, &mut out[0]);
                coalesce(&by_lane, &by_lane.addresses[0], u32::MAX, width, group, &mut out[1]);
                assert_eq!(out[0], out[1], "{apart} apart, {step} a step, groups of {group}");
            }
            let cycles = |b: &OpBatch| bank_conflicts(b, &b.addresses[0], u32::MAX, width, &shared);
            assert_eq!(cycles(&batch), cycles(&by_lane), "{apart} apart, {step} a step");
        }
    }

    #[test]
    fn constants_are_counted_by_address() {
        let count = |address: fn(u64) -> u64, mask| {
            let batch = scattered(address, mask);
            distinct_addresses(&batch, &batch.addresses[0], mask)
        };
        assert_eq!([count(|_| 64, u32::MAX), count(|l| 4 * (l / 8), u32::MAX), count(|l| 4 * l, u32::MAX)], [1, 4, 32]);
        assert_eq!([count(|l| 4 * l, 0b101), count(|l| 4 * (l % 8), 0xffff_fff0)], [2, 8]);
        let batch = patterned(|_| 64, 4).expect("a pattern");
        assert_eq!(distinct_addresses(&batch, &batch.addresses[0], u32::MAX), 1);
    }

    #[test]
    fn banks_conflict_on_different_words() {
        conflicts(|l| 4 * l, u32::MAX, 4, 1, 1);
        conflicts(|_| 64, u32::MAX, 4, 1, 1);
        conflicts(|_| 64, u32::MAX, 16, 4, 2);
        conflicts(|_| 64, u32::MAX, 8, 2, 1);
        conflicts(|l| 16 * (l / 8), u32::MAX, 16, 4, 2);
        conflicts(|l| 16 * (l % 2), u32::MAX, 16, 4, 2);
        conflicts(|l| 16 * (l % 4), u32::MAX, 16, 4, 4);
        conflicts(|l| 8 * l, u32::MAX, 4, 2, 2);
        conflicts(|l| 128 * l, u32::MAX, 4, 32, 32);
        conflicts(|l| 128 * l, 0b11, 4, 2, 2);
        conflicts(|l| 8 * l, u32::MAX, 8, 2, 2);
        conflicts(|l| 16 * l, u32::MAX, 16, 4, 4);
    }
}
