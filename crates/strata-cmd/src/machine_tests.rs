//! The deduplicated memory in a machine that checks data: what is right stays right, what is done wrong is found.

use crate::dedup::Mutation;
use crate::settings::{CMD, DEDUP, Scheme, Settings};
use crate::{DedupSide, ReadOnlyFifo, SectorSide};
use strata_core::random::SplitMix64;
use strata_core::settings::Settings as Values;
use strata_core::{Addr, LineAddr};
use strata_sim::cache::SectorMask;
use strata_sim::config::load;
use strata_sim::seam::{Line, Victim};
use strata_sim::stats::Reading;
use strata_sim::{Layer, MachineBuilder, MachineError};
use strata_testkit::sim::{Chain, Rig, Traffic, counted};
use strata_testkit::{Instr, Script};

/// Lines are numbered from the first of the program's memory.
const FIRST: u64 = 0x1000;

fn content(letters: [u8; 4]) -> Line {
    std::array::from_fn(|k| if k % 32 == 0 { letters[k / 32] } else { 1 })
}

/// Where a line begins.
const fn at(line: u64) -> u64 {
    (FIRST + line) * 128
}

/// Loads a line, past L1.
const fn load_line(line: u64) -> Instr {
    Instr::load_line(at(line)).past_l1()
}

/// Stores a line whose sectors begin with these letters.
fn store(line: u64, letters: [u8; 4]) -> Instr {
    Instr::store_line(at(line)).past_l1().bytes(content(letters))
}

/// Stores one sector of a line, whole.
fn store_sector(line: u64, sector: u64, letter: u8) -> Instr {
    Instr::store(at(line) + 32 * sector).lanes(0xff).past_l1().bytes(content([letter; 4]))
}

/// One slice of two lines before one channel.
struct Bench(Rig);

fn small_machine() -> MachineBuilder {
    let small = ["l2.slices=1", "dram.channels=1", "l2.sets=1", "l2.ways=2", "l2.copies_fill=false"];
    let mut builder = MachineBuilder::new(load("cmd-gddr6", &small).expect("a preset").config);
    builder.check_data();
    builder
}

impl Bench {
    fn new(set: &[&str], mutation: Option<Mutation>, victim: fn(&Settings) -> Box<dyn Victim>) -> Self {
        let mut builder = small_machine();
        let settings = Settings::of(Scheme::Cmd, &Values::read("cmd", CMD, set).expect("good values"));
        let gpu = builder.config().clone();
        builder.memory_side("cmd", Layer::Relocates, move |_| {
            let mut side = DedupSide::new(&settings, &gpu);
            if let Some(mutation) = mutation {
                side.mutate(mutation);
            }
            Box::new(side)
        });
        builder.victim("cmd", move |_| victim(&settings));
        Self(Rig::new(builder.build().expect("a machine")))
    }

    /// Write deduplication alone.
    fn of_writes(set: &[&str]) -> Self {
        let mut builder = small_machine();
        let settings = Settings::of(Scheme::Dedup, &Values::read("dedup", DEDUP, set).expect("good values"));
        let gpu = builder.config().clone();
        builder.memory_side("dedup", Layer::Relocates, move |_| {
            if settings.sectors {
                Box::new(SectorSide::new(&settings, &gpu))
            } else {
                Box::new(DedupSide::new(&settings, &gpu))
            }
        });
        Self(Rig::new(builder.build().expect("a machine")))
    }

    /// Sectors are deduplicated each by itself.
    fn of_sectors(set: &[&str]) -> Self {
        Self::of_writes(&[&["dedup.granularity=sector"], set].concat())
    }

    fn plain(set: &[&str]) -> Self {
        Self::new(set, None, no_victims)
    }

    fn run(&mut self, ops: &[Instr]) -> Result<(), MachineError> {
        self.0.run(Script::new(&[ops])).map(|_| ())
    }

    fn copy_in(&mut self, line: u64, letters: [u8; 4]) {
        self.0.copy_in(Addr(at(line)), &content(letters));
    }

    /// Kernels, copies from the host and frees from a seed.
    fn run_randomly(&mut self, seed: u64) -> Result<(), MachineError> {
        traffic().through_machine(&mut self.0, 4, seed)
    }

    fn count(&self, name: &str) -> u64 {
        self.0.count(name)
    }
}

/// A buffer that is always empty.
struct Empty;

impl Victim for Empty {
    fn evicted(&mut self, _: LineAddr, _: SectorMask) {}

    fn missed(&mut self, _: LineAddr, _: SectorMask) -> (SectorMask, u32) {
        (SectorMask::NONE, 0)
    }

    fn written(&mut self, _: LineAddr, _: SectorMask) {}
}

fn no_victims(_: &Settings) -> Box<dyn Victim> {
    Box::new(Empty)
}

fn fifo(settings: &Settings) -> Box<dyn Victim> {
    Box::new(ReadOnlyFifo::new(settings.fifo.expect("CMD has one")))
}

const R: u64 = 1;
const M: u64 = 2;
/// Two other lines push out what L2 has.
const PUSH: [Instr; 2] = [load_line(8), load_line(9)];

/// Kernels that make M a duplicate of R, and what must follow.
fn map_then(then: &[Instr]) -> Vec<Instr> {
    let x = [2, 3, 4, 5];
    [&[store(R, x), store(M, x)], &PUSH[..], then].concat()
}

#[test]
fn a_duplicate_is_copied_from_l2() {
    let mut rig = Bench::plain(&[]);
    rig.run(&map_then(&[load_line(R), load_line(M)])).expect("it runs");
    assert_eq!((rig.count("cmd.reads.probed"), rig.count("cmd.reads.copied")), (4, 4));
    assert_eq!((rig.count("cmd.requests.write.before"), rig.count("cmd.requests.write.after")), (2, 1));
    let reading = rig.0.reading();
    assert_eq!(reading.l2().copied, 4);
    // Two other lines and R; M's four sectors are not among them.
    assert_eq!(rig.count("cmd.requests.data_read.after") + rig.count("cmd.requests.read_only.after"), 12);
}

#[test]
fn what_l2_has_of_a_reference_in_part_is_copied_in_part() {
    let mut rig = Bench::plain(&[]);
    // Of R, which is in L2, one sector is dirty.
    let then = [load_line(R), store_sector(R, 2, 7), load_line(M)];
    rig.run(&map_then(&then)).expect("it runs");
    assert_eq!((rig.count("cmd.reads.probed"), rig.count("cmd.reads.copied")), (4, 3));
    assert_eq!(rig.count("cmd.requests.data_read.after"), 5, "R and one sector of M");
}

/// Map M to R, rewrite R, read R, read M.
fn rewrite() -> Vec<Instr> {
    map_then(&[store(R, [6, 7, 8, 9]), PUSH[0], PUSH[1], load_line(R), load_line(M)])
}

#[test]
fn a_reference_that_was_rewritten_is_not_copied() {
    let mut rig = Bench::plain(&[]);
    rig.run(&rewrite()).expect("it runs");
    assert_eq!((rig.count("cmd.reads.copied"), rig.count("cmd.relocations")), (0, 1));
}

/// Runs what is right, and then the same done wrong: what is said of it.
#[track_caller]
fn found(mutation: Mutation, ops: &[Instr]) -> String {
    Bench::plain(&[]).run(ops).expect("nothing is wrong yet");
    let mut rig = Bench::new(&[], Some(mutation), no_victims);
    rig.run(ops).expect_err("it is found").to_string()
}

#[test]
fn wrong_mappings_are_found() {
    let ops = rewrite();
    let error = found(Mutation::OverwritesShared, &ops);
    assert!(error.contains("a memory side would deliver other bytes than were stored"), "{error}");
    let error = found(Mutation::TrustsReference, &ops);
    assert!(error.contains("from L2 for a line that holds other bytes"), "{error}");
}

/// Keeps what is written meanwhile.
struct Forgetful(Box<dyn Victim>);

impl Victim for Forgetful {
    fn evicted(&mut self, line: LineAddr, clean: SectorMask) {
        self.0.evicted(line, clean);
    }

    fn missed(&mut self, line: LineAddr, sectors: SectorMask) -> (SectorMask, u32) {
        self.0.missed(line, sectors)
    }

    fn written(&mut self, _: LineAddr, _: SectorMask) {}
}

#[test]
fn a_fifo_that_keeps_what_was_written_is_found() {
    // In the FIFO, then written, pushed out, and read again.
    let ops = [load_line(R), PUSH[0], PUSH[1], store(R, [6; 4]), load_line(10), load_line(11), load_line(R)];
    let mut rig = Bench::new(&[], None, fifo);
    rig.copy_in(R, [9, 8, 7, 6]);
    rig.run(&ops).expect("it runs");
    let mut rig = Bench::new(&[], None, |settings| Box::new(Forgetful(fifo(settings))));
    rig.copy_in(R, [9, 8, 7, 6]);
    let error = rig.run(&ops).expect_err("it is found").to_string();
    assert!(error.contains("finds old data in the sector"), "{error}");
    // A host copy drops what the FIFO has, too.
    let mut rig = Bench::new(&[], None, |settings| Box::new(Forgetful(fifo(settings))));
    rig.copy_in(R, [9, 8, 7, 6]);
    rig.run(&[load_line(R), PUSH[0], PUSH[1]]).expect("nothing is written");
    rig.copy_in(R, [1, 2, 3, 4]);
    rig.run(&[load_line(R)]).expect_err("it is found");
}

#[test]
fn a_fifo_saves_reads() {
    let ops = [load_line(R), PUSH[0], PUSH[1], load_line(R)];
    let mut rig = Bench::new(&[], None, fifo);
    rig.run(&ops).expect("it runs");
    assert_eq!((rig.count("cmd.fifo.hits"), rig.count("cmd.fifo.read_only_hits")), (4, 4));
    assert_eq!((rig.count("cmd.requests.read_only.before"), rig.count("cmd.requests.read_only.after")), (16, 12));
}

/// Twelve lines and three letters: duplicates are likely.
fn traffic() -> Traffic {
    let palette = [1, 2, 3].map(|letter| content([letter; 4])).to_vec();
    Traffic { first: Addr(at(0)), palette, ..Traffic::default() }
}

/// Everything that L2 asked for was kept or removed, and everything kept is what DRAM moved, whatever goes wrong on the way:
/// stores that are full, counts that are saturated, metadata caches of a single line.
#[test]
fn requests_are_conserved_and_data_are_right() {
    let cases: [&[&str]; 11] = [
        &[],
        &["cmd.dedup_reads=l2"],
        &["cmd.metadata_prefetch=stream"],
        &["cmd.guard=on"],
        &["cmd.guard=on", "cmd.metadata_prefetch=stream", "cmd.dedup_reads=l2", "cmd.map_cache=128"],
        &["cmd.hash_store=128"],
        &["cmd.max_count=2"],
        &["cmd.map_cache=128", "cmd.type_cache=128", "cmd.mask_cache=128"],
        &["cmd.hash=crc"],
        &["cmd.hash=ideal", "cmd.store=exact"],
        &["cmd.partial_sectors=merge", "cmd.simulation_key=md5"],
    ];
    for (seed, set) in cases.into_iter().enumerate() {
        let mut rig = Bench::new(set, None, fifo);
        rig.run_randomly(seed as u64).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        let reading = rig.0.reading();
        let (l2, n) = (reading.l2(), |name: &str| counted(&reading, name));
        let reads =
            |when: &str| n(&format!("cmd.requests.data_read.{when}")) + n(&format!("cmd.requests.read_only.{when}"));
        assert_eq!(reads("before"), l2.fetches + n("cmd.fifo.hits"), "{set:?}");
        let removed = n("cmd.reads.from_map") + n("cmd.reads.copied") + n("cmd.fifo.hits");
        assert_eq!(reads("before"), reads("after") + removed, "{set:?}");
        let writes = n("cmd.requests.write.after") + n("cmd.writes.intra") + n("cmd.writes.inter");
        assert_eq!(n("cmd.requests.write.before"), writes, "{set:?}");
        assert_eq!(n("cmd.write_sectors.before"), l2.write_backs, "{set:?}");
        check_traffic(&reading, set);
        assert!(removed > 0 && n("cmd.writes.inter") > 0 && n("cmd.writes.intra") > 0, "{set:?}");
    }
}

/// A write that covers a part of a block asks DRAM for nothing that L2 evicts with it.
#[test]
fn old_sectors_that_l2_holds_need_no_read() {
    let ops = [&[store(R, [2, 3, 4, 5])], &PUSH[..], &[load_line(R), store_sector(R, 2, 7)], &PUSH[..]].concat();
    let reads = |set: &[&str]| {
        let mut rig = Bench::plain(set);
        rig.run(&ops).expect("it runs");
        (rig.count("cmd.requests.dedup_read.after"), rig.count("cmd.dedup_read.held"))
    };
    assert_eq!((reads(&[]), reads(&["cmd.dedup_reads=l2"])), ((3, 0), (0, 3)));
}

/// Lines that never repeat, one sector after another: deduplication only costs, until the guard has seen enough of it.
#[test]
fn the_guard_ends_what_does_not_repay() {
    let scattered = |set: &[&str]| {
        let mut rig = Bench::plain(&[set, &["cmd.map_cache=128", "cmd.type_cache=128", "cmd.mask_cache=128"]].concat());
        let sector = |k: u64| store_sector((k * 37) % 2048, k % 4, (k % 251) as u8 + 1);
        for round in 0..10 {
            let ops: Vec<Instr> = (0..1200).map(|k| sector(1200 * round + k)).collect();
            rig.run(&ops).expect("data stay what they are");
        }
        let extra = rig.count("cmd.requests.metadata.after") + rig.count("cmd.requests.dedup_read.after");
        (extra, rig)
    };
    let ((free, _), (guarded, rig)) = (scattered(&[]), scattered(&["cmd.guard=on"]));
    let (off, spared) = (rig.count("cmd.guard.switched_off"), rig.count("cmd.guard.spared"));
    assert!(off == 1 && spared > 0, "{off} {spared}");
    assert!(guarded < free / 2, "{guarded} of {free}");
}

/// Everything that was counted as kept is what DRAM moved.
fn check_traffic(reading: &Reading, set: &[&str]) {
    let n = |name: &str| 32 * counted(reading, name);
    let moved = |name: &str| reading.sides.traffic.iter().find(|(t, _)| *t == name).expect("a reason").1;
    let reads = n("cmd.requests.data_read.after") + n("cmd.requests.read_only.after");
    assert_eq!(reads, moved("data").dram_read, "{set:?}");
    assert_eq!(n("cmd.write_sectors.after"), moved("data").dram_written, "{set:?}");
    assert_eq!(n("cmd.requests.dedup_read.after"), moved("dedup_read").dram_read, "{set:?}");
    let metadata = moved("metadata").dram_read + moved("metadata").dram_written;
    assert_eq!(n("cmd.requests.metadata.after"), metadata, "{set:?}");
}

#[test]
fn sectors_by_themselves_are_conserved_and_right_too() {
    let cases: [&[&str]; 6] = [
        &[],
        &["dedup.one_word_reads=map"],
        &["dedup.hash_store=128"],
        &["dedup.map_cache=128", "dedup.type_cache=128", "dedup.mask_cache=128"],
        &["dedup.hash=crc", "dedup.partial_sectors=merge"],
        &["dedup.hash=ideal", "dedup.store=exact"],
    ];
    for (seed, set) in cases.into_iter().enumerate() {
        let mut rig = Bench::of_sectors(set);
        rig.run_randomly(seed as u64).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        let reading = rig.0.reading();
        let (l2, n) = (reading.l2(), |name: &str| counted(&reading, name));
        let reads =
            |when: &str| n(&format!("cmd.requests.data_read.{when}")) + n(&format!("cmd.requests.read_only.{when}"));
        assert_eq!(reads("before"), l2.fetches, "{set:?}");
        assert_eq!(reads("before"), reads("after") + n("cmd.reads.from_map") + n("cmd.reads.shared"), "{set:?}");
        assert_eq!(n("cmd.write_sectors.before"), l2.write_backs, "{set:?}");
        assert_eq!(n("cmd.dedup_read.uncovered"), 0, "no write leaves part of a sector");
        assert!(n("cmd.writes.inter") > 0 && n("cmd.writes.intra") > 0, "{set:?}");
        check_traffic(&reading, set);
    }
}

/// Equal sectors at other places of their lines: as blocks they are no duplicates.
#[test]
fn a_sector_is_found_at_any_place_of_a_line() {
    let ops = [&[store(R, [2, 3, 4, 5]), store(M, [5, 4, 3, 2])], &PUSH[..], &[load_line(R), load_line(M)]].concat();
    let stored = |mut rig: Bench| {
        rig.run(&ops).expect("it runs");
        (rig.count("cmd.write_sectors.before"), rig.count("cmd.write_sectors.after"))
    };
    assert_eq!((stored(Bench::plain(&[])), stored(Bench::of_sectors(&[]))), ((8, 8), (8, 4)));
}

/// The map has the word of an intra-duplicate line, but answers from it are cache-assisted reads.
#[test]
fn without_cache_assisted_reads_a_line_of_one_word_costs_a_read() {
    let ops = [&[store(R, [1; 4])], &PUSH[..], &[load_line(R)]].concat();
    let check = |set: &[&str], reads: u64| {
        let mut rig = Bench::of_writes(set);
        rig.run(&ops).expect("it runs");
        assert_eq!((rig.count("cmd.writes.intra"), rig.count("cmd.requests.data_read.after")), (1, reads), "{set:?}");
    };
    check(&[], 4);
    check(&["dedup.one_word_reads=map"], 0);
    check(&["dedup.granularity=sector"], 4);
    check(&["dedup.granularity=sector", "dedup.one_word_reads=map"], 0);
}

/// What the simulator hashes with is nothing that a machine has.
#[test]
fn md5_and_its_stand_in_take_the_same_time() {
    let readings = ["md5", "xxh3"].map(|key| {
        let mut rig = Bench::new(&[&format!("cmd.simulation_key={key}")], None, fifo);
        rig.0.run(traffic().script(1, &mut SplitMix64::new(7))).expect("it runs");
        (rig.0.reading(), rig.0.machine().now())
    });
    assert_eq!(readings[0], readings[1]);
}

/// Without a machine: whatever is moved, mapped and copied, what was written comes back.
#[test]
fn what_was_written_comes_back_through_a_chain() {
    let gpu = load("cmd-gddr6", &[""; 0]).expect("a preset").config;
    let chain = |set: &[&str], mutation: Option<Mutation>| {
        let settings = Settings::of(Scheme::Cmd, &Values::read("cmd", CMD, set).expect("good values"));
        let mut side = DedupSide::new(&settings, &gpu);
        if let Some(mutation) = mutation {
            side.mutate(mutation);
        }
        Chain::of(vec![Box::new(side)])
    };
    let sets: [&[&str]; 5] = [
        &[],
        &["cmd.hash_store=128"],
        &["cmd.max_count=2"],
        &["cmd.hash=crc"],
        &["cmd.guard=on", "cmd.dedup_reads=l2"],
    ];
    for (seed, set) in sets.into_iter().enumerate() {
        let compared = traffic().through_chain(&mut chain(set, None), seed as u64);
        assert!(compared.as_ref().is_ok_and(|n| *n > 1000), "{set:?}: {compared:?}");
    }
    for mutation in [Mutation::OverwritesShared, Mutation::TrustsReference, Mutation::LosesReferences] {
        traffic().through_chain(&mut chain(&[], Some(mutation)), 1).expect_err("it is found");
    }
}

#[test]
fn presumed_duplicates_are_counted_and_a_check_of_data_finds_them() {
    let stores: Vec<_> = (0..64).map(|line| store(line, [line as u8, 2, 3, 4])).collect();
    let mut honest = Bench::plain(&[]);
    honest.run(&stores).expect("what was written");
    assert_eq!(honest.count("cmd.writes.intra"), 0);
    let mut presuming = Bench::plain(&["cmd.presumed_duplicates=50"]);
    presuming.run(&stores).expect("nothing is read");
    let intra = presuming.count("cmd.writes.intra");
    assert!((24..=38).contains(&intra), "{intra} of 62 that left L2");
    let reads: Vec<_> = (0..64).map(load_line).collect();
    presuming.run(&reads).expect_err("bytes that were never written");
}
