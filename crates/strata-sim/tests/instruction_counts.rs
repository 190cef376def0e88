//! Do the instruction rows turn PTX into as many machine instructions as the card executed?
//!
//! The kernel tables of the TITAN X count machine instructions per thread. The committed PTX is counted here block by
//! block, without executing it: how often a thread passes each block is known for these kernels.

use std::collections::BTreeMap;
use std::path::Path;
use strata_core::OpClass;
use strata_sim::config::{IsaConfig, load};

fn pascal() -> IsaConfig {
    load("titan-x-pascal", &[""; 0]).expect("a preset").config.isa
}

/// The spellings and operands of a file's instructions, cut after branches and before labels. The file has one kernel.
fn blocks(path: &str) -> Vec<Vec<(String, String)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(path);
    let text = std::fs::read_to_string(path).expect("a committed file");
    let mut blocks = vec![Vec::new()];
    for line in text.lines().map(str::trim) {
        if line.starts_with('$') {
            blocks.push(Vec::new());
        }
        if !line.ends_with(';') || line.starts_with('.') {
            continue;
        }
        let instruction =
            if line.starts_with('@') { line.split_once(char::is_whitespace).map_or("", |x| x.1) } else { line };
        let (spelling, operands) = instruction.trim().split_once(char::is_whitespace).unwrap_or((instruction, ""));
        let spelling = spelling.trim_end_matches(';').to_owned();
        let ends = spelling == "bra";
        blocks.last_mut().expect("one").push((spelling, operands.to_owned()));
        if ends {
            blocks.push(Vec::new());
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The class of the few opcodes that occur here.
fn class(spelling: &str) -> OpClass {
    let (opcode, last) = (spelling.split('.').next().unwrap_or(""), spelling.rsplit('.').next().unwrap_or(""));
    match (opcode, last) {
        ("mul" | "mad", "s32" | "u32" | "s64" | "u64") => OpClass::IntMul,
        ("add" | "sub", "s64" | "u64") => OpClass::Int64,
        ("add" | "sub" | "and" | "shl" | "shr", _) if last != "f32" => OpClass::Int,
        ("add" | "fma", "f32") => OpClass::F32,
        ("mov", _) => OpClass::Move,
        ("setp", _) | (_, "pred") => OpClass::Predicate,
        ("bra" | "ret", _) => OpClass::Control,
        ("bar", _) => OpClass::Barrier,
        ("ld" | "st", _) => OpClass::Memory,
        ("cvta", _) => OpClass::Move,
        _ => panic!("{spelling} has no class here"),
    }
}

/// Machine instructions of a block.
fn issues(isa: &IsaConfig, block: &[(String, String)]) -> f64 {
    let all: f64 = block.iter().map(|(spelling, _)| isa.timing(spelling, class(spelling)).issues).sum();
    // Shared loads of consecutive words from one register are joined, `shared_merge` bytes at a time.
    let mut words: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (_, operands) in block.iter().filter(|(spelling, _)| spelling == "ld.shared.f32") {
        let address = operands.split_once('[').map_or("", |(_, rest)| rest.trim_end_matches("];"));
        let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
        words.entry(base).or_default().push(offset.parse::<u64>().expect("an offset"));
    }
    let per_load = (isa.shared_merge.0 / 4).max(1) as usize;
    let joined: usize = words
        .values()
        .filter(|offsets| offsets.windows(2).all(|pair| pair[1] == pair[0] + 4))
        .map(|offsets| offsets.len() - offsets.len().div_ceil(per_load))
        .sum();
    all - joined as f64
}

/// Machine instructions of a thread that passes the blocks so often.
fn per_thread(path: &str, passes: &[f64]) -> f64 {
    let (isa, blocks) = (pascal(), blocks(path));
    assert_eq!(blocks.len(), passes.len(), "{path}: {blocks:?}");
    blocks.iter().zip(passes).map(|(block, passes)| passes * issues(&isa, block)).sum()
}

#[track_caller]
fn check(ours: f64, silicon: f64, tolerance: f64) {
    let error = ours / silicon - 1.0;
    println!("{ours} for {silicon} on the card: {:+.1} %", error * 100.0);
    assert!(error.abs() <= tolerance, "{ours} for {silicon}: {:+.1} %", error * 100.0);
}

/// `BabelStream` copy on the card executes 15 machine instructions per thread, add and triad 19, mul 16, init 24: the
/// instructions of these kernels, as the compiler writes them, add up to exactly that.
#[test]
fn babel_stream() {
    let isa = pascal();
    let count = |spellings: &[&str]| spellings.iter().map(|s| isa.timing(s, stream_class(s)).issues).sum::<f64>();
    let index = ["ld.param.u64", "mov.u32", "mov.u32", "mov.u32", "mad.lo.s32", "cvta.to.global.u64", "mul.wide.s32"];
    let with = |rest: &[&str]| count(&[&index[..], rest].concat());
    let (load, store) = (["add.s64", "ld.global.f64"], ["add.s64", "st.global.f64", "ret"]);
    assert_eq!(with(&[&load[..], &store].concat()), 15.0);
    assert_eq!(with(&[&load[..], &["mul.f64"], &store].concat()), 16.0);
    assert_eq!(with(&[&load[..], &load, &["add.f64"], &store].concat()), 19.0);
    let stores = [&store[..2], &store[..2], &store].concat();
    assert_eq!(with(&[&["mov.f64", "mov.f64", "mov.f64"], &stores[..]].concat()), 24.0);
}

/// Classes for `babel_stream`.
fn stream_class(spelling: &str) -> OpClass {
    if spelling.ends_with("f64") && !spelling.starts_with(['l', 's']) { OpClass::F64 } else { class(spelling) }
}

/// Kernel tables, tiled matrixMul: 139.3K, 933.9K and 6.8M machine instructions for N x N threads.
#[test]
fn tiled_matrix_product() {
    for (n, silicon) in [(32.0, 139.3e3), (64.0, 933.9e3), (128.0, 6.8e6)] {
        let ours = n * n * per_thread("matmul-tiled/matmul-tiled.ptx", &[1.0, 1.0, n / 32.0, 1.0]);
        check(ours, silicon, 0.07);
    }
}

/// Kernel tables, naive matrixMul: 315.4K for 32, 32, 32, four times that for 128, 32, 32 (printed as 1.3M), 2.1M for
/// 32, 64, 128. The compiler of those runs unrolled the loop otherwise.
#[test]
fn naive_matrix_product() {
    for (threads, n, silicon) in [(1024.0, 32.0, 315.4e3), (4096.0, 64.0, 2.1e6), (4096.0, 32.0, 4.0 * 315.4e3)] {
        let passes = [1.0, 1.0, 1.0, 1.0, n / 4.0, 1.0, 0.0, 0.0, 1.0, 1.0];
        check(threads * per_thread("matmul-naive/matmul-naive.ptx", &passes), silicon, 0.12);
    }
}
