//! Hostile text: no panic, no hang, no memory out of proportion.

use std::fmt::Write;
use strata_core::random::SplitMix64;
use strata_ptx::parse;
use strata_testkit::shuffled;

const MODULE: &str = include_str!("data/runtime.ptx");

fn body(text: &str) -> String {
    format!(".version 8.0\n.target sm_75\n.address_size 64\n.entry k() {{\n.reg .b32 %r<9>;\n{text}\n}}\n")
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        body(&"{".repeat(100_000)),
        body(&format!("{}{}", "{".repeat(100_000), "}".repeat(100_000))),
        body(&format!("mov.u32 %r1, {}1;", "(".repeat(100_000))),
        body(&format!("mov.u32 %r1, {}1;", "-".repeat(100_000))),
        body(&format!("mov.u32 %r1, {}1;", "1?".repeat(100_000))),
        format!(".version 8.0\n.global .u32 x[2] = {};", "{".repeat(100_000)),
    ] {
        assert!(parse("deep.ptx", &text).module.is_none());
    }
}

#[test]
fn long_flat_text_is_fine() {
    let sum = "1+".repeat(100_000);
    assert!(parse("sum.ptx", &body(&format!("mov.u32 %r1, {sum}1;"))).module.is_some());
    let words = ".global".repeat(100_000);
    assert!(parse("words.ptx", &body(&format!("ld{words} %r1, [%r2];"))).module.is_none());
    let operands = "%r1, ".repeat(100_000);
    assert!(parse("operands.ptx", &body(&format!("add.s32 {operands} %r1;"))).module.is_none());
}

#[test]
fn huge_numbers_cost_nothing() {
    let text = body(".reg .b64 %x<4294967295>; .shared .b8 s[4294967295][4294967295]; .local .v4 .f64 l[4294967295];");
    let module = parse("huge.ptx", &text).module.expect("odd, but legal to declare");
    assert_eq!(module.functions[0].variables[0].bytes(), u64::from(u32::MAX) * u64::from(u32::MAX));
    for text in [
        body(".reg .b64 %x<4294967296>;"),
        body(".shared .b8 s[99999999999999999999];"),
        ".version 8.0\n.global .u32 x[9][4000000000] = {{1}, {2}};".to_owned(),
    ] {
        assert!(parse("huge.ptx", &text).module.is_none());
    }
}

#[test]
fn many_errors_stay_linear() {
    let mut lines = String::new();
    for n in 0..50_000 {
        let _ = writeln!(lines, "mov.u32 %undeclared_{n}, {n}; bra nowhere_{n}; nonsense_{n};");
    }
    let text = body(&lines);
    assert_eq!(parse("errors.ptx", &text).diagnostics.len(), 150_000);
}

#[test]
fn truncated_modules_never_panic() {
    for end in (0..MODULE.len()).step_by(97) {
        if let Some(text) = MODULE.get(..end) {
            parse("cut.ptx", text);
        }
    }
}

/// Deletes, repeats and swaps tokens of a real module, deterministically.
#[test]
fn shuffled_modules_never_panic() {
    let tokens: Vec<&str> = MODULE.split_inclusive([' ', '\t', '\n', ',', ';']).collect();
    let strange = ["{", "}", "[", "(", ".", "@", "|", "\"", "/*", "<", "::", "é"];
    let mut random = SplitMix64::new(1);
    for _ in 0..150 {
        let text = shuffled(&tokens, 30, &strange, &mut random).concat();
        let parsed = parse("shuffled.ptx", &text);
        parsed.render(&text, false);
        if let Some(module) = parsed.module {
            assert!(parse("printed.ptx", &module.to_string()).module.is_some());
        }
    }
}

/// Blocks that each read a register nobody wrote: all registers are live through all blocks.
fn all_live(count: u32) -> String {
    let mut lines = format!(".reg .b32 %a<{count}>; .reg .pred %p;\n");
    for n in 0..count {
        let _ = writeln!(lines, "L{n}: add.s32 %a{n}, %a{n}, 1; @%p bra L{};", n.saturating_sub(1));
    }
    body(&lines)
}

#[test]
fn a_function_that_no_memory_could_hold_live_is_refused() {
    let text = all_live(70_000);
    let parsed = parse("live.ptx", &text);
    assert!(parsed.module.is_none());
    let shown = parsed.render(&text, false);
    assert!(shown.contains("function `k` is too large: 70001 registers live across 70000 blocks"), "{shown}");
}

#[test]
fn loops_one_after_another_stay_cheap() {
    use strata_ptx::analysis::{CallsEndBlocks, Cfg, Liveness};
    let module = parse("loops.ptx", &all_live(20_000)).module.expect("it is large, not too large");
    let cfg = Cfg::build(&module.functions[0], CallsEndBlocks::No);
    let liveness = Liveness::build(&module.functions[0], &cfg);
    assert_eq!(liveness.live_in(cfg.entry()).count(), 20_001);
}
