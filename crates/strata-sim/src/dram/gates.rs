//! The gates of a channel: what a configuration means in command-clock cycles, checked once.
//!
//! The derived gates are those of GPGPU-Sim (`gpu-sim.h`, lines 245 to 262), so that its published timing lists can be used
//! as they are.

use crate::config::DramConfig;

/// The most that one gate may be: the scheduler packs waiting times into 18 bits, which hold the sum of several gates.
const LARGEST_GATE: u32 = 16_383;
/// The most banks: sets of banks are 64-bit masks.
pub(super) const MAX_BANKS: usize = 64;
/// Bytes of one column access; everything above DRAM counts in sectors of this size.
pub(super) const ACCESS_BYTES: u32 = 32;

/// A DRAM configuration that no channel can be built from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DramError {
    /// A value is outside what the model can be.
    #[error("dram.{key} = {value}: {cure}")]
    Value {
        /// The key, below `dram`.
        key: &'static str,
        /// What the configuration gives.
        value: u64,
        /// What it must be.
        cure: &'static str,
    },
}

/// Gates between commands, in command-clock cycles. Pairs are indexed by kind: 0 reads, 1 writes.
#[derive(Clone, Debug)]
pub(super) struct Gates {
    /// Activate to column command of the same bank.
    pub(super) activate_to_column: [u64; 2],
    /// Activate to precharge of the same bank.
    pub(super) ras: u64,
    /// Precharge to activate of the same bank.
    pub(super) rp: u64,
    /// Activate to activate of the same bank.
    pub(super) rc: u64,
    /// Activate to activate of any bank.
    pub(super) rrd: u64,
    /// Activate to activate of the same bank group.
    pub(super) rrdl: u64,
    /// Activate to the fourth activate after it.
    pub(super) faw: u64,
    /// Column command of one kind (first index) to one of another (second index), any bank: CCD, the data bus, turnaround.
    pub(super) column_to_column: [[u64; 2]; 2],
    /// The same, within a bank group.
    pub(super) column_in_group: [[u64; 2]; 2],
    /// Column command to precharge of the same bank.
    pub(super) column_to_precharge: [u64; 2],
    /// Column command to the end of its data.
    pub(super) column_to_end: [u64; 2],
    /// Cycles of one access on the data bus.
    pub(super) access: u64,
    /// From one refresh to the next; 0 is never.
    pub(super) refi: u64,
    /// Refresh to activate.
    pub(super) rfc: u64,
    /// Refresh of one bank to its activate; 0 if all are refreshed together.
    pub(super) rfcsb: u64,
}

impl Gates {
    pub(super) fn new(config: &DramConfig) -> Result<Self, DramError> {
        check(config)?;
        let t = &config.timing;
        let [ccd, ccdl, rcd, cl, wl] = [t.ccd, t.ccdl, t.rcd, t.cl, t.wl].map(u64::from);
        let access = u64::from(config.burst.div_ceil(config.data_rate));
        let read_to_write = if t.rtw > 0 { t.rtw.into() } else { (cl + access + 2).saturating_sub(wl) };
        let write_to_read = wl + access + u64::from(t.cdlr);
        let same_kind = ccd.max(access);
        let write_to_read_in_group = wl + access + u64::from(t.wtrl.max(t.cdlr));
        Ok(Self {
            // A write's data comes WL after its command, so the row may still be opening when the command is given.
            activate_to_column: [rcd, rcd.saturating_sub(wl + 1)],
            ras: t.ras.into(),
            rp: t.rp.into(),
            rc: t.rc.into(),
            rrd: t.rrd.into(),
            rrdl: t.rrdl.max(t.rrd).into(),
            faw: t.faw.into(),
            column_in_group: [[ccdl, ccdl], [ccdl.max(write_to_read_in_group), ccdl]],
            column_to_column: [[same_kind, ccd.max(read_to_write)], [ccd.max(write_to_read), same_kind]],
            column_to_precharge: [t.rtpl.into(), wl + access + u64::from(t.wr)],
            column_to_end: [cl + access, wl + access],
            access,
            refi: t.refi.into(),
            rfc: t.rfc.into(),
            rfcsb: t.rfcsb.into(),
        })
    }
}

fn check(config: &DramConfig) -> Result<(), DramError> {
    let refuse = |key, value: u32, cure| Err(DramError::Value { key, value: value.into(), cure });
    let t = &config.timing;
    if config.burst == 0 || config.bus_bytes.checked_mul(config.burst) != Some(ACCESS_BYTES) {
        return refuse("burst", config.burst, "bus_bytes * burst must be 32, the bytes of one access");
    }
    if config.data_rate == 0 {
        return refuse("data_rate", config.data_rate, "at least one transfer per command-clock cycle is needed");
    }
    if !config.banks.is_power_of_two() || config.banks as usize > MAX_BANKS {
        return refuse("banks", config.banks, "must be a power of two, at most 64");
    }
    if !config.bank_groups.is_power_of_two() || config.bank_groups > config.banks {
        return refuse("bank_groups", config.bank_groups, "must be a power of two, at most the number of banks");
    }
    if !(1..=16_384).contains(&config.queue) {
        return refuse("queue", config.queue, "must be 1 to 16384 requests");
    }
    if config.write_queue > 16_384 {
        return refuse(
            "write_queue",
            config.write_queue,
            "must be at most 16384 requests, or 0 for as many as `queue`",
        );
    }
    if config.write_high == 0 || config.write_high > config.write_room() {
        let cure = "must be 1 to `write_queue` (`queue`, if that is 0), or writes would never be drained";
        return refuse("write_high", config.write_high, cure);
    }
    if config.write_low >= config.write_high {
        return refuse("write_low", config.write_low, "must be below `write_high`");
    }
    if t.ccd == 0 {
        return refuse("timing.ccd", t.ccd, "must be at least 1: one column command per cycle");
    }
    let gates = [
        ("timing.ccd", t.ccd),
        ("timing.ccdl", t.ccdl),
        ("timing.rrd", t.rrd),
        ("timing.rrdl", t.rrdl),
        ("timing.faw", t.faw),
        ("timing.rcd", t.rcd),
        ("timing.ras", t.ras),
        ("timing.rp", t.rp),
        ("timing.rc", t.rc),
        ("timing.cl", t.cl),
        ("timing.wl", t.wl),
        ("timing.wr", t.wr),
        ("timing.cdlr", t.cdlr),
        ("timing.wtrl", t.wtrl),
        ("timing.rtw", t.rtw),
        ("timing.rtpl", t.rtpl),
        ("timing.rfc", t.rfc),
        ("timing.rfcsb", t.rfcsb),
    ];
    if let Some(&(key, value)) = gates.iter().find(|(_, value)| *value > LARGEST_GATE) {
        return refuse(key, value, "must be at most 16383 cycles");
    }
    // All rows must be closed and the refresh done before the next one is due.
    let worst = t.rfc.max(t.rfcsb) + t.ras.max(t.rc) + t.rp + t.wl + ACCESS_BYTES + t.wr + t.rtpl;
    if t.refi != 0 && t.refi <= worst {
        return refuse(
            "timing.refi",
            t.refi,
            "too short for a refresh to end before the next is due; 0 turns refresh off",
        );
    }
    // One bank after another: the next must not wait for the gates of the one before.
    let apart = t.rrd.max(t.rrdl).max(t.faw.div_ceil(4));
    if t.refi != 0 && t.rfcsb != 0 && t.refi / config.banks <= apart {
        return refuse("timing.refi", t.refi, "too short for the banks to be refreshed one after another");
    }
    Ok(())
}
