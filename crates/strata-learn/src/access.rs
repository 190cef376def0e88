//! A request to the GMMU as a predictor sees it, and the thirteen features of the prefetching paper (Figure 3).

use rustc_hash::FxHashSet;
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

/// What is predicted.
///
/// Of pages, every request counts, and the label is the page some requests later, as in the paper. Of blocks and roots only
/// the first request of a launch to each of them counts: what a far fault brings along is not worth a prediction, and what comes
/// next after it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 4 KB.
    #[default]
    Page,
    /// 64 KB.
    Block,
    /// 2 MB.
    Root,
}

impl Unit {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Page, Self::Block, Self::Root];

    /// Its name in tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Block => "block",
            Self::Root => "root",
        }
    }

    /// Its bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Page => PAGE,
            Self::Block => BLOCK,
            Self::Root => ROOT,
        }
    }

    /// What lies between two requests, in such units.
    pub(crate) fn delta(self, to: &Access, from: &Access) -> i64 {
        (to.page / self.bytes()) as i64 - (from.page / self.bytes()) as i64
    }

    /// The first byte of the unit that lies `delta` of them behind that of a page, if there is one.
    pub(crate) fn after(self, page: u64, delta: i64) -> Option<u64> {
        let unit = i64::try_from(page / self.bytes()).ok()?.checked_add(delta)?;
        u64::try_from(unit).ok()?.checked_mul(self.bytes())
    }
}

/// Which requests of a stream count for a unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstTouches {
    seen: FxHashSet<(u32, u32, u64)>,
}

impl FirstTouches {
    /// True if a request counts.
    pub(crate) fn counts(&mut self, unit: Unit, access: &Access) -> bool {
        unit == Unit::Page || self.seen.insert((access.run, access.kernel, access.page / unit.bytes()))
    }
}

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
    /// Those to one array.
    Array,
}

impl Cluster {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Pc, Self::Kernel, Self::Sm, Self::Cta, Self::Warp, Self::SmWarp, Self::Array];

    /// Its name in tables and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pc => "pc",
            Self::Kernel => "kernel",
            Self::Sm => "sm",
            Self::Cta => "cta",
            Self::Warp => "warp",
            Self::SmWarp => "sm+warp",
            Self::Array => "array",
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
            Self::Array => access.array,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_roots_only_the_first_request_of_a_launch_counts() {
        let request = |kernel, page: u64| Access { kernel, page: page << 12, ..Access::default() };
        let stream = [(0, 3), (0, 5), (0, 600), (0, 3), (1, 3), (1, 700)].map(|(kernel, page)| request(kernel, page));
        let counting = |unit| {
            let mut touches = FirstTouches::default();
            stream.iter().filter(|access| touches.counts(unit, access)).count()
        };
        assert_eq!(Unit::ALL.map(counting), [6, 4, 4]);
        assert_eq!(Unit::Root.delta(&stream[2], &stream[0]), 1);
        assert_eq!(Unit::Root.after(stream[2].page, -1), Some(0));
        assert_eq!(Unit::Root.after(stream[0].page, -1), None);
        assert_eq!(Unit::Page.after(stream[0].page, 2), Some(5 << 12));
    }
}
