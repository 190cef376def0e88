//! The same bytes on one host thread and on several, or a refusal that says why not.

use crate::args;
use crate::machine::{Machine, kernel, kernel_with};

#[test]
fn host_threads_do_not_change_bytes_or_counts() {
    let run = |threads: usize| {
        let mut m = Machine::load("blocks");
        m.options.threads = threads;
        let keys: Vec<u32> = (0..16 * 512u32).map(|i| i.wrapping_mul(2654435761) >> 7).collect();
        let values: Vec<i32> = (0..16 * 512).collect();
        let (keys, values) = (m.buffer("keys", &keys), m.buffer("values", &values));
        let (sorted, moved) = (m.buffer("sorted", &vec![0u32; 8192]), m.buffer("moved", &vec![0i32; 8192]));
        let mut counts = m.run("radix_sort", 16, 128, args![keys, sorted, values, moved]);
        let bins = m.buffer("bins", &[0u32; 256]);
        counts.add(&m.run("histogram", 20, 64, args![keys, bins, 32768]));
        (m.contents(), counts)
    };
    let alone = run(1);
    for threads in [2, 3] {
        let together = run(threads);
        assert!(together.0 == alone.0, "bytes with {threads} threads");
        assert_eq!(together.1, alone.1, "counts with {threads} threads");
    }
}

#[test]
fn the_first_fault_of_the_grid_is_told() {
    let text = kernel("    mov.u32 %r1, %ctaid.x; setp.gt.u32 %p0, %r1, 2; @%p0 trap;\n    ret;");
    let mut m = Machine::new(&text);
    m.options.threads = 3;
    let said = m.fail("k", 64, 32, args![0u64, 0u64, 0u32]);
    assert!(said.ends_with("kernel `k`, block (3,0,0), thread (0,0,0)"), "{said}");
}

#[test]
fn an_instruction_limit_strikes_at_the_same_place() {
    let text = kernel(
        "LOOP:\n    add.u32 %r1, %r1, 1; mov.u32 %r2, %ctaid.x; setp.lt.u32 %p0, %r1, %r2;\n    @%p0 bra LOOP;\n    ret;",
    );
    let told = [1, 2, 3].map(|threads| {
        let mut m = Machine::new(&text);
        (m.options.threads, m.options.instruction_limit) = (threads, Some(5000));
        m.fail("k", 1000, 32, args![0u64, 0u64, 0u32])
    });
    assert!(told[0] == told[1] && told[1] == told[2], "{told:?}");
}

/// Two threads refuse the instruction with this reason.
#[track_caller]
fn refused(before: &str, instruction: &str, reason: &str) {
    let mut m = Machine::new(&kernel_with(before, &format!("    {instruction}\n    ret;")));
    m.options.threads = 2;
    let said = m.fail("k", 2, 32, args![0u64, 0u64, 0u32]);
    let line = 10 + before.lines().count().saturating_sub(1);
    let expected =
        format!("launch of `k`: the order of blocks can be observed ({reason}, line {line}); run it with --threads 1");
    assert_eq!(said, expected, "{instruction}");
}

#[test]
fn threads_are_refused_where_the_order_of_blocks_shows() {
    for (instruction, reason) in [
        ("atom.global.add.u32 %r0, [%rd0], 1; mov.u32 %r1, %r0;", "an atomic whose result is used"),
        ("atom.add.u32 %r0, [%rd0], 1; mov.u32 %r1, %r0;", "an atomic whose result is used"),
        ("atom.global.cas.b32 %r1, [%rd0], 0, 1;", "an atomic exchange"),
        ("atom.global.exch.b32 %r1, [%rd0], 1;", "an atomic exchange"),
        ("atom.global.add.f64 %fd0, [%rd0], %fd0;", "an atomic whose result is used"),
        ("red.global.add.f32 [%rd0], %f0;", "a floating-point reduction"),
        ("red.add.f32 [%rd0], %f0;", "a floating-point reduction"),
        ("red.global.inc.u32 [%rd0], 7;", "a counter that wraps around"),
        ("ld.volatile.global.u32 %r1, [%rd0];", "a volatile or synchronising access"),
        ("st.volatile.u32 [%rd0], %r1;", "a volatile or synchronising access"),
        ("ld.relaxed.gpu.global.u32 %r1, [%rd0];", "a volatile or synchronising access"),
        ("ld.acquire.gpu.u32 %r1, [%rd0];", "a volatile or synchronising access"),
        ("st.release.sys.global.u32 [%rd0], %r1;", "a volatile or synchronising access"),
        ("membar.gl;", "a fence between blocks"),
        ("fence.acq_rel.gpu;", "a fence between blocks"),
        ("mov.u32 %r1, %clock;", "a clock"),
        ("mov.u64 %rd5, %globaltimer;", "a clock"),
    ] {
        refused("", instruction, reason);
    }
    let printf = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);";
    refused(printf, ".param .b32 r; .param .b64 f; .param .b64 x; call.uni (r), vprintf, (f, x);", "device `printf`");
    let malloc = ".extern .func (.param .b64 r) malloc(.param .b64 size);";
    refused(malloc, ".param .b64 r; .param .b64 size; call.uni (r), malloc, (size);", "device `malloc` and `free`");
    let free = ".extern .func free(.param .b64 p);";
    refused(free, ".param .b64 p; call.uni free, (p);", "device `malloc` and `free`");
}

#[test]
fn threads_are_allowed_where_it_does_not() {
    let text = kernel_with(
        ".shared .align 4 .b32 tile[2];",
        "
    atom.shared.add.u32 %r1, [tile], 1;
    ld.volatile.shared.u32 %r1, [tile];
    membar.cta;
    atom.global.add.u32 %r20, [%rd0], 1; red.global.max.s32 [%rd0+4], %r0; red.global.xor.b32 [%rd0+8], %r0;
    ret;",
    );
    let mut m = Machine::new(&text);
    m.options.threads = 3;
    let a = m.buffer("a", &[0u32; 3]);
    m.run("k", 100, 33, args![a, a, 0u32]);
    assert_eq!(m.read::<u32>(a, 3), [3300, 32, 0]);
}
