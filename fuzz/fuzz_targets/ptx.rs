//! Any text is read as PTX without a panic, and its errors can be shown. What parses is printed, read back and printed
//! the same; every analysis holds on every function; offload candidates are found; every kernel can be decoded.
//!
//! `cargo +nightly fuzz run ptx -- -max_len=8192 -dict=fuzz/ptx.dict`
#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_core::Bytes;
use strata_emu::{Capacity, Memory, Program};
use strata_ptx::analysis::{
    CallsEndBlocks, Cfg, DominatorTree, Liveness, LoopForest, Packing, Pressure, Reconvergence,
};
use strata_ptx::ast::{Function, Module};
use strata_ptx::parse;
use strata_tom::candidate::{Assumptions, find};

fuzz_target!(|text: &str| {
    let parsed = parse("fuzz.ptx", text);
    parsed.render(text, true);
    let Some(module) = parsed.module else { return };
    round_trip(&module);
    module.functions.iter().for_each(analyse);
    offload(&module);
    decode(text, module);
});

fn round_trip(module: &Module) {
    let printed = module.to_string();
    let again = parse("printed.ptx", &printed);
    let Some(second) = &again.module else {
        panic!("what was printed does not parse:\n{printed}\n{}", again.render(&printed, false));
    };
    assert_eq!(printed, second.to_string());
}

fn analyse(function: &Function) {
    for calls in [CallsEndBlocks::No, CallsEndBlocks::Yes] {
        let cfg = Cfg::build(function, calls);
        Reconvergence::build(&cfg, &DominatorTree::post_dominators(&cfg));
        LoopForest::build(&cfg, &DominatorTree::dominators(&cfg));
        let liveness = Liveness::build(function, &cfg);
        let packing = Packing::build(function, &cfg, &liveness);
        assert_eq!(packing.verify(function, &cfg, &liveness), Ok(()));
        Pressure::build(function, &cfg, &liveness);
    }
}

/// Candidates save traffic, fit into their table and do not overlap.
fn offload(module: &Module) {
    let assumptions = Assumptions::default();
    for found in find(module, &assumptions) {
        assert!(found.candidates.len() <= assumptions.table_entries);
        assert!(found.candidates.iter().all(|c| c.change.total() < 0.0));
        assert!(found.candidates.windows(2).all(|pair| pair[0].end < pair[1].begin));
    }
}

/// Loads the module into a small device, where there is room for it, and decodes its kernels.
fn decode(text: &str, module: Module) {
    let capacity = Capacity { device: Bytes(1 << 20), managed: Bytes(4 << 20), local: Bytes(1 << 20) };
    let mut memory = Memory::new(capacity).expect("a few megabytes");
    let Ok(mut program) = Program::load("fuzz.ptx", text, module, &mut memory) else { return };
    let kernels: Vec<_> = program.kernels().map(str::to_owned).collect();
    for kernel in kernels {
        assert!(program.instructions(&kernel).is_some());
    }
}
