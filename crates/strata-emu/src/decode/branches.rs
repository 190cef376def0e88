//! What an assembler makes of the branches of PTX: some become predicates, some nothing, and some loops are not to be unrolled.

use strata_core::OpKind;
use strata_ptx::ast::{Function, Instruction, Opcode as O, Operand};

/// The most instructions that are executed under a predicate rather than branched over: CUDA's guide to best practices has 4, and 7 where
/// warps are likely to diverge, which nobody knows before they do.
const PREDICATED: u32 = 7;

/// What the branch at a place of a function is to an assembler.
pub(super) fn kind(function: &Function, at: u32) -> OpKind {
    let branch = &function.instructions[at as usize];
    let Some(target) = target(function, branch) else { return OpKind::Plain };
    if function.rolled.contains(&target) {
        OpKind::RolledLoop
    } else if branch.guard.is_none() && (target == at + 1 || is_jumped_over(function, at)) {
        OpKind::NeedlessJump
    } else if branch.guard.is_some() && can_be_predicated(function, at + 1, target) {
        OpKind::ShortSkip
    } else {
        OpKind::Plain
    }
}

/// Where a branch with a label goes.
fn target(function: &Function, branch: &Instruction) -> Option<u32> {
    match (branch.op, branch.operands.first()) {
        (O::Bra, Some(Operand::Label(label))) => function.labels.get(label.0 as usize).map(|label| label.at),
        _ => None,
    }
}

/// True if the instruction before branches to the one behind, and nothing else comes here: the two are one branch with the opposite
/// condition.
fn is_jumped_over(function: &Function, at: u32) -> bool {
    let before = at.checked_sub(1).map(|k| &function.instructions[k as usize]);
    before.is_some_and(|b| b.guard.is_some() && target(function, b) == Some(at + 1)) && !is_labelled(function, at)
}

/// True if a label stands before an instruction: others may come to it. Labels are in the order of their places.
fn is_labelled(function: &Function, at: u32) -> bool {
    let first = function.labels.partition_point(|label| label.at < at);
    function.labels.get(first).is_some_and(|label| label.at == at)
}

/// True if the instructions `first..end` are few, and in one piece.
fn can_be_predicated(function: &Function, first: u32, end: u32) -> bool {
    if end <= first || end - first > PREDICATED || (first..end).any(|at| is_labelled(function, at)) {
        return false;
    }
    function.instructions[first as usize..end as usize].iter().all(|i| {
        let stays = matches!(
            i.op,
            O::Bra | O::Brx | O::Call | O::Ret | O::Exit | O::Trap | O::Bar | O::Barrier | O::Shfl | O::Vote | O::Match
        );
        !stays && i.guard.is_none() && !is_routine(i)
    })
}

/// True for what is a routine with branches of its own: divisions, and roots that are rounded.
fn is_routine(i: &Instruction) -> bool {
    matches!(i.op, O::Div | O::Rem | O::Rcp | O::Sqrt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of the branches of a function with this body.
    #[track_caller]
    fn check(body: &str, expected: &[OpKind]) {
        let text = format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f()\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n{body}\nret;\n}}\n"
        );
        let module = strata_ptx::parse("branches.ptx", &text).module.expect("no errors");
        let function = &module.functions[0];
        let branches =
            (0..function.instructions.len() as u32).filter(|&k| function.instructions[k as usize].op == O::Bra);
        assert_eq!(branches.map(|at| kind(function, at)).collect::<Vec<_>>(), expected, "{body}");
    }

    #[test]
    fn a_few_instructions_are_predicated() {
        let skip = |over: &str| format!("@%p1 bra L;\n{over}\nL:\nadd.s32 %r2, %r2, 1;");
        check(&skip(&"add.s32 %r1, %r1, 1;\n".repeat(7)), &[OpKind::ShortSkip]);
        check(&skip(&"add.s32 %r1, %r1, 1;\n".repeat(8)), &[OpKind::Plain]);
        check(&skip("bar.sync 0;"), &[OpKind::Plain]);
        check(&skip("div.s32 %r1, %r1, %r2;"), &[OpKind::Plain]);
        check(&skip("M:\nadd.s32 %r1, %r1, 1;"), &[OpKind::Plain]);
        check("L:\nadd.s32 %r1, %r1, 1;\n@%p1 bra L;", &[OpKind::Plain]);
    }

    #[test]
    fn jumps_beside_their_targets_are_none() {
        check(
            "@%p1 bra A;\nbra.uni B;\nA:\nadd.s32 %r1, %r1, 1;\nB:\nadd.s32 %r2, %r2, 1;",
            &[OpKind::Plain, OpKind::NeedlessJump],
        );
        check("bra.uni A;\nA:\nadd.s32 %r1, %r1, 1;", &[OpKind::NeedlessJump]);
        check("bra.uni A;\nadd.s32 %r1, %r1, 1;\nA:\nadd.s32 %r2, %r2, 1;", &[OpKind::Plain]);
    }
}
