//! The settings of unified memory.
//!
//! `uvm.model` chooses between the baseline simulator with its artefacts and the rules of the real driver; a setting whose
//! value is `model` follows that choice.

use strata_core::Bytes;
use strata_core::settings::{Allowed, Setting, Settings as Values};

const PREFETCHERS: &[&str] = &["model", "none", "sequential", "random", "tree", "driver", "first-touch", "learned"];
/// Those of them that need no predictor.
const RULES: &[&str] = PREFETCHERS.split_last().expect("it is not empty").1;

macro_rules! setting {
    ($key:literal, $default:literal, $allowed:expr, $meaning:literal, $source:literal) => {
        Setting { key: $key, default: $default, allowed: $allowed, meaning: $meaning, source: $source }
    };
}

/// All of them.
pub const SETTINGS: &[Setting] = &[
    setting!(
        "model",
        "uvmsmart",
        Allowed::Choice(&["uvmsmart", "driver"]),
        "whose rules hold: the baseline simulator's, artefacts included, or the real driver's",
        "prefetching paper, section 7.1: GPGPU-Sim with UVMSmart"
    ),
    setting!(
        "reclaim",
        "model",
        Allowed::Choice(&["model", "link-idle", "free"]),
        "when a warp that has ended leaves its SM: only while nothing moves over PCI Express or waits to, so that no kernel ends before the last prefetch, or at once",
        "UVMSmart, shader.cc, fetch stage (link-idle: an artefact); driver: free"
    ),
    setting!(
        "page_size",
        "4 KiB",
        Allowed::Size(1, 1 << 30),
        "bytes of a page: 4 KiB, or 2 MiB",
        "prefetching paper, Table 9"
    ),
    setting!(
        "device_memory",
        "0 B",
        Allowed::Size(0, 1 << 46),
        "device memory for managed pages; 0 B: all that the GPU has",
        "prefetching paper, section 7.1: larger than the working set"
    ),
    setting!(
        "oversubscription",
        "0",
        Allowed::Real(0.0, 1000.0),
        "managed memory over device memory, which is cut to that; 0: as `device_memory` says",
        "choice: the UVMSmart studies use 1.25 and 1.5"
    ),
    setting!(
        "prefetcher",
        "model",
        Allowed::Choice(PREFETCHERS),
        "what comes with a faulted page: nothing, its 64 KB, a random page, what the 2 MB tree says, what the driver's bitmap says, all of its 2 MB, what a predictor says",
        "UVMSmart -hardware_prefetch 1 (tree); driver: uvm_perf_prefetch.c; first-touch: its threshold at 1 percent"
    ),
    setting!(
        "prefetcher_when_full",
        "model",
        Allowed::Choice(RULES),
        "the prefetcher from the first time on that memory does not suffice",
        "UVMSmart -hwprefetch_oversub 1 (tree); driver: no change"
    ),
    setting!(
        "prefetch_threshold",
        "51",
        Allowed::Whole(1, 100),
        "driver's prefetcher: percent of a region that must be resident or faulted",
        "uvm_perf_prefetch.c: uvm_perf_prefetch_threshold"
    ),
    setting!(
        "prediction_latency",
        "1500",
        Allowed::Whole(0, 100_000_000),
        "core cycles of one prediction of the learned prefetcher",
        "prefetching paper, section 7.3: 1 us"
    ),
    setting!(
        "prediction_trigger",
        "fault",
        Allowed::Choice(&["fault", "request"]),
        "what makes the learned prefetcher predict: far faults, or every request to the GMMU that finds it idle",
        "prefetching paper, section 4: for a faulty page"
    ),
    setting!(
        "predictions_in_flight",
        "1",
        Allowed::Whole(1, 65536),
        "predictions that are made at once; those of further faults wait",
        "choice: one predictor at the UVM backend (section 7.3)"
    ),
    setting!(
        "prediction_delays",
        "page",
        Allowed::Choice(&["page", "fault"]),
        "what waits for a prediction: only the predicted page, or the fault, too, which holds the link meanwhile as a charged one does",
        "choice: the paper does not say"
    ),
    setting!(
        "prediction_brings",
        "page",
        Allowed::Choice(&["page", "block"]),
        "what a predicted page brings: itself, or its 64 KB block, which PCI Express carries four times as fast",
        "prefetching paper, section 4: one additional page"
    ),
    setting!(
        "prediction_request",
        "64 KiB",
        // From a block to half of the least device memory: what is evicted for it must not be what is waited for.
        Allowed::Size(64 << 10, 1 << 20),
        "bytes of a transfer that predicted pages may join while it waits, with them",
        "prefetching paper, section 4: 15 + 1 pages"
    ),
    setting!(
        "prediction_top",
        "3",
        Allowed::Whole(1, 64),
        "pages, blocks or roots that a prediction names at most; of what a run used, roots ahead",
        "choice: see `prediction_confidence`; prefetching paper, section 4: 1"
    ),
    setting!(
        "prediction_confidence",
        "0.1",
        Allowed::Real(0.0, 1.0),
        "least probability of what is named; where it is less, nothing is",
        "choice, with `prediction_top`: by a predictor that had not seen backprop, on backprop; prefetching paper: none (0)"
    ),
    setting!(
        "prediction_gate",
        "on",
        Allowed::Choice(&["off", "on"]),
        "where memory is full, a predicted root comes only in the place of one that is foreseen to be used later",
        "choice: see docs/learned-prefetching.md"
    ),
    setting!(
        "predictor",
        "shipped",
        Allowed::Text,
        "checkpoint of the learned prefetcher (`strata prefetch train`); `shipped`: the one of the next 2 MB that comes with the project; `paper`: the one of pages; `stride`, `markov`, `stride:root`: tables in its place; `uses.parquet` of a run with `uvm.trace=uses`: what that run used, in its order, `prediction_top` roots ahead",
        "prefetching paper, section 7.1: pre-trained on five programs with other inputs"
    ),
    setting!(
        "fine_tune",
        "50000000",
        Allowed::Whole(0, 1 << 50),
        "thread instructions after which the learned prefetcher is trained on what it saw since; 0: never",
        "prefetching paper, section 7.1: every 50 million"
    ),
    setting!(
        "eviction",
        "model",
        Allowed::Choice(&["model", "lru", "tree", "sequential", "random", "lfu", "lru-page", "driver", "foreseen"]),
        "what leaves: the least recent 2 MB, a block with what the tree says, a block, a random page, the least used 2 MB, a page, the 2 MB that came first, the 2 MB that are foreseen to be used last; of a learned prefetcher of roots `model` is `foreseen`",
        "UVMSmart -eviction_policy 0 (lru); driver: uvm_pmm_gpu.c; foreseen: choice, Belady's rule with how long ago each 2 MB were used, and used before that"
    ),
    setting!(
        "invalidate_clean",
        "off",
        Allowed::Choice(&["off", "on"]),
        "trees that were only read leave without being copied",
        "UVMSmart -invalidate_clean 0"
    ),
    setting!(
        "free_buffer",
        "0",
        Allowed::Real(0.0, 0.9),
        "share of device memory that is kept free",
        "UVMSmart -percentage_of_free_page_buffer 0"
    ),
    setting!(
        "reserve_recent",
        "0",
        Allowed::Real(0.0, 0.9),
        "share of the least recent end of the list that is passed over",
        "UVMSmart -reserve_accessed_page_percent 0"
    ),
    setting!(
        "pcie",
        "16",
        Allowed::Choice(&["16", "32", "64", "75"]),
        "nominal GB/s of PCI Express, each way; 75: three channels of NVLink 2, with the same curve by size of a transfer",
        "UVMSmart -pcie_bandwidth 16.0GB/s; prefetching paper, Table 9: 3.0 x16; Buddy Compression, Figure 14: 75 GB/s"
    ),
    setting!(
        "pcie_latency",
        "model",
        Allowed::Choice(&["model", "off", "on"]),
        "100 core cycles before each transfer",
        "prefetching paper, Table 9 (driver: on); UVMSmart's code has none (off)"
    ),
    setting!(
        "fault_latency",
        "45",
        Allowed::Real(0.0, 100_000.0),
        "microseconds of a far fault",
        "prefetching paper, Table 9; UVMSmart -page_fault_latency 66645 cycles"
    ),
    setting!(
        "fault_charge",
        "model",
        Allowed::Choice(&["model", "beside", "flat", "measured"]),
        "how a fault's latency counts: only reported, `fault_latency` each, or as measured on a GTX 1080 Ti (12.1 us and 0.217 us per page)",
        "UVMSmart -enable_accurate_simulation 0 (beside); driver (measured): fit of 22 faults of the micro-benchmarks"
    ),
    setting!(
        "service",
        "model",
        Allowed::Choice(&["model", "link", "server"]),
        "what the host's charged work on a request, faulted for or predicted, holds up: the link, on which nothing moves meanwhile, or only the requests behind it in the host's own queue",
        "UVMSmart -enable_accurate_simulation 1 (link); driver (link): one thread serves a batch, copies included; server: choice, copies overlap with the work on other requests"
    ),
    setting!(
        "priority",
        "fifo",
        Allowed::Choice(&["fifo", "demand"]),
        "who goes first: who asked first, or what somebody waits for; a prefetched 64 KB block (or root, if those are predicted) is moved forward when it is touched before it was given to the copy engine, and what the host waits for before what makes room",
        "UVMSmart and the driver (fifo); demand: choice"
    ),
    setting!(
        "zero_fill",
        "model",
        Allowed::Choice(&["model", "off", "on"]),
        "pages that the host never wrote to and that never were on the device are filled with zeros there and not transferred",
        "UVMSmart transfers them (off); driver (on): uvm_va_block.c, pages resident nowhere are zeroed at the destination"
    ),
    setting!(
        "travel",
        "raw",
        Allowed::Choice(&["raw", "compressed"]),
        "with a mechanism that compresses memory: pages cross the link as they are, or as that memory stores them, which needs no codec on the way",
        "choice: raw as the driver copies them"
    ),
    setting!(
        "fault_batch",
        "256",
        Allowed::Whole(1, 65536),
        "driver: fault-buffer entries of a batch",
        "uvm_gpu_replayable_faults.c: uvm_perf_fault_batch_count"
    ),
    setting!(
        "placement",
        "migrate",
        Allowed::Choice(&["migrate", "zero-copy"]),
        "pages migrate when they are touched, or are accessed at the host for good",
        "UVMSmart: first-touch migration"
    ),
    setting!(
        "delayed_migration",
        "disabled",
        Allowed::Choice(&["disabled", "adaptive", "always", "oversubscribed"]),
        "reads access a block at the host until its counter says otherwise",
        "UVMSmart -enable_dma 0"
    ),
    setting!(
        "migrate_threshold",
        "8",
        Allowed::Whole(1, 1 << 20),
        "accesses to a block before it migrates",
        "UVMSmart -migrate_threshold 8"
    ),
    setting!(
        "dma_penalty",
        "2",
        Allowed::Whole(0, 64),
        "factor of that threshold once memory was full (adaptive)",
        "UVMSmart -multiply_dma_penalty 2"
    ),
    setting!(
        "zero_copy_cycles",
        "200",
        Allowed::Whole(0, 1_000_000),
        "core cycles for which a zero-copy access holds the link",
        "prefetching paper, Table 9; UVMSmart's code"
    ),
    setting!(
        "access_counters",
        "off",
        Allowed::Choice(&["off", "on"]),
        "driver: blocks accessed often enough at the host migrate",
        "uvm_gpu_access_counters.c: on only where the host's page tables are shared"
    ),
    setting!(
        "counter_threshold",
        "256",
        Allowed::Whole(1, 65535),
        "driver: how often is often enough",
        "uvm_gpu_access_counters.c: uvm_perf_access_counter_threshold"
    ),
    setting!(
        "thrashing",
        "on",
        Allowed::Choice(&["off", "on"]),
        "driver: pages that host and device take from each other are throttled, then pinned",
        "uvm_perf_thrashing.c: uvm_perf_thrashing_enable"
    ),
    setting!(
        "adaptive",
        "off",
        Allowed::Choice(&["off", "on"]),
        "UVMSmart's engine: looks for patterns when memory is full and changes eviction and migration",
        "UVMSmart -enable_smart_runtime 0"
    ),
    setting!(
        "walks",
        "line",
        Allowed::Choice(&["line", "sector"]),
        "what a walk is counted for: each 128 B that misses the TLB, or each 32 B of it",
        "choice: the golden rows of bfs are met within 0.013 by `line`, within 0.060 by `sector`"
    ),
    setting!(
        "trace",
        "off",
        Allowed::Choice(&["off", "uses", "on"]),
        "keep the first access of every launch to every 64 KB, saved as uses.parquet; or that and one record per request to the GMMU, saved as gmmu.parquet",
        "choice: gmmu.parquet is large"
    ),
    setting!("seed", "1", Allowed::Whole(0, 1 << 62), "seed of random prefetching and eviction", "choice"),
];

/// Whose rules hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// The baseline simulator's, with its artefacts.
    UvmSmart,
    /// The real driver's.
    Driver,
}

/// What makes a learned prefetcher predict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// A far fault.
    Fault,
    /// Any request to the GMMU.
    Request,
}

/// How the latency of a far fault counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Charge {
    /// It is reported and costs nothing.
    Beside,
    /// Each costs the same.
    Flat,
    /// As measured on a card: a fixed part and one per page.
    Measured,
}

/// What the host's work on a request holds up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// The link.
    ByLink,
    /// Other requests to the host.
    ByServer,
}

/// When reads access pages at the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delay {
    /// Never.
    Disabled,
    /// Until a threshold that grows with occupancy and with round trips.
    Adaptive,
    /// Until a threshold.
    Always,
    /// The same, once memory was full.
    Oversubscribed,
}

/// Values that the machine and the mechanism are made of.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are the settings above")]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Config {
    pub model: Model,
    pub reclaims_when_idle: bool,
    pub page_size: Bytes,
    pub device_memory: Option<Bytes>,
    pub oversubscription: Option<f64>,
    pub prefetcher: String,
    pub prefetcher_when_full: Option<String>,
    pub prefetch_threshold: u32,
    pub prediction_latency: u64,
    pub predicts_on: Trigger,
    pub predictions_in_flight: usize,
    pub fault_waits_for_prediction: bool,
    pub prediction_brings_block: bool,
    pub prediction_request: Bytes,
    pub prediction_top: usize,
    pub prediction_confidence: f64,
    pub prediction_gate: bool,
    pub predictor: String,
    pub fine_tune: Option<u64>,
    pub eviction: String,
    /// Nobody chose it.
    pub eviction_is_the_models: bool,
    pub invalidate_clean: bool,
    pub free_buffer: f64,
    pub reserve_recent: f64,
    pub pcie: u64,
    pub pcie_latency: u64,
    pub fault_latency_us: f64,
    pub charge: Charge,
    pub service: Served,
    pub demand_first: bool,
    pub zero_fill: bool,
    /// Pages travel as memory sides store them.
    pub travels_compressed: bool,
    pub fault_batch: usize,
    pub zero_copy: bool,
    pub delay: Delay,
    pub migrate_threshold: u64,
    pub dma_penalty: u64,
    pub zero_copy_cycles: u64,
    pub counter_threshold: Option<u64>,
    pub thrashing: bool,
    pub adaptive: bool,
    pub walks_by_sector: bool,
    pub trace: bool,
    pub keeps_uses: bool,
    pub seed: u64,
}

/// Core cycles before a transfer: prefetching paper, Table 9.
const PCIE_LATENCY: u64 = 100;

impl Config {
    /// From the values of [`SETTINGS`], or everything that does not fit together.
    pub fn new(values: &Values) -> Result<Self, Vec<String>> {
        let model = if values.text("model") == "driver" { Model::Driver } else { Model::UvmSmart };
        let driver = model == Model::Driver;
        let on = |key: &str| values.text(key) == "on";
        // What the model has, unless somebody says otherwise.
        let choice = |key: &str, smart: &str, drivers: &str| match values.text(key) {
            "model" => if driver { drivers } else { smart }.to_owned(),
            other => other.to_owned(),
        };
        let config = Self {
            model,
            reclaims_when_idle: choice("reclaim", "link-idle", "free") == "link-idle",
            page_size: values.size("page_size"),
            device_memory: Some(values.size("device_memory")).filter(|size| size.0 > 0),
            oversubscription: Some(values.real("oversubscription")).filter(|&share| share > 0.0),
            prefetcher: choice("prefetcher", "tree", "driver"),
            // UVMSmart's own change is to the tree prefetcher, which it has already unless told otherwise.
            prefetcher_when_full: Some(values.text("prefetcher_when_full").to_owned()).filter(|name| name != "model"),
            prefetch_threshold: values.whole("prefetch_threshold") as u32,
            prediction_latency: values.whole("prediction_latency"),
            predicts_on: if values.text("prediction_trigger") == "request" { Trigger::Request } else { Trigger::Fault },
            predictions_in_flight: values.whole("predictions_in_flight") as usize,
            fault_waits_for_prediction: values.text("prediction_delays") == "fault"
                && values.text("prefetcher") == "learned",
            prediction_brings_block: values.text("prediction_brings") == "block",
            prediction_request: values.size("prediction_request"),
            prediction_top: values.whole("prediction_top") as usize,
            prediction_confidence: values.real("prediction_confidence"),
            prediction_gate: on("prediction_gate"),
            predictor: values.text("predictor").to_owned(),
            fine_tune: Some(values.whole("fine_tune")).filter(|&instructions| instructions > 0),
            eviction: choice("eviction", "lru", "driver"),
            eviction_is_the_models: values.text("eviction") == "model",
            invalidate_clean: on("invalidate_clean"),
            free_buffer: values.real("free_buffer"),
            reserve_recent: values.real("reserve_recent"),
            pcie: values.text("pcie").parse().unwrap_or(16),
            pcie_latency: if choice("pcie_latency", "off", "on") == "on" { PCIE_LATENCY } else { 0 },
            fault_latency_us: values.real("fault_latency"),
            charge: match choice("fault_charge", "beside", "measured").as_str() {
                "flat" => Charge::Flat,
                "measured" => Charge::Measured,
                _ => Charge::Beside,
            },
            service: if values.text("service") == "server" { Served::ByServer } else { Served::ByLink },
            demand_first: values.text("priority") == "demand",
            travels_compressed: values.text("travel") == "compressed",
            zero_fill: choice("zero_fill", "off", "on") == "on",
            fault_batch: values.whole("fault_batch") as usize,
            zero_copy: values.text("placement") == "zero-copy",
            delay: match values.text("delayed_migration") {
                "adaptive" => Delay::Adaptive,
                "always" => Delay::Always,
                "oversubscribed" => Delay::Oversubscribed,
                _ => Delay::Disabled,
            },
            migrate_threshold: values.whole("migrate_threshold"),
            dma_penalty: values.whole("dma_penalty"),
            zero_copy_cycles: values.whole("zero_copy_cycles"),
            counter_threshold: on("access_counters").then(|| values.whole("counter_threshold")),
            thrashing: driver && on("thrashing"),
            adaptive: on("adaptive"),
            walks_by_sector: values.text("walks") == "sector",
            trace: on("trace"),
            keeps_uses: values.text("trace") != "off",
            seed: values.whole("seed"),
        };
        let errors = config.contradictions();
        if errors.is_empty() { Ok(config) } else { Err(errors) }
    }

    fn contradictions(&self) -> Vec<String> {
        let driver = self.model == Model::Driver;
        let wrong = [
            (
                ![4 << 10, 2 << 20].contains(&self.page_size.0),
                "`uvm.page_size` is 4 KiB or 2 MiB: the page tables of the GPU have no other".to_owned(),
            ),
            (
                self.device_memory.is_some_and(|size| size.0 < crate::geometry::TREE_BYTES),
                "`uvm.device_memory` must hold at least one tree of 2 MiB: give it more, or 0 B for all of the GPU's"
                    .to_owned(),
            ),
            (
                self.device_memory.is_some() && self.oversubscription.is_some(),
                "`uvm.device_memory` and `uvm.oversubscription` both say how much memory there is: set one".to_owned(),
            ),
            (
                driver && self.delay != Delay::Disabled,
                "`uvm.delayed_migration` is of the model `uvmsmart`: the driver has `uvm.access_counters`".to_owned(),
            ),
            (
                driver && self.adaptive,
                "`uvm.adaptive` is of the model `uvmsmart`: set `uvm.model=uvmsmart` or leave it out".to_owned(),
            ),
            (
                !driver && self.counter_threshold.is_some(),
                "`uvm.access_counters` are the driver's: with `uvm.model=uvmsmart` set `uvm.delayed_migration`"
                    .to_owned(),
            ),
            (
                self.demand_first && self.charge != Charge::Beside && self.service == Served::ByLink,
                "`uvm.priority=demand` with charged faults needs `uvm.service=server`: with `link` the link itself serves \
                 requests, in their order"
                    .to_owned(),
            ),
        ];
        wrong.into_iter().filter(|(is, _)| *is).map(|(_, text)| text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(set: &[&str]) -> Result<Config, Vec<String>> {
        Config::new(&Values::read("uvm", SETTINGS, set)?)
    }

    #[test]
    fn the_model_decides_where_nobody_does() {
        let smart = config(&[]).expect("the defaults");
        assert_eq!((smart.prefetcher.as_str(), smart.eviction.as_str()), ("tree", "lru"));
        assert_eq!((smart.charge, smart.pcie_latency), (Charge::Beside, 0));
        let driver = config(&["uvm.model=driver"]).expect("good");
        assert_eq!((driver.prefetcher.as_str(), driver.eviction.as_str()), ("driver", "driver"));
        assert_eq!((driver.charge, driver.pcie_latency, driver.thrashing), (Charge::Measured, 100, true));
    }

    #[test]
    fn defaults_are_those_of_the_sources() {
        let c = config(&[]).expect("the defaults");
        assert_eq!((c.migrate_threshold, c.dma_penalty, c.zero_copy_cycles, c.fault_batch), (8, 2, 200, 256));
        assert_eq!((c.prefetch_threshold, c.prediction_latency, c.counter_threshold), (51, 1500, None));
        let counters = config(&["uvm.model=driver", "uvm.access_counters=on"]).expect("good");
        assert_eq!(counters.counter_threshold, Some(256));
        for setting in SETTINGS {
            assert!(!setting.source.is_empty(), "{}", setting.key);
        }
    }

    #[test]
    fn bad_settings_are_told() {
        let refused = |set: &[&str]| config(set).expect_err("refused").join("\n");
        assert!(refused(&["uvm.page_size=8KB"]).contains("4 KiB or 2 MiB"));
        assert!(refused(&["uvm.device_memory=1MB"]).contains("at least one tree"));
        assert!(refused(&["uvm.prediction_request=64"]).contains("64 KiB to 1 MiB"));
        assert!(refused(&["uvm.prefetcher=tre"]).contains("did you mean `tree`?"));
        assert!(refused(&["uvm.evicton=lru"]).contains("did you mean"));
        assert!(refused(&["uvm.device_memory=48MB", "uvm.oversubscription=1.25"]).contains("set one"));
        assert!(refused(&["uvm.model=driver", "uvm.adaptive=on"]).contains("uvmsmart"));
    }
}
