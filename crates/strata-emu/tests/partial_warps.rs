//! Loads and stores of a part of a warp: every way the lanes can lie, against plain Rust, with and without vector units.

use proptest::prelude::*;
use strata_core::{Bytes, Dim3};
use strata_emu::{Capacity, LaunchConfig, Memory, Output, Program};

/// Lanes of `mask` move one element: `out[to + lane * to_step] = in[from + lane * from_step] + lane`, all in bytes, through
/// shared memory at the place of the output. Lanes outside the mask keep 7 in their register and write nothing.
fn kernel(ty: &str, register: &str) -> String {
    format!(
        ".version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 kept, .param .u32 mask,
    .param .u32 from, .param .u32 from_step, .param .u32 to, .param .u32 to_step)
{{
    .reg .pred %p<2>; .reg .b32 %r<12>; .reg .b64 %rd<10>; .reg .{register} %v<3>;
    .shared .align 8 .b8 tile[1024];
    mov.u32 %r0, %tid.x;
    ld.param.u32 %r1, [mask];
    shr.u32 %r2, %r1, %r0;
    and.b32 %r2, %r2, 1;
    setp.ne.u32 %p1, %r2, 0;
    ld.param.u32 %r3, [from];
    ld.param.u32 %r4, [from_step];
    mad.lo.u32 %r3, %r4, %r0, %r3;
    ld.param.u32 %r5, [to];
    ld.param.u32 %r6, [to_step];
    mad.lo.u32 %r5, %r6, %r0, %r5;
    ld.param.u64 %rd1, [in];
    cvt.s64.s32 %rd2, %r3;
    add.s64 %rd1, %rd1, %rd2;
    ld.param.u64 %rd3, [out];
    cvt.s64.s32 %rd4, %r5;
    add.s64 %rd3, %rd3, %rd4;
    mov.u32 %r7, tile;
    add.u32 %r7, %r7, %r5;
    mov.{register} %v1, 7;
    @%p1 ld.global.{ty} %v1, [%rd1];
    ld.param.u64 %rd5, [kept];
    mul.wide.u32 %rd6, %r0, 8;
    add.s64 %rd5, %rd5, %rd6;
    st.global.{ty} [%rd5], %v1;
    cvt.u{bits}.u32 %v2, %r0;
    add.u{bits} %v1, %v1, %v2;
    @%p1 st.shared.{ty} [%r7], %v1;
    @%p1 ld.shared.{ty} %v1, [%r7];
    @%p1 st.global.{ty} [%rd3], %v1;
    ret;
}}",
        bits = &register[1..]
    )
}

const SIZE: usize = 1024;

#[derive(Clone, Copy, Debug)]
struct Lie {
    mask: u32,
    from: i32,
    from_step: i32,
    to: i32,
    to_step: i32,
}

/// Output and kept registers.
fn device(ty: &str, register: &str, lie: Lie, vector: bool) -> (Vec<u8>, Vec<u8>) {
    let text = kernel(ty, register);
    let parsed = strata_ptx::parse("k.ptx", &text);
    let module = parsed.module.clone().unwrap_or_else(|| panic!("{}", parsed.render(&text, false)));
    let mut memory = Memory::new(Capacity::default()).unwrap();
    let mut program = Program::load("k.ptx", &text, module, &mut memory).unwrap();
    if !vector {
        program = program.without_vector_units();
    }
    let [input, out, kept] = ["in", "out", "kept"].map(|n| memory.alloc(Bytes(SIZE as u64), false, n).unwrap().start);
    memory.write(input, &input_bytes()).unwrap();
    memory.fill(out, Bytes(SIZE as u64), 0xee).unwrap();
    memory.fill(kept, Bytes(SIZE as u64), 0).unwrap();
    let mut params: Vec<u8> = [input, out, kept].iter().flat_map(|a| a.0.to_le_bytes()).collect();
    params.extend(lie.mask.to_le_bytes());
    params.extend([lie.from, lie.from_step, lie.to, lie.to_step].iter().flat_map(|v| v.to_le_bytes()));
    let config = LaunchConfig { params, ..LaunchConfig::new(Dim3::from(1), Dim3::from(32)) };
    let run = program.launch("k", &config, &mut memory, 1, &Output::default(), &|_| {});
    run.unwrap_or_else(|e| panic!("{lie:?}: {e}"));
    let read = |at| {
        let mut bytes = vec![0; SIZE];
        memory.read(at, &mut bytes).unwrap();
        bytes
    };
    (read(out), read(kept))
}

fn input_bytes() -> Vec<u8> {
    (0..SIZE).map(|k| (k * 37 + k / 256) as u8).collect()
}

/// The same in plain Rust, for little-endian elements of `width` bytes.
fn reference(width: usize, lie: Lie) -> (Vec<u8>, Vec<u8>) {
    let (input, mut out, mut kept) = (input_bytes(), vec![0xee; SIZE], vec![0; SIZE]);
    let lanes = || (0..32usize).map(|l| (l, lie.mask >> l & 1 != 0));
    let at = |start: i32, step: i32, l: usize| (start + step * l as i32) as usize;
    let values: Vec<u64> = lanes()
        .map(|(l, active)| {
            let mut word = [0; 8];
            if active {
                word[..width].copy_from_slice(&input[at(lie.from, lie.from_step, l)..][..width]);
            } else {
                word[0] = 7;
            }
            kept[l * 8..][..width].copy_from_slice(&word[..width]);
            u64::from_le_bytes(word)
        })
        .collect();
    let put = |out: &mut Vec<u8>, l: usize, v: u64| {
        out[at(lie.to, lie.to_step, l)..][..width].copy_from_slice(&v.to_le_bytes()[..width]);
    };
    // Where lanes collide, all of them read the highest lane's value back and write that.
    let mut tile = vec![0; SIZE];
    for (l, _) in lanes().filter(|l| l.1) {
        put(&mut tile, l, values[l].wrapping_add(l as u64));
    }
    for (l, _) in lanes().filter(|l| l.1) {
        let place = at(lie.to, lie.to_step, l);
        let value = tile[place..][..width].to_vec();
        out[place..][..width].copy_from_slice(&value);
    }
    (out, kept)
}

/// A start and a step (in elements of `width`) that keep the active lanes, and perhaps only these, inside.
fn place(width: i32, mask: u32) -> impl Strategy<Value = (i32, i32)> {
    let (low, high) = (mask.trailing_zeros() as i32, 31 - mask.leading_zeros() as i32);
    prop_oneof![Just(1), Just(0), Just(2), Just(-1)].prop_flat_map(move |step| {
        let (near, far) = (step * low.min(high), step * high);
        let (least, most) = (near.min(far), near.max(far));
        let (first, last) = (-least, SIZE as i32 / width - 1 - most);
        // The ends are where inactive lanes would leave the allocation.
        prop_oneof![Just(first), Just(last), first..=last].prop_map(move |start| (start * width, step * width))
    })
}

fn lie(width: i32) -> impl Strategy<Value = Lie> {
    let run = (0u32..32, 1u32..=32).prop_map(|(low, n)| (u32::MAX >> (32 - n)) << low);
    prop_oneof![run, any::<u32>(), Just(u32::MAX), Just(0xffff), Just(0xffff_0000)]
        .prop_filter("somebody must be active", |m| *m != 0)
        .prop_flat_map(move |mask| {
            (place(width, mask), place(width, mask)).prop_map(move |((from, from_step), (to, to_step))| Lie {
                mask,
                from,
                from_step,
                to,
                to_step,
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words(lie in lie(4)) {
        let expected = reference(4, lie);
        prop_assert_eq!(&device("u32", "b32", lie, true), &expected);
        prop_assert_eq!(&device("u32", "b32", lie, false), &expected);
    }

    #[test]
    fn double_words(lie in lie(8)) {
        let expected = reference(8, lie);
        prop_assert_eq!(&device("u64", "b64", lie, true), &expected);
        prop_assert_eq!(&device("u64", "b64", lie, false), &expected);
    }
}
