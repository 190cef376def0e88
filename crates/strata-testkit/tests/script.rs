//! What a script tells is what it says: program counters, addresses, barriers, values.

use strata_core::{Access, Addr, GridSource, OpBatch, OpClass, Pattern, Space, Stop, WarpId, WarpSource};
use strata_testkit::{Instr, Memory, Script, drive};

/// The first address of every operation, by CTA and warp.
fn addresses(script: &mut Script) -> Vec<Vec<Vec<u64>>> {
    let told = drive(script, 2, 0, 7).expect("a script does not fail");
    let first = |op: &strata_testkit::Op| op.addresses.map(|(_, lanes)| lanes[0]);
    let warp = |warp: &Vec<strata_testkit::Segment>| warp.iter().flat_map(|s| s.ops.iter().filter_map(first)).collect();
    told.iter().map(|cta| cta.iter().map(warp).collect()).collect()
}

#[test]
fn warps_and_ctas_take_scripts_in_turn_and_are_moved_on() {
    let (a, b) = ([Instr::load(0x100)], [Instr::store(0x200)]);
    assert_eq!(addresses(&mut Script::new(&[a, b])), [[[0x100], [0x200]]]);
    assert_eq!(addresses(&mut Script::new(&[a, b]).one_warp_per_cta()), [[[0x100]], [[0x200]]]);
    let moved = [[[0x100], [0x200]], [[0x1100], [0x1200]]];
    assert_eq!(addresses(&mut Script::new(&[a, b]).grid(2, 0x1000)), moved);
    let shared = Script::new(&[a]).warps(2, 0x10).grid(2, 0x1000);
    assert_eq!(shared.instructions().len(), 1, "warps of one script have the same program counters");
    assert_eq!(addresses(&mut shared.clone()), [[[0x100], [0x110]], [[0x1100], [0x1110]]]);
    assert_eq!(Script::new::<[Instr; 0]>(&[]).ctas(), 0);
}

#[test]
fn instructions_are_what_they_are_called() {
    let warp = [
        Instr::load_past_l1(0),
        Instr::store_local(0),
        Instr::atomic(0).to(5),
        Instr::add(3, 2),
        Instr::compute(OpClass::F32, "fma.rn.f32").to(1).needs(&[1, 2, 3, 4]),
        Instr::barrier(),
    ];
    let script = Script::new(&[warp]);
    let infos = script.instructions();
    let names: Vec<&str> = infos.iter().map(|info| &*info.name).collect();
    assert_eq!(names[..4], ["ld.global.cg.u32", "st.local.u32", "atom.global.add.u32", "add.s32"]);
    assert_eq!(infos.iter().map(|i| i.line).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert!(infos[0].bypass_l1 && (infos[0].access, infos[1].space) == (Access::Load, Space::Local));
    assert_eq!(
        (&infos[0].dst[..], &infos[0].src[..]),
        (&[0][..], &[0][..]),
        "unless told otherwise, all wait for loads"
    );
    assert_eq!((&infos[2].dst[..], &infos[2].src[..]), (&[5][..], &[][..]));
    assert_eq!((&infos[4].src[..], infos[5].class), (&[1, 2, 3, 4][..], OpClass::Barrier));
}

#[test]
fn lanes_lie_as_they_should() {
    let warp = [Instr::load_line(0x100), Instr::load(0x100).lanes(0xf).stride(0), Instr::load_line(0x100).stride(128)];
    let mut script = Script::new(&[warp]).segments_of(3);
    script.start_cta(0, 0);
    let mut batch = OpBatch::default();
    assert_eq!(script.advance(WarpId(0), &mut batch), Stop::Exited);
    assert_eq!(batch.addresses[0].pattern, Pattern::Sequence { first: Addr(0x100), step: 4 });
    assert_eq!((batch.addresses[1].mask, batch.addresses[1].pattern), (0xf, Pattern::Same(Addr(0x100))));
    assert_eq!(batch.lanes(&batch.addresses[2])[31], Addr(0x100 + 31 * 128));
}

#[test]
fn segments_end_at_barriers_and_after_so_many_instructions() {
    let warp = [[Instr::load(0); 3].as_slice(), &[Instr::barrier()], &[Instr::load(0)]].concat();
    let lengths = |n: usize| {
        let told = drive(&mut Script::new(&[&warp]).segments_of(n), 1, 0, 0).expect("a script does not fail");
        told[0][0].iter().map(|s| s.ops.len()).collect::<Vec<_>>()
    };
    assert_eq!((lengths(1), lengths(2), lengths(usize::MAX)), (vec![1, 1, 1, 1, 1], vec![2, 2, 1], vec![4, 1]));
}

#[test]
fn a_barrier_counts_who_has_exited_unless_it_names_a_number() {
    let opened = |barrier: Instr| {
        let mut script = Script::new(&[vec![barrier], vec![], vec![Instr::add(1, 1)]]);
        script.start_cta(0, 0);
        let (mut batch, mut opened) = (OpBatch::default(), Vec::new());
        let stops = [0, 1, 2, 2].map(|w| script.advance(WarpId(w), &mut batch));
        assert_eq!(stops, [Stop::Barrier, Stop::Exited, Stop::Ready, Stop::Exited]);
        script.take_opened(&mut opened);
        opened
    };
    assert_eq!(opened(Instr::barrier()), [WarpId(0)]);
    assert_eq!(opened(Instr::barrier_of(1)), [WarpId(0)]);
    assert_eq!(opened(Instr::barrier_of(3)), []);
}

#[test]
fn values_are_in_memory_when_an_instruction_has_issued() {
    let mut memory = Memory::default();
    memory.write(Addr(0x1000), &[1; 128]);
    let bytes = std::array::from_fn(|k| k as u8);
    let warp = [
        Instr::store(0x1000).lanes(0b10).word(5),
        Instr::store_line(0x1080).bytes(bytes),
        Instr::reduce(0x1000).lanes(0b111).stride(0).word(2),
        Instr::load(0x1000),
    ];
    let mut script = Script::new(&[warp]).on_memory(memory);
    script.start_cta(0, 0);
    let mut batch = OpBatch::default();
    let mut line = [0; 128];
    script.advance(WarpId(0), &mut batch);
    script.read_line(Addr(0x1000).line(), &mut line);
    assert_eq!(line[..9], [1, 1, 1, 1, 5, 0, 0, 0, 1]);
    while script.advance(WarpId(0), &mut batch) != Stop::Exited {}
    assert_eq!(script.memory().line(Addr(0x1080).line()), bytes);
    assert_eq!(script.into_memory().line(Addr(0x1000).line())[..4], [7, 1, 1, 1]);
}

#[test]
fn a_script_without_values_leaves_lines_as_they_are() {
    let script = Script::new(&[[Instr::store(0x1000)]]);
    let mut line = [3; 128];
    script.read_line(Addr(0x1000).line(), &mut line);
    assert_eq!(line, [3; 128]);
}

#[test]
#[should_panic(expected = "some warps wait for ever")]
fn the_driver_finds_a_barrier_that_never_opens() {
    drive(&mut Script::new(&[vec![Instr::barrier_of(2)], vec![]]), 1, 0, 0);
}
