//! What an instruction is for machines and recorders, by its spelling.

use strata_core::OpKind;

/// The kind of the instruction that is spelt so: opcode and modifiers, no operands.
///
/// The emulator asks when it decodes an instruction, the reader of traces for tables that hold nothing but spellings: so
/// both agree.
///
/// ```
/// use strata_core::OpKind;
/// assert_eq!(strata_ptx::kind_of("bar.sync"), OpKind::CtaBarrier);
/// assert_eq!(strata_ptx::kind_of("add.s32"), OpKind::Plain);
/// ```
pub fn kind_of(spelling: &str) -> OpKind {
    let (opcode, modifiers) = spelling.split_once('.').unwrap_or((spelling, ""));
    let mut words = modifiers.split('.');
    match (opcode, words.next().unwrap_or_default()) {
        // Those of warps and clusters are no business of the CTA; `bar` alone is no instruction.
        ("bar" | "barrier", "warp" | "cluster" | "") => OpKind::Plain,
        ("bar" | "barrier", first) if first == "arrive" || words.any(|word| word == "arrive") => OpKind::CtaArrival,
        ("bar" | "barrier", _) => OpKind::CtaBarrier,
        ("mul", "wide") => OpKind::WideProduct,
        // Neither `add.cc`, which leaves a carry, nor pairs.
        ("add", "s64" | "u64") if words.next().is_none() => OpKind::Sum64,
        _ => OpKind::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_has_its_kind() {
        let cases = [
            (
                OpKind::CtaBarrier,
                "bar.sync bar.cta.sync bar.red.popc.u32 barrier.sync barrier.cta.red.and.aligned.pred",
            ),
            (OpKind::CtaArrival, "bar.arrive bar.cta.arrive barrier.arrive.aligned barrier.cta.arrive"),
            (OpKind::WideProduct, "mul.wide.s32 mul.wide.u16"),
            (OpKind::Sum64, "add.s64 add.u64"),
            (OpKind::Plain, "bar.warp.sync barrier.cluster.arrive barrier.cluster.wait mbarrier.arrive.b64 bar"),
            (OpKind::Plain, "mul.lo.s32 mul mad.wide.s32 add.cc.s64 add.s32 add.f64 add.sat.s32 sub.s64 add.s64.x"),
        ];
        for (kind, spellings) in cases {
            for spelling in spellings.split(' ') {
                assert_eq!(kind_of(spelling), kind, "{spelling}");
            }
        }
    }
}
