//! TOM with programs that nobody wrote: random kernels of loops, loads, stores and divergence leave the same memory with every
//! policy and mapping as without time, and every load on the way is checked.
//!
//! No kernel has a race: a thread stores to elements of its own, and loads what other threads of its block stored only behind the
//! barrier that follows. So loads of a stage meet lines that the SM, the stack or L2 may still have from before.

use std::path::Path;
use std::sync::Arc;
use strata_core::random::SplitMix64;
use strata_lab::mechanisms::combination;
use strata_lab::{Monitor, RunRequest, RunResult, What, run};

/// Threads of a block, and blocks: more warps than the stacks have places for.
const THREADS: u32 = 96;
const BLOCKS: u32 = 6;

/// Words of an array that belong to a block: four for each of 128 threads, so that indices are cut out with masks.
const WORDS: u32 = 512;

/// Kernels that are made.
const KERNELS: u64 = 6;

/// Picks by chance.
struct Random(SplitMix64);

impl Random {
    fn pick(&mut self, of: &[u32]) -> u32 {
        of[self.0.below(of.len() as u64) as usize]
    }
}

/// A loop: it loads from the table and, behind the last barrier, from the array `from`, and stores to its own words of `to`.
fn a_loop(random: &mut Random, label: u32, from: &str, to: &str) -> String {
    let (other, stride, step) = (random.pick(&[0, 1, 32, 64]), random.pick(&[1, 32, 33]), random.pick(&[1, 17, 64]));
    let trips = match random.pick(&[0, 1, 2]) {
        0 => format!("mov.u32 %r20, {};", random.pick(&[1, 6, 12])),
        1 => "and.b32 %r20, %r1, 15; add.u32 %r20, %r20, 1;".to_owned(),
        // All lanes of a warp go round as often.
        _ => "shr.u32 %r20, %r1, 5; mad.lo.u32 %r20, %r20, 5, 4;".to_owned(),
    };
    let mask = random.pick(&[0, 1, 4, 32]);
    format!(
        "{trips} mov.u32 %r21, 0;
        LOOP{label}:
            and.b32 %r22, %r21, 3; shl.b32 %r22, %r22, 7; add.u32 %r22, %r22, %r3;
            xor.b32 %r23, %r1, {other}; setp.ge.u32 %p1, %r23, {THREADS}; selp.u32 %r23, %r1, %r23, %p1;
            add.u32 %r23, %r23, %r22; mul.wide.u32 %rd10, %r23, 4; add.u64 %rd10, {from}, %rd10;
            ld.global.u32 %r24, [%rd10];
            mad.lo.u32 %r25, %r21, {step}, %r1; mul.lo.u32 %r25, %r25, {stride}; and.b32 %r25, %r25, 2047;
            mul.wide.u32 %rd11, %r25, 4; add.u64 %rd11, %rd1, %rd11;
            ld.global.u32 %r26, [%rd11];
            mad.lo.u32 %r10, %r10, 5, %r24; xor.b32 %r10, %r10, %r26;
            and.b32 %r27, %r10, {mask}; setp.ne.u32 %p2, %r27, 0;
            @%p2 bra SKIP{label};
            add.u32 %r28, %r22, %r1; mul.wide.u32 %rd12, %r28, 4; add.u64 %rd12, {to}, %rd12;
            st.global.u32 [%rd12], %r10;
        SKIP{label}:
            add.u32 %r21, %r21, 1; setp.lt.u32 %p3, %r21, %r20;
            @%p3 bra LOOP{label};\n"
    )
}

/// Loads and stores without a loop, of which some lanes may do none.
fn a_block(random: &mut Random, label: u32, from: &str, to: &str) -> String {
    let mask = random.pick(&[0, 1, 16, 64]);
    let access = |word: u32| {
        format!(
            "add.u32 %r22, %r3, {word}; add.u32 %r22, %r22, %r1; mul.wide.u32 %rd10, %r22, 4;
            add.u64 %rd11, {from}, %rd10; ld.global.u32 %r24, [%rd11];
            add.u64 %rd12, {to}, %rd10; ld.global.u32 %r25, [%rd12];
            mad.lo.u32 %r10, %r24, 3, %r10; add.u32 %r10, %r10, %r25; st.global.u32 [%rd12], %r10;\n"
        )
    };
    let accesses = [0, 128, 256, 384].map(access).concat();
    format!(
        "and.b32 %r27, %r1, {mask}; setp.ne.u32 %p2, %r27, 0; @%p2 bra SKIP{label};
        {accesses}
        SKIP{label}:\n"
    )
}

/// A kernel of a few stages with barriers between them, which store to two arrays in turn.
fn kernel(seed: u64) -> String {
    let random = &mut Random(SplitMix64::new(seed));
    let mut body = String::new();
    for stage in 0..4 {
        let (from, to) = if stage % 2 == 0 { ("%rd3", "%rd2") } else { ("%rd2", "%rd3") };
        for part in 0..random.pick(&[1, 2]) {
            let make = if random.pick(&[0, 1, 2]) == 0 { a_block } else { a_loop };
            body += &make(random, 10 * stage + part, from, to);
        }
        body += "bar.sync 0;\n";
    }
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n
        .visible .entry made(.param .u64 table, .param .u64 a, .param .u64 b)
        {{
            .reg .pred %p<4>; .reg .b32 %r<32>; .reg .b64 %rd<16>;
            ld.param.u64 %rd1, [table]; ld.param.u64 %rd2, [a]; ld.param.u64 %rd3, [b];
            cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3;
            mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.lo.u32 %r3, %r2, {WORDS};
            mad.lo.u32 %r10, %r2, 977, %r1;
            {body}
            ret;
        }}\n"
    )
}

/// A launch file for the kernel in `made.ptx`, launched twice.
fn launch_file() -> String {
    let buffer = |name: &str, count: u32| {
        format!("[buffers.{name}]\ntype = \"u32\"\ncount = {count}\ninit = {{ random = [0, 1000000] }}\n")
    };
    let after = |name: &str| format!("[[after]]\nbuffer = \"{name}\"\nchecksum = true\n");
    [
        "ptx = \"made.ptx\"\n".to_owned(),
        buffer("table", 2048),
        buffer("a", WORDS * BLOCKS),
        buffer("b", WORDS * BLOCKS),
        format!("[[launch]]\nkernel = \"made\"\ngrid = {BLOCKS}\nblock = {THREADS}\nargs = [\"table\", \"a\", \"b\"]\nrepeat = 2\n"),
        after("a"),
        after("b"),
    ]
    .concat()
}

/// Runs it without time, or on the near-data system with these settings.
fn run_made(folder: &Path, set: Option<&[String]>) -> RunResult {
    let request = RunRequest {
        gpu: set.map(|_| "ndp-maxwell".to_owned()),
        with: combination(if set.is_some() { "tom" } else { "none" }).expect("known"),
        set: set.unwrap_or_default().to_vec(),
        check_data: set.is_some(),
        out: Some(folder.join("out")),
        ..RunRequest::new(What::LaunchFile(folder.join("made.toml")))
    };
    run(&request, &Arc::new(Monitor::default())).expect("a good request")
}

#[test]
fn random_kernels_leave_the_same_memory_wherever_they_run() {
    let mut blocks = 0.0;
    for seed in 0..KERNELS {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("made.ptx"), kernel(seed)).expect("written");
        std::fs::write(folder.path().join("made.toml"), launch_file()).expect("written");
        let memory = |result: &RunResult| serde_json::to_string(&result.findings).expect("plain data");
        let expected = memory(&run_made(folder.path(), None));
        assert!(expected.contains("fnv1a64"), "{expected}");
        for policy in ["none", "uncontrolled", "controlled", "alu-aware"] {
            for mapping in ["baseline", "learned", "oracle"] {
                let set = [
                    format!("tom.policy={policy}"),
                    format!("tom.mapping={mapping}"),
                    "tom.learning_share=0.2".to_owned(),
                    "stacks.warps=2".to_owned(),
                    "l2.ways=4".to_owned(),
                ];
                let result = run_made(folder.path(), Some(&set));
                assert_eq!(result.error, None, "kernel {seed} with {set:?}\n{}", kernel(seed));
                assert_eq!(memory(&result), expected, "kernel {seed} with {set:?}\n{}", kernel(seed));
                blocks += result.stats().number("gpu.offload.blocks").unwrap_or_default();
            }
        }
    }
    assert!(blocks > 1000.0, "only {blocks} blocks ran on stacks");
}
