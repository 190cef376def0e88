//! Random launches.

use strata_core::random::SplitMix64;
use strata_core::{Access, Dim3, LANES, OpClass, OpInfo, OpKind, Space, Stop};
use strata_testkit::{Op, Script, Segment, Streams};

/// Bytes of local memory of a CTA slot.
pub(crate) const LOCAL: u64 = 0x1000;

/// What all warps of a launch do.
pub(crate) struct Launch {
    pub(crate) infos: Vec<OpInfo>,
    pub(crate) block: Dim3,
    pub(crate) ctas: Streams,
}

const SPACES: [Space; 6] = [Space::None, Space::Global, Space::Shared, Space::Local, Space::Const, Space::Generic];

impl Launch {
    pub(crate) fn random(seed: u64) -> Self {
        let mut r = SplitMix64::new(seed);
        let infos: Vec<OpInfo> = (0..=r.below(12)).map(|k| random_info(&mut r, k)).collect();
        let warps = 1 + r.below(4);
        let block = Dim3::from((warps * 32 - r.below(32)) as u32);
        let count = 1 + r.below(10);
        let ctas = (0..count).map(|_| random_cta(&mut r, &infos, warps)).collect();
        Self { infos, block, ctas }
    }

    /// A source that plays it.
    pub(crate) fn source(&self) -> Script {
        Script::of_streams(self.infos.clone(), &self.ctas).local_memory(LOCAL)
    }
}

fn random_info(r: &mut SplitMix64, line: u64) -> OpInfo {
    let space = SPACES[r.below(6) as usize];
    OpInfo {
        class: OpClass::ALL[r.below(19) as usize],
        kind: OpKind::ALL[r.below(5) as usize],
        space,
        access: if space == Space::None { Access::None } else { Access::Load },
        width: 1 << r.below(5),
        bypass_l1: r.below(2) == 0,
        read_only: r.below(2) == 0,
        dst: (0..r.below(9)).map(|_| r.below(60000) as u32).collect(),
        src: (0..r.below(13)).map(|_| r.below(60000) as u32).collect(),
        line: line as u32,
        name: format!("op.{line}").into(),
    }
}

/// Warps that go through the same barriers; some exit before the last.
fn random_cta(r: &mut SplitMix64, infos: &[OpInfo], warps: u64) -> Vec<Vec<Segment>> {
    let barriers = r.below(4);
    let warp = |r: &mut SplitMix64| {
        let mut segments = Vec::new();
        for _ in 0..r.below(barriers + 1) {
            segments.extend((0..r.below(4)).map(|_| random_segment(r, infos, Stop::Ready)));
            segments.push(random_segment(r, infos, Stop::Barrier));
        }
        segments.extend((0..r.below(4)).map(|_| random_segment(r, infos, Stop::Ready)));
        segments.push(random_segment(r, infos, Stop::Exited));
        segments
    };
    (0..warps).map(|_| warp(r)).collect()
}

fn random_segment(r: &mut SplitMix64, infos: &[OpInfo], stop: Stop) -> Segment {
    let mut pc = r.below(infos.len() as u64) as u32;
    let mut ops = Vec::new();
    for _ in 0..r.below(10) {
        let mask = match r.below(4) {
            0 => r.bits() as u32,
            1 => 1 << r.below(32),
            _ => u32::MAX,
        };
        let info = &infos[pc as usize];
        let has = info.space != Space::None && (mask != 0 || r.below(2) == 0) && r.below(8) != 0;
        ops.push(Op { pc, mask, addresses: has.then(|| random_addresses(r, mask, info)) });
        // Sometimes the same instruction again: a generic access that goes to two spaces.
        pc += u32::from(r.below(6) != 0);
        if pc as usize >= infos.len() {
            break;
        }
    }
    Segment { ops, stop }
}

fn random_addresses(r: &mut SplitMix64, mask: u32, info: &OpInfo) -> (Space, [u64; LANES]) {
    let space = if info.space == Space::Generic { SPACES[1 + r.below(3) as usize] } else { info.space };
    let base = r.bits() >> (8 + r.below(48));
    let stride = [0, u64::from(info.width), r.below(1000), 0][r.below(4) as usize];
    let scattered = r.below(3) == 0;
    let mut lanes = [0; LANES];
    for (lane, address) in lanes.iter_mut().enumerate().filter(|(lane, _)| mask >> lane & 1 != 0) {
        *address = if scattered { r.bits() >> 20 } else { base + stride * lane as u64 };
    }
    (space, lanes)
}
