//! Kernels written down access by access: one warp per CTA, each access after the one before.

use strata_core::{
    Access, Addr, AddressSet, GridSource, LaneMask, OpBatch, OpClass, OpInfo, OpKind, Pattern, Space, Stop, WarpId,
    WarpOp, WarpSource,
};

/// One access of one lane, or of all to a whole line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Do {
    Load(u64),
    LoadPastL1(u64),
    Store(u64),
    StoreLine(u64),
}

impl Do {
    fn info(self, line: u32) -> OpInfo {
        let (access, name) = match self {
            Self::Load(_) => (Access::Load, "ld.global.u32"),
            Self::LoadPastL1(_) => (Access::Load, "ld.global.cg.u32"),
            Self::Store(_) | Self::StoreLine(_) => (Access::Store, "st.global.u32"),
        };
        OpInfo {
            class: OpClass::Memory,
            kind: OpKind::Plain,
            space: Space::Global,
            access,
            width: 4,
            bypass_l1: matches!(self, Self::LoadPastL1(_)),
            read_only: false,
            dst: if access == Access::Load { std::iter::once(0).collect() } else { std::iter::empty().collect() },
            src: std::iter::once(0).collect(),
            line,
            name: name.into(),
        }
    }

    fn addresses(self) -> (LaneMask, Pattern) {
        match self {
            Self::StoreLine(first) => (LaneMask::MAX, Pattern::Sequence { first: Addr(first), step: 4 }),
            Self::Load(at) | Self::LoadPastL1(at) | Self::Store(at) => (1, Pattern::Same(Addr(at))),
        }
    }
}

/// A kernel.
pub(super) struct Script {
    warps: Vec<Vec<Do>>,
    infos: Vec<OpInfo>,
    first: Vec<u32>,
    done: Vec<usize>,
}

impl Script {
    pub(super) fn new(warps: &[&[Do]]) -> Self {
        let warps: Vec<Vec<Do>> = warps.iter().map(|warp| warp.to_vec()).collect();
        let mut first = Vec::new();
        let mut infos = Vec::new();
        for warp in &warps {
            first.push(infos.len() as u32);
            infos.extend(warp.iter().zip(infos.len() as u32 + 1..).map(|(op, line)| op.info(line)).collect::<Vec<_>>());
        }
        Self { done: vec![0; warps.len()], warps, infos, first }
    }
}

impl WarpSource for Script {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let w = w.0 as usize;
        let Some(&op) = self.warps[w].get(self.done[w]) else { return Stop::Exited };
        let pc = self.first[w] + self.done[w] as u32;
        self.done[w] += 1;
        let (mask, pattern) = op.addresses();
        out.addresses.push(AddressSet { mask, space: Space::Global, pattern });
        out.ops.push(WarpOp { pc, mask, addresses: out.addresses.len() as u32 - 1 });
        Stop::Ready
    }
}

impl GridSource for Script {
    fn instructions(&self) -> &[OpInfo] {
        &self.infos
    }

    fn ctas(&self) -> u64 {
        self.warps.len() as u64
    }

    fn warps_per_cta(&self) -> u32 {
        1
    }

    fn start_cta(&mut self, _: u32, _: u64) {}

    fn take_opened(&mut self, _: &mut Vec<WarpId>) {}
}
