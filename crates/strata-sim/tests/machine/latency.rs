//! Unloaded latencies are the sum of their configured parts: computed here from the configuration, clock by clock.

use crate::script::{Bench, gpu, load_word, run, script, use_of};
use strata_core::{Addr, Bytes};
use strata_sim::config::{GpuConfig, presets};
use strata_sim::time::{Cycles, Picos};
use strata_testkit::Instr;

/// How far a request goes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum To {
    /// Its data is in L2.
    L2,
    /// L2 performs an atomic on what it has.
    Atomic,
    /// Its row of DRAM is closed.
    Dram,
}

/// The core cycle at which the answer to a request is back that leaves the load/store unit at core cycle `at`, if nothing
/// else is under way.
pub(crate) fn answered(config: &GpuConfig, at: u64, to: To) -> u64 {
    let (clock, crossbar) = (&config.clock, &config.crossbar);
    let sectors = if config.l1.sectored { 1 } else { 4 };
    let sent = if to == To::Atomic { sectors * 32 } else { 0 };
    // Out of the SM, through its port, across.
    let ready = clock.core.edge(Cycles(at + u64::from(config.l1.miss_latency)));
    let through = |bytes: u32, width: u32| u64::from(bytes) * 16 / u64::from(width);
    let left = clock.interconnect.next(ready).0 * 16 + through(crossbar.header_bytes + sent, crossbar.sm_out_bytes);
    let arrived = clock.interconnect.edge(Cycles(left.div_ceil(16) + u64::from(crossbar.request_cycles)));
    // The slice, and memory behind it.
    let atomic = if to == To::Atomic { config.l2.atomic_cycles } else { 0 };
    let mut found = clock.l2.next(arrived).0 + u64::from(config.l2.latency + atomic);
    if to == To::Dram {
        let (timing, dram) = (&config.dram.timing, &config.dram);
        // To a memory stack and back over its link, if there is one: an address, and data.
        let (stacks, link) = (config.stacks.count, &config.stacks.link);
        let crossing = |bytes: u32| {
            let nanoseconds = f64::from(bytes) / link.gb_per_s + link.latency_ns;
            Picos(if stacks == 0 { 0 } else { (nanoseconds * 1e3).round() as u64 })
        };
        let leaves = clock.l2.edge(Cycles(found));
        let at_controller = leaves + crossing(config.stacks.address_bytes);
        let at_channel = at_controller + clock.l2.span(Cycles(u64::from(dram.controller_cycles)));
        let access = dram.burst.div_ceil(dram.data_rate);
        let between = timing.ccdl.max(timing.ccd).max(access);
        let memory = timing.rcd + timing.cl + (sectors - 1) * between + access;
        let data = clock.dram.edge(Cycles(clock.dram.next(at_channel).0 + u64::from(memory)));
        found = clock.l2.next(data + crossing(sectors * 32)).0;
    }
    // Back: the bytes pass the slice's port, cross, and pass the SM's as they come.
    let ready: Picos = clock.l2.edge(Cycles(found));
    let bytes = crossbar.header_bytes + sectors * 32;
    let left = clock.interconnect.next(ready).0 * 16 + through(bytes, crossbar.slice_bytes);
    let back = clock.interconnect.edge(Cycles(left.div_ceil(16) + u64::from(crossbar.reply_cycles)));
    clock.core.next(back).0
}

/// Runs `first` and a use of its register on every preset; the answer must be there when `expected` says.
fn check(changes: &[&str], first: Instr, copied: bool, expected: impl Fn(&GpuConfig, u64) -> u64) {
    for preset in presets() {
        let config = gpu(preset.name, &[&["l2.copies_fill=true"], changes].concat());
        let mut bench = Bench::new(config.clone());
        if copied {
            bench.copy_in(Addr(0), Bytes(128));
        }
        let begin = bench.begin();
        let ran = bench.run(script(&[&[first, use_of(1)]]));
        // The use issues when the data is there, and the warp ends in the cycle after.
        assert_eq!(ran.cycles, expected(&config, begin) + 1 - begin, "{}", preset.name);
    }
}

#[test]
fn a_hit_in_l2() {
    check(&[], load_word(1, 0), true, |config, at| answered(config, at, To::L2));
}

#[test]
fn a_miss_in_l2() {
    check(&[], load_word(1, 0), false, |config, at| answered(config, at, To::Dram));
}

#[test]
fn an_atomic() {
    let atomic = Instr::atomic(0).to(1);
    check(&[], atomic, true, |config, at| answered(config, at, To::Atomic));
}

#[test]
fn a_hit_in_l1() {
    for preset in presets() {
        let config = gpu(preset.name, &["l1.global_loads=true"]);
        let once = run(&config, &[&[load_word(1, 0), use_of(1)]]).cycles;
        let twice = run(&config, &[&[load_word(1, 0), use_of(1), load_word(2, 0), use_of(2)]]);
        // The second load issues in the cycle after the use, and its own use when the hit has its data.
        assert_eq!(twice.cycles, once + u64::from(config.l1.latency) + 1, "{}", preset.name);
        assert_eq!((twice.counted.machine.l1_hits, twice.counted.machine.l1_misses), (1, 1));
    }
}

#[test]
fn translation() {
    let tlb = ["tlb.enabled=true", "tlb.l2_cycles=60", "tlb.walk_cycles=250"];
    check(&tlb, load_word(1, 0), true, |config, at| answered(config, at + 60 + 250, To::L2));
    // Another line of the page costs nothing more; the first of another page walks again.
    for (address, translated, walks) in [(128, 0, 1), (64 << 20, 310, 2)] {
        let mut bench = Bench::new(gpu("titan-v", &tlb));
        bench.copy_in(Addr(0), Bytes(256));
        bench.copy_in(Addr(64 << 20), Bytes(128));
        let begin = bench.begin();
        let config = bench.0.config().clone();
        let ran = bench.run(script(&[&[load_word(1, 0), use_of(1), load_word(2, address), use_of(2)]]));
        let first = answered(&config, begin + 310, To::L2);
        assert_eq!(begin + ran.cycles, answered(&config, first + 1 + translated, To::L2) + 1, "{address}");
        assert_eq!(ran.counted.machine.tlb_walks, walks, "{address}");
    }
    // A second SM misses in its own TLB and finds the page in the shared one.
    let mut bench = Bench::new(gpu("titan-v", &tlb));
    bench.copy_in(Addr(0), Bytes(256));
    let config = bench.0.config().clone();
    bench.run(script(&[&[load_word(1, 0), use_of(1)]]));
    let begin = bench.begin();
    let ran = bench.run(script(&[&[load_word(1, 0), use_of(1)]]).grid(2, 0));
    assert_eq!((ran.counted.machine.tlb_misses, ran.counted.machine.tlb_walks), (1, 0));
    assert_eq!(begin + ran.cycles, answered(&config, begin + 60, To::L2) + 1);
}

#[test]
fn copies_take_the_time_of_the_host_link() {
    let mut config = gpu("titan-v", &[]);
    let link = &config.host_link;
    // Packets of 256 B, each with its header, and the latency once; in core cycles, rounded up.
    let bytes = 1000.0 + 4.0 * f64::from(link.header_bytes);
    let picos = (bytes * 1e3 / link.gb_per_s).ceil() as u64 + (link.latency_ns * 1e3) as u64;
    let cycles = config.clock.core.next(Picos(picos)).0;
    let mut bench = Bench::new(config.clone());
    bench.copy_in(Addr(0), Bytes(1000));
    assert_eq!((bench.0.copies().cycles, bench.0.now()), (cycles, Picos(picos)));
    bench.copy_out(Addr(0), Bytes(1000));
    let copies = bench.0.copies();
    assert!((2 * cycles - 1..=2 * cycles + 1).contains(&copies.cycles), "{} for {cycles}", copies.cycles);
    assert_eq!((copies.bytes_in, copies.bytes_out), (Bytes(1000), Bytes(1000)));
    // Kernel cycles do not contain them.
    config.clock.core = config.clock.interconnect;
    let alone = run(&config, &[&[load_word(1, 0), use_of(1)]]).cycles;
    let mut bench = Bench::new(config);
    bench.copy_out(Addr(0), Bytes(1 << 20));
    let after = bench.run(script(&[&[load_word(1, 0), use_of(1)]])).cycles;
    assert!(alone.abs_diff(after) <= 2, "{alone} and {after}: only the phase of the clocks may differ");
}
