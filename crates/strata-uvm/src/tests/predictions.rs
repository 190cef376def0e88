//! Predicted pages: when they come, and with what.

use super::{BASE, Bench, KB, MB, touches};
use crate::model::Wake;
use crate::{Config, Machine as Gpu, Predictor, SETTINGS, Uvm};
use strata_core::settings::Settings;
use strata_core::{Addr, Allocation, Bytes, HostEvent};
use strata_learn::access::Access;
use strata_sim::seam::{AccessInfo, Action, PageId, Paging, Token};
use strata_sim::time::Picos;
use strata_testkit::Instr;

/// Always knows that the page one megabyte further is next.
pub(super) struct OneMegabyteOn(pub(super) u64);

impl Predictor for OneMegabyteOn {
    fn observe(&mut self, request: &Access) -> bool {
        self.0 = request.page + MB;
        true
    }

    fn predict(&mut self, addresses: &mut Vec<Addr>) {
        addresses.push(Addr(self.0));
    }
}

#[test]
fn what_a_predictor_names_comes_after_its_latency() {
    let set = ["uvm.prefetcher=learned", "uvm.prediction_latency=5000"];
    let mut bench = Bench::with_predictor(&set, 0, Some(Box::new(OneMegabyteOn(0))));
    bench.allocate(0, 2 * MB);
    bench.run(&[&touches(0)]).expect("it runs");
    let c = bench.counts();
    assert_eq!((c.faults, c.migrated, c.prefetched), (1, 17, 16));
    bench.run(&[&[Instr::load(BASE + MB)]]).expect("it runs");
    assert_eq!((bench.counts().faults, bench.counts().prefetched_used), (1, 1));
}

/// A load of page 5 faults; page 261 is predicted after so many cycles. What PCI Express carries then.
fn busy_after(latency: u64) -> Bench {
    let set = ["uvm.prefetcher=learned".to_owned(), format!("uvm.prediction_latency={latency}")];
    let mut bench = Bench::with_predictor(&set.each_ref().map(String::as_str), 0, Some(Box::new(OneMegabyteOn(0))));
    bench.allocate(0, 2 * MB);
    bench.run(&[&[Instr::load(BASE + 20 * KB)]]).expect("it runs");
    bench
}

/// Core cycles of so many pages on PCI Express.
fn cycles(pages: u64) -> u64 {
    let geometry = crate::geometry::Geometry::new(Bytes(4 * KB), Addr(0));
    crate::pcie::Pcie::new(16, 1_481_000, 0, &geometry).cycles(pages * 4 * KB)
}

#[test]
fn a_predicted_page_travels_with_the_rest_of_a_block_if_that_still_waits() {
    // Pages 0 to 5, the last of which faulted, then 6 to 15.
    let rides = busy_after(1000).counts();
    assert_eq!((rides.predicted_queued, rides.predicted_rode), (1, 1));
    assert_eq!(rides.in_busy, cycles(6) + cycles(11));
    let too_late = busy_after(cycles(6) + 10).counts();
    assert_eq!((too_late.predicted_queued, too_late.predicted_rode), (1, 0));
    assert_eq!(too_late.in_busy, cycles(6) + cycles(10) + cycles(1));
}

#[test]
fn predicted_blocks_travel_together_as_far_as_a_request_may_go() {
    // Three faults whose predictions are all ready while the first block is on its way.
    let busy = |request: &str| {
        let set = ["uvm.prefetcher=learned", "uvm.prediction_latency=0", "uvm.prediction_brings=block", request];
        let mut bench = Bench::with_predictor(&set, 0, Some(Box::new(OneMegabyteOn(0))));
        bench.allocate(0, 2 * MB);
        bench.run(&[&touches(0), &touches(1), &touches(2)]).expect("it runs");
        let c = bench.counts();
        assert_eq!((c.faults, c.predicted_queued, c.migrated), (3, 48, 96));
        (c.predicted_rode, c.in_busy)
    };
    let faults = 3 * (cycles(1) + cycles(15));
    assert_eq!(busy("uvm.prediction_request=64KiB"), (0, faults + 3 * cycles(16)));
    // All three join the rest of the first block.
    assert_eq!(busy("uvm.prediction_request=1MiB"), (48, faults - cycles(15) + cycles(15 + 48)));
}

#[test]
fn a_page_that_is_named_twice_before_it_comes_is_queued_once() {
    let set = ["uvm.prefetcher=learned", "uvm.prediction_latency=50000", "uvm.predictions_in_flight=4"];
    let set = [&set[..], &["uvm.prediction_trigger=request"]].concat();
    let mut bench = Bench::with_predictor(&set, 0, Some(Box::new(OneMegabyteOn(0))));
    bench.allocate(0, 2 * MB);
    bench.run(&[&touches(0), &touches(0)]).expect("it runs");
    let c = bench.counts();
    assert_eq!((c.predictions > 1, c.predicted_here, c.predicted_queued), (true, c.predictions - 1, 1));
    assert_eq!(c.predicted_late, 0);
}

#[test]
fn a_fault_waits_for_its_prediction_if_it_is_told_to() {
    let cycles = |delays: &str| {
        let set = ["uvm.prefetcher=learned", "uvm.prediction_latency=50000", delays];
        let mut bench = Bench::with_predictor(&set, 0, Some(Box::new(OneMegabyteOn(0))));
        // The page that is predicted belongs to nobody.
        bench.allocate(0, 64 * KB);
        (bench.run(&[&touches(0)]).expect("it runs"), bench.counts().stall_service)
    };
    let (page, served) = cycles("uvm.prediction_delays=page");
    assert_eq!(served, 0);
    assert_eq!(cycles("uvm.prediction_delays=fault"), (page + 50_000, 50_000));
}

#[test]
fn a_block_of_which_a_predicted_page_is_here_is_still_one_request() {
    let mut bench = busy_after(1000);
    let before = bench.counts().in_busy;
    bench.run(&[&[Instr::load(BASE + MB)]]).expect("it runs");
    assert_eq!(bench.counts().in_busy - before, cycles(1) + cycles(14));
    // Nothing is a megabyte further: the allocation ends there.
    assert_eq!((bench.counts().predictions, bench.counts().predicted_elsewhere), (2, 1));
    bench.run(&[&[Instr::load(BASE + MB + 20 * KB)]]).expect("it runs");
    assert_eq!((bench.counts().faults, bench.counts().predicted_used), (2, 1));
}

#[test]
fn predictions_are_made_one_at_a_time_unless_told_otherwise() {
    let ready = |set: &[&str]| {
        let set = [&["uvm.prefetcher=learned", "uvm.prediction_latency=1000"], set].concat();
        let config = Config::new(&Settings::read("uvm", SETTINGS, &set).expect("good")).expect("good");
        let gpu = Gpu { core_khz: 1_000_000, sms_per_tpc: 1, memory: Bytes(1 << 30) };
        let predictor = Some(Box::new(OneMegabyteOn(0)) as Box<dyn Predictor>);
        let mut uvm = Uvm::new(config, gpu, Addr(BASE)..Addr(2 * BASE), predictor).expect("a predictor");
        let call = HostEvent::Alloc(Allocation::on_device(0, "a", Addr(BASE), Bytes(8 * MB)));
        uvm.host(&call, Picos(0), &mut Vec::new());
        let mut actions = Vec::new();
        for page in [0, 500, 1000] {
            let address = Addr(BASE + page * 4 * KB);
            let (warp, pc, sm, cta, kernel) = (strata_core::WarpId(0), 0, 0, 0, 0);
            let access = AccessInfo { address, sectors: 4, write: false, pc, sm, warp, cta, kernel, instructions: 0 };
            uvm.walked(PageId(address.0 / (4 * KB)), &access, Picos(0), &mut actions);
        }
        let predicted = |action: &Action| match action {
            Action::Timer { at, token } if *token == Token(Wake::Predicted as u32) => Some(at.0 / 1_000_000),
            _ => None,
        };
        actions.iter().filter_map(predicted).collect::<Vec<_>>()
    };
    assert_eq!(ready(&[]), [1, 2, 3]);
    assert_eq!(ready(&["uvm.predictions_in_flight=2"]), [1, 1, 2]);
    assert_eq!(ready(&["uvm.prediction_trigger=request"]), [1], "requests do not wait");
}
