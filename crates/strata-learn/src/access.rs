//! A request to the GMMU as a predictor sees it, and the thirteen features of the prefetching paper (Figure 3).

use serde::{Deserialize, Serialize};

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Which of several traces it is from: their requests are never in one cluster.
    pub run: u32,
    /// Core cycle.
    pub cycle: u64,
    /// Thread instructions issued before it.
    pub instructions: u64,
    /// Number of the launch.
    pub kernel: u32,
    /// Program counter.
    pub pc: u32,
    /// The page was on the device.
    pub hit: bool,
    /// The resident warp.
    pub warp: u32,
    /// The SM.
    pub sm: u32,
    /// The texture processing cluster.
    pub tpc: u32,
    /// The CTA.
    pub cta: u64,
    /// First byte of the page.
    pub page: u64,
    /// First byte of the array.
    pub array: u64,
}

/// Bytes of a page, a block and a root: what deltas are counted in (the paper's 4 KB, 64 KB and 2 MB).
const PAGE: u64 = 4 << 10;
const BLOCK: u64 = 64 << 10;
const ROOT: u64 = 2 << 20;

/// A feature of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Page less that of the request before it in the same cluster.
    PageDelta,
    /// Program counter.
    Pc,
    /// Address of the page.
    Page,
    /// Address of the 64 KB block.
    Block,
    /// Address of the 2 MB root.
    Root,
    /// Block less that of the request before it.
    BlockDelta,
    /// Root less that of the request before it.
    RootDelta,
    /// Base address of the array.
    Array,
    /// The page was on the device.
    Hit,
    /// The resident warp.
    Warp,
    /// The SM.
    Sm,
    /// The texture processing cluster.
    Tpc,
    /// The CTA.
    Cta,
}

impl Feature {
    /// All thirteen, in the order of the unconstrained model's tokens.
    pub const ALL: [Self; 13] = [
        Self::PageDelta,
        Self::Pc,
        Self::Page,
        Self::Block,
        Self::Root,
        Self::BlockDelta,
        Self::RootDelta,
        Self::Array,
        Self::Hit,
        Self::Warp,
        Self::Sm,
        Self::Tpc,
        Self::Cta,
    ];

    /// Its name in checkpoints and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PageDelta => "page_delta",
            Self::Pc => "pc",
            Self::Page => "page",
            Self::Block => "block",
            Self::Root => "root",
            Self::BlockDelta => "block_delta",
            Self::RootDelta => "root_delta",
            Self::Array => "array",
            Self::Hit => "hit",
            Self::Warp => "warp",
            Self::Sm => "sm",
            Self::Tpc => "tpc",
            Self::Cta => "cta",
        }
    }

    /// Its value for a request that follows `before` in its cluster.
    pub(crate) fn of(self, access: &Access, before: &Access) -> i64 {
        let delta = |unit: u64| (access.page / unit) as i64 - (before.page / unit) as i64;
        match self {
            Self::PageDelta => delta(PAGE),
            Self::Pc => access.pc.into(),
            Self::Page => (access.page / PAGE) as i64,
            Self::Block => (access.page / BLOCK) as i64,
            Self::Root => (access.page / ROOT) as i64,
            Self::BlockDelta => delta(BLOCK),
            Self::RootDelta => delta(ROOT),
            Self::Array => access.array as i64,
            Self::Hit => access.hit.into(),
            Self::Warp => access.warp.into(),
            Self::Sm => access.sm.into(),
            Self::Tpc => access.tpc.into(),
            Self::Cta => access.cta as i64,
        }
    }
}

/// The page that lies `delta` pages behind another, if there is one.
pub(crate) fn page_after(page: u64, delta: i64) -> Option<u64> {
    u64::try_from(delta.checked_mul(PAGE as i64)?.checked_add(page as i64)?).ok()
}

/// Which requests make a sequence together (Table 2, and section 6 for the last).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cluster {
    /// Those of one instruction.
    Pc,
    /// Those of one launch.
    Kernel,
    /// Those of one SM.
    Sm,
    /// Those of one CTA number, of all launches.
    Cta,
    /// Those of one warp number, of all SMs.
    Warp,
    /// Those of one warp of one SM.
    SmWarp,
}

impl Cluster {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Pc, Self::Kernel, Self::Sm, Self::Cta, Self::Warp, Self::SmWarp];

    /// Its name in tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pc => "pc",
            Self::Kernel => "kernel",
            Self::Sm => "sm",
            Self::Cta => "cta",
            Self::Warp => "warp",
            Self::SmWarp => "sm+warp",
        }
    }

    /// What requests of one cluster have in common.
    pub(crate) fn key(self, access: &Access) -> u64 {
        match self {
            Self::Pc => access.pc.into(),
            Self::Kernel => access.kernel.into(),
            Self::Sm => access.sm.into(),
            Self::Cta => access.cta,
            Self::Warp => access.warp.into(),
            Self::SmWarp => u64::from(access.sm) << 32 | u64::from(access.warp),
        }
    }
}
