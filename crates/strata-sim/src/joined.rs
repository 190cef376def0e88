//! Loads that the assembler joins: words beside each other in shared or constant memory, read through one register, become
//! one machine instruction of 8 or 16 bytes if what they read together is aligned to that.
//!
//! PTX does not say how a register is aligned, and the assembler proves it; here the first warp that executes a segment shows
//! it. As the assembler decides once, so does the view: what the first warp showed holds for all that follow.

use crate::config::IsaConfig;
use crate::view::{MemoryClass, MicroOp, View};
use strata_core::{LANES, OpBatch};

/// Words in one instruction at most: 16 bytes of four.
const MOST: usize = 4;

/// Joins the loads of a view, by what the first warp that executes it reads.
pub(crate) fn join_loads(view: &mut View, batch: &OpBatch, isa: &IsaConfig) {
    let mut at = 0;
    while at < view.ops.len() {
        let op = &view.ops[at];
        let limit = match op.memory {
            MemoryClass::Shared => isa.shared_merge.0,
            MemoryClass::Constant => isa.constant_merge.0,
            _ => 0,
        };
        let width = u64::from(op.width);
        if matches!(width, 4 | 8) && !view.targets(op).is_empty() {
            for bytes in [16, 8].into_iter().filter(|&bytes| bytes <= limit && bytes > width) {
                if let Some(members) = members(view, batch, at, bytes) {
                    view.join(&members, bytes as u8);
                    break;
                }
            }
        }
        at += 1;
    }
}

/// The loads from `leader` on that together read `bytes` aligned bytes in every lane, lowest address first; `None` if one is
/// missing or cannot move up to the leader.
fn members(view: &View, batch: &OpBatch, leader: usize, bytes: u64) -> Option<arrayvec::ArrayVec<usize, MOST>> {
    let first = &view.ops[leader];
    let width = u64::from(first.width);
    let (lanes, mask) = addresses(view, batch, first)?;
    let lane = mask.trailing_zeros() as usize;
    let place = |address: u64| address % bytes / width;
    if (0..LANES).any(|l| mask >> l & 1 == 1 && lanes[l] % bytes != lanes[lane] % bytes) {
        return None;
    }
    let mut found = [None; MOST];
    found[place(lanes[lane]) as usize] = Some(leader);
    for (at, op) in view.ops.iter().enumerate().skip(leader + 1) {
        if is_barrier_to(first, op, view) {
            break;
        }
        let alike = op.memory == first.memory && op.width == first.width && view.sources(op) == view.sources(first);
        if !alike || view.targets(op).is_empty() || !may_move_up(view, leader, at) {
            continue;
        }
        let Some((others, also)) = addresses(view, batch, op) else { continue };
        let delta = others[lane].wrapping_sub(lanes[lane]);
        let same = |l: usize| mask >> l & 1 == 0 || others[l].wrapping_sub(lanes[l]) == delta;
        if also == mask && others[lane] / bytes == lanes[lane] / bytes && (0..LANES).all(same) {
            found[place(others[lane]) as usize].get_or_insert(at);
        }
    }
    found.into_iter().take((bytes / width) as usize).collect()
}

/// Where the lanes of a load read, and which do; `None` if it was not executed or went to several memories.
fn addresses(view: &View, batch: &OpBatch, op: &MicroOp) -> Option<([u64; LANES], u32)> {
    let pc = batch.ops.first()?.pc + u32::from(op.index) % view.length;
    let first = if view.copies > 1 { usize::from(op.index) } else { batch.ops.partition_point(|o| o.pc < pc) };
    let executed = batch.ops.get(first).filter(|o| o.pc == pc)?;
    if executed.mask == 0 || batch.ops.get(first + 1).is_some_and(|o| o.pc == pc) {
        return None;
    }
    let set = batch.addresses.get(executed.addresses as usize)?;
    Some((batch.lanes(set).map(|address| address.0), executed.mask))
}

/// True if no load of that memory moves up across `op`.
fn is_barrier_to(load: &MicroOp, op: &MicroOp, view: &View) -> bool {
    let writes = view.targets(op).is_empty();
    match op.memory {
        MemoryClass::Barrier | MemoryClass::Atomic => true,
        MemoryClass::Shared | MemoryClass::Generic => writes && load.memory == MemoryClass::Shared,
        _ => false,
    }
}

/// True if the operation at `at` depends on none from `leader` on to itself.
fn may_move_up(view: &View, leader: usize, at: usize) -> bool {
    let op = &view.ops[at];
    view.ops[leader..at].iter().all(|between| {
        let writes = view.targets(between).iter().all(|slot| !view.touched(op).contains(slot));
        writes && view.sources(between).iter().all(|slot| !view.targets(op).contains(slot))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::view::Registers;
    use strata_core::{Access, OpClass, OpInfo, OpKind, Space, WarpOp};

    /// A load of a word through register 0, or a store.
    fn access(space: Space, target: Option<u32>) -> OpInfo {
        OpInfo {
            class: OpClass::Memory,
            kind: OpKind::Plain,
            space,
            access: if target.is_some() { Access::Load } else { Access::Store },
            width: 4,
            bypass_l1: false,
            read_only: false,
            dst: target.into_iter().collect(),
            src: std::iter::once(0).collect(),
            line: 1,
            name: if target.is_some() { "ld.f32".into() } else { "st.f32".into() },
        }
    }

    /// What is left of accesses at these addresses (all lanes the same, or each lane a word further): width and targets of each.
    fn joined(accesses: &[(Option<u32>, u64)], space: Space, step: u64) -> Vec<(u8, usize)> {
        let isa = load("titan-v", &["isa.shared_merge=16B", "isa.constant_merge=8B"]).expect("a preset").config.isa;
        let infos: Vec<_> = accesses.iter().map(|(target, _)| access(space, *target)).collect();
        let mut batch = OpBatch::default();
        for (pc, (_, address)) in accesses.iter().enumerate() {
            batch.ops.push(WarpOp { pc: pc as u32, mask: u32::MAX, addresses: batch.addresses.len() as u32 });
            batch.scatter(u32::MAX, space, &std::array::from_fn(|l| address + step * l as u64));
        }
        let mut view = View::new(&isa, &mut Registers::new(&isa, &infos), 0, &infos, 1);
        let before = view.issues;
        join_loads(&mut view, &batch, &isa);
        assert_eq!(before - view.issues, (accesses.len() - view.ops.len()) as u32);
        view.ops.iter().map(|op| (op.width, view.targets(op).len())).collect()
    }

    #[test]
    fn four_words_of_an_aligned_sixteen_bytes_are_one_load() {
        let words = |first: u64, n: u64| (0..n).map(|k| (Some(10 + k as u32), first + 4 * k)).collect::<Vec<_>>();
        assert_eq!(joined(&words(64, 4), Space::Shared, 0), [(16, 4)]);
        assert_eq!(joined(&words(64, 6), Space::Shared, 0), [(16, 4), (8, 2)]);
        assert_eq!(joined(&words(68, 4), Space::Shared, 0), [(4, 1), (8, 2), (4, 1)], "words 68, 72 to 76, 80");
        assert_eq!(joined(&words(64, 4), Space::Shared, 16), [(16, 4)]);
        assert_eq!(joined(&words(64, 4), Space::Shared, 4), [(4, 1); 4], "lanes are aligned in different ways");
        assert_eq!(joined(&words(64, 4), Space::Const, 0), [(8, 2), (8, 2)]);
        assert_eq!(joined(&[(Some(1), 76), (Some(2), 64), (Some(3), 72), (Some(4), 68)], Space::Shared, 0), [(16, 4)]);
    }

    #[test]
    fn nothing_moves_across_a_store() {
        assert_eq!(joined(&[(Some(1), 64), (None, 128), (Some(2), 68)], Space::Shared, 0), [(4, 1), (4, 0), (4, 1)]);
    }

    #[test]
    fn a_chain_of_loads_stays_one() {
        // The second reads the register that the first writes, although both name register 0.
        assert_eq!(joined(&[(Some(0), 64), (Some(0), 68)], Space::Shared, 0), [(4, 1), (4, 1)]);
    }

    #[test]
    fn a_word_that_is_read_twice_is_joined_once() {
        assert_eq!(joined(&[(Some(1), 64), (Some(2), 64), (Some(3), 68)], Space::Shared, 0), [(8, 2), (4, 1)]);
    }
}
