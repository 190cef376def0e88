//! Kernels for tests of the machine, written down operation by operation.

use super::{KernelNeeds, Machine};
use crate::config::{GpuConfig, load};
use strata_core::{
    Access, Addr, AddressSet, GridSource, LaneMask, OpBatch, OpClass, OpInfo, OpKind, Pattern, Space, Stop, WarpId,
    WarpOp, WarpSource,
};

/// One instruction of a scripted warp. It issues when the loads before it have their data.
#[derive(Clone, Copy, Debug)]
pub(super) enum Do {
    /// One lane loads 4 bytes.
    Load(u64),
    /// The same, past L1.
    LoadPastL1(u64),
    /// 32 lanes load the whole line.
    LoadLine(u64),
    /// One lane stores 4 bytes: a part of a sector.
    Store(u64),
    /// 32 lanes store the whole line.
    StoreLine(u64),
    /// One lane loads 4 bytes of local memory.
    LoadLocal(u64),
    /// One lane stores 4 bytes of local memory.
    StoreLocal(u64),
    /// One lane adds, without a result.
    Reduce(u64),
    /// Waits at a barrier.
    Barrier,
}

impl Do {
    fn info(self, line: u32) -> OpInfo {
        let (access, name) = match self {
            Self::Load(_) | Self::LoadLine(_) => (Access::Load, "ld.global.u32"),
            Self::LoadPastL1(_) => (Access::Load, "ld.global.cg.u32"),
            Self::Store(_) | Self::StoreLine(_) => (Access::Store, "st.global.u32"),
            Self::LoadLocal(_) => (Access::Load, "ld.local.u32"),
            Self::StoreLocal(_) => (Access::Store, "st.local.u32"),
            Self::Reduce(_) => (Access::Reduce, "red.global.add.u32"),
            Self::Barrier => (Access::None, "bar.sync"),
        };
        let barrier = matches!(self, Self::Barrier);
        OpInfo {
            class: if barrier { OpClass::Barrier } else { OpClass::Memory },
            kind: if barrier { OpKind::CtaBarrier } else { OpKind::Plain },
            space: self.space(),
            access,
            width: 4,
            bypass_l1: matches!(self, Self::LoadPastL1(_)),
            read_only: false,
            dst: if access == Access::Load { [0].into_iter().collect() } else { arrayvec::ArrayVec::default() },
            src: [0].into_iter().collect(),
            line,
            name: name.into(),
        }
    }

    fn space(self) -> Space {
        match self {
            Self::Barrier => Space::None,
            Self::LoadLocal(_) | Self::StoreLocal(_) => Space::Local,
            _ => Space::Global,
        }
    }

    fn addresses(self) -> Option<(LaneMask, Pattern)> {
        match self {
            Self::LoadLine(a) | Self::StoreLine(a) => {
                Some((LaneMask::MAX, Pattern::Sequence { first: Addr(a), step: 4 }))
            }
            Self::Load(a)
            | Self::LoadPastL1(a)
            | Self::Store(a)
            | Self::LoadLocal(a)
            | Self::StoreLocal(a)
            | Self::Reduce(a) => Some((1, Pattern::Same(Addr(a)))),
            Self::Barrier => None,
        }
    }
}

/// A kernel of scripted warps. PTX lines are numbered from 1, warp after warp.
pub(super) struct Script {
    warps: Vec<Vec<Do>>,
    warps_per_cta: u32,
    infos: Vec<OpInfo>,
    /// By warp: first program counter, operations done.
    first: Vec<u32>,
    done: Vec<usize>,
}

impl Script {
    /// As many warps as scripts, in CTAs of so many.
    pub(super) fn new(warps_per_cta: u32, warps: &[&[Do]]) -> Self {
        let mut script = Self {
            warps: warps.iter().map(|w| w.to_vec()).collect(),
            warps_per_cta,
            infos: Vec::new(),
            first: Vec::new(),
            done: vec![0; warps.len()],
        };
        for warp in warps {
            script.first.push(script.infos.len() as u32);
            for op in *warp {
                script.infos.push(op.info(script.infos.len() as u32 + 1));
            }
        }
        script
    }
}

impl WarpSource for Script {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let w = w.0 as usize;
        let Some(&op) = self.warps[w].get(self.done[w]) else { return Stop::Exited };
        let pc = self.first[w] + self.done[w] as u32;
        self.done[w] += 1;
        let (mask, addresses) = match op.addresses() {
            Some((mask, pattern)) => {
                out.addresses.push(AddressSet { mask, space: op.space(), pattern });
                (mask, out.addresses.len() as u32 - 1)
            }
            None => (LaneMask::MAX, WarpOp::NO_ADDRESSES),
        };
        out.ops.push(WarpOp { pc, mask, addresses });
        if matches!(op, Do::Barrier) { Stop::Barrier } else { Stop::Ready }
    }
}

impl GridSource for Script {
    fn instructions(&self) -> &[OpInfo] {
        &self.infos
    }

    fn ctas(&self) -> u64 {
        self.warps.len() as u64 / u64::from(self.warps_per_cta)
    }

    fn warps_per_cta(&self) -> u32 {
        self.warps_per_cta
    }

    fn start_cta(&mut self, _slot: u32, _number: u64) {}

    fn take_opened(&mut self, _out: &mut Vec<WarpId>) {}
}

/// A preset.
pub(super) fn gpu(name: &str) -> GpuConfig {
    load(name, &[""; 0]).unwrap_or_else(|e| panic!("{name}: {e}")).config
}

/// Runs one warp per CTA: warp `k` is on SM `k`.
pub(super) fn run(machine: &mut Machine, warps: &[&[Do]]) -> Result<(), super::MachineError> {
    let needs = KernelNeeds { threads: 32, registers: 8, shared: 0 };
    machine.run_kernel(&mut Script::new(1, warps), &needs).map(|_| ())
}
