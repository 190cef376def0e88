//! What a request to a DRAM channel costs: nanoseconds per request, all in (arrival, scheduling, wake-ups, report).
//!
//! Arguments: part of a name to measure only what contains it, and a number of requests instead of two million.

#[path = "../src/dram/tests/kinds.rs"]
mod kinds;

use std::hint::black_box;
use std::time::Instant;
use strata_sim::config::{DramConfig, DramTiming};
use strata_sim::dram::{AddressMap, Channel, DramRequest, Layout};

/// CPU time of this process in nanoseconds: what others do on the machine is not our cost. Elapsed time where the system
/// does not tell.
fn cpu_time(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let told = told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    told.unwrap_or_else(|| start.elapsed().as_nanos() as f64)
}

/// With deeper write queues than tests want, and with refresh.
fn refreshed(kind: &DramConfig, refi: u32, rfc: u32) -> DramConfig {
    DramConfig { write_high: 48, write_low: 16, timing: DramTiming { refi, rfc, ..kind.timing }, ..kind.clone() }
}

/// Serves requests that come `gap` cycles apart, or as soon as there is room, and prints what one cost.
fn measure(name: &str, config: &DramConfig, gap: u64, mut next: impl FnMut(u32) -> DramRequest) {
    let given = |argument: &String| !argument.starts_with('-');
    let (mut requests, mut wanted) = (2_000_000, true);
    for argument in std::env::args().skip(1).filter(given) {
        match argument.parse() {
            Ok(number) => requests = number,
            Err(_) => wanted &= name.contains(&argument),
        }
    }
    if !wanted {
        return;
    }
    let mut channel = Channel::new(config).expect("the configuration is sound");
    let mut done = Vec::new();
    let mut wake = None;
    let (mut now, mut end, mut wakes) = (0, 0, 0u64);
    let start = Instant::now();
    let before = cpu_time(start);
    for tag in 0..requests {
        let request = next(tag);
        let mut due = now + gap;
        loop {
            let waits = !channel.has_room(request.write);
            let Some(at) = wake.filter(|&at| waits || at <= due) else { break };
            channel.advance(at, &mut done);
            wake = channel.wake();
            wakes += 1;
            due = due.max(at);
            for (at, tag) in done.drain(..) {
                end = end.max(at);
                black_box(tag);
            }
        }
        now = due;
        channel.advance(now, &mut done);
        channel.push(now, request);
        wake = channel.wake();
    }
    while let Some(at) = wake {
        channel.advance(at, &mut done);
        wake = channel.wake();
        wakes += 1;
    }
    let took = cpu_time(start) - before;
    let end = done.iter().fold(end, |end, d| end.max(d.0));
    let requests = f64::from(requests);
    let stats = channel.stats();
    println!(
        "{name:<28} {:>6.1} ns/request  {:.2} wakes  {:>5.1} % of peak  {:>5.1} % row hits  {:>6.1} cycles to read",
        took / requests,
        wakes as f64 / requests,
        stats.data_cycles as f64 / end as f64 * 100.0,
        stats.row_hits as f64 / requests * 100.0,
        stats.read_latency as f64 / stats.reads.max(1) as f64,
    );
}

fn main() {
    for (memory, config) in
        [("HBM2", refreshed(&kinds::hbm2(), 3315, 298)), ("GDDR6", refreshed(&kinds::gddr6(), 13_650, 1225))]
    {
        let map = AddressMap::new(&config, Layout::default()).expect("the configuration is sound");
        let at = |address: u64, accesses: u8, write: bool, tag: u32| {
            let decoded = map.decode(address);
            DramRequest { row: decoded.row, bank: decoded.bank, accesses, write, tag }
        };
        let random = |tag: u32| u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34 << 5;
        let stream = |tag: u32| u64::from(tag) * 128;
        measure(&format!("{memory} stream, lines"), &config, 0, |n| at(stream(n), 4, false, n));
        measure(&format!("{memory} stream, sectors"), &config, 0, |n| at(u64::from(n) * 32, 1, false, n));
        measure(&format!("{memory} stream, 1/3 writes"), &config, 0, |n| {
            at(stream(n / 3) + u64::from(n % 3) * (100 << 20), 4, n % 3 == 2, n)
        });
        measure(&format!("{memory} random, sectors"), &config, 0, |n| at(random(n), 1, false, n));
        measure(&format!("{memory} random, 1/3 writes"), &config, 0, |n| at(random(n), 1, n % 3 == 2, n));
        measure(&format!("{memory} random, unloaded"), &config, 300, |n| at(random(n), 1, false, n));
    }
}
