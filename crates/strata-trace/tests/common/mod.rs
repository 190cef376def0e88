//! Random launches: a source that plays a script, and a driver that pulls warps in random order.

use strata_core::random::SplitMix64;
use strata_core::{
    Access, Dim3, GridSource, LANES, OpBatch, OpClass, OpInfo, OpKind, Space, Stop, WarpId, WarpOp, WarpSource,
};

/// One operation: program counter, mask, space and addresses.
pub(crate) type Op = (u32, u32, Option<(Space, [u64; LANES])>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) ops: Vec<Op>,
    pub(crate) stop: Stop,
}

/// Bytes of local memory of a CTA slot.
pub(crate) const LOCAL: u64 = 0x1000;

/// What all warps of a launch do.
pub(crate) struct Script {
    pub(crate) infos: Vec<OpInfo>,
    pub(crate) block: Dim3,
    /// By CTA and warp.
    pub(crate) ctas: Vec<Vec<Vec<Segment>>>,
}

const SPACES: [Space; 6] = [Space::None, Space::Global, Space::Shared, Space::Local, Space::Const, Space::Generic];

impl Script {
    pub(crate) fn random(seed: u64) -> Self {
        let mut r = SplitMix64::new(seed);
        let infos: Vec<OpInfo> = (0..=r.below(12)).map(|k| random_info(&mut r, k)).collect();
        let warps = 1 + r.below(4);
        let block = Dim3::from((warps * 32 - r.below(32)) as u32);
        let count = 1 + r.below(10);
        let ctas = (0..count).map(|_| random_cta(&mut r, &infos, warps)).collect();
        Self { infos, block, ctas }
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
        ops.push((pc, mask, has.then(|| random_addresses(r, mask, info))));
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

/// Plays a script.
pub(crate) struct ScriptSource<'s> {
    script: &'s Script,
    slots: Vec<SlotState>,
    opened: Vec<WarpId>,
}

struct SlotState {
    cta: usize,
    next: Vec<usize>,
    waiting: Vec<bool>,
}

impl<'s> ScriptSource<'s> {
    pub(crate) fn new(script: &'s Script) -> Self {
        Self { script, slots: Vec::new(), opened: Vec::new() }
    }
}

impl WarpSource for ScriptSource<'_> {
    fn advance(&mut self, w: WarpId, out: &mut OpBatch) -> Stop {
        let warps = self.warps_per_cta() as usize;
        let (number, warp) = (w.0 as usize / warps, w.0 as usize % warps);
        let slot = &mut self.slots[number];
        let cta = &self.script.ctas[slot.cta];
        let segment = &cta[warp][slot.next[warp]];
        slot.next[warp] += 1;
        for &(pc, mask, addresses) in &segment.ops {
            let index = addresses.map_or(WarpOp::NO_ADDRESSES, |_| out.addresses.len() as u32);
            out.ops.push(WarpOp { pc, mask, addresses: index });
            if let Some((space, lanes)) = addresses {
                let moved = if space == Space::Local { LOCAL * number as u64 } else { 0 };
                out.scatter(mask, space, &lanes.map(|a| a + moved));
            }
        }
        slot.waiting[warp] = segment.stop == Stop::Barrier;
        let done = |w: usize| slot.next[w] == cta[w].len();
        if (0..warps).all(|w| slot.waiting[w] || done(w)) {
            for w in 0..warps {
                if std::mem::take(&mut slot.waiting[w]) {
                    self.opened.push(WarpId((number * warps + w) as u32));
                }
            }
        }
        segment.stop
    }
}

impl GridSource for ScriptSource<'_> {
    fn instructions(&self) -> &[OpInfo] {
        &self.script.infos
    }

    fn ctas(&self) -> u64 {
        self.script.ctas.len() as u64
    }

    fn warps_per_cta(&self) -> u32 {
        self.script.ctas[0].len() as u32
    }

    fn start_cta(&mut self, slot: u32, number: u64) {
        let warps = self.warps_per_cta() as usize;
        let state = SlotState { cta: number as usize, next: vec![0; warps], waiting: vec![false; warps] };
        if slot as usize == self.slots.len() {
            self.slots.push(state);
        } else {
            self.slots[slot as usize] = state;
        }
    }

    fn take_opened(&mut self, out: &mut Vec<WarpId>) {
        out.append(&mut self.opened);
    }
}

/// Where a warp is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum At {
    Running,
    Waiting,
    Exited,
}

/// Runs all CTAs in `slots` slots, warps in random order, and returns what each warp did; `None` if the source failed.
/// Checks that a barrier opens only when every warp of the CTA waits or has exited.
pub(crate) fn drive<S: GridSource>(source: &mut S, slots: u32, seed: u64) -> Option<Vec<Vec<Vec<Segment>>>> {
    let mut r = SplitMix64::new(seed);
    let warps = source.warps_per_cta() as usize;
    let mut told = vec![vec![Vec::new(); warps]; source.ctas() as usize];
    let mut resident: Vec<(usize, Vec<At>)> = Vec::new();
    let (mut next, mut batch, mut opened) = (0, OpBatch::default(), Vec::new());
    loop {
        for slot in 0..slots as usize {
            if next < told.len() && resident.get(slot).is_none_or(|s| s.1.iter().all(|w| *w == At::Exited)) {
                source.start_cta(slot as u32, next as u64);
                resident.resize(resident.len().max(slot + 1), (0, Vec::new()));
                resident[slot] = (next, vec![At::Running; warps]);
                next += 1;
            }
        }
        let running = |(slot, warp): &(usize, usize)| resident[*slot].1[*warp] == At::Running;
        let all = (0..resident.len()).flat_map(|slot| (0..warps).map(move |warp| (slot, warp)));
        let ready: Vec<_> = all.filter(running).collect();
        if ready.is_empty() {
            assert!(resident.iter().all(|s| s.1.iter().all(|w| *w == At::Exited)), "some warps wait for ever");
            return Some(told);
        }
        let (slot, warp) = ready[r.below(ready.len() as u64) as usize];
        batch.clear();
        let stop = source.advance(WarpId((slot * warps + warp) as u32), &mut batch);
        resident[slot].1[warp] = match stop {
            Stop::Ready => At::Running,
            Stop::Barrier => At::Waiting,
            Stop::Exited => At::Exited,
            Stop::Failed => return None,
        };
        source.take_opened(&mut opened);
        if !opened.is_empty() {
            assert!(!resident[slot].1.contains(&At::Running), "a barrier opened too early");
        }
        for id in opened.drain(..) {
            let (of, w) = (id.0 as usize / warps, id.0 as usize % warps);
            assert_eq!((of, resident[of].1[w]), (slot, At::Waiting));
            resident[of].1[w] = At::Running;
        }
        let cta = resident[slot].0;
        told[cta][warp].push(Segment { ops: ops_of(&batch, slot as u64), stop });
    }
}

fn ops_of(batch: &OpBatch, slot: u64) -> Vec<Op> {
    let set = |op: &WarpOp| {
        let set = batch.addresses.get(op.addresses as usize)?;
        let moved = if set.space == Space::Local { LOCAL * slot } else { 0 };
        let lanes = batch.lanes(set);
        Some((set.space, std::array::from_fn(|l| if op.mask >> l & 1 != 0 { lanes[l].0 - moved } else { 0 })))
    };
    batch.ops.iter().map(|op| (op.pc, op.mask, set(op))).collect()
}
