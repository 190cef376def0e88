//! One address space over global, shared and local memory, and the variables in them.

use crate::args;
use crate::machine::{Machine, kernel, kernel_with};

#[test]
fn pointers_to_locals_mix_with_others() {
    let mut m = Machine::load("functions");
    let out = m.buffer("out", &[0i32; 4 * 64]);
    m.run("pointers_to_locals", 1, 64, args![out]);
    let expected: Vec<i32> = (0..64)
        .flat_map(|i| {
            let mut local = [(i * 7) % 5, (i * 3) % 11, i % 4];
            let (mut shared, mut global) = ((i * 5) % 9, i % 7);
            let mut sorted = [local[0], [local[1], shared, global][i as usize % 3], local[2]];
            sorted.sort_unstable();
            *[&mut local[1], &mut shared, &mut global][i as usize % 3] = sorted[1];
            [sorted[0], sorted[1], sorted[2], global]
        })
        .collect();
    assert_eq!(m.read::<i32>(out, 4 * 64), expected);
}

/// Each lane's generic address is in another memory; one instruction stores, one loads, one updates.
#[test]
fn one_access_reaches_three_memories() {
    let text = kernel_with(
        ".shared .align 4 .b32 tile[32];",
        "
    .local .align 4 .b32 own[2];
    mov.u64 %rd5, own; cvta.local.u64 %rd5, %rd5;
    mov.u64 %rd6, tile; cvta.shared.u64 %rd6, %rd6; add.s64 %rd6, %rd6, %rd2;
    cvta.global.u64 %rd7, %rd4;
    rem.u32 %r1, %r0, 3; setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1;
    selp.b64 %rd8, %rd5, %rd6, %p0; selp.b64 %rd8, %rd8, %rd7, %p0;
    selp.b64 %rd8, %rd6, %rd8, %p1;
    add.u32 %r2, %r0, 100;
    st.u32 [%rd8], %r2;
    ld.u32 %r3, [%rd8];
    @!%p0 atom.add.u32 %r4, [%rd8], 1000;
    ld.u32 %r3, [%rd8];
    isspacep.local %p2, %rd8; isspacep.shared %p3, %rd8; isspacep.global %p4, %rd8;
    selp.u32 %r5, 10000, 0, %p2; selp.u32 %r6, 20000, 0, %p3; selp.u32 %r7, 40000, 0, %p4;
    add.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6; add.u32 %r3, %r3, %r7;
    st.global.u32 [%rd3], %r3;
    ret;",
    );
    let mut m = Machine::new(&text);
    let (a, b) = (m.buffer("a", &[0u32; 32]), m.buffer("b", &[7u32; 32]));
    m.run("k", 1, 32, args![a, b, 0u32]);
    let expected = |t: u32| t + 100 + [10000, 21000, 41000][t as usize % 3];
    assert_eq!(m.read::<u32>(a, 32), (0..32).map(expected).collect::<Vec<_>>());
    let global = |t: u32| if t % 3 == 2 { t + 1100 } else { 7 };
    assert_eq!(m.read::<u32>(b, 32), (0..32).map(global).collect::<Vec<_>>());
}

/// Rows of 16 threads at some distance: side by side, apart, overlapping, on each other, the second before the first. Where lanes
/// store to one place the highest wins; then all load their own, and the first of their row.
#[test]
fn half_warps_store_and_load_rows() {
    let text = kernel(
        "
    and.b32 %r1, %r0, 15; shr.u32 %r2, %r0, 4;
    mul.lo.s32 %r3, %r2, %r31; add.s32 %r3, %r3, 128; add.s32 %r4, %r3, %r1;
    mul.wide.s32 %rd5, %r4, 4; add.s64 %rd5, %rd0, %rd5;
    mul.wide.s32 %rd6, %r3, 4; add.s64 %rd6, %rd0, %rd6;
    st.global.u32 [%rd5], %r0;
    ld.global.u32 %r5, [%rd5]; ld.global.u32 %r6, [%rd6];
    shl.b32 %r6, %r6, 8; or.b32 %r5, %r5, %r6;
    st.global.u32 [%rd4], %r5;
    ret;",
    );
    for distance in [16i32, 20, 100, 8, 1, 0, -1, -7, -16, -90] {
        let mut m = Machine::new(&text);
        let (a, b) = (m.buffer("a", &[99u32; 256]), m.buffer("b", &[0u32; 32]));
        m.run("k", 1, 32, args![a, b, distance.cast_unsigned()]);
        let row = |lane: i32| (128 + lane / 16 * distance) as usize;
        let own = |lane: i32| row(lane) + lane as usize % 16;
        let mut stored = vec![99u32; 256];
        (0..32).for_each(|lane| stored[own(lane)] = lane.cast_unsigned());
        assert_eq!(m.read::<u32>(a, 256), stored, "{distance} apart");
        let loaded: Vec<u32> = (0..32).map(|lane| stored[own(lane)] | stored[row(lane)] << 8).collect();
        assert_eq!(m.read::<u32>(b, 32), loaded, "{distance} apart");
    }
}

#[test]
fn local_memory_is_each_threads_own() {
    let text = kernel(
        "
    .local .align 8 .b8 own[64];
    mov.u64 %rd5, own;
    and.b32 %r1, %r0, 7; mul.wide.u32 %rd6, %r1, 8; add.s64 %rd5, %rd5, %rd6;
    mul.wide.u32 %rd7, %r0, 0x10001;
    st.local.u64 [%rd5], %rd7;
    bar.sync 0;
    ld.local.u16 %r2, [%rd5+2]; ld.local.u8 %r3, [%rd5];
    shl.b32 %r2, %r2, 16; or.b32 %r2, %r2, %r3;
    st.global.u32 [%rd3], %r2;
    ret;",
    );
    let mut m = Machine::new(&text);
    let a = m.buffer("a", &[0u32; 96]);
    m.run("k", 1, 96, args![a, a, 0u32]);
    assert_eq!(m.read::<u32>(a, 96), (0..96).map(|t| t << 16 | t).collect::<Vec<_>>());
}

#[test]
fn module_variables_hold_their_initial_values() {
    let mut m = Machine::load("variables");
    let out = m.buffer("out", &[0i32; 40]);
    m.run("read_variables", 1, 40, args![out]);
    let expected = |i: usize| {
        let value = (i % 3) as i32 + 1;
        let twice = [1, 3, -4, 0, 0][i % 5];
        value * 10000 + 30 * 100 + i32::from(b"strata"[i % 6]) + twice + [1, 2, 255][i % 3]
    };
    assert_eq!(m.read::<i32>(out, 40), (0..40).map(expected).collect::<Vec<_>>());
    assert_eq!(m.read::<i32>(m.symbol("counter"), 1), [42], "managed memory");
    assert!(m.symbol("counter").0.is_multiple_of(strata_emu::MANAGED_ALIGN));
}

#[test]
fn dynamic_shared_arrays_are_one_memory() {
    let mut m = Machine::load("variables");
    let out = m.buffer("out", &[0i32; 66]);
    m.options.shared = 512;
    m.run("shared_memory", 1, 32, args![out]);
    let got = m.read::<i32>(out, 66);
    for i in 0..32 {
        let high = ((i as f64 * 1.5).to_bits() >> 32) as i32;
        assert_eq!((got[2 * i], got[2 * i + 1]), (high, 31 - i as i32), "thread {i}");
    }
    assert_eq!(got[64..], [128 + 512, 512]);
}
