//! Requests to the GMMU with the thirteen features of the prefetching paper (Figure 3), for learning.

use crate::geometry::{BLOCK_BYTES, TREE_BYTES};
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

/// Gives requests their features, and keeps them if somebody wants that.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// By SM: page, block and root of its last request.
    last: Vec<Option<[u64; 3]>>,
    sms_per_tpc: u32,
    kept: Option<Vec<GmmuRequest>>,
}

impl Recorder {
    pub(crate) fn new(sms_per_tpc: u32, keep: bool) -> Self {
        Self { last: Vec::new(), sms_per_tpc: sms_per_tpc.max(1), kept: keep.then(Vec::new) }
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

    /// What was kept.
    pub(crate) fn kept(&self) -> &[GmmuRequest] {
        self.kept.as_deref().unwrap_or_default()
    }
}
