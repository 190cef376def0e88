//! Barriers of blocks and of warps, and collectives reached on different ways.

use crate::args;
use crate::machine::{Machine, kernel, kernel_with};

/// Runs a block and checks `a`.
#[track_caller]
fn check(text: &str, threads: u32, expected: impl Fn(u32) -> u32) {
    let mut m = Machine::new(text);
    let a = m.buffer("a", &vec![0u32; threads as usize]);
    let b = m.buffer("b", &vec![0u32; threads as usize]);
    m.run("k", 1, threads, args![a, b, threads]);
    assert_eq!(m.read::<u32>(a, threads as usize), (0..threads).map(expected).collect::<Vec<_>>());
}

const TILE: &str = ".shared .align 4 .b32 tile[1024];";

#[test]
fn both_arms_may_stand_at_a_warp_barrier() {
    let text = kernel_with(
        TILE,
        "
    mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;
    setp.lt.u32 %p0, %r0, 16;
    @%p0 bra LOW;
    st.shared.u32 [%r1], 7;
    bar.warp.sync 0xffffffff;
    ld.shared.u32 %r3, [%r1+-64];
    bra MEET;
LOW:
    st.shared.u32 [%r1], 9;
    bar.warp.sync 0xffffffff;
    ld.shared.u32 %r3, [%r1+64];
MEET:
    st.global.u32 [%rd3], %r3;
    ret;",
    );
    check(&text, 32, |t| if t < 16 { 7 } else { 9 });
}

#[test]
fn collectives_meet_from_different_places() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 10; and.b32 %r5, %r0, 1; setp.ne.u32 %p1, %r5, 0;
    @%p0 bra LOW;
    shfl.sync.bfly.b32 %r1, %r0, 31, 31, 0xffffffff;
    vote.sync.ballot.b32 %r2, %p1, 0xffffffff;
    bra MEET;
LOW:
    mul.lo.u32 %r4, %r0, 100;
    shfl.sync.bfly.b32 %r1, %r4, 31, 31, 0xffffffff;
    vote.sync.ballot.b32 %r2, %p0, 0xffffffff;
MEET:
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    let votes = 0xaaaa_a800u32 | 0x3ff;
    let source = |t: u32| if 31 - t < 10 { (31 - t) * 100 } else { 31 - t };
    check(&text, 32, |t| source(t).wrapping_add(votes));
}

#[test]
fn lanes_that_take_no_part_in_a_shuffle_give_zero() {
    let text = kernel(
        "
    add.u32 %r1, %r0, 100;
    // Leaves values of all lanes behind.
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, 0xffffffff;
    setp.lt.u32 %p0, %r0, 8;
    @!%p0 bra DONE;
    shfl.sync.down.b32 %r2, %r1, 4, 31, 0xff;
DONE:
    st.global.u32 [%rd3], %r2;
    ret;",
    );
    check(&text, 32, |t| match t {
        0..4 => t + 104,
        4..8 => 0,
        _ => (t ^ 1) + 100,
    });
}

#[test]
fn masks_that_name_part_of_the_warp_wait_for_that_part_only() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 8;
    @%p0 bra LOW;
    // Never comes to the barrier of the others.
    st.global.u32 [%rd3], 1;
    ret;
LOW:
    setp.lt.u32 %p1, %r0, 3;
    @%p1 bra FEW;
    vote.sync.any.pred %p2, %p1, 0xff;
    bra SEND;
FEW:
    bar.warp.sync 0x7;
    vote.sync.any.pred %p2, %p1, 0xff;
SEND:
    selp.u32 %r1, 5, 6, %p2;
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    check(&text, 32, |t| if t < 8 { 5 } else { 1 });
}

/// As tiles of a warp do: one instruction, a different mask in each group of lanes.
#[test]
fn one_collective_serves_groups_with_different_masks() {
    let text = kernel(
        "
    shr.u32 %r1, %r0, 3; shl.b32 %r1, %r1, 3; mov.u32 %r2, 0xff; shl.b32 %r2, %r2, %r1;
    and.b32 %r3, %r0, 1; setp.ne.u32 %p0, %r3, 0;
    vote.sync.ballot.b32 %r4, %p0, %r2;
    redux.sync.add.u32 %r5, %r0, %r2;
    match.any.sync.b32 %r6, %r3, %r2;
    bar.warp.sync %r2;
    xor.b32 %r4, %r4, %r6;
    shl.b32 %r4, %r4, 8; add.u32 %r4, %r4, %r5;
    st.global.u32 [%rd3], %r4;
    ret;",
    )
    .replace("sm_75", "sm_80");
    check(&text, 32, |t| {
        let group = t / 8 * 8;
        let (odd, own) = (0xaau32 << group, (0x55u32 << (t & 1)) << group);
        ((odd ^ own) << 8).wrapping_add((group..group + 8).sum::<u32>())
    });
}

/// No two lanes name the same ones, none names itself, and the first names nobody.
#[test]
fn lanes_hear_the_votes_of_those_before_them() {
    let text = kernel(
        "
    mov.u32 %r1, %lanemask_lt; and.b32 %r3, %r0, 1; setp.ne.u32 %p0, %r3, 0;
    vote.sync.ballot.b32 %r4, %p0, %r1;
    st.global.u32 [%rd3], %r4;
    ret;",
    );
    check(&text, 32, |t| 0xaaaa_aaaa & ((1 << t) - 1));
}

#[test]
fn groups_with_different_masks_wait_each_for_its_own() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 4; setp.lt.u32 %p1, %r0, 16;
    selp.u32 %r2, 0xffff, 0xffff0000, %p1;
    @%p0 bra LATE;
    vote.sync.ballot.b32 %r4, %p1, %r2;
    bra MEET;
LATE:
    vote.sync.ballot.b32 %r4, %p0, %r2;
MEET:
    st.global.u32 [%rd3], %r4;
    ret;",
    );
    check(&text, 32, |t| if t < 16 { 0xffff } else { 0 });
}

#[test]
fn exited_lanes_are_not_waited_for() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 12;
    @%p0 exit;
    bar.warp.sync 0xffffffff;
    vote.sync.ballot.b32 %r1, 1, 0xffffffff;
    bar.sync 0;
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    check(&text, 32, |t| if t < 12 { 0 } else { 0xffff_f000 });
    // The second warp has 16 lanes; the first loses 12.
    check(&text, 48, |t| match t {
        0..12 => 0,
        12..32 => 0xffff_f000,
        _ => 0xffff,
    });
}

#[test]
fn partial_warps_synchronise() {
    let text = kernel_with(
        TILE,
        "
    mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2; st.shared.u32 [%r2], %r0;
    bar.sync 0;
    sub.u32 %r3, %r31, %r0; sub.u32 %r3, %r3, 1; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3;
    ld.shared.u32 %r4, [%r3];
    st.global.u32 [%rd3], %r4;
    ret;",
    );
    for threads in [1, 31, 33, 48, 1024] {
        check(&text, threads, |t| threads - 1 - t);
    }
}

#[test]
fn both_arms_may_stand_at_a_block_barrier() {
    let text = kernel_with(
        TILE,
        "
    mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;
    and.b32 %r3, %r0, 1; setp.eq.u32 %p0, %r3, 0;
    @%p0 bra EVEN;
    st.shared.u32 [%r1], 3;
    barrier.sync 0;
    ld.shared.u32 %r4, [%r1+-4];
    bra MEET;
EVEN:
    st.shared.u32 [%r1], 4;
    barrier.sync 0;
    ld.shared.u32 %r4, [%r1+4];
MEET:
    st.global.u32 [%rd3], %r4;
    ret;",
    );
    check(&text, 64, |t| if t % 2 == 0 { 3 } else { 4 });
}

/// Lanes that wait where the arms meet must pass on to their own barrier.
#[test]
fn a_barrier_in_one_arm_meets_one_behind_both() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 8;
    @!%p0 bra MEET;
    barrier.sync 0;
    st.global.u32 [%rd3], 1;
    ret;
MEET:
    setp.lt.u32 %p1, %r0, 16;
    @%p1 bra INNER;
    bra AFTER;
INNER:
    barrier.sync 0;
AFTER:
    @!%p1 barrier.sync 0;
    st.global.u32 [%rd3], 2;
    ret;",
    );
    check(&text, 64, |t| if t < 8 { 1 } else { 2 });
}

/// Two warps produce, two consume, through two barriers with counts; the producers run ahead.
#[test]
fn producers_arrive_and_consumers_wait() {
    let text = kernel_with(
        TILE,
        "
    mov.u32 %r1, tile; and.b32 %r2, %r0, 63; shl.b32 %r2, %r2, 2; add.u32 %r1, %r1, %r2;
    mov.u32 %r5, 0; mov.u32 %r6, 0;
    setp.ge.u32 %p0, %r0, 64;
    @%p0 bra CONSUME;
PRODUCE:
    bar.sync 2, 128;
    mad.lo.u32 %r7, %r5, 1000, %r0;
    st.shared.u32 [%r1], %r7;
    bar.arrive 1, 128;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4;
    @%p1 bra PRODUCE;
    ret;
CONSUME:
    bar.arrive 2, 128;
    bar.sync 1, 128;
    ld.shared.u32 %r7, [%r1]; add.u32 %r6, %r6, %r7;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4;
    @%p1 bra CONSUME;
    st.global.u32 [%rd3], %r6;
    ret;",
    );
    check(&text, 128, |t| if t < 64 { 0 } else { 6000 + 4 * (t - 64) });
}

/// An arrival that completes a barrier opens it at once: the warp's next arrival belongs to the next opening.
#[test]
fn arrivals_in_a_row_count_for_successive_openings() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 32;
    @%p0 bra WAIT;
    bar.sync 3, 64;
    bar.arrive 1, 64;
    bar.arrive 1, 64;
    ret;
WAIT:
    bar.arrive 3, 64;
    bar.sync 1, 64;
    bar.sync 1, 64;
    st.global.u32 [%rd3], 1;
    ret;",
    );
    // The second arrival may come only when the first has opened the barrier, which the waiting warp's order ensures
    // here; in the other order it would be an error of the program.
    check(&text, 64, |t| u32::from(t < 32));
}

#[test]
fn block_reductions_give_everyone_the_result() {
    let text = kernel(
        "
    setp.lt.u32 %p0, %r0, 70; setp.lt.u32 %p1, %r0, 1000; setp.eq.u32 %p2, %r0, 1000;
    barrier.red.popc.u32 %r1, 0, %p0;
    barrier.red.and.pred %p3, 0, %p1;
    barrier.red.or.pred %p4, 0, %p2;
    barrier.red.and.pred %p5, 1, !%p0;
    selp.u32 %r2, 1000, 0, %p3; selp.u32 %r3, 10000, 0, %p4; selp.u32 %r4, 100000, 0, %p5;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
    st.global.u32 [%rd3], %r1;
    ret;",
    );
    check(&text, 100, |_| 1070);
}
