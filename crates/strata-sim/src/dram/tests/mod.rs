//! Four layers: does it run and is it deterministic (`policy`), are latency and bandwidth the formula's (`bandwidth`), is
//! every gate kept (`checker`) and tight (`gates`), and is the order exact (`gates`, `policy`, `reference`).

mod address;
mod bandwidth;
mod checker;
mod gates;
mod kinds;
mod mixes;
mod policy;
mod reference;

use super::{Channel, ChannelStats, Command, DramRequest};
use crate::config::{DramConfig, DramTiming};
use kinds::{config, gddr6, hbm2};

/// Everything that came out of a run.
#[derive(Clone, PartialEq, Debug)]
struct Outcome {
    commands: Vec<(u64, Command)>,
    done: Vec<(u64, u32)>,
    stats: ChannelStats,
}

/// Serves requests that arrive at the given cycles, or as soon as there is room, the way a machine would. The channel is
/// also asked at the cycles of `extra`, which must change nothing.
fn serve_asking(config: &DramConfig, arrivals: &[(u64, DramRequest)], extra: &[u64]) -> Outcome {
    let mut channel = Channel::with_log(config, Vec::new()).unwrap();
    let mut done = Vec::new();
    let mut wake: Option<u64> = None;
    let mut extra = extra.iter().copied().peekable();
    // Advances through all wake-ups up to and including `now`.
    let mut advance_to = |channel: &mut Channel<Vec<(u64, Command)>>, wake: &mut Option<u64>, now: u64| {
        loop {
            let asked = extra.next_if(|&e| e <= now && wake.is_none_or(|w| e < w));
            let Some(at) = asked.or(wake.filter(|&w| w <= now)) else { break };
            let reported = done.len();
            channel.advance(at, &mut done);
            let next = channel.wake();
            assert!(next.is_none_or(|next| next > at), "no progress at {at}");
            assert!(done[reported..].iter().all(|&(end, _)| end >= at), "reported too late at {at}");
            *wake = next;
        }
        let reported = done.len();
        channel.advance(now, &mut done);
        *wake = channel.wake();
        assert!(done[reported..].iter().all(|&(end, _)| end >= now), "reported too late at {now}");
    };
    let mut now = 0;
    for &(at, request) in arrivals {
        now = now.max(at);
        advance_to(&mut channel, &mut wake, now);
        while !channel.has_room(request.write) {
            now = wake.unwrap();
            advance_to(&mut channel, &mut wake, now);
        }
        channel.push(now, request);
        wake = channel.wake();
    }
    while let Some(at) = wake {
        advance_to(&mut channel, &mut wake, at);
    }
    Outcome { commands: channel.log().clone(), done, stats: *channel.stats() }
}

fn serve(config: &DramConfig, arrivals: &[(u64, DramRequest)]) -> Outcome {
    serve_asking(config, arrivals, &[])
}

fn read(bank: u16, row: u32) -> DramRequest {
    DramRequest { row, bank, accesses: 1, write: false, tag: 0 }
}

fn write(bank: u16, row: u32) -> DramRequest {
    DramRequest { write: true, ..read(bank, row) }
}

/// Of the size of GDDR5X: an access takes two cycles, and CCD is as long.
fn gddr5x() -> DramConfig {
    let timing = DramTiming {
        ccd: 2,
        ccdl: 3,
        rrd: 6,
        rrdl: 0,
        faw: 0,
        rcd: 12,
        ras: 28,
        rp: 12,
        rc: 40,
        cl: 12,
        wl: 4,
        wr: 12,
        cdlr: 5,
        wtrl: 0,
        rtw: 0,
        rtpl: 2,
        refi: 0,
        rfc: 0,
        rfcsb: 0,
    };
    config(4, 8, 4, 4, 16, timing)
}

/// Of the size of DDR3-1600: no bank groups, eight banks, an access takes four cycles.
fn ddr3() -> DramConfig {
    let timing = DramTiming {
        ccd: 4,
        ccdl: 4,
        rrd: 5,
        rrdl: 0,
        faw: 0,
        rcd: 11,
        ras: 28,
        rp: 11,
        rc: 39,
        cl: 11,
        wl: 8,
        wr: 12,
        cdlr: 6,
        wtrl: 0,
        rtw: 0,
        rtpl: 6,
        refi: 0,
        rfc: 0,
        rfcsb: 0,
    };
    config(4, 8, 2, 1, 8, timing)
}

fn kinds() -> [(&'static str, DramConfig); 4] {
    [("HBM2", hbm2()), ("GDDR6", gddr6()), ("GDDR5X", gddr5x()), ("DDR3", ddr3())]
}

/// Cycles of one access on the data bus.
fn access_cycles(config: &DramConfig) -> u64 {
    u64::from(config.burst / config.data_rate)
}
