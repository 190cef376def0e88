//! An ideal stream reaches the peak.

use super::{Outcome, kinds, serve};
use crate::config::DramConfig;
use crate::dram::{AddressMap, DramRequest, Layout};

/// A stream of whole lines, all there from the beginning as far as there is room.
fn stream(config: &DramConfig, lines: u32, write: bool) -> Outcome {
    let map = AddressMap::new(config, Layout::default()).unwrap();
    let line = |tag: u32| {
        let decoded = map.decode(u64::from(tag) * 128);
        (0, DramRequest { row: decoded.row, bank: decoded.bank, accesses: 4, write, tag })
    };
    serve(config, &(0..lines).map(line).collect::<Vec<_>>())
}

/// Share of the time until the last data in which the data bus was used.
fn share(outcome: &Outcome) -> f64 {
    let end = outcome.done.iter().map(|d| d.0).max().unwrap();
    outcome.stats.data_cycles as f64 / end as f64
}

#[test]
fn a_stream_reaches_the_peak() {
    for (name, config) in kinds() {
        for write in [false, true] {
            let reached = share(&stream(&config, 20_000, write));
            assert!((0.99..=1.0).contains(&reached), "{name}, writes {write}: {reached}");
        }
    }
}

#[test]
fn refresh_takes_its_share() {
    for (name, mut config) in kinds() {
        // 3.9 us and 350 ns, roughly, at the clock of each.
        let access = super::access_cycles(&config) as u32;
        (config.timing.refi, config.timing.rfc) = (3900 * access, 350 * access);
        let ideal = 1.0 - 350.0 / 3900.0;
        let reached = share(&stream(&config, 20_000, false)) / ideal;
        // The last refresh may just be spared, so a little more than ideal is possible.
        assert!((0.99..1.01).contains(&reached), "{name}: {reached}");
    }
}

#[test]
fn without_rotation_ccdl_is_the_limit() {
    for (name, config) in kinds() {
        let map = AddressMap::new(&config, Layout { hash: false, ..Layout::default() }).unwrap();
        let list: Vec<_> = (0..4000)
            .map(|tag| {
                // Every line in bank group 0: consecutive lines of the same group.
                let decoded = map.decode(u64::from(tag) * 128 * u64::from(config.bank_groups));
                (0, DramRequest { row: decoded.row, bank: decoded.bank, accesses: 4, write: false, tag })
            })
            .collect();
        let reached = share(&serve(&config, &list));
        let ideal = super::access_cycles(&config) as f64 / f64::from(config.timing.ccdl);
        assert!((0.98..=1.0).contains(&(reached / ideal)), "{name}: {reached} of {ideal}");
    }
}
