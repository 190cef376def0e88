//! Predicted roots: what is given up for them, what is dropped, and that nothing is lost.

use super::{BASE, Bench, KB, MB, SMALL, random_warps, torture, touches};
use crate::Predictor;
use crate::recorded::Recorded;
use strata_core::random::SplitMix64;
use strata_core::{Addr, HostEvent};
use strata_learn::access::{Access, Unit};
use strata_testkit::Instr;

const ROOT: u64 = 2 * MB;
const FREE: &str = "uvm.reclaim=free";

/// Always says that the next so many roots follow.
pub(super) struct RootsOn(pub(super) u64, u64);

impl RootsOn {
    pub(super) fn boxed(count: u64) -> Box<dyn Predictor> {
        Box::new(Self(count, 0))
    }
}

impl Predictor for RootsOn {
    fn unit(&self) -> Unit {
        Unit::Root
    }

    fn observe(&mut self, request: &Access) -> bool {
        self.1 = request.page;
        true
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) {
        addresses.extend((1..=self.0).map(|ahead| Addr(self.1 + ahead * ROOT)));
    }
}

fn bench(set: &[&str], predictor: Option<Box<dyn Predictor>>, roots: u64) -> Bench {
    let set = [&["uvm.prefetcher=learned", "uvm.prediction_latency=0", FREE], set].concat();
    let mut bench = Bench::with_predictor(&set, 0, predictor);
    bench.allocate(0, roots * ROOT);
    bench
}

/// A launch of one warp that waits for a word of each of these roots, one after the other.
fn sweep(bench: &mut Bench, roots: &[u64]) {
    let warp: Vec<Instr> = roots.iter().flat_map(|root| [Instr::load(BASE + root * ROOT); 2]).collect();
    bench.run(&[&warp]).expect("it runs");
}

#[test]
fn roots_that_are_named_come_in_their_order_one_request_each() {
    let mut bench = bench(&["uvm.fault_charge=measured", "uvm.service=server"], Some(RootsOn::boxed(2)), 4);
    sweep(&mut bench, &[0]);
    let c = bench.counts();
    assert_eq!((c.faults, c.migrated, c.predicted_queued, c.served), (1, 3 * 512, 2 * 512, 3));
}

#[test]
fn a_root_that_somebody_waits_for_moves_forward_whole() {
    let set = ["uvm.fault_charge=measured", "uvm.service=server", "uvm.priority=demand"];
    let mut bench = bench(&set, Some(RootsOn::boxed(3)), 8);
    // The second warp comes to wait for what was named last.
    let third = [Instr::load(BASE), Instr::load(BASE), Instr::load(BASE + 3 * ROOT + 64 * KB)];
    bench.run(&[&touches(0), &third]).expect("it runs");
    let c = bench.counts();
    assert_eq!((c.faults, c.promoted), (1, 512));
}

#[test]
fn sweeps_over_more_than_memory_keep_what_the_next_one_needs() {
    let faults = |eviction: &str, prefetcher: &str| {
        let set = [prefetcher, "uvm.device_memory=16MB", FREE, eviction];
        let mut bench = Bench::new(&set, 0);
        bench.allocate(0, 10 * ROOT);
        for _ in 0..6 {
            sweep(&mut bench, &(0..10).collect::<Vec<_>>());
        }
        bench.counts().faults
    };
    let first_touch = "uvm.prefetcher=first-touch";
    assert_eq!(faults("uvm.eviction=lru", first_touch), 60, "the least recent is needed next");
    // The second sweep tells how long a sweep is; from then on two of ten roots and the one in use change places.
    let foreseen = faults("uvm.eviction=foreseen", first_touch);
    assert!((18..=36).contains(&foreseen), "{foreseen}");
}

#[test]
fn nothing_that_is_needed_sooner_leaves_for_a_predicted_root() {
    let run = |gate: &str| {
        let mut bench = bench(&["uvm.device_memory=6MB", gate], Some(RootsOn::boxed(2)), 8);
        for _ in 0..6 {
            sweep(&mut bench, &[0, 1, 2]);
        }
        bench.counts()
    };
    let (open, gated) = (run("uvm.prediction_gate=off"), run("uvm.prediction_gate=on"));
    assert!(gated.migrated < open.migrated && gated.predicted_left > 0, "{gated:?} {open:?}");
    assert_eq!(open.predicted_left, 0);
}

#[test]
fn a_known_future_is_followed() {
    // Sweeps over ten roots with memory for eight, of which a word in two blocks is used.
    let order: Vec<u64> = (0..10).collect();
    let mut first = Bench::new(&["uvm.prefetcher=first-touch", "uvm.trace=uses", FREE], 0);
    first.allocate(0, 10 * ROOT);
    for _ in 0..3 {
        sweep(&mut first, &order);
    }
    let uses: Vec<Access> = first.uvm.look(|uvm| uvm.uses().iter().map(|one| one.access).collect());
    assert_eq!(uses.len(), 30, "the first of each launch to each block, in the TLB or not");
    let known = Some(Box::new(Recorded::of(&uses, 64)) as Box<dyn Predictor>);
    let mut second = bench(&["uvm.device_memory=16MB"], known, 10);
    for _ in 0..3 {
        sweep(&mut second, &order);
    }
    let c = second.counts();
    assert_eq!((c.faults, c.migrated, c.thrashed), (1, 160, 0), "only what is used comes: {c:?}");
}

#[test]
fn every_load_gets_the_right_data_whatever_is_foreseen() {
    for model in ["uvm.model=uvmsmart", "uvm.model=driver"] {
        for charge in [&["uvm.fault_charge=measured", "uvm.service=server"][..], &["uvm.fault_charge=beside"]] {
            let set = [&["uvm.device_memory=6MB", model, "uvm.priority=demand", "uvm.zero_fill=on"], charge].concat();
            let named = [&set[..], &["uvm.prefetcher=learned", "uvm.predictor=stride:root"]].concat();
            let counts = torture(&named, 4).unwrap_or_else(|e| panic!("{named:?}: {e}"));
            assert!(counts.promoted > 0 && counts.thrashed > 0, "{named:?}: {counts:?}");
            assert_eq!(counts, torture(&named, 4).expect("again"), "the same every time");
            for more in [&["uvm.prefetcher=first-touch"][..], &["uvm.prefetcher=tree"]] {
                let set = [&set[..], more, &["uvm.eviction=foreseen"]].concat();
                torture(&set, 4).unwrap_or_else(|e| panic!("{set:?}: {e}"));
            }
        }
    }
    torture(&[SMALL, "uvm.eviction=foreseen", "uvm.page_size=2MB"], 4).expect("large pages");
}

#[test]
fn a_future_that_is_another_programs_loses_nothing_either() {
    let mut random = SplitMix64::new(3);
    let uses: Vec<Access> = (0..400)
        .map(|k| Access { kernel: 1 + k / 100, page: BASE + random.below(20) * MB, ..Access::default() })
        .collect();
    let known = Some(Box::new(Recorded::of(&uses, 8)) as Box<dyn Predictor>);
    let mut bench = bench(&["uvm.device_memory=6MB", "uvm.priority=demand"], known, 10);
    for _ in 0..4 {
        let warps = random_warps(&mut random, 20 * MB, 60);
        bench.run(&warps.iter().map(Vec::as_slice).collect::<Vec<_>>()).expect("every load is checked");
        bench.tell(&HostEvent::Sync);
    }
    bench.machine.check_copy_out(Addr(BASE), strata_core::Bytes(20 * MB)).expect("nothing is lost");
}
