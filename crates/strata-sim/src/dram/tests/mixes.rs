//! Streams that read and write, as an L2 gives them to a channel: how much of the peak they reach, against what cards do.

use super::Channel;
use crate::config::{DramConfig, load};
use crate::dram::{AddressMap, DramRequest, Layout, WriteBatches};

/// Lines of 128 B that one array of a stream has in the channel.
const LINES: u32 = 40_000;

/// Whole lines of `reads` arrays that are read and `writes` that are written, in turn. What is written leaves L2 long after
/// it has been stored, in the same order; SMs run ahead of each other, so neighbours come up to `spread` lines early or late.
fn stream(config: &DramConfig, reads: u32, writes: u32, spread: u32) -> Vec<DramRequest> {
    let map = AddressMap::new(config, Layout::default()).unwrap();
    let (arrays, mut state) = (reads + writes, 1u64);
    let mut late: Vec<(u64, DramRequest)> = Vec::new();
    for line in 0..LINES {
        for array in 0..arrays {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let order = u64::from(line) * 64 + (state >> 33) % (u64::from(spread) * 64 + 1);
            // Arrays of another length than a power of two, as the memory of a program has them.
            let decoded = map.decode(u64::from(array) * (u64::from(LINES) * 128 + 7 * 2048) + u64::from(line) * 128);
            let (row, bank, write) = (decoded.row, decoded.bank, array >= reads);
            late.push((order, DramRequest { row, bank, accesses: 4, write, tag: line }));
        }
    }
    late.sort_by_key(|&(order, _)| order);
    late.into_iter().map(|(_, request)| request).collect()
}

/// Share of the peak at which requests are served that wait before the channel in this order, and the batches of writes.
fn share(config: &DramConfig, requests: &[DramRequest]) -> (f64, WriteBatches) {
    let mut channel = Channel::new(config).unwrap();
    let (mut done, mut now) = (Vec::new(), 0);
    for &request in requests {
        while !channel.has_room(request.write) {
            now = channel.wake().unwrap();
            channel.advance(now, &mut done);
        }
        channel.push(now, request);
    }
    while let Some(wake) = channel.wake() {
        channel.advance(wake, &mut done);
    }
    let end = done.iter().map(|d| d.0).max().unwrap();
    (channel.stats().data_cycles as f64 / end as f64, channel.write_batches())
}

/// What gpu-benches measured on a V100, of 898 GB/s at 877 MHz: 867 GB/s read, 809 read and written in equal parts, 788 where
/// two arrays are read and one is written.
const V100: [(&str, u32, u32, f64); 3] = [("read", 1, 0, 0.965), ("scale", 1, 1, 0.901), ("triad", 2, 1, 0.877)];

#[test]
fn v100_reaches_the_measured_shares() {
    let config = load("v100", &[""; 0]).unwrap().config.dram;
    for spread in [0, 8, 32] {
        for (name, reads, writes, measured) in V100 {
            let (share, batches) = share(&config, &stream(&config, reads, writes, spread));
            let (bursts, hits) = (batches.bursts_per_batch(), batches.row_hits_per_batch());
            println!(
                "{name}, {spread} lines early or late: {share:.3}, measured {measured}; {bursts:.0} bursts a batch, {hits:.1} hits"
            );
            assert!((share / measured - 1.0).abs() < 0.05, "{name}: {share} of {measured}");
            assert!(writes == 0 || bursts > 80.0, "{name}: {bursts} bursts a batch");
        }
    }
}

/// What the refresh of all banks at once costs a stream that reads, and that of single banks does not.
#[test]
fn other_banks_go_on_while_one_is_refreshed() {
    let mut config = load("v100", &[""; 0]).unwrap().config.dram;
    let requests = stream(&config, 1, 0, 0);
    let single = share(&config, &requests).0;
    config.timing.rfcsb = 0;
    let all = share(&config, &requests).0;
    let lost = f64::from(config.timing.rfc) / f64::from(config.timing.refi);
    assert!((all / (1.0 - lost) - 1.0).abs() < 0.01, "{all}, {lost} are lost");
    assert!(single > 0.99, "{single}");
}
