//! Who is served when: age, rows, writes, fairness.

use super::{hbm2, read, serve, write};
use crate::config::DramConfig;
use crate::dram::{CappedFcfs, Channel, Command, DramError, DramRequest, OVERTAKE_LIMIT};

fn tagged(request: DramRequest, tag: u32) -> DramRequest {
    DramRequest { tag, ..request }
}

fn order(config: &DramConfig, arrivals: &[(u64, DramRequest)]) -> Vec<u32> {
    serve(config, arrivals).done.iter().map(|d| d.1).collect()
}

#[test]
fn row_hits_overtake_older_requests_for_another_row() {
    let list = [
        (0, tagged(read(0, 1), 1)),
        (0, tagged(read(0, 2), 2)),
        (0, tagged(read(0, 1), 3)),
        (0, tagged(read(0, 2), 4)),
        (0, tagged(read(0, 1), 5)),
    ];
    assert_eq!(order(&hbm2(), &list), [1, 3, 5, 2, 4]);
}

#[test]
fn among_hits_the_oldest_is_first() {
    let mut list = vec![(0, tagged(read(0, 1), 0)), (0, tagged(read(4, 1), 0)), (0, tagged(read(8, 1), 0))];
    list.extend([(100, tagged(read(8, 1), 1)), (100, tagged(read(0, 1), 2)), (100, tagged(read(4, 1), 3))]);
    assert_eq!(order(&hbm2(), &list)[3..], [1, 2, 3]);
}

#[test]
fn a_request_is_overtaken_so_often_and_no_more() {
    let mut list = vec![(0, tagged(read(0, 1), 0)), (1, tagged(read(0, 2), 1_000))];
    list.extend((1..200).map(|n| (u64::from(n) / 4, tagged(read(0, 1), n))));
    let order = order(&hbm2(), &list);
    let served = order.iter().position(|&tag| tag == 1_000).unwrap();
    assert_eq!(served, 1 + usize::from(OVERTAKE_LIMIT));
    // The row is reopened afterwards for those who were left.
    assert_eq!(order.len(), 201);
}

/// Serves requests that are all there at once.
fn order_with_cap(row_hits: u16, requests: &[DramRequest]) -> Vec<u32> {
    let mut channel = Channel::with_policy(&hbm2(), CappedFcfs { row_hits }, ()).unwrap();
    for &request in requests {
        channel.push(0, request);
    }
    let mut done = Vec::new();
    while let Some(wake) = channel.wake() {
        channel.advance(wake, &mut done);
    }
    done.iter().map(|d| d.1).collect()
}

#[test]
fn a_cap_on_row_hits_is_kept_by_each_bank() {
    // By turns for two rows of one bank, and two for another bank.
    let mut requests: Vec<_> = (0..8).map(|n| tagged(read(0, 1 + n % 2), n)).collect();
    assert_eq!(order_with_cap(0, &requests), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(order_with_cap(1, &requests), [0, 2, 1, 3, 5, 4, 6, 7]);
    assert_eq!(order_with_cap(2, &requests), [0, 2, 4, 1, 3, 5, 7, 6]);
    assert_eq!(order_with_cap(OVERTAKE_LIMIT, &requests), [0, 2, 4, 6, 1, 3, 5, 7]);
    requests.extend([tagged(read(4, 1), 8), tagged(read(4, 1), 9)]);
    let order = order_with_cap(0, &requests);
    assert_eq!(order[..3], [0, 8, 9], "banks do not wait for each other");
}

#[test]
fn rows_are_offered_while_they_are_written() {
    let config = DramConfig { write_high: 4, write_low: 1, ..hbm2() };
    let mut channel = Channel::new(&config).unwrap();
    let mut done = Vec::new();
    channel.push(0, read(8, 3));
    assert_eq!(channel.rows_being_written().count(), 0, "it reads");
    channel.advance(40, &mut done);
    for n in 0..4 {
        channel.push(40, tagged(DramRequest { accesses: 4, ..write(4, 7) }, n));
    }
    channel.advance(52, &mut done);
    assert_eq!(channel.rows_being_written().collect::<Vec<_>>(), [(4, 7)]);
    while let Some(wake) = channel.wake() {
        channel.advance(wake, &mut done);
    }
    assert_eq!(channel.rows_being_written().count(), 0, "nothing is left");
    let batches = channel.write_batches();
    assert_eq!((batches.batches, batches.bursts, batches.row_hits), (1, 16, 3));
}

#[test]
fn writes_wait_while_reads_come_and_are_drained_from_high_to_low() {
    let config = DramConfig { write_high: 8, write_low: 2, ..hbm2() };
    // Reads keep the channel busy; seven writes are not enough to interrupt them, the eighth is.
    let mut list: Vec<_> = (0..60).map(|n| (0, tagged(read(0, 1), n))).collect();
    list.extend((0..7).map(|n| (20, tagged(write(4, 1), 100 + n))));
    let patient = order(&config, &list);
    assert!(patient[..60].iter().all(|&tag| tag < 100), "{patient:?}");
    list.push((20, tagged(write(4, 1), 107)));
    let drained = order(&config, &list);
    let first = drained.iter().position(|&tag| tag >= 100).unwrap();
    assert!(first < 20, "{drained:?}");
    assert!(drained[first..first + 6].iter().all(|&tag| tag >= 100), "six writes at once: {drained:?}");
    assert!(drained[first + 6..first + 6 + 20].iter().all(|&tag| tag < 100), "then reads again: {drained:?}");
}

#[test]
fn a_read_interrupts_writes_that_nobody_had_to_drain() {
    let mut list: Vec<_> = (0..20).map(|n| (0, tagged(write(0, 1), n))).collect();
    list.push((15, tagged(read(4, 1), 100)));
    let order = order(&hbm2(), &list);
    let at = order.iter().position(|&tag| tag == 100).unwrap();
    assert!(at < 10, "{order:?}");
}

#[test]
fn neither_kind_starves_the_other() {
    // Both queues are kept full for as long as the test lasts.
    let config = hbm2();
    let mut channel = Channel::new(&config).unwrap();
    let (mut done, mut now) = (Vec::new(), 0);
    let mut tag = 0;
    while channel.stats().reads + channel.stats().writes < 20_000 {
        channel.advance(now, &mut done);
        for kind in [read(0, 1), write(4, 1)] {
            while channel.has_room(kind.write) {
                channel.push(now, tagged(kind, tag));
                tag += 1;
            }
        }
        now += 10;
    }
    let (reads, writes) = (channel.stats().reads, channel.stats().writes);
    assert!(reads.abs_diff(writes) < 100, "{reads} reads, {writes} writes");
    let turn = u64::from(config.write_high - config.write_low);
    assert!(channel.stats().write_turns >= writes / turn - 1);
}

#[test]
fn a_full_channel_says_so() {
    let mut channel = Channel::new(&hbm2()).unwrap();
    for n in 0..64 {
        assert!(channel.has_room(false));
        channel.push(0, tagged(read(0, n), n));
    }
    assert!(!channel.has_room(false));
    assert!(channel.has_room(true));
    assert_eq!(channel.waiting(false), 64);
}

#[test]
fn room_is_made_as_soon_as_the_last_command_is_given() {
    let mut channel = Channel::with_log(&hbm2(), Vec::new()).unwrap();
    let mut done = Vec::new();
    channel.push(0, read(0, 7));
    channel.advance(12, &mut done);
    assert_eq!(channel.waiting(false), 1);
    channel.advance(13, &mut done);
    assert_eq!((channel.waiting(false), done), (0, vec![(25, 0)]));
    assert_eq!(channel.log().last(), Some(&(12, Command::Read { bank: 0 })));
}

#[test]
fn an_impossible_configuration_is_refused_with_its_key() {
    let refused = |change: fn(&mut DramConfig)| {
        let mut config = hbm2();
        change(&mut config);
        match Channel::new(&config) {
            Err(DramError::Value { key, .. }) => key,
            Ok(_) => "nothing",
        }
    };
    assert_eq!(refused(|_| ()), "nothing");
    assert_eq!(refused(|c| c.burst = 0), "burst");
    assert_eq!(refused(|c| c.bus_bytes = 8), "burst");
    assert_eq!(refused(|c| c.data_rate = 0), "data_rate");
    assert_eq!(refused(|c| c.banks = 12), "banks");
    assert_eq!(refused(|c| c.banks = 128), "banks");
    assert_eq!(refused(|c| c.bank_groups = 0), "bank_groups");
    assert_eq!(refused(|c| c.bank_groups = 32), "bank_groups");
    assert_eq!(refused(|c| c.queue = 0), "queue");
    assert_eq!(refused(|c| c.write_high = 65), "write_high");
    assert_eq!(refused(|c| c.write_low = 32), "write_low");
    assert_eq!(refused(|c| c.timing.ccd = 0), "timing.ccd");
    assert_eq!(refused(|c| c.timing.rfc = 20_000), "timing.rfc");
    assert_eq!(refused(|c| (c.timing.refi, c.timing.rfc) = (100, 90)), "timing.refi");
    let message = Channel::new(&DramConfig { banks: 12, ..hbm2() }).err().unwrap().to_string();
    assert_eq!(message, "dram.banks = 12: must be a power of two, at most 64");
}
