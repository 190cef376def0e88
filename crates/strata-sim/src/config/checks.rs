//! What must fit together: numbers that are sound alone and describe no machine together.

use super::GpuConfig;
use super::kinds::{Kind, Size};
use super::layers::{DRAM_BANDWIDTH, L2_SIZE, Resolver};
use super::schema::BANDWIDTH;
use strata_core::config::format_size;
use strata_core::{Bytes, LINE_BYTES, SECTOR_BYTES};

/// `l2.size` is another way to give `l2.ways`: the sets, whose number is a power of two, stay.
pub(super) fn apply_l2_size(config: &mut GpuConfig, resolver: &mut Resolver<'_>) {
    let kind = Size(LINE_BYTES, 1 << 30);
    let (size_layer, ways_layer) = (resolver.layer_of(L2_SIZE), resolver.layer_of("l2.ways"));
    if size_layer < ways_layer {
        return;
    }
    let Some(size) = resolver.optional(L2_SIZE, &kind) else { return };
    let per_way = u64::from(config.l2.slices) * u64::from(config.l2.sets) * LINE_BYTES;
    let ways = size.0 / per_way;
    if size_layer == ways_layer && ways != u64::from(config.l2.ways) {
        let message = format!("`l2.size` and `l2.ways` disagree: {}", shape(config));
        resolver.refuse(&[L2_SIZE, "l2.ways", "l2.sets", "l2.slices"], message, Some("leave one of them out".into()));
    } else if size.0 % per_way != 0 || ways == 0 || ways > 1024 {
        let (below, above) = (Bytes(ways * per_way), Bytes((ways + 1) * per_way));
        let message = format!("{} are not a whole number of ways", kind.write(&size));
        let help = format!(
            "a way of {} slices x {} sets is {}: take {} or {}, or change `l2.sets`",
            config.l2.slices,
            config.l2.sets,
            format_size(Bytes(per_way)),
            format_size(below),
            format_size(above)
        );
        resolver.refuse(&[L2_SIZE, "l2.sets", "l2.slices"], message, Some(help));
    } else {
        config.l2.ways = ways as u32;
    }
}

/// `dram.bandwidth` is another way to give the width of the buses: narrower ones take longer for a sector, and nothing else changes
/// of what a single access waits for.
pub(super) fn apply_dram_bandwidth(config: &mut GpuConfig, resolver: &mut Resolver<'_>) {
    const DECIDED: [&str; 3] = ["dram.bus_bytes", "dram.burst", "dram.timing.ccd"];
    let layer = resolver.layer_of(DRAM_BANDWIDTH);
    if layer.is_none() || DECIDED.iter().any(|key| resolver.layer_of(key) > layer) {
        return;
    }
    let Some(wanted) = resolver.optional(DRAM_BANDWIDTH, &BANDWIDTH) else { return };
    let whole = config.dram_bytes_per_second() / 1e9;
    let narrower = |k: u32| config.dram.bus_bytes.is_multiple_of(k) && config.dram.bus_bytes >= k;
    let possible: Vec<u32> = (0..6).map(|n| 1 << n).filter(|&k| narrower(k)).collect();
    let reached = |k: &u32| (whole / f64::from(*k) / wanted - 1.0).abs() < 0.01;
    let Some(k) = possible.iter().copied().find(reached) else {
        let list: Vec<String> = possible.iter().map(|k| format!("{}", whole / f64::from(*k))).collect();
        let message = format!("{wanted} GB/s cannot be had by buses of another width");
        let help = format!(
            "on this machine: {} GB/s; for more, or for steps between, change `dram.channels`",
            list.join(", ")
        );
        resolver.refuse(&[DRAM_BANDWIDTH], message, Some(help));
        return;
    };
    config.dram.bus_bytes /= k;
    config.dram.burst *= k;
    let cycles = config.dram.burst.div_ceil(config.dram.data_rate);
    config.dram.timing.ccd = config.dram.timing.ccd.max(cycles);
    if config.dram.timing.ccdl > 0 {
        config.dram.timing.ccdl = config.dram.timing.ccdl.max(config.dram.timing.ccd);
    }
}

fn shape(config: &GpuConfig) -> String {
    let l2 = &config.l2;
    let size = u64::from(l2.slices) * u64::from(l2.sets) * u64::from(l2.ways) * LINE_BYTES;
    format!("{} slices x {} sets x {} ways x 128 B = {}", l2.slices, l2.sets, l2.ways, format_size(Bytes(size)))
}

/// Reports everything that does not fit.
pub(super) fn check(config: &GpuConfig, resolver: &mut Resolver<'_>) {
    let mut demand = |holds: bool, keys: &[&str], message: String, help: &str| {
        if !holds {
            resolver.refuse(keys, message, Some(help.to_owned()));
        }
    };
    let sm = &config.sm;
    demand(
        sm.threads.is_multiple_of(32) && sm.threads <= sm.warps * 32,
        &["sm.threads", "sm.warps"],
        format!("{} threads do not fit {} warps of 32", sm.threads, sm.warps),
        "threads are at most 32 times the warps, and a multiple of 32",
    );
    demand(
        sm.warps.is_multiple_of(sm.schedulers),
        &["sm.warps", "sm.schedulers"],
        format!("{} warps cannot be dealt evenly to {} schedulers", sm.warps, sm.schedulers),
        "make the warps a multiple of the schedulers",
    );
    demand(
        sm.registers.is_multiple_of(sm.register_granularity),
        &["sm.registers", "sm.register_granularity"],
        format!("{} registers are not a multiple of {}", sm.registers, sm.register_granularity),
        "make the registers a multiple of the granularity",
    );
    demand(
        sm.count.is_multiple_of(sm.per_port),
        &["sm.count", "sm.per_port"],
        format!("{} SMs cannot be dealt to ports of {}", sm.count, sm.per_port),
        "make the SMs a multiple of the SMs of a port",
    );
    for (name, size, ways) in
        [("l1", config.l1.size, config.l1.ways), ("constant", config.constant.size, config.constant.ways)]
    {
        demand(
            size.0.is_multiple_of(u64::from(ways) * LINE_BYTES),
            &[&format!("{name}.size"), &format!("{name}.ways")],
            format!("{} are not a whole number of sets of {ways} ways", format_size(size)),
            "the size is sets x ways x 128 B",
        );
    }
    let shared = &config.shared;
    demand(
        shared.per_cta.0 <= shared.size.0,
        &["shared.per_cta", "shared.size"],
        format!("a CTA cannot have {} of {}", format_size(shared.per_cta), format_size(shared.size)),
        "make `shared.per_cta` at most `shared.size`",
    );
    demand(
        shared.banks.is_power_of_two(),
        &["shared.banks"],
        format!("{} banks are not a power of two", shared.banks),
        "the bank is taken from address bits: write 16, 32 or 64",
    );
    check_l2_and_dram(config, &mut demand);
}

/// Takes what must hold, the keys it is about, and what to say and advise if it does not.
type Demand<'a> = dyn FnMut(bool, &[&str], String, &str) + 'a;

fn check_l2_and_dram(config: &GpuConfig, demand: &mut Demand<'_>) {
    let (l2, dram, timing) = (&config.l2, &config.dram, &config.dram.timing);
    demand(
        l2.sets.is_power_of_two(),
        &["l2.sets"],
        format!("{} sets are not a power of two", l2.sets),
        "the set is an XOR of address bits; for other capacities change `l2.ways` or give `l2.size`",
    );
    demand(
        l2.interleave.0.is_power_of_two(),
        &["l2.interleave"],
        format!("{} are not a power of two", format_size(l2.interleave)),
        "write \"128 B\", \"256 B\", …",
    );
    demand(
        l2.slices.is_multiple_of(dram.channels),
        &["l2.slices", "dram.channels"],
        format!("{} slices cannot be dealt evenly to {} channels", l2.slices, dram.channels),
        "make the slices a multiple of the channels: a slice talks to one channel",
    );
    let access = u64::from(dram.bus_bytes) * u64::from(dram.burst);
    demand(
        access == SECTOR_BYTES,
        &["dram.bus_bytes", "dram.burst"],
        format!("{} B x {} transfers move {access} B, not one sector of 32 B", dram.bus_bytes, dram.burst),
        "change `dram.bus_bytes` or `dram.burst`",
    );
    demand(
        timing.ccd * dram.data_rate >= dram.burst,
        &["dram.timing.ccd", "dram.data_rate", "dram.burst"],
        format!("{} transfers do not fit {} cycles of {} transfers", dram.burst, timing.ccd, dram.data_rate),
        "`dram.timing.ccd` is at least `dram.burst` / `dram.data_rate`",
    );
    demand(
        dram.banks.is_multiple_of(dram.bank_groups) && dram.banks.is_power_of_two(),
        &["dram.banks", "dram.bank_groups"],
        format!("{} banks in {} groups", dram.banks, dram.bank_groups),
        "banks are a power of two and a multiple of the groups",
    );
    demand(
        dram.row.0.is_power_of_two(),
        &["dram.row"],
        format!("{} are not a power of two", format_size(dram.row)),
        "a row is a power of two",
    );
    demand(
        timing.ccdl == 0 || timing.ccdl >= timing.ccd,
        &["dram.timing.ccdl", "dram.timing.ccd"],
        format!("ccdl {} is shorter than ccd {}", timing.ccdl, timing.ccd),
        "within a bank group columns are slower, or as fast (0)",
    );
    demand(
        timing.rc >= timing.ras,
        &["dram.timing.rc", "dram.timing.ras"],
        format!("rc {} is shorter than ras {}", timing.rc, timing.ras),
        "rc is ras and rp together",
    );
    demand(
        timing.ras >= timing.rcd,
        &["dram.timing.ras", "dram.timing.rcd"],
        format!("ras {} is shorter than rcd {}", timing.ras, timing.rcd),
        "a row stays open until its first column command at least",
    );
    demand(
        timing.refi == 0 || timing.rfc < timing.refi,
        &["dram.timing.rfc", "dram.timing.refi"],
        format!("a refresh of {} cycles every {} leaves no time for data", timing.rfc, timing.refi),
        "rfc is shorter than refi; refi 0 turns refresh off",
    );
    demand(
        dram.write_low <= dram.write_high,
        &["dram.write_low", "dram.write_high"],
        format!("writing would end at {} and begin at {}", dram.write_low, dram.write_high),
        "make `dram.write_low` at most `dram.write_high`",
    );
    let stacks = config.stacks.count;
    demand(
        stacks == 0 || dram.channels.is_multiple_of(stacks),
        &["stacks.count", "dram.channels"],
        format!("{} channels cannot be dealt evenly to {stacks} stacks", dram.channels),
        "make the channels a multiple of the stacks",
    );
    demand(
        stacks == 0 || stacks.is_power_of_two() && (dram.channels / stacks).is_power_of_two(),
        &["stacks.count", "dram.channels"],
        format!("{stacks} stacks of {} channels are not powers of two", dram.channels / stacks.max(1)),
        "the stack and its channel are taken from address bits: write powers of two",
    );
    demand(
        stacks > 0 || config.stacks.sms == 0,
        &["stacks.sms", "stacks.count"],
        "SMs on stacks, but no stacks".to_owned(),
        "set `stacks.count`, or `stacks.sms` to 0",
    );
    let tlb = &config.tlb;
    demand(
        tlb.page.0.is_power_of_two(),
        &["tlb.page"],
        format!("{} are not a power of two", format_size(tlb.page)),
        "a page is a power of two",
    );
}
