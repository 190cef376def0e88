//! The deduplicated memory in a machine that checks data: what is right stays right, what is done wrong is found.

use crate::dedup::Mutation;
use crate::settings::{CMD, DEDUP, Scheme, Settings};
use crate::{DedupSide, ReadOnlyFifo, SectorSide, WrittenSectors};
use std::collections::BTreeMap;
use strata_core::settings::Settings as Values;
use strata_core::{
    Access, Addr, AddressSet, Bytes, GridSource, LaneMask, LineAddr, OpBatch, OpClass, OpInfo, OpKind, Pattern, Space,
    Stop, WarpId, WarpOp, WarpSource,
};
use strata_sim::cache::SectorMask;
use strata_sim::config::load;
use strata_sim::seam::{Line, SideCount, Victim};
use strata_sim::stats::Reading;
use strata_sim::{KernelNeeds, Machine, MachineError};

/// What a warp does; lines are numbered from the first of the program's memory.
#[derive(Clone, Copy)]
enum Do {
    /// Loads a line, past L1.
    Load(u64),
    /// Stores a line whose sectors begin with these letters.
    Store(u64, [u8; 4]),
    /// Stores the first 4 bytes of a line's second sector and so on: one sector, whole.
    StoreSector(u64, u64, u8),
}

const FIRST: u64 = 0x1000;

fn content(letters: [u8; 4]) -> Line {
    std::array::from_fn(|k| if k % 32 == 0 { letters[k / 32] } else { 1 })
}

/// A kernel of one warp.
struct Script<'m> {
    ops: Vec<Do>,
    done: usize,
    infos: Vec<OpInfo>,
    memory: &'m mut BTreeMap<u64, Line>,
}

impl<'m> Script<'m> {
    fn new(ops: &[Do], memory: &'m mut BTreeMap<u64, Line>) -> Self {
        let info = |op: &Do| {
            let load = matches!(op, Do::Load(_));
            OpInfo {
                class: OpClass::Memory,
                kind: OpKind::Plain,
                space: Space::Global,
                access: if load { Access::Load } else { Access::Store },
                width: 4,
                bypass_l1: true,
                read_only: false,
                dst: load.then_some(0).into_iter().collect(),
                src: [0].into_iter().collect(),
                line: 1,
                name: if load { "ld.global.cg.u32" } else { "st.global.u32" }.into(),
            }
        };
        Self { ops: ops.to_vec(), done: 0, infos: ops.iter().map(info).collect(), memory }
    }
}

impl WarpSource for Script<'_> {
    fn advance(&mut self, _: WarpId, out: &mut OpBatch) -> Stop {
        let Some(&op) = self.ops.get(self.done) else { return Stop::Exited };
        let (line, first, mask): (u64, u64, LaneMask) = match op {
            Do::Load(line) => (line, 0, LaneMask::MAX),
            Do::Store(line, letters) => {
                self.memory.insert(FIRST + line, content(letters));
                (line, 0, LaneMask::MAX)
            }
            Do::StoreSector(line, sector, letter) => {
                let held = self.memory.entry(FIRST + line).or_insert([0; 128]);
                let from = 32 * sector as usize;
                held[from..from + 32].copy_from_slice(&content([letter; 4])[..32]);
                (line, 32 * sector, 0xff)
            }
        };
        let pattern = Pattern::Sequence { first: Addr((FIRST + line) * 128 + first), step: 4 };
        out.addresses.push(AddressSet { mask, space: Space::Global, pattern });
        out.ops.push(WarpOp { pc: self.done as u32, mask, addresses: out.addresses.len() as u32 - 1 });
        self.done += 1;
        Stop::Ready
    }
}

impl GridSource for Script<'_> {
    fn instructions(&self) -> &[OpInfo] {
        &self.infos
    }

    fn ctas(&self) -> u64 {
        1
    }

    fn warps_per_cta(&self) -> u32 {
        1
    }

    fn start_cta(&mut self, _: u32, _: u64) {}

    fn take_opened(&mut self, _: &mut Vec<WarpId>) {}

    fn read_line(&self, line: LineAddr, out: &mut Line) {
        *out = self.memory.get(&line.0).copied().unwrap_or([0; 128]);
    }
}

/// One slice of two lines before one channel.
struct Rig {
    machine: Machine,
    memory: BTreeMap<u64, Line>,
}

fn small_machine() -> Machine {
    let small = ["l2.slices=1", "dram.channels=1", "l2.sets=1", "l2.ways=2", "l2.copies_fill=false"];
    let mut machine = Machine::new(load("cmd-gddr6", &small).expect("a preset").config).expect("a machine");
    machine.check_data();
    machine
}

impl Rig {
    fn new(set: &[&str], mutation: Option<Mutation>, victim: fn(&Settings, WrittenSectors) -> Box<dyn Victim>) -> Self {
        let mut machine = small_machine();
        let settings = Settings::of(Scheme::Cmd, &Values::read("cmd", CMD, set).expect("good values"));
        let (gpu, written) = (machine.config().clone(), WrittenSectors::default());
        machine.set_memory_side(|_| {
            let mut side = DedupSide::new(&settings, &gpu, written.clone());
            if let Some(mutation) = mutation {
                side.mutate(mutation);
            }
            vec![Box::new(side)]
        });
        machine.set_victims(|_| victim(&settings, written.clone()));
        Self { machine, memory: BTreeMap::new() }
    }

    /// Write deduplication alone.
    fn of_writes(set: &[&str]) -> Self {
        let mut machine = small_machine();
        let settings = Settings::of(Scheme::Dedup, &Values::read("dedup", DEDUP, set).expect("good values"));
        let (gpu, written) = (machine.config().clone(), WrittenSectors::default());
        machine.set_memory_side(|_| {
            let written = written.clone();
            vec![if settings.sectors {
                Box::new(SectorSide::new(&settings, &gpu, written))
            } else {
                Box::new(DedupSide::new(&settings, &gpu, written))
            }]
        });
        Self { machine, memory: BTreeMap::new() }
    }

    /// Sectors are deduplicated each by itself.
    fn of_sectors(set: &[&str]) -> Self {
        Self::of_writes(&[&["dedup.granularity=sector"], set].concat())
    }

    fn plain(set: &[&str]) -> Self {
        Self::new(set, None, no_victims)
    }

    fn run(&mut self, ops: &[Do]) -> Result<(), MachineError> {
        let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
        self.machine.run_kernel(&mut Script::new(ops, &mut self.memory), &needs).map(|_| ())
    }

    fn copy_in(&mut self, line: u64, letters: [u8; 4]) {
        self.memory.insert(FIRST + line, content(letters));
        let memory = &self.memory;
        let read = |line: LineAddr, out: &mut Line| *out = memory.get(&line.0).copied().unwrap_or([0; 128]);
        self.machine.copy_in(Addr((FIRST + line) * 128), Bytes(128), read);
    }

    /// Kernels, copies from the host and frees from a seed.
    fn run_randomly(&mut self, seed: u64) -> Result<(), MachineError> {
        for line in 0..6 {
            self.copy_in(line, [1 + (line % 3) as u8; 4]);
        }
        for kernel in 0..4 {
            self.run(&random_ops(seed * 10 + kernel, 300))?;
            self.copy_in(kernel, [2; 4]);
            self.machine.freed(Addr((FIRST + 11) * 128), Bytes(128));
            self.memory.remove(&(FIRST + 11));
        }
        Ok(())
    }

    fn count(&self, name: &str) -> u64 {
        count(&self.machine.reading(), name)
    }
}

fn count(reading: &Reading, name: &str) -> u64 {
    let of = |c: &&SideCount| c.name == name;
    reading.sides.counts.iter().find(of).unwrap_or_else(|| panic!("nobody counts {name}")).value
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

fn no_victims(_: &Settings, _: WrittenSectors) -> Box<dyn Victim> {
    Box::new(Empty)
}

fn fifo(settings: &Settings, written: WrittenSectors) -> Box<dyn Victim> {
    Box::new(ReadOnlyFifo::new(settings.fifo.expect("CMD has one"), written))
}

const R: u64 = 1;
const M: u64 = 2;
/// Two other lines push out what L2 has.
const PUSH: [Do; 2] = [Do::Load(8), Do::Load(9)];

/// Kernels that make M a duplicate of R, and what must follow.
fn map_then(then: &[Do]) -> Vec<Do> {
    let x = [2, 3, 4, 5];
    [&[Do::Store(R, x), Do::Store(M, x)], &PUSH[..], then].concat()
}

#[test]
fn a_duplicate_is_copied_from_l2() {
    let mut rig = Rig::plain(&[]);
    rig.run(&map_then(&[Do::Load(R), Do::Load(M)])).expect("it runs");
    assert_eq!((rig.count("cmd.reads.probed"), rig.count("cmd.reads.copied")), (4, 4));
    assert_eq!((rig.count("cmd.requests.write.before"), rig.count("cmd.requests.write.after")), (2, 1));
    let reading = rig.machine.reading();
    assert_eq!(reading.l2().copied, 4);
    // Two other lines and R; M's four sectors are not among them.
    assert_eq!(rig.count("cmd.requests.data_read.after") + rig.count("cmd.requests.read_only.after"), 12);
}

#[test]
fn what_l2_has_of_a_reference_in_part_is_copied_in_part() {
    let mut rig = Rig::plain(&[]);
    // Of R, which is in L2, one sector is dirty.
    let then = [Do::Load(R), Do::StoreSector(R, 2, 7), Do::Load(M)];
    rig.run(&map_then(&then)).expect("it runs");
    assert_eq!((rig.count("cmd.reads.probed"), rig.count("cmd.reads.copied")), (4, 3));
    assert_eq!(rig.count("cmd.requests.data_read.after"), 5, "R and one sector of M");
}

/// Map M to R, rewrite R, read R, read M.
const REWRITE: [Do; 5] = [Do::Store(R, [6, 7, 8, 9]), PUSH[0], PUSH[1], Do::Load(R), Do::Load(M)];

#[test]
fn a_reference_that_was_rewritten_is_not_copied() {
    let mut rig = Rig::plain(&[]);
    rig.run(&map_then(&REWRITE)).expect("it runs");
    assert_eq!((rig.count("cmd.reads.copied"), rig.count("cmd.relocations")), (0, 1));
}

/// Runs what is right, and then the same done wrong: what is said of it.
#[track_caller]
fn found(mutation: Mutation, ops: &[Do]) -> String {
    Rig::plain(&[]).run(ops).expect("nothing is wrong yet");
    let mut rig = Rig::new(&[], Some(mutation), no_victims);
    rig.run(ops).expect_err("it is found").to_string()
}

#[test]
fn wrong_mappings_are_found() {
    let ops = map_then(&REWRITE);
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
    let ops = [Do::Load(R), PUSH[0], PUSH[1], Do::Store(R, [6; 4]), Do::Load(10), Do::Load(11), Do::Load(R)];
    let mut rig = Rig::new(&[], None, fifo);
    rig.copy_in(R, [9, 8, 7, 6]);
    rig.run(&ops).expect("it runs");
    let mut rig = Rig::new(&[], None, |settings, written| Box::new(Forgetful(fifo(settings, written))));
    rig.copy_in(R, [9, 8, 7, 6]);
    let error = rig.run(&ops).expect_err("it is found").to_string();
    assert!(error.contains("finds old data in the sector"), "{error}");
    // A host copy drops what the FIFO has, too.
    let mut rig = Rig::new(&[], None, |settings, written| Box::new(Forgetful(fifo(settings, written))));
    rig.copy_in(R, [9, 8, 7, 6]);
    rig.run(&[Do::Load(R), PUSH[0], PUSH[1]]).expect("nothing is written");
    rig.copy_in(R, [1, 2, 3, 4]);
    rig.run(&[Do::Load(R)]).expect_err("it is found");
}

#[test]
fn a_fifo_saves_reads() {
    let ops = [Do::Load(R), PUSH[0], PUSH[1], Do::Load(R)];
    let mut rig = Rig::new(&[], None, fifo);
    rig.run(&ops).expect("it runs");
    assert_eq!((rig.count("cmd.fifo.hits"), rig.count("cmd.fifo.read_only_hits")), (4, 4));
    assert_eq!((rig.count("cmd.requests.read_only.before"), rig.count("cmd.requests.read_only.after")), (16, 12));
}

/// Lines, sectors and letters from a seed: duplicates are likely.
fn random_ops(seed: u64, n: usize) -> Vec<Do> {
    let mut state = seed;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let letter = |n: u64| 1 + n as u8;
    (0..n)
        .map(|_| match next(5) {
            0 | 1 => Do::Load(next(12)),
            2 => Do::StoreSector(next(12), next(4), letter(next(3))),
            _ => Do::Store(next(12), [letter(next(3)); 4]),
        })
        .collect()
}

/// Everything that L2 asked for was kept or removed, and everything kept is what DRAM moved, whatever goes wrong on the way:
/// stores that are full, counts that are saturated, metadata caches of a single line.
#[test]
fn requests_are_conserved_and_data_are_right() {
    let cases: [&[&str]; 7] = [
        &[],
        &["cmd.hash_store=128"],
        &["cmd.max_count=2"],
        &["cmd.map_cache=128", "cmd.type_cache=128", "cmd.mask_cache=128"],
        &["cmd.hash=crc"],
        &["cmd.hash=ideal", "cmd.store=exact"],
        &["cmd.partial_sectors=merge", "cmd.simulation_key=md5"],
    ];
    for (seed, set) in cases.into_iter().enumerate() {
        let mut rig = Rig::new(set, None, fifo);
        rig.run_randomly(seed as u64).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        let reading = rig.machine.reading();
        let (l2, n) = (reading.l2(), |name: &str| count(&reading, name));
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

/// Everything that was counted as kept is what DRAM moved.
fn check_traffic(reading: &Reading, set: &[&str]) {
    let n = |name: &str| 32 * count(reading, name);
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
        let mut rig = Rig::of_sectors(set);
        rig.run_randomly(seed as u64).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        let reading = rig.machine.reading();
        let (l2, n) = (reading.l2(), |name: &str| count(&reading, name));
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
    let ops =
        [&[Do::Store(R, [2, 3, 4, 5]), Do::Store(M, [5, 4, 3, 2])], &PUSH[..], &[Do::Load(R), Do::Load(M)]].concat();
    let stored = |mut rig: Rig| {
        rig.run(&ops).expect("it runs");
        (rig.count("cmd.write_sectors.before"), rig.count("cmd.write_sectors.after"))
    };
    assert_eq!((stored(Rig::plain(&[])), stored(Rig::of_sectors(&[]))), ((8, 8), (8, 4)));
}

/// The map has the word of an intra-duplicate line, but answers from it are cache-assisted reads.
#[test]
fn without_cache_assisted_reads_a_line_of_one_word_costs_a_read() {
    let ops = [&[Do::Store(R, [1; 4])], &PUSH[..], &[Do::Load(R)]].concat();
    let check = |set: &[&str], reads: u64| {
        let mut rig = Rig::of_writes(set);
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
        let mut rig = Rig::new(&[&format!("cmd.simulation_key={key}")], None, fifo);
        rig.run(&random_ops(7, 400)).expect("it runs");
        (rig.machine.reading(), rig.machine.now())
    });
    assert_eq!(readings[0], readings[1]);
}
