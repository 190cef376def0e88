//! Instructions that are several machine instructions on different units, as a row of the GPU names them (`steps`): divisions, roots,
//! and what else an assembler writes out.

use crate::config::{IsaConfig, Steps};
use crate::unroll::Copied;
use arrayvec::ArrayVec;
use strata_core::{Access, OpClass, OpInfo, OpKind, Space};

/// Puts the machine instructions of a row with steps in the place of each operation that has such a row. What they hand on to each other
/// goes through registers of their own, from number `free` on.
pub(crate) fn expand(isa: &IsaConfig, operations: Vec<Copied>, mut free: u32) -> Vec<Copied> {
    let mut all = Vec::with_capacity(operations.len());
    for operation in operations {
        let steps = isa.timing(&operation.info.name, operation.info.class).steps;
        if steps.is_empty() {
            all.push(operation);
        } else {
            write_out(&operation, &steps, &mut free, &mut all);
        }
    }
    all
}

/// The steps of an operation.
fn write_out(operation: &Copied, steps: &Steps, free: &mut u32, all: &mut Vec<Copied>) {
    // What the step at hand reads, what it hands on, and what steps beside the chain have left.
    let (mut reads, mut handed) = (operation.info.src.clone(), operation.info.src.clone());
    let mut aside: ArrayVec<u32, 32> = ArrayVec::new();
    let last = steps.iter().len() - 1;
    for (k, step) in steps.iter().enumerate() {
        if !step.beside {
            reads.clone_from(&handed);
            if k == last || step.class == OpClass::Control {
                for register in aside.drain(..) {
                    let _ = reads.try_push(register);
                }
            }
        }
        let result = if k == last { operation.info.dst.clone() } else { std::iter::once(*free).collect() };
        *free += 1;
        if step.beside {
            let _ = aside.try_extend_from_slice(&result);
        } else {
            handed = result.iter().copied().collect();
        }
        let info = OpInfo {
            class: step.class,
            kind: OpKind::Plain,
            space: Space::None,
            access: Access::None,
            width: 0,
            bypass_l1: false,
            read_only: false,
            dst: result,
            src: reads.clone(),
            line: operation.info.line,
            name: step.class.name().into(),
        };
        all.push(Copied { index: operation.index, info, folded: false });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    fn division() -> Copied {
        let info = OpInfo {
            class: OpClass::FloatDiv,
            kind: OpKind::Plain,
            space: Space::None,
            access: Access::None,
            width: 0,
            bypass_l1: false,
            read_only: false,
            dst: std::iter::once(3).collect(),
            src: [1, 2].into_iter().collect(),
            line: 7,
            name: "div.rn.f32".into(),
        };
        Copied { index: 5, info, folded: false }
    }

    #[test]
    fn steps_read_what_those_before_them_write() {
        let set = ["isa.rows.div.rn.f32.steps=\"special +special f32*2 control\""];
        let isa = load("titan-v", &set).expect("a preset").config.isa;
        let seen: Vec<_> = expand(&isa, vec![division()], 10)
            .into_iter()
            .map(|c| (c.index, c.info.class, c.info.src.to_vec(), c.info.dst.to_vec()))
            .collect();
        let expected = [
            (5, OpClass::Special, vec![1, 2], vec![10]),
            (5, OpClass::Special, vec![1, 2], vec![11]),
            (5, OpClass::F32, vec![10], vec![12]),
            (5, OpClass::F32, vec![12], vec![13]),
            (5, OpClass::Control, vec![13, 11], vec![3]),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_has_no_steps_stays() {
        let set = ["isa.rows.div.rn.f32.latency=30", "isa.rows.div.rn.f32.interval=1"];
        let isa = load("titan-v", &set).expect("a preset").config.isa;
        assert_eq!(expand(&isa, vec![division()], 10).len(), 1);
    }
}
