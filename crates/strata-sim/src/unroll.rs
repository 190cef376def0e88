//! Loops that the assembler unrolls: a body without branches, at whose end a counter decides that only constants are added to.
//!
//! What is left of the copies before the last is their work: comparison and branch stand once, and steps by constants become
//! parts of addresses. Registers of the copies are different ones, so loads of all copies can be under way together.

use std::collections::BTreeMap;
use strata_core::{Access, OpClass, OpInfo, OpKind};

/// True if the operations are the body of a loop whose end a counter decides.
pub(crate) fn is_counted_loop(infos: &[OpInfo]) -> bool {
    let Some((branch, body)) = infos.split_last() else { return false };
    let [guard] = branch.src[..] else { return false };
    branch.class == OpClass::Control
        && !matches!(branch.kind, OpKind::RolledLoop | OpKind::ShortSkip)
        && !body.iter().any(keeps_its_place)
        && compares(body, guard).is_some_and(|compare| compare.src.iter().any(|&r| is_counter(body, r)))
}

/// True for what the assembler does not repeat.
fn keeps_its_place(info: &OpInfo) -> bool {
    info.class == OpClass::Control
        || matches!(info.kind, OpKind::CtaBarrier | OpKind::CtaArrival)
        || matches!(info.access, Access::Atomic | Access::Reduce | Access::Copy)
}

/// The comparison that writes a predicate.
fn compares(body: &[OpInfo], predicate: u32) -> Option<&OpInfo> {
    body.iter().rev().find(|info| info.dst.contains(&predicate)).filter(|info| info.class == OpClass::Predicate)
}

/// True if a constant is added to a register, and nothing else is done to it.
fn is_counter(body: &[OpInfo], register: u32) -> bool {
    let mut writers = body.iter().filter(|info| info.dst.contains(&register));
    writers.next().is_some_and(is_step) && writers.next().is_none()
}

fn is_step(info: &OpInfo) -> bool {
    matches!(info.class, OpClass::Int | OpClass::Int64) && info.dst[..] == info.src[..] && info.dst.len() == 1
}

/// An operation of an unrolled body.
pub(crate) struct Copied {
    /// Its index in the operations of all copies.
    pub(crate) index: u16,
    pub(crate) info: OpInfo,
    /// It takes no issue slot of its own.
    pub(crate) folded: bool,
}

/// The copies of a body, with registers of their own from number `free` on; what the last copy writes is what the loop leaves.
pub(crate) fn unroll(body: &[OpInfo], copies: u32, free: u32) -> Vec<Copied> {
    let mut names: BTreeMap<u32, u32> = BTreeMap::new();
    let mut next = free;
    let guard = body.last().and_then(|branch| branch.src.first().copied());
    let mut all = Vec::with_capacity(body.len() * copies as usize);
    for copy in 0..copies {
        let last = copy + 1 == copies;
        for (at, info) in body.iter().enumerate() {
            let ends_loop = info.class == OpClass::Control || guard.is_some_and(|g| info.dst.contains(&g));
            if ends_loop && !last {
                continue;
            }
            let mut info = info.clone();
            for r in &mut info.src {
                *r = names.get(r).copied().unwrap_or(*r);
            }
            let folded = copy > 0 && is_step(&body[at]);
            for r in &mut info.dst {
                let left = last && !body[at + 1..].iter().any(|later| later.dst.contains(r));
                let name = if left { *r } else { next };
                next += u32::from(!left);
                names.insert(*r, name);
                *r = name;
            }
            all.push(Copied { index: (copy as usize * body.len() + at) as u16, info, folded });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_core::Space;

    fn op(class: OpClass, dst: &[u32], src: &[u32]) -> OpInfo {
        OpInfo {
            class,
            kind: OpKind::Plain,
            space: Space::None,
            access: Access::None,
            width: 0,
            bypass_l1: false,
            read_only: false,
            dst: dst.iter().copied().collect(),
            src: src.iter().copied().collect(),
            line: 1,
            name: "anything".into(),
        }
    }

    /// A load through register 1, a sum in 2, the counter 0, its comparison, the branch.
    fn body() -> [OpInfo; 5] {
        [
            op(OpClass::Memory, &[5], &[1]),
            op(OpClass::F32, &[2], &[5, 2]),
            op(OpClass::Int, &[0], &[0]),
            op(OpClass::Predicate, &[9], &[0]),
            op(OpClass::Control, &[], &[9]),
        ]
    }

    #[test]
    fn a_counter_decides_how_often_a_loop_runs() {
        assert!(is_counted_loop(&body()));
        let mut strides = body();
        strides[2].src.push(7);
        assert!(!is_counted_loop(&strides), "a step that is no constant");
        let mut atomic = body();
        atomic[0].access = Access::Atomic;
        assert!(!is_counted_loop(&atomic));
        let mut rolled = body();
        rolled[4].kind = OpKind::RolledLoop;
        assert!(!is_counted_loop(&rolled));
        let mut falls_through = body();
        falls_through[4].src.clear();
        assert!(!is_counted_loop(&falls_through));
    }

    #[test]
    fn copies_have_their_own_registers_and_end_once() {
        let all = unroll(&body(), 2, 100);
        let seen: Vec<_> = all.iter().map(|c| (c.index, c.info.dst.to_vec(), c.info.src.to_vec(), c.folded)).collect();
        let expected = [
            (0, vec![100], vec![1], false),
            (1, vec![101], vec![100, 2], false),
            (2, vec![102], vec![0], false),
            (5, vec![5], vec![1], false),
            (6, vec![2], vec![5, 101], false),
            (7, vec![0], vec![102], true),
            (8, vec![9], vec![0], false),
            (9, vec![], vec![9], false),
        ];
        assert_eq!(seen, expected);
    }
}
