//! The deduplicated memory against a plain one, with every count recounted after every step.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What a test does wrong on purpose, to see that it is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutation {
    /// A block that others share is written in place.
    OverwritesShared,
    /// Equal fingerprints are taken for equal bytes.
    TrustsHash,
    /// What L2 has of a block is taken for what is at its home, wherever the block is by now.
    TrustsReference,
    /// A block that goes elsewhere is still counted where it was.
    LeaksCounts,
    /// A block that goes, as its page leaves or the program frees it, takes its place away from others that refer to it.
    LosesReferences,
}

impl Dedup {
    pub(crate) fn mutate(&mut self, mutation: Mutation) {
        self.mutation = Some(mutation);
    }
}

const SPILL: u64 = 1 << 40;

fn rules(fingerprint: Fingerprint, entries: u32, max_count: u32) -> Rules {
    let verify = !matches!(fingerprint, Fingerprint::Md5 | Fingerprint::Xxh3);
    Rules { intra: true, fingerprint, verify, entries, max_count, spill: SPILL }
}

fn memory(rules: Rules) -> Dedup {
    let mut memory = Dedup::new(rules);
    memory.carry_bytes();
    memory
}

/// Sectors of which each begins with its letter; two letters never give a repeated word.
fn line(letters: [u8; 4]) -> Line {
    std::array::from_fn(|k| if k % 32 == 0 { letters[k / 32] } else { 1 })
}

/// Everything that must hold of a memory; the text says what does not.
fn recount(memory: &Dedup) -> Result<(), String> {
    let mut users: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (line, block, _) in memory.places.iter() {
        if let Some(place) = block.place(line) {
            users.entry(place).or_default().push(line);
        }
    }
    for (place, block, state) in memory.places.iter() {
        let blocks = users.get(&place).map_or(&[][..], Vec::as_slice);
        if state.occupied == blocks.is_empty() {
            return Err(format!("place {place} is occupied: {}, by {blocks:?}", state.occupied));
        }
        let count = state.entry.some().map(|entry| memory.store.count(entry) as usize);
        if count.unwrap_or(1) != blocks.len().max(1) {
            return Err(format!("place {place} is counted {count:?} times, by {blocks:?}"));
        }
        if blocks.iter().any(|&b| b != place && !memory.block(b).mask.and(block.pinned()).is_empty()) {
            return Err(format!("the home of block {place} has unmasked data and others: {blocks:?}"));
        }
        if let [first, others @ ..] = blocks {
            let mask = |b: &u64| memory.block(*b).mask;
            if others.iter().any(|b| mask(b) != mask(first)) {
                return Err(format!("blocks at place {place} have other masks: {blocks:?}"));
            }
        }
    }
    for (id, place, count) in memory.store.iter() {
        if memory.places.place(place).entry != id || count > memory.rules.max_count {
            return Err(format!("an entry of count {count} names place {place}, which has another"));
        }
    }
    let spilled = users.keys().filter(|&&place| place >= SPILL).count() as u64;
    if memory.places.spill_in_use() != spilled {
        return Err(format!("{spilled} lines of the spill area are in use, not {}", memory.places.spill_in_use()));
    }
    Ok(())
}

/// A plain memory: bytes, and the sectors that somebody has written.
#[derive(Default)]
struct Plain(BTreeMap<u64, (SectorMask, Line)>);

impl Plain {
    fn write(&mut self, line: u64, sectors: SectorMask, data: &Line) -> Line {
        let (known, held) = self.0.entry(line).or_insert((SectorMask::NONE, [0; 128]));
        *known = known.or(sectors);
        (0..128).filter(|k| sectors.0 >> (k / 32) & 1 != 0).for_each(|k| held[k] = data[k]);
        *held
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Write(u64, SectorMask, [u8; 4]),
    Plain(u64, SectorMask, [u8; 4]),
    Host(u64, SectorMask, [u8; 4]),
    Free(u64),
}

/// Few lines, few letters, whole lines more often than parts: duplicates are likely. Letter 1 makes a repeated word.
fn op() -> impl Strategy<Value = Op> {
    let mask = prop_oneof![3 => Just(0b1111u8), 2 => 1u8..16];
    let letters = prop_oneof![
        3 => (1u8..4).prop_map(|a| [a; 4]),
        1 => (1u8..3, 1u8..3).prop_map(|(a, b)| [a, b, a, b]),
    ];
    (0u64..10, mask, letters, 0u8..12).prop_map(|(line, mask, letters, what)| match what {
        0 => Op::Host(line, SectorMask(mask), letters),
        1 => Op::Free(line),
        2 | 3 => Op::Plain(line, SectorMask(mask), letters),
        _ => Op::Write(line, SectorMask(mask), letters),
    })
}

/// Carries operations out on both memories; the text says where they differ.
fn follow(memory: &mut Dedup, ops: &[Op]) -> Result<(), String> {
    let mut plain = Plain::default();
    for (step, &op) in ops.iter().enumerate() {
        match op {
            Op::Write(at, sectors, letters) => {
                let data = plain.write(at, sectors, &line(letters));
                memory.write(at, sectors, &data);
            }
            Op::Plain(at, sectors, letters) => {
                let data = plain.write(at, sectors, &line(letters));
                memory.write_plain(at, sectors, &data);
            }
            Op::Host(at, sectors, letters) => {
                let data = plain.write(at, sectors, &line(letters));
                memory.host_wrote(at, sectors, &data);
            }
            Op::Free(at) => {
                plain.0.remove(&at);
                memory.freed(at);
            }
        }
        recount(memory).map_err(|e| format!("step {step}, {op:?}: {e}"))?;
        for (&at, (known, held)) in &plain.0 {
            let (there, bytes) = memory.delivers(at).unwrap_or((SectorMask::NONE, [0; 128]));
            let differs = |k: &usize| known.0 >> (k / 32) & 1 != 0 && bytes[*k] != held[*k];
            if there != *known || (0..128).any(|k| differs(&k)) {
                return Err(format!("step {step}, {op:?}: block {at} is not what it was"));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn data_never_change(
        ops in proptest::collection::vec(op(), 1..80), entries in 1u32..6, max_count in 1u32..4, kind in 0usize..5,
    ) {
        let all = [Fingerprint::Xxh3, Fingerprint::Md5, Fingerprint::Crc, Fingerprint::Ecc, Fingerprint::FirstByte];
        let done = follow(&mut memory(rules(all[kind], entries, max_count)), &ops);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }

    /// MD5 and what stands in for it in the simulation decide everything alike.
    #[test]
    fn the_key_of_the_simulation_does_not_matter(ops in proptest::collection::vec(op(), 1..60)) {
        let [mut md5, mut xxh3] = [Fingerprint::Md5, Fingerprint::Xxh3].map(|f| memory(rules(f, 4, 3)));
        let mut plain = Plain::default();
        for op in ops {
            if let Op::Write(at, sectors, letters) = op {
                let data = plain.write(at, sectors, &line(letters));
                prop_assert_eq!(md5.write(at, sectors, &data), xxh3.write(at, sectors, &data));
            }
        }
    }
}

/// Enough operations for each mutation to matter.
fn fails_with(mutation: Mutation, fingerprint: Fingerprint, ops: &[Op]) -> String {
    follow(&mut memory(rules(fingerprint, 4, 8)), ops).expect("nothing is wrong yet");
    let mut mutated = memory(rules(fingerprint, 4, 8));
    mutated.mutate(mutation);
    follow(&mut mutated, ops).expect_err("it is found")
}

const ALL: SectorMask = SectorMask::ALL;

#[test]
fn what_is_done_wrong_is_found() {
    let share = [Op::Write(1, ALL, [2; 4]), Op::Write(2, ALL, [2; 4]), Op::Write(1, ALL, [3; 4])];
    let error = fails_with(Mutation::OverwritesShared, Fingerprint::Xxh3, &share);
    assert!(error.contains("step 2"), "{error}");
    let error = fails_with(Mutation::LeaksCounts, Fingerprint::Xxh3, &share);
    assert!(error.contains("counted"), "{error}");
    let leaves = [Op::Write(1, ALL, [2; 4]), Op::Write(2, ALL, [2; 4]), Op::Free(1)];
    let error = fails_with(Mutation::LosesReferences, Fingerprint::Xxh3, &leaves);
    assert!(error.contains("step 2") && error.contains("occupied: false, by [2]"), "{error}");
}

/// A page leaves whose place another refers to, and comes again with other bytes: those find another place.
#[test]
fn what_others_refer_to_outlives_the_page_it_was_written_in() {
    let mut memory = memory(rules(Fingerprint::Xxh3, 4, 8));
    memory.write(1, ALL, &line([2; 4]));
    memory.write(2, ALL, &line([2; 4]));
    memory.freed(1);
    assert_eq!(memory.host_wrote(1, ALL, &line([3; 4])), 2, "its home is still what 2 refers to; that of 2 is free");
    assert_eq!(memory.delivers(2).map(|(_, bytes)| bytes), Some(line([2; 4])));
    assert_eq!(memory.delivers(1).map(|(_, bytes)| bytes), Some(line([3; 4])));
    recount(&memory).expect("sound");
}

/// A fingerprint that is trusted and collides changes data: MD5 is trusted because nobody finds it colliding by chance. One
/// that is weak must be compared.
#[test]
fn a_weak_fingerprint_must_be_compared() {
    let collide = [Op::Write(1, ALL, [2, 2, 2, 2]), Op::Write(2, ALL, [2, 3, 3, 3])];
    let error = fails_with(Mutation::TrustsHash, Fingerprint::FirstByte, &collide);
    assert!(error.ends_with("block 2 is not what it was"), "{error}");
    let mut memory = memory(rules(Fingerprint::FirstByte, 4, 8));
    memory.write(1, ALL, &line([2; 4]));
    let written = memory.write(2, ALL, &line([2, 3, 3, 3]));
    assert!(written.collided && written.compared == Some(At { place: 1, sectors: ALL }));
    assert_eq!(written.outcome, Outcome::Stored(At { place: 2, sectors: ALL }));
}

#[track_caller]
fn check_coverage(old: u8, new: u8, read: Option<u8>) {
    let mut memory = memory(rules(Fingerprint::Xxh3, 4, 8));
    memory.write(1, SectorMask(old), &line([2, 3, 2, 3]));
    assert_eq!(memory.uncovered(1, SectorMask(new)).map(|at| at.sectors.0), read, "{old:04b} {new:04b}");
    let written = memory.write(1, SectorMask(new), &line([3, 2, 3, 2]));
    assert_eq!(written.after.mask, SectorMask(old | new));
}

/// Figure 7 and equations 1 and 2; masks are written as the paper does, sector 0 first.
#[test]
fn old_sectors_are_read_unless_the_write_covers_them() {
    let paper = |mask: &str| u8::from_str_radix(&mask.chars().rev().collect::<String>(), 2).expect("a mask");
    // (a): the write 0110 does not cover the block's 1011; of it, sectors 0 and 3 are read.
    check_coverage(paper("1011"), paper("0110"), Some(paper("1001")));
    // (b): the write covers the block's mask.
    check_coverage(paper("0110"), paper("0111"), None);
    check_coverage(paper("0110"), paper("0110"), None);
    check_coverage(0b0001, 0b0001, None);
}

#[test]
fn what_is_in_the_map_entry_needs_no_read() {
    let mut memory = memory(rules(Fingerprint::Xxh3, 4, 8));
    assert_eq!(memory.write(1, ALL, &[7; 128]).outcome, Outcome::Intra);
    let mut data = [7; 128];
    data[..4].fill(8);
    assert_eq!(memory.uncovered(1, SectorMask(1)), None);
    assert_eq!(memory.write(1, SectorMask(1), &data).outcome, Outcome::Stored(At { place: 1, sectors: ALL }));
}

/// Map M to R, rewrite R, read R, read M.
#[test]
fn a_reference_that_was_rewritten_is_no_source() {
    let mut memory = memory(rules(Fingerprint::Xxh3, 4, 8));
    let (r, m) = (1, 2);
    memory.write(r, ALL, &line([2; 4]));
    memory.write(m, ALL, &line([2; 4]));
    assert_eq!(memory.read(m, ALL).reference, Some(r));
    let written = memory.write(r, ALL, &line([3; 4]));
    // The home of M is the one free place.
    assert_eq!((written.after.kind, written.outcome), (Kind::Inter, Outcome::Stored(At { place: m, sectors: ALL })));
    let (of_r, of_m) = (memory.read(r, ALL), memory.read(m, ALL));
    assert_eq!((of_r.place, of_r.reference), (Some(m), None));
    assert_eq!((of_m.place, of_m.reference), (Some(r), None));
}

/// R has gone and left M at its home, where R's other sectors still are: M cannot grow there.
#[test]
fn a_guest_does_not_grow_over_what_is_pinned() {
    let (r, m) = (1, 2);
    let part = SectorMask(0b0011);
    let ops = [
        Op::Host(r, ALL, [9; 4]),
        Op::Write(r, part, [2; 4]),
        Op::Write(m, part, [2; 4]),
        Op::Write(r, SectorMask(1), [3; 4]),
        Op::Write(m, ALL, [2, 3, 2, 3]),
    ];
    let mut memory = memory(rules(Fingerprint::Xxh3, 4, 8));
    follow(&mut memory, &ops).expect("every block keeps its bytes");
    assert_ne!(memory.block(m).place(m), Some(r));
}

#[test]
fn a_full_store_and_a_full_count_find_no_duplicates() {
    let mut memory = memory(rules(Fingerprint::Xxh3, 1, 2));
    let outcomes: Vec<_> = (1..=4).map(|at| memory.write(at, ALL, &line([2; 4])).outcome).collect();
    let stored = |place| Outcome::Stored(At { place, sectors: ALL });
    assert_eq!(outcomes, [stored(1), Outcome::Inter, stored(3), stored(4)], "two blocks are the most");
    // The one entry has two blocks and stays.
    assert_eq!([5, 6].map(|at| memory.write(at, ALL, &line([3; 4])).outcome), [stored(5), stored(6)]);
}

#[test]
fn what_is_written_as_it_is_goes_home() {
    let mut memory = memory(rules(Fingerprint::Xxh3, 4, 8));
    for at in [1, 2] {
        memory.write(at, ALL, &line([2; 4]));
    }
    memory.write(3, ALL, &[7; 128]);
    let home = |place| Outcome::Stored(At { place, sectors: ALL });
    assert_eq!([2, 3].map(|at| memory.write_plain(at, ALL, &line([2; 4])).outcome), [home(2), home(3)]);
    let part = memory.write_plain(2, SectorMask(1), &line([3, 2, 2, 2]));
    assert_eq!(part.outcome, Outcome::Stored(At { place: 2, sectors: SectorMask(1) }));
    // Two at the homes of each other: one waits in the spill area until its own is free.
    memory.write(5, ALL, &line([3; 4]));
    memory.write(6, ALL, &line([3; 4]));
    assert_eq!(memory.write(5, ALL, &line([2, 3, 2, 3])).outcome, home(6));
    let places = [5, 6, 5].map(|at| memory.write_plain(at, ALL, &line([3, 2, 3, 2])).outcome);
    assert_eq!(places, [home(SPILL), home(6), home(5)]);
    recount(&memory).expect("sound");
}

#[test]
fn spilled_lines_come_back() {
    let mut memory = memory(rules(Fingerprint::Xxh3, 8, 8));
    // Sectors that the host has defined and nobody wrote pin both homes.
    for at in [1, 2] {
        memory.host_wrote(at, ALL, &line([9; 4]));
        memory.write(at, SectorMask(1), &line([2, 9, 9, 9]));
    }
    let spills = Outcome::Stored(At { place: SPILL, sectors: SectorMask(1) });
    assert_eq!(memory.write(1, SectorMask(1), &line([3, 9, 9, 9])).outcome, spills);
    assert_eq!((memory.spilled(), memory.places.spill_in_use()), (1, 1));
    assert_eq!(
        memory.host_wrote(1, ALL, &line([9; 4])),
        SPILL,
        "its home is still M's; the spilled line is used again"
    );
    memory.freed(2);
    assert_eq!((memory.host_wrote(1, ALL, &line([9; 4])), memory.places.spill_in_use()), (1, 0));
    recount(&memory).expect("sound");
}
