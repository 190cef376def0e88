//! Blocks on memory stacks: what moves, who waits, and that data stay right; each step of coherence is left out once.

use super::Offloader;
use crate::config::load;
use crate::machine::check::Mutation;
use crate::machine::testing::run;
use crate::machine::translate::Tlbs;
use crate::machine::{KernelNeeds, Machine, MachineBuilder, MachineError};
use crate::seam::{Arrival, Candidate, Offload, Place, StackId, StackUse, Terms};
use crate::stats::StackStats;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use strata_core::{Addr, Allocation, Bytes, HostEvent, LineAddr, OpInfo, WarpId};
use strata_testkit::{Instr, Script};

const A: u64 = 0x10_0000;

/// Offloads blocks of these program counters, always.
struct Always {
    blocks: Vec<RangeInclusive<u32>>,
    is_ideal: bool,
    /// What it was told of stacks when it decided last.
    told: Arc<Mutex<Vec<StackUse>>>,
}

impl Offload for Always {
    fn candidates(&mut self, _: &[OpInfo]) -> Vec<Candidate> {
        let block = |range: &RangeInclusive<u32>| Candidate {
            begin: *range.start(),
            end: *range.end(),
            entry: *range.start(),
            live_in: 3,
            live_out: 1,
            conditions: Vec::new(),
        };
        self.blocks.iter().map(block).collect()
    }

    fn terms(&self) -> Terms {
        Terms { pipeline_cycles: 10, is_ideal: self.is_ideal, ..Terms::default() }
    }

    fn consider(&mut self, _: &Arrival<'_>) -> bool {
        true
    }

    fn decide(&mut self, _: usize, first: StackId, uses: &[StackUse]) -> Option<StackId> {
        assert_eq!(uses.len(), 4);
        *self.told.lock().expect("nobody panics") = uses.to_vec();
        Some(first)
    }
}

fn machine_with(set: &[&str], mechanism: Box<dyn Offload>) -> Machine {
    let mut builder = MachineBuilder::new(load("ndp-maxwell", set).expect("a preset").config);
    builder.check_data();
    builder.offload("tested", mechanism);
    let mut machine = builder.build().expect("a machine");
    let allocation = Allocation::on_device(0, "A", Addr(A), Bytes(0x1000));
    machine.host_event(&HostEvent::Alloc(allocation), |_, _| ());
    machine
}

/// The near-data machine, its data checked, with blocks that are always offloaded.
fn machine(set: &[&str], blocks: &[RangeInclusive<u32>], is_ideal: bool) -> Machine {
    machine_with(set, Box::new(Always { blocks: blocks.to_vec(), is_ideal, told: Arc::default() }))
}

/// What was counted of kernels, each of these warps.
fn counted(set: &[&str], blocks: &[RangeInclusive<u32>], is_ideal: bool, warps: &[&[Instr]]) -> StackStats {
    let mut machine = machine(set, blocks, is_ideal);
    run(&mut machine, warps).expect("it runs, and no load gets old data");
    machine.check_copy_out(Addr(A), Bytes(0x1000)).expect("nothing is lost");
    machine.reading().stacks
}

/// A line of the stack that `A` is on, and one of another.
fn lines() -> (u64, u64) {
    let machine = machine(&[], &[], false);
    let stack = |a: u64| machine.stack_of_line(Addr(a).line());
    let find = |same: bool| (1..64).map(|k| A + 128 * k).find(|&a| (stack(a) == stack(A)) == same).expect("one");
    (find(true), find(false))
}

#[test]
fn registers_cross_and_data_do_not() {
    let (same, _) = lines();
    let script = [Instr::load(A), Instr::store(same), Instr::load(A + 0x800)];
    let near = counted(&[], &[0..=1], false, &[&script]);
    assert_eq!((near.offloads, near.near_reads, near.near_writes, near.dirty_lines), (1, 4, 1, 1));
    assert_eq!(near.cross, 0, "both lines are where the block runs");
    // Out: three registers of 128 B, 12 B of program counters and mask, and the address of the last load.
    assert_eq!(near.tx, 3 * 128 + 12 + 4);
    // Back: one register, the acknowledgement, the address of the line that was written; and the data of the last load.
    assert_eq!(near.rx, 128 + 1 + 4 + 128);
    let plain = counted(&[], &[], false, &[&script]);
    assert_eq!((plain.offloads, plain.near_reads, plain.tx, plain.rx), (0, 0, 4 + 36 + 4, 128 + 1 + 128));
}

#[test]
fn data_of_another_stack_come_over_the_link_between() {
    let (_, other) = lines();
    let near = counted(&[], &[0..=2], false, &[&[Instr::load(A), Instr::load(other), Instr::store(other)]]);
    assert_eq!(near.cross, (4 + 128) + (4 + 32 + 1), "an address and a line; an address, data and an acknowledgement");
}

/// Offloads everything to the stack that the machine names.
struct Following(Always, bool);

impl Offload for Following {
    fn candidates(&mut self, instructions: &[OpInfo]) -> Vec<Candidate> {
        self.0.candidates(instructions)
    }

    fn terms(&self) -> Terms {
        Terms { follows_most_lines: self.1, ..self.0.terms() }
    }

    fn consider(&mut self, arrival: &Arrival<'_>) -> bool {
        self.0.consider(arrival)
    }

    fn decide(&mut self, candidate: usize, first: StackId, uses: &[StackUse]) -> Option<StackId> {
        self.0.decide(candidate, first, uses)
    }
}

#[test]
fn a_block_goes_where_most_of_its_lines_are_and_shared_words_do_not_count() {
    let (_, other) = lines();
    let plain = machine(&[], &[], false);
    let is_beside = |a: &u64| plain.stack_of_line(Addr(*a).line()) == plain.stack_of_line(Addr(other).line());
    let second = (1..32).map(|k| A + 128 * k).filter(|&a| a != other).find(is_beside).expect("one of eight");
    let cross = |follows: bool| {
        let always = Always { blocks: vec![0..=3], is_ideal: false, told: Arc::default() };
        let mut machine = machine_with(&[], Box::new(Following(always, follows)));
        // One word for all lanes twice, then two lines of another stack; the block is over before the last load.
        let script =
            [Instr::load(A), Instr::load(A + 64), Instr::load_line(other), Instr::load_line(second), Instr::load(A)];
        let mut source = Script::new(&[&script]).one_warp_per_cta().segments_of(4);
        let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
        machine.run_kernel(&mut source, &needs).expect("it runs");
        machine.reading().stacks.cross
    };
    assert_eq!((cross(false), cross(true)), (2 * (4 + 128), 4 + 128));
}

#[test]
fn a_sectored_l1_of_a_stack_fetches_what_is_read() {
    let script = [Instr::load(A), Instr::load(A + 96)];
    let reads = |set: &[&str]| counted(set, &[0..=1], false, &[&script]).near_reads;
    assert_eq!((reads(&[]), reads(&["stacks.sectored_l1=true"])), (4, 2), "a line, or two sectors of it");
}

/// With pages of these sizes the entry of `A`'s page is on one stack or another.
#[test]
fn walks_of_stacks_cross_to_the_stack_of_the_entry() {
    let walked = |page: &str| {
        let mut machine = machine(&["tlb.enabled=true", &format!("tlb.page={page}")], &[0..=1], false);
        let map = machine.stacks.as_ref().expect("it has stacks").map;
        let tlbs = machine.tlbs.as_ref().expect("they are on");
        let entry = Tlbs::entry_of(tlbs.page_of(Addr(A).line()));
        let is_near = Some(map.stack_of(map.place(entry).partition)) == machine.stack_of_line(Addr(A).line());
        run(&mut machine, &[&[Instr::load(A), Instr::load(A + 64)]]).expect("it runs");
        let reading = machine.reading();
        assert_eq!(reading.machine.tlb_walks, 1, "both words are on one page");
        assert_eq!(reading.stacks.cross, if is_near { 0 } else { 4 + 32 }, "{page}");
        is_near
    };
    let near = ["4KiB", "32KiB", "64KiB"].map(walked);
    assert_eq!(near, [false, true, false]);
}

/// A tenth of a byte in a nanosecond.
const SLOW: &str = "stacks.link.bandwidth=0.1 GB/s";
/// So many stores to one line, each of 36 B on its link.
const STORES: usize = 40;

#[test]
fn a_block_begins_when_the_stores_before_it_are_in_memory() {
    let (_, other) = lines();
    let waited = |stores: usize| {
        let script = [vec![Instr::store(other); stores], vec![Instr::load(A)]].concat();
        let block = stores as u32..=stores as u32;
        counted(&[SLOW], &[block], false, &[&script]).stall
    };
    // Registers cross in 4 us and back in 1.3 us, the stores to the other stack in 14.4 us: at 1.4 GHz.
    let (alone, behind) = (waited(0), waited(STORES));
    assert!((7_300..7_500).contains(&alone), "{alone}");
    assert!((22_000..22_500).contains(&behind), "{behind}");
}

#[test]
fn the_end_of_a_block_does_not_queue_behind_data() {
    // The other lines of the stack, each asked for by an SM while the block is on its way: 1.28 us each on the link back.
    let plain = machine(&[], &[], false);
    let stack = |a: u64| plain.stack_of_line(Addr(a).line());
    let others: Vec<[Instr; 1]> =
        (1..32).map(|k| A + 128 * k).filter(|&a| stack(a) == stack(A)).map(|a| [Instr::load_line(a)]).collect();
    assert_eq!(others.len(), 7);
    let stall = |readers: usize| {
        let block = [Instr::load(A)];
        let mut warps: Vec<&[Instr]> = vec![&block];
        warps.extend(others[..readers].iter().map(|reader| &reader[..]));
        counted(&[SLOW], &[0..=0], false, &warps).stall
    };
    let (alone, behind) = (stall(0), stall(7));
    assert!((7_300..7_500).contains(&alone), "{alone}");
    assert!(behind < alone + 2 * 1_800, "a packet of 128 B takes 1,800 cycles: {behind}");
}

#[test]
fn links_are_as_busy_as_the_monitor_says() {
    let (_, other) = lines();
    let mut machine = machine(&[SLOW], &[], false);
    run(&mut machine, &[&[Instr::store(other); STORES]]).expect("it runs");
    let told = Arc::<Mutex<Vec<StackUse>>>::default();
    let always = Box::new(Always { blocks: vec![0..=0], is_ideal: false, told: Arc::clone(&told) });
    machine.offload = Some(Box::new(Offloader::new(always, &machine.config)));
    run(&mut machine, &[&[Instr::load(A)]]).expect("it runs");
    let stack = |a: u64| machine.stack_of_line(Addr(a).line()).expect("on a stack").0 as usize;
    let told = told.lock().expect("nobody panics");
    assert!(told[stack(other)].tx > 0.5, "{told:?}");
    assert!(told[stack(A)].tx < 0.05 && told[stack(other)].rx < 0.05, "{told:?}");
}

#[test]
fn an_ideal_offload_moves_nothing() {
    let (_, other) = lines();
    let near = counted(&[], &[0..=1], true, &[&[Instr::load(A), Instr::load(other)]]);
    assert_eq!((near.offloads, near.tx, near.rx, near.cross, near.near_reads), (1, 0, 0, 0, 8));
}

#[test]
fn a_stack_takes_as_many_warps_as_it_has_room_for() {
    let script = [Instr::load(A), Instr::store(A + 4), Instr::load(A)];
    let cycles = |room: &str| {
        let mut machine = machine(&[room], &[0..=1, 3..=4, 6..=7, 9..=10], false);
        run(&mut machine, &[&script, &script, &script, &script]).expect("it runs");
        assert_eq!(machine.reading().stacks.offloads, 4);
        machine.now()
    };
    assert!(cycles("stacks.warps=1") > cycles("stacks.warps=4"));
}

#[test]
fn a_warp_that_ends_with_its_block_comes_back_first() {
    let near = counted(&[], &[0..=1], false, &[&[Instr::load(A), Instr::store(A)]]);
    assert_eq!((near.offloads, near.dirty_lines), (1, 1));
}

#[test]
fn two_blocks_in_a_row_are_two_trips() {
    let near = counted(&[], &[0..=0, 1..=1], false, &[&[Instr::store(A), Instr::load(A), Instr::load(A)]]);
    assert_eq!(near.offloads, 2);
}

#[test]
fn a_line_that_is_on_its_way_to_l2_when_a_block_changed_it_is_fetched_again() {
    // Many SMs fetch the line all the time while a block on its stack writes it.
    let writer = [Instr::store(A), Instr::load_past_l1(A)];
    let reader: Vec<Instr> =
        (0..40).flat_map(|k| [Instr::load_past_l1(A), Instr::load_past_l1(A + 0x400 + 128 * (k % 8))]).collect();
    let mut warps: Vec<&[Instr]> = vec![&writer];
    warps.extend(std::iter::repeat_n(&reader[..], 12));
    let near = counted(&["l2.sets=1", "l2.ways=2"], &[0..=0], false, &warps);
    assert_eq!(near.offloads, 1);
}

/// Two kernels; in the second a step is left out, once.
fn with_left_out(
    blocks: &[RangeInclusive<u32>],
    step: Option<Mutation>,
    kernels: [&[Instr]; 2],
) -> Result<(), MachineError> {
    let mut machine = machine(&["l1.flush_at_launch=false"], blocks, false);
    run(&mut machine, &[kernels[0]])?;
    machine.checker.as_mut().expect("data are checked").leave_out = step;
    run(&mut machine, &[kernels[1]])?;
    machine.check_copy_out(Addr(A), Bytes(0x1000))
}

#[track_caller]
fn check(blocks: &[RangeInclusive<u32>], step: Mutation, kernels: [&[Instr]; 2], expected: &str) {
    with_left_out(blocks, None, kernels).expect("nothing is left out");
    let error = with_left_out(blocks, Some(step), kernels).expect_err("not found").to_string();
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_block_that_does_not_wait_for_stores_reads_old_data() {
    let cause = "the stack did not drop its cache before the block began, or the block overtook a store";
    check(&[1..=1], Mutation::Drain, [&[], &[Instr::store(A), Instr::load(A)]], cause);
}

#[test]
fn a_stack_that_keeps_its_cache_reads_old_data() {
    let cause = "the stack did not drop its cache before the block began, or the block overtook a store";
    let first = [Instr::load_past_l1(A + 0x400), Instr::load(A)];
    check(&[1..=1], Mutation::StackFlush, [&first, &[Instr::store(A), Instr::load(A)]], cause);
}

/// A step is left out in the last kernel, once.
#[track_caller]
fn check_ages(blocks: &[RangeInclusive<u32>], step: Mutation, kernels: &[&[&[Instr]]]) {
    let cause = "the stack did not drop its cache before the block began, or the block overtook a store";
    let run_all = |left_out: Option<Mutation>| -> Result<StackStats, MachineError> {
        let mut machine = machine(&["l1.flush_at_launch=false"], blocks, false);
        for (k, warps) in kernels.iter().enumerate() {
            if k + 1 == kernels.len() {
                machine.checker.as_mut().expect("data are checked").leave_out = left_out;
            }
            run(&mut machine, warps)?;
        }
        Ok(machine.reading().stacks)
    };
    let whole = run_all(None).expect("nothing is left out");
    assert!(whole.invalidations >= 2, "{whole:?}");
    let error = run_all(Some(step)).expect_err("not found").to_string();
    assert!(error.ends_with(cause), "{error}");
}

#[test]
fn a_cache_is_kept_for_a_block_that_finds_nothing_old_in_it() {
    let script = [Instr::load(A), Instr::load(A + 0x400), Instr::load(A)];
    let near = counted(&[], &[0..=0, 2..=2], false, &[&script]);
    assert_eq!((near.offloads, near.invalidations, near.near_reads), (2, 1, 4), "the line is still there");
}

#[test]
fn an_atomic_a_barrier_and_a_look_past_l1_make_caches_old() {
    for between in
        [Instr::atomic(A + 0x400), Instr::reduce(A + 0x400), Instr::barrier(), Instr::load_past_l1(A + 0x400)]
    {
        let near =
            counted(&[], &[0..=0, 3..=3], false, &[&[Instr::load(A), between, Instr::load(A + 0x600), Instr::load(A)]]);
        assert_eq!((near.offloads, near.invalidations), (2, 2));
    }
}

#[test]
fn a_store_of_the_requester_makes_the_cache_of_a_stack_old() {
    let script = [Instr::load(A), Instr::store(A), Instr::load(A + 0x400), Instr::load(A)];
    check_ages(&[0..=0, 3..=3], Mutation::StoreAges, &[&[&script]]);
}

#[test]
fn a_block_on_another_stack_makes_the_cache_of_this_one_old() {
    let (_, other) = lines();
    // The second block runs where its first access is, and writes what the first stack has in its cache.
    let script = [Instr::load(A), Instr::load(other), Instr::store(A), Instr::load(A + 0x400), Instr::load(A)];
    check_ages(&[0..=0, 1..=2, 4..=4], Mutation::BlockAges, &[&[&script]]);
}

#[test]
fn stores_of_other_sms_in_the_kernel_before_make_the_cache_of_a_stack_old() {
    let reader = [Instr::load(A + 0x400), Instr::load(A + 0x400), Instr::load(A + 0x400), Instr::load(A)];
    // Stores long after the block has read.
    let mut writer = vec![Instr::load_past_l1(A + 0x600).to(1).needs(&[1]); 30];
    writer.push(Instr::store(A).needs(&[1]));
    check_ages(&[3..=3], Mutation::LaunchAges, &[&[&reader, &writer], &[&reader]]);
}

#[test]
fn a_requester_that_keeps_what_a_block_wrote_reads_old_data() {
    let cause = "what an offloaded block wrote was not dropped when it ended";
    check(&[1..=1], Mutation::RequesterDrop, [&[], &[Instr::load(A), Instr::store(A), Instr::load(A)]], cause);
}

#[test]
fn an_l2_that_keeps_what_a_block_wrote_answers_with_old_data() {
    let cause = "what an offloaded block wrote was not dropped when it ended";
    let script = [Instr::load_past_l1(A), Instr::store(A), Instr::load_past_l1(A)];
    check(&[1..=1], Mutation::L2Drop, [&[], &script], cause);
}

/// Learns from one instance, then moves everything to stack 0 and offloads.
#[derive(Default)]
struct Learner {
    seen: Vec<LineAddr>,
    is_done: bool,
}

impl Offload for Learner {
    fn candidates(&mut self, instructions: &[OpInfo]) -> Vec<Candidate> {
        Always { blocks: vec![0..=0, 2..=2], is_ideal: false, told: Arc::default() }.candidates(instructions)
    }

    fn terms(&self) -> Terms {
        Terms { pipeline_cycles: 10, ..Terms::default() }
    }

    fn consider(&mut self, _: &Arrival<'_>) -> bool {
        self.is_done
    }

    fn decide(&mut self, _: usize, first: StackId, _: &[StackUse]) -> Option<StackId> {
        Some(first)
    }

    fn wants_accesses(&self) -> bool {
        !self.is_done
    }

    fn accessed_line(&mut self, _: WarpId, line: LineAddr) -> bool {
        self.seen.push(line);
        false
    }

    fn exited(&mut self, _: WarpId) -> bool {
        !self.is_done
    }

    fn is_at_host(&self) -> bool {
        !self.is_done
    }

    fn remapped(&mut self) -> u64 {
        assert_eq!(self.seen, [Addr(A).line()]);
        self.is_done = true;
        500
    }
}

#[test]
fn learning_runs_out_of_the_hosts_memory_until_data_have_moved() {
    let mut machine = machine_with(&["l2.copies_fill=false"], Box::<Learner>::default());
    run(&mut machine, &[&[Instr::load_line(A), Instr::load_past_l1(A + 0x200), Instr::load(A + 0x400)]])
        .expect("it runs");
    let near = machine.reading().stacks;
    // The first line comes from the host. Warps stop before the second, which is behind the candidate.
    assert_eq!((near.host_reads, near.offloads, near.near_reads), (4, 1, 4));
}
