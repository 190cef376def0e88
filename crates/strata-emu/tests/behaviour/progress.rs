//! Threads that wait for other threads come to their end.

use crate::args;
use crate::machine::{Machine, kernel};

#[test]
fn spin_locks_inside_a_warp_between_warps_and_between_blocks() {
    for name in ["lock_then_branch", "spin_then_work", "lock_in_a_function"] {
        let mut m = Machine::load("progress");
        let (lock, count) = (m.buffer("lock", &[0i32]), m.buffer("count", &[0i32]));
        m.run(name, 3, 70, args![lock, count]);
        assert_eq!(m.read::<i32>(count, 1), [210], "{name}");
        assert_eq!(m.read::<i32>(lock, 1), [0], "{name}");
    }
}

#[test]
fn threads_take_turns_through_volatile_memory() {
    let mut m = Machine::load("progress");
    let out = m.buffer("out", &[0i32; 80]);
    m.run("lanes_in_turn", 1, 80, args![out]);
    assert_eq!(m.read::<i32>(out, 80), (0..80).map(|t| t * 10).collect::<Vec<_>>());
}

#[test]
fn a_block_may_wait_for_all_that_come_after_it() {
    let mut m = Machine::load("progress");
    let (turn, out) = (m.buffer("turn", &[0i32]), m.buffer("out", &[0i32; 50]));
    m.run("blocks_in_turn", 50, 64, args![turn, out]);
    assert_eq!(m.read::<i32>(out, 50), (0..50).map(|b| 100 + 49 - b).collect::<Vec<_>>());
}

#[test]
fn cooperative_grids_synchronise() {
    let (blocks, threads, rounds) = (20, 96, 3);
    let n = blocks * threads;
    let start: Vec<i32> = (0..n).map(|i| i % 7).collect();
    let mut m = Machine::load("progress");
    let (a, b) = (m.buffer("a", &start), m.buffer("b", &vec![0i32; n as usize]));
    m.options.cooperative = true;
    m.run("grid_barrier", blocks as u32, threads as u32, args![a, b, rounds]);
    let (mut one, mut two) = (start, vec![0; n as usize]);
    let n = n as usize;
    for _ in 0..rounds {
        (0..n).for_each(|i| two[i] = one[(i + 1) % n] + 1);
        (0..n).for_each(|i| one[i] = two[(i + n - 3) % n] * 2);
    }
    assert_eq!(m.read::<i32>(a, n), one);
}

#[test]
fn the_last_block_sees_what_the_others_wrote() {
    let mut m = Machine::load("progress");
    let input: Vec<i32> = (0..640).map(|i| i * 3 % 101).collect();
    let (data, partial) = (m.buffer("in", &input), m.buffer("partial", &[0i32; 10]));
    let (done, total) = (m.buffer("done", &[0u32]), m.buffer("total", &[0i32]));
    m.run("last_block_sums", 10, 64, args![data, partial, done, total]);
    assert_eq!(m.read::<i32>(total, 1), [input.iter().sum::<i32>()]);
}

/// Lane 0 spins until the others have been where all meet.
const ONE_WAITS_FOR_31: &str = "
    setp.eq.u32 %p0, %r0, 0;
    @!%p0 bra MEET;
SPIN:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.lt.u32 %p1, %r1, 31;
    @%p1 bra SPIN;
MEET:
    red.global.add.u32 [%rd1], 1;";

/// Lanes that spin stand beside others that wait where all meet: those must be let go.
#[test]
fn lanes_that_have_arrived_are_let_go_for_a_sibling_that_spins() {
    let text = kernel(&format!("{ONE_WAITS_FOR_31} st.global.u32 [%rd3], 9; ret;"));
    let mut m = Machine::new(&text);
    let (a, b) = (m.buffer("a", &[0u32; 32]), m.buffer("b", &[0u32]));
    m.run("k", 1, 32, args![a, b, 0u32]);
    assert_eq!(m.read::<u32>(b, 1), [32]);
}

/// Two groups spin on a third: taking turns between the two must not starve it.
#[test]
fn two_spinning_groups_wait_for_a_third() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 8; setp.lt.u32 %p1, %r0, 16;
    @%p0 bra A; @%p1 bra B;
    bra MEET;
A:  ld.volatile.global.u32 %r1, [%rd1]; setp.lt.u32 %p2, %r1, 16; @%p2 bra A;
    bra MEET;
B:  ld.volatile.global.u32 %r1, [%rd1]; setp.lt.u32 %p2, %r1, 16; @%p2 bra B;
MEET:
    red.global.add.u32 [%rd1], 1;
    ret;",
    );
    let mut m = Machine::new(&text);
    let b = m.buffer("b", &[0u32]);
    m.run("k", 1, 32, args![b, b, 0u32]);
    assert_eq!(m.read::<u32>(b, 1), [32]);
}

/// A loop over plain loads with a fence, as old code waits.
#[test]
fn fences_mark_a_loop_that_waits_for_another_block() {
    let text = kernel(
        "
    mov.u32 %r2, %ctaid.x; setp.eq.u32 %p0, %r2, 1;
    @%p0 bra SIGNAL;
SPIN:
    ld.global.u32 %r1, [%rd1]; membar.gl; setp.eq.u32 %p1, %r1, 0;
    @%p1 bra SPIN;
    st.global.u32 [%rd3], %r1;
    ret;
SIGNAL:
    st.global.u32 [%rd1], 5;
    ret;",
    );
    let mut m = Machine::new(&text);
    let (a, b) = (m.buffer("a", &[0u32; 32]), m.buffer("b", &[0u32]));
    m.run("k", 2, 32, args![a, b, 0u32]);
    assert_eq!(m.read::<u32>(a, 32), [5; 32]);
}

/// Blocks run one after the other unless one waits: a lock inside each warp, or a loop of atomics, is no such wait.
#[test]
fn blocks_stay_in_order_while_none_waits_for_another() {
    let text = kernel(
        "
    mov.u32 %r1, 0;
LOOP:
    atom.global.add.u32 %r2, [%rd1], 1; add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 1000;
    @%p0 bra LOOP;
    mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd5, %r3, 4; add.s64 %rd5, %rd0, %rd5;
    st.global.u32 [%rd5], %r2;
    ret;",
    );
    let mut m = Machine::new(&text);
    let (a, b) = (m.buffer("a", &[0u32; 3]), m.buffer("b", &[0u32]));
    m.run("k", 3, 1, args![a, b, 0u32]);
    assert_eq!(m.read::<u32>(a, 3), [999, 1999, 2999]);
}

/// Lanes that were let go are one warp again behind the next barrier that all of them pass.
#[test]
fn barriers_reunite_what_waiting_has_parted() {
    for barrier in ["bar.sync 0;", "bar.warp.sync 0xffffffff;"] {
        let text = kernel(&format!(
            "
    {ONE_WAITS_FOR_31}
    activemask.b32 %r2;
    {barrier}
    activemask.b32 %r3;
    sub.u32 %r3, %r3, %r2;
    st.global.u32 [%rd3], %r3;
    ret;"
        ));
        let mut m = Machine::new(&text);
        let (a, b) = (m.buffer("a", &[0u32; 32]), m.buffer("b", &[0u32]));
        m.run("k", 1, 32, args![a, b, 0u32]);
        let expected = |t: u32| if t == 0 { 0xffff_fffe } else { 1 };
        assert_eq!(m.read::<u32>(a, 32), (0..32).map(expected).collect::<Vec<_>>(), "{barrier}");
    }
}
