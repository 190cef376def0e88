//! Pulls the warps of a source without a machine, in random order, and checks that the source keeps its promises.

use crate::script::{Op, Segment, Streams};
use strata_core::random::SplitMix64;
use strata_core::{GridSource, OpBatch, Space, Stop, WarpId, WarpOp};

/// Where a warp is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum At {
    Running,
    Waiting,
    Exited,
}

/// Runs all CTAs in `slots` slots, warps in an order that the seed chooses, and returns what each warp did; `None` if the source
/// failed. Addresses of local memory, of which a slot has `local` bytes, are told as if all ran in slot 0.
///
/// Panics if a barrier opens before every warp of its CTA waits or has exited, or if warps wait for ever.
///
/// ```
/// use strata_testkit::{Instr, Script, drive};
///
/// let early = vec![Instr::barrier(), Instr::load(0x1000)];
/// let late = vec![Instr::store(0x1000), Instr::barrier()];
/// let told = drive(&mut Script::new(&[early, late]).grid(3, 0x100), 2, 0, 42).expect("it does not fail");
/// assert_eq!((told.len(), told[2][0][1].ops[0].pc), (3, 1));
/// ```
pub fn drive<S: GridSource>(source: &mut S, slots: u32, local: u64, seed: u64) -> Option<Streams> {
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
            assert_eq!((of, resident[of].1[w]), (slot, At::Waiting), "a warp goes on that did not wait");
            resident[of].1[w] = At::Running;
        }
        let cta = resident[slot].0;
        told[cta][warp].push(Segment { ops: ops_of(&batch, local * slot as u64), stop });
    }
}

/// The operations of a batch, local addresses less by so many bytes.
fn ops_of(batch: &OpBatch, local: u64) -> Vec<Op> {
    let set = |op: &WarpOp| {
        let set = batch.addresses.get(op.addresses as usize)?;
        let moved = if set.space == Space::Local { local } else { 0 };
        let lanes = batch.lanes(set);
        Some((
            set.space,
            std::array::from_fn(|l| if op.mask >> l & 1 != 0 { lanes[l].0.wrapping_sub(moved) } else { 0 }),
        ))
    };
    batch.ops.iter().map(|op| Op { pc: op.pc, mask: op.mask, addresses: set(op) }).collect()
}
