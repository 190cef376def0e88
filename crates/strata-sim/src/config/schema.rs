//! How each parameter of [`super`] is written, and what it may be: the one list from which reading, writing, checking of
//! names and the reference are made.
//!
//! The compiler holds the list to the structures: a field that is missing here does not compile.

use super::kinds::{
    Flag, Frequency, Kind, LOCATIONS, Quantity, Real, SCHEDULERS, Size, Text, WRITE_MISSES, WRITES, Whole,
};
use super::layers::Resolver;
use super::{
    Clocks, ConstantConfig, CrossbarConfig, DramConfig, DramTiming, EnergyConfig, GpuConfig, IsaConfig, L1Config,
    L2Config, LaunchTiming, LinkConfig, OpTiming, SharedConfig, SmConfig, StackConfig, TlbConfig,
};

/// A key of the configuration.
pub(super) struct Key {
    /// Its path: `dram.timing.rcd`.
    pub path: String,
    /// The structure and the field it fills, to find their documentation.
    pub place: (&'static str, &'static str),
    /// What is allowed.
    pub allowed: String,
}

/// A value as TOML.
pub(super) struct Written {
    /// The table it stands in; empty at the top of the file.
    pub table: String,
    /// Its name there, not quoted.
    pub name: String,
    /// The value as TOML spells it.
    pub value: String,
}

impl Written {
    pub(super) fn path(&self) -> String {
        joined(&self.table, &self.name)
    }
}

/// A structure that is one table of the file.
pub(super) trait Section: Sized {
    /// Builds it from the layers.
    fn read(resolver: &mut Resolver<'_>, path: &str) -> Self;

    /// Appends its values as TOML.
    fn write(&self, path: &str, out: &mut Vec<Written>);

    /// Appends its keys.
    fn keys(path: &str, out: &mut Vec<Key>);
}

/// `section.key`, or `key` at the top of the file.
pub(super) fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// `field ("name in the file", if another): kind`, then the tables inside this one.
macro_rules! section {
    ($type:ident { $($field:ident $($name:literal)? : $kind:expr,)* } $(tables { $($table:ident : $inner:ty,)* })?) => {
        impl Section for $type {
            fn read(resolver: &mut Resolver<'_>, path: &str) -> Self {
                Self {
                    $($field: resolver.value(&joined(path, name!($field $($name)?)), &$kind),)*
                    $($($table: <$inner as Section>::read(resolver, &joined(path, stringify!($table))),)*)?
                }
            }

            fn write(&self, path: &str, out: &mut Vec<Written>) {
                let Self { $($field,)* $($($table,)*)? } = self;
                $(out.push(Written {
                    table: path.to_owned(),
                    name: name!($field $($name)?).to_owned(),
                    value: $kind.write($field),
                });)*
                $($($table.write(&joined(path, stringify!($table)), out);)*)?
            }

            fn keys(path: &str, out: &mut Vec<Key>) {
                $(out.push(Key {
                    path: joined(path, name!($field $($name)?)),
                    place: (stringify!($type), stringify!($field)),
                    allowed: $kind.describe(),
                });)*
                $($(<$inner as Section>::keys(&joined(path, stringify!($table)), out);)*)?
            }
        }
    };
}

/// Cycles of some latency: none of a GPU is longer than this.
const CYCLES: Whole = Whole(0, 10_000_000);
/// A count of things there is at least one of.
const SOME: Whole = Whole(1, 1 << 20);
/// Bytes that move in a cycle.
const WIDTH: Whole = Whole(1, 1 << 16);
/// A DRAM timing gate.
const GATE: Whole = Whole(0, 1_000_000);
/// The capacity of something on the chip.
const ON_CHIP: Size = Size(128, 1 << 30);
pub(super) const BANDWIDTH: Quantity =
    Quantity { units: &[("GB/s", 1.0), ("MB/s", 1e-3), ("TB/s", 1e3)], low: 1e-3, high: 1e6 };
const DELAY: Quantity = Quantity { units: &[("ns", 1.0), ("us", 1e3)], low: 0.0, high: 1e9 };
const ENERGY: Quantity = Quantity { units: &[("pJ", 1.0), ("nJ", 1e3)], low: 0.0, high: 1e9 };
const ENERGY_PER_BYTE: Quantity = Quantity { units: &[("pJ/B", 1.0), ("pJ/bit", 8.0)], low: 0.0, high: 1e6 };
const ENERGY_PER_BIT: Quantity = Quantity { units: &[("pJ/bit", 1.0), ("pJ/B", 0.125)], low: 0.0, high: 1e6 };
const POWER: Quantity = Quantity { units: &[("W", 1.0), ("mW", 1e-3)], low: 0.0, high: 1e4 };

section! {
    GpuConfig {
        name: Text,
        description: Text,
    }
    tables {
        clock: Clocks,
        sm: SmConfig,
        isa: IsaConfig,
        l1: L1Config,
        shared: SharedConfig,
        constant: ConstantConfig,
        crossbar: CrossbarConfig,
        l2: L2Config,
        dram: DramConfig,
        stacks: StackConfig,
        launch: LaunchTiming,
        host_link: LinkConfig,
        tlb: TlbConfig,
        energy: EnergyConfig,
    }
}

section! {
    Clocks {
        core: Frequency,
        interconnect: Frequency,
        l2: Frequency,
        dram: Frequency,
    }
}

section! {
    SmConfig {
        count: Whole(1, 4096),
        per_port: Whole(1, 64),
        threads: Whole(32, 4096),
        warps: Whole(1, 128),
        ctas: Whole(1, 128),
        registers: Whole(1024, 1 << 20),
        register_granularity: Whole(1, 4096),
        schedulers: Whole(1, 16),
        policy: SCHEDULERS,
        memory_queue: SOME,
        acknowledged_stores: Flag,
        cta_start_cycles: CYCLES,
        code_prefetch: Whole(0, 64),
        barrier_cycles: Whole(1, 64),
    }
}

section! {
    IsaConfig {
        hoist_window: Whole(0, 4096),
        hoist_registers: Whole(0, 255),
        fuse_wide: Flag,
        branch_cycles: CYCLES,
        guard_cycles: CYCLES,
        predication: Flag,
        shared_merge: Size(0, 16),
        constant_merge: Size(0, 16),
        constant_operands: Flag,
        unroll: Whole(1, 16),
        reductions: Flag,
    }
    tables {
        rows: Vec<(String, OpTiming)>,
    }
}

section! {
    L1Config {
        size: ON_CHIP,
        ways: Whole(1, 1024),
        sectored: Flag,
        global_loads: Flag,
        latency: CYCLES,
        miss_latency: CYCLES,
        bytes_per_cycle: WIDTH,
        instruction_cycles: Real(1.0, 64.0),
        lines_per_cycle: Real(1.0, 32.0),
        store_group: Whole(16, 32),
        mshrs: SOME,
        write_allocate: Flag,
        flush_at_launch: Flag,
    }
}

section! {
    SharedConfig {
        size: ON_CHIP,
        from_l1: Flag,
        per_cta: ON_CHIP,
        granularity: Size(1, 1 << 16),
        banks: Whole(1, 128),
        latency: CYCLES,
        pairs: Flag,
        atomic_cycles: CYCLES,
    }
}

section! {
    ConstantConfig {
        size: ON_CHIP,
        ways: Whole(1, 1024),
        latency: CYCLES,
        word_cycles: Whole(0, 64),
        next_size: Size(0, 1 << 30),
        next_latency: CYCLES,
    }
}

section! {
    CrossbarConfig {
        request_cycles: CYCLES,
        reply_cycles: CYCLES,
        sm_out_bytes: WIDTH,
        sm_in_bytes: WIDTH,
        slice_bytes: WIDTH,
        header_bytes: Whole(0, 256),
    }
}

section! {
    L2Config {
        slices: Whole(1, 1024),
        sets: Whole(1, 1 << 20),
        ways: Whole(1, 1024),
        sectored: Flag,
        write: WRITES,
        write_miss: WRITE_MISSES,
        location: LOCATIONS,
        latency: CYCLES,
        atomic_cycles: CYCLES,
        atomic_int_cycles: Real(0.0, 1000.0),
        atomic_float_cycles: Real(0.0, 1000.0),
        partial_write_cycles: Whole(1, 64),
        bytes_per_cycle: WIDTH,
        mshrs: SOME,
        miss_queue: Whole(2, 4096),
        eager_write_back: Real(0.0, 1.0),
        dirty_share: Real(0.0, 1.0),
        byte_masks: Flag,
        interleave: Size(128, 1 << 20),
        copies_fill: Flag,
    }
}

section! {
    DramConfig {
        size: Size(1 << 20, 1 << 40),
        channels: Whole(1, 1024),
        bus_bytes: Whole(1, 256),
        burst: Whole(1, 64),
        data_rate: Whole(1, 16),
        bank_groups: Whole(1, 16),
        banks: Whole(1, 256),
        row: Size(128, 1 << 16),
        queue: SOME,
        write_queue: Whole(0, 1 << 14),
        write_high: SOME,
        write_low: Whole(0, 1 << 20),
        controller_cycles: CYCLES,
        masked_writes: Flag,
    }
    tables {
        timing: DramTiming,
    }
}

section! {
    DramTiming {
        ccd: Whole(1, 1000),
        ccdl: GATE,
        rrd: GATE,
        rrdl: GATE,
        faw: GATE,
        rcd: GATE,
        ras: GATE,
        rp: GATE,
        rc: GATE,
        cl: GATE,
        wl: GATE,
        wr: GATE,
        cdlr: GATE,
        wtrl: GATE,
        rtw: GATE,
        rtpl: GATE,
        refi: GATE,
        rfc: GATE,
        rfcsb: GATE,
    }
}

section! {
    StackConfig {
        count: Whole(0, 64),
        sms: Whole(0, 1),
        warps: Whole(1, 1024),
        near_cycles: CYCLES,
        sectored_l1: Flag,
        hashed_pairs: Whole(0, 2),
        address_bytes: Whole(1, 16),
        acknowledgement_bytes: Whole(0, 16),
    }
    tables {
        link: LinkConfig,
        cross_link: LinkConfig,
    }
}

section! {
    LaunchTiming {
        before: CYCLES,
        after: CYCLES,
        cta_interval: Real(0.0, 1e6),
        paced: Flag,
        profiled: CYCLES,
    }
}

section! {
    LinkConfig {
        gb_per_s "bandwidth": BANDWIDTH,
        latency_ns "latency": DELAY,
        header_bytes: Whole(0, 256),
    }
}

section! {
    TlbConfig {
        enabled: Flag,
        page: Size(1 << 10, 1 << 30),
        l1_entries: SOME,
        l2_entries: Whole(0, 1 << 20),
        ways: Whole(0, 1 << 20),
        l2_cycles: CYCLES,
        walk_cycles: CYCLES,
    }
}

section! {
    EnergyConfig {
        dram_activate_pj "dram_activate": ENERGY,
        dram_column_pj_per_byte "dram_column": ENERGY_PER_BYTE,
        dram_io_pj_per_bit "dram_io": ENERGY_PER_BIT,
        link_pj_per_bit "link": ENERGY_PER_BIT,
        link_idle_pj_per_bit "link_idle": ENERGY_PER_BIT,
        l2_access_pj "l2_access": ENERGY,
        instruction_pj "instruction": ENERGY,
        sm_leakage_w "sm_leakage": POWER,
        other_leakage_w "other_leakage": POWER,
    }
}
