//! Races that launches find when asked: planted ones, and the ways to order accesses, of which nothing may be told.

use strata_core::{Bytes, Dim3};
use strata_emu::{Capacity, Cause, LaunchConfig, Memory, Output, Program};

/// Runs a kernel of two buffers and gives what was told: the lines of both accesses.
fn told(body: &str, grid: u32, block: u32) -> Vec<String> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 tile[4096];
.visible .entry k(.param .u64 a, .param .u64 b)
{{
    .reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
    ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r0, 4;
    mov.u64 %rd3, tile; add.s64 %rd4, %rd3, %rd2; add.s64 %rd5, %rd0, %rd2; shr.u32 %r2, %r0, 5;
{body}
    ret;
}}"
    );
    let parsed = strata_ptx::parse("races.ptx", &text);
    let module = parsed.module.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let mut memory = Memory::new(Capacity::default()).expect("address space");
    let mut program = Program::load("races.ptx", &text, module, &mut memory).expect("room");
    let mut params = Vec::new();
    for name in ["a", "b"] {
        let buffer = memory.alloc(Bytes(65536), false, name).expect("room").start;
        memory.fill(buffer, Bytes(65536), 0).expect("inside");
        params.extend(buffer.0.to_le_bytes());
    }
    let config = LaunchConfig { params, races: true, ..LaunchConfig::new(Dim3::from(grid), Dim3::from(block)) };
    let output = Output::default();
    program.launch("k", &config, &mut memory, 1, &output, &|_| {}).expect("it runs");
    let warnings = output.take_warnings();
    assert!(warnings.iter().all(|w| matches!(w.cause, Cause::Race { .. })));
    warnings.iter().map(|w| format!("{}", w.cause)).collect()
}

const NEIGHBOUR: &str =
    "add.u32 %r3, %r0, 32; and.b32 %r3, %r3, 127; mul.wide.u32 %rd6, %r3, 4; add.s64 %rd7, %rd3, %rd6;";

#[test]
fn a_missing_barrier_is_told_and_a_barrier_is_enough() {
    let exchange = |barrier: &str| {
        format!(
            "{NEIGHBOUR} st.shared.u32 [%rd4], %r0; {barrier} ld.shared.u32 %r4, [%rd7]; st.global.u32 [%rd5], %r4;"
        )
    };
    let found = told(&exchange(""), 1, 128);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("shared address") && found[0].contains("read at line"), "{found:?}");
    assert!(found[1].contains("wrote at line"), "{found:?}");
    assert!(told(&exchange("bar.sync 0;"), 1, 128).is_empty());
    // One block after the other, each with a shared memory of its own.
    assert!(told(&exchange("bar.sync 0;"), 8, 128).iter().all(|race| race.contains("global")));
}

/// A barrier before the loop's next round is as much needed as the one in it.
#[test]
fn the_barrier_that_a_loop_forgets_at_its_end_is_told() {
    let rounds = |last: &str| {
        format!(
            "{NEIGHBOUR} mov.u32 %r5, 0; mov.u32 %r6, 1;
LOOP:
    add.u32 %r7, %r0, %r5; st.shared.u32 [%rd4], %r7;
    bar.sync 0;
    ld.shared.u32 %r4, [%rd7]; add.u32 %r6, %r6, %r4;
    {last}
    add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 4;
    @%p0 bra LOOP;
    st.global.u32 [%rd5], %r6;"
        )
    };
    // Who is ahead overwrites what others have read, and what others have yet to read.
    assert_eq!(told(&rounds(""), 1, 128).len(), 2);
    assert!(told(&rounds("bar.sync 0;"), 1, 128).is_empty());
}

#[test]
fn barriers_of_some_warps_order_these_and_no_others() {
    // Warps 0 and 1 meet at barrier 1, warps 2 and 3 at barrier 2.
    let pairs = |partner: &str| {
        format!(
            "xor.b32 %r3, %r0, {partner}; mul.wide.u32 %rd6, %r3, 4; add.s64 %rd7, %rd3, %rd6;
    st.shared.u32 [%rd4], %r0;
    shr.u32 %r4, %r0, 6; add.u32 %r4, %r4, 1; bar.sync %r4, 64;
    ld.shared.u32 %r5, [%rd7]; st.global.u32 [%rd5], %r5;"
        )
    };
    assert!(told(&pairs("32"), 1, 128).is_empty());
    assert!(!told(&pairs("64"), 1, 128).is_empty());
}

#[test]
fn blocks_that_write_the_same_word_race_unless_they_write_the_same_value() {
    let found = told("add.u32 %r3, %r1, 1; st.global.u32 [%rd0], %r3;", 4, 1);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].contains("written at global address") && found[0].contains("warp 0 of block (0,0,0) wrote"),
        "{found:?}"
    );
    assert!(told("mov.u32 %r3, 7; st.global.u32 [%rd0], %r3;", 4, 64).is_empty());
    assert!(told("atom.global.add.u32 %r3, [%rd0], 1;", 4, 64).is_empty());
    assert_eq!(told("atom.global.add.u32 %r3, [%rd0], 1; ld.global.u32 %r4, [%rd0];", 4, 1).len(), 1);
}

/// Bytes of one word are not one another.
#[test]
fn neighbours_in_a_word_do_not_race() {
    let bytes = "cvt.u64.u32 %rd6, %r0; add.s64 %rd6, %rd0, %rd6; cvt.u64.u32 %rd7, %r1; mul.lo.u64 %rd7, %rd7, 1;
    add.s64 %rd6, %rd6, %rd7; mov.u16 %h0, 5; st.global.u8 [%rd6], %h0;";
    assert!(told(bytes, 4, 1).is_empty());
}

/// The last block to come adds up what the others wrote: a fence and an atomic counter order them.
#[test]
fn a_fence_and_a_counter_order_blocks() {
    let last_block = |fence: &str| {
        format!(
            "mul.wide.u32 %rd6, %r1, 4; add.s64 %rd6, %rd0, %rd6; add.u32 %r3, %r1, 5; st.global.u32 [%rd6], %r3;
    {fence}
    atom.global.add.u32 %r4, [%rd1], 1;
    setp.ne.u32 %p0, %r4, 3; @%p0 bra END;
    {fence}
    ld.global.u32 %r5, [%rd0]; ld.global.u32 %r6, [%rd0+4]; add.u32 %r5, %r5, %r6; st.global.u32 [%rd1+4], %r5;
END:"
        )
    };
    assert!(told(&last_block("membar.gl;"), 4, 1).is_empty());
    assert!(!told(&last_block(""), 4, 1).is_empty(), "without the fence nothing is published");
}

#[test]
fn a_flag_that_is_waited_for_orders_warps() {
    let flag = "setp.eq.u32 %p0, %r2, 0; setp.ne.u32 %p1, %r0, 0;
    @!%p0 bra READER;
    st.shared.u32 [%rd4], 9; membar.cta;
    @!%p1 st.volatile.shared.u32 [%rd3+1024], 1;
    bra END;
READER:
    ld.volatile.shared.u32 %r3, [%rd3+1024]; setp.eq.u32 %p2, %r3, 0;
    @%p2 bra READER;
    ld.shared.u32 %r4, [%rd3]; st.global.u32 [%rd5], %r4;
END:";
    assert!(told(flag, 1, 64).is_empty());
}

/// Atomics without a fence publish nothing, however many there are: a histogram does not hide a race beside it.
#[test]
fn many_atomics_do_not_hide_a_missing_barrier() {
    let body = format!(
        "{NEIGHBOUR} mov.u32 %r5, 0;
LOOP:
    mad.lo.u32 %r6, %r5, 128, %r0; mul.wide.u32 %rd8, %r6, 4; add.s64 %rd8, %rd1, %rd8;
    atom.global.add.u32 %r7, [%rd8], 1;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 20;
    @%p0 bra LOOP;
    st.shared.u32 [%rd4], %r0; ld.shared.u32 %r4, [%rd7]; st.global.u32 [%rd5], %r4;"
    );
    assert_eq!(told(&body, 1, 128).len(), 2);
}
