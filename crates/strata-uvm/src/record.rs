//! Requests to the GMMU with the thirteen features of the prefetching paper (Figure 3), for learning.

use crate::geometry::{BLOCK_BYTES, Geometry, Page, TREE_BYTES};
use strata_core::Addr;
use strata_learn::access::Access;
use strata_sim::seam::AccessInfo;

/// One request, an access that no TLB could translate, as predictors see it ([`Access`]), with the features that depend on
/// the request before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GmmuRequest {
    /// The request.
    pub access: Access,
    /// First byte of the 64 KB block.
    pub block: u64,
    /// First byte of the 2 MB root.
    pub root: u64,
    /// Page less that of the request before it from the same SM, in bytes; 0 for an SM's first.
    pub page_delta: i64,
    /// The same of the block.
    pub block_delta: i64,
    /// The same of the root.
    pub root_delta: i64,
}

/// First accesses of launches to blocks.
#[derive(Default, Debug)]
struct Uses {
    /// By block: the launch that accessed it last.
    launches: Vec<u32>,
    kept: Vec<GmmuRequest>,
}

/// Gives requests their features, and keeps them if somebody wants that.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// By SM: page, block and root of its last request.
    last: Vec<Option<[u64; 3]>>,
    sms_per_tpc: u32,
    kept: Option<Vec<GmmuRequest>>,
    uses: Option<Uses>,
}

impl Recorder {
    pub(crate) fn new(sms_per_tpc: u32, keep: bool, keep_uses: bool) -> Self {
        let (kept, uses) = (keep.then(Vec::new), keep_uses.then(Uses::default));
        Self { last: Vec::new(), sms_per_tpc: sms_per_tpc.max(1), kept, uses }
    }

    /// The features of a request to `page`, first byte of a page of the array at `array`.
    pub(crate) fn note(&mut self, access: &AccessInfo, page: Addr, array: Addr, hit: bool, cycle: u64) -> GmmuRequest {
        let sm = access.sm as usize;
        if self.last.len() <= sm {
            self.last.resize(sm + 1, None);
        }
        let here = [page.0, page.0 / BLOCK_BYTES * BLOCK_BYTES, page.0 / TREE_BYTES * TREE_BYTES];
        let before = self.last[sm].replace(here).unwrap_or(here);
        let delta = |k: usize| here[k].wrapping_sub(before[k]) as i64;
        let request = GmmuRequest {
            access: Access {
                run: 0,
                cycle,
                instructions: access.instructions,
                kernel: access.kernel,
                pc: access.pc,
                hit,
                warp: access.warp.0,
                sm: access.sm,
                tpc: access.sm / self.sms_per_tpc,
                cta: access.cta,
                page: here[0],
                array: array.0,
            },
            block: here[1],
            root: here[2],
            page_delta: delta(0),
            block_delta: delta(1),
            root_delta: delta(2),
        };
        if let Some(kept) = &mut self.kept {
            kept.push(request);
        }
        request
    }

    /// A launch accesses a page: the first time of its 64 KB block is kept, if somebody wants that, whether a TLB translates it or not, without what only
    /// a request to the GMMU has.
    #[inline]
    pub(crate) fn accessed(&mut self, launch: u32, page: Page, geometry: &Geometry) {
        let Some(Uses { launches, kept }) = &mut self.uses else { return };
        let block = geometry.block(page);
        let number = block.0 as usize;
        if launches.len() <= number {
            launches.resize(number + 1, 0);
        }
        if std::mem::replace(&mut launches[number], launch) != launch {
            let first = geometry.address(Page(geometry.pages(block).start)).0;
            let access = Access { kernel: launch, page: first, ..Access::default() };
            let (block, root) = (first, first / TREE_BYTES * TREE_BYTES);
            kept.push(GmmuRequest { access, block, root, page_delta: 0, block_delta: 0, root_delta: 0 });
        }
    }

    /// The first accesses of launches to blocks.
    pub(crate) fn uses(&self) -> &[GmmuRequest] {
        self.uses.as_ref().map_or(&[], |uses| &uses.kept)
    }

    /// What was kept.
    pub(crate) fn kept(&self) -> &[GmmuRequest] {
        self.kept.as_deref().unwrap_or_default()
    }
}
