//! Whole runs: the same every time, complete, and at a cost in proportion to what is simulated.

use crate::script::{Bench, Ran, gpu, load_line, script, store_words, use_of};
use strata_core::stats::Stats;
use strata_sim::{KernelNeeds, MachineBuilder};
use strata_testkit::Script;

/// A stream: every CTA of four warps reads two lines of its own per warp and writes one.
fn stream(ctas: u64) -> Script {
    let warp =
        |w: u64| [load_line(1, 3 * w), load_line(2, 3 * w + 1), use_of(1), use_of(2), store_words(3 * w + 2, 32)];
    let warps: Vec<_> = (0..4).map(warp).collect();
    script(&warps).grid(ctas, 12 * 128)
}

fn run_stream(preset: &str, changes: &[&str], ctas: u64) -> Ran {
    Bench::new(gpu(preset, changes)).run(stream(ctas))
}

#[test]
fn two_runs_give_the_same_bytes() {
    let text = || {
        let config = gpu("titan-x-pascal", &["dram.timing.refi=2437"]);
        let ran = Bench::new(config.clone()).run(stream(2000));
        let mut stats = Stats::default();
        ran.counted.export("gpu", &config, ran.cycles, &mut stats);
        ran.counted.members("gpu").iter().for_each(|m| m.export(&mut stats));
        format!("{} {stats:?}", ran.cycles)
    };
    let first = text();
    assert!(first.contains("gpu.l2[23].reads") && first.contains("gpu.energy.total"));
    assert_eq!(first.as_bytes(), text().as_bytes());
}

#[test]
fn every_byte_is_moved_once() {
    let ran = run_stream("titan-v", &[], 1000);
    let (l2, dram) = (ran.counted.l2(), ran.counted.dram());
    assert_eq!((l2.reads, l2.writes), (1000 * 4 * 2 * 4, 1000 * 4 * 4));
    assert_eq!(dram.read_accesses, l2.reads);
    assert_eq!(ran.counted.machine.sent, 1000 * 4 * 3);
    let members: u64 = ran.counted.slices.iter().map(|slice| slice.reads).sum();
    assert_eq!(members, l2.reads);
}

#[test]
fn a_profiler_counts_some_of_the_launch() {
    let config = gpu("titan-v", &["launch.before=100", "launch.after=50", "launch.profiled=30"]);
    let launch_of = |profiled: bool| {
        let mut builder = MachineBuilder::new(config.clone());
        if profiled {
            builder.profile();
        }
        let mut bench = Bench(builder.build().expect("a machine"));
        let needs = KernelNeeds { threads: 32, registers: 16, shared: 0 };
        bench.0.run_kernel(&mut script(&[[use_of(1)]]), &needs).expect("it runs").launch_cycles
    };
    assert_eq!([false, true].map(launch_of), [150, 120]);
}

/// Events that the simulator handles for each line request.
fn events_per_request(ran: &Ran) -> f64 {
    ran.counted.machine.events as f64 / ran.counted.machine.sent as f64
}

#[test]
fn the_work_of_a_request_does_not_grow_with_the_input() {
    for preset in ["titan-x-pascal", "titan-v"] {
        let [small, large] = [500, 8000].map(|ctas| events_per_request(&run_stream(preset, &[], ctas)));
        assert!(large < 1.1 * small, "{preset}: {small} and {large} events per request");
    }
}

#[test]
fn the_work_of_a_request_does_not_grow_with_the_machine() {
    let work = |sms: &str| events_per_request(&run_stream("titan-x-pascal", &[sms], 2000));
    let (small, large) = (work("sm.count=28"), work("sm.count=84"));
    assert!(large < 1.1 * small, "{small} and {large} events per request");
}
