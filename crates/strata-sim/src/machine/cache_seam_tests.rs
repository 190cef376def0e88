//! Prefetchers and replacement policies of L1 and L2, with data checked.

use super::testing::run;
use super::{Machine, MachineBuilder};
use crate::cache::SectorMask;
use crate::config::load;
use crate::seam::{CacheAccess, CachePrefetcher, Outcome, Proposal, Replacement, Ways};
use std::sync::{Arc, Mutex};
use strata_core::LineAddr;
use strata_testkit::Instr;

const A: u64 = 0x10_0000;

fn machine(set: &[&str], install: impl FnOnce(&mut MachineBuilder)) -> Machine {
    let mut builder = MachineBuilder::new(load("titan-v", set).expect("a preset").config);
    builder.check_data();
    install(&mut builder);
    builder.build().expect("a machine")
}

fn count(machine: &Machine, name: &str) -> u64 {
    let counts = machine.reading().caches;
    counts.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("nobody counts {name}")).value
}

/// Issued, useful, late, useless, redundant, dropped.
fn fate(machine: &Machine, level: &str) -> [u64; 6] {
    ["issued", "useful", "late", "useless", "redundant", "dropped"]
        .map(|what| count(machine, &format!("{level}.prefetch.{what}")))
}

/// Proposes the line so many lines behind each one that is read, and keeps what it saw.
struct Ahead(u64, Arc<Mutex<Vec<CacheAccess>>>);

impl CachePrefetcher for Ahead {
    fn accessed(&mut self, access: &CacheAccess, out: &mut Vec<Proposal>) {
        self.1.lock().expect("nobody panics").push(*access);
        if !access.write {
            out.push(Proposal { line: LineAddr(access.line.0 + self.0), sectors: SectorMask::ALL });
        }
    }
}

fn ahead(lines: u64) -> impl FnMut(u32) -> Box<dyn CachePrefetcher> {
    move |_| Box::new(Ahead(lines, Arc::default()))
}

/// Loads of consecutive lines.
fn stream(load: fn(u64) -> Instr, lines: u64) -> Vec<Instr> {
    (0..lines).map(|k| load(A + 128 * k)).collect()
}

#[test]
fn what_is_prefetched_into_l1_is_there_when_it_is_loaded() {
    let script = stream(Instr::load_line, 16);
    let mut plain = machine(&[], |_| ());
    run(&mut plain, &[&script]).expect("it runs");
    let mut with = machine(&[], |m| m.l1_prefetcher("ahead", ahead(2)));
    run(&mut with, &[&script]).expect("it runs, and no load gets old data");
    let [issued, useful, late, ..] = fate(&with, "l1");
    assert_eq!((issued, useful), (16, 14), "two lines behind the last are never loaded");
    let (before, plain, counted) = (plain.now(), plain.reading().machine, with.reading().machine);
    assert_eq!((plain.l1_hits, plain.l1_misses), (0, 16));
    assert_eq!((counted.l1_hits + counted.l1_merges, counted.l1_misses, counted.l1_merges), (14, 2, late));
    assert_eq!(counted.sent, plain.sent + 2);
    assert!(with.now() < before);
}

#[test]
fn a_prefetch_that_is_overtaken_by_its_load_is_late() {
    // The second line is asked for while the first is on its way: both at once, by two warps of one SM.
    let mut machine = machine(&["sm.count=1"], |m| m.l1_prefetcher("ahead", ahead(1)));
    run(&mut machine, &[&[Instr::load_line(A)], &[Instr::load_line(A + 128)]]).expect("it runs");
    assert_eq!(fate(&machine, "l1"), [2, 1, 1, 0, 0, 0]);
    assert_eq!(machine.reading().machine.l1_merges, 1);
}

#[test]
fn what_is_prefetched_into_l2_is_not_waited_for() {
    let script = stream(Instr::load_past_l1, 16);
    let mut plain = machine(&["l2.slices=1", "dram.channels=1"], |_| ());
    run(&mut plain, &[&script]).expect("it runs");
    let seen = Arc::<Mutex<Vec<CacheAccess>>>::default();
    let told = Arc::clone(&seen);
    let mut with = machine(&["l2.slices=1", "dram.channels=1"], |m| {
        m.l2_prefetcher("ahead", move |_| Box::new(Ahead(1, Arc::clone(&told))));
    });
    run(&mut with, &[&script]).expect("it runs, and no load gets old data");
    let [issued, useful, late, ..] = fate(&with, "l2");
    assert_eq!((issued, useful), (16, 15));
    let [before, after] = [&plain, &with].map(|machine| machine.reading().l2());
    assert_eq!((before.read_hits, after.read_hits), (0, 15 - late));
    assert!(with.now() < plain.now());
    let seen = seen.lock().expect("nobody panics");
    assert_eq!(seen.iter().map(|a| a.pc).collect::<Vec<_>>(), (0..16).collect::<Vec<_>>());
    assert_eq!((seen[0].outcome, seen[0].prefetched), (Outcome::Miss, false));
    assert_ne!(seen[1].outcome, Outcome::Miss);
    assert_eq!((seen[1].prefetched, seen[1].sm), (true, 0));
}

#[test]
fn lines_of_another_page_and_what_is_there_already_are_not_fetched() {
    let page = load("titan-v", &[""; 0]).expect("a preset").config.tlb.page.0 / 128;
    let mut machine = machine(&[], |m| m.l1_prefetcher("ahead", ahead(page)));
    run(&mut machine, &[&stream(Instr::load_line, 4)]).expect("it runs");
    assert_eq!(fate(&machine, "l1"), [0, 0, 0, 0, 0, 4]);
    let mut machine = self::machine(&[], |m| m.l1_prefetcher("ahead", ahead(0)));
    run(&mut machine, &[&stream(Instr::load_line, 4)]).expect("it runs");
    assert_eq!(fate(&machine, "l1"), [0, 0, 0, 0, 4, 0]);
}

#[test]
fn without_an_mshr_nothing_is_prefetched_and_nobody_waits_for_it() {
    let set = ["l1.mshrs=1"];
    let script = stream(Instr::load_line, 8);
    let cycles = |install: fn(&mut MachineBuilder)| {
        let mut machine = machine(&set, install);
        run(&mut machine, &[&script]).expect("it runs");
        machine
    };
    let (plain, with) = (cycles(|_| ()), cycles(|m| m.l1_prefetcher("ahead", ahead(1))));
    assert_eq!(fate(&with, "l1"), [0, 0, 0, 0, 0, 8], "the load itself has the MSHR");
    assert_eq!(with.now(), plain.now());
}

#[test]
fn what_nobody_wanted_before_it_left_was_useless() {
    let mut machine = machine(&[], |m| m.l1_prefetcher("ahead", ahead(1)));
    run(&mut machine, &[&[Instr::load_line(A)]]).expect("it runs");
    assert_eq!(fate(&machine, "l1"), [1, 0, 0, 0, 0, 0]);
    // L1 is emptied when the next kernel begins.
    run(&mut machine, &[&[Instr::load_line(A + 0x8000)]]).expect("it runs");
    assert_eq!(fate(&machine, "l1"), [2, 0, 0, 1, 0, 0]);
}

/// Stores and loads of several warps to a few lines, so that prefetched lines are written, dropped and pushed out.
fn contention() -> Vec<Vec<Instr>> {
    let mut random = strata_core::random::SplitMix64::new(11);
    let mut one = |_| {
        let address = A + 128 * random.below(24) + 32 * random.below(4);
        match random.below(6) {
            0 => Instr::store(address),
            1 => Instr::store_line(address / 128 * 128),
            2 => Instr::reduce(address),
            3 => Instr::load_past_l1(address),
            _ => Instr::load(address),
        }
    };
    (0..4).map(|_| (0..200).map(&mut one).collect()).collect()
}

#[test]
fn data_stay_right_whatever_is_prefetched_and_whoever_leaves() {
    let set = ["l2.sets=2", "l2.ways=2", "l2.slices=2", "dram.channels=2", "sm.count=2", "l1.size=1KiB", "l1.ways=2"];
    let shared = ["shared.from_l1=false", "l2.eager_write_back=1"];
    let mut machine = machine(&[&set[..], &shared].concat(), |m| {
        m.l1_prefetcher("ahead", ahead(1));
        m.l2_prefetcher("ahead", ahead(3));
        m.l1_replacement("lowest", |_| Box::new(Lowest));
        m.l2_replacement("lowest", |_| Box::new(Lowest));
    });
    for _ in 0..2 {
        let warps = contention();
        let warps: Vec<&[Instr]> = warps.iter().map(Vec::as_slice).collect();
        run(&mut machine, &warps).expect("it runs, and no load gets old data");
    }
    let ([l1, ..], [l2, ..]) = (fate(&machine, "l1"), fate(&machine, "l2"));
    assert!(l1 > 20 && l2 > 20, "{l1} {l2}");
}

/// The lowest way leaves.
struct Lowest;

impl Replacement for Lowest {
    fn attach(&mut self, _: u32, ways: u32) {
        assert!(ways > 0);
    }

    fn hit(&mut self, _: u32, _: u32) {}

    fn filled(&mut self, _: u32, _: u32) {}

    fn victim(&mut self, _: u32, ways: &Ways) -> u32 {
        ways.iter().next().expect("one may go")
    }
}

#[test]
fn a_policy_chooses_who_leaves_l2() {
    let set = ["l2.sets=1", "l2.ways=2", "l2.slices=1", "dram.channels=1"];
    let hits = |install: fn(&mut MachineBuilder)| {
        let mut machine = machine(&set, install);
        let [a, b, c] = [A, A + 128, A + 256].map(Instr::load_past_l1);
        run(&mut machine, &[&[a, b, c, b, a, b]]).expect("it runs");
        machine.reading().l2().read_hits
    };
    assert_eq!(hits(|_| ()), 2, "c takes the way of a, which takes that of c: b is there each time");
    // c takes the way of a, the lowest, and a takes that of c.
    assert_eq!(hits(|m| m.l2_replacement("lowest", |_| Box::new(Lowest))), 2);
    let cycle = |install: fn(&mut MachineBuilder)| {
        let mut machine = machine(&set, install);
        let script: Vec<Instr> = (0..12).map(|k| Instr::load_past_l1(A + 128 * (k % 3))).collect();
        run(&mut machine, &[&script]).expect("it runs");
        machine.reading().l2().read_hits
    };
    assert_eq!(cycle(|_| ()), 0, "three lines in turn through two ways: the oldest is always the next");
    assert_eq!(cycle(|m| m.l2_replacement("lowest", |_| Box::new(Lowest))), 3, "the higher way keeps its line");
}
