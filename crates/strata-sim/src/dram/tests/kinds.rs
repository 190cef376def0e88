//! Channels that are well known. `benches/dram.rs` measures with them, too.

use super::{DramConfig, DramTiming};
use strata_core::Bytes;

/// A channel of 1 GiB without refresh, with rows of 2 KiB.
pub(super) fn config(
    bus_bytes: u32,
    burst: u32,
    data_rate: u32,
    bank_groups: u32,
    banks: u32,
    timing: DramTiming,
) -> DramConfig {
    DramConfig {
        size: Bytes(1 << 30),
        channels: 1,
        bus_bytes,
        burst,
        data_rate,
        bank_groups,
        banks,
        row: Bytes(2048),
        timing,
        queue: 64,
        write_queue: 0,
        write_high: 32,
        write_low: 8,
        controller_cycles: 0,
        masked_writes: true,
    }
}

/// Timings of Accel-Sim's QV100. An access takes one cycle.
pub(super) fn hbm2() -> DramConfig {
    let timing = DramTiming {
        ccd: 1,
        ccdl: 2,
        rrd: 3,
        rrdl: 0,
        faw: 0,
        rcd: 12,
        ras: 28,
        rp: 12,
        rc: 40,
        cl: 12,
        wl: 2,
        wr: 10,
        cdlr: 3,
        wtrl: 0,
        rtw: 0,
        rtpl: 3,
        refi: 0,
        rfc: 0,
        rfcsb: 0,
    };
    config(16, 2, 2, 4, 16, timing)
}

/// Timings of Accel-Sim's RTX2060. An access takes four cycles.
pub(super) fn gddr6() -> DramConfig {
    let timing = DramTiming {
        ccd: 4,
        ccdl: 6,
        rrd: 12,
        rrdl: 0,
        faw: 0,
        rcd: 24,
        ras: 55,
        rp: 24,
        rc: 78,
        cl: 24,
        wl: 8,
        wr: 24,
        cdlr: 10,
        wtrl: 0,
        rtw: 0,
        rtpl: 4,
        refi: 0,
        rfc: 0,
        rfcsb: 0,
    };
    config(2, 16, 4, 4, 16, timing)
}
