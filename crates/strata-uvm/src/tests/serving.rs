//! What the host's work costs and whom it holds up; who goes first; pages that neither side ever had.

use super::predictions::OneMegabyteOn;
use super::{BASE, Bench, KB, LEARNED, MB, SMALL, torture, touches};
use crate::Predictor;
use strata_core::{Addr, Allocation, Bytes, HostEvent};
use strata_testkit::Instr;

const SERVER: &[&str] = &["uvm.fault_charge=measured", "uvm.service=server"];

fn predicting(set: &[&str]) -> Bench {
    let set = [&[LEARNED, "uvm.prediction_brings=block"], set].concat();
    let mut bench = Bench::with_predictor(&set, 0, Some(Box::new(OneMegabyteOn(0)) as Box<dyn Predictor>));
    bench.allocate(0, 4 * MB);
    bench
}

/// Core cycles of the host's work on a request for so many pages: 12.1 us and 0.217 us per page at 1481 MHz.
fn work(pages: u64) -> u64 {
    ((12.1 + 0.217 * pages as f64) * 1481.0) as u64
}

#[test]
fn predictions_are_served_as_faults_are() {
    for set in [SERVER, &["uvm.fault_charge=measured"]] {
        let mut bench = predicting(&[set, &["uvm.prediction_latency=400000"]].concat());
        bench.run(&[&touches(0)]).expect("it runs");
        let c = bench.counts();
        assert_eq!((c.faults, c.migrated), (1, 32), "{set:?}");
        let served = if set == SERVER { c.served_cycles } else { c.stall_service };
        assert_eq!(served, 2 * work(16), "{set:?}: the fault and the prediction");
    }
}

#[test]
fn the_server_works_on_one_request_while_the_pages_of_another_move() {
    let cycles = |service: &str| {
        let mut bench =
            Bench::new(&["uvm.fault_charge=measured", "uvm.prefetcher=sequential", "uvm.reclaim=free", service], 0);
        bench.allocate(0, 4 * MB);
        bench.run(&[&touches(0), &touches(1), &touches(2), &touches(3)]).expect("it runs")
    };
    let (link, server) = (cycles("uvm.service=link"), cycles("uvm.service=server"));
    // The last warp waits for four requests at the host and its own page; over the link also for the first three transfers.
    let moved = 3 * (2605 + 8240);
    assert!((moved - 10..=moved + 10).contains(&(link - server)), "{link} {server}");
    assert!(server > 4 * work(16), "one after the other: {server}");
}

#[test]
fn what_somebody_waits_for_goes_before_what_was_predicted() {
    // Two warps fault at once, which predicts two blocks; a third comes to wait for the second of these while the host is busy.
    let run = |priority: &str| {
        let mut bench = predicting(&[SERVER, &["uvm.prediction_latency=0", "uvm.reclaim=free", priority]].concat());
        let late: Vec<Instr> = [Instr::load(BASE); 1].into_iter().chain([Instr::load(BASE + MB + 68 * KB)]).collect();
        let last = [Instr::load(BASE + 3 * MB)];
        let cycles = bench.run(&[&touches(0), &touches(1), &late, &last]).expect("it runs");
        (cycles, bench.counts())
    };
    let (fifo, before) = run("uvm.priority=fifo");
    let (demand, after) = run("uvm.priority=demand");
    assert_eq!(before.promoted, 0);
    assert!(after.promoted == 16 && demand <= fifo, "{demand} {fifo} {after:?}");
    assert_eq!((before.migrated, before.faults), (after.migrated, after.faults));
}

#[test]
fn nothing_is_taken_back_from_the_copy_engine() {
    // The predicted block is on the link already when it is touched: there is nothing to promote.
    let mut bench = predicting(&["uvm.priority=demand", "uvm.prediction_latency=0"]);
    bench.run(&[&touches(0)]).expect("it runs");
    bench.run(&[&touches(16)]).expect("it runs");
    assert_eq!((bench.counts().promoted, bench.counts().faults), (0, 1));
}

#[test]
fn pages_that_neither_side_had_are_not_transferred() {
    let bytes = |zero_fill: &str| {
        let mut bench = Bench::new(&["uvm.prefetcher=sequential", zero_fill], 0);
        bench.tell(&HostEvent::Alloc(Allocation::on_device(0, "a", Addr(BASE), Bytes(2 * MB))));
        bench.tell(&HostEvent::CopyIn { start: Addr(BASE), size: Bytes(4 * KB) });
        bench.run(&[&touches(0), &touches(1)]).expect("it runs");
        let c = bench.counts();
        assert_eq!((c.faults, c.migrated), (2, 32));
        // What was written there is at the host after a synchronisation, and comes from there.
        bench.run(&[&[Instr::store(BASE + 64 * KB)]]).expect("it runs");
        bench.tell(&HostEvent::Sync);
        bench.run(&[&[Instr::load(BASE + 64 * KB)]]).expect("it runs");
        (c.zero_filled, c.in_bytes, bench.counts().in_bytes - c.in_bytes)
    };
    assert_eq!(bytes("uvm.zero_fill=off"), (0, 128 * KB, 4 * KB));
    assert_eq!(bytes("uvm.zero_fill=on"), (31, 4 * KB, 4 * KB));
}

#[test]
fn a_launch_without_misses_does_not_wait_for_the_link_unless_told_to() {
    // The second launch needs nothing that is not here, while 2 MB that the program prefetches are on their way.
    let cycles = |reclaim: &str| {
        let mut bench = Bench::new(&["uvm.prefetcher=sequential", reclaim], 0);
        bench.allocate(0, 4 * MB);
        bench.run(&[&touches(0)]).expect("it runs");
        bench.tell(&HostEvent::Prefetch { start: Addr(BASE + 2 * MB), size: Bytes(2 * MB), to_device: true });
        bench.run(&[&touches(0)]).expect("it runs")
    };
    assert!(cycles("uvm.reclaim=free") < 1000);
    assert!(cycles("uvm.reclaim=link-idle") > 242_000, "an artefact of UVMSmart");
}

#[test]
fn every_load_gets_the_right_data_whoever_goes_first() {
    let every_request =
        ["uvm.prediction_trigger=request", "uvm.predictions_in_flight=64", "uvm.prediction_brings=block"];
    let first = ["uvm.priority=demand", "uvm.prediction_request=1MiB", "uvm.zero_fill=on", "uvm.reclaim=free"];
    for model in ["uvm.model=uvmsmart", "uvm.model=driver"] {
        for charge in [SERVER, &["uvm.fault_charge=flat", "uvm.service=server"], &["uvm.fault_charge=beside"]] {
            let set = [&[SMALL, LEARNED, model], charge, &every_request, &first].concat();
            let counts = torture(&set, 4).unwrap_or_else(|e| panic!("{set:?}: {e}"));
            assert!(counts.promoted > 0 && counts.predicted_used > 0 && counts.thrashed > 0, "{set:?}: {counts:?}");
            assert_eq!(counts, torture(&set, 4).expect("again"), "the same every time");
        }
        for prefetcher in ["uvm.prefetcher=first-touch", "uvm.prefetcher=tree"] {
            let set = [&[SMALL, prefetcher, model, "uvm.zero_fill=on"], SERVER, &["uvm.priority=demand"]].concat();
            torture(&set, 4).unwrap_or_else(|e| panic!("{set:?}: {e}"));
        }
    }
}
